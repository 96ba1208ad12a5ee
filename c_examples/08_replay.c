/*
 * Replay a recording: every frame again, in other formulations and with other solvers, and what each leaves of Coulomb's
 * law. Without a file it records a small one first: a mass sliding across the axes of its friction rows.
 *
 *     cc -std=c99 -O2 c_examples/08_replay.c -Iinclude -Ltarget/release -lmlcp -lm
 *     ./a.out [recording.h5] [every k-th frame]
 */
#include "mlcp.h"

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

typedef struct {
    const char *formulation;
    mlcp_solver_kind solver;
} way;

static const way WAYS[] = {
    {"box", MLCP_SOLVER_KIND_INTERIOR_POINT},
    {"polyhedral:4", MLCP_SOLVER_KIND_LEMKE},
    {"polyhedral:16", MLCP_SOLVER_KIND_LEMKE},
    {"cone", MLCP_SOLVER_KIND_ALART_CURNIER},
};
enum { WAYS_COUNT = sizeof WAYS / sizeof *WAYS, LARGEST = 600 };

/* 40 steps of a mass of 2 kg that slides at 30 degrees to the axes and comes to rest. */
static void record_something(const char *path)
{
    const double mass = 2.0, inertia[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, turn[4] = {1, 0, 0, 0}, up[3] = {0, 0, 1};
    const double mu = 0.5, gap = 0.0, force[6] = {0, 0, -9.81 * 2.0, 0, 0, 0};
    const int32_t pair[2] = {-1, 0};
    double position[3] = {0}, velocity[6] = {0.866, 0.5, 0, 0, 0, 0}, z[3];
    mlcp_frame *frame = NULL;
    mlcp_problem *problem = NULL;
    mlcp_solver *solver = NULL;
    mlcp_recorder *recorder = NULL;
    CHECK(mlcp_frame_create(&frame));
    CHECK(mlcp_problem_create(&problem));
    CHECK(mlcp_solver_create(NULL, &solver));
    CHECK(mlcp_recorder_create(path, NULL, &recorder));
    for (int step = 0; step < 40; step++) {
        mlcp_bodies bodies = {sizeof bodies, 1, NULL, &mass, inertia, position, turn, velocity, force};
        mlcp_contacts contacts = {sizeof contacts, 1, pair, &gap, &mu, up, position, NULL, NULL, NULL};
        CHECK(mlcp_frame_set_step(frame, 0.01, 0.01 * step));
        CHECK(mlcp_frame_set_bodies(frame, &bodies));
        CHECK(mlcp_frame_set_contacts(frame, &contacts));
        CHECK(mlcp_frame_fill_problem(frame, "box", problem));
        CHECK(mlcp_solver_solve(solver, problem, NULL, 0, z, 3, NULL));
        CHECK(mlcp_recorder_append_frame(recorder, frame, "box", z, 3, NULL));
        CHECK(mlcp_frame_get_response(frame, "box", z, 3, velocity, 6, NULL, 0, NULL, 0, NULL));
        for (int k = 0; k < 3; k++) {
            position[k] += 0.01 * velocity[k];
        }
    }
    CHECK(mlcp_recorder_flush(recorder));
    mlcp_recorder_destroy(recorder);
    mlcp_solver_destroy(solver);
    mlcp_problem_destroy(problem);
    mlcp_frame_destroy(frame);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "sliding.h5";
    const int every = argc > 2 ? atoi(argv[2]) : 1;
    if (argc < 2) {
        record_something(path);
    }
    mlcp_dataset *dataset = NULL;
    mlcp_frame *frame = NULL;
    mlcp_problem *problem = NULL;
    CHECK(mlcp_dataset_open(path, &dataset));
    CHECK(mlcp_frame_create(&frame));
    CHECK(mlcp_problem_create(&problem));
    const size_t frames = mlcp_dataset_frames(dataset);
    printf("%s: %d frames, %d problems\n", path, (int)frames, (int)mlcp_dataset_problems(dataset));
    printf("%-14s %-14s %9s %12s %12s %12s %10s\n", "formulation", "solver", "converged", "normal", "friction [J]", "energy [J]", "ms");
    int failed = every < 1;
    for (int w = 0; w < WAYS_COUNT && !failed; w++) {
        mlcp_settings settings;
        mlcp_report report;
        mlcp_solver *solver = NULL;
        CHECK(mlcp_settings_init(&settings, sizeof settings));
        settings.solver = WAYS[w].solver;
        CHECK(mlcp_solver_create(&settings, &solver));
        CHECK(mlcp_report_init(&report, sizeof report));
        double normal = 0.0, friction = 0.0, energy = 0.0, seconds = 0.0;
        int converged = 0, done = 0, left_out = 0;
        for (size_t k = 0; k < frames; k += (size_t)every) {
            mlcp_frame_errors errors = {sizeof errors, 0, 0, 0, 0, 0};
            size_t rows = 0;
            CHECK(mlcp_dataset_load_frame(dataset, k, frame));
            CHECK(mlcp_frame_get_rows(frame, WAYS[w].formulation, &rows));
            if (WAYS[w].solver == MLCP_SOLVER_KIND_LEMKE && rows > LARGEST) {
                left_out++; /* the tableau has rows * rows entries */
                continue;
            }
            double *z = malloc((rows + 1) * sizeof *z);
            if (z == NULL) {
                return 1;
            }
            CHECK(mlcp_frame_fill_problem(frame, WAYS[w].formulation, problem));
            CHECK(mlcp_solver_solve(solver, problem, NULL, 0, z, rows, &report));
            CHECK(mlcp_frame_get_response(frame, WAYS[w].formulation, z, rows, NULL, 0, NULL, 0, NULL, 0, &errors));
            free(z);
            done++;
            converged += report.outcome == MLCP_OUTCOME_CONVERGED;
            normal += errors.normal;
            friction += errors.magnitude + errors.direction;
            energy += errors.energy; /* NaN for facets, whose rows have none */
            seconds += report.seconds;
        }
        mlcp_solver_destroy(solver);
        if (done > 0) {
            printf("%-14s %-14s %4d/%-4d %12.1e %12.1e %12.1e %10.3f\n", WAYS[w].formulation,
                   mlcp_solver_kind_name(WAYS[w].solver), converged, done, normal / done, friction / done, energy / done,
                   1e3 * seconds / done);
        }
        if (left_out > 0) {
            printf("%-14s %d frames of more than %d rows are left out\n", WAYS[w].formulation, left_out, LARGEST);
        }
    }
    mlcp_problem_destroy(problem);
    mlcp_frame_destroy(frame);
    mlcp_dataset_destroy(dataset);
    printf(failed ? "FAILED\n" : "ok\n");
    return failed;
}
