//! Contacts that the ALI3-P stepper solves as an MLCP: rest, Coulomb's law in closed form, impacts on constrained bodies,
//! redundant contacts; energy never grows. And contacts that are told wrongly.

use mlcp::mechanism::ali3p::{ContactRows, Model, Pattern, StepOutcome, StepReport, StepSettings, Stepper, Structure};
use mlcp::{Result, Settings, SolverKind, Status};

const G: f64 = 9.81;

/// Writes the contacts at a position.
type Touch = fn(&[f64], &mut ContactRows);

/// A body above the floor z = 0 (or y = 0 in the plane): unit coordinates with masses, gravity on one of them, contacts by
/// a function, and at most one constraint, a bar from the origin.
struct Scene {
    mass: Vec<f64>,
    up: usize,
    contacts: usize,
    touch: Touch,
    bar: Option<f64>,
}

impl Scene {
    fn structure(&self) -> Structure {
        let n = self.mass.len();
        let rows = usize::from(self.bar.is_some());
        Structure {
            coordinates: n,
            constraints: rows,
            contacts: self.contacts,
            mass: Pattern::diagonal(n),
            stiffness: Pattern::empty(n),
            damping: Pattern::empty(n),
            jacobian: Pattern::full(rows, n),
        }
    }
}

impl Model for Scene {
    fn mass(&mut self, _: f64, _: &[f64], out: &mut [f64]) -> Result<()> {
        out.copy_from_slice(&self.mass);
        Ok(())
    }
    fn forces(&mut self, _: f64, _: &[f64], _: &[f64], out: &mut [f64]) -> Result<()> {
        out[self.up] = -G * self.mass[self.up];
        Ok(())
    }
    fn constraints(&mut self, _: f64, q: &[f64], out: &mut [f64]) -> Result<()> {
        if let Some(length) = self.bar {
            out[0] = 0.5 * (q.iter().map(|q| q * q).sum::<f64>() - length * length);
        }
        Ok(())
    }
    fn jacobian(&mut self, _: f64, q: &[f64], out: &mut [f64]) -> Result<()> {
        out.iter_mut().zip(q).for_each(|(o, q)| *o = *q);
        Ok(())
    }
    fn constraint_acceleration(&mut self, _: f64, _: &[f64], v: &[f64], out: &mut [f64]) -> Result<()> {
        out.iter_mut().for_each(|o| *o = v.iter().map(|v| v * v).sum());
        Ok(())
    }
    fn contacts(&mut self, _: f64, q: &[f64], out: &mut ContactRows) -> Result<()> {
        (self.touch)(q, out);
        Ok(())
    }
    fn potential(&mut self, _: f64, q: &[f64]) -> Result<f64> {
        Ok(G * self.mass[self.up] * q[self.up])
    }
}

