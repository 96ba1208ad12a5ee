/*
 * bullet_world.h: the scenes of the Bullet examples and tests. C++11, Bullet in float or double.
 *
 * Licence: MIT OR Apache-2.0.
 */
#ifndef BULLET_WORLD_H
#define BULLET_WORLD_H

#include <btBulletDynamicsCommon.h>

#include <cmath>
#include <memory>
#include <vector>

/// A Bullet world that owns everything in it but the constraint solver.
class BulletWorld {
public:
    explicit BulletWorld(btConstraintSolver *solver)
        : dispatcher_(&configuration_), world_(&dispatcher_, &broadphase_, solver, &configuration_)
    {
        world_.setGravity(btVector3(0, btScalar(-9.81), 0));
    }
    ~BulletWorld()
    {
        for (auto &joint : joints_) {
            world_.removeConstraint(joint.get());
        }
        for (auto &body : bodies_) {
            world_.removeRigidBody(body.get());
        }
    }

    btDiscreteDynamicsWorld &world() { return world_; }
    btContactSolverInfo &info() { return world_.getSolverInfo(); }
    const std::vector<std::unique_ptr<btTypedConstraint>> &joints() const { return joints_; }
    const std::vector<std::unique_ptr<btRigidBody>> &bodies() const { return bodies_; }

    /// Mass 0: it never moves.
    btRigidBody *add(btCollisionShape *shape, double mass, const btVector3 &position)
    {
        shapes_.emplace_back(shape);
        btVector3 inertia(0, 0, 0);
        if (mass > 0.0) {
            shape->calculateLocalInertia(btScalar(mass), inertia);
        }
        btRigidBody::btRigidBodyConstructionInfo info(btScalar(mass), nullptr, shape, inertia);
        info.m_startWorldTransform.setOrigin(position);
        info.m_friction = btScalar(0.5);
        bodies_.emplace_back(new btRigidBody(info));
        bodies_.back()->setActivationState(DISABLE_DEACTIVATION);
        starts_.push_back(position);
        world_.addRigidBody(bodies_.back().get());
        return bodies_.back().get();
    }
    btRigidBody *box(double mass, double width, double height, double depth, const btVector3 &position)
    {
        return add(new btBoxShape(btVector3(btScalar(width), btScalar(height), btScalar(depth)) * btScalar(0.5)), mass, position);
    }
    /// The top of the ground is y = 0.
    btRigidBody *ground() { return box(0.0, 100.0, 2.0, 100.0, btVector3(0, -1, 0)); }

    template <class Joint> Joint *join(Joint *joint)
    {
        joints_.emplace_back(joint);
        world_.addConstraint(joint, true);
        return joint;
    }

    void step(double seconds) { world_.stepSimulation(btScalar(seconds), 0); }

    /// The largest distance of a body from where it was added, in metres.
    double drift() const
    {
        double most = 0.0;
        for (std::size_t i = 0; i < bodies_.size(); i++) {
            most = std::fmax(most, double((bodies_[i]->getWorldTransform().getOrigin() - starts_[i]).length()));
        }
        return most;
    }

    /// Kinetic energy of all bodies, in joules.
    double kinetic_energy() const
    {
        double sum = 0.0;
        for (const auto &body : bodies_) {
            if (body->getInvMass() > btScalar(0)) {
                const btVector3 v = body->getLinearVelocity(), w = body->getAngularVelocity();
                const btMatrix3x3 &r = body->getWorldTransform().getBasis();
                const btVector3 local = r.transpose() * w, inverse = body->getInvInertiaDiagLocal();
                sum += 0.5 * double(v.length2()) / double(body->getInvMass());
                for (int k = 0; k < 3; k++) {
                    sum += inverse[k] > btScalar(0) ? 0.5 * double(local[k] * local[k]) / double(inverse[k]) : 0.0;
                }
            }
        }
        return sum;
    }

private:
    btDefaultCollisionConfiguration configuration_;
    btCollisionDispatcher dispatcher_;
    btDbvtBroadphase broadphase_;
    btDiscreteDynamicsWorld world_;
    std::vector<std::unique_ptr<btCollisionShape>> shapes_;
    std::vector<std::unique_ptr<btRigidBody>> bodies_;
    std::vector<std::unique_ptr<btTypedConstraint>> joints_;
    std::vector<btVector3> starts_;
};

/// A wall of bricks 0.5 m high: even rows of three, 1 m and 1 kg each, odd rows of two, 1.5 m and 1.5 kg.
inline void build_wall(BulletWorld &world, int rows)
{
    world.ground();
    for (int row = 0; row < rows; row++) {
        const int count = row % 2 ? 2 : 3;
        const double width = 3.0 / count;
        for (int i = 0; i < count; i++) {
            world.box(width, width, 0.5, 0.5, btVector3(btScalar((i + 0.5) * width - 1.5), btScalar(0.5 * row + 0.25), 0));
        }
    }
}

template <class Joint> double pivot_distance(const Joint &joint)
{
    const btVector3 a = joint.getRigidBodyA().getWorldTransform() * joint.getAFrame().getOrigin();
    const btVector3 b = joint.getRigidBodyB().getWorldTransform() * joint.getBFrame().getOrigin();
    return double((a - b).length());
}

/// The largest distance between the two pivots of a hinge or ball joint, in metres.
inline double joint_error(const BulletWorld &world)
{
    double most = 0.0;
    for (const auto &joint : world.joints()) {
        if (joint->getConstraintType() == HINGE_CONSTRAINT_TYPE) {
            most = std::fmax(most, pivot_distance(static_cast<const btHingeConstraint &>(*joint)));
        } else if (joint->getConstraintType() == CONETWIST_CONSTRAINT_TYPE) {
            most = std::fmax(most, pivot_distance(static_cast<const btConeTwistConstraint &>(*joint)));
        }
    }
    return most;
}

/// Links of 1 m and 1 kg on hinges, the last of `tip` kg, let go horizontally. Hinges have weak motors and limits; links do
/// not touch each other.
inline void build_chain(BulletWorld &world, int links, double tip)
{
    btRigidBody *last = world.box(0.0, 0.2, 0.2, 0.2, btVector3(0, 0, 0));
    for (int i = 0; i < links; i++) {
        btRigidBody *link = world.box(i == links - 1 ? tip : 1.0, 0.8, 0.2, 0.2, btVector3(btScalar(i + 0.5), 0, 0));
        link->getBroadphaseProxy()->m_collisionFilterMask = 0;
        const btVector3 on_last(i == 0 ? btScalar(0) : btScalar(0.5), 0, 0), on_link(btScalar(-0.5), 0, 0), axis(0, 0, 1);
        btHingeConstraint *hinge = world.join(new btHingeConstraint(*last, *link, on_last, on_link, axis, axis));
        hinge->enableAngularMotor(true, 0, btScalar(0.5));
        hinge->setLimit(btScalar(-1.8), btScalar(1.8));
        last = link;
    }
}

#endif
