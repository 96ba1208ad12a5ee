//! Principal pivots on a symmetric matrix, in place.
//!
//! Reference: Goodnight 1979 (the sweep operator). With the rows F swept, the tableau of A holds
//!
//! ```text
//! -A_FF⁻¹             A_FF⁻¹ A_FB
//!  A_BF A_FF⁻¹        A_BB - A_BF A_FF⁻¹ A_FB
//! ```
//!
//! and another pivot costs half a square. Rows that are never to leave F are better eliminated for good, which costs a
//! third of that: the first rows of the tableau then hold the factor of A = L D Lᵀ, and pivots go on in the rest.

use crate::error::{refill, reserve, Result};
use pulp::Arch;

/// Rows are padded to whole vectors of this many numbers.
const LANES: usize = 4;

/// The lower triangle of a symmetric matrix, row by row, and what pivots made of it.
pub struct Tableau {
    /// What lies above the diagonal is padding.
    t: Vec<f64>,
    stride: usize,
    n: usize,
    /// Rows eliminated for good.
    first: usize,
    /// The pivot's column.
    column: Vec<f64>,
    arch: Arch,
}

impl Default for Tableau {
    fn default() -> Self {
        Tableau { t: Vec::new(), stride: 0, n: 0, first: 0, column: Vec::new(), arch: Arch::new() }
    }
}

impl Tableau {
    /// Take memory for matrices of up to n by n.
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        let stride = n.next_multiple_of(LANES) + LANES;
        reserve(&mut self.t, n.saturating_mul(stride))?;
        reserve(&mut self.column, stride)
    }

    /// A matrix of zeros; its lower triangle is to be filled through [`Self::row_mut`].
    pub fn clear(&mut self, n: usize) -> Result<()> {
        (self.n, self.first) = (n, 0);
        self.stride = n.next_multiple_of(LANES) + LANES;
        refill(&mut self.t, n.saturating_mul(self.stride), 0.0)?;
        refill(&mut self.column, self.stride, 0.0)
    }

    /// Row i up to its diagonal.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.t[i * self.stride..][..=i]
    }

    /// Row i up to its diagonal.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.t[i * self.stride..][..=i]
    }

    /// Entry (i, i).
    #[inline]
    pub fn diagonal(&self, i: usize) -> f64 {
        self.t[i * self.stride + i]
    }

    /// Eliminate the first `count` rows for good. False if a pivot is not positive.
    pub fn eliminate(&mut self, count: usize) -> bool {
        let arch = self.arch;
        arch.dispatch(|| (0..count).all(|k| self.eliminate_next(k)))
    }

    #[inline(always)]
    fn eliminate_next(&mut self, k: usize) -> bool {
        let (n, stride) = (self.n, self.stride);
        let pivot = self.diagonal(k);
        // Also false for NaN.
        if !(pivot > 0.0) {
            return false;
        }
        let inverse = 1.0 / pivot;
        for i in k + 1..n {
            self.column[i] = self.t[i * stride + k];
        }
        for i in k + 1..n {
            // Joints of a chain are strangers to most others.
            if self.column[i] != 0.0 {
                let factor = inverse * self.column[i];
                let row = &mut self.t[i * stride..][..i + 1 + LANES];
                subtract(&mut row[k + 1..], factor, &self.column[k + 1..], i - k);
                row[k] = factor;
            }
        }
        self.first = k + 1;
        true
    }

    /// Carry a right-hand side through the elimination.
    pub fn forward(&self, q: &mut [f64]) {
        for i in 1..self.n {
            let row = self.row(i);
            let mut sum = 0.0;
            for k in 0..i.min(self.first) {
                sum += row[k] * q[k];
            }
            q[i] -= sum;
        }
    }

    /// The eliminated rows' y with `A y + q = 0` there, from q after [`Self::forward`] and the other rows' y.
    pub fn backward(&self, q: &[f64], y: &mut [f64]) {
        for k in 0..self.first {
            y[k] = -q[k] / self.diagonal(k);
        }
        for i in (1..self.n).rev() {
            let (above, rest) = y.split_at_mut(i);
            for (y, l) in above[..i.min(self.first)].iter_mut().zip(self.row(i)) {
                *y -= l * rest[0];
            }
        }
    }

    /// `out = T h` on the rows that were not eliminated.
    pub fn multiply(&self, h: &[f64], out: &mut [f64]) {
        let first = self.first;
        for i in first..self.n {
            let row = &self.row(i)[first..];
            let (mut sum, h_i) = (row[i - first] * h[i], h[i]);
            for ((out, t), h) in out[first..i].iter_mut().zip(row).zip(&h[first..i]) {
                *out += t * h_i;
                sum += t * h;
            }
            out[i] = sum;
        }
    }

    /// Add `scale` times column k to `out`, on the rows that were not eliminated.
    #[inline]
    pub fn add_column(&self, k: usize, scale: f64, out: &mut [f64]) {
        for (out, t) in out[self.first..=k].iter_mut().zip(&self.row(k)[self.first..]) {
            *out += scale * t;
        }
        for i in k + 1..self.n {
            out[i] += scale * self.t[i * self.stride + k];
        }
    }

    /// Row k enters F, or leaves it.
    pub fn pivot(&mut self, k: usize, enters: bool) {
        let arch = self.arch;
        arch.dispatch(|| self.pivot_now(k, enters));
    }

    #[inline(always)]
    fn pivot_now(&mut self, k: usize, enters: bool) {
        let (n, stride, first) = (self.n, self.stride, self.first);
        let inverse = 1.0 / self.diagonal(k);
        self.column[first..k].copy_from_slice(&self.t[k * stride + first..][..k - first]);
        self.column[k] = 0.0;
        for i in k + 1..n {
            self.column[i] = self.t[i * stride + k];
        }
        for i in first..n {
            if self.column[i] != 0.0 {
                let row = &mut self.t[i * stride + first..(i + 1) * stride];
                subtract(row, inverse * self.column[i], &self.column[first..], i + 1 - first);
            }
        }
        let scale = if enters { inverse } else { -inverse };
        for j in first..k {
            self.t[k * stride + j] = scale * self.column[j];
        }
        self.t[k * stride + k] = -inverse;
        for i in k + 1..n {
            self.t[i * stride + k] = scale * self.column[i];
        }
    }
}

/// `row -= factor column` on at least the first `len` entries, in whole vectors: what is beyond is padding.
#[inline(always)]
fn subtract(row: &mut [f64], factor: f64, column: &[f64], len: usize) {
    let vectors = len.div_ceil(LANES);
    let (row, _) = row.as_chunks_mut::<LANES>();
    let (column, _) = column.as_chunks::<LANES>();
    for (row, column) in row[..vectors].iter_mut().zip(&column[..vectors]) {
        for c in 0..LANES {
            row[c] -= factor * column[c];
        }
    }
}
