//! `auto`: solves what engines recorded, and what they did not; says what it did; does nothing where nothing is to do.
//!
//! Errors are computed here from the recorded matrix; the oracle for frozen friction is what the engines' own solvers
//! found.

use crate::common::corpus::{self, CorpusProblem, Form, Friction, INCONSISTENT};
use crate::common::Random;
use mlcp::auto::Reason;
use mlcp::{Engine, FrictionMode, Measure, Outcome, Problem, Settings, SolverKind, Triangle};

fn engine() -> Engine {
    Engine::new(Settings { relative_tolerance: 1e-9, ..Settings::default() }).unwrap()
}

#[test]
fn auto_is_the_default() {
    assert_eq!(Settings::default().solver, SolverKind::Auto);
    assert_eq!(SolverKind::Auto as i32, 0);
}

#[test]
fn auto_solves_every_consistent_problem_and_is_best_known_on_the_others() {
    for friction in [Friction::FrozenAtReference, Friction::Coupled] {
        for p in corpus::load() {
            let best = INCONSISTENT.iter().find(|(name, _)| *name == p.name);
            for &form in p.forms() {
                let mut engine = engine();
                let report = *engine.solve(&p.fill(form, friction), None, None).unwrap();
                let relative = p.relative_energy(engine.x(), friction);
                let about = format!("{} {form:?} {friction:?}: relative {relative:.2e}, {:?}", p.name, engine.stages());
                assert!(engine.x().iter().all(|v| v.is_finite()), "{about}");
                match best {
                    // The best known is for frozen bounds; the coupled problem is no easier.
                    Some((_, best)) => assert!(relative <= 2.0 * best.max(1e-9), "{about}"),
                    None => {
                        // The f32 matrices were recorded rounded: x solves J M⁻¹ Jᵀ, w is measured with one 1e-7 off.
                        let rounded = p.name.contains("f32") && form == Form::Jacobian;
                        assert!(relative <= if rounded { 1.2e-9 } else { 1.001e-9 }, "{about}");
                        assert_eq!(report.outcome, Outcome::Converged, "{about}");
                    }
                }
            }
        }
    }
}

/// A recorded problem that never was: other coefficients of friction, and other velocities of the bodies.
fn variant(p: &CorpusProblem, random: &mut Random) -> CorpusProblem {
    let mut p = p.clone();
    let roughness = random.scale(0.3, 3.0);
    for i in (0..p.n).filter(|&i| p.findex[i] >= 0) {
        p.lo[i] *= roughness;
        p.hi[i] *= roughness;
    }
    pushed(&p, 0.2, random)
}

/// A recorded problem with other velocities of the bodies, by that share of what they are.
fn pushed(p: &CorpusProblem, share: f64, random: &mut Random) -> CorpusProblem {
    let mut pushed = p.clone();
    let size = p.b.iter().map(|b| b.abs()).sum::<f64>() / p.n as f64;
    let j = p.jacobian.as_ref().expect("two-body rows");
    let push: Vec<f64> = (0..j.inverse_mass.len() / 2).map(|_| share * size * random.signed()).collect();
    for i in 0..p.n {
        for side in 0..2 {
            if let Ok(body) = usize::try_from(j.bodies[2 * i + side]) {
                pushed.b[i] += (0..6).map(|c| j.rows[12 * i + 6 * side + c] * push[6 * body + c]).sum::<f64>();
            }
        }
    }
    pushed
}

#[test]
fn auto_solves_what_was_not_recorded() {
    let mut random = Random::new(11);
    for p in corpus::load() {
        if p.jacobian.is_none() || p.name.contains("bridge") {
            continue;
        }
        for k in 0..3 {
            let p = variant(&p, &mut random);
            let mut engine = engine();
            let report = *engine.solve(&p.fill(Form::Jacobian, Friction::Coupled), None, None).unwrap();
            let about = format!("{} variant {k}: {:.2e}, {:?}", p.name, report.relative_energy(), engine.stages());
            assert_eq!(report.outcome, Outcome::Converged, "{about}");
            assert!(p.relative_energy(engine.x(), Friction::Coupled) <= 1.2e-9, "{about}");
        }
    }
}

