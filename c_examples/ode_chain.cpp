/*
 * A chain of light links hangs down, a weight a hundred times as heavy at its end, and swings for 5 seconds. Sweeps cannot
 * carry the weight up the chain, so its hinges come apart. Exact solvers, ODE's and libmlcp, keep them together.
 *
 *     g++ -std=c++11 -O2 c_examples/ode_chain.cpp -Iinclude -Ltarget/release -lmlcp -lode
 *     ./a.out [ode_chain.svg] [steps]
 */
#include "ode_compare.h"

#include <cstdlib>

int main(int argc, char **argv)
{
    using namespace ode_compare;
    const std::string path = argc > 1 ? argv[1] : "ode_chain.svg";
    const int steps = argc > 2 ? std::atoi(argv[2]) : 300;
    const double h = 1.0 / 60;
    dInitODE();
    engine_plot::Plot plot("ODE: chain of 1 kg links, 100 kg at the end", "time (s)", "largest gap in a hinge (m)");
    plot.log_y = true;
    std::printf("Hanging chain of 10 links of 1 kg, the last of 100 kg, %d steps of 1/60 s\n", steps);
    std::printf("drift: of the weight, from where dWorldStep has it at the end\n\n");
    print_head("drift (m)", "hinge gap (m)");
    dVector3 reference = {0, 0, 0, 0};
    for (int way = 0; way < WAYS; way++) {
        ode_world::World w;
        ode_world::build_chain(w, 10, 100.0, false);
        dWorldSetGravity(w.world, 9.81, 0, 0); /* along the chain: it hangs */
        dBodySetLinearVel(w.bodies.back(), 0, 0, 2.0);
        Runner runner(static_cast<Way>(way));
        const std::size_t line = plot.add(NAMES[way]);
        double gap = 0.0;
        for (int k = 0; k < steps; k++) {
            if (!runner.step(w.world, h)) {
                return 1;
            }
            gap = std::fmax(gap, ode_world::hinge_error(w));
            plot.point(line, (k + 1) * h, ode_world::hinge_error(w));
        }
        const dReal *tip = dBodyGetPosition(w.bodies.back());
        if (way == WORLD_STEP) {
            std::copy(tip, tip + 3, reference);
        }
        dVector3 off;
        dSubtractVectors3(off, tip, reference);
        print_row(runner, dCalcVectorLength3(off), gap);
    }
    dCloseODE();
    return finish(plot, path);
}
