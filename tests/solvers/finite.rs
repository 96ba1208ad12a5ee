//! Numbers of any size: no solver shows, returns or reports anything that is not finite, but errors that overflow read +inf;
//! matrices that overflow are refused where they are set; finite bounds of any size hold.

use crate::common::Random;
use mlcp::solve::Observation;
use mlcp::{Choice, Engine, FrictionMode, Outcome, Problem, Report, Settings, SolverKind, Status, Triangle};
use std::fmt::Write;

const INF: f64 = f64::INFINITY;

/// By these the matrix is multiplied, and b.
const SCALES: [f64; 11] = [1e-300, 1e-150, 1e-100, 1e-10, 1.0, 1e10, 1e100, 1e150, 1e200, 1e300, 1e307];

/// What a solve said and showed that no caller should see.
fn complaints(problem: &Problem, kind: SolverKind, choice: Choice, start: Option<&[f64]>) -> String {
    let mut found = String::new();
    let settings = Settings { solver: kind, choice, max_iterations: 60, ..Settings::default() };
    let mut engine = Engine::new(settings).unwrap();
    let mut shown = 0;
    let mut watch = |seen: &Observation<'_>| {
        shown += 1;
        let record = &seen.record;
        if seen.x.iter().any(|v| !v.is_finite()) {
            let _ = write!(found, " shown at {} x = {:?};", record.iteration, seen.x);
        }
        if record.measured && seen.w.iter().any(|v| !v.is_finite()) {
            let _ = write!(found, " shown at {} w = {:?};", record.iteration, seen.w);
        }
        for (name, v) in [("energy", record.energy_error), ("error", record.error), ("change", record.change)] {
            if v.is_nan() || v < 0.0 {
                let _ = write!(found, " shown at {} {name} {v};", record.iteration);
            }
        }
        false
    };
    let refused = engine.solve(problem, start, Some(&mut watch)).err();
    if let Some(error) = refused {
        // It says why before anything is shown.
        let about_size =
            error.status() == Status::InvalidValue && error.message().contains("overflows at x = clamp(0)");
        if shown > 0 || !(about_size || error.status() == Status::Unsupported) {
            let _ = write!(found, " {error:?};");
        }
        return found;
    }
    let report: Report = *engine.report();
    if engine.x().iter().chain(engine.w()).any(|v| !v.is_finite()) {
        let _ = write!(found, " {} x {:?} w {:?};", report.outcome.name(), engine.x(), engine.w());
    }
    let errors = [
        ("energy", report.energy_error),
        ("relative", report.relative_energy()),
        ("scale", report.energy_scale),
        ("initial", report.initial_energy_error),
        ("fischer", report.fischer_burmeister),
        ("natural", report.natural),
        ("merit", report.merit),
        ("penalized", report.penalized),
        ("gap", report.duality_gap),
        ("round-off", report.round_off),
        ("seconds", report.seconds),
    ];
    for (name, v) in errors.into_iter().chain(engine.row_errors().iter().map(|&e| ("row", e))) {
        if v.is_nan() || v < 0.0 {
            let _ = write!(found, " {} {name} {v};", report.outcome.name());
        }
    }
    let judged = if problem.has_energy() { report.energy_error } else { report.natural };
    if report.outcome == Outcome::Converged && !judged.is_finite() {
        let _ = write!(found, " converged at {judged};");
    }
    if !problem.contains(engine.x()) {
        let _ = write!(found, " x = {:?} beyond its bounds;", engine.x());
    }
    found
}

fn watch_all(problem: &Problem, what: &str, wrong: &mut Vec<String>) {
    let start: Vec<f64> = (0..problem.len()).map(|i| [1e300, -1e160, 1.0, -1e300][i % 4]).collect();
    for kind in SolverKind::ALL {
        for choice in [Settings::default().choice, Choice::Last] {
            for start in [None, Some(&start[..])] {
                let found = complaints(problem, kind, choice, start);
                if !found.is_empty() {
                    wrong.push(format!("{what}, {} {choice:?} from {start:?}:{found}", kind.name()));
                }
            }
        }
    }
}

fn nothing_is_wrong(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} of them, first:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
}

/// Symmetric, of rank 3 or more, with rows of every sort.
fn filled(size: f64, b: f64, skew: bool, random: &mut Random) -> Option<Problem> {
    const N: usize = 5;
    let j: Vec<f64> = (0..N * 3).map(|_| random.range(-1.0, 1.0)).collect();
    let mut a = vec![0.0; N * N];
    for i in 0..N {
        for k in 0..N {
            a[N * i + k] = size * (0..3).map(|c| j[3 * i + c] * j[3 * k + c]).sum::<f64>();
            if skew && i != k {
                a[N * i + k] += size * if i < k { 0.1 } else { -0.1 };
            }
        }
    }
    let mut problem = Problem::new();
    problem.set_dense(N, &a, N, Triangle::Full).ok()?;
    let b: Vec<f64> = (0..N).map(|_| b * random.range(-1.0, 1.0)).collect();
    problem.set_b(&b).ok()?;
    let far = random.pick(&[1.0, 1e10, 1e150, 8e307]);
    problem.set_bounds(&[0.0, -far, -INF, random.pick(&[0.0, far]), -INF], &[INF, far, INF, INF, INF]).unwrap();
    Some(problem)
}