/// Frozen friction as ODE's and Bullet's Dantzig solvers have it. Where A is definite the answer is unique.
#[test]
fn frozen_friction_is_what_the_engines_compute() {
    let mut compared = 0;
    for p in corpus::load() {
        let Some(theirs) = &p.dantzig else { continue };
        // ODE's CFM makes A definite; Bullet's matrices of contacts are singular.
        let definite = p.jacobian.as_ref().is_some_and(|j| j.compliance.iter().flatten().all(|&c| c > 0.0));
        if !definite || p.findex.iter().all(|&f| f < 0) {
            continue;
        }
        let mut problem = p.fill(Form::Jacobian, Friction::FrozenAtReference);
        let mut engine = Engine::new(Settings { relative_tolerance: 1e-20, ..Settings::default() }).unwrap();
        engine.freeze_friction(&mut problem, None, None).unwrap();
        engine.solve(&problem, None, None).unwrap();
        let (ours, theirs_w) = (p.w(engine.x()), p.w(theirs));
        let energy = |x: &[f64], w: &[f64]| (0..p.n).map(|i| x[i] * (w[i] - p.b[i])).sum::<f64>();
        let apart: Vec<f64> = engine.x().iter().zip(theirs).map(|(x, y)| x - y).collect();
        let between: f64 = (0..p.n).map(|i| apart[i] * (ours[i] - theirs_w[i])).sum();
        let whole = energy(theirs, &theirs_w);
        let relative = between.abs() / if whole > 0.0 { whole } else { 1.0 };
        assert!(relative <= 1e-12, "{}: energy of the difference {relative:.2e}", p.name);
        compared += 1;
    }
    assert!(compared >= 9, "only {compared} compared");
}

#[test]
fn freezing_needs_the_frozen_mode_and_a_refusal_changes_nothing() {
    let mut problem = Problem::new();
    problem.set_dense(2, &[1.0, 0.2, -0.2, 1.0], 2, Triangle::Full).unwrap();
    problem.set_b(&[-2.0, -5.0]).unwrap();
    problem.set_bounds(&[0.0, f64::NEG_INFINITY], &[f64::INFINITY; 2]).unwrap();
    problem.set_friction(&[-1, 0], &[0.0, 0.5], FrictionMode::Coupled).unwrap();
    assert!(engine().freeze_friction(&mut problem, None, None).is_err());
    problem.set_friction(&[-1, 0], &[0.0, 0.5], FrictionMode::Frozen).unwrap();
    problem.set_frozen_normals(&[3.0, 0.0]).unwrap();
    // A is not symmetric: bpp refuses, and the normals given before still hold.
    let mut bpp = Engine::new(Settings { solver: SolverKind::Bpp, ..Settings::default() }).unwrap();
    assert!(bpp.freeze_friction(&mut problem, None, None).is_err());
    assert_eq!(problem.bounds_of(1, &[0.0; 2]), (-1.5, 1.5));
    // auto does not; without friction the normal impulse is 2.
    engine().freeze_friction(&mut problem, None, None).unwrap();
    assert_eq!(problem.bounds_of(1, &[0.0; 2]), (-1.0, 1.0));
}

#[test]
fn a_good_start_takes_no_iteration() {
    let p = corpus::load_one("ode_wall12_s020_i0_n561");
    let problem = p.fill(Form::Jacobian, Friction::FrozenAtReference);
    let mut engine = engine();
    engine.solve(&problem, None, None).unwrap();
    let x = engine.x().to_vec();
    let report = *engine.solve(&problem, Some(&x), None).unwrap();
    assert_eq!((report.iterations, report.stages, report.outcome), (0, 0, Outcome::Converged));
    assert_eq!(engine.x(), x);
    assert!(engine.stages().is_empty());
}

/// Where nothing is wrong at x = 0 nothing is done, however far off the start.
#[test]
fn nothing_to_do_is_found_at_once() {
    let p = corpus::load_one("bullet_wall12_s050_i0_n376");
    let mut problem = p.fill(Form::Jacobian, Friction::Coupled);
    problem.set_b(&vec![0.0; p.n]).unwrap();
    let mut engine = engine();
    let report = *engine.solve(&problem, Some(&p.x_ref), None).unwrap();
    assert_eq!((report.iterations, report.outcome, report.energy_error), (0, Outcome::Converged, 0.0));
    assert!(engine.x().iter().all(|&x| x == 0.0));
}

