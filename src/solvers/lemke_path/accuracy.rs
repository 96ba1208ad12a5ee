//! Does the tableau of Lemke's path still say what the matrix says, and has its basis been there before?

use super::{Law, Path, Place, Variable};
use crate::solvers::scaled::Scaled;
use crate::Budget;

/// The tableau is accurate while v = A y + b + c t holds to this, relative to the largest value of all.
const ACCURATE: f64 = 1e-9;

impl Path {
    /// Has this basis been there before? Compared with the one kept at pivot 1, 2, 4, 8, …
    pub fn has_returned(&mut self, pivot: usize) -> bool {
        let state = |i: usize| match self.x_place[i] {
            Place::Basic(_) => (Variable::X(i), false),
            Place::Column(_) if matches!(self.v_place[i], Place::Basic(_)) => (Variable::V(i), self.upper[i]),
            Place::Column(_) => (Variable::Artificial, self.upper[i]),
        };
        let n = self.len();
        if pivot >= self.keep_at {
            self.keep_at = 2 * pivot;
            let (kept, entering) = ((0..n).map(state), self.entering);
            let mut list = std::mem::take(&mut self.kept);
            list.clear();
            list.extend(kept);
            (self.kept, self.kept_entering) = (list, entering);
            return false;
        }
        self.kept_entering == self.entering && self.kept.len() == n && (0..n).all(|i| self.kept[i] == state(i))
    }

    /// Does v = A y + b + c t hold for the tableau's values? `y` and `v` are overwritten.
    pub fn is_accurate(&self, scaled: &Scaled, y: &mut [f64], v: &mut [f64]) -> bool {
        self.gather(y);
        scaled.multiply(y, v);
        for &(i, j, shift) in &self.shifts {
            v[i] += shift * y[j];
        }
        let t = match self.t_place {
            Some(Place::Basic(r)) => self.value[r],
            _ => 0.0,
        };
        let size = self.value.iter().fold(0.0f64, |size, v| size.max(v.abs()));
        let is_right = |i: usize| {
            let there = match self.v_place[i] {
                Place::Basic(r) => self.value[r],
                Place::Column(_) => 0.0,
            };
            (v[i] + self.cover[i] * t - there).abs() <= ACCURATE * size
        };
        (0..self.len()).all(is_right)
    }

    /// Largest natural residual of a row at y with velocities v, in the scaled units.
    pub fn residual(&self, y: &[f64], v: &[f64]) -> f64 {
        (0..self.len()).fold(0.0f64, |most, i| {
            let (lo, hi) = match self.law[i] {
                Law::Friction { normal, reach } => (-reach * y[normal].max(0.0), reach * y[normal].max(0.0)),
                _ => (self.lo[i], self.hi[i]),
            };
            let residual = (y[i] - (y[i] - v[i]).max(lo).min(hi)).abs();
            // NaN is no solution.
            if residual <= most {
                most
            } else {
                residual
            }
        })
    }

    /// Compute the tableau of the present basis from the matrix. False if the basis is singular or the time is over; then
    /// the tableau is of no use.
    pub fn rebuild(&mut self, scaled: &Scaled, budget: &Budget) -> bool {
        let n = self.len();
        let entering = self.entering;
        // Each row: is its y basic, is its v?
        let mut leaves = std::mem::take(&mut self.basis);
        leaves.clear();
        for i in 0..n {
            let x_is_basic = matches!(self.x_place[i], Place::Basic(_));
            let v_is_basic = matches!(self.v_place[i], Place::Basic(_));
            leaves.push((if x_is_basic { Variable::X(i) } else { Variable::Artificial }, v_is_basic));
            if x_is_basic {
                self.y[i] = 0.0;
            }
        }
        let t_is_basic = matches!(self.t_place, Some(Place::Basic(_)));
        self.fill(scaled);
        for i in 0..n {
            if let Law::Friction { normal, reach } = self.law[i] {
                if leaves[i].0 == Variable::Artificial {
                    let slope = self.side(i) * reach;
                    self.tie_column(i, normal, slope);
                }
            }
        }
        let mut is_regular = true;
        for c in (0..=n).filter(|&c| if c < n { leaves[c].0 != Variable::Artificial } else { t_is_basic }) {
            // Column c is still where it was filled.
            let mut best = (0, 0.0);
            for r in 0..n {
                let may_leave = matches!(self.basic[r], Variable::V(i) if !leaves[i].1);
                let size = self.at(r, c).abs();
                if may_leave && size > best.1 {
                    best = (r, size);
                }
            }
            if best.1 <= f64::EPSILON || budget.spent() {
                is_regular = false;
                break;
            }
            let step = -self.value[best.0] / self.at(best.0, c);
            self.pivot(best.0, c, step, 0.0);
        }
        self.basis = leaves;
        self.entering = entering;
        is_regular && self.value.iter().all(|v| v.is_finite())
    }
}
