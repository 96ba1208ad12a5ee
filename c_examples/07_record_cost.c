/*
 * What does recording cost? The loop of 07_record.c, by turns without and with a recorder: time of the calling thread and
 * of the clock on the wall, bytes per frame. Then the loop once more, beside the file: every frame and solution that was
 * appended must be read back bit for bit.
 *
 *     cc -std=c99 -O2 c_examples/07_record_cost.c -Iinclude -Ltarget/release -lmlcp -lm
 *     ./a.out [recording.h5] [--steps 5000] [--balls 100] [--rounds 3]
 *
 * Rounds follow one another, and the least time of each kind counts: other programs only ever add to it.
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include "07_ball_world.h"

#include <time.h>

typedef struct {
    double processor, wall; /* s */
} duration;

static mlcp_frame *frame;
static mlcp_problem *problem;
static mlcp_solver *solver;
static mlcp_report report;

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static duration now(void)
{
    const duration d = {seconds(CLOCK_THREAD_CPUTIME_ID), seconds(CLOCK_MONOTONIC)};
    return d;
}

/* All of a step but moving on. */
static void solve_step(int step)
{
    find_contacts();
    fill_frame(frame, step);
    CHECK(mlcp_frame_fill_problem(frame, "box", problem));
    CHECK(mlcp_solver_solve(solver, problem, NULL, 0, impulse, 3 * contacts, &report));
}

/* Returns how long the loop took. appending: the calls alone. */
static duration run_loop(int steps, mlcp_recorder *recorder, double *solver_seconds, duration *appending)
{
    build_world();
    const duration begin = now();
    for (int step = 0; step < steps; step++) {
        solve_step(step);
        if (recorder != NULL) {
            const duration before = now();
            CHECK(mlcp_recorder_append_frame(recorder, frame, "box", impulse, 3 * contacts, &report));
            const duration after = now();
            appending->processor += after.processor - before.processor;
            appending->wall += after.wall - before.wall;
            solver_seconds[step] = report.seconds;
        }
        CHECK(mlcp_frame_get_response(frame, "box", impulse, 3 * contacts, velocity[0], 6 * (size_t)balls, NULL, 0, NULL, 0, NULL));
        move_on();
    }
    const duration end = now(), took = {end.processor - begin.processor, end.wall - begin.wall};
    return took;
}

/* Bytes of all fields of a frame and its solution. */
static double raw_bytes(void)
{
    const double per_body = 4 + 8 * (1 + 9 + 3 + 4 + 6 + 6), per_contact = 8 + 8 * (1 + 1 + 3 + 3 + 1 + 1 + 1);
    const double solved = 8 * (3 * (double)contacts + 6 * balls + 6) + 4 * (double)contacts + 4;
    return 16 + balls * per_body + (double)contacts * per_contact + solved;
}

static int same(const void *a, const void *b, size_t bytes)
{
    return bytes == 0 || memcmp(a, b, bytes) == 0;
}

static int same_frame(const mlcp_frame *a, const mlcp_frame *b)
{
    const size_t d = sizeof(double);
    double step[2], time[2];
    mlcp_bodies p = {sizeof p, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL}, q = p;
    mlcp_constraints r = {sizeof r, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}, s = r;
    mlcp_contacts t = {sizeof t, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}, u = t;
    CHECK(mlcp_frame_get_step(a, &step[0], &time[0]));
    CHECK(mlcp_frame_get_step(b, &step[1], &time[1]));
    CHECK(mlcp_frame_get_bodies(a, &p));
    CHECK(mlcp_frame_get_bodies(b, &q));
    CHECK(mlcp_frame_get_constraints(a, &r));
    CHECK(mlcp_frame_get_constraints(b, &s));
    CHECK(mlcp_frame_get_contacts(a, &t));
    CHECK(mlcp_frame_get_contacts(b, &u));
    return same(&step[0], &step[1], d) && same(&time[0], &time[1], d) && p.count == q.count && r.count == s.count
        && t.count == u.count && same(p.ids, q.ids, p.count * sizeof *p.ids) && same(p.masses, q.masses, p.count * d)
        && same(p.inertia, q.inertia, 9 * p.count * d) && same(p.positions, q.positions, 3 * p.count * d)
        && same(p.quaternions, q.quaternions, 4 * p.count * d) && same(p.velocities, q.velocities, 6 * p.count * d)
        && same(p.forces, q.forces, 6 * p.count * d) && same(t.pairs, u.pairs, 2 * t.count * sizeof *t.pairs)
        && same(t.gap, u.gap, t.count * d) && same(t.mu, u.mu, t.count * d) && same(t.normals, u.normals, 3 * t.count * d)
        && same(t.points, u.points, 3 * t.count * d) && same(t.restitution, u.restitution, t.count * d)
        && same(t.compliance, u.compliance, t.count * d) && same(t.damping, u.damping, t.count * d);
}

