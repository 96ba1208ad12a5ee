//! One solve: stages after another, on the whole problem or island by island.
//!
//! - [`Engine`] holds solvers and everything a solve needs from one step to the next, runs the stages of a [`Plan`], and
//!   writes the report.
//! - `single.rs` is the loop of one stage: it counts, times, measures, keeps the best iterate and calls the observer. A solver
//!   cannot declare itself converged: the measure does.
//! - `iterate.rs` has x, w and the bounds there; `stop.rs` the rules by which a stage ends; `monitor.rs` the best iterate and the
//!   history; `islands.rs` the schedule of islands; `report.rs` what the caller reads.

mod islands;
mod iterate;
mod monitor;
mod report;
mod single;
mod stop;

pub use islands::Executor;
pub use report::{Iteration, Outcome, Report, StageReport};

use crate::auto::cost::{AGREE, LOOK_SHARE};
use crate::auto::{Plan, Work, MAX_STAGES};
use crate::error::{Error, Result, Status};
use crate::memory::{reserve, resize};
use crate::metrics::Measure;
use crate::problem::{Extent, Problem};
use crate::settings::{Choice, Settings, SolverKind};
use crate::solvers::{build, Solver};
use crate::Budget;
use islands::Split;
use single::{Run, Single};

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
    let plan = Plan::new(problem, &Settings { solver: kind, ..Settings::default() }, false);
    let mut solvers = plan.stages().iter().filter_map(|stage| Some((build(stage.solver)?, stage.solver)));
    solvers.try_for_each(|(solver, kind)| accepts(&*solver, kind, problem))
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

/// A solver, and the largest problem that it took memory for.
struct Slot {
    kind: SolverKind,
    solver: Box<dyn Solver>,
    room: Extent,
}

/// Solvers with their memory, a monitor and the last result. Serves one solve at a time.
pub struct Engine {
    settings: Settings,
    /// The solvers used so far.
    solvers: Vec<Slot>,
    split: Split,
    /// Does it only see islands?
    is_worker: bool,
    /// These solvers have memory for problems of this extent.
    reserved: (u64, Extent),
    single: Single,
    /// Energy error of every row at the returned x.
    row_errors: Vec<f64>,
    stages: Vec<StageReport>,
    report: Report,
}

impl Engine {
    /// A solver with checked settings.
    pub fn new(settings: Settings) -> Result<Self> {
        settings.validate()?;
        Ok(Engine {
            settings,
            solvers: Vec::new(),
            split: Split::default(),
            is_worker: false,
            reserved: (0, Extent::default()),
            single: Single::default(),
            row_errors: Vec::new(),
            stages: Vec::new(),
            report: Report::empty(settings.solver),
        })
    }

    /// Change the settings; another kind of solver starts with fresh memory.
    pub fn set_settings(&mut self, settings: Settings) -> Result<()> {
        settings.validate()?;
        if settings.solver != self.settings.solver {
            self.solvers.clear();
            self.reserved.0 = 0;
        }
        self.settings = settings;
        Ok(())
    }

