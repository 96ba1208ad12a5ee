//! The dense solvers (Dantzig, Lemke, the semismooth Newtons) against enumeration, textbook problems and recorded ones.

use crate::common::oracle;
use crate::common::problems::{Kind, Load, SmallProblem};
use crate::common::{corpus, Form, Friction, Random};
use mlcp::{Engine, Outcome, Problem, Report, Settings, SolverKind, Triangle};

/// Solvers that need neither symmetry nor a positive diagonal.
const GENERAL: [SolverKind; 3] = [SolverKind::Lemke, SolverKind::FischerNewton, SolverKind::MinMapNewton];

/// All of this file's solvers.
const SYMMETRIC: [SolverKind; 4] =
    [SolverKind::Dantzig, SolverKind::Lemke, SolverKind::FischerNewton, SolverKind::MinMapNewton];

/// A solver that goes on to round-off.
fn engine(solver: SolverKind) -> Engine {
    let settings = Settings { solver, energy_tolerance: 0.0, relative_tolerance: 1e-24, ..Settings::default() };
    Engine::new(settings).unwrap()
}

fn dense(n: usize, a: &[f64], b: &[f64], lo: &[f64], hi: &[f64]) -> Problem {
    let mut problem = Problem::new();
    problem.set_dense(n, a, n, Triangle::Full).unwrap();
    problem.set_b(b).unwrap();
    problem.set_bounds(lo, hi).unwrap();
    problem
}

/// Solve, and check that the report is honest about the returned x.
fn solve(engine: &mut Engine, problem: &Problem, about: &str) -> Report {
    let report = *engine.solve(problem, None, None).unwrap();
    assert!(engine.x().iter().all(|v| v.is_finite()), "{about}: {:?}", engine.x());
    assert!(report.natural.is_finite() && report.natural >= 0.0, "{about}");
    report
}

/// Definite and rank-deficient symmetric problems over every kind of bound: a solution where there is one. Rank-deficient
/// ones with free rows and a load outside the range have none.
#[test]
fn symmetric_problems_match_enumeration() {
    for kind in SYMMETRIC {
        let mut engine = engine(kind);
        let (mut cases, mut failed) = (0, Vec::new());
        for seed in 0..3000 {
            let mut random = Random::new(seed ^ 0x51);
            let n = 1 + random.below(if seed % 50 == 0 { 8 } else { 6 });
            let rank = if random.chance(0.5) { n } else { 1 + random.below(n) };
            let load = if random.chance(0.5) { Load::Any } else { Load::Consistent };
            let p = SmallProblem::random(seed, n, rank, load, &Kind::ALL);
            let known = oracle::solution(n, &p.a, &p.b, &p.lo, &p.hi);
            let about = format!("{} seed {seed} n {n} rank {rank} {:?}", kind.name(), p.kinds);
            let report = solve(&mut engine, &p.fill_dense(), &about);
            cases += 1;
            let Some(known) = known else {
                assert_ne!(report.outcome, Outcome::Converged, "{about}: there is no solution");
                continue;
            };
            let size = known.x.iter().fold(1.0f64, |m, x| m.max(x.abs()));
            let far = p.is_definite() && engine.x().iter().zip(&known.x).any(|(x, y)| (x - y).abs() > 1e-6 * size);
            if report.natural > 1e-7 * size || far {
                failed.push(format!("{about}: {:e}, {}", report.natural, report.outcome.name()));
            }
        }
        println!("{}: {} of {cases} failed", kind.name(), failed.len());
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    }
}

/// Random matrices with a positive definite symmetric part: P-matrices, one solution for every b and box.
#[test]
fn nonsymmetric_p_matrices_match_enumeration() {
    for kind in GENERAL {
        let mut engine = engine(kind);
        for seed in 0..2000 {
            let mut random = Random::new(seed ^ 0x77);
            let n = 1 + random.below(6);
            let mut p = SmallProblem::random(seed, n, n, Load::Any, &Kind::ALL);
            for i in 0..n {
                for j in 0..i {
                    let skew = 2.0 * random.signed();
                    p.a[i * n + j] += skew;
                    p.a[j * n + i] -= skew;
                }
            }
            let known = oracle::solution(n, &p.a, &p.b, &p.lo, &p.hi).expect("a P-matrix");
            let about = format!("{} seed {seed} {:?}", kind.name(), p.kinds);
            let report = solve(&mut engine, &p.fill_dense(), &about);
            let size = known.x.iter().fold(1.0f64, |m, x| m.max(x.abs()));
            for (x, y) in engine.x().iter().zip(&known.x) {
                assert!((x - y).abs() <= 1e-7 * size, "{about}: {x} for {y}, {}", report.outcome.name());
            }
        }
    }
}

