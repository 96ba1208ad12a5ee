// ODE's own threads step islands at the same time: bit for bit what one thread gives. With measure_only ODE's solver runs,
// which adds up forces in the order in which its threads come: the same but for rounding.
#include "scenes.hpp"

using namespace scenes;

// 20 piles and the zoo: many islands, of different sizes.
static void build(World &w)
{
    w.floor();
    build_zoo(w, false);
    for (int pile = 0; pile < 20; pile++) {
        for (int i = 0; i < 1 + pile % 5; i++) {
            w.box(1.0 + i, 0.5, 0.4, 0.3, 3.0 * pile + 0.03 * i, 4.0, 0.16 + 0.32 * i);
        }
    }
}

static void run(World &w, const mlcp::ode::Options &options, int threads, int steps, int *most_islands)
{
    dThreadingImplementationID threading = nullptr;
    dThreadingThreadPoolID pool = nullptr;
    if (threads > 1) {
        threading = dThreadingAllocateMultiThreadedImplementation();
        pool = dThreadingAllocateThreadPool(threads, 0, dAllocateFlagBasicData, nullptr);
        EXPECT(threading && pool);
        dThreadingThreadPoolServeMultiThreadedImplementation(pool, threading);
        dWorldSetStepIslandsProcessingMaxThreadCount(w.world, threads);
        dWorldSetStepThreadingImplementation(w.world, dThreadingImplementationGetFunctions(threading), threading);
    }
    build(w);
    {
        mlcp::ode::Solver solver(options);
        for (int k = 0; k < steps; k++) {
            w.collide();
            EXPECT(mlcp::ode::world_step(w.world, H, solver) == 1 && solver.report().failures == 0);
            *most_islands = std::max(*most_islands, solver.report().islands);
        }
    }
    if (threads > 1) {
        dThreadingImplementationShutdownProcessing(threading);
        dThreadingFreeThreadPool(pool);
        dWorldSetStepThreadingImplementation(w.world, nullptr, nullptr);
        dThreadingFreeImplementation(threading);
    }
}

int main(int argc, char **argv)
{
    const int steps = argc > 1 ? std::atoi(argv[1]) : 120;
    dInitODE();
    for (int measure = 0; measure < 2; measure++) {
        mlcp::ode::Options options;
        options.measure_only = measure == 1;
        World one, two;
        int islands = 0;
        run(one, options, 1, steps, &islands);
        run(two, options, 2, steps, &islands);
        std::printf("%s: up to %d islands, two threads differ from one by %g\n", measure ? "measured" : "solved", islands,
                    difference(one, two));
        EXPECT(islands >= 20 && difference(one, two) <= (measure ? 1e-9 : 0.0));
    }
    dCloseODE();
    std::printf("ok\n");
    return 0;
}
