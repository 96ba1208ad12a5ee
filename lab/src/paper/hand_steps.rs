//! The recorded steps of the hand, each swept from zero and measured on the way.

use super::brick_wall::unstopped;
use super::section::Context;
use mlcp::dataset::{Dataset, Recorded};
use mlcp::metrics::Point;
use mlcp::multibody::Frame;
use mlcp::solve::Observation;
use mlcp::{Engine, FrictionMode, Measure, Problem, SolverKind};
use std::path::Path;

/// The paper's iterates, and one far beyond.
pub const LOOKS: [usize; 3] = [10, 40, 400];

/// How wrong an iterate is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wrong {
    /// Sums of the squared natural residuals: of rows that move points (m/s, N s) and of rows that only turn (rad/s, N m s).
    pub squares: [f64; 2],
    /// J.
    pub energy: f64,
}

impl Wrong {
    fn add(&mut self, other: Wrong) {
        (0..2).for_each(|k| self.squares[k] += other.squares[k]);
        self.energy += other.energy;
    }
}

/// One time step.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// s.
    pub time: f64,
    /// That move points, that only turn.
    pub rows: [usize; 2],
    /// Number of them.
    pub contacts: usize,
    /// At each of `LOOKS`.
    pub looks: [Wrong; LOOKS.len()],
    /// Least energy error of the first 40 iterates, islands taken one by one, J.
    pub best: f64,
    /// In some island an earlier iterate has a violation smaller than the 40th's by 1 % or more.
    pub rose: bool,
    /// QuickStep's own solution.
    pub engine: Wrong,
    /// Deepest contact, and root mean square over the contacts, m.
    pub depth: [f64; 2],
    /// The same of the joints' gaps, m.
    pub gap: [f64; 2],
}

impl Step {
    /// Root mean square over all rows, mixed units.
    pub fn rms(&self, wrong: Wrong) -> f64 {
        ((wrong.squares[0] + wrong.squares[1]) / (self.rows[0] + self.rows[1]).max(1) as f64).sqrt()
    }

    /// Over the rows that move points, or those that only turn.
    pub fn rms_of(&self, wrong: Wrong, kind: usize) -> f64 {
        (wrong.squares[kind] / self.rows[kind].max(1) as f64).sqrt()
    }
}

/// An island, and which of its rows only turn.
struct Island {
    problem: Problem,
    turns: Vec<bool>,
}

impl Island {
    fn new(recorded: &Recorded) -> mlcp::Result<Island> {
        let mut problem = Problem::new();
        recorded.fill(&mut problem, None, FrictionMode::Coupled)?;
        let still = |row: &[f64]| row[..3].iter().chain(&row[6..9]).all(|v| *v == 0.0);
        let rows = recorded.jacobian.as_ref().map_or(&[][..], |j| &j.rows);
        let mut turns: Vec<bool> = rows.chunks_exact(12).map(still).collect();
        turns.resize(problem.len(), false);
        Ok(Island { problem, turns })
    }

    /// Measure x, with friction bounded by its own normal impulses.
    fn measure(&self, x: &[f64]) -> mlcp::Result<Wrong> {
        let (problem, n) = (&self.problem, x.len());
        let (mut w, mut lo, mut hi, mut rows) = (vec![0.0; n], vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        problem.multiply(x, &mut w, &mut Vec::new())?;
        problem.bounds_at(x, &mut lo, &mut hi);
        let at = Point { diagonal: problem.diagonal(), x, w: &w, lo: &lo, hi: &hi, cones: problem.cones() };
        at.rows(Measure::Natural, &mut rows);
        let mut wrong = Wrong { energy: Measure::Energy.total(&at), ..Wrong::default() };
        rows.iter().zip(&self.turns).for_each(|(r, &turns)| wrong.squares[usize::from(turns)] += r * r);
        Ok(wrong)
    }

    /// Sweep from zero and add what was seen to the step.
    fn sweep(&self, engine: &mut Engine, step: &mut Step) -> mlcp::Result<()> {
        let (mut seen, mut wrong) = (Vec::new(), None);
        let mut observer = |now: &Observation<'_>| {
            let k = now.record.iteration;
            if k <= LOOKS[1] || LOOKS.contains(&k) {
                match self.measure(now.x) {
                    Ok(here) => seen.push((k, here)),
                    Err(e) => wrong = Some(e),
                }
            }
            wrong.is_some()
        };
        engine.solve(&self.problem, None, Some(&mut observer))?;
        if let Some(e) = wrong {
            return Err(e);
        }
        // What ends early keeps its last iterate.
        let at = |k: usize| seen.iter().rev().find(|(j, _)| *j <= k).map_or(Wrong::default(), |(_, w)| *w);
        step.looks.iter_mut().zip(LOOKS).for_each(|(sum, k)| sum.add(at(k)));
        let early = || seen.iter().filter(|(k, _)| *k <= LOOKS[1]).map(|(_, w)| *w);
        step.best += early().map(|w| w.energy).fold(f64::INFINITY, f64::min);
        let violation = |w: Wrong| w.squares[0] + w.squares[1];
        let last = violation(at(LOOKS[1]));
        step.rose |= early().any(|w| violation(w) < 0.98 * last);
        self.turns.iter().for_each(|&turns| step.rows[usize::from(turns)] += 1);
        Ok(())
    }
}

/// Largest of some lengths and their root mean square.
fn largest_and_rms(lengths: impl Iterator<Item = f64>) -> [f64; 2] {
    let (mut most, mut squares, mut count) = (0.0f64, 0.0, 0);
    for length in lengths {
        (most, squares, count) = (most.max(length), squares + length * length, count + 1);
    }
    [most, (squares / f64::from(count.max(1))).sqrt()]
}

/// Every recorded step.
pub fn steps(context: &Context, file: &Path) -> mlcp::Result<Vec<Step>> {
    let data = Dataset::open(file)?;
    let mut steps = vec![Step::default(); data.frames()];
    let mut frame = Frame::new();
    for (k, step) in steps.iter_mut().enumerate() {
        data.frame(k, &mut frame)?;
        step.time = frame.time();
        step.contacts = frame.contacts().gap.len();
        step.depth = largest_and_rms(frame.contacts().gap.iter().map(|g| (-g).max(0.0)));
        let apart = |row: &[f64]| row.iter().map(|v| v * v).sum::<f64>().sqrt();
        step.gap = largest_and_rms(frame.constraints().violation.chunks(3).map(apart));
    }
    let mut engine = Engine::new(unstopped(SolverKind::Pgs, LOOKS[LOOKS.len() - 1], Measure::Energy))?;
    let bar = context.progress(data.problems());
    // An island is named by the number of its step; frames come in the same order.
    let number = |name: &str| name.split('_').next().and_then(|n| n.parse::<usize>().ok());
    let mut seen: Vec<usize> = Vec::new();
    for k in 0..data.problems() {
        let recorded = data.problem(k)?;
        let Some(at) = number(&recorded.name) else { continue };
        if seen.last() != Some(&at) {
            seen.push(at);
        }
        let Some(step) = steps.get_mut(seen.len() - 1) else { continue };
        let island = Island::new(&recorded)?;
        if let Some(x) = &recorded.x {
            step.engine.add(island.measure(x)?);
        }
        island.sweep(&mut engine, step)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(steps)
}
