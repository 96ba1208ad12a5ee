//! `mlcp-lab paper budget`: three scenes stepped within a wall-clock budget, keeping the last Gauss-Seidel iterate or pivot,
//! the best one by energy, or leaving it to `auto`.

use super::budget_scenes::{Kept, Scene, SCENES};
use super::section::{Context, Section};
use crate::plot::Chart;
use crate::scenes::quiet;
use mlcp::{Choice, Engine, Measure, Settings, SolverKind};
use std::fmt::Write;

/// Milliseconds per solve.
const BUDGETS: [f64; 5] = [0.2, 0.5, 1.0, 2.0, 4.0];
/// A step has failed if more than this share of the energy error of doing nothing is left.
const FAILED: f64 = 1e-6;

/// Fewer joules than this are none when two errors are compared.
const NOTHING: f64 = 1e-6;

/// A way to spend the budget: name, solver, what is kept, from the last step's impulses?
type Way = (&'static str, SolverKind, Choice, bool);
const BEST: Choice = Choice::Best(Measure::Energy);
const WAYS: [Way; 6] = [
    ("sweeps, last", SolverKind::Pgs, Choice::Last, false),
    ("sweeps, best", SolverKind::Pgs, BEST, false),
    ("sweeps, best, warm start", SolverKind::Pgs, BEST, true),
    ("pivoting, last", SolverKind::Bpp, Choice::Last, false),
    ("pivoting, best", SolverKind::Bpp, BEST, false),
    ("auto", SolverKind::Auto, BEST, false),
];
/// Places in it.
const SWEEPS_LAST: usize = 0;
const SWEEPS_BEST: usize = 1;
const PIVOTING_LAST: usize = 3;
const PIVOTING_BEST: usize = 4;
const AUTO: usize = 5;

/// One way with one budget in one scene: medians over the repeats.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// How far off the scene is in the end, m.
    off: f64,
    /// Share of the reference's own steps.
    failed: f64,
    /// On the reference's own steps, median, J.
    energy: f64,
    /// Of a step, relative to the budget: median and worst.
    times: [f64; 2],
    /// Share of the time on the reference's steps that the first of a plan's solvers took.
    first: f64,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// How busy the machine is, where it says so.
fn load() -> String {
    let read = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match read.split_whitespace().next() {
        Some(load) => format!("{load} on {cores} cores"),
        None => "not known".to_string(),
    }
}

/// Step the scene by itself, and solve the reference's steps.
fn run_once(scene: &Scene, steps: usize, kept: &Kept, settings: Settings, warm: bool) -> mlcp::Result<Cell> {
    let seconds = settings.time_limit;
    quiet::allow(seconds * steps as f64);
    let mut cell = Cell { off: f64::INFINITY, ..Cell::default() };
    // A scene that has flown apart has no further steps: it is off without limit.
    if let Ok(run) = (scene.run)(settings, warm, steps, &mut |_, _| ()) {
        let times = || run.reports.iter().map(|r| r.seconds / seconds);
        cell.off = (scene.off)(&run, &kept.reference);
        cell.times = [median(times().collect()), times().fold(0.0, f64::max)];
    }
    // Few steps, of which the figure is made: they are worth more tries.
    quiet::allow(4.0 * seconds * kept.problems.len() as f64);
    let mut engine = Engine::new(settings)?;
    let (mut left, mut failed, mut first, mut all) = (Vec::new(), 0, 0.0, 0.0);
    for (problem, before) in &kept.problems {
        let start = Some(before.as_slice()).filter(|x| warm && x.len() == problem.len());
        let report = quiet::solve(&mut engine, problem, start)?;
        left.push(report.energy_error);
        failed += usize::from(report.energy_error > FAILED * report.energy_scale);
        first += engine.stages().first().map_or(0.0, |s| s.seconds);
        all += engine.stages().iter().map(|s| s.seconds).sum::<f64>();
    }
    cell.failed = failed as f64 / kept.problems.len() as f64;
    (cell.energy, cell.first) = (median(left), first / all);
    Ok(cell)
}

/// Run it.
pub fn run(context: &Context) -> Result<Section, String> {
    experiment(context).map_err(|e| e.to_string())
}

fn experiment(context: &Context) -> mlcp::Result<Section> {
    let (shorter, repeats) = if context.short { (4, 1) } else { (1, 3) };
    let budgets: &[f64] = if context.short { &[0.5, 1.0] } else { &BUDGETS };
    let before = load();
    let bar = context.progress(SCENES.len() * WAYS.len() * budgets.len() * repeats);
    let mut cells = vec![vec![Vec::new(); WAYS.len()]; SCENES.len()];
    let mut solves = 0;
    for (scene, cells) in SCENES.iter().zip(&mut cells) {
        let steps = scene.steps / shorter;
        let kept = scene.reference(steps)?;
        for ((_, solver, choice, warm), cells) in WAYS.into_iter().zip(cells) {
            for &budget in budgets {
                let settings = Settings {
                    solver,
                    choice,
                    time_limit: 1e-3 * budget,
                    // Only the clock ends a solve that has not converged.
                    max_iterations: 1_000_000,
                    stall_window: 100_000,
                    ..Settings::default()
                };
                let mut all = Vec::new();
                for _ in 0..repeats {
                    all.push(run_once(scene, steps, &kept, settings, warm)?);
                    solves += steps + kept.problems.len();
                    bar.inc(1);
                }
                let of = |f: fn(&Cell) -> f64| median(all.iter().map(f).collect());
                let times = [of(|c| c.times[0]), of(|c| c.times[1])];
                cells.push(Cell {
                    off: of(|c| c.off),
                    failed: of(|c| c.failed),
                    energy: of(|c| c.energy),
                    times,
                    first: of(|c| c.first),
                });
            }
        }
    }
    bar.finish_and_clear();
    let scenes: Vec<String> = SCENES.iter().map(|s| format!("{} ({} steps)", s.about, s.steps / shorter)).collect();
    let setup = format!(
        "Beyond the papers: {}, every solve ended by the clock after {budgets:?} ms: Gauss-Seidel sweeps and block principal \
         pivoting, keeping the last iterate or the best by energy, and auto; all from zero, as ODE does, and the sweeps from the \
         last step's impulses as well. Each way steps the scene by itself, and solves the steps of a reference without limit, \
         so that energy errors and failures belong to the same problems. A step has failed if more than {FAILED:.0e} of the energy error of \
         doing nothing is left. Medians of {repeats} runs. Time on a clock is noisy, on a busy machine more so: the load was \
         {before} before and {} after. A solve that had to wait for a core was done again; {:.1} % of {solves} had no quiet try.",
        scenes.join(", "),
        load(),
        100.0 * quiet::disturbed() as f64 / solves as f64
    );
    let mut section = Section::new("Within a time budget", "beyond the papers", &setup);
    claims(&mut section, &cells, budgets);
    figures(&mut section, &cells, budgets);
    let mut csv = String::from("scene,way,budget_ms,off_m,failed_share,energy_error_J,median_time,worst_time\n");
    for (scene, cells) in SCENES.iter().zip(&cells) {
        for (way, cells) in WAYS.iter().zip(cells) {
            for (c, budget) in cells.iter().zip(budgets) {
                let [middle, worst] = c.times;
                let numbers = format!("{:e},{:.4},{:e},{middle:.3},{worst:.3}", c.off, c.failed, c.energy);
                let _ = writeln!(csv, "{},\"{}\",{budget},{numbers}", scene.name, way.0);
            }
        }
    }
    section.table("budget", csv);
    Ok(section)
}

/// Least and greatest ratio of two ways' energy errors over all scenes and budgets.
fn ratios(cells: &[Vec<Vec<Cell>>], above: usize, below: usize) -> (f64, f64) {
    let pairs = cells.iter().flat_map(|scene| scene[above].iter().zip(&scene[below]));
    pairs
        .map(|(a, b)| a.energy.max(NOTHING) / b.energy.max(NOTHING))
        .fold((f64::INFINITY, 0.0), |(low, high), r| (low.min(r), high.max(r)))
}

fn claims(section: &mut Section, cells: &[Vec<Vec<Cell>>], budgets: &[f64]) {
    let pivots = ratios(cells, PIVOTING_BEST, PIVOTING_LAST);
    section.claim_or(
        "along pivots the best iterate by energy leaves no more joules than the last, up to the clock's noise, a factor of three",
        format!("best / last on the same problems: {:.1e} to {:.2}", pivots.0, pivots.1),
        pivots.1 < 3.0,
        "The clock: where few pivots fit, one more or less counts.",
    );
    let sweeps = ratios(cells, SWEEPS_BEST, SWEEPS_LAST);
    section.claim_or(
        "along sweeps, whose energy error falls, the last is the best, and watching costs little",
        format!("best / last on the same problems: {:.2} to {:.2}", sweeps.0, sweeps.1),
        sweeps.0 > 1.0 / 3.0 && sweeps.1 < 3.0,
        "Where the error falls steeply at the end of the time, the sweeps that measuring takes the place of count.",
    );
    let wall = |way: usize, k: usize| cells[0][way][k].off;
    let apart = |k: &usize| wall(PIVOTING_LAST, *k) / wall(PIVOTING_BEST, *k);
    let at = (0..budgets.len()).max_by(|j, k| apart(j).total_cmp(&apart(k))).unwrap_or(0);
    section.claim_or(
        "with pivots the measure decides whether the wall stands",
        format!(
            "{} ms: worst brick off by {:.1e} m keeping the last, {:.1e} m keeping the best",
            budgets[at],
            wall(PIVOTING_LAST, at),
            wall(PIVOTING_BEST, at)
        ),
        apart(&at) > 20.0,
        "Each of these budgets was too short for both, or long enough for both.",
    );
    let mut worst = (0.0, 0, 0);
    for (s, scene) in cells.iter().enumerate() {
        for (k, auto) in scene[AUTO].iter().enumerate() {
            let least = scene[SWEEPS_BEST][k].energy.min(scene[PIVOTING_BEST][k].energy);
            let ratio = auto.energy.max(NOTHING) / least.max(NOTHING);
            worst = if ratio > worst.0 { (ratio, s, k) } else { worst };
        }
    }
    let (ratio, s, k) = worst;
    let [auto, sweeps, pivots] = [AUTO, SWEEPS_BEST, PIVOTING_BEST].map(|way| cells[s][way][k].energy);
    section.claim_or(
        "auto is about as good as the better of sweeps and pivoting, which nobody knows beforehand",
        format!(
            "at worst {ratio:.1} times its error: {}, {} ms, auto {auto:.1e} J, sweeps {sweeps:.1e} J, pivoting {pivots:.1e} J",
            SCENES[s].name, budgets[k]
        ),
        ratio < 3.0,
        &format!(
            "Auto sweeps first, here for {:.0} % of the time, and then pivots; {} alone gets farther in the time.",
            100.0 * cells[s][AUTO][k].first,
            if sweeps < pivots { "sweeping" } else { "pivoting" }
        ),
    );
    let end = budgets.len() - 1;
    let falls = |scene: &Vec<Vec<Cell>>| scene[AUTO].windows(2).all(|w| w[1].energy <= 1.1 * w[0].energy + NOTHING);
    let way: Vec<String> = SCENES
        .iter()
        .zip(cells)
        .map(|(s, c)| format!("{} {:.1e} to {:.1e} J", s.name, c[AUTO][0].energy, c[AUTO][end].energy))
        .collect();
    section.claim_or(
        "more time leaves fewer joules (auto)",
        way.join(", "),
        cells.iter().all(falls),
        "The clock: time was lost to others in spite of the repeats.",
    );
}

fn figures(section: &mut Section, cells: &[Vec<Vec<Cell>>], budgets: &[f64]) {
    let lines = |s: usize, value: fn(&Cell) -> f64| {
        let line = |w: usize| budgets.iter().zip(&cells[s][w]).map(|(&b, c)| (b, value(c))).collect();
        (0..WAYS.len()).map(|w| (WAYS[w].0.to_string(), line(w))).collect::<Vec<_>>()
    };
    let chart = |title, y_title, log, curves| Chart {
        title,
        x_title: "budget per step [ms]",
        y_title,
        log,
        x_log: true,
        curves,
        ..Chart::default()
    };
    let (mut charts, mut failed) = (Vec::new(), Vec::new());
    for (s, scene) in SCENES.iter().enumerate() {
        charts.push(chart(scene.name, scene.off_title, true, lines(s, |c| c.off.max(1e-6))));
        charts.push(chart(scene.name, "energy error [J]", true, lines(s, |c| c.energy.max(1e-12))));
        failed.push(chart(scene.name, "failed steps [%]", false, lines(s, |c| 100.0 * c.failed)));
    }
    section.figure(
        "budget",
        "The same scenes with little time: what a viewer sees, and the joules",
        "Left how far off the scene is in the end (at least 1 µm), right the energy error left on the reference's steps (median, \
         at least 1e-12 J).",
        &charts,
    );
    section.figure(
        "budget_failed",
        "Steps that failed",
        "Of the reference's steps: those with more than 1e-6 of the energy error left.",
        &failed,
    );
}
