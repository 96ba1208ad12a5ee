/*
 * The world of 02_game_loop.c: a chain of eight links, 25 balls in a box. Knows nothing of libmlcp; finds joints and
 * contacts, writes them as rows, and moves the bodies. Your engine has this already.
 */
#ifndef GAME_WORLD_H
#define GAME_WORLD_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LINKS = 8, BALLS = 25, BODIES = LINKS + BALLS, PLANES = 5, JOINT_ROWS = 3 * LINKS };
enum { MAX_CONTACTS = 200, MAX_ROWS = JOINT_ROWS + 3 * MAX_CONTACTS };
static const double H = 1.0 / 60.0, GRAVITY = 9.81, DRAG = 1.0;            /* s, m/s^2, 1/s */
#define BOX 0.35 /* m, half of its width */
static const double RADIUS = 0.1, HALF_LINK = 0.1;                         /* m */
static const double MU = 0.5, RESTITUTION = 0.3, BOUNCE_SPEED = 0.5;       /* -, -, m/s */
static const double CORRECTION = 0.2, SLOP = 0.001;                        /* share of a violation removed per step; m */
static const double PLANE[PLANES][4] = {{0, 0, 1, 0}, {1, 0, 0, -BOX}, {-1, 0, 0, -BOX}, {0, 1, 0, -BOX}, {0, -1, 0, -BOX}};
static const char *const PLANE_NAME[PLANES] = {"the floor", "wall 1", "wall 2", "wall 3", "wall 4"};

/* Links are beads on rods: like balls they have the same inertia about every axis, which saves rotating it. */
static double position[BODIES][3], velocity[BODIES][6], force[BODIES][6], change[BODIES][6], inverse_mass[BODIES][12];
static double axis[LINKS][3]; /* from a link's centre to its upper end, unit length */

typedef struct {
    int a, b; /* ball a against body b, or against plane -1 - b: together the key by which contacts are matched */
} contact;
static contact contacts[MAX_CONTACTS], old_contacts[MAX_CONTACTS];
static int contact_count, old_count;

/* The problem's rows, joints first, then three per contact: normal, friction 1, friction 2. */
static double jacobian[MAX_ROWS][12], violation[MAX_ROWS], lo[MAX_ROWS], hi[MAX_ROWS], mu[MAX_ROWS], x[MAX_ROWS], old_x[MAX_ROWS];
static int32_t bodies[MAX_ROWS][2], findex[MAX_ROWS];
static size_t rows;
static double worst_penetration, worst_joint; /* m, of this step */

static void cross(const double *p, const double *q, double *out)
{
    out[0] = p[1] * q[2] - p[2] * q[1];
    out[1] = p[2] * q[0] - p[0] * q[2];
    out[2] = p[0] * q[1] - p[1] * q[0];
}

static double dot(const double *p, const double *q) { return p[0] * q[0] + p[1] * q[1] + p[2] * q[2]; }

static void add_body(int i, double px, double py, double pz, double mass)
{
    const double p[3] = {px, py, pz}, inertia = 0.4 * mass * RADIUS * RADIUS;
    memcpy(position[i], p, sizeof p);
    for (int k = 0; k < 3; k++) {
        inverse_mass[i][k] = 1.0 / mass;
        inverse_mass[i][3 + 4 * k] = 1.0 / inertia;
    }
}

static void build_world(void)
{
    unsigned random = 1;
    for (int i = 0; i < LINKS; i++) { /* a straight chain, held up at 45 degrees and let go */
        const double s = sqrt(0.5), down = (2 * i + 1) * HALF_LINK * s;
        add_body(i, -3.0 + down, 0.0, 3.0 - down, 0.5);
        axis[i][0] = -s;
        axis[i][2] = s;
    }
    for (int i = 0; i < BALLS; i++) { /* layers of three by three, a little disturbed */
        double jitter[2];
        for (int k = 0; k < 2; k++) {
            random = random * 1664525u + 1013904223u;
            jitter[k] = 0.02 * ((random >> 8) / 16777216.0 - 0.5);
        }
        add_body(LINKS + i, 0.22 * (i % 3 - 1) + jitter[0], 0.22 * (i / 3 % 3 - 1) + jitter[1], 0.3 + 0.3 * (i / 9), 1.0);
    }
}

/* One row along `d`: body 1 touched at r1 from its centre, body 2 at r2. `off` is what to take away, m. */
static void add_row(int body1, const double *r1, int body2, const double *r2, const double *d, double off, double low)
{
    double *j = jacobian[rows];
    memcpy(j, d, 3 * sizeof *d);
    cross(r1, d, j + 3);
    for (int k = 0; k < 3; k++) {
        j[6 + k] = -d[k];
    }
    cross(d, r2, j + 9);
    bodies[rows][0] = body1;
    bodies[rows][1] = body2 < 0 ? -1 : body2;
    violation[rows] = off;
    lo[rows] = low;
    hi[rows] = INFINITY;
    findex[rows] = -1;
    mu[rows] = 0.0;
    x[rows++] = 0.0;
}

