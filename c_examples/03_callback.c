/*
 * Watch a solve, iteration by iteration, and stop it when you have seen enough.
 *
 * A tower of 30 boxes, one contact between each and the next, lands on the ground. Gauss-Seidel carries news by one box
 * per sweep, so it needs many sweeps for a tower; a good solve to watch.
 *
 *     cc -std=c99 -O2 c_examples/03_callback.c -Iinclude -Ltarget/release -lmlcp -lm
 */
#include "mlcp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                                      \
    do {                                                                                                                 \
        mlcp_status status_ = (call);                                                                                    \
        if (status_ != MLCP_STATUS_OK) {                                                                                 \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, mlcp_status_name(status_), mlcp_last_error());       \
            exit(1);                                                                                                     \
        }                                                                                                                \
    } while (0)

enum { N = 30 };

/* What the callback needs to know, and what it wants to tell. */
typedef struct {
    mlcp_solver *solver;
    const mlcp_problem *problem;
    double enough;        /* stop at this energy error, J */
    mlcp_status re_entry; /* what the solver said when it was called from inside its own callback */
} watcher;

/* Runs on the solving thread. Non-zero stops the solve. It must not throw or longjmp. */
static int32_t watch(const mlcp_iteration *now, void *user_data)
{
    watcher *me = user_data;
    if (now->iteration % 100 == 0) {
        printf("  %5d  %.3e J  %.3e J%s\n", (int)now->iteration, now->energy_error, now->change,
               now->measured ? "" : "  (error measured earlier)");
    }
    if (now->iteration == 0) {
        double x[N];
        me->re_entry = mlcp_solver_solve(me->solver, me->problem, NULL, 0, x, N, NULL);
        printf("         a solve inside the solve: %s (\"%s\")\n", mlcp_status_name(me->re_entry), mlcp_last_error());
    }
    /* now->x and now->w may be read here, n of each; copy what you want to keep. */
    return now->measured && now->energy_error <= me->enough;
}

int main(void)
{
    /* Box i weighs 1 kg and rests on box i - 1, box 0 on the ground. Row i: the speed at which the two part. */
    double a[N * N] = {0.0}, b[N] = {0.0}, lo[N], hi[N], x[N];
    for (int i = 0; i < N; i++) {
        a[i * N + i] = i == 0 ? 1.0 : 2.0;
        if (i > 0) {
            a[i * N + i - 1] = a[(i - 1) * N + i] = -1.0;
        }
        lo[i] = 0.0;
        hi[i] = INFINITY;
    }
    b[0] = -1.0; /* the tower comes down as one, at 1 m/s */

    mlcp_problem *problem = NULL;
    CHECK(mlcp_problem_create(&problem));
    CHECK(mlcp_problem_set_dense(problem, N, a, N * N, N, MLCP_TRIANGLE_FULL));
    CHECK(mlcp_problem_set_b(problem, b, N));
    CHECK(mlcp_problem_set_bounds(problem, lo, N, hi, N));

    mlcp_settings settings;
    CHECK(mlcp_settings_init(&settings, sizeof settings));
    settings.solver = MLCP_SOLVER_KIND_PGS;
    settings.max_iterations = 100000;
    settings.check_interval = 10;   /* measure every tenth sweep: a measurement costs about as much as a sweep */
    settings.history_capacity = 16; /* longer runs are thinned evenly */

    mlcp_solver *solver = NULL;
    mlcp_report report;
    CHECK(mlcp_report_init(&report, sizeof report));
    CHECK(mlcp_solver_create(&settings, &solver));
    watcher me = {solver, problem, 1e-6, MLCP_STATUS_OK};
    CHECK(mlcp_solver_set_callback(solver, watch, &me));

    printf("  sweep  energy error  change\n");
    CHECK(mlcp_solver_solve(solver, problem, NULL, 0, x, N, &report));
    printf("%s after %d sweeps with %.3e J left of %.3e J; x[0] = %.4f N s, exact: %d\n\n", mlcp_outcome_name(report.outcome),
           (int)report.iterations, report.energy_error, report.energy_scale, x[0], N);

    printf("history: %d records of %d sweeps\n", (int)mlcp_solver_history_len(solver), (int)report.iterations);
    for (size_t i = 0; i < mlcp_solver_history_len(solver); i++) {
        mlcp_iteration record;
        CHECK(mlcp_iteration_init(&record, sizeof record));
        CHECK(mlcp_solver_get_history(solver, i, &record));
        printf("  %5d  %.3e J\n", (int)record.iteration, record.energy_error);
    }
    mlcp_solver_destroy(solver);
    mlcp_problem_destroy(problem);
    return report.outcome == MLCP_OUTCOME_STOPPED && me.re_entry == MLCP_STATUS_BUSY ? 0 : 1;
}
