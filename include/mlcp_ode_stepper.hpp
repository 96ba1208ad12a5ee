/*
 * mlcp_ode_stepper.hpp: stepping ODE with libmlcp through ODE's documented interface only, for builds that hide their
 * symbols. Included by mlcp_ode.hpp.
 *
 *     mlcp::ode::Stepper stepper(world);
 *     stepper.add_joint(hinge);                         // once, right after the joint was set up
 *     stepper.add_contact(contact, body1, body2);       // every step, in place of dJointCreateContact and dJointAttach
 *     stepper.step(1.0 / 60);                           // in place of dWorldStep
 *
 * Contacts, ball, hinge, slider, fixed, universal and hinge-2 joints and angular motors in user mode are supported, their
 * limits and motors included. Joints that were not added are left to ODE, which solves them by themselves after ours.
 *
 * The rows restate the formulas of ODE's joints, therefore:
 *
 *   Open Dynamics Engine
 *   Copyright (c) 2001-2007, Russell L. Smith.
 *   All rights reserved.
 *
 *   Redistribution and use in source and binary forms, with or without modification, are permitted provided that the
 *   following conditions are met:
 *
 *   Redistributions of source code must retain the above copyright notice, this list of conditions and the following
 *   disclaimer.
 *
 *   Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following
 *   disclaimer in the documentation and/or other materials provided with the distribution.
 *
 *   Neither the names of ODE's copyright owner nor the names of its contributors may be used to endorse or promote
 *   products derived from this software without specific prior written permission.
 *
 *   THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES,
 *   INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
 *   DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT OWNER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL,
 *   SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
 *   SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY,
 *   WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE
 *   OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
 *
 * The rest: MIT OR Apache-2.0.
 */
#ifndef MLCP_ODE_STEPPER_HPP
#define MLCP_ODE_STEPPER_HPP

#include "mlcp_ode.hpp"

namespace mlcp {
namespace ode {
namespace detail {

/* Up to six rows of one constraint, in ODE's units: J v = rhs + cfm lambda, lo <= lambda <= hi. */
struct Rows {
    int count;
    dBodyID body1, body2; /* body1 is never null */
    double h, erp;
    double jacobian[6][12], rhs[6], cfm[6], lo[6], hi[6];
    int findex[6];

    /* ODE keeps a joint to the world as (body, world), whichever way round it was attached. */
    Rows(dWorldID world, double h_, dBodyID first, dBodyID second)
        : count(0), body1(first ? first : second), body2(first ? second : nullptr), h(h_), erp(dWorldGetERP(world))
    {
        const double world_cfm = dWorldGetCFM(world);
        std::memset(jacobian, 0, sizeof jacobian);
        for (int i = 0; i < 6; i++) {
            rhs[i] = 0.0;
            cfm[i] = world_cfm;
            lo[i] = -dInfinity;
            hi[i] = dInfinity;
            findex[i] = -1;
        }
    }

    /* The velocity of a point along a direction, on both bodies: lever arms from the bodies' centres. */
    void point_row(int i, const dReal *direction, const dReal *arm1, const dReal *arm2)
    {
        dVector3 turn;
        dCalcVectorCross3(turn, arm1, direction);
        set(i, 0, direction, turn, 1.0);
        if (body2) {
            dCalcVectorCross3(turn, arm2, direction);
            set(i, 6, direction, turn, -1.0);
        }
    }

    /* The relative spin about an axis. */
    void spin_row(int i, const dReal *axis)
    {
        static const dVector3 none = {0, 0, 0, 0};
        set(i, 0, none, axis, 1.0);
        if (body2) {
            set(i, 6, none, axis, -1.0);
        }
    }

    void set(int i, int at, const dReal *linear, const dReal *angular, double sign)
    {
        for (int k = 0; k < 3; k++) {
            jacobian[i][at + k] = sign * linear[k];
            jacobian[i][at + 3 + k] = sign * angular[k];
        }
    }

