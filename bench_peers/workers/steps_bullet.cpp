/*
 * Consecutive steps of a Bullet world, double build; see steps.hpp. Scenes: wall (12 courses, rigid, one friction direction),
 * wall_2dir (two, and a CFM of 1e-5), pile (24 boxes that fall on each other; all islands in one problem). Friction
 * directions are kept from step to step, as warm starting wants them.
 */
#include "steps.hpp"

#include "../../c_examples/bullet_world.h"
#include "mlcp_bullet.hpp"

int main(int argc, char **argv)
{
    if (argc != 4) {
        std::fprintf(stderr, "steps_bullet: SCENE SKIP FILE\n");
        return 1;
    }
    const bool two = std::strcmp(argv[1], "wall_2dir") == 0;
    Recording recording(std::atoi(argv[2]), argv[3]);
    mlcp::bullet::Options options;
    options.recorder = [&](const mlcp_problem *problem, const double *x, std::size_t n, const mlcp_report &report) {
        recording.keep(problem, x, n, &report);
    };
    mlcp::bullet::ConstraintSolver solver(options);
    BulletWorld world(&solver);
    world.info().m_solverMode |= SOLVER_DISABLE_VELOCITY_DEPENDENT_FRICTION_DIRECTION;
    if (two) {
        world.info().m_solverMode |= SOLVER_USE_2_FRICTION_DIRECTIONS;
        world.info().m_globalCfm = btScalar(1e-5);
    }
    world.info().m_splitImpulse = 0;
    world.ground();
    if (std::strcmp(argv[1], "pile") == 0) {
        for (int k = 0; k < 24; k++) {
            const double size = 0.4 + 0.05 * (k % 5);
            world.box(own_mass(10.0), size, 0.4, 0.4, btVector3(0.11 * (k % 4), 0.3 + 0.45 * (k / 2), 0.07 * (k % 3) + k % 2));
        }
    } else {
        build_bricks([&](double mass, double length, double x, double y, double height) {
            world.box(mass, length, 0.5, 0.5, btVector3(x, height, y));
        });
    }
    for (int k = 0; k < recording.end(); k++) {
        recording.begin(k);
        world.step(STEP);
    }
    return 0;
}
