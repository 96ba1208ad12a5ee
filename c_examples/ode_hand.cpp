/*
 * A hand of five fingers grasps the end of a hose on a table and lifts it; every step goes to a file. ODE's QuickStep
 * simulates, as in Gazebo; libmlcp measures every island in joules and records it, and the step as a frame: bodies,
 * contacts with their gaps, joints with their violation.
 *
 *     g++ -std=c++11 -O2 c_examples/ode_hand.cpp -Iinclude -Ltarget/release -lmlcp -lode
 *     ./a.out [ode_hand.h5] [keep every k-th step: 5]
 *     mlcp-lab info ode_hand.h5;  mlcp-lab replay ode_hand.h5 --problem '01500*' --solver pgs,auto
 */
#include "mlcp_ode.hpp"
#include "ode_frame.h"
#include "ode_world.h"

#include <cstdlib>

static const double H = 0.001, SECONDS = 3.0;
static const int LINKS = 12, SWEEPS = 50; /* with H, Gazebo's defaults */

#define CHECK(call)                                                                                                     \
    do {                                                                                                                \
        if ((call) != MLCP_STATUS_OK) {                                                                                 \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, mlcp_last_error());                                 \
            std::exit(1);                                                                                               \
        }                                                                                                               \
    } while (0)

/* A world that remembers the contacts of the step. */
struct Scene : ode_world::World {
    std::vector<ode_frame::Touch> touching;

    void contact(const dContact &c, dBodyID body1, dBodyID body2) override
    {
        World::contact(c, body1, body2);
        touching.push_back({c.geom, c.surface.mu, body1, body2});
    }
    /* A rod with round ends from one point to another. */
    dBodyID capsule(double kg, double radius, const double (&from)[3], const double (&to)[3])
    {
        double along[3], length = 0.0;
        for (int k = 0; k < 3; k++) {
            along[k] = to[k] - from[k];
            length += along[k] * along[k];
        }
        length = std::sqrt(length);
        dMass mass;
        dMassSetCapsuleTotal(&mass, kg, 3, radius, length);
        const dGeomID geom = dCreateCapsule(space, radius, length);
        const dBodyID rod = body(mass, geom, (from[0] + to[0]) / 2, (from[1] + to[1]) / 2, (from[2] + to[2]) / 2);
        dMatrix3 turn;
        dRFromZAxis(turn, along[0], along[1], along[2]);
        dBodySetRotation(rod, turn);
        return rod;
    }
    dJointID join(dJointID joint, dBodyID body1, dBodyID body2)
    {
        dJointAttach(joint, body1, body2);
        joints.push_back(joint);
        return joint;
    }
};

/* A palm on a slider, and fingers of two limbs that close towards y = 0: three from one side, two from the other. */
struct Hand {
    dJointID wrist;
    std::vector<dJointID> roots, knuckles;

    Hand(Scene &w, double x, double z)
    {
        const dBodyID palm = w.box(1.0, 0.11, 0.09, 0.02, x, 0, z);
        wrist = dJointCreateSlider(w.world, nullptr);
        dJointAttach(wrist, palm, nullptr);
        dJointSetSliderAxis(wrist, 0, 0, 1);
        dJointSetSliderParam(wrist, dParamFMax, 60);
        const double places[5][2] = {{-0.035, 1}, {0, 1}, {0.035, 1}, {-0.0175, -1}, {0.0175, -1}};
        for (const double(&place)[2] : places) {
            const double side = place[1], fx = x + place[0], y = 0.05 * side;
            const double top[3] = {fx, y, z - 0.01}, middle[3] = {fx, y, z - 0.05}, tip[3] = {fx, y, z - 0.08};
            const dBodyID limb = w.capsule(0.15, 0.012, top, middle), end = w.capsule(0.1, 0.012, middle, tip);
            roots.push_back(hinge(w, limb, palm, top, side, 0.5));
            knuckles.push_back(hinge(w, end, limb, middle, side, 0.25));
        }
    }
    static dJointID hinge(Scene &w, dBodyID body, dBodyID to, const double (&at)[3], double side, double torque)
    {
        const dJointID joint = w.join(dJointCreateHinge(w.world, nullptr), body, to);
        dJointSetHingeAnchor(joint, at[0], at[1], at[2]);
        dJointSetHingeAxis(joint, -side, 0, 0); /* a growing angle closes */
        dJointSetHingeParam(joint, dParamFMax, torque);
        return joint;
    }
    static double towards(double target, double now, double most)
    {
        return std::fmin(std::fmax(20 * (target - now), -most), most);
    }
    /* Motors with limited force follow heights and angles: down, grasp, up, hold. */
    void act(double t)
    {
        const double height = t < 1.2 ? -0.1 : 0.15;
        dJointSetSliderParam(wrist, dParamVel, towards(height, dJointGetSliderPosition(wrist), 0.25));
        for (dJointID j : roots) {
            dJointSetHingeParam(j, dParamVel, towards(t < 0.6 ? -0.2 : 0.7, dJointGetHingeAngle(j), 3));
        }
        for (dJointID j : knuckles) {
            dJointSetHingeParam(j, dParamVel, towards(t < 0.6 ? 0.0 : 0.9, dJointGetHingeAngle(j), 3));
        }
    }
};

