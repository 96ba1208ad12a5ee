//! Sparse QR factorisation that takes its rows one by one, in the caller's order (George and Heath 1980).
//!
//! After independent rows k_1 … k_i there is an upper trapezoidal R with `RᵀR = Σ k_j k_jᵀ`. Columns come in blocks of
//! six and are ordered to fill little; rows are not reordered, so a row that depends on rows *before* it can be told at
//! once. Givens rotations work on the rows themselves: distances are accurate to round-off, not to its root as with
//! `K Kᵀ`. Cost per row: the blocks on its path to the root of the elimination tree, times the length of their rows of R.
//!
//! R is not square: columns of motions that no row forbids have no pivot, and solutions with R set those unknowns to 0.
//! Pivots are chosen within a block, where a row is largest.

use super::block_pattern::{BlockPattern, NONE};
use crate::error::Result;
use crate::memory::refill;

/// Columns per block.
pub const BLOCK: usize = 6;

/// Entries of rows of length 1 that may be round-off, which grows with the coefficients of dependent rows. Less would make
/// noise a pivot, more would lose what small entries carry.
const NOISE: f64 = 1e-10;

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
    /// Where the rows of R that belong to a block begin in `r`; there are up to six, `width` doubles each.
    begin: Vec<usize>,
    r: Vec<f64>,
    /// How many rows a block has, and their pivot columns within it, in the order they came. A row is zero in the pivot
    /// columns of the rows before it.
    count: Vec<u8>,
    pivot: Vec<[u8; BLOCK]>,
    /// A row at work, in the new order; zero between calls.
    work: Vec<f64>,
    path: Vec<u32>,
    /// Rows of R before a row turned them, and which: block and number in it.
    saved: Vec<f64>,
    turned: Vec<(u32, u8)>,
    /// The block in which the last row became a row of R.
    opened: Option<usize>,
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
        refill(&mut self.count, n, 0)?;
        refill(&mut self.pivot, n, [0; BLOCK])?;
        refill(&mut self.work, BLOCK * n, 0.0)?;
        refill(&mut self.path, n, 0)
    }

    /// Doubles in a row of R of block p.
    fn width(&self, p: usize) -> usize {
        BLOCK * (1 + self.pattern.column[p + 1] - self.pattern.column[p])
    }

    /// Row i of block p in `r`.
    fn place(&self, p: usize, i: usize) -> std::ops::Range<usize> {
        let begin = self.begin[p] + i * self.width(p);
        begin..begin + self.width(p)
    }

    /// The columns of a row: `BLOCK` per block.
    pub fn columns(&self) -> usize {
        self.work.len()
    }

    /// Insert a row and return the norm of what the rotations leave of it: more than `tolerance` where a column has no
    /// pivot makes it a new row of R. If there is no such column the row depends on those before it, R stays as it was,
    /// and what is left is returned, negative.
    ///
    /// Rotations hardly magnify round-off, so a dependent row leaves 1e-14 or so.
    pub fn insert(&mut self, row: BlockRow<'_>, tolerance: f64) -> f64 {
        let (opened, dropped) = self.rotate_through(row, tolerance);
        if opened == 0.0 {
            self.restore();
            return -dropped;
        }
        if dropped > NOISE {
            // Independent, but its first blocks hold little: what was dropped there is no round-off and has to stay.
            self.restore();
            return self.rotate_through(row, NOISE).0;
        }
        opened
    }

    /// Rotate a row through R. In columns without a pivot it drops what is no more than `limit`; in the first block where
    /// it has more it becomes a row, with the largest entry there as its pivot. Returns the norm it opened with, 0 if it
    /// did not, and the norm of what it dropped.
    fn rotate_through(&mut self, row: BlockRow<'_>, limit: f64) -> (f64, f64) {
        self.load(row);
        self.saved.clear();
        self.turned.clear();
        self.opened = None;
        let (mut opened, mut dropped) = (0.0, 0.0f64);
        for k in 0..self.path.len() {
            let p = self.path[k] as usize;
            for i in 0..self.count[p] as usize {
                if self.work[BLOCK * p + self.pivot[p][i] as usize] != 0.0 {
                    self.saved.extend_from_slice(&self.r[self.place(p, i)]);
                    self.turned.push((p as u32, i as u8));
                    self.rotate(p, i);
                }
            }
            // Columns with a pivot are zero now.
            let left = &mut self.work[BLOCK * p..][..BLOCK];
            let largest = (0..BLOCK).max_by(|&a, &b| left[a].abs().total_cmp(&left[b].abs())).unwrap_or(0);
            if left[largest].abs() > limit {
                opened = self.rest(k);
                self.open(p, largest);
                break;
            }
            dropped = left.iter().fold(dropped, |sum, w| sum.hypot(*w));
            left.fill(0.0);
        }
        self.clear_path();
        (opened, dropped)
    }

    /// Undo what the last row did.
    fn restore(&mut self) {
        if let Some(p) = self.opened.take() {
            self.count[p] -= 1;
            let place = self.place(p, self.count[p] as usize);
            self.r[place].fill(0.0);
        }
        let mut from = 0;
        for k in 0..self.turned.len() {
            let place = self.place(self.turned[k].0 as usize, self.turned[k].1 as usize);
            let width = place.len();
            self.r[place].copy_from_slice(&self.saved[from..from + width]);
            from += width;
        }
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

    /// Norm of `work` from the k-th block of the path on.
    fn rest(&self, k: usize) -> f64 {
        let squares = self.path[k..].iter().flat_map(|&p| &self.work[BLOCK * p as usize..][..BLOCK]).map(|w| w * w);
        squares.sum::<f64>().sqrt()
    }

    /// Rotate row i of block p and `work` so that the latter loses its entry in the pivot column.
    fn rotate(&mut self, p: usize, i: usize) {
        let place = self.place(p, i);
        let pivot = self.pivot[p][i] as usize;
        let r = &mut self.r[place];
        let (a, b) = (r[pivot], self.work[BLOCK * p + pivot]);
        let length = a.hypot(b);
        let (cos, sin) = (a / length, b / length);
        let rows = &self.pattern.row[self.pattern.column[p]..self.pattern.column[p + 1]];
        for (r, q) in r.chunks_exact_mut(BLOCK).zip(std::iter::once(p).chain(rows.iter().map(|&q| q as usize))) {
            let work = &mut self.work[BLOCK * q..][..BLOCK];
            for c in 0..BLOCK {
                (r[c], work[c]) = (cos * r[c] + sin * work[c], cos * work[c] - sin * r[c]);
            }
        }
        self.work[BLOCK * p + pivot] = 0.0;
    }

    /// What is left in `work` becomes a row of block p.
    fn open(&mut self, p: usize, pivot: usize) {
        let i = self.count[p] as usize;
        let place = self.place(p, i);
        let rows = &self.pattern.row[self.pattern.column[p]..self.pattern.column[p + 1]];
        let blocks = std::iter::once(p).chain(rows.iter().map(|&q| q as usize));
        for (r, q) in self.r[place].chunks_exact_mut(BLOCK).zip(blocks) {
            r.copy_from_slice(&self.work[BLOCK * q..][..BLOCK]);
        }
        self.pivot[p][i] = pivot as u8;
        self.count[p] += 1;
        self.opened = Some(p);
    }

    /// work -= factor times row i of block p.
    fn subtract(&mut self, p: usize, i: usize, factor: f64) {
        let rows = &self.pattern.row[self.pattern.column[p]..self.pattern.column[p + 1]];
        let blocks = std::iter::once(p).chain(rows.iter().map(|&q| q as usize));
        for (r, q) in self.r[self.place(p, i)].chunks_exact(BLOCK).zip(blocks) {
            let work = &mut self.work[BLOCK * q..][..BLOCK];
            for c in 0..BLOCK {
                work[c] -= factor * r[c];
            }
        }
    }

    /// `RᵀR u = g`, in place, both in the caller's column order; a g in the span of the rows is assumed. Unknowns whose
    /// columns have no pivot are 0.
    pub fn solve(&mut self, g: &mut [f64]) {
        for (block, values) in g.chunks_exact(BLOCK).enumerate() {
            let p = self.pattern.place[block] as usize;
            self.work[BLOCK * p..][..BLOCK].copy_from_slice(values);
        }
        for p in 0..self.count.len() {
            let mut z = [0.0; BLOCK];
            for i in 0..self.count[p] as usize {
                let pivot = self.pivot[p][i] as usize;
                z[pivot] = self.work[BLOCK * p + pivot] / self.r[self.place(p, i)][pivot];
                self.subtract(p, i, z[pivot]);
            }
            self.work[BLOCK * p..][..BLOCK].copy_from_slice(&z);
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
        for p in (0..self.count.len()).rev() {
            let rows = &self.pattern.row[self.pattern.column[p]..self.pattern.column[p + 1]];
            for i in (0..self.count[p] as usize).rev() {
                let (pivot, r) = (self.pivot[p][i] as usize, &self.r[self.place(p, i)]);
                let mut sum = self.work[BLOCK * p + pivot];
                for c in (0..BLOCK).filter(|&c| c != pivot) {
                    sum -= r[c] * self.work[BLOCK * p + c];
                }
                for (r, &q) in r[BLOCK..].chunks_exact(BLOCK).zip(rows) {
                    let work = &self.work[BLOCK * q as usize..][..BLOCK];
                    sum -= (0..BLOCK).map(|c| r[c] * work[c]).sum::<f64>();
                }
                self.work[BLOCK * p + pivot] = sum / r[pivot];
            }
        }
    }
}
