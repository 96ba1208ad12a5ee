/*
 * mlcp_ode_joint.hpp: an ODE joint with what ODE remembers of its set-up, and its rows. Inside of mlcp_ode_stepper.hpp.
 *
 * Licence: MIT OR Apache-2.0; the rows restate formulas of ODE, under ODE's BSD licence, whose notice is in
 * mlcp_ode_rows.hpp.
 */
#include "mlcp_ode.hpp"

#ifndef MLCP_ODE_JOINT_HPP
#define MLCP_ODE_JOINT_HPP

#include "mlcp_ode_rows.hpp"

namespace mlcp {
namespace ode {
namespace detail {

/* A joint and what ODE remembers of its set-up but does not tell: taken down when it is added. */
struct AddedJoint {
    dJointID joint;
    dJointType type;
    dBodyID body1, body2;
    bool reversed;     /* attached as (world, body) */
    dVector3 axis2;    /* hinge: its axis in body 2; slider, fixed: offset */
    dQuaternion relative;
    double sine, cosine; /* hinge-2: of the angle between the axes */

    static bool supported(dJointID joint)
    {
        switch (dJointGetType(joint)) {
        case dJointTypeBall:
        case dJointTypeHinge:
        case dJointTypeSlider:
        case dJointTypeFixed:
        case dJointTypeUniversal: return true;
        case dJointTypeHinge2: return dJointGetBody(joint, 0) && dJointGetBody(joint, 1);
        case dJointTypeAMotor: return dJointGetAMotorMode(joint) == dAMotorUser;
        default: return false;
        }
    }

    explicit AddedJoint(dJointID joint_)
        : joint(joint_), type(dJointGetType(joint_)), reversed(!dJointGetBody(joint_, 0)), sine(0), cosine(0)
    {
        body1 = dJointGetBody(joint, reversed ? 1 : 0);
        body2 = reversed ? nullptr : dJointGetBody(joint, 1);
        std::fill(axis2, axis2 + 4, 0.0);
        const dReal *const q = dBodyGetQuaternion(body1);
        if (body2) {
            dQMultiply1(relative, q, dBodyGetQuaternion(body2));
        } else {
            relative[0] = q[0];
            relative[1] = -q[1];
            relative[2] = -q[2];
            relative[3] = -q[3];
        }
        dVector3 v;
        const dReal *const p1 = dBodyGetPosition(body1);
        if (type == dJointTypeHinge) {
            dJointGetHingeAxis(joint, v);
            into(axis2, body2, v);
        } else if ((type == dJointTypeSlider || type == dJointTypeFixed) && body2) {
            dSubtractVectors3(v, p1, dBodyGetPosition(body2));
            into(axis2, type == dJointTypeSlider ? body2 : body1, v);
        } else if (type == dJointTypeSlider || type == dJointTypeFixed) {
            std::copy(p1, p1 + 3, axis2);
        } else if (type == dJointTypeHinge2) {
            dVector3 a, b, cross;
            dJointGetHinge2Axis1(joint, a);
            dJointGetHinge2Axis2(joint, b);
            dCalcVectorCross3(cross, a, b);
            sine = dCalcVectorLength3(cross);
            cosine = dCalcVectorDot3(a, b);
        }
    }

    /* A world direction in a body's axes, and back; a null body is the world. */
    static void into(dReal *out, dBodyID body, const dReal *v)
    {
        if (body) {
            dMultiply1_331(out, dBodyGetRotation(body), v);
        } else {
            std::copy(v, v + 3, out);
        }
    }
    static void out_of(dReal *out, dBodyID body, const dReal *v)
    {
        if (body) {
            dMultiply0_331(out, dBodyGetRotation(body), v);
        } else {
            std::copy(v, v + 3, out);
        }
    }

    typedef void Getter(dJointID, dVector3);

    /* Both anchors, on our body 1 and 2. */
    void anchors(Getter *first, Getter *second, dVector3 anchor1, dVector3 anchor2) const
    {
        (reversed ? second : first)(joint, anchor1);
        (reversed ? first : second)(joint, anchor2);
    }

