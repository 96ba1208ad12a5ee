//! Sweeps over islands, those of the largest energy error first.
//!
//! A visit to a row changes its impulse by δ, and `½ a δ²` is what the row's energy error was at that moment. So a sweep
//! over an island tells the island's error, for nothing. Error per row is what a sweep may gain for its cost: the islands
//! that have no less of it than the mean are swept, in place, on the rows and body velocities of the whole problem; then
//! they are chosen anew.
//!
//! Each island has conjugate directions of its own, as in `nncg.rs`:
//!
//! ```text
//! z ← z + p,   x = PGS(z),   g = x - z,   β = gᵀDg / g₋ᵀDg₋,   p = g + β p₋     (β > 1: p = 0, z = x)
//! ```
//! The whitened velocities of z follow by the same recursion, so that a step costs hardly more than a plain sweep.
//!
//! An island that has cost as much as its solution by pivots would is set aside: whatever comes later, that is at most twice
//! the cost of the better choice. When no other island has more error for its cost than one that was set aside, it is time
//! for pivots.

use super::row_sweep::as_range;
use super::sweep::{Sweeper, ROUND_OFF};
use super::{require_positive_diagonal, Progress, Solver, State};
use crate::error::{refill, reserve, Result};
use crate::linalg::{at_least, at_most};
use crate::problem::{Islands, Problem};
use crate::settings::{Settings, SolverKind};
use crate::Budget;
use std::ops::Range;

/// Pivots on a dense tableau cost about so many visits for each pair of rows.
const VISITS_PER_PAIR: f64 = 2.0;
/// Beyond so many rows factors are sparse, and pivots cost as many sweeps on any island.
const SPARSE: usize = 256;
/// How much more a first sweep gains than the next ones.
const FIRST_GAIN: f64 = 16.0;
/// Islands with so much of the mean error per row are swept: all of them, if they are all alike.
const SHARE: f64 = 0.75;
/// Choosing islands anew must not cost more than sweeping them: one part in so many of all rows is visited in between.
const PARTS: usize = 4;
/// Visits between two looks at the clock.
const LOOK: usize = 512;

/// What a solution by pivots may cost, in visits to a row.
pub fn cost_of_pivots(rows: usize) -> f64 {
    VISITS_PER_PAIR * rows as f64 * rows.min(SPARSE) as f64
}

/// The memory of such sweeps.
#[derive(Default)]
pub struct IslandSweeps {
    sweeper: Sweeper,
    impulses: Ahead<1>,
    /// Of the whitened velocities.
    velocities: Ahead<6>,
    islands: Vec<Island>,
    /// Those to sweep now.
    chosen: Vec<u32>,
    /// The most error for its cost by pivots on an island that was set aside.
    aside: f64,
    passes: usize,
}

/// How sweeps over an island went.
#[derive(Clone, Copy, Debug, Default)]
struct Island {
    error: f64,
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
        OverIslands { sweeps: self, islands }
    }

    /// Take memory for any islands of a problem.
    pub fn reserve(&mut self, problem: &Problem) -> Result<()> {
        self.impulses.reserve(problem.len())?;
        self.velocities.reserve(problem.bodies())?;
        reserve(&mut self.islands, problem.len())?;
        reserve(&mut self.chosen, problem.len())?;
        self.sweeper.reserve(problem)
    }

    /// Choose the islands to sweep now. None: sweeps no longer pay.
    fn choose(&mut self, islands: &Islands) {
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
    }

    /// Sweep an island once.
    fn sweep(&mut self, problem: &Problem, state: &mut State, islands: &Islands, k: usize) {
        let IslandSweeps { sweeper, impulses, velocities, .. } = self;
        let (x, rows, bodies, at) = (&mut state.x, islands.rows(k), islands.bodies(k), islands.rows_before(k));
        let Island { last, sweeps, .. } = self.islands[k];
        let cost = cost_of_pivots(rows.len());
        if sweeps == 0 {
            sweeper.enter_list(problem, x, rows, at);
            impulses.restart(rows, x);
            velocities.restart(bodies, sweeper.y());
        } else {
            impulses.advance(rows, x);
            velocities.advance(bodies, sweeper.y());
        }
        let swept = sweeper.sweep_list(problem, x, rows, at, problem.friction_bounds());
        state.set_changes += swept.set_changes;
        let size = 2.0 * swept.change;
        let beta = if last > 0.0 { size / last } else { 0.0 };
        let rests = swept.change <= ROUND_OFF * swept.energy;
        if rests || beta > 1.0 {
            impulses.restart(rows, x);
            velocities.restart(bodies, sweeper.y());
        } else {
            impulses.turn(rows, x, beta);
            velocities.turn(bodies, sweeper.y(), beta);
        }
        let error = if swept.change.is_nan() { f64::INFINITY } else { swept.change };
        let is_dear = ((sweeps + 1) * rows.len()) as f64 >= cost || error == f64::INFINITY;
        if is_dear {
            self.aside = self.aside.max(error / cost);
        }
        self.islands[k] = Island {
            error,
            // A plain sweep that changes nothing has arrived; one from a point ahead has not.
            is_done: is_dear || (rests && last == 0.0),
            last: if rests { 0.0 } else { size },
            sweeps: sweeps + 1,
        };
    }
}

/// Sweeps over the islands of a problem.
pub struct OverIslands<'a> {
    sweeps: &'a mut IslandSweeps,
    islands: &'a Islands,
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
        let OverIslands { sweeps, islands } = self;
        sweeps.impulses.start(problem.len())?;
        sweeps.velocities.start(problem.bodies())?;
        sweeps.sweeper.start_lists(problem, settings.relaxation)?;
        (sweeps.aside, sweeps.passes) = (0.0, 0);
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
        let OverIslands { sweeps, islands } = self;
        // The first pass is as long as a sweep over all rows: too much is gained by it.
        let (mut visits, mut look) = (0, if sweeps.passes == 0 { problem.len() } else { LOOK });
        (state.set_changes, state.w_is_exact) = (0, false);
        'pass: while visits < problem.len() {
            sweeps.choose(islands);
            if sweeps.chosen.is_empty() {
                break;
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
        state.change = sweeps.islands.iter().map(|island| island.error).sum();
        Ok(match sweeps.chosen.is_empty() {
            false => Progress::Continue,
            true if sweeps.aside > 0.0 => Progress::GivesWay,
            true => Progress::Stalled,
        })
    }
}
