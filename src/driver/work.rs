//! The loop itself: one solver moves the iterate, and everything around it is counted, timed, measured and shown.

use super::{Observation, Observer};
use crate::error::{Error, Result, Status};
use crate::memory::{reserve, resize};
use crate::metrics::{cheap_root, root_of, Judged, Measure, Point};
use crate::monitor::{sane, Iteration, Monitor, Outcome};
use crate::plan::{Reason, Stage};
use crate::problem::{are_finite, Problem};
use crate::settings::{Settings, SolverKind};
use crate::solvers::{cost_of_pivots, damped, Progress, Solver, State, TOGETHER};
use crate::Budget;

/// Friction bounds move on when the error under the old ones is below this share of the tolerance.
const FROZEN_SHARE: f64 = 0.1;
/// Times that friction bounds are moved for a solver that does not follow them: those that settle do so in some ten.
const BOUND_MOVES: usize = 200;
/// Share of a limited time for what comes first because of the limit, where nobody knows what the rest will cost.
const FIRST_SHARE: f64 = 0.25;
/// Sweeps after which it is asked for the first time whether pivots fit into the time left.
const FIRST_LOOK: usize = 8;
/// If they do, sweeps still come first for this part of what pivots would cost: those that fail leave something behind.
const FIRST_PART: f64 = 0.125;
/// When so much of a limited time has gone, pivots that have found nothing better make way.
const VAIN_SHARE: f64 = 0.5;

/// Pivots that settle change at most this share of the rows of the step before, or few of them all.
const FEWER: f64 = 0.5;
const FEW: f64 = 1.0 / 32.0;

/// Where friction bounds move, pivots that settle halve the error within so many steps.
const PATIENCE: usize = 8;

/// Pivots with tied friction rest for long, while impulses drift between redundant contacts, and then go on.
const LONG_WINDOW: usize = 1000;

/// Where friction bounds move over known bodies and the error is at most so many times what it should be, pivots that have not
/// arrived after the first few become patient: they need not find the way, and where contacts are redundant lose it.
const NEAR: f64 = 1e6;
const FIRST_FEW: usize = 3;

/// A warm method should leave at most this share of the error, again and again.
const GAIN: f64 = 0.25;
/// Steps that a warm method has for it, and one whose step is as dear as all of a cold solve.
const WARM_STEPS: usize = 10;
const WARM_STEPS_OF_FEW: usize = 1;

/// A start is nearly good enough when its error is at most so many times what it should be.
const WITHIN_REACH: f64 = 30.0;

/// How pivots get on.
struct Pivots {
    /// Rows that the step before changed.
    changes: usize,
    /// The least error when it was last halved, and steps since.
    error: f64,
    steps: usize,
}

/// How a method gets on from a start that is not its own.
struct Warm {
    /// The least error when it last fell to [`GAIN`], and steps since.
    error: f64,
    steps: usize,
    patience: usize,
}

impl Warm {
    fn new(solver: SolverKind, error: f64) -> Self {
        let few = matches!(solver, SolverKind::ActiveSet | SolverKind::AlartCurnier);
        Warm { error, steps: 0, patience: if few { WARM_STEPS_OF_FEW } else { WARM_STEPS } }
    }

    /// Count a step; has the start led nowhere?
    fn leads_nowhere(&mut self, least: f64) -> bool {
        self.steps += 1;
        if least <= GAIN * self.error {
            (self.error, self.steps) = (least, 0);
        }
        self.steps >= self.patience
    }
}

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
    /// How many of `steps` a solver may take at once, which has done so many since the second `begin`: one if somebody
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

/// The iterate and the monitor.
pub(super) struct Work {
    pub state: State,
    /// Where bounds move: those at the iterate that was measured last. Elsewhere the state's say it all.
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// Where the solver's iterate lies outside the bounds that hold there: the nearest point inside and its w, which are what
    /// is measured, shown and returned.
    inside: Vec<f64>,
    inside_w: Vec<f64>,
    is_outside: bool,
    /// Bounds of the round-off in w, where they are asked for.
    delta: Vec<f64>,
    judge: Measure,
    /// Does the iterate come from the caller's start, with nothing gained yet?
    is_warm: bool,
    /// The error that counts as solved.
    pub tolerance: f64,
    pub monitor: Monitor,
    pub scratch: Vec<f64>,
}

