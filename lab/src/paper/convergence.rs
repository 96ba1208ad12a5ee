//! The errors of Lu et al. 2013, section 5, after every iteration of a solver, on frames of a scene.

use super::section::{Context, Section};
use crate::plot::Chart;
use mlcp::multibody::{Contacts, Formulation, Formulator, Frame, FrameErrors, Response};
use mlcp::solve::Observation;
use mlcp::{Choice, Engine, Error, Problem, Settings, SolverKind};
use std::fmt::Write;

/// A solver of the comparison.
pub struct Method {
    /// As the figures call it.
    pub name: &'static str,
    /// Which one.
    pub solver: SolverKind,
    /// The problem it is given: a name such as "polyhedral:8".
    pub formulation: &'static str,
    /// Added to the diagonal of A for this solver alone (constraint force mixing); its errors are those of the problem
    /// without.
    pub cfm: f64,
    /// Iterations at most.
    pub iterations: usize,
    /// Leave out what follows the best iterate. Without a tolerance the interior point method goes on past the last digit
    /// until its numbers are none, which says nothing of what it would return.
    pub until_best: bool,
    /// Begin with the impulses of the same step without friction, as the paper's prox method does.
    pub frictionless_start: bool,
}

/// Errors of every iterate, the starting point first; one list per frame.
pub type Traces = Vec<Vec<FrameErrors>>;

/// One of the errors.
pub type Value = fn(&FrameErrors) -> f64;

/// What every error is called, and its value.
const ERRORS: [(&str, Value); 4] = [
    ("total ½ φᵀφ [mixed]", |e| e.total),
    ("normal ½ φᵀφ [mixed]", |e| e.normal),
    ("friction, magnitude [J]", |e| e.magnitude),
    ("friction, direction [J]", |e| e.direction),
];

impl Method {
    /// A solver with a problem and a number of iterations, and nothing special.
    pub const fn new(name: &'static str, solver: SolverKind, formulation: &'static str, iterations: usize) -> Self {
        Method { name, solver, formulation, cfm: 0.0, iterations, until_best: false, frictionless_start: false }
    }

    /// Solve one frame and measure every iterate.
    pub fn trace(&self, frame: &Frame) -> Result<Vec<FrameErrors>, Error> {
        let formulation: Formulation = self.formulation.parse()?;
        let (mut formulator, mut judge) = (Formulator::new(), Formulator::new());
        let mut problem = Problem::default();
        formulator.fill(frame, formulation, &mut problem)?;
        let start = if self.frictionless_start { Some(without_friction(frame)?) } else { None };
        if self.cfm > 0.0 {
            problem = mixed(&problem, self.cfm)?;
        }
        // Only the method itself ends the run: where it stands still is what the figure is to show.
        let mut engine = Engine::new(Settings {
            solver: self.solver,
            choice: Choice::Last,
            max_iterations: self.iterations,
            energy_tolerance: 0.0,
            relative_tolerance: 0.0,
            residual_tolerance: 0.0,
            check_interval: 1,
            stall_window: self.iterations,
            stall_decrease: 0.0,
            ..Settings::default()
        })?;
        let (mut errors, mut response, mut wrong) = (Vec::new(), Response::default(), None);
        let mut look = |x: &[f64]| match judge.respond(frame, formulation, x, &mut response) {
            Ok(()) => errors.push(response.errors),
            Err(e) => wrong = Some(e),
        };
        let mut observer = |seen: &Observation<'_>| {
            let is_over = seen.x.iter().any(|v| !v.is_finite());
            if !is_over {
                look(seen.x);
            }
            is_over
        };
        engine.solve(&problem, start.as_deref(), Some(&mut observer))?;
        if self.until_best {
            let best = (0..errors.len()).min_by(|&a, &b| errors[a].total.total_cmp(&errors[b].total));
            errors.truncate(best.map_or(0, |k| k + 1));
        }
        match wrong {
            Some(e) => Err(e),
            None => Ok(errors),
        }
    }
}

/// The same problem with this on the diagonal of A.
fn mixed(problem: &Problem, cfm: f64) -> Result<Problem, Error> {
    let n = problem.len();
    let (mut row_start, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        let mut has_diagonal = false;
        problem.for_each_entry(i, &mut |j, a| {
            has_diagonal |= i == j;
            columns.push(j as i32);
            values.push(if i == j { a + cfm } else { a });
        });
        if !has_diagonal {
            // Columns rise within a row.
            let from = row_start[i] as usize;
            let at = from + columns[from..].partition_point(|&j| j < i as i32);
            columns.insert(at, i as i32);
            values.insert(at, cfm);
        }
        row_start.push(columns.len() as i32);
    }
    let (lo, hi): (Vec<f64>, Vec<f64>) = (0..n).map(|i| problem.own_bounds(i)).unzip();
    let mut out = Problem::default();
    out.set_csr(n, &row_start, &columns, &values)?;
    out.set_b(problem.b())?;
    out.set_bounds(&lo, &hi)?;
    Ok(out)
}