/// A ball of radius 0.1 m, friction 0.3.
fn ball(q: &[f64], out: &mut ContactRows) {
    out.gap[0] = q[2] - 0.1;
    out.normal.copy_from_slice(&[0.0, 0.0, 1.0]);
    out.tangent.copy_from_slice(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    out.friction[0] = 0.3;
}

/// A box of 0.4 m by 0.2 m in the plane, q = (x, y, angle): its four corners, friction 0.4. The second tangent is zero.
fn corners(q: &[f64], out: &mut ContactRows) {
    let (s, c) = q[2].sin_cos();
    for (k, (x, y)) in [(-0.2, -0.1), (0.2, -0.1), (0.2, 0.1), (-0.2, 0.1)].into_iter().enumerate() {
        let (across, above) = (c * x - s * y, s * x + c * y);
        out.gap[k] = q[1] + above;
        out.normal[3 * k..3 * k + 3].copy_from_slice(&[0.0, 1.0, across]);
        out.tangent[6 * k..6 * k + 3].copy_from_slice(&[1.0, 0.0, -above]);
        out.friction[k] = 0.4;
    }
}

/// A bar that turns about the origin; a floor 0.5 m below.
fn bar_end(q: &[f64], out: &mut ContactRows) {
    out.gap[0] = q[1] + 0.5;
    out.normal[1] = 1.0;
    out.tangent[0] = 1.0;
    out.friction[0] = 0.2;
}

fn settings(h: f64) -> StepSettings {
    StepSettings { h, tolerance: 1e-11, constraint_tolerance: 1e-12, ..StepSettings::default() }
}

/// Step to `t_end`; energy never grows, constraints hold on all levels, nothing penetrates, the solve is exact.
fn run(scene: &mut Scene, settings: StepSettings, q: &[f64], v: &[f64], t_end: f64) -> (Stepper, StepReport) {
    let mut stepper = Stepper::new(scene.structure(), settings).unwrap();
    stepper.set_state(scene, 0.0, q, v).unwrap();
    let kinetic: f64 = scene.mass.iter().zip(v).map(|(m, v)| 0.5 * m * v * v).sum();
    let mut energy = kinetic + scene.potential(0.0, q).unwrap();
    let mut last = StepReport::empty();
    while stepper.state().0 < t_end {
        last = stepper.step(scene, t_end).unwrap();
        assert_eq!(last.outcome, StepOutcome::Stepped);
        let now = last.kinetic_energy + last.potential_energy;
        assert!(now <= energy + 1e-9, "energy grows from {energy} to {now}: {last:?}");
        let violation = last.position_violation.max(last.velocity_violation).max(last.acceleration_violation);
        assert!(violation <= 1e-10 && last.penetration <= 1e-10 && last.contact_error <= 1e-12, "{last:?}");
        energy = now;
    }
    (stepper, last)
}

#[test]
fn ball_comes_to_rest() {
    for h in [1e-2, 1e-3] {
        let mut scene = Scene { mass: vec![2.0; 3], up: 2, contacts: 1, touch: ball, bar: None };
        let (stepper, last) = run(&mut scene, settings(h), &[0.0, 0.0, 1.1], &[0.0; 3], 1.5);
        let (_, q, v, ..) = stepper.state();
        assert!((q[2] - 0.1).abs() < 1e-12 && v.iter().all(|v| v.abs() < 1e-12), "{q:?} {v:?}");
        // What holds it: its weight, all the step long.
        let impulse = stepper.contact_impulses();
        assert!((impulse[0] / (2.0 * G * last.h) - 1.0).abs() < 1e-9, "{impulse:?}");
        assert_eq!(last.contacts, 1);
    }
}

/// A ball that does not roll, pushed at a heading of 30 degrees: friction opposes the slip, `x = v t - μ g t² / 2`, and it
/// stops after `v² / (2 μ g)`.
#[test]
fn sliding_follows_coulombs_law() {
    let (speed, mu) = (2.0, 0.3);
    let (s, c) = 30f64.to_radians().sin_cos();
    let start = [speed * c, speed * s, 0.0];
    let mut scene = Scene { mass: vec![1.0; 3], up: 2, contacts: 1, touch: ball, bar: None };
    for t in [0.1, 0.3, 0.6] {
        let (stepper, _) = run(&mut scene, settings(1e-3), &[0.0, 0.0, 0.1], &start, t);
        let (_, q, v, ..) = stepper.state();
        let (way, rate) = (speed * t - 0.5 * mu * G * t * t, speed - mu * G * t);
        assert!((q[0] - way * c).abs() < 1e-9 && (q[1] - way * s).abs() < 1e-9, "{q:?} {way}");
        assert!((v[0] - rate * c).abs() < 1e-9 && (v[1] - rate * s).abs() < 1e-9, "{v:?} {rate}");
    }
    // The last step stops within itself: an error of its order, h².
    let way = speed * speed / (2.0 * mu * G);
    for h in [1e-2, 1e-3] {
        let (stepper, _) = run(&mut scene, settings(h), &[0.0, 0.0, 0.1], &start, 1.0);
        let (_, q, v, ..) = stepper.state();
        assert!((q[0].hypot(q[1]) - way).abs() < mu * G * h * h, "{q:?} {way}");
        assert!(v.iter().all(|v| v.abs() < 1e-12), "{v:?}");
    }
}

/// A box on two corners slides, tips a little forward by friction, does not fall, and stops where Coulomb says.
#[test]
fn box_slides_and_stops() {
    let (speed, mu) = (1.5, 0.4);
    let mut scene = Scene { mass: vec![3.0, 3.0, 0.05], up: 1, contacts: 4, touch: corners, bar: None };
    let (stepper, last) = run(&mut scene, settings(1e-3), &[0.0, 0.1, 0.0], &[speed, 0.0, 0.0], 0.3);
    let (t, q, v, ..) = stepper.state();
    let (way, rate) = (speed * t - 0.5 * mu * G * t * t, speed - mu * G * t);
    assert!((q[0] - way).abs() < 1e-9 && (v[0] - rate).abs() < 1e-9, "{q:?} {way} {v:?} {rate}");
    assert!((q[1] - 0.1).abs() < 1e-10 && q[2].abs() < 1e-10 && last.contacts == 2, "{q:?}");
    // The front corner carries more: moments about the centre, 0.2 (p_front - p_rear) = 0.1 μ p.
    let p = stepper.contact_impulses();
    assert!((0.2 * (p[3] - p[0]) - 0.1 * mu * (p[0] + p[3])).abs() < 1e-9 * p[3], "{p:?}");
    let (stepper, _) = run(&mut scene, settings(1e-3), &[0.0, 0.1, 0.0], &[speed, 0.0, 0.0], 1.0);
    let (_, q, v, ..) = stepper.state();
    assert!((q[0] - speed * speed / (2.0 * mu * G)).abs() < 1e-5 && v.iter().all(|v| v.abs() < 1e-12), "{q:?} {v:?}");
}

/// A tilted box falls on one corner, rocks, and comes to rest flat; in variable steps too.
#[test]
fn box_falls_and_lies_flat() {
    let mut scene = Scene { mass: vec![3.0, 3.0, 0.05], up: 1, contacts: 4, touch: corners, bar: None };
    let variable = StepSettings { variable_step: true, h_min: 1e-5, h_max: 5e-3, ..settings(1e-3) };
    for settings in [settings(1e-3), variable] {
        let (stepper, last) = run(&mut scene, settings, &[0.0, 0.5, 0.3], &[0.2, 0.0, 0.0], 2.0);
        let (_, q, v, ..) = stepper.state();
        assert!((q[1] - 0.1).abs() < 1e-8 && q[2].abs() < 1e-8, "{q:?}");
        assert!(v.iter().all(|v| v.abs() < 1e-8) && last.contacts == 2, "{v:?}");
    }
}

/// A bar swings down on the floor: the impact acts through its joint, and the bar stays where the floor stops it.
#[test]
fn bar_swings_onto_the_floor() {
    let mut scene = Scene { mass: vec![1.0; 2], up: 1, contacts: 1, touch: bar_end, bar: Some(1.0) };
    let (stepper, _) = run(&mut scene, settings(1e-3), &[1.0, 0.0], &[0.0, 0.0], 1.5);
    let (_, q, v, ..) = stepper.state();
    assert!((q[1] + 0.5).abs() < 1e-10 && (q[0] - 0.75f64.sqrt()).abs() < 1e-10, "{q:?}");
    assert!(v.iter().all(|v| v.abs() < 1e-12), "{v:?}");
}

#[test]
fn contacts_told_wrongly_change_nothing() {
    let mut scene = Scene { mass: vec![2.0; 3], up: 2, contacts: 1, touch: ball, bar: None };
    let mut stepper = Stepper::new(scene.structure(), settings(1e-3)).unwrap();
    stepper.set_state(&mut scene, 0.0, &[0.0, 0.0, 0.1], &[0.0; 3]).unwrap();
    let before = format!("{:?}", stepper.state());
    let wrong: [(Touch, &str); 4] = [
        (|_, out| out.gap[0] = f64::NAN, "gap[0] is NaN"),
        (|_, out| out.normal[1] = f64::NAN, "contact normals[1] is NaN"),
        (|_, out| out.tangent[5] = f64::INFINITY, "contact tangents[5] is inf"),
        (|_, out| out.friction[0] = -1.0, "friction[0] is -1"),
    ];
    for (touch, sentence) in wrong {
        scene.touch = touch;
        let error = stepper.step(&mut scene, 1.0).unwrap_err();
        assert!(error.status() == Status::InvalidValue && error.message().contains(sentence), "{error:?}");
        assert_eq!(format!("{:?}", stepper.state()), before);
    }
    // A normal of zeros moves nothing: left out.
    scene.touch = |_, out| out.gap[0] = -1.0;
    assert_eq!(stepper.step(&mut scene, 1.0).unwrap().outcome, StepOutcome::Stepped);
    let refused = Settings { time_limit: -1.0, ..Settings::default() };
    assert!(stepper.set_contact_solver(Some(refused)).is_err());
    stepper.set_contact_solver(Some(Settings { solver: SolverKind::ProxGs, ..Settings::default() })).unwrap();
}