impl Default for Work {
    fn default() -> Self {
        Work {
            state: State::default(),
            lo: Vec::new(),
            hi: Vec::new(),
            inside: Vec::new(),
            inside_w: Vec::new(),
            is_outside: false,
            delta: Vec::new(),
            judge: Measure::Energy,
            is_warm: false,
            tolerance: 0.0,
            monitor: Monitor::default(),
            scratch: Vec::new(),
        }
    }
}

impl Work {
    pub fn reserve(&mut self, problem: &Problem) -> Result<()> {
        for v in self.rows() {
            reserve(v, problem.len())?;
        }
        reserve(&mut self.scratch, problem.round_off_room())?;
        reserve(&mut self.state.earlier, TOGETHER)?;
        self.monitor.reserve(problem.len())
    }

    /// Every buffer with one number per row, but for the monitor's.
    fn rows(&mut self) -> [&mut Vec<f64>; 9] {
        let Work { state: State { x, w, lo, hi, .. }, lo: lo_there, hi: hi_there, inside, inside_w, delta, .. } = self;
        [x, w, lo, hi, lo_there, hi_there, inside, inside_w, delta]
    }

    /// Go to x = clamp(0). Returns the error there, which is the problem's own scale.
    pub fn begin(&mut self, problem: &Problem, judge: Measure, settings: &Settings) -> Result<f64> {
        for v in self.rows() {
            resize(v, problem.len(), 0.0)?;
        }
        self.state.x.fill(0.0);
        if !problem.has_live_bounds() {
            problem.bounds_at(&self.state.x, &mut self.state.lo, &mut self.state.hi);
        }
        reserve(&mut self.scratch, problem.round_off_room())?;
        reserve(&mut self.state.earlier, TOGETHER)?;
        self.monitor.start(problem.len(), settings)?;
        self.judge = judge;
        self.state.change = 0.0;
        self.state.set_changes = 0;
        self.settle(problem)?;
        match self.state.w.iter().position(|w| !w.is_finite()) {
            None => Ok(sane(judge.total(&self.point(problem)))),
            Some(i) => Err(Error::new(
                Status::InvalidValue,
                format_args!("w[{i}] overflows at x = clamp(0), with {:e} in that row", self.state.x[i]),
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
        let zero = self.judged(problem)?;
        self.is_warm = false;
        let Some(start) = start else {
            self.note(problem, 0, zero, settings);
            return Ok(zero.error);
        };
        let potential = self.potential(problem);
        self.state.x.copy_from_slice(start);
        self.settle(problem)?;
        let judged = self.judged(problem)?;
        let overflows = !is_finite(&self.state.w);
        let is_worse = judged.sure > self.tolerance && judged.sure > zero.sure;
        let is_nearer = sweeps && problem.is_symmetric() && self.potential(problem) < potential;
        if overflows || is_worse {
            self.state.x.fill(0.0);
            self.settle(problem)?;
            self.note(problem, 0, zero, settings);
        }
        if !overflows && (!is_worse || is_nearer) {
            self.is_warm = true;
            if is_worse {
                self.state.x.copy_from_slice(start);
                self.settle(problem)?;
            }
            self.note(problem, 0, judged, settings);
            if is_worse {
                self.monitor.begin_again(&self.state.x, judged);
            }
        }
        Ok(if overflows { f64::INFINITY } else { judged.error })
    }

    /// `½ xᵀA x + bᵀx` in joules, which a solution minimises over the impulses that its bounds allow, where A is symmetric.
    fn potential(&self, problem: &Problem) -> f64 {
        let State { x, w, .. } = &self.state;
        0.5 * problem.b().iter().zip(w).zip(x).map(|((b, w), x)| (b + w) * x).sum::<f64>()
    }

    /// Go to x = clamp(0), for a method to begin again.
    fn begin_cold(&mut self, problem: &Problem) -> Result<()> {
        self.state.is_near = false;
        self.state.x.fill(0.0);
        self.settle(problem)?;
        let judged = self.judged(problem)?;
        self.state.energy = judged.error;
        self.monitor.begin_again(&self.state.x, judged);
        if problem.has_live_bounds() {
            problem.bounds_at(&self.state.x, &mut self.state.lo, &mut self.state.hi);
        }
        Ok(())
    }

    /// Go back to the best iterate on the way, for another solver to go on from there.
    pub fn return_to_best(&mut self, problem: &Problem) -> Result<()> {
        self.monitor.begin_stage();
        self.go_to_best(problem)
    }

    fn go_to_best(&mut self, problem: &Problem) -> Result<()> {
        let (x, judged) = self.monitor.way();
        self.state.x.copy_from_slice(x);
        self.state.energy = judged.error;
        self.settle(problem)
    }

    /// Is the start nearly good enough, and would pivots hesitate? They do where friction bounds move, and where a row is so
    /// near to a bound, or at one with so little velocity, that the error at hand may decide on its place.
    pub fn asks_for_sweeps(&self, problem: &Problem, tolerance: f64) -> bool {
        let error = self.monitor.way().1.sure;
        let Point { diagonal, x, w, lo, hi, .. } = self.point(problem);
        let on_the_fence = |i: usize| {
            let (x, w, a, lo, hi) = (x[i], w[i], diagonal[i], lo[i], hi[i]);
            let slack = (x - lo).min(hi - x);
            let moving = slack <= 0.0 && lo < hi;
            (slack > 0.0 && 0.5 * a * slack * slack <= error) || (moving && 0.5 * w * w <= error * a)
        };
        error <= WITHIN_REACH * tolerance && (problem.has_live_bounds() || (0..self.state.x.len()).any(on_the_fence))
    }

    /// Move x into its bounds, and find its w and the bounds there.
    pub fn settle(&mut self, problem: &Problem) -> Result<()> {
        self.is_outside = false;
        problem.clamp(&mut self.state.x);
        self.find_w(problem)?;
        self.find_bounds(problem);
        Ok(())
    }

    /// Find the exact w of x.
    fn find_w(&mut self, problem: &Problem) -> Result<()> {
        self.state.w_is_exact = true;
        problem.multiply(&self.state.x, &mut self.state.w, &mut self.scratch)
    }

    /// Find the bounds at the measured point, where they move.
    fn find_bounds(&mut self, problem: &Problem) {
        if problem.has_live_bounds() {
            let x = if self.is_outside { &self.inside } else { &self.state.x };
            problem.bounds_at(x, &mut self.lo, &mut self.hi);
        }
    }

    /// The loop: one solver, from the iterate it finds.
    pub fn run(
        &mut self,
        solver: &mut dyn Solver,
        stage: &Stage,
        problem: &Problem,
        run: &mut Run<'_>,
        settings: &Settings,
    ) -> Result<Outcome> {
        let most = settings.iterations(SolverKind::Auto).min(run.iteration.saturating_add(stage.iterations));
        let (mut interval, mut window) = (settings.interval(stage.solver), settings.stall_window(stage.solver));
        let soon_patient = stage.reason == Reason::Pivots
            && problem.has_live_bounds()
            && self.monitor.way().1.sure <= NEAR * run.tolerance;
        self.state.patient = stage.reason == Reason::Polish;
        if self.state.patient
            && stage.solver == SolverKind::Bpp
            && problem.has_live_bounds()
            && settings.stall_window == 0
        {
            window = LONG_WINDOW;
        }
        if stage.reason == Reason::GoodStart {
            interval = 1;
        }
        let moves_bounds = problem.has_live_bounds() && !solver.follows_friction(problem);
        if problem.has_live_bounds() {
            problem.bounds_at(&self.state.x, &mut self.state.lo, &mut self.state.hi);
        }
        let before = run.iteration;
        let mut error = self.monitor.way().1.sure;
        let together = solver.together(problem);
        let in_haste = stage.reason == Reason::TimeLimit && !problem.has_cones();
        let mut begin = 0.0;
        let mut begun = false;
        let mut pivots = Pivots { changes: usize::MAX, error, steps: 0 };
        // Sweeps gain little by little from anywhere; methods that are measured at every step either arrive or are lost.
        let is_trial = self.is_warm && settings.interval(stage.solver) == 1;
        let mut warm = is_trial.then(|| Warm::new(stage.solver, error));
        self.state.is_near = is_trial;
        self.is_warm &= stage.reason == Reason::GoodStart;
        loop {
            if run.budget.spent() {
                return Ok(Outcome::TimeLimit);
            }
            if soon_patient && run.iteration == before + FIRST_FEW {
                self.state.patient = true;
                self.go_to_best(problem)?;
                problem.bounds_at(&self.state.x, &mut self.state.lo, &mut self.state.hi);
                pivots.steps = 0;
                begun = false;
            }
            if !begun {
                solver.start(problem, &mut self.state, settings)?;
                begun = true;
                if in_haste || together > 1 {
                    begin = run.budget.seconds();
                }
            }
            let until = [interval, together].into_iter().fold(most, |m, k| m.min((run.iteration / k + 1) * k));
            self.state.at_once = run.at_once(until.saturating_sub(run.iteration), run.iteration - before, begin);
            let mut progress = solver.step(problem, &mut self.state, &run.budget)?;
            self.record_earlier(run);
            run.iteration += usize::from(progress != Progress::OutOfTime);
            // A sweep that changed less than the tolerance may have arrived: look before the interval is over. Where
            // several are taken together, do so after the last of them, even if they are taken one by one.
            let looks = run.iteration >= until;
            if progress == Progress::Stalled && !looks {
                progress = Progress::Continue;
            }
            let arrived = looks && self.state.change <= run.tolerance;
            let due = run.iteration.is_multiple_of(interval)
                || run.iteration == most
                || (in_haste && run.iteration == before + FIRST_LOOK);
            let mut measured = due || arrived || progress != Progress::Continue;
            // Out of time before the interval is over: this iterate is the last, so measure it.
            measured |= run.budget.spent();
            // An iterate that is seen or compared is finite. After one that is not the solver is lost: the best stands for it.
            let is_lost = if measured {
                !self.measure(problem, run.iteration, settings)?
            } else {
                run.observer.is_some() && !is_finite(&self.state.x)
            };
            if is_lost {
                self.go_to_best(problem)?;
                (self.state.change, self.state.set_changes) = (0.0, 0);
                (measured, progress) = (false, Progress::Stalled);
            }
            if moves_bounds && measured && progress != Progress::OutOfTime {
                if !self.state.w_is_exact {
                    self.find_w(problem)?;
                }
                let solved = self.judge.total(&self.frozen_point(problem)) <= FROZEN_SHARE * run.tolerance;
                let may_move = run.friction_updates < BOUND_MOVES && (solved || progress == Progress::Stalled);
                if may_move && self.move_bounds(problem) {
                    run.friction_updates += 1;
                    solver.start(problem, &mut self.state, settings)?;
                    progress = Progress::Continue;
                }
            }
            if let Some(outcome) = self.close(problem, run, measured, settings)? {
                return Ok(outcome);
            }
            if progress != Progress::OutOfTime
                && warm.as_mut().is_some_and(|warm| is_lost || warm.leads_nowhere(self.monitor.least_energy()))
            {
                warm = None;
                self.begin_cold(problem)?;
                pivots = Pivots { changes: usize::MAX, error: self.monitor.way().1.sure, steps: 0 };
                begun = false;
                continue;
            }
            // While the driver moves bounds, the error under the moving ones says nothing about the solver's progress.
            let stalled = measured && !moves_bounds && self.monitor.is_stalled(window);
            match progress {
                Progress::Stalled => return Ok(Outcome::Stalled),
                Progress::Ray => return Ok(Outcome::Ray),
                Progress::GivesWay => return Ok(Outcome::IterationLimit),
                Progress::OutOfTime => return Ok(Outcome::TimeLimit),
                Progress::Continue if stalled => return Ok(Outcome::Stalled),
                Progress::Continue if run.iteration >= most => return Ok(Outcome::IterationLimit),
                Progress::Continue
                    if measured && self.has_had_its_time(stage, problem, before, begin, run, settings) =>
                {
                    return Ok(Outcome::IterationLimit);
                }
                Progress::Continue
                    if stage.reason == Reason::Pivots && self.goes_astray(&mut pivots, problem, settings) =>
                {
                    return Ok(Outcome::IterationLimit);
                }
                Progress::Continue if stage.reason == Reason::GoodStart => {
                    // At the pace of the last sweep, will those that are left do?
                    let now = self.monitor.way().1.sure;
                    let pace = now / error;
                    error = now;
                    if error * pace.powi((most - run.iteration) as i32) > run.tolerance {
                        return Ok(Outcome::IterationLimit);
                    }
                }
                Progress::Continue => {}
            }
        }
    }

    /// Will pivots not settle soon? They change as many rows again; or, while friction bounds move and rows with them, their
    /// error stays where it is.
    fn goes_astray(&self, pivots: &mut Pivots, problem: &Problem, settings: &Settings) -> bool {
        if problem.has_live_bounds() {
            let least = self.monitor.least_energy();
            pivots.steps += 1;
            if least <= FEWER * pivots.error {
                (pivots.error, pivots.steps) = (least, 0);
            }
            // Within a time limit only sweeps would come next.
            return pivots.steps >= PATIENCE && settings.time_limit <= 0.0;
        }
        let before = std::mem::replace(&mut pivots.changes, self.state.set_changes) as f64;
        let now = self.state.set_changes as f64;
        now > FEWER * before && now > FEW * problem.len() as f64
    }

    /// Should a stage that began after iteration `before`, in the second `begin`, leave the rest of a limited time to others?
    /// Sweeps that only come first because of the limit should soon, if pivots would fit into the rest; pivots when half of it
    /// has gone, if they have found nothing better.
    fn has_had_its_time(
        &self,
        stage: &Stage,
        problem: &Problem,
        before: usize,
        begin: f64,
        run: &Run<'_>,
        settings: &Settings,
    ) -> bool {
        if settings.time_limit <= 0.0 {
            return false;
        }
        let (now, limit) = (run.budget.seconds(), settings.time_limit);
        match stage.reason {
            Reason::TimeLimit if problem.has_cones() => now >= FIRST_SHARE * limit,
            Reason::TimeLimit => {
                let visits = (run.iteration - before) * problem.len();
                let pivots = cost_of_pivots(problem.len(), problem.has_live_bounds()) * (now - begin) / visits as f64;
                now - begin >= FIRST_PART * pivots && pivots <= limit - now
            }
            Reason::Small | Reason::Pivots if self.monitor.best_iteration() <= before => now >= VAIN_SHARE * limit,
            _ => false,
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
        // Between measurements a look at the clock may cost as much as a small sweep; and unless there is a history nobody asks.
        let timed = (measured && settings.history_capacity > 0) || settings.time_limit > 0.0 || run.observer.is_some();
        let seconds = if timed { run.budget.seconds() } else { self.monitor.seconds() };
        let (change, set_changes) = (sane(self.state.change), self.state.set_changes);
        let record = self.record(run, Iteration { measured, change, set_changes, seconds, ..Iteration::default() });
        if let Some(observer) = &mut run.observer {
            let inside = self.is_outside.then_some((&self.inside[..], &self.inside_w[..])).filter(|_| measured);
            let (x, w) = inside.unwrap_or((&self.state.x, &self.state.w));
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
        for k in 0..self.state.earlier.len() {
            let (change, set_changes) = self.state.earlier[k];
            run.iteration += 1;
            self.record(run, Iteration { change, set_changes, seconds, ..Iteration::default() });
        }
        self.state.earlier.clear();
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

    /// Measure the iterate, moved inside its bounds if it is not: exact w, bounds there, best iterate. False if it has no
    /// error because it or its w is not finite.
    fn measure(&mut self, problem: &Problem, iteration: usize, settings: &Settings) -> Result<bool> {
        self.is_outside = !problem.contains(&self.state.x);
        if self.is_outside {
            self.inside.copy_from_slice(&self.state.x);
            problem.clamp(&mut self.inside);
            problem.multiply(&self.inside, &mut self.inside_w, &mut self.scratch)?;
        } else if !self.state.w_is_exact {
            self.find_w(problem)?;
        }
        let (x, w) = self.outside().unwrap_or((&self.state.x, &self.state.w));
        if !(is_finite(x) && is_finite(w)) {
            return Ok(false);
        }
        self.find_bounds(problem);
        let judged = self.judged(problem)?;
        self.note(problem, iteration, judged, settings);
        Ok(true)
    }

    /// Judge the measured point, with a bound of its round-off: a cheap one if that decides, else one row by row.
    fn judged(&mut self, problem: &Problem) -> Result<Judged> {
        if self.judge == Measure::Energy {
            let (error, sizes) = self.point(problem).energy();
            if error.is_nan() {
                return Ok(Judged::LOST);
            }
            let judged = Judged::energy(error, cheap_root(problem, sizes), self.tolerance);
            if judged.decides(self.tolerance) {
                return Ok(judged);
            }
            self.bound_round_off(problem)?;
            let judged = Judged::energy(error, root_of(problem.diagonal(), &self.delta), self.tolerance);
            if error <= self.tolerance && judged.sure > self.tolerance && self.tighten_round_off(problem) {
                return Ok(Judged::energy(error, root_of(problem.diagonal(), &self.delta), self.tolerance));
            }
            return Ok(judged);
        }
        let error = sane(self.judge.total(&self.point(problem)));
        let x = if self.is_outside { &self.inside } else { &self.state.x };
        // At x = 0 w is b.
        if error == f64::INFINITY || x.iter().all(|&x| x == 0.0) {
            return Ok(Judged { error, sure: error, root: 0.0 });
        }
        self.bound_round_off(problem)?;
        let mut root = self.delta.iter().sum::<f64>();
        if error <= self.tolerance && error + root > self.tolerance && self.tighten_round_off(problem) {
            root = self.delta.iter().sum::<f64>();
        }
        Ok(Judged { error, sure: error + root, root })
    }

    fn bound_round_off(&mut self, problem: &Problem) -> Result<()> {
        let Work { state, inside, inside_w, is_outside, delta, scratch, .. } = self;
        let (x, w) = if *is_outside { (inside, inside_w) } else { (&mut state.x, &mut state.w) };
        problem.bound_round_off(x, w, delta, scratch)
    }

    /// Where a bound alone keeps an error above the tolerance, find the round-off itself.
    fn tighten_round_off(&mut self, problem: &Problem) -> bool {
        let Work { state, inside, inside_w, is_outside, delta, .. } = self;
        let (x, w) = if *is_outside { (inside, inside_w) } else { (&mut state.x, &mut state.w) };
        problem.tighten_round_off(x, w, delta)
    }

    /// Take note of the measured point's error.
    fn note(&mut self, problem: &Problem, iteration: usize, judged: Judged, settings: &Settings) {
        self.state.energy = judged.error;
        let Work { state, lo, hi, inside, inside_w, is_outside, monitor, .. } = self;
        let other = is_outside.then_some((&inside[..], &inside_w[..]));
        monitor.measured(iteration, &point(problem, state, lo, hi, other), judged, settings);
    }

    /// The point inside the bounds and its w, if the iterate is not.
    fn outside(&self) -> Option<(&[f64], &[f64])> {
        self.is_outside.then_some((&self.inside, &self.inside_w))
    }

    /// Put the best iterate into place, with its w and the bounds there.
    pub fn finish(&mut self, problem: &Problem) -> Result<()> {
        if self.is_outside {
            self.state.x.copy_from_slice(&self.inside);
            self.state.w.copy_from_slice(&self.inside_w);
            self.state.w_is_exact = true;
        }
        // Most often the last iterate is the best, and its w is there.
        if !(self.state.w_is_exact && are_same(&self.state.x, self.monitor.best_x())) {
            self.state.x.copy_from_slice(self.monitor.best_x());
            self.find_w(problem)?;
        }
        self.is_outside = false;
        self.find_bounds(problem);
        Ok(())
    }

    /// The iterate under the bounds where it was last measured.
    pub fn point<'a>(&'a self, problem: &'a Problem) -> Point<'a> {
        point(problem, &self.state, &self.lo, &self.hi, self.outside())
    }

    /// The solver's own iterate under the bounds it works with.
    fn frozen_point<'a>(&'a self, problem: &'a Problem) -> Point<'a> {
        Point { lo: &self.state.lo, hi: &self.state.hi, ..point(problem, &self.state, &self.lo, &self.hi, None) }
    }
}

/// An iterate with the bounds there, to be measured; `lo` and `hi` where bounds move, and another point if one is given.
fn point<'a>(
    problem: &'a Problem,
    state: &'a State,
    lo: &'a [f64],
    hi: &'a [f64],
    other: Option<(&'a [f64], &'a [f64])>,
) -> Point<'a> {
    let (lo, hi) = if problem.has_live_bounds() { (lo, hi) } else { (&state.lo[..], &state.hi[..]) };
    let (x, w) = other.unwrap_or((&state.x, &state.w));
    Point { diagonal: problem.diagonal(), x, w, lo, hi, cones: problem.cones() }
}

/// Is every number finite?
fn is_finite(values: &[f64]) -> bool {
    are_finite(std::iter::once(values))
}

/// Are they the same, number by number? All are looked at, several at once.
fn are_same(p: &[f64], q: &[f64]) -> bool {
    p.iter().zip(q).fold(true, |same, (p, q)| same & (p == q))
}