/// Impulses of the frame's rows when nothing rubs.
fn without_friction(frame: &Frame) -> Result<Vec<f64>, Error> {
    let mut smooth = frame.clone();
    let contacts = frame.contacts();
    smooth.set_contacts(&Contacts { mu: &vec![0.0; contacts.mu.len()], ..contacts })?;
    let mut problem = Problem::default();
    Formulator::new().fill(&smooth, Formulation::BOX, &mut problem)?;
    let mut engine = Engine::new(Settings::default())?;
    engine.solve(&problem, None, None)?;
    Ok(engine.x().to_vec())
}

/// Trace every method over every frame.
pub fn run_all<'a>(
    context: &Context,
    methods: &'a [Method],
    frames: &[Frame],
) -> Result<Vec<(&'a Method, Traces)>, String> {
    let bar = context.progress(frames.len() * methods.len());
    let mut runs = Vec::new();
    for method in methods {
        let mut traces = Traces::new();
        for frame in frames {
            traces.push(method.trace(frame).map_err(|e| format!("{}: {e}", method.name))?);
            bar.inc(1);
        }
        runs.push((method, traces));
    }
    bar.finish_and_clear();
    Ok(runs)
}

/// Mean over the frames after every iteration; a frame that ended earlier keeps its last value.
pub fn mean(traces: &Traces, value: Value) -> Vec<f64> {
    let longest = traces.iter().map(Vec::len).max().unwrap_or(0);
    let at = |trace: &Vec<FrameErrors>, k: usize| trace.get(k).or(trace.last()).map_or(f64::NAN, value);
    (0..longest).map(|k| traces.iter().map(|t| at(t, k)).sum::<f64>() / traces.len() as f64).collect()
}

/// Mean over the frames at the end.
pub fn last(traces: &Traces, value: Value) -> f64 {
    mean(traces, value).last().copied().unwrap_or(f64::NAN)
}

/// The first iteration from which on this error's mean is at most `level`.
pub fn reached(traces: &Traces, value: Value, level: f64) -> Option<usize> {
    let values = mean(traces, value);
    let first = values.iter().rposition(|v| *v > level).map_or(0, |k| k + 1);
    (first < values.len()).then_some(first)
}

/// Two figures and two tables: means per iteration, and the errors that every frame ends with.
pub fn draw(section: &mut Section, name: &str, title: &str, runs: &[(&Method, Traces)]) {
    let mut csv = String::from("method,iteration,total,normal,magnitude_J,direction_J\n");
    let mut ends = String::from("method,frame,iterations,total,normal,magnitude_J,direction_J\n");
    let (mut by_iteration, mut by_frame) = (Vec::new(), Vec::new());
    for (method, traces) in runs {
        let means = ERRORS.map(|(_, value)| mean(traces, value));
        let [total, normal, magnitude, direction] = &means;
        for (k, total) in total.iter().enumerate() {
            let friction = format!("{:e},{:e}", magnitude[k], direction[k]);
            let _ = writeln!(csv, "\"{}\",{k},{total:e},{:e},{friction}", method.name, normal[k]);
        }
        for (k, trace) in traces.iter().enumerate() {
            let Some(e) = trace.last() else { continue };
            let errors = format!("{:e},{:e},{:e},{:e}", e.total, e.normal, e.magnitude, e.direction);
            let _ = writeln!(ends, "\"{}\",{},{},{errors}", method.name, k + 1, trace.len() - 1);
        }
        // An exact 0 has no place on a logarithmic axis.
        let curve = |points: &[f64], first: usize| {
            let places = points.iter().enumerate().filter(|(_, v)| **v > 0.0);
            places.map(|(k, &v)| ((k + first) as f64, v)).collect::<Vec<_>>()
        };
        let pivots = method.solver == SolverKind::Lemke;
        by_iteration.push(Chart {
            title: method.name,
            x_title: if pivots { "pivot" } else { "iteration" },
            y_title: "mean error [J or mixed units]",
            log: true,
            curves: ERRORS.iter().zip(&means).map(|((e, _), m)| (e.to_string(), curve(m, 0))).collect(),
            ..Chart::default()
        });
        let end = |value: Value| -> Vec<f64> { traces.iter().map(|t| t.last().map_or(f64::NAN, value)).collect() };
        by_frame.push(Chart {
            title: method.name,
            x_title: "step",
            y_title: "error at the end [J or mixed units]",
            log: true,
            curves: ERRORS.iter().map(|(e, value)| (e.to_string(), curve(&end(*value), 1))).collect(),
            ..Chart::default()
        });
    }
    section.table(name, csv);
    section.table(&format!("{name}_steps"), ends);
    let caption =
        "Errors after every iteration, mean over the steps. Exact zeros are left out; what is below the axis is on it.";
    section.figure(name, title, caption, &by_iteration);
    let caption = "Errors at the end of every step's solve. Exact zeros are left out; what is below the axis is on it.";
    section.figure(&format!("{name}_steps"), title, caption, &by_frame);
}
