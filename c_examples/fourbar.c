/*
 * A planar four-bar linkage, modelled as an engine does: three bodies in space, four hinges of five rows each. Twenty rows
 * on eighteen freedoms should leave no motion at all; three of them are redundant, and the linkage moves.
 *
 * 1. The diagnosis names the redundant rows and what each depends on.
 * 2. It swings for a second under gravity: a solve per step, then positions and velocities projected onto the constraints.
 *    Energy tells whether the motion is right: there is one freedom, and nothing that brakes it.
 */
#include "mlcp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES = 3, HINGES = 4, ROWS = 5 * HINGES };
static const char *const HINGE[HINGES] = {"ground-crank", "crank-coupler", "coupler-rocker", "rocker-ground"};
static const char *const DIRECTION[5] = {"x", "y", "z", "turn about x", "turn about y"};
static const double LENGTH[BODIES] = {0.4, 1.0, 0.8}, GROUND = 1.0, MASS = 1.0, GRAVITY = 9.81;

/* The bodies stay in the x-y plane, but nothing below relies on it except this short description of where they are. */
struct bar {
    double x, y, angle;
    double v[6]; /* linear, angular */
};

static void check(mlcp_status status, const char *what)
{
    if (status != MLCP_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", what, mlcp_last_error());
    }
}

/* End of a bar from its centre: -1 the first, +1 the second. */
static void end_of(const struct bar *bar, int body, int which, double out[2])
{
    out[0] = which * 0.5 * LENGTH[body] * cos(bar[body].angle);
    out[1] = which * 0.5 * LENGTH[body] * sin(bar[body].angle);
}

/* Rows of all hinges, world x, y, z of the point and turns about x and y, and how far each is off. */
static void fill(mlcp_problem *problem, const struct bar *bar, double violation[ROWS])
{
    double inverse_mass[12 * BODIES] = {0}, jacobian[12 * ROWS] = {0};
    int32_t bodies[2 * ROWS];
    for (int k = 0; k < BODIES; k++) {
        double *m = inverse_mass + 12 * k, across = MASS * LENGTH[k] * LENGTH[k] / 12.0 + 1e-3, along = 1e-3;
        double c = cos(bar[k].angle), s = sin(bar[k].angle);
        m[0] = m[1] = m[2] = 1.0 / MASS;
        /* diag(along, across, across) turned about z, inverted */
        m[3] = c * c / along + s * s / across;
        m[4] = m[6] = c * s * (1.0 / along - 1.0 / across);
        m[7] = s * s / along + c * c / across;
        m[11] = 1.0 / across;
    }
    for (int h = 0; h < HINGES; h++) {
        int first = h - 1, second = h < BODIES ? h : -1;
        double p[2] = {0, 0}, q[2] = {GROUND, 0}, at[2][2] = {{0, 0}, {GROUND, 0}};
        if (first >= 0) {
            end_of(bar, first, +1, p);
            at[0][0] = bar[first].x + p[0], at[0][1] = bar[first].y + p[1];
        }
        if (second >= 0) {
            end_of(bar, second, -1, q);
            at[1][0] = bar[second].x + q[0], at[1][1] = bar[second].y + q[1];
        }
        for (int r = 0; r < 5; r++) {
            double *j = jacobian + 12 * (5 * h + r);
            bodies[2 * (5 * h + r)] = first;
            bodies[2 * (5 * h + r) + 1] = second;
            violation[5 * h + r] = r < 2 ? at[0][r] - at[1][r] : 0.0;
            if (r < 3) {
                /* arm cross axis */
                const double arm[2][3] = {{r == 2 ? p[1] : 0, r == 2 ? -p[0] : 0, r == 0 ? -p[1] : r == 1 ? p[0] : 0},
                                          {r == 2 ? q[1] : 0, r == 2 ? -q[0] : 0, r == 0 ? -q[1] : r == 1 ? q[0] : 0}};
                j[r] = 1.0;
                j[6 + r] = -1.0;
                for (int c = 0; c < 3; c++) {
                    j[3 + c] = arm[0][c];
                    j[9 + c] = -arm[1][c];
                }
            } else {
                j[3 + r - 3] = 1.0;
                j[9 + r - 3] = -1.0;
            }
        }
    }
    check(mlcp_problem_set_jacobian(problem, inverse_mass, 12 * BODIES, jacobian, 12 * ROWS, bodies, 2 * ROWS, NULL, 0),
          "set_jacobian");
}

