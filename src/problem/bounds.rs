//! Intervals: what a bound means, and how numbers get between two.

use crate::error::{Error, Result, Status};
use crate::linalg::{at_least, at_most, with_lanes, Kernel, Lanes};

/// A bound at or beyond this is no bound: Bullet writes 1e10 for infinity, ODE a true infinity.
pub const INFINITE_BOUND: f64 = 1e10;

/// A bound as it is meant: |v| >= 1e10 is infinite.
#[inline(always)]
pub fn as_bound(v: f64) -> f64 {
    if v >= INFINITE_BOUND {
        f64::INFINITY
    } else if v <= -INFINITE_BOUND {
        f64::NEG_INFINITY
    } else {
        v
    }
}

/// Copy bounds as they are meant.
pub fn copy(from: &[f64], to: &mut [f64]) {
    with_lanes(Copy { from, to });
}

struct Copy<'a> {
    from: &'a [f64],
    to: &'a mut [f64],
}

impl Kernel for Copy<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        for (to, &v) in self.to.iter_mut().zip(self.from) {
            *to = as_bound(v);
        }
    }
}

/// Refuse bounds with nothing between them, and NaN, by name and index.
pub fn intervals(lo: &[f64], hi: &[f64]) -> Result<()> {
    // One question for all rows; who fails it is looked for afterwards.
    let is_interval = |(&lo, &hi): (&f64, &f64)| (lo <= hi) & (lo < INFINITE_BOUND) & (hi > -INFINITE_BOUND);
    if lo.iter().zip(hi).fold(true, |all, row| all & is_interval(row)) {
        return Ok(());
    }
    let Some(i) = lo.iter().zip(hi).position(|row| !is_interval(row)) else { return Ok(()) };
    let (l, h) = (as_bound(lo[i]), as_bound(hi[i]));
    let invalid = |sentence: std::fmt::Arguments<'_>| Err(Error::new(Status::InvalidValue, sentence));
    if l.is_nan() || l == f64::INFINITY {
        invalid(format_args!("lo[{i}] is {}", lo[i]))
    } else if h.is_nan() || h == f64::NEG_INFINITY {
        invalid(format_args!("hi[{i}] is {}", hi[i]))
    } else {
        invalid(format_args!("lo[{i}] = {l} lies above hi[{i}] = {h}"))
    }
}

/// Move x into its bounds.
pub fn clamp(x: &mut [f64], lo: &[f64], hi: &[f64]) {
    with_lanes(Clamp { x, lo, hi });
}

struct Clamp<'a> {
    x: &'a mut [f64],
    lo: &'a [f64],
    hi: &'a [f64],
}

impl Kernel for Clamp<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let ((x4, x), (lo4, lo), (hi4, hi)) = (self.x.as_chunks_mut(), self.lo.as_chunks(), self.hi.as_chunks());
        for ((x, lo), hi) in x4.iter_mut().zip(lo4).zip(hi4) {
            let moved = lanes.at_most(lanes.at_least(lanes.load(x), lanes.load(lo)), lanes.load(hi));
            *x = lanes.store(moved);
        }
        for ((x, &lo), &hi) in x.iter_mut().zip(lo).zip(hi) {
            *x = at_most(at_least(*x, lo), hi);
        }
    }
}
