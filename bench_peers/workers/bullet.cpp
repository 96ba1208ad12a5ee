/*
 * Bullet's dense solvers behind btMLCPSolverInterface, double build. Solvers: dantzig, lemke, pgs. Timed: solveMLCP, with
 * the copies it makes; the solver object is kept. Bullet writes A x = b + w. Dantzig freezes friction bounds before it
 * solves; here they are frozen already, so no row depends on another.
 */
#include "worker.h"

#include <BulletDynamics/MLCPSolvers/btDantzigSolver.h>
#include <BulletDynamics/MLCPSolvers/btLemkeSolver.h>
#include <BulletDynamics/MLCPSolvers/btSolveProjectedGaussSeidel.h>

struct Job {
    btMLCPSolverInterface *solver;
    btMatrixXu a;
    btVectorXu b, x, lo, hi;
    btAlignedObjectArray<int> dependency;
    int sweeps;
};

static int solve(void *data)
{
    Job *j = static_cast<Job *>(data);
    j->x.setZero();
    return j->solver->solveMLCP(j->a, j->b, j->x, j->lo, j->hi, j->dependency, j->sweeps);
}

/* Lemke computes with its bounds; Bullet's own infinity of contacts is 1e10. */
static void fill(Job &j, const worker_problem &p, bool lemke)
{
    const int n = p.n;
    const double most = lemke ? 1e10 : HUGE_VAL;
    double *dense = worker_dense(&p, (size_t)n);
    j.sweeps = 0;
    j.a.resize(n, n);
    j.b.resize(n);
    j.x.resize(n);
    j.lo.resize(n);
    j.hi.resize(n);
    j.dependency.resize(n);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++) {
            j.a.setElem(i, k, dense[(size_t)i * (size_t)n + (size_t)k]);
        }
        j.b[i] = -p.b[i];
        j.lo[i] = p.lo[i] < -most ? -most : p.lo[i];
        j.hi[i] = p.hi[i] > most ? most : p.hi[i];
        j.dependency[i] = -1;
    }
    free(dense);
}

static Job other;

static void solve_other(void *) { solve(&other); }

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "bullet: SOLVER FILE\n");
        return 1;
    }
    const char *name = argv[1];
    const bool lemke = strcmp(name, "lemke") == 0, pgs = strcmp(name, "pgs") == 0;
    const worker_problem p = worker_read(argv[2]);
    Job j;
    fill(j, p, lemke);
    fill(other, worker_shuffled(&p), lemke);
    btDantzigSolver dantzig_solver;
    btLemkeSolver lemke_solver;
    btSolveProjectedGaussSeidel pgs_solver;
    lemke_solver.m_maxValue = 1e9;
    lemke_solver.m_maxLoops = 100000;
    j.solver = pgs ? static_cast<btMLCPSolverInterface *>(&pgs_solver) : &dantzig_solver;
    if (lemke) {
        j.solver = &lemke_solver;
    }
    other.solver = j.solver;
    for (j.sweeps = pgs ? 100 : 1; j.sweeps <= 1000000; j.sweeps *= 10) {
        char setting[32];
        int claim = 0;
        other.sweeps = j.sweeps;
        const double seconds = worker_time(solve, solve_other, &j, &claim);
        snprintf(setting, sizeof setting, pgs ? "%d-sweeps" : "exact", j.sweeps);
        worker_print(setting, seconds, claim, p.n, j.x.getBufferPointer());
        if (!pgs) {
            break;
        }
    }
    return 0;
}
