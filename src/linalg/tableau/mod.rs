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

mod eliminate;
mod pivots;

use crate::error::Result;
use crate::linalg::{at_least, at_most, products, with_lanes, Kernel, Lanes, Two};
use crate::memory::{refill, reserve, resize};
use eliminate::Eliminate;
use pivots::Pending;
use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;

/// Columns of a strip: rows are padded to whole ones, and kernels go along them strip by strip.
const STRIP: usize = 8;
/// Up to so many strips the square is kept whole during pivots, and its rows are mirrored one by one.
const FEW: usize = 4;

/// The upper triangle of a symmetric matrix, row by row, and what pivots made of it.
pub struct Tableau {
    /// What lies left of the diagonal, right of column n or below row n is padding that nobody reads.
    t: Vec<f64>,
    /// Where it begins, so that a strip is a cache line.
    origin: usize,
    stride: usize,
    n: usize,
    /// Rows eliminated for good.
    first: usize,
    /// Does what lies left of the diagonal mirror what lies right of it?
    is_whole: bool,
    /// The inverses of their pivots and, during sweeps, of the others' diagonals.
    inverse: Vec<f64>,
    /// In how many strips each row ends: after that all is zero. Only elimination asks, and keeps it up.
    end: Vec<u32>,
    /// The velocities during sweeps, padded as the rows are.
    velocity: Vec<f64>,
    /// The right-hand side during elimination, padded as the rows are.
    right: Vec<f64>,
    pending: Pending,
    /// Which vector instructions there are.
    arch: Arch,
}

impl Default for Tableau {
    fn default() -> Self {
        Tableau {
            t: Vec::new(),
            origin: 0,
            stride: 0,
            n: 0,
            first: 0,
            is_whole: false,
            inverse: Vec::new(),
            end: Vec::new(),
            velocity: Vec::new(),
            right: Vec::new(),
            pending: Pending::default(),
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

    /// Numbers of a tableau: whole strips of rows, too.
    fn room(n: usize) -> usize {
        n.next_multiple_of(STRIP).saturating_mul(Self::stride(n)).saturating_add(STRIP)
    }

    /// Take memory for matrices of up to n by n.
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        reserve(&mut self.t, Self::room(n))?;
        reserve(&mut self.inverse, n)?;
        reserve(&mut self.end, n)?;
        reserve(&mut self.right, Self::stride(n))?;
        for column in self.pending.columns() {
            reserve(column, Self::stride(n))?;
        }
        reserve(&mut self.velocity, Self::stride(n))
    }

    /// A matrix of zeros; its upper triangle is to be filled through [`Self::row_mut`] or [`Self::rows_mut`].
    pub fn clear(&mut self, n: usize) -> Result<()> {
        self.shape(n)?;
        // With what nobody reads: it is all in one piece.
        self.t[self.origin..][..n * self.stride].fill(0.0);
        Ok(())
    }

    /// A matrix of any numbers; its whole upper triangle is to be filled.
    pub fn shape(&mut self, n: usize) -> Result<()> {
        (self.n, self.first, self.is_whole) = (n, 0, false);
        self.stride = Self::stride(n);
        // All but padding is overwritten.
        if self.t.len() < Self::room(n) {
            refill(&mut self.t, Self::room(n), 0.0)?;
        }
        self.origin = self.t.as_ptr().align_offset(STRIP * size_of::<f64>()).min(STRIP);
        self.pending.clear();
        // The last to grow: if it is long enough, all are.
        if self.velocity.len() < self.stride {
            for column in self.pending.columns().chain([&mut self.right, &mut self.velocity]) {
                refill(column, self.stride, 0.0)?;
            }
        }
        resize(&mut self.inverse, n, 0.0)?;
        refill(&mut self.end, n, n.div_ceil(STRIP) as u32)
    }

    /// A square matrix by rows, of which only the upper triangle is asked for; finds where its rows end.
    pub fn copy(&mut self, n: usize, rows: &[f64]) -> Result<()> {
        self.shape(n)?;
        self.arch.dispatch(Copy { tableau: self, rows });
        Ok(())
    }

    /// Row i from its diagonal on.
    #[inline]
    fn row(&self, i: usize) -> &[f64] {
        &self.t[self.origin + i * self.stride..][i..self.n]
    }

    /// Row i from its diagonal on.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        self.is_whole = false;
        &mut self.t[self.origin + i * self.stride..][i..self.n]
    }