    /* Three rows that hold two points together along three directions; anchors are world points on body 1 and 2. */
    void ball(const dReal *anchor1, const dReal *anchor2, const dReal *const direction[3], double first_erp, double other_erp)
    {
        dVector3 arm1, arm2 = {0, 0, 0, 0}, gap;
        dSubtractVectors3(arm1, anchor1, dBodyGetPosition(body1));
        if (body2) {
            dSubtractVectors3(arm2, anchor2, dBodyGetPosition(body2));
        }
        dSubtractVectors3(gap, anchor2, anchor1);
        for (int i = 0; i < 3; i++) {
            point_row(count, direction[i], arm1, arm2);
            rhs[count++] = (i == 0 ? first_erp : other_erp) / h * dCalcVectorDot3(direction[i], gap);
        }
    }

    /* Three rows that keep the relative orientation. */
    void orientation(const dReal *relative)
    {
        dQuaternion error;
        if (body2) {
            dQuaternion now;
            dQMultiply1(now, dBodyGetQuaternion(body1), dBodyGetQuaternion(body2));
            dQMultiply2(error, now, relative);
        } else {
            dQMultiply3(error, dBodyGetQuaternion(body1), relative);
        }
        const double sign = error[0] < 0 ? -1.0 : 1.0;
        const dVector3 local = {sign * error[1], sign * error[2], sign * error[3], 0};
        dVector3 turn;
        dMultiply0_331(turn, dBodyGetRotation(body1), local);
        for (int i = 0; i < 3; i++) {
            dVector3 axis = {0, 0, 0, 0};
            axis[i] = 1;
            spin_row(count, axis);
            rhs[count++] = 2.0 * erp / h * turn[i];
        }
    }

    /*
     * The row of a limit or motor along or about an axis, if there is one. A motor pushing against its stop becomes a
     * force on the bodies. get: one of dJointGet...Param, group: 0 or dParamGroup.
     */
    void limit_motor(dJointID joint, dReal (*get)(dJointID, int), int group, const dReal *axis, bool rotational, bool limited,
                     double position)
    {
        const double low = get(joint, dParamLoStop + group), high = get(joint, dParamHiStop + group);
        const double speed = get(joint, dParamVel + group), strength = get(joint, dParamFMax + group);
        const int at = !limited ? 0 : position <= low ? 1 : position >= high ? 2 : 0;
        if (!(strength > 0) && at == 0) {
            return;
        }
        const int i = count++;
        dVector3 couple = {0, 0, 0, 0}; /* keeps a slider's force from turning the pair: it acts half-way between them */
        if (rotational) {
            spin_row(i, axis);
        } else {
            if (body2) {
                dVector3 half;
                dSubtractVectors3(half, dBodyGetPosition(body2), dBodyGetPosition(body1));
                dScaleVector3(half, 0.5);
                dCalcVectorCross3(couple, half, axis);
                const dVector3 back = {-couple[0], -couple[1], -couple[2], 0};
                set(i, 6, axis, back, -1.0);
            }
            set(i, 0, axis, couple, 1.0);
        }
        if (strength > 0 && !(at && low == high)) {
            cfm[i] = get(joint, dParamCFM + group);
            if (at == 0) {
                rhs[i] = speed;
                lo[i] = -strength;
                hi[i] = strength;
            } else {
                double f = speed > 0 || (speed == 0 && at == 2) ? -strength : strength;
                if ((at == 1 && speed > 0) || (at == 2 && speed < 0)) {
                    f *= get(joint, dParamFudgeFactor + group);
                }
                push(f, axis, couple, rotational);
            }
        }
        if (at) {
            rhs[i] = -get(joint, dParamStopERP + group) / h * (position - (at == 1 ? low : high));
            cfm[i] = get(joint, dParamStopCFM + group);
            lo[i] = low == high || at == 2 ? -dInfinity : 0.0;
            hi[i] = low == high || at == 1 ? dInfinity : 0.0;
            const double bounce = get(joint, dParamBounce + group);
            if (low != high && bounce > 0) {
                double rate = dCalcVectorDot3(rotational ? dBodyGetAngularVel(body1) : dBodyGetLinearVel(body1), axis);
                if (body2) {
                    rate -= dCalcVectorDot3(rotational ? dBodyGetAngularVel(body2) : dBodyGetLinearVel(body2), axis);
                }
                if (at == 1 && rate < 0) {
                    rhs[i] = std::max(rhs[i], -bounce * rate);
                } else if (at == 2 && rate > 0) {
                    rhs[i] = std::min(rhs[i], -bounce * rate);
                }
            }
        }
    }

