//! The one iteration loop of the crate.
//!
//! [`Engine`] holds a solver and everything a solve needs from one step to the next. It counts, times, measures, keeps
//! the best iterate, calls the observer, applies the stop rules in one order (caller, tolerance, stall, time,
//! iterations) and writes the report. A solver cannot declare itself converged: the measure does.

use crate::error::{refill, Error, Result, Status};
use crate::metrics::{Measure, Point};
use crate::monitor::{Iteration, Monitor, Outcome, Report};
use crate::problem::Problem;
use crate::settings::{Choice, Settings, SolverKind};
use crate::solvers::{build, damped, Progress, Solver, State};
use crate::Budget;

/// Friction bounds move on when the error under the old ones is below this share of the tolerance.
const FROZEN_SHARE: f64 = 0.1;

/// What an observer sees of an iteration.
pub struct Observation<'a> {
    /// The record.
    pub record: Iteration,
    /// Impulses of this iterate.
    pub x: &'a [f64],
    /// Velocities, if this iterate was measured; else those of an earlier one.
    pub w: &'a [f64],
}

/// Can this kind of solver treat this problem? If not, why?
pub fn supports(kind: SolverKind, problem: &Problem) -> Result<()> {
    accepts(&*build(kind), kind, problem)
}

/// Friction cones are refused here, for all solvers that do not know them; the rest is the solver's own affair.
fn accepts(solver: &dyn Solver, kind: SolverKind, problem: &Problem) -> Result<()> {
    if problem.has_cones() && !solver.treats_cones() {
        return Err(Error::new(
            Status::Unsupported,
            format_args!("{} does not treat friction cones; prox, prox-gs and alart-curnier do", kind.name()),
        ));
    }
    solver.check(problem)
}

