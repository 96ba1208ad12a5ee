/*
 * Record a game from inside its loop: balls fall into a box; every step becomes a frame (bodies, contacts), the frame a
 * problem, and frame and solution go to a file that h5py, MATLAB, h5ls and 08_replay.c read. The world itself is in
 * 07_ball_world.h; here is what the library has to do with it. What recording costs: 07_record_cost.c.
 *
 *     cc -std=c99 -O2 c_examples/07_record.c -Iinclude -Ltarget/release -lmlcp -lm
 *     ./a.out [recording.h5] [--steps 300] [--balls 60] [--wait]
 *
 * Appending copies the frame into a queue; another thread writes. A full queue drops frames and counts them, so the loop
 * never waits for the disk; with --wait it does. Kill the program at any moment: the file opens, less the frames still queued.
 */
#include "07_ball_world.h"

int main(int argc, char **argv)
{
    const char *path = "recording.h5";
    int steps = 300, wait = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc) {
            steps = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--balls") == 0 && i + 1 < argc) {
            balls = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--wait") == 0) {
            wait = 1;
        } else {
            path = argv[i];
        }
    }
    if (steps < 1 || balls < 1 || balls > MAX_BALLS) {
        fprintf(stderr, "usage: %s [recording.h5] [--steps 300] [--balls 60 (at most %d)] [--wait]\n", argv[0], MAX_BALLS);
        return 2;
    }
    mlcp_settings settings;
    mlcp_report report;
    mlcp_frame *frame = NULL;
    mlcp_problem *problem = NULL;
    mlcp_solver *solver = NULL;
    mlcp_recorder *recorder = NULL;
    CHECK(mlcp_settings_init(&settings, sizeof settings));
    settings.solver = MLCP_SOLVER_KIND_PGS;
    settings.relative_tolerance = 1e-6;
    settings.history_capacity = 0;
    CHECK(mlcp_report_init(&report, sizeof report));
    CHECK(mlcp_frame_create(&frame));
    CHECK(mlcp_problem_create(&problem));
    CHECK(mlcp_solver_create(&settings, &solver));
    mlcp_recorder_options options = {sizeof options, 0, wait ? MLCP_WHEN_FULL_WAIT : MLCP_WHEN_FULL_DROP, 0, 0, "07_record"};
    CHECK(mlcp_recorder_create(path, &options, &recorder));
    build_world();
    double error = 0.0;
    for (int step = 0; step < steps; step++) {
        find_contacts();
        fill_frame(frame, step);
        CHECK(mlcp_frame_fill_problem(frame, "box", problem));
        CHECK(mlcp_solver_solve(solver, problem, NULL, 0, impulse, 3 * contacts, &report));
        CHECK(mlcp_recorder_append_frame(recorder, frame, "box", impulse, 3 * contacts, &report));
        CHECK(mlcp_frame_get_response(frame, "box", impulse, 3 * contacts, velocity[0], 6 * (size_t)balls, NULL, 0, NULL, 0, NULL));
        error = fmax(error, report.energy_error);
        move_on();
    }
    mlcp_recorder_counts counts = {sizeof counts, 0, 0, 0, 0};
    CHECK(mlcp_recorder_flush(recorder));
    CHECK(mlcp_recorder_get_counts(recorder, &counts));
    printf("%d steps of %d balls, %d contacts at the end, worst energy error %.1e J\n", steps, balls, (int)contacts, error);
    printf("%s  %d frames written, %d dropped, %.1f MB\n", path, (int)counts.written, (int)counts.dropped, 1e-6 * (double)counts.bytes);
    if (counts.written + counts.dropped != (uint64_t)steps) {
        return 1;
    }
    mlcp_recorder_destroy(recorder);
    mlcp_solver_destroy(solver);
    mlcp_problem_destroy(problem);
    mlcp_frame_destroy(frame);
    printf("ok\n");
    return 0;
}
