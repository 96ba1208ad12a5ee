//! Recorded walls and piles whose pairs of friction rows are read as cones.

use super::{natural_of_disc, natural_of_row, patient, KINDS};
use crate::common::corpus::{load, CorpusProblem};
use mlcp::{FrictionMode, Outcome, Problem, Settings, SolverKind};

/// Rows and coefficients of the contacts with two friction rows of one coefficient.
fn pairs(p: &CorpusProblem) -> (Vec<i32>, Vec<f64>) {
    let (_, _, mu) = p.friction_bounds();
    let (mut rows, mut coefficients) = (Vec::new(), Vec::new());
    for normal in 0..p.n {
        let followers: Vec<usize> = (0..p.n).filter(|&i| p.normal_of(i) == Some(normal)).collect();
        if let [first, second] = followers[..] {
            if mu[first] == mu[second] {
                rows.extend([normal as i32, first as i32, second as i32]);
                coefficients.push(mu[first]);
            }
        }
    }
    (rows, coefficients)
}

/// The problem with its pairs as cones; none if there are none. Other friction rows stay coupled.
fn with_cones(p: &CorpusProblem, as_rows: bool) -> Option<Problem> {
    let (cones, mu_of_cones) = pairs(p);
    if mu_of_cones.is_empty() {
        return None;
    }
    let mut problem = Problem::new();
    match &p.jacobian {
        Some(j) if !as_rows => {
            problem.set_jacobian(&j.inverse_mass, &j.rows, &j.bodies, j.compliance.as_deref()).unwrap()
        }
        _ => problem.set_csr(p.n, &p.row_start, &p.columns, &p.values).unwrap(),
    }
    let (lo, hi, mu) = p.friction_bounds();
    let mut findex = p.findex.clone();
    for rows in cones.chunks(3) {
        (findex[rows[1] as usize], findex[rows[2] as usize]) = (-1, -1);
    }
    problem.set_b(&p.b).unwrap();
    problem.set_bounds(&lo, &hi).unwrap();
    problem.set_friction(&findex, &mu, FrictionMode::Coupled).unwrap();
    problem.set_cones(&cones, &mu_of_cones).unwrap();
    Some(problem)
}

/// Natural residual in N·s and m/s, from the recorded matrix alone: ODE's forces and accelerations times the step.
fn independent_natural(p: &CorpusProblem, x: &[f64]) -> f64 {
    let (lo, hi, mu) = p.friction_bounds();
    let w: Vec<f64> = (0..p.n)
        .map(|i| {
            let entries = p.row_start[i] as usize..p.row_start[i + 1] as usize;
            p.b[i] + entries.map(|k| p.values[k] * x[p.columns[k] as usize]).sum::<f64>()
        })
        .collect();
    let h = p.joules().sqrt();
    let (cones, mu_of_cones) = pairs(p);
    let reach = |mu: f64, normal: usize| if x[normal] > 0.0 { mu * x[normal] * h } else { 0.0 };
    let mut total = 0.0;
    let mut in_cone = vec![false; p.n];
    for (rows, &mu) in cones.chunks(3).zip(&mu_of_cones) {
        let [n, s, t] = [rows[0], rows[1], rows[2]].map(|i| i as usize);
        (in_cone[s], in_cone[t]) = (true, true);
        total += natural_of_disc([x[s] * h, x[t] * h], [w[s] * h, w[t] * h], reach(mu, n));
    }
    for i in (0..p.n).filter(|&i| !in_cone[i]) {
        let (lo, hi) = match p.normal_of(i) {
            Some(f) => (-reach(mu[i], f), reach(mu[i], f)),
            None => (lo[i] * h, hi[i] * h),
        };
        total += natural_of_row(x[i] * h, w[i] * h, lo, hi);
    }
    total
}

#[test]
fn alart_curnier_solves_every_wall_and_pile() {
    let mut walls_and_piles = 0;
    let mut solved = [0; 3];
    for p in load().iter().filter(|p| p.name.contains("wall") || p.name.contains("pile")) {
        // The f32 matrices were recorded rounded, and A is not J M⁻¹ Jᵀ to the last digits.
        let Some(problem) = with_cones(p, p.name.contains("f32")) else { continue };
        walls_and_piles += 1;
        for (k, kind) in KINDS.into_iter().enumerate() {
            let mut engine = patient(kind, 0);
            let report = *engine.solve(&problem, None, None).unwrap();
            let natural = independent_natural(p, engine.x());
            solved[k] += usize::from(natural <= 1e-8);
            let about = format!("{} {}: natural {natural:.2e}, {report:?}", p.name, kind.name());
            assert!(natural.is_finite(), "{about}");
            assert!(kind != SolverKind::AlartCurnier || natural <= 1e-8, "{about}");
        }
    }
    println!("prox, prox-gs, alart-curnier solve {solved:?} of {walls_and_piles}");
    assert_eq!((walls_and_piles, solved[2]), (28, 28));
}

#[test]
fn jointed_problems_with_cones_are_solved() {
    for p in load().iter().filter(|p| p.name.contains("mixed6dof") || p.name.contains("buggy")) {
        for as_rows in [false, true] {
            let Some(problem) = with_cones(p, as_rows) else { continue };
            let mut engine = patient(SolverKind::AlartCurnier, 0);
            let report = *engine.solve(&problem, None, None).unwrap();
            let natural = independent_natural(p, engine.x());
            assert!(natural <= 1e-8, "{} {as_rows}: {natural:.2e} {report:?}", p.name);
        }
    }
}

#[test]
fn capped_solves_are_no_worse_than_their_start() {
    for p in load().iter().filter(|p| p.n <= 200) {
        for as_rows in [false, true] {
            let Some(problem) = with_cones(p, as_rows) else { continue };
            for kind in KINDS {
                for max_iterations in [1, 7] {
                    let settings = Settings { solver: kind, max_iterations, ..Settings::default() };
                    let mut engine = mlcp::Engine::new(settings).unwrap();
                    let start: Vec<f64> = p.x_ref.iter().map(|v| 0.9 * v).collect();
                    for start in [None, Some(&start[..])] {
                        let report = *engine.solve(&problem, start, None).unwrap();
                        let about = format!("{} {} {max_iterations}: {report:?}", p.name, kind.name());
                        assert!(engine.x().iter().chain(engine.w()).all(|v| v.is_finite()), "{about}");
                        assert!(report.energy_error <= report.initial_energy_error, "{about}");
                        let sum: f64 = engine.row_errors().iter().fold(0.0, |sum, e| sum + e);
                        assert_eq!(sum, report.energy_error, "{about}");
                        let tolerance = 1e-18f64.max(1e-10 * report.energy_scale);
                        assert_eq!(report.outcome == Outcome::Converged, report.energy_error <= tolerance, "{about}");
                    }
                }
            }
        }
    }
}
