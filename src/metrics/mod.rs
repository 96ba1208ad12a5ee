//! How wrong an x is. Pure functions of (diagonal, x, w, lo, hi), one file per measure.
//!
//! Every measure is a sum over rows and is zero exactly at solutions (the duality gap: among feasible x). `w` must be
//! `A x + b` of that very `x`. Infinite bounds are limits: the code never forms `inf - inf`. Sums run in row order, so
//! that `include/mlcp_error.h`, which repeats these formulas in C, gives the same bits. The tangent rows of a friction
//! cone have one error together (`disc.rs`), which stands at the first of them.

mod disc;
mod duality_gap;
mod energy;
mod exact_mass;
mod fischer_burmeister;
mod merit;
mod natural;
mod penalized;
mod round_off;

pub use disc::Disc;
pub use duality_gap::duality_gap_row;
pub use energy::energy_row;
pub use exact_mass::{exact_diagonal, ExactMassWorkspace};
pub use fischer_burmeister::fischer_burmeister_row;
pub use merit::merit_row;
pub use natural::natural_row;
pub use penalized::{penalized_row, DEFAULT_LAMBDA};
pub use round_off::{cheap_root, root_of, Judged, Sizes};

use crate::error::{Error, Result, Status};
use crate::linalg::{with_lanes, Kernel, Lanes};
use crate::problem::{Cones, Part};

/// A measure of error. Numbers are part of the ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Energy error of Enzenhoefer et al. 2019, in joules. Invariant to units and row scaling.
    Energy = 0,
    /// Fischer-Burmeister residual; adds N·s to m/s.
    FischerBurmeister = 1,
    /// Natural (minimum map) residual; adds N·s to m/s.
    Natural = 2,
    /// Half the squared Fischer-Burmeister residual, the total error of Lu et al. 2013.
    Merit = 3,
    /// Penalised Fischer-Burmeister residual of Chen, Chen and Kanzow, lambda = 0.95.
    Penalized = 4,
    /// Duality gap, in joules: for symmetric A and feasible x a certified bound on the energy above the optimum.
    DualityGap = 5,
    /// Energy error with the exact effective mass 1/(A^-1)_ii in place of 1/a_ii; needs an invertible A.
    EnergyExactMass = 6,
}

impl Measure {
    /// Every measure.
    pub const ALL: [Measure; 7] = [
        Measure::Energy,
        Measure::FischerBurmeister,
        Measure::Natural,
        Measure::Merit,
        Measure::Penalized,
        Measure::DualityGap,
        Measure::EnergyExactMass,
    ];

    /// The measure with this ABI number.
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|&m| m as i32 == number)
    }

    /// Does the measure divide by the diagonal, so that it needs a_ii > 0?
    pub fn needs_diagonal(self) -> bool {
        matches!(self, Measure::Energy | Measure::EnergyExactMass)
    }

    /// One row's error. `a` is the diagonal, or for the exact mass its stand-in from [`exact_diagonal`].
    #[inline]
    pub fn row(self, a: f64, x: f64, w: f64, lo: f64, hi: f64) -> f64 {
        match self {
            Measure::Energy | Measure::EnergyExactMass => energy_row(a, x, w, lo, hi),
            Measure::FischerBurmeister => fischer_burmeister_row(x, w, lo, hi),
            Measure::Natural => natural_row(x, w, lo, hi),
            Measure::Merit => merit_row(x, w, lo, hi),
            Measure::Penalized => penalized_row(x, w, lo, hi, DEFAULT_LAMBDA),
            Measure::DualityGap => duality_gap_row(x, w, lo, hi),
        }
    }

    /// The error of a whole problem; all slices have one length.
    pub fn total(self, at: &Point<'_>) -> f64 {
        if !at.cones.is_empty() {
            return (0..at.x.len()).fold(0.0, |total, i| total + at.row(self, i));
        }
        // One loop per measure, so that the compiler sees a simple body.
        match self {
            Measure::Energy | Measure::EnergyExactMass => with_lanes(Energy(at)).0,
            Measure::FischerBurmeister => at.sum(|_, x, w, lo, hi| fischer_burmeister_row(x, w, lo, hi)),
            Measure::Natural => at.sum(|_, x, w, lo, hi| natural_row(x, w, lo, hi)),
            Measure::Merit => at.sum(|_, x, w, lo, hi| merit_row(x, w, lo, hi)),
            Measure::Penalized => at.sum(|_, x, w, lo, hi| penalized_row(x, w, lo, hi, DEFAULT_LAMBDA)),
            Measure::DualityGap => at.sum(|_, x, w, lo, hi| duality_gap_row(x, w, lo, hi)),
        }
    }
}

