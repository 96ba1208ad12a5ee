/*
 * mlcp_bullet.hpp: libmlcp inside Bullet 3. Header only, C++11, for Bullet in float and in double (btScalar).
 *
 *     mlcp::bullet::ConstraintSolver solver;                         // instead of btSequentialImpulseConstraintSolver
 *     btDiscreteDynamicsWorld world(&dispatcher, &broadphase, &solver, &configuration);
 *     world.stepSimulation(dt, 0);
 *     printf("%g J\n", solver.report().energy_error);
 *
 * ConstraintSolver takes Bullet's constraint rows as they are (Jacobians, row CFM, rolling and spinning friction, split
 * impulse), solves them together and writes velocities and impulses back. No matrix is formed, so it is the one for scenes
 * of any size. MlcpSolver is the dense hook behind btMLCPSolver and btMultiBodyMLCPConstraintSolver.
 *
 * diagnose(world, dt) names the joints that are too many, and the joints they depend on.
 *
 * With Options::measure_only Bullet's own solver solves and libmlcp tells its error in joules on the same rows;
 * SolverOver<btMLCPSolver> does so for btDantzigSolver and its kin.
 *
 * Nothing here throws, and no NaN reaches Bullet: rows that hold one are left out and counted. Should a solve be refused,
 * Bullet's own solver takes over for that group of bodies and is counted too. Link with libmlcp (mlcp.h) and Bullet.
 *
 * This file is what a caller reads. Its inside, one class a file: mlcp_bullet_buffer.hpp and mlcp_bullet_impulses.hpp hold
 * memory from step to step, mlcp_bullet_core.hpp the handles and the report; mlcp_bullet_rows.hpp turns Bullet's rows into a
 * problem and its solution back; mlcp_bullet_joints.hpp reads joints for diagnose().
 *
 * Licence: MIT OR Apache-2.0.
 */
#ifndef MLCP_BULLET_HPP
#define MLCP_BULLET_HPP

#include "mlcp.h"
#include "mlcp_joints.hpp"

#include <BulletDynamics/ConstraintSolver/btSequentialImpulseConstraintSolver.h>
#include <BulletDynamics/Dynamics/btDynamicsWorld.h>
#include <BulletDynamics/Dynamics/btRigidBody.h>
#include <BulletDynamics/MLCPSolvers/btMLCPSolverInterface.h>
#include <BulletCollision/NarrowPhaseCollision/btPersistentManifold.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace mlcp {
namespace bullet {

/// How to solve. Everything may be changed between steps with set_options.
struct Options {
    /// Solver kind, iteration budget, tolerances: see mlcp_settings. Its time_limit is per solve; see budget_ms.
    mlcp_settings settings;
    /// Wall-clock budget of a step in milliseconds, all its solves together. 0: none.
    double budget_ms;
    /// Coupled: |friction| <= mu normal at the solution. Frozen: normals first without friction, then friction within
    /// mu times those normals, which is what btDantzigSolver computes.
    mlcp_friction_mode friction;
    /// Start from the last step's impulses of joints, contacts, friction and rolling friction, all but the joints' damped
    /// by Bullet's m_warmstartingFactor (0.85). Off also without Bullet's SOLVER_USE_WARMSTARTING.
    bool warm_start;
    /// Bullet's own solver solves; libmlcp only measures it.
    bool measure_only;
    /// Called after every iteration of libmlcp; non-zero stops the solve. May be NULL.
    mlcp_callback callback;
    void *callback_data;
    /// Given the problem and its solution after each solve (in measure_only Bullet's, with outcome none). Must not throw.
    std::function<void(const mlcp_problem *problem, const double *x, std::size_t n, const mlcp_report &report)> recorder;

