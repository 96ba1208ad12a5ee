//! Clarabel and OSQP as workers: minimise x'Ax/2 + b'x in the box. Timed: making the solver, set-up, solve.

use crate::problem::Problem;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// As in workers/qp.py.
const TOLERANCES: [f64; 4] = [1e-5, 1e-7, 1e-9, 1e-12];

/// Upper triangle of A by columns; A is symmetric, so column j is row j.
struct Upper {
    starts: Vec<usize>,
    rows: Vec<usize>,
    values: Vec<f64>,
}

fn upper(p: &Problem) -> Upper {
    let mut u = Upper { starts: vec![0], rows: vec![], values: vec![] };
    for j in 0..p.n() {
        for k in p.row_start[j] as usize..p.row_start[j + 1] as usize {
            let i = p.columns[k] as usize;
            if i <= j {
                u.rows.push(i);
                u.values.push(p.values[k]);
            }
        }
        u.starts.push(u.rows.len());
    }
    u
}

/// Best time of several calls, as worker_time in workers/worker.h.
fn report(setting: &str, mut solve: impl FnMut() -> (Vec<f64>, bool)) {
    let (mut best, mut total) = (Duration::MAX, Duration::ZERO);
    let mut answer = (vec![], false);
    for _ in 0..500 {
        let start = Instant::now();
        answer = solve();
        let spent = start.elapsed();
        (best, total) = (best.min(spent), total + spent);
        if total > Duration::from_millis(30) {
            break;
        }
    }
    let mut line = format!("{setting} {:.9e} {}", best.as_secs_f64(), u8::from(answer.1));
    answer.0.iter().for_each(|v| write!(line, " {v:e}").expect("a string grows"));
    println!("{line}");
}

/// Clarabel: bounds as rows of cones, only those that exist; fixed rows as equations.
#[cfg(feature = "clarabel")]
pub fn clarabel(p: &Problem) {
    use clarabel::algebra::CscMatrix;
    use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, ZeroConeT};
    let n = p.n();
    let u = upper(p);
    let a = CscMatrix::new(n, n, u.starts, u.rows, u.values);
    let fixed = |i: &usize| p.lo[*i] == p.hi[*i];
    let mut list: Vec<(usize, f64, f64)> = (0..n).filter(fixed).map(|i| (i, 1.0, p.hi[i])).collect();
    let equations = list.len();
    for i in (0..n).filter(|i| !fixed(i)) {
        if p.hi[i].is_finite() {
            list.push((i, 1.0, p.hi[i]));
        }
        if p.lo[i].is_finite() {
            list.push((i, -1.0, -p.lo[i]));
        }
    }
    let mut by_column = vec![vec![]; n];
    for (row, &(i, sign, _)) in list.iter().enumerate() {
        by_column[i].push((row, sign));
    }
    let starts = std::iter::once(0).chain(by_column.iter().scan(0, |at, c| {
        *at += c.len();
        Some(*at)
    }));
    let (rows, signs) = by_column.iter().flatten().copied().unzip();
    let g = CscMatrix::new(list.len(), n, starts.collect(), rows, signs);
    let h: Vec<f64> = list.iter().map(|&(_, _, bound)| bound).collect();
    let cones = [ZeroConeT(equations), NonnegativeConeT(list.len() - equations)];
    for tolerance in TOLERANCES {
        report(&format!("{tolerance:e}"), || {
            let settings = DefaultSettings {
                verbose: false,
                max_threads: 1,
                tol_feas: tolerance,
                tol_gap_abs: tolerance,
                tol_gap_rel: tolerance,
                ..Default::default()
            };
            match DefaultSolver::new(&a, &p.b, &g, &h, &cones, settings) {
                Ok(mut solver) => {
                    solver.solve();
                    (solver.solution.x.clone(), solver.solution.status == SolverStatus::Solved)
                }
                Err(_) => (vec![], false),
            }
        });
    }
}

/// OSQP, with its polishing step.
#[cfg(feature = "osqp")]
pub fn osqp(p: &Problem) {
    let n = p.n();
    let u = upper(p);
    let a =
        osqp::CscMatrix { nrows: n, ncols: n, indptr: u.starts.into(), indices: u.rows.into(), data: u.values.into() };
    let identity = osqp::CscMatrix {
        nrows: n,
        ncols: n,
        indptr: (0..=n).collect::<Vec<_>>().into(),
        indices: (0..n).collect::<Vec<_>>().into(),
        data: vec![1.0; n].into(),
    };
    for tolerance in TOLERANCES {
        let settings = osqp::Settings::default()
            .verbose(false)
            .eps_abs(tolerance)
            .eps_rel(tolerance)
            .polish(true)
            .max_iter(100_000);
        report(&format!("{tolerance:e}"), || {
            match osqp::Problem::new(a.clone(), &p.b, identity.clone(), &p.lo, &p.hi, &settings) {
                Ok(mut problem) => {
                    let status = problem.solve();
                    let solved = matches!(status, osqp::Status::Solved(_));
                    (status.x().map(<[f64]>::to_vec).unwrap_or_default(), solved)
                }
                Err(_) => (vec![], false),
            }
        });
    }
}
