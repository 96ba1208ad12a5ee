// measure_only: ODE's solvers run as they are, and their error is known. Callbacks, recorders, bad input.
#include "scenes.hpp"

using namespace scenes;

// Bit for bit the trajectory of the engine's own function; returns the largest relative and the largest absolute error.
static std::pair<double, double> measured(bool quick, const std::function<void(World &)> &build, int steps)
{
    World plain, watched;
    build(plain);
    build(watched);
    dJointFeedback own;
    std::memset(&own, 0, sizeof own);
    if (!watched.joints.empty()) {
        dJointSetFeedback(watched.joints[0], &own);
    }
    mlcp::ode::Options options;
    options.measure_only = true;
    options.quick_step = quick;
    mlcp::ode::Solver solver(options);
    std::pair<double, double> most(0.0, 0.0);
    for (int k = 0; k < steps; k++) {
        plain.collide();
        watched.collide();
        dRandSetSeed(k); // QuickStep shuffles its rows
        (quick ? dWorldQuickStep : dWorldStep)(plain.world, H);
        dRandSetSeed(k);
        EXPECT(mlcp::ode::world_step(watched.world, H, solver) == 1);
        const mlcp::ode::Report &r = solver.report();
        EXPECT(r.failures == 0 && r.outcome == MLCP_OUTCOME_NONE);
        EXPECT(difference(plain, watched) == 0.0);
        EXPECT(r.energy_error <= 0 || (r.worst_error <= r.energy_error && r.worst.body1));
        if (r.energy_scale > 0) {
            most.first = std::fmax(most.first, r.energy_error / r.energy_scale);
        }
        most.second = std::fmax(most.second, r.energy_error);
        for (dJointID j : watched.joints) {
            EXPECT(dJointGetFeedback(j) == (j == watched.joints[0] ? &own : nullptr));
        }
    }
    EXPECT(watched.joints.empty() || own.f1[0] != 0 || own.f1[2] != 0);
    return most;
}

static void wall(World &w)
{
    w.floor();
    dWorldSetCFM(w.world, 1e-7);
    ode_world::build_wall(w, 12, 1.0, true, 0.0);
}

struct Seen {
    long records, rows, iterations;
    double sum;
};

static void record(const mlcp::ode::Record &r, void *data)
{
    Seen &seen = *static_cast<Seen *>(data);
    seen.records++;
    seen.rows += static_cast<long>(r.rows);
    double error = 0.0;
    EXPECT(mlcp_problem_rows(r.problem) == r.rows && r.report && r.constraint_count > 0);
    EXPECT(mlcp_problem_measure(r.problem, MLCP_MEASURE_ENERGY, r.x, r.rows, nullptr, 0, &error) == MLCP_STATUS_OK);
    seen.sum += error;
    const mlcp::ode::Constraint &last = r.constraints[r.constraint_count - 1];
    EXPECT(static_cast<std::size_t>(last.first_row + last.rows) == r.rows);
}

static std::int32_t count(const mlcp_iteration *, void *data)
{
    static_cast<Seen *>(data)->iterations++;
    return 0;
}

static void hooks()
{
    World w;
    w.floor();
    build_zoo(w, false);
    Seen seen = {0, 0, 0, 0.0};
    mlcp::ode::Options options;
    options.recorder = &record;
    options.recorder_data = &seen;
    options.callback = &count;
    options.callback_data = &seen;
    mlcp::ode::Solver solver(options);
    long rows = 0, islands = 0;
    double sum = 0.0;
    for (int k = 0; k < 60; k++) {
        w.collide();
        EXPECT(mlcp::ode::world_step(w.world, H, solver) == 1);
        rows += solver.report().rows;
        islands += solver.report().islands;
        sum += solver.report().energy_error;
    }
    EXPECT(seen.records == islands && seen.rows == rows && seen.iterations > islands);
    EXPECT(std::fabs(seen.sum - sum) <= 1e-9 * sum + 1e-30);
}