/// Errors of one iterate under all measures but that of the exact mass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// [`Measure::Energy`].
    pub energy: f64,
    /// [`Measure::FischerBurmeister`].
    pub fischer_burmeister: f64,
    /// [`Measure::Natural`].
    pub natural: f64,
    /// [`Measure::Merit`].
    pub merit: f64,
    /// [`Measure::Penalized`].
    pub penalized: f64,
    /// [`Measure::DualityGap`].
    pub duality_gap: f64,
}

impl Totals {
    /// Errors of rows whose impulses are within their bounds; without a branch, so that they are found side by side.
    #[inline(always)]
    fn within(a: f64, x: f64, w: f64, lo: f64, hi: f64) -> Totals {
        // Only the side that w may not rest on counts: there p is the slack, q the speed.
        let (p, q) = (if w > 0.0 { x - lo } else { hi - x }, w.abs());
        let (least, most) = if p < q { (p, q) } else { (q, p) };
        let psi = fischer_burmeister::phi_of_ordered(least, most);
        Totals {
            energy: energy_row(a, x, w, lo, hi),
            fischer_burmeister: psi,
            natural: least,
            merit: 0.5 * psi * psi,
            penalized: DEFAULT_LAMBDA * psi + penalized::penalty(p, q, DEFAULT_LAMBDA),
            duality_gap: if q == 0.0 { 0.0 } else { q * p },
        }
    }

    /// Errors of any row.
    #[inline]
    fn of_row(a: f64, x: f64, w: f64, lo: f64, hi: f64) -> Totals {
        if lo <= x && x <= hi && !w.is_nan() {
            Totals::within(a, x, w, lo, hi)
        } else {
            Totals::beyond(a, x, w, lo, hi)
        }
    }

    #[inline(always)]
    fn as_array(&self) -> [f64; 6] {
        [self.energy, self.fischer_burmeister, self.natural, self.merit, self.penalized, self.duality_gap]
    }

    /// Add one row's.
    #[inline(always)]
    fn add(&mut self, row: &[f64; 6]) {
        self.energy += row[0];
        self.fischer_burmeister += row[1];
        self.natural += row[2];
        self.merit += row[3];
        self.penalized += row[4];
        self.duality_gap += row[5];
    }

    /// Errors of a row with an impulse beyond its bounds.
    #[cold]
    fn beyond(a: f64, x: f64, w: f64, lo: f64, hi: f64) -> Totals {
        Totals {
            energy: energy_row(a, x, w, lo, hi),
            fischer_burmeister: fischer_burmeister_row(x, w, lo, hi),
            natural: natural_row(x, w, lo, hi),
            merit: merit_row(x, w, lo, hi),
            penalized: penalized_row(x, w, lo, hi, DEFAULT_LAMBDA),
            duality_gap: duality_gap_row(x, w, lo, hi),
        }
    }
}

/// Where an error is measured: an x with its w = A x + b and the bounds in force there.
#[derive(Clone, Copy)]
pub struct Point<'a> {
    /// Diagonal of A, all > 0 where a measure needs it.
    pub diagonal: &'a [f64],
    /// Impulses.
    pub x: &'a [f64],
    /// Velocities A x + b.
    pub w: &'a [f64],
    /// Lower bounds, -inf allowed.
    pub lo: &'a [f64],
    /// Upper bounds, +inf allowed. On a cone's tangent rows the radius of their disc.
    pub hi: &'a [f64],
    /// Friction cones, [`Cones::NONE`] if there are none.
    pub cones: &'a Cones,
}

