/*
 * A wall of 30 bricks whose ends overhang, 5 seconds: it should stand. ODE's exact solver gives up on the ties between
 * redundant contacts and throws bricks (how far is chance: it depends on the order of rows); its iterative one lets the
 * wall creep; libmlcp keeps it.
 *
 *     g++ -std=c++11 -O2 c_examples/ode_wall.cpp -Iinclude -Ltarget/release -lmlcp -lode
 *     ./a.out [ode_wall.svg] [steps]
 */
#include "ode_compare.h"

#include <cstdlib>

int main(int argc, char **argv)
{
    using namespace ode_compare;
    const std::string path = argc > 1 ? argv[1] : "ode_wall.svg";
    const int steps = argc > 2 ? std::atoi(argv[2]) : 300;
    const double h = 1.0 / 60;
    dInitODE();
    engine_plot::Plot plot("ODE: wall of 30 bricks, overhanging ends", "time (s)", "largest drift of a brick (m)");
    plot.log_y = true;
    std::printf("Wall of 30 bricks of 1 kg, overhanging ends, friction 0.5, CFM 1e-7, %d steps of 1/60 s\n\n", steps);
    print_head("drift (m)", "kinetic (J)");
    for (int way = 0; way < WAYS; way++) {
        ode_world::World w;
        w.floor();
        dWorldSetCFM(w.world, 1e-7);
        ode_world::build_wall(w, 12, 1.0, true, 0.0);
        const std::vector<double> start = ode_world::positions(w);
        Runner runner(static_cast<Way>(way));
        const std::size_t line = plot.add(NAMES[way]);
        for (int k = 0; k < steps; k++) {
            w.collide();
            if (!runner.step(w.world, h)) {
                return 1;
            }
            plot.point(line, (k + 1) * h, ode_world::drift(w, start));
        }
        print_row(runner, ode_world::drift(w, start), w.kinetic_energy());
    }
    std::printf("\nenergy error: of the worst step; failures: LCP errors that ODE reports, or solves short of their tolerance\n");
    dCloseODE();
    return finish(plot, path);
}
