//! Sweeps over islands, those of the largest energy error first.
//!
//! A visit to a row changes its impulse by δ, and `½ a δ²` is what the row's energy error was at that moment. So a sweep
//! over an island tells the island's error, for nothing. Error per row is what a sweep may gain for its cost: the islands
//! that have at least about the mean of it are swept, in place, on the rows and body velocities of the whole problem; then
//! they are chosen anew.
//!
//! Each island has conjugate directions of its own, as in `nncg.rs`:
//!
//! ```text
//! z ← z + p,   x = PGS(z),   g = x - z,   β = gᵀDg / g₋ᵀDg₋,   p = g + β p₋     (β > 1: p = 0, z = x)
//! ```
//! The whitened velocities of z follow by the same recursion, so that a step costs hardly more than a plain sweep.
//!
//! Where many rows are to be swept, all are: then rows can be visited four at a time (`quads.rs`), which lists of rows cannot.
//!
//! While there is time for pivots on all islands that have much of the error, one that has cost a good part of what its
//! pivots would is set aside. When no other island has more error for its cost than one that was set aside, it is time for
//! pivots. Where there is no such time, half of the islands solved is worth less than all of them swept.

use super::row_sweep::as_range;
use super::sweep::{Order, Sweeper, Swept, ROUND_OFF};
use super::{require_positive_diagonal, Progress, Solver, State};
use crate::error::Result;
use crate::linalg::{at_least, at_most};
use crate::memory::{refill, reserve};
use crate::problem::{Islands, Problem};
use crate::settings::{Settings, SolverKind};
use crate::Budget;
use std::ops::Range;

/// Pivots on a dense tableau cost about so many visits for each pair of rows where friction bounds move.
const VISITS_PER_PAIR: f64 = 1.75;
/// The same where they do not: a few pivots do.
const VISITS_PER_FIXED_PAIR: f64 = 0.5;
/// Beyond so many rows factors are sparse: then a pivot costs about eight sweeps, whatever the problem, and it takes some
/// thirty of them where friction bounds move.
const SPARSE: usize = 128;
/// An island is set aside for pivots when it has cost this part of theirs.
const ASIDE: f64 = 0.5;
/// Pivots that may take so many times what they should still have to be done in time.
const CAUTION: f64 = 1.5;
/// How much more a first sweep gains than the next ones.
const FIRST_GAIN: f64 = 16.0;
/// Islands with so much of the mean error per row are swept: all of them, if they are all alike.
const SHARE: f64 = 0.5;
/// Choosing islands anew must not cost more than sweeping them: one part in so many of all rows is visited in between.
const PARTS: usize = 4;
/// Where so much of all rows is to be swept, all are: that costs little more, and is not in vain.
const MOST: f64 = 0.3;
/// Visits between two looks at the clock.
const LOOK: usize = 512;

/// What a solution by pivots may cost, in visits to a row.
pub fn cost_of_pivots(rows: usize, bounds_move: bool) -> f64 {
    let visits = if bounds_move { VISITS_PER_PAIR } else { VISITS_PER_FIXED_PAIR };
    visits * rows as f64 * rows.min(SPARSE) as f64
}

/// The memory of such sweeps.
#[derive(Default)]
pub struct IslandSweeps {
    /// Over islands, and over all rows; the one at work has the velocities.
    sweeper: Sweeper,
    whole: Sweeper,
    /// Has the second been started?
    has_whole: bool,
    impulses: Ahead<1>,
    /// Of the whitened velocities.
    velocities: Ahead<6>,
    islands: Vec<Island>,
    /// Those to sweep now.
    chosen: Vec<u32>,
    /// The most error for its cost by pivots on an island that was set aside.
    aside: f64,
    passes: usize,
    /// The second at which all began, and the visits since.
    begin: f64,
    visits: usize,
    /// Is there time for pivots?
    pivots_fit: bool,
}

