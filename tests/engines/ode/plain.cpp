// An ODE program that knows nothing of libmlcp: dWorldStep on an overhanging wall (or a chain), and how far it moved.
#include "ode_world.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char **argv)
{
    dInitODE();
    {
        ode_world::World w;
        const bool chain = argc > 1 && std::strcmp(argv[1], "chain") == 0;
        if (chain) {
            ode_world::build_chain(w, 5, 100.0, true);
        } else {
            w.floor();
            dWorldSetCFM(w.world, 1e-7);
            ode_world::build_wall(w, 12, 1.0, true, 0.0);
        }
        const std::vector<double> start = ode_world::positions(w);
        for (int step = 0; step < (argc > 2 ? std::atoi(argv[2]) : 100); step++) {
            w.collide();
            dWorldStep(w.world, 1.0 / 60);
        }
        const dReal *tip = dBodyGetPosition(w.bodies.back());
        std::printf("drift %.6f m, failures %d, tip %.9f %.9f %.9f\n", ode_world::drift(w, start), ode_world::lcp_failures(),
                    tip[0], tip[1], tip[2]);
    }
    dCloseODE();
    return 0;
}
