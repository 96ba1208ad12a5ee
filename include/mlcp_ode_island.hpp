/*
 * mlcp_ode_island.hpp: one island of ODE bodies and joints as a problem for libmlcp, solved or measured. The inside of
 * mlcp_ode.hpp, which includes it; nothing here is meant to be called.
 *
 * Licence: MIT OR Apache-2.0; the implicit gyroscopic torque restates ODE's formula, under ODE's BSD licence, whose notice
 * is in mlcp_ode_rows.hpp.
 */
#include "mlcp_ode.hpp"

#ifndef MLCP_ODE_ISLAND_HPP
#define MLCP_ODE_ISLAND_HPP

#include <cfloat>
#include <cmath>

namespace mlcp {
namespace ode {

namespace detail {

typedef std::chrono::steady_clock Clock;

/* A bound of ODE's in libmlcp's sense, where only infinity is no bound: dInfinity, or what users write in its place. */
inline double bound(dReal given)
{
    const double value = static_cast<double>(given);
    return value >= static_cast<double>(FLT_MAX) ? HUGE_VAL : value <= -static_cast<double>(FLT_MAX) ? -HUGE_VAL : value;
}

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
                    lo[i] = bound(lo_hi[2 * i]) * h;
                    hi[i] = bound(lo_hi[2 * i + 1]) * h;
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

} // namespace ode
} // namespace mlcp

#endif