    static bool turn_limited(dJointID joint, dReal (*get)(dJointID, int), int group)
    {
        const double low = get(joint, dParamLoStop + group), high = get(joint, dParamHiStop + group);
        return (low >= -M_PI || high <= M_PI) && low <= high;
    }

    void rows(Rows &out) const
    {
        static const dVector3 ex = {1, 0, 0, 0}, ey = {0, 1, 0, 0}, ez = {0, 0, 1, 0};
        const dReal *const world_axes[3] = {ex, ey, ez};
        dVector3 a1, a2;
        switch (type) {
        case dJointTypeBall: {
            anchors(&dJointGetBallAnchor, &dJointGetBallAnchor2, a1, a2);
            const double erp = dJointGetBallParam(joint, dParamERP);
            out.ball(a1, a2, world_axes, erp, erp);
            std::fill(out.cfm, out.cfm + 3, dJointGetBallParam(joint, dParamCFM));
            break;
        }
        case dJointTypeHinge:
            anchors(&dJointGetHingeAnchor, &dJointGetHingeAnchor2, a1, a2);
            out.ball(a1, a2, world_axes, out.erp, out.erp);
            hinge_rows(out);
            break;
        case dJointTypeUniversal:
            anchors(&dJointGetUniversalAnchor, &dJointGetUniversalAnchor2, a1, a2);
            out.ball(a1, a2, world_axes, out.erp, out.erp);
            universal_rows(out);
            break;
        case dJointTypeHinge2: hinge2_rows(out); break;
        case dJointTypeSlider: slider_rows(out); break;
        case dJointTypeFixed: fixed_rows(out); break;
        default: /* an angular motor */
            for (int i = 0; i < dJointGetAMotorNumAxes(joint); i++) {
                dJointGetAMotorAxis(joint, i, a1);
                out.limit_motor(joint, &dJointGetAMotorParam, i * 0x100, a1, true, true, dJointGetAMotorAngle(joint, i));
            }
        }
    }

    void hinge_rows(Rows &out) const
    {
        dVector3 axis, other = {0, 0, 0, 0}, p, q, turn;
        dJointGetHingeAxis(joint, axis);
        dPlaneSpace(axis, p, q);
        out_of(other, body2, axis2);
        dCalcVectorCross3(turn, axis, other);
        const dReal *const normal[2] = {p, q};
        for (int i = 0; i < 2; i++) {
            out.spin_row(out.count, normal[i]);
            out.rhs[out.count++] = out.erp / out.h * dCalcVectorDot3(turn, normal[i]);
        }
        const bool limited = turn_limited(joint, &dJointGetHingeParam, 0);
        const double angle = dJointGetHingeAngle(joint);
        out.limit_motor(joint, &dJointGetHingeParam, 0, axis, true, limited, reversed ? -angle : angle);
    }

    void universal_rows(Rows &out) const
    {
        dVector3 a, b, normal;
        (reversed ? dJointGetUniversalAxis2 : dJointGetUniversalAxis1)(joint, a);
        (reversed ? dJointGetUniversalAxis1 : dJointGetUniversalAxis2)(joint, b);
        const double cosine_now = dCalcVectorDot3(a, b);
        dVector3 square;
        dAddVectorScaledVector3(square, b, a, -cosine_now);
        dCalcVectorCross3(normal, a, square);
        dNormalize3(normal);
        out.spin_row(out.count, normal);
        out.rhs[out.count++] = -out.erp / out.h * cosine_now;
        dReal angle1, angle2;
        dJointGetUniversalAngles(joint, &angle1, &angle2);
        const double turn1 = reversed ? -angle2 : angle1, turn2 = reversed ? angle1 : angle2;
        const bool limited1 = turn_limited(joint, &dJointGetUniversalParam, 0);
        const bool limited2 = turn_limited(joint, &dJointGetUniversalParam, dParamGroup);
        out.limit_motor(joint, &dJointGetUniversalParam, 0, a, true, limited1, turn1);
        out.limit_motor(joint, &dJointGetUniversalParam, dParamGroup, b, true, limited2, turn2);
    }