    /// Let islands be solved on threads of the caller's, `settings.threads` tasks at a time; None: on threads made for it.
    pub fn set_executor(&mut self, executor: Option<Box<Executor>>) {
        self.split.executor = executor;
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The last solve's report.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// What each stage of the last solve did; empty when the start was good enough.
    pub fn stages(&self) -> &[StageReport] {
        &self.stages
    }

    /// The last solve's history.
    pub fn history(&self) -> &[Iteration] {
        self.single.monitor.history()
    }

    /// The last solve's impulses.
    pub fn x(&self) -> &[f64] {
        &self.single.iterate.state.x
    }

    /// The last solve's velocities, `A x + b`.
    pub fn w(&self) -> &[f64] {
        &self.single.iterate.state.w
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
        observer: Option<Observer<'_>>,
    ) -> Result<&Report> {
        let is_timed = !self.is_worker || self.settings.time_limit > 0.0;
        let budget = if is_timed { Budget::start(self.settings.time_limit) } else { Budget::untimed() };
        let mut plan = Plan::new(problem, &self.settings, self.is_worker);
        self.check(problem, &plan, start)?;
        let judge = if problem.has_energy() { Measure::Energy } else { Measure::Natural };
        self.reserve(problem, &plan)?;
        let scale = self.single.begin(problem, judge, &self.settings)?;
        let tolerance = self.tolerance(judge, scale);
        self.single.iterate.tolerance = tolerance;
        let start = start.filter(|_| scale > self.floor(judge));
        let first = plan.stages().iter().find(|stage| !stage.rules.touches_up);
        let sweeps = first.is_some_and(|stage| stage.solver.sweeps());
        let initial = self.single.place(problem, start, sweeps, &self.settings)?;
        self.report = Report {
            friction: problem.friction().mode(),
            rows: problem.len(),
            judge,
            energy_scale: scale,
            initial_energy_error: initial,
            ..Report::empty(self.settings.solver)
        };
        // Nobody asks for the islands of a start that is good enough; and where little of the time is left for sweeps, looking
        // for them would take that of one or two.
        let has_time = budget.remaining().is_none_or(|left| left >= LOOK_SHARE * self.settings.time_limit);
        if self.single.monitor.best().sure > tolerance && has_time && self.may_split(problem) {
            self.report.islands = self.split.find(problem, self.settings.threads)?;
            if self.report.islands > 1 {
                plan = Plan::islands(problem, &self.settings);
            }
        }
        if !has_time {
            plan.sweep_plainly();
        }
        let mut run = Run {
            budget,
            tolerance,
            observer,
            solver: self.settings.solver,
            iteration: 0,
            friction_updates: 0,
            begin: 0.0,
        };
        let outcome = self.iterate(problem, &plan, &mut run)?;
        self.single.monitor.close();
        self.finish(problem)?;
        let seconds = run.budget.seconds();
        self.end_stage(&run, seconds);
        let report = &mut self.report;
        report.iterations = run.iteration;
        report.friction_updates = run.friction_updates;
        report.seconds = seconds;
        // Only the returned x and what round-off may hide of its error decide on "converged".
        let solved = self.single.monitor.best().sure <= tolerance;
        report.outcome = match outcome {
            Outcome::Stopped => Outcome::Stopped,
            _ if solved => Outcome::Converged,
            // The last stage that handed over had nobody to hand over to.
            Outcome::Converged | Outcome::HandedOver => Outcome::Stalled,
            other => other,
        };
        Ok(report)
    }

    /// Freeze friction as ODE's and Bullet's Dantzig solvers do: solve with every friction row at zero, then evaluate the
    /// bounds at the normal impulses found. The problem's friction mode must be frozen. On an error it stays as it was.
    pub fn freeze_friction(
        &mut self,
        problem: &mut Problem,
        start: Option<&[f64]>,
        observer: Option<Observer<'_>>,
    ) -> Result<&Report> {
        problem.release_friction()?;
        if let Err(error) = self.solve(problem, start, observer) {
            problem.restore_friction();
            return Err(error);
        }
        problem.set_frozen_normals(&self.single.iterate.state.x)?;
        Ok(&self.report)
    }

    /// Refuse a call that cannot be answered, before anything changes but the list of solvers.
    fn check(&mut self, problem: &Problem, plan: &Plan, start: Option<&[f64]>) -> Result<()> {
        let n = problem.len();
        problem.check_ready()?;
        // A plan of auto's is made of solvers that accept the problem.
        if self.settings.solver != SolverKind::Auto {
            for stage in plan.stages() {
                accepts(&*self.slot(stage.solver)?.solver, stage.solver, problem)?;
            }
        }
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
            // One question for all; who fails it is looked for afterwards.
            if !start.iter().fold(true, |all, v| all & v.is_finite()) {
                let i = start.iter().position(|v| !v.is_finite()).unwrap_or(0);
                return Err(Error::new(
                    Status::InvalidValue,
                    format_args!("x0[{i}] is {}, it must be finite", start[i]),
                ));
            }
        }
        Ok(())
    }

    /// The solver of this kind, built when it is first asked for.
    fn slot(&mut self, kind: SolverKind) -> Result<&mut Slot> {
        let at = match self.solvers.iter().position(|slot| slot.kind == kind) {
            Some(at) => at,
            None => {
                let solver = build(kind).ok_or_else(|| {
                    Error::new(Status::Internal, format_args!("{} is no stage of a plan", kind.name()))
                })?;
                reserve(&mut self.solvers, MAX_STAGES + 2)?;
                self.solvers.push(Slot { kind, solver, room: Extent::default() });
                self.solvers.len() - 1
            }
        };
        Ok(&mut self.solvers[at])
    }

    /// Take all memory that the plan may need, so that a later, smaller problem finds it.
    fn reserve(&mut self, problem: &Problem, plan: &Plan) -> Result<()> {
        let extent = problem.extent();
        // Asked once for all, which is the rule from the second step on.
        let kinds = plan.solvers().fold(0, |kinds, kind| kinds | 1u64 << (kind as u32 % u64::BITS));
        if self.reserved.0 & kinds != kinds || !extent.fits(&self.reserved.1) {
            for kind in plan.solvers() {
                let slot = self.slot(kind)?;
                if !extent.fits(&slot.room) {
                    slot.solver.reserve(problem)?;
                    slot.room = extent;
                }
            }
            self.reserved = (kinds, extent);
        }
        if self.may_split(problem) {
            self.split.reserve(problem)?;
        }
        resize(&mut self.row_errors, problem.len(), 0.0)?;
        self.stages.clear();
        reserve(&mut self.stages, MAX_STAGES)
    }

