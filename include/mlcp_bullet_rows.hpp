/*
 * mlcp_bullet_rows.hpp: Bullet's constraint rows as a libmlcp problem, and its solution back into Bullet. Inside of
 * mlcp_bullet.hpp.
 *
 * Licence: MIT OR Apache-2.0.
 */
#include "mlcp_bullet.hpp"

#ifndef MLCP_BULLET_ROWS_HPP
#define MLCP_BULLET_ROWS_HPP

#include "mlcp_bullet_core.hpp"
#include "mlcp_bullet_impulses.hpp"

namespace mlcp {
namespace bullet {
namespace detail {

/// A bound of Bullet's in libmlcp's sense, where only infinity is no bound: Bullet writes 1e10 on contacts, and on joints
/// SIMD_INFINITY or another number beyond all measure (BT_LARGE_FLOAT).
inline double bound(btScalar given)
{
    const double size = std::fabs(static_cast<double>(given));
    const bool absent = size == 1e10 || size >= static_cast<double>(BT_LARGE_FLOAT);
    return !absent ? static_cast<double>(given) : given > btScalar(0) ? HUGE_VAL : -HUGE_VAL;
}

/// Bullet's four pools of rows and its bodies, as btSequentialImpulseConstraintSolver and its heirs hold them.
struct Pools {
    btAlignedObjectArray<btSolverBody> &bodies;
    btConstraintArray &joints, &contacts, &friction, &rolling;
};

/// Bullet's rows as a libmlcp problem, and its solution back into Bullet.
class Rows {
public:
    explicit Rows(Core &core) : core_(core), n_(0), points_(0), warm_(0.0) {}

    std::size_t size() const { return n_; }
    double *x() { return x_.data(); }
    double *row_errors() { return row_errors_.data(); }
    double *scratch() { return scratch_.data(); }

    /// The joint that row i belongs to, null for a contact, and which of its rows it is.
    const btTypedConstraint *joint(std::size_t i) const
    {
        return row_[i].kind == RowKind::joint ? static_cast<const btTypedConstraint *>(row_[i].owner) : nullptr;
    }
    int ordinal(std::size_t i) const { return row_[i].ordinal; }

    void begin_step() { cache_.begin_step(); }
    void forget() { cache_.clear(); }

    /// Before Bullet converts contacts: remember each point's friction impulse of the last step as a vector, because the
    /// conversion chooses new directions.
    void remember_contacts(btPersistentManifold **manifolds, int count, bool two_directions)
    {
        points_ = 0;
        for (int m = 0; m < count; m++) {
            const btPersistentManifold &manifold = *manifolds[m];
            for (int j = 0; j < manifold.getNumContacts(); j++) {
                if (!point_.reserve(points_ + 1)) {
                    return; // the rest starts cold
                }
                const btManifoldPoint &p = manifold.getContactPoint(j);
                Point &point = point_[points_++];
                point.point = &p;
                point.body_a = manifold.getBody0();
                point.body_b = manifold.getBody1();
                // A new point has no directions yet, only impulses of 0.
                const double first = p.m_appliedImpulseLateral1, second = two_directions ? p.m_appliedImpulseLateral2 : 0.0;
                for (int k = 0; k < 3; k++) {
                    point.tangent[k] = (first != 0.0 ? first * p.m_lateralFrictionDir1[k] : 0.0)
                                       + (second != 0.0 ? second * p.m_lateralFrictionDir2[k] : 0.0);
                }
            }
        }
    }

    /// Fill the problem; x holds the start: the last step's impulses, those of contacts times `warm`, or 0 if that is 0.
    bool gather(const Pools &pools, double warm)
    {
        n_ = 0;
        warm_ = warm;
        const int rows = pools.joints.size() + pools.contacts.size() + pools.friction.size() + pools.rolling.size();
        const std::size_t bodies = static_cast<std::size_t>(pools.bodies.size());
        if (!reserve(static_cast<std::size_t>(rows), bodies, static_cast<std::size_t>(pools.contacts.size()))) {
            return false;
        }
        gather_bodies(pools);
        gather_joints(pools);
        gather_contacts(pools);
        gather_friction(pools);
        gather_rolling(pools);
        return n_ == 0 || set_problem(bodies);
    }