/// How sweeps over an island went.
#[derive(Clone, Copy, Debug, Default)]
struct Island {
    error: f64,
    /// Are its couplings known?
    has_list: bool,
    /// Has it arrived, or was it set aside?
    is_done: bool,
    /// `gᵀDg` of the last sweep; 0: the next one is plain.
    last: f64,
    sweeps: usize,
}

/// z and p, `W` numbers for each row or body.
#[derive(Default)]
struct Ahead<const W: usize> {
    z: Vec<[f64; W]>,
    p: Vec<[f64; W]>,
}

impl<const W: usize> Ahead<W> {
    fn reserve(&mut self, len: usize) -> Result<()> {
        reserve(&mut self.z, len)?;
        reserve(&mut self.p, len)
    }

    /// Be of this length; what is there is old until a restart.
    fn start(&mut self, len: usize) -> Result<()> {
        for v in [&mut self.z, &mut self.p] {
            if v.len() != len {
                refill(v, len, [0.0; W])?;
            }
        }
        Ok(())
    }

    /// Go on by p, and put x there for a sweep.
    fn advance(&mut self, list: &[u32], x: &mut [f64]) {
        self.each(list, x.as_chunks_mut().0, |z, p, x| {
            *z += *p;
            *x = *z;
        });
    }

    /// The next direction, now that x was swept.
    fn turn(&mut self, list: &[u32], x: &mut [f64], beta: f64) {
        self.each(list, x.as_chunks_mut().0, |z, p, x| *p = (*x - *z) + beta * *p);
    }

    /// No direction: a plain sweep from x comes next.
    fn restart(&mut self, list: &[u32], x: &mut [f64]) {
        self.each(list, x.as_chunks_mut().0, |z, p, x| (*z, *p) = (*x, 0.0));
    }

    /// Treat z, p and x of the listed rows or bodies.
    #[inline(always)]
    fn each(&mut self, list: &[u32], x: &mut [[f64; W]], treat: impl Fn(&mut f64, &mut f64, &mut f64)) {
        let mut part = |at: Range<usize>| {
            let (z, p, x) = (&mut self.z[at.clone()], &mut self.p[at.clone()], &mut x[at]);
            for ((z, p), x) in z.iter_mut().zip(p).zip(x) {
                for c in 0..W {
                    treat(&mut z[c], &mut p[c], &mut x[c]);
                }
            }
        };
        match as_range(list) {
            Some(range) => part(range),
            None => list.iter().for_each(|&i| part(i as usize..i as usize + 1)),
        }
    }
}

impl IslandSweeps {
    /// A solver for a problem with these islands.
    pub fn over<'a>(&'a mut self, islands: &'a Islands) -> OverIslands<'a> {
        OverIslands { sweeps: self, islands, relaxation: 1.0 }
    }

    /// Take memory for any islands of a problem.
    pub fn reserve(&mut self, problem: &Problem) -> Result<()> {
        self.impulses.reserve(problem.len())?;
        self.velocities.reserve(problem.bodies())?;
        reserve(&mut self.islands, problem.len())?;
        reserve(&mut self.chosen, problem.len())?;
        self.whole.reserve(problem)?;
        self.sweeper.reserve(problem)
    }

    /// Choose the islands to sweep now. None: sweeps no longer pay. Returns how many rows they have.
    fn choose(&mut self, islands: &Islands) -> usize {
        self.chosen.clear();
        let (mut error, mut rows, mut most) = (0.0, 0, 0.0);
        let per_row = |k: usize, island: &Island| island.error / islands.rows(k).len() as f64;
        let waiting = || self.islands.iter().enumerate().filter(|(_, island)| !island.is_done);
        for (k, island) in waiting() {
            error += island.error;
            rows += islands.rows(k).len();
            most = per_row(k, island).max(most);
        }
        if most > self.aside {
            let least = SHARE * error / rows as f64;
            let worst = waiting().filter(|(k, island)| per_row(*k, island) >= least);
            self.chosen.extend(worst.map(|(k, _)| k as u32));
        }
        self.chosen.iter().map(|&k| islands.rows(k as usize).len()).sum()
    }

