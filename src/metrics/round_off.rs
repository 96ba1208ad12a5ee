//! How far an error may be from the true one, because w was computed in floating point.
//!
//! ```text
//! √e_true <= √e + R,      R² = Σ δ_i² / (2 a_ii),   |fl(w_i) - w_i| <= δ_i
//! ```
//! The root of a row's energy error follows w with slope 1/√(2a) at most, and roots of sums obey the triangle inequality. R
//! comes from the rows' own bounds δ (`problem/round_off.rs`), or at once for all of them from
//! `Σ_j |a_ij| |x_j| <= √a_ii Σ_j √a_jj |x_j|`, which costs nothing and is larger.

use super::{Measure, Point};
use crate::problem::{gamma, Problem};

/// A root of round-off below this share of the error's root changes no comparison of two errors.
const NEGLIGIBLE: f64 = 1e-6;
/// An operator's entries, tangents that share one mass, and the bounds' own roundings may make R larger by this factor.
const MARGIN: f64 = 1.5;

/// Sizes of an iterate, in joules.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes {
    /// `Σ w² / (2a)`.
    pub kinetic: f64,
    /// `Σ a x² / 2`.
    pub stored: f64,
}

/// An error with its uncertainty.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Judged {
    /// The error as computed: joules, or the natural residual's mixed units.
    pub error: f64,
    /// The true error is at most this; equal to `error` where round-off changes no decision.
    pub sure: f64,
    /// R in √J of an energy, or the sum of all δ of a natural residual. An upper bound.
    pub root: f64,
}

impl Judged {
    /// An iterate that overflowed.
    pub const LOST: Judged = Judged { error: f64::INFINITY, sure: f64::INFINITY, root: 0.0 };

    /// What must be added to the error to be sure of it, in its own unit.
    pub fn round_off(&self, judge: Measure) -> f64 {
        if judge != Measure::Energy {
            return self.root;
        }
        let more = (2.0 * self.error.sqrt() + self.root) * self.root + self.error * SUM;
        if more.is_nan() {
            f64::INFINITY
        } else {
            more
        }
    }

    /// An energy error whose w is off by R at most.
    pub fn energy(error: f64, root: f64, tolerance: f64) -> Self {
        let mut judged = Judged { error, sure: error, root };
        if error <= tolerance || root > NEGLIGIBLE * error.sqrt() {
            judged.sure = error + judged.round_off(Measure::Energy);
        }
        judged
    }

    /// Is a cheap R good enough to compare this error with the tolerance and with other errors?
    pub fn decides(&self, tolerance: f64) -> bool {
        if self.error <= tolerance {
            self.sure <= tolerance
        } else {
            self.root <= NEGLIGIBLE * self.error.sqrt()
        }
    }
}

/// Roundings of a row's energy and of a pairwise comparable sum, relative to it.
const SUM: f64 = 1e-12;

/// R from the sizes alone, in √J; infinite where A has entries that its diagonal does not bound.
pub fn cheap_root(problem: &Problem, sizes: Sizes) -> f64 {
    if sizes.stored == 0.0 {
        // w = b exactly.
        0.0
    } else if problem.is_dominated() {
        let n = problem.len() as f64;
        MARGIN * (gamma(problem.roundings()) * n * sizes.stored.sqrt() + f64::EPSILON * sizes.kinetic.sqrt())
    } else {
        f64::INFINITY
    }
}

/// R from the rows' bounds δ, in √J.
pub fn root_of(diagonal: &[f64], delta: &[f64]) -> f64 {
    let sum: f64 = diagonal.iter().zip(delta).map(|(a, d)| d * (d / a)).sum();
    MARGIN * (0.5 * sum).sqrt()
}

impl Measure {
    /// An error under this measure with what round-off may add to it, where all of w is off by R at most; R in √J.
    pub fn with_round_off(self, error: f64, root: f64, at: &Point<'_>) -> f64 {
        if root == 0.0 {
            return error;
        }
        // By Cauchy and Schwarz: Σ δ <= √(Σ 2a) R.
        let speed = (2.0 * at.diagonal.iter().sum::<f64>()).sqrt() * root;
        match self {
            Measure::Energy | Measure::EnergyExactMass => error + (2.0 * error.sqrt() + root) * root,
            Measure::FischerBurmeister | Measure::Natural | Measure::Penalized => error + speed,
            Measure::Merit => error + (2.0 * error.sqrt() + speed) * speed,
            Measure::DualityGap => error + 2.0 * root * at.sizes().stored.sqrt(),
        }
    }
}
