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
 * ODE computes forces; here are impulses and velocities (N s, m/s), x = h lambda, so that energies are joules:
 *
 *     w = (J M^-1 J^T + cfm/h) x + J (v + h M^-1 f) - c,   h lo <= x <= h hi,   friction |x_i| <= mu_i x_n
 *
 * Licence: MIT OR Apache-2.0; the implicit gyroscopic torque and mlcp_ode_stepper.hpp restate ODE's formulas, under ODE's
 * BSD licence, whose notice is in mlcp_ode_stepper.hpp.
 */
#ifndef MLCP_ODE_HPP
#define MLCP_ODE_HPP

#include "mlcp.h"

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

/* The undocumented stepper: ELF systems with a compiler that knows weak symbols. */
#if defined(__ELF__) && defined(__GNUC__) && !defined(MLCP_ODE_PUBLIC_ONLY)
#define MLCP_ODE_STEPPER 1
struct dxWorldProcessIslandsInfo;
struct dxStepperProcessingCallContext;
typedef void mlcp_ode_stepper_fn(const dxStepperProcessingCallContext *);
typedef std::size_t mlcp_ode_memory_fn(dxBody *const *, unsigned, dxJoint *const *, unsigned);
typedef unsigned mlcp_ode_calls2_fn(unsigned, unsigned);           /* 0.16.0 to 0.16.2 */
typedef unsigned mlcp_ode_calls3_fn(unsigned, unsigned, unsigned); /* 0.16.3 and later */
__attribute__((weak)) bool dxReallocateWorldProcessContext(dxWorld *, dxWorldProcessIslandsInfo &, dReal, mlcp_ode_memory_fn *);
__attribute__((weak)) bool dxProcessIslands(dxWorld *, const dxWorldProcessIslandsInfo &, dReal, mlcp_ode_stepper_fn *,
                                            mlcp_ode_calls2_fn *);
__attribute__((weak)) bool dxProcessIslands(dxWorld *, const dxWorldProcessIslandsInfo &, dReal, mlcp_ode_stepper_fn *,
                                            mlcp_ode_calls3_fn *);
__attribute__((weak)) void dxStepBody(dxBody *, dReal);
__attribute__((weak)) void dxStepIsland(const dxStepperProcessingCallContext *);
__attribute__((weak)) void dxQuickStepIsland(const dxStepperProcessingCallContext *);
__attribute__((weak)) std::size_t dxEstimateStepMemoryRequirements(dxBody *const *, unsigned, dxJoint *const *, unsigned);
__attribute__((weak)) std::size_t dxEstimateQuickStepMemoryRequirements(dxBody *const *, unsigned, dxJoint *const *, unsigned);
__attribute__((weak)) unsigned dxEstimateStepMaxCallCount(unsigned, unsigned);
__attribute__((weak)) unsigned dxEstimateStepMaxCallCount(unsigned, unsigned, unsigned);
__attribute__((weak)) unsigned dxEstimateQuickStepMaxCallCount(unsigned, unsigned);
__attribute__((weak)) unsigned dxEstimateQuickStepMaxCallCount(unsigned, unsigned, unsigned);
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

/* ---- One island's problem ---- */

namespace detail {

typedef std::chrono::steady_clock Clock;

inline double seconds_since(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/* R A R^T, symmetrised; ODE's 3 by 3 matrices have rows of 4, ours of 3. */
inline void rotate_tensor(const dReal *r, const double a[9], double out[9])
{
    double ra[9];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            ra[3 * i + j] = r[4 * i] * a[j] + r[4 * i + 1] * a[3 + j] + r[4 * i + 2] * a[6 + j];
        }
    }
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j <= i; j++) {
            out[3 * i + j] = out[3 * j + i] =
                ra[3 * i] * r[4 * j] + ra[3 * i + 1] * r[4 * j + 1] + ra[3 * i + 2] * r[4 * j + 2];
        }
    }
}

