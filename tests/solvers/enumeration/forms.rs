//! One problem as dense, CSR and Jacobian rows: the same operator, the same answers; and plain loops agree.

use super::{engine, scale, solve};
use crate::common::oracle;
use crate::common::rows::{times_inverse_mass, Options, RowProblem};
use crate::common::{Form, Random};
use mlcp::SolverKind;

/// A few dozen products and sums of order-one numbers: 1e-12 of the terms' size.
const PRODUCT: f64 = 1e-12;

fn options(seed: u64) -> Options {
    Options {
        bodies: 1 + seed as usize % 7,
        rows: 1 + seed as usize % 13,
        mass_ratio: [1.0, 100.0, 1e6][seed as usize % 3],
        compliance: seed & 1 == 0,
        ..Options::default()
    }
}

#[test]
fn forms_are_one_operator() {
    for seed in 0..500 {
        let p = RowProblem::random(seed, options(seed));
        let (n, a) = (p.len(), p.dense());
        // Impulses as large as the rows' masses make them.
        let mut random = Random::new(seed);
        let x: Vec<f64> = (0..n).map(|i| random.signed() / a[i * n + i].sqrt()).collect();
        for form in Form::ALL {
            let problem = p.fill(form, None);
            let mut w = vec![0.0; n];
            problem.multiply(&x, &mut w, &mut Vec::new()).unwrap();
            for i in 0..n {
                let terms: f64 = (0..n).map(|j| (a[i * n + j] * x[j]).abs()).sum();
                // Whitening adds up the parts on two bodies, each bounded by the diagonals: Cauchy-Schwarz.
                let size = p.b[i].abs() + terms + n as f64 * a[i * n + i].sqrt();
                let expected = p.b[i] + (0..n).map(|j| a[i * n + j] * x[j]).sum::<f64>();
                assert!((w[i] - expected).abs() <= PRODUCT * size, "seed {seed} {form:?} w[{i}] = {} {expected}", w[i]);
                let (d, e) = (problem.diagonal()[i], a[i * n + i]);
                assert!((d - e).abs() <= PRODUCT * e, "seed {seed} {form:?} diagonal {i}: {d} {e}");
            }
            assert!(problem.is_symmetric());
        }
    }
}

/// With compliance on every row A is definite: one x, which all forms must find.
#[test]
fn forms_have_one_solution() {
    let mut bpp = engine(SolverKind::Bpp);
    for seed in 0..300 {
        let mut p = RowProblem::random(seed, Options { compliance: true, mass_ratio: 10.0, ..options(seed) });
        let (n, a) = (p.len(), p.dense());
        // A tenth of each row's own diagonal bounds the condition number by about 10 n.
        for i in 0..n {
            p.compliance[i] += 0.1 * a[i * n + i];
        }
        let mut first: Option<Vec<f64>> = None;
        for form in Form::ALL {
            let problem = p.fill(form, None);
            let report = solve(&mut bpp, &problem);
            let scale = scale(&problem, &report, bpp.x());
            assert!(
                report.energy_error <= 1e-20 * scale,
                "seed {seed} {form:?}: {:e} of {scale:e}",
                report.energy_error
            );
            let reference = first.get_or_insert_with(|| bpp.x().to_vec());
            for i in 0..n {
                let gap = (bpp.x()[i] - reference[i]).abs() * problem.diagonal()[i].sqrt();
                // Residuals of 1e-10 sqrt(scale) times the condition number.
                assert!(gap <= 1e-9 * scale.sqrt(), "seed {seed} {form:?} row {i}: {} {}", bpp.x()[i], reference[i]);
            }
        }
    }
}

