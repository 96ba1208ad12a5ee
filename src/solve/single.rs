//! The loop: one solver moves the iterate, and everything around it is counted, timed, measured and shown.

use super::iterate::{are_same, is_finite, Iterate};
use super::monitor::Monitor;
use super::report::{sane, Iteration, Outcome};
use super::stop::{Clocked, Pace, Settling, Warm};
use super::{Observation, Observer};
use crate::auto::cost::*;
use crate::auto::{Share, Stage};
use crate::error::{Error, Result, Status};
use crate::metrics::{Judged, Measure, Point};
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use crate::solvers::{Progress, Solver};
use crate::Budget;

/// What the stages of one solve share.
pub(super) struct Run<'a> {
    pub budget: Budget,
    pub tolerance: f64,
    pub observer: Option<Observer<'a>>,
    /// The solver at work.
    pub solver: SolverKind,
    /// Iterations done by all stages.
    pub iteration: usize,
    /// How often coupled friction bounds were moved.
    pub friction_updates: usize,
    /// The second at which the stage at work began.
    pub begin: f64,
}

impl Run<'_> {
    /// How many of `steps` a solver may take at once, which has done `done` since the second `begin`: one if an observer
    /// watches, and no more than surely fit into a limited time.
    fn at_once(&self, steps: usize, done: usize, begin: f64) -> usize {
        if steps <= 1 || self.observer.is_some() {
            return 1;
        }
        let Some(left) = self.budget.remaining() else { return steps };
        let each = (self.budget.seconds() - begin) / done as f64;
        // Nothing is known before the first step: that is NaN or infinite.
        ((0.5 * left / each) as usize).clamp(1, steps)
    }
}

/// What one stage knows of itself.
struct Stint<'a> {
    stage: &'a Stage,
    /// Iterations before it began, and when it must end.
    first: usize,
    most: usize,
    /// Iterations between two measurements, and those that the solver likes to do together.
    interval: usize,
    together: usize,
    /// Measurements without progress that count as a stall.
    window: usize,
    /// Are friction bounds moved for the solver?
    moves_bounds: bool,
    /// Is its friction to be tied after [`STEPS_WHEN_NEAR`]?
    ties_soon: bool,
    /// Is the solver where it should begin, and since which second?
    has_begun: bool,
    began: f64,
    warm: Option<Warm>,
    settling: Settling,
    pace: Pace,
}

/// What came of one step.
struct Step {
    progress: Progress,
    measured: bool,
    /// The iterate overflowed, and the best one stands for it.
    is_lost: bool,
}

/// One connected problem: its iterate and its monitor.
#[derive(Default)]
pub(super) struct Single {
    pub iterate: Iterate,
    pub monitor: Monitor,
    /// Does the iterate come from the caller's start, with nothing gained yet?
    is_warm: bool,
}

impl Single {
    pub fn reserve(&mut self, problem: &Problem) -> Result<()> {
        self.iterate.reserve(problem)?;
        self.monitor.reserve(problem.len())
    }

    /// Go to x = clamp(0). Returns the error there, which is the problem's own scale.
    pub fn begin(&mut self, problem: &Problem, judge: Measure, settings: &Settings) -> Result<f64> {
        self.monitor.start(problem.len(), settings)?;
        self.iterate.begin(problem, judge)?;
        match self.iterate.state.w.iter().position(|w| !w.is_finite()) {
            None => Ok(sane(judge.total(&self.iterate.point(problem)))),
            Some(i) => Err(Error::new(
                Status::InvalidValue,
                format_args!("w[{i}] overflows at x = clamp(0), with {:e} in that row", self.iterate.state.x[i]),
            )),
        }
    }

