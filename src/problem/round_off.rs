//! How far a computed `w = A x + b` may be from the true one.
//!
//! ```text
//! |fl(w_i) - w_i| <= γ_m Σ_j |a_ij| |x_j| + u |w_i|,        γ_m = m u / (1 - m u),   u = 2⁻⁵³
//! ```
//! m counts the roundings behind an entry of A x (Higham 2002, sections 3.1 and 3.5); b is added last and rounded once.
//! For two-body rows the sum runs over the factors, |K| |K|ᵀ |x| plus compliance, and m counts the roundings of the
//! factors too.

use super::{Operator, Problem};
use crate::error::Result;
use crate::memory::refill;

/// Unit round-off.
const U: f64 = 0.5 * f64::EPSILON;
/// Roundings of an entry of A x beside its sum over rows, on two-body rows: the root of a body's inverse mass, a row
/// times it, twice, twelve products, and compliance.
const OF_FACTORS: usize = 48;

/// γ_m: what m roundings may add up to, relative to the sum of sizes.
pub fn gamma(m: usize) -> f64 {
    let mu = m as f64 * U;
    if mu < 0.5 {
        mu / (1.0 - mu)
    } else {
        f64::INFINITY
    }
}

impl Problem {
    /// Do all entries keep `|a_ij| <= c sqrt(a_ii a_jj)` with a c hardly above 1, as those of a positive semidefinite matrix do?
    pub fn is_dominated(&self) -> bool {
        self.is_dominated
    }

    /// Roundings behind any entry of A x, at most.
    pub fn roundings(&self) -> usize {
        self.len() + if self.bodies() > 0 { OF_FACTORS } else { 1 }
    }

    /// Write a bound of the round-off in every row of `w = A x + b` to `out`, in the unit of w; `w` is what was computed.
    /// `scratch` is used by two-body rows alone.
    pub fn bound_round_off(&self, x: &[f64], w: &[f64], out: &mut [f64], scratch: &mut Vec<f64>) -> Result<()> {
        match self.operator() {
            Operator::Dense(a) => {
                let gamma = gamma(self.roundings());
                for (i, out) in out.iter_mut().enumerate() {
                    *out = gamma * a.row(i).iter().zip(x).map(|(a, x)| (a * x).abs()).sum::<f64>();
                }
            }
            Operator::Csr(a) => {
                for (i, out) in out.iter_mut().enumerate() {
                    let (sum, entries) = a.row(i).fold((0.0, 1), |(sum, k), (j, a)| (sum + (a * x[j]).abs(), k + 1));
                    *out = gamma(entries) * sum;
                }
            }
            Operator::Jacobian(a) => {
                let (bodies, six) = (a.bodies() + 1, a.whitened_len());
                // Sizes of the bodies' sums, then how many rows each sum has.
                refill(scratch, six + bodies, 0.0)?;
                let (sums, counts) = scratch.split_at_mut(six);
                for (row, x) in a.rows().iter().zip(x) {
                    for (half, &body) in row.body.iter().enumerate() {
                        let body = body as usize;
                        counts[body] += 1.0;
                        for (sum, k) in sums[6 * body..][..6].iter_mut().zip(&row.k[6 * half..]) {
                            *sum += (k * x).abs();
                        }
                    }
                }
                // The world's sum is never asked for: no row has entries there.
                let most = counts[..bodies - 1].iter().fold(0.0, |most: f64, &count| most.max(count));
                let gamma = gamma(most as usize + OF_FACTORS);
                for (i, (row, out)) in a.rows().iter().zip(out.iter_mut()).enumerate() {
                    let mut sum = a.compliance()[i] * x[i].abs();
                    for (half, &body) in row.body.iter().enumerate() {
                        let of_body = &sums[6 * body as usize..][..6];
                        sum += of_body.iter().zip(&row.k[6 * half..]).map(|(s, k)| s * k.abs()).sum::<f64>();
                    }
                    *out = gamma * sum;
                }
            }
        }
        for (out, w) in out.iter_mut().zip(w) {
            *out += U * w.abs();
        }
        Ok(())
    }

