/*
 * ode_world.h: what the ODE examples share: a world with a floor, boxes, contacts with friction, and a count of the
 * failures that ODE's own solver reports. Nothing here knows libmlcp.
 */
#ifndef ODE_WORLD_H
#define ODE_WORLD_H

#include <ode/ode.h>

#include <cmath>
#include <cstdarg>
#include <cstring>
#include <vector>

namespace ode_world {

/* ODE's LCP solver does not return failure, it sends a message. */
inline int &lcp_failures()
{
    static int count = 0;
    return count;
}

inline void count_message(int, const char *text, va_list)
{
    lcp_failures() += std::strncmp(text, "LCP", 3) == 0;
}

struct World {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    std::vector<dBodyID> bodies;
    std::vector<dJointID> joints;
    double mu, bounce;

    explicit World(double gravity = 9.81) : mu(0.5), bounce(0.0)
    {
        world = dWorldCreate();
        space = dHashSpaceCreate(nullptr);
        contacts = dJointGroupCreate(0);
        dWorldSetGravity(world, 0, 0, -gravity);
        dSetMessageHandler(&count_message);
    }
    virtual ~World()
    {
        dJointGroupDestroy(contacts);
        dSpaceDestroy(space);
        dWorldDestroy(world);
    }
    World(const World &) = delete;
    World &operator=(const World &) = delete;

    void floor() { dCreatePlane(space, 0, 0, 1, 0); }

    dBodyID box(double kg, double lx, double ly, double lz, double x, double y, double z, bool collides = true)
    {
        dMass mass;
        dMassSetBoxTotal(&mass, kg, lx, ly, lz);
        return body(mass, collides ? dCreateBox(space, lx, ly, lz) : nullptr, x, y, z);
    }
    dBodyID ball(double kg, double radius, double x, double y, double z)
    {
        dMass mass;
        dMassSetSphereTotal(&mass, kg, radius);
        return body(mass, dCreateSphere(space, radius), x, y, z);
    }
    dBodyID body(const dMass &mass, dGeomID geom, double x, double y, double z)
    {
        const dBodyID b = dBodyCreate(world);
        dBodySetMass(b, &mass);
        dBodySetPosition(b, x, y, z);
        if (geom) {
            dGeomSetBody(geom, b);
        }
        bodies.push_back(b);
        return b;
    }

    /* Contact joints for everything that touches. */
    void collide()
    {
        dJointGroupEmpty(contacts);
        dSpaceCollide(space, this, &near);
    }

    static void near(void *data, dGeomID a, dGeomID b)
    {
        World &self = *static_cast<World *>(data);
        const dBodyID body1 = dGeomGetBody(a), body2 = dGeomGetBody(b);
        if (body1 && body2 && dAreConnectedExcluding(body1, body2, dJointTypeContact)) {
            return;
        }
        dContact found[8];
        const int n = dCollide(a, b, 8, &found[0].geom, sizeof(dContact));
        for (int i = 0; i < n; i++) {
            found[i].surface.mode = dContactApprox1 | (self.bounce > 0 ? dContactBounce : 0);
            found[i].surface.mu = self.mu;
            found[i].surface.bounce = self.bounce;
            found[i].surface.bounce_vel = 0.1;
            self.contact(found[i], body1, body2);
        }
    }

    /* Overridden where contacts go elsewhere. */
    virtual void contact(const dContact &c, dBodyID body1, dBodyID body2)
    {
        dJointAttach(dJointCreateContact(world, contacts, &c), body1, body2);
    }