    void push(double f, const dReal *axis, const dReal *couple, bool rotational)
    {
        if (rotational) {
            dBodyAddTorque(body1, -f * axis[0], -f * axis[1], -f * axis[2]);
            if (body2) {
                dBodyAddTorque(body2, f * axis[0], f * axis[1], f * axis[2]);
            }
            return;
        }
        dBodyAddForce(body1, -f * axis[0], -f * axis[1], -f * axis[2]);
        if (body2) {
            dBodyAddTorque(body1, -f * couple[0], -f * couple[1], -f * couple[2]);
            dBodyAddTorque(body2, -f * couple[0], -f * couple[1], -f * couple[2]);
            dBodyAddForce(body2, f * axis[0], f * axis[1], f * axis[2]);
        }
    }

    void friction_bound(int i, double mu, bool proportional)
    {
        lo[i] = -mu;
        hi[i] = mu;
        findex[i] = proportional ? 0 : -1;
    }

    void contact(dWorldID world, const dContact &c, bool reversed)
    {
        const dSurfaceParameters &s = c.surface;
        const double sign = reversed ? -1.0 : 1.0;
        const dVector3 normal = {sign * c.geom.normal[0], sign * c.geom.normal[1], sign * c.geom.normal[2], 0};
        dVector3 arm1, arm2 = {0, 0, 0, 0}, t1, t2;
        dSubtractVectors3(arm1, c.geom.pos, dBodyGetPosition(body1));
        if (body2) {
            dSubtractVectors3(arm2, c.geom.pos, dBodyGetPosition(body2));
        }
        point_row(0, normal, arm1, arm2);
        count = 1;
        lo[0] = 0.0;
        const double depth = std::max(c.geom.depth - dWorldGetContactSurfaceLayer(world), 0.0);
        const double motion = s.mode & dContactMotionN ? s.motionN : 0.0;
        const double pushout = (s.mode & dContactSoftERP ? s.soft_erp : erp) / h * depth + motion;
        rhs[0] = std::min<double>(pushout, dWorldGetContactMaxCorrectingVel(world));
        if (s.mode & dContactBounce && s.bounce_vel >= 0) {
            const double incoming = motion - row_velocity(0);
            if (incoming > s.bounce_vel) {
                rhs[0] = std::max<double>(rhs[0], s.bounce * incoming + motion);
            }
        }
        if (s.mode & dContactSoftCFM) {
            cfm[0] = s.soft_cfm;
        }
        if (s.mode & dContactFDir1) {
            std::copy(c.fdir1, c.fdir1 + 3, t1);
            dCalcVectorCross3(t2, normal, t1);
        } else {
            dPlaneSpace(normal, t1, t2);
        }
        const double mu1 = s.mu, mu2 = s.mode & dContactMu2 ? s.mu2 : s.mu;
        const bool by_axis = (s.mode & dContactAxisDep) != 0;
        if (mu1 > 0) {
            point_row(count, t1, arm1, arm2);
            rhs[count] = s.mode & dContactMotion1 ? s.motion1 : 0.0;
            cfm[count] = s.mode & dContactSlip1 ? s.slip1 : cfm[count];
            friction_bound(count++, mu1, (s.mode & dContactApprox1_1) != 0);
        }
        /* Without axis dependence ODE has no friction row at all when the first coefficient is 0. */
        if (mu2 > 0 && (mu1 > 0 || by_axis)) {
            point_row(count, t2, arm1, arm2);
            rhs[count] = s.mode & dContactMotion2 ? s.motion2 : 0.0;
            cfm[count] = s.mode & dContactSlip2 ? s.slip2 : cfm[count];
            friction_bound(count++, mu2, (s.mode & dContactApprox1_2) != 0);
        }
        if (s.mode & dContactRolling) {
            const dReal *const axis[3] = {t1, t2, normal};
            const double rho[3] = {s.rho, by_axis ? s.rho2 : s.rho, by_axis ? s.rhoN : s.rho};
            const int approx[3] = {dContactApprox1_1, dContactApprox1_2, dContactApprox1_N};
            for (int k = 0; k < 3; k++) {
                if (rho[k] > 0) {
                    spin_row(count, axis[k]);
                    friction_bound(count++, rho[k], (s.mode & approx[k]) != 0);
                }
            }
        }
    }

