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
//! third of that: the first rows of the tableau then hold `D Lᵀ` of A = L D Lᵀ, and pivots go on in the rest.

use super::lanes::{at_least, at_most};
use crate::error::{refill, reserve, Result};
use pulp::{Arch, Simd, WithSimd};

/// Columns of a strip: rows are padded to whole ones, and kernels go along them strip by strip.
const STRIP: usize = 8;

/// The upper triangle of a symmetric matrix, row by row, and what pivots made of it.
pub struct Tableau {
    /// What lies left of the diagonal, or right of column n, is padding that nobody reads.
    t: Vec<f64>,
    stride: usize,
    n: usize,
    /// Rows eliminated for good.
    first: usize,
    /// The inverses of their pivots and, during sweeps, of the others' diagonals; and where they end: after that all is
    /// zero.
    inverse: Vec<f64>,
    end: Vec<u32>,
    /// The pivot's column, and during sweeps the velocities.
    column: Vec<f64>,
    /// The right-hand side during elimination, padded as the rows are.
    right: Vec<f64>,
    /// Which vector instructions there are.
    arch: Arch,
}

impl Default for Tableau {
    fn default() -> Self {
        Tableau {
            t: Vec::new(),
            stride: 0,
            n: 0,
            first: 0,
            inverse: Vec::new(),
            end: Vec::new(),
            column: Vec::new(),
            right: Vec::new(),
            arch: Arch::new(),
        }
    }
}

impl Tableau {
    /// So many numbers of padding at least follow the last column.
    pub const ROOM: usize = 3;

    fn stride(n: usize) -> usize {
        (n + Self::ROOM).next_multiple_of(STRIP)
    }

