/*
 * mlcp_ode.hpp: ODE (Open Dynamics Engine 0.16, double precision) steps with libmlcp, and says the step's error in joules.
 * C++11, header only; needs mlcp.h and <ode/ode.h>. Link -lmlcp -lode.
 *
 *     mlcp::ode::Solver solver;                          // keeps its memory between steps
 *     mlcp::ode::world_step(world, 1.0 / 60, solver);    // in place of dWorldStep or dWorldQuickStep
 *     std::printf("%g J\n", solver.report().energy_error);
 *
 * world_step runs inside ODE's own stepper: all joint types, islands, threads, feedback, auto-disable, damping. It needs
 * symbols that ODE exports but does not document; available() tells whether they are there and do what they should.
 * Stepper at the end needs the documented interface only.
 *
 * diagnose(world, h) names the joints that are too many, and the joints they depend on.
 *
 * ODE computes forces; here are impulses and velocities (N s, m/s), x = h lambda, so that energies are joules:
 *
 *     w = (J M^-1 J^T + cfm/h) x + J (v + h M^-1 f) - c,   h lo <= x <= h hi,   friction |x_i| <= mu_i x_n
 *
 * This file is what a caller reads. Its inside is mlcp_ode_island.hpp and mlcp_ode_inside.hpp for Solver; mlcp_ode_rows.hpp,
 * mlcp_ode_joint.hpp and mlcp_ode_stepper.hpp for Stepper.
 *
 * Licence: MIT OR Apache-2.0, except where mlcp_ode_island.hpp, mlcp_ode_joint.hpp and mlcp_ode_rows.hpp say otherwise.
 */
#ifndef MLCP_ODE_HPP
#define MLCP_ODE_HPP

#include "mlcp.h"
#include "mlcp_joints.hpp"

#include <ode/ode.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define MLCP_ODE_TRY try
#define MLCP_ODE_CATCH catch (...)
#else
#define MLCP_ODE_TRY
#define MLCP_ODE_CATCH if (false)
#endif

namespace mlcp {
namespace ode {

static_assert(sizeof(dReal) == sizeof(double), "mlcp_ode.hpp needs a double precision ODE (dDOUBLE)");

/* ---- What the caller says and gets ---- */

/* The constraint behind a row. */
struct Constraint {
    dJointID joint; /* null for a contact of Stepper */
    dBodyID body1, body2; /* body2 is null for the world */
    int first_row, rows;
};

/* One island as it was solved or measured, for a recorder. Valid during the call. */
struct Record {
    const mlcp_problem *problem;
    const double *x; /* impulses, N s */
    std::size_t rows;
    const mlcp_report *report; /* null in measure_only */
    const Constraint *constraints;
    std::size_t constraint_count;
};
typedef void (*Recorder)(const Record &record, void *user_data);

/* A Recorder that appends every island's problem with its solution to a file; user_data is an mlcp_recorder. */
inline void record_to_file(const Record &record, void *recorder)
{
    (void)mlcp_recorder_append_problem(static_cast<mlcp_recorder *>(recorder), nullptr, record.problem, record.x, record.rows,
                                       record.report);
}

struct Options {
    mlcp_settings settings; /* solver, iteration and time budget of each island's solve, tolerances in joules: see mlcp.h */
    /* MLCP_FRICTION_MODE_COUPLED: |x_i| <= mu x_n at the solution. MLCP_FRICTION_MODE_FROZEN: as dWorldStep, at the normal
       impulses found without friction. */
    std::int32_t friction;
    bool measure_only; /* ODE solves, untouched; libmlcp only says how wrong the result is. Not for Stepper. */
    bool quick_step;   /* with measure_only: dWorldQuickStep solves, not dWorldStep */
    mlcp_callback callback; /* after every iteration; on ODE's threads, several at a time */
    void *callback_data;
    Recorder recorder; /* after every island; on ODE's threads, one at a time */
    void *recorder_data;

    Options()
        : friction(MLCP_FRICTION_MODE_COUPLED), measure_only(false), quick_step(false), callback(nullptr),
          callback_data(nullptr), recorder(nullptr), recorder_data(nullptr)
    {
        mlcp_settings_init(&settings, sizeof settings);
        settings.history_capacity = 0;
    }
};

/* The last step, all islands together. */
struct Report {
    double energy_error; /* J */
    double energy_scale; /* J, the error had no impulse acted */
    int outcome;         /* an mlcp_outcome: converged if every island did, else that of the worst; none in measure_only */
    int islands, rows, most_rows; /* islands with rows, their rows, the rows of the largest */
    int iterations;      /* of all islands */
    int failures;        /* islands that could not be solved or measured and went without impulses; error says why */
    double solve_seconds, adapter_seconds; /* solving or measuring; collecting rows and writing back; added over threads */
    double worst_error;  /* J, of the worst row */
    Constraint worst;    /* its constraint; body1 is null if every row is exact */
    int worst_row;       /* its number in the constraint, 0 first */
    char error[160];