/// Called once per iteration; true stops the solve.
pub type Observer<'a> = &'a mut dyn FnMut(&Observation<'_>) -> bool;

/// A solver with its memory, monitor and last result. Serves one solve at a time.
pub struct Engine {
    settings: Settings,
    solver: Box<dyn Solver>,
    state: State,
    monitor: Monitor,
    /// Bounds at the iterate last measured.
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// Energy error of every row at the returned x.
    row_errors: Vec<f64>,
    scratch: Vec<f64>,
    report: Report,
}

impl Engine {
    /// A solver with checked settings.
    pub fn new(settings: Settings) -> Result<Self> {
        settings.validate()?;
        Ok(Engine {
            settings,
            solver: build(settings.solver),
            state: State::default(),
            monitor: Monitor::default(),
            lo: Vec::new(),
            hi: Vec::new(),
            row_errors: Vec::new(),
            scratch: Vec::new(),
            report: Report::empty(settings.solver),
        })
    }

    /// Change the settings; another kind of solver starts with fresh memory.
    pub fn set_settings(&mut self, settings: Settings) -> Result<()> {
        settings.validate()?;
        if settings.solver != self.settings.solver {
            self.solver = build(settings.solver);
        }
        self.settings = settings;
        Ok(())
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The last solve's report.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The last solve's history.
    pub fn history(&self) -> &[Iteration] {
        self.monitor.history()
    }

    /// The last solve's impulses.
    pub fn x(&self) -> &[f64] {
        &self.state.x
    }

    /// The last solve's velocities, `A x + b`.
    pub fn w(&self) -> &[f64] {
        &self.state.w
    }

    /// Energy error of every row of the last solve, in joules.
    pub fn row_errors(&self) -> &[f64] {
        &self.row_errors
    }

    /// Solve from `start`, or from x = clamp(0) without one. An `Err` means the call was refused; how good the answer
    /// is stands in the report. `observer` is asked after every iteration, the starting point included.
    pub fn solve(
        &mut self,
        problem: &Problem,
        start: Option<&[f64]>,
        mut observer: Option<Observer<'_>>,
    ) -> Result<&Report> {
        let budget = Budget::start(self.settings.time_limit);
        self.check(problem, start)?;
        let mut report = Report {
            friction: problem.friction().mode(),
            rows: problem.len(),
            judge: if problem.has_energy() { Measure::Energy } else { Measure::Natural },
            ..Report::empty(self.settings.solver)
        };
        report.energy_scale = self.begin(problem, start, report.judge)?;
        report.initial_energy_error = self.monitor.energy();
        let tolerance = self.tolerance(&report);
        let (outcome, iterations) = self.iterate(problem, &budget, tolerance, &mut report, &mut observer)?;
        self.monitor.close();
        self.finish(problem, &mut report)?;
        report.iterations = iterations;
        report.seconds = budget.seconds();
        // The returned x was measured afresh; only that decides on "converged".
        let judged = if report.judge == Measure::Energy { report.energy_error } else { report.natural };
        let solved = judged <= tolerance;
        report.outcome = match outcome {
            Outcome::Stopped => Outcome::Stopped,
            _ if solved => Outcome::Converged,
            Outcome::Converged => Outcome::Stalled,
            other => other,
        };
        self.report = report;
        Ok(&self.report)
    }

    /// Refuse a call that cannot be answered, before anything changes.
    fn check(&self, problem: &Problem, start: Option<&[f64]>) -> Result<()> {
        let n = problem.len();
        problem.check_ready()?;
        accepts(&*self.solver, self.settings.solver, problem)?;
        if self.settings.choice == Choice::Best(Measure::EnergyExactMass) {
            return Err(Error::new(
                Status::Unsupported,
                format_args!("the exact-mass energy cannot choose iterates, it needs a factorisation for each"),
            ));
        }
        if let Some(start) = start {
            if start.len() != n {
                return Err(Error::new(
                    Status::InvalidSize,
                    format_args!("x0 has length {}, expected {n}", start.len()),
                ));
            }
            if let Some(i) = start.iter().position(|v| !v.is_finite()) {
                return Err(Error::new(
                    Status::InvalidValue,
                    format_args!("x0[{i}] is {}, it must be finite", start[i]),
                ));
            }
        }
        Ok(())
    }

    /// Take memory, go to the starting point and measure it. Returns the error at x = clamp(0).
    fn begin(&mut self, problem: &Problem, start: Option<&[f64]>, judge: Measure) -> Result<f64> {
        let State { x, w, lo, hi, .. } = &mut self.state;
        for v in [x, w, lo, hi, &mut self.lo, &mut self.hi, &mut self.row_errors] {
            refill(v, problem.len(), 0.0)?;
        }
        self.monitor.start(problem.len(), judge, &self.settings)?;
        self.solver.reserve(problem)?;
        self.state.change = 0.0;
        self.state.set_changes = 0;
        self.settle(problem)?;
        let scale = judge.total(&point(problem, &self.state, &self.lo, &self.hi));
        if let Some(start) = start {
            self.state.x.copy_from_slice(start);
            self.settle(problem)?;
        }
        self.measure(problem, 0)?;
        Ok(if scale.is_nan() { f64::INFINITY } else { scale })
    }

    /// Move x into its bounds, and find its w and the bounds there.
    fn settle(&mut self, problem: &Problem) -> Result<()> {
        problem.clamp(&mut self.state.x);
        self.state.w_is_exact = true;
        problem.bounds_at(&self.state.x, &mut self.lo, &mut self.hi);
        problem.multiply(&self.state.x, &mut self.state.w, &mut self.scratch)
    }

    /// The loop.
    fn iterate(
        &mut self,
        problem: &Problem,
        budget: &Budget,
        tolerance: f64,
        report: &mut Report,
        observer: &mut Option<Observer<'_>>,
    ) -> Result<(Outcome, usize)> {
        let (most, interval) = (self.settings.iterations(), self.settings.interval());
        let moves_bounds = problem.has_live_bounds() && !self.solver.follows_friction(problem);
        // Between measurements a look at the clock may cost as much as a small sweep.
        let always_timed = self.settings.time_limit > 0.0 || observer.is_some();
        let mut seconds = 0.0;
        let mut progress = Progress::Continue;
        let mut iteration = 0;
        // The starting point has been.
        let mut measured = true;
        loop {
            if measured || always_timed {
                seconds = budget.seconds();
            }
            let State { change, set_changes, .. } = self.state;
            let record = self.monitor.record(iteration, measured, change, set_changes, seconds);
            if let Some(observer) = observer {
                if observer(&Observation { record, x: &self.state.x, w: &self.state.w }) {
                    if !measured {
                        self.measure(problem, iteration)?;
                    }
                    return Ok((Outcome::Stopped, iteration));
                }
            }
            if measured && self.monitor.energy() <= tolerance {
                return Ok((Outcome::Converged, iteration));
            }
            // While the driver moves bounds, the error under the moving ones says nothing about the solver's progress.
            let stalled = measured && !moves_bounds && self.monitor.is_stalled(&self.settings);
            if progress == Progress::Stalled || stalled {
                return Ok((Outcome::Stalled, iteration));
            }
            if progress == Progress::Ray {
                return Ok((Outcome::Ray, iteration));
            }
            if progress == Progress::OutOfTime || budget.spent() {
                if !measured {
                    self.measure(problem, iteration)?;
                }
                return Ok((Outcome::TimeLimit, iteration));
            }
            if iteration == most {
                return Ok((Outcome::IterationLimit, iteration));
            }
            if iteration == 0 {
                problem.bounds_at(&self.state.x, &mut self.state.lo, &mut self.state.hi);
                self.solver.start(problem, &mut self.state, &self.settings)?;
            }
            progress = self.solver.step(problem, &mut self.state, budget)?;
            iteration += usize::from(progress != Progress::OutOfTime);
            // A sweep that changed less than the tolerance may have arrived: look before the interval is over.
            let arrived = self.state.change <= tolerance;
            let due = iteration % interval == 0 || iteration == most;
            measured = due || arrived || progress != Progress::Continue;
            if measured {
                self.measure(problem, iteration)?;
            }
            if moves_bounds && measured && progress != Progress::OutOfTime {
                let solved = report.judge.total(&self.frozen_point(problem)) <= FROZEN_SHARE * tolerance;
                if (solved || progress == Progress::Stalled) && self.move_bounds(problem) {
                    report.friction_updates += 1;
                    self.solver.start(problem, &mut self.state, &self.settings)?;
                    progress = Progress::Continue;
                }
            }
        }
    }

    /// The iterate under the bounds the solver works with.
    fn frozen_point<'a>(&'a self, problem: &'a Problem) -> Point<'a> {
        point(problem, &self.state, &self.state.lo, &self.state.hi)
    }

    /// Give the solver the friction bounds at the current x. False if it had them already.
    fn move_bounds(&mut self, problem: &Problem) -> bool {
        let mut moved = false;
        for i in 0..self.state.x.len() {
            let (lo, hi) = problem.bounds_of(i, &self.state.x);
            moved |= lo != self.state.lo[i] || hi != self.state.hi[i];
            (self.state.lo[i], self.state.hi[i]) = (damped(self.state.lo[i], lo), damped(self.state.hi[i], hi));
        }
        moved
    }

    /// Measure the iterate: exact w, bounds there, best iterate.
    fn measure(&mut self, problem: &Problem, iteration: usize) -> Result<()> {
        if !self.state.w_is_exact {
            problem.multiply(&self.state.x, &mut self.state.w, &mut self.scratch)?;
            self.state.w_is_exact = true;
        }
        if problem.has_live_bounds() {
            problem.bounds_at(&self.state.x, &mut self.lo, &mut self.hi);
        }
        let Engine { state, lo, hi, monitor, settings, .. } = self;
        monitor.measured(iteration, &point(problem, state, lo, hi), settings);
        Ok(())
    }

    /// The error that counts as solved. A scale that overflowed says nothing.
    fn tolerance(&self, report: &Report) -> f64 {
        if report.judge != Measure::Energy {
            return self.settings.residual_tolerance;
        }
        let relative = self.settings.relative_tolerance * report.energy_scale;
        self.settings.energy_tolerance.max(if relative.is_finite() { relative } else { 0.0 })
    }

    /// Put the chosen iterate into `state`, inside its bounds where that costs nothing, and measure it afresh.
    fn finish(&mut self, problem: &Problem, report: &mut Report) -> Result<()> {
        report.best_iteration = self.monitor.best_iteration();
        report.measurements = self.monitor.measurements();
        report.set_changes = self.monitor.set_changes();
        self.state.x.copy_from_slice(self.monitor.best_x());
        let mut keep_as_is = self.settings.choice == Choice::Last;
        if let Choice::Best(measure) = self.settings.choice {
            let measure = if measure == Measure::Energy { report.judge } else { measure };
            self.settle(problem)?;
            // Clamping may cost, where a friction bound has moved with its normal; or overflow.
            let clamped = measure.total(&point(problem, &self.state, &self.lo, &self.hi));
            keep_as_is = clamped.is_nan() || clamped > self.monitor.best_error();
        }
        if keep_as_is {
            self.state.x.copy_from_slice(self.monitor.best_x());
            problem.multiply(&self.state.x, &mut self.state.w, &mut self.scratch)?;
            problem.bounds_at(&self.state.x, &mut self.lo, &mut self.hi);
        }
        let Engine { state, lo, hi, row_errors, .. } = self;
        let at = point(problem, state, lo, hi);
        report.set_errors(&at);
        at.rows(report.judge, row_errors);
        Ok(())
    }

    /// The rows of largest energy error in the last solve, worst first; rows without error are left out. Returns how
    /// many were written.
    pub fn worst_rows(&self, rows: &mut [i32], errors: &mut [f64]) -> usize {
        let most = rows.len().min(errors.len());
        let mut count = 0;
        for (i, &e) in self.row_errors.iter().enumerate().filter(|(_, &e)| e > 0.0) {
            // Insertion into a short sorted list.
            let mut at = count;
            while at > 0 && errors[at - 1] < e {
                at -= 1;
            }
            if at == most {
                continue;
            }
            count = (count + 1).min(most);
            rows.copy_within(at..count - 1, at + 1);
            errors.copy_within(at..count - 1, at + 1);
            (rows[at], errors[at]) = (i as i32, e);
        }
        count
    }

    /// Which solver this is.
    pub fn kind(&self) -> SolverKind {
        self.settings.solver
    }
}

/// An iterate with the bounds there, to be measured.
fn point<'a>(problem: &'a Problem, state: &'a State, lo: &'a [f64], hi: &'a [f64]) -> Point<'a> {
    Point { diagonal: problem.diagonal(), x: &state.x, w: &state.w, lo, hi, cones: problem.cones() }
}