// Refused settings and a body that has become NaN are told, and nothing is broken for the others.
static void bad_input()
{
    World w;
    w.floor();
    w.box(1, 0.4, 0.4, 0.4, 0, 0, 0.19);
    w.box(1, 0.4, 0.4, 0.4, 3, 0, 0.19);
    mlcp::ode::Options options;
    options.settings.relaxation = 7.0;
    mlcp::ode::Solver solver(options);
    w.collide();
    EXPECT(mlcp::ode::world_step(w.world, H, solver) == 1);
    EXPECT(solver.report().failures == 2 && std::strstr(solver.report().error, "relaxation"));
    solver.set_options(mlcp::ode::Options());
    w.collide();
    EXPECT(mlcp::ode::world_step(w.world, H, solver) == 1 && solver.report().failures == 0);
    EXPECT(solver.report().outcome == MLCP_OUTCOME_CONVERGED);
    w.collide();
    dBodySetLinearVel(w.bodies[0], NAN, 0, 0);
    EXPECT(mlcp::ode::world_step(w.world, H, solver) == 1);
    EXPECT(solver.report().failures == 1 && solver.report().error[0] != 0);
    EXPECT(std::isfinite(dBodyGetPosition(w.bodies[1])[2]) && dBodyGetPosition(w.bodies[1])[2] > 0.18);
}

// A wheel in its backlash has a row that no body feels.
static void empty_row()
{
    World w;
    const dBodyID a = w.box(1, 0.4, 0.4, 0.4, 0, 0, 2, false), b = w.box(1, 0.4, 0.4, 0.4, 1, 0, 2, false);
    for (dBodyID body : {a, b}) {
        const dJointID hinge = dJointCreateHinge(w.world, nullptr);
        dJointAttach(hinge, body, nullptr);
        dJointSetHingeAnchor(hinge, dBodyGetPosition(body)[0], 0, 2);
        dJointSetHingeAxis(hinge, 0, 1, 0);
    }
    dWorldSetCFM(w.world, 0);
    const dJointID gear = dJointCreateTransmission(w.world, nullptr);
    dJointAttach(gear, a, b);
    dJointSetTransmissionMode(gear, dTransmissionParallelAxes);
    dJointSetTransmissionRatio(gear, 1.0);
    dJointSetTransmissionAnchor1(gear, 0, 0, 2);
    dJointSetTransmissionAnchor2(gear, 1, 0, 2);
    dJointSetTransmissionAxis(gear, 0, 1, 0);
    dJointSetTransmissionBacklash(gear, 0.5);
    dBodySetAngularVel(a, 0, 0.1, 0);
    mlcp::ode::Solver solver;
    for (int k = 0; k < 10; k++) {
        EXPECT(mlcp::ode::world_step(w.world, H, solver) == 1 && solver.report().failures == 0);
    }
    EXPECT(solver.report().rows == 11 && std::isfinite(solver.report().energy_error));
    EXPECT(std::fabs(dBodyGetAngularVel(a)[1] - 0.1) < 1e-12 && std::fabs(dBodyGetAngularVel(b)[1]) < 1e-12);
}

int main()
{
    dInitODE();
    const auto chain = [](World &w) { ode_world::build_chain(w, 5, 100.0, true); };
    const std::pair<double, double> exact = measured(false, chain, 100), quick = measured(true, chain, 100);
    std::printf("heavy chain:      dWorldStep is wrong by %.1e J at most (%.1e of the step's), dWorldQuickStep by %.1e J\n",
                exact.second, exact.first, quick.second);
    EXPECT(exact.first < 1e-20 && quick.second > 1e-2);
    const std::pair<double, double> failed = measured(false, wall, 20), swept = measured(true, wall, 20);
    std::printf("overhanging wall: dWorldStep is wrong by %.1e J at most, failed %d times, dWorldQuickStep by %.1e J\n",
                failed.second, ode_world::lcp_failures() / 2, swept.second);
    EXPECT(ode_world::lcp_failures() > 0 && failed.second > 1e-2);
    const auto zoo = [](World &w) {
        w.floor();
        build_zoo(w, false);
    };
    measured(false, zoo, 60);
    measured(true, zoo, 60);
    hooks();
    bad_input();
    empty_row();
    dCloseODE();
    std::printf("ok\n");
    return 0;
}
