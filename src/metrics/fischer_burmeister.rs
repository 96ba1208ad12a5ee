//! Fischer-Burmeister residual of one row (Enzenhoefer et al. 2019, eqs. 5-6).
//!
//! ```text
//! psi = max( |phi(hi-x, w-)|, |phi(x-lo, w+)| ),   phi(p, q) = p + q - sqrt(p² + q²)
//! ```

/// The Fischer-Burmeister function for q >= 0, without cancellation; p = +inf gives its limit q.
#[inline]
pub(super) fn phi(p: f64, q: f64) -> f64 {
    if p == f64::INFINITY {
        q
    } else if q == 0.0 {
        p - p.abs()
    } else if p > 0.0 && q > 0.0 {
        // (p+q)² - (p²+q²) = 2pq, so this is p + q - hypot(p, q) to full precision.
        2.0 * p * (q / (p + q + p.hypot(q)))
    } else {
        p + q - p.hypot(q)
    }
}

/// One row's Fischer-Burmeister residual.
#[inline]
pub fn fischer_burmeister_row(x: f64, w: f64, lo: f64, hi: f64) -> f64 {
    let upper = phi(hi - x, (-w).max(0.0)).abs();
    let lower = phi(x - lo, w.max(0.0)).abs();
    upper.max(lower)
}
