//! Sweeps are those of the textbook, which visits the rows one by one, whatever a kernel does to be fast: few rows in the
//! order in which they are listed, many in the order that the library tells.
//!
//! Reference: the textbook's loop over a dense A that the test forms itself from bodies and rows.

use crate::common::rows::Options;
use crate::common::{Form, RowProblem};
use mlcp::solvers::visiting_order;
use mlcp::{Choice, Engine, Settings, SolverKind};

const RELAXATION: f64 = 1.3;

/// One sweep by the formula; friction bounds at the impulses of the moment.
fn textbook(p: &RowProblem, a: &[f64], x: &mut [f64], order: impl Iterator<Item = usize>) {
    let n = p.len();
    for i in order {
        let w = (0..n).map(|j| a[i * n + j] * x[j]).sum::<f64>() + p.b[i];
        let (mut lo, mut hi) = (p.lo[i], p.hi[i]);
        if let Some(f) = p.findex.get(i).filter(|&&f| f >= 0) {
            let reach = p.mu[i] * x[*f as usize].max(0.0);
            (lo, hi) = (lo.max(-reach), hi.min(reach));
        }
        x[i] = (x[i] - RELAXATION * w / a[i * n + i]).max(lo).min(hi);
    }
}

fn problems() -> Vec<RowProblem> {
    let random = (0..150).map(|seed| {
        let (bodies, rows) = (1 + seed as usize % 5, 1 + seed as usize % 14);
        RowProblem::random(seed, Options { bodies, rows, compliance: seed % 3 == 0, ..Options::default() })
    });
    // Contacts with friction, three rows on one pair; the second time every other row has its bodies swapped.
    let mut all: Vec<RowProblem> =
        random.chain((0..20).map(|seed| RowProblem::boxes(seed, 2 + seed as usize % 5, 3, 0.5))).collect();
    for mut p in (20..30).map(|seed| RowProblem::boxes(seed, 4, 4, 0.5)) {
        for i in (0..p.len()).step_by(2) {
            p.bodies.swap(2 * i, 2 * i + 1);
            let (first, second) = p.rows[12 * i..12 * i + 12].split_at_mut(6);
            first.swap_with_slice(second);
        }
        all.push(p);
    }
    // More rows than a kernel cuts into one piece.
    all.push(RowProblem::boxes(30, 60, 6, 0.5));
    all
}

#[test]
fn sweeps_are_those_of_the_textbook() {
    for (k, p) in problems().into_iter().enumerate() {
        let (n, a) = (p.len(), p.dense());
        for form in Form::ALL {
            let problem = p.fill(form, None);
            let order: Vec<usize> = visiting_order(&problem).unwrap().into_iter().map(|i| i as usize).collect();
            let mut listed = order.clone();
            listed.sort_unstable();
            assert!(listed.iter().copied().eq(0..n), "problem {k}: every row once");
            assert!(n >= 256 || order == listed, "problem {k}: few rows are visited as they are listed");
            for solver in [SolverKind::Pgs, SolverKind::SymmetricPgs] {
                for sweeps in [1, 2, 5] {
                    // From where the library starts.
                    let mut x: Vec<f64> = (0..n).map(|i| 0f64.max(p.lo[i]).min(p.hi[i])).collect();
                    if !p.findex.is_empty() {
                        (0..n).filter(|&i| p.findex[i] >= 0).for_each(|i| x[i] = 0.0);
                    }
                    for _ in 0..sweeps {
                        textbook(&p, &a, &mut x, order.iter().copied());
                        if solver == SolverKind::SymmetricPgs {
                            textbook(&p, &a, &mut x, order.iter().rev().copied());
                        }
                    }
                    // A friction row that was visited before its normal row may lie outside: the answer is the nearest point
                    // inside.
                    problem.clamp(&mut x);
                    let mut engine = Engine::new(Settings {
                        solver,
                        choice: Choice::Last,
                        relaxation: RELAXATION,
                        max_iterations: sweeps,
                        relative_tolerance: 0.0,
                        energy_tolerance: 0.0,
                        ..Settings::default()
                    })
                    .unwrap();
                    let iterations = engine.solve(&problem, None, None).unwrap().iterations;
                    // A problem that is solved sooner has arrived where the others do.
                    assert!(iterations <= sweeps);
                    for i in 0..n {
                        let size = x.iter().zip(0..).fold(0.0f64, |m, (x, j)| m.max((x * x * a[j * n + j]).sqrt()));
                        let off = (engine.x()[i] - x[i]).abs() * a[i * n + i].sqrt();
                        let about = format!("problem {k}, {form:?}, {} x {sweeps}, row {i} of {n}", solver.name());
                        assert!(off <= 1e-11 * size, "{about}: {} instead of {}", engine.x()[i], x[i]);
                    }
                }
            }
        }
    }
}
