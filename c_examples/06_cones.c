/*
 * A box slides over the floor at a heading of 30 degrees. Box friction bounds each tangent row by itself, so the friction
 * points to the corner of a square; a friction cone bounds both together, and the friction opposes the slip.
 *
 *     cc -std=c99 -O2 c_examples/06_cones.c -Iinclude -Ltarget/release -lmlcp -lm
 */
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

enum { CONTACTS = 4, ROWS = 3 * CONTACTS };

static const double PI = 3.14159265358979323846;
static const double MASS = 3.0, MU = 0.4, H = 0.01, GRAVITY = 9.81, HALF_WIDTH = 0.5, HALF_HEIGHT = 0.2;

/* Rows of a contact below each corner: normal, then along x and y. One body, on the world. */
static void fill(mlcp_problem *problem, const double velocity[6])
{
    static const double corners[CONTACTS][2] = {{1, 1}, {1, -1}, {-1, 1}, {-1, -1}};
    static const double axes[3][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}};
    const double forces[6] = {0, 0, -MASS * GRAVITY, 0, 0, 0};
    const double side = 3.0 / MASS / (HALF_WIDTH * HALF_WIDTH + HALF_HEIGHT * HALF_HEIGHT);
    const double up = 1.5 / MASS / (HALF_WIDTH * HALF_WIDTH);
    const double mass[12] = {1 / MASS, 1 / MASS, 1 / MASS, side, 0, 0, 0, side, 0, 0, 0, up};
    double jacobian[12 * ROWS] = {0}, lo[ROWS], hi[ROWS];
    int32_t bodies[2 * ROWS];
    for (int i = 0; i < ROWS; i++) {
        const double *axis = axes[i % 3], *corner = corners[i / 3];
        const double arm[3] = {HALF_WIDTH * corner[0], HALF_WIDTH * corner[1], -HALF_HEIGHT};
        double *row = jacobian + 12 * i;
        memcpy(row, axis, 3 * sizeof *row);
        row[3] = arm[1] * axis[2] - arm[2] * axis[1];
        row[4] = arm[2] * axis[0] - arm[0] * axis[2];
        row[5] = arm[0] * axis[1] - arm[1] * axis[0];
        bodies[2 * i] = 0;
        bodies[2 * i + 1] = -1;
        lo[i] = i % 3 == 0 ? 0.0 : -INFINITY;
        hi[i] = INFINITY;
    }
    CHECK(mlcp_problem_set_jacobian(problem, mass, 12, jacobian, 12 * ROWS, bodies, 2 * ROWS, NULL, 0));
    CHECK(mlcp_problem_set_motion(problem, H, velocity, 6, forces, 6, NULL, 0));
    CHECK(mlcp_problem_set_bounds(problem, lo, ROWS, hi, ROWS));
}

/* Solve, and print the friction on the box: its size, and how far it is off the direction against the slip. */
static void report(const char *name, int32_t kind, mlcp_problem *problem, double heading)
{
    mlcp_settings settings;
    mlcp_solver *solver = NULL;
    mlcp_report result;
    double x[ROWS], along[2] = {0, 0}, angle;
    CHECK(mlcp_settings_init(&settings, sizeof settings));
    CHECK(mlcp_report_init(&result, sizeof result));
    settings.solver = kind;
    settings.relative_tolerance = 1e-20;
    settings.max_iterations = 1000;
    CHECK(mlcp_solver_create(&settings, &solver));
    CHECK(mlcp_solver_solve(solver, problem, NULL, 0, x, ROWS, &result));
    for (int i = 0; i < ROWS; i += 3) {
        along[0] += x[i + 1];
        along[1] += x[i + 2];
    }
    angle = atan2(-along[1], -along[0]) * 180.0 / PI;
    printf("%-16s %-14s %8.4f N s  %8.3f deg off  %9.1e J  %s\n", name, mlcp_solver_kind_name(kind),
           hypot(along[0], along[1]), fabs(angle - heading) + 0.0, result.energy_error, mlcp_outcome_name(result.outcome));
    mlcp_solver_destroy(solver);
}

int main(void)
{
    const double heading = 30.0;
    const double velocity[6] = {2.0 * cos(heading * PI / 180.0), 2.0 * sin(heading * PI / 180.0), 0, 0, 0, 0};
    int32_t findex[ROWS], cones[ROWS];
    double mu_of_rows[ROWS], mu_of_cones[CONTACTS];
    mlcp_problem *problem = NULL;
    for (int i = 0; i < ROWS; i++) {
        findex[i] = i % 3 == 0 ? -1 : i - i % 3;
        mu_of_rows[i] = MU;
        cones[i] = i; /* normal, tangent, tangent */
        mu_of_cones[i / 3] = MU;
    }
    CHECK(mlcp_problem_create(&problem));
    printf("A box of %g kg slides at 2 m/s, heading %g degrees; Coulomb: mu m g h = %.4f N s against it.\n\n", MASS, heading,
           MU * MASS * GRAVITY * H);
    fill(problem, velocity);
    CHECK(mlcp_problem_set_friction(problem, findex, ROWS, mu_of_rows, ROWS, MLCP_FRICTION_MODE_COUPLED));
    report("box friction", MLCP_SOLVER_KIND_INTERIOR_POINT, problem, heading);
    fill(problem, velocity);
    CHECK(mlcp_problem_set_cones(problem, cones, ROWS, mu_of_cones, CONTACTS));
    report("friction cones", MLCP_SOLVER_KIND_PROX, problem, heading);
    report("friction cones", MLCP_SOLVER_KIND_PROX_GS, problem, heading);
    report("friction cones", MLCP_SOLVER_KIND_ALART_CURNIER, problem, heading);
    if (mlcp_solver_supports(MLCP_SOLVER_KIND_BPP, problem) != MLCP_STATUS_OK) {
        printf("\n%s.\n", mlcp_last_error());
    }
    mlcp_problem_destroy(problem);
    return 0;
}
