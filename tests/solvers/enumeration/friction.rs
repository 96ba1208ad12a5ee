//! Friction bounds that follow the normal impulse, or are frozen at one.

use super::{engine, scale, solve};
use crate::common::rows::RowProblem;
use crate::common::{Form, Random};
use mlcp::{FrictionMode, Problem, SolverKind, Status, Triangle};

/// The returned x solves the box problem whose bounds are those at x: nothing else is a solution of coupled friction.
#[test]
fn coupled_solutions_are_fixed_points() {
    for kind in [SolverKind::Bpp, SolverKind::Pgs, SolverKind::InteriorPoint] {
        let mut solver = engine(kind);
        for seed in 0..30 {
            let p = RowProblem::boxes(seed, 1 + seed as usize % 4, 2, [0.0, 0.3, 0.8][seed as usize % 3]);
            for form in Form::ALL {
                let problem = p.fill(form, None);
                let report = solve(&mut solver, &problem);
                let x = solver.x().to_vec();
                let (mut lo, mut hi) = (vec![0.0; p.len()], vec![0.0; p.len()]);
                problem.bounds_at(&x, &mut lo, &mut hi);
                for i in (0..p.len()).filter(|&i| p.findex[i] >= 0) {
                    let reach = p.mu[i] * x[p.findex[i] as usize].max(0.0);
                    assert_eq!((lo[i], hi[i]), (-reach, reach), "{} seed {seed} {form:?} row {i}", kind.name());
                }
                let scale = scale(&problem, &report, &x);
                // Sweeps on redundant stacks converge slowly; the pivots go to round-off.
                let tolerance = if kind == SolverKind::Bpp { 1e-12 } else { 1e-8 };
                assert!(
                    report.energy_error <= tolerance * scale,
                    "{} seed {seed} {form:?}: error {:e} of {scale:e}, {:?} after {}",
                    kind.name(),
                    report.energy_error,
                    report.outcome,
                    report.iterations
                );
                // Frozen at its own normals, the same x solves the frozen problem.
                let frozen = p.fill(form, Some(&x));
                let again = *solver.solve(&frozen, Some(&x), None).unwrap();
                assert!(again.initial_energy_error <= tolerance * scale, "{} seed {seed} {form:?}", kind.name());
                assert_eq!(again.friction, FrictionMode::Frozen);
            }
        }
    }
}

fn two_rows() -> Problem {
    let mut problem = Problem::new();
    problem.set_dense(2, &[1.0, 0.0, 0.0, 1.0], 2, Triangle::Full).unwrap();
    problem.set_b(&[-2.0, -5.0]).unwrap();
    problem.set_bounds(&[0.0, f64::NEG_INFINITY], &[f64::INFINITY; 2]).unwrap();
    problem
}

fn bounds(problem: &Problem, x: [f64; 2]) -> ([f64; 2], [f64; 2]) {
    let (mut lo, mut hi) = ([0.0; 2], [0.0; 2]);
    problem.bounds_at(&x, &mut lo, &mut hi);
    (lo, hi)
}

/// A block pressed down by 2 N s and pushed sideways by 5: it slips, friction at its limit mu · 2.
#[test]
fn slipping_block_by_hand() {
    for kind in SolverKind::ALL {
        let mut solver = engine(kind);
        let mut problem = two_rows();
        problem.set_friction(&[-1, 0], &[0.0, 0.5], FrictionMode::Coupled).unwrap();
        solve(&mut solver, &problem);
        assert!((solver.x()[0] - 2.0).abs() < 1e-14 && (solver.x()[1] - 1.0).abs() < 1e-14, "{:?}", solver.x());
        assert!((solver.w()[1] + 4.0).abs() < 1e-14, "{:?}", solver.w());
        problem.set_friction(&[-1, 0], &[0.0, 0.5], FrictionMode::Frozen).unwrap();
        assert_eq!(solver.solve(&problem, None, None).unwrap_err().status(), Status::InvalidState);
        problem.set_frozen_normals(&[6.0, 123.0]).unwrap();
        solve(&mut solver, &problem);
        assert!((solver.x()[1] - 3.0).abs() < 1e-14, "{:?}", solver.x());
    }
}

