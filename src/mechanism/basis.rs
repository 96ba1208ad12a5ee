//! The rows of a problem on one scale, those that are kept, and the others as sums of them.
//!
//! Rows are taken in the caller's order; those of which a distance is left after the ones before are kept. From Jacobian
//! rows K the distance comes by a sparse QR factorisation, to round-off; from a matrix `A = K Kᵀ` by a sparse Cholesky
//! factorisation, to the root of round-off. Either way it is a pure number between 0 and 1.

use super::condition::{condition, Operator};
use super::scaled_rows::ScaledRows;
use crate::error::Result;
use crate::linalg::{RowCholesky, RowQr, BLOCK};
use crate::problem::Problem;
use nalgebra::DVector;

#[derive(Default)]
pub(super) struct Basis {
    pub rows: ScaledRows,
    /// R of the kept rows of K, or L of the kept rows of A.
    qr: RowQr,
    cholesky: RowCholesky,
    kept: Vec<usize>,
    is_kept: Vec<bool>,
}

impl Basis {
    /// Take the chosen rows of a problem; none is kept yet.
    pub fn fill(&mut self, problem: &Problem, chosen: impl Fn(usize) -> bool) -> Result<()> {
        self.rows.fill(problem, chosen)?;
        self.kept.clear();
        self.is_kept.clear();
        if self.rows.whitened {
            let (start, index) = self.rows.graph();
            self.qr.analyse(&start, &index)
        } else {
            self.cholesky.begin(self.rows.len())
        }
    }

    /// The next row: the distance left of it, negative if no more than the tolerance, or than round-off.
    pub fn insert(&mut self, tolerance: f64) -> f64 {
        let k = self.is_kept.len();
        let row = self.rows.row(k);
        let left = if self.rows.whitened {
            self.qr.insert(row, tolerance)
        } else if row.blocks.is_empty() {
            0.0
        } else {
            let entries = row.blocks.iter().zip(row.values).flat_map(|(&block, values)| {
                values.iter().enumerate().map(move |(c, &v)| (BLOCK * block as usize + c, v))
            });
            self.cholesky.insert(k, entries.filter(|&(j, v)| j < k && v != 0.0), tolerance)
        };
        self.is_kept.push(left > 0.0);
        if left > 0.0 {
            self.kept.push(k);
        }
        left
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_kept(&self, k: usize) -> bool {
        self.is_kept[k]
    }

    /// With redundant rows `K_R = S K_B` of the kept ones: values y of kept rows (others are ignored) become `S y` in the
    /// redundant rows.
    pub fn carry(&mut self, y: &mut [f64]) {
        let u = if self.rows.whitened {
            let mut u = self.gather(y, true);
            self.qr.solve(&mut u);
            u
        } else {
            self.spread(&self.solve_kept(self.kept.iter().map(|&k| y[k]).collect()))
        };
        for k in (0..y.len()).filter(|&k| !self.is_kept[k]) {
            y[k] = self.rows.dot(k, &u);
        }
    }

    /// The coefficients of kept rows in a sum of redundant ones: values z of redundant rows (others are ignored) become
    /// `Sᵀ z` in the kept rows and 0 in themselves. A second round removes the round-off of the first.
    pub fn carry_back(&mut self, z: &mut [f64]) {
        let whole = self.gather(z, false);
        let mut sum = vec![0.0; z.len()];
        for _ in 0..2 {
            let mut u = self.gather(&sum, true);
            u.iter_mut().zip(&whole).for_each(|(u, whole)| *u = whole - *u);
            if self.rows.whitened {
                self.qr.solve(&mut u);
                self.kept.iter().for_each(|&k| sum[k] += self.rows.dot(k, &u));
            } else {
                let c = self.solve_kept(self.kept.iter().map(|&k| u[k]).collect());
                self.kept.iter().zip(c).for_each(|(&k, c)| sum[k] += c);
            }
        }
        z.copy_from_slice(&sum);
    }

    /// The sum of y_k times row k over the kept rows, or over the others.
    fn gather(&self, y: &[f64], kept: bool) -> Vec<f64> {
        let mut u = vec![0.0; BLOCK * self.rows.width];
        for (k, y) in y.iter().enumerate().filter(|(k, y)| **y != 0.0 && self.is_kept[*k] == kept) {
            self.rows.add(k, *y, &mut u);
        }
        u
    }

    /// The same of the kept rows alone.
    fn gather_kept(&self, y: &[f64]) -> Vec<f64> {
        let mut u = vec![0.0; BLOCK * self.rows.width];
        self.kept.iter().zip(y).for_each(|(&k, y)| self.rows.add(k, *y, &mut u));
        u
    }

    /// `A_BB⁻¹ y` of a matrix.
    fn solve_kept(&self, mut y: Vec<f64>) -> Vec<f64> {
        self.cholesky.solve(&mut y);
        y
    }

    /// Values of kept rows into the columns of a matrix.
    fn spread(&self, y: &[f64]) -> Vec<f64> {
        let mut u = vec![0.0; BLOCK * self.rows.width];
        self.kept.iter().zip(y).for_each(|(&k, y)| u[k] = *y);
        u
    }

    /// Of the kept rows' A, scaled to unit diagonal.
    pub fn condition(&mut self) -> f64 {
        condition(self.kept.len(), self)
    }
}

impl Operator for Basis {
    fn multiply(&mut self, x: &DVector<f64>) -> DVector<f64> {
        let u = if self.rows.whitened { self.gather_kept(x.as_slice()) } else { self.spread(x.as_slice()) };
        DVector::from_iterator(x.len(), self.kept.iter().map(|&k| self.rows.dot(k, &u)))
    }

    /// `K_B (RᵀR)⁻² K_Bᵀ` is the inverse of `K_B K_Bᵀ` but for motions that no row forbids.
    fn precondition(&mut self, x: &DVector<f64>) -> DVector<f64> {
        if !self.rows.whitened {
            return DVector::from_vec(self.solve_kept(x.as_slice().to_vec()));
        }
        let mut u = self.gather_kept(x.as_slice());
        self.qr.solve(&mut u);
        self.qr.solve(&mut u);
        DVector::from_iterator(x.len(), self.kept.iter().map(|&k| self.rows.dot(k, &u)))
    }
}
