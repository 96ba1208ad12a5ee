/*
 * The world of 07_record.c and 07_record_cost.c: balls fall into a box. Where they are, which of them touch, and what a
 * frame says about that.
 */
#ifndef BALL_WORLD_H
#define BALL_WORLD_H

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

enum { MAX_BALLS = 200, MAX_CONTACTS = 8 * MAX_BALLS };
static const double H = 1.0 / 60.0, RADIUS = 0.1, WALL = 0.6, MU = 0.5, MARGIN = 0.01; /* s, m, m, -, m */

static int balls = 60;
static double mass[MAX_BALLS], inertia[MAX_BALLS][9], position[MAX_BALLS][3], turn[MAX_BALLS][4], velocity[MAX_BALLS][6];
static double force[MAX_BALLS][6], impulse[3 * MAX_CONTACTS];
static int32_t pair[MAX_CONTACTS][2];
static double gap[MAX_CONTACTS], mu[MAX_CONTACTS], normal[MAX_CONTACTS][3], point[MAX_CONTACTS][3];
static size_t contacts;

/* The same world every time. */
static void build_world(void)
{
    memset(velocity, 0, sizeof velocity);
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

/* To the end of the step, where the velocities are those of the solution. */
static void move_on(void)
{
    for (int i = 0; i < balls; i++) {
        for (int k = 0; k < 3; k++) {
            position[i][k] += H * velocity[i][k];
        }
    }
}

#endif