#[test]
fn the_stages_tell_what_was_done_and_why() {
    let p = corpus::load_one("bullet_wall12_s300_i0_n376");
    let problem = p.fill(Form::Jacobian, Friction::Coupled);
    let mut engine = engine();
    let mut seen = Vec::new();
    let mut observer = |o: &mlcp::solve::Observation<'_>| {
        seen.push((o.record.iteration, o.record.solver));
        false
    };
    let report = *engine.solve(&problem, None, Some(&mut observer)).unwrap();
    let stages = engine.stages();
    assert!(stages.len() >= 2, "{stages:?}");
    assert_eq!((stages[0].solver, stages[0].reason), (SolverKind::Bpp, Reason::Pivots));
    assert_eq!((stages[1].solver, stages[1].reason), (SolverKind::InteriorPoint, Reason::Redundant));
    assert_eq!(report.stages, stages.len());
    assert_eq!(report.iterations, stages.iter().map(|s| s.iterations).sum::<usize>());
    assert_eq!(report.best_solver, stages[stages.len() - 1].solver);
    assert_eq!(stages[stages.len() - 1].outcome, Outcome::Converged);
    let seconds: f64 = stages.iter().map(|s| s.seconds).sum();
    assert!(stages.iter().all(|s| s.seconds > 0.0) && (seconds - report.seconds).abs() <= 1e-12, "{stages:?}");
    // Observers saw every iteration once, with the solver at work.
    assert!(seen.iter().enumerate().all(|(k, s)| s.0 == k), "iterations are counted through");
    assert_eq!(seen.len(), report.iterations + 1);
    assert_eq!(seen[0].1, SolverKind::Auto);
    assert_eq!(seen[1].1, SolverKind::Bpp);
    for reason in Reason::ALL {
        assert!(!reason.text().is_empty());
    }
}

/// The last step's impulses are mostly nearly good enough: sweeps do, if their pace will.
#[test]
fn a_start_that_is_nearly_good_enough_takes_a_few_sweeps() {
    let p = corpus::load_one("bullet_wall12_2dir_s100_i0_n564");
    for friction in [Friction::FrozenAtReference, Friction::Coupled] {
        let problem = p.fill(Form::Jacobian, friction);
        let mut engine = engine();
        engine.solve(&problem, None, None).unwrap();
        assert_ne!(engine.stages()[0].reason, Reason::GoodStart, "x = 0 is no good start");
        let mut near = Vec::new();
        for size in (0..60).map(|k| 1e-8 * 1.5f64.powi(k)) {
            // Rough all over, as sweeps like it.
            near = (0..p.n).map(|i| engine.x()[i] * (1.0 + size * [1.0, -1.0][i % 2])).collect();
            if p.relative_energy(&near, friction) > 1e-8 {
                break;
            }
        }
        let report = *engine.solve(&problem, Some(&near), None).unwrap();
        let stages = engine.stages();
        assert_eq!((stages[0].solver, stages[0].reason), (SolverKind::Pgs, Reason::GoodStart), "{friction:?}");
        assert_eq!((report.outcome, stages.len()), (Outcome::Converged, 1), "{stages:?}");
        assert!(report.iterations <= 4 && p.relative_energy(engine.x(), friction) <= 1.001e-9, "{report:?}");
    }
}

/// The wall a step later: it moves a little faster or slower, row by row.
fn moved(p: &CorpusProblem, size: f64) -> CorpusProblem {
    let mut random = Random::new(5);
    let mut moved = corpus::load_one(&p.name);
    moved.b.iter_mut().for_each(|b| *b *= 1.0 + size * random.signed());
    moved
}

/// Redundant walls.
const REDUNDANT: [&str; 2] = ["ode_wall12_s001_i0_n555", "bullet_wall12_s300_i0_n376"];

/// Impulses of the step before, of quite another step, and nonsense: what is found is as good as from no start at all.
#[test]
fn no_start_keeps_auto_from_a_solution() {
    let mut random = Random::new(7);
    for name in REDUNDANT {
        let p = corpus::load_one(name);
        let next = moved(&p, 1e-3);
        for friction in [Friction::FrozenAtReference, Friction::Coupled] {
            let problem = next.fill(Form::Jacobian, friction);
            let mut engine = engine();
            let turned: Vec<f64> = p.x_ref.iter().rev().copied().collect();
            let nonsense: Vec<f64> = (0..p.n).map(|_| 1e3 * random.signed()).collect();
            for start in [&p.x_ref, &turned, &nonsense] {
                let report = *engine.solve(&problem, Some(start), None).unwrap();
                let relative = next.relative_energy(engine.x(), friction);
                assert_eq!(report.outcome, Outcome::Converged, "{name} {friction:?} {:?}", engine.stages());
                assert!(relative <= 1.001e-9, "{name} {friction:?}: {relative:.2e}");
            }
        }
    }
}

/// Coupled friction on redundant contacts takes many steps from nowhere, and a few pivots from the step before.
#[test]
fn near_a_solution_pivots_do_not_lose_their_way() {
    let names = [
        "bullet_wall12_s050_i0_n376",
        "bullet_wall12_s300_i0_n376",
        "bullet_wall6_s040_i0_n276",
        "ode_wall12_cfm0_s050_i0_n513",
    ];
    for p in names.map(corpus::load_one) {
        let mut engine = engine();
        let cold = engine.solve(&p.fill(Form::Jacobian, Friction::Coupled), None, None).unwrap().iterations;
        let next = pushed(&p, 1e-2, &mut Random::new(5));
        let x = engine.x().to_vec();
        let report = *engine.solve(&next.fill(Form::Jacobian, Friction::Coupled), Some(&x), None).unwrap();
        let about = format!("{}: cold {cold}, then {:?}", p.name, engine.stages());
        assert_eq!((report.outcome, engine.stages().len()), (Outcome::Converged, 1), "{about}");
        assert!(cold >= 40 && report.iterations <= 6, "{about}");
        assert!(next.relative_energy(engine.x(), Friction::Coupled) <= 1.001e-9, "{about}");
    }
}