    /// What Bullet's own solver left in the rows.
    void read_impulses()
    {
        for (std::size_t i = 0; i < n_; i++) {
            const double x = static_cast<btScalar>(row_[i].constraint->m_appliedImpulse);
            x_[i] = std::isfinite(x) ? x : 0.0;
        }
    }

    /// Hand velocities and impulses to Bullet; nothing is written if one is too large for btScalar.
    bool write_back(const Pools &pools)
    {
        const std::size_t bodies = static_cast<std::size_t>(pools.bodies.size());
        if (!velocity_change(bodies)) {
            return false;
        }
        for (std::size_t i = 0; i < bodies; i++) {
            btSolverBody &body = pools.bodies[static_cast<int>(i)];
            if (body.m_originalBody) { // replaces what Bullet applied as warm start
                body.internalGetDeltaLinearVelocity() = vector(&velocity_[6 * i]);
                body.internalGetDeltaAngularVelocity() = vector(&velocity_[6 * i + 3]);
            }
        }
        zero_impulses(pools.joints);
        zero_impulses(pools.contacts);
        zero_impulses(pools.friction);
        zero_impulses(pools.rolling);
        for (std::size_t i = 0; i < n_; i++) {
            const Row &row = row_[i];
            row.constraint->m_appliedImpulse = static_cast<btScalar>(x_[i]);
            if (row.kind == RowKind::joint || row.kind == RowKind::rolling) {
                cache_.set(row.owner, row.ordinal, x_[i]);
            }
        }
        return true;
    }

    /// The push problem of split impulse: the same rows, the position errors of deep contacts as b. False: nothing to do.
    bool gather_split()
    {
        bool any = false;
        for (std::size_t i = 0; i < n_; i++) {
            const btSolverConstraint &c = *row_[i].constraint;
            const double b = row_[i].kind == RowKind::contact ? -static_cast<double>(c.m_rhsPenetration) / c.m_jacDiagABInv : 0.0;
            b_[i] = std::isfinite(b) ? b : 0.0;
            any = any || b_[i] != 0.0;
            x_[i] = 0.0;
        }
        return any;
    }
    bool set_split() { return core_.check(mlcp_problem_set_b(core_.problem(), b_.data(), n_)); }

    bool write_back_split(const Pools &pools)
    {
        const std::size_t bodies = static_cast<std::size_t>(pools.bodies.size());
        if (!velocity_change(bodies)) {
            return false;
        }
        for (std::size_t i = 0; i < bodies; i++) {
            btSolverBody &body = pools.bodies[static_cast<int>(i)];
            if (body.m_originalBody) {
                body.internalGetPushVelocity() = vector(&velocity_[6 * i]);
                body.internalGetTurnVelocity() = vector(&velocity_[6 * i + 3]);
            }
        }
        for (std::size_t i = 0; i < n_; i++) {
            row_[i].constraint->m_appliedPushImpulse = static_cast<btScalar>(x_[i]);
        }
        return true;
    }

    /// Which joint, or which pair of touching bodies, has most of the error.
    void find_worst()
    {
        for (std::size_t i = 0; i < n_; i++) { // friction counts with its contact
            if (row_[i].kind == RowKind::friction || row_[i].kind == RowKind::rolling) {
                row_errors_[static_cast<std::size_t>(findex_[i])] += row_errors_[i];
            }
        }
        double sum = 0.0;
        for (std::size_t i = 0; i < n_ && row_[i].kind <= RowKind::contact; i++) {
            sum = i > 0 && same_pair(row_[i - 1], row_[i]) ? sum + row_errors_[i] : row_errors_[i];
            if (sum > core_.report.worst_error) {
                name_worst(i, sum);
            }
        }
    }

private:
    struct Row {
        btSolverConstraint *constraint;
        /// The joint or the contact point, and which of its rows.
        const void *owner;
        int ordinal;
        RowKind kind;
        const btCollisionObject *body_a, *body_b;
    };
    struct Point {
        const btManifoldPoint *point;
        const btCollisionObject *body_a, *body_b;
        double tangent[3];
    };

