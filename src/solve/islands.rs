//! Islands solved apart, on as many threads as the caller likes.
//!
//! One step solves every island that is not solved yet, each by auto's plan for it alone; the loop measures the whole.
//!
//! When time is limited, sweeps come first (`solvers/island_sweeps.rs`). Then a step only treats islands with about the mean
//! energy error or more, that of the largest for its cost first. Each gets a share of the time left: half by its share of the
//! error left, half by its share of the cost; it may take more, which those of less error for their cost then lack.
//!
//! Each thread has an [`Engine`] of its own and takes the next island when it is done with one. What an engine finds does
//! not depend on what it did before, so the answer has the same bits however many threads there are; unless time runs out.

use super::{Engine, Outcome, Slot};
use crate::auto::cost::ISLAND_PATIENCE;
use crate::error::{Error, Result, Status};
use crate::memory::{refill, reserve};
use crate::metrics::{Measure, Point};
use crate::problem::{Extent, Islands, Problem};
use crate::settings::{Settings, SolverKind};
use crate::solvers::{cost_of_pivots, IslandSweeps, Progress, Solver, State};
use crate::Budget;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// Runs `count` tasks, numbered from 0, on threads of its choosing, and returns when all are done.
pub type Executor = dyn Fn(usize, &(dyn Fn(usize) + Sync)) + Send;

/// All islands of a problem.
#[derive(Default)]
pub(super) struct Split {
    islands: Islands,
    /// Energy error of every island, where the step began.
    energy: Vec<f64>,
    row_energy: Vec<f64>,
    /// Islands that need no more work.
    settled: Vec<bool>,
    /// Those that do, in the order to treat them.
    order: Vec<u32>,
    sweeps: IslandSweeps,
    workers: Vec<Mutex<Worker>>,
    settings: Settings,
    pub executor: Option<Box<Executor>>,
}

/// What one thread needs.
struct Worker {
    engine: Engine,
    part: Problem,
    start: Vec<f64>,
    /// The islands it has solved in this step, what came of each, and their impulses one after the other.
    done: Vec<(u32, Outcome)>,
    x: Vec<f64>,
    failure: Option<Error>,
}

impl Worker {
    fn new() -> Result<Self> {
        let mut engine = Engine::new(Settings::default())?;
        engine.is_worker = true;
        Ok(Worker { engine, part: Problem::new(), start: Vec::new(), done: Vec::new(), x: Vec::new(), failure: None })
    }

    /// Take the memory for any island of a problem.
    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        self.part.reserve_like(problem)?;
        self.engine.reserve_rows(problem)?;
        reserve(&mut self.start, problem.len())?;
        reserve(&mut self.x, problem.len())?;
        reserve(&mut self.done, problem.len())
    }

    fn solve(&mut self, whole: &Problem, islands: &Islands, k: u32, x: &[f64], settings: Settings) -> Result<()> {
        self.part.select(whole, islands, k as usize)?;
        // They are the caller's, and were checked when they came.
        self.engine.settings = settings;
        self.start.clear();
        self.start.extend(islands.rows(k as usize).iter().map(|&i| x[i as usize]));
        let is_cold = self.start.iter().all(|&x| x == 0.0);
        let outcome = self.engine.solve(&self.part, Some(&self.start[..]).filter(|_| !is_cold), None)?.outcome;
        self.x.extend_from_slice(self.engine.x());
        self.done.push((k, outcome));
        Ok(())
    }
}

impl Split {
    /// Find the islands, and if there are several the workers for them. Returns how many islands there are.
    pub fn find(&mut self, problem: &Problem, threads: usize) -> Result<usize> {
        self.islands.find(problem)?;
        let islands = self.islands.len();
        self.hire(threads.min(islands))?;
        Ok(islands)
    }

