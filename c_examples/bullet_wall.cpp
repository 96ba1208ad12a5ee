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

static void wall(BulletWorld &world) { build_wall(world, 12); }
static double drift(const BulletWorld &world) { return world.drift(); }

int main(int argc, char **argv)
{
    engine_plot::Plot plot("A wall of 30 bricks: how far it has moved", "time (s)", "largest drift of a brick (m)");
    return bullet_example(argc, argv, "bullet_wall", "A wall of 30 bricks, CFM 0", 500, wall, plot, drift);
}
