//! The ALI3-P stepper against references of its own: pendulum and slider-crank as one-freedom equations integrated by
//! Runge and Kutta, a driven crank in closed form; the constraints on all three levels; step control; misuse.

use mlcp::mechanism::ali3p::{Model, Pattern, StepError, StepOutcome, StepSettings, Stepper, Structure};
use mlcp::{Error, Result, Status};

const G: f64 = 9.81;

/// Point masses in the plane on bars, a slot y = 0 and, if driven, a crank that turns as told. Redundant on purpose: the
/// slot is there twice.
struct Crank {
    mass: [f64; 2],
    lengths: [f64; 2],
    /// rad/s.
    drive: Option<f64>,
    /// What to write instead of the right force, once.
    sabotage: Option<f64>,
}

impl Crank {
    fn new() -> Crank {
        Crank { mass: [1.0, 2.0], lengths: [0.5, 1.2], drive: None, sabotage: None }
    }

    fn rows(&self) -> usize {
        4 + usize::from(self.drive.is_some())
    }

    fn structure(&self) -> Structure {
        let (mut start, mut columns) = (vec![0, 2, 6, 7, 8], vec![0, 1, 0, 1, 2, 3, 3, 3]);
        if self.drive.is_some() {
            start.push(10);
            columns.extend([0, 1]);
        }
        Structure {
            coordinates: 4,
            constraints: self.rows(),
            contacts: 0,
            mass: Pattern::diagonal(4),
            stiffness: Pattern::empty(4),
            damping: Pattern::empty(4),
            jacobian: Pattern::new("jacobian", self.rows(), 4, &start, &columns).unwrap(),
        }
    }

    fn at(&self, angle: f64, rate: f64) -> ([f64; 4], [f64; 4]) {
        let [a, b] = self.lengths;
        let (s, c) = angle.sin_cos();
        let root = (b * b - a * a * s * s).sqrt();
        let slide = -a * s - a * a * s * c / root;
        ([a * c, a * s, a * c + root, 0.0], [-a * s * rate, a * c * rate, slide * rate, 0.0])
    }
}

impl Model for Crank {
    fn mass(&mut self, _: f64, _: &[f64], out: &mut [f64]) -> Result<()> {
        out.copy_from_slice(&[self.mass[0], self.mass[0], self.mass[1], self.mass[1]]);
        Ok(())
    }
    fn forces(&mut self, _: f64, _: &[f64], _: &[f64], out: &mut [f64]) -> Result<()> {
        out.copy_from_slice(&[0.0, -G * self.mass[0], 0.0, -G * self.mass[1]]);
        if let Some(value) = self.sabotage {
            out[1] = value;
        }
        Ok(())
    }
    fn constraints(&mut self, t: f64, q: &[f64], out: &mut [f64]) -> Result<()> {
        let [a, b] = self.lengths;
        out[0] = q[0] * q[0] + q[1] * q[1] - a * a;
        out[1] = (q[2] - q[0]).powi(2) + (q[3] - q[1]).powi(2) - b * b;
        out[2] = q[3];
        out[3] = 3.0 * q[3];
        if let Some(w) = self.drive {
            out[4] = q[1] * (w * t).cos() - q[0] * (w * t).sin();
        }
        Ok(())
    }
    fn jacobian(&mut self, t: f64, q: &[f64], out: &mut [f64]) -> Result<()> {
        let (dx, dy) = (2.0 * (q[2] - q[0]), 2.0 * (q[3] - q[1]));
        out[..8].copy_from_slice(&[2.0 * q[0], 2.0 * q[1], -dx, -dy, dx, dy, 1.0, 3.0]);
        if let Some(w) = self.drive {
            out[8..].copy_from_slice(&[-(w * t).sin(), (w * t).cos()]);
        }
        Ok(())
    }
    fn constraint_rate(&mut self, t: f64, q: &[f64], out: &mut [f64]) -> Result<()> {
        if let Some(w) = self.drive {
            out[4] = -w * (q[1] * (w * t).sin() + q[0] * (w * t).cos());
        }
        Ok(())
    }
    fn constraint_acceleration(&mut self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) -> Result<()> {
        out[0] = 2.0 * (v[0] * v[0] + v[1] * v[1]);
        out[1] = 2.0 * ((v[2] - v[0]).powi(2) + (v[3] - v[1]).powi(2));
        if let Some(w) = self.drive {
            let (s, c) = (w * t).sin_cos();
            out[4] = -2.0 * w * (v[1] * s + v[0] * c) - w * w * (q[1] * c - q[0] * s);
        }
        Ok(())
    }
    fn potential(&mut self, _: f64, q: &[f64]) -> Result<f64> {
        Ok(G * (self.mass[0] * q[1] + self.mass[1] * q[3]))
    }
}

