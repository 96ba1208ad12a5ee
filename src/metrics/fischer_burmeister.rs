//! Fischer-Burmeister residual of one row (Enzenhoefer et al. 2019, eqs. 5-6).
//!
//! ```text
//! psi = max( |phi(hi-x, w-)|, |phi(x-lo, w+)| ),   phi(p, q) = p + q - sqrt(p² + q²)
//! ```

/// The Fischer-Burmeister function for q >= 0; p = +inf gives its limit q. Each branch is `p + q - sqrt(p² + q²)` with
/// the larger argument taken out: no cancellation, no overflow.
#[inline]
pub(super) fn phi(p: f64, q: f64) -> f64 {
    if p >= 0.0 {
        return if p < q { phi_of_ordered(p, q) } else { phi_of_ordered(q, p) };
    }
    let size = p.abs();
    if q == 0.0 {
        return p - size;
    }
    let ratio = if size < q { size / q } else { q / size };
    let root = (1.0 + ratio * ratio).sqrt();
    if size < q {
        p * (1.0 + ratio / (1.0 + root))
    } else {
        p * (1.0 + root - ratio)
    }
}

/// The same of two numbers that are not negative, the smaller first, without a branch.
#[inline(always)]
pub(super) fn phi_of_ordered(least: f64, most: f64) -> f64 {
    let ratio = least / most;
    let root = (1.0 + ratio * ratio).sqrt();
    // (p+q)² - (p²+q²) = 2pq
    let phi = 2.0 * (least / (1.0 + ratio + root));
    if most == f64::INFINITY || least == 0.0 {
        least
    } else {
        phi
    }
}

/// One row's Fischer-Burmeister residual.
#[inline]
pub fn fischer_burmeister_row(x: f64, w: f64, lo: f64, hi: f64) -> f64 {
    let (upper, lower) = (phi(hi - x, (-w).max(0.0)), phi(x - lo, w.max(0.0)));
    upper.abs().max(lower.abs())
}
