//! Rows of a tableau eliminated for good, four at a time.
//!
//! Four pivots wait for each other, one division after the other, so that they are found first, from single numbers; then
//! the four rows are subtracted from each other and from all below them, strip by strip:
//!
//! ```text
//! row_i ← row_i - Σ_m (t_mi / pivot_m) row_m        m: the four, i: all behind them with something in their columns
//! ```
//! Rows end where they were told to, or where those subtracted from them did: chains of joints stay narrow.

use super::{Tableau, STRIP};
use pulp::{Simd, WithSimd};

/// Rows that are eliminated together.
const FOUR: usize = 4;

/// The first rows of a tableau, eliminated for good. Each pivot is raised to its least; `q` is carried along.
pub(super) struct Eliminate<'a> {
    pub tableau: &'a mut Tableau,
    pub least: &'a [f64],
    pub q: &'a mut [f64],
}

impl WithSimd for Eliminate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Eliminate { tableau, least, q } = self;
        let Tableau { t, origin, stride, n, first, is_whole, inverse, end, right, .. } = tableau;
        let (n, width, joints) = (*n, *stride / STRIP, least.len());
        let ((t, _), (right, _)) = (t[*origin..].as_chunks_mut::<STRIP>(), right.as_chunks_mut::<STRIP>());
        let mut rows = Rows { t, width, n, least, inverse, end, right, q };
        let fours = joints - joints % FOUR;
        // No closures: they would not be compiled for these vectors.
        for k in (0..fours).step_by(FOUR) {
            rows.eliminate::<S, FOUR>(simd, k);
        }
        for k in fours..joints {
            rows.eliminate::<S, 1>(simd, k);
        }
        q[joints..].copy_from_slice(&right.as_flattened()[joints..n]);
        *first = joints;
        *is_whole = false;
    }
}

/// What elimination changes.
struct Rows<'a> {
    t: &'a mut [[f64; STRIP]],
    width: usize,
    n: usize,
    least: &'a [f64],
    inverse: &'a mut [f64],
    end: &'a mut [u32],
    right: &'a mut [[f64; STRIP]],
    q: &'a mut [f64],
}

impl Rows<'_> {
    /// M rows from k on, which share a strip: first among themselves, then all others with the M of them at once.
    #[inline(always)]
    fn eliminate<S: Simd, const M: usize>(&mut self, simd: S, k: usize) {
        let Rows { t, width, n, least, inverse, end, right, q } = self;
        let (width, n, own, at) = (*width, *n, k / STRIP, k % STRIP);
        let (above, below) = t.split_at_mut((k + M) * width);
        let stop = end[k..k + M].iter().fold(0, |stop, &end| stop.max(end)) as usize;
        end[k..k + M].fill(stop as u32);
        let mut rest = &mut above[k * width..];
        let block: [_; M] = std::array::from_fn(|_| {
            let (row, behind) = std::mem::take(&mut rest).split_at_mut(width);
            rest = behind;
            &mut row[own..stop]
        });
        // Single numbers first: each pivot waits for the one before, and for nothing else.
        let (mut a, mut c) = ([[0.0; M]; M], [0.0; M]);
        for m in 0..M {
            a[m].copy_from_slice(&block[m][0][at..at + M]);
            c[m] = right[own][at + m];
        }
        let (mut factor, mut inverted) = ([[0.0; M]; M], [0.0; M]);
        for m in 0..M {
            let pivot = if a[m][m] < least[k + m] { least[k + m] } else { a[m][m] };
            inverted[m] = 1.0 / pivot;
            for j in m + 1..M {
                factor[m][j] = -a[m][j] * inverted[m];
                for l in j..M {
                    a[j][l] += factor[m][j] * a[m][l];
                }
                c[j] += factor[m][j] * c[m];
            }
        }
        inverse[k..k + M].copy_from_slice(&inverted);
        q[k..k + M].copy_from_slice(&c);
        let block = if M > 1 { along(simd, block, &factor) } else { block.map(|row| &*row) };
        let inverted = inverted.map(|v| simd.splat_f64s(-v));
        add_rows(simd, &mut right[own..stop], &c, &inverted, &block);
        for s in own..stop {
            let others = block.map(|row| &row[s - own..]);
            for i in (k + M).max(STRIP * s)..n.min(STRIP * (s + 1)) {
                let (mut entries, mut bits) = ([0.0; M], 0);
                for m in 0..M {
                    entries[m] = others[m][0][i % STRIP];
                    bits |= entries[m].to_bits();
                }
                // Joints of a chain are strangers to most others. A zero may have a sign, which is its first bit.
                if bits << 1 != 0 {
                    let row = &mut below[(i - k - M) * width..][s..stop];
                    add_rows(simd, row, &entries, &inverted, &others);
                    end[i] = end[i].max(stop as u32);
                }
            }
        }
    }
}

/// Subtract a block's rows from each other: `row_j += Σ_(m < j) factor_mj row_m`.
#[inline(always)]
fn along<'a, S: Simd, const M: usize>(
    simd: S,
    block: [&'a mut [[f64; STRIP]]; M],
    factor: &[[f64; M]; M],
) -> [&'a [[f64; STRIP]]; M] {
    let factor = factor.map(|row| row.map(|v| simd.splat_f64s(v)));
    for s in 0..block[0].len() {
        let mut rows = [[0.0; STRIP]; M];
        for m in 0..M {
            rows[m] = block[m][s];
        }
        for j in 1..M {
            let (before, row) = rows.split_at_mut(j);
            let (row, _) = S::as_mut_simd_f64s(&mut row[0]);
            for (v, sum) in row.iter_mut().enumerate() {
                for m in 0..j {
                    *sum = simd.mul_add_e_f64s(factor[m][j], S::as_simd_f64s(&before[m]).0[v], *sum);
                }
            }
            block[j][s] = rows[j];
        }
    }
    block.map(|row| &*row)
}

/// `row += Σ_m entries_m inverted_m other_m`.
#[inline(always)]
fn add_rows<S: Simd, const M: usize>(
    simd: S,
    row: &mut [[f64; STRIP]],
    entries: &[f64; M],
    inverted: &[S::f64s; M],
    others: &[&[[f64; STRIP]]; M],
) {
    let mut factors = *inverted;
    for m in 0..M {
        factors[m] = simd.mul_f64s(factors[m], simd.splat_f64s(entries[m]));
    }
    let others = others.map(|other| &other[..row.len()]);
    for s in 0..row.len() {
        let (strip, _) = S::as_mut_simd_f64s(&mut row[s]);
        for (v, strip) in strip.iter_mut().enumerate() {
            let mut sum = *strip;
            for m in 0..M {
                sum = simd.mul_add_e_f64s(factors[m], S::as_simd_f64s(&others[m][s]).0[v], sum);
            }
            *strip = sum;
        }
    }
}
