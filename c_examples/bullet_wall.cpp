/*
 * bullet_wall: a wall of 30 bricks that should simply stand, under Bullet's own solvers and under libmlcp.
 *
 *     bullet_wall [--steps N] [FILE.svg]
 *
 * The table has, over the whole run: the largest distance of a brick from where it was put, the largest gap in a joint (the
 * wall has none), the kinetic energy at the end, the energy error of a step on average and at worst, how often Bullet fell
 * back to its sweeps, and wall-clock time. Energy errors of Bullet's solvers are measured by libmlcp on the same rows.
 * The plot shows the drift over time.
 */
#include "bullet_compare.h"

#include <cstdlib>
#include <cstring>
#include <string>

static void wall(BulletWorld &world) { build_wall(world, 12); }
static double drift(const BulletWorld &world) { return world.drift(); }

int main(int argc, char **argv)
{
    int steps = 500;
    std::string path = "bullet_wall.svg";
    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "--steps") == 0 && i + 1 < argc) {
            steps = std::atoi(argv[++i]);
        } else {
            path = argv[i];
        }
    }
    if (steps < 1) {
        std::fprintf(stderr, "bullet_wall: --steps must be at least 1\n");
        return 2;
    }
    std::printf("A wall of 30 bricks, %d steps of 1/60 s, CFM 0, Bullet in %s\n\n", steps,
                sizeof(btScalar) == sizeof(double) ? "double" : "float");
    engine_plot::Plot plot("A wall of 30 bricks: how far it has moved", "time (s)", "largest drift of a brick (m)");
    plot.log_y = true;
    plot.floor = 1e-9;
    BulletCompare(wall, steps, plot, drift).all();
    if (!plot.write(path)) {
        std::fprintf(stderr, "bullet_wall: cannot write %s\n", path.c_str());
        return 1;
    }
    std::printf("\nwrote %s\n", path.c_str());
    return 0;
}
