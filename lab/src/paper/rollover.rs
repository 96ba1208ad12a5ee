//! `mlcp-lab paper rollover`: the forklift with fixed and variable steps, penalties that follow or do not.

use super::forklift::{drive, Run, Sample};
use super::rollover_view;
use super::section::{Context, Figure, Section};
use crate::plot::Chart;
use mlcp::mechanism::ali3p::{StepError, StepSettings};
use std::fmt::Write;

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
pub fn run(context: &Context) -> Result<Section, String> {
    let mut cases = cases();
    if context.short {
        cases.retain(|(name, _)| !name.contains("1e-5") && !name.contains("residual"));
    }
    let bar = context.progress((1000.0 * SECONDS) as usize * cases.len());
    let mut runs: Vec<(&'static str, Run)> = Vec::new();
    for (k, (name, settings)) in cases.into_iter().enumerate() {
        let done = |t: f64| bar.set_position((1000.0 * (SECONDS * k as f64 + t)) as u64);
        runs.push((name, drive(settings, SECONDS, done).map_err(|e| e.to_string())?));
    }
    bar.finish_and_clear();
    let mut section = Section::new(
        "A forklift rolls over",
        "Dopico et al., Figs. 4-7",
        "Ten bodies in natural coordinates with redundant constraints, tyres, a load at 3.2 m, full lock at 10 km/h \
         backwards, stepped by ALI3-P. Sizes, masses, lock and friction are ours; the paper gives the bodies but not \
         their numbers.",
    );
    claims(&mut section, &runs);
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
    section.table("rollover", csv);
    figures(&mut section, &runs);
    Ok(section)
}

fn claims(section: &mut Section, runs: &[(&str, Run)]) {
    let statements = [
        ("fixed 10 ms", "a fixed step of 10 ms fails (there very soon, here as the load hits the ground)", false),
        ("fixed 1 ms", "a fixed step of 1 ms completes, slowly", true),
        ("variable, penalty frozen", "a variable step without the penalty's update fails", false),
        ("variable, positions 1e-6", "with it the run completes, h within 1e-4 ... 2e-2 s", true),
    ];
    for (name, says, completes) in statements {
        let Some((_, run)) = runs.iter().find(|r| r.0 == name) else { continue };
        // The last step is cut to end on time.
        let h = || run.samples.iter().rev().skip(1).map(|s| s.report.h);
        let (least, largest) = (h().fold(f64::INFINITY, f64::min), h().fold(0.0, f64::max));
        let measured = format!(
            "{name}: reached {:.2} s in {} steps ({} rejected), h {least:.1e} ... {largest:.1e} s, {} iterations",
            run.samples.last().map_or(0.0, |s| s.report.time),
            run.samples.len(),
            run.rejected,
            run.samples.iter().map(|s| s.report.iterations).sum::<usize>()
        );
        let within = !completes || (least > 0.99e-4 && largest < 2.01e-2);
        section.claim(says, measured, run.completed == completes && within);
    }
}

fn figures(section: &mut Section, runs: &[(&'static str, Run)]) {
    type Value = fn(&Sample) -> (f64, f64);
    let curve = |name: &str, run: &Run, value: Value| (name.to_string(), run.samples.iter().map(value).collect());
    let of = |name: &str| runs.iter().find(|r| r.0 == name);
    let chart =
        |title, x_title, y_title, log, curves| Chart { title, x_title, y_title, log, curves, ..Chart::default() };
    let compared: Vec<&(&'static str, Run)> =
        ["fixed 1 ms", "variable, positions 1e-6"].iter().filter_map(|n| of(n)).collect();
    if let Some((_, run)) = compared.last() {
        section.figures.push(Figure {
            name: "rollover_poses".to_string(),
            caption: "Seen from its right and a little from above; a metre between the lines.".to_string(),
            svg: rollover_view::draw("The forklift at six instants (Fig. 4), variable step", &run.poses),
        });
    }
    let heights = compared.iter().map(|(name, run)| {
        let curves = vec![
            curve("rear right wheel", run, |s| (s.report.time, s.wheels[0])),
            curve("front right wheel", run, |s| (s.report.time, s.wheels[1])),
            curve("load's lowest corner", run, |s| (s.report.time, s.load)),
            curve("steering [rad]", run, |s| (s.report.time, s.steering.to_radians())),
        ];
        chart(name, "t [s]", "z [m]", false, curves)
    });
    section.figure(
        "rollover_heights",
        "Heights and steering (Fig. 5)",
        "Centres of the right wheels, the load, the steering angle of the middle of the rear axle.",
        &heights.collect::<Vec<_>>(),
    );
    let path: Vec<_> = compared.iter().map(|(n, r)| curve(n, r, |s| (s.position.x, s.position.y))).collect();
    let path = [chart("path", "x [m]", "y [m]", false, path)];
    section.figure(
        "rollover_path",
        "Path of the front axle (Fig. 6)",
        "Seen from above; after the fall the runs part by centimetres.",
        &path,
    );
    let panels = [
        ("by change of positions", "variable, positions"),
        ("by residual", "variable, residual"),
        ("fixed steps, frozen penalty", ""),
    ];
    let base = settings();
    let steps = panels.iter().map(|&(title, of)| {
        let listed = runs.iter().filter(|(n, _)| match of {
            "" => n.contains("fixed") || n.contains("frozen"),
            _ => n.starts_with(of),
        });
        let curves = listed.map(|(n, r)| curve(n, r, |s| (s.report.time, s.report.h))).collect();
        // The bounds of a variable step.
        let backdrop = [base.h_min, base.h_max].map(|h| vec![(0.0, h), (SECONDS, h)]).to_vec();
        Chart { backdrop, ..chart(title, "t [s]", "h [s]", true, curves) }
    });
    let steps: Vec<Chart> = steps.filter(|c: &Chart| !c.curves.is_empty()).collect();
    section.figure(
        "rollover_steps",
        "Steps (Fig. 7)",
        "Lengths of the steps taken, thin lines the bounds; runs that fail end early.",
        &steps,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::forklift::SNAPSHOTS;

    fn of(name: &str) -> Run {
        let (_, settings) = cases().into_iter().find(|c| c.0 == name).expect("a case");
        drive(settings, SECONDS, |_| {}).expect("no misuse")
    }

    /// The four statements of the paper: fixed 10 ms fails, fixed 1 ms works, a variable step fails without the
    /// penalty's update and completes with it, within its bounds and with less than a third of the steps.
    #[test]
    fn the_papers_statements_hold() {
        let coarse = of("fixed 10 ms");
        assert!(!coarse.completed);
        let fine = of("fixed 1 ms");
        assert!(fine.completed && fine.samples.len() == 6000);
        let frozen = of("variable, penalty frozen");
        assert!(!frozen.completed);
        let variable = of("variable, positions 1e-6");
        assert!(variable.completed && 3 * variable.samples.len() <= fine.samples.len(), "{}", variable.samples.len());
        let last = variable.samples.len() - 1;
        assert!(variable.samples[..last].iter().all(|s| (0.99e-4..=2.01e-2).contains(&s.report.h)));
        assert!(variable.samples.iter().all(|s| s.report.position_violation <= 1e-5));
        // It does go over: the right front wheel rises, the load hits the ground, the chassis ends on its left side.
        for run in [&fine, &variable] {
            let end = run.samples.last().expect("steps");
            assert!(end.load < 0.05, "{end:?}");
            assert!(end.wheels[1] > 0.8, "{end:?}");
            let up = run.poses.last().expect("poses").1[11];
            assert!(run.poses.len() == SNAPSHOTS.len() && up.abs() < 0.3, "{up}");
        }
    }
}
