//! Penalised Fischer-Burmeister residual of one row (Chen, Chen, Kanzow 1997; Lu et al. 2013, eq. 17).
//!
//! ```text
//! max( |phi_l(hi-x, w-)|, |phi_l(x-lo, w+)| ),   phi_l(p, q) = l phi(p, q) + (1-l) p+ q+
//! ```
//! At an infinite bound there is no product to penalise (the condition is w = 0 alone), so only `l phi` remains.

use super::fischer_burmeister::phi;

/// The weight Chen, Chen and Kanzow found to work best.
pub const DEFAULT_LAMBDA: f64 = 0.95;

/// One row's penalised residual with weight `lambda` in (0, 1].
#[inline]
pub fn penalized_row(x: f64, w: f64, lo: f64, hi: f64, lambda: f64) -> f64 {
    let upper = penalized_phi(hi - x, (-w).max(0.0), lambda);
    let lower = penalized_phi(x - lo, w.max(0.0), lambda);
    upper.abs().max(lower.abs())
}

#[inline]
pub(super) fn penalized_phi(p: f64, q: f64, lambda: f64) -> f64 {
    lambda * phi(p, q) + penalty(p, q, lambda)
}

#[inline]
pub(super) fn penalty(p: f64, q: f64, lambda: f64) -> f64 {
    // All of it, then what counts: no branch, so that rows are found side by side.
    let penalty = (1.0 - lambda) * (if p > 0.0 { p } else { 0.0 }) * q;
    if p == f64::INFINITY {
        0.0
    } else {
        penalty
    }
}