/// A pendulum of 1 m and 1 kg: two coordinates, one constraint.
struct Pendulum;

impl Model for Pendulum {
    fn mass(&mut self, _: f64, _: &[f64], out: &mut [f64]) -> Result<()> {
        out.fill(1.0);
        Ok(())
    }
    fn forces(&mut self, _: f64, _: &[f64], _: &[f64], out: &mut [f64]) -> Result<()> {
        out[1] = -G;
        Ok(())
    }
    fn constraints(&mut self, _: f64, q: &[f64], out: &mut [f64]) -> Result<()> {
        out[0] = 0.5 * (q[0] * q[0] + q[1] * q[1] - 1.0);
        Ok(())
    }
    fn jacobian(&mut self, _: f64, q: &[f64], out: &mut [f64]) -> Result<()> {
        out.copy_from_slice(q);
        Ok(())
    }
    fn constraint_acceleration(&mut self, _: f64, _: &[f64], v: &[f64], out: &mut [f64]) -> Result<()> {
        out[0] = v[0] * v[0] + v[1] * v[1];
        Ok(())
    }
    fn potential(&mut self, _: f64, q: &[f64]) -> Result<f64> {
        Ok(G * q[1])
    }
}

fn pendulum_structure() -> Structure {
    Structure {
        coordinates: 2,
        constraints: 1,
        contacts: 0,
        mass: Pattern::diagonal(2),
        stiffness: Pattern::empty(2),
        damping: Pattern::empty(2),
        jacobian: Pattern::full(1, 2),
    }
}

/// Angle and rate after time t by the classical Runge-Kutta method with steps of 1e-4.
fn runge_kutta(mut y: [f64; 2], t: f64, acceleration: impl Fn(f64, f64) -> f64) -> [f64; 2] {
    let steps = (t / 1e-4).round() as usize;
    let h = t / steps as f64;
    let slope = |y: [f64; 2]| [y[1], acceleration(y[0], y[1])];
    let along = |y: [f64; 2], k: [f64; 2], h: f64| [y[0] + h * k[0], y[1] + h * k[1]];
    for _ in 0..steps {
        let k1 = slope(y);
        let k2 = slope(along(y, k1, h / 2.0));
        let k3 = slope(along(y, k2, h / 2.0));
        let k4 = slope(along(y, k3, h));
        for c in 0..2 {
            y[c] += h / 6.0 * (k1[c] + 2.0 * k2[c] + 2.0 * k3[c] + k4[c]);
        }
    }
    y
}

fn settings(h: f64) -> StepSettings {
    StepSettings { h, tolerance: 1e-11, constraint_tolerance: 1e-12, ..StepSettings::default() }
}

/// Run to `t_end` and return the distance from the reference; all levels of constraints hold on the way.
fn distance(
    model: &mut dyn Model,
    structure: Structure,
    settings: StepSettings,
    start: (&[f64], &[f64]),
    t_end: f64,
    reference: &[f64],
) -> f64 {
    let mut stepper = Stepper::new(structure, settings).unwrap();
    stepper.set_state(model, 0.0, start.0, start.1).unwrap();
    while stepper.state().0 < t_end {
        let report = stepper.step(model, t_end).unwrap();
        assert_eq!(report.outcome, StepOutcome::Stepped, "{report:?}");
        assert!(report.position_violation <= 1e-10, "{report:?}");
        assert!(report.velocity_violation <= 1e-10, "{report:?}");
        assert!(report.acceleration_violation <= 1e-10, "{report:?}");
    }
    assert_eq!(stepper.state().0, t_end);
    stepper.state().1.iter().zip(reference).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// Errors with h, h/2, h/4 fall by four each.
fn expect_second_order(errors: &[f64]) {
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((1.9..2.15).contains(&order), "order {order}, errors {errors:?}");
    }
}

