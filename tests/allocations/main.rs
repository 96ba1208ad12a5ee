//! After the largest problem has been seen, refilling and solving take no memory. A counting allocator, so this file is
//! a process of its own; counts are per thread, because tests run side by side.

// The C functions and the allocator are unsafe by nature.
#![allow(unsafe_code)]

#[path = "../common/mod.rs"]
mod common;

mod counting;
mod frames;
mod mechanisms;
mod steps;

use common::rows::Options;
use common::{Form, Kind, RowProblem};
use counting::count;
use mlcp::ffi::*;
use mlcp::Status;
use steps::{Solver, Step};

/// auto and what it runs, and the pivoting and Newton solvers.
const KINDS: [i32; 9] = [0, 1, 2, 3, 4, 5, 6, 12, 15];

/// Settings that end a solve in some way.
type Ending = (&'static str, fn(&mut mlcp_settings));

/// Columns of boxes: `seed` changes masses, places and velocities, `height` the contact graph.
fn boxes(seed: u64, count: usize, height: usize, form: Form) -> Step {
    Step::new(&RowProblem::boxes(seed, count, height, 0.5), form)
}

/// Sizes going down and up, the graph changing, never beyond the first.
/// Solvers with a dense tableau get fewer columns, for the sake of time.
fn sequence(form: Form, kind: i32) -> Vec<Step> {
    let most: usize = if matches!(kind, 3..=6) { 9 } else { 24 };
    let shapes =
        [(24, 4), (20, 4), (3, 1), (24, 4), (12, 12), (18, 3), (1, 1), (22, 2), (24, 4), (16, 8), (7, 3), (24, 4)];
    shapes
        .iter()
        .enumerate()
        .map(|(k, &(count, height))| boxes(k as u64 % 5, (count * most).div_ceil(24), height, form))
        .collect()
}

/// Once every step has been seen, the same steps take nothing, whatever ends them.
#[test]
fn repeated_steps_allocate_nothing() {
    for form in Form::ALL {
        for kind in KINDS {
            let endings: [Ending; 5] = [
                ("converging", |_| {}),
                ("iteration limit", |s| s.max_iterations = 3),
                ("time limit", |s| s.time_limit = 1e-9),
                ("chosen by another measure", |s| s.choice = 1),
                ("short history", |s| (s.history_capacity, s.max_iterations, s.relative_tolerance) = (4, 50, 0.0)),
            ];
            for (name, change) in endings {
                let mut solver = Solver::new(kind, change);
                let steps = sequence(form, kind);
                for step in &steps {
                    assert_eq!(solver.step(step), Status::Ok, "{}", counting::last_error());
                }
                for (k, step) in steps.iter().enumerate() {
                    let (taken, status) = count(|| solver.step(step));
                    assert_eq!(status, Status::Ok);
                    taken.assert_none(&format!("{form:?} solver {kind} {name}, step {k} of {} rows", step.n));
                }
            }
        }
    }
}

/// Only the largest problem has been seen before, the smaller ones are new: other sizes, other contact graphs.
#[test]
fn smaller_steps_allocate_nothing() {
    for form in Form::ALL {
        for kind in KINDS {
            let mut solver = Solver::new(kind, |_| {});
            let steps = sequence(form, kind);
            assert_eq!(solver.step(&steps[0]), Status::Ok);
            for (k, step) in steps.iter().enumerate().skip(1) {
                let (taken, status) = count(|| solver.step(step));
                assert_eq!(status, Status::Ok);
                taken.assert_none(&format!("{form:?} solver {kind}, step {k} of {} rows", step.n));
            }
        }
    }
}

/// Friction cones, the three solvers that know them: repeated and smaller steps, questions included.
#[test]
fn friction_cones_allocate_nothing() {
    warm_kernels_of_this_thread();
    for form in Form::ALL {
        for kind in [17, 18, 19] {
            let mut solver = Solver::new(kind, |s| s.max_iterations = 60);
            let steps: Vec<Step> = sequence(form, kind).into_iter().map(Step::with_cones).collect();
            assert_eq!(solver.step(&steps[0]), Status::Ok, "{}", counting::last_error());
            for (k, step) in steps.iter().enumerate().skip(1) {
                let (taken, status) = count(|| solver.step(step));
                assert_eq!(status, Status::Ok);
                taken.assert_none(&format!("{form:?} solver {kind}, step {k} of {} rows", step.n));
            }
        }
    }
}

/// Fewer rows on fewer bodies, but every body touching many others: the factor fills where that of columns did not.
/// CSR is left out: there more entries are a larger problem.
#[test]
fn denser_graphs_of_fewer_bodies_allocate_nothing() {
    warm_kernels_of_this_thread();
    for kind in KINDS {
        let mut solver = Solver::new(kind, |_| {});
        assert_eq!(solver.step(&boxes(1, if matches!(kind, 3..=6) { 30 } else { 40 }, 4, Form::Jacobian)), Status::Ok);
        for seed in 0..5 {
            let options = Options { bodies: 30, rows: 300, immovable: false, compliance: true, ..Options::default() };
            let step = Step::new(&RowProblem::random(seed, options), Form::Jacobian);
            let (taken, status) = count(|| solver.step(&step));
            assert_eq!(status, Status::Ok);
            taken.assert_none(&format!("solver {kind} seed {seed}"));
        }
    }
}

/// The matrix kernels keep a buffer of their own for each thread, taken at its first large factorisation.
fn warm_kernels_of_this_thread() {
    Solver::new(1, |_| {}).step(&crowd());
}

/// A matrix without zeros: every row has one of a few bodies.
fn crowd() -> Step {
    let free = Options { kinds: &[Kind::Free], ..Options::default() };
    let options = Options { bodies: 2, rows: 300, immovable: false, compliance: true, ..free };
    Step::new(&RowProblem::random(9, options), Form::Dense)
}

/// The largest problem is solved where it starts, no row free: a later, smaller one with all rows free is still no
/// larger than it.
#[test]
fn more_free_rows_than_before_allocate_nothing() {
    warm_kernels_of_this_thread();
    let mut wrong = Vec::new();
    for form in Form::ALL {
        for kind in KINDS {
            let mut solver = Solver::new(kind, |_| {});
            let mut parting = boxes(1, 24, 4, form);
            for (k, b) in parting.b.iter_mut().enumerate() {
                *b = if k % 3 == 0 { 1.0 } else { 0.0 };
            }
            assert_eq!(solver.step(&parting), Status::Ok);
            let mut held = boxes(1, 20, 4, form);
            held.lo.fill(f64::NEG_INFINITY);
            held.hi.fill(f64::INFINITY);
            held.findex.fill(-1);
            let (taken, status) = count(|| solver.step(&held));
            assert_eq!(status, Status::Ok);
            if taken.calls > 0 {
                wrong.push(format!("{form:?} solver {kind}: {taken:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rows that contradict each other, rows that repeat each other: nothing is taken for them either.
#[test]
fn singular_and_inconsistent_steps_allocate_nothing() {
    for form in Form::ALL {
        for kind in KINDS {
            let mut solver = Solver::new(kind, |_| {});
            let mut doubled = RowProblem::boxes(3, 6, 3, 0.5);
            // Every row twice, as a joint: rank at most half.
            let n = doubled.len();
            for v in [&mut doubled.rows, &mut doubled.b] {
                v.extend_from_within(..);
            }
            doubled.bodies.extend_from_within(..);
            doubled.lo = vec![f64::NEG_INFINITY; 2 * n];
            doubled.hi = vec![f64::INFINITY; 2 * n];
            doubled.findex.clear();
            doubled.mu.clear();
            let singular = Step::new(&doubled, form);
            // The copies ask for other velocities.
            let mut contradicting = Step::new(&doubled, form);
            contradicting.b[n..].iter_mut().for_each(|b| *b += 1.0);
            for step in [&singular, &contradicting] {
                assert_eq!(solver.step(step), Status::Ok, "{}", counting::last_error());
            }
            for (name, step) in [("singular", &singular), ("inconsistent", &contradicting), ("singular", &singular)] {
                let (taken, status) = count(|| solver.step(step));
                assert_eq!(status, Status::Ok);
                taken.assert_none(&format!("{form:?} solver {kind} {name}"));
            }
        }
    }
}

/// Refused calls say so without taking memory.
#[test]
fn refused_steps_allocate_nothing() {
    for kind in KINDS {
        let mut solver = Solver::new(kind, |_| {});
        let good = boxes(1, 4, 2, Form::Dense);
        let mut massless = boxes(1, 4, 2, Form::Dense);
        massless.a[5 * massless.n + 5] = 0.0;
        let mut skew = boxes(1, 4, 2, Form::Dense);
        skew.a[1] += 1.0;
        let mut nan = boxes(1, 4, 2, Form::Dense);
        nan.b[7] = f64::NAN;
        let skewed = if matches!(kind, 1 | 3 | 15) { Status::Unsupported } else { Status::Ok };
        let without_mass = if matches!(kind, 1..=3 | 12 | 15) { Status::NoEnergy } else { Status::Ok };
        let cases = [(&massless, without_mass), (&skew, skewed), (&nan, Status::InvalidValue), (&good, Status::Ok)];
        for (step, expected) in cases {
            assert_eq!(solver.step(step), expected, "{}", counting::last_error());
        }
        for (step, expected) in cases {
            let (taken, status) = count(|| solver.step(step));
            assert_eq!(status, expected);
            taken.assert_none(&format!("solver {kind}, {expected:?}"));
        }
    }
}

/// Everything that reads a result or a problem.
#[test]
fn questions_allocate_nothing() {
    for form in Form::ALL {
        for kind in KINDS {
            let mut solver = Solver::new(kind, |s| s.max_iterations = 4);
            // Compliance on every row: exact masses need an invertible A.
            let mut scene = RowProblem::boxes(2, 6, 3, 0.5);
            scene.compliance = vec![0.05; scene.len()];
            let large = Step::new(&scene, form);
            let mut scene = RowProblem::boxes(2, 4, 2, 0.5);
            scene.compliance = vec![0.05; scene.len()];
            let small = Step::new(&scene, form);
            assert_eq!(solver.step(&large), Status::Ok);
            solver.ask_everything();
            for step in [&small, &large, &small] {
                let (taken, _) = count(|| {
                    solver.step(step);
                    solver.ask_everything();
                });
                taken.assert_none(&format!("{form:?} solver {kind}, {} rows", step.n));
            }
        }
    }
}

/// `mlcp_problem_reserve` takes memory in advance: refills up to that size take none.
#[test]
fn reserved_problems_refill_without_allocating() {
    let solver = Solver::new(1, |_| {});
    let largest = boxes(1, 10, 5, Form::Jacobian);
    let status = unsafe { mlcp_problem_reserve(solver.problem, largest.n, 10) };
    assert_eq!(status, Status::Ok);
    for step in [boxes(2, 10, 2, Form::Jacobian), boxes(3, 4, 2, Form::Jacobian), largest] {
        let (taken, status) = count(|| solver.refill(&step));
        assert_eq!(status, Status::Ok);
        taken.assert_none(&format!("{} rows after reserve", step.n));
    }
}

/// A solver may move between threads. What a new thread takes is the kernels' own buffer, once, and nothing of ours.
#[test]
fn another_thread_takes_one_kernel_buffer_at_most() {
    let step = crowd();
    let mut solver = Solver::new(1, |_| {});
    assert_eq!(solver.step(&step), Status::Ok);
    let (first, second) = std::thread::scope(|scope| {
        let there = scope.spawn(|| (count(|| solver.step(&step)).0, count(|| solver.step(&step)).0));
        there.join().unwrap()
    });
    assert!(first.calls <= 1, "{first:?}");
    second.assert_none("second solve on the new thread");
}