    Report() { std::memset(this, 0, sizeof *this); }
};

/* Which joints of a world are too many: see mlcp_joints.hpp. An index counts the joints as ODE lists them, island by island. */
typedef JointDiagnosis<dJointID, dBodyID> Diagnosis;

} // namespace ode
} // namespace mlcp

#include "mlcp_ode_island.hpp"

namespace mlcp {
namespace ode {

/*
 * Solver settings, memory and the last report. One world at a time; ODE's threads share it safely. Once it has seen the
 * largest islands on every thread, stepping allocates nothing.
 */
class Solver {
public:
    explicit Solver(const Options &options = Options())
        : options_(options), version_(1), unconverged_(0.0), joints_diagnosed_(0)
    {
    }
    Solver(const Solver &) = delete;
    Solver &operator=(const Solver &) = delete;

    const Options &options() const { return options_; }
    /* From the next step on. */
    void set_options(const Options &options)
    {
        options_ = options;
        version_++;
    }

    /* The last step. Its joint and bodies live as long as ODE keeps them: a contact joint until its group is emptied. */
    const Report &report() const { return report_; }

    /* ---- For the steppers below ---- */

    void begin() { report_ = Report(); }
    detail::Measuring &measuring() { return measuring_; }

    detail::Workspace *take()
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (free_.empty()) {
            all_.push_back(std::unique_ptr<detail::Workspace>(new detail::Workspace));
            free_.reserve(all_.size());
            return all_.back().get();
        }
        detail::Workspace *const workspace = free_.back();
        free_.pop_back();
        return workspace;
    }

    void give_back(detail::Workspace *workspace)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        free_.push_back(workspace); /* take() made room */
    }

    /* Solve the island in a workspace and add it to the report. */
    void solve(detail::Workspace &workspace)
    {
        const detail::Clock::time_point start = detail::Clock::now();
        mlcp_report report;
        mlcp_status status = workspace.prepare(options_, version_);
        if (status == MLCP_STATUS_OK) {
            status = workspace.solve(options_, &report);
        } else {
            workspace.island.x.assign(workspace.island.rows(), 0.0);
        }
        std::int32_t row = -1;
        double error = 0.0;
        std::size_t count = 0;
        if (status == MLCP_STATUS_OK) {
            mlcp_solver_get_worst_rows(workspace.solver, &row, 1, &error, 1, &count);
        }
        add(workspace, status, &report, report.energy_error, report.energy_scale, count ? row : -1, error,
            detail::seconds_since(start));
    }

    /* Measure the impulses in a workspace and add them to the report. */
    void measure(detail::Workspace &workspace)
    {
        const detail::Clock::time_point start = detail::Clock::now();
        detail::Island &island = workspace.island;
        const std::size_t n = island.rows();
        double total = 0.0, scale = 0.0;
        mlcp_status status = workspace.prepare(options_, version_);
        if (status == MLCP_STATUS_OK) {
            status = workspace.fill(MLCP_FRICTION_MODE_COUPLED); /* with friction bounds at the engine's own normal impulses */
        }
        if (status == MLCP_STATUS_OK) {
            island.zeros.assign(n, 0.0);
            for (std::size_t i = 0; i < n; i++) {
                island.zeros[i] = std::min(std::max(0.0, island.lo[i]), island.hi[i]);
            }
            status = mlcp_problem_measure(workspace.problem, MLCP_MEASURE_ENERGY, island.zeros.data(), n, nullptr, 0, &scale);
        }
        island.row_errors.resize(n);
        if (status == MLCP_STATUS_OK) {
            status = mlcp_problem_measure(workspace.problem, MLCP_MEASURE_ENERGY, island.x.data(), n, island.row_errors.data(),
                                          n, &total);
        }
        std::int32_t row = -1;
        if (status == MLCP_STATUS_OK && total > 0.0) {
            row = static_cast<std::int32_t>(std::max_element(island.row_errors.begin(), island.row_errors.end()) -
                                            island.row_errors.begin());
        }
        add(workspace, status, nullptr, total, scale, row, row < 0 ? 0.0 : island.row_errors[row],
            detail::seconds_since(start));
    }

    /* Diagnose the island in a workspace; its joints are numbered after those before. */
    void diagnose(detail::Workspace &workspace, Diagnosis &out)
    {
        const detail::Island &island = workspace.island;
        const int before = joints_diagnosed_;
        joints_diagnosed_ += static_cast<int>(island.constraints.size());
        if (workspace.prepare(options_, version_) != MLCP_STATUS_OK || workspace.fill(options_.friction) != MLCP_STATUS_OK) {
            out.error = mlcp_last_error();
            return;
        }
        mlcp::detail::add_diagnosis(workspace.problem, island.rows(), out, [&island, before](std::size_t i) {
            const Constraint &c = island.constraint_of(i);
            const JointRow<dJointID, dBodyID> row = {c.joint, before + static_cast<int>(&c - island.constraints.data()),
                                                     static_cast<int>(i) - c.first_row, c.body1, c.body2};
            return row;
        });
    }