    double row_velocity(int i) const
    {
        double sum = 0.0;
        for (int side = 0; side < 2; side++) {
            const dBodyID body = side ? body2 : body1;
            if (body) {
                sum += dCalcVectorDot3(&jacobian[i][6 * side], dBodyGetLinearVel(body)) +
                       dCalcVectorDot3(&jacobian[i][6 * side + 3], dBodyGetAngularVel(body));
            }
        }
        return sum;
    }
};

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

/* Steps a world through ODE's documented interface. It must not outlive the world; add and remove joints as they come. */
class Stepper {
public:
    explicit Stepper(dWorldID world, const Options &options = Options()) : solver_(options), world_(world) {}

    /*
     * Let libmlcp solve this joint from now on. Call it when anchors and axes have just been set: some of what ODE
     * remembers from then cannot be asked later. Returns false for a joint that is attached to nothing or of a type not
     * supported; ODE goes on solving it, by itself.
     */
    bool add_joint(dJointID joint)
    {
        if ((!dJointGetBody(joint, 0) && !dJointGetBody(joint, 1)) || !detail::AddedJoint::supported(joint)) {
            return false;
        }
        remove_joint(joint);
        joints_.push_back(detail::AddedJoint(joint));
        return true;
    }

    /* Before dJointDestroy, or to give the joint back to ODE. */
    void remove_joint(dJointID joint)
    {
        for (std::size_t i = 0; i < joints_.size(); i++) {
            if (joints_[i].joint == joint) {
                joints_.erase(joints_.begin() + static_cast<std::ptrdiff_t>(i));
                return;
            }
        }
    }

    /* A contact for the next step only. One of the bodies may be null: the world. */
    void add_contact(const dContact &contact, dBodyID body1, dBodyID body2)
    {
        if (body1 || body2) {
            const Contact added = {contact, body1, body2};
            contacts_.push_back(added);
        }
    }

    /* One step of h seconds, in place of dWorldStep; returns what that returns. Then the contacts are forgotten. */
    int step(dReal h)
    {
        solver_.begin();
        const detail::Clock::time_point start = detail::Clock::now();
        find_islands();
        const std::size_t parts = item_of_.size();
        detail::Workspace *const workspace = solver_.take();
        double solving = 0.0;
        for (std::size_t first = 0; first < parts;) {
            std::size_t last = first;
            while (last < parts && root(item_body_[item_of_[last]]) == root(item_body_[item_of_[first]])) {
                last++;
            }
            read(workspace->island, first, last, h);
            const detail::Clock::time_point before = detail::Clock::now();
            if (workspace->island.rows() > 0) {
                solver_.solve(*workspace);
            }
            solving += detail::seconds_since(before);
            apply(workspace->island, h);
            first = last;
        }
        solver_.give_back(workspace);
        solver_.add_adapter_seconds(detail::seconds_since(start) - solving);
        return move(h);
    }

    /* Diagnose the joints and contacts added, as a step of h seconds would see them; nothing moves. */
    Diagnosis diagnose(dReal h)
    {
        Diagnosis found;
        find_islands();
        detail::Workspace *const workspace = solver_.take();
        for (std::size_t first = 0, last = 0; first < item_of_.size(); first = last) {
            while (last < item_of_.size() && root(item_body_[item_of_[last]]) == root(item_body_[item_of_[first]])) {
                last++;
            }
            read(workspace->island, first, last, h);
            if (workspace->island.rows() > 0) {
                solver_.diagnose(*workspace, found);
            }
        }
        solver_.give_back(workspace);
        return found;
    }