impl Point<'_> {
    #[inline(always)]
    fn sum(&self, row: impl Fn(f64, f64, f64, f64, f64) -> f64) -> f64 {
        // Rows are independent and may be computed side by side; the sum keeps their order.
        const LANES: usize = 8;
        let n = self.x.len();
        let (a, x, w, lo, hi) = (&self.diagonal[..n], &self.x[..n], &self.w[..n], &self.lo[..n], &self.hi[..n]);
        let whole = n - n % LANES;
        let mut total = 0.0;
        for at in (0..whole).step_by(LANES) {
            let lane = at..at + LANES;
            let (a, x, w, lo, hi) =
                (&a[lane.clone()], &x[lane.clone()], &w[lane.clone()], &lo[lane.clone()], &hi[lane]);
            let mut e = [0.0; LANES];
            for k in 0..LANES {
                e[k] = row(a[k], x[k], w[k], lo[k], hi[k]);
            }
            for e in e {
                total += e;
            }
        }
        for i in whole..n {
            total += row(a[i], x[i], w[i], lo[i], hi[i]);
        }
        total
    }

    /// The energy error in joules, as [`Measure::total`] has it, and the iterate's sizes.
    pub fn energy(&self) -> (f64, Sizes) {
        if self.cones.is_empty() {
            with_lanes(Energy(self))
        } else {
            (Measure::Energy.total(self), self.sizes())
        }
    }

    /// The iterate's sizes.
    pub fn sizes(&self) -> Sizes {
        let mut sizes = Sizes::default();
        for ((a, x), w) in self.diagonal.iter().zip(self.x).zip(self.w) {
            sizes.kinetic += 0.5 * w * w / a;
            sizes.stored += 0.5 * a * x * x;
        }
        sizes
    }

    /// All totals in one pass, with the same bits as each by itself, and each row's error under `judge`, which is the
    /// energy or the natural residual.
    pub fn totals(&self, judge: Measure, rows: &mut [f64]) -> Totals {
        if !self.cones.is_empty() {
            self.rows(judge, rows);
            return Totals {
                energy: Measure::Energy.total(self),
                fischer_burmeister: Measure::FischerBurmeister.total(self),
                natural: Measure::Natural.total(self),
                merit: Measure::Merit.total(self),
                penalized: Measure::Penalized.total(self),
                duality_gap: Measure::DualityGap.total(self),
            };
        }
        with_lanes(All { at: self, judge, rows })
    }

    /// Is every impulse within its bounds?
    pub fn is_feasible(&self) -> bool {
        (0..self.x.len()).all(|i| match self.cones.part(i) {
            Part::First(k) => self.disc(k).is_feasible(),
            Part::Second(_) => true,
            _ => self.lo[i] <= self.x[i] && self.x[i] <= self.hi[i],
        })
    }

    /// The tangent rows of contact `k`.
    fn disc(&self, k: usize) -> Disc {
        let cone = &self.cones.list()[k];
        Disc {
            diagonal: cone.pick(self.diagonal),
            x: cone.pick(self.x),
            w: cone.pick(self.w),
            radius: self.hi[cone.tangents[0]],
        }
    }

    /// Error of row `i`; a cone's first tangent row has that of both, its second has none.
    #[inline]
    fn row(&self, measure: Measure, i: usize) -> f64 {
        match self.cones.part(i) {
            Part::First(k) => self.disc(k).error(measure),
            Part::Second(_) => 0.0,
            _ => measure.row(self.diagonal[i], self.x[i], self.w[i], self.lo[i], self.hi[i]),
        }
    }

    /// Write each row's error to `out`.
    pub fn rows(&self, measure: Measure, out: &mut [f64]) {
        for (i, e) in out.iter_mut().enumerate() {
            *e = self.row(measure, i);
        }
    }
}

/// The energy error and the iterate's sizes. No product is added without being rounded, so that bits are the same with any
/// vector instructions.
struct Energy<'a>(&'a Point<'a>);