    /// Is there time for pivots on those islands that would be treated first?
    fn look_ahead(&mut self, islands: &Islands, bounds_move: bool, budget: &Budget) {
        let Some(left) = budget.remaining() else { return };
        let error: f64 = self.islands.iter().map(|island| island.error).sum();
        let least = 0.5 * error / self.islands.len() as f64;
        let worst = self.islands.iter().enumerate().filter(|(_, island)| island.error >= least);
        let cost: f64 = worst.map(|(k, _)| cost_of_pivots(islands.rows(k).len(), bounds_move)).sum();
        let visit = (budget.seconds() - self.begin) / self.visits as f64;
        self.pivots_fit = CAUTION * cost * visit <= left;
    }

    /// Sweep an island once.
    fn sweep(&mut self, problem: &Problem, state: &mut State, islands: &Islands, k: usize) {
        let (x, rows, at) = (&mut state.x, islands.rows(k), islands.rows_before(k));
        if !self.islands[k].has_list {
            self.islands[k].has_list = true;
            self.sweeper.enter_list(problem, rows, at);
        }
        self.advance(x, islands, k);
        let swept = self.sweeper.sweep_list(problem, x, rows, at, problem.friction_bounds());
        state.set_changes += swept.set_changes;
        self.turn(problem, x, islands, k, swept);
    }

    /// Sweep all islands once.
    fn sweep_all(&mut self, problem: &Problem, state: &mut State, islands: &Islands, relaxation: f64) -> Result<()> {
        if !self.has_whole {
            self.has_whole = true;
            self.whole.start(problem, &state.x, relaxation)?;
            self.whole.swap_velocities(&mut self.sweeper);
        }
        for k in 0..islands.len() {
            self.advance(&mut state.x, islands, k);
        }
        self.whole.swap_velocities(&mut self.sweeper);
        let swept = self.whole.sweep(problem, &mut state.x, Order::Forth, problem.friction_bounds());
        self.whole.swap_velocities(&mut self.sweeper);
        state.set_changes += swept.set_changes;
        for k in 0..islands.len() {
            let (mut change, mut energy) = (0.0, 0.0);
            for i in islands.rows(k).iter().map(|&i| i as usize) {
                let (a, x) = (problem.diagonal()[i], state.x[i]);
                let way = x - self.impulses.z[i][0];
                change += a * way * way;
                energy += a * x * x;
            }
            self.turn(problem, &mut state.x, islands, k, Swept { change: 0.5 * change, energy, set_changes: 0 });
        }
        Ok(())
    }

    /// Go to where an island's next sweep begins.
    fn advance(&mut self, x: &mut [f64], islands: &Islands, k: usize) {
        let (rows, bodies) = (islands.rows(k), islands.bodies(k));
        if self.islands[k].sweeps == 0 {
            self.impulses.restart(rows, x);
            self.velocities.restart(bodies, self.sweeper.y());
        } else {
            self.impulses.advance(rows, x);
            self.velocities.advance(bodies, self.sweeper.y());
        }
    }

    /// Take note of a sweep over an island, and find the next direction.
    fn turn(&mut self, problem: &Problem, x: &mut [f64], islands: &Islands, k: usize, swept: Swept) {
        let (rows, bodies) = (islands.rows(k), islands.bodies(k));
        let Island { last, sweeps, has_list, is_done, .. } = self.islands[k];
        let cost = cost_of_pivots(rows.len(), problem.has_live_bounds());
        let size = 2.0 * swept.change;
        let beta = if last > 0.0 { size / last } else { 0.0 };
        let rests = swept.change <= ROUND_OFF * swept.energy;
        if rests || beta > 1.0 {
            self.impulses.restart(rows, x);
            self.velocities.restart(bodies, self.sweeper.y());
        } else {
            self.impulses.turn(rows, x, beta);
            self.velocities.turn(bodies, self.sweeper.y(), beta);
        }
        let error = if swept.change.is_nan() { f64::INFINITY } else { swept.change };
        let is_dear = self.pivots_fit && ((sweeps + 1) * rows.len()) as f64 >= ASIDE * cost;
        let is_aside = is_dear || error == f64::INFINITY;
        if is_aside {
            self.aside = self.aside.max(error / cost);
        }
        self.islands[k] = Island {
            error,
            has_list,
            // A plain sweep that changes nothing has arrived; one from a point ahead has not.
            is_done: is_done || is_aside || (rests && last == 0.0),
            last: if rests { 0.0 } else { size },
            sweeps: sweeps + 1,
        };
    }
}