    double kinetic_energy() const
    {
        double sum = 0.0;
        for (dBodyID b : bodies) {
            dMass mass;
            dBodyGetMass(b, &mass);
            const dReal *v = dBodyGetLinearVel(b), *w = dBodyGetAngularVel(b);
            dVector3 local, momentum;
            dBodyVectorFromWorld(b, w[0], w[1], w[2], local);
            dMultiply0_331(momentum, mass.I, local);
            sum += 0.5 * mass.mass * dCalcVectorDot3(v, v) + 0.5 * dCalcVectorDot3(local, momentum);
        }
        return sum;
    }
};

/*
 * A wall of light bricks, 1.0 x 0.5 x 0.4 m: rows of three, between them rows of two, so that the ends of every other row
 * overhang by half a brick, held by what lies on them; or, interlocked, with two bricks of 1.5 m between. Rows overlap by
 * 0.1 mm, so that they touch. The exact ties everywhere are what pivoting solvers stumble on; disorder (metres) moves the
 * bricks apart by chance, and lifts them a little.
 */
inline void build_wall(World &w, int rows, double kg, bool overhanging, double disorder)
{
    unsigned random = 12345;
    for (int r = 0; r < rows; r++) {
        const int bricks = r % 2 ? 2 : 3;
        const double length = bricks == 2 && !overhanging ? 1.5 : 1.0;
        for (int i = 0; i < bricks; i++) {
            double offset[3];
            for (int k = 0; k < 3; k++) {
                random = random * 1664525u + 1013904223u;
                offset[k] = disorder * (random >> 8) / double(1 << 24);
            }
            w.box(kg * length, length, 0.5, 0.4, (i - 0.5 * (bricks - 1)) * length + offset[0], offset[1],
                  0.2 + (disorder > 0 ? 0.4 : 0.3999) * r + 0.05 * (r + 1) * offset[2]);
        }
    }
}

/* Links of 1 kg and 1 m on hinges, stretched out from a fixed point, the last one heavier; motors and limits on request. */
inline void build_chain(World &w, int links, double tip_kg, bool motors)
{
    for (int i = 0; i < links; i++) {
        const dBodyID link = w.box(i == links - 1 ? tip_kg : 1.0, 1.0, 0.2, 0.2, i + 0.5, 0, 0, false);
        const dJointID hinge = dJointCreateHinge(w.world, nullptr);
        dJointAttach(hinge, link, i > 0 ? w.bodies[w.bodies.size() - 2] : nullptr);
        dJointSetHingeAnchor(hinge, i, 0, 0);
        dJointSetHingeAxis(hinge, 0, 1, 0);
        if (motors) {
            dJointSetHingeParam(hinge, dParamLoStop, -0.5);
            dJointSetHingeParam(hinge, dParamHiStop, 0.5);
            dJointSetHingeParam(hinge, dParamFMax, i % 2 ? 20.0 : 0.0);
            dJointSetHingeParam(hinge, dParamVel, 1.0);
        }
        w.joints.push_back(hinge);
    }
}

/* Largest distance between the two halves of a hinge. */
inline double hinge_error(const World &w)
{
    double most = 0.0;
    for (dJointID j : w.joints) {
        dVector3 a, b;
        dJointGetHingeAnchor(j, a);
        dJointGetHingeAnchor2(j, b);
        most = std::fmax(most, std::sqrt(std::pow(a[0] - b[0], 2) + std::pow(a[1] - b[1], 2) + std::pow(a[2] - b[2], 2)));
    }
    return most;
}

/* How far any body is from where it was. */
inline double drift(const World &w, const std::vector<double> &start)
{
    double most = 0.0;
    for (std::size_t i = 0; i < w.bodies.size(); i++) {
        const dReal *p = dBodyGetPosition(w.bodies[i]);
        most = std::fmax(most, std::sqrt(std::pow(p[0] - start[3 * i], 2) + std::pow(p[1] - start[3 * i + 1], 2) +
                                         std::pow(p[2] - start[3 * i + 2], 2)));
    }
    return most;
}

inline std::vector<double> positions(const World &w)
{
    std::vector<double> all;
    for (dBodyID b : w.bodies) {
        all.insert(all.end(), dBodyGetPosition(b), dBodyGetPosition(b) + 3);
    }
    return all;
}

} // namespace ode_world

#endif