    /// May it pay to look for islands?
    fn may_split(&self, problem: &Problem) -> bool {
        !self.is_worker && Plan::may_split(problem, &self.settings)
    }

    /// Take the memory for parts of a problem, but for the solvers'.
    fn reserve_rows(&mut self, problem: &Problem) -> Result<()> {
        reserve(&mut self.row_errors, problem.len())?;
        reserve(&mut self.stages, MAX_STAGES)?;
        self.single.reserve(problem)
    }

    /// Stage by stage, each from the best iterate so far, until one meets the tolerance.
    fn iterate(&mut self, problem: &Problem, plan: &Plan, run: &mut Run<'_>) -> Result<Outcome> {
        if let Some(outcome) = self.single.close(problem, run, true, &self.settings)? {
            return Ok(outcome);
        }
        let mut last = Outcome::None;
        for stage in plan.stages() {
            if stage.rules.touches_up && !self.single.asks_for_sweeps(problem, run.tolerance) {
                continue;
            }
            let iteration = run.iteration;
            if self.report.stages > 0 {
                let now = run.budget.seconds();
                self.end_stage(run, now);
                run.begin = now;
                self.single.return_to_best(problem)?;
                if stage.begins_cold {
                    self.single.begin_cold(problem)?;
                }
            }
            let before = self.single.monitor.way().1.sure;
            run.solver = stage.solver;
            let outcome = match stage.work {
                Work::WorstIslands => self.single.run(&mut self.split.sweeps(), stage, problem, run, &self.settings)?,
                Work::Islands => {
                    self.split.swap_solvers(&mut self.solvers, &mut self.reserved);
                    let outcome = self.single.run(&mut self.split, stage, problem, run, &self.settings);
                    self.split.swap_solvers(&mut self.solvers, &mut self.reserved);
                    outcome?
                }
                Work::Whole => {
                    let Some(slot) = self.solvers.iter_mut().find(|slot| slot.kind == stage.solver) else { continue };
                    self.single.run(slot.solver.as_mut(), stage, problem, run, &self.settings)?
                }
            };
            self.stages.push(StageReport {
                solver: stage.solver,
                reason: stage.reason,
                outcome,
                iterations: run.iteration - iteration,
                seconds: 0.0,
                initial_energy_error: before,
                energy_error: self.single.monitor.least_energy(),
            });
            self.report.stages += 1;
            if self.single.monitor.best_iteration() > iteration {
                self.report.best_solver = stage.solver;
            }
            let spent = run.iteration >= self.settings.iterations(SolverKind::Auto);
            if spent || matches!(outcome, Outcome::Converged | Outcome::Stopped | Outcome::TimeLimit) {
                return Ok(outcome);
            }
            // Two methods that rest at the same error have found the least there is.
            let found = self.single.monitor.least_energy();
            if outcome == Outcome::Stalled && last == Outcome::Stalled && (found - before).abs() <= AGREE * before {
                break;
            }
            // A ray says more than a later stage's stall.
            if last != Outcome::Ray {
                last = outcome;
            }
        }
        Ok(last)
    }

    /// Note when the last stage ended: where the next begins, or the solve ends, so that a solve of one stage need not look
    /// at the clock for it.
    fn end_stage(&mut self, run: &Run<'_>, now: f64) {
        if let Some(stage) = self.stages.last_mut() {
            stage.seconds = now - run.begin;
        }
    }

    /// The error that counts as solved, whatever the problem's scale.
    fn floor(&self, judge: Measure) -> f64 {
        if judge == Measure::Energy {
            self.settings.energy_tolerance
        } else {
            self.settings.residual_tolerance
        }
    }

    /// The error that counts as solved. A scale that overflowed says nothing.
    fn tolerance(&self, judge: Measure, scale: f64) -> f64 {
        let relative = self.settings.relative_tolerance * scale;
        let scaled = judge == Measure::Energy && relative.is_finite();
        self.floor(judge).max(if scaled { relative } else { 0.0 })
    }

    /// Put the chosen iterate into place and report its errors.
    fn finish(&mut self, problem: &Problem) -> Result<()> {
        let Engine { single, report, row_errors, .. } = self;
        report.best_iteration = single.monitor.best_iteration();
        report.measurements = single.monitor.measurements();
        report.set_changes = single.monitor.set_changes();
        single.finish(problem)?;
        let best = single.monitor.best();
        report.round_off = best.round_off(report.judge);
        if self.is_worker {
            // The whole is measured afresh when all islands are done.
            report.set_judged_error(best);
        } else {
            report.set_errors(&single.iterate.point(problem), row_errors);
        }
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
