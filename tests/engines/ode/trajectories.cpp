// world_step against dWorldStep, where dWorldStep does not fail, and beyond, where it does.
#include "scenes.hpp"

using namespace scenes;

typedef std::function<void(World &)> Build;

// Two worlds, one stepped by ODE, one by us with ODE's friction rule.
static void same_as_ode(const char *name, int steps, double tolerance, const Build &build)
{
    World ode, ours;
    build(ode);
    build(ours);
    const int failures_before = ode_world::lcp_failures();
    mlcp::ode::Solver solver(like_ode());
    double most = 0.0;
    int rows = 0;
    for (int k = 0; k < steps; k++) {
        ode.collide();
        dWorldStep(ode.world, H);
        ours.collide();
        EXPECT(mlcp::ode::world_step(ours.world, H, solver) == 1);
        EXPECT(solver.report().failures == 0);
        most = std::fmax(most, difference(ode, ours));
        rows = std::max(rows, solver.report().rows);
        for (std::size_t i = 0; i < ode.bodies.size(); i++) {
            EXPECT(dBodyIsEnabled(ode.bodies[i]) == dBodyIsEnabled(ours.bodies[i]));
        }
    }
    EXPECT(ode_world::lcp_failures() == failures_before);
    std::size_t asleep = 0;
    for (dBodyID b : ours.bodies) {
        asleep += dBodyIsEnabled(b) ? 0 : 1;
    }
    EXPECT(asleep == (dWorldGetAutoDisableFlag(ours.world) ? ours.bodies.size() : 0));
    std::printf("%-28s %d steps, %4d rows: differs from dWorldStep by %.1e\n", name, steps, rows, most);
    EXPECT(most <= tolerance);
}

static double overhanging_wall(mlcp::ode::Solver *solver, int steps)
{
    World w;
    w.floor();
    dWorldSetCFM(w.world, 1e-7);
    ode_world::build_wall(w, 12, 1.0, true, 0.0);
    const std::vector<double> start = ode_world::positions(w);
    double most = 0.0;
    for (int k = 0; k < steps; k++) {
        w.collide();
        if (solver) {
            EXPECT(mlcp::ode::world_step(w.world, H, *solver) == 1 && solver->report().failures == 0);
        } else {
            dWorldStep(w.world, H);
        }
        most = std::fmax(most, ode_world::drift(w, start));
    }
    return most;
}

// Feedback, damping, capped spin, finite rotation, kinematic bodies, added forces: all as with dWorldStep.
static void body_features(World &w)
{
    w.floor();
    w.mu = 0.4;
    const dBodyID spinner = w.box(3.0, 1.0, 0.4, 0.2, 0, 0, 2.0), slow = w.box(1.0, 0.3, 0.3, 0.3, 3, 0, 1.0);
    dBodySetAngularVel(spinner, 9.0, 0.5, 7.0);
    dBodySetFiniteRotationMode(spinner, 1);
    dBodySetMaxAngularSpeed(spinner, 10.0);
    dBodySetLinearDamping(slow, 0.02);
    dBodySetAngularDamping(slow, 0.03);
    dBodySetLinearDampingThreshold(slow, 0.0);
    dBodySetGyroscopicMode(slow, 0);
    const dBodyID lift = w.box(1.0, 1.0, 1.0, 0.2, 6, 0, 0.5);
    dBodySetKinematic(lift);
    dBodySetLinearVel(lift, 0, 0, 0.2);
    w.box(1.0, 0.4, 0.4, 0.4, 6.1, 0.05, 0.81);
    const dBodyID floating = w.box(1.0, 0.4, 0.4, 0.4, 9, 0, 1.0);
    dBodySetGravityMode(floating, 0);
    dBodyAddForce(floating, 1, 2, 3);
    dBodyAddTorque(floating, 0.1, 0.2, 0.3);
}

static void feedback()
{
    World a, b;
    dJointFeedback fa[5], fb[5];
    ode_world::build_chain(a, 5, 100.0, true);
    ode_world::build_chain(b, 5, 100.0, true);
    for (int i = 0; i < 5; i++) {
        dJointSetFeedback(a.joints[i], &fa[i]);
        dJointSetFeedback(b.joints[i], &fb[i]);
    }
    mlcp::ode::Solver solver(like_ode());
    for (int k = 0; k < 30; k++) {
        dWorldStep(a.world, H);
        EXPECT(mlcp::ode::world_step(b.world, H, solver) == 1);
        for (int i = 0; i < 5; i++) {
            for (int d = 0; d < 3; d++) {
                EXPECT(std::fabs(fa[i].f1[d] - fb[i].f1[d]) < 1e-5 && std::fabs(fa[i].t1[d] - fb[i].t1[d]) < 1e-5);
                EXPECT(i == 0 || std::fabs(fa[i].f2[d] - fb[i].f2[d]) < 1e-5);
            }
        }
    }
    std::printf("feedback                     as dWorldStep's\n");
}

int main()
{
    dInitODE();
    EXPECT(mlcp::ode::available());
    same_as_ode("hinge chain", 300, 1e-9, [](World &w) { ode_world::build_chain(w, 5, 1.0, false); });
    same_as_ode("chain, 100 kg tip, motors", 300, 1e-6, [](World &w) { ode_world::build_chain(w, 5, 100.0, true); });
    same_as_ode("joint zoo in the air", 300, 1e-9, [](World &w) { build_zoo(w, false); });
    same_as_ode("joint zoo on the floor", 300, 1e-9, [](World &w) {
        w.floor();
        dWorldSetCFM(w.world, 1e-5); // with less, the forces under a box that lies on four corners are anybody's
        build_zoo(w, false);
    });
    same_as_ode("wall in disorder", 300, 1e-9, [](World &w) {
        w.floor();
        dWorldSetCFM(w.world, 1e-5);
        ode_world::build_wall(w, 12, 20.0, false, 0.02);
    });
    same_as_ode("spinning, damped, kinematic", 300, 1e-9, body_features);
    same_as_ode("falling asleep", 300, 1e-9, [](World &w) {
        w.floor();
        dWorldSetAutoDisableFlag(w.world, 1);
        for (int i = 0; i < 6; i++) {
            w.box(1.0, 0.4, 0.4, 0.4, 0.05 * i, 0.03 * (i % 3), 0.25 + 0.42 * i);
        }
    });
    feedback();

    const double ode = overhanging_wall(nullptr, 100);
    std::printf("overhanging wall             dWorldStep moves it %.3f m in 100 steps, %d failures\n", ode, ode_world::lcp_failures());
    EXPECT(ode > 1.0 && ode_world::lcp_failures() > 0);
    for (int mode = 0; mode < 2; mode++) {
        mlcp::ode::Options options;
        options.friction = mode ? MLCP_FRICTION_MODE_FROZEN : MLCP_FRICTION_MODE_COUPLED;
        mlcp::ode::Solver solver(options);
        const double ours = overhanging_wall(&solver, 300);
        std::printf("overhanging wall             libmlcp moves it %.6f m in 300 steps, friction %s\n", ours, mode ? "frozen" : "coupled");
        EXPECT(ours <= 0.020);
    }
    dCloseODE();
    std::printf("ok\n");
    return 0;
}
