//! `mlcp-lab paper forklift`: a forklift drives a circle, its pivoting solver limited to too few iterations, keeping the last
//! iterate or the best by each measure (Enzenhöfer et al., section 5.3).

use super::section::{Context, Section};
use crate::plot::Chart;
use crate::scenes::driving::{Forklift, H};
use mlcp::{Choice, Measure, Outcome, Settings, SolverKind};
use mlcp_scenes::rigid::Vector;
use std::f64::consts::TAU;
use std::fmt::Write;

/// What is kept when the limit is reached.
const KEPT: [(&str, Choice); 4] = [
    ("last iterate", Choice::Last),
    ("best by Fischer-Burmeister", Choice::Best(Measure::FischerBurmeister)),
    ("best by natural residual", Choice::Best(Measure::Natural)),
    ("best by energy", Choice::Best(Measure::Energy)),
];
const SECONDS: f64 = 16.0;
/// The paper's limit, and others.
const LIMIT: usize = 15;
const LIMITS: [usize; 8] = [8, 10, 12, LIMIT, 18, 20, 22, 24];

struct Sample {
    time: f64,
    position: Vector,
    speeds: [f64; 4],
}

struct Run {
    samples: Vec<Sample>,
    failed: usize,
    /// Time of the last step that failed, s.
    last_failure: f64,
    /// Iterations of each step.
    iterations: Vec<usize>,
    /// Turn of the chassis since the start after each step, rad.
    turns: Vec<f64>,
}

fn drive(choice: Choice, limit: usize, steps: usize) -> mlcp::Result<Run> {
    let solver = SolverKind::Bpp;
    let settings = Settings { solver, choice, max_iterations: limit, relative_tolerance: 1e-14, ..Settings::default() };
    let mut forklift = Forklift::new(settings)?;
    let mut run = Run { samples: Vec::new(), failed: 0, last_failure: 0.0, iterations: Vec::new(), turns: Vec::new() };
    let mut heading = forklift.heading();
    for _ in 0..steps {
        // A machine that has flown to pieces has no further steps.
        if forklift.position().norm().partial_cmp(&1e3) != Some(std::cmp::Ordering::Less) {
            break;
        }
        let report = forklift.step()?;
        if report.outcome != Outcome::Converged {
            run.failed += 1;
            run.last_failure = forklift.time();
        }
        run.iterations.push(report.iterations);
        let turn = forklift.heading() - heading;
        run.turns.push(run.turns.last().unwrap_or(&0.0) + turn - TAU * (turn / TAU).round());
        heading = forklift.heading();
        let (time, position, speeds) = (forklift.time(), forklift.position(), forklift.wheel_speeds());
        run.samples.push(Sample { time, position, speeds });
    }
    Ok(run)
}

/// Root mean square distance from the reference, m.
fn deviation(run: &Run, reference: &Run) -> f64 {
    if run.samples.len() < reference.samples.len() {
        return f64::INFINITY;
    }
    let squares = run.samples.iter().zip(&reference.samples).map(|(a, b)| (a.position - b.position).norm_squared());
    (squares.sum::<f64>() / run.samples.len() as f64).sqrt()
}

/// Changes of a wheel's speed from one step to the next that a rider would feel, and the time of the last, s.
fn jerks(run: &Run) -> (usize, f64) {
    const FELT: f64 = 0.5;
    let changed = |w: &[Sample]| (0..4).any(|k| (w[1].speeds[k] - w[0].speeds[k]).abs() > FELT);
    let all: Vec<f64> = run.samples.windows(2).filter(|w| changed(w)).map(|w| w[1].time).collect();
    (all.len(), all.last().copied().unwrap_or(0.0))
}

/// Run it.
pub fn run(context: &Context) -> Result<Section, String> {
    experiment(context).map_err(|e| e.to_string())
}

