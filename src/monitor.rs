//! What happened during a solve: records, the best iterate, the stop rules, the history.

use crate::error::Result;
use crate::memory::{reserve, resize};
use crate::metrics::{Judged, Measure, Point, Totals};
use crate::plan::Reason;
use crate::problem::FrictionMode;
use crate::settings::{Choice, Settings, SolverKind};

/// How a solve ended. Numbers are part of the ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// No solve has been run.
    #[default]
    None = 0,
    /// The energy error, measured at the returned x, is within tolerance.
    Converged = 1,
    /// The solver can do no better: round-off, an inconsistent problem, or no progress over the stall window.
    Stalled = 2,
    /// The iteration budget is spent.
    IterationLimit = 3,
    /// The time budget is spent.
    TimeLimit = 4,
    /// The callback asked to stop.
    Stopped = 5,
    /// The path of a complementary pivoting method ended in a ray. For monotone A and exact arithmetic that means no
    /// solution; in floating point it is a strong hint.
    Ray = 6,
}

impl Outcome {
    /// Stable text of the outcome, for logs and tables.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::None => "none",
            Outcome::Converged => "converged",
            Outcome::Stalled => "stalled",
            Outcome::IterationLimit => "iteration limit",
            Outcome::TimeLimit => "time limit",
            Outcome::Stopped => "stopped",
            Outcome::Ray => "ray",
        }
    }
}

/// One iteration, as observers and the history see it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Iteration {
    /// 0 is the starting point.
    pub iteration: usize,
    /// The solver at work; that of the settings at the starting point.
    pub solver: SolverKind,
    /// Was the error measured at this iterate? If not, the errors are those of the last one that was.
    pub measured: bool,
    /// Energy error in joules; the natural residual where a row has no energy.
    pub energy_error: f64,
    /// Error under the measure that chooses the best iterate.
    pub error: f64,
    /// Least such error so far.
    pub best_error: f64,
    /// Energy of this iteration's change of x, `½ Σ a_ii δx_i²`, in joules.
    pub change: f64,
    /// Rows that changed between bound and free.
    pub set_changes: usize,
    /// Seconds since the solve began.
    pub seconds: f64,
}

/// What a solve achieved. Errors are those of the returned x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Which solver was asked for.
    pub solver: SolverKind,
    /// Which solver found the returned x; the one asked for if that is the starting point.
    pub best_solver: SolverKind,
    /// How many solvers ran, one after the other.
    pub stages: usize,
    /// How friction bounds were read.
    pub friction: FrictionMode,
    /// Which measure decided on convergence: energy, or the natural residual where a row has no energy.
    pub judge: Measure,
    /// How often the driver moved coupled friction bounds, for solvers that do not by themselves.
    pub friction_updates: usize,
    /// Rows.
    pub rows: usize,
    /// Islands that were solved apart; 0: not looked for, 1: the problem is one.
    pub islands: usize,
    /// Iterations done.
    pub iterations: usize,
    /// The iteration the returned x comes from; 0 is the starting point.
    pub best_iteration: usize,
    /// How often the error was measured.
    pub measurements: usize,
    /// Changes between bound and free, added up over all iterations.
    pub set_changes: usize,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Energy error in joules; +inf where a row has no energy.
    pub energy_error: f64,
    /// Energy error at the starting point, moved into its bounds. The solve begins at x = clamp(0) where that is less.
    pub initial_energy_error: f64,
    /// Energy error at x = clamp(0): the problem's own scale.
    pub energy_scale: f64,
    /// Fischer-Burmeister residual.
    pub fischer_burmeister: f64,
    /// Natural residual.
    pub natural: f64,
    /// Half the squared Fischer-Burmeister residual.
    pub merit: f64,
    /// Penalised Fischer-Burmeister residual.
    pub penalized: f64,
    /// Duality gap in joules; may be +inf.
    pub duality_gap: f64,
    /// What round-off in w = A x + b may add to the error of the judge, in its unit: joules, or the natural residual's.
    pub round_off: f64,
}

/// What one stage of a solve did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageReport {
    /// Which solver ran.
    pub solver: SolverKind,
    /// Why it was in the plan.
    pub reason: Reason,
    /// How it ended.
    pub outcome: Outcome,
    /// Iterations it took.
    pub iterations: usize,
    /// Seconds it took, the start counted with the first stage and the end with the last: together those of the solve.
    pub seconds: f64,
    /// Energy error it began at; the natural residual where a row has no energy.
    pub initial_energy_error: f64,
    /// Least such error it found itself.
    pub energy_error: f64,
}

