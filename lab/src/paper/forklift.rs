//! A forklift that rolls over (Dopico et al.): ten bodies in natural coordinates with redundant constraints, tyres,
//! a load lifted to 3.2 m, full lock after one second at 10 km/h backwards. Sizes and masses are ours; the paper gives
//! the bodies but not their numbers.

use crate::natural::{at, Bodies, Coefficient, NaturalModel, Point, Push, Vector};
use mlcp::mechanism::ali3p::{StepOutcome, StepReport, StepSettings, Stepper};

/// Driving backwards, m/s.
const SPEED: f64 = 10.0 / 3.6;
/// x forward, y to the left, z up, origin on the ground below the middle of the front axle.
const FRONT_RADIUS: f64 = 0.35;
const REAR_RADIUS: f64 = 0.27;
const WHEELBASE: f64 = 1.45;
const TRACK: f64 = 0.8;
const REAR_TRACK: f64 = 0.8;
/// Height of the load's centre, and of its floor.
const LIFT: f64 = 3.2;
const FRICTION: f64 = 0.9;
/// A wheel whose axis is this near to upright (its sine) counts as flat.
const FLAT: f64 = 0.05;
/// Below this sliding speed (m/s) friction fades.
const SLIP: f64 = 0.3;
const LOCK: f64 = 40.0 / 57.29577951308232;
/// Largest torque on a front wheel, N m.
const TORQUE: f64 = 3000.0;

/// Bodies by name.
pub const CHASSIS: usize = 0;
const AXLE: usize = 1;
/// The right wheels, whose heights the paper draws: rear, front.
pub const RIGHT_WHEELS: [usize; 2] = [3, 5];
/// The load.
pub const LOAD: usize = 9;

/// Steering angle with its derivatives: nothing for a second, then full lock within another.
fn steering(t: f64) -> [f64; 3] {
    let s = (t - 1.0).clamp(0.0, 1.0);
    [
        LOCK * (10.0 * s.powi(3) - 15.0 * s.powi(4) + 6.0 * s.powi(5)),
        LOCK * (30.0 * s.powi(2) - 60.0 * s.powi(3) + 30.0 * s.powi(4)),
        LOCK * (60.0 * s - 180.0 * s.powi(2) + 120.0 * s.powi(3)),
    ]
}

/// Ackermann: both rear wheels turn about one point on the line of the front axle. `side`: +1 left, -1 right. Cosine and
/// sine of the wheel's angle, each with two derivatives, by differences of the closed form.
fn wheel_angle(t: f64, side: f64) -> f64 {
    let middle = steering(t)[0];
    // cot(wheel) = cot(middle) ± half track / wheelbase
    middle.sin().atan2(middle.cos() - side * 0.5 * REAR_TRACK / WHEELBASE * middle.sin())
}

fn with_derivatives(f: impl Fn(f64) -> f64, t: f64) -> [f64; 3] {
    const D: f64 = 1e-4;
    let (before, here, after) = (f(t - D), f(t), f(t + D));
    [here, (after - before) / (2.0 * D), (after - 2.0 * here + before) / (D * D)]
}

/// A wheel: body, radius, half its width, stiffness and damping of the tyre.
const WHEELS: [(usize, f64, f64, f64, f64); 4] = [
    (2, REAR_RADIUS, 0.09, 8e5, 4e3),
    (3, REAR_RADIUS, 0.09, 8e5, 4e3),
    (4, FRONT_RADIUS, 0.12, 1.2e6, 6e3),
    (5, FRONT_RADIUS, 0.12, 1.2e6, 6e3),
];

/// The wheels: body, radius, half the width.
pub fn wheels() -> impl Iterator<Item = (usize, f64, f64)> {
    WHEELS.iter().map(|&(body, radius, half, ..)| (body, radius, half))
}

/// A box of a body, in its axes, for pictures.
pub struct Shape {
    /// Whose.
    pub body: usize,
    /// Least coordinates.
    pub low: [f64; 3],
    /// Largest coordinates.
    pub high: [f64; 3],
    /// Red, green, blue.
    pub colour: [f64; 3],
}

const ORANGE: [f64; 3] = [0.95, 0.62, 0.15];
const STEEL: [f64; 3] = [0.55, 0.6, 0.68];

