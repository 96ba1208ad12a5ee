//! Errors of an x under a problem's own matrix, from a w that has no round-off to speak of.

use super::{Dyadic, Number, Wide};
use crate::planted::Planted;

/// Impulses beyond this take w from dyadic rationals; below, a hundred bits leave nothing to wish for.
const LARGE: f64 = 1e3;

/// One row's energy error in joules (Enzenhoefer et al. 2019, eqs. 15-22); `up` is the positive part of w, `down` that of -w.
pub fn energy_row(a: f64, x: f64, up: f64, down: f64, lo: f64, hi: f64) -> f64 {
    let beyond = (x - hi).max(lo - x).max(0.0);
    let excused = |speed: f64, slack: f64| {
        let slack = slack.max(0.0);
        (0.5 * speed * speed / a).min(0.5 * a * slack * slack)
    };
    (0.5 * a * beyond * beyond).max(excused(up, x - lo)).max(excused(down, hi - x))
}

/// One row's natural residual, which mixes N s and m/s; for rows that have no energy.
pub fn natural_row(x: f64, up: f64, down: f64, lo: f64, hi: f64) -> f64 {
    let beyond = (x - hi).max(lo - x);
    beyond.max(up.min(x - lo)).max(down.min(hi - x)).max(0.0)
}

/// Measures any x of one problem.
pub struct Oracle<'a> {
    case: &'a Planted,
    diagonal: Vec<f64>,
    has_energy: bool,
}

impl<'a> Oracle<'a> {
    /// An oracle for a problem in the form in which it is handed over.
    pub fn new(case: &'a Planted) -> Self {
        let diagonal = case.matrix.diagonal();
        let has_energy = diagonal.iter().all(|&a| a > 0.0);
        Oracle { case, diagonal, has_energy }
    }

    /// The diagonal of A.
    pub fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    /// Has every row an effective mass? If not, errors are natural residuals.
    pub fn has_energy(&self) -> bool {
        self.has_energy
    }

    /// `A x + b`, each entry the nearest double to the exact one.
    pub fn exact_w(&self, x: &[f64]) -> Vec<f64> {
        self.w_by::<Dyadic>(x)
    }

    /// `A x + b`, exact where impulses are large, else from sums of a hundred bits.
    pub fn w(&self, x: &[f64]) -> Vec<f64> {
        if x.iter().any(|x| x.abs() > LARGE) {
            self.exact_w(x)
        } else {
            self.w_by::<Wide>(x)
        }
    }

    fn w_by<N: Number>(&self, x: &[f64]) -> Vec<f64> {
        let mut w = self.case.matrix.product::<N>(x);
        w.iter_mut().zip(&self.case.b).for_each(|(w, &b)| w.add_product(b, 1.0));
        w.iter().map(N::to_f64).collect()
    }

    /// The true error of x: energy in joules, or natural residual where a row has no energy. Infinite for an x that is not
    /// finite.
    pub fn error(&self, x: &[f64]) -> f64 {
        if x.iter().any(|x| !x.is_finite()) {
            return f64::INFINITY;
        }
        self.total(x, &self.w(x), &vec![0.0; x.len()])
    }

    /// The largest error that an x may be measured to have when every w is off by the round-off of its own terms:
    /// `|δw_i| <= γ (Σ_j |a_ij| |x_j| + |b_i|)`.
    pub fn error_with_round_off(&self, x: &[f64]) -> f64 {
        self.total(x, &self.w(x), &self.round_off(x))
    }

    /// The error of an x whose w are all 0 but for their round-off.
    pub fn error_of_round_off(&self, x: &[f64]) -> f64 {
        self.total(x, &vec![0.0; x.len()], &self.round_off(x))
    }

    /// The bound on the round-off of every w at x.
    pub fn round_off(&self, x: &[f64]) -> Vec<f64> {
        // Two-body rows are summed by body, then over 12 entries of a product of three factors.
        let steps = x.len() as f64 + 24.0;
        let gamma = steps * 0.5 * f64::EPSILON / (1.0 - steps * 0.5 * f64::EPSILON);
        self.case.matrix.sizes(x).iter().zip(&self.case.b).map(|(size, b)| gamma * (size + b.abs())).collect()
    }

    /// The error at x = 0 moved into the bounds: the problem's own scale.
    pub fn scale(&self) -> f64 {
        self.error(&self.case.rest())
    }

    fn total(&self, x: &[f64], w: &[f64], round_off: &[f64]) -> f64 {
        let row = |i: usize| {
            let (lo, hi) = self.case.bounds_at(i, x);
            let (up, down) = ((w[i] + round_off[i]).max(0.0), (round_off[i] - w[i]).max(0.0));
            if self.has_energy {
                energy_row(self.diagonal[i], x[i], up, down, lo, hi)
            } else {
                natural_row(x[i], up, down, lo, hi)
            }
        };
        (0..x.len()).map(row).sum()
    }
}