impl Report {
    /// The report of a solver that has not run.
    pub fn empty(solver: SolverKind) -> Self {
        Report {
            outcome: Outcome::None,
            solver,
            best_solver: solver,
            stages: 0,
            friction: FrictionMode::Coupled,
            judge: Measure::Energy,
            friction_updates: 0,
            rows: 0,
            islands: 0,
            iterations: 0,
            best_iteration: 0,
            measurements: 0,
            set_changes: 0,
            seconds: 0.0,
            energy_error: 0.0,
            initial_energy_error: 0.0,
            energy_scale: 0.0,
            fischer_burmeister: 0.0,
            natural: 0.0,
            merit: 0.0,
            penalized: 0.0,
            duality_gap: 0.0,
            round_off: 0.0,
        }
    }

    /// Energy error as a fraction of the problem's own scale; 0 for an error of 0, whatever the scale.
    pub fn relative_energy(&self) -> f64 {
        if self.energy_error == 0.0 {
            0.0
        } else if self.energy_error.is_finite() {
            self.energy_error / self.energy_scale.max(f64::MIN_POSITIVE)
        } else {
            f64::INFINITY
        }
    }

    /// Fill in the one measure of the returned x that decides on convergence.
    pub fn set_judged_error(&mut self, judged: Judged) {
        if self.judge == Measure::Energy {
            self.energy_error = judged.error;
        } else {
            (self.energy_error, self.natural) = (f64::INFINITY, judged.error);
        }
    }

    /// Fill in every measure of the returned x, and each row's error.
    pub fn set_errors(&mut self, at: &Point<'_>, rows: &mut [f64]) {
        let has_energy = self.judge == Measure::Energy;
        let Totals { energy, fischer_burmeister, natural, merit, penalized, duality_gap } = at.totals(self.judge, rows);
        self.energy_error = if has_energy { sane(energy) } else { f64::INFINITY };
        self.fischer_burmeister = sane(fischer_burmeister);
        self.natural = sane(natural);
        self.merit = sane(merit);
        self.penalized = sane(penalized);
        self.duality_gap = sane(duality_gap);
    }
}

/// An error that compares: +inf for an iterate that overflowed, never NaN.
pub fn sane(error: f64) -> f64 {
    if error.is_nan() {
        f64::INFINITY
    } else {
        error
    }
}

/// Keeps the best iterate and knows when to stop. What it calls energy is the error under the report's judge.
pub struct Monitor {
    best_x: Vec<f64>,
    /// The least error since the solve began, or began again cold, and where: there the next solver goes on.
    way: Judged,
    way_x: Vec<f64>,
    /// Error under the measure that chooses, with round-off where that may decide.
    best_error: f64,
    best: Judged,
    best_iteration: usize,
    least_energy: f64,
    /// Least energy error when the stall window began, and measurements since.
    window_energy: f64,
    window: usize,
    measurements: usize,
    set_changes: usize,
    last: Iteration,
    history: History,
}

impl Default for Monitor {
    fn default() -> Self {
        Monitor {
            best_x: Vec::new(),
            way: Judged::LOST,
            way_x: Vec::new(),
            best_error: 0.0,
            best: Judged::default(),
            best_iteration: 0,
            least_energy: 0.0,
            window_energy: 0.0,
            window: 0,
            measurements: 0,
            set_changes: 0,
            last: Iteration::default(),
            history: History::default(),
        }
    }
}