#[test]
fn whatever_the_units_nobody_sees_nan() {
    let (mut random, mut wrong) = (Random::new(7), Vec::new());
    for size in SCALES {
        for b in SCALES {
            for skew in [false, true] {
                if let Some(problem) = filled(size, b, skew, &mut random) {
                    watch_all(&problem, &format!("A {size:e} b {b:e} skew {skew}"), &mut wrong);
                }
            }
        }
    }
    nothing_is_wrong(&wrong);
}

/// Rows of one problem that are far apart in size, with friction, cones and infinite coefficients.
#[test]
fn rows_of_any_size_together_and_any_friction() {
    let mut wrong = Vec::new();
    let mut random = Random::new(11);
    for case in 0..60 {
        let size: Vec<f64> = (0..6).map(|_| 10f64.powf(random.range(-70.0, 70.0))).collect();
        let mut a = [0.0; 36];
        for i in 0..6 {
            for k in 0..6 {
                a[6 * i + k] = size[i] * size[k] * if i == k { 2.001 } else { 1.0 };
            }
        }
        let b: Vec<f64> = (0..6).map(|i| size[i] * random.range(-1.0, 1.0) * [1.0, 1e60][case % 2]).collect();
        for mu in [0.5, 1e200, INF] {
            let mut problem = Problem::new();
            problem.set_dense(6, &a, 6, Triangle::Full).unwrap();
            problem.set_b(&b).unwrap();
            problem.set_bounds(&[0.0, -INF, -INF, 0.0, -INF, -INF], &[INF; 6]).unwrap();
            if case % 3 == 0 {
                problem.set_cones(&[0, 1, 2, 3, 4, 5], &[mu; 2]).unwrap();
            } else {
                problem
                    .set_friction(&[-1, 0, 0, -1, 3, 3], &[0.0, mu, mu, 0.0, mu, mu], FrictionMode::Coupled)
                    .unwrap();
            }
            watch_all(&problem, &format!("case {case} mu {mu}"), &mut wrong);
        }
    }
    nothing_is_wrong(&wrong);
}

/// A sticking contact without limit to its friction, which block pivots once left for NaN.
#[test]
fn infinite_friction_is_shown_finite() {
    let mut wrong = Vec::new();
    let mut problem = Problem::new();
    problem.set_dense(2, &[2.001, 1.0, 1.0, 2.001], 2, Triangle::Full).unwrap();
    problem.set_b(&[-0.0383, 0.4842]).unwrap();
    problem.set_bounds(&[0.0, -INF], &[INF; 2]).unwrap();
    problem.set_friction(&[-1, 0], &[0.0, INF], FrictionMode::Coupled).unwrap();
    watch_all(&problem, "infinite friction", &mut wrong);
    nothing_is_wrong(&wrong);
}

#[test]
fn finite_bounds_of_any_size_hold() {
    let mut problem = Problem::new();
    // x = 1e12 without bounds.
    problem.set_dense(1, &[1.0], 1, Triangle::Full).unwrap();
    for (b, lo, hi, wanted) in [
        (-1e12, 0.0, 2e10, 2e10),
        (-1e12, 1.1e11, INF, 1e12),
        (-1e10, 1.1e11, INF, 1.1e11),
        (1e12, -2e10, INF, -2e10),
        (-1e104, -1e100, 1e100, 1e100),
        (-1e-3, -1e10, 1e10, 1e-3),
    ] {
        problem.set_b(&[b]).unwrap();
        problem.set_bounds(&[lo], &[hi]).unwrap();
        for kind in SolverKind::ALL {
            let mut engine = Engine::new(Settings { solver: kind, ..Settings::default() }).unwrap();
            let report = *engine.solve(&problem, None, None).unwrap();
            let (x, about) = (engine.x()[0], format!("{} b {b:e} in {lo:e} {hi:e}", kind.name()));
            assert!((x - wanted).abs() <= 1e-4 * wanted.abs(), "{about}: x = {x:e}, {}", report.outcome.name());
            // At a bound this far out the round-off in w alone may exceed the tolerance.
            assert!(
                report.outcome == Outcome::Converged || report.energy_error == 0.0,
                "{about}: {:?}",
                report.outcome
            );
        }
    }
    let refused = |lo: f64, hi: f64, needle: &str| {
        let mut problem = Problem::new();
        problem.set_dense(1, &[1.0], 1, Triangle::Full).unwrap();
        let sentence = problem.set_bounds(&[lo], &[hi]).unwrap_err().message().to_string();
        assert!(sentence.contains(needle), "{sentence}");
    };
    refused(-f64::MAX, f64::MAX, "hi[0] - lo[0]");
    refused(INF, INF, "lo[0] is inf");
    refused(-INF, -INF, "hi[0] is -inf");
    refused(f64::NAN, 1.0, "lo[0] is NaN");
    refused(2e10, 1e10, "lies above");
}