    /// All rows with their padding, and how far apart they begin.
    pub fn rows_mut(&mut self) -> (&mut [f64], usize) {
        self.is_whole = false;
        (&mut self.t[self.origin..], self.stride)
    }

    /// These rows have nothing but zeros from that column on, which lies right of their diagonals.
    pub fn end_rows(&mut self, rows: Range<usize>, column: usize) {
        self.end[rows].fill(column.div_ceil(STRIP) as u32);
    }

    /// Overwrite the diagonal.
    pub fn set_diagonal(&mut self, diagonal: impl Iterator<Item = f64>) {
        for (t, a) in self.t[self.origin..].iter_mut().step_by(self.stride + 1).zip(diagonal) {
            *t = a;
        }
    }

    /// Entry (i, i).
    #[inline]
    pub fn diagonal(&self, i: usize) -> f64 {
        self.t[self.origin + i * self.stride + i]
    }

    /// Eliminate the first rows for good; each pivot is raised to the least one given for it. Carries a right-hand side
    /// along, as [`Self::forward`] does later.
    pub fn eliminate(&mut self, least: &[f64], q: &mut [f64]) {
        self.right[..self.n].copy_from_slice(q);
        self.arch.dispatch(Eliminate { tableau: self, least, q });
    }

    /// Carry a right-hand side through the elimination.
    pub fn forward(&self, q: &mut [f64]) {
        for (k, (&inverse, &end)) in self.inverse.iter().zip(&self.end[..self.first]).enumerate() {
            let row = &self.t[self.origin + k * self.stride..][k + 1..self.n.min(STRIP * end as usize)];
            let factor = q[k] * inverse;
            for (q, t) in q[k + 1..].iter_mut().zip(row) {
                *q -= factor * t;
            }
        }
    }

    /// The eliminated rows' y with `A y + q = 0` there, from q after [`Self::forward`] and the other rows' y.
    pub fn backward(&self, q: &[f64], y: &mut [f64]) {
        with_lanes(Backward { tableau: self, q, y });
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

    /// Projected Gauss-Seidel sweeps over the rows that were not eliminated: y between its ends, w its velocity. A row
    /// of whose diagonal no more is left than given for it stays where it is: its remainder may be round-off.
    pub fn sweep(&mut self, sweeps: usize, implied: &[f64], ends: (&[f64], &[f64]), y: &mut [f64], w: &mut [f64]) {
        if self.first < self.n {
            self.arch.dispatch(Sweep { tableau: self, sweeps, implied, ends, y, w });
        }
    }
}

impl Tableau {
    /// Have the rows that were not eliminated so few strips that they are kept whole?
    #[inline(always)]
    fn has_few_strips(&self) -> bool {
        self.strips() <= FEW
    }

    /// How many strips the rows have that were not eliminated.
    #[inline(always)]
    fn strips(&self) -> usize {
        self.n.div_ceil(STRIP) - self.first / STRIP
    }