/* false if singular. */
inline bool invert(const double m[9], double out[9])
{
    const double c0 = m[4] * m[8] - m[5] * m[7], c1 = m[5] * m[6] - m[3] * m[8], c2 = m[3] * m[7] - m[4] * m[6];
    const double det = m[0] * c0 + m[1] * c1 + m[2] * c2, s = 1.0 / det;
    if (!(det != 0.0) || !std::isfinite(s)) {
        return false;
    }
    out[0] = c0 * s;
    out[3] = c1 * s;
    out[6] = c2 * s;
    out[1] = (m[2] * m[7] - m[1] * m[8]) * s;
    out[4] = (m[0] * m[8] - m[2] * m[6]) * s;
    out[7] = (m[1] * m[6] - m[0] * m[7]) * s;
    out[2] = (m[1] * m[5] - m[2] * m[4]) * s;
    out[5] = (m[2] * m[3] - m[0] * m[5]) * s;
    out[8] = (m[0] * m[4] - m[1] * m[3]) * s;
    return true;
}

inline void multiply(const double m[9], const double *v, double out[3])
{
    for (int i = 0; i < 3; i++) {
        out[i] = m[3 * i] * v[0] + m[3 * i + 1] * v[1] + m[3 * i + 2] * v[2];
    }
}

/*
 * ODE's implicit gyroscopic torque (Lacoursiere 2006): with L = I w and K = I - h [L]x it is tau = (I K^-1 - 1) L / h.
 */
inline void add_gyroscopic_torque(const double inertia[9], const dReal *spin, double h, double torque[3])
{
    double l[3], k[9], inverse[9], y[3], iy[3];
    multiply(inertia, spin, l);
    std::copy(inertia, inertia + 9, k);
    k[1] += h * l[2];
    k[2] -= h * l[1];
    k[3] -= h * l[2];
    k[5] += h * l[0];
    k[6] += h * l[1];
    k[7] -= h * l[0];
    if (invert(k, inverse)) {
        multiply(inverse, l, y);
        multiply(inertia, y, iy);
        for (int i = 0; i < 3; i++) {
            torque[i] += (iy[i] - l[i]) / h;
        }
    }
}

/* The rows of an island, in the order in which ODE lists its joints. All arrays keep their memory. */
struct Island {
    std::vector<dBodyID> bodies;
    std::vector<Constraint> constraints;
    std::vector<double> inverse_mass; /* 12 per body */
    std::vector<double> motion;       /* 6 per body: v + h M^-1 f, the motion without constraints */
    std::vector<double> change;       /* 6 per body: M^-1 J^T x */
    std::vector<double> saved_force;  /* 6 per body */
    std::vector<double> jacobian;     /* 12 per row */
    std::vector<double> rhs_cfm, lo_hi; /* 2 per row, as ODE writes them */
    std::vector<double> compliance, b, lo, hi, mu, x, zeros, row_errors;
    std::vector<std::int32_t> row_bodies, findex;
    bool friction;

    Island() : friction(false) {}

    std::size_t rows() const { return findex.size(); }

    void clear()
    {
        bodies.clear();
        constraints.clear();
        jacobian.clear();
        rhs_cfm.clear();
        lo_hi.clear();
        row_bodies.clear();
        findex.clear();
        friction = false;
    }

    /* Room for m rows of a constraint, preset as ODE's getInfo2 wants it; returns the first row. */
    std::size_t add_rows(const Constraint &constraint, int m, std::int32_t body1, std::int32_t body2, double cfm)
    {
        const std::size_t first = rows();
        constraints.push_back(constraint);
        constraints.back().first_row = static_cast<int>(first);
        constraints.back().rows = m;
        const std::size_t end = first + static_cast<std::size_t>(m);
        jacobian.resize(12 * end, 0.0);
        findex.resize(end, -1);
        rhs_cfm.resize(2 * end, 0.0);
        lo_hi.resize(2 * end, dInfinity);
        row_bodies.resize(2 * end, body2);
        for (std::size_t i = first; i < end; i++) {
            rhs_cfm[2 * i + 1] = cfm;
            lo_hi[2 * i] = -dInfinity;
            row_bodies[2 * i] = body1;
        }
        return first;
    }

