//! What a solve tells: outcome, records of iterations and stages, errors of the returned x.

use crate::auto::Reason;
use crate::metrics::{Judged, Measure, Point, Totals};
use crate::problem::FrictionMode;
use crate::settings::SolverKind;
use std::ffi::CStr;

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
    /// Of a stage, not of a whole solve: it made way for the next one, as its plan has it.
    HandedOver = 7,
}

impl Outcome {
    /// Every outcome, in the order of their numbers.
    pub const ALL: [Outcome; 8] = [
        Outcome::None,
        Outcome::Converged,
        Outcome::Stalled,
        Outcome::IterationLimit,
        Outcome::TimeLimit,
        Outcome::Stopped,
        Outcome::Ray,
        Outcome::HandedOver,
    ];

    /// Stable text of the outcome, for logs and tables.
    pub fn name(self) -> &'static str {
        self.c_name().to_str().unwrap_or("")
    }

    /// Stable text of the outcome for C.
    pub fn c_name(self) -> &'static CStr {
        match self {
            Outcome::None => c"none",
            Outcome::Converged => c"converged",
            Outcome::Stalled => c"stalled",
            Outcome::IterationLimit => c"iteration limit",
            Outcome::TimeLimit => c"time limit",
            Outcome::Stopped => c"stopped",
            Outcome::Ray => c"ray",
            Outcome::HandedOver => c"handed over",
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
    /// How often the loop moved coupled friction bounds, for solvers that do not by themselves.
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