/// Sweeps over the islands of a problem.
pub struct OverIslands<'a> {
    sweeps: &'a mut IslandSweeps,
    islands: &'a Islands,
    relaxation: f64,
}

impl Solver for OverIslands<'_> {
    fn check(&self, problem: &Problem) -> Result<()> {
        require_positive_diagonal(problem, SolverKind::Nncg)
    }

    fn follows_friction(&self, _: &Problem) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        self.sweeps.reserve(problem)
    }

    fn start(&mut self, problem: &Problem, state: &mut State, settings: &Settings) -> Result<()> {
        self.reserve(problem)?;
        self.relaxation = settings.relaxation;
        let OverIslands { sweeps, islands, .. } = self;
        sweeps.impulses.start(problem.len())?;
        sweeps.velocities.start(problem.bodies())?;
        sweeps.sweeper.start_lists(problem, &state.x, settings.relaxation)?;
        (sweeps.aside, sweeps.passes, sweeps.visits) = (0.0, 0, 0);
        (sweeps.has_whole, sweeps.pivots_fit) = (false, false);
        sweeps.islands.clear();
        for k in 0..islands.len() {
            // What visits would change if the rows knew nothing of each other.
            let error = |i: usize| {
                let a = problem.diagonal()[i];
                let delta = at_most(at_least(state.x[i] - state.w[i] / a, state.lo[i]), state.hi[i]) - state.x[i];
                0.5 * a * delta * delta
            };
            let error = islands.rows(k).iter().map(|&i| error(i as usize)).sum();
            let error = if f64::is_nan(error) { f64::INFINITY } else { FIRST_GAIN * error };
            sweeps.islands.push(Island { error, ..Island::default() });
        }
        Ok(())
    }

    /// As many visits as the problem has rows, or up to twice as many.
    fn step(&mut self, problem: &Problem, state: &mut State, budget: &Budget) -> Result<Progress> {
        let OverIslands { sweeps, islands, relaxation } = self;
        if sweeps.passes == 0 {
            sweeps.begin = budget.seconds();
        } else {
            sweeps.look_ahead(islands, problem.has_live_bounds(), budget);
        }
        // The first pass is as long as a sweep over all rows: too much is gained by it.
        let (mut visits, mut look) = (0, if sweeps.passes == 0 { problem.len() } else { LOOK });
        (state.set_changes, state.w_is_exact) = (0, false);
        'pass: while visits < problem.len() {
            let rows = sweeps.choose(islands);
            if sweeps.chosen.is_empty() {
                break;
            }
            if rows as f64 >= MOST * problem.len() as f64 {
                sweeps.sweep_all(problem, state, islands, *relaxation)?;
                visits += problem.len();
                continue;
            }
            let enough = visits + problem.len() / PARTS;
            let mut before = usize::MAX;
            while before != visits && visits <= enough {
                before = visits;
                for c in 0..sweeps.chosen.len() {
                    let k = sweeps.chosen[c] as usize;
                    if sweeps.islands[k].is_done {
                        continue;
                    }
                    sweeps.sweep(problem, state, islands, k);
                    visits += islands.rows(k).len();
                    if visits >= look {
                        look = visits + LOOK;
                        if budget.spent() {
                            break 'pass;
                        }
                    }
                }
            }
        }
        sweeps.passes += 1;
        sweeps.visits += visits;
        state.change = sweeps.islands.iter().map(|island| island.error).sum();
        Ok(match sweeps.chosen.is_empty() {
            false => Progress::Continue,
            true if sweeps.aside > 0.0 => Progress::GivesWay,
            true => Progress::Stalled,
        })
    }
}
