/*
 * ODE's QuickStep on the same contacts, as contact joints. Timed: dWorldQuickStep with many less with few iterations (it
 * reorders the rows every eight), of a step so short that nothing moves, from the same velocities each time.
 */
#include "scale.hpp"

#include <ode/ode.h>

int main(int argc, char **argv)
{
    const Scene scene = scene_of(argc, argv);
    dInitODE2(0);
    const dWorldID world = dWorldCreate();
    dWorldSetGravity(world, 0, 0, -GRAVITY);
    dWorldSetContactMaxCorrectingVel(world, 0);
    std::vector<dBodyID> bodies;
    for (const Body &b : scene.bodies) {
        const dBodyID body = dBodyCreate(world);
        dMass mass;
        dMassSetParameters(&mass, b.mass, 0, 0, 0, b.inertia.x, b.inertia.y, b.inertia.z, 0, 0, 0);
        dBodySetMass(body, &mass);
        dBodySetPosition(body, b.at.x, b.at.y, b.at.z);
        bodies.push_back(body);
    }
    for (const Contact &c : scene.contacts) {
        dContact contact;
        memset(&contact, 0, sizeof contact);
        contact.surface.mode = dContactApprox1;
        contact.surface.mu = MU;
        const Vec from[2] = {c.at, c.normal};
        for (int k = 0; k < 3; k++) {
            contact.geom.pos[k] = (&from[0].x)[k];
            contact.geom.normal[k] = (&from[1].x)[k];
        }
        dJointAttach(dJointCreateContact(world, 0, &contact), bodies[(size_t)c.b], c.a < 0 ? 0 : bodies[(size_t)c.a]);
    }
    const int few = 8 * ((together(scene.rows()) + 7) / 8);
    Clock less, more;
    repeat([&] {
        for (Clock *clock : {&less, &more}) {
            for (size_t k = 0; k < bodies.size(); k++) {
                const Vec v = scene.velocity(scene.bodies[k]);
                dBodySetLinearVel(bodies[k], v.x, v.y, v.z);
                dBodySetAngularVel(bodies[k], 0, 0, 0);
            }
            dWorldSetQuickStepNumIterations(world, clock == &less ? 8 : 8 + few);
            clock->tick();
            dWorldQuickStep(world, 1e-6);
            clock->tick();
            clock->close(1);
        }
    });
    const double sweep = (more.best - less.best) / few;
    printf("rows %zu sweep %.4g\n", scene.rows(), 1e9 * sweep / (double)scene.rows());
    fflush(stdout);
    _Exit(0);
}