    /* Masses and motion of all bodies: to be called when the rows are there, because motors at their stops add forces. */
    void read_bodies(dWorldID world, double h)
    {
        dVector3 gravity;
        dWorldGetGravity(world, gravity);
        inverse_mass.assign(12 * bodies.size(), 0.0);
        motion.resize(6 * bodies.size());
        change.resize(6 * bodies.size());
        for (std::size_t i = 0; i < bodies.size(); i++) {
            const dBodyID body = bodies[i];
            double *const inverse = &inverse_mass[12 * i], *const u = &motion[6 * i];
            const dReal *const v = dBodyGetLinearVel(body), *const spin = dBodyGetAngularVel(body);
            for (int k = 0; k < 3; k++) {
                u[k] = v[k];
                u[3 + k] = spin[k];
            }
            if (dBodyIsKinematic(body)) {
                continue;
            }
            dMass mass;
            dBodyGetMass(body, &mass);
            const dReal *const r = dBodyGetRotation(body), *const force = dBodyGetForce(body), *const t = dBodyGetTorque(body);
            const double own[9] = {mass.I[0], mass.I[1], mass.I[2], mass.I[4], mass.I[5], mass.I[6],
                                   mass.I[8], mass.I[9], mass.I[10]};
            double own_inverse[9], torque[3] = {t[0], t[1], t[2]}, spin_up[3];
            if (invert(own, own_inverse)) {
                rotate_tensor(r, own_inverse, inverse + 3);
            }
            if (dBodyGetGyroscopicMode(body)) {
                double inertia[9];
                rotate_tensor(r, own, inertia);
                add_gyroscopic_torque(inertia, spin, h, torque);
            }
            multiply(inverse + 3, torque, spin_up);
            const double per_kg = 1.0 / mass.mass, weight = dBodyGetGravityMode(body) ? mass.mass : 0.0;
            for (int k = 0; k < 3; k++) {
                inverse[k] = per_kg;
                u[k] += h * per_kg * (force[k] + weight * gravity[k]);
                u[3 + k] += h * spin_up[k];
            }
        }
    }

    /* From ODE's c, cfm, lo, hi, findex (within the constraint) to b, compliance and bounds of impulses. */
    void finish_rows(double h)
    {
        const std::size_t n = rows();
        compliance.resize(n);
        b.resize(n);
        lo.resize(n);
        hi.resize(n);
        mu.resize(n);
        x.assign(n, 0.0);
        for (std::size_t c = 0; c < constraints.size(); c++) {
            const std::size_t first = constraints[c].first_row;
            for (std::size_t i = first; i < first + constraints[c].rows; i++) {
                compliance[i] = rhs_cfm[2 * i + 1] / h;
                double velocity = -rhs_cfm[2 * i];
                for (int side = 0; side < 2; side++) {
                    const std::int32_t body = row_bodies[2 * i + side];
                    if (body >= 0) {
                        const double *const row = &jacobian[12 * i + 6 * side], *const u = &motion[6 * body];
                        velocity += row[0] * u[0] + row[1] * u[1] + row[2] * u[2] + row[3] * u[3] + row[4] * u[4] + row[5] * u[5];
                    }
                }
                b[i] = velocity;
                if (findex[i] < 0) {
                    lo[i] = lo_hi[2 * i] * h;
                    hi[i] = lo_hi[2 * i + 1] * h;
                    mu[i] = 0.0;
                } else {
                    findex[i] += static_cast<std::int32_t>(first);
                    lo[i] = -HUGE_VAL;
                    hi[i] = HUGE_VAL;
                    mu[i] = std::fabs(lo_hi[2 * i + 1]);
                    friction = true;
                }
            }
        }
    }

    const Constraint &constraint_of(std::size_t row) const
    {
        std::size_t low = 0, high = constraints.size();
        while (high - low > 1) {
            const std::size_t middle = (low + high) / 2;
            (static_cast<std::size_t>(constraints[middle].first_row) <= row ? low : high) = middle;
        }
        return constraints[low];
    }

    /* Force and torque of a constraint on its bodies, N and N m. */
    void feedback(const Constraint &c, double h, dJointFeedback &out) const
    {
        double sum[12] = {0};
        for (int i = c.first_row; i < c.first_row + c.rows; i++) {
            for (int k = 0; k < 12; k++) {
                sum[k] += jacobian[12 * i + k] * (x[i] / h);
            }
        }
        for (int k = 0; k < 3; k++) {
            out.f1[k] = sum[k];
            out.t1[k] = sum[3 + k];
            if (c.body2) {
                out.f2[k] = sum[6 + k];
                out.t2[k] = sum[9 + k];
            }
        }
    }

