/*
 * A pendulum in Cartesian coordinates, stepped by ALI3-P: q = (x, y), one constraint, x^2 + y^2 = 1, halved. Released
 * level, its period is that of the elliptic integral, and the trapezoidal rule keeps its energy.
 */
#include "mlcp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double G = 9.81;

static int32_t phi(double t, const double *q, const double *v, double *out, size_t len, void *user)
{
    (void)t, (void)v, (void)len, (void)user;
    out[0] = 0.5 * (q[0] * q[0] + q[1] * q[1] - 1.0);
    return 0;
}

static int32_t phi_q(double t, const double *q, const double *v, double *out, size_t len, void *user)
{
    (void)t, (void)v, (void)len, (void)user;
    out[0] = q[0];
    out[1] = q[1];
    return 0;
}

static int32_t phi_dd(double t, const double *q, const double *v, double *out, size_t len, void *user)
{
    (void)t, (void)q, (void)len, (void)user;
    out[0] = v[0] * v[0] + v[1] * v[1];
    return 0;
}

static int32_t potential(double t, const double *q, const double *v, double *out, size_t len, void *user)
{
    (void)t, (void)v, (void)len, (void)user;
    out[0] = G * q[1];
    return 0;
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 10.0;
    /* Constant parts are given as numbers, zero parts are left out: K, C, Phi_t. */
    const int32_t start[3] = {0, 1, 2}, diagonal[2] = {0, 1}, row[2] = {0, 2};
    const double mass[2] = {1.0, 1.0}, forces[2] = {0.0, -9.81}, q0[2] = {1.0, 0.0}, v0[2] = {0.0, 0.0};
    mlcp_ali3p_model model;
    mlcp_ali3p_settings settings;
    mlcp_ali3p_report report;
    mlcp_ali3p *stepper = NULL;
    double t = 0.0, q[2], last_t = 0.0, last_x = 1.0, first = 0.0, drift = 0.0, violation = 0.0, crossing = 0.0;
    int crossings = 0;

    mlcp_ali3p_model_init(&model, sizeof model);
    model.coordinates = 2;
    model.constraints = 1;
    model.mass = (mlcp_model_matrix){start, 3, diagonal, 2, mass, 2, NULL};
    model.jacobian = (mlcp_model_matrix){row, 2, diagonal, 2, NULL, 0, phi_q};
    model.forces = (mlcp_model_vector){forces, 2, NULL};
    model.constraint.evaluate = phi;
    model.constraint_acceleration.evaluate = phi_dd;
    model.potential.evaluate = potential;
    mlcp_ali3p_settings_init(&settings, sizeof settings);
    settings.h = 1e-3;
    settings.tolerance = 1e-11;
    mlcp_ali3p_report_init(&report, sizeof report);
    if (mlcp_ali3p_create(&model, &settings, &stepper) != MLCP_STATUS_OK
        || mlcp_ali3p_set_state(stepper, 0.0, q0, 2, v0, 2) != MLCP_STATUS_OK) {
        fprintf(stderr, "%s\n", mlcp_last_error());
        return 1;
    }
    while (t < seconds) {
        if (mlcp_ali3p_step(stepper, seconds, &report) != MLCP_STATUS_OK || report.outcome != MLCP_STEP_OUTCOME_STEPPED) {
            fprintf(stderr, "t = %g: %s\n", t, mlcp_last_error());
            return 1;
        }
        mlcp_ali3p_get_state(stepper, &t, q, 2, NULL, 0, NULL, 0, NULL, 0);
        drift = fmax(drift, fabs(report.kinetic_energy + report.potential_energy));
        violation = fmax(violation, fmax(report.position_violation, fmax(report.velocity_violation, report.acceleration_violation)));
        if (last_x * q[0] < 0.0) {
            crossing = last_t + (t - last_t) * last_x / (last_x - q[0]);
            first = crossings++ ? first : crossing;
        }
        last_t = t;
        last_x = q[0];
    }
    /* T = 2 pi sqrt(l/g) / agm(1, cos(45 degrees)) */
    double a = 1.0, b = sqrt(0.5);
    for (int k = 0; k < 8; k++) {
        double mean = 0.5 * (a + b);
        b = sqrt(a * b);
        a = mean;
    }
    const double exact = 2.0 * 3.14159265358979324 / sqrt(G) / a, found = 2.0 * (crossing - first) / (crossings - 1);
    printf("%g s in steps of 1 ms: period %.5f s, exact %.5f s\n", seconds, found, exact);
    printf("energy drift %s 1e-4 J of 9.81 J; constraints, their rates and accelerations %s 1e-10\n",
           drift < 1e-4 ? "below" : "above", violation <= 1e-10 ? "below" : "above");
    mlcp_ali3p_destroy(stepper);
    return fabs(found / exact - 1.0) < 1e-5 && drift < 1e-4 && violation <= 1e-10 ? 0 : 1;
}