    Options()
        : settings(), budget_ms(0.0), friction(MLCP_FRICTION_MODE_COUPLED), warm_start(true), measure_only(false),
          callback(nullptr), callback_data(nullptr)
    {
        mlcp_settings_init(&settings, sizeof settings);
    }
};

/// For Options::recorder: append every problem with its solution to a file. The recorder (mlcp_recorder_create) stays the
/// caller's and must outlive the solver or its options.
inline std::function<void(const mlcp_problem *, const double *, std::size_t, const mlcp_report &)>
record_to(mlcp_recorder *recorder)
{
    return [recorder](const mlcp_problem *problem, const double *x, std::size_t n, const mlcp_report &report) {
        (void)mlcp_recorder_append_problem(recorder, nullptr, problem, x, n, &report);
    };
}

/// What kind of row is the worst.
enum class RowKind { none, joint, contact, friction, rolling };

/// What a step achieved: of ConstraintSolver the last world step (substep), of MlcpSolver the last call with b != 0.
struct Report {
    /// Energy error of the step in joules: the sum over all rows of all groups.
    double energy_error;
    /// Energy error with all impulses zero: the step's own scale, in joules.
    double energy_scale;
    /// Energy error of the position correction (split impulse), in joules of its pseudo velocities.
    double split_energy_error;
    /// Converged if all groups are, else that of the unconverged group with the largest error: an mlcp_outcome. None
    /// where Bullet's own solver solved.
    int outcome;
    /// Groups of bodies (Bullet's islands, batched), constraint rows and solver iterations, summed.
    int groups, rows, iterations;
    /// Groups that Bullet's own solver had to take over in this step; error() has the reason.
    int fallbacks;
    /// Rows left out: not finite, bounds crossed, or between bodies that cannot move.
    int skipped_rows;
    /// Joules in the worst joint or pair of bodies; who that is. worst_joint is null for a contact, and pointers are
    /// those of the step: do not follow them after removing the object.
    double worst_error;
    RowKind worst_kind;
    const btCollisionObject *worst_body_a, *worst_body_b;
    const btTypedConstraint *worst_joint;
    /// Row with the largest error in its group (MlcpSolver: in Bullet's order), -1 without error.
    int worst_row;
    /// Wall-clock seconds: reading Bullet's rows, solving (Bullet's solver in measure_only), writing back and measuring.
    double gather_seconds, solve_seconds, write_seconds;

    Report()
        : energy_error(0.0), energy_scale(0.0), split_energy_error(0.0), outcome(MLCP_OUTCOME_NONE), groups(0), rows(0),
          iterations(0), fallbacks(0), skipped_rows(0), worst_error(0.0), worst_kind(RowKind::none),
          worst_body_a(nullptr), worst_body_b(nullptr), worst_joint(nullptr), worst_row(-1), gather_seconds(0.0),
          solve_seconds(0.0), write_seconds(0.0)
    {
    }

    double seconds() const { return gather_seconds + solve_seconds + write_seconds; }
    const char *outcome_name() const { return mlcp_outcome_name(outcome); }
};

/// Which joints of a world are too many: see mlcp_joints.hpp. An index is that of world.getConstraint.
typedef JointDiagnosis<const btTypedConstraint *, const btRigidBody *> Diagnosis;

} // namespace bullet
} // namespace mlcp

#include "mlcp_bullet_joints.hpp"

namespace mlcp {
namespace bullet {

/// The dense hook: give it to btMLCPSolver or btMultiBodyMLCPConstraintSolver. With another btMLCPSolverInterface as
/// `engine` and Options::measure_only, that one solves and is measured.
class MlcpSolver : public btMLCPSolverInterface {
public:
    explicit MlcpSolver(const Options &options = Options(), btMLCPSolverInterface *engine = nullptr)
        : core_(options), engine_(engine)
    {
    }

    const Options &options() const { return core_.options(); }
    /// false: refused, error() says why, and the old ones stay.
    bool set_options(const Options &options) { return core_.set_options(options); }
    const Report &report() const { return core_.report; }
    /// Calls that returned false so far: btMLCPSolver then solves by sequential impulses.
    long num_fallbacks() const { return core_.fallbacks; }
    const char *error() const { return core_.error(); }

