//! Half the squared Fischer-Burmeister residual: the total error `½ φᵀφ` of Lu et al. 2013.

use super::fischer_burmeister::fischer_burmeister_row;

/// One row's share of `½ φᵀφ`.
#[inline]
pub fn merit_row(x: f64, w: f64, lo: f64, hi: f64) -> f64 {
    let psi = fischer_burmeister_row(x, w, lo, hi);
    0.5 * psi * psi
}