#[test]
fn pendulum_converges_with_second_order() {
    let angle = runge_kutta([0.0, 0.0], 2.0, |a, _| -G * a.cos())[0];
    let reference = [angle.cos(), angle.sin()];
    for spectral_radius in [None, Some(1.0), Some(0.8)] {
        let run = |h: f64| {
            let settings = StepSettings { spectral_radius, ..settings(h) };
            distance(&mut Pendulum, pendulum_structure(), settings, (&[1.0, 0.0], &[0.0, 0.0]), 2.0, &reference)
        };
        expect_second_order(&[run(0.01), run(0.005), run(0.0025)]);
    }
}

#[test]
fn slider_crank_converges_with_second_order() {
    let crank = Crank::new();
    let [a, b] = crank.lengths;
    let (m, s) = (crank.mass[0], crank.mass[1]);
    // I(θ) θ̈ + ½ I'(θ) θ̇² = -m g a cos θ with I = m a² + s (dx₂/dθ)².
    let slide = move |t: f64| -a * t.sin() - a * a * t.sin() * t.cos() / (b * b - (a * t.sin()).powi(2)).sqrt();
    let inertia = move |t: f64| m * a * a + s * slide(t).powi(2);
    let acceleration = move |t: f64, w: f64| {
        let slope = (inertia(t + 1e-5) - inertia(t - 1e-5)) / 2e-5;
        (-m * G * a * t.cos() - 0.5 * slope * w * w) / inertia(t)
    };
    let angle = runge_kutta([0.3, 2.0], 1.5, acceleration)[0];
    let reference = crank.at(angle, 0.0).0;
    let (q, v) = crank.at(0.3, 2.0);
    let run = |h: f64| distance(&mut Crank::new(), crank.structure(), settings(h), (&q, &v), 1.5, &reference);
    expect_second_order(&[run(0.005), run(0.0025), run(0.00125)]);
}

/// A crank that turns as told: positions, velocities and accelerations are known at all times.
#[test]
fn driven_crank_follows_its_drive() {
    let mut crank = Crank { drive: Some(3.0), ..Crank::new() };
    let (q, v) = crank.at(0.0, 3.0);
    let mut stepper = Stepper::new(crank.structure(), settings(0.01)).unwrap();
    stepper.set_state(&mut crank, 0.0, &q, &v).unwrap();
    for k in 1..=200 {
        let report = stepper.step(&mut crank, f64::INFINITY).unwrap();
        assert_eq!(report.outcome, StepOutcome::Stepped);
        let (t, q, v, a, _) = stepper.state();
        let (exact, rate) = crank.at(3.0 * t, 3.0);
        assert!((t - 0.01 * k as f64).abs() < 1e-12);
        for i in 0..4 {
            assert!((q[i] - exact[i]).abs() < 1e-10 && (v[i] - rate[i]).abs() < 1e-9, "{q:?} {exact:?} {v:?} {rate:?}");
        }
        for (have, angle) in [(a[0], (3.0 * t).cos()), (a[1], (3.0 * t).sin())] {
            assert!((have + 9.0 * 0.5 * angle).abs() < 1e-8, "{a:?}");
        }
    }
}

/// The trapezoidal rule neither wins nor loses energy to speak of, and the period is that of the elliptic integral.
#[test]
fn pendulum_keeps_energy_and_period() {
    let mut stepper = Stepper::new(pendulum_structure(), settings(1e-3)).unwrap();
    stepper.set_state(&mut Pendulum, 0.0, &[1.0, 0.0], &[0.0, 0.0]).unwrap();
    let (mut crossings, mut last) = (Vec::new(), (0.0, 1.0));
    for _ in 0..10_000 {
        let report = stepper.step(&mut Pendulum, f64::INFINITY).unwrap();
        assert!((report.kinetic_energy + report.potential_energy).abs() < 1e-4, "{report:?}");
        let (t, q, ..) = stepper.state();
        if last.1 * q[0] < 0.0 {
            crossings.push(last.0 + (t - last.0) * last.1 / (last.1 - q[0]));
        }
        last = (t, q[0]);
    }
    let measured = 2.0 * (crossings[crossings.len() - 1] - crossings[0]) / (crossings.len() - 1) as f64;
    // T = 2π sqrt(l/g) / agm(1, cos(θ₀/2)), released level: θ₀ = π/2.
    let (mut p, mut r) = (1.0f64, (std::f64::consts::FRAC_PI_4).cos());
    for _ in 0..8 {
        (p, r) = (0.5 * (p + r), (p * r).sqrt());
    }
    let exact = 2.0 * std::f64::consts::PI / G.sqrt() / p;
    assert!((measured / exact - 1.0).abs() < 1e-5, "{measured} {exact}");
}

