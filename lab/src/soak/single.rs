//! One problem told in full, and who else solves what one solver did not.

use super::library::Library;
use super::tally::Tally;
use super::Plan;
use mlcp::SolverKind;
use mlcp_scenes::oracle::Oracle;
use mlcp_scenes::trial::{cases, judge, Demand, Form, Verdict};
use mlcp_scenes::{Family, Planted};

/// Names of the solvers that solve a problem alone, from x = 0.
fn alone(problem: &Planted, form: Form, demand: Demand) -> Vec<&'static str> {
    let solves = |kind: &SolverKind| {
        let mut solver = Library::new(*kind, demand);
        !judge(&mut solver, problem, form, None, demand).unsolved
    };
    SolverKind::ALL.into_iter().filter(|&k| k != SolverKind::Auto).filter(solves).map(SolverKind::name).collect()
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
                "  {} seed {} {} (n = {}): {:.1e} of the error at x = 0; alone: {solvers}",
                tally.family.name,
                case.seed,
                form.name(),
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
    for (form, problem) in cases(&planted, &plan.forms) {
        let mut solver = Library::new(plan.solver, plan.demand);
        let verdict = judge(&mut solver, &problem, form, None, plan.demand);
        clean &= !verdict.is_bad();
        one_form(plan, &problem, form, &verdict)?;
    }
    Ok(clean)
}

fn one_form(plan: &Plan, problem: &Planted, form: Form, verdict: &Verdict) -> Result<(), String> {
    println!("\n{}, {} rows", form.name(), problem.len());
    println!("  error {:.3e}, at x = 0 {:.3e}, solved at {:.3e}", verdict.error, verdict.scale, verdict.allowed);
    for (wrong, what) in [
        (verdict.unsolved, "unsolved"),
        (verdict.falsely_converged, "falsely converged"),
        (verdict.worse_than_start, "worse than the start"),
        (verdict.start_not_kept, "its own answer as start is not kept"),
    ] {
        if wrong {
            println!("  WRONG: {what}");
        }
    }
    if let Some(i) = verdict.outside {
        println!("  WRONG: row {i} is outside its bounds");
    }
    let mut solver = Library::new(plan.solver, plan.demand);
    let answer = solver.try_solve(problem, form, None).map_err(|e| e.to_string())?;
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
    for i in 0..problem.len().min(64) {
        let (lo, hi) = problem.bounds_at(i, &answer.x);
        let (px, pw) = problem.solution.as_ref().map_or((f64::NAN, f64::NAN), |s| (s.x[i], s.w[i]));
        println!("  {i:>4} {lo:>12.4e} {hi:>12.4e} {:>12.4e} {:>12.4e} {px:>12.4e} {pw:>12.4e}", answer.x[i], w[i]);
    }
    Ok(())
}