    /// Take memory for matrices of up to n by n.
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        reserve(&mut self.t, n.saturating_mul(Self::stride(n)))?;
        reserve(&mut self.inverse, n)?;
        reserve(&mut self.end, n)?;
        reserve(&mut self.right, Self::stride(n))?;
        reserve(&mut self.column, Self::stride(n))
    }

    /// A matrix of zeros; its upper triangle is to be filled through [`Self::row_mut`] or [`Self::rows_mut`].
    pub fn clear(&mut self, n: usize) -> Result<()> {
        (self.n, self.first) = (n, 0);
        self.stride = Self::stride(n);
        self.end.clear();
        refill(&mut self.t, n.saturating_mul(self.stride), 0.0)?;
        refill(&mut self.inverse, n, 0.0)?;
        refill(&mut self.right, self.stride, 0.0)?;
        refill(&mut self.column, self.stride, 0.0)
    }

    /// Row i from its diagonal on.
    #[inline]
    fn row(&self, i: usize) -> &[f64] {
        &self.t[i * self.stride..][i..self.n]
    }

    /// Row i from its diagonal on.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.t[i * self.stride..][i..self.n]
    }

    /// All rows with their padding, and how far apart they begin.
    pub fn rows_mut(&mut self) -> (&mut [f64], usize) {
        (&mut self.t, self.stride)
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

    /// Eliminate the first rows for good; each pivot is raised to the least one given for it. Carries a right-hand side
    /// along, as [`Self::forward`] does later.
    pub fn eliminate(&mut self, least: &[f64], q: &mut [f64]) -> Result<()> {
        refill(&mut self.end, least.len(), 0)?;
        self.right[..self.n].copy_from_slice(q);
        self.arch.dispatch(Eliminate { tableau: self, least });
        q.copy_from_slice(&self.right[..self.n]);
        Ok(())
    }

    /// Carry a right-hand side through the elimination.
    pub fn forward(&self, q: &mut [f64]) {
        for (k, (&inverse, &end)) in self.inverse.iter().zip(&self.end).enumerate() {
            let row = &self.t[k * self.stride..][k + 1..end as usize];
            let factor = q[k] * inverse;
            for (q, t) in q[k + 1..].iter_mut().zip(row) {
                *q -= factor * t;
            }
        }
    }

    /// The eliminated rows' y with `A y + q = 0` there, from q after [`Self::forward`] and the other rows' y.
    pub fn backward(&self, q: &[f64], y: &mut [f64]) {
        for (k, (&inverse, &end)) in self.inverse.iter().zip(&self.end).enumerate().rev() {
            let row = &self.t[k * self.stride..][k + 1..end as usize];
            // What was found last comes in last: the others need not wait for it.
            let known = y[k + 1..end as usize].iter().zip(row).rev();
            y[k] = -known.fold(q[k], |sum, (y, t)| sum + y * t) * inverse;
        }
    }

    /// `out = T h` on the rows that were not eliminated.
    pub fn multiply(&self, h: &[f64], out: &mut [f64]) {
        out[self.first..].fill(0.0);
        for i in self.first..self.n {
            let row = &self.row(i)[1..];
            let (h_i, mut sum) = (h[i], self.diagonal(i) * h[i]);
            for ((out, t), h) in out[i + 1..].iter_mut().zip(row).zip(&h[i + 1..]) {
                *out += t * h_i;
                sum += t * h;
            }
            out[i] += sum;
        }
    }

    /// Projected Gauss-Seidel sweeps over the rows that were not eliminated: y between its bounds, w its velocity.
    pub fn sweep(&mut self, sweeps: usize, least: &[f64], most: &[f64], y: &mut [f64], w: &mut [f64]) {
        if self.first < self.n {
            self.arch.dispatch(Sweep { tableau: self, sweeps, least, most, y, w });
        }
    }

    /// Row k enters F, or leaves it. Its column of before is in [`Self::column`], with 0 in place of the pivot.
    pub fn pivot(&mut self, k: usize, enters: bool) {
        self.arch.dispatch(Pivot { tableau: self, k, enters });
    }

    /// `value += step sign column`, with the column of the last pivot, on the rows that were not eliminated.
    pub fn add_column(&self, step: f64, sign: &[f64], value: &mut [f64]) {
        let rows = self.first..self.n;
        let (column, sign, value) = (&self.column[rows.clone()], &sign[rows.clone()], &mut value[rows]);
        self.arch.dispatch(|| {
            for ((value, sign), t) in value.iter_mut().zip(sign).zip(column) {
                *value += (step * sign) * t;
            }
        });
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
        let Tableau { t, stride, n, first, inverse, end, right, .. } = self.tableau;
        let (n, stride) = (*n, *stride / STRIP);
        let ((t, _), (right, _)) = (t.as_chunks_mut::<STRIP>(), right.as_chunks_mut::<STRIP>());
        for (i, end) in end.iter_mut().enumerate() {
            let row = &t[i * stride..][..stride];
            let mut last = stride;
            while last > i / STRIP + 1 && is_zero(&row[last - 1]) {
                last -= 1;
            }
            *end = n.min(STRIP * last) as u32;
        }
        for (k, &least) in self.least.iter().enumerate() {
            let stop = end[k] as usize;
            let strips = k / STRIP..(stop - 1) / STRIP + 1;
            let (above, below) = t.split_at_mut((k + 1) * stride);
            let row = &mut above[k * stride..];
            let pivot = &mut row[k / STRIP][k % STRIP];
            *pivot = pivot.max(least);
            let inverted = 1.0 / *pivot;
            inverse[k] = inverted;
            // Of the row's first strip the part up to the pivot does not count.
            let done = right[k / STRIP];
            subtract(simd, &mut right[strips.clone()], done[k % STRIP] * inverted, &row[strips.clone()]);
            right[k / STRIP][..=k % STRIP].copy_from_slice(&done[..=k % STRIP]);
            for (place, (i, &factor)) in (k + 1..stop).zip(&row.as_flattened()[k + 1..stop]).enumerate() {
                // Joints of a chain are strangers to most others.
                if factor != 0.0 {
                    let other = &mut below[place * stride..][i / STRIP..strips.end];
                    subtract(simd, other, factor * inverted, &row[i / STRIP..strips.end]);
                    if let Some(end) = end.get_mut(i) {
                        *end = (*end).max(stop as u32);
                    }
                }
            }
        }
        *first = self.least.len();
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
        let (n, stride, first) = (*n, *stride / STRIP, *first);
        let ((t, _), (column, _)) = (t.as_chunks_mut::<STRIP>(), column.as_chunks_mut::<STRIP>());
        let (own, at) = (k / STRIP, k % STRIP);
        let inverse = 1.0 / t[k * stride + own][at];
        let scale = if enters { inverse } else { -inverse };
        let (above, below) = t.split_at_mut(k * stride);
        let above = &mut above[first * stride..];
        let (row, below) = below.split_at_mut(stride);
        let column = &mut column[..stride];
        column[own..].copy_from_slice(&row[own..]);
        for (column, strips) in column.as_flattened_mut()[first..k].iter_mut().zip(above.chunks_exact(stride)) {
            *column = strips[own][at];
        }
        column[own][at] = 0.0;
        let column = &*column;
        let factors = column.as_flattened();
        for (place, (i, &factor)) in (first..).zip(&factors[first..k]).enumerate() {
            if factor != 0.0 {
                let strips = &mut above[place * stride..][..stride];
                subtract(simd, &mut strips[i / STRIP..], factor * inverse, &column[i / STRIP..]);
                strips[own][at] = scale * factor;
            }
        }
        for (place, (i, &factor)) in (k + 1..).zip(&factors[k + 1..n]).enumerate() {
            if factor != 0.0 {
                let strips = &mut below[place * stride..][i / STRIP..stride];
                subtract(simd, strips, factor * inverse, &column[i / STRIP..]);
            }
        }
        for (strip, column) in row[own..].iter_mut().zip(&column[own..]) {
            *strip = column.map(|v| scale * v);
        }
        row[own][at] = -inverse;
    }
}