    /// Write what lies right of the diagonal also left of it, so that a column can be read along a row; on the rows that
    /// were not eliminated. Pivots on many strips spoil it.
    #[inline(always)]
    fn complete(&mut self) {
        if self.is_whole {
            return;
        }
        self.is_whole = true;
        let (stride, n) = (self.stride, self.n);
        let is_small = self.has_few_strips();
        let t = &mut self.t[self.origin..];
        for i in if is_small { self.first..n } else { n..n } {
            let (above, below) = t.split_at_mut((i + 1) * stride);
            let row = &above[i * stride..][i + 1..n];
            for (below, &entry) in below.chunks_exact_mut(stride).zip(row) {
                below[i] = entry;
            }
        }
        let (t, width, last) = (t.as_chunks_mut::<STRIP>().0, stride / STRIP, n.div_ceil(STRIP));
        // Strip by strip: single numbers of rows that far apart compete for the same places in the cache.
        for s in if is_small { last..last } else { self.first / STRIP..last } {
            for u in s + 1..last {
                for j in 0..STRIP {
                    let mut column = [0.0; STRIP];
                    for i in 0..STRIP {
                        column[i] = t[(STRIP * s + i) * width + u][j];
                    }
                    t[(STRIP * u + j) * width + s] = column;
                }
            }
            for j in 1..STRIP {
                for i in 0..j {
                    t[(STRIP * s + j) * width + s][i] = t[(STRIP * s + i) * width + s][j];
                }
            }
        }
    }
}

struct Copy<'a> {
    tableau: &'a mut Tableau,
    rows: &'a [f64],
}

impl WithSimd for Copy<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Copy { tableau: Tableau { t, origin, stride, n, end, .. }, rows } = self;
        let (n, stride) = (*n, *stride);
        let rows = rows.chunks_exact(n.max(1)).zip(t[*origin..].chunks_exact_mut(stride));
        for (p, ((row, out), end)) in rows.zip(end).enumerate() {
            let mut last = p / STRIP + 1;
            let (from, to) = (row.as_chunks::<STRIP>().0, out.as_chunks_mut::<STRIP>().0);
            for s in p / STRIP..from.len() {
                to[s] = from[s];
                last = if is_zero(&from[s]) { last } else { s + 1 };
            }
            if n % STRIP > 0 {
                // The last whole strip's worth, of which the most is there already.
                match (row.last_chunk::<STRIP>(), out[..n].last_chunk_mut::<STRIP>()) {
                    (Some(row), Some(out)) => {
                        *out = *row;
                        last = if is_zero(row) { last } else { n.div_ceil(STRIP) };
                    }
                    _ => out[..n].copy_from_slice(row),
                }
            }
            *end = last as u32;
        }
    }
}

/// Is there nothing but zeros?
#[inline(always)]
fn is_zero(strip: &[f64; STRIP]) -> bool {
    let mut bits = 0;
    for v in strip {
        bits |= v.to_bits();
    }
    bits << 1 == 0
}

struct Backward<'a> {
    tableau: &'a Tableau,
    q: &'a [f64],
    y: &'a mut [f64],
}

impl Kernel for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let first = self.tableau.first;
        let fours = first - first % 4;
        for k in (fours..first).rev() {
            self.one(k);
        }
        for k in (0..fours).step_by(4).rev() {
            self.four(lanes, k);
        }
    }
}

impl Backward<'_> {
    fn one(&mut self, k: usize) {
        let Tableau { t, origin, stride, n, inverse, end, .. } = self.tableau;
        let stop = (*n).min(STRIP * end[k] as usize);
        let row = &t[origin + k * stride..][k + 1..stop];
        let sum = self.y[k + 1..stop].iter().zip(row).fold(self.q[k], |sum, (y, t)| sum + y * t);
        self.y[k] = -sum * inverse[k];
    }

    /// Four rows from k on, which end together: first what all of them need of the others, then one by one.
    #[inline(always)]
    fn four<L: Lanes>(&mut self, lanes: L, k: usize) {
        let Tableau { t, origin, stride, n, inverse, end, .. } = self.tableau;
        let stop = (*n).min(STRIP * end[k] as usize);
        let (y, tail) = self.y[k..stop].as_chunks_mut::<4>();
        let (mut rows, mut rests): ([&[_]; 4], [&[_]; 4]) = ([&[]; 4], [&[]; 4]);
        for r in 0..4 {
            (rows[r], rests[r]) = t[origin + (k + r) * stride..][k..stop].as_chunks::<4>();
        }
        let (own, known) = y.split_at_mut(1);
        let mut sums = lanes.store(products(lanes, rows.map(|row| &row[1..]), known));
        for (j, y) in tail.iter().enumerate() {
            for r in 0..4 {
                sums[r] += y * rests[r][j];
            }
        }
        let (Some(q), Some(inverse)) = (self.q[k..].first_chunk::<4>(), inverse[k..].first_chunk::<4>()) else {
            return;
        };
        // All that is known of them is scaled first: one by one they then wait for little.
        let mut found = [0.0; 4];
        for r in 0..4 {
            found[r] = -(q[r] + sums[r]) * inverse[r];
        }
        for c in (1..4).rev() {
            for r in 0..c {
                found[r] -= found[c] * (rows[r][0][c] * inverse[r]);
            }
        }
        // At once, as the next four rows will read them: they would have to wait for single numbers.
        own[0] = lanes.store(lanes.join(Two::load(&[found[0], found[1]]), Two::load(&[found[2], found[3]])));
    }
}

