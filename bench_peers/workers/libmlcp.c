/*
 * libmlcp through its C interface. Timed: refilling the problem handle and solving. The handles are kept between
 * repetitions, as an engine keeps them between steps, but solve another problem in between, the same with rows and bodies
 * in another order: all they keep is memory, and patterns are analysed anew.
 * Solvers: auto, bpp, ipm, pgs from Jacobian rows where there are any, else from A; auto-matrix: from A alone. A is given
 * dense, as ODE and Bullet have it, up to 128 rows, and in compressed rows beyond.
 * auto-warm: from the impulses in FILE.start, and what is solved in between is the step before, FILE.last, as it was then.
 */
#include "mlcp.h"
#include "worker.h"

#define MOST_DENSE 128

typedef struct {
    worker_problem p;
    mlcp_problem *problem;
    mlcp_solver *solver;
    int matrix_only;
    double *x;
    /* A with all its zeros, if there are few rows. */
    double *dense, *last_dense;
    /* The start, or NULL; what is solved in between, its start and its solution. */
    double *start;
    worker_problem last;
    double *last_start, *last_x;
} job;

static void check(mlcp_status status)
{
    if (status != MLCP_STATUS_OK) {
        fprintf(stderr, "libmlcp: %s\n", mlcp_last_error());
        exit(1);
    }
}

static int solve_from(job *j, const worker_problem *p, const double *dense, const double *start, double *x)
{
    const size_t n = (size_t)p->n, entries = (size_t)p->entries;
    mlcp_report report;
    if (p->bodies > 0 && !j->matrix_only) {
        check(mlcp_problem_set_jacobian(j->problem, p->inverse_mass, 12 * (size_t)p->bodies, p->jacobian, 12 * n,
                                        p->body_pairs, 2 * n, p->compliance, n));
    } else if (dense) {
        check(mlcp_problem_set_dense(j->problem, n, dense, n * n, n, MLCP_TRIANGLE_LOWER));
    } else {
        check(mlcp_problem_set_csr(j->problem, n, p->row_start, n + 1, p->columns, entries, p->values, entries));
    }
    check(mlcp_problem_set_b(j->problem, p->b, n));
    check(mlcp_problem_set_bounds(j->problem, p->lo, n, p->hi, n));
    if (p->normals) {
        check(mlcp_problem_set_friction(j->problem, p->normals, n, p->mu, n, MLCP_FRICTION_MODE_COUPLED));
    }
    check(mlcp_report_init(&report, sizeof report));
    check(mlcp_solver_solve(j->solver, j->problem, start, start ? n : 0, x, n, &report));
    return report.outcome == MLCP_OUTCOME_CONVERGED;
}

static int solve(void *data)
{
    job *j = (job *)data;
    return solve_from(j, &j->p, j->dense, j->start, j->x);
}

/* Solve the step before. */
static void step_before(void *data)
{
    job *j = (job *)data;
    solve_from(j, &j->last, j->last_dense, j->last_start, j->last_x);
}

/* Solve the shuffled problem, so that nothing of the last repetition can be of use in the next. */
static void forget(void *data)
{
    job *j = (job *)data;
    solve_from(j, &j->last, j->last_dense, NULL, j->last_x);
}

/* FILE.last has the step before; FILE.start the start of that step, then that of this one. */
static void read_start(job *j, const char *path)
{
    char name[4096];
    FILE *file;
    snprintf(name, sizeof name, "%s.last", path);
    j->last = worker_read(name);
    snprintf(name, sizeof name, "%s.start", path);
    file = fopen(name, "rb");
    if (!file) {
        perror(name);
        exit(1);
    }
    j->last_start = (double *)worker_take(file, 8, (size_t)j->last.n);
    j->start = (double *)worker_take(file, 8, (size_t)j->p.n);
    fclose(file);
    j->last_x = (double *)calloc((size_t)j->last.n + 1, sizeof(double));
}

int main(int argc, char **argv)
{
    job j;
    mlcp_settings settings;
    const char *name = argc > 1 ? argv[1] : "";
    const int warm = strcmp(name, "auto-warm") == 0;
    int claim = 0;
    double seconds;
    if (argc != 3) {
        fprintf(stderr, "libmlcp: SOLVER FILE\n");
        return 1;
    }
    memset(&j, 0, sizeof j);
    j.p = worker_read(argv[2]);
    if (warm) {
        read_start(&j, argv[2]);
    } else {
        j.last = worker_shuffled(&j.p);
        j.last_x = (double *)calloc((size_t)j.p.n + 1, sizeof(double));
    }
    j.x = (double *)calloc((size_t)j.p.n + 1, sizeof(double));
    if (j.p.n <= MOST_DENSE && j.last.n <= MOST_DENSE) {
        j.dense = worker_dense(&j.p, (size_t)j.p.n);
        j.last_dense = worker_dense(&j.last, (size_t)j.last.n);
    }
    j.matrix_only = strcmp(name, "auto-matrix") == 0;
    check(mlcp_settings_init(&settings, sizeof settings));
    check(mlcp_solver_kind_from_name(j.matrix_only || warm ? "auto" : name, &settings.solver));
    /* Half of what the judge requires: it measures from the recorded A, the solver perhaps from Jacobian rows. */
    settings.relative_tolerance = 5e-10;
    settings.history_capacity = 0;
    if (settings.solver == MLCP_SOLVER_KIND_PGS) {
        settings.max_iterations = 1000000;
        settings.time_limit = 1.0;
    }
    check(mlcp_problem_create(&j.problem));
    check(mlcp_solver_create(&settings, &j.solver));
    seconds = worker_time(solve, warm ? step_before : forget, &j, &claim);
    worker_print("5e-10", seconds, claim, j.p.n, j.x);
    mlcp_solver_destroy(j.solver);
    mlcp_problem_destroy(j.problem);
    return 0;
}