/// What the bodies look like: counterweight and seat, cabin, axle, masts, fork, load.
pub const SHAPES: [Shape; 9] = [
    Shape { body: CHASSIS, low: [-0.95, -0.55, -0.45], high: [-0.1, 0.55, 0.35], colour: ORANGE },
    Shape { body: CHASSIS, low: [-0.1, -0.55, -0.45], high: [0.85, 0.55, -0.1], colour: ORANGE },
    Shape { body: CHASSIS, low: [-0.75, -0.5, 1.27], high: [0.55, 0.5, 1.35], colour: STEEL },
    Shape { body: CHASSIS, low: [-0.7, -0.5, 0.35], high: [-0.62, 0.5, 1.27], colour: STEEL },
    Shape { body: AXLE, low: [-0.08, -0.4, -0.08], high: [0.08, 0.4, 0.08], colour: STEEL },
    Shape { body: 6, low: [-0.08, -0.35, -1.0], high: [0.08, 0.35, 1.0], colour: STEEL },
    Shape { body: 7, low: [-0.06, -0.3, -1.0], high: [0.06, 0.3, 1.0], colour: [0.42, 0.47, 0.55] },
    Shape { body: 8, low: [-0.25, -0.3, 0.02], high: [0.75, 0.3, 0.12], colour: [0.3, 0.33, 0.4] },
    Shape { body: LOAD, low: [-0.5; 3], high: [0.5; 3], colour: [0.35, 0.6, 0.8] },
];

/// When the machine's poses are kept, s.
pub const SNAPSHOTS: [f64; 6] = [0.0, 2.5, 3.3, 3.9, 4.3, 4.7];

/// Penetration of a point of a body into the ground: an elastic normal force, friction against sliding.
fn touch(bodies: &Bodies<'_>, point: Point, stiffness: f64, damping: f64, out: &mut Vec<Push>) {
    let depth = -bodies.position(point).z;
    if depth <= 0.0 {
        return;
    }
    let velocity = bodies.velocity(point);
    // Hunt and Crossley: no jump at touch-down, no pull at lift-off.
    let factor = 1.0 - damping / stiffness / 0.01 * velocity.z;
    let normal = stiffness * depth * factor.max(0.0);
    let sliding = velocity.x.hypot(velocity.y).hypot(SLIP);
    let drag = FRICTION * normal / sliding;
    let answers = f64::from(u8::from(factor > 0.0));
    out.push(Push {
        point,
        force: Vector::new(-drag * velocity.x, -drag * velocity.y, normal),
        stiffness: Vector::new(0.0, 0.0, answers * stiffness * factor),
        damping: Vector::new(drag, drag, answers * damping / 0.01 * depth),
    });
}

fn contacts(bodies: &Bodies<'_>, corners: &[Point], out: &mut Vec<Push>) {
    for (body, radius, half, stiffness, damping) in WHEELS {
        let (centre, axis) = (bodies.axis(body, 0), bodies.axis(body, 2));
        // The lowest point of the rim on each shoulder.
        let down = -Vector::z() + axis * axis.z;
        // A wheel that lies flat has no lowest point: its hub, without a jump on the way.
        let down = down / down.norm().hypot(FLAT);
        for side in [-half, half] {
            let lowest = bodies.fixed(body, centre + axis * side + down * radius);
            touch(bodies, lowest, stiffness / 2.0, damping / 2.0, out);
        }
    }
    for &corner in corners {
        touch(bodies, corner, 3e6, 2e4, out);
    }
}

/// The drive keeps the front wheels at their speed; a pair of forces on the wheel, and its reaction on the chassis.
fn drive_wheels(bodies: &Bodies<'_>, out: &mut Vec<Push>) {
    const ARM: f64 = 0.1;
    let end = |body: usize, side: f64| Point { body, at: Vector::new(side * ARM, 0.0, 0.0) };
    let spin = |body: usize| {
        let rate = (bodies.velocity(end(body, 1.0)) - bodies.velocity(end(body, -1.0))) / (2.0 * ARM);
        -rate.dot(&bodies.axis(body, 3))
    };
    // A differential: the mean speed is kept, both get the same torque.
    let slow = -SPEED / FRONT_RADIUS - (0.5 * (spin(4) + spin(5)) - spin(CHASSIS));
    let torque = (300.0 * slow).clamp(-TORQUE, TORQUE);
    for wheel in [4, 5] {
        for (body, sign) in [(wheel, 1.0), (CHASSIS, -1.0)] {
            for side in [1.0, -1.0] {
                let force = -bodies.axis(body, 3) * (sign * side * torque / (2.0 * ARM));
                out.push(Push { point: end(body, side), force, stiffness: Vector::zeros(), damping: Vector::zeros() });
            }
        }
    }
}

