//! What happened during a solve: the best iterate, where to go on, the history.

use super::report::{sane, Iteration};
use crate::error::Result;
use crate::memory::{reserve, resize};
use crate::metrics::{Judged, Measure, Point};
use crate::settings::{Choice, Settings};

/// Keeps the best iterate and the point to go on from. What it calls energy is the error under the report's judge.
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
