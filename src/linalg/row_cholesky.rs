//! Sparse Cholesky factorisation of a semidefinite matrix that takes its rows one by one, in the caller's order.
//!
//! `A_BB = L Lᵀ` for the rows B kept so far; a new row's `l = L⁻¹ a_B` leaves `a_ii - |l|²` of its diagonal entry: with
//! `A = K Kᵀ` the squared distance of its row of K from those of B. The elimination tree grows with the rows, and the row is
//! solved for along it. Rows are not reordered, so fill depends on the order given. Cost per row: the columns of L it meets.

use crate::error::Result;
use crate::memory::{refill, reserve};

const NONE: u32 = u32::MAX;

/// Distances that are beyond doubt: round-off is not looked for above.
const CLEAR: f64 = 1e-2;
/// Round-off in units of machine precision, for coefficients of size 1.
const ROUND_OFF: f64 = 64.0;

/// L of the rows inserted so far.
#[derive(Default)]
pub struct RowCholesky {
    /// Number of each row of the matrix among the kept ones.
    place: Vec<u32>,
    /// Below the diagonal, by columns: rows rising.
    columns: Vec<Vec<(u32, f64)>>,
    diagonal: Vec<f64>,
    parent: Vec<u32>,
    /// A row at work: numbers, zero between calls; which entries, and marks of them.
    work: Vec<f64>,
    reach: Vec<u32>,
    mark: Vec<u32>,
}

impl RowCholesky {
    /// Begin anew with a matrix of n rows.
    pub fn begin(&mut self, n: usize) -> Result<()> {
        refill(&mut self.place, n, NONE)?;
        refill(&mut self.work, n, 0.0)?;
        refill(&mut self.mark, n, NONE)?;
        self.columns.clear();
        self.diagonal.clear();
        self.parent.clear();
        reserve(&mut self.reach, n)
    }

    /// Insert row i, given by its entries in earlier rows (others are passed over) and its diagonal entry 1. Returns the
    /// distance left of it if that exceeds `tolerance` and round-off; else the row is dropped, and the distance negative.
    pub fn insert(&mut self, i: usize, entries: impl Iterator<Item = (usize, f64)>, tolerance: f64) -> f64 {
        self.load(entries);
        let mut left = 1.0;
        for k in 0..self.reach.len() {
            let j = self.reach[k] as usize;
            let l = self.work[j] / self.diagonal[j];
            self.work[j] = l;
            left -= l * l;
            for &(row, value) in &self.columns[j] {
                self.work[row as usize] -= value * l;
            }
        }
        let distance = left.abs().sqrt();
        let kept = left > tolerance * tolerance && (distance > CLEAR || left > self.round_off());
        if kept {
            self.keep(i, left.sqrt());
        }
        self.reach.iter().for_each(|&j| self.work[j as usize] = 0.0);
        if kept {
            distance
        } else {
            -distance
        }
    }

    /// Spread a row over `work` and find which columns it meets, rising.
    fn load(&mut self, entries: impl Iterator<Item = (usize, f64)>) {
        self.reach.clear();
        let stamp = self.diagonal.len() as u32;
        for (row, value) in entries {
            let mut j = self.place[row];
            if j == NONE {
                continue;
            }
            self.work[j as usize] = value;
            while j != NONE && self.mark[j as usize] != stamp {
                self.mark[j as usize] = stamp;
                self.reach.push(j);
                j = self.parent[j as usize];
            }
        }
        self.reach.sort_unstable();
        // The next row may come with as many kept.
        self.reach.iter().for_each(|&j| self.mark[j as usize] = NONE);
    }

    fn keep(&mut self, i: usize, pivot: f64) {
        let new = self.diagonal.len() as u32;
        self.place[i] = new;
        for &j in &self.reach {
            self.columns[j as usize].push((new, self.work[j as usize]));
            if self.parent[j as usize] == NONE {
                self.parent[j as usize] = new;
            }
        }
        self.columns.push(Vec::new());
        self.diagonal.push(pivot);
        self.parent.push(NONE);
    }

    /// What the matrix' own rounding may leave of the row in `work`: its coefficients L⁻ᵀ l say how much.
    fn round_off(&self) -> f64 {
        let mut c = self.work[..self.rank()].to_vec();
        self.solve_transposed(&mut c);
        let size = 1.0 + c.iter().map(|c| c.abs()).sum::<f64>();
        ROUND_OFF * f64::EPSILON * size * size
    }

    /// `A_BB x = b` in place, for the kept rows in their order.
    pub fn solve(&self, x: &mut [f64]) {
        for j in 0..x.len() {
            x[j] /= self.diagonal[j];
            for &(row, value) in &self.columns[j] {
                x[row as usize] -= value * x[j];
            }
        }
        self.solve_transposed(x);
    }

    fn solve_transposed(&self, x: &mut [f64]) {
        for j in (0..x.len()).rev() {
            let sum: f64 = self.columns[j].iter().map(|&(row, value)| value * x[row as usize]).sum();
            x[j] = (x[j] - sum) / self.diagonal[j];
        }
    }

    /// How many rows were kept.
    pub fn rank(&self) -> usize {
        self.diagonal.len()
    }
}
