//! `mlcp-lab paper islands`: 64 towers that have nothing to do with each other, solved together and apart.

use super::section::{Context, Section};
use crate::plot::Chart;
use crate::scenes::pile::Scatter;
use mlcp::{Choice, Engine, FrictionMode, Measure, Problem, Settings, SolverKind};
use std::fmt::Write;
use std::time::Instant;

/// Milliseconds per solve.
const BUDGETS: [f64; 8] = [0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
const MU: f64 = 0.5;
/// What the velocity of a step loses to gravity, m/s.
const FALL: f64 = 9.81 / 60.0;

/// Towers of cubes with sides of 1 m on four corners each, one to `highest` cubes high, hit at speeds between 1 mm/s and 1 m/s.
fn towers(count: usize, highest: usize) -> mlcp::Result<Problem> {
    let mut scatter = Scatter(11);
    let (mut inverse_mass, mut rows, mut bodies) = (Vec::new(), Vec::new(), Vec::new());
    let (mut b, mut lo, mut hi, mut findex, mut mu) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for tower in 0..count {
        let height = 1 + tower * 5 % highest;
        let hit = 10f64.powf(-3.0 * tower as f64 / (count - 1) as f64);
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

/// The median of what is left of the energy error, as a fraction, within so many milliseconds.
fn left(problem: &Problem, solver: SolverKind, milliseconds: f64, repeats: usize) -> mlcp::Result<f64> {
    let settings = Settings {
        solver,
        choice: Choice::Best(Measure::Energy),
        time_limit: 1e-3 * milliseconds,
        max_iterations: if solver == SolverKind::Auto { 0 } else { 1_000_000 },
        history_capacity: 0,
        ..Settings::default()
    };
    let mut engine = Engine::new(settings)?;
    let mut errors = Vec::new();
    for _ in 0..repeats + 1 {
        errors.push(engine.solve(problem, None, None)?.relative_energy());
    }
    // The first solve takes memory.
    errors.remove(0);
    errors.sort_by(f64::total_cmp);
    Ok(errors[errors.len() / 2])
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

/// Run it.
pub fn run(context: &Context) -> Result<Section, String> {
    let say = |e: mlcp::Error| e.to_string();
    let (count, highest, repeats) = if context.short { (64, 4, 3) } else { (64, 12, 21) };
    let problem = towers(count, highest).map_err(say)?;
    let bar = context.progress(BUDGETS.len() + 2);
    let ways = [("sweeps over all rows", SolverKind::Pgs), ("auto: by islands", SolverKind::Auto)];
    let mut curves: Vec<(String, Vec<(f64, f64)>)> =
        ways.iter().map(|(name, _)| (name.to_string(), Vec::new())).collect();
    let mut csv = String::from("budget_ms,sweeps_relative_energy_error,auto_relative_energy_error\n");
    for budget in BUDGETS {
        for ((_, curve), (_, solver)) in curves.iter_mut().zip(ways) {
            curve.push((budget, left(&problem, solver, budget, repeats).map_err(say)?));
        }
        let at = |k: usize| curves[k].1.last().map_or(f64::NAN, |p| p.1);
        let _ = writeln!(csv, "{budget},{:e},{:e}", at(0), at(1));
        bar.inc(1);
    }
    let (one, bits) = timed(&problem, 1, repeats).map_err(say)?;
    bar.inc(1);
    let (two, other_bits) = timed(&problem, 2, repeats).map_err(say)?;
    bar.finish_and_clear();
    let setup = format!(
        "Beyond the papers: {count} towers of 1 to {highest} cubes with coupled friction, {} rows in one problem, hit at speeds \
         of 1 mm/s to 1 m/s, so that their errors differ by a million; solved cold. Left on one thread, ended by the clock, \
         median of {repeats}.",
        problem.len()
    );
    let mut section = Section::new("Islands", "beyond the papers", &setup);
    let ratio = |k: usize| curves[0].1[k].1 / curves[1].1[k].1.max(1e-30);
    let beaten = (0..BUDGETS.len()).filter(|&k| ratio(k) >= 1.0).count();
    section.claim_or(
        "time that goes to islands by their energy error leaves fewer joules than sweeps over all rows",
        format!(
            "fewer for {beaten} of {} budgets; sweeps over islands: {}",
            BUDGETS.len(),
            (0..BUDGETS.len()).map(|k| format!("{:.1e} at {} ms", ratio(k), BUDGETS[k])).collect::<Vec<_>>().join(", ")
        ),
        beaten == BUDGETS.len(),
        "Finding islands, taking them out and solving them costs more than it gains while every sweep over all rows still gains much.",
    );
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
    section.figure(
        "islands",
        "Within a time budget",
        "What is left of the energy error.",
        &[Chart {
            title: "64 towers",
            x_title: "budget, ms",
            y_title: "energy error left, of that at x = 0",
            log: true,
            x_log: true,
            curves,
            ..Chart::default()
        }],
    );
    section.table("islands", csv);
    Ok(section)
}
