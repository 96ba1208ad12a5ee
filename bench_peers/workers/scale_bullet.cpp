/*
 * Bullet's sequential impulse solver, double build, on the same contacts: manifolds are filled by hand, so that no collision
 * detection differs. Two friction directions, so that it has the same three rows a contact; no split impulse, which would be
 * a second set of sweeps. Timed: its iterations, from the same velocities each time; per row that it visits.
 */
#include "scale.hpp"

#include <BulletDynamics/ConstraintSolver/btSequentialImpulseConstraintSolver.h>
#include <btBulletDynamicsCommon.h>

/* Counts the rows it was given, and those it visits: it passes over the friction of contacts without an impulse. */
struct Solver : btSequentialImpulseConstraintSolver {
    int rows = 0, visited = 0;
    Clock clock;
    btScalar solveSingleIteration(int iteration, btCollisionObject **bodies, int count, btPersistentManifold **manifolds, int contacts,
                                  btTypedConstraint **constraints, int joints, const btContactSolverInfo &info,
                                  btIDebugDraw *drawer) override
    {
        const btScalar residual = btSequentialImpulseConstraintSolver::solveSingleIteration(
            iteration, bodies, count, manifolds, contacts, constraints, joints, info, drawer);
        clock.tick();
        return residual;
    }
    btScalar solveGroupCacheFriendlyFinish(btCollisionObject **bodies, int count, const btContactSolverInfo &info) override
    {
        const btConstraintArray &contacts = m_tmpSolverContactConstraintPool, &friction = m_tmpSolverContactFrictionConstraintPool;
        rows = contacts.size() + friction.size();
        visited = contacts.size();
        for (int k = 0; k < friction.size(); k++) {
            visited += contacts[friction[k].m_frictionIndex].m_appliedImpulse > 0.0;
        }
        return btSequentialImpulseConstraintSolver::solveGroupCacheFriendlyFinish(bodies, count, info);
    }
};

int main(int argc, char **argv)
{
    const Scene scene = scene_of(argc, argv);
    btSphereShape shape(0.5);
    std::vector<btCollisionObject *> bodies;
    btRigidBody ground(btRigidBody::btRigidBodyConstructionInfo(0.0, nullptr, &shape));
    for (const Body &b : scene.bodies) {
        btRigidBody::btRigidBodyConstructionInfo info(b.mass, nullptr, &shape, btVector3(b.inertia.x, b.inertia.y, b.inertia.z));
        info.m_startWorldTransform.setOrigin(btVector3(b.at.x, b.at.y, b.at.z));
        btRigidBody *body = new btRigidBody(info);
        body->setGravity(btVector3(0, 0, -GRAVITY));
        body->applyGravity();
        bodies.push_back(body);
    }
    bodies.push_back(&ground);
    /* Contacts on one pair follow each other: they make one manifold. */
    std::vector<btPersistentManifold *> manifolds;
    const auto body = [&](int id) { return bodies[id < 0 ? bodies.size() - 1 : (size_t)id]; };
    const Contact *last = nullptr;
    for (const Contact &c : scene.contacts) {
        if (!last || last->a != c.a || last->b != c.b) {
            manifolds.push_back(new btPersistentManifold(body(c.b), body(c.a), 0, 0.02, 0.02));
        }
        last = &c;
        const btVector3 at(c.at.x, c.at.y, c.at.z), normal(c.normal.x, c.normal.y, c.normal.z);
        btManifoldPoint point(body(c.b)->getWorldTransform().invXform(at), body(c.a)->getWorldTransform().invXform(at), normal, 0.0);
        point.m_positionWorldOnA = point.m_positionWorldOnB = at;
        point.m_combinedFriction = MU;
        manifolds.back()->addManifoldPoint(point);
    }
    btContactSolverInfo info;
    info.m_timeStep = STEP;
    info.m_splitImpulse = 0;
    info.m_solverMode = SOLVER_SIMD | SOLVER_USE_2_FRICTION_DIRECTIONS;
    Solver solver;
    const int few = together(scene.rows());
    info.m_numIterations = 4 + 2 * few;
    repeat([&] {
        for (size_t k = 0; k < scene.bodies.size(); k++) {
            const Vec v = scene.velocity(scene.bodies[k]);
            btRigidBody::upcast(bodies[k])->setLinearVelocity(btVector3(v.x, v.y, v.z));
            btRigidBody::upcast(bodies[k])->setAngularVelocity(btVector3(0, 0, 0));
        }
        solver.solveGroup(bodies.data(), (int)bodies.size(), manifolds.data(), (int)manifolds.size(), nullptr, 0, info, nullptr,
                          nullptr);
        solver.clock.close(few);
    });
    printf("rows %d sweep %.4g\n", solver.rows, 1e9 * solver.clock.best / solver.visited);
    /* Thousands of small objects are left to the system. */
    fflush(stdout);
    _Exit(0);
}