    Core &core_;
    std::size_t n_, points_;
    double warm_;
    ImpulseCache cache_;
    Buffer<Row> row_;
    Buffer<Point> point_;
    Buffer<double> inverse_mass_, jacobian_, compliance_, b_, lo_, hi_, mu_, x_, row_errors_, scratch_, velocity_, tangent_;
    Buffer<std::int32_t> row_bodies_, findex_, contact_row_;

    bool reserve(std::size_t rows, std::size_t bodies, std::size_t contacts)
    {
        const bool room = row_.reserve(rows) && inverse_mass_.reserve(12 * bodies) && velocity_.reserve(6 * bodies)
                          && jacobian_.reserve(12 * rows) && row_bodies_.reserve(2 * rows) && compliance_.reserve(rows)
                          && b_.reserve(rows) && lo_.reserve(rows) && hi_.reserve(rows) && mu_.reserve(rows)
                          && x_.reserve(rows) && row_errors_.reserve(rows) && scratch_.reserve(rows)
                          && findex_.reserve(rows) && contact_row_.reserve(contacts) && tangent_.reserve(3 * contacts);
        return room || core_.fail("no memory for the rows");
    }

    /// Inverse masses as Bullet applies them: locked axes (linear and angular factors) cannot move.
    void gather_bodies(const Pools &pools)
    {
        for (int i = 0; i < pools.bodies.size(); i++) {
            const btSolverBody &body = pools.bodies[i];
            double *m = &inverse_mass_[12 * static_cast<std::size_t>(i)];
            bool finite = body.m_originalBody != nullptr;
            for (int k = 0; finite && k < 3; k++) {
                const btMatrix3x3 &inertia = body.m_originalBody->getInvInertiaTensorWorld();
                const btVector3 &angular = body.m_angularFactor;
                m[k] = static_cast<double>(body.internalGetInvMass()[k]) * body.m_linearFactor[k];
                for (int l = 0; l < 3; l++) { // symmetric to the last bit, as A must be
                    const double mean = 0.5 * (static_cast<double>(inertia[k][l]) + inertia[l][k]);
                    m[3 + 3 * k + l] = mean * angular[k] * angular[l];
                }
            }
            for (int k = 0; finite && k < 12; k++) {
                finite = std::isfinite(m[k]);
            }
            for (int k = 0; !finite && k < 12; k++) {
                m[k] = 0.0;
            }
        }
    }

    /// Append a row. False: it cannot be solved and is left out.
    bool add(const Pools &pools, btSolverConstraint &c, const Row &row, double lo, double hi)
    {
        double *j = &jacobian_[12 * n_];
        std::int32_t *bodies = &row_bodies_[2 * n_];
        const double scale = c.m_jacDiagABInv;
        const double b = -static_cast<double>(c.m_rhs) / scale, softness = std::fmax(static_cast<double>(c.m_cfm) / scale, 0.0);
        const double moved = place(pools, c.m_solverBodyIdA, c.m_contactNormal1, c.m_relpos1CrossNormal, j, bodies[0])
                             + place(pools, c.m_solverBodyIdB, c.m_contactNormal2, c.m_relpos2CrossNormal, j + 6, bodies[1]);
        // A row that Bullet gives no mass, or that moves nothing, has no solution to ask for.
        if (!(scale > 0.0) || !std::isfinite(b) || !std::isfinite(softness) || !std::isfinite(moved)
            || !(moved > 0.0) || !(lo <= hi)) {
            core_.report.skipped_rows++;
            return false;
        }
        row_[n_] = row;
        row_[n_].constraint = &c;
        b_[n_] = b;
        compliance_[n_] = softness;
        lo_[n_] = lo;
        hi_[n_] = hi;
        findex_[n_] = -1;
        mu_[n_] = 0.0;
        x_[n_] = 0.0;
        n_++;
        return true;
    }