/// `b = J (v + h M⁻¹ f) + violation / h`, formed by hand.
#[test]
fn motion_gives_b() {
    for seed in 0..300 {
        let p = RowProblem::random(seed, options(seed));
        let (n, bodies) = (p.len(), p.inverse_mass.len() / 12);
        let mut random = Random::new(seed + 77);
        let (velocities, forces) = (random.vector(6 * bodies), random.vector(6 * bodies));
        let violation = random.vector(n);
        let h = 1.0 / 60.0;
        for (use_forces, use_violation) in [(true, true), (true, false), (false, true), (false, false)] {
            let mut problem = p.fill(Form::Jacobian, None);
            problem
                .set_motion(h, &velocities, use_forces.then_some(&forces[..]), use_violation.then_some(&violation[..]))
                .unwrap();
            let mut v = velocities.clone();
            for k in 0..bodies {
                let dv = times_inverse_mass(&p.inverse_mass[12 * k..][..12], &forces[6 * k..][..6]);
                for c in 0..6 {
                    v[6 * k + c] += if use_forces { h * dv[c] } else { 0.0 };
                }
            }
            for i in 0..n {
                let expected = p.row_velocity(i, &v) + if use_violation { violation[i] / h } else { 0.0 };
                // Twelve products of numbers below 2, and violation / h up to 60.
                let gap = (problem.b()[i] - expected).abs();
                assert!(gap <= 1e-13 * (24.0 + 60.0), "seed {seed} b[{i}] = {} {expected}", problem.b()[i]);
            }
        }
    }
}

/// `M⁻¹ Jᵀ x` by plain loops; the world and immovable bodies do not move.
#[test]
fn velocity_change_is_inverse_mass_times_impulse() {
    for seed in 0..300 {
        let p = RowProblem::random(seed, options(seed));
        let x = Random::new(seed).vector(p.len());
        let problem = p.fill(Form::Jacobian, None);
        let expected = p.velocity_change(&x);
        let mut change = vec![f64::NAN; expected.len()];
        problem.velocity_change(&x, &mut change, &mut Vec::new()).unwrap();
        for k in 0..expected.len() {
            // Inverse masses are at most 1, inverse inertias at most about 10; one term per row.
            let room = 1e-14 * 20.0 * p.len() as f64;
            assert!((change[k] - expected[k]).abs() <= room, "seed {seed} {k}: {} {}", change[k], expected[k]);
        }
        for k in (0..p.inverse_mass.len() / 12).filter(|k| p.inverse_mass[12 * k..][..12].iter().all(|&m| m == 0.0)) {
            assert!(change[6 * k..][..6].iter().all(|&v| v == 0.0), "seed {seed}: immovable body {k} moves");
        }
    }
}

/// A row that names one body twice acts by the sum of its halves; a row between two worlds by compliance alone.
#[test]
fn degenerate_rows() {
    let mass = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let mut row = [0.0; 24];
    (row[0], row[6], row[12 + 2]) = (2.0, 1.0, 5.0);
    let mut problem = mlcp::Problem::new();
    problem.set_jacobian(&mass, &row, &[0, 0, -1, -1], Some(&[0.0, 0.25])).unwrap();
    assert_eq!(problem.diagonal(), [9.0, 0.25]);
    let mut w = [0.0; 2];
    problem.multiply(&[1.0, 1.0], &mut w, &mut Vec::new()).unwrap();
    assert_eq!(w, [9.0, 0.25]);
    problem.set_motion(0.5, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0], None, None).unwrap();
    assert_eq!(problem.b(), [3.0, 0.0]);
}

/// The oracle itself, on a problem solved by hand: two contacts on one mass, redundant.
#[test]
fn oracle_finds_hand_solved_solutions() {
    let inf = f64::INFINITY;
    let all = oracle::solutions(2, &[1.0, 1.0, 1.0, 1.0], &[-1.0, -1.0], &[0.0, 0.0], &[inf, inf]);
    assert!(!all.is_empty());
    for s in &all {
        assert!((s.x[0] + s.x[1] - 1.0).abs() < 1e-12 && s.w.iter().all(|w| w.abs() < 1e-12), "{s:?}");
    }
    // Two joints that ask for different velocities of one body: nothing can be done.
    assert!(oracle::solution(2, &[1.0, 1.0, 1.0, 1.0], &[-1.0, 1.0], &[-inf; 2], &[inf; 2]).is_none());
    // A fixed row takes any w.
    let fixed = oracle::solution(1, &[2.0], &[3.0], &[0.5], &[0.5]).unwrap();
    assert_eq!((fixed.x[0], fixed.w[0]), (0.5, 4.0));
}