fn box_moments(mass: f64, x: f64, y: f64, z: f64) -> Vector {
    Vector::new(y * y + z * z, x * x + z * z, x * x + y * y) * (mass / 12.0)
}

fn corners(body: usize, x: [f64; 2], y: f64, z: [f64; 2]) -> Vec<Point> {
    let mut all = Vec::new();
    for x in x {
        for y in [-y, y] {
            all.extend(z.map(|z| Point { body, at: Vector::new(x, y, z) }));
        }
    }
    all
}

/// The machine, rolling backwards.
pub fn forklift() -> NaturalModel {
    let mut ground = corners(CHASSIS, [-0.95, 0.85], 0.55, [-0.45, 1.35]);
    ground.extend(corners(LOAD, [-0.5, 0.5], 0.5, [-0.5, 0.5]));
    let pushes = Box::new(move |_: f64, bodies: &Bodies<'_>, out: &mut Vec<Push>| {
        contacts(bodies, &ground, out);
        drive_wheels(bodies, out);
    });
    let mut m = NaturalModel::new(Vector::new(0.0, 0.0, -9.81), pushes);
    let back = Vector::new(-SPEED, 0.0, 0.0);
    let still = Vector::zeros();
    let rear = Vector::new(-WHEELBASE, 0.0, REAR_RADIUS);
    let chassis = m.body(3400.0, box_moments(3400.0, 1.8, 1.0, 1.0), Vector::new(-1.0, 0.0, 0.75), back, still);
    let axle = m.body(120.0, box_moments(120.0, 0.15, 0.9, 0.15), rear, back, still);
    debug_assert_eq!((chassis, axle), (CHASSIS, AXLE));
    for (side, radius, mass, x, track) in [
        (1.0, REAR_RADIUS, 25.0, -WHEELBASE, REAR_TRACK),
        (-1.0, REAR_RADIUS, 25.0, -WHEELBASE, REAR_TRACK),
        (1.0, FRONT_RADIUS, 60.0, 0.0, TRACK),
        (-1.0, FRONT_RADIUS, 60.0, 0.0, TRACK),
    ] {
        let moments = Vector::new(0.3, 0.5, 0.3) * (mass * radius * radius);
        let spin = Vector::new(0.0, -SPEED / radius, 0.0);
        m.body(mass, moments, Vector::new(x, side * track / 2.0, radius), back, spin);
    }
    let mast = Vector::new(0.45, 0.0, 1.1);
    m.body(250.0, box_moments(250.0, 0.15, 0.7, 2.0), mast, back, still);
    m.body(200.0, box_moments(200.0, 0.12, 0.6, 2.0), mast + Vector::new(0.0, 0.0, 1.2), back, still);
    m.body(120.0, box_moments(120.0, 0.9, 0.8, 0.3), Vector::new(0.75, 0.0, LIFT - 0.65), back, still);
    m.body(1600.0, box_moments(1600.0, 1.0, 1.0, 1.0), Vector::new(1.0, 0.0, LIFT), back, still);
    connect(&mut m);
    m
}