    /// A x = b + w, lo and hi of friction rows being coefficients. Returns false only if the problem was refused (or, in
    /// measure_only, if the measured solver does); not reaching the tolerance is no failure.
    bool solveMLCP(const btMatrixXu &A, const btVectorXu &b, btVectorXu &x, const btVectorXu &lo, const btVectorXu &hi,
                   const btAlignedObjectArray<int> &limitDependency, int numIterations, bool useSparsity = true) override
    {
        const bool measured = core_.options().measure_only && engine_;
        if (at_rest(b, lo, hi)) {
            return measured ? engine_->solveMLCP(A, b, x, lo, hi, limitDependency, numIterations, useSparsity) : rest(x);
        }
        core_.begin_step();
        Report &report = core_.report;
        const std::size_t n = static_cast<std::size_t>(b.rows());
        const double start = detail::now();
        const bool filled = fill(n, A, b, x, lo, hi, limitDependency);
        report.gather_seconds = detail::now() - start;
        bool solved = measured ? engine_->solveMLCP(A, b, x, lo, hi, limitDependency, numIterations, useSparsity) : filled;
        mlcp_report achieved;
        if (measured) {
            report.solve_seconds = detail::now() - start - report.gather_seconds;
            for (std::size_t i = 0; filled && i < n; i++) {
                x_[i] = std::isfinite(static_cast<double>(x[static_cast<int>(i)])) ? x[static_cast<int>(i)] : 0.0;
            }
            if (filled && core_.measure(x_.data(), n, row_errors_.data(), scratch_.data(), achieved)) {
                finish(n, achieved);
            }
        } else if (solved && (solved = core_.solve(x_.data(), n, achieved) && representable(n))) {
            report.solve_seconds = detail::now() - start - report.gather_seconds;
            for (std::size_t i = 0; i < n; i++) {
                x[static_cast<int>(i)] = static_cast<btScalar>(x_[i]);
            }
            if (core_.row_errors(row_errors_.data(), n)) {
                finish(n, achieved);
            }
        }
        report.write_seconds = detail::now() - start - report.gather_seconds - report.solve_seconds;
        report.fallbacks = solved ? 0 : 1;
        core_.fallbacks += report.fallbacks;
        return solved;
    }

private:
    detail::Core core_;
    btMLCPSolverInterface *engine_;
    detail::Buffer<double> a_, b_, lo_, hi_, mu_, x_, row_errors_, scratch_;
    detail::Buffer<std::int32_t> findex_;

    /// Nothing to do: the push problem of split impulse, most of the time.
    static bool at_rest(const btVectorXu &b, const btVectorXu &lo, const btVectorXu &hi)
    {
        for (int i = 0; i < b.rows(); i++) {
            if (b[i] != btScalar(0) || !(lo[i] <= btScalar(0)) || !(hi[i] >= btScalar(0))) {
                return false;
            }
        }
        return true;
    }

    static bool rest(btVectorXu &x)
    {
        for (int i = 0; i < x.rows(); i++) {
            x[i] = btScalar(0);
        }
        return true;
    }

    bool reserve(std::size_t n)
    {
        const bool room = a_.reserve(n * n) && b_.reserve(n) && lo_.reserve(n) && hi_.reserve(n) && mu_.reserve(n)
                          && x_.reserve(n) && row_errors_.reserve(n) && scratch_.reserve(n) && findex_.reserve(n);
        return room || core_.fail("no memory for the rows");
    }

    /// Copy Bullet's problem; a row that is not finite or cannot move is held at 0.
    bool fill(std::size_t n, const btMatrixXu &A, const btVectorXu &b, const btVectorXu &x, const btVectorXu &lo,
              const btVectorXu &hi, const btAlignedObjectArray<int> &dependency)
    {
        if (!reserve(n)) {
            return false;
        }
        for (std::size_t i = 0; i < n; i++) {
            const int row = static_cast<int>(i), normal = row < dependency.size() ? dependency[row] : -1;
            const bool coupled = normal >= 0 && normal != row && normal < static_cast<int>(n);
            bool usable = A(row, row) > btScalar(0) && std::isfinite(static_cast<double>(b[row])) && lo[row] <= hi[row];
            for (std::size_t j = 0; j <= i; j++) {
                a_[i * n + j] = A(row, static_cast<int>(j));
                usable = usable && std::isfinite(a_[i * n + j]);
            }
            findex_[i] = usable && coupled ? normal : -1;
            mu_[i] = findex_[i] >= 0 ? std::fmax(std::fmax(hi[row], -lo[row]), 0.0) : 0.0;
            b_[i] = usable ? -static_cast<double>(b[row]) : 0.0;
            lo_[i] = findex_[i] >= 0 ? -HUGE_VAL : usable ? detail::bound(lo[row]) : 0.0;
            hi_[i] = findex_[i] >= 0 ? HUGE_VAL : usable ? detail::bound(hi[row]) : 0.0;
            x_[i] = core_.options().warm_start && std::isfinite(static_cast<double>(x[row])) ? x[row] : 0.0;
            if (!usable) {
                hold(n, i);
            }
        }
        for (std::size_t i = 0; core_.report.skipped_rows > 0 && i < n; i++) { // entries below a row that is held
            for (std::size_t j = 0; j < i; j++) {
                a_[i * n + j] = lo_[j] == 0.0 && hi_[j] == 0.0 ? 0.0 : a_[i * n + j];
            }
        }
        mlcp_problem *problem = core_.problem();
        const mlcp_friction_mode mode = core_.options().friction;
        return core_.check(mlcp_problem_set_dense(problem, n, a_.data(), n * n, n, MLCP_TRIANGLE_LOWER))
               && core_.check(mlcp_problem_set_b(problem, b_.data(), n))
               && core_.check(mlcp_problem_set_bounds(problem, lo_.data(), n, hi_.data(), n))
               && core_.check(mlcp_problem_set_friction(problem, findex_.data(), n, mu_.data(), n, mode));
    }