#[test]
fn bounds_at_x() {
    let inf = f64::INFINITY;
    let mut problem = two_rows();
    // Infinite roughness sticks, but an open contact does not rub.
    problem.set_friction(&[-1, 0], &[0.0, inf], FrictionMode::Coupled).unwrap();
    assert_eq!(bounds(&problem, [1.0, 0.0]), ([0.0, -inf], [inf, inf]));
    assert_eq!(bounds(&problem, [0.0, 0.0]), ([0.0, 0.0], [inf, 0.0]));
    assert_eq!(bounds(&problem, [-1.0, 0.0]), ([0.0, 0.0], [inf, 0.0]));
    // A row that names itself is no friction row, whatever its mu; nor is one that names none.
    problem.set_friction(&[0, 1], &[f64::NAN, f64::NAN], FrictionMode::Coupled).unwrap();
    assert_eq!(bounds(&problem, [1.0, 0.0]), ([0.0, -inf], [inf, inf]));
    assert!(!problem.has_live_bounds());
    // Own bounds cap the coupled ones.
    problem.set_bounds(&[0.0, -0.25], &[inf, 0.75]).unwrap();
    problem.set_friction(&[-1, 0], &[0.0, 0.5], FrictionMode::Coupled).unwrap();
    assert_eq!(bounds(&problem, [1.0, 0.0]), ([0.0, -0.25], [inf, 0.5]));
    assert_eq!(bounds(&problem, [9.0, 0.0]), ([0.0, -0.25], [inf, 0.75]));
    // Caps that leave no room for zero are refused, in either order of the calls.
    assert_eq!(problem.set_bounds(&[0.0, 0.1], &[inf, 0.75]).unwrap_err().status(), Status::InvalidValue);
    let mut other = two_rows();
    other.set_bounds(&[0.0, 0.1], &[inf, 0.75]).unwrap();
    let refused = other.set_friction(&[-1, 0], &[0.0, 0.5], FrictionMode::Coupled).unwrap_err();
    assert_eq!(refused.status(), Status::InvalidValue);
}

/// The order of rows does not matter: friction rows may come before the normal they hang on.
#[test]
fn friction_rows_in_any_order() {
    let mut solver = engine(SolverKind::Bpp);
    for seed in 0..20 {
        let p = RowProblem::boxes(seed, 2, 2, 0.5);
        let n = p.len();
        let a = p.dense();
        // A random permutation.
        let mut random = Random::new(seed);
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, random.below(i + 1));
        }
        let place = |row: i32| if row < 0 { -1 } else { order.iter().position(|&o| o == row as usize).unwrap() as i32 };
        let take = |v: &[f64]| order.iter().map(|&o| v[o]).collect::<Vec<f64>>();
        let mut problem = Problem::new();
        let shuffled: Vec<f64> =
            order.iter().flat_map(|&i| order.iter().map(move |&j| (i, j))).map(|(i, j)| a[i * n + j]).collect();
        problem.set_dense(n, &shuffled, n, Triangle::Full).unwrap();
        problem.set_b(&take(&p.b)).unwrap();
        problem.set_bounds(&take(&p.lo), &take(&p.hi)).unwrap();
        let findex: Vec<i32> = order.iter().map(|&o| place(p.findex[o])).collect();
        problem.set_friction(&findex, &take(&p.mu), FrictionMode::Coupled).unwrap();
        let report = solve(&mut solver, &problem);
        let scale = scale(&problem, &report, solver.x());
        assert!(report.energy_error <= 1e-12 * scale, "seed {seed}: {:e} of {scale:e}", report.energy_error);
    }
}
