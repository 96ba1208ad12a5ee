/*
 * Consecutive steps of an ODE world; see steps.hpp. Scenes: wall (12 courses, CFM 1e-5), wall_cfm0 (the same, rigid). At most
 * four contacts on a pair of bricks, as in the corpus.
 */
#include "steps.hpp"

#include "../../c_examples/ode_world.h"
#include "mlcp_ode.hpp"

static void keep(const mlcp::ode::Record &record, void *recording)
{
    static_cast<Recording *>(recording)->keep(record.problem, record.x, record.rows, record.report);
}

static void near(void *data, dGeomID a, dGeomID b)
{
    ode_world::World &world = *static_cast<ode_world::World *>(data);
    dContact found[4];
    const int n = dCollide(a, b, 4, &found[0].geom, sizeof(dContact));
    for (int i = 0; i < n; i++) {
        found[i].surface.mode = dContactApprox1;
        found[i].surface.mu = 0.6;
        world.contact(found[i], dGeomGetBody(a), dGeomGetBody(b));
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        std::fprintf(stderr, "steps_ode: SCENE SKIP FILE\n");
        return 1;
    }
    dInitODE();
    {
        Recording recording(std::atoi(argv[2]), argv[3]);
        mlcp::ode::Options options;
        options.recorder = keep;
        options.recorder_data = &recording;
        mlcp::ode::Solver solver(options);
        ode_world::World world;
        world.floor();
        dWorldSetCFM(world.world, std::strcmp(argv[1], "wall_cfm0") == 0 ? 0.0 : 1e-5);
        /* ODE's bricks must overlap to touch. */
        build_bricks([&](double mass, double length, double x, double y, double height) {
            world.box(mass, length, 0.5, 0.5, x, y, (1.0 - 2e-4) * height);
        });
        for (int k = 0; k < recording.end(); k++) {
            recording.begin(k);
            dJointGroupEmpty(world.contacts);
            dSpaceCollide(world.space, &world, &near);
            if (!mlcp::ode::world_step(world.world, STEP, solver)) {
                return 1;
            }
        }
    }
    dCloseODE();
    return 0;
}
