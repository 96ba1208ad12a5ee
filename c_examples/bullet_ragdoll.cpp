/*
 * bullet_ragdoll: a ragdoll of 70 kg falls on the ground and a crate of 200 kg falls on it, under Bullet's own solvers and
 * under libmlcp.
 *
 *     bullet_ragdoll [--steps N] [FILE.svg]
 *
 * The table has the columns of bullet_wall; here the gap in the worst joint matters, and the plot shows it over time.
 */
#include "bullet_compare.h"

/// A limb: a box whose joint to its parent is at its top end.
static btRigidBody *limb(BulletWorld &world, double mass, double length, double width, double x, double top)
{
    return world.box(mass, width, length, width, btVector3(btScalar(x), btScalar(top - 0.5 * length), 0));
}

static void ball(BulletWorld &world, btRigidBody *a, btRigidBody *b, double x, double y)
{
    const btVector3 pivot{btScalar(x), btScalar(y), btScalar(0)};
    btTransform on_a(btQuaternion::getIdentity(), pivot - a->getWorldTransform().getOrigin());
    btTransform on_b(btQuaternion::getIdentity(), pivot - b->getWorldTransform().getOrigin());
    on_a.getBasis().setEulerZYX(0, 0, SIMD_HALF_PI); // twist about the limb
    on_b.getBasis().setEulerZYX(0, 0, SIMD_HALF_PI);
    world.join(new btConeTwistConstraint(*a, *b, on_a, on_b))->setLimit(btScalar(0.8), btScalar(0.8), btScalar(0.5));
}

static void hinge(BulletWorld &world, btRigidBody *a, btRigidBody *b, double x, double y, double low, double high)
{
    const btVector3 pivot{btScalar(x), btScalar(y), btScalar(0)}, axis(1, 0, 0);
    world.join(new btHingeConstraint(*a, *b, pivot - a->getWorldTransform().getOrigin(),
                                     pivot - b->getWorldTransform().getOrigin(), axis, axis))
        ->setLimit(btScalar(low), btScalar(high));
}

static void ragdoll(BulletWorld &world)
{
    world.ground();
    const double floor = 0.3; // height of the feet
    btRigidBody *pelvis = world.box(12.0, 0.34, 0.2, 0.2, btVector3(0, btScalar(floor + 1.0), 0));
    btRigidBody *chest = world.box(26.0, 0.4, 0.5, 0.22, btVector3(0, btScalar(floor + 1.37), 0));
    btRigidBody *head = world.box(5.0, 0.18, 0.24, 0.2, btVector3(0, btScalar(floor + 1.76), 0));
    ball(world, pelvis, chest, 0.0, floor + 1.11);
    ball(world, chest, head, 0.0, floor + 1.63);
    for (int side = -1; side <= 1; side += 2) {
        btRigidBody *thigh = limb(world, 7.0, 0.42, 0.15, 0.11 * side, floor + 0.88);
        btRigidBody *shin = limb(world, 3.5, 0.42, 0.12, 0.11 * side, floor + 0.44);
        btRigidBody *upper_arm = limb(world, 2.0, 0.3, 0.1, 0.28 * side, floor + 1.58);
        btRigidBody *forearm = limb(world, 1.0, 0.26, 0.08, 0.28 * side, floor + 1.26);
        ball(world, pelvis, thigh, 0.11 * side, floor + 0.89);
        hinge(world, thigh, shin, 0.11 * side, floor + 0.45, -0.1, 2.2);
        ball(world, chest, upper_arm, 0.28 * side, floor + 1.59);
        hinge(world, upper_arm, forearm, 0.28 * side, floor + 1.27, -2.2, 0.1);
    }
    world.box(200.0, 1.0, 0.6, 0.6, btVector3(btScalar(0.2), btScalar(floor + 3.5), btScalar(0.1)));
}

int main(int argc, char **argv)
{
    engine_plot::Plot plot("A ragdoll under a crate: how far its joints open", "time (s)", "largest gap in a joint (m)");
    return bullet_example(argc, argv, "bullet_ragdoll", "A ragdoll under a crate of 200 kg", 300, ragdoll, plot, joint_error);
}
