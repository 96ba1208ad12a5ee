"""PIQP, ProxQP and DAQP from PyPI: qp.py SOLVER FILE, with the output that worker.h describes.

The complementarity problem w = A x + b, lo <= x <= hi with symmetric A is the minimum of x'Ax/2 + b'x in the box. Timed:
making the solver's object, its set-up and its solve; not the conversion of the matrix to the type it reads.
"""

import sys
import time

import numpy as np

# An energy is a square: a relative energy error of 1e-9 is one of about 3e-5 in the residuals that these solvers watch.
TOLERANCES = (1e-5, 1e-7, 1e-9, 1e-12)


def read(path):
    raw = open(path, "rb").read()
    n, entries, _bodies = np.frombuffer(raw, np.int32, 3)
    at = 12

    def take(kind, count):
        nonlocal at
        part = np.frombuffer(raw, kind, count, at)
        at += part.nbytes
        return part.copy()

    row_start, columns = take(np.int32, n + 1), take(np.int32, entries)
    values, b, lo, hi = (take(np.float64, k) for k in (entries, n, n, n))
    return int(n), row_start, columns, values, b, lo, hi


def dense(n, row_start, columns, values):
    a = np.zeros((n, n))
    for i in range(n):
        part = slice(row_start[i], row_start[i + 1])
        a[i, columns[part]] = values[part]
    return a


def report(setting, solve):
    """Best time of several calls, as worker_time in worker.h."""
    best, total, calls = float("inf"), 0.0, 0
    while calls < 500 and total < 0.03:
        start = time.perf_counter()
        x, claim = solve()
        spent = time.perf_counter() - start
        best, total, calls = min(best, spent), total + spent, calls + 1
    print(setting, f"{best:.9g}", int(claim), *(f"{v:.17g}" for v in x), flush=True)


def piqp(n, row_start, columns, values, b, lo, hi):
    import piqp as peer
    from scipy.sparse import csc_matrix

    a = dense(n, row_start, columns, values)
    sparse = csc_matrix(a)
    for tolerance in TOLERANCES:
        for kind, make, matrix in (("sparse", peer.SparseSolver, sparse), ("dense", peer.DenseSolver, a)):
            def solve():
                solver = make()
                solver.settings.eps_abs = tolerance
                solver.settings.eps_rel = 0.0
                solver.settings.check_duality_gap = False
                solver.setup(matrix, b, x_l=lo, x_u=hi)
                status = solver.solve()
                return solver.result.x, status == peer.PIQP_SOLVED

            report(f"{kind}-{tolerance:g}", solve)


def proxqp(n, row_start, columns, values, b, lo, hi):
    from proxsuite import proxqp as peer

    a = dense(n, row_start, columns, values)
    low, high = np.maximum(lo, -1e20), np.minimum(hi, 1e20)
    for tolerance in TOLERANCES:
        def solve():
            solver = peer.dense.QP(n, 0, 0, True)
            solver.settings.eps_abs = tolerance
            solver.settings.eps_rel = 0.0
            solver.init(H=a, g=b, l_box=low, u_box=high)
            solver.solve()
            return solver.results.x, solver.results.info.status == peer.PROXQP_SOLVED

        report(f"dense-{tolerance:g}", solve)


def daqp(n, row_start, columns, values, b, lo, hi):
    import daqp as peer

    a = dense(n, row_start, columns, values)
    low, high = np.maximum(lo, -1e30), np.minimum(hi, 1e30)
    none = np.zeros((0, n))
    sense = np.where(lo == hi, 5, 0).astype(np.int32)
    for tolerance in TOLERANCES:
        def solve():
            x, _, flag, _ = peer.solve(a, b, none, high, low, sense, primal_tol=tolerance, dual_tol=tolerance)
            return x, flag >= 1

        report(f"{tolerance:g}", solve)


if __name__ == "__main__":
    {"piqp": piqp, "proxqp": proxqp, "daqp": daqp}[sys.argv[1]](*read(sys.argv[2]))