/// The step follows the motion and the penalty the step; the result is as good as the tolerance asks.
#[test]
fn variable_step_and_penalty() {
    let angle = runge_kutta([0.0, 0.0], 2.0, |a, _| -G * a.cos())[0];
    let reference = [angle.cos(), angle.sin()];
    for error in [StepError::Position, StepError::Residual] {
        let settings =
            StepSettings { variable_step: true, h_min: 1e-5, h_max: 2e-2, error, max_iterations: 6, ..settings(1e-3) };
        let mut stepper = Stepper::new(pendulum_structure(), settings).unwrap();
        stepper.set_state(&mut Pendulum, 0.0, &[1.0, 0.0], &[0.0, 0.0]).unwrap();
        let mut steps = 0;
        while stepper.state().0 < 2.0 {
            let report = stepper.step(&mut Pendulum, 2.0).unwrap();
            assert_eq!(report.outcome, StepOutcome::Stepped, "{report:?}");
            assert!(report.h <= 2e-2 && report.next_h >= 1e-5 && report.position_violation <= 1e-10, "{report:?}");
            assert!((report.penalty_scale * (report.h / 1e-3).powi(2) - 1.0).abs() < 1e-12);
            steps += 1;
        }
        assert!(steps < 1000, "{steps}");
        let (_, q, ..) = stepper.state();
        let miss = (q[0] - reference[0]).hypot(q[1] - reference[1]);
        // The rule watches Newton's iteration, not the truncation: h_max has to do that.
        assert!(miss < 1e-2, "{error:?}: {miss:e} after {steps} steps");
    }
}

/// A try that fails is repeated with a smaller step; without that freedom the step is given up and nothing has changed.
#[test]
fn failed_steps_change_nothing() {
    let settings = StepSettings { h: 0.5, h_min: 1e-4, h_max: 1.0, max_iterations: 4, ..settings(0.5) };
    let mut stepper = Stepper::new(pendulum_structure(), settings).unwrap();
    stepper.set_state(&mut Pendulum, 0.0, &[1.0, 0.0], &[0.0, -4.0]).unwrap();
    let before = format!("{:?}", stepper.state());
    let report = stepper.step(&mut Pendulum, f64::INFINITY).unwrap();
    assert_eq!((report.outcome, report.rejected), (StepOutcome::Failed, 0));
    assert_eq!(format!("{:?}", stepper.state()), before);
    stepper.set_settings(StepSettings { variable_step: true, ..settings }).unwrap();
    let report = stepper.step(&mut Pendulum, f64::INFINITY).unwrap();
    assert_eq!(report.outcome, StepOutcome::Stepped);
    assert!(report.rejected > 0 && report.h < 0.5, "{report:?}");
}

/// Positions beside the constraints come back to them along the masses, velocities become tangential.
#[test]
fn projection_finds_the_constraints() {
    let mut crank = Crank::new();
    let mut stepper = Stepper::new(crank.structure(), settings(1e-3)).unwrap();
    let (mut q, mut v) = crank.at(0.7, 1.0);
    for i in 0..4 {
        q[i] += 0.02 * (i as f64 - 1.3);
        v[i] += 0.5 - 0.1 * i as f64;
    }
    let given = v;
    let left = stepper.project(&mut crank, 0.0, &mut q, &mut v, 1e-13).unwrap();
    assert!(left <= 1e-13);
    let mut phi = [0.0; 4];
    crank.constraints(0.0, &q, &mut phi).unwrap();
    assert!(phi.iter().all(|p| p.abs() <= 1e-13), "{phi:?}");
    // The change of velocity is a reaction: the admissible motion does not see it.
    let (_, free) = crank.at(q[1].atan2(q[0]), 1.0);
    let mass = [1.0, 1.0, 2.0, 2.0];
    let work: f64 = (0..4).map(|i| free[i] * mass[i] * (v[i] - given[i])).sum();
    assert!(work.abs() < 1e-10, "{work:e}");
    assert!((v[0] / free[0] - v[2] / free[2]).abs() < 1e-9 && v[3].abs() < 1e-12);
}

