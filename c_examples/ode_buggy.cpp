/*
 * A buggy of 200 kg on four wheels of 5 kg drives over planks for 6 seconds: hinge-2 joints with springs, motors on the
 * axles, a steered front, boxes that it pushes away.
 *
 *     g++ -std=c++11 -O2 c_examples/ode_buggy.cpp -Iinclude -Ltarget/release -lmlcp -lode
 *     ./a.out [ode_buggy.svg] [steps]
 */
#include "ode_compare.h"

#include <cstdlib>

static void build_buggy(ode_world::World &w)
{
    const double wheel_radius = 0.3;
    const dVector3 up = {0, 0, 1, 0}, axle = {0, 1, 0, 0};
    const dBodyID chassis = w.box(200, 2.0, 1.0, 0.4, 0, 0, 0.7);
    for (int i = 0; i < 4; i++) {
        const bool front = i < 2;
        const double x = front ? 0.8 : -0.8, y = i % 2 ? 0.7 : -0.7;
        const dBodyID wheel = w.ball(5, wheel_radius, x, y, wheel_radius);
        dBodySetFiniteRotationMode(wheel, 1);
        const dJointID joint = dJointCreateHinge2(w.world, nullptr);
        dJointAttach(joint, chassis, wheel);
        dJointSetHinge2Anchor(joint, x, y, wheel_radius);
        dJointSetHinge2Axes(joint, up, axle);
        /* A spring of 20 kN/m with 1.5 kN s/m of damping, as ERP and CFM for steps of 1/60 s. */
        const double h = 1.0 / 60, k = 20000, c = 1500;
        dJointSetHinge2Param(joint, dParamSuspensionERP, h * k / (h * k + c));
        dJointSetHinge2Param(joint, dParamSuspensionCFM, 1 / (h * k + c));
        /* All wheels are driven; the rear ones are locked straight, the front ones steer a little. */
        dJointSetHinge2Param(joint, dParamVel2, -10);
        dJointSetHinge2Param(joint, dParamFMax2, 60);
        const double steer = front ? 0.05 : 0.0;
        dJointSetHinge2Param(joint, dParamLoStop, steer);
        dJointSetHinge2Param(joint, dParamHiStop, steer);
        dJointSetHinge2Param(joint, dParamStopERP, 0.8);
        w.joints.push_back(joint);
    }
    for (int i = 0; i < 6; i++) {
        w.box(30, 0.2, 3.0, 0.06, 3.0 + 1.3 * i, 0.3, 0.03); /* planks */
    }
    for (int i = 0; i < 3; i++) {
        w.box(10, 0.5, 0.5, 0.5, 12.0, 0.4 * i, 0.25); /* boxes in the way */
    }
}

/* How far wheels have left their axles, across the spring. */
static double axle_error(const ode_world::World &w)
{
    double most = 0.0;
    for (dJointID j : w.joints) {
        dVector3 a, b, gap, up;
        dJointGetHinge2Anchor(j, a);
        dJointGetHinge2Anchor2(j, b);
        dJointGetHinge2Axis1(j, up);
        dSubtractVectors3(gap, a, b);
        dAddVectorScaledVector3(gap, gap, up, -dCalcVectorDot3(gap, up));
        most = std::fmax(most, dCalcVectorLength3(gap));
    }
    return most;
}

int main(int argc, char **argv)
{
    using namespace ode_compare;
    const std::string path = argc > 1 ? argv[1] : "ode_buggy.svg";
    const int steps = argc > 2 ? std::atoi(argv[2]) : 360;
    const double h = 1.0 / 60;
    dInitODE();
    engine_plot::Plot plot("ODE: buggy over planks, the chassis' path", "distance driven (m)", "height of the chassis (m)");
    std::printf("Buggy of 200 kg on four wheels over planks and boxes, %d steps of 1/60 s\n", steps);
    std::printf("distance: how far it came; axle error: wheels off their axles, across the spring\n\n");
    print_head("distance (m)", "axle error (m)");
    for (int way = 0; way < WAYS; way++) {
        ode_world::World w;
        w.floor();
        w.mu = 0.8;
        dWorldSetCFM(w.world, 1e-6);
        build_buggy(w);
        Runner runner(static_cast<Way>(way));
        const std::size_t line = plot.add(NAMES[way]);
        double error = 0.0;
        for (int k = 0; k < steps; k++) {
            w.collide();
            if (!runner.step(w.world, h)) {
                return 1;
            }
            error = std::fmax(error, axle_error(w));
            const dReal *p = dBodyGetPosition(w.bodies[0]);
            plot.point(line, p[0], p[2]);
        }
        print_row(runner, dBodyGetPosition(w.bodies[0])[0], error);
    }
    std::printf("\nenergy error: of the worst step. dWorldStep solves exactly, but with friction bounded by the normal forces that\n"
                "would act without friction: the joules are what Coulomb's law is missed by\n");
    dCloseODE();
    return finish(plot, path);
}
