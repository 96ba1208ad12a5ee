/*
 * mlcp_bullet_core.hpp: handles, options, time budget and report of a hook into Bullet. Inside of mlcp_bullet.hpp.
 *
 * Licence: MIT OR Apache-2.0.
 */
#include "mlcp_bullet.hpp"

#ifndef MLCP_BULLET_CORE_HPP
#define MLCP_BULLET_CORE_HPP

#include <chrono>
#include <cstdio>

namespace mlcp {
namespace bullet {
namespace detail {

/// Seconds of a clock that only goes forward.
inline double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The handles, the options and the report: what both hooks share.
class Core {
public:
    Report report;
    long fallbacks;

    explicit Core(const Options &options)
        : fallbacks(0), problem_(nullptr), solver_(nullptr), spent_(0.0), unconverged_(0.0), broken_(false)
    {
        error_[0] = '\0';
        (void)(create() && set_options(options));
    }
    ~Core() { destroy(); }
    Core(const Core &) = delete;
    Core &operator=(const Core &) = delete;

    const Options &options() const { return options_; }
    mlcp_problem *problem() const { return problem_; }
    const char *error() const { return error_; }

    /// Refused settings leave the old options.
    bool set_options(const Options &options)
    {
        if (!(options.budget_ms >= 0.0)) {
            return fail("budget_ms is negative or NaN");
        }
        if (!check(mlcp_solver_set_settings(solver_, &options.settings))
            || !check(mlcp_solver_set_callback(solver_, options.callback, options.callback_data))) {
            return false;
        }
        if (&options != &options_) {
            options_ = options;
        }
        return true;
    }

    void begin_step()
    {
        report = Report();
        spent_ = 0.0;
        if (broken_) { // a defect in libmlcp was caught: its handles are of no more use
            destroy();
            broken_ = !(create() && set_options(options_));
        }
    }

    bool check(mlcp_status status)
    {
        broken_ = broken_ || status == MLCP_STATUS_INTERNAL;
        return status == MLCP_STATUS_OK || fail(mlcp_last_error());
    }

    bool fail(const char *sentence)
    {
        std::snprintf(error_, sizeof error_, "%s", sentence);
        return false;
    }

    /// Solve the filled problem from x, into x. What it achieved is in `achieved`; the report is left to the caller.
    bool solve(double *x, std::size_t n, mlcp_report &achieved)
    {
        mlcp_report_init(&achieved, sizeof achieved);
        const bool frozen = options_.friction == MLCP_FRICTION_MODE_FROZEN;
        return (!frozen || solve_once(x, n, achieved, true)) && solve_once(x, n, achieved, false);
    }

    /// Energy error of x, row by row, and of x = 0, in joules. Frozen friction is measured at the normals of x.
    bool measure(const double *x, std::size_t n, double *row_errors, double *zeros, mlcp_report &achieved)
    {
        mlcp_report_init(&achieved, sizeof achieved);
        achieved.rows = static_cast<std::int32_t>(n);
        clear(zeros, n);
        return (options_.friction == MLCP_FRICTION_MODE_COUPLED || check(mlcp_problem_set_frozen_normals(problem_, x, n)))
               && check(mlcp_problem_measure(problem_, MLCP_MEASURE_ENERGY, zeros, n, nullptr, 0, &achieved.energy_scale))
               && check(mlcp_problem_measure(problem_, MLCP_MEASURE_ENERGY, x, n, row_errors, n, &achieved.energy_error));
    }

    bool row_errors(double *out, std::size_t n) { return check(mlcp_solver_get_row_errors(solver_, out, n)); }

    void record(const double *x, std::size_t n, const mlcp_report &achieved) const
    {
        if (options_.recorder) {
            options_.recorder(problem_, x, n, achieved);
        }
    }

    /// Add a group's result to the report.
    void add(const mlcp_report &achieved)
    {
        const bool first = report.groups == 0, bad = achieved.outcome != MLCP_OUTCOME_CONVERGED;
        if (first || (bad && (report.outcome == MLCP_OUTCOME_CONVERGED || achieved.energy_error > unconverged_))) {
            report.outcome = achieved.outcome;
            unconverged_ = achieved.energy_error;
        }
        report.groups++;
        report.rows += achieved.rows;
        report.iterations += achieved.iterations;
        report.energy_error += achieved.energy_error;
        report.energy_scale += achieved.energy_scale;
    }

private:
    Options options_;
    mlcp_problem *problem_;
    mlcp_solver *solver_;
    double spent_, unconverged_;
    bool broken_;
    char error_[256];

    bool create()
    {
        return check(mlcp_problem_create(&problem_)) && check(mlcp_solver_create(nullptr, &solver_));
    }

    void destroy()
    {
        mlcp_solver_destroy(solver_);
        mlcp_problem_destroy(problem_);
        solver_ = nullptr;
        problem_ = nullptr;
    }

    static void clear(double *values, std::size_t n)
    {
        for (std::size_t i = 0; i < n; i++) {
            values[i] = 0.0;
        }
    }

    /// freeze: without friction, to find the normals that frozen friction is bounded by.
    bool solve_once(double *x, std::size_t n, mlcp_report &achieved, bool freeze)
    {
        if (options_.budget_ms > 0.0) { // what is left of the step's budget; 0 would mean no limit
            mlcp_settings settings = options_.settings;
            const double left = std::fmax(1e-3 * options_.budget_ms - spent_, 1e-6);
            settings.time_limit = settings.time_limit > 0.0 ? std::fmin(settings.time_limit, left) : left;
            if (!check(mlcp_solver_set_settings(solver_, &settings))) {
                return false;
            }
        }
        const int before = achieved.iterations;
        if (!check(freeze ? mlcp_solver_freeze_friction(solver_, problem_, x, n, x, n, &achieved)
                          : mlcp_solver_solve(solver_, problem_, x, n, x, n, &achieved))) {
            return false;
        }
        achieved.iterations += before;
        spent_ += achieved.seconds;
        return true;
    }
};

} // namespace detail
} // namespace bullet
} // namespace mlcp

#endif
