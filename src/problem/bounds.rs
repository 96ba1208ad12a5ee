//! Intervals: what a bound means, and how numbers get between two. Infinite bounds are absent; finite ones of any size hold.

use crate::error::{Error, Result, Status};
use crate::linalg::{at_least, at_most, with_lanes, Kernel, Lanes};

/// Refuse bounds with nothing between them or more than a double can hold, and NaN, by name and index.
pub fn intervals(lo: &[f64], hi: &[f64]) -> Result<()> {
    // One question for all rows; who fails it is looked for afterwards.
    let is_interval = |(&lo, &hi): (&f64, &f64)| {
        let width = hi - lo;
        // An infinite width is right where a bound is absent, and an overflow where both are there.
        (lo <= hi) & (lo < f64::INFINITY) & (hi > f64::NEG_INFINITY) & ((width < f64::INFINITY) | is_absent(lo, hi))
    };
    if lo.iter().zip(hi).fold(true, |all, row| all & is_interval(row)) {
        return Ok(());
    }
    let Some(i) = lo.iter().zip(hi).position(|row| !is_interval(row)) else { return Ok(()) };
    let (l, h) = (lo[i], hi[i]);
    let invalid = |sentence: std::fmt::Arguments<'_>| Err(Error::new(Status::InvalidValue, sentence));
    if l.is_nan() || l == f64::INFINITY {
        invalid(format_args!("lo[{i}] is {l}"))
    } else if h.is_nan() || h == f64::NEG_INFINITY {
        invalid(format_args!("hi[{i}] is {h}"))
    } else if l > h {
        invalid(format_args!("lo[{i}] = {l} lies above hi[{i}] = {h}"))
    } else {
        invalid(format_args!("hi[{i}] - lo[{i}] = {h:e} - {l:e} overflows; an absent bound is an infinite one"))
    }
}

/// Is at least one of the two no bound?
#[inline(always)]
fn is_absent(lo: f64, hi: f64) -> bool {
    (lo == f64::NEG_INFINITY) | (hi == f64::INFINITY)
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
            // Equal ones give the second: a zero inside keeps its sign.
            let moved = lanes.at_most(lanes.load(hi), lanes.at_least(lanes.load(lo), lanes.load(x)));
            *x = lanes.store(moved);
        }
        for ((x, &lo), &hi) in x.iter_mut().zip(lo).zip(hi) {
            *x = at_most(hi, at_least(lo, *x));
        }
    }
}
