//! Rigid bodies and their joints, in any configuration, as rows of a problem. Scenes of the lab and of the tests.

use nalgebra::{Matrix3, UnitQuaternion, Vector3};

/// A vector in space.
pub type Vector = Vector3<f64>;

/// A rigid body; its inertia is diagonal in its own axes.
#[derive(Clone, Debug)]
pub struct Body {
    /// Centre of mass, m.
    pub position: Vector,
    /// From its axes to the world's.
    pub rotation: UnitQuaternion<f64>,
    /// Of the centre of mass, m/s.
    pub velocity: Vector,
    /// Angular velocity in world axes, rad/s.
    pub spin: Vector,
    /// kg.
    pub mass: f64,
    /// kg m².
    pub inertia: Vector,
}

impl Body {
    /// A body at rest, axes along the world's.
    pub fn at_rest(position: Vector, mass: f64, inertia: Vector) -> Self {
        let rotation = UnitQuaternion::identity();
        Body { position, rotation, velocity: Vector::zeros(), spin: Vector::zeros(), mass, inertia }
    }

    /// A rod of the given mass and radius between two points, at rest; its own axes are the world's axes now, so the
    /// rod must lie along one of them.
    pub fn rod(from: Vector, to: Vector, mass: f64, radius: f64) -> Self {
        let along = to - from;
        let across = mass * (along.norm_squared() / 12.0 + radius * radius / 4.0);
        let inertia = along.map(|d| if d == 0.0 { across } else { mass * radius * radius / 2.0 });
        Body::at_rest((from + to) / 2.0, mass, inertia)
    }

    /// Inertia in world axes.
    pub fn world_inertia(&self) -> Matrix3<f64> {
        let r = self.rotation.to_rotation_matrix();
        r * Matrix3::from_diagonal(&self.inertia) * r.transpose()
    }

    /// Kinetic energy, J.
    pub fn kinetic_energy(&self) -> f64 {
        0.5 * self.mass * self.velocity.norm_squared() + 0.5 * self.spin.dot(&(self.world_inertia() * self.spin))
    }

    /// Move by a displacement and a rotation vector.
    pub fn shift(&mut self, displacement: Vector, turn: Vector) {
        self.position += displacement;
        self.rotation = UnitQuaternion::from_scaled_axis(turn) * self.rotation;
    }
}

/// What a joint forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing but rotation about an axis: 5 rows.
    Hinge,
    /// Points apart: 3 rows.
    Ball,
    /// Any relative motion: 6 rows.
    Weld,
}

/// A joint between two bodies; `None` is the world.
#[derive(Clone, Debug)]
pub struct Joint {
    /// What it forbids.
    pub kind: Kind,
    /// The bodies.
    pub bodies: [Option<usize>; 2],
    /// Its point in the axes of each body, from the centre of mass.
    point: [Vector; 2],
    /// Three axes in each body; the first is the hinge's.
    axes: [[Vector; 3]; 2],
}

/// Bodies and joints.
#[derive(Clone, Debug, Default)]
pub struct Mechanism {
    /// The bodies.
    pub bodies: Vec<Body>,
    /// The joints, in the order of their rows.
    pub joints: Vec<Joint>,
}

/// Rows as a Jacobian problem takes them.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// 12 per row.
    pub jacobian: Vec<f64>,
    /// Two per row, -1 for the world.
    pub bodies: Vec<i32>,
    /// Value of each constraint, m or rad.
    pub violation: Vec<f64>,
}

impl Rows {
    /// Add a row: linear and angular part on each body, and its value.
    pub fn push(&mut self, bodies: [Option<usize>; 2], parts: [Vector; 4], violation: f64) {
        self.jacobian.extend(parts.iter().flat_map(|p| p.iter()));
        self.bodies.extend(bodies.map(|b| b.map_or(-1, |b| b as i32)));
        self.violation.push(violation);
    }
}

