/*
 * libmlcp through its C interface. Timed: refilling the problem handle and solving. The handles are kept between
 * repetitions, as an engine keeps them between steps, but solve another problem in between, the same with rows and bodies
 * in another order: all they keep is memory, and patterns are analysed anew.
 * Solvers: auto, bpp, ipm, pgs from Jacobian rows where there are any, else compressed rows; auto-matrix: from A alone;
 * auto-warm: from the impulses in FILE.start, and what is solved in between is the step before, FILE.last, as it was then.
 */
#include "mlcp.h"
#include "worker.h"

typedef struct {
    worker_problem p;
    mlcp_problem *problem;
    mlcp_solver *solver;
    int matrix_only;
    double *x;
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

static int solve_from(job *j, const worker_problem *p, const double *start, double *x)
{
    const size_t n = (size_t)p->n, entries = (size_t)p->entries;
    mlcp_report report;
    if (p->bodies > 0 && !j->matrix_only) {
        check(mlcp_problem_set_jacobian(j->problem, p->inverse_mass, 12 * (size_t)p->bodies, p->jacobian, 12 * n,
                                        p->body_pairs, 2 * n, p->compliance, n));
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
    return solve_from(j, &j->p, j->start, j->x);
}

/* Solve the step before. */
static void step_before(void *data)
{
    job *j = (job *)data;
    solve_from(j, &j->last, j->last_start, j->last_x);
}

/* Solve the shuffled problem, so that nothing of the last repetition can be of use in the next. */
static void forget(void *data)
{
    job *j = (job *)data;
    solve_from(j, &j->last, NULL, j->last_x);
}

/* 0 ... n - 1 in an order that looks like none, the same in every run. */
static int32_t *shuffle(int n)
{
    int32_t *order = (int32_t *)calloc((size_t)n + 1, sizeof(int32_t));
    uint32_t state = 12345;
    for (int i = 0; i < n; i++) {
        int at;
        state = state * 1664525u + 1013904223u;
        at = (int)((state >> 8) % (uint32_t)(i + 1));
        order[i] = order[at];
        order[at] = i;
    }
    return order;
}

static int by_column(const void *p, const void *q)
{
    return (*(const int32_t *const *)p)[0] - (*(const int32_t *const *)q)[0];
}

/* The same problem with rows and bodies in another order. */
static worker_problem shuffled(const worker_problem *p)
{
    const int n = p->n, bodies = p->bodies;
    int32_t *rows = shuffle(n), *places = (int32_t *)calloc((size_t)n + 1, 4), *names = shuffle(bodies);
    const int32_t **sorted = (const int32_t **)calloc((size_t)n + 1, sizeof *sorted);
    int32_t *columns = (int32_t *)calloc((size_t)p->entries + 1, 4);
    worker_problem s = *p;
    for (int i = 0; i < n; i++) {
        places[rows[i]] = i;
    }
    s.row_start = (int32_t *)calloc((size_t)n + 1, 4);
    s.columns = (int32_t *)calloc((size_t)p->entries + 1, 4);
    s.values = (double *)calloc((size_t)p->entries + 1, 8);
    s.b = (double *)calloc((size_t)n + 1, 8);
    s.lo = (double *)calloc((size_t)n + 1, 8);
    s.hi = (double *)calloc((size_t)n + 1, 8);
    s.jacobian = (double *)calloc(12 * (size_t)n + 1, 8);
    s.inverse_mass = (double *)calloc(12 * (size_t)bodies + 1, 8);
    s.compliance = (double *)calloc((size_t)n + 1, 8);
    s.body_pairs = (int32_t *)calloc(2 * (size_t)n + 1, 4);
    for (int k = 0; k < p->entries; k++) {
        columns[k] = places[p->columns[k]];
    }
    for (int i = 0; i < n; i++) {
        const int old = rows[i], begin = p->row_start[old], count = p->row_start[old + 1] - begin;
        for (int k = 0; k < count; k++) {
            sorted[k] = &columns[begin + k];
        }
        qsort(sorted, (size_t)count, sizeof *sorted, by_column);
        for (int k = 0; k < count; k++) {
            s.columns[s.row_start[i] + k] = *sorted[k];
            s.values[s.row_start[i] + k] = p->values[sorted[k] - columns];
        }
        s.row_start[i + 1] = s.row_start[i] + count;
        s.b[i] = p->b[old];
        s.lo[i] = p->lo[old];
        s.hi[i] = p->hi[old];
        for (int half = 0; half < 2 && bodies > 0; half++) {
            const int body = p->body_pairs[2 * old + half];
            s.body_pairs[2 * i + half] = body < 0 ? body : names[body];
        }
        if (bodies > 0) {
            memcpy(s.jacobian + 12 * i, p->jacobian + 12 * old, 12 * sizeof(double));
            s.compliance[i] = p->compliance[old];
        }
    }
    for (int k = 0; k < bodies; k++) {
        memcpy(s.inverse_mass + 12 * names[k], p->inverse_mass + 12 * k, 12 * sizeof(double));
    }
    if (p->normals) {
        s.normals = (int32_t *)calloc((size_t)n + 1, 4);
        s.mu = (double *)calloc((size_t)n + 1, 8);
        for (int i = 0; i < n; i++) {
            const int normal = p->normals[rows[i]];
            s.normals[i] = normal < 0 ? normal : places[normal];
            s.mu[i] = p->mu[rows[i]];
        }
    }
    free(rows);
    free(places);
    free(names);
    free(sorted);
    free(columns);
    return s;
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
        j.last = shuffled(&j.p);
        j.last_x = (double *)calloc((size_t)j.p.n + 1, sizeof(double));
    }
    j.x = (double *)calloc((size_t)j.p.n + 1, sizeof(double));
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
