//! Slacks and multipliers of an interior point method, and their passes over the rows.
//!
//! Row i has a slack to its lower bound with a multiplier p, and one to its upper bound with q. A bound that is absent, and
//! both of a row that is held, have zeros in all places: they add nothing to any sum, and the loops need not ask.

use crate::error::Result;
use crate::memory::{refill, reserve};
use pulp::Arch;

/// Numbers that are added up side by side.
const LANES: usize = 8;

/// One side of all rows.
#[derive(Default)]
pub(super) struct Side {
    /// Multipliers, and their changes; before [`Barrier::follow`], what they aim at.
    pub multiplier: Vec<f64>,
    pub change: Vec<f64>,
    /// Slacks, their reciprocals, and how they change along the step.
    pub slack: Vec<f64>,
    pub inverse: Vec<f64>,
    pub rate: Vec<f64>,
}

#[derive(Default)]
pub(super) struct Barrier {
    pub below: Side,
    pub above: Side,
    /// Bounds that are there.
    pub bounds: usize,
    arch: Arch,
}

impl Side {
    fn rows(&mut self) -> [&mut Vec<f64>; 5] {
        let Side { multiplier, change, slack, inverse, rate } = self;
        [multiplier, change, slack, inverse, rate]
    }

    /// Give row i a slack; that of a bound which is absent does not count.
    #[inline(always)]
    pub fn set_slack(&mut self, i: usize, slack: f64) {
        let is_there = self.multiplier[i] > 0.0;
        self.slack[i] = if is_there { slack } else { 0.0 };
        self.inverse[i] = if is_there { 1.0 / slack } else { 0.0 };
    }

    /// Multipliers that would bring the products with the slacks to `target`, less this share of the last step's own.
    #[inline(always)]
    fn aim(&mut self, target: f64, share: f64) {
        for ((change, inverse), rate) in self.change.iter_mut().zip(&self.inverse).zip(&self.rate) {
            // Without a share nothing of the last step counts, which may have overflowed.
            let own = if share > 0.0 { share * rate * *change } else { 0.0 };
            *change = (target - own) * inverse;
        }
    }

    #[inline(always)]
    fn follow(&mut self) {
        let Side { multiplier, change, inverse, rate, .. } = self;
        for (((change, p), inverse), rate) in change.iter_mut().zip(multiplier).zip(inverse).zip(rate) {
            *change -= *p + *p * *inverse * *rate;
        }
    }

    /// `Σ (p + t δp) (s + t δs)`.
    #[inline(always)]
    fn products(&self, length: f64) -> f64 {
        let mut sums = [0.0; LANES];
        let Side { multiplier, change, slack, rate, .. } = self;
        for (((p, dp), s), ds) in
            multiplier.chunks(LANES).zip(change.chunks(LANES)).zip(slack.chunks(LANES)).zip(rate.chunks(LANES))
        {
            for k in 0..p.len().min(dp.len()).min(s.len()).min(ds.len()) {
                // An absent bound's rate is any number.
                sums[k] += (p[k] + length * dp[k]) * if p[k] > 0.0 { s[k] + length * ds[k] } else { 0.0 };
            }
        }
        sums.iter().sum()
    }

    /// The largest rate at which a slack or multiplier falls, as a fraction of itself.
    #[inline(always)]
    fn fastest(&self) -> f64 {
        let mut most = [0.0f64; LANES];
        let Side { multiplier, change, inverse, rate, .. } = self;
        for (((p, dp), r), ds) in
            multiplier.chunks(LANES).zip(change.chunks(LANES)).zip(inverse.chunks(LANES)).zip(rate.chunks(LANES))
        {
            for k in 0..p.len().min(dp.len()).min(r.len()).min(ds.len()) {
                // Not a number where the bound is absent, which is larger than nothing.
                let (slack, multiplier) = (-ds[k] * r[k], -dp[k] / p[k]);
                let larger = if slack > most[k] { slack } else { most[k] };
                most[k] = if multiplier > larger { multiplier } else { larger };
            }
        }
        most.into_iter().fold(0.0, f64::max)
    }
}

