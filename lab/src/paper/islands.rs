//! `mlcp-lab paper islands`: 64 towers that have nothing to do with each other, solved together and apart.

use super::section::{Context, Section};
use crate::plot::Chart;
use crate::scenes::pile::Scatter;
use mlcp::{Choice, Engine, FrictionMode, Measure, Problem, Settings, SolverKind};
use std::fmt::Write;
use std::time::Instant;

/// Milliseconds per solve.
const BUDGETS: [f64; 8] = [0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
/// Up to this ratio two errors are about the same.
const LEVEL: f64 = 0.8;
const MU: f64 = 0.5;
/// What the velocity of a step loses to gravity, m/s.
const FALL: f64 = 9.81 / 60.0;

/// How fast each of many towers is hit, m/s.
type Hit = fn(usize, usize) -> f64;

/// The scenes: how they are named, and the hits.
const SCENES: [(&str, Hit); 2] = [
    ("hit at 1 mm/s to 1 m/s", |tower, count| 10f64.powf(-3.0 * tower as f64 / (count - 1) as f64)),
    ("all hit at 0.1 m/s", |_, _| 0.1),
];

/// Who competes.
const WAYS: [(&str, SolverKind); 3] = [
    ("sweeps over all rows", SolverKind::Pgs),
    ("conjugate sweeps over all rows", SolverKind::Nncg),
    ("auto: by islands", SolverKind::Auto),
];

/// Towers of cubes with sides of 1 m on four corners each, one to `highest` cubes high.
fn towers(count: usize, highest: usize, hit: Hit) -> mlcp::Result<Problem> {
    let mut scatter = Scatter(11);
    let (mut inverse_mass, mut rows, mut bodies) = (Vec::new(), Vec::new(), Vec::new());
    let (mut b, mut lo, mut hi, mut findex, mut mu) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for tower in 0..count {
        let height = 1 + tower * 5 % highest;
        let hit = hit(tower, count);
        let first = inverse_mass.len() / 12;
        let mut speeds = Vec::new();
        for _ in 0..height {
            inverse_mass.extend([1.0, 1.0, 1.0, 6.0, 0.0, 0.0, 0.0, 6.0, 0.0, 0.0, 0.0, 6.0]);
            let mut speed = [0.0; 6].map(|_: f64| hit * scatter.next());
            speed[2] -= FALL;
            speeds.push(speed);
        }
        for k in 0..height {
            for [x, y] in [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]] {
                let normal = b.len() as i32;
                for axis in [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]] {
                    let lever =
                        |z: f64| [y * axis[2] - z * axis[1], z * axis[0] - x * axis[2], x * axis[1] - y * axis[0]];
                    let (above, below) = ([axis, lever(-0.5)].concat(), [axis, lever(0.5)].concat());
                    let along = |j: &[f64], v: &[f64; 6]| j.iter().zip(v).map(|(j, v)| j * v).sum::<f64>();
                    b.push(along(&above, &speeds[k]) - if k > 0 { along(&below, &speeds[k - 1]) } else { 0.0 });
                    rows.extend(above);
                    rows.extend(below.iter().map(|v| -v));
                    bodies.extend([(first + k) as i32, if k > 0 { (first + k) as i32 - 1 } else { -1 }]);
                    let is_normal = axis[2] > 0.0;
                    lo.push(if is_normal { 0.0 } else { f64::NEG_INFINITY });
                    hi.push(f64::INFINITY);
                    findex.push(if is_normal { -1 } else { normal });
                    mu.push(if is_normal { 0.0 } else { MU });
                }
            }
        }
    }
    let mut problem = Problem::new();
    problem.set_jacobian(&inverse_mass, &rows, &bodies, None)?;
    problem.set_b(&b)?;
    problem.set_bounds(&lo, &hi)?;
    problem.set_friction(&findex, &mu, FrictionMode::Coupled)?;
    Ok(problem)
}

/// What each way leaves of the energy error within so many milliseconds, as a fraction: the median of solves that take turns.
fn left(problem: &Problem, milliseconds: f64, repeats: usize) -> mlcp::Result<[f64; WAYS.len()]> {
    let settings = |solver| Settings {
        solver,
        choice: Choice::Best(Measure::Energy),
        time_limit: 1e-3 * milliseconds,
        max_iterations: if solver == SolverKind::Auto { 0 } else { 1_000_000 },
        history_capacity: 0,
        ..Settings::default()
    };
    let mut engines = WAYS.iter().map(|(_, kind)| Engine::new(settings(*kind))).collect::<mlcp::Result<Vec<_>>>()?;
    let mut errors = WAYS.map(|_| Vec::new());
    // The first solve takes memory.
    for turn in 0..repeats + 1 {
        for (engine, errors) in engines.iter_mut().zip(&mut errors) {
            let error = engine.solve(problem, None, None)?.relative_energy();
            if turn > 0 {
                errors.push(error);
            }
        }
    }
    Ok(errors.map(|mut errors| {
        errors.sort_by(f64::total_cmp);
        errors[errors.len() / 2]
    }))
}

