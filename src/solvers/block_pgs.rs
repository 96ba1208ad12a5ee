//! Gauss-Seidel by contact: the rows of one contact are solved together.
//!
//! ```text
//! for every block B:  x_B ← solution of  w_B = A_BB x_B + (A x + b)_B - A_BB x_B_old,  lo_B(x_B) <= x_B <= hi_B(x_B)
//! ```
//! Reference: Jourdan, Alart, Jean 1998; Erleben 2007 for blocks in contact. A block is a normal row with the friction
//! rows that name it; every other row is a block of one. A contact that sticks is solved exactly, by elimination in
//! A_BB; one that slips or opens by projected sweeps inside the block, until they gain nothing. The friction bounds
//! follow the block's own normal impulse all the while. With relaxation ω the block moves by ω times the way.
//!
//! Cost per step: a sweep over A (`sweep.rs`) and a few dozen flops a block; A_BB is formed once at the start.
//! It wins where friction couples strongly to its normal row, since a contact never works against itself. It fails as
//! all sweeps do: high mass ratios and long chains need steps that grow with the condition number, and where the trouble
//! lies between contacts, as in the recorded stacks and walls, it needs as many as `pgs.rs`.

use super::sweep::{Rows, Sweeper, Swept, Visitor, ROUND_OFF};
use super::{require_positive_diagonal, Progress, Solver, State};
use crate::error::Result;
use crate::memory::{refill, reserve};
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use crate::Budget;

/// Rows of the largest block; more friction rows on one normal make further blocks.
const MOST: usize = 8;
/// Sweeps inside a block.
const INNER: usize = 20;
/// They end when a sweep's change has fallen to this share of the first one's.
const INNER_SHARE: f64 = 1e-12;
/// A pivot below this fraction of its diagonal: the block is singular.
const SINGULAR: f64 = 1e-12;

#[derive(Default)]
pub(super) struct BlockPgs {
    sweeper: Sweeper,
    relaxation: f64,
    /// Rows by block: `rows[first[k]..first[k + 1]]`, the normal first.
    rows: Vec<u32>,
    first: Vec<u32>,
    /// Of every row: the number of friction rows that name it, then where the next of them goes.
    followers: Vec<u32>,
    /// A_BB of every block by rows, and where each begins.
    entries: Vec<f64>,
    begin: Vec<usize>,
}

impl Solver for BlockPgs {
    fn check(&self, problem: &Problem) -> Result<()> {
        require_positive_diagonal(problem, SolverKind::BlockPgs)
    }

    fn follows_friction(&self, _: &Problem) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        let n = problem.len();
        self.sweeper.reserve(problem)?;
        reserve(&mut self.rows, n)?;
        reserve(&mut self.first, n + 1)?;
        reserve(&mut self.followers, n + 1)?;
        // No row has more than a block's width of entries.
        reserve(&mut self.entries, MOST * n)?;
        reserve(&mut self.begin, n)
    }

    fn start(&mut self, problem: &Problem, state: &mut State, settings: &Settings) -> Result<()> {
        self.relaxation = settings.relaxation;
        self.sweeper.start(problem, &state.x, settings.relaxation)?;
        self.find_blocks(problem)?;
        self.entries.clear();
        self.begin.clear();
        for block in self.first.windows(2) {
            self.begin.push(self.entries.len());
            let rows = &self.rows[block[0] as usize..block[1] as usize];
            for &i in rows {
                self.entries.extend(rows.iter().map(|&j| problem.operator().entry(i as usize, j as usize)));
            }
        }
        Ok(())
    }

    fn step(&mut self, problem: &Problem, state: &mut State, _: &Budget) -> Result<Progress> {
        let BlockPgs { sweeper, relaxation, rows, first, entries, begin, .. } = self;
        let visit = Visit { problem, relaxation: *relaxation, rows, first, entries, begin, x: &mut state.x };
        let swept = sweeper.visit(problem, visit);
        state.w_is_exact = false;
        state.change = swept.change;
        state.set_changes = swept.set_changes;
        Ok(if swept.change <= ROUND_OFF * swept.energy { Progress::Stalled } else { Progress::Continue })
    }
}

impl BlockPgs {
    /// List the rows by block, in the order of the normal rows.
    fn find_blocks(&mut self, problem: &Problem) -> Result<()> {
        let n = problem.len();
        refill(&mut self.followers, n + 1, 0)?;
        refill(&mut self.rows, n, 0)?;
        self.first.clear();
        let friction = problem.friction();
        for i in 0..n {
            // A row and its followers stand together, in the place of the row.
            self.followers[friction.normal_of(i).unwrap_or(i)] += 1;
        }
        let mut at = 0;
        for i in 0..n {
            let count = self.followers[i];
            self.first.extend((0..count).step_by(MOST).map(|k| at + k));
            self.followers[i] = at + u32::from(count > 0);
            if friction.normal_of(i).is_none() {
                self.rows[at as usize] = i as u32;
            }
            at += count;
        }
        self.first.push(at);
        for i in 0..n {
            if let Some(f) = friction.normal_of(i) {
                self.rows[self.followers[f] as usize] = i as u32;
                self.followers[f] += 1;
            }
        }
        Ok(())
    }
}

