/*
 * Siconos' Lemke solver. Siconos has no boxes with infinite sides, so the problem becomes a linear complementarity
 * problem: x_i = lo_i + y or hi_i - y with y >= 0; a free row is a difference of two such y; a row with two sides gets a
 * multiplier l >= 0 with (hi - lo) - y >= 0; a fixed row is a constant. Timed: the driver and its options, not this.
 */
#include "worker.h"

#include <LCP_Solvers.h>
#include <LinearComplementarityProblem.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <SolverOptions.h>
#include <lcp_cst.h>

/* One unknown: sign times it is added to x[row]; a multiplier has sign 0 and belongs to the unknown `of`. */
typedef struct {
    int row, sign, of;
} unknown;

typedef struct {
    LinearComplementarityProblem lcp;
    double *z, *w;
} job;

static int solve(void *data)
{
    job *j = (job *)data;
    SolverOptions *options = solver_options_create(SICONOS_LCP_LEMKE);
    int info;
    options->iparam[SICONOS_IPARAM_MAX_ITER] = 100000;
    memset(j->z, 0, sizeof(double) * (size_t)j->lcp.size);
    info = linearComplementarity_driver(&j->lcp, j->z, j->w, options);
    solver_options_delete(options);
    return info == 0;
}

/* The unknowns, and in base the x at which all of them are 0. */
static int list_unknowns(const worker_problem *p, unknown *list, double *base)
{
    int count = 0;
    for (int i = 0; i < p->n; i++) {
        const int below = p->lo[i] > -HUGE_VAL, above = p->hi[i] < HUGE_VAL;
        base[i] = below ? p->lo[i] : above ? p->hi[i] : 0.0;
        if (p->lo[i] == p->hi[i]) {
            continue;
        }
        if (below || !above) {
            list[count++] = (unknown){i, 1, -1};
        }
        if (!below) {
            list[count++] = (unknown){i, -1, -1};
        }
        if (below && above) {
            list[count] = (unknown){i, 0, count - 1};
            count++;
        }
    }
    return count;
}

int main(int argc, char **argv)
{
    job j;
    int size, claim = 0;
    if (argc != 3) {
        fprintf(stderr, "siconos: SOLVER FILE\n");
        return 1;
    }
    const worker_problem p = worker_read(argv[2]);
    const size_t n = (size_t)p.n;
    double *a = worker_dense(&p, n);
    double *x = (double *)calloc(n + 1, sizeof(double)), *w0 = (double *)calloc(n + 1, sizeof(double));
    unknown *list = (unknown *)calloc(2 * n + 1, sizeof(unknown));
    size = list_unknowns(&p, list, x);
    for (size_t i = 0; i < n; i++) {
        w0[i] = p.b[i];
        for (size_t k = 0; k < n; k++) {
            w0[i] += a[i * n + k] * x[k];
        }
    }
    double *m = (double *)calloc((size_t)size * (size_t)size + 1, sizeof(double));
    double *q = (double *)calloc((size_t)size + 1, sizeof(double));
    for (int r = 0; r < size; r++) {
        const unknown u = list[r];
        q[r] = u.sign ? u.sign * w0[u.row] : p.hi[u.row] - p.lo[u.row];
        for (int c = 0; c < size; c++) {
            const unknown v = list[c];
            double *entry = &m[(size_t)r + (size_t)c * (size_t)size];
            if (u.sign && v.sign) {
                *entry = u.sign * v.sign * a[(size_t)u.row * n + (size_t)v.row];
            } else if (!v.sign && v.of == r) {
                *entry = 1.0;
            } else if (!u.sign && u.of == c) {
                *entry = -1.0;
            }
        }
    }
    j.lcp.size = size;
    j.lcp.M = NM_create_from_data(NM_DENSE, size, size, m);
    j.lcp.q = q;
    j.z = (double *)calloc((size_t)size + 1, sizeof(double));
    j.w = (double *)calloc((size_t)size + 1, sizeof(double));
    const double seconds = worker_time(solve, NULL, &j, &claim);
    for (int r = 0; r < size; r++) {
        x[list[r].row] += list[r].sign * j.z[r];
    }
    worker_print("lemke", seconds, claim, p.n, x);
    return 0;
}