fn connect(m: &mut NaturalModel) {
    // Front wheels turn about the chassis' y, the rear axle about its x.
    for wheel in [4, 5] {
        let centre = Vector::new(m.q[12 * wheel], m.q[12 * wheel + 1], m.q[12 * wheel + 2]);
        m.coincide([wheel, CHASSIS], centre);
        m.align(wheel, 2, CHASSIS, vec![(2, Coefficient::Constant(1.0))]);
    }
    m.coincide([AXLE, CHASSIS], Vector::new(-WHEELBASE, 0.0, REAR_RADIUS));
    m.align(AXLE, 1, CHASSIS, vec![(1, Coefficient::Constant(1.0))]);
    // Rear wheels turn about an axis that is steered in the axle.
    for (wheel, side) in [(2, 1.0), (3, -1.0)] {
        let centre = Vector::new(m.q[12 * wheel], m.q[12 * wheel + 1], m.q[12 * wheel + 2]);
        m.coincide([wheel, AXLE], centre);
        let cosine = move |t: f64| with_derivatives(|t| wheel_angle(t, side).cos(), t);
        let sine = move |t: f64| with_derivatives(|t| -wheel_angle(t, side).sin(), t);
        let steered = vec![(2, Coefficient::Given(Box::new(cosine))), (1, Coefficient::Given(Box::new(sine)))];
        m.align(wheel, 2, AXLE, steered);
    }
    // Mast, upper mast, fork and load are guided: held where they are.
    for (body, to) in [(6, CHASSIS), (7, 6), (8, 7), (LOAD, 8)] {
        let centre = Vector::new(m.q[12 * body], m.q[12 * body + 1], m.q[12 * body + 2]);
        m.coincide([body, to], centre);
        m.keep_attitude(body, to);
    }
}

/// One sample of a run.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// What the step said.
    pub report: StepReport,
    /// Middle of the front axle, m.
    pub position: Vector,
    /// Heights of the right wheels' centres, rear and front, m.
    pub wheels: [f64; 2],
    /// Height of the load's lowest corner, m.
    pub load: f64,
    /// Steering angle, degrees.
    pub steering: f64,
}

/// A whole run.
pub struct Run {
    /// Every step.
    pub samples: Vec<Sample>,
    /// Did it reach the end?
    pub completed: bool,
    /// Tries that were rejected.
    pub rejected: usize,
    /// Time and positions at the first steps from [`SNAPSHOTS`] on.
    pub poses: Vec<(f64, Vec<f64>)>,
}

/// Drive for `t_end` seconds, telling the time reached now and then.
pub fn drive(settings: StepSettings, t_end: f64, mut watch: impl FnMut(f64)) -> Result<Run, mlcp::Error> {
    let mut model = forklift();
    let mut stepper = Stepper::new(model.structure(), settings)?;
    let (q, v) = (model.q.clone(), model.v.clone());
    stepper.set_state(&mut model, 0.0, &q, &v)?;
    let mut run = Run { samples: Vec::new(), completed: false, rejected: 0, poses: vec![(0.0, q.clone())] };
    let below = corners(LOAD, [-0.5, 0.5], 0.5, [-0.5, 0.5]);
    while stepper.state().0 < t_end {
        let report = stepper.step(&mut model, t_end)?;
        run.rejected += report.rejected;
        if report.outcome != StepOutcome::Stepped {
            return Ok(run);
        }
        let (t, q, v, ..) = stepper.state();
        let bodies = at(q, v);
        run.samples.push(Sample {
            report,
            position: bodies.position(Point { body: CHASSIS, at: Vector::new(1.0, 0.0, -0.4) }),
            wheels: RIGHT_WHEELS.map(|w| bodies.axis(w, 0).z),
            load: below.iter().map(|&p| bodies.position(p).z).fold(f64::INFINITY, f64::min),
            steering: steering(t)[0].to_degrees(),
        });
        if SNAPSHOTS.get(run.poses.len()).is_some_and(|&due| due <= t) {
            run.poses.push((t, q.to_vec()));
        }
        watch(t);
    }
    run.completed = true;
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mlcp::mechanism::ali3p::Model;
    use nalgebra::DMatrix;

    /// 120 coordinates, 126 constraints, eleven freedoms as in the paper: seventeen constraints are redundant.
    #[test]
    fn eleven_freedoms() {
        let mut model = forklift();
        let structure = model.structure();
        assert_eq!((structure.coordinates, structure.constraints), (120, 126));
        let mut entries = vec![0.0; structure.jacobian.entries()];
        let q = model.q.clone();
        model.jacobian(0.0, &q, &mut entries).expect("a Jacobian");
        let mut dense = DMatrix::zeros(126, 120);
        for i in 0..126 {
            structure.jacobian.row(i).for_each(|k| dense[(i, structure.jacobian.column(k))] = entries[k]);
        }
        assert_eq!(dense.singular_values().iter().filter(|s| **s > 1e-9).count(), 120 - 11);
    }
}