impl Barrier {
    pub fn reserve(&mut self, rows: usize) -> Result<()> {
        self.below.rows().into_iter().chain(self.above.rows()).try_for_each(|v| reserve(v, rows))
    }

    /// No bounds yet.
    pub fn clear(&mut self, rows: usize) -> Result<()> {
        self.bounds = 0;
        self.below.rows().into_iter().chain(self.above.rows()).try_for_each(|v| refill(v, rows, 0.0))
    }

    /// A row's slack to a bound, if it has one: its multiplier begins where their product is `mu`.
    pub fn place(&mut self, i: usize, below: f64, above: f64, mu: f64) {
        for (side, slack) in [(&mut self.below, below), (&mut self.above, above)] {
            if slack.is_finite() {
                side.multiplier[i] = mu / slack.max(f64::MIN_POSITIVE);
                self.bounds += 1;
            }
        }
    }

    /// Find the slacks of impulses x between fixed bounds.
    pub fn set_slacks(&mut self, x: &[f64], lo: &[f64], hi: &[f64]) {
        let Barrier { below, above, arch, .. } = self;
        arch.dispatch(|| {
            for i in 0..x.len().min(lo.len()).min(hi.len()) {
                below.set_slack(i, x[i] - lo[i]);
                above.set_slack(i, hi[i] - x[i]);
            }
        });
    }

    /// The rates along a step between fixed bounds.
    pub fn set_rates(&mut self, dx: &[f64]) {
        self.below.rate.copy_from_slice(dx);
        for (rate, dx) in self.above.rate.iter_mut().zip(dx) {
            *rate = -dx;
        }
    }

    /// `P/(X-Lo) + Q/(Hi-X) + ρ D`.
    pub fn weigh(&self, rho: f64, diagonal: &[f64], out: &mut [f64]) {
        let Barrier { below, above, arch, .. } = self;
        let (p, r) = (&below.multiplier, &below.inverse);
        let (q, s) = (&above.multiplier, &above.inverse);
        arch.dispatch(|| {
            for (((((out, a), p), r), q), s) in out.iter_mut().zip(diagonal).zip(p).zip(r).zip(q).zip(s) {
                *out = p * r + q * s + rho * a;
            }
        });
    }

    /// Aim at the complementarity `target`, less a share of the last step's second-order terms; the system's right-hand side.
    pub fn aim(&mut self, target: f64, share: f64, w: &[f64], rhs: &mut [f64]) {
        let Barrier { below, above, arch, .. } = self;
        arch.dispatch(|| {
            below.aim(target, share);
            above.aim(target, share);
            for (((rhs, w), p), q) in rhs.iter_mut().zip(w).zip(&below.change).zip(&above.change) {
                *rhs = p - q - w;
            }
        });
    }

    /// The multipliers' changes along the step whose rates are known.
    pub fn follow(&mut self) {
        let Barrier { below, above, arch, .. } = self;
        arch.dispatch(|| {
            below.follow();
            above.follow();
        });
    }

    /// Mean product of slack and multiplier after a step of this length.
    pub fn mean(&self, length: f64) -> f64 {
        let sum = self.arch.dispatch(|| self.below.products(length) + self.above.products(length));
        if self.bounds == 0 {
            0.0
        } else {
            sum / self.bounds as f64
        }
    }

    /// Longest step, at most 1, that keeps slacks and multipliers non-negative.
    pub fn longest_step(&self) -> f64 {
        let fastest = self.arch.dispatch(|| self.below.fastest().max(self.above.fastest()));
        1.0 / fastest.max(1.0)
    }

    /// Take the step.
    pub fn advance(&mut self, length: f64) {
        for side in [&mut self.below, &mut self.above] {
            for (p, dp) in side.multiplier.iter_mut().zip(&side.change) {
                *p += length * dp;
            }
        }
    }
}