static void add_contact(int a, int b, const double *n, double gap)
{
    static const double still[6] = {0};
    const double *vb = b < 0 ? still : velocity[b];
    const double approach = dot(n, velocity[a]) - dot(n, vb);
    if (gap + fmin(approach, 0.0) * H > 0.005 || contact_count == MAX_CONTACTS) {
        return; /* will not touch within this step */
    }
    worst_penetration = fmax(worst_penetration, -gap);
    /* Fast: leave with a share of the speed it came with. Not touching yet: close the gap, no more. Else push out softly. */
    double off = gap > 0.0 ? gap : CORRECTION * fmin(gap + SLOP, 0.0);
    if (approach < -BOUNCE_SPEED && gap + approach * H < 0.0) {
        off = RESTITUTION * approach * H;
    }
    double t1[3], t2[3], ra[3], rb[3];
    const double other[3] = {fabs(n[0]) < 0.7, fabs(n[0]) >= 0.7, 0.0};
    cross(n, other, t1);
    const double length = sqrt(dot(t1, t1));
    for (int k = 0; k < 3; k++) {
        t1[k] /= length;
        ra[k] = -RADIUS * n[k];
        rb[k] = RADIUS * n[k];
    }
    cross(n, t1, t2);
    const size_t normal = rows;
    add_row(a, ra, b, rb, n, off, 0.0);
    add_row(a, ra, b, rb, t1, 0.0, -INFINITY);
    add_row(a, ra, b, rb, t2, 0.0, -INFINITY);
    for (size_t k = 1; k < 3; k++) {
        findex[normal + k] = (int32_t)normal;
        mu[normal + k] = MU;
    }
    for (int i = 0; i < old_count; i++) { /* warm start: the same pair touched last step */
        if (old_contacts[i].a == a && old_contacts[i].b == b) {
            memcpy(x + normal, old_x + JOINT_ROWS + 3 * i, 3 * sizeof *x);
        }
    }
    contacts[contact_count].a = a;
    contacts[contact_count++].b = b;
}

/* Find joints and contacts of this step and write their rows. */
static void find_rows(void)
{
    static const double unit[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, hook[3] = {-3.0, 0.0, 3.0};
    memcpy(old_contacts, contacts, sizeof contacts);
    memcpy(old_x, x, sizeof x);
    old_count = contact_count;
    contact_count = 0;
    rows = 0;
    worst_penetration = worst_joint = 0.0;
    for (int i = 0; i < LINKS; i++) { /* a ball joint between link i and the one above, or the hook */
        double r1[3], r2[3] = {0}, gap[3];
        for (int k = 0; k < 3; k++) {
            r1[k] = HALF_LINK * axis[i][k];
            r2[k] = i == 0 ? 0.0 : -HALF_LINK * axis[i - 1][k];
            gap[k] = position[i][k] + r1[k] - (i == 0 ? hook[k] : position[i - 1][k] + r2[k]);
        }
        worst_joint = fmax(worst_joint, sqrt(dot(gap, gap)));
        for (int k = 0; k < 3; k++) {
            add_row(i, r1, i - 1, r2, unit[k], CORRECTION * gap[k], -INFINITY);
        }
    }
    memcpy(x, old_x, JOINT_ROWS * sizeof *x);
    for (int i = LINKS; i < BODIES; i++) {
        for (int p = 0; p < PLANES; p++) {
            add_contact(i, -1 - p, PLANE[p], dot(PLANE[p], position[i]) - PLANE[p][3] - RADIUS);
        }
        for (int j = LINKS; j < i; j++) {
            double n[3];
            for (int k = 0; k < 3; k++) {
                n[k] = position[i][k] - position[j][k];
            }
            const double distance = sqrt(dot(n, n));
            if (distance < 1e-9) {
                continue;
            }
            for (int k = 0; k < 3; k++) {
                n[k] /= distance;
            }
            add_contact(i, j, n, distance - 2.0 * RADIUS);
        }
    }
}

static void name_row(size_t row, char *out, size_t size)
{
    static const char *const kind[3] = {"normal", "friction 1", "friction 2"};
    if (row < JOINT_ROWS) {
        snprintf(out, size, "joint above link %d, axis %c", (int)row / 3, "xyz"[row % 3]);
        return;
    }
    const contact *c = &contacts[(row - JOINT_ROWS) / 3];
    if (c->b < 0) {
        snprintf(out, size, "contact of ball %d with %s, %s", c->a - LINKS, PLANE_NAME[-1 - c->b], kind[row % 3]);
    } else {
        snprintf(out, size, "contact of ball %d with ball %d, %s", c->a - LINKS, c->b - LINKS, kind[row % 3]);
    }
}

/* Gravity and a little drag, so that the chain comes to rest. */
static void find_forces(void)
{
    for (int i = 0; i < BODIES; i++) {
        for (int k = 0; k < 6; k++) {
            force[i][k] = -DRAG * velocity[i][k] / inverse_mass[i][k < 3 ? k : 4 * k - 9];
        }
        force[i][2] -= GRAVITY / inverse_mass[i][2];
    }
}

/* Semi-implicit Euler: first the velocities, then the positions with the new velocities. Returns the kinetic energy. */
static double integrate(void)
{
    double kinetic = 0.0;
    for (int i = 0; i < BODIES; i++) {
        for (int k = 0; k < 6; k++) {
            const double inverse = inverse_mass[i][k < 3 ? k : 4 * k - 9];
            velocity[i][k] += H * inverse * force[i][k] + change[i][k];
            kinetic += 0.5 * velocity[i][k] * velocity[i][k] / inverse;
        }
        for (int k = 0; k < 3; k++) {
            position[i][k] += H * velocity[i][k];
        }
        if (i < LINKS) {
            double turn[3];
            cross(velocity[i] + 3, axis[i], turn);
            for (int k = 0; k < 3; k++) {
                axis[i][k] += H * turn[k];
            }
            const double length = sqrt(dot(axis[i], axis[i]));
            for (int k = 0; k < 3; k++) {
                axis[i][k] /= length;
            }
        }
    }
    return kinetic;
}

#endif