/// What a handle solved before, warm or cold, leaves no trace in a solve without a start, nor in one with a start.
#[test]
fn what_was_solved_before_makes_no_difference() {
    let p = corpus::load_one(REDUNDANT[0]);
    let next = moved(&p, 1e-2);
    for friction in [Friction::FrozenAtReference, Friction::Coupled] {
        let (problem, other) = (p.fill(Form::Jacobian, friction), next.fill(Form::Jacobian, friction));
        let solve = |engine: &mut Engine, problem: &Problem, start: Option<&[f64]>| {
            engine.solve(problem, start, None).unwrap();
            engine.x().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        let fresh = [None, Some(&next.x_ref[..])].map(|start| solve(&mut engine(), &problem, start));
        let mut used = engine();
        solve(&mut used, &other, None);
        solve(&mut used, &other, Some(&p.x_ref));
        assert_eq!(solve(&mut used, &problem, None), fresh[0], "{friction:?}");
        solve(&mut used, &other, Some(&p.x_ref));
        assert_eq!(solve(&mut used, &problem, Some(&next.x_ref)), fresh[1], "{friction:?}");
    }
}

#[test]
fn the_iteration_budget_is_for_all_stages_together() {
    let p = corpus::load_one("bullet_wall12_s300_i0_n376");
    let problem = p.fill(Form::Jacobian, Friction::Coupled);
    for most in [1, 24, 25, 30] {
        let mut engine = Engine::new(Settings { max_iterations: most, ..Settings::default() }).unwrap();
        let report = *engine.solve(&problem, None, None).unwrap();
        assert_eq!((report.iterations, report.outcome), (most, Outcome::IterationLimit));
        assert!(report.energy_error <= report.initial_energy_error);
    }
}

fn dense(n: usize, a: &[f64], b: &[f64], lo: &[f64], hi: &[f64]) -> Problem {
    let mut problem = Problem::new();
    problem.set_dense(n, a, n, Triangle::Full).unwrap();
    problem.set_b(b).unwrap();
    problem.set_bounds(lo, hi).unwrap();
    problem
}

/// Matrices that no engine makes: not symmetric, no diagonal.
#[test]
fn general_matrices_go_to_general_solvers() {
    let open = [f64::INFINITY; 2];
    // A skew matrix: w = (x2 - 1, 1 - x1) has the solution (1, 1).
    let skew = dense(2, &[0.0, 1.0, -1.0, 0.0], &[-1.0, 1.0], &[0.0; 2], &open);
    let mut engine = engine();
    let report = *engine.solve(&skew, None, None).unwrap();
    assert_eq!((report.outcome, report.judge), (Outcome::Converged, Measure::Natural));
    assert_eq!(engine.stages()[0].solver, SolverKind::Lemke);
    assert!((engine.x()[0] - 1.0).abs() < 1e-9 && (engine.x()[1] - 1.0).abs() < 1e-9, "{:?}", engine.x());
    // No x >= 0 makes -x >= 1: a ray, and a finite answer.
    let hopeless = dense(1, &[-1.0], &[-1.0], &[0.0], &[f64::INFINITY]);
    let report = *engine.solve(&hopeless, None, None).unwrap();
    assert_eq!(report.outcome, Outcome::Ray);
    assert!(engine.x()[0].is_finite() && report.natural.is_finite());
}

/// A time limit of nothing still returns something no worse than the start.
#[test]
fn a_time_limit_brings_sweeps_first() {
    let p = corpus::load_one("ode_wall12_s020_i0_n561");
    let problem = p.fill(Form::Jacobian, Friction::Coupled);
    let mut engine = Engine::new(Settings { time_limit: 1e3, ..Settings::default() }).unwrap();
    engine.solve(&problem, None, None).unwrap();
    assert_eq!((engine.stages()[0].solver, engine.stages()[0].reason), (SolverKind::Nncg, Reason::TimeLimit));
    assert!(engine.stages()[0].energy_error < engine.stages()[0].initial_energy_error);
    let mut engine = Engine::new(Settings { time_limit: 1e-9, ..Settings::default() }).unwrap();
    let report = *engine.solve(&problem, None, None).unwrap();
    assert_eq!(report.outcome, Outcome::TimeLimit);
    assert!(report.energy_error <= report.initial_energy_error);
}
