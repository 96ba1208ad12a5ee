//! Sparse QR factorisation that takes its rows one by one, in the caller's order (George and Heath 1980).
//!
//! After rows k_1 … k_i there is an upper trapezoidal R with `RᵀR = Σ k_j k_jᵀ`. Columns come in blocks of six and are
//! ordered to fill little; rows are not reordered, so a row that depends on rows *before* it can be told at once. Givens
//! rotations work on the rows themselves: distances are accurate to round-off, not to its root as with `K Kᵀ`. Cost per
//! row: the blocks on its path to the root of the elimination tree, times the length of their rows of R.
//!
//! R is not square where columns are free: slots no row has reached stay empty. Solutions with R set those unknowns to 0.

use super::block_pattern::{BlockPattern, NONE};
use crate::error::{refill, Result};

/// Columns per block.
pub const BLOCK: usize = 6;

/// A sparse row: block numbers and six entries each.
#[derive(Clone, Copy)]
pub struct BlockRow<'a> {
    /// Numbers of the blocks, each at most once.
    pub blocks: &'a [u32],
    /// Their entries.
    pub values: &'a [[f64; BLOCK]],
}

/// R of the rows inserted so far.
#[derive(Default)]
pub struct RowQr {
    pattern: BlockPattern,
    /// Where the six rows of R that belong to a block begin in `r`.
    begin: Vec<usize>,
    r: Vec<f64>,
    /// Is there a row of R with this leading column?
    used: Vec<bool>,
    /// A row at work, in the new order; zero between calls.
    work: Vec<f64>,
    path: Vec<u32>,
}

impl RowQr {
    /// Begin anew with columns whose rows couple blocks as the symmetric pattern says (sorted, as for Cholesky): every
    /// pair of blocks that occurs in one row must be in it.
    pub fn analyse(&mut self, start: &[u32], index: &[u32]) -> Result<()> {
        self.pattern.analyse(start, index)?;
        let n = start.len() - 1;
        refill(&mut self.begin, n + 1, 0)?;
        for p in 0..n {
            self.begin[p + 1] = self.begin[p] + BLOCK * self.width(p);
        }
        refill(&mut self.r, self.begin[n], 0.0)?;
        refill(&mut self.used, BLOCK * n, false)?;
        refill(&mut self.work, BLOCK * n, 0.0)?;
        refill(&mut self.path, n, 0)
    }

    /// Take over another factor.
    pub fn copy_from(&mut self, other: &RowQr, start: &[u32], index: &[u32]) -> Result<()> {
        if !self.pattern.is(start, index) {
            self.analyse(start, index)?;
        }
        self.r.copy_from_slice(&other.r);
        self.used.copy_from_slice(&other.used);
        Ok(())
    }

    /// Doubles in a row of R of block p.
    fn width(&self, p: usize) -> usize {
        BLOCK * (1 + self.pattern.column[p + 1] - self.pattern.column[p])
    }

    /// The columns of a row: `BLOCK` per block.
    pub fn columns(&self) -> usize {
        self.used.len()
    }

    /// Entries of R.
    pub fn entries(&self) -> usize {
        self.r.len()
    }

    /// Spread a row over `work` and list the blocks it can reach, from the leaves to the root.
    fn load(&mut self, row: BlockRow<'_>) {
        self.path.clear();
        let mut first = NONE;
        for (&block, values) in row.blocks.iter().zip(row.values) {
            let p = self.pattern.place[block as usize];
            first = first.min(p);
            for (w, v) in self.work[BLOCK * p as usize..][..BLOCK].iter_mut().zip(values) {
                *w += v;
            }
        }
        while first != NONE {
            self.path.push(first);
            first = self.pattern.parent[first as usize];
        }
    }

    fn clear_path(&mut self) {
        for &p in &self.path {
            self.work[BLOCK * p as usize..][..BLOCK].fill(0.0);
        }
    }

    /// What multiples of R's rows leave of a row k, and what they take. Left: the norm of its entries in empty slots, not
    /// less than its distance from the span of the rows before it. Taken: `|R⁻ᵀ k|²`, the leverage of a row that is in R;
    /// it is 1 exactly where no other row can replace this one.
    pub fn split(&mut self, row: BlockRow<'_>) -> (f64, f64) {
        self.load(row);
        let (mut left, mut taken) = (0.0f64, 0.0);
        for k in 0..self.path.len() {
            let p = self.path[k] as usize;
            for s in 0..BLOCK {
                let w = self.work[BLOCK * p + s];
                if w == 0.0 {
                    continue;
                }
                if !self.used[BLOCK * p + s] {
                    left = left.hypot(w);
                    continue;
                }
                let factor = w / self.diagonal(p, s);
                self.subtract(p, s, factor);
                taken += factor * factor;
            }
        }
        self.clear_path();
        (left, taken)
    }

    fn diagonal(&self, p: usize, s: usize) -> f64 {
        self.r[self.begin[p] + s * self.width(p) + s]
    }