    /// Begin at the start, or at x = clamp(0) where that is better and the start not good enough. Returns the start's error.
    ///
    /// `sweeps`: the solver gains little by little from anywhere. Then a start of larger error is still the better one where
    /// it is nearer to the solution; x = clamp(0) is what is returned as long as it is the best.
    pub fn place(
        &mut self,
        problem: &Problem,
        start: Option<&[f64]>,
        sweeps: bool,
        settings: &Settings,
    ) -> Result<f64> {
        let zero = self.iterate.judged(problem)?;
        self.is_warm = false;
        let Some(start) = start else {
            self.note(problem, 0, zero, settings);
            return Ok(zero.error);
        };
        let potential = if sweeps { self.iterate.potential(problem) } else { 0.0 };
        self.iterate.go_to(problem, start)?;
        let judged = self.iterate.judged(problem)?;
        let overflows = !is_finite(&self.iterate.state.w);
        let is_worse = judged.sure > self.iterate.tolerance && judged.sure > zero.sure;
        let is_nearer = sweeps && problem.is_symmetric() && self.iterate.potential(problem) < potential;
        if overflows || is_worse {
            self.iterate.go_to_zero(problem)?;
            self.note(problem, 0, zero, settings);
        }
        if !overflows && (!is_worse || is_nearer) {
            self.is_warm = true;
            if is_worse {
                self.iterate.go_to(problem, start)?;
            }
            self.note(problem, 0, judged, settings);
            if is_worse {
                self.monitor.begin_again(&self.iterate.state.x, judged);
            }
        }
        Ok(if overflows { f64::INFINITY } else { judged.error })
    }

    /// Go to x = clamp(0), for a method to begin again.
    pub fn begin_cold(&mut self, problem: &Problem) -> Result<()> {
        self.iterate.state.is_near = false;
        self.iterate.go_to_zero(problem)?;
        let judged = self.iterate.judged(problem)?;
        self.iterate.state.energy = judged.error;
        self.monitor.begin_again(&self.iterate.state.x, judged);
        self.iterate.renew_bounds(problem);
        Ok(())
    }

    /// Go back to the best iterate on the way, for another solver to go on from there.
    pub fn return_to_best(&mut self, problem: &Problem) -> Result<()> {
        self.monitor.begin_stage();
        self.go_to_best(problem)
    }

    fn go_to_best(&mut self, problem: &Problem) -> Result<()> {
        let (x, judged) = self.monitor.way();
        self.iterate.state.x.copy_from_slice(x);
        self.iterate.state.energy = judged.error;
        self.iterate.settle(problem)
    }

    /// Is the start nearly good enough, and would pivots hesitate? They do where friction bounds move, and where a row is so
    /// near to a bound, or at one with so little velocity, that the error at hand may decide on its place.
    pub fn asks_for_sweeps(&self, problem: &Problem, tolerance: f64) -> bool {
        let error = self.monitor.way().1.sure;
        let Point { diagonal, x, w, lo, hi, .. } = self.iterate.point(problem);
        let on_the_fence = |i: usize| {
            let (x, w, a, lo, hi) = (x[i], w[i], diagonal[i], lo[i], hi[i]);
            let slack = (x - lo).min(hi - x);
            let moving = slack <= 0.0 && lo < hi;
            (slack > 0.0 && 0.5 * a * slack * slack <= error) || (moving && 0.5 * w * w <= error * a)
        };
        error <= WITHIN_REACH * tolerance
            && (problem.has_live_bounds() || (0..self.iterate.state.x.len()).any(on_the_fence))
    }

    /// The loop: one solver, from the iterate it finds, until a rule ends it.
    pub fn run(
        &mut self,
        solver: &mut dyn Solver,
        stage: &Stage,
        problem: &Problem,
        run: &mut Run<'_>,
        settings: &Settings,
    ) -> Result<Outcome> {
        let mut stint = self.stint(solver, stage, problem, run, settings);
        loop {
            if run.budget.spent() {
                return Ok(Outcome::TimeLimit);
            }
            self.prepare(solver, &mut stint, problem, run, settings)?;
            let mut step = self.step(solver, &stint, problem, run, settings)?;
            if stint.moves_bounds && step.measured {
                self.follow_friction(solver, &mut step, problem, run, settings)?;
            }
            if let Some(outcome) = self.close(problem, run, step.measured, settings)? {
                return Ok(outcome);
            }
            if self.has_lost_its_way(&mut stint, &step) {
                self.begin_cold(problem)?;
                (stint.warm, stint.has_begun) = (None, false);
                stint.settling = Settling::new(self.monitor.way().1.sure);
            } else if let Some(outcome) = self.verdict(&mut stint, &step, problem, run, settings) {
                return Ok(outcome);
            }
        }
    }