    const Report &report() const { return solver_.report(); }
    const Options &options() const { return solver_.options(); }
    void set_options(const Options &options) { solver_.set_options(options); }

private:
    struct Contact {
        dContact contact;
        dBodyID body1, body2;
    };
    typedef std::pair<dBodyID, std::int32_t> Numbered;

    /* Items are joints, then contacts. */
    std::size_t items() const { return joints_.size() + contacts_.size(); }
    dBodyID item_body(std::size_t item, int side) const
    {
        if (item < joints_.size()) {
            return side ? joints_[item].body2 : joints_[item].body1;
        }
        const Contact &c = contacts_[item - joints_.size()];
        return side ? c.body2 : c.body1;
    }

    bool active(std::size_t item) const
    {
        if (item < joints_.size() && !dJointIsEnabled(joints_[item].joint)) {
            return false;
        }
        const dBodyID a = item_body(item, 0), b = item_body(item, 1);
        return (a && !dBodyIsKinematic(a)) || (b && !dBodyIsKinematic(b));
    }

    std::int32_t number(dBodyID body) const
    {
        return std::lower_bound(sorted_.begin(), sorted_.end(), Numbered(body, 0))->second;
    }

    std::size_t root(std::size_t body) const
    {
        while (parent_[body] != static_cast<std::int32_t>(body)) {
            body = parent_[body];
        }
        return body;
    }

    /* Number the bodies by first mention, join what constraints join, wake islands with a body awake, sort items by island. */
    void find_islands()
    {
        sorted_.clear();
        for (std::size_t i = 0; i < items(); i++) {
            for (int side = 0; side < 2 && active(i); side++) {
                if (item_body(i, side)) {
                    sorted_.push_back(Numbered(item_body(i, side), static_cast<std::int32_t>(sorted_.size())));
                }
            }
        }
        std::sort(sorted_.begin(), sorted_.end());
        sorted_.erase(std::unique(sorted_.begin(), sorted_.end(),
                                  [](const Numbered &a, const Numbered &b) { return a.first == b.first; }),
                      sorted_.end());
        by_mention_.assign(sorted_.begin(), sorted_.end());
        std::sort(by_mention_.begin(), by_mention_.end(),
                  [](const Numbered &a, const Numbered &b) { return a.second < b.second; });
        parent_.resize(by_mention_.size());
        awake_.assign(by_mention_.size(), 0);
        for (std::size_t k = 0; k < by_mention_.size(); k++) {
            std::lower_bound(sorted_.begin(), sorted_.end(), Numbered(by_mention_[k].first, 0))->second =
                static_cast<std::int32_t>(k);
            parent_[k] = static_cast<std::int32_t>(k);
        }
        item_of_.clear();
        item_body_.assign(items(), 0);
        for (std::size_t i = 0; i < items(); i++) {
            if (active(i)) {
                const dBodyID a = item_body(i, 0), b = item_body(i, 1);
                const std::int32_t na = number(a ? a : b);
                item_body_[i] = na;
                item_of_.push_back(i);
                if (a && b) {
                    const std::size_t ra = root(na), rb = root(number(b));
                    parent_[std::max(ra, rb)] = static_cast<std::int32_t>(std::min(ra, rb));
                }
            }
        }
        for (std::size_t k = 0; k < by_mention_.size(); k++) {
            if (dBodyIsEnabled(by_mention_[k].first)) {
                awake_[root(k)] = 1;
            }
        }
        for (std::size_t k = 0; k < by_mention_.size(); k++) {
            if (awake_[root(k)] && !dBodyIsEnabled(by_mention_[k].first)) {
                dBodyEnable(by_mention_[k].first);
            }
        }
        item_of_.erase(std::remove_if(item_of_.begin(), item_of_.end(),
                                      [this](std::size_t i) { return !awake_[root(item_body_[i])]; }),
                       item_of_.end());
        std::sort(item_of_.begin(), item_of_.end(), [this](std::size_t i, std::size_t j) {
            const std::size_t a = root(item_body_[i]), b = root(item_body_[j]);
            return a != b ? a < b : i < j;
        });
    }

