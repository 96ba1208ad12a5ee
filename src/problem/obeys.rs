//! Which impulses a problem allows, bit for bit: bounds, friction bounds at those very impulses, and cones.
//!
//! [`Problem::clamp`] ends inside what [`Problem::contains`] accepts, so an answer that was clamped and measured obeys the
//! problem without any tolerance.

use super::cones::{is_in_disc, project_disc};
use super::{bounds, Problem};
use crate::linalg::{at_least, at_most, with_lanes, Kernel, Lanes};

impl Problem {
    /// Is every impulse within its bounds, friction rows within those at the normal impulses of this x, and every pair of
    /// tangents within its disc, `t1·t1 + t2·t2 <= (mu n)·(mu n)` in doubles? NaN is not.
    pub fn contains(&self, x: &[f64]) -> bool {
        if !self.friction.is_set() && !self.has_cones() {
            return are_within(x, &self.lo, &self.hi);
        }
        let is_within = |i: usize| {
            let (lo, hi) = self.friction_bounds().at(i, x);
            lo <= x[i] && x[i] <= hi
        };
        (0..x.len()).all(is_within) && self.cones.list().iter().all(|cone| is_in_disc(cone.pick(x), cone.radius(x)))
    }

    /// Move x into the bounds that hold there: rows that bound others first, then the rows that hang on them.
    pub fn clamp(&self, x: &mut [f64]) {
        if !self.friction.is_set() && !self.has_cones() {
            bounds::clamp(x, &self.lo, &self.hi);
            return;
        }
        for friction in [false, true] {
            for i in 0..x.len() {
                if self.friction.normal_of(i).is_some() == friction && !self.cones.is_tangent(i) {
                    let (lo, hi) = self.bounds_of(i, x);
                    // Equal ones give the second: a zero inside keeps its sign.
                    x[i] = at_most(hi, at_least(lo, x[i]));
                }
            }
        }
        for cone in self.cones.list() {
            let [p, q] = into_disc(cone.pick(x), cone.radius(x));
            (x[cone.tangents[0]], x[cone.tangents[1]]) = (p, q);
        }
    }
}

/// The point nearest to `z` that [`is_in_disc`] accepts, up to a few last bits.
fn into_disc(z: [f64; 2], radius: f64) -> [f64; 2] {
    if is_in_disc(z, radius) {
        return z;
    }
    // A projection meets the rim up to round-off; each turn takes one more bit off.
    let mut way = f64::EPSILON;
    let rim = project_disc(z, radius);
    let mut p = rim;
    while !is_in_disc(p, radius) && way < 1.0 {
        p = rim.map(|v| v - v * way);
        way *= 2.0;
    }
    if is_in_disc(p, radius) {
        p
    } else {
        [0.0; 2]
    }
}

fn are_within(x: &[f64], lo: &[f64], hi: &[f64]) -> bool {
    with_lanes(Within { x, lo, hi })
}

struct Within<'a> {
    x: &'a [f64],
    lo: &'a [f64],
    hi: &'a [f64],
}

impl Kernel for Within<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> bool {
        let n = self.x.len();
        let (x, lo, hi) = (&self.x[..n], &self.lo[..n], &self.hi[..n]);
        let mut all = true;
        for i in 0..n {
            all &= (lo[i] <= x[i]) & (x[i] <= hi[i]);
        }
        all
    }
}
