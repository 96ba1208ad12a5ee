//! `mlcp-lab replay`: recorded problems, solved by any of the solvers, measured alike.

use crate::plot::{self, Sample, Trace};
use crate::report;
use crate::table::{self, Goal, Refused, Row, Solved, Table};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mlcp::dataset::{self, Dataset, Recorded};
use mlcp::metrics::Point;
use mlcp::multibody::{set_exact_cones, Formulation, Formulator, Frame, Polyhedral, Response, Shape};
use mlcp::solve::{Observation, Observer};

use mlcp::{Choice, Engine, FrictionMode, Measure, Outcome, Problem, Report, Settings, SolverKind, Status};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Pictures of convergence are drawn for this many problems; more would bury the reader.
const MOST_PICTURES: usize = 6;

/// How to read friction rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Friction {
    /// Bounds evaluated once, at the normals of the recorded reference solution.
    Frozen,
    /// Bounds follow the iterate.
    Coupled,
    /// Pairs of friction rows of one normal and one coefficient become exact friction cones; problems without are left out.
    Cone,
}

/// How to hand the matrix to the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// Compressed rows.
    Csr,
    /// Two-body rows, where recorded.
    Jacobian,
    /// All entries.
    Dense,
}

impl From<Form> for dataset::Form {
    fn from(form: Form) -> dataset::Form {
        match form {
            Form::Csr => dataset::Form::Csr,
            Form::Jacobian => dataset::Form::Jacobian,
            Form::Dense => dataset::Form::Dense,
        }
    }
}

/// Where a solve starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Start {
    /// At x = 0, moved into the bounds.
    Cold,
    /// At the engine's recorded warm start.
    X0,
    /// At the recorded reference solution.
    Ref,
}

/// Solve recorded problems and frames and print how wrong, how long, how many iterations.
///
/// Reads recordings, problem files and FCLIB files (HDF5), and friction problems as Siconos' texts. One row per problem
/// and solver, then a summary per solver. A solver that cannot treat a problem prints "unsupported" with the reason. Exit
/// code 2 means that a file, a problem in it or an option is bad.
#[derive(clap::Args)]
pub struct Replay {
    /// Recordings, problem files, FCLIB files or Siconos' texts
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Only problems whose name matches this pattern, such as 'ode_wall*' (* any text, ? one character, [ab] a set)
    #[arg(long, value_name = "GLOB", default_value = "*")]
    problem: String,
    /// Solvers, separated by commas, or all
    #[arg(long, value_name = "NAME,…", default_value = "auto", help = solver_help())]
    solver: String,
    /// How to read friction rows; without a recorded x_ref they are coupled
    #[arg(long, value_enum, default_value = "frozen")]
    friction: Friction,
    /// Where to start; cold where the file has no such point
    #[arg(long, value_enum, default_value = "cold")]
    start: Start,
    /// Solved when the energy error is at most this fraction of that at x = clamp(0)
    #[arg(long, value_name = "FRACTION", default_value = "1e-9")]
    energy_rel: f64,
    /// Solved when the natural residual (minimum map, in N s and m/s) is at most this, whatever the energy; the iterate of
    /// least natural residual is kept
    #[arg(long, value_name = "R", conflicts_with = "energy_rel")]
    natural: Option<f64>,
    /// Wall-clock budget of one solve in milliseconds; 0: none
    #[arg(long, value_name = "T", default_value = "0")]
    budget_ms: f64,
    /// Iteration budget of one solve; 0: the solver's default
    #[arg(long, value_name = "N", default_value = "0")]
    iterations: usize,
    /// How to write frames as problems, separated by commas: box, cone, polyhedral:8, circumscribed:8, and these after
    /// mixed:; recorded problems can be turned into cone, polyhedral:8 and circumscribed:8 [default: frames as box,
    /// problems as recorded]
    #[arg(long, value_name = "NAME,…", default_value = "")]
    formulation: String,
    /// Only every k-th frame
    #[arg(long, value_name = "K", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// How to hand over the matrix [default: jacobian where recorded, else csr]
    #[arg(long, value_enum)]
    form: Option<Form>,
    /// Solve each problem this many times and print the least time; memory is taken in the first
    #[arg(long, value_name = "K", default_value = "3", value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Tab-separated values with a header line; the summary goes to standard error
    #[arg(long)]
    tsv: bool,
    /// Write SVG pictures into this folder: convergence of up to 6 problems, and a performance profile
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,
    /// Write a comparison into this folder: report.csv, box plots and errors over frames as SVG, and all of it as one
    /// page, report.html
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
}

