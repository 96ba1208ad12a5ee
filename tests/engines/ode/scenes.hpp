// Scenes and comparisons for the tests of mlcp_ode.hpp.
#ifndef SCENES_HPP
#define SCENES_HPP

#include "mlcp_ode.hpp"
#include "ode_world.h"

#include <cstdio>
#include <cstdlib>
#include <functional>

#define EXPECT(condition)                                                                                                \
    do {                                                                                                                 \
        if (!(condition)) {                                                                                              \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                  \
            std::exit(1);                                                                                                \
        }                                                                                                                \
    } while (0)

namespace scenes {

using ode_world::World;
const double H = 1.0 / 60;

// Every joint type that joins two bodies, each pair an island of its own, above a floor. `exact` leaves out what Stepper
// does not do. Contacts with it: pass the floor.
inline void build_zoo(World &w, bool exact)
{
    const int kinds = exact ? 8 : 15;
    for (int k = 0; k < kinds; k++) {
        const double x = 3.0 * k, z = 1.2;
        const dBodyID a = w.box(1.0, 0.6, 0.4, 0.3, x, 0, z), b = w.box(2.0, 0.5, 0.3, 0.4, x + 0.7, 0.05 * k, z + 0.1);
        dBodySetLinearVel(a, 0.3, 0.1 * (k % 5), 0);
        dBodySetAngularVel(b, 0.5, 0.2 * (k % 5), -0.4);
        const dWorldID id = w.world;
        dJointID j = nullptr;
        switch (k) {
        case 0:
            dJointAttach(j = dJointCreateBall(id, nullptr), a, b);
            dJointSetBallAnchor(j, x + 0.35, 0, z);
            break;
        case 1:
            dJointAttach(j = dJointCreateHinge(id, nullptr), a, b);
            dJointSetHingeAnchor(j, x + 0.35, 0, z);
            dJointSetHingeAxis(j, 0.1, 1, 0.2);
            dJointSetHingeParam(j, dParamLoStop, -0.3);
            dJointSetHingeParam(j, dParamHiStop, 0.2);
            dJointSetHingeParam(j, dParamBounce, 0.3);
            break;
        case 2:
            dJointAttach(j = dJointCreateSlider(id, nullptr), a, b);
            dJointSetSliderAxis(j, 1, 0.1, 0);
            dJointSetSliderParam(j, dParamLoStop, -0.1);
            dJointSetSliderParam(j, dParamHiStop, 0.1);
            dJointSetSliderParam(j, dParamVel, 0.5);
            dJointSetSliderParam(j, dParamFMax, 5);
            break;
        case 3:
            dJointAttach(j = dJointCreateFixed(id, nullptr), a, b);
            dJointSetFixed(j);
            break;
        case 4:
            dJointAttach(j = dJointCreateUniversal(id, nullptr), a, b);
            dJointSetUniversalAnchor(j, x + 0.35, 0, z);
            dJointSetUniversalAxis2(j, 0, 0, 1); // the second first: never parallel meanwhile
            dJointSetUniversalAxis1(j, 0, 1, 0);
            dJointSetUniversalParam(j, dParamLoStop, -0.2);
            dJointSetUniversalParam(j, dParamHiStop, 0.2);
            dJointSetUniversalParam(j, dParamVel2, 1);
            dJointSetUniversalParam(j, dParamFMax2, 2);
            break;
        case 5: {
            dJointAttach(j = dJointCreateHinge2(id, nullptr), a, b);
            const dVector3 up = {0, 0, 1, 0}, side = {0, 1, 0, 0};
            dJointSetHinge2Anchor(j, x + 0.7, 0.25, z);
            dJointSetHinge2Axes(j, up, side);
            dJointSetHinge2Param(j, dParamSuspensionERP, 0.4);
            dJointSetHinge2Param(j, dParamSuspensionCFM, 1e-3);
            dJointSetHinge2Param(j, dParamVel2, 3);
            dJointSetHinge2Param(j, dParamFMax2, 1);
            break;
        }
        case 6:
            dJointAttach(j = dJointCreateAMotor(id, nullptr), a, b);
            dJointSetAMotorNumAxes(j, 2);
            dJointSetAMotorAxis(j, 0, 1, 1, 0, 0);
            dJointSetAMotorAxis(j, 1, 0, 0, 0, 1);
            dJointSetAMotorParam(j, dParamFMax, 2);
            dJointSetAMotorParam(j, dParamVel2, 1);
            dJointSetAMotorParam(j, dParamFMax2, 1);
            break;
        case 7: // to the world, attached the other way round
            dJointAttach(j = dJointCreateHinge(id, nullptr), nullptr, a);
            dJointSetHingeAnchor(j, x - 0.3, 0, z);
            dJointSetHingeAxis(j, 0, 1, 0);
            dJointSetHingeParam(j, dParamLoStop, -0.4);
            break;
        case 8: {
            dJointID ball;
            dJointAttach(ball = dJointCreateBall(id, nullptr), a, b);
            dJointSetBallAnchor(ball, x + 0.35, 0, z);
            dJointAttach(j = dJointCreateAMotor(id, nullptr), a, b);
            dJointSetAMotorMode(j, dAMotorEuler);
            dJointSetAMotorAxis(j, 0, 1, 1, 0, 0);
            dJointSetAMotorAxis(j, 2, 2, 0, 0, 1);
            dJointSetAMotorParam(j, dParamLoStop, -0.2);
            dJointSetAMotorParam(j, dParamHiStop, 0.2);
            break;
        }
        case 9:
            dJointAttach(j = dJointCreateLMotor(id, nullptr), a, b);
            dJointSetLMotorNumAxes(j, 2);
            dJointSetLMotorAxis(j, 0, 1, 1, 0, 0);
            dJointSetLMotorAxis(j, 1, 0, 0, 0, 1);
            dJointSetLMotorParam(j, dParamFMax, 3);
            dJointSetLMotorParam(j, dParamVel, 0.2);
            break;
        case 10:
            dJointAttach(j = dJointCreatePR(id, nullptr), a, b);
            dJointSetPRAnchor(j, x + 0.35, 0, z);
            dJointSetPRAxis1(j, 1, 0, 0);
            dJointSetPRAxis2(j, 0, 1, 0);
            dJointSetPRParam(j, dParamHiStop, 0.05);
            break;
        case 11:
            dJointAttach(j = dJointCreatePU(id, nullptr), a, b);
            dJointSetPUAnchor(j, x + 0.35, 0, z);
            dJointSetPUAxis2(j, 0, 0, 1);
            dJointSetPUAxis1(j, 0, 1, 0);
            dJointSetPUAxis3(j, 1, 0, 0);
            break;
        case 12:
            dJointAttach(j = dJointCreatePiston(id, nullptr), a, b);
            dJointSetPistonAnchor(j, x + 0.35, 0, z);
            dJointSetPistonAxis(j, 1, 0, 0);
            dJointSetPistonParam(j, dParamLoStop, -0.1);
            break;
        case 13:
            dJointAttach(j = dJointCreateDBall(id, nullptr), a, b);
            dJointSetDBallAnchor1(j, x + 0.2, 0, z);
            dJointSetDBallAnchor2(j, x + 0.5, 0, z);
            break;
        case 14:
            dJointAttach(j = dJointCreateDHinge(id, nullptr), a, b);
            dJointSetDHingeAxis(j, 0, 1, 0);
            dJointSetDHingeAnchor1(j, x + 0.2, 0, z);
            dJointSetDHingeAnchor2(j, x + 0.5, 0, z);
            break;
        }
        w.joints.push_back(j);
    }
}

// Largest difference of positions and quaternions.
inline double difference(const World &a, const World &b)
{
    EXPECT(a.bodies.size() == b.bodies.size());
    double most = 0.0;
    for (std::size_t i = 0; i < a.bodies.size(); i++) {
        for (int k = 0; k < 3; k++) {
            most = std::fmax(most, std::fabs(dBodyGetPosition(a.bodies[i])[k] - dBodyGetPosition(b.bodies[i])[k]));
        }
        for (int k = 0; k < 4; k++) {
            most = std::fmax(most, std::fabs(dBodyGetQuaternion(a.bodies[i])[k] - dBodyGetQuaternion(b.bodies[i])[k]));
        }
        if (!std::isfinite(dBodyGetPosition(b.bodies[i])[0])) {
            return HUGE_VAL;
        }
    }
    return most;
}

// Friction as ODE's, solved to round-off: what dWorldStep does when it does not fail.
inline mlcp::ode::Options like_ode()
{
    mlcp::ode::Options options;
    options.friction = MLCP_FRICTION_MODE_FROZEN;
    options.settings.energy_tolerance = 0.0;
    options.settings.relative_tolerance = 1e-20;
    return options;
}

} // namespace scenes

#endif