/// A textbook problem, `lo = 0`, the first `free` rows free.
struct Textbook {
    name: &'static str,
    n: usize,
    free: usize,
    a: &'static [f64],
    b: &'static [f64],
}

/// From the tests of Siconos (github.com/siconos/siconos, numerics/src/{LCP,MLCP}/test/data, Apache-2.0).
const TEXTBOOK: [Textbook; 8] = [
    // Cottle, Pang & Stone 1992, example 4.4.7; solution (0, 1, 3).
    Textbook {
        name: "CPS_2",
        n: 3,
        free: 0,
        a: &[0.0, -1.0, 2.0, 2.0, 0.0, -2.0, -1.0, 1.0, 0.0],
        b: &[-3.0, 6.0, -1.0],
    },
    Textbook {
        name: "CPS_4",
        n: 4,
        free: 0,
        a: &[11.0, 0.0, 10.0, -1.0, 0.0, 11.0, 10.0, -1.0, 10.0, 10.0, 21.0, -1.0, 1.0, 1.0, 1.0, 0.0],
        b: &[50.0, 50.0, 10.0, -6.0],
    },
    Textbook {
        name: "Pang_isolated_sol",
        n: 3,
        free: 0,
        a: &[0.0, -1.0, -1.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0],
        b: &[0.0, -1.0, 1.0],
    },
    Textbook {
        name: "ortiz",
        n: 4,
        free: 0,
        a: &[3.0, 1.0, 0.0, -1.0, -1.0, 2.0, 1.0, 1.0, 0.0, 1.0, 3.0, -1.0, 0.0, 0.0, 1.0, 2.0],
        b: &[-2.0, 1.0, -1.0, 1.0],
    },
    // Murty's example, on which pivoting may take 2ⁿ - 1 steps.
    Textbook {
        name: "exp_murty",
        n: 6,
        free: 0,
        a: &[
            1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0, 1.0, 2.0, 2.0, 2.0, 2.0, 0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 0.0, 0.0, 0.0,
            1.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0,
        ],
        b: &[-1.0; 6],
    },
    Textbook {
        name: "RCD",
        n: 3,
        free: 2,
        a: &[0.1, -0.1, -1.0, -1.505, 0.5, 0.0, 0.0, -1.0, 0.0],
        b: &[0.0, 0.495, 0.0],
    },
    Textbook {
        name: "relay2",
        n: 6,
        free: 4,
        a: &[
            0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, -0.01, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0,
            0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, -1.0, 0.0, 0.0, 0.0, 1.0, 0.0,
        ],
        b: &[0.0, 0.0, -10.0, -1.6, 3.0, 0.001],
    },
    // The free rows alone are singular.
    Textbook {
        name: "diodeBridge",
        n: 7,
        free: 3,
        a: &[
            0.0, -0.001, 0.001, 0.0, 1.0, 0.0, 1.0, 0.0, 0.001, -0.001, -1.0, 0.0, -1.0, 0.0, -1.0025, 0.0, 0.0, 0.0,
            0.0, 10.0, -10.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -1.0,
            0.0, 0.0, 0.0, 0.0, -1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        ],
        b: &[0.0, 0.0, 0.9975, 0.0, 0.0, 0.0, 0.0],
    },
];

#[test]
fn textbook_problems_are_solved() {
    for t in &TEXTBOOK {
        let lo: Vec<f64> = (0..t.n).map(|i| if i < t.free { f64::NEG_INFINITY } else { 0.0 }).collect();
        let problem = dense(t.n, t.a, t.b, &lo, &vec![f64::INFINITY; t.n]);
        for kind in GENERAL {
            let mut engine = engine(kind);
            let report = solve(&mut engine, &problem, t.name);
            assert!(report.natural <= 1e-8, "{} {}: {:e}", t.name, kind.name(), report.natural);
            assert_eq!(report.outcome, Outcome::Converged, "{} {}", t.name, kind.name());
            if t.name == "CPS_2" {
                let far = engine.x().iter().zip([0.0, 1.0, 3.0]).any(|(x, y)| (x - y).abs() > 1e-8);
                assert!(!far, "{}: {:?}", kind.name(), engine.x());
            }
        }
    }
}