    /// One body's part of a row; returns J M^-1 J^T of it.
    double place(const Pools &pools, int id, const btVector3 &linear, const btVector3 &angular, double *j,
                 std::int32_t &body) const
    {
        const double *m = &inverse_mass_[12 * static_cast<std::size_t>(id)];
        const bool real = pools.bodies[id].m_originalBody != nullptr;
        body = real ? id : -1;
        double sum = 0.0;
        for (int k = 0; k < 3; k++) {
            j[k] = real ? static_cast<double>(linear[k]) : 0.0;
            j[3 + k] = real ? static_cast<double>(angular[k]) : 0.0;
            sum += m[k] * j[k] * j[k];
        }
        for (int k = 0; k < 3; k++) {
            sum += j[3 + k] * (m[3 + 3 * k] * j[3] + m[4 + 3 * k] * j[4] + m[5 + 3 * k] * j[5]);
        }
        return sum;
    }

    void start_at(double x) { x_[n_ - 1] = std::isfinite(x) ? x : 0.0; }

    void couple(int normal, double mu)
    {
        findex_[n_ - 1] = normal;
        mu_[n_ - 1] = std::fmax(mu, 0.0);
    }

    void gather_joints(const Pools &pools)
    {
        Row row = Row();
        row.kind = RowKind::joint;
        for (int i = 0; i < pools.joints.size(); i++) {
            btSolverConstraint &c = pools.joints[i];
            row.ordinal = row.owner == c.m_originalContactPoint ? row.ordinal + 1 : 0;
            row.owner = c.m_originalContactPoint;
            if (add(pools, c, row, bound(c.m_lowerLimit), bound(c.m_upperLimit))) {
                start_at(warm_ > 0.0 ? cache_.find(row.owner, row.ordinal) : 0.0);
            }
        }
    }

    void gather_contacts(const Pools &pools)
    {
        Row row = Row();
        row.kind = RowKind::contact;
        std::size_t at = 0; // rows come in the order of the points, some points left out
        for (int i = 0; i < pools.contacts.size(); i++) {
            btSolverConstraint &c = pools.contacts[i];
            const std::size_t contact = static_cast<std::size_t>(i);
            row.owner = c.m_originalContactPoint;
            std::size_t found = at;
            while (found < points_ && point_[found].point != row.owner) {
                found++;
            }
            const Point *point = found < points_ ? &point_[found] : nullptr;
            at = point ? found + 1 : at;
            row.body_a = point ? point->body_a : nullptr;
            row.body_b = point ? point->body_b : nullptr;
            for (std::size_t k = 0; k < 3; k++) {
                tangent_[3 * contact + k] = point ? point->tangent[k] : 0.0;
            }
            const bool added = add(pools, c, row, bound(c.m_lowerLimit), bound(c.m_upperLimit));
            contact_row_[contact] = added ? static_cast<std::int32_t>(n_ - 1) : -1;
            if (added) {
                start_at(warm_ * static_cast<const btManifoldPoint *>(row.owner)->m_appliedImpulse);
            }
        }
    }

    /// The row of the normal that a friction row hangs on, or -1.
    int normal_of(const btSolverConstraint &c) const
    {
        const int normal = contact_row_[static_cast<std::size_t>(c.m_frictionIndex)];
        return c.m_friction >= btScalar(0) ? normal : -1;
    }

    void gather_friction(const Pools &pools)
    {
        for (int i = 0; i < pools.friction.size(); i++) {
            btSolverConstraint &c = pools.friction[i];
            const int normal = normal_of(c);
            if (normal < 0) {
                core_.report.skipped_rows++;
                continue;
            }
            Row row = row_[static_cast<std::size_t>(normal)];
            row.kind = RowKind::friction;
            if (!add(pools, c, row, -HUGE_VAL, HUGE_VAL)) {
                continue;
            }
            couple(normal, c.m_friction);
            const bool first = pools.bodies[c.m_solverBodyIdA].m_originalBody != nullptr;
            const btVector3 direction = first ? c.m_contactNormal1 : -c.m_contactNormal2;
            const double *t = &tangent_[3 * static_cast<std::size_t>(c.m_frictionIndex)];
            const double along = t[0] * direction[0] + t[1] * direction[1] + t[2] * direction[2];
            start_at(warm_ * along / static_cast<double>(direction.length2())); // anisotropic directions are no unit vectors
        }
    }