fn experiment(context: &Context) -> mlcp::Result<Section> {
    let limits: &[usize] = if context.short { &[LIMIT] } else { &LIMITS };
    let bar = context.progress(1 + KEPT.len() * limits.len());
    let most = (if context.short { 5.0 } else { SECONDS } / H) as usize;
    let mut reference = drive(Choice::Best(Measure::Energy), 0, most)?;
    // Until the circle is closed.
    let steps = reference.turns.iter().position(|&t| t >= TAU).map_or(most, |k| k + 1);
    if steps < most {
        reference = drive(Choice::Best(Measure::Energy), 0, steps)?;
    }
    bar.inc(1);
    let mut runs = Vec::new();
    let mut csv = String::from("limit,kept,failed_steps,steps,last_failure_s,rms_deviation_m\n");
    let mut by_limit: Vec<(String, Vec<(f64, f64)>)> = KEPT.map(|(name, _)| (name.to_string(), Vec::new())).to_vec();
    for &limit in limits {
        for (k, (name, choice)) in KEPT.into_iter().enumerate() {
            let run = drive(choice, limit, steps)?;
            let rms = deviation(&run, &reference);
            let _ =
                writeln!(csv, "{limit},{name},{},{},{:.3},{rms:e}", run.failed, run.samples.len(), run.last_failure);
            by_limit[k].1.push((limit as f64, rms));
            if limit == LIMIT {
                runs.push((name, run));
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let mut needed = reference.iterations.clone();
    needed.sort_unstable();
    let setup = format!(
        "Chassis, four wheels on hinges, rear steering held by a limited motor, torque converter and open differential, two \
         contact points per wheel, rolling resistance; 60 rows, 60 Hz, friction bounds from the step before, cold starts. \
         Without a limit block principal pivoting solves all steps but {} in {} iterations (median; at most {}). Limit: \
         {LIMIT}, as in the paper. Sizes, masses and torques are ours; the paper gives none.",
        reference.failed,
        needed[needed.len() / 2],
        needed[needed.len() - 1]
    );
    let mut section =
        Section::new("A forklift with too few pivots", "Enzenhöfer et al. 2019, §5.3, Figs. 10-12", &setup);
    claims(&mut section, &reference, &runs, context.short);
    section.table("forklift_limits", csv);
    section.table("forklift", samples(&reference, &runs));
    figures(&mut section, &reference, &runs);
    if limits.len() > 1 {
        let (title, x_title, y_title) = ("all limits", "iteration limit", "RMS deviation [m]");
        let chart = Chart { title, x_title, y_title, log: true, curves: by_limit, ..Chart::default() };
        let caption = "Beyond the paper: the same with other limits.";
        section.figure("forklift_limits", "Deviation from the reference by iteration limit", caption, &[chart]);
    }
    Ok(section)
}

fn samples(reference: &Run, runs: &[(&str, Run)]) -> String {
    let mut csv = String::from(
        "run,t_s,x_m,y_m,front_left_rad_per_s,front_right_rad_per_s,rear_left_rad_per_s,rear_right_rad_per_s\n",
    );
    for (name, run) in std::iter::once(("reference", reference)).chain(runs.iter().map(|(n, r)| (*n, r))) {
        for s in &run.samples {
            let (p, [a, b, c, d]) = (s.position, s.speeds);
            let _ = writeln!(csv, "{name},{:.4},{},{},{a},{b},{c},{d}", s.time, p.x, p.y);
        }
    }
    csv
}

fn claims(section: &mut Section, reference: &Run, runs: &[(&str, Run)], short: bool) {
    let rms: Vec<f64> = runs.iter().map(|(_, run)| deviation(run, reference)).collect();
    let [last, fb, natural, energy] = rms[..] else { return };
    let failed: Vec<String> = runs.iter().map(|(name, run)| format!("{name} {}", run.failed)).collect();
    let measured = format!("failed of {} steps: {}", reference.samples.len(), failed.join(", "));
    section.claim(
        "with 15 iterations the solver does not always find the solution",
        measured,
        runs.iter().all(|r| r.1.failed > 0),
    );
    let says = "keeping the last iterate it deviates significantly";
    section.claim(says, format!("RMS deviation {last:.3} m"), last > if short { 0.01 } else { 0.5 });
    let share = runs[0].1.turns.last().unwrap_or(&0.0) / reference.turns.last().unwrap_or(&TAU);
    let reason = "Another machine: the paper gives neither sizes nor masses nor torques.";
    let measured = format!("it turns {share:.3} of the reference's way");
    let says = "and comes through about 7/8 of the circle";
    section.claim_or(says, measured, (share - 0.875).abs() < 0.03, reason);
    let measured = format!("RMS: Fischer-Burmeister {fb:.2e}, natural {natural:.2e}, energy {energy:.2e} m");
    let near = [fb, natural, energy].iter().all(|d| 10.0 * d <= last);
    section.claim("the best iterate by any measure is visually identical to the reference", measured.clone(), near);
    let says = "energy is closest to the reference, but only slightly closer than the other two";
    section.claim(says, measured, energy <= 1.05 * fb.min(natural));
    let felt: Vec<(usize, f64)> = runs.iter().map(|(_, run)| jerks(run)).collect();
    let word = |k: usize| format!("{} {} (last at {:.2} s)", runs[k].0, felt[k].0, felt[k].1);
    let measured = format!("jumps over 0.5 rad/s: {}, {}, {}, {}", word(0), word(1), word(2), word(3));
    let holds = (1..4).all(|k| felt[k].0 < felt[0].0 && felt[k].1 <= 3.0);
    let reason = "Another machine: its jumps come at other times. Any measure still has fewer of them than none.";
    let says = "spikes of the wheels' speeds stop within 3 s with a measure, and go on past 7 s without";
    section.claim_or(says, measured, holds && (short || felt[0].1 > 7.0), reason);
}

fn figures(section: &mut Section, reference: &Run, runs: &[(&str, Run)]) {
    let all = || std::iter::once(("reference", reference)).chain(runs.iter().map(|(n, r)| (*n, r)));
    let curves = |value: &dyn Fn(&Sample) -> (f64, f64)| {
        all().map(|(name, run)| (name.to_string(), run.samples.iter().map(value).collect())).collect()
    };
    let path = Chart {
        title: "path",
        x_title: "x [m]",
        y_title: "y [m]",
        equal: true,
        curves: curves(&|s| (s.position.x, s.position.y)),
        ..Chart::default()
    };
    let apart = |(name, run): &(&str, Run)| {
        let pairs = run.samples.iter().zip(&reference.samples);
        (name.to_string(), pairs.map(|(a, b)| (a.time, (a.position - b.position).norm())).collect())
    };
    // The reference keeps its colour: it is named first.
    let mut distances = vec![("reference".to_string(), Vec::new())];
    distances.extend(runs.iter().map(apart));
    let distance = Chart {
        title: "distance from the reference",
        x_title: "t [s]",
        y_title: "distance [m]",
        log: true,
        curves: distances,
        ..Chart::default()
    };
    let caption =
        "Seen from above all keep to the circle, but one falls behind: the distance at the same time (Fig. 11).";
    section.figure(
        "forklift_path",
        "A forklift drives a circle, at most 15 pivots per step",
        caption,
        &[path, distance],
    );
    let titles = ["front left", "front right", "rear left", "rear right"];
    let wheels: Vec<Chart> = (0..4)
        .map(|k| Chart {
            title: titles[k],
            x_title: "t [s]",
            y_title: "speed [rad/s]",
            curves: curves(&|s| (s.time, s.speeds[k])),
            ..Chart::default()
        })
        .collect();
    section.figure("forklift_wheels", "Angular speeds of the wheels", "All runs (Fig. 12).", &wheels);
}
