//! The solvers on small problems whose solutions, or lack of them, enumeration knows.

use super::{engine, scale, solve};
use crate::common::oracle::{self, Solution};
use crate::common::problems::{Kind, Load, SmallProblem};
use crate::common::rows::{Options, RowProblem};
use crate::common::{Form, Random};
use mlcp::{Engine, Measure, Outcome, Problem, Settings, SolverKind};

/// Pivots go to round-off: energies are squares of residuals, so 1e-12 of the problem's scale is a residual of 1e-6,
/// and definite problems are held to agreement in x besides. Sweeps converge linearly, at a rate that a nearly singular
/// matrix brings close to 1: 20 000 of them get to 1e-10 on the worst of these cases.
fn tolerance(kind: SolverKind) -> f64 {
    match kind {
        SolverKind::Bpp => 1e-12,
        _ => 1e-8,
    }
}
/// Agreement in x for definite A: the condition number of the generated matrices is below 1e4, so round-off reaches
/// 1e-12 and the oracle's own 1e-9 tolerance decides.
const IMPULSE: f64 = 1e-8;

struct Failure {
    text: String,
}

/// One problem in one form against what enumeration found.
fn check(
    engine: &mut Engine,
    what: &str,
    problem: &Problem,
    known: Option<&Solution>,
    definite: bool,
) -> Option<Failure> {
    let report = solve(engine, problem);
    let x = engine.x();
    let scale = scale(problem, &report, x);
    let fail = |why: String| {
        let (outcome, error) = (report.outcome, report.energy_error);
        Some(Failure {
            text: format!(
                "{what}: {why}; {outcome:?} after {} iterations, error {error:e}, scale {scale:e}",
                report.iterations
            ),
        })
    };
    if !x.iter().all(|v| v.is_finite()) {
        return fail(format!("x = {x:?}"));
    }
    match known {
        Some(known) => {
            if report.energy_error > tolerance(engine.kind()) * scale {
                return fail("not solved".into());
            }
            let size = known.x.iter().zip(problem.diagonal()).fold(0.0f64, |m, (x, a)| m.max(x.abs() * a.sqrt()));
            let far = (0..x.len()).find(|&i| {
                definite && (x[i] - known.x[i]).abs() * problem.diagonal()[i].sqrt() > IMPULSE * (size + scale.sqrt())
            });
            far.and_then(|i| fail(format!("x[{i}] = {}, enumeration has {}", x[i], known.x[i])))
        }
        None if report.outcome == Outcome::Converged => fail("converged where there is no solution".into()),
        None => None,
    }
}

fn report_failures(name: &str, cases: usize, failures: Vec<Failure>) {
    for failure in failures.iter().take(20) {
        println!("{}", failure.text);
    }
    assert!(failures.is_empty(), "{name}: {} of {cases} cases failed, the first ones are above", failures.len());
}

/// Dense and CSR over bound kinds, ranks and loads.
fn sweep_matrices(kind: SolverKind, seeds: std::ops::Range<u64>) {
    let mut engine = engine(kind);
    let (mut failures, mut cases, mut unsolvable) = (Vec::new(), 0, 0);
    for seed in seeds {
        let mut random = Random::new(seed ^ 0xabcd);
        let n = 1 + random.below(if seed % 40 == 0 { 8 } else { 6 });
        let rank = if random.chance(0.4) { n } else { 1 + random.below(n) };
        let load = if random.chance(0.5) { Load::Any } else { Load::Consistent };
        // Every fourth problem has rows of one kind only.
        let one = [random.pick(&Kind::ALL)];
        let kinds = if seed % 4 == 0 { &one[..] } else { &Kind::ALL[..] };
        let p = SmallProblem::random(seed, n, rank, load, kinds);
        let known = oracle::solution(n, &p.a, &p.b, &p.lo, &p.hi);
        assert!(known.is_some() || (load == Load::Any && rank < n), "seed {seed}: enumeration missed a solution");
        unsolvable += usize::from(known.is_none());
        for (form, problem) in [("dense", p.fill_dense()), ("csr", p.fill_csr())] {
            cases += 1;
            let what = format!("seed {seed} {form} n {n} rank {rank} {:?}", p.kinds);
            failures.extend(check(&mut engine, &what, &problem, known.as_ref(), p.is_definite()));
        }
    }
    println!("{}: {cases} cases, {unsolvable} problems without a solution", kind.name());
    report_failures(kind.name(), cases, failures);
}

