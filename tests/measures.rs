//! The error measures: what must hold for any row, the published numbers, and what units do to them.

mod common;

#[path = "measures/extremes.rs"]
mod extremes;
#[path = "measures/golden.rs"]
mod golden;
#[path = "measures/properties.rs"]
mod properties;
#[path = "measures/systems.rs"]
mod systems;
#[path = "measures/units.rs"]
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