/// A pass over the blocks.
struct Visit<'a> {
    problem: &'a Problem,
    relaxation: f64,
    rows: &'a [u32],
    first: &'a [u32],
    entries: &'a [f64],
    begin: &'a [usize],
    x: &'a mut [f64],
}

impl Visitor for Visit<'_> {
    fn rows(self, mut all: impl Rows) -> Swept {
        let (a, b) = (self.problem.diagonal(), self.problem.b());
        let mut swept = Swept::default();
        for (block, &begin) in self.first.windows(2).zip(self.begin) {
            let rows = &self.rows[block[0] as usize..block[1] as usize];
            let m = rows.len();
            let mut block =
                Block { problem: self.problem, rows, a: &self.entries[begin..begin + m * m], c: [0.0; MOST] };
            let mut old = [0.0; MOST];
            for (p, &i) in rows.iter().enumerate() {
                old[p] = self.x[i as usize];
                block.c[p] = all.velocity(i as usize, self.x) + b[i as usize];
            }
            for p in 0..m {
                block.c[p] -= block.dot(p, &old);
            }
            if !block.stick(self.x) {
                block.sweep(self.x);
            }
            if self.relaxation != 1.0 {
                for (p, &i) in rows.iter().enumerate() {
                    self.x[i as usize] = old[p] + self.relaxation * (self.x[i as usize] - old[p]);
                    block.clamp(i as usize, self.x);
                }
            }
            for (p, &i) in rows.iter().enumerate() {
                let i = i as usize;
                let delta = self.x[i] - old[p];
                if !delta.is_finite() {
                    self.x[i] = old[p];
                } else if delta != 0.0 {
                    all.changed(i, delta);
                    swept.change += 0.5 * a[i] * delta * delta;
                    let (lo, hi) = self.problem.bounds_of(i, self.x);
                    let was_free = old[p] > lo && old[p] < hi;
                    swept.set_changes += usize::from(was_free != (self.x[i] > lo && self.x[i] < hi));
                }
                swept.energy += a[i] * self.x[i] * self.x[i];
            }
        }
        swept
    }
}

/// One contact's small problem `w = A_BB x_B + c`.
struct Block<'a> {
    problem: &'a Problem,
    rows: &'a [u32],
    a: &'a [f64],
    c: [f64; MOST],
}

impl Block<'_> {
    #[inline]
    fn dot(&self, p: usize, x: &[f64; MOST]) -> f64 {
        let m = self.rows.len();
        self.a[p * m..(p + 1) * m].iter().zip(x).map(|(a, x)| a * x).sum()
    }

    #[inline]
    fn clamp(&self, i: usize, x: &mut [f64]) {
        let (lo, hi) = self.problem.bounds_of(i, x);
        x[i] = x[i].max(lo).min(hi);
    }

    /// Solve with every row free. False, and x as it was, if the block is singular or the result beyond its bounds.
    fn stick(&self, x: &mut [f64]) -> bool {
        let m = self.rows.len();
        if m == 1 {
            return false;
        }
        let (mut a, mut r) = ([0.0; MOST * MOST], [0.0; MOST]);
        a[..m * m].copy_from_slice(self.a);
        for p in 0..m {
            r[p] = -self.c[p];
        }
        for k in 0..m {
            let pivot = a[k * m + k];
            if pivot.is_nan() || pivot <= SINGULAR * self.a[k * m + k] {
                return false;
            }
            for p in k + 1..m {
                let factor = a[p * m + k] / pivot;
                for q in k..m {
                    a[p * m + q] -= factor * a[k * m + q];
                }
                r[p] -= factor * r[k];
            }
        }
        for k in (0..m).rev() {
            for q in k + 1..m {
                r[k] -= a[k * m + q] * r[q];
            }
            r[k] /= a[k * m + k];
        }
        let mut old = [0.0; MOST];
        for (p, &i) in self.rows.iter().enumerate() {
            old[p] = std::mem::replace(&mut x[i as usize], r[p]);
        }
        let fits = self.rows.iter().all(|&i| {
            let (lo, hi) = self.problem.bounds_of(i as usize, x);
            x[i as usize] >= lo && x[i as usize] <= hi && x[i as usize].is_finite()
        });
        if !fits {
            for (p, &i) in self.rows.iter().enumerate() {
                x[i as usize] = old[p];
            }
        }
        fits
    }

    /// Projected sweeps inside the block.
    fn sweep(&self, x: &mut [f64]) {
        let m = self.rows.len();
        let mut own = [0.0; MOST];
        for (p, &i) in self.rows.iter().enumerate() {
            own[p] = x[i as usize];
        }
        let mut first = 0.0;
        for k in 0..INNER {
            let mut change = 0.0;
            for (p, &i) in self.rows.iter().enumerate() {
                let (i, a) = (i as usize, self.a[p * m + p]);
                let old = x[i];
                x[i] = old - (self.dot(p, &own) + self.c[p]) / a;
                self.clamp(i, x);
                if !x[i].is_finite() {
                    x[i] = old;
                }
                own[p] = x[i];
                change += a * (x[i] - old) * (x[i] - old);
            }
            if k == 0 {
                first = change;
            }
            if m == 1 || change <= INNER_SHARE * first {
                return;
            }
        }
    }
}