impl Mechanism {
    /// Join two bodies where they are now, at a world point, about a world axis (used by hinges only).
    pub fn join(&mut self, kind: Kind, bodies: [Option<usize>; 2], point: Vector, axis: Vector) {
        let first = axis.normalize();
        // Any two across it, chosen so that an axis of the world has the others of the world.
        let helper = if first.x.abs() > 0.9 { Vector::y() } else { Vector::x() };
        let second = (helper - first * first.dot(&helper)).normalize();
        let frame = [first, second, first.cross(&second)];
        let local = |b: Option<usize>| match b {
            Some(b) => self.bodies[b].rotation.inverse_transform_vector(&(point - self.bodies[b].position)),
            None => point,
        };
        let turned = |b: Option<usize>| match b {
            Some(b) => frame.map(|a| self.bodies[b].rotation.inverse_transform_vector(&a)),
            None => frame,
        };
        self.joints.push(Joint { kind, bodies, point: bodies.map(local), axes: bodies.map(turned) });
    }

    /// Lever arm and axes of one side of a joint, in world axes, and the world point.
    fn side(&self, joint: &Joint, side: usize) -> (Vector, Vector, [Vector; 3]) {
        match joint.bodies[side] {
            Some(b) => {
                let body = &self.bodies[b];
                let lever = body.rotation * joint.point[side];
                (body.position + lever, lever, joint.axes[side].map(|a| body.rotation * a))
            }
            None => (joint.point[side], joint.point[side], joint.axes[side]),
        }
    }

    /// All rows, joint by joint: three of the point (world x, y, z), then those of the axes.
    pub fn rows(&self) -> Rows {
        let mut rows = Rows::default();
        for joint in &self.joints {
            let (p, arm_p, axes_p) = self.side(joint, 0);
            let (q, arm_q, axes_q) = self.side(joint, 1);
            for e in [Vector::x(), Vector::y(), Vector::z()] {
                rows.push(joint.bodies, [e, arm_p.cross(&e), -e, -arm_q.cross(&e)], (p - q).dot(&e));
            }
            // t of the first body stays across a of the second.
            let pairs: &[(usize, usize)] = match joint.kind {
                Kind::Ball => &[],
                Kind::Hinge => &[(1, 0), (2, 0)],
                Kind::Weld => &[(1, 0), (2, 0), (1, 2)],
            };
            for &(t, a) in pairs {
                let (t, a) = (axes_p[t], axes_q[a]);
                let turn = t.cross(&a);
                rows.push(joint.bodies, [Vector::zeros(), turn, Vector::zeros(), -turn], t.dot(&a));
            }
        }
        rows
    }

    /// 12 per body: inverse masses and inverse inertia in world axes.
    pub fn inverse_mass(&self) -> Vec<f64> {
        let mut all = Vec::new();
        for body in &self.bodies {
            all.extend([1.0 / body.mass; 3]);
            let r = body.rotation.to_rotation_matrix();
            let inverse = r * Matrix3::from_diagonal(&body.inertia.map(|i| 1.0 / i)) * r.transpose();
            all.extend(inverse.transpose().iter());
        }
        all
    }

    /// Six per body.
    pub fn velocities(&self) -> Vec<f64> {
        self.bodies.iter().flat_map(|b| b.velocity.iter().chain(b.spin.iter()).copied().collect::<Vec<_>>()).collect()
    }

    /// Gravity and gyroscopic torques, six per body.
    pub fn forces(&self, gravity: Vector) -> Vec<f64> {
        let of = |b: &Body| {
            let (force, torque) = (b.mass * gravity, -b.spin.cross(&(b.world_inertia() * b.spin)));
            [force.x, force.y, force.z, torque.x, torque.y, torque.z]
        };
        self.bodies.iter().flat_map(of).collect()
    }

    /// Semi-implicit Euler: forces over `h` and a velocity change on top, six per body each, then the new positions.
    pub fn advance(&mut self, forces: &[f64], change: &[f64], h: f64) {
        for (k, body) in self.bodies.iter_mut().enumerate() {
            let part = |from: &[f64], at: usize| Vector::from_column_slice(&from[6 * k + at..][..3]);
            let turn = body.world_inertia().try_inverse().map_or(Vector::zeros(), |i| i * part(forces, 3) * h);
            body.velocity += part(forces, 0) * (h / body.mass) + part(change, 0);
            body.spin += turn + part(change, 3);
            body.shift(body.velocity * h, body.spin * h);
        }
    }

    /// Kinetic and potential energy, J.
    pub fn energy(&self, gravity: Vector) -> f64 {
        self.bodies.iter().map(|b| b.kinetic_energy() - b.mass * gravity.dot(&b.position)).sum()
    }
}

