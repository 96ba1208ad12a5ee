/*
 * mlcp_ode_rows.hpp: up to six rows of one ODE joint or contact. Inside of mlcp_ode_stepper.hpp.
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
#include "mlcp_ode.hpp"

#ifndef MLCP_ODE_ROWS_HPP
#define MLCP_ODE_ROWS_HPP

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

} // namespace detail
} // namespace ode
} // namespace mlcp

#endif
