/*
 * A puck slides over the ice at an angle until friction stops it, stepped by ALI3-P with its contact solved as
 * an MLCP in each step: q = (x, y, z), no constraint, one contact. Coulomb's law has the stopping distance in closed form.
 */
#include "mlcp.h"

#include <math.h>
#include <stdio.h>

static const double G = 9.81, MU = 0.1, SPEED = 2.0, HEADING = 0.5;

/* Height above the ice, its derivative, the two sliding directions, the friction. */
static int32_t ice(double t, const double *q, double *gap, double *normal, double *tangent, double *friction, size_t contacts,
                   size_t coordinates, void *user)
{
    (void)t, (void)contacts, (void)user;
    gap[0] = q[2];
    normal[2] = 1.0;
    tangent[0] = 1.0;
    tangent[coordinates + 1] = 1.0;
    friction[0] = MU;
    return 0;
}

static int32_t potential(double t, const double *q, const double *v, double *out, size_t len, void *user)
{
    (void)t, (void)v, (void)len, (void)user;
    out[0] = 0.17 * G * q[2];
    return 0;
}

int main(void)
{
    const int32_t start[4] = {0, 1, 2, 3}, diagonal[3] = {0, 1, 2};
    const double mass[3] = {0.17, 0.17, 0.17}, weight[3] = {0.0, 0.0, -0.17 * G};
    const double q0[3] = {0.0, 0.0, 0.0}, v0[3] = {SPEED * cos(HEADING), SPEED * sin(HEADING), 0.0};
    mlcp_ali3p_model model;
    mlcp_ali3p_settings settings;
    mlcp_ali3p_report report;
    mlcp_ali3p *stepper = NULL;
    double t = 0.0, q[3], v[3], energy = 0.5 * 0.17 * SPEED * SPEED, grown = 0.0;

    mlcp_ali3p_model_init(&model, sizeof model);
    model.coordinates = 3;
    model.mass = (mlcp_model_matrix){start, 4, diagonal, 3, mass, 3, NULL};
    model.forces = (mlcp_model_vector){weight, 3, NULL};
    model.potential.evaluate = potential;
    model.contacts = 1;
    model.evaluate_contacts = ice;
    mlcp_ali3p_settings_init(&settings, sizeof settings);
    settings.h = 1e-2;
    mlcp_ali3p_report_init(&report, sizeof report);
    if (mlcp_ali3p_create(&model, &settings, &stepper) != MLCP_STATUS_OK
        || mlcp_ali3p_set_state(stepper, 0.0, q0, 3, v0, 3) != MLCP_STATUS_OK) {
        fprintf(stderr, "%s\n", mlcp_last_error());
        return 1;
    }
    while (t < 3.0) {
        if (mlcp_ali3p_step(stepper, 3.0, &report) != MLCP_STATUS_OK || report.outcome != MLCP_STEP_OUTCOME_STEPPED) {
            fprintf(stderr, "t = %g: %s\n", t, mlcp_last_error());
            return 1;
        }
        mlcp_ali3p_get_state(stepper, &t, q, 3, v, 3, NULL, 0, NULL, 0);
        grown = fmax(grown, report.kinetic_energy + report.potential_energy - energy);
        energy = report.kinetic_energy + report.potential_energy;
    }
    const double way = hypot(q[0], q[1]), exact = SPEED * SPEED / (2.0 * MU * G), heading = atan2(q[1], q[0]);
    printf("stops after %.4f m, Coulomb's law %.4f m, heading %.6f rad of %.6f\n", way, exact, heading, HEADING);
    printf("speed %s 1e-9 m/s, energy %s\n", hypot(v[0], v[1]) < 1e-9 ? "below" : "above",
           grown <= 1e-12 ? "never grew" : "grew");
    mlcp_ali3p_destroy(stepper);
    return fabs(way - exact) < 1e-4 && fabs(heading - HEADING) < 1e-9 && grown <= 1e-12 ? 0 : 1;
}
