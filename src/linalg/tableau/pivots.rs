//! Pivots: rows enter F or leave it.
//!
//! A pivot changes all of the tableau, which is little arithmetic for much reading and writing. So up to four of them are
//! noted before it is touched. Of each only its column is kept: `c_k` as the pivots before left it, and `s_k`, what it has
//! become since. With the pivots `d_k = c_k,p_k`, the tableau then changes at once,
//!
//! ```text
//! t_ij ← t_ij - Σ_k c_k,i c_k,j / d_k        rows and columns p_k ← s_k
//! ```
//! or not at all, if nobody asks for it any more. On a few strips all that costs more than it saves.

use super::{Tableau, STRIP};
use pulp::{Simd, WithSimd};

/// Pivots that are noted before the tableau follows.
const FOUR: usize = 4;

/// Pivots that the tableau does not know of yet.
#[derive(Default)]
pub(super) struct Pending {
    count: usize,
    row: [usize; FOUR],
    inverse: [f64; FOUR],
    /// What a row has in its own column after the pivot: plus the inverse times the column if it entered, else minus.
    scale: [f64; FOUR],
    /// Padded as the tableau's rows are; the one behind the last is that of the row that was looked at.
    column: [Vec<f64>; FOUR],
    swept: [Vec<f64>; FOUR],
}

impl Pending {
    pub fn columns(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        self.column.iter_mut().chain(&mut self.swept)
    }

    pub fn clear(&mut self) {
        self.count = 0;
    }
}

impl Tableau {
    /// Entry (p, p): what row p would enter F with, or leave it.
    pub fn look(&mut self, p: usize) -> f64 {
        if self.has_few_strips() {
            self.diagonal(p)
        } else {
            self.arch.dispatch(Look { tableau: self, p })
        }
    }

    /// The row that was looked at last enters F or leaves it, with its entry (p, p) or another in its place. On the other rows
    /// that were not eliminated `value += step sign column`, with the column of before.
    pub fn pivot(&mut self, p: usize, pivot: f64, enters: bool, step: f64, sign: &[f64], value: &mut [f64]) {
        self.arch.dispatch(Pivot { tableau: self, p, pivot, enters, step, sign, value });
        if self.pending.count == FOUR {
            self.settle();
        }
    }

    /// Let the tableau follow its pivots.
    pub fn settle(&mut self) {
        if self.pending.count > 0 {
            self.arch.dispatch(Settle(self));
            self.pending.count = 0;
        }
    }
}

struct Look<'a> {
    tableau: &'a mut Tableau,
    p: usize,
}

impl WithSimd for Look<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Look { tableau: Tableau { t, origin, stride, n, first, pending, .. }, p } = self;
        let (n, stride, first) = (*n, *stride, *first);
        let Pending { count, row, inverse, scale, column, swept } = pending;
        let (before, rest) = column.split_at_mut(*count);
        let column = &mut rest[0][..stride];
        if let Some(k) = row[..*count].iter().rposition(|&row| row == p) {
            column.copy_from_slice(&swept[k][..stride]);
            return column[p];
        }
        let t = &t[*origin..];
        for (column, row) in column[first..p].iter_mut().zip(t[first * stride..].chunks_exact(stride)) {
            *column = row[p];
        }
        column[p..n].copy_from_slice(&t[p * stride..][p..n]);
        for (k, other) in before.iter().enumerate() {
            let entry = other[p];
            add(simd, column, -entry * inverse[k], &other[..stride], first);
            column[row[k]] = entry * scale[k];
        }
        column[p]
    }
}

struct Pivot<'a> {
    tableau: &'a mut Tableau,
    p: usize,
    pivot: f64,
    enters: bool,
    step: f64,
    sign: &'a [f64],
    value: &'a mut [f64],
}

impl WithSimd for Pivot<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.tableau.strips() {
            1 => self.whole::<S, 1>(simd),
            2 => self.whole::<S, 2>(simd),
            3 => self.whole::<S, 3>(simd),
            4 => self.whole::<S, 4>(simd),
            _ => self.note(simd),
        }
    }
}