    /// Rolling and spinning friction: at most mu times the normal impulse, and at most mu, as in Bullet.
    void gather_rolling(const Pools &pools)
    {
        const void *last = nullptr;
        int ordinal = 0;
        for (int i = 0; i < pools.rolling.size(); i++) {
            btSolverConstraint &c = pools.rolling[i];
            const int normal = normal_of(c);
            if (normal < 0) {
                core_.report.skipped_rows++;
                continue;
            }
            Row row = row_[static_cast<std::size_t>(normal)];
            row.kind = RowKind::rolling;
            ordinal = row.owner == last ? ordinal + 1 : 0;
            last = row.owner;
            row.ordinal = ordinal;
            if (add(pools, c, row, -static_cast<double>(c.m_friction), c.m_friction)) {
                couple(normal, c.m_friction);
                start_at(warm_ * cache_.find(row.owner, row.ordinal));
            }
        }
    }

    bool set_problem(std::size_t bodies)
    {
        mlcp_problem *problem = core_.problem();
        const mlcp_friction_mode mode = core_.options().friction;
        return core_.check(mlcp_problem_set_jacobian(problem, inverse_mass_.data(), 12 * bodies, jacobian_.data(), 12 * n_,
                                                     row_bodies_.data(), 2 * n_, compliance_.data(), n_))
               && core_.check(mlcp_problem_set_b(problem, b_.data(), n_))
               && core_.check(mlcp_problem_set_bounds(problem, lo_.data(), n_, hi_.data(), n_))
               && core_.check(mlcp_problem_set_friction(problem, findex_.data(), n_, mu_.data(), n_, mode));
    }

    bool velocity_change(std::size_t bodies)
    {
        if (!core_.check(mlcp_problem_get_velocity_change(core_.problem(), x_.data(), n_, velocity_.data(), 6 * bodies))) {
            return false;
        }
        bool finite = true;
        for (std::size_t i = 0; i < 6 * bodies; i++) {
            finite = finite && std::isfinite(static_cast<btScalar>(velocity_[i]));
        }
        for (std::size_t i = 0; i < n_; i++) {
            finite = finite && std::isfinite(static_cast<btScalar>(x_[i]));
        }
        return finite || core_.fail("an impulse or a velocity is too large for btScalar");
    }

    static btVector3 vector(const double *v)
    {
        return btVector3(static_cast<btScalar>(v[0]), static_cast<btScalar>(v[1]), static_cast<btScalar>(v[2]));
    }

    static void zero_impulses(btConstraintArray &pool)
    {
        for (int i = 0; i < pool.size(); i++) {
            pool[i].m_appliedImpulse = btScalar(0);
        }
    }

    static bool same_pair(const Row &a, const Row &b)
    {
        return a.kind == b.kind && (a.kind == RowKind::joint ? a.owner == b.owner : a.body_a == b.body_a && a.body_b == b.body_b);
    }

    void name_worst(std::size_t i, double sum)
    {
        Report &report = core_.report;
        const Row &row = row_[i];
        const btTypedConstraint *joint = this->joint(i);
        report.worst_error = sum;
        report.worst_kind = row.kind;
        report.worst_row = static_cast<int>(i);
        report.worst_joint = joint;
        report.worst_body_a = joint ? &joint->getRigidBodyA() : row.body_a;
        report.worst_body_b = joint ? &joint->getRigidBodyB() : row.body_b;
    }
};

} // namespace detail
} // namespace bullet
} // namespace mlcp

#endif