/* The loop again, beside the file; returns how many steps are the same in it. raw: of all frames, bytes. */
static int compare(const char *path, int steps, const double *solver_seconds, double *raw)
{
    static int32_t states[MAX_CONTACTS];
    mlcp_dataset *dataset = NULL;
    mlcp_frame *read = NULL;
    int equal = 0;
    CHECK(mlcp_dataset_open(path, &dataset));
    CHECK(mlcp_frame_create(&read));
    build_world();
    for (int step = 0; step < steps && mlcp_dataset_frames(dataset) == (size_t)steps; step++) {
        mlcp_frame_errors errors = {sizeof errors, 0, 0, 0, 0, 0};
        mlcp_frame_solution solution;
        memset(&solution, 0, sizeof solution);
        solution.struct_size = sizeof solution;
        solve_step(step);
        *raw += raw_bytes();
        CHECK(mlcp_frame_get_response(frame, "box", impulse, 3 * contacts, velocity[0], 6 * (size_t)balls, NULL, 0, states,
                                      contacts, &errors));
        CHECK(mlcp_dataset_load_frame(dataset, (size_t)step, read));
        CHECK(mlcp_dataset_get_solution(dataset, (size_t)step, &solution));
        equal += same_frame(frame, read) && solution.z_len == 3 * contacts && solution.states_len == contacts
            && same(solution.z, impulse, 3 * contacts * sizeof *impulse)
            && same(solution.velocities, velocity, 6 * (size_t)balls * sizeof(double))
            && same(solution.states, states, contacts * sizeof *states)
            && same(&solution.errors, &errors, sizeof errors)
            && same(&solution.seconds, &solver_seconds[step], sizeof *solver_seconds)
            && solution.iterations == report.iterations && strcmp(solution.formulation, "box") == 0
            && strcmp(solution.solver, "pgs") == 0 && strcmp(solution.outcome, mlcp_outcome_name(report.outcome)) == 0;
        move_on();
    }
    mlcp_frame_destroy(read);
    mlcp_dataset_destroy(dataset);
    return equal;
}

int main(int argc, char **argv)
{
    const char *path = "recording.h5";
    int steps = 5000, rounds = 3;
    balls = 100;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc) {
            steps = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--balls") == 0 && i + 1 < argc) {
            balls = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
            rounds = atoi(argv[++i]);
        } else {
            path = argv[i];
        }
    }
    double *solver_seconds = steps > 0 ? malloc((size_t)steps * sizeof *solver_seconds) : NULL;
    if (solver_seconds == NULL || balls < 1 || balls > MAX_BALLS || rounds < 1) {
        fprintf(stderr, "usage: %s [recording.h5] [--steps 5000] [--balls 100 (at most %d)] [--rounds 3]\n", argv[0], MAX_BALLS);
        return 2;
    }
    mlcp_settings settings;
    CHECK(mlcp_settings_init(&settings, sizeof settings));
    settings.solver = MLCP_SOLVER_KIND_PGS;
    settings.max_iterations = 50; /* as games do; a longer solve would only hide the cost */
    settings.history_capacity = 0;
    CHECK(mlcp_report_init(&report, sizeof report));
    CHECK(mlcp_frame_create(&frame));
    CHECK(mlcp_problem_create(&problem));
    CHECK(mlcp_solver_create(&settings, &solver));
    mlcp_recorder_counts counts = {sizeof counts, 0, 0, 0, 0};
    duration least[2] = {{HUGE_VAL, HUGE_VAL}, {HUGE_VAL, HUGE_VAL}}, alone = least[0];
    printf("%d steps of %d balls\n%-10s %14s %14s %14s\n", steps, balls, "loop", "thread [s]", "wall [s]", "left over [s]");
    for (int round = 0; round < 2 * rounds; round++) {
        const int on = round % 2;
        mlcp_recorder *recorder = NULL;
        if (on) {
            const mlcp_recorder_options options = {sizeof options, 0, MLCP_WHEN_FULL_WAIT, 0, 0, "07_record_cost"};
            CHECK(mlcp_recorder_create(path, &options, &recorder));
        }
        duration appending = {0.0, 0.0};
        const duration took = run_loop(steps, recorder, solver_seconds, &appending);
        const double end = seconds(CLOCK_MONOTONIC);
        if (on) {
            CHECK(mlcp_recorder_flush(recorder));
            CHECK(mlcp_recorder_get_counts(recorder, &counts));
            mlcp_recorder_destroy(recorder);
            alone.processor = fmin(alone.processor, appending.processor);
            alone.wall = fmin(alone.wall, appending.wall);
        }
        printf("%-10s %14.3f %14.3f %14.3f\n", on ? "recorded" : "bare", took.processor, took.wall, seconds(CLOCK_MONOTONIC) - end);
        least[on].processor = fmin(least[on].processor, took.processor);
        least[on].wall = fmin(least[on].wall, took.wall);
    }
    printf("recording adds %.2f %% to the thread's time and %.2f %% on the wall; the calls alone are %.2f %% and %.2f %%:"
           " %.1f us of a step of %.0f us\n",
           100.0 * (least[1].processor / least[0].processor - 1.0), 100.0 * (least[1].wall / least[0].wall - 1.0),
           100.0 * alone.processor / least[0].processor, 100.0 * alone.wall / least[0].wall, 1e6 * alone.wall / steps,
           1e6 * least[0].wall / steps);
    double raw = 0.0;
    const int equal = compare(path, steps, solver_seconds, &raw);
    printf("%s: %d frames, %.1f MB, %.1f kB per frame of %.1f kB raw (%.0f %%), %d contacts at the end\n", path,
           (int)counts.written, 1e-6 * (double)counts.bytes, 1e-3 * (double)counts.bytes / steps, 1e-3 * raw / steps,
           100.0 * (double)counts.bytes / raw, (int)contacts);
    printf("%d of %d frames with their solutions read back bit for bit\n", equal, steps);
    mlcp_solver_destroy(solver);
    mlcp_problem_destroy(problem);
    mlcp_frame_destroy(frame);
    free(solver_seconds);
    printf(equal == steps ? "ok\n" : "FAILED\n");
    return equal == steps ? 0 : 1;
}