fn solver_help() -> String {
    format!("Solvers, separated by commas, or all: {}", known_solvers())
}

fn known_solvers() -> String {
    SolverKind::ALL.map(SolverKind::name).join(", ")
}

/// What a chain of solvers did, such as "bpp 24, ipm 18"; empty if there was one.
fn stages(engine: &Engine) -> String {
    match engine.stages() {
        [] | [_] => String::new(),
        stages => stages.iter().map(|s| format!("{} {}", s.solver.name(), s.iterations)).collect::<Vec<_>>().join(", "),
    }
}

/// A problem as it will be solved.
struct Task {
    name: String,
    /// Empty: as recorded.
    formulation: String,
    /// Number of the frame it was made of, and the frame.
    frame: Option<(usize, Frame, Formulation)>,
    problem: Problem,
    start: Option<Vec<f64>>,
    /// Joules per unit of x·w.
    joules: f64,
}

impl Task {
    /// The name to show: a frame or problem may come in several formulations.
    fn shown(&self) -> String {
        match self.formulation.as_str() {
            "" => self.name.clone(),
            formulation => format!("{} [{formulation}]", self.name),
        }
    }
}

impl Replay {
    /// Run the command; an error is one sentence.
    pub fn run(&self) -> Result<(), String> {
        let solvers = self.solvers()?;
        let settings = self.settings()?;
        let tasks = self.tasks()?;
        for folder in self.plot.iter().chain(&self.report) {
            std::fs::create_dir_all(folder).map_err(|e| format!("{}: cannot be made: {e}", folder.display()))?;
        }
        let rows = match self.solve_all(&tasks, &solvers, settings) {
            // Whoever closes the pipe, such as head, has seen enough.
            Err(Trouble::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(Trouble::Output(e)) => return Err(format!("standard output: {e}")),
            Err(Trouble::Sentence(s)) => return Err(s),
            Ok(rows) => rows,
        };
        if let Some(folder) = &self.report {
            let more = if self.files.len() > 1 { format!(" and {} more", self.files.len() - 1) } else { String::new() };
            let title = format!("{}{more}, {} solves", self.files[0].display(), rows.len());
            report::write(folder, &title, &rows, self.goal())?;
        }
        match &self.plot {
            Some(folder) => self.draw(folder, &tasks, &solvers, settings, &rows),
            None => Ok(()),
        }
    }

    fn solvers(&self) -> Result<Vec<SolverKind>, String> {
        if self.solver == "all" {
            return Ok(SolverKind::ALL.to_vec());
        }
        let mut solvers = Vec::new();
        for name in self.solver.split(',').map(str::trim) {
            let kind = SolverKind::ALL.into_iter().find(|k| k.name() == name);
            let kind = kind.ok_or_else(|| format!("no solver is named '{name}'; known: {}, all", known_solvers()))?;
            if !solvers.contains(&kind) {
                solvers.push(kind);
            }
        }
        Ok(solvers)
    }

    fn goal(&self) -> Goal {
        self.natural.map_or(Goal::Energy(self.energy_rel), Goal::Natural)
    }

    fn settings(&self) -> Result<Settings, String> {
        let by_energy = Settings {
            max_iterations: self.iterations,
            time_limit: 1e-3 * self.budget_ms,
            relative_tolerance: self.energy_rel,
            // The relative error alone decides, so that "converged" and "solved" mean the same at any scale.
            energy_tolerance: 0.0,
            history_capacity: 0,
            ..Settings::default()
        };
        let settings = match self.natural {
            None => by_energy,
            // An observer ends the solve, not the energy.
            Some(most) => Settings {
                choice: Choice::Best(Measure::Natural),
                relative_tolerance: 0.0,
                residual_tolerance: most,
                ..by_energy
            },
        };
        match settings.validate() {
            Ok(()) => Ok(settings),
            Err(_) if self.natural.is_some_and(|n| !(n.is_finite() && n >= 0.0)) => {
                Err(format!("--natural is {}, it must be finite and >= 0", self.natural.unwrap_or(0.0)))
            }
            Err(_) if !(self.budget_ms.is_finite() && self.budget_ms >= 0.0) => {
                Err(format!("--budget-ms is {}, it must be finite and >= 0", self.budget_ms))
            }
            Err(_) => Err(format!("--energy-rel is {}, it must be finite and >= 0", self.energy_rel)),
        }
    }

    /// Read everything first: a bad file is refused before an hour of solving, not after.
    fn tasks(&self) -> Result<Vec<Task>, String> {
        let pattern = glob::Pattern::new(&self.problem).map_err(|e| format!("--problem '{}': {e}", self.problem))?;
        let formulations = self.formulations()?;
        let (mut tasks, mut notes) = (Vec::new(), Notes::default());
        let (mut problems, mut frames) = (0, 0);
        for path in &self.files {
            let file = Dataset::open(path).map_err(|e| e.to_string())?;
            problems += file.problems();
            frames += file.frames();
            self.problem_tasks(path, &file, &pattern, &formulations, &mut tasks, &mut notes)?;
            self.frame_tasks(path, &file, &pattern, &formulations, &mut tasks)?;
        }
        let shown = self.files[0].display();
        if tasks.is_empty() && !notes.0.is_empty() {
            return Err(format!("{shown}: no problem has a pair of friction rows to be a cone"));
        }
        if tasks.is_empty() {
            let among = if frames > 0 { format!("{problems} and {frames} frames") } else { problems.to_string() };
            return Err(format!("{shown}: no problem matches '{}' among {among}", self.problem));
        }
        notes.print();
        Ok(tasks)
    }

    fn problem_tasks(
        &self,
        path: &Path,
        file: &Dataset,
        pattern: &glob::Pattern,
        formulations: &[Formulation],
        tasks: &mut Vec<Task>,
        notes: &mut Notes,
    ) -> Result<(), String> {
        for k in (0..file.problems()).filter(|&k| file.problem_name(k).is_some_and(|n| pattern.matches(n))) {
            let recorded = file.problem(k).map_err(|e| e.to_string())?;
            if formulations.is_empty() {
                tasks.extend(self.task(path, &recorded, notes)?);
            }
            for formulation in formulations {
                tasks.push(self.reformulated(path, &recorded, *formulation)?);
            }
        }
        Ok(())
    }

    fn frame_tasks(
        &self,
        path: &Path,
        file: &Dataset,
        pattern: &glob::Pattern,
        formulations: &[Formulation],
        tasks: &mut Vec<Task>,
    ) -> Result<(), String> {
        let mut formulator = Formulator::new();
        for k in (0..file.frames()).step_by(self.every as usize) {
            let name = format!("frame{k:06}");
            if !pattern.matches(&name) {
                continue;
            }
            let mut frame = Frame::new();
            file.frame(k, &mut frame).map_err(|e| e.to_string())?;
            let as_box = [Formulation::BOX];
            for &formulation in if formulations.is_empty() { &as_box[..] } else { formulations } {
                let mut problem = Problem::new();
                let say = |e: mlcp::Error| format!("{}: {name}: {e}", path.display());
                formulator.fill(&frame, formulation, &mut problem).map_err(say)?;
                tasks.push(Task {
                    name: name.clone(),
                    formulation: formulation.to_string(),
                    frame: Some((k, frame.clone(), formulation)),
                    problem,
                    start: None,
                    joules: 1.0,
                });
            }
        }
        Ok(())
    }

    fn formulations(&self) -> Result<Vec<Formulation>, String> {
        let names = self.formulation.split(',').map(str::trim).filter(|n| !n.is_empty());
        let all: Vec<Formulation> =
            names.map(str::parse).collect::<mlcp::Result<_>>().map_err(|e| format!("--formulation: {e}"))?;
        match all.iter().any(|f| f.shape == Shape::FrozenBox) {
            true => Err("--formulation frozen-box needs normals; use --friction frozen with recorded problems".into()),
            false => Ok(all),
        }
    }

    fn task(&self, path: &Path, recorded: &Recorded, notes: &mut Notes) -> Result<Option<Task>, String> {
        let wanted = self.form.map(dataset::Form::from);
        if wanted.is_some_and(|wanted| wanted != recorded.form(Some(wanted))) {
            notes.add(&recorded.name, "cannot be had in that form and are solved in the recorded one");
        }
        let frozen = self.friction == Friction::Frozen;
        if frozen && recorded.has_friction() && recorded.x_ref.is_none() && recorded.frozen_normals.is_none() {
            notes.add(&recorded.name, "have no x_ref to freeze friction at and are solved with coupled friction");
        }
        let known = recorded.x_ref.is_some() || recorded.frozen_normals.is_some();
        let mode = if frozen && known { FrictionMode::Frozen } else { FrictionMode::Coupled };
        let start = match self.start {
            Start::Cold => None,
            Start::X0 => recorded.x0.clone(),
            Start::Ref => recorded.x_ref.clone(),
        };
        if self.start != Start::Cold && start.is_none() {
            notes.add(&recorded.name, "have no such starting point and are started cold");
        }
        let mut problem = Problem::new();
        recorded.fill(&mut problem, wanted, mode).map_err(|e| in_problem(path, recorded, &e))?;
        if self.friction == Friction::Cone
            && set_exact_cones(&mut problem).map_err(|e| in_problem(path, recorded, &e))? == 0
        {
            notes.add(&recorded.name, "have no pair of friction rows to be a cone and are left out");
            return Ok(None);
        }
        let (name, formulation, joules) = (recorded.name.clone(), String::new(), recorded.joules);
        Ok(Some(Task { name, formulation, frame: None, problem, start, joules }))
    }

    /// A recorded problem with another shape of its friction cones.
    fn reformulated(&self, path: &Path, recorded: &Recorded, formulation: Formulation) -> Result<Task, String> {
        if formulation.mixed {
            return Err("--formulation mixed needs frames; recorded problems have no velocities".into());
        }
        let say = |e: mlcp::Error| in_problem(path, recorded, &e);
        let (mut source, mut problem) = (Problem::new(), Problem::new());
        recorded.fill(&mut source, self.form.map(dataset::Form::from), FrictionMode::Coupled).map_err(say)?;
        match formulation.shape {
            Shape::Polyhedral(polygon) => Polyhedral::default().fill(&source, polygon, &mut problem).map_err(say)?,
            Shape::Cone => {
                set_exact_cones(&mut source).map_err(say)?;
                problem = source;
            }
            _ if !recorded.cone_mu.is_empty() => {
                return Err(format!("{}: box friction of exact cones: use circumscribed:4", recorded.name));
            }
            _ => problem = source,
        }
        let (name, formulation) = (recorded.name.clone(), formulation.to_string());
        Ok(Task { name, formulation, frame: None, problem, start: None, joules: recorded.joules })
    }

    fn solve_all(&self, tasks: &[Task], solvers: &[SolverKind], settings: Settings) -> Result<Vec<Row>, Trouble> {
        let longest = tasks.iter().map(|t| t.shown().len()).max().unwrap_or(0);
        let names: Vec<&'static str> = solvers.iter().map(|s| s.name()).collect();
        let longest_solver = names.iter().map(|s| s.len()).max().unwrap_or(0);
        let bar = progress(tasks.len() * solvers.len());
        let mut table = Table::new(io::stdout(), self.tsv, longest, longest_solver)?;
        let mut rows = Vec::new();
        for task in tasks {
            for &solver in solvers {
                bar.set_message(format!("{} {}", solver.name(), task.shown()));
                let row = Row {
                    problem: task.shown(),
                    formulation: task.formulation.clone(),
                    frame: task.frame.as_ref().map(|f| f.0),
                    n: task.problem.len(),
                    solver: solver.name(),
                    result: self.solve(task, Settings { solver, ..settings })?,
                };
                bar.suspend(|| table.row(&row))?;
                rows.push(row);
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        if self.tsv {
            table::summary(&mut io::stderr(), &rows, &names, self.goal())?;
        } else {
            let mut out = io::stdout();
            writeln!(out)?;
            table::summary(&mut out, &rows, &names, self.goal())?;
        }
        Ok(rows)
    }

    fn solve(&self, task: &Task, settings: Settings) -> Result<Result<Solved, Refused>, Trouble> {
        let mut engine = Engine::new(settings).map_err(|e| Trouble::Sentence(e.to_string()))?;
        let mut best: Option<Solved> = None;
        let most = self.natural.unwrap_or(0.0);
        let mut enough = |seen: &Observation<'_>| seen.record.measured && seen.record.error <= most;
        for _ in 0..self.repeats {
            let observer = self.natural.is_some().then_some(&mut enough as Observer<'_>);
            match engine.solve(&task.problem, task.start.as_deref(), observer) {
                Err(e) => {
                    // A zero diagonal is one more thing that some solvers cannot treat.
                    let status = if e.status() == Status::NoEnergy { Status::Unsupported } else { e.status() };
                    return Ok(Err(Refused { kind: status.name(), sentence: e.message().to_string() }));
                }
                Ok(&report) => {
                    let met = report.outcome == Outcome::Stopped && report.natural <= most;
                    let outcome = if met { Outcome::Converged } else { report.outcome };
                    let report = Report { outcome, ..report };
                    if best.as_ref().is_none_or(|b| report.seconds < b.seconds) {
                        let (seconds, stages) = (report.seconds, stages(&engine));
                        best = Some(Solved { report, joules: task.joules, seconds, stages, errors: None });
                    }
                }
            }
        }
        if let (Some(best), Some((_, frame, formulation))) = (&mut best, &task.frame) {
            let mut response = Response::default();
            let done = Formulator::new().respond(frame, *formulation, engine.x(), &mut response);
            best.errors = done.is_ok().then_some(response.errors);
        }
        best.map(Ok).ok_or_else(|| Trouble::Sentence("--repeats must be at least 1".to_string()))
    }

    fn draw(
        &self,
        folder: &Path,
        tasks: &[Task],
        solvers: &[SolverKind],
        settings: Settings,
        rows: &[Row],
    ) -> Result<(), String> {
        let save = |name: &str, svg: String| {
            let path = folder.join(name);
            std::fs::write(&path, svg).map_err(|e| format!("{}: cannot be written: {e}", path.display()))
        };
        for task in tasks.iter().take(MOST_PICTURES) {
            let traces: Vec<Trace> =
                solvers.iter().filter_map(|&solver| trace(task, Settings { solver, ..settings })).collect();
            let name = &task.shown();
            let picture = plot::convergence(name, task.problem.len(), task.problem.has_energy(), &traces);
            save(&format!("convergence_{}.svg", file_name(name)), picture)?;
        }
        if tasks.len() > MOST_PICTURES {
            eprintln!("note: convergence is drawn for the first {MOST_PICTURES} of {} problems", tasks.len());
        }
        let names: Vec<&'static str> = solvers.iter().map(|s| s.name()).collect();
        save("profile.svg", plot::profile(rows, &names, self.goal()))
    }
}

fn in_problem(path: &Path, recorded: &Recorded, error: &mlcp::Error) -> String {
    format!("{}: problem {}: {error}", path.display(), recorded.name)
}

/// Solve once more, measuring every iterate: apart from the timed runs, since it costs a product with A each.
fn trace(task: &Task, settings: Settings) -> Option<Trace> {
    let problem = &task.problem;
    let n = problem.len();
    let (mut w, mut lo, mut hi, mut scratch) = (vec![0.0; n], vec![0.0; n], vec![0.0; n], Vec::new());
    let mut samples = Vec::new();
    let mut observer = |seen: &Observation<'_>| {
        if problem.multiply(seen.x, &mut w, &mut scratch).is_err() {
            return true;
        }
        problem.bounds_at(seen.x, &mut lo, &mut hi);
        let at = Point { diagonal: problem.diagonal(), x: seen.x, w: &w, lo: &lo, hi: &hi, cones: problem.cones() };
        let energy = if problem.has_energy() { Measure::Energy.total(&at) } else { f64::NAN };
        samples.push(Sample {
            iteration: seen.record.iteration,
            energy: energy * task.joules,
            fischer_burmeister: Measure::FischerBurmeister.total(&at),
            natural: Measure::Natural.total(&at),
        });
        false
    };
    let mut engine = Engine::new(settings).ok()?;
    // A refused problem has no curve; the table has said why.
    let scale = engine.solve(problem, task.start.as_deref(), Some(&mut observer)).ok()?.energy_scale;
    let tolerance = settings.relative_tolerance * scale * task.joules;
    Some(Trace { solver: settings.solver.name(), samples, tolerance })
}

/// A problem's name as part of a file name: names come from files and may hold anything.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    name.chars().take(120).map(plain).collect()
}

pub(crate) fn progress(steps: usize) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Why solving ended early.
enum Trouble {
    Output(io::Error),
    Sentence(String),
}

impl From<io::Error> for Trouble {
    fn from(e: io::Error) -> Self {
        Trouble::Output(e)
    }
}

/// What had to be done otherwise than asked, one line per kind and not one per problem.
#[derive(Default)]
struct Notes(Vec<(&'static str, usize, String)>);

impl Notes {
    fn add(&mut self, problem: &str, what: &'static str) {
        match self.0.iter_mut().find(|n| n.0 == what) {
            Some(note) => note.1 += 1,
            None => self.0.push((what, 1, problem.to_string())),
        }
    }

    fn print(&self) {
        for (what, count, first) in &self.0 {
            eprintln!("note: {count} problem(s), the first {first}, {what}");
        }
    }
}
