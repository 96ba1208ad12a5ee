//! The first-order solvers: sweeps, gradients and what is built on them.
//!
//! References: solutions by enumeration, the measure formed from the recorded matrix, and each method's own promises.

// The counting allocator is unsafe by nature.
#![allow(unsafe_code)]

use crate::common::corpus::{self, CorpusProblem, Form, Friction};
use crate::common::oracle;
use crate::common::problems::{Kind, Load, SmallProblem};
use crate::common::{Random, RowProblem};
use mlcp::{Engine, Outcome, Problem, Settings, SolverKind};

/// The solvers, and how many of the 65 recorded problems each must solve to a relative energy error of 1e-9 within 1000
/// iterations, friction frozen at the reference: a little below what was measured.
const SOLVERS: [(SolverKind, usize); 8] = [
    (SolverKind::SymmetricPgs, 26),
    (SolverKind::BlockPgs, 25),
    (SolverKind::Spg, 40),
    (SolverKind::Apgd, 29),
    (SolverKind::PgsSm, 59),
    (SolverKind::Nncg, 39),
    (SolverKind::Jacobi, 21),
    (SolverKind::GpMinres, 56),
];

/// These promise that `½xᵀAx + bᵀx` never rises.
const MONOTONE: [SolverKind; 5] =
    [SolverKind::SymmetricPgs, SolverKind::BlockPgs, SolverKind::Jacobi, SolverKind::PgsSm, SolverKind::GpMinres];

fn kinds() -> impl Iterator<Item = SolverKind> {
    SOLVERS.into_iter().map(|(kind, _)| kind)
}

/// As far as it goes.
fn patient(solver: SolverKind) -> Settings {
    Settings {
        solver,
        relative_tolerance: 1e-26,
        energy_tolerance: 0.0,
        max_iterations: 50_000,
        stall_window: 2000,
        history_capacity: 0,
        ..Settings::default()
    }
}

/// Definite problems have one solution, and every solver finds it: 1e-7 of the largest impulse in scaled rows. The
/// matrices have condition numbers up to 1e3 and Jacobi's rate is 1 - 1/cond: 50 000 steps leave round-off.
#[test]
fn definite_problems_match_enumeration() {
    for kind in kinds() {
        let mut engine = Engine::new(patient(kind)).unwrap();
        for seed in 0..400 {
            let n = 1 + seed as usize % 8;
            // 3^8 assignments are slow enough to try a few only.
            if n > 6 && seed > 60 {
                continue;
            }
            let p = SmallProblem::random(seed, n, n, Load::Any, &Kind::ALL);
            let known = oracle::solution(n, &p.a, &p.b, &p.lo, &p.hi).unwrap();
            for problem in [p.fill_dense(), p.fill_csr()] {
                let report = *engine.solve(&problem, None, None).unwrap();
                let root: Vec<f64> = problem.diagonal().iter().map(|a| a.sqrt()).collect();
                let size = (0..n).fold(1e-3f64, |s, i| s.max((root[i] * known.x[i]).abs()));
                for i in 0..n {
                    let apart = root[i] * (engine.x()[i] - known.x[i]).abs();
                    assert!(
                        apart <= 1e-7 * size,
                        "{} seed {seed} n {n} row {i}: {} for {}, {} after {}, error {:e}",
                        kind.name(),
                        engine.x()[i],
                        known.x[i],
                        report.outcome.name(),
                        report.iterations,
                        report.energy_error
                    );
                }
            }
        }
    }
}

