//! A forklift that drives a circle (Enzenhöfer et al., section 5.3): chassis, front wheels on hinges, rear wheels on
//! knuckles that a limited motor holds at the steering angle, two contact points per wheel, rolling resistance as angular
//! friction, a torque converter and an open differential. Sizes and masses are ours; the paper gives none.

use super::quiet;
use mlcp::{Engine, Problem, Report, Settings};
use mlcp_scenes::rigid::{Body, Kind, Mechanism, Rows, Vector};
use nalgebra::UnitQuaternion;

/// Time step, s.
pub const H: f64 = 1.0 / 60.0;
/// From the middle of the front axle to the centre of the circle, m.
const TURN: f64 = 4.0;
const WHEELBASE: f64 = 1.45;
const TRACK: f64 = 0.9;
const GRAVITY: Vector = Vector::new(0.0, 0.0, -9.81);
const FRICTION: f64 = 0.8;
/// Rolling resistance: torque over radius and normal force.
const ROLLING: f64 = 0.02;
/// Of the tyres, at each point, N/m.
const STIFFNESS: f64 = 1e6;
/// Largest torque of a steering motor, N m.
const STEERING: f64 = 2000.0;
/// Torque of the converter at rest, on both wheels together, N m, and the wheel speed at which it has none, rad/s.
const STALL: f64 = 1800.0;
const FREE: f64 = 9.0;
/// Seconds until full torque.
const RAMP: f64 = 3.0;

/// Wheels: body, radius, half the width. Front left, front right, rear left, rear right.
const WHEELS: [(usize, f64, f64); 4] = [(1, 0.35, 0.12), (2, 0.35, 0.12), (5, 0.27, 0.09), (6, 0.27, 0.09)];
const KNUCKLES: [usize; 2] = [3, 4];
const JOINT_ROWS: usize = 30;
const FIRST_CONTACT: usize = JOINT_ROWS + 2;
const POINTS: usize = 8;
const FIRST_ROLLING: usize = FIRST_CONTACT + 3 * POINTS;
const ROWS: usize = FIRST_ROLLING + 4;

/// The machine with its solver.
pub struct Forklift {
    mechanism: Mechanism,
    /// Rotations of the knuckles at the start.
    steered: [UnitQuaternion<f64>; 2],
    /// Normal impulses of the last step, at every contact point.
    normals: [f64; POINTS],
    engine: Engine,
    problem: Problem,
    steps: usize,
    /// Begin a step with the last one's impulses; else with none.
    pub warm: bool,
}

/// The turn about z that points the axis of a wheel at (-WHEELBASE, y) to the centre of the circle.
fn ackermann(y: f64) -> UnitQuaternion<f64> {
    UnitQuaternion::from_axis_angle(&Vector::z_axis(), -(WHEELBASE / (TURN - y)).atan())
}

impl Forklift {
    /// At rest at the origin, heading along x.
    pub fn new(settings: Settings) -> mlcp::Result<Self> {
        let mut m = Mechanism::default();
        let moments = |mass: f64, x: f64, y: f64, z: f64| {
            Vector::new(y * y + z * z, x * x + z * z, x * x + y * y) * (mass / 12.0)
        };
        m.bodies.push(Body::at_rest(Vector::new(-0.75, 0.0, 0.6), 3000.0, moments(3000.0, 2.0, 1.0, 1.0)));
        let sides = [0.5 * TRACK, -0.5 * TRACK];
        let wheel = |mass: f64, r: f64| Vector::new(0.3, 0.5, 0.3) * (mass * r * r);
        for y in sides {
            m.bodies.push(Body::at_rest(Vector::new(0.0, y, 0.35), 60.0, wheel(60.0, 0.35)));
        }
        for (mass, inertia) in [(30.0, Vector::repeat(1.0)), (40.0, wheel(40.0, 0.27))] {
            for y in sides {
                let at = Vector::new(-WHEELBASE, y, 0.27);
                m.bodies.push(Body { rotation: ackermann(y), ..Body::at_rest(at, mass, inertia) });
            }
        }
        for front in [1, 2] {
            m.join(Kind::Hinge, [Some(0), Some(front)], m.bodies[front].position, Vector::y());
        }
        for (knuckle, wheel) in [(3, 5), (4, 6)] {
            let at = m.bodies[wheel].position;
            m.join(Kind::Hinge, [Some(0), Some(knuckle)], at, Vector::z());
            m.join(Kind::Hinge, [Some(knuckle), Some(wheel)], at, m.bodies[wheel].rotation * Vector::y());
        }
        let weight: f64 = m.bodies.iter().map(|b| -b.mass * GRAVITY.z).sum();
        let steered = KNUCKLES.map(|k| m.bodies[k].rotation);
        let normals = [weight * H / POINTS as f64; POINTS];
        Ok(Forklift {
            mechanism: m,
            steered,
            normals,
            engine: Engine::new(settings)?,
            problem: Problem::new(),
            steps: 0,
            warm: false,
        })
    }

    /// Seconds since the start.
    pub fn time(&self) -> f64 {
        self.steps as f64 * H
    }

    /// The problem of the last step, and its solution.
    pub fn solved(&self) -> (&Problem, &[f64]) {
        (&self.problem, self.engine.x())
    }