    /// Read the rules of a stage.
    fn stint<'a>(
        &mut self,
        solver: &dyn Solver,
        stage: &'a Stage,
        problem: &Problem,
        run: &Run<'_>,
        settings: &Settings,
    ) -> Stint<'a> {
        let rules = &stage.rules;
        let error = self.monitor.way().1.sure;
        let bounds_move = problem.has_live_bounds();
        let interval = settings.interval(stage.solver);
        let is_trial = self.is_warm && !stage.solver.sweeps();
        let is_dear = matches!(stage.solver, SolverKind::ActiveSet | SolverKind::AlartCurnier);
        let asked = settings.stall_window(stage.solver);
        let window = if rules.window > 0 && settings.stall_window == 0 { rules.window } else { asked };
        self.is_warm &= rules.touches_up;
        self.iterate.state.is_near = is_trial;
        self.iterate.state.patient = rules.is_patient;
        self.iterate.renew_bounds(problem);
        Stint {
            stage,
            first: run.iteration,
            most: settings.iterations(SolverKind::Auto).min(run.iteration.saturating_add(stage.iterations)),
            interval: if rules.touches_up { 1 } else { interval },
            together: solver.together(problem),
            window,
            moves_bounds: bounds_move && !solver.follows_friction(problem),
            ties_soon: rules.settles && bounds_move && error <= NEAR * run.tolerance,
            has_begun: false,
            began: 0.0,
            warm: is_trial.then(|| Warm::new(is_dear, error)),
            settling: Settling::new(error),
            pace: Pace(error),
        }
    }

    /// Let the solver begin where it is not at work yet, or where it is to begin again.
    fn prepare(
        &mut self,
        solver: &mut dyn Solver,
        stint: &mut Stint<'_>,
        problem: &Problem,
        run: &Run<'_>,
        settings: &Settings,
    ) -> Result<()> {
        if stint.ties_soon && run.iteration == stint.first + STEPS_WHEN_NEAR {
            self.iterate.state.patient = true;
            self.go_to_best(problem)?;
            self.iterate.renew_bounds(problem);
            stint.settling.restart();
            stint.has_begun = false;
        }
        if !stint.has_begun {
            solver.start(problem, &mut self.iterate.state, settings)?;
            stint.has_begun = true;
            if stint.stage.rules.share == Share::BeforePivots || stint.together > 1 {
                stint.began = run.budget.seconds();
            }
        }
        Ok(())
    }

    /// One step, or several that nobody looks between, counted and measured where that is due.
    fn step(
        &mut self,
        solver: &mut dyn Solver,
        stint: &Stint<'_>,
        problem: &Problem,
        run: &mut Run<'_>,
        settings: &Settings,
    ) -> Result<Step> {
        let Stint { first, most, interval, together, .. } = *stint;
        let until = [interval, together].into_iter().fold(most, |m, k| m.min((run.iteration / k + 1) * k));
        self.iterate.state.at_once =
            run.at_once(until.saturating_sub(run.iteration), run.iteration - first, stint.began);
        let mut progress = solver.step(problem, &mut self.iterate.state, &run.budget)?;
        self.record_earlier(run);
        run.iteration += usize::from(progress != Progress::OutOfTime);
        // A sweep that changed less than the tolerance may have arrived: look before the interval is over. Where
        // several are taken together, do so after the last of them, even if they are taken one by one.
        let looks = run.iteration >= until;
        if progress == Progress::Stalled && !looks {
            progress = Progress::Continue;
        }
        let arrived = looks && self.iterate.state.change <= run.tolerance;
        let is_first_look = stint.stage.rules.share == Share::BeforePivots && run.iteration == first + FIRST_LOOK;
        let due = run.iteration.is_multiple_of(interval) || run.iteration == most || is_first_look;
        // Out of time before the interval is over: this iterate is the last, so measure it.
        let measured = due || arrived || progress != Progress::Continue || run.budget.spent();
        // An iterate that is seen or compared is finite. After one that is not the solver is lost: the best stands for it.
        let is_lost = if measured {
            !self.measure(problem, run.iteration, settings)?
        } else {
            run.observer.is_some() && !is_finite(&self.iterate.state.x)
        };
        if is_lost {
            self.go_to_best(problem)?;
            (self.iterate.state.change, self.iterate.state.set_changes) = (0.0, 0);
            return Ok(Step { progress: Progress::Stalled, measured: false, is_lost });
        }
        Ok(Step { progress, measured, is_lost })
    }

    /// Move friction bounds on for a solver that has solved for the old ones.
    fn follow_friction(
        &mut self,
        solver: &mut dyn Solver,
        step: &mut Step,
        problem: &Problem,
        run: &mut Run<'_>,
        settings: &Settings,
    ) -> Result<()> {
        if step.progress == Progress::OutOfTime {
            return Ok(());
        }
        if !self.iterate.state.w_is_exact {
            self.iterate.find_w(problem)?;
        }
        let error = self.iterate.judge.total(&self.iterate.frozen_point(problem));
        let has_solved = error <= FROZEN_SHARE * run.tolerance || step.progress == Progress::Stalled;
        if has_solved && run.friction_updates < BOUND_MOVES && self.iterate.move_bounds(problem) {
            run.friction_updates += 1;
            solver.start(problem, &mut self.iterate.state, settings)?;
            step.progress = Progress::Continue;
        }
        Ok(())
    }

    /// Has a start that is not the solver's own led nowhere?
    fn has_lost_its_way(&self, stint: &mut Stint<'_>, step: &Step) -> bool {
        step.progress != Progress::OutOfTime
            && stint.warm.as_mut().is_some_and(|warm| step.is_lost || warm.leads_nowhere(self.monitor.least_energy()))
    }

    /// Does a rule end the stage after this step?
    fn verdict(
        &self,
        stint: &mut Stint<'_>,
        step: &Step,
        problem: &Problem,
        run: &Run<'_>,
        settings: &Settings,
    ) -> Option<Outcome> {
        match step.progress {
            Progress::Stalled => return Some(Outcome::Stalled),
            Progress::Ray => return Some(Outcome::Ray),
            Progress::GivesWay => return Some(Outcome::HandedOver),
            Progress::OutOfTime => return Some(Outcome::TimeLimit),
            Progress::Continue => {}
        }
        // While bounds are moved, the error under the moving ones says nothing about the solver's progress.
        if step.measured && !stint.moves_bounds && self.monitor.is_stalled(stint.window) {
            return Some(Outcome::Stalled);
        }
        if run.iteration >= stint.most {
            // The limits of a plan are its own; a named solver's stand in the header.
            let is_callers =
                settings.solver != SolverKind::Auto || run.iteration >= settings.iterations(SolverKind::Auto);
            return Some(if is_callers { Outcome::IterationLimit } else { Outcome::HandedOver });
        }
        let rules = &stint.stage.rules;
        let hands_over = (step.measured && settings.time_limit > 0.0 && self.is_over(stint, problem, run, settings))
            || (rules.settles && self.does_not_settle(stint, problem, settings))
            || (rules.touches_up
                && stint.pace.is_too_slow(self.monitor.way().1.sure, stint.most - run.iteration, run.tolerance));
        hands_over.then_some(Outcome::HandedOver)
    }

    /// Should the stage leave the rest of a limited time to others?
    fn is_over(&self, stint: &Stint<'_>, problem: &Problem, run: &Run<'_>, settings: &Settings) -> bool {
        let clocked = Clocked {
            now: run.budget.seconds(),
            limit: settings.time_limit,
            began: stint.began,
            sweeps: run.iteration - stint.first,
            rows: problem.len(),
            bounds_move: problem.has_live_bounds(),
            has_gained: self.monitor.best_iteration() > stint.first,
        };
        clocked.is_over(stint.stage.rules.share)
    }

    /// Will pivots not settle soon?
    fn does_not_settle(&self, stint: &mut Stint<'_>, problem: &Problem, settings: &Settings) -> bool {
        if problem.has_live_bounds() {
            // Within a time limit only sweeps would come next.
            stint.settling.rests(self.monitor.least_energy()) && settings.time_limit <= 0.0
        } else {
            stint.settling.cycles(self.iterate.state.set_changes, problem.len())
        }
    }

    /// Close an iteration: record it, show it to the observer, compare with the tolerance.
    pub fn close(
        &mut self,
        problem: &Problem,
        run: &mut Run<'_>,
        measured: bool,
        settings: &Settings,
    ) -> Result<Option<Outcome>> {
        let converged = measured && self.monitor.best().sure <= run.tolerance;
        // Between measurements a look at the clock may cost as much as a small sweep; without a history nothing needs it.
        let timed = (measured && settings.history_capacity > 0) || settings.time_limit > 0.0 || run.observer.is_some();
        let seconds = if timed { run.budget.seconds() } else { self.monitor.seconds() };
        let (change, set_changes) = (sane(self.iterate.state.change), self.iterate.state.set_changes);
        let record = self.record(run, Iteration { measured, change, set_changes, seconds, ..Iteration::default() });
        if let Some(observer) = &mut run.observer {
            let inside = self
                .iterate
                .is_outside
                .then_some((&self.iterate.inside[..], &self.iterate.inside_w[..]))
                .filter(|_| measured);
            let (x, w) = inside.unwrap_or((&self.iterate.state.x, &self.iterate.state.w));
            if observer(&Observation { record, x, w }) {
                if !measured {
                    self.measure(problem, run.iteration, settings)?;
                }
                return Ok(Some(Outcome::Stopped));
            }
        }
        Ok(converged.then_some(Outcome::Converged))
    }

    fn record(&mut self, run: &Run<'_>, record: Iteration) -> Iteration {
        self.monitor.record(Iteration { iteration: run.iteration, solver: run.solver, ..record })
    }

    /// Close the iterations that were done at once with the last one, which nobody saw.
    fn record_earlier(&mut self, run: &mut Run<'_>) {
        let seconds = self.monitor.seconds();
        for k in 0..self.iterate.state.earlier.len() {
            let (change, set_changes) = self.iterate.state.earlier[k];
            run.iteration += 1;
            self.record(run, Iteration { change, set_changes, seconds, ..Iteration::default() });
        }
        self.iterate.state.earlier.clear();
    }

    /// Measure the iterate, moved inside its bounds if it is not: exact w, bounds there, best iterate. False if it
    /// overflowed.
    fn measure(&mut self, problem: &Problem, iteration: usize, settings: &Settings) -> Result<bool> {
        if !self.iterate.find_measured(problem)? {
            return Ok(false);
        }
        let judged = self.iterate.judged(problem)?;
        self.note(problem, iteration, judged, settings);
        Ok(true)
    }

    /// Take note of the measured point's error.
    fn note(&mut self, problem: &Problem, iteration: usize, judged: Judged, settings: &Settings) {
        self.iterate.state.energy = judged.error;
        self.monitor.measured(iteration, &self.iterate.point(problem), judged, settings);
    }

    /// Put the best iterate into place, with its w and the bounds there.
    pub fn finish(&mut self, problem: &Problem) -> Result<()> {
        self.iterate.step_inside();
        // Most often the last iterate is the best, and its w is there.
        let state = &mut self.iterate.state;
        if !(state.w_is_exact && are_same(&state.x, self.monitor.best_x())) {
            state.x.copy_from_slice(self.monitor.best_x());
            self.iterate.find_w(problem)?;
        }
        self.iterate.find_bounds(problem);
        Ok(())
    }
}
