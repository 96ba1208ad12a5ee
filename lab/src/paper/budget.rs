//! `mlcp-lab paper budget`: three scenes stepped within a wall-clock budget, keeping the last Gauss-Seidel iterate or pivot,
//! the best one by energy, or leaving it to `auto`.

use super::section::{Context, Section};
use super::spheres;
use crate::plot::Chart;
use crate::rigid::Vector;
use crate::scenes::brick_wall::BrickWall;
use crate::scenes::driving::Forklift;
use crate::scenes::pile::Stepper;
use crate::scenes::quiet;
use mlcp::{Choice, Measure, Report, Settings, SolverKind};
use std::fmt::Write;

/// Milliseconds per solve.
const BUDGETS: [f64; 5] = [0.2, 0.5, 1.0, 2.0, 4.0];
/// A step has failed if more than this share of the energy error of doing nothing is left.
const FAILED: f64 = 1e-6;

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
const BALLS: usize = 40;

/// What a run comes to: how its solves went, and how far off the scene is in the end, m.
struct Run {
    reports: Vec<Report>,
    off: f64,
}

/// A scene: name, what "off" is, steps, how to run it with settings and warm starts.
type Scene<'a> = (&'static str, &'static str, usize, Box<dyn Fn(Settings, bool, usize) -> mlcp::Result<Run> + 'a>);

fn wall(settings: Settings, warm: bool, steps: usize) -> mlcp::Result<Run> {
    let mut wall = BrickWall::with(12, settings)?;
    wall.warm = warm;
    let mut reports = Vec::new();
    for _ in 0..steps {
        reports.push(wall.step_coupled()?);
    }
    Ok(Run { reports, off: wall.drift() })
}

fn pile(settings: Settings, warm: bool, steps: usize) -> mlcp::Result<Run> {
    let (mut pile, mut stepper) = (spheres::scene(BALLS), Stepper::with(settings)?);
    stepper.warm = warm;
    let mut run = Run { reports: Vec::new(), off: 0.0 };
    for _ in 0..steps {
        let frame = pile.frame()?;
        run.off = frame.contacts().gap.iter().fold(run.off, |most, gap| most.max(-gap));
        pile.advance(&frame, &mut stepper)?;
        run.reports.extend(stepper.report());
    }
    Ok(run)
}

/// Positions of the chassis are kept in `path`, or compared with it.
fn drive(settings: Settings, warm: bool, steps: usize) -> mlcp::Result<(Vec<Report>, Vec<Vector>)> {
    let mut forklift = Forklift::new(settings)?;
    forklift.warm = warm;
    let (mut reports, mut path) = (Vec::new(), Vec::new());
    for _ in 0..steps {
        reports.push(forklift.step()?);
        path.push(forklift.position());
    }
    Ok((reports, path))
}

/// What a cell of the figure has: medians over the repeats.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    off: f64,
    /// Share of the steps.
    failed: f64,
    /// Median over the steps, J.
    energy: f64,
    /// Over the steps, relative to the budget.
    median_time: f64,
    worst_time: f64,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn summary(run: &Run, steps: usize, seconds: f64) -> Cell {
    let good = run.reports.iter().filter(|r| r.energy_error <= FAILED * r.energy_scale).count();
    Cell {
        off: run.off,
        failed: 1.0 - good as f64 / steps as f64,
        energy: median(run.reports.iter().map(|r| r.energy_error).collect()),
        median_time: median(run.reports.iter().map(|r| r.seconds / seconds).collect()),
        worst_time: run.reports.iter().map(|r| r.seconds / seconds).fold(0.0, f64::max),
    }
}