    /// Where the chassis is.
    pub fn position(&self) -> Vector {
        self.mechanism.bodies[0].position
    }

    /// Where it heads, rad.
    pub fn heading(&self) -> f64 {
        let ahead = self.mechanism.bodies[0].rotation * Vector::x();
        ahead.y.atan2(ahead.x)
    }

    /// Speeds of the wheels about their axes, rad/s: front left, front right, rear left, rear right.
    pub fn wheel_speeds(&self) -> [f64; 4] {
        WHEELS.map(|(k, ..)| {
            let wheel = &self.mechanism.bodies[k];
            wheel.spin.dot(&(wheel.rotation * Vector::y()))
        })
    }

    /// Joints, steering, contacts, rolling resistance; and which bounds they have.
    fn rows(&self) -> (Rows, Vec<f64>, Vec<f64>) {
        let bodies = &self.mechanism.bodies;
        let mut rows = self.mechanism.rows();
        let (mut lo, mut hi) = (vec![f64::NEG_INFINITY; JOINT_ROWS], vec![f64::INFINITY; JOINT_ROWS]);
        let none = Vector::zeros();
        for (k, start) in KNUCKLES.into_iter().zip(self.steered) {
            let relative = bodies[0].rotation.inverse() * bodies[k].rotation * start.inverse();
            let up = bodies[0].rotation * Vector::z();
            rows.push([Some(0), Some(k)], [none, -up, none, up], relative.scaled_axis().z);
            lo.push(-STEERING * H);
            hi.push(STEERING * H);
        }
        for (w, (k, radius, half)) in WHEELS.into_iter().enumerate() {
            let axis = bodies[k].rotation * Vector::y();
            let down = (axis * axis.z - Vector::z()).normalize();
            let along = axis.cross(&Vector::z()).normalize();
            for (p, side) in [half, -half].into_iter().enumerate() {
                let arm = axis * side + down * radius;
                let gap = bodies[k].position.z + arm.z;
                let grip = FRICTION * self.normals[2 * w + p];
                for (n, gap, least, most) in [
                    (Vector::z(), gap, 0.0, f64::INFINITY),
                    (along, 0.0, -grip, grip),
                    (Vector::z().cross(&along), 0.0, -grip, grip),
                ] {
                    rows.push([None, Some(k)], [none, none, n, arm.cross(&n)], gap);
                    lo.push(least);
                    hi.push(most);
                }
            }
        }
        for (w, (k, radius, _)) in WHEELS.into_iter().enumerate() {
            // About the line through both contact points.
            let axis = bodies[k].rotation * Vector::y();
            rows.push([None, Some(k)], [none, none, none, axis], 0.0);
            let most = ROLLING * radius * (self.normals[2 * w] + self.normals[2 * w + 1]);
            lo.push(-most);
            hi.push(most);
        }
        (rows, lo, hi)
    }

    /// Gravity, gyroscopic torques, the drive with its reaction on the chassis.
    fn forces(&self) -> Vec<f64> {
        let mut forces = self.mechanism.forces(GRAVITY);
        let speeds = self.wheel_speeds();
        let converter = STALL * (1.0 - 0.5 * (speeds[0] + speeds[1]) / FREE) * (self.time() / RAMP).min(1.0);
        for wheel in [1, 2] {
            let axis = self.mechanism.bodies[wheel].rotation * Vector::y();
            for k in 0..3 {
                forces[6 * wheel + 3 + k] += 0.5 * converter * axis[k];
                forces[3 + k] -= 0.5 * converter * axis[k];
            }
        }
        forces
    }

    /// Step once; how the solve went.
    pub fn step(&mut self) -> mlcp::Result<Report> {
        let (rows, lo, hi) = self.rows();
        // Tyres are soft along the normal; all else is as good as rigid.
        let is_normal = |i: usize| (FIRST_CONTACT..FIRST_ROLLING).contains(&i) && (i - FIRST_CONTACT).is_multiple_of(3);
        let soft = |i: usize| if is_normal(i) { 1.0 / (STIFFNESS * H * H) } else { 1e-9 };
        let compliance: Vec<f64> = (0..ROWS).map(soft).collect();
        let forces = self.forces();
        let problem = &mut self.problem;
        problem.set_jacobian(&self.mechanism.inverse_mass(), &rows.jacobian, &rows.bodies, Some(&compliance))?;
        problem.set_motion(H, &self.mechanism.velocities(), Some(&forces), Some(&rows.violation))?;
        problem.set_bounds(&lo, &hi)?;
        let start = Some(self.engine.x().to_vec()).filter(|x| self.warm && x.len() == ROWS);
        let report = quiet::solve(&mut self.engine, problem, start.as_deref())?;
        let x = self.engine.x();
        for (p, normal) in self.normals.iter_mut().enumerate() {
            *normal = x[FIRST_CONTACT + 3 * p].max(0.0);
        }
        let mut change = vec![0.0; 6 * self.mechanism.bodies.len()];
        problem.velocity_change(x, &mut change, &mut Vec::new())?;
        self.mechanism.advance(&forces, &change, H);
        self.steps += 1;
        Ok(report)
    }
}
