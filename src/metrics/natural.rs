//! Natural residual of one row (Pang; Enzenhoefer et al. 2019, eqs. 8-9).
//!
//! ```text
//! rho = max( |min(hi-x, w-)|, |min(x-lo, w+)| )
//! ```

/// One row's natural residual.
#[inline]
pub fn natural_row(x: f64, w: f64, lo: f64, hi: f64) -> f64 {
    let upper = (hi - x).min((-w).max(0.0)).abs();
    let lower = (x - lo).min(w.max(0.0)).abs();
    upper.max(lower)
}