    /// Lower the bounds that [`Problem::bound_round_off`] wrote to `delta` to what the round-off in w really is, from sums in
    /// twice the precision. Two-body rows keep theirs: their factors are rounded before any sum begins. Returns whether any was
    /// lowered.
    pub fn tighten_round_off(&self, x: &[f64], w: &[f64], delta: &mut [f64]) -> bool {
        for (i, delta) in delta.iter_mut().enumerate() {
            let sum = match self.operator() {
                Operator::Dense(a) => Sum::of(self.b()[i], a.row(i).iter().copied().zip(x.iter().copied())),
                Operator::Csr(a) => Sum::of(self.b()[i], a.row(i).map(|(j, a)| (a, x[j]))),
                Operator::Jacobian(_) => return false,
            };
            let (there, more) = sum.value();
            let off = ((w[i] - there).abs() + more) * (1.0 + 4.0 * U);
            // Splitting overflows on entries of 1e300: those keep their bound.
            if off < *delta {
                *delta = off;
            }
        }
        true
    }

    /// Numbers that [`Problem::bound_round_off`] needs in its scratch.
    pub fn round_off_room(&self) -> usize {
        7 * (self.bodies() + 1)
    }
}

/// Square of the c of [`Problem::is_dominated`]: single precision makes entries larger than the matrix they stand for has.
const DOMINANCE: f64 = 1.01;

/// Does a row of entries keep `a_ij² <= c² a_ii a_jj`?
#[inline]
pub(super) fn row_is_dominated(own: f64, entries: impl Iterator<Item = (f64, f64)>) -> bool {
    let most = DOMINANCE * own;
    entries.fold(true, |all, (a, other)| all & (a * a <= most * other))
}

/// A sum of products as its leading part, what that lost, the sum of sizes, and how many there were (Ogita, Rump & Oishi 2005).
struct Sum {
    high: f64,
    low: f64,
    sizes: f64,
    count: usize,
}

impl Sum {
    fn of(first: f64, products: impl Iterator<Item = (f64, f64)>) -> Sum {
        let mut sum = Sum { high: first, low: 0.0, sizes: first.abs(), count: 1 };
        for (p, q) in products {
            let product = p * q;
            let (of_product, of_sum) = (product_error(p, q, product), sum_error(sum.high, product));
            sum.high += product;
            sum.low += of_product + of_sum;
            sum.sizes += product.abs();
            sum.count += 1;
        }
        sum
    }

    /// The value, and a bound of its own error.
    fn value(&self) -> (f64, f64) {
        let value = self.high + self.low;
        (value, U * value.abs() + gamma(2 * self.count).powi(2) * self.sizes)
    }
}

/// p + q - fl(p + q), exactly.
fn sum_error(p: f64, q: f64) -> f64 {
    let sum = p + q;
    let of_q = sum - p;
    (p - (sum - of_q)) + (q - of_q)
}

/// p q - fl(p q), exactly but for underflow.
fn product_error(p: f64, q: f64, product: f64) -> f64 {
    let split = |v: f64| {
        // 2²⁷ + 1 leaves 26 bits in either half.
        let scaled = 134_217_729.0 * v;
        let high = scaled - (scaled - v);
        (high, v - high)
    };
    let ((p, dp), (q, dq)) = (split(p), split(q));
    ((p * q - product) + p * dq + dp * q) + dp * dq
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Triangle;

    #[test]
    fn sums_of_twice_the_precision_find_what_cancels() {
        let sum = Sum::of(1.0, [(1e16, 3.0), (0.5, 0.5), (-1e16, 3.0)].into_iter());
        let (value, more) = sum.value();
        assert_eq!(value, 1.25);
        assert!(more < 1e-13, "{more}");
    }

    #[test]
    fn a_bound_becomes_what_the_round_off_is() {
        let (a, x) = ([0.1, 0.2, 0.3, 0.7], [3.0, -7.0]);
        let mut problem = Problem::new();
        problem.set_dense(2, &a, 2, Triangle::Full).unwrap();
        problem.set_b(&[1.1, 4.0]).unwrap();
        let (mut w, mut delta, mut scratch) = ([0.0; 2], [0.0; 2], Vec::new());
        problem.multiply(&x, &mut w, &mut scratch).unwrap();
        problem.bound_round_off(&x, &w, &mut delta, &mut scratch).unwrap();
        let before = delta;
        // 1.1 + 0.3 - 1.4 and 4.0 + 0.9 - 4.9 are all round-off of the decimals.
        assert!(problem.tighten_round_off(&x, &w, &mut delta));
        assert!(delta.iter().zip(before).all(|(now, before)| *now < before), "{delta:?} {before:?}");
    }
}
