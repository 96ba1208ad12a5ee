//! Islands solved apart, on as many threads as the caller likes.
//!
//! One step solves every island that is not solved yet, each by auto's plan for it alone; the driver measures the whole.
//! Small islands, which take no longer than a few sweeps of a large one, come first; among the small and among the large
//! that of the largest energy error.
//!
//! When time is limited, a step only treats islands with about the mean energy error or more, and a large one is swept
//! before it is solved. Each gets a share of the time left: half by its share of the error left, half by its share of the
//! rows.
//!
//! Each thread has an [`Engine`] of its own and takes the next island when it is done with one. What an engine finds does
//! not depend on what it did before, so the answer has the same bits however many threads there are; unless time runs out.

use super::{Engine, Slot};
use crate::error::{refill, reserve, Error, Result, Status};
use crate::metrics::{Measure, Point};
use crate::monitor::Outcome;
use crate::plan::TINY;
use crate::problem::{Islands, Places, Problem};
use crate::settings::{Settings, SolverKind};
use crate::solvers::{Progress, Solver, State};
use crate::Budget;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// Sweeps over a large island before it is solved, when time is limited.
const FIRST_SWEEPS: usize = 32;

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
    /// Is time limited? Then islands that are to be swept before they are solved.
    in_haste: bool,
    sweeps_first: Vec<bool>,
    workers: Vec<Mutex<Worker>>,
    settings: Settings,
    pub executor: Option<Box<Executor>>,
}

/// What one thread needs.
struct Worker {
    engine: Engine,
    /// For first sweeps.
    sweeper: Engine,
    part: Problem,
    places: Places,
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
        Ok(Worker {
            engine,
            sweeper: Engine::new(Settings { solver: SolverKind::Pgs, ..Settings::default() })?,
            part: Problem::new(),
            places: Places::default(),
            start: Vec::new(),
            done: Vec::new(),
            x: Vec::new(),
            failure: None,
        })
    }

    /// Take the memory for any island of a problem.
    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        self.part.reserve_like(problem)?;
        self.engine.reserve_rows(problem)?;
        self.sweeper.reserve_rows(problem)?;
        reserve(&mut self.start, problem.len())?;
        reserve(&mut self.x, problem.len())?;
        reserve(&mut self.done, problem.len())?;
        self.places.cover(problem)
    }

    fn solve(&mut self, whole: &Problem, island: u32, rows: &[u32], x: &[f64], settings: Settings) -> Result<()> {
        self.part.select(whole, rows, &mut self.places)?;
        let engine = if settings.solver == SolverKind::Auto { &mut self.engine } else { &mut self.sweeper };
        engine.set_settings(settings)?;
        self.start.clear();
        self.start.extend(rows.iter().map(|&i| x[i as usize]));
        let is_cold = self.start.iter().all(|&x| x == 0.0);
        let outcome = engine.solve(&self.part, Some(&self.start[..]).filter(|_| !is_cold), None)?.outcome;
        self.x.extend_from_slice(engine.x());
        self.done.push((island, outcome));
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
    pub fn swap_solvers(&mut self, solvers: &mut Vec<Slot>) {
        if let Some(Ok(worker)) = self.workers.first_mut().map(Mutex::get_mut) {
            std::mem::swap(&mut worker.engine.solvers, solvers);
        }
    }

    /// Measure every island at the iterate, and put those that need work in order: small ones, then the worst first.
    fn rank(&mut self, problem: &Problem, state: &State) -> Result<()> {
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
        reserve(&mut self.order, self.islands.len())?;
        self.order.clear();
        for k in 0..self.islands.len() {
            self.energy[k] = self.islands.rows(k).iter().map(|&i| self.row_energy[i as usize]).sum();
            if !self.settled[k] {
                self.order.push(k as u32);
            }
        }
        if self.in_haste {
            let energy = &self.energy;
            let mean = self.order.iter().map(|&k| energy[k as usize]).sum::<f64>() / self.order.len().max(1) as f64;
            self.order.retain(|&k| energy[k as usize] >= 0.5 * mean);
        }
        let (energy, islands) = (&self.energy, &self.islands);
        let energy = |k: u32| energy[k as usize];
        self.order.sort_unstable_by(|&p, &q| {
            is_large(islands, p).cmp(&is_large(islands, q)).then(energy(q).total_cmp(&energy(p))).then(p.cmp(&q))
        });
        Ok(())
    }

    /// Let the workers solve the islands in order.
    fn run(&self, problem: &Problem, x: &[f64], budget: &Budget) {
        let Split { islands, energy, order, sweeps_first, workers, settings, executor, .. } = self;
        let next = AtomicUsize::new(0);
        let rows_of = |k: u32| islands.rows(k as usize).len() as f64;
        let sum = order.iter().fold((0.0, 0.0), |(e, n), &k| (e + energy[k as usize], n + rows_of(k)));
        let left = Mutex::new(sum);
        let work = |thread: usize| {
            // An executor may call a task that it was not asked for.
            let Some(Ok(mut worker)) = workers.get(thread).map(Mutex::try_lock) else { return };
            let worker = &mut *worker;
            while let Some(&island) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut settings = *settings;
                if sweeps_first[island as usize] {
                    (settings.solver, settings.max_iterations) = (SolverKind::Pgs, FIRST_SWEEPS);
                }
                if let Some(seconds) = budget.remaining() {
                    let Ok(mut left) = left.lock() else { return };
                    let (mine, rows) = (energy[island as usize], rows_of(island));
                    // Half by error, half by rows: those of little error get a chance, too. NaN where no error is left.
                    let share = 0.5 * workers.len() as f64 * (mine / left.0 + rows / left.1);
                    *left = (left.0 - mine, left.1 - rows);
                    settings.time_limit = seconds * if share < 1.0 { share } else { 1.0 };
                    if settings.time_limit <= 0.0 {
                        return;
                    }
                }
                let rows = islands.rows(island as usize);
                if let Err(error) = worker.solve(problem, island, rows, x, settings) {
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
                let was_swept = std::mem::take(&mut self.sweeps_first[island as usize]);
                let may_gain = was_swept || outcome == Outcome::TimeLimit;
                self.settled[island as usize] = outcome == Outcome::Converged || !may_gain;
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

fn is_large(islands: &Islands, island: u32) -> bool {
    islands.rows(island as usize).len() > TINY
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
        reserve(&mut self.sweeps_first, problem.len())?;
        reserve(&mut self.order, problem.len())?;
        self.islands.reserve(problem)?;
        if self.workers.is_empty() {
            self.hire(1)?;
        }
        self.workers.iter_mut().try_for_each(|worker| unbroken(worker)?.reserve(problem))
    }

    fn start(&mut self, problem: &Problem, _: &mut State, settings: &Settings) -> Result<()> {
        let islands = self.islands.len();
        refill(&mut self.energy, islands, 0.0)?;
        refill(&mut self.settled, islands, false)?;
        self.in_haste = settings.time_limit > 0.0;
        let may_sweep = self.in_haste && problem.has_energy() && !problem.has_cones();
        reserve(&mut self.sweeps_first, islands)?;
        self.sweeps_first.clear();
        self.sweeps_first.extend((0..islands as u32).map(|k| may_sweep && is_large(&self.islands, k)));
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
        problem.bounds_at(&state.x, &mut state.lo, &mut state.hi);
        self.rank(problem, state)?;
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
