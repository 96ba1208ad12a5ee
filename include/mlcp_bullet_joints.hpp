/*
 * mlcp_bullet_joints.hpp: reads the joints of a world, for their diagnosis. Inside of mlcp_bullet.hpp.
 *
 * Licence: MIT OR Apache-2.0.
 */
#include "mlcp_bullet.hpp"

#ifndef MLCP_BULLET_JOINTS_HPP
#define MLCP_BULLET_JOINTS_HPP

#include "mlcp_bullet_rows.hpp"

#include <vector>

namespace mlcp {
namespace bullet {
namespace detail {

/// Has Bullet convert the joints of a world into rows and looks at these instead of solving them. Nothing moves.
class JointReader : public btSequentialImpulseConstraintSolver {
public:
    JointReader() : core_(Options()), rows_(core_) {}

    void read(btDynamicsWorld &world, double dt, Diagnosis &out)
    {
        std::vector<btTypedConstraint *> joints;
        std::vector<btScalar> impulses;
        std::vector<btJointFeedback> feedback;
        for (int i = 0; i < world.getNumConstraints(); i++) {
            btTypedConstraint *joint = world.getConstraint(i);
            joints.push_back(joint);
            impulses.push_back(joint->internalGetAppliedImpulse());
            feedback.push_back(joint->getJointFeedback() ? *joint->getJointFeedback() : btJointFeedback());
        }
        if (joints.empty()) {
            return;
        }
        out_ = &out;
        joints_ = &joints;
        btContactSolverInfo info = world.getSolverInfo();
        info.m_timeStep = btScalar(dt);
        btCollisionObjectArray &objects = world.getCollisionObjectArray();
        solveGroup(&objects[0], objects.size(), nullptr, 0, joints.data(), static_cast<int>(joints.size()), info, nullptr,
                   world.getDispatcher());
        for (std::size_t i = 0; i < joints.size(); i++) { // the conversion clears what the last step left in them
            joints[i]->internalSetAppliedImpulse(impulses[i]);
            if (joints[i]->getJointFeedback()) {
                *joints[i]->getJointFeedback() = feedback[i];
            }
        }
    }

protected:
    btScalar solveGroupCacheFriendlyIterations(btCollisionObject **, int, btPersistentManifold **, int, btTypedConstraint **,
                                               int, const btContactSolverInfo &, btIDebugDraw *) override
    {
        const Pools pools = {m_tmpSolverBodyPool, m_tmpSolverNonContactConstraintPool, m_tmpSolverContactConstraintPool,
                             m_tmpSolverContactFrictionConstraintPool, m_tmpSolverContactRollingFrictionConstraintPool};
        const bool filled = rows_.gather(pools, 0.0);
        if (filled && rows_.size() > 0) {
            mlcp::detail::add_diagnosis(core_.problem(), rows_.size(), *out_, [this](std::size_t i) { return who(i); });
        } else if (!filled) {
            out_->error = core_.error();
        }
        return btScalar(0);
    }

    /// In place of Bullet's: nothing is written to bodies or joints.
    btScalar solveGroupCacheFriendlyFinish(btCollisionObject **, int, const btContactSolverInfo &) override
    {
        m_tmpSolverContactConstraintPool.resizeNoInitialize(0);
        m_tmpSolverNonContactConstraintPool.resizeNoInitialize(0);
        m_tmpSolverContactFrictionConstraintPool.resizeNoInitialize(0);
        m_tmpSolverContactRollingFrictionConstraintPool.resizeNoInitialize(0);
        m_tmpSolverBodyPool.resizeNoInitialize(0);
        return btScalar(0);
    }

private:
    Core core_;
    Rows rows_;
    Diagnosis *out_;
    const std::vector<btTypedConstraint *> *joints_;

    JointRow<const btTypedConstraint *, const btRigidBody *> who(std::size_t i) const
    {
        const btTypedConstraint *joint = rows_.joint(i);
        int index = 0;
        while (static_cast<std::size_t>(index) < joints_->size() && (*joints_)[static_cast<std::size_t>(index)] != joint) {
            index++;
        }
        const JointRow<const btTypedConstraint *, const btRigidBody *> row = {joint, index, rows_.ordinal(i),
                                                                              &joint->getRigidBodyA(), &joint->getRigidBodyB()};
        return row;
    }
};

} // namespace detail
} // namespace bullet
} // namespace mlcp

#endif