/// The first point of all is the one nearest to zero: if its velocities overflow, no other has been found.
#[test]
fn a_problem_that_overflows_at_its_bounds_is_refused() {
    let mut problem = Problem::new();
    problem.set_dense(2, &[1e10, 0.0, 0.0, 1e10], 2, Triangle::Full).unwrap();
    problem.set_bounds(&[-1.0, 1e300], &[INF; 2]).unwrap();
    for kind in SolverKind::ALL {
        let mut engine = Engine::new(Settings { solver: kind, ..Settings::default() }).unwrap();
        let error = engine.solve(&problem, None, None).unwrap_err();
        assert_eq!(error.status(), Status::InvalidValue, "{}", kind.name());
        assert_eq!(error.message(), "w[1] overflows at x = clamp(0), with 1e300 in that row");
    }
}

/// Rows whose products overflow are refused by name, and the problem stays what it was.
#[test]
fn rows_that_overflow_are_refused() {
    let mut mass = [0.0; 12];
    for k in [0, 1, 2, 3, 7, 11] {
        mass[k] = 1.0;
    }
    let row = |v: f64| {
        let mut row = [0.0; 24];
        (row[0], row[12], row[18]) = (1.0, v, 0.0);
        row
    };
    let mut problem = Problem::new();
    problem.set_jacobian(&mass, &row(3.0), &[0, -1, 0, -1], None).unwrap();
    let before = problem.diagonal().to_vec();
    let heavy = mass.map(|m| 1e200 * m);
    let mut halves = row(1e308);
    halves[18] = 1e308;
    for (mass, rows, bodies, compliance) in [
        (&mass, row(1e155), [0, -1, 0, -1], None),
        (&heavy, row(1e60), [0, -1, 0, -1], None),
        (&mass, halves, [0, -1, 0, 0], None),
        (&mass, row(1.3e154), [0, -1, 0, -1], Some([0.0, 1.7e308])),
    ] {
        let error = problem.set_jacobian(mass, &rows, &bodies, compliance.as_ref().map(|c| &c[..])).unwrap_err();
        assert_eq!(error.status(), Status::InvalidValue);
        assert!(error.message().contains("jacobian[12]") && error.message().contains("overflows"), "{error}");
        assert_eq!(problem.diagonal(), before);
        assert_eq!(problem.operator().entry(0, 1), 3.0);
    }
    // As large as can be.
    problem.set_jacobian(&mass, &row(1e153), &[0, -1, 0, -1], None).unwrap();
    problem.set_jacobian(&heavy, &row(1e53), &[0, -1, 0, -1], None).unwrap();
    problem.set_jacobian(&mass, &row(0.0), &[0, -1, 0, -1], Some(&[1e308, 1.7e308])).unwrap();
}

/// Jacobian rows of any size that is not refused.
#[test]
fn jacobian_rows_of_any_size() {
    let mut wrong = Vec::new();
    let mut random = Random::new(5);
    for entry in [1e-160, 1e-80, 1e-20, 1.0, 1e20, 1e80, 1e150] {
        for b in [1e-300, 1e-100, 1.0, 1e100, 1e300] {
            let mut mass = [0.0; 24];
            for k in [0, 1, 2, 3, 7, 11] {
                (mass[k], mass[12 + k]) = (1.0, 1e-3);
            }
            let rows: Vec<f64> = (0..6 * 12).map(|_| entry * random.range(-1.0, 1.0)).collect();
            let mut problem = Problem::new();
            if problem.set_jacobian(&mass, &rows, &[0, -1, 0, -1, 0, -1, 0, 1, 0, 1, 0, 1], None).is_err() {
                continue;
            }
            let b: Vec<f64> = (0..6).map(|_| b * random.range(-1.0, 1.0)).collect();
            problem.set_b(&b).unwrap();
            problem.set_bounds(&[0.0, -INF, -INF, 0.0, -INF, -INF], &[INF; 6]).unwrap();
            watch_all(&problem, &format!("rows {entry:e} b {:e}", b[0]), &mut wrong);
            problem.set_friction(&[-1, 0, 0, -1, 3, 3], &[0.6; 6], FrictionMode::Coupled).unwrap();
            watch_all(&problem, &format!("rows {entry:e} b {:e} with friction", b[0]), &mut wrong);
        }
    }
    nothing_is_wrong(&wrong);
}