    /* Rows and bodies of the island that is items first..last of item_of_. */
    void read(detail::Island &island, std::size_t first, std::size_t last, double h)
    {
        island.clear();
        local_.assign(by_mention_.size(), -1);
        for (std::size_t k = first; k < last; k++) {
            const std::size_t i = item_of_[k];
            detail::Rows rows(world_, h, item_body(i, 0), item_body(i, 1));
            const bool is_joint = i < joints_.size();
            if (is_joint) {
                joints_[i].rows(rows);
            } else {
                const Contact &c = contacts_[i - joints_.size()];
                rows.contact(world_, c.contact, !c.body1);
            }
            const Constraint constraint = {is_joint ? joints_[i].joint : nullptr, rows.body1, rows.body2, 0, 0};
            const std::size_t row =
                island.add_rows(constraint, rows.count, local(island, rows.body1), local(island, rows.body2), 0.0);
            std::copy(&rows.jacobian[0][0], &rows.jacobian[0][0] + 12 * rows.count, island.jacobian.begin() + 12 * row);
            for (int m = 0; m < rows.count; m++) {
                island.rhs_cfm[2 * (row + m)] = rows.rhs[m];
                island.rhs_cfm[2 * (row + m) + 1] = rows.cfm[m];
                island.lo_hi[2 * (row + m)] = rows.lo[m];
                island.lo_hi[2 * (row + m) + 1] = rows.hi[m];
                island.findex[row + m] = rows.findex[m];
            }
        }
        island.read_bodies(world_, h);
        island.finish_rows(h);
    }

    std::int32_t local(detail::Island &island, dBodyID body)
    {
        if (!body) {
            return -1;
        }
        std::int32_t &at = local_[number(body)];
        if (at < 0) {
            at = static_cast<std::int32_t>(island.bodies.size());
            island.bodies.push_back(body);
        }
        return at;
    }

    /* Impulses become forces on the bodies for the coming dWorldStep, and feedback. */
    void apply(const detail::Island &island, double h)
    {
        for (std::size_t c = 0; c < island.constraints.size(); c++) {
            const Constraint &constraint = island.constraints[c];
            dJointFeedback f;
            island.feedback(constraint, h, f);
            dBodyAddForce(constraint.body1, f.f1[0], f.f1[1], f.f1[2]);
            dBodyAddTorque(constraint.body1, f.t1[0], f.t1[1], f.t1[2]);
            if (constraint.body2) {
                dBodyAddForce(constraint.body2, f.f2[0], f.f2[1], f.f2[2]);
                dBodyAddTorque(constraint.body2, f.t2[0], f.t2[1], f.t2[2]);
            }
            dJointFeedback *const wanted = constraint.joint ? dJointGetFeedback(constraint.joint) : nullptr;
            if (wanted) {
                *wanted = f;
            }
        }
    }

    /* ODE moves the bodies, our joints out of the way. */
    int move(dReal h)
    {
        switched_.clear();
        for (std::size_t i = 0; i < joints_.size(); i++) {
            if (dJointIsEnabled(joints_[i].joint)) {
                dJointDisable(joints_[i].joint);
                switched_.push_back(joints_[i].joint);
            }
        }
        const int result = dWorldStep(world_, h);
        for (std::size_t i = 0; i < switched_.size(); i++) {
            dJointEnable(switched_[i]);
        }
        /* A body that ODE has just put to sleep did not move: its impulses are void. Awake neighbours keep it awake. */
        for (std::size_t k = 0; k < by_mention_.size(); k++) {
            const dBodyID body = by_mention_[k].first;
            if (awake_[root(k)] && !dBodyIsEnabled(body)) {
                dBodySetForce(body, 0, 0, 0);
                dBodySetTorque(body, 0, 0, 0);
            }
        }
        contacts_.clear();
        return result;
    }

    Solver solver_;
    dWorldID world_;
    std::vector<detail::AddedJoint> joints_;
    std::vector<Contact> contacts_;
    std::vector<Numbered> sorted_, by_mention_;
    std::vector<std::int32_t> parent_, local_, item_body_;
    std::vector<char> awake_;
    std::vector<std::size_t> item_of_;
    std::vector<dJointID> switched_;
};

} // namespace ode
} // namespace mlcp

#endif
