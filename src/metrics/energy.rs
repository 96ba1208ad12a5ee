//! Energy error of one row, in joules (Enzenhoefer, Peiret, Teichmann, Kovecses 2019, eqs. 15-22).
//!
//! ```text
//! e = max( a/2 (x-hi)+²,  a/2 (lo-x)+²,  min(w+²/(2a), a/2 (x-lo)+²),  min(w-²/(2a), a/2 (hi-x)+²) )
//! ```
//! An impulse beyond its bound costs the energy it adds; a velocity that should not be there costs its kinetic energy,
//! or the energy of the impulse that would excuse it, whichever is less. `a` is the inverse effective mass.

/// One row's energy error; `a > 0`. A NaN among the arguments comes out as NaN.
#[inline]
pub fn energy_row(a: f64, x: f64, w: f64, lo: f64, hi: f64) -> f64 {
    energy_of(a, 0.5 * w * w / a, x, w, lo, hi)
}

/// One row's energy error, given its kinetic energy `w² / (2a)`.
#[inline(always)]
pub(super) fn energy_of(a: f64, kinetic: f64, x: f64, w: f64, lo: f64, hi: f64) -> f64 {
    let half_a = 0.5 * a;
    // At most one of the two is positive, for lo <= hi.
    let beyond = larger(larger(x - hi, lo - x), 0.0);
    let bound = half_a * beyond * beyond;
    // Only one of w+ and w- is non-zero: the slack on the side that w may rest on.
    let slack = larger(if w > 0.0 { x - lo } else { hi - x }, 0.0);
    let excuse = half_a * slack * slack;
    let velocity = if excuse < kinetic { excuse } else { kinetic };
    larger(velocity, bound)
}

/// The larger of two numbers, or `p` if that is NaN: one instruction, where `f64::max` takes several and drops NaN.
#[inline]
fn larger(p: f64, q: f64) -> f64 {
    if q > p {
        q
    } else {
        p
    }
}
