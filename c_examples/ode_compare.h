/*
 * ode_compare.h: the ODE examples step one scene in three ways and put the numbers side by side.
 */
#ifndef ODE_COMPARE_H
#define ODE_COMPARE_H

#include "engine_plot.h"
#include "mlcp_ode.hpp"
#include "ode_world.h"

#include <chrono>
#include <cstdio>
#include <string>

namespace ode_compare {

enum Way { WORLD_STEP, QUICK_STEP, MLCP, WAYS };
static const char *const NAMES[WAYS] = {"dWorldStep", "dWorldQuickStep", "libmlcp"};

/* ODE's own solvers are measured by libmlcp, which leaves them as they are; their time is without the measuring. */
struct Runner {
    Way way;
    mlcp::ode::Solver solver;
    double seconds, worst_energy;
    int steps, failures;

    explicit Runner(Way way_) : way(way_), seconds(0), worst_energy(0), steps(0), failures(0)
    {
        mlcp::ode::Options options;
        options.measure_only = way != MLCP;
        options.quick_step = way == QUICK_STEP;
        solver.set_options(options);
        ode_world::lcp_failures() = 0;
    }

    bool step(dWorldID world, double h)
    {
        typedef std::chrono::steady_clock Clock;
        const Clock::time_point start = Clock::now();
        if (!mlcp::ode::world_step(world, h, solver)) {
            std::fprintf(stderr, "%s\n", solver.report().error);
            return false;
        }
        const mlcp::ode::Report &report = solver.report();
        seconds += std::chrono::duration<double>(Clock::now() - start).count();
        if (way != MLCP) {
            seconds -= report.solve_seconds + report.adapter_seconds;
        }
        worst_energy = std::fmax(worst_energy, report.energy_error);
        steps++;
        /* For ODE what its solver reports (QuickStep never does), for libmlcp a solve short of its tolerance. */
        const bool short_of = way == MLCP && report.outcome != MLCP_OUTCOME_CONVERGED && report.rows > 0;
        failures += report.failures + short_of;
        return true;
    }

    int all_failures() const { return failures + (way == WORLD_STEP ? ode_world::lcp_failures() : 0); }
};

inline void print_head(const char *drift, const char *joint)
{
    std::printf("%-16s %14s %14s %18s %9s %9s\n", "solver", drift, joint, "energy error (J)", "failures", "ms/step");
}

inline void print_row(const Runner &r, double drift, double joint)
{
    std::printf("%-16s %14.6f %14.2e %18.1e %9d %9.3f\n", NAMES[r.way], drift, joint, r.worst_energy, r.all_failures(),
                1e3 * r.seconds / r.steps);
}

inline int finish(const engine_plot::Plot &plot, const std::string &path)
{
    if (!plot.write(path)) {
        std::fprintf(stderr, "cannot write %s\n", path.c_str());
        return 1;
    }
    std::printf("picture: %s\n", path.c_str());
    return 0;
}

} // namespace ode_compare

#endif
