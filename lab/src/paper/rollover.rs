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
        penalty: 10.0,
        max_iterations: 10,
        ..StepSettings::default()
    }
}

/// The runs: name and settings.
pub fn cases() -> Vec<(&'static str, StepSettings)> {
    let base = settings();
    let variable = StepSettings { variable_step: true, ..base };
    vec![
        ("fixed 10 ms", StepSettings { h: 1e-2, ..base }),
        ("fixed 1 ms", base),
        ("variable, penalty frozen", StepSettings { variable_penalty: false, ..variable }),
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
