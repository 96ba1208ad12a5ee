//! Duality gap of one row: `w+ (x-lo) + w- (hi-x)`, in joules.
//!
//! For symmetric positive semidefinite A the problem is `min ½ xᵀAx + bᵀx` over the box, and the sum of these is a
//! certified bound on how far the objective at a feasible x lies above its minimum. Where w points away from an absent
//! bound the gap is +inf: nothing is certified there.

/// One row's share of the duality gap; +inf where w pushes towards an absent bound.
#[inline]
pub fn duality_gap_row(x: f64, w: f64, lo: f64, hi: f64) -> f64 {
    let slack = (if w > 0.0 { x - lo } else { hi - x }).max(0.0);
    // 0 * inf is no gap at all.
    if w == 0.0 {
        0.0
    } else {
        w.abs() * slack
    }
}
