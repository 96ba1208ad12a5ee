/*
 * A game loop at 60 Hz: a chain swings, 25 balls fall into a box and come to rest. Every step
 *   finds contacts, refills the problem, solves it from last step's impulses within 2 ms, and moves the bodies.
 * The world itself (contacts, rows, integration) is in 02_game_world.h; here is what the library has to do with it.
 *
 *     cc -std=c99 -O2 c_examples/02_game_loop.c -Iinclude -Ltarget/release -lmlcp -lm
 *     ./a.out [solver: auto, pgs, ...] [--steps 600] [--time-limit 0.002]
 *
 * Once the warm-up has reached the largest size nothing allocates; the program counts and insists.
 */
#include "02_game_world.h"
#include "mlcp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                                      \
    do {                                                                                                                 \
        mlcp_status status_ = (call);                                                                                    \
        if (status_ != MLCP_STATUS_OK) {                                                                                 \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, mlcp_status_name(status_), mlcp_last_error());       \
            exit(1);                                                                                                     \
        }                                                                                                                \
    } while (0)

/* ---- Count allocations: this program's malloc family stands in front of the C library's ---- */

static long allocations;
#ifdef __GLIBC__
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *malloc(size_t size) { return allocations++, __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return allocations++, __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return allocations++, __libc_realloc(old, size); }
void *aligned_alloc(size_t alignment, size_t size) { return allocations++, __libc_memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size)
{
    allocations++;
    *out = __libc_memalign(alignment, size);
    return *out == NULL ? 12 : 0; /* ENOMEM */
}
#endif

/* Give the rows to the library and solve; x holds the guess before and the impulses after. */
static void solve(mlcp_problem *problem, mlcp_solver *solver, mlcp_report *report)
{
    CHECK(mlcp_problem_set_jacobian(problem, inverse_mass[0], 12 * BODIES, jacobian[0], 12 * rows, bodies[0], 2 * rows, NULL, 0));
    CHECK(mlcp_problem_set_motion(problem, H, velocity[0], 6 * BODIES, force[0], 6 * BODIES, violation, rows));
    CHECK(mlcp_problem_set_bounds(problem, lo, rows, hi, rows));
    CHECK(mlcp_problem_set_friction(problem, findex, rows, mu, rows, MLCP_FRICTION_MODE_COUPLED));
    CHECK(mlcp_solver_solve(solver, problem, x, rows, x, rows, report));
    CHECK(mlcp_problem_get_velocity_change(problem, x, rows, change[0], 6 * BODIES));
}

/*
 * Take all memory now, with the largest problem there can be: every contact slot filled, bodies paired at random. It must
 * get to work for that, so it has forces to balance and no clock to stop it.
 */
static void warm_up(mlcp_problem *problem, mlcp_solver *solver, mlcp_settings settings, mlcp_report *report)
{
    static const double up[3] = {0, 0, 1};
    unsigned random = 7;
    find_rows();
    find_forces();
    contact_count = 0;
    rows = JOINT_ROWS;
    while (contact_count < MAX_CONTACTS) {
        random = random * 1664525u + 1013904223u;
        const int a = LINKS + (int)((random >> 8) % BALLS), b = LINKS + (int)((random >> 16) % BALLS);
        add_contact(a, a == b ? -1 : b, up, 0.0);
    }
    const mlcp_settings wanted = settings;
    settings.time_limit = 60.0;
    settings.relative_tolerance = settings.energy_tolerance = 0.0; /* never good enough: */
    settings.max_iterations = 400; /* go on, so that the solvers behind the first sweeps take their memory as well */
    CHECK(mlcp_solver_set_settings(solver, &settings));
    CHECK(mlcp_problem_reserve(problem, MAX_ROWS, BODIES));
    solve(problem, solver, report);
    CHECK(mlcp_solver_set_settings(solver, &wanted));
    contact_count = 0;
    memset(x, 0, sizeof x);
}