/// w = -x1 - 1 is never >= 0; x1 = x2 >= 0 cannot pull apart. Lemke says ray, the others do not say converged.
#[test]
fn problems_without_solutions_end_in_a_ray() {
    let inf = f64::INFINITY;
    let infeasible: [(usize, &[f64], &[f64]); 3] =
        [(1, &[0.0], &[-1.0]), (2, &[1.0, -1.0, -1.0, 1.0], &[-1.0, -1.0]), (2, &[0.0, -1.0, 1.0, 0.0], &[-1.0, 0.0])];
    for (n, a, b) in infeasible {
        let problem = dense(n, a, b, &vec![0.0; n], &vec![inf; n]);
        for kind in GENERAL {
            let report = solve(&mut engine(kind), &problem, kind.name());
            assert_ne!(report.outcome, Outcome::Converged, "{} {a:?}", kind.name());
            assert_eq!(report.outcome == Outcome::Ray, kind == SolverKind::Lemke, "{} {a:?}", kind.name());
        }
    }
    assert_eq!(Outcome::Ray.name(), "ray");
}

/// Other units per row change nothing: same outcome, same number of steps, x in the new units.
#[test]
fn units_do_not_matter() {
    for kind in SYMMETRIC {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let n = 1 + random.below(6);
            let p = SmallProblem::random(seed, n, n, Load::Any, &Kind::ALL);
            // Powers of four, so that rounding is the same too.
            let s: Vec<f64> = (0..n).map(|_| 4f64.powi(random.below(9) as i32 - 4)).collect();
            let (mut one, mut two) = (engine(kind), engine(kind));
            let (plain, scaled) = (p.fill_dense(), p.scaled(&s).fill_dense());
            let (r, q) = (solve(&mut one, &plain, "plain"), solve(&mut two, &scaled, "scaled"));
            assert_eq!((r.outcome, r.iterations), (q.outcome, q.iterations), "{} seed {seed}", kind.name());
            for i in 0..n {
                assert!((one.x()[i] - two.x()[i] * s[i]).abs() <= 1e-12 * (1.0 + one.x()[i].abs()));
            }
        }
    }
}

/// Recorded problems solved to a relative energy of 1e-9, of 65. Measured: 63, 62, 64 and 64; one less is asked for,
/// because matrix kernels round differently from one processor to another. On one of them the joints contradict each
/// other, and no solver gets below 9.1e-8.
const FLOOR: [(SolverKind, usize); 4] = [
    (SolverKind::Dantzig, 62),
    (SolverKind::Lemke, 61),
    (SolverKind::FischerNewton, 63),
    (SolverKind::MinMapNewton, 63),
];

#[test]
fn recorded_problems() {
    let problems = corpus::load();
    for (kind, floor) in FLOOR {
        let mut solved = 0;
        for p in &problems {
            let problem = p.fill(Form::Csr, Friction::FrozenAtReference);
            let mut engine = Engine::new(Settings { solver: kind, ..Settings::default() }).unwrap();
            let report = solve(&mut engine, &problem, &p.name);
            let relative = report.relative_energy();
            let fine = relative <= 1e-9;
            solved += usize::from(fine);
            println!(
                "{:16} {:44} {} {relative:.1e} {:5} steps, {}",
                kind.name(),
                p.name,
                if fine { "ok  " } else { "FAIL" },
                report.iterations,
                report.outcome.name()
            );
            assert!(report.energy_error <= report.initial_energy_error, "{} {}", kind.name(), p.name);
            let tolerance = 1e-18f64.max(1e-10 * report.energy_scale);
            assert_eq!(report.outcome == Outcome::Converged, report.energy_error <= tolerance, "{}", p.name);
        }
        println!("{}: {solved} of {}", kind.name(), problems.len());
        assert!(solved >= floor, "{}: {solved} solved, at least {floor} expected", kind.name());
    }
}

/// Finite numbers of any size give finite answers.
#[test]
fn extreme_numbers_stay_finite() {
    for kind in SYMMETRIC {
        let mut engine = engine(kind);
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let n = 1 + random.below(5);
            let p = SmallProblem::random(seed, n, 1 + random.below(n), Load::Any, &Kind::ALL);
            let s: Vec<f64> = (0..n).map(|_| random.scale(1e-9, 1e9)).collect();
            let report = engine.solve(&p.scaled(&s).fill_dense(), None, None).map(|r| r.outcome);
            assert!(report.is_ok() && engine.x().iter().all(|v| v.is_finite()), "{} {seed}", kind.name());
        }
        let huge = dense(2, &[1e300, 1e299, 1e299, 1e300], &[-1e300, 1e300], &[0.0; 2], &[f64::INFINITY; 2]);
        engine.solve(&huge, None, None).unwrap();
        assert!(engine.x().iter().all(|v| v.is_finite()), "{}", kind.name());
    }
}