static void say_row(int row)
{
    printf("%s of %s", DIRECTION[row % 5], HINGE[row / 5]);
}

static int diagnose(mlcp_problem *problem)
{
    mlcp_diagnosis *diagnosis = NULL;
    mlcp_findings found;
    int32_t role[ROWS], on[ROWS];
    double coefficient[ROWS];
    size_t count;
    int named = 0;
    check(mlcp_diagnosis_create(&diagnosis), "create");
    check(mlcp_findings_init(&found, sizeof found), "init");
    check(mlcp_problem_diagnose(problem, NULL, 0, 0.0, diagnosis, &found), "diagnose");
    printf("%d rows, rank %d, %d redundant; %s; condition %.0f\n", (int)found.considered, (int)found.rank,
           (int)found.redundant, found.is_consistent ? "consistent" : "contradictory", found.condition);
    check(mlcp_diagnosis_get_roles(diagnosis, role, ROWS), "roles");
    for (int i = 0; i < ROWS; i++) {
        if (role[i] == MLCP_ROW_ROLE_REDUNDANT) {
            named++;
            printf("redundant: ");
            say_row(i);
            printf(", depends on");
            check(mlcp_diagnosis_get_dependency(diagnosis, (size_t)i, on, ROWS, coefficient, ROWS, &count), "dependency");
            for (size_t k = 0; k < count; k++) {
                printf("%s %+.2f ", k ? "," : "", coefficient[k]);
                say_row(on[k]);
            }
            printf("\n");
        }
    }
    mlcp_diagnosis_destroy(diagnosis);
    return named;
}

static double energy(const struct bar *bar)
{
    double sum = 0.0;
    for (int k = 0; k < BODIES; k++) {
        const double *v = bar[k].v, inertia = MASS * LENGTH[k] * LENGTH[k] / 12.0 + 1e-3;
        sum += 0.5 * MASS * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) + 0.5 * inertia * v[5] * v[5] + MASS * GRAVITY * bar[k].y;
    }
    return sum;
}

static void move(struct bar *bar, const double *change, double h)
{
    for (int k = 0; k < BODIES; k++) {
        bar[k].x += h * change[6 * k];
        bar[k].y += h * change[6 * k + 1];
        bar[k].angle += h * change[6 * k + 5];
    }
}