    /* Impulses of a constraint from ODE's feedback: J^T x = h f. Its rows are independent, but for rows of zeros. */
    void impulses_from(const Constraint &c, double h, const dJointFeedback &feedback_)
    {
        double f[12] = {0}, l[6][6], y[6];
        for (int k = 0; k < 3; k++) {
            f[k] = feedback_.f1[k] * h;
            f[3 + k] = feedback_.t1[k] * h;
            f[6 + k] = c.body2 ? feedback_.f2[k] * h : 0.0;
            f[9 + k] = c.body2 ? feedback_.t2[k] * h : 0.0;
        }
        const int width = c.body2 ? 12 : 6;
        const double *const j = &jacobian[12 * c.first_row];
        /* Cholesky of J J^T; a second pass on the remainder takes back what squaring lost. */
        for (int i = 0; i < c.rows; i++) {
            for (int k = 0; k <= i; k++) {
                double sum = 0.0;
                for (int d = 0; d < width; d++) {
                    sum += j[12 * i + d] * j[12 * k + d];
                }
                const double whole = sum;
                for (int d = 0; d < k; d++) {
                    sum -= l[i][d] * l[k][d];
                }
                if (i == k) {
                    l[i][i] = sum > 1e-12 * whole ? std::sqrt(sum) : 0.0;
                } else {
                    l[i][k] = l[k][k] > 0.0 ? sum / l[k][k] : 0.0;
                }
            }
        }
        for (int pass = 0; pass < 2; pass++) {
            for (int i = 0; i < c.rows; i++) {
                double sum = 0.0;
                for (int d = 0; d < width; d++) {
                    sum += j[12 * i + d] * f[d];
                }
                for (int d = 0; d < i; d++) {
                    sum -= l[i][d] * y[d];
                }
                y[i] = l[i][i] > 0.0 ? sum / l[i][i] : 0.0;
            }
            for (int i = c.rows; i-- > 0;) {
                for (int d = i + 1; d < c.rows; d++) {
                    y[i] -= l[d][i] * y[d];
                }
                y[i] = l[i][i] > 0.0 ? y[i] / l[i][i] : 0.0;
                x[c.first_row + i] += y[i];
                for (int d = 0; d < width; d++) {
                    f[d] -= j[12 * i + d] * y[i];
                }
            }
        }
    }

    mlcp_status fill(mlcp_problem *problem, std::int32_t friction_mode) const
    {
        const std::size_t n = rows();
        mlcp_status status =
            mlcp_problem_set_jacobian(problem, inverse_mass.data(), inverse_mass.size(), jacobian.data(), jacobian.size(),
                                      row_bodies.data(), row_bodies.size(), compliance.data(), n);
        if (status == MLCP_STATUS_OK) {
            status = mlcp_problem_set_b(problem, b.data(), n);
        }
        if (status == MLCP_STATUS_OK) {
            status = mlcp_problem_set_bounds(problem, lo.data(), n, hi.data(), n);
        }
        if (status == MLCP_STATUS_OK && friction) {
            status = mlcp_problem_set_friction(problem, findex.data(), n, mu.data(), n, friction_mode);
        }
        return status;
    }

    /*
     * A row that no body feels (a wheel in its backlash, say) has a diagonal of 0 and no energy. Whatever its impulse,
     * nothing changes: hold it at 0. Returns true if there was one.
     */
    bool hold_empty_rows(const mlcp_problem *problem)
    {
        bool found = false;
        row_errors.resize(rows());
        if (mlcp_problem_get_diagonal(problem, row_errors.data(), rows()) == MLCP_STATUS_OK) {
            for (std::size_t i = 0; i < rows(); i++) {
                if (!(row_errors[i] > 0.0)) {
                    compliance[i] = 1.0;
                    b[i] = lo[i] = hi[i] = mu[i] = 0.0;
                    findex[i] = -1;
                    found = true;
                }
            }
        }
        return found;
    }
};

/* What one thread needs to solve an island. */
struct Workspace {
    Island island;
    mlcp_problem *problem;
    mlcp_solver *solver;
    unsigned options_version;

    Workspace() : problem(nullptr), solver(nullptr), options_version(0) {}
    ~Workspace()
    {
        mlcp_solver_destroy(solver);
        mlcp_problem_destroy(problem);
    }
    Workspace(const Workspace &) = delete;
    Workspace &operator=(const Workspace &) = delete;

    mlcp_status prepare(const Options &options, unsigned version)
    {
        mlcp_status status = MLCP_STATUS_OK;
        if (!problem) {
            status = mlcp_problem_create(&problem);
        }
        if (status == MLCP_STATUS_OK && !solver) {
            status = mlcp_solver_create(&options.settings, &solver);
        }
        if (status == MLCP_STATUS_OK && options_version != version) {
            status = mlcp_solver_set_settings(solver, &options.settings);
            if (status == MLCP_STATUS_OK) {
                status = mlcp_solver_set_callback(solver, options.callback, options.callback_data);
            }
            if (status == MLCP_STATUS_OK) {
                options_version = version;
            }
        }
        return status;
    }