/// With fixed bounds the objective never rises from one iterate to the next, singular matrices included.
#[test]
fn objectives_never_rise() {
    for kind in MONOTONE {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let n = 2 + random.below(7);
            let rank = 1 + random.below(n);
            let p = SmallProblem::random(seed, n, rank, Load::Consistent, &Kind::ALL);
            let problem = p.fill_dense();
            let settings = Settings { max_iterations: 60, ..patient(kind) };
            let mut engine = Engine::new(settings).unwrap();
            let mut last = f64::INFINITY;
            let mut worst: f64 = 0.0;
            let mut watch = |seen: &mlcp::solve::Observation<'_>| {
                let f = oracle::objective(n, &p.a, &p.b, seen.x);
                if last.is_finite() {
                    // Round-off of a sum of n² products.
                    worst = worst.max((f - last) - 1e-13 * (1.0 + f.abs()));
                }
                last = f;
                false
            };
            engine.solve(&problem, None, Some(&mut watch)).unwrap();
            assert!(worst <= 0.0, "{} seed {seed} n {n} rank {rank}: rose by {worst:e}", kind.name());
        }
    }
}

/// The returned x solves the box problem whose bounds are those at x.
#[test]
fn coupled_friction_ends_at_a_fixed_point() {
    for kind in kinds() {
        let mut engine = Engine::new(patient(kind)).unwrap();
        for seed in 0..24 {
            let p = RowProblem::boxes(seed, 1 + seed as usize % 4, 2, [0.0, 0.3, 0.8][seed as usize % 3]);
            for form in Form::ALL {
                let problem = p.fill(form, None);
                let report = *engine.solve(&problem, None, None).unwrap();
                let about = format!(
                    "{} seed {seed} {form:?}: {:e} of {:e}, {} after {}",
                    kind.name(),
                    report.energy_error,
                    report.energy_scale,
                    report.outcome.name(),
                    report.iterations
                );
                assert!(report.energy_error <= 1e-8 * report.energy_scale, "{about}");
                let x = engine.x().to_vec();
                let frozen = p.fill(form, Some(&x));
                let again = *engine.solve(&frozen, Some(&x), None).unwrap();
                assert!(again.initial_energy_error <= 1e-8 * report.energy_scale, "{about}, frozen");
            }
        }
    }
}

fn form_of(p: &CorpusProblem) -> Form {
    p.forms()[p.forms().len() - 1]
}

/// Solve and check what holds for any result.
fn solve(engine: &mut Engine, problem: &Problem, about: &str) -> f64 {
    let report = *engine.solve(problem, None, None).unwrap();
    assert!(engine.x().iter().chain(engine.w()).all(|v| v.is_finite()), "{about}");
    let settings = engine.settings();
    let tolerance = settings.energy_tolerance.max(settings.relative_tolerance * report.energy_scale);
    assert_eq!(report.outcome == Outcome::Converged, report.energy_error <= tolerance, "{about}");
    assert!(report.energy_error <= report.initial_energy_error, "{about}");
    report.relative_energy()
}

#[test]
fn recorded_problems() {
    let corpus = corpus::load();
    let mut short = Vec::new();
    println!("{:10} {:>6} {:>9} {:>9} {:>9} {:>8}", "solver", "solved", "median", "worst", "coupled", "seconds");
    // Plain sweeps for comparison.
    for (kind, floor) in [(SolverKind::Pgs, 0)].into_iter().chain(SOLVERS) {
        let settings = Settings { solver: kind, max_iterations: 1000, stall_window: 1000, ..Settings::default() };
        let clock = std::time::Instant::now();
        let mut engine = Engine::new(settings).unwrap();
        let run = |engine: &mut Engine, friction| -> Vec<(f64, String)> {
            let one = |p: &CorpusProblem| {
                let about = format!("{} {} {friction:?}", kind.name(), p.name);
                (solve(engine, &p.fill(form_of(p), friction), &about), p.name.clone())
            };
            corpus.iter().map(one).collect()
        };
        let mut frozen = run(&mut engine, Friction::FrozenAtReference);
        let seconds = clock.elapsed().as_secs_f64();
        let coupled = run(&mut engine, Friction::Coupled).iter().filter(|(e, _)| *e <= 1e-9).count();
        let solved = frozen.iter().filter(|(e, _)| *e <= 1e-9).count();
        frozen.sort_by(|p, q| p.0.total_cmp(&q.0));
        let (median, worst) = (&frozen[frozen.len() / 2], &frozen[frozen.len() - 1]);
        println!(
            "{:10} {solved:>6} {:>9.1e} {:>9.1e} {coupled:>9} {seconds:>8.2}  {}",
            kind.name(),
            median.0,
            worst.0,
            worst.1
        );
        let unsolved: Vec<&str> = frozen.iter().filter(|(e, _)| *e > 1e-9).map(|(_, name)| &name[..]).collect();
        if unsolved.len() < 10 {
            println!("{:10} unsolved: {}", "", unsolved.join(", "));
        }
        if solved < floor {
            short.push(format!("{}: {solved} of {floor}", kind.name()));
        }
    }
    assert!(short.is_empty(), "{short:?}");
}

