/*
 * ODE's Dantzig solver by itself. Its library exports it, its headers do not declare it. Timed: copying A, which it
 * destroys, and solving; the memory arena is kept, as ODE keeps it between steps. ODE writes A x = b + w.
 */
#include "worker.h"

#include <ode/ode.h>

struct dxWorldProcessMemArena;
struct dxWorldProcessMemoryManager;
struct dxWorldProcessMemoryReserveInfo;
size_t dxEstimateSolveLCPMemoryReq(unsigned n, bool outer_w_available);
dxWorldProcessMemArena *dxAllocateTemporaryWorldProcessMemArena(size_t size, const dxWorldProcessMemoryManager *,
                                                                const dxWorldProcessMemoryReserveInfo *);
void dxSolveLCP(dxWorldProcessMemArena *, unsigned n, dReal *a, dReal *bx, dReal *w, unsigned nub, dReal *lohi, int *findex);

struct Job {
    worker_problem p;
    size_t stride;
    double *a, *scratch, *bx, *lohi, *x;
    int *findex;
    dxWorldProcessMemArena *arena;
};

static int failed;

static void complain(int, const char *, va_list) { failed = 1; }

static int solve(void *data)
{
    Job *j = static_cast<Job *>(data);
    const int n = j->p.n;
    memcpy(j->scratch, j->a, sizeof(double) * j->stride * (size_t)n);
    for (int i = 0; i < n; i++) {
        j->bx[2 * i] = -j->p.b[i];
        j->bx[2 * i + 1] = 0.0;
        j->lohi[2 * i] = j->p.lo[i];
        j->lohi[2 * i + 1] = j->p.hi[i];
        j->findex[i] = -1;
    }
    /* Begin the arena anew: its first two words are where the free part begins and where the whole does. */
    void **words = reinterpret_cast<void **>(j->arena);
    words[0] = words[1];
    failed = 0;
    dxSolveLCP(j->arena, (unsigned)n, j->scratch, j->bx, nullptr, 0, j->lohi, j->findex);
    for (int i = 0; i < n; i++) {
        j->x[i] = j->bx[2 * i + 1];
    }
    return !failed;
}

static Job make(const worker_problem &p)
{
    Job j;
    const size_t n = (size_t)p.n;
    j.p = p;
    j.stride = n > 1 ? (n + 3) & ~(size_t)3 : n;
    j.a = worker_dense(&j.p, j.stride);
    j.scratch = static_cast<double *>(aligned_alloc(64, (j.stride * n * sizeof(double) + 127) & ~(size_t)63));
    j.bx = static_cast<double *>(calloc(2 * n + 8, sizeof(double)));
    j.lohi = static_cast<double *>(calloc(2 * n + 8, sizeof(double)));
    j.x = static_cast<double *>(calloc(n + 1, sizeof(double)));
    j.findex = static_cast<int *>(calloc(n + 8, sizeof(int)));
    j.arena = dxAllocateTemporaryWorldProcessMemArena(dxEstimateSolveLCPMemoryReq((unsigned)n, false), nullptr, nullptr);
    return j;
}

static Job other;

static void solve_other(void *) { solve(&other); }

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "ode: SOLVER FILE\n");
        return 1;
    }
    dInitODE2(0);
    dSetMessageHandler(complain);
    Job j = make(worker_read(argv[2]));
    other = make(worker_shuffled(&j.p));
    int claim = 0;
    const double seconds = worker_time(solve, solve_other, &j, &claim);
    worker_print("exact", seconds, claim, j.p.n, j.x);
    return 0;
}