struct Sweep<'a> {
    tableau: &'a mut Tableau,
    sweeps: usize,
    implied: &'a [f64],
    ends: (&'a [f64], &'a [f64]),
    y: &'a mut [f64],
    w: &'a mut [f64],
}

impl WithSimd for Sweep<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Sweep { tableau, sweeps, implied, ends: (least, most), y, w } = self;
        tableau.complete();
        let Tableau { t, origin, stride, n, first, inverse, velocity, .. } = tableau;
        let (n, width, first, strips) = (*n, *stride / STRIP, *first, n.div_ceil(STRIP));
        let ((t, _), (velocity, _)) = (t[*origin..].as_chunks::<STRIP>(), velocity.as_chunks_mut::<STRIP>());
        for p in first..n {
            let left = t[p * width + p / STRIP][p % STRIP];
            inverse[p] = if left > implied[p] { 1.0 / left } else { 0.0 };
        }
        velocity.as_flattened_mut()[..n].copy_from_slice(w);
        let velocity = &mut velocity[..strips];
        let visit = Visit { t, width, rows: first..n, inverse, least, most };
        visit.all(simd, sweeps, y, velocity);
        w[first..].copy_from_slice(&velocity.as_flattened()[first..n]);
    }
}

/// What sweeps read.
struct Visit<'a> {
    t: &'a [[f64; STRIP]],
    width: usize,
    rows: Range<usize>,
    inverse: &'a [f64],
    least: &'a [f64],
    most: &'a [f64],
}

impl Visit<'_> {
    /// Move row p to where it is at rest, or its bound. How far that was?
    #[inline(always)]
    fn row(&self, p: usize, y: &mut f64, velocity: f64) -> f64 {
        let old = *y;
        *y = at_most(at_least(old - velocity * self.inverse[p], self.least[p]), self.most[p]);
        *y - old
    }

    /// All rows, so many times.
    #[inline(always)]
    fn all<S: Simd>(&self, simd: S, sweeps: usize, y: &mut [f64], velocity: &mut [[f64; STRIP]]) {
        let strips = self.rows.start / STRIP..velocity.len();
        // Each row's velocity is found before the others': what the last row's change does to them need not be awaited.
        let (mut change, mut last) = (0.0, &self.t[self.rows.start * self.width..]);
        for _ in 0..sweeps {
            for p in self.rows.clone() {
                let now = velocity.as_flattened()[p] + change * last[p / STRIP][p % STRIP];
                let next = self.row(p, &mut y[p], now);
                // A row that rests is mostly foreseen to, and then there is nothing to do.
                if change != 0.0 {
                    subtract(simd, &mut velocity[strips.clone()], -change, &last[strips.clone()]);
                }
                (change, last) = (next, &self.t[p * self.width..]);
            }
        }
        subtract(simd, &mut velocity[strips.clone()], -change, &last[strips]);
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
