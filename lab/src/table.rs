//! Rows of results, as text to read and as tab-separated values, and what they add up to per solver.

use mlcp::multibody::FrameErrors;
use mlcp::{Measure, Report};
use std::fmt;
use std::io::{self, Write};

/// Where a problem has no energy, a natural residual up to this counts as solved.
const SOLVED_NATURAL: f64 = 1e-8;

/// When a problem counts as solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// At this energy error relative to that at x = clamp(0); at a natural residual of 1e-8 where a row has no energy.
    Energy(f64),
    /// At this natural residual, whatever the energy.
    Natural(f64),
}

impl Goal {
    fn is_met(self, s: &Solved) -> bool {
        match (self, s.relative()) {
            (Goal::Energy(most), Some(relative)) => relative <= most,
            (Goal::Energy(_), None) => s.report.natural <= SOLVED_NATURAL,
            (Goal::Natural(most), _) => s.report.natural <= most,
        }
    }

    /// What its name says, for titles.
    pub fn short(self) -> String {
        match self {
            Goal::Energy(most) => format!("energy_rel ≤ {most:e}"),
            Goal::Natural(most) => format!("natural ≤ {most:e}"),
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Goal::Energy(most) => {
                write!(f, "energy_rel <= {most:e}, or natural <= {SOLVED_NATURAL:e} where a row has no energy")
            }
            Goal::Natural(most) => write!(f, "natural <= {most:e}"),
        }
    }
}

/// What one solver did with one problem.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the problem.
    pub problem: String,
    /// How it was written as a problem; empty: as recorded.
    pub formulation: String,
    /// Number of the frame it was made of.
    pub frame: Option<usize>,
    /// Number of rows of the problem.
    pub n: usize,
    /// Name of the solver.
    pub solver: &'static str,
    /// What came out; `Err`: the solver refused, with its sentence.
    pub result: Result<Solved, Refused>,
}

/// A solver that cannot treat a problem says why.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The kind, such as "unsupported".
    pub kind: &'static str,
    /// The sentence.
    pub sentence: String,
}

/// What a solve achieved.
#[derive(Clone, Debug)]
pub struct Solved {
    /// The report of the fastest repeat.
    pub report: Report,
    /// Joules per unit of the report's energies.
    pub joules: f64,
    /// Least seconds of all repeats.
    pub seconds: f64,
    /// The errors of Lu et al. 2013, of a frame.
    pub errors: Option<FrameErrors>,
    /// What a chain of solvers did.
    pub stages: String,
}

impl Solved {
    fn has_energy(&self) -> bool {
        self.report.judge == Measure::Energy
    }

    /// Energy error in joules, if the problem has energies.
    pub fn energy(&self) -> Option<f64> {
        self.has_energy().then_some(self.report.energy_error * self.joules)
    }

    /// Energy error relative to that at x = clamp(0), if the problem has energies.
    pub fn relative(&self) -> Option<f64> {
        self.has_energy().then(|| self.report.relative_energy())
    }
}

impl Row {
    /// Is the error within tolerance?
    pub fn is_solved(&self, goal: Goal) -> bool {
        self.result.as_ref().is_ok_and(|s| goal.is_met(s))
    }

    /// Seconds, if solved.
    pub fn solved_seconds(&self, goal: Goal) -> Option<f64> {
        self.result.as_ref().ok().filter(|s| goal.is_met(s)).map(|s| s.seconds)
    }
}

const HEADER: [&str; 11] = [
    "problem",
    "n",
    "solver",
    "outcome",
    "iterations",
    "energy_error[J]",
    "energy_rel",
    "natural",
    "fb",
    "microseconds",
    "note",
];

/// Writes rows as they come.
pub struct Table<W> {
    out: W,
    tsv: bool,
    widths: [usize; 11],
}

impl<W: Write> Table<W> {
    /// A table with its header, for problems and solvers of these names.
    pub fn new(out: W, tsv: bool, longest_problem: usize, longest_solver: usize) -> io::Result<Self> {
        let mut widths = HEADER.map(str::len);
        let wanted = [longest_problem, 5, longest_solver, 15, 10, 10, 10, 10, 10, 12, 0];
        for (width, wanted) in widths.iter_mut().zip(wanted) {
            *width = (*width).max(wanted);
        }
        let mut table = Table { out, tsv, widths };
        table.line(&HEADER.map(String::from))?;
        Ok(table)
    }

    /// Write one row.
    pub fn row(&mut self, row: &Row) -> io::Result<()> {
        let mut cells: [String; 11] = std::array::from_fn(|_| self.number(None));
        cells[0] = row.problem.clone();
        cells[1] = row.n.to_string();
        cells[2] = row.solver.to_string();
        cells[10] = String::new();
        match &row.result {
            Err(refused) => {
                cells[3] = refused.kind.to_string();
                cells[4] = "0".to_string();
                cells[10] = refused.sentence.replace(['\t', '\n'], " ");
            }
            Ok(s) => {
                cells[3] = s.report.outcome.name().to_string();
                cells[4] = s.report.iterations.to_string();
                cells[5] = self.number(s.energy());
                cells[6] = self.number(s.relative());
                cells[7] = self.number(Some(s.report.natural));
                cells[8] = self.number(Some(s.report.fischer_burmeister));
                cells[9] = format!("{:.1}", 1e6 * s.seconds);
                cells[10] = s.stages.clone();
            }
        }
        self.line(&cells)
    }