fn refused(result: Result<impl std::fmt::Debug>, status: Status, needle: &str) {
    let error: Error = result.unwrap_err();
    assert!(error.status() == status && error.message().contains(needle), "{error:?}");
}

#[test]
fn misuse_is_refused_and_changes_nothing() {
    let mut crank = Crank::new();
    for (bad, needle) in [
        (StepSettings { h: 0.0, ..settings(1.0) }, "settings.h is 0"),
        (StepSettings { h: -1.0, ..settings(1.0) }, "settings.h is -1"),
        (StepSettings { h: f64::NAN, ..settings(1.0) }, "settings.h is NaN"),
        (StepSettings { tolerance: 0.0, ..settings(1.0) }, "tolerance"),
        (StepSettings { variable_step: true, h_max: 0.5, ..settings(1.0) }, "between h_min and h_max"),
        (StepSettings { spectral_radius: Some(2.0), ..settings(1.0) }, "spectral_radius"),
        (StepSettings { growth: 0.5, ..settings(1.0) }, "growth"),
        (StepSettings { penalty: 0.0, ..settings(1.0) }, "penalty"),
        (StepSettings { max_iterations: 0, ..settings(1.0) }, "max_iterations"),
    ] {
        refused(Stepper::new(crank.structure(), bad).map(|_| ()), Status::InvalidValue, needle);
    }
    let mut wrong = crank.structure();
    wrong.mass = Pattern::diagonal(3);
    refused(Stepper::new(wrong, settings(0.01)).map(|_| ()), Status::InvalidSize, "mass has 3 rows");
    let mut stepper = Stepper::new(crank.structure(), settings(0.01)).unwrap();
    refused(stepper.step(&mut crank, 1.0), Status::InvalidState, "no state");
    let (q, v) = crank.at(0.3, 0.0);
    refused(stepper.set_state(&mut crank, 0.0, &q[..3], &v), Status::InvalidSize, "q has length 3");
    refused(stepper.set_state(&mut crank, f64::NAN, &q, &v), Status::InvalidValue, "t is NaN");
    stepper.set_state(&mut crank, 0.0, &q, &v).unwrap();
    let before = format!("{:?}", stepper.state());
    refused(stepper.step(&mut crank, 0.0), Status::InvalidValue, "t_end is 0");
    refused(stepper.set_penalties(Some(&[1.0; 3])), Status::InvalidSize, "penalties has length 3");
    refused(stepper.set_penalties(Some(&[1.0, -1.0, 1.0, 1.0])), Status::InvalidValue, "penalties[1] is -1");
    crank.sabotage = Some(f64::NAN);
    refused(stepper.step(&mut crank, 1.0), Status::InvalidValue, "forces[1] is NaN");
    refused(stepper.set_state(&mut crank, 1.0, &q, &v), Status::InvalidValue, "forces[1] is NaN");
    assert_eq!(format!("{:?}", stepper.state()), before);
    crank.sabotage = None;
    assert_eq!(stepper.step(&mut crank, 1.0).unwrap().outcome, StepOutcome::Stepped);
    // A coordinate without mass, in no constraint.
    let mut structure = pendulum_structure();
    structure.coordinates = 3;
    for pattern in [&mut structure.mass, &mut structure.stiffness, &mut structure.damping] {
        *pattern = Pattern::empty(3);
    }
    structure.jacobian = Pattern::new("jacobian", 1, 3, &[0, 2], &[0, 1]).unwrap();
    let mut stepper = Stepper::new(structure, settings(0.01)).unwrap();
    struct Massless;
    impl Model for Massless {
        fn mass(&mut self, _: f64, _: &[f64], _: &mut [f64]) -> Result<()> {
            Ok(())
        }
        fn forces(&mut self, _: f64, _: &[f64], _: &[f64], _: &mut [f64]) -> Result<()> {
            Ok(())
        }
        fn constraints(&mut self, _: f64, _: &[f64], _: &mut [f64]) -> Result<()> {
            Ok(())
        }
        fn jacobian(&mut self, _: f64, _: &[f64], out: &mut [f64]) -> Result<()> {
            out.fill(1.0);
            Ok(())
        }
        fn constraint_acceleration(&mut self, _: f64, _: &[f64], _: &[f64], _: &mut [f64]) -> Result<()> {
            Ok(())
        }
    }
    refused(stepper.set_state(&mut Massless, 0.0, &[0.0; 3], &[0.0; 3]), Status::Singular, "singular");
}