/// The least time of several solves in seconds, and the bits of x.
fn timed(problem: &Problem, threads: usize, repeats: usize) -> mlcp::Result<(f64, Vec<u64>)> {
    let mut engine = Engine::new(Settings { threads, history_capacity: 0, ..Settings::default() })?;
    let mut least = f64::INFINITY;
    for _ in 0..repeats {
        let start = Instant::now();
        engine.solve(problem, None, None)?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok((least, engine.x().iter().map(|x| x.to_bits()).collect()))
}

/// A ratio in few digits.
fn times(ratio: f64) -> String {
    if ratio < 100.0 {
        format!("{ratio:.2}")
    } else {
        format!("{ratio:.0e}")
    }
}

/// Run it.
pub fn run(context: &Context) -> Result<Section, String> {
    let say = |e: mlcp::Error| e.to_string();
    let (count, highest, repeats) = if context.short { (64, 4, 3) } else { (64, 12, 21) };
    let problems = SCENES.map(|(_, hit)| towers(count, highest, hit));
    let problems = problems.into_iter().collect::<mlcp::Result<Vec<_>>>().map_err(say)?;
    let bar = context.progress(SCENES.len() * BUDGETS.len() + 2);
    let mut csv = String::from(
        "scene,budget_ms,pgs_relative_energy_error,nncg_relative_energy_error,auto_relative_energy_error\n",
    );
    let mut left_by = Vec::new();
    for (problem, (scene, _)) in problems.iter().zip(SCENES) {
        for budget in BUDGETS {
            let errors = left(problem, budget, repeats).map_err(say)?;
            let _ = writeln!(csv, "{scene},{budget},{:e},{:e},{:e}", errors[0], errors[1], errors[2]);
            left_by.push(errors);
            bar.inc(1);
        }
    }
    let (one, bits) = timed(&problems[0], 1, repeats).map_err(say)?;
    bar.inc(1);
    let (two, other_bits) = timed(&problems[0], 2, repeats).map_err(say)?;
    bar.finish_and_clear();
    let setup = format!(
        "Beyond the papers: {count} towers of 1 to {highest} cubes with coupled friction, {} rows in one problem; hit at speeds of \
         1 mm/s to 1 m/s, or all at 0.1 m/s, so that they differ in height alone. Solved cold on one thread, ended by the clock; \
         medians of {repeats} solves that take turns.",
        problems[0].len()
    );
    let mut section = Section::new("Islands", "beyond the papers", &setup);
    for (way, (name, _)) in WAYS.iter().enumerate().take(2) {
        for (s, (scene, _)) in SCENES.iter().enumerate() {
            // Both may have solved it.
            let ratio = |k: usize| left_by[s * BUDGETS.len() + k][way] / left_by[s * BUDGETS.len() + k][2].max(1e-12);
            let holds = (0..BUDGETS.len()).all(|k| ratio(k) >= if BUDGETS[k] < 1.0 { LEVEL } else { 1.0 });
            section.claim_or(
                &format!(
                    "{scene}: time that goes to islands by their energy error leaves fewer joules than {name} from 1 ms on, and \
                     about as many where only a few sweeps fit"
                ),
                format!(
                    "{name} leave, of what auto leaves: {}",
                    (0..BUDGETS.len())
                        .map(|k| format!("{} at {} ms", times(ratio(k)), BUDGETS[k]))
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
                holds,
                "A median of solves that the clock ends depends on what else the machine does.",
            );
        }
    }
    section.claim("the impulses have the same bits on one thread and on two", "compared", bits == other_bits);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    section.claim_or(
        "two threads are at least 1.7 times as fast as one",
        format!("{:.2} ms on one, {:.2} ms on two: {:.2} times", 1e3 * one, 1e3 * two, one / two),
        one / two >= 1.7,
        &format!(
            "{} cores, load average {} at the end.",
            std::thread::available_parallelism().map_or(1, |n| n.get()),
            load.split_whitespace().next().unwrap_or("unknown")
        ),
    );
    let charts = [0, 1].map(|s| Chart {
        title: SCENES[s].0,
        x_title: "budget, ms",
        y_title: "energy error left, of that at x = 0",
        log: true,
        x_log: true,
        curves: WAYS
            .iter()
            .enumerate()
            .map(|(way, (name, _))| {
                let at = |k: usize| (BUDGETS[k], left_by[s * BUDGETS.len() + k][way]);
                (name.to_string(), (0..BUDGETS.len()).map(at).collect())
            })
            .collect(),
        ..Chart::default()
    });
    section.figure("islands", "64 towers within a time budget", "What is left of the energy error.", &charts);
    section.table("islands", csv);
    Ok(section)
}
