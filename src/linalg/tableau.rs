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

/// The most numbers of a vector; rows are padded to whole ones.
const LANES: usize = 8;

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
            arch: Arch::new(),
        }
    }
}

impl Tableau {
    /// So many numbers of padding at least follow the last column.
    pub const ROOM: usize = 3;

    fn stride(n: usize) -> usize {
        (n + Self::ROOM).next_multiple_of(LANES)
    }

    /// Take memory for matrices of up to n by n.
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        reserve(&mut self.t, n.saturating_mul(Self::stride(n)))?;
        reserve(&mut self.inverse, n)?;
        reserve(&mut self.end, n)?;
        reserve(&mut self.column, Self::stride(n))
    }

    /// A matrix of zeros; its upper triangle is to be filled through [`Self::row_mut`] or [`Self::rows_mut`].
    pub fn clear(&mut self, n: usize) -> Result<()> {
        (self.n, self.first) = (n, 0);
        self.stride = Self::stride(n);
        self.end.clear();
        refill(&mut self.t, n.saturating_mul(self.stride), 0.0)?;
        refill(&mut self.inverse, n, 0.0)?;
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

    /// Eliminate the first rows for good; each pivot is raised to the least one given for it.
    pub fn eliminate(&mut self, least: &[f64]) -> Result<()> {
        refill(&mut self.end, least.len(), 0)?;
        for i in 0..least.len() {
            let (quads, _) = self.t[i * self.stride..][..self.stride].as_chunks::<4>();
            let zero = quads[i / 4 + 1..].iter().rev().take_while(|quad| **quad == [0.0; 4]).count();
            self.end[i] = self.n.min(self.stride - 4 * zero) as u32;
        }
        self.arch.dispatch(Eliminate { tableau: self, least });
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
        let Tableau { t, stride, first, inverse, end, .. } = self.tableau;
        let stride = *stride;
        for (k, &least) in self.least.iter().enumerate() {
            let (above, below) = t.split_at_mut((k + 1) * stride);
            let row = &mut above[k * stride..];
            row[k] = row[k].max(least);
            inverse[k] = 1.0 / row[k];
            let stop = end[k] as usize;
            for (i, other) in (k + 1..stop).zip(below.chunks_exact_mut(stride)) {
                // Joints of a chain are strangers to most others.
                if row[i] != 0.0 {
                    let range = whole::<S>(i)..whole::<S>(stop - 1) + width::<S>();
                    subtract(simd, &mut other[range.clone()], row[i] * inverse[k], &row[range]);
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
        let (n, stride, first) = (*n, *stride, *first);
        let inverse = 1.0 / t[k * stride + k];
        let above = first * stride..k * stride;
        for (row, column) in t[above.clone()].chunks_exact(stride).zip(&mut column[first..k]) {
            *column = row[k];
        }
        column[k] = 0.0;
        column[k + 1..n].copy_from_slice(&t[k * stride..][k + 1..n]);
        let stop = whole::<S>(n - 1) + width::<S>();
        for (i, row) in (first..n).zip(t[first * stride..].chunks_exact_mut(stride)) {
            let factor = inverse * column[i];
            if factor != 0.0 {
                let range = whole::<S>(i)..stop;
                subtract(simd, &mut row[range.clone()], factor, &column[range]);
            }
        }
        let scale = if enters { inverse } else { -inverse };
        for (row, column) in t[above].chunks_exact_mut(stride).zip(&column[first..k]) {
            row[k] = scale * column;
        }
        let row = &mut t[k * stride..][..n];
        row[k] = -inverse;
        for (t, column) in row[k + 1..].iter_mut().zip(&column[k + 1..n]) {
            *t = scale * column;
        }
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
        let range = whole::<S>(first)..whole::<S>(n - 1) + width::<S>();
        let velocity = column;
        velocity[..n].copy_from_slice(w);
        for _ in 0..sweeps {
            for p in first..n {
                let row = &t[p * stride..][..stride];
                let old = y[p];
                y[p] = at_most(at_least(old - velocity[p] * inverse[p], least[p]), most[p]);
                let change = y[p] - old;
                if change != 0.0 {
                    subtract(simd, &mut velocity[range.clone()], -change, &row[range.clone()]);
                }
            }
        }
        w[first..].copy_from_slice(&velocity[first..n]);
    }
}

/// Numbers that are treated together.
const fn width<S: Simd>() -> usize {
    if S::F64_LANES > 4 {
        LANES
    } else {
        4
    }
}

/// The last number of whole vectors not above this.
const fn whole<S: Simd>(number: usize) -> usize {
    number / width::<S>() * width::<S>()
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