    /// Have so many workers, at least one.
    fn hire(&mut self, threads: usize) -> Result<()> {
        let threads = threads.max(1);
        self.workers.truncate(threads);
        reserve(&mut self.workers, threads)?;
        while self.workers.len() < threads {
            self.workers.push(Mutex::new(Worker::new()?));
        }
        Ok(())
    }

    /// Let the first worker use these solvers, and give back its own.
    pub fn swap_solvers(&mut self, solvers: &mut Vec<Slot>, reserved: &mut (u64, Extent)) {
        if let Some(Ok(worker)) = self.workers.first_mut().map(Mutex::get_mut) {
            std::mem::swap(&mut worker.engine.solvers, solvers);
            std::mem::swap(&mut worker.engine.reserved, reserved);
        }
    }

    /// Sweeps over the islands, for when time is limited.
    pub fn sweeps(&mut self) -> impl Solver + '_ {
        self.sweeps.over(&self.islands)
    }

    /// List the islands that need work.
    fn list(&mut self) -> Result<()> {
        reserve(&mut self.order, self.islands.len())?;
        self.order.clear();
        self.order.extend((0..self.islands.len() as u32).filter(|&k| !self.settled[k as usize]));
        Ok(())
    }

    /// Measure every island at the iterate, and put those listed in order: the most error for its cost first.
    fn rank(&mut self, problem: &Problem, state: &mut State) -> Result<()> {
        problem.bounds_at(&state.x, &mut state.lo, &mut state.hi);
        let judge = if problem.has_energy() { Measure::Energy } else { Measure::Natural };
        refill(&mut self.row_energy, problem.len(), 0.0)?;
        let at = Point {
            diagonal: problem.diagonal(),
            x: &state.x,
            w: &state.w,
            lo: &state.lo,
            hi: &state.hi,
            cones: problem.cones(),
        };
        at.rows(judge, &mut self.row_energy);
        for k in 0..self.islands.len() {
            self.energy[k] = self.islands.rows(k).iter().map(|&i| self.row_energy[i as usize]).sum();
        }
        let energy = &self.energy;
        let mean = self.order.iter().map(|&k| energy[k as usize]).sum::<f64>() / self.order.len().max(1) as f64;
        self.order.retain(|&k| energy[k as usize] >= 0.5 * mean);
        let bounds_move = problem.has_live_bounds();
        let worth = |k: u32| self.energy[k as usize] / cost(&self.islands, k, bounds_move);
        self.order.sort_unstable_by(|&p, &q| worth(q).total_cmp(&worth(p)).then(p.cmp(&q)));
        Ok(())
    }

    /// Let the workers solve the islands in order.
    fn run(&self, problem: &Problem, x: &[f64], budget: &Budget) {
        let Split { islands, energy, order, workers, settings, executor, .. } = self;
        let next = AtomicUsize::new(0);
        let bounds_move = problem.has_live_bounds();
        // What nobody has taken yet of a limited time's use: energy error and cost.
        let left = budget.remaining().map(|_| {
            let add = |(e, c): (f64, f64), &k: &u32| (e + energy[k as usize], c + cost(islands, k, bounds_move));
            Mutex::new(order.iter().fold((0.0, 0.0), add))
        });
        let work = |thread: usize| {
            // An executor may call a task that it was not asked for.
            let Some(Ok(mut worker)) = workers.get(thread).map(Mutex::try_lock) else { return };
            let worker = &mut *worker;
            while let Some(&island) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut settings = *settings;
                if let (Some(seconds), Some(left)) = (budget.remaining(), &left) {
                    let Ok(mut left) = left.lock() else { return };
                    let (mine, cost) = (energy[island as usize], cost(islands, island, bounds_move));
                    // Half by error, half by cost: those of little error get a chance, too. NaN where no error is left.
                    let share = ISLAND_PATIENCE * 0.5 * workers.len() as f64 * (mine / left.0 + cost / left.1);
                    *left = (left.0 - mine, left.1 - cost);
                    settings.time_limit = seconds * if share < 1.0 { share } else { 1.0 };
                    if settings.time_limit <= 0.0 {
                        return;
                    }
                }
                if let Err(error) = worker.solve(problem, islands, island, x, settings) {
                    worker.failure = Some(error);
                    return;
                }
            }
        };
        match executor {
            _ if workers.len() == 1 => work(0),
            Some(execute) => execute(workers.len(), &work),
            None => std::thread::scope(|scope| {
                for thread in 1..workers.len() {
                    // Where no thread can be had, those that are there do the work.
                    let work = &work;
                    let _ = std::thread::Builder::new().spawn_scoped(scope, move || work(thread));
                }
                work(0);
            }),
        }
    }

    /// Put together what the workers found.
    fn collect(&mut self, problem: &Problem, state: &mut State) -> Result<()> {
        let mut change = 0.0;
        for worker in &mut self.workers {
            let worker = unbroken(worker)?;
            if let Some(error) = worker.failure.take() {
                return Err(error);
            }
            let mut x = worker.x.iter();
            for &(island, outcome) in &worker.done {
                for (&i, &x) in self.islands.rows(island as usize).iter().zip(&mut x) {
                    let i = i as usize;
                    self.row_energy[i] = problem.diagonal()[i] * (x - state.x[i]).powi(2);
                    state.x[i] = x;
                }
                self.settled[island as usize] = outcome != Outcome::TimeLimit;
            }
        }
        // In the order of the rows, whoever found them.
        for energy in &self.row_energy {
            change += energy;
        }
        state.change = 0.5 * change;
        state.w_is_exact = false;
        Ok(())
    }
}