    /* Those that were read to be measured. */
    void diagnose_islands(Diagnosis &out)
    {
        for (std::size_t i = 0; i < measuring_.islands.size(); i++) {
            if (measuring_.islands[i]->island.rows() > 0) {
                diagnose(*measuring_.islands[i], out);
            }
            give_back(measuring_.islands[i]);
        }
        measuring_.islands.clear();
    }

    void add_adapter_seconds(double seconds)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        report_.adapter_seconds += seconds;
    }

    void fail(const char *sentence)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        report_.failures++;
        std::snprintf(report_.error, sizeof report_.error, "%s", sentence);
    }

private:
    void add(const detail::Workspace &workspace, mlcp_status status, const mlcp_report *report, double error, double scale,
             std::int32_t worst_row, double worst_error, double seconds)
    {
        const detail::Island &island = workspace.island;
        const int n = static_cast<int>(island.rows());
        if (status != MLCP_STATUS_OK) {
            fail(mlcp_last_error());
        }
        std::lock_guard<std::mutex> lock(mutex_);
        Report &r = report_;
        r.islands++;
        r.rows += n;
        r.most_rows = std::max(r.most_rows, n);
        r.solve_seconds += seconds;
        if (status != MLCP_STATUS_OK) {
            return;
        }
        if (report) {
            r.iterations += report->iterations;
            /* The outcome of the worst island that did not converge. */
            if (report->outcome != MLCP_OUTCOME_CONVERGED && (r.outcome <= MLCP_OUTCOME_CONVERGED || error > unconverged_)) {
                r.outcome = report->outcome;
                unconverged_ = error;
            } else if (r.outcome == MLCP_OUTCOME_NONE) {
                r.outcome = MLCP_OUTCOME_CONVERGED;
            }
        }
        r.energy_error += error;
        r.energy_scale += scale;
        if (worst_row >= 0 && worst_error > r.worst_error) {
            r.worst_error = worst_error;
            r.worst = island.constraint_of(worst_row);
            r.worst_row = worst_row - r.worst.first_row;
        }
        if (options_.recorder) {
            const Record record = {workspace.problem,         island.x.data(),          island.rows(), report,
                                   island.constraints.data(), island.constraints.size()};
            options_.recorder(record, options_.recorder_data);
        }
    }

    Options options_;
    unsigned version_;
    Report report_;
    double unconverged_; /* error of the island whose outcome the report has */
    int joints_diagnosed_;
    detail::Measuring measuring_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<detail::Workspace>> all_;
    std::vector<detail::Workspace *> free_;
};

} // namespace ode
} // namespace mlcp

#include "mlcp_ode_inside.hpp"

namespace mlcp {
namespace ode {

/*
 * Can world_step work with the ODE that is running? Version, symbols, and once per process a step compared with dWorldStep.
 * Call it after dInitODE.
 */
inline bool available()
{
#ifdef MLCP_ODE_STEPPER
    static const bool answer = detail::stepper_version() != 0 && detail::self_test();
    return answer;
#else
    return false;
#endif
}

/*
 * One step of h seconds, in place of dWorldStep. Returns 1, or 0 as dWorldStep does if memory ran out, or if available()
 * says no: then nothing has moved, and Stepper below is the way. What was achieved is in solver.report().
 */
inline int world_step(dWorldID world, dReal h, Solver &solver)
{
    solver.begin();
#ifdef MLCP_ODE_STEPPER
    if (available()) {
        const bool measure = solver.options().measure_only;
        const bool quick = solver.options().quick_step;
        if (measure && (quick ? &dxQuickStepIsland : &dxStepIsland) == nullptr) {
            solver.fail("measure_only: this ODE hides its steppers");
            return 0;
        }
        detail::Call call(world, &solver);
        detail::enter(call);
        const bool stepped = detail::run(call, h);
        detail::leave(call);
        detail::measure_islands(solver, h);
        return stepped ? 1 : 0;
    }
#endif
    (void)world;
    (void)h;
    solver.fail("this ODE hides its stepper or does not behave like 0.16: use mlcp::ode::Stepper");
    return 0;
}

/*
 * Diagnose the joints of a world as a step of h seconds would see them; nothing moves. Islands asleep are not looked at, and
 * to ODE's auto-disabling it counts as a step. Where available() says no, error says so: use Stepper::diagnose. Allocates:
 * once after building a scene, not in every step.
 */
inline Diagnosis diagnose(dWorldID world, dReal h)
{
    Diagnosis found;
#ifdef MLCP_ODE_STEPPER
    if (available()) {
        Solver solver;
        detail::Call call(world, &solver);
        call.read_only = true;
        detail::enter(call);
        const bool read = detail::run(call, h);
        detail::leave(call);
        solver.diagnose_islands(found);
        if (!read) {
            found.error = "ODE has no memory for its islands";
        }
        return found;
    }
#endif
    (void)world;
    (void)h;
    found.error = "this ODE hides its stepper or does not behave like 0.16: use mlcp::ode::Stepper";
    return found;
}

} // namespace ode
} // namespace mlcp

#include "mlcp_ode_stepper.hpp"

#endif