    /* Fills the problem; rows without energy are held. */
    mlcp_status fill(std::int32_t friction_mode)
    {
        mlcp_status status = island.fill(problem, friction_mode);
        if (status == MLCP_STATUS_OK && island.hold_empty_rows(problem)) {
            status = island.fill(problem, friction_mode);
        }
        return status;
    }

    mlcp_status solve_once(mlcp_report *report)
    {
        const std::size_t n = island.rows();
        return mlcp_solver_solve(solver, problem, island.x.data(), n, island.x.data(), n, report);
    }

    /* Impulses into island.x; on failure they are left at 0. */
    mlcp_status solve(const Options &options, mlcp_report *report)
    {
        mlcp_status status = mlcp_report_init(report, sizeof *report);
        if (status == MLCP_STATUS_OK) {
            status = fill(options.friction);
        }
        if (status == MLCP_STATUS_OK && island.friction && options.friction == MLCP_FRICTION_MODE_FROZEN) {
            /* dWorldStep's rule: the normal impulses without friction bound the friction of the second solve. */
            const std::size_t n = island.rows();
            status = mlcp_solver_freeze_friction(solver, problem, island.x.data(), n, island.x.data(), n, report);
            const int iterations = report->iterations;
            const double seconds = report->seconds;
            if (status == MLCP_STATUS_OK) {
                status = solve_once(report);
            }
            report->iterations += iterations;
            report->seconds += seconds;
        } else if (status == MLCP_STATUS_OK) {
            status = solve_once(report);
        }
        if (status != MLCP_STATUS_OK) {
            island.x.assign(island.rows(), 0.0);
        }
        return status;
    }
};

/* What measuring ODE's own solver takes. */
struct Measuring {
    std::vector<Workspace *> islands;                        /* to be measured when ODE is done */
    std::vector<std::unique_ptr<dJointFeedback[]>> feedback; /* lent to joints that have none, in blocks */
    std::vector<dJointID> borrowers;
};

} // namespace detail

/*
 * Solver settings, memory and the last report. One world at a time; ODE's threads share it safely. Once it has seen the
 * largest islands on every thread, stepping allocates nothing.
 */
class Solver {
public:
    explicit Solver(const Options &options = Options()) : options_(options), version_(1), unconverged_(0.0) {}
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
    detail::Measuring measuring_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<detail::Workspace>> all_;
    std::vector<detail::Workspace *> free_;
};

/* ---- Inside ODE's own stepper ---- */

#ifdef MLCP_ODE_STEPPER
namespace detail {

/* ODE's internal layouts, the same in 0.16.0 to 0.16.6. Only ever pointed at. */
struct Object {
    virtual ~Object();
    dxWorld *world;
    Object *next, **tome;
    int tag;
    void *userdata;
};

struct Joint : Object {
    struct Info1 {
        std::uint8_t m, nub;
    };
    struct Node {
        dxJoint *joint;
        dxBody *body;
        Node *next;
    };
    unsigned flags;
    Node node[2];
    dJointFeedback *feedback;
    dReal lambda[6];

    virtual void getInfo1(Info1 *) = 0;
    virtual void getInfo2(dReal fps, dReal erp, int row_skip, dReal *j1, dReal *j2, int pair_skip, dReal *rhs_cfm,
                          dReal *lo_hi, int *findex) = 0;
};

struct IslandsInfo {
    std::size_t count;
    const unsigned *sizes;
    dxBody *const *bodies;
    dxJoint *const *joints;
};

struct Context {
    dxWorld *world;
    dReal h;
    void *arena, *final_releasee;
    dxBody *const *bodies;
    dxJoint *const *joints;
    unsigned body_count, joint_count, allowed_threads;
};

inline Joint *joint_layout(dJointID joint)
{
    return reinterpret_cast<Joint *>(joint);
}

/* A step under way. ODE hands its stepper the world only, so the calls are found by it. */
struct Call {
    dWorldID world;
    Solver *solver;
    bool quick;
    std::mutex mutex;
    Call *next;