/// What solving an island may cost.
fn cost(islands: &Islands, island: u32, bounds_move: bool) -> f64 {
    cost_of_pivots(islands.rows(island as usize).len(), bounds_move)
}

/// A worker, unless it panicked.
fn unbroken(worker: &mut Mutex<Worker>) -> Result<&mut Worker> {
    worker
        .get_mut()
        .map_err(|_| Error::new(Status::Internal, format_args!("a thread that solved an island came upon a defect")))
}

impl Solver for Split {
    fn check(&self, _: &Problem) -> Result<()> {
        Ok(())
    }

    fn follows_friction(&self, _: &Problem) -> bool {
        true
    }

    fn treats_cones(&self) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        for v in [&mut self.energy, &mut self.row_energy] {
            reserve(v, problem.len())?;
        }
        reserve(&mut self.settled, problem.len())?;
        reserve(&mut self.order, problem.len())?;
        self.islands.reserve(problem)?;
        self.sweeps.reserve(problem)?;
        if self.workers.is_empty() {
            self.hire(1)?;
        }
        self.workers.iter_mut().try_for_each(|worker| unbroken(worker)?.reserve(problem))
    }

    fn start(&mut self, _: &Problem, _: &mut State, settings: &Settings) -> Result<()> {
        let islands = self.islands.len();
        refill(&mut self.energy, islands, 0.0)?;
        refill(&mut self.settled, islands, false)?;
        self.settings = Settings {
            solver: SolverKind::Auto,
            energy_tolerance: settings.energy_tolerance / islands.max(1) as f64,
            history_capacity: 0,
            threads: 1,
            time_limit: 0.0,
            ..*settings
        };
        Ok(())
    }

    fn step(&mut self, problem: &Problem, state: &mut State, budget: &Budget) -> Result<Progress> {
        self.list()?;
        if budget.remaining().is_some() {
            self.rank(problem, state)?;
        }
        for worker in &mut self.workers {
            let worker = unbroken(worker)?;
            worker.done.clear();
            worker.x.clear();
            worker.reserve(problem)?;
        }
        refill(&mut self.row_energy, problem.len(), 0.0)?;
        self.run(problem, &state.x, budget);
        self.collect(problem, state)?;
        let settled = self.settled.iter().all(|&s| s);
        Ok(if settled { Progress::Stalled } else { Progress::Continue })
    }
}