impl Pivot<'_> {
    /// On many strips: note it.
    #[inline(always)]
    fn note<S: Simd>(self, simd: S) {
        let Pivot { tableau: Tableau { stride, n, first, pending, .. }, p, pivot, enters, step, sign, value } = self;
        let (n, stride, first) = (*n, *stride, *first);
        let Pending { count, row, inverse, scale, column, swept } = pending;
        let k = *count;
        let inverted = 1.0 / pivot;
        (row[k], inverse[k], scale[k]) = (p, inverted, if enters { inverted } else { -inverted });
        let column = &column[k][..stride];
        for ((value, sign), c) in value[first..n].iter_mut().zip(&sign[first..n]).zip(&column[first..n]) {
            *value += (step * sign) * c;
        }
        let (before, rest) = swept.split_at_mut(k);
        for (l, other) in before.iter_mut().enumerate() {
            let entry = column[row[l]];
            add(simd, &mut other[..stride], -entry * inverted, column, first);
            other[p] = entry * scale[k];
        }
        for (swept, c) in rest[0][first..n].iter_mut().zip(&column[first..n]) {
            *swept = scale[k] * c;
        }
        rest[0][p] = -inverted;
        *count += 1;
    }

    /// On few strips: on the whole square, where columns are rows, and without a branch.
    #[inline(always)]
    fn whole<S: Simd, const K: usize>(self, simd: S) {
        let Pivot { tableau, p: k, pivot, enters, step, sign, value } = self;
        tableau.complete();
        let Tableau { t, origin, stride, n, first, .. } = tableau;
        let (n, width, first) = (*n, *stride / STRIP, *first);
        let from = first / STRIP;
        let (t, _) = t[*origin..].as_chunks_mut::<STRIP>();
        let Some(&row) = t[k * width + from..].first_chunk::<K>() else { return };
        let place = k - STRIP * from;
        let inverse = 1.0 / pivot;
        let (scale, unit) = if enters { (inverse, -1.0) } else { (-inverse, 1.0) };
        // Strips are read and written as wholes only: one that was written in part would keep the next pivot waiting.
        // So column k is taken out by a factor of zero, and comes back as what `unit` makes of the rows' factors.
        let (mut other, mut keep) = (row, [[1.0; STRIP]; K]);
        for s in 0..K {
            for j in 0..STRIP {
                let is_pivot = STRIP * s + j == place;
                other[s][j] = if is_pivot { unit } else { row[s][j] };
                keep[s][j] = if is_pivot { 0.0 } else { 1.0 };
            }
        }
        let factors = other.map(|strip| strip.map(|v| -v * inverse));
        let factors = &factors.as_flattened()[first - STRIP * from..][..n - first];
        for (i, &factor) in (first..n).zip(factors) {
            if let Some(row) = t[i * width + from..].first_chunk_mut::<K>() {
                add_to_kept(simd, row, &keep, factor, &other);
            }
        }
        if let Some(row) = t[k * width + from..].first_chunk_mut::<K>() {
            *row = other.map(|strip| strip.map(|v| scale * v));
        }
        let column = &row.as_flattened()[first - STRIP * from..][..n - first];
        for ((value, sign), t) in value[first..n].iter_mut().zip(&sign[first..n]).zip(column) {
            *value += (step * sign) * t;
        }
    }
}

struct Settle<'a>(&'a mut Tableau);

impl WithSimd for Settle<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.0.pending.count {
            1 => settle::<S, 1>(simd, self.0),
            2 => settle::<S, 2>(simd, self.0),
            3 => settle::<S, 3>(simd, self.0),
            _ => settle::<S, FOUR>(simd, self.0),
        }
    }
}

#[inline(always)]
fn settle<S: Simd, const M: usize>(simd: S, tableau: &mut Tableau) {
    tableau.is_whole = false;
    let Tableau { t, origin, stride, n, first, pending, .. } = tableau;
    let (n, stride, first, strips) = (*n, *stride, *first, n.div_ceil(STRIP));
    let t = &mut t[*origin..];
    let Pending { row: places, inverse, column, swept, .. } = pending;
    let mut columns = [&[][..]; M];
    for k in 0..M {
        columns[k] = &column[k].as_chunks::<STRIP>().0[..strips];
    }
    for (i, row) in (first..n).zip(t[first * stride..].chunks_exact_mut(stride)) {
        let mut factors = [simd.splat_f64s(0.0); M];
        let mut bits = 0;
        for k in 0..M {
            let entry = columns[k][i / STRIP][i % STRIP];
            bits |= entry.to_bits();
            factors[k] = simd.splat_f64s(-entry * inverse[k]);
        }
        // Contacts far apart are strangers.
        if bits << 1 == 0 {
            continue;
        }
        let row = &mut row.as_chunks_mut::<STRIP>().0[..strips];
        for s in i / STRIP..strips {
            let (strip, _) = S::as_mut_simd_f64s(&mut row[s]);
            for (v, strip) in strip.iter_mut().enumerate() {
                let mut sum = *strip;
                for k in 0..M {
                    sum = simd.mul_add_e_f64s(factors[k], S::as_simd_f64s(&columns[k][s]).0[v], sum);
                }
                *strip = sum;
            }
        }
    }
    for k in 0..M {
        let (p, swept) = (places[k], &swept[k]);
        for (row, &s) in t[first * stride..].chunks_exact_mut(stride).zip(&swept[first..p]) {
            row[p] = s;
        }
        t[p * stride..][p..n].copy_from_slice(&swept[p..n]);
    }
}

/// `to += factor from`, in the strips from that column's on.
#[inline(always)]
fn add<S: Simd>(simd: S, to: &mut [f64], factor: f64, from: &[f64], first: usize) {
    let begin = first / STRIP * STRIP;
    let (to, from) = (S::as_mut_simd_f64s(&mut to[begin..]).0, S::as_simd_f64s(&from[begin..]).0);
    let factor = simd.splat_f64s(factor);
    for (to, from) in to.iter_mut().zip(from) {
        *to = simd.mul_add_e_f64s(factor, *from, *to);
    }
}

/// `row = keep row + factor other`.
#[inline(always)]
fn add_to_kept<S: Simd>(simd: S, row: &mut [[f64; STRIP]], keep: &[[f64; STRIP]], factor: f64, other: &[[f64; STRIP]]) {
    let factor = simd.splat_f64s(factor);
    for ((strip, keep), other) in row.iter_mut().zip(keep).zip(other) {
        let (strip, _) = S::as_mut_simd_f64s(strip);
        let ((keep, _), (other, _)) = (S::as_simd_f64s(keep), S::as_simd_f64s(other));
        for ((strip, keep), other) in strip.iter_mut().zip(keep).zip(other) {
            *strip = simd.mul_add_e_f64s(factor, *other, simd.mul_f64s(*keep, *strip));
        }
    }
}
