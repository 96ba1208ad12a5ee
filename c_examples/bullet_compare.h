/*
 * bullet_compare.h: one scene under Bullet's own solvers and under libmlcp, as a table and a plot. C++11.
 *
 * Licence: MIT OR Apache-2.0.
 */
#ifndef BULLET_COMPARE_H
#define BULLET_COMPARE_H

#include "bullet_world.h"
#include "engine_plot.h"
#include "mlcp_bullet.hpp"

#include <BulletDynamics/MLCPSolvers/btDantzigSolver.h>
#include <BulletDynamics/MLCPSolvers/btMLCPSolver.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

/// Runs the scene with each solver and adds a line to the table and one to the plot.
class BulletCompare {
public:
    typedef void (*Scene)(BulletWorld &);
    typedef double (*Value)(const BulletWorld &);

    /// plotted: what the plot shows over time, if not 0.
    BulletCompare(Scene scene, int steps, engine_plot::Plot &plot, Value plotted)
        : scene_(scene), steps_(steps), plot_(plot), plotted_(plotted)
    {
        std::printf("%-22s %10s %10s %10s %12s %12s %10s %9s\n", "solver", "drift", "joint err", "kinetic E", "energy error",
                    "worst step", "fallbacks", "per step");
    }

    void all()
    {
        mlcp::bullet::Options measure;
        measure.measure_only = true;

        mlcp::bullet::ConstraintSolver impulses(measure);
        run("Bullet, 10 sweeps", impulses, nullptr);

        btDantzigSolver dantzig;
        mlcp::bullet::SolverOver<btMLCPSolver> dense(measure, &dantzig);
        run("Bullet, btDantzig", dense, &dense);

        mlcp::bullet::ConstraintSolver mlcp;
        run("libmlcp", mlcp, nullptr);
    }

private:
    Scene scene_;
    int steps_;
    engine_plot::Plot &plot_;
    Value plotted_;

    template <class Solver> void run(const char *name, Solver &solver, const btMLCPSolver *bullet)
    {
        BulletWorld world(&solver);
        scene_(world);
        const std::size_t line = plot_.add(name);
        double drift = 0.0, joints = 0.0, error = 0.0, worst = 0.0, seconds = 0.0;
        for (int i = 1; i <= steps_; i++) {
            const auto start = std::chrono::steady_clock::now();
            world.step(1.0 / 60.0);
            seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            const mlcp::bullet::Report &report = solver.report();
            if (solver.options().measure_only) { // Bullet pays for its step, not for being measured
                seconds -= report.gather_seconds + report.write_seconds;
            }
            error += report.energy_error;
            worst = std::fmax(worst, report.energy_error);
            drift = std::fmax(drift, world.drift());
            joints = std::fmax(joints, joint_error(world));
            plot_.point(line, i / 60.0, plotted_(world));
        }
        const long fallbacks = bullet ? bullet->getNumFallbacks() : solver.num_fallbacks();
        std::printf("%-22s %8.2e m %8.2e m %8.2e J %10.2e J %10.2e J %10ld %6.2f ms\n", name, drift, joints,
                    world.kinetic_energy(), error / steps_, worst, fallbacks, 1e3 * seconds / steps_);
    }
};

/// The main program of an example: NAME [--steps N] [picture.svg].
inline int bullet_example(int argc, char **argv, const char *name, const char *scene_name, int steps,
                          BulletCompare::Scene scene, engine_plot::Plot plot, BulletCompare::Value plotted)
{
    std::string path = std::string(name) + ".svg";
    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "--steps") == 0 && i + 1 < argc) {
            steps = std::atoi(argv[++i]);
        } else {
            path = argv[i];
        }
    }
    if (steps < 1) {
        std::fprintf(stderr, "%s: --steps must be at least 1\n", name);
        return 2;
    }
    std::printf("%s, %d steps of 1/60 s, Bullet in %s\n\n", scene_name, steps,
                sizeof(btScalar) == sizeof(double) ? "double" : "float");
    plot.log_y = true;
    plot.floor = 1e-9;
    BulletCompare(scene, steps, plot, plotted).all();
    if (!plot.write(path)) {
        std::fprintf(stderr, "%s: cannot write %s\n", name, path.c_str());
        return 1;
    }
    std::printf("\nwrote %s\n", path.c_str());
    return 0;
}

#endif