    /// work -= factor times row (p, s) of R.
    fn subtract(&mut self, p: usize, s: usize, factor: f64) {
        let width = self.width(p);
        let r = &self.r[self.begin[p] + s * width..][..width];
        for c in s..BLOCK {
            self.work[BLOCK * p + c] -= factor * r[c];
        }
        let rows = &self.pattern.row[self.pattern.column[p]..self.pattern.column[p + 1]];
        for (r, &q) in r[BLOCK..].chunks_exact(BLOCK).zip(rows) {
            let work = &mut self.work[BLOCK * q as usize..][..BLOCK];
            for c in 0..BLOCK {
                work[c] -= factor * r[c];
            }
        }
    }

    /// Rotate row (p, s) of R and `work` so that the latter loses its leading entry.
    fn rotate(&mut self, p: usize, s: usize) {
        let width = self.width(p);
        let r = &mut self.r[self.begin[p] + s * width..][..width];
        let (a, b) = (r[s], self.work[BLOCK * p + s]);
        let length = a.hypot(b);
        let (cos, sin) = (a / length, b / length);
        let turn = |r: &mut f64, w: &mut f64| (*r, *w) = (cos * *r + sin * *w, cos * *w - sin * *r);
        for c in s..BLOCK {
            turn(&mut r[c], &mut self.work[BLOCK * p + c]);
        }
        self.work[BLOCK * p + s] = 0.0;
        let rows = &self.pattern.row[self.pattern.column[p]..self.pattern.column[p + 1]];
        for (r, &q) in r[BLOCK..].chunks_exact_mut(BLOCK).zip(rows) {
            let work = &mut self.work[BLOCK * q as usize..][..BLOCK];
            for c in 0..BLOCK {
                turn(&mut r[c], &mut work[c]);
            }
        }
    }

    /// Insert a row. It opens the first empty slot where it has more than `noise` left and returns what it has there; 0
    /// if there is no such slot. With `noise` infinite only the rows that are there change.
    pub fn insert(&mut self, row: BlockRow<'_>, noise: f64) -> f64 {
        self.load(row);
        let mut opened = 0.0;
        'path: for k in 0..self.path.len() {
            let p = self.path[k] as usize;
            for s in 0..BLOCK {
                let w = self.work[BLOCK * p + s];
                if w == 0.0 {
                    continue;
                }
                if self.used[BLOCK * p + s] {
                    self.rotate(p, s);
                } else if w.abs() > noise {
                    self.open(p, s);
                    opened = w.abs();
                    break 'path;
                }
            }
        }
        self.clear_path();
        opened
    }

    /// What is left in `work` becomes row (p, s) of R.
    fn open(&mut self, p: usize, s: usize) {
        let width = self.width(p);
        let r = &mut self.r[self.begin[p] + s * width..][..width];
        r[s..BLOCK].copy_from_slice(&self.work[BLOCK * p + s..BLOCK * (p + 1)]);
        let rows = &self.pattern.row[self.pattern.column[p]..self.pattern.column[p + 1]];
        for (r, &q) in r[BLOCK..].chunks_exact_mut(BLOCK).zip(rows) {
            r.copy_from_slice(&self.work[BLOCK * q as usize..][..BLOCK]);
        }
        self.used[BLOCK * p + s] = true;
    }

    /// `RᵀR u = g`, in place, both in the caller's column order; a g in the span of the rows is assumed. Unknowns of
    /// empty slots are 0.
    pub fn solve(&mut self, g: &mut [f64]) {
        for (block, values) in g.chunks_exact(BLOCK).enumerate() {
            let p = self.pattern.place[block] as usize;
            self.work[BLOCK * p..][..BLOCK].copy_from_slice(values);
        }
        let n = self.pattern.order.len();
        for p in 0..n {
            for s in 0..BLOCK {
                if self.used[BLOCK * p + s] {
                    let z = self.work[BLOCK * p + s] / self.diagonal(p, s);
                    self.subtract(p, s, z);
                    self.work[BLOCK * p + s] = z;
                } else {
                    self.work[BLOCK * p + s] = 0.0;
                }
            }
        }
        self.solve_upper();
        for (block, values) in g.chunks_exact_mut(BLOCK).enumerate() {
            let p = self.pattern.place[block] as usize;
            values.copy_from_slice(&self.work[BLOCK * p..][..BLOCK]);
        }
        self.work.fill(0.0);
    }

    /// `R u = work`, in place.
    fn solve_upper(&mut self) {
        for p in (0..self.pattern.order.len()).rev() {
            let width = self.width(p);
            let rows = &self.pattern.row[self.pattern.column[p]..self.pattern.column[p + 1]];
            for s in (0..BLOCK).rev().filter(|s| self.used[BLOCK * p + s]) {
                let r = &self.r[self.begin[p] + s * width..][..width];
                let mut sum = self.work[BLOCK * p + s];
                for c in s + 1..BLOCK {
                    sum -= r[c] * self.work[BLOCK * p + c];
                }
                for (r, &q) in r[BLOCK..].chunks_exact(BLOCK).zip(rows) {
                    let work = &self.work[BLOCK * q as usize..][..BLOCK];
                    sum -= (0..BLOCK).map(|c| r[c] * work[c]).sum::<f64>();
                }
                self.work[BLOCK * p + s] = sum / r[s];
            }
        }
    }
}
