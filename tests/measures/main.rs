//! The error measures: what must hold for any row, the published numbers, and what units do to them.

#[path = "../common/mod.rs"]
mod common;
mod extremes;
mod golden;
mod properties;
mod systems;
mod units;

use mlcp::metrics::Point;
use mlcp::problem::Cones;
use mlcp::Measure;

/// One row of a problem at some x.
#[derive(Clone, Copy, Debug)]
struct At {
    a: f64,
    x: f64,
    w: f64,
    lo: f64,
    hi: f64,
}

impl At {
    fn error(&self, measure: Measure) -> f64 {
        measure.row(self.a, self.x, self.w, self.lo, self.hi)
    }

    fn is_feasible(&self) -> bool {
        self.lo <= self.x && self.x <= self.hi
    }

    /// The definition, written out.
    fn is_solution(&self) -> bool {
        let w_ok = self.w == 0.0 || (self.w > 0.0 && self.x == self.lo) || (self.w < 0.0 && self.x == self.hi);
        self.is_feasible() && w_ok
    }
}

/// Measures of one row; the exact mass only changes what is passed for `a`.
const ROW_MEASURES: [Measure; 6] = [
    Measure::Energy,
    Measure::FischerBurmeister,
    Measure::Natural,
    Measure::Merit,
    Measure::Penalized,
    Measure::DualityGap,
];

fn total(measure: Measure, diagonal: &[f64], x: &[f64], w: &[f64], lo: &[f64], hi: &[f64]) -> f64 {
    measure.total(&Point { diagonal, x, w, lo, hi, cones: Cones::NONE })
}