/// Of each number by itself.
fn median_cell(cells: &[Cell]) -> Cell {
    let of = |f: fn(&Cell) -> f64| median(cells.iter().map(f).collect());
    Cell {
        off: of(|c| c.off),
        failed: of(|c| c.failed),
        energy: of(|c| c.energy),
        median_time: of(|c| c.median_time),
        worst_time: of(|c| c.worst_time),
    }
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

/// Run it.
pub fn run(context: &Context) -> Result<Section, String> {
    experiment(context).map_err(|e| e.to_string())
}

fn experiment(context: &Context) -> mlcp::Result<Section> {
    let (scale, repeats) = if context.short { (8, 1) } else { (1, 3) };
    let budgets: &[f64] = if context.short { &[0.5, 2.0] } else { &BUDGETS };
    let driven = 240 / scale;
    let (_, reference) = drive(Settings { solver: SolverKind::Bpp, ..Settings::default() }, false, driven)?;
    let forklift = |settings: Settings, warm: bool, steps: usize| {
        let (reports, path) = drive(settings, warm, steps)?;
        let squares: f64 = path.iter().zip(&reference).map(|(p, q)| (p - q).norm_squared()).sum();
        Ok(Run { reports, off: (squares / path.len().max(1) as f64).sqrt() })
    };
    let scenes: [Scene; 3] = [
        ("brick wall", "drift of the worst brick [m]", 180 / scale, Box::new(wall)),
        ("balls in a box", "deepest penetration [m]", 150 / scale, Box::new(pile)),
        ("forklift", "RMS deviation [m]", driven, Box::new(forklift)),
    ];
    let before = load();
    let bar = context.progress(scenes.len() * WAYS.len() * budgets.len() * repeats);
    let mut cells = vec![vec![Vec::new(); WAYS.len()]; scenes.len()];
    for (s, (_, _, steps, run)) in scenes.iter().enumerate() {
        for (w, (_, solver, choice, warm)) in WAYS.into_iter().enumerate() {
            for &budget in budgets {
                let settings = Settings {
                    solver,
                    choice,
                    time_limit: 1e-3 * budget,
                    max_iterations: 1_000_000,
                    stall_window: 100_000,
                    ..Settings::default()
                };
                let mut all = Vec::new();
                for _ in 0..repeats {
                    // A scene that has flown apart has no further steps: it is off without limit.
                    let run = run(settings, warm, *steps).unwrap_or(Run { reports: Vec::new(), off: f64::INFINITY });
                    all.push(summary(&run, *steps, 1e-3 * budget));
                    bar.inc(1);
                }
                cells[s][w].push(median_cell(&all));
            }
        }
    }
    bar.finish_and_clear();
    let solves: usize = scenes.iter().map(|s| s.2 * WAYS.len() * budgets.len() * repeats).sum();
    let setup = format!(
        "Beyond the papers: the brick wall ({} steps of 1/60 s), {BALLS} balls that fall into the box ({} of 10 ms) and the forklift \
         ({driven} of 1/60 s), every solve ended by the clock after {budgets:?} ms: Gauss-Seidel sweeps and block principal \
         pivoting, keeping the last iterate or the best by energy, and auto; all from zero, as ODE does, and the sweeps from the \
         last step's impulses as well. A step has failed if more than {FAILED:.0e} of the energy error of doing nothing is left. \
         Medians of {repeats} runs. Time on a clock is noisy, on a busy machine more so: the load was {before} before and {} after. \
         A solve that had to wait for a core was done again; {:.1} % of {solves} had no quiet try.",
        scenes[0].2,
        scenes[1].2,
        load(),
        100.0 * quiet::disturbed() as f64 / solves as f64
    );
    let mut section = Section::new("Within a time budget", "beyond the papers", &setup);
    claims(&mut section, &cells, budgets);
    let names: Vec<(&'static str, &'static str)> = scenes.iter().map(|s| (s.0, s.1)).collect();
    figures(&mut section, &cells, budgets, &names);
    let mut csv = String::from("scene,way,budget_ms,off_m,failed_share,median_energy_error_J,median_time,worst_time\n");
    for (s, (scene, ..)) in scenes.iter().enumerate() {
        for (w, way) in WAYS.iter().enumerate() {
            for (c, budget) in cells[s][w].iter().zip(budgets) {
                let times = format!("{:.3},{:.3}", c.median_time, c.worst_time);
                let _ = writeln!(csv, "{scene},\"{}\",{budget},{:e},{:.4},{:e},{times}", way.0, c.off, c.failed, c.energy);
            }
        }
    }
    section.table("budget", csv);
    Ok(section)
}

fn claims(section: &mut Section, cells: &[Vec<Vec<Cell>>], budgets: &[f64]) {
    let _ = (section, cells, budgets);
}

fn figures(
    section: &mut Section,
    cells: &[Vec<Vec<Cell>>],
    budgets: &[f64],
    scenes: &[(&'static str, &'static str)],
) {
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
    let mut charts = Vec::new();
    for (s, (scene, off)) in scenes.iter().enumerate() {
        charts.push(chart(scene, off, true, lines(s, |c| c.off)));
        charts.push(chart(scene, "median energy error [J]", true, lines(s, |c| c.energy.max(1e-16))));
    }
    section.figure(
        "budget",
        "The same scenes with little time: how far off, and how many joules",
        "Left what a viewer sees, right the energy error of the median step (at least 1e-16 J).",
        &charts,
    );
    let failed: Vec<Chart> =
        scenes.iter().enumerate().map(|(s, x)| chart(x.0, "failed steps [%]", false, lines(s, |c| 100.0 * c.failed))).collect();
    section.figure("budget_failed", "Steps that ended above the tolerance", "Failed steps.", &failed);
}
