//! One problem told in full, and who else solves what one solver did not.

use super::library::Library;
use super::tally::Tally;
use super::Plan;
use mlcp::SolverKind;
use mlcp_scenes::oracle::Oracle;
use mlcp_scenes::trial::{cases, judge, Demand, Form, Verdict};
use mlcp_scenes::{Family, Planted, Start};

/// Names of the solvers that solve a problem alone, from x = 0.
fn alone(problem: &Planted, form: Form, demand: Demand) -> Vec<&'static str> {
    let solves = |kind: &SolverKind| {
        let mut solver = Library::new(*kind, demand);
        !judge(&mut solver, problem, form, None, demand).unsolved
    };
    SolverKind::ALL.into_iter().filter(|&k| k != SolverKind::Auto).filter(solves).map(SolverKind::name).collect()
}

/// Does any solver alone, from x = 0, get more than a hundredth below this error? Of large problems some are asked.
pub fn is_beaten(problem: &Planted, form: Form, verdict: &Verdict, demand: Demand) -> bool {
    const QUICK: [SolverKind; 5] = [
        SolverKind::Bpp,
        SolverKind::InteriorPoint,
        SolverKind::AlartCurnier,
        SolverKind::Nncg,
        SolverKind::ProxNewton,
    ];
    let kinds = if problem.len() <= 40 { &SolverKind::ALL[1..] } else { &QUICK };
    kinds.iter().any(|&kind| {
        let mut solver = Library::new(kind, demand);
        judge(&mut solver, problem, form, None, demand).error < 0.99 * verdict.error
    })
}

/// A line for each of the worst unsolved problems of a family.
pub fn who_solves(plan: &Plan, tally: &Tally, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for case in tally.bad.iter().filter(|c| c.verdict.unsolved).take(most) {
        let planted = (tally.family.make)(case.seed);
        for (form, problem) in cases(&planted, &[case.form]) {
            let solvers = alone(&problem, form, plan.demand);
            let solvers = if solvers.is_empty() { "nobody".to_string() } else { solvers.join(", ") };
            lines.push(format!(
                "  {} seed {} {} {} (n = {}): {:.1e} of the error at x = 0; alone: {solvers}",
                tally.family.name,
                case.seed,
                form.name(),
                case.start.name(),
                problem.len(),
                case.verdict.relative(),
            ));
        }
    }
    lines
}

/// Tell all about one problem; true when nothing is wrong.
pub fn tell(plan: &Plan, family: Family, seed: u64) -> Result<bool, String> {
    let planted = (family.make)(seed);
    println!("{} seed {seed}: {}", family.name, family.about);
    let mut clean = true;
    let other = (family.make)(seed + 1);
    for (form, problem) in cases(&planted, &plan.forms) {
        for &start in &plan.starts {
            let x = start.impulses(&problem, &other, seed);
            clean &= one_case(plan, &problem, form, start, x.as_deref())?;
        }
    }
    Ok(clean)
}

fn one_case(plan: &Plan, problem: &Planted, form: Form, start: Start, x: Option<&[f64]>) -> Result<bool, String> {
    let mut solver = Library::new(plan.solver, plan.demand);
    let verdict = judge(&mut solver, problem, form, x, plan.demand);
    println!("\n{}, {} start, {} rows", form.name(), start.name(), problem.len());
    println!("  error {:.3e}, at x = 0 {:.3e}, solved at {:.3e}", verdict.error, verdict.scale, verdict.allowed);
    for (wrong, what) in [
        (verdict.unsolved, "unsolved"),
        (verdict.falsely_converged, "falsely converged"),
        (verdict.worse_than_start, "worse than the start"),
        (verdict.start_not_kept, "its own answer as start is not kept"),
        (verdict.is_open() && is_beaten(problem, form, &verdict, plan.demand), "another solver alone finds less"),
    ] {
        if wrong {
            println!("  WRONG: {what}");
        }
    }
    if let Some(i) = verdict.outside {
        println!("  WRONG: row {i} is outside its bounds");
    }
    let mut solver = Library::new(plan.solver, plan.demand);
    let answer = solver.try_solve(problem, form, x).map_err(|e| e.to_string())?;
    let report = solver.engine().report();
    println!(
        "  {}: {} after {} iterations, reports {:.3e}",
        plan.solver.name(),
        report.outcome.name(),
        report.iterations,
        report.energy_error
    );
    for stage in solver.engine().stages() {
        println!(
            "    {} {:?}: {} after {}, {:.3e} -> {:.3e}",
            stage.solver.name(),
            stage.reason,
            stage.outcome.name(),
            stage.iterations,
            stage.initial_energy_error,
            stage.energy_error
        );
    }
    println!("  alone: {}", alone(problem, form, plan.demand).join(", "));
    let oracle = Oracle::new(problem);
    let w = oracle.w(&answer.x);
    println!(
        "  {:>4} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}",
        "row", "lo", "hi", "x", "w", "planted x", "planted w"
    );
    for (i, w) in w.iter().enumerate().take(64) {
        let (lo, hi) = problem.bounds_at(i, &answer.x);
        let (px, pw) = problem.solution.as_ref().map_or((f64::NAN, f64::NAN), |s| (s.x[i], s.w[i]));
        println!("  {i:>4} {lo:>12.4e} {hi:>12.4e} {:>12.4e} {:>12.4e} {px:>12.4e} {pw:>12.4e}", answer.x[i], w);
    }
    Ok(!verdict.is_bad())
}