    void hinge2_rows(Rows &out) const
    {
        dVector3 a, b, cross, p, q, anchor1, anchor2;
        dJointGetHinge2Axis1(joint, a);
        dJointGetHinge2Axis2(joint, b);
        anchors(&dJointGetHinge2Anchor, &dJointGetHinge2Anchor2, anchor1, anchor2);
        dPlaneSpace(a, p, q);
        const dReal *const direction[3] = {a, p, q};
        out.ball(anchor1, anchor2, direction, dJointGetHinge2Param(joint, dParamSuspensionERP), out.erp);
        out.cfm[0] = dJointGetHinge2Param(joint, dParamSuspensionCFM);
        dCalcVectorCross3(cross, a, b);
        const double sine_now = dCalcVectorLength3(cross), cosine_now = dCalcVectorDot3(a, b);
        dNormalize3(cross);
        out.spin_row(out.count, cross);
        out.rhs[out.count++] = out.erp / out.h * (cosine * sine_now - sine * cosine_now);
        const bool limited = turn_limited(joint, &dJointGetHinge2Param, 0);
        out.limit_motor(joint, &dJointGetHinge2Param, 0, a, true, limited, dJointGetHinge2Angle1(joint));
        out.limit_motor(joint, &dJointGetHinge2Param, dParamGroup, b, true, false, 0.0);
    }

    void slider_rows(Rows &out) const
    {
        out.orientation(relative);
        dVector3 axis, p, q, offset = {0, 0, 0, 0}, gap, half = {0, 0, 0, 0};
        dJointGetSliderAxis(joint, axis);
        dPlaneSpace(axis, p, q);
        out_of(offset, body2, axis2);
        dSubtractVectors3(gap, offset, dBodyGetPosition(body1));
        if (body2) {
            dSubtractVectors3(half, dBodyGetPosition(body2), dBodyGetPosition(body1));
            dAddVectors3(gap, gap, dBodyGetPosition(body2));
            dScaleVector3(half, 0.5);
        }
        const dVector3 back = {-half[0], -half[1], -half[2], 0};
        const dReal *const normal[2] = {p, q};
        for (int i = 0; i < 2; i++) {
            out.point_row(out.count, normal[i], half, back);
            out.rhs[out.count++] = out.erp / out.h * dCalcVectorDot3(normal[i], gap);
        }
        const double low = dJointGetSliderParam(joint, dParamLoStop), high = dJointGetSliderParam(joint, dParamHiStop);
        if (reversed) {
            dNegateVector3(axis);
        }
        out.limit_motor(joint, &dJointGetSliderParam, 0, axis, false, (low > -dInfinity || high < dInfinity) && low <= high,
                        dJointGetSliderPosition(joint));
    }

    void fixed_rows(Rows &out) const
    {
        dVector3 offset = {0, 0, 0, 0};
        const dReal *const p1 = dBodyGetPosition(body1);
        out_of(offset, body2 ? body1 : nullptr, axis2);
        const double erp = dJointGetFixedParam(joint, dParamERP), cfm = dJointGetFixedParam(joint, dParamCFM);
        for (int i = 0; i < 3; i++) {
            dVector3 axis = {0, 0, 0, 0}, arm = {-offset[0], -offset[1], -offset[2], 0}, none = {0, 0, 0, 0};
            axis[i] = 1;
            out.point_row(i, axis, body2 ? arm : none, none);
            out.rhs[i] = erp / out.h * (offset[i] + (body2 ? dBodyGetPosition(body2)[i] : 0.0) - p1[i]);
            out.cfm[i] = cfm;
        }
        out.count = 3;
        out.orientation(relative);
    }
};

} // namespace detail
} // namespace ode
} // namespace mlcp

#endif
