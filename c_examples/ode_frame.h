/*
 * ode_frame.h: an ODE step as a frame for mlcp_recorder_append_frame: bodies, contacts with their gaps, and of ball and hinge
 * joints how far their two halves are apart.
 */
#ifndef ODE_FRAME_H
#define ODE_FRAME_H

#include "mlcp.h"

#include <ode/ode.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace ode_frame {

/* A contact as it went into dJointCreateContact; a null body is the world. */
struct Touch {
    dContactGeom geom;
    double mu;
    dBodyID body1, body2;
};

/* Place in the list; -1 for the world. */
inline std::int32_t place(const std::vector<dBodyID> &bodies, dBodyID body)
{
    const std::vector<dBodyID>::const_iterator at = std::find(bodies.begin(), bodies.end(), body);
    return at == bodies.end() ? -1 : static_cast<std::int32_t>(at - bodies.begin());
}

inline mlcp_status fill_bodies(mlcp_frame *frame, dWorldID world, const std::vector<dBodyID> &all)
{
    std::vector<double> masses, inertia, positions, quaternions, velocities, forces;
    dVector3 gravity;
    dWorldGetGravity(world, gravity);
    for (dBodyID b : all) {
        dMass mass;
        dBodyGetMass(b, &mass);
        masses.push_back(mass.mass);
        for (int k = 0; k < 9; k++) {
            inertia.push_back(mass.I[4 * (k / 3) + k % 3]); /* ODE's rows have four numbers */
        }
        positions.insert(positions.end(), dBodyGetPosition(b), dBodyGetPosition(b) + 3);
        quaternions.insert(quaternions.end(), dBodyGetQuaternion(b), dBodyGetQuaternion(b) + 4);
        velocities.insert(velocities.end(), dBodyGetLinearVel(b), dBodyGetLinearVel(b) + 3);
        velocities.insert(velocities.end(), dBodyGetAngularVel(b), dBodyGetAngularVel(b) + 3);
        for (int k = 0; k < 6; k++) {
            forces.push_back(k < 3 ? mass.mass * gravity[k] + dBodyGetForce(b)[k] : dBodyGetTorque(b)[k - 3]);
        }
    }
    mlcp_bodies bodies = mlcp_bodies();
    bodies.struct_size = sizeof bodies;
    bodies.count = masses.size();
    bodies.masses = masses.data();
    bodies.inertia = inertia.data();
    bodies.positions = positions.data();
    bodies.quaternions = quaternions.data();
    bodies.velocities = velocities.data();
    bodies.forces = forces.data();
    return mlcp_frame_set_bodies(frame, &bodies);
}

/* Three rows per joint: its point on the first body less that on the second. */
inline mlcp_status fill_joints(mlcp_frame *frame, const std::vector<dBodyID> &bodies, const std::vector<dJointID> &joints)
{
    std::vector<std::int32_t> rows, pairs;
    std::vector<double> jacobian, violation;
    for (dJointID j : joints) {
        dVector3 anchors[2];
        if (dJointGetType(j) == dJointTypeBall) {
            dJointGetBallAnchor(j, anchors[0]);
            dJointGetBallAnchor2(j, anchors[1]);
        } else {
            dJointGetHingeAnchor(j, anchors[0]);
            dJointGetHingeAnchor2(j, anchors[1]);
        }
        rows.push_back(3);
        for (int i = 0; i < 2; i++) {
            pairs.push_back(place(bodies, dJointGetBody(j, i)));
        }
        for (int k = 0; k < 3; k++) {
            for (int i = 0; i < 2; i++) {
                dVector3 axis = {0, 0, 0, 0}, arm = {0, 0, 0, 0}, turn;
                axis[k] = i == 0 ? 1 : -1;
                if (dJointGetBody(j, i)) {
                    dSubtractVectors3(arm, anchors[i], dBodyGetPosition(dJointGetBody(j, i)));
                }
                dCalcVectorCross3(turn, arm, axis);
                jacobian.insert(jacobian.end(), axis, axis + 3);
                jacobian.insert(jacobian.end(), turn, turn + 3);
            }
            violation.push_back(anchors[0][k] - anchors[1][k]);
        }
    }
    const std::vector<double> lo(violation.size(), -INFINITY), hi(violation.size(), INFINITY);
    mlcp_constraints constraints = mlcp_constraints();
    constraints.struct_size = sizeof constraints;
    constraints.joints = rows.size();
    constraints.count = violation.size();
    constraints.rows = rows.data();
    constraints.pairs = pairs.data();
    constraints.jacobian = jacobian.data();
    constraints.lo = lo.data();
    constraints.hi = hi.data();
    constraints.violation = violation.data();
    return mlcp_frame_set_constraints(frame, &constraints);
}

inline mlcp_status fill_contacts(mlcp_frame *frame, const std::vector<dBodyID> &bodies, const std::vector<Touch> &touching)
{
    std::vector<std::int32_t> pairs;
    std::vector<double> gap, mu, normals, points;
    for (const Touch &t : touching) {
        pairs.push_back(place(bodies, t.body1));
        pairs.push_back(place(bodies, t.body2));
        gap.push_back(-t.geom.depth);
        mu.push_back(t.mu);
        for (int k = 0; k < 3; k++) {
            normals.push_back(-t.geom.normal[k]); /* ODE's points into the first body, ours away from it */
            points.push_back(t.geom.pos[k] - (t.body1 ? dBodyGetPosition(t.body1)[k] : 0.0));
        }
    }
    mlcp_contacts contacts = mlcp_contacts();
    contacts.struct_size = sizeof contacts;
    contacts.count = gap.size();
    contacts.pairs = pairs.data();
    contacts.gap = gap.data();
    contacts.mu = mu.data();
    contacts.normals = normals.data();
    contacts.points = points.data();
    return mlcp_frame_set_contacts(frame, &contacts);
}

/* Everything but the step's length and time. */
inline mlcp_status fill(mlcp_frame *frame, dWorldID world, const std::vector<dBodyID> &bodies, const std::vector<dJointID> &joints,
                        const std::vector<Touch> &touching)
{
    mlcp_status status = fill_bodies(frame, world, bodies);
    if (status == MLCP_STATUS_OK) {
        status = fill_joints(frame, bodies, joints);
    }
    return status == MLCP_STATUS_OK ? fill_contacts(frame, bodies, touching) : status;
}

} // namespace ode_frame

#endif
