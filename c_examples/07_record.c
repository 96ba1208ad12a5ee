/*
 * Record a game from inside its loop: balls fall into a box; every step becomes a frame (bodies, contacts), the frame a
 * problem, and frame and solution go to a file that h5py, MATLAB, h5ls and 08_replay.c read.
 *
 *     cc -std=c99 -O2 c_examples/07_record.c -Iinclude -Ltarget/release -lmlcp -lm
 *     ./a.out [recording.h5] [--steps 300] [--balls 60] [--wait] [--off]
 *
 * Appending copies the frame into a queue; another thread writes. A full queue drops frames and counts them, so the loop
 * never waits for the disk; with --wait it does. Kill the program at any moment: the file opens, less the frames still queued.
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include "mlcp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(call)                                                                                                      \
    do {                                                                                                                 \
        mlcp_status status_ = (call);                                                                                    \
        if (status_ != MLCP_STATUS_OK) {                                                                                 \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, mlcp_status_name(status_), mlcp_last_error());       \
            exit(1);                                                                                                     \
        }                                                                                                                \
    } while (0)

enum { MAX_BALLS = 200, MAX_CONTACTS = 8 * MAX_BALLS };
static const double H = 1.0 / 60.0, RADIUS = 0.1, WALL = 0.6, MU = 0.5, MARGIN = 0.01; /* s, m, m, -, m */

static int balls = 60;
static double mass[MAX_BALLS], inertia[MAX_BALLS][9], position[MAX_BALLS][3], turn[MAX_BALLS][4], velocity[MAX_BALLS][6];
static double force[MAX_BALLS][6], impulse[3 * MAX_CONTACTS];
static int32_t pair[MAX_CONTACTS][2];
static double gap[MAX_CONTACTS], mu[MAX_CONTACTS], normal[MAX_CONTACTS][3], point[MAX_CONTACTS][3];
static size_t contacts;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void build_world(void)
{
    for (int i = 0; i < balls; i++) {
        mass[i] = 1.0;
        turn[i][0] = 1.0;
        for (int k = 0; k < 3; k++) {
            inertia[i][4 * k] = 0.4 * mass[i] * RADIUS * RADIUS;
        }
        position[i][0] = 0.25 * (i % 4 - 1.5) + 0.013 * (i % 7 - 3);
        position[i][1] = 0.25 * (i / 4 % 4 - 1.5) + 0.011 * (i % 5 - 2);
        position[i][2] = 0.2 + 0.25 * (i / 16);
        force[i][2] = -9.81 * mass[i];
    }
}

/* The normal points away from the first body, the point is seen from its centre (from the origin for the world, -1). */
static void add_contact(int first, int second, const double *n, const double *p, double distance)
{
    if (distance > MARGIN || contacts == MAX_CONTACTS) {
        return;
    }
    pair[contacts][0] = first;
    pair[contacts][1] = second;
    memcpy(normal[contacts], n, 3 * sizeof *n);
    memcpy(point[contacts], p, 3 * sizeof *p);
    gap[contacts] = distance > 0.0 ? distance : 0.2 * distance; /* push out softly */
    mu[contacts++] = MU;
}

static void find_contacts(void)
{
    static const double plane[5][4] = {{0, 0, 1, 0}, {1, 0, 0, -1}, {-1, 0, 0, -1}, {0, 1, 0, -1}, {0, -1, 0, -1}};
    contacts = 0;
    for (int i = 0; i < balls; i++) {
        for (int w = 0; w < 5; w++) {
            double p[3], distance = -plane[w][3] * WALL - RADIUS;
            for (int k = 0; k < 3; k++) {
                distance += plane[w][k] * position[i][k];
            }
            for (int k = 0; k < 3; k++) {
                p[k] = position[i][k] - (RADIUS + distance) * plane[w][k];
            }
            add_contact(-1, i, plane[w], p, distance);
        }
        for (int j = 0; j < i; j++) {
            double n[3], p[3], square = 0.0;
            for (int k = 0; k < 3; k++) {
                n[k] = position[i][k] - position[j][k];
                square += n[k] * n[k];
            }
            const double distance = sqrt(square);
            for (int k = 0; k < 3 && distance > 0.0; k++) {
                n[k] /= distance;
                p[k] = RADIUS * n[k];
            }
            if (distance > 0.0) {
                add_contact(j, i, n, p, distance - 2.0 * RADIUS);
            }
        }
    }
}