    Call(dWorldID world_, Solver *solver_) : world(world_), solver(solver_), quick(false), next(nullptr) {}
};

struct Calls {
    std::mutex mutex;
    Call *first;
    Calls() : first(nullptr) {}
};

inline Calls &calls()
{
    static Calls all;
    return all;
}

inline void enter(Call &call)
{
    std::lock_guard<std::mutex> lock(calls().mutex);
    call.next = calls().first;
    calls().first = &call;
}

inline void leave(Call &call)
{
    std::lock_guard<std::mutex> lock(calls().mutex);
    Call **link = &calls().first;
    while (*link != &call) {
        link = &(*link)->next;
    }
    *link = call.next;
}

inline Call *find_call(const dxWorld *world)
{
    std::lock_guard<std::mutex> lock(calls().mutex);
    Call *call = calls().first;
    while (call && call->world != world) {
        call = call->next;
    }
    return call;
}

/* All rows and bodies of an ODE island. keep_forces: forget the torques that motors at their stops add meanwhile. */
inline void read_island(Island &island, const Context &context, bool keep_forces)
{
    const dWorldID world = context.world;
    const double h = context.h, cfm = dWorldGetCFM(world), erp = dWorldGetERP(world);
    island.clear();
    island.bodies.assign(context.bodies, context.bodies + context.body_count);
    if (keep_forces) {
        island.saved_force.resize(6 * island.bodies.size());
    }
    for (std::size_t i = 0; i < island.bodies.size(); i++) {
        reinterpret_cast<Object *>(island.bodies[i])->tag = static_cast<int>(i);
        if (keep_forces) {
            std::copy(dBodyGetForce(island.bodies[i]), dBodyGetForce(island.bodies[i]) + 3, &island.saved_force[6 * i]);
            std::copy(dBodyGetTorque(island.bodies[i]), dBodyGetTorque(island.bodies[i]) + 3, &island.saved_force[6 * i + 3]);
        }
    }
    for (unsigned k = 0; k < context.joint_count; k++) {
        Joint *const joint = joint_layout(context.joints[k]);
        Joint::Info1 info = {0, 0};
        joint->getInfo1(&info);
        if (info.m == 0) {
            continue;
        }
        const Constraint constraint = {context.joints[k], joint->node[0].body, joint->node[1].body, 0, 0};
        const std::int32_t body1 = reinterpret_cast<Object *>(constraint.body1)->tag;
        const std::int32_t body2 = constraint.body2 ? reinterpret_cast<Object *>(constraint.body2)->tag : -1;
        const std::size_t first = island.add_rows(constraint, info.m, body1, body2, cfm);
        double *const row = &island.jacobian[12 * first];
        joint->getInfo2(1.0 / h, erp, 12, row, row + 6, 2, &island.rhs_cfm[2 * first], &island.lo_hi[2 * first],
                        &island.findex[first]);
    }
    island.read_bodies(world, h);
    island.finish_rows(h);
    for (std::size_t i = 0; keep_forces && i < island.bodies.size(); i++) {
        const double *const f = &island.saved_force[6 * i];
        dBodySetForce(island.bodies[i], f[0], f[1], f[2]);
        dBodySetTorque(island.bodies[i], f[3], f[4], f[5]);
    }
}

/* New velocities, positions and feedback from the impulses. */
inline void write_island(Workspace &workspace, const Context &context)
{
    Island &island = workspace.island;
    const bool moved = island.rows() > 0 && workspace.problem &&
                       mlcp_problem_get_velocity_change(workspace.problem, island.x.data(), island.rows(),
                                                        island.change.data(), island.change.size()) == MLCP_STATUS_OK;
    if (!moved) {
        std::fill(island.change.begin(), island.change.end(), 0.0);
    }
    for (std::size_t c = 0; c < island.constraints.size(); c++) {
        dJointFeedback *const feedback = joint_layout(island.constraints[c].joint)->feedback;
        if (feedback) {
            island.feedback(island.constraints[c], context.h, *feedback);
        }
    }
    for (std::size_t i = 0; i < island.bodies.size(); i++) {
        const dBodyID body = island.bodies[i];
        const double *const u = &island.motion[6 * i], *const d = &island.change[6 * i];
        dBodySetLinearVel(body, u[0] + d[0], u[1] + d[1], u[2] + d[2]);
        dBodySetAngularVel(body, u[3] + d[3], u[4] + d[4], u[5] + d[5]);
        dxStepBody(body, context.h);
        dBodySetForce(body, 0, 0, 0);
        dBodySetTorque(body, 0, 0, 0);
    }
}

/* ODE's stepper for one island, on whatever thread ODE chose. Nothing may be thrown through ODE. */
inline void step_island(const dxStepperProcessingCallContext *raw)
{
    const Context &context = *reinterpret_cast<const Context *>(raw);
    Call *const call = find_call(context.world);
    MLCP_ODE_TRY
    {
        const Clock::time_point start = Clock::now();
        Workspace *const workspace = call->solver->take();
        read_island(workspace->island, context, false);
        const double before = seconds_since(start);
        if (workspace->island.rows() > 0) {
            call->solver->solve(*workspace);
        }
        const Clock::time_point after = Clock::now();
        write_island(*workspace, context);
        call->solver->give_back(workspace);
        call->solver->add_adapter_seconds(before + seconds_since(after));
    }
    MLCP_ODE_CATCH { call->solver->fail("out of memory: an island was not stepped"); }
}

/* Read the island, then let ODE solve and step it. */
inline void measure_island(const dxStepperProcessingCallContext *raw)
{
    const Context &context = *reinterpret_cast<const Context *>(raw);
    Call *const call = find_call(context.world);
    MLCP_ODE_TRY
    {
        const Clock::time_point start = Clock::now();
        Workspace *const workspace = call->solver->take();
        read_island(workspace->island, context, true);
        {
            std::lock_guard<std::mutex> lock(call->mutex);
            call->solver->measuring().islands.push_back(workspace);
        }
        call->solver->add_adapter_seconds(seconds_since(start));
    }
    MLCP_ODE_CATCH { call->solver->fail("out of memory: an island was not measured"); }
    (call->quick ? &dxQuickStepIsland : &dxStepIsland)(raw);
}

inline std::size_t own_memory(dxBody *const *, unsigned, dxJoint *const *, unsigned)
{
    return 256;
}

/* What ODE's solver needs, having lent every joint a feedback to write its forces to. */
inline std::size_t engine_memory(dxBody *const *bodies, unsigned body_count, dxJoint *const *joints, unsigned joint_count)
{
    enum { BLOCK = 256 };
    bool quick = false;
    if (body_count > 0) {
        Call *const call = find_call(reinterpret_cast<const Object *>(bodies[0])->world);
        Measuring &all = call->solver->measuring();
        quick = call->quick;
        MLCP_ODE_TRY
        {
            for (unsigned k = 0; k < joint_count; k++) {
                Joint *const joint = joint_layout(joints[k]);
                if (!joint->feedback) {
                    const std::size_t lent = all.borrowers.size();
                    if (lent == BLOCK * all.feedback.size()) {
                        all.feedback.push_back(std::unique_ptr<dJointFeedback[]>(new dJointFeedback[BLOCK]()));
                    }
                    all.borrowers.push_back(joints[k]);
                    joint->feedback = &all.feedback[lent / BLOCK][lent % BLOCK];
                }
            }
        }
        MLCP_ODE_CATCH { call->solver->fail("out of memory: some joints are not measured"); }
    }
    return (quick ? &dxEstimateQuickStepMemoryRequirements : &dxEstimateStepMemoryRequirements)(bodies, body_count, joints,
                                                                                               joint_count);
}

inline unsigned one_call(unsigned, unsigned)
{
    return 1;
}
inline unsigned one_call3(unsigned, unsigned, unsigned)
{
    return 1;
}

/* Which of the two signatures this ODE has: 0 for none. */
inline int stepper_version()
{
    typedef bool Process2(dxWorld *, const dxWorldProcessIslandsInfo &, dReal, mlcp_ode_stepper_fn *, mlcp_ode_calls2_fn *);
    typedef bool Process3(dxWorld *, const dxWorldProcessIslandsInfo &, dReal, mlcp_ode_stepper_fn *, mlcp_ode_calls3_fn *);
    if (std::strncmp(dODE_VERSION, "0.16.", 5) != 0 || &dxReallocateWorldProcessContext == nullptr || &dxStepBody == nullptr) {
        return 0;
    }
    if (static_cast<Process2 *>(&dxProcessIslands) != nullptr) {
        return 2;
    }
    return static_cast<Process3 *>(&dxProcessIslands) != nullptr ? 3 : 0;
}

inline bool process_islands(Call &call, const IslandsInfo &info, dReal h)
{
    const dxWorldProcessIslandsInfo &islands = reinterpret_cast<const dxWorldProcessIslandsInfo &>(info);
    const bool measure = call.solver->options().measure_only;
    mlcp_ode_stepper_fn *const stepper = measure ? &measure_island : &step_island;
    if (stepper_version() == 2) {
        mlcp_ode_calls2_fn *const step = &dxEstimateStepMaxCallCount, *const quick = &dxEstimateQuickStepMaxCallCount;
        return dxProcessIslands(call.world, islands, h, stepper, !measure ? &one_call : call.quick ? quick : step);
    }
    mlcp_ode_calls3_fn *const step = &dxEstimateStepMaxCallCount, *const quick = &dxEstimateQuickStepMaxCallCount;
    return dxProcessIslands(call.world, islands, h, stepper, !measure ? &one_call3 : call.quick ? quick : step);
}

inline bool run(Call &call, dReal h)
{
    IslandsInfo info = {0, nullptr, nullptr, nullptr};
    const bool measure = call.solver->options().measure_only;
    call.quick = measure && call.solver->options().quick_step;
    return dxReallocateWorldProcessContext(call.world, reinterpret_cast<dxWorldProcessIslandsInfo &>(info), h,
                                           measure ? &engine_memory : &own_memory) &&
           process_islands(call, info, h);
}

/* ODE has stepped: recover its impulses from the feedback, measure them, take the feedback back. */
inline void measure_islands(Solver &solver, dReal h)
{
    Measuring &all = solver.measuring();
    for (std::size_t i = 0; i < all.islands.size(); i++) {
        Island &island = all.islands[i]->island;
        for (std::size_t c = 0; c < island.constraints.size(); c++) {
            const dJointFeedback *const feedback = joint_layout(island.constraints[c].joint)->feedback;
            if (feedback) {
                island.impulses_from(island.constraints[c], h, *feedback);
            }
        }
        if (island.rows() > 0) {
            solver.measure(*all.islands[i]);
        }
        solver.give_back(all.islands[i]);
    }
    for (std::size_t i = 0; i < all.borrowers.size(); i++) {
        joint_layout(all.borrowers[i])->feedback = nullptr;
    }
    all.islands.clear();
    all.borrowers.clear();
}

/* Two bodies on hinges, a limit and a motor: does one step give what dWorldStep gives? */
inline bool self_test()
{
    dReal result[2][14];
    for (int way = 0; way < 2; way++) {
        const dWorldID world = dWorldCreate();
        dWorldSetGravity(world, 0, 0, -9.81);
        dBodyID body[2];
        for (int i = 0; i < 2; i++) {
            dMass mass;
            dMassSetBoxTotal(&mass, 1 + i, 1, 0.2, 0.3);
            body[i] = dBodyCreate(world);
            dBodySetMass(body[i], &mass);
            dBodySetPosition(body[i], 0.5 + i, 0, 0);
            dBodySetAngularVel(body[i], 0.1, 0.2 + i, 0.3);
            const dJointID hinge = dJointCreateHinge(world, nullptr);
            dJointAttach(hinge, body[i], i > 0 ? body[0] : nullptr);
            dJointSetHingeAnchor(hinge, i, 0, 0);
            dJointSetHingeAxis(hinge, 0, 1, 0);
            dJointSetHingeParam(hinge, i > 0 ? dParamFMax : dParamHiStop, i > 0 ? 2.0 : -0.01);
            if (i > 0) {
                dJointSetHingeParam(hinge, dParamVel, 1);
            }
        }
        if (way == 0) {
            dWorldStep(world, 0.01);
        } else {
            Solver solver;
            Call call(world, &solver);
            enter(call);
            const bool stepped = run(call, 0.01) && solver.report().failures == 0 && solver.report().rows == 12;
            leave(call);
            if (!stepped) {
                dWorldDestroy(world);
                return false;
            }
        }
        for (int i = 0; i < 2; i++) {
            std::copy(dBodyGetPosition(body[i]), dBodyGetPosition(body[i]) + 3, &result[way][7 * i]);
            std::copy(dBodyGetQuaternion(body[i]), dBodyGetQuaternion(body[i]) + 4, &result[way][7 * i + 3]);
        }
        dWorldDestroy(world);
    }
    double difference = 0.0;
    for (int k = 0; k < 14; k++) {
        difference = std::fmax(difference, std::fabs(result[0][k] - result[1][k]));
    }
    return difference < 1e-9;
}

} // namespace detail
#endif

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

} // namespace ode
} // namespace mlcp

#include "mlcp_ode_stepper.hpp"

#endif