/// Bricard's mechanism: five bars of 1 m and 1 kg and the ground make the six edges that run around a cube, hinged
/// across both neighbours at each corner. One freedom, though Gruebler counts none. Bar 0 turns about z at the origin;
/// its end, P2, begins at (1, 0, 0).
pub fn bricard() -> Mechanism {
    let corners = [[0, 0, 0], [1, 0, 0], [1, 0, 1], [1, 1, 1], [0, 1, 1], [0, 1, 0]];
    let corners = corners.map(|c| Vector::new(f64::from(c[0]), f64::from(c[1]), f64::from(c[2])));
    let axes = [Vector::z(), Vector::y(), Vector::x(), Vector::z(), Vector::y(), Vector::x()];
    let mut mechanism = Mechanism::default();
    for k in 0..5 {
        mechanism.bodies.push(Body::rod(corners[k], corners[k + 1], 1.0, 0.02));
    }
    for k in 0..6usize {
        let bodies = [k.checked_sub(1), (k < 5).then_some(k)];
        mechanism.join(Kind::Hinge, bodies, corners[k], axes[k]);
    }
    mechanism
}

/// The end of Bricard's first bar.
pub fn bricard_p2(mechanism: &Mechanism) -> Vector {
    let bar = &mechanism.bodies[0];
    bar.position + bar.rotation * Vector::new(0.5, 0.0, 0.0)
}

/// A planar four-bar in space: crank 0.4 m, coupler 1 m, rocker 0.8 m, ground 1 m, in the x-y plane, hinges about z.
/// In the plane one freedom and eight rows; out of it nine freedoms and twelve rows: three are too many.
pub fn four_bar() -> Mechanism {
    let (a, d) = (Vector::zeros(), Vector::new(1.0, 0.0, 0.0));
    let b = Vector::new(0.0, 0.4, 0.0);
    // |c - b| = 1 and |c - d| = 0.8, above the ground.
    let span = (d - b).norm();
    let along = (1.0 + span * span - 0.64) / (2.0 * span);
    let e = (d - b) / span;
    let c = b + e * along + Vector::new(-e.y, e.x, 0.0) * (1.0 - along * along).sqrt();
    let mut mechanism = Mechanism::default();
    for (p, q) in [(a, b), (b, c), (c, d)] {
        let length = (q - p).norm();
        let turn = UnitQuaternion::from_axis_angle(&Vector::z_axis(), (q - p).y.atan2((q - p).x));
        let inertia = Vector::new(1e-3, length * length / 12.0 + 1e-3, length * length / 12.0 + 1e-3);
        mechanism.bodies.push(Body { rotation: turn, ..Body::at_rest((p + q) / 2.0, 1.0, inertia) });
    }
    for (bodies, point) in
        [([None, Some(0)], a), ([Some(0), Some(1)], b), ([Some(1), Some(2)], c), ([Some(2), None], d)]
    {
        mechanism.join(Kind::Hinge, bodies, point, Vector::z());
    }
    mechanism
}

/// A sheet of side by side bodies, each hinged to its right and lower neighbour, all axes upright: a planar scissor net.
/// Out of the plane its hinges hold all bodies together; in the plane squares that turn against each other leave one motion
/// beside the three of the whole (exact elimination modulo a prime says so too): `6 side² - 7`, whatever the masses.
pub fn net(side: usize) -> Mechanism {
    let mut net = Mechanism::default();
    for k in 0..side * side {
        let at = Vector::new((k % side) as f64, (k / side) as f64, 0.0);
        net.bodies.push(Body::at_rest(at, 1.0 + (k % 7) as f64, Vector::new(0.1, 0.2, 0.3)));
    }
    for k in 0..side * side {
        let at = net.bodies[k].position;
        if k % side + 1 < side {
            net.join(Kind::Hinge, [Some(k), Some(k + 1)], at + Vector::new(0.5, 0.1, 0.0), Vector::z());
        }
        if k / side + 1 < side {
            net.join(Kind::Hinge, [Some(k), Some(k + side)], at + Vector::new(-0.1, 0.5, 0.0), Vector::z());
        }
    }
    net
}