#[test]
fn bpp_matches_enumeration() {
    sweep_matrices(SolverKind::Bpp, 0..10_000);
}

#[test]
fn pgs_matches_enumeration() {
    sweep_matrices(SolverKind::Pgs, 0..4000);
}

/// Two-body rows in all three forms: world ids, immovable bodies, repeated ids, compliance, mass ratios.
fn sweep_rows(kind: SolverKind, seeds: std::ops::Range<u64>, ratios: &[f64]) {
    let mut engine = engine(kind);
    let (mut failures, mut cases) = (Vec::new(), 0);
    for seed in seeds {
        let mut random = Random::new(seed ^ 0x1234);
        let options = Options {
            bodies: 1 + random.below(3),
            rows: 1 + random.below(6),
            mass_ratio: random.pick(ratios),
            compliance: random.chance(0.3),
            ..Options::default()
        };
        let p = RowProblem::random(seed, options);
        let (n, a) = (p.len(), p.dense());
        let known = oracle::solution(n, &a, &p.b, &p.lo, &p.hi);
        for form in Form::ALL {
            cases += 1;
            let what = format!("seed {seed} {form:?} {options:?}");
            failures.extend(check(&mut engine, &what, &p.fill(form, None), known.as_ref(), false));
        }
    }
    report_failures(kind.name(), cases, failures);
}

#[test]
fn bpp_matches_enumeration_on_body_rows() {
    sweep_rows(SolverKind::Bpp, 0..8000, &[1.0, 100.0, 1e6]);
}

#[test]
fn proximal_newton_matches_enumeration() {
    sweep_matrices(SolverKind::ProxNewton, 0..4000);
    sweep_rows(SolverKind::ProxNewton, 0..2000, &[1.0, 100.0, 1e6]);
}

#[test]
fn interior_point_matches_enumeration() {
    sweep_matrices(SolverKind::InteriorPoint, 0..4000);
}

#[test]
fn interior_point_matches_enumeration_on_body_rows() {
    sweep_rows(SolverKind::InteriorPoint, 0..2000, &[1.0, 100.0, 1e6]);
}

/// Sweeps need as many turns as the condition number: no extreme mass ratios here.
#[test]
fn pgs_matches_enumeration_on_body_rows() {
    sweep_rows(SolverKind::Pgs, 0..1000, &[1.0, 3.0]);
}

fn choosing_by(measure: Measure, kind: SolverKind) -> Engine {
    Engine::new(Settings { solver: kind, choice: mlcp::Choice::Best(measure), ..Settings::default() }).unwrap()
}

fn assert_converges(engine: &mut Engine, problem: &Problem, what: &str) {
    let report = solve(engine, problem);
    let (error, scale) = (report.energy_error, report.energy_scale);
    let (best, all, x) = (report.best_iteration, report.iterations, engine.x());
    assert_eq!(
        report.outcome,
        Outcome::Converged,
        "{what}: {error:e} of {scale:e} J, iteration {best} of {all}, x = {x:?}"
    );
}

/// Whatever measure chooses the iterate, a solvable definite problem is solved: each vanishes only at solutions.
#[test]
fn every_choosing_measure_converges() {
    let chooses = |m: &Measure| !matches!(m, Measure::EnergyExactMass | Measure::DualityGap);
    for measure in Measure::ALL.into_iter().filter(chooses) {
        for kind in SolverKind::ALL {
            let mut engine = choosing_by(measure, kind);
            for seed in 0..100 {
                let p = SmallProblem::random(seed, 1 + seed as usize % 6, 6, Load::Any, &Kind::ALL);
                assert_converges(&mut engine, &p.fill_dense(), &format!("{} by {measure:?}, seed {seed}", kind.name()));
            }
        }
    }
}