static int ascending(const void *p, const void *q)
{
    const double a = *(const double *)p, b = *(const double *)q;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    enum { MAX_STEPS = 100000 };
    static double seconds[MAX_STEPS];
    int steps = 600, outcomes[MLCP_OUTCOME_RAY + 1] = {0};
    mlcp_settings settings;
    CHECK(mlcp_settings_init(&settings, sizeof settings));
    settings.time_limit = 0.002;         /* what a frame can spare */
    settings.relative_tolerance = 1e-6;  /* a millionth of the step's own energy error is invisible */
    settings.energy_tolerance = 1e-9;    /* J */
    settings.check_interval = 8;
    settings.history_capacity = 0;
    for (int i = 1; i < argc; i++) {
        if (mlcp_solver_kind_from_name(argv[i], &settings.solver) == MLCP_STATUS_OK) {
            continue;
        } else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc) {
            steps = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--time-limit") == 0 && i + 1 < argc) {
            settings.time_limit = atof(argv[++i]);
        } else {
            fprintf(stderr, "usage: %s [auto|pgs|bpp|...] [--steps 600] [--time-limit 0.002]\n", argv[0]);
            return 2;
        }
    }
    if (steps < 1 || steps > MAX_STEPS) {
        fprintf(stderr, "--steps must be in 1..%d\n", MAX_STEPS);
        return 2;
    }
    mlcp_problem *problem = NULL;
    mlcp_solver *solver = NULL;
    mlcp_report report;
    CHECK(mlcp_report_init(&report, sizeof report));
    CHECK(mlcp_problem_create(&problem));
    CHECK(mlcp_solver_create(&settings, &solver));
    build_world();
    warm_up(problem, solver, settings, &report);

    double kinetic = 0.0, sum = 0.0, worst = -1.0, worst_relative = 0.0, penetration = 0.0, joint = 0.0;
    char worst_name[80] = "none: every row of every step is exact";
    size_t most_rows = 0;
    int worst_step = 0;
    const long warm = allocations;
    for (int step = 0; step < steps; step++) {
        find_rows();
        find_forces();
        solve(problem, solver, &report);
        kinetic = integrate();

        seconds[step] = report.seconds;
        outcomes[report.outcome]++;
        sum += report.energy_error;
        worst_relative = fmax(worst_relative, report.relative_energy_error);
        penetration = fmax(penetration, worst_penetration);
        joint = fmax(joint, worst_joint);
        most_rows = rows > most_rows ? rows : most_rows;
        if (report.energy_error > worst) {
            int32_t row;
            double error;
            size_t count;
            CHECK(mlcp_solver_get_worst_rows(solver, &row, 1, &error, 1, &count));
            if (count == 1) {
                name_row((size_t)row, worst_name, sizeof worst_name);
            }
            worst = report.energy_error;
            worst_step = step;
        }
    }
    const long in_loop = allocations - warm;
    mlcp_solver_destroy(solver);
    mlcp_problem_destroy(problem);

    qsort(seconds, (size_t)steps, sizeof *seconds, ascending);
    printf("%s, %d steps of 1/60 s, %d bodies, up to %d rows\n", mlcp_solver_kind_name(settings.solver), steps, BODIES, (int)most_rows);
    printf("solve time    p50 %.3f ms, p99 %.3f ms, max %.3f ms\n", 1e3 * seconds[steps / 2], 1e3 * seconds[steps * 99 / 100],
           1e3 * seconds[steps - 1]);
    printf("energy error  mean %.2e J, worst %.2e J, worst relative %.2e\n", sum / steps, worst, worst_relative);
    printf("worst row     step %d: %s\n", worst_step, worst_name);
    printf("outcomes     ");
    for (int i = 1; i <= MLCP_OUTCOME_RAY; i++) {
        printf(" %s %d%s", mlcp_outcome_name(i), outcomes[i], i < MLCP_OUTCOME_RAY ? "," : "\n");
    }
    printf("geometry      penetration <= %.2f mm, joint gap <= %.2f mm\n", 1e3 * penetration, 1e3 * joint);
    printf("at the end    kinetic energy %.2e J\n", kinetic);
    if (warm > 0) {
        printf("allocations   %ld after the warm-up\n", in_loop);
    } else {
        printf("allocations   not counted here\n");
    }

    /* The limits leave room for steps that a busy machine cuts short. Rest takes its time, so short runs are excused. */
    int failed = in_loop != 0;
    failed |= !(penetration < 0.5 * RADIUS) || !(joint < HALF_LINK);
    failed |= steps >= 600 && !(kinetic < 0.01);
    for (int i = LINKS; i < BODIES; i++) { /* every ball is still in the box */
        failed |= !(fabs(position[i][0]) < BOX && fabs(position[i][1]) < BOX && position[i][2] > 0.0);
    }
    printf(failed ? "FAILED\n" : "ok\n");
    return failed;
}