struct Sweep<'a> {
    tableau: &'a mut Tableau,
    sweeps: usize,
    least: &'a [f64],
    most: &'a [f64],
    y: &'a mut [f64],
    w: &'a mut [f64],
}

impl WithSimd for Sweep<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Sweep { tableau: Tableau { t, stride, n, first, inverse, column, .. }, sweeps, least, most, y, w } = self;
        let (n, stride, first) = (*n, *stride, *first);
        // Left of the diagonal its mirror image, so that a column is read along a row.
        for i in first..n {
            let (above, below) = t.split_at_mut((i + 1) * stride);
            let row = &above[i * stride..][i + 1..n];
            for (below, &entry) in below.chunks_exact_mut(stride).zip(row) {
                below[i] = entry;
            }
        }
        for p in first..n {
            inverse[p] = 1.0 / t[p * stride + p];
        }
        let velocity = column;
        velocity[..n].copy_from_slice(w);
        let ((t, _), (velocity, _)) = (t.as_chunks::<STRIP>(), velocity.as_chunks_mut::<STRIP>());
        let stride = stride / STRIP;
        for _ in 0..sweeps {
            for p in first..n {
                let old = y[p];
                let target = old - velocity[p / STRIP][p % STRIP] * inverse[p];
                y[p] = at_most(at_least(target, least[p]), most[p]);
                let change = y[p] - old;
                if change != 0.0 {
                    let strips = first / STRIP..stride;
                    subtract(simd, &mut velocity[strips.clone()], -change, &t[p * stride..][strips]);
                }
            }
        }
        w[first..].copy_from_slice(&velocity.as_flattened()[first..n]);
    }
}

/// `row -= factor other`.
#[inline(always)]
fn subtract<S: Simd>(simd: S, row: &mut [[f64; STRIP]], factor: f64, other: &[[f64; STRIP]]) {
    let factor = simd.splat_f64s(-factor);
    for (strip, other) in row.iter_mut().zip(other) {
        let (strip, _) = S::as_mut_simd_f64s(strip);
        let (other, _) = S::as_simd_f64s(other);
        for (strip, other) in strip.iter_mut().zip(other) {
            *strip = simd.mul_add_e_f64s(factor, *other, *strip);
        }
    }
}

/// Are these all zero?
#[inline(always)]
fn is_zero(strip: &[f64; STRIP]) -> bool {
    // Without their signs, and without a branch for each.
    strip.iter().fold(0, |bits, v| bits | v.to_bits()) << 1 == 0
}