    void hold(std::size_t n, std::size_t i)
    {
        core_.report.skipped_rows++;
        for (std::size_t j = 0; j < i; j++) {
            a_[i * n + j] = 0.0;
        }
        a_[i * n + i] = 1.0;
        lo_[i] = hi_[i] = x_[i] = 0.0;
    }

    bool representable(std::size_t n)
    {
        for (std::size_t i = 0; i < n; i++) {
            if (!std::isfinite(static_cast<btScalar>(x_[i]))) {
                return core_.fail("an impulse is too large for btScalar");
            }
        }
        return true;
    }

    void finish(std::size_t n, const mlcp_report &achieved)
    {
        Report &report = core_.report;
        for (std::size_t i = 0; i < n; i++) {
            if (row_errors_[i] > report.worst_error) {
                report.worst_error = row_errors_[i];
                report.worst_row = static_cast<int>(i);
                report.worst_kind = findex_[i] >= 0 ? RowKind::friction : lo_[i] == 0.0 ? RowKind::contact : RowKind::joint;
            }
        }
        core_.add(achieved);
        core_.record(x_.data(), n, achieved);
    }
};

/// The Jacobian hook over one of Bullet's constraint solvers, which prepares the rows, takes over when a solve is refused,
/// and is the one measured in measure_only: btSequentialImpulseConstraintSolver, or btMLCPSolver with its solver.
template <class Engine> class SolverOver : public Engine {
public:
    /// Options that are refused leave the defaults; error() then says why.
    explicit SolverOver(const Options &options = Options()) : core_(options), rows_(core_) {}
    template <class... Arguments>
    explicit SolverOver(const Options &options, Arguments &&...engine)
        : Engine(std::forward<Arguments>(engine)...), core_(options), rows_(core_)
    {
    }

    const Options &options() const { return core_.options(); }
    /// false: refused, error() says why, and the old ones stay.
    bool set_options(const Options &options) { return core_.set_options(options); }
    /// The step since Bullet's last prepareSolve.
    const Report &report() const { return core_.report; }
    /// Groups that Bullet's own solver had to take over since the beginning; none in measure_only.
    long num_fallbacks() const { return core_.fallbacks; }
    /// Why the last fallback or refused call happened; empty if none.
    const char *error() const { return core_.error(); }

    btConstraintSolverType getSolverType() const override { return BT_MLCP_SOLVER; }

    /// Also forgets the last step's impulses.
    void reset() override
    {
        Engine::reset();
        rows_.forget();
    }

    void prepareSolve(int bodies, int manifolds) override
    {
        Engine::prepareSolve(bodies, manifolds);
        core_.begin_step();
        rows_.begin_step();
    }

protected:
    void convertContacts(btPersistentManifold **manifolds, int count, const btContactSolverInfo &info) override
    {
        const double start = detail::now();
        rows_.remember_contacts(manifolds, count, (info.m_solverMode & SOLVER_USE_2_FRICTION_DIRECTIONS) != 0);
        core_.report.gather_seconds += detail::now() - start;
        Engine::convertContacts(manifolds, count, info);
    }

    btScalar solveGroupCacheFriendlyIterations(btCollisionObject **bodies, int body_count, btPersistentManifold **manifolds,
                                               int manifold_count, btTypedConstraint **joints, int joint_count,
                                               const btContactSolverInfo &info, btIDebugDraw *drawer) override
    {
        Report &report = core_.report;
        const double start = detail::now();
        const detail::Pools pools = {this->m_tmpSolverBodyPool, this->m_tmpSolverNonContactConstraintPool,
                                     this->m_tmpSolverContactConstraintPool, this->m_tmpSolverContactFrictionConstraintPool,
                                     this->m_tmpSolverContactRollingFrictionConstraintPool};
        // Damped: redundant contacts would hand on stresses that cancel each other, step by step more of them.
        const bool warm = core_.options().warm_start && (info.m_solverMode & SOLVER_USE_WARMSTARTING);
        const bool filled = rows_.gather(pools, warm ? static_cast<double>(info.m_warmstartingFactor) : 0.0);
        report.gather_seconds += detail::now() - start;
        if (filled && rows_.size() == 0) {
            return btScalar(0);
        }
        if (!core_.options().measure_only && filled && solve(pools)) {
            if (info.m_splitImpulse && !solve_split(pools)) {
                fall_back();
                this->solveGroupCacheFriendlySplitImpulseIterations(bodies, body_count, manifolds, manifold_count, joints,
                                                                    joint_count, info, drawer);
            }
            return btScalar(0);
        }
        if (!core_.options().measure_only) {
            fall_back();
        }
        const double engine = detail::now();
        const btScalar residual = Engine::solveGroupCacheFriendlyIterations(bodies, body_count, manifolds, manifold_count,
                                                                            joints, joint_count, info, drawer);
        report.solve_seconds += detail::now() - engine;
        if (filled) {
            measure();
        }
        return residual;
    }

private:
    detail::Core core_;
    detail::Rows rows_;

    void fall_back()
    {
        core_.report.fallbacks++;
        core_.fallbacks++;
    }

    bool solve(const detail::Pools &pools)
    {
        Report &report = core_.report;
        mlcp_report achieved;
        const double start = detail::now();
        const bool solved = core_.solve(rows_.x(), rows_.size(), achieved);
        const double end = detail::now();
        report.solve_seconds += end - start;
        if (!solved || !rows_.write_back(pools)) {
            return false;
        }
        core_.add(achieved);
        if (core_.row_errors(rows_.row_errors(), rows_.size())) {
            rows_.find_worst();
        }
        core_.record(rows_.x(), rows_.size(), achieved);
        report.write_seconds += detail::now() - end;
        return true;
    }

    bool solve_split(const detail::Pools &pools)
    {
        if (!rows_.gather_split()) {
            return true;
        }
        mlcp_report achieved;
        const double start = detail::now();
        const bool solved = rows_.set_split() && core_.solve(rows_.x(), rows_.size(), achieved);
        const double end = detail::now();
        core_.report.solve_seconds += end - start;
        if (!solved || !rows_.write_back_split(pools)) {
            return false;
        }
        core_.report.split_energy_error += achieved.energy_error;
        core_.report.iterations += achieved.iterations;
        core_.record(rows_.x(), rows_.size(), achieved);
        core_.report.write_seconds += detail::now() - end;
        return true;
    }

    /// What Bullet's own solver achieved on these rows.
    void measure()
    {
        mlcp_report achieved;
        const double start = detail::now();
        rows_.read_impulses();
        if (core_.measure(rows_.x(), rows_.size(), rows_.row_errors(), rows_.scratch(), achieved)) {
            core_.add(achieved);
            rows_.find_worst();
            core_.record(rows_.x(), rows_.size(), achieved);
        }
        core_.report.write_seconds += detail::now() - start;
    }
};

/// Diagnose the joints of a world as a step of dt seconds would see them. Nothing moves and nothing is changed, whatever
/// solver the world has. Allocates: once after building a scene, not in every step.
inline Diagnosis diagnose(btDynamicsWorld &world, double dt)
{
    Diagnosis found;
    detail::JointReader reader;
    reader.read(world, dt, found);
    return found;
}

/// Use it where you use btSequentialImpulseConstraintSolver.
typedef SolverOver<btSequentialImpulseConstraintSolver> ConstraintSolver;

} // namespace bullet
} // namespace mlcp

#endif