impl Monitor {
    /// Take memory for `n` rows.
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        reserve(&mut self.best_x, n)?;
        reserve(&mut self.way_x, n)
    }

    /// A new solve of `n` rows.
    pub fn start(&mut self, n: usize, settings: &Settings) -> Result<()> {
        // The first measurement fills it.
        resize(&mut self.best_x, n, 0.0)?;
        resize(&mut self.way_x, n, 0.0)?;
        self.way = Judged::LOST;
        self.best_error = f64::INFINITY;
        self.best = Judged::LOST;
        self.best_iteration = 0;
        self.least_energy = f64::INFINITY;
        self.window_energy = f64::INFINITY;
        self.window = 0;
        self.measurements = 0;
        self.set_changes = 0;
        self.last = Iteration::default();
        self.history.start(settings.history_capacity)
    }

    /// Take note of an iterate within its bounds and its judged error. Comparisons include what round-off may add.
    pub fn measured(&mut self, iteration: usize, at: &Point<'_>, judged: Judged, settings: &Settings) {
        let Judged { error: energy, sure, root } = judged;
        let (mut error, mut sure_error) = (energy, sure);
        if let Choice::Best(measure) = settings.choice {
            if measure != Measure::Energy && energy.is_finite() {
                error = sane(measure.total(at));
                // Round-off that hides in the energy hides in the others, too.
                sure_error = if sure > energy { sane(measure.with_round_off(error, root, at)) } else { error };
            }
        }
        self.measurements += 1;
        // The starting point is always kept: it is finite, whatever the solver makes of it.
        let last = settings.choice == Choice::Last && error.is_finite();
        // A measure may be infinite all along, as the gap is with joints: then energy decides.
        let better = sure_error < self.best_error || (sure_error == self.best_error && sure < self.best.sure);
        if better || self.measurements == 1 || last {
            self.best_x.copy_from_slice(at.x);
            self.best_error = sure_error;
            self.best = judged;
            self.best_iteration = iteration;
        }
        // Nor is there another point to go on from, even if its error overflows.
        if self.measurements == 1 {
            self.way = Judged::LOST;
            self.way_x.copy_from_slice(at.x);
        }
        self.go_on_from(at.x, judged);
        self.least_energy = self.least_energy.min(sure);
        let aim = (1.0 - settings.stall_decrease) * self.window_energy;
        if self.least_energy <= aim && self.least_energy < self.window_energy {
            self.window_energy = self.least_energy;
            self.window = 0;
        } else {
            self.window += 1;
        }
        (self.last.energy_error, self.last.error) = (energy, error);
    }

    /// Let the next solver begin here, unless there is a better point.
    fn go_on_from(&mut self, x: &[f64], judged: Judged) {
        if judged.sure < self.way.sure {
            self.way = judged;
            self.way_x.copy_from_slice(x);
        }
    }

    /// The solve begins again at this point: what was found before is returned if it stays the best, and no solver goes on
    /// from it.
    pub fn begin_again(&mut self, x: &[f64], judged: Judged) {
        self.begin_stage();
        self.way = judged;
        self.way_x.copy_from_slice(x);
    }

    /// Where the next solver begins, and the error there.
    pub fn way(&self) -> (&[f64], Judged) {
        (&self.way_x, self.way)
    }

    /// Close an iteration: complete its record, for observers and the history, with the errors last measured.
    pub fn record(&mut self, record: Iteration) -> Iteration {
        self.set_changes += record.set_changes;
        let Iteration { energy_error, error, .. } = self.last;
        self.last = Iteration { energy_error, error, best_error: self.best_error, ..record };
        self.history.push(self.last);
        self.last
    }

    /// End of the solve: the history holds the last iteration, however it was thinned.
    pub fn close(&mut self) {
        self.history.close(self.last);
    }

    /// Has the energy error stood still for a whole window?
    pub fn is_stalled(&self, window: usize) -> bool {
        self.window >= window
    }

    /// Another solver begins: it gets a stall window of its own.
    pub fn begin_stage(&mut self) {
        self.window = 0;
        self.window_energy = f64::INFINITY;
        self.least_energy = f64::INFINITY;
    }

    /// Least energy error that the solver at work has found.
    pub fn least_energy(&self) -> f64 {
        self.least_energy
    }

    /// Seconds at the last record.
    pub fn seconds(&self) -> f64 {
        self.last.seconds
    }

    /// Energy error of the iterate that would be returned now.
    pub fn energy(&self) -> f64 {
        self.best.error
    }

    /// Energy error of that iterate and what round-off may add.
    pub fn best(&self) -> Judged {
        self.best
    }

    /// Impulses of that iterate.
    pub fn best_x(&self) -> &[f64] {
        &self.best_x
    }

    /// Where that iterate came from.
    pub fn best_iteration(&self) -> usize {
        self.best_iteration
    }

    /// Number of measurements.
    pub fn measurements(&self) -> usize {
        self.measurements
    }

    /// Active-set changes over the whole solve.
    pub fn set_changes(&self) -> usize {
        self.set_changes
    }

    /// The records kept.
    pub fn history(&self) -> &[Iteration] {
        &self.history.records
    }
}

/// A bounded sample of the iterations: when it is full, every second record goes and the spacing doubles, so that it
/// always covers the whole run.
#[derive(Default)]
struct History {
    records: Vec<Iteration>,
    capacity: usize,
    spacing: usize,
}

impl History {
    fn start(&mut self, capacity: usize) -> Result<()> {
        self.records.clear();
        self.capacity = capacity;
        self.spacing = 1;
        reserve(&mut self.records, capacity)
    }

    fn push(&mut self, record: Iteration) {
        if self.capacity == 0 || !record.iteration.is_multiple_of(self.spacing) {
            return;
        }
        if self.records.len() == self.capacity {
            self.spacing *= 2;
            let spacing = self.spacing;
            self.records.retain(|r| r.iteration.is_multiple_of(spacing));
            if !record.iteration.is_multiple_of(spacing) || self.records.len() == self.capacity {
                return;
            }
        }
        self.records.push(record);
    }

    fn close(&mut self, last: Iteration) {
        if self.capacity > 0 && self.records.last().is_some_and(|r| r.iteration != last.iteration) {
            self.records.truncate(self.capacity - 1);
            self.records.push(last);
        }
    }
}