    /// Programs that read the values want a number in every column; people want to see that there is none.
    fn number(&self, value: Option<f64>) -> String {
        match value {
            None if self.tsv => "nan".to_string(),
            None => "-".to_string(),
            Some(v) if self.tsv => format!("{v:e}"),
            Some(v) => scientific(v),
        }
    }

    fn line(&mut self, cells: &[String; 11]) -> io::Result<()> {
        if self.tsv {
            return writeln!(self.out, "{}", cells.join("\t"));
        }
        let mut line = String::new();
        for (i, cell) in cells.iter().enumerate() {
            let width = self.widths[i];
            // Names to the left, numbers to the right.
            match i {
                0 | 2 | 3 | 10 => line += &format!("{cell:<width$}  "),
                _ => line += &format!("{cell:>width$}  "),
            }
        }
        writeln!(self.out, "{}", line.trim_end())
    }
}

/// Three significant digits and an exponent as C prints it, so that columns line up; or a plain 0.
fn scientific(v: f64) -> String {
    if v == 0.0 {
        return "0".to_string();
    }
    let text = format!("{v:.2e}");
    match text.split_once('e').map(|(digits, exponent)| (digits, exponent.parse::<i32>())) {
        Some((digits, Ok(exponent))) => format!("{digits}e{exponent:+03}"),
        // inf
        _ => text,
    }
}

/// Write what the rows add up to: a line per solver, or where frames came in several formulations, per both.
pub fn summary(out: &mut impl Write, rows: &[Row], solvers: &[&'static str], goal: Goal) -> io::Result<()> {
    let mut formulations: Vec<&str> = Vec::new();
    for row in rows {
        if !formulations.contains(&row.formulation.as_str()) {
            formulations.push(&row.formulation);
        }
    }
    let mut groups: Vec<(String, Vec<&Row>)> = Vec::new();
    for &solver in solvers {
        for &formulation in &formulations {
            let name = if formulations.len() > 1 { format!("{solver} [{formulation}]") } else { solver.to_string() };
            let mine: Vec<&Row> = rows.iter().filter(|r| r.solver == solver && r.formulation == formulation).collect();
            // Of several formulations most solvers treat some only.
            if formulations.len() == 1 || mine.iter().any(|r| r.result.is_ok()) {
                groups.push((name, mine));
            }
        }
    }
    let width = groups.iter().map(|g| g.0.len()).max().unwrap_or(0).max(6);
    writeln!(
        out,
        "{:<width$}  {:>9}  {:>13}  {:>17}  {:>14}  {:>13}",
        "solver", "solved", "median_iters", "mean_time[us]", "worst_rel", "worst_natural"
    )?;
    for (solver, mine) in &groups {
        group_line(out, solver, width, mine, goal)?;
    }
    let refused = rows.iter().filter(|r| r.result.is_err()).count();
    let over = if matches!(goal, Goal::Energy(_)) { " (worst_natural is over those)" } else { "" };
    writeln!(out, "solved: {goal}{over}; mean_time: geometric, over the solved.")?;
    if refused > 0 {
        writeln!(out, "{refused} solves were refused as unsupported; they count as not solved.")?;
    }
    Ok(())
}

fn group_line(out: &mut impl Write, solver: &str, width: usize, mine: &[&Row], goal: Goal) -> io::Result<()> {
    let times: Vec<f64> = mine.iter().filter_map(|r| r.solved_seconds(goal)).collect();
    let runs: Vec<&Solved> = mine.iter().filter_map(|r| r.result.as_ref().ok()).collect();
    let mut iterations: Vec<usize> = runs.iter().map(|s| s.report.iterations).collect();
    iterations.sort_unstable();
    let median = match iterations.len() {
        0 => "-".to_string(),
        k => ((iterations[(k - 1) / 2] + iterations[k / 2]) as f64 / 2.0).to_string(),
    };
    let mean = match times.len() {
        0 => "-".to_string(),
        // A clock that did not tick would make the mean 0.
        k => format!("{:.1}", 1e6 * (times.iter().map(|t| t.max(1e-9).ln()).sum::<f64>() / k as f64).exp()),
    };
    let worst =
        |values: &mut dyn Iterator<Item = f64>| values.reduce(f64::max).map_or_else(|| "-".to_string(), scientific);
    let relative = worst(&mut runs.iter().filter_map(|s| s.relative()));
    let judged = |s: &&&Solved| matches!(goal, Goal::Natural(_)) || s.relative().is_none();
    let natural = worst(&mut runs.iter().filter(judged).map(|s| s.report.natural));
    let solved = format!("{}/{}", times.len(), mine.len());
    writeln!(out, "{solver:<width$}  {solved:>9}  {median:>13}  {mean:>17}  {relative:>14}  {natural:>13}")
}
