//! Errors of a friction cone's two tangent rows: one number for both, the same in any tangent basis.
//!
//! The impulses x must lie in the disc D of radius r = mu max(x_n, 0), and the velocity w must oppose x at the rim and
//! vanish inside. That is `x = P(x - w/a)` for any a > 0, P the projection onto D, and the way to go,
//!
//! ```text
//! d(a) = x - P(x - w/a)
//! ```
//! measures by how much it is not. With a = the mean of the two diagonals (rotating the basis leaves their sum alone):
//!
//! ```text
//! energy       e   = a/2 |d(a)|²                                     J
//! natural      rho = |d(1)|                                          N·s or m/s, as for rows
//! FB           psi = max( phi(p, |w|), |phi(r - |x|, q)| )           mixed units
//! duality gap  r |w| + w·x, not below 0                              J
//! ```
//! On a line the disc is the interval [-r, r], and each of these is the formula of a row: `½ a (x - clamp(x - w/a))²` is
//! the energy error of `energy.rs` case by case. In FB p is |d(1)| where the projection acts, else the way from x to the
//! rim against w; the second term counts outside the disc only, with q the part of w that pulls x back. Merit and the
//! penalised measure are made of phi likewise (the latter is a row's formula within the disc only). All are 0 exactly at
//! solutions, the gap among feasible x.

use super::fischer_burmeister::phi;
use super::penalized::penalized_phi;
use super::{Measure, DEFAULT_LAMBDA};
use crate::problem::project_disc;

/// The tangent rows of a contact.
#[derive(Clone, Copy, Debug)]
pub struct Disc {
    /// Diagonal entries of A.
    pub diagonal: [f64; 2],
    /// Impulses.
    pub x: [f64; 2],
    /// Velocities.
    pub w: [f64; 2],
    /// Radius of the disc, +inf allowed.
    pub radius: f64,
}

impl Disc {
    /// The error of both rows together.
    pub fn error(&self, measure: Measure) -> f64 {
        match measure {
            Measure::Energy => self.energy(0.5 * (self.diagonal[0] + self.diagonal[1])),
            // Of the exact masses it is the sum of the inverses that does not turn with the basis.
            Measure::EnergyExactMass => self.energy(2.0 / (1.0 / self.diagonal[0] + 1.0 / self.diagonal[1])),
            Measure::Natural => length(self.way(1.0).unwrap_or(self.w)),
            Measure::FischerBurmeister => self.smoothed(phi),
            Measure::Merit => {
                let psi = self.smoothed(phi);
                0.5 * psi * psi
            }
            Measure::Penalized => self.smoothed(|p, q| penalized_phi(p, q, DEFAULT_LAMBDA)),
            Measure::DualityGap => self.gap(),
        }
    }

    /// Is x in the disc? On the rim some round-off is: no projection meets it exactly.
    pub fn is_feasible(&self) -> bool {
        length(self.x) <= self.radius * (1.0 + 4.0 * f64::EPSILON)
    }

    /// `d(a)` where the projection acts; none inside, where it is w/a.
    fn way(&self, a: f64) -> Option<[f64; 2]> {
        let aim = [self.x[0] - self.w[0] / a, self.x[1] - self.w[1] / a];
        if length(aim) <= self.radius {
            return None;
        }
        let nearest = project_disc(aim, self.radius);
        // Kept finite: a mass beyond all measure times infinity would be NaN.
        Some([self.x[0] - nearest[0], self.x[1] - nearest[1]].map(|v| v.clamp(-f64::MAX, f64::MAX)))
    }

    fn energy(&self, a: f64) -> f64 {
        let half_a = 0.5 * a;
        match self.way(a) {
            Some([p, q]) => half_a * p * p + half_a * q * q,
            None => 0.5 * self.w[0] * self.w[0] / a + 0.5 * self.w[1] * self.w[1] / a,
        }
    }

    fn smoothed(&self, phi: impl Fn(f64, f64) -> f64) -> f64 {
        let (speed, size) = (length(self.w), length(self.x));
        let slack = self.way(1.0).map_or_else(|| self.way_to_rim(speed), length);
        let inside = phi(slack, speed);
        if size <= self.radius {
            return inside;
        }
        let along = self.x[0] / size * self.w[0] + self.x[1] / size * self.w[1];
        inside.max(phi(self.radius - size, (-along).max(0.0)).abs())
    }

    /// How far x may go against w within the disc; it may go by |w| at least.
    fn way_to_rim(&self, speed: f64) -> f64 {
        if speed == 0.0 || self.radius == f64::INFINITY {
            return self.radius;
        }
        let u = [self.w[0] / speed, self.w[1] / speed];
        let along = u[0] * self.x[0] + u[1] * self.x[1];
        let across = u[0] * self.x[1] - u[1] * self.x[0];
        let half = ((self.radius - across) * (self.radius + across)).max(0.0).sqrt();
        (along + half).max(speed)
    }

    fn gap(&self) -> f64 {
        let speed = length(self.w);
        // |w| times the way against w; 0 * inf is no gap at all.
        if speed == 0.0 {
            return 0.0;
        }
        if self.radius == f64::INFINITY {
            return f64::INFINITY;
        }
        let slack = self.radius + (self.w[0] / speed * self.x[0] + self.w[1] / speed * self.x[1]);
        // NaN stays.
        if slack <= 0.0 {
            0.0
        } else {
            speed * slack
        }
    }
}

fn length(v: [f64; 2]) -> f64 {
    v[0].hypot(v[1])
}