/// An iterate beyond its bounds with w = 0 has no gap, but is no solution: it must not be chosen.
#[test]
fn duality_gap_chooses_no_infeasible_iterate() {
    // Newton's iterates on the residuals lie a little outside, where no gap is certified.
    for kind in [SolverKind::Bpp, SolverKind::Pgs, SolverKind::InteriorPoint, SolverKind::ProxNewton] {
        let mut problem = Problem::new();
        problem.set_dense(2, &[1.0, 0.9, 0.9, 1.0], 2, mlcp::Triangle::Full).unwrap();
        problem.set_b(&[-1.0, -0.8]).unwrap();
        problem.set_bounds(&[0.0; 2], &[10.0; 2]).unwrap();
        assert_converges(&mut choosing_by(Measure::DualityGap, kind), &problem, kind.name());
        // Boxes only: every gap is finite, and a point beyond its bounds may have the least.
        let mut engine = choosing_by(Measure::DualityGap, kind);
        for seed in 0..300 {
            let p = SmallProblem::random(seed, 2 + seed as usize % 5, 6, Load::Any, &[Kind::Boxed, Kind::BoxedAway]);
            assert_converges(&mut engine, &p.fill_dense(), &format!("{} seed {seed}", kind.name()));
        }
    }
}

/// A joint row's w is zero up to round-off only, so its gap is infinite at every iterate. That must not freeze the
/// choice at the starting point.
#[test]
fn duality_gap_chooses_with_free_rows() {
    for kind in SolverKind::ALL {
        let mut engine = choosing_by(Measure::DualityGap, kind);
        for seed in 0..100 {
            let p = SmallProblem::random(seed, 1 + seed as usize % 6, 6, Load::Any, &[Kind::Free, Kind::Lower]);
            assert_converges(&mut engine, &p.fill_dense(), &format!("{} seed {seed}", kind.name()));
        }
    }
}

/// A warm start at the solution is recognised at once, and never made worse.
#[test]
fn warm_start_at_the_solution_stays() {
    for kind in SolverKind::ALL {
        let mut engine = Engine::new(Settings { solver: kind, ..Settings::default() }).unwrap();
        for seed in 0..300 {
            let p = SmallProblem::random(seed, 1 + seed as usize % 6, 6, Load::Any, &Kind::ALL);
            let known = oracle::solution(p.n, &p.a, &p.b, &p.lo, &p.hi).unwrap();
            let report = *engine.solve(&p.fill_dense(), Some(&known.x), None).unwrap();
            assert_eq!(report.outcome, Outcome::Converged, "{} seed {seed}", kind.name());
            assert!(report.energy_error <= report.initial_energy_error, "{} seed {seed}", kind.name());
        }
    }
}

/// From any start, the returned x is no worse than that start under the measure that chooses.
#[test]
fn never_worse_than_the_start() {
    for kind in SolverKind::ALL {
        for iterations in [1, 2, 3] {
            let settings =
                Settings { solver: kind, max_iterations: iterations, check_interval: 1, ..Settings::default() };
            let mut engine = Engine::new(settings).unwrap();
            for seed in 0..300 {
                let mut random = Random::new(seed);
                let n = 1 + random.below(6);
                let p = SmallProblem::random(seed, n, 1 + random.below(n), Load::Any, &Kind::ALL);
                let x0 = random.vector(n);
                let report = *engine.solve(&p.fill_dense(), Some(&x0), None).unwrap();
                assert!(
                    report.energy_error <= report.initial_energy_error,
                    "{} seed {seed}: {:e} from {:e}",
                    kind.name(),
                    report.energy_error,
                    report.initial_energy_error
                );
                assert!(engine.x().iter().all(|v| v.is_finite()));
            }
        }
    }
}