int main(int argc, char **argv)
{
    const double h = 1e-3;
    const int steps = argc > 1 ? atoi(argv[1]) : 1000; /* how many */
    struct bar bar[BODIES], before[BODIES];
    double violation[ROWS], zero[ROWS] = {0}, x[ROWS], v[6 * BODIES], f[6 * BODIES] = {0}, change[6 * BODIES];
    double worst = 0.0, out_of_plane = 0.0, start, most = 0.0;
    mlcp_problem *problem = NULL;
    mlcp_solver *solver = NULL;
    mlcp_projection *projection = NULL;
    int rounds = 0;

    /* The crank stands upright; where coupler and rocker meet follows from their lengths. */
    const double b[2] = {0.0, LENGTH[0]}, span = hypot(GROUND, LENGTH[0]), e[2] = {GROUND / span, -LENGTH[0] / span};
    const double along = (LENGTH[1] * LENGTH[1] + span * span - LENGTH[2] * LENGTH[2]) / (2.0 * span);
    const double across = sqrt(LENGTH[1] * LENGTH[1] - along * along);
    const double c[2] = {b[0] + along * e[0] - across * e[1], b[1] + along * e[1] + across * e[0]};
    const double corner[4][2] = {{0, 0}, {b[0], b[1]}, {c[0], c[1]}, {GROUND, 0}};
    memset(bar, 0, sizeof bar);
    for (int k = 0; k < BODIES; k++) {
        bar[k].x = 0.5 * (corner[k][0] + corner[k + 1][0]);
        bar[k].y = 0.5 * (corner[k][1] + corner[k + 1][1]);
        bar[k].angle = atan2(corner[k + 1][1] - corner[k][1], corner[k + 1][0] - corner[k][0]);
        f[6 * k + 1] = -MASS * GRAVITY;
    }
    check(mlcp_problem_create(&problem), "create");
    check(mlcp_solver_create(NULL, &solver), "create");
    check(mlcp_projection_create(0.0, &projection), "create");
    fill(problem, bar, violation);
    if (diagnose(problem) != 3) {
        return 1;
    }

    start = energy(bar);
    for (int step = 0; step < steps; step++) {
        /* Rows half-way through the step, on the mean of old and new velocity: J (v_new + v) = 0 keeps the energy. */
        memcpy(before, bar, sizeof bar);
        for (int k = 0; k < BODIES; k++) {
            memcpy(v + 6 * k, bar[k].v, sizeof bar[k].v);
        }
        move(bar, v, 0.5 * h);
        fill(problem, bar, violation);
        check(mlcp_problem_set_motion(problem, h, v, 6 * BODIES, NULL, 0, NULL, 0), "set_motion");
        check(mlcp_problem_get_w(problem, zero, ROWS, violation, ROWS), "w"); /* J v */
        for (int i = 0; i < ROWS; i++) {
            violation[i] *= h;
        }
        check(mlcp_problem_set_motion(problem, h, v, 6 * BODIES, f, 6 * BODIES, violation, ROWS), "set_motion");
        check(mlcp_solver_solve(solver, problem, NULL, 0, x, ROWS, NULL), "solve");
        check(mlcp_problem_get_velocity_change(problem, x, ROWS, change, 6 * BODIES), "velocity_change");
        memcpy(bar, before, sizeof bar);
        for (int i = 0; i < 6 * BODIES; i++) {
            bar[i / 6].v[i % 6] += change[i] + (i % 6 == 1 ? -h * GRAVITY : 0.0);
            v[i] = 0.5 * (v[i] + bar[i / 6].v[i % 6]);
        }
        move(bar, v, h);
        for (int i = 0; i < 6 * BODIES; i++) {
            v[i] = bar[i / 6].v[i % 6];
        }
        for (;;) { /* eq. 2 of Gonzalez et al.: two or three rounds */
            double norm = 0.0;
            fill(problem, bar, violation);
            for (int i = 0; i < ROWS; i++) {
                norm = fmax(norm, fabs(violation[i]));
            }
            if (norm <= 1e-14 || rounds++ > 10000) {
                worst = fmax(worst, norm);
                break;
            }
            check(mlcp_projection_correct_positions(projection, problem, violation, ROWS, change, 6 * BODIES), "positions");
            move(bar, change, 1.0);
        }
        check(mlcp_projection_correct_velocities(projection, problem, v, 6 * BODIES, NULL, 0, change, 6 * BODIES),
              "velocities");
        for (int i = 0; i < 6 * BODIES; i++) {
            bar[i / 6].v[i % 6] += change[i];
            out_of_plane = i % 6 == 2 || i % 6 == 3 || i % 6 == 4 ? fmax(out_of_plane, fabs(bar[i / 6].v[i % 6])) : out_of_plane;
        }
        most = fmax(most, fabs(energy(bar) - start));
    }
    printf("after %g s: crank at %.1f degrees, %.1f rad/s\n", h * steps, bar[0].angle * 57.29577951308232,
           bar[0].v[5]);
    printf("constraints hold to %s, out of plane nothing moves: %s\n", worst <= 1e-14 ? "1e-14 m" : "no",
           out_of_plane < 1e-12 ? "yes" : "no");
    printf("energy within %.2g of %.1f J\n", most, start);
    mlcp_projection_destroy(projection);
    mlcp_solver_destroy(solver);
    mlcp_problem_destroy(problem);
    return worst <= 1e-14 && out_of_plane < 1e-12 && most < 1e-3 * start ? 0 : 1;
}
