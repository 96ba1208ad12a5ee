//! `mlcp-lab paper rollover`: the forklift with fixed and variable steps, penalties that follow or do not.

use super::forklift::{drive, Run, Sample};
use super::output::{draw, progress, write};
use crate::plot::Chart;
use mlcp::mechanism::ali3p::{StepError, StepSettings};
use std::fmt::Write;
use std::path::Path;

/// Seconds of the manoeuvre.
pub const SECONDS: f64 = 6.0;

/// What all runs have in common.
pub fn settings() -> StepSettings {
    StepSettings {
        h: 1e-3,
        h_min: 1e-4,
        h_max: 2e-2,
        tolerance: 1e-5,
        constraint_tolerance: 1e-5,
        penalty: 1e3,
        max_iterations: 10,
        ..StepSettings::default()
    }
}

/// The runs: name and settings.
pub fn cases() -> Vec<(&'static str, StepSettings)> {
    let base = settings();
    // They begin with 10 ms, and with penalties that suit it.
    let variable = StepSettings { variable_step: true, h: 1e-2, ..base };
    vec![
        ("fixed 10 ms", StepSettings { h: 1e-2, ..base }),
        ("fixed 1 ms", base),
        ("variable, penalty frozen", StepSettings { variable_penalty: false, tolerance: 1e-6, ..variable }),
        ("variable, positions 1e-5", variable),
        ("variable, positions 1e-6", StepSettings { tolerance: 1e-6, ..variable }),
        ("variable, residual 1e-2", StepSettings { error: StepError::Residual, tolerance: 1e-2, ..variable }),
        ("variable, residual 1e-3", StepSettings { error: StepError::Residual, tolerance: 1e-3, ..variable }),
    ]
}

/// Run it.
pub fn run(out: &Path) -> Result<(), String> {
    let cases = cases();
    let bar = progress((1000.0 * SECONDS) as u64 * cases.len() as u64, "rollover");
    let mut runs: Vec<(&str, Run)> = Vec::new();
    for (k, (name, settings)) in cases.into_iter().enumerate() {
        let done = |t: f64| bar.set_position((1000.0 * (SECONDS * k as f64 + t)) as u64);
        runs.push((name, drive(settings, SECONDS, done).map_err(|e| e.to_string())?));
    }
    bar.finish_and_clear();
    println!(
        "{:26}{:>10}{:>8}{:>10}{:>12}{:>12}{:>12}",
        "run", "reached", "steps", "rejected", "least h", "largest h", "iterations"
    );
    for (name, run) in &runs {
        let h = run.samples.iter().map(|s| s.report.h);
        println!(
            "{name:26}{:>8.2} s{:8}{:10}{:12.1e}{:12.1e}{:12}",
            run.samples.last().map_or(0.0, |s| s.report.time),
            run.samples.len(),
            run.rejected,
            h.clone().fold(f64::INFINITY, f64::min),
            h.fold(0.0, f64::max),
            run.samples.iter().map(|s| s.report.iterations).sum::<usize>(),
        );
    }
    let mut csv = String::from(
        "run,t_s,h_s,penalty_scale,iterations,x_m,y_m,rear_right_z_m,front_right_z_m,load_z_m,violation\n",
    );
    for (name, run) in &runs {
        for s in &run.samples {
            let (r, p, [rear, front]) = (&s.report, s.position, s.wheels);
            let _ = writeln!(
                csv,
                "\"{name}\",{},{},{:e},{},{},{},{rear},{front},{},{:e}",
                r.time, r.h, r.penalty_scale, r.iterations, p.x, p.y, s.load, r.position_violation
            );
        }
    }
    write(out, "rollover.csv", &csv)?;
    figures(out, &runs)
}

fn figures(out: &Path, runs: &[(&str, Run)]) -> Result<(), String> {
    type Value = fn(&Sample) -> (f64, f64);
    let curve = |name: &str, run: &Run, value: Value| (name.to_string(), run.samples.iter().map(value).collect());
    let compared: Vec<&(&str, Run)> = runs.iter().filter(|(n, _)| *n == "fixed 1 ms" || n.contains("1e-6")).collect();
    let mut heights = Vec::new();
    for (name, run) in &compared {
        heights.push(curve(&format!("rear right, {name}"), run, |s| (s.report.time, s.wheels[0])));
        heights.push(curve(&format!("front right, {name}"), run, |s| (s.report.time, s.wheels[1])));
        heights.push(curve(&format!("load, {name}"), run, |s| (s.report.time, s.load)));
    }
    let all = |value: Value| runs.iter().map(|(name, run)| curve(name, run, value)).collect();
    let chart = |title, x_title, y_title, log, curves| Chart { title, x_title, y_title, log, curves };
    draw(out, "rollover_heights.svg", "Heights (Fig. 5)", &[chart("heights", "t [s]", "z [m]", false, heights)])?;
    let path: Vec<_> = compared.iter().map(|(n, r)| curve(n, r, |s| (s.position.x, s.position.y))).collect();
    draw(out, "rollover_path.svg", "Path of the front axle (Fig. 6)", &[chart("path", "x [m]", "y [m]", false, path)])?;
    let steps = all(|s| (s.report.time, s.report.h));
    draw(out, "rollover_steps.svg", "Steps (Fig. 7)", &[chart("step", "t [s]", "h [s]", true, steps)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Run {
        let (_, settings) = cases().into_iter().find(|c| c.0 == name).expect("a case");
        drive(settings, SECONDS, |_| {}).expect("no misuse")
    }

    /// The four statements of the paper: fixed 10 ms fails early, fixed 1 ms works, a variable step fails without the
    /// penalty's update and completes with it, within its bounds and with less than a third of the steps.
    #[test]
    fn the_papers_statements_hold() {
        let coarse = of("fixed 10 ms");
        assert!(!coarse.completed && coarse.samples.last().is_none_or(|s| s.report.time < 1.0));
        let fine = of("fixed 1 ms");
        assert!(fine.completed && fine.samples.len() == 6000);
        let frozen = of("variable, penalty frozen");
        assert!(!frozen.completed);
        let variable = of("variable, positions 1e-6");
        assert!(variable.completed && 3 * variable.samples.len() <= fine.samples.len(), "{}", variable.samples.len());
        let last = variable.samples.len() - 1;
        assert!(variable.samples[..last].iter().all(|s| (0.99e-4..=2.01e-2).contains(&s.report.h)));
        assert!(variable.samples.iter().all(|s| s.report.position_violation <= 1e-5));
        // It does go over: the rear wheel rises by more than a metre, and the load ends on the ground.
        for run in [&fine, &variable] {
            let end = run.samples.last().expect("steps");
            assert!(end.load < 0.05, "{end:?}");
            assert!(end.wheels[0] > 1.2, "{end:?}");
        }
    }
}
