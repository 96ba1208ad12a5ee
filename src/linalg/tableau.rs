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
use pulp::{Arch, Simd, WithSimd};

/// Rows are padded to whole vectors of this many numbers.
const LANES: usize = 8;

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
    /// Which vector instructions there are.
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
        let stride = n.next_multiple_of(LANES);
        reserve(&mut self.t, n.saturating_mul(stride))?;
        reserve(&mut self.column, stride)
    }

    /// A matrix of zeros; its lower triangle is to be filled through [`Self::row_mut`].
    pub fn clear(&mut self, n: usize) -> Result<()> {
        (self.n, self.first) = (n, 0);
        self.stride = n.next_multiple_of(LANES);
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

    /// Make entry (i, i) at least this, before row i enters F.
    #[inline]
    pub fn raise(&mut self, i: usize, least: f64) {
        let pivot = &mut self.t[i * self.stride + i];
        *pivot = pivot.max(least);
    }

    /// Eliminate the first rows for good; each pivot is raised to the least one given for it.
    pub fn eliminate(&mut self, least: &[f64]) {
        self.arch.dispatch(Eliminate { tableau: self, least });
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

    /// Row k enters F, or leaves it. Its column of before is in [`Self::column`], with 0 in place of the pivot.
    pub fn pivot(&mut self, k: usize, enters: bool) {
        self.arch.dispatch(Pivot { tableau: self, k, enters });
    }

    /// The column of the last pivot.
    pub fn column(&self) -> &[f64] {
        &self.column[..self.n]
    }
}

struct Eliminate<'a> {
    tableau: &'a mut Tableau,
    least: &'a [f64],
}

impl WithSimd for Eliminate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Tableau { t, stride, n, first, column, .. } = self.tableau;
        let (n, stride) = (*n, *stride);
        for (k, &least) in self.least.iter().enumerate() {
            let pivot = t[k * stride + k].max(least);
            t[k * stride + k] = pivot;
            for i in k + 1..n {
                column[i] = t[i * stride + k];
            }
            // Vectors begin at one place in all rows; what of them is before k + 1 must stay.
            let begin = (k + 1) / LANES * LANES;
            column[begin..=k].fill(0.0);
            for i in k + 1..n {
                // Joints of a chain are strangers to most others.
                if column[i] != 0.0 {
                    let factor = column[i] / pivot;
                    let row = &mut t[i * stride..(i + 1) * stride];
                    let end = (i + 1).next_multiple_of(LANES);
                    subtract(simd, &mut row[begin..end], factor, &column[begin..end]);
                    row[k] = factor;
                }
            }
            *first = k + 1;
        }
    }
}

struct Pivot<'a> {
    tableau: &'a mut Tableau,
    k: usize,
    enters: bool,
}

impl WithSimd for Pivot<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Pivot { tableau: Tableau { t, stride, n, first, column, .. }, k, enters } = self;
        let (n, stride, first) = (*n, *stride, *first);
        let inverse = 1.0 / t[k * stride + k];
        let begin = first / LANES * LANES;
        column[begin..first].fill(0.0);
        column[first..k].copy_from_slice(&t[k * stride + first..][..k - first]);
        column[k] = 0.0;
        for i in k + 1..n {
            column[i] = t[i * stride + k];
        }
        for i in first..n {
            if column[i] != 0.0 {
                let end = (i + 1).next_multiple_of(LANES);
                let row = &mut t[i * stride + begin..i * stride + end];
                subtract(simd, row, inverse * column[i], &column[begin..end]);
            }
        }
        let scale = if enters { inverse } else { -inverse };
        for (t, column) in t[k * stride + first..].iter_mut().zip(&column[first..k]) {
            *t = scale * column;
        }
        t[k * stride + k] = -inverse;
        for i in k + 1..n {
            t[i * stride + k] = scale * column[i];
        }
    }
}

/// `row -= factor column`, in whole vectors.
#[inline(always)]
fn subtract<S: Simd>(simd: S, row: &mut [f64], factor: f64, column: &[f64]) {
    let factor = simd.splat_f64s(-factor);
    let (row, _) = S::as_mut_simd_f64s(row);
    let (column, _) = S::as_simd_f64s(column);
    for (row, column) in row.iter_mut().zip(column) {
        *row = simd.mul_add_e_f64s(factor, *column, *row);
    }
}