static void lay_hose(Scene &w)
{
    const double radius = 0.02, length = 0.06;
    dBodyID before = nullptr;
    for (int i = 0; i < LINKS; i++) {
        const double from[3] = {-length * i, 0, radius}, to[3] = {-length * (i + 1), 0, radius};
        const dBodyID link = w.capsule(0.05, radius, from, to);
        if (before) {
            dJointSetBallAnchor(w.join(dJointCreateBall(w.world, nullptr), link, before), from[0], from[1], from[2]);
        }
        before = link;
    }
}

/* Islands go to the file by the number of their step. */
struct Recording {
    mlcp_recorder *file;
    mlcp_frame *frame;
    int step, island;
    bool keeps;
};

static void record_island(const mlcp::ode::Record &record, void *data)
{
    Recording &to = *static_cast<Recording *>(data);
    if (to.keeps) {
        char name[32];
        std::snprintf(name, sizeof name, "%05d_%d", to.step, to.island++);
        CHECK(mlcp_recorder_append_problem(to.file, name, record.problem, record.x, record.rows, record.report));
    }
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "ode_hand.h5";
    const int every = argc > 2 ? std::atoi(argv[2]) : 5;
    if (every < 1) {
        std::fprintf(stderr, "usage: %s [ode_hand.h5] [keep every k-th step: 5]\n", argv[0]);
        return 2;
    }
    dInitODE();
    int failed = 0;
    {
        Scene w;
        w.floor(); /* the table */
        w.mu = 0.9;
        lay_hose(w);
        Hand hand(w, -0.06, 0.19);
        dWorldSetQuickStepNumIterations(w.world, SWEEPS);

        Recording to = {nullptr, nullptr, 0, 0, true};
        mlcp_recorder_options settings = {sizeof settings, 0, MLCP_WHEN_FULL_WAIT, 0, 0, "ODE QuickStep, ode_hand"};
        CHECK(mlcp_recorder_create(path, &settings, &to.file));
        CHECK(mlcp_frame_create(&to.frame));
        mlcp::ode::Options options;
        options.measure_only = options.quick_step = true;
        options.recorder = &record_island;
        options.recorder_data = &to;
        mlcp::ode::Solver solver(options);

        const int steps = static_cast<int>(SECONDS / H + 0.5);
        std::printf("%8s %12s %10s %6s %20s\n", "t (s)", "hose end (m)", "contacts", "rows", "energy error (J)");
        for (; to.step < steps && !failed; to.step++) {
            to.keeps = to.step % every == 0;
            to.island = 0;
            hand.act(to.step * H);
            w.touching.clear();
            w.collide();
            if (to.keeps) {
                CHECK(mlcp_frame_set_step(to.frame, H, to.step * H));
                CHECK(ode_frame::fill(to.frame, w.world, w.bodies, w.joints, w.touching));
                CHECK(mlcp_recorder_append_frame(to.file, to.frame, nullptr, nullptr, 0, nullptr));
            }
            if (!mlcp::ode::world_step(w.world, H, solver) || solver.report().failures) {
                std::fprintf(stderr, "%s\n", solver.report().error);
                failed = 1;
            }
            if (to.step % 300 == 299) {
                std::printf("%8.2f %12.4f %10d %6d %20.1e\n", (to.step + 1) * H, dBodyGetPosition(w.bodies[0])[2],
                            static_cast<int>(w.touching.size()), solver.report().rows, solver.report().energy_error);
            }
        }
        CHECK(mlcp_recorder_flush(to.file));
        mlcp_recorder_destroy(to.file);
        mlcp_frame_destroy(to.frame);
        std::printf("recording: %s\n", path);
    }
    dCloseODE();
    return failed;
}