impl Kernel for Energy<'_> {
    type Output = (f64, Sizes);

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> (f64, Sizes) {
        const LANES: usize = 8;
        let Point { diagonal, x, w, lo, hi, .. } = *self.0;
        let n = x.len();
        let (a, x, w, lo, hi) = (&diagonal[..n], &x[..n], &w[..n], &lo[..n], &hi[..n]);
        let whole = n - n % LANES;
        // Errors are added in the rows' order, sizes as they come.
        let (mut total, mut kinetic, mut stored) = (0.0, [0.0; LANES], [0.0; LANES]);
        for at in (0..whole).step_by(LANES) {
            let lane = at..at + LANES;
            let (a, x, w, lo, hi) =
                (&a[lane.clone()], &x[lane.clone()], &w[lane.clone()], &lo[lane.clone()], &hi[lane]);
            let mut e = [0.0; LANES];
            for k in 0..LANES {
                let moving = 0.5 * w[k] * w[k] / a[k];
                e[k] = energy::energy_of(a[k], moving, x[k], w[k], lo[k], hi[k]);
                kinetic[k] += moving;
                stored[k] += 0.5 * a[k] * x[k] * x[k];
            }
            for e in e {
                total += e;
            }
        }
        for i in whole..n {
            total += energy_row(a[i], x[i], w[i], lo[i], hi[i]);
            kinetic[0] += 0.5 * w[i] * w[i] / a[i];
            stored[0] += 0.5 * a[i] * x[i] * x[i];
        }
        (total, Sizes { kinetic: kinetic.iter().sum(), stored: stored.iter().sum() })
    }
}

/// Every measure's total, and each row's error under `judge`.
struct All<'a> {
    at: &'a Point<'a>,
    judge: Measure,
    rows: &'a mut [f64],
}

impl Kernel for All<'_> {
    type Output = Totals;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> Totals {
        const LANES: usize = 4;
        let All { at: Point { diagonal, x, w, lo, hi, .. }, judge, rows } = self;
        let n = x.len();
        let (a, x, w, lo, hi, rows) = (&diagonal[..n], &x[..n], &w[..n], &lo[..n], &hi[..n], &mut rows[..n]);
        let mut totals = Totals::default();
        let whole = n - n % LANES;
        for from in (0..whole).step_by(LANES) {
            let lane = from..from + LANES;
            let (a, x, w) = (&a[lane.clone()], &x[lane.clone()], &w[lane.clone()]);
            let (lo, hi, rows) = (&lo[lane.clone()], &hi[lane.clone()], &mut rows[lane]);
            // One array for each measure: the compiler finds them side by side, and the sums keep the rows' order.
            let mut found = [[0.0; LANES]; 6];
            let mut is_within = true;
            for k in 0..LANES {
                is_within &= (lo[k] <= x[k]) & (x[k] <= hi[k]) & !w[k].is_nan();
                let row = Totals::within(a[k], x[k], w[k], lo[k], hi[k]).as_array();
                for m in 0..6 {
                    found[m][k] = row[m];
                }
            }
            if !is_within {
                for k in 0..LANES {
                    let row = Totals::of_row(a[k], x[k], w[k], lo[k], hi[k]).as_array();
                    for m in 0..6 {
                        found[m][k] = row[m];
                    }
                }
            }
            rows.copy_from_slice(&found[if judge == Measure::Energy { 0 } else { 2 }]);
            for k in 0..LANES {
                totals.add(&[found[0][k], found[1][k], found[2][k], found[3][k], found[4][k], found[5][k]]);
            }
        }
        for i in whole..n {
            let row = Totals::of_row(a[i], x[i], w[i], lo[i], hi[i]);
            rows[i] = if judge == Measure::Energy { row.energy } else { row.natural };
            totals.add(&row.as_array());
        }
        totals
    }
}

/// Refuse a diagonal without effective mass, naming the row.
pub fn check_diagonal(diagonal: &[f64]) -> Result<()> {
    match diagonal.iter().position(|&a| !(a > 0.0 && a.is_finite())) {
        None => Ok(()),
        Some(i) => Err(Error::new(
            Status::NoEnergy,
            format_args!("diagonal[{i}] is {}: row {i} has no effective mass, its error has no energy", diagonal[i]),
        )),
    }
}