static void fill_frame(mlcp_frame *frame, int step)
{
    mlcp_bodies b = {sizeof b, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
    mlcp_contacts c = {sizeof c, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
    b.count = (size_t)balls;
    b.masses = mass;
    b.inertia = inertia[0];
    b.positions = position[0];
    b.quaternions = turn[0];
    b.velocities = velocity[0];
    b.forces = force[0];
    c.count = contacts;
    c.pairs = pair[0];
    c.gap = gap;
    c.mu = mu;
    c.normals = normal[0];
    c.points = point[0];
    CHECK(mlcp_frame_set_step(frame, H, step * H));
    CHECK(mlcp_frame_set_bodies(frame, &b));
    CHECK(mlcp_frame_set_contacts(frame, &c));
}

int main(int argc, char **argv)
{
    const char *path = "recording.h5";
    int steps = 300, off = 0, wait = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc) {
            steps = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--balls") == 0 && i + 1 < argc) {
            balls = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--off") == 0) {
            off = 1;
        } else if (strcmp(argv[i], "--wait") == 0) {
            wait = 1;
        } else {
            path = argv[i];
        }
    }
    if (steps < 1 || balls < 1 || balls > MAX_BALLS) {
        fprintf(stderr, "usage: %s [recording.h5] [--steps 300] [--balls 60 (at most %d)] [--wait] [--off]\n", argv[0], MAX_BALLS);
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
    if (!off) {
        mlcp_recorder_options options = {sizeof options, 0, wait ? MLCP_WHEN_FULL_WAIT : MLCP_WHEN_FULL_DROP, 0, 0, "07_record"};
        CHECK(mlcp_recorder_create(path, &options, &recorder));
    }
    build_world();
    double appending = 0.0, error = 0.0;
    const double begin = seconds();
    for (int step = 0; step < steps; step++) {
        find_contacts();
        fill_frame(frame, step);
        CHECK(mlcp_frame_fill_problem(frame, "box", problem));
        CHECK(mlcp_solver_solve(solver, problem, NULL, 0, impulse, 3 * contacts, &report));
        const double before = seconds();
        if (!off) {
            CHECK(mlcp_recorder_append_frame(recorder, frame, "box", impulse, 3 * contacts, &report));
        }
        appending += seconds() - before;
        error = fmax(error, report.energy_error);
        CHECK(mlcp_frame_get_response(frame, "box", impulse, 3 * contacts, velocity[0], 6 * (size_t)balls, NULL, 0, NULL, 0, NULL));
        for (int i = 0; i < balls; i++) {
            for (int k = 0; k < 3; k++) {
                position[i][k] += H * velocity[i][k];
            }
        }
    }
    const double total = seconds() - begin;
    printf("%d steps of %d balls, %d contacts at the end, worst energy error %.1e J\n", steps, balls, (int)contacts, error);
    printf("loop          %.3f ms per step, of which appending %.3f ms\n", 1e3 * total / steps, 1e3 * appending / steps);
    if (!off) {
        mlcp_recorder_counts counts = {sizeof counts, 0, 0, 0, 0};
        CHECK(mlcp_recorder_flush(recorder));
        CHECK(mlcp_recorder_get_counts(recorder, &counts));
        printf("%s  %d frames written, %d dropped, %.1f MB\n", path, (int)counts.written, (int)counts.dropped, 1e-6 * (double)counts.bytes);
        if (counts.written + counts.dropped != (uint64_t)steps) {
            return 1;
        }
    }
    mlcp_recorder_destroy(recorder);
    mlcp_solver_destroy(solver);
    mlcp_problem_destroy(problem);
    mlcp_frame_destroy(frame);
    printf("ok\n");
    return 0;
}
