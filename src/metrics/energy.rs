//! Energy error of one row, in joules (Enzenhoefer, Peiret, Teichmann, Kovecses 2019, eqs. 15-22).
//!
//! ```text
//! e = max( a/2 (x-hi)+²,  a/2 (lo-x)+²,  min(w+²/(2a), a/2 (x-lo)+²),  min(w-²/(2a), a/2 (hi-x)+²) )
//! ```
//! An impulse beyond its bound costs the energy it adds; a velocity that should not be there costs its kinetic energy,
//! or the energy of the impulse that would excuse it, whichever is less. `a` is the inverse effective mass.

/// One row's energy error; `a > 0`.
#[inline]
pub fn energy_row(a: f64, x: f64, w: f64, lo: f64, hi: f64) -> f64 {
    let half_a = 0.5 * a;
    let over = (x - hi).max(0.0);
    let under = (lo - x).max(0.0);
    let bound = half_a * over.max(under) * over.max(under);
    // Only one of w+ and w- is non-zero: the slack on the side that w may rest on.
    let slack = (if w > 0.0 { x - lo } else { hi - x }).max(0.0);
    let kinetic = 0.5 * w * w / a;
    let velocity = kinetic.min(half_a * slack * slack);
    bound.max(velocity)
}