/// Numbers at the ends of the range overflow somewhere; x stays finite.
#[test]
fn extreme_numbers_give_no_nan() {
    for kind in kinds() {
        let mut engine = Engine::new(Settings { solver: kind, max_iterations: 50, ..Settings::default() }).unwrap();
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let n = 1 + random.below(5);
            let mut p = SmallProblem::random(seed, n, 1 + random.below(n), Load::Any, &Kind::ALL);
            let (s, t) =
                (random.pick(&[1e-300, 1e-150, 1.0, 1e150, 1e300]), random.pick(&[1e-300, 1e-8, 1.0, 1e8, 1e300]));
            p.a.iter_mut().for_each(|a| *a *= s);
            p.b.iter_mut().for_each(|b| *b *= t);
            if p.diagonal().iter().any(|a| *a <= 0.0 || !a.is_finite()) {
                continue;
            }
            engine.solve(&p.fill_dense(), None, None).unwrap();
            assert!(engine.x().iter().all(|v| v.is_finite()), "{} seed {seed}: {:?}", kind.name(), engine.x());
        }
    }
}

/// Rows in other units give the same impulses in those units. Powers of two are exact, so nothing may differ.
#[test]
fn row_scaling_changes_nothing() {
    for kind in kinds() {
        let mut engine = Engine::new(Settings { solver: kind, max_iterations: 40, ..Settings::default() }).unwrap();
        for seed in 0..100 {
            let mut random = Random::new(seed);
            let n = 1 + random.below(8);
            let p = SmallProblem::random(seed, n, n, Load::Any, &Kind::ALL);
            let s: Vec<f64> = (0..n).map(|_| 2f64.powi(random.below(41) as i32 - 20)).collect();
            engine.solve(&p.fill_dense(), None, None).unwrap();
            let plain = engine.x().to_vec();
            engine.solve(&p.scaled(&s).fill_dense(), None, None).unwrap();
            let size = (0..n).fold(0f64, |m, i| m.max((plain[i] * p.diagonal()[i].sqrt()).abs()));
            for i in 0..n {
                let apart = (engine.x()[i] * s[i] - plain[i]).abs() * p.diagonal()[i].sqrt();
                assert!(apart <= 1e-12 * size, "{} seed {seed} row {i}: {apart:e} of {size:e}", kind.name());
            }
        }
    }
}

#[test]
fn second_solves_allocate_nothing() {
    for kind in kinds() {
        for form in Form::ALL {
            let settings = Settings { solver: kind, max_iterations: 100, ..Settings::default() };
            let mut engine = Engine::new(settings).unwrap();
            let large = RowProblem::boxes(1, 12, 4, 0.5).fill(form, None);
            let small = RowProblem::boxes(2, 7, 3, 0.5).fill(form, None);
            engine.solve(&large, None, None).unwrap();
            for problem in [&small, &large] {
                let (taken, _) = crate::counting::count(|| engine.solve(problem, None, None).is_ok());
                taken.assert_none(&format!("{} {form:?}", kind.name()));
            }
        }
    }
}
