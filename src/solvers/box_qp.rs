//! What the gradient solvers share: the box QP `min ½xᵀAx + bᵀx, lo <= x <= hi` in rows scaled to a unit diagonal.
//!
//! In `z = √D x` with D = diag(A) the gradient is `w / √D`, a gradient step of length t is `x - t w / a`, and norms are
//! `Σ a δx²`: no root is ever taken, and neither units nor mass ratios of single rows matter. Changes of the objective
//! are exact for a quadratic: `f(x + p) - f(x) = wᵀp + ½ pᵀAp`.
//!
//! Coupled friction: the bounds are those at an earlier x, and move on when the projected gradient has become small
//! against what it was when they last moved, so that no effort goes into bounds which are not yet right.

use super::{require_positive_diagonal, State};
use crate::error::{Error, Result, Status};
use crate::memory::{refill, reserve};
use crate::problem::{Operator, Problem};
use crate::settings::SolverKind;

/// Bounds move on when `Σ a δ²` of the projected gradient has fallen to this share.
const SHARE: f64 = 1e-2;

#[derive(Default)]
pub(super) struct BoxQp {
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
    /// 1/a_ii.
    pub inverse: Vec<f64>,
    /// A step p and its product A p.
    pub step: Vec<f64>,
    pub product: Vec<f64>,
    scratch: Vec<f64>,
    /// Projected gradient at which friction bounds move on.
    target: f64,
}

/// Refuse what has no objective, or no scale.
pub(super) fn check(problem: &Problem, solver: SolverKind) -> Result<()> {
    if !problem.is_symmetric() {
        let name = solver.name();
        return Err(Error::new(Status::Unsupported, format_args!("{name} needs a symmetric A, this one is not")));
    }
    require_positive_diagonal(problem, solver)
}

impl BoxQp {
    fn rows(&mut self) -> [&mut Vec<f64>; 5] {
        [&mut self.lo, &mut self.hi, &mut self.inverse, &mut self.step, &mut self.product]
    }

    pub fn reserve(&mut self, problem: &Problem) -> Result<()> {
        for v in self.rows() {
            reserve(v, problem.len())?;
        }
        reserve(&mut self.scratch, 6 * (problem.bodies() + 1))
    }

    pub fn start(&mut self, problem: &Problem, state: &mut State) -> Result<()> {
        for v in self.rows() {
            refill(v, problem.len(), 0.0)?;
        }
        for (inverse, a) in self.inverse.iter_mut().zip(problem.diagonal()) {
            *inverse = 1.0 / a;
        }
        problem.bounds_at(&state.x, &mut self.lo, &mut self.hi);
        self.settle(problem, state)?;
        self.target = SHARE * self.residual(problem, &state.x, &state.w);
        Ok(())
    }

    /// x into the bounds, and its exact w.
    fn settle(&mut self, problem: &Problem, state: &mut State) -> Result<()> {
        for i in 0..state.x.len() {
            state.x[i] = state.x[i].max(self.lo[i]).min(self.hi[i]);
        }
        self.refresh(problem, state)
    }

    /// w = A x + b afresh.
    pub fn refresh(&mut self, problem: &Problem, state: &mut State) -> Result<()> {
        state.w_is_exact = true;
        problem.multiply(&state.x, &mut state.w, &mut self.scratch)
    }

    /// How far row i goes in a projected gradient step of length t.
    #[inline]
    pub fn projected(&self, i: usize, t: f64, x: f64, w: f64) -> f64 {
        (x - t * w * self.inverse[i]).max(self.lo[i]).min(self.hi[i]) - x
    }

    /// `Σ a δ²` of the projected gradient step of length 1.
    pub fn residual(&self, problem: &Problem, x: &[f64], w: &[f64]) -> f64 {
        let square = |i: usize| problem.diagonal()[i] * self.projected(i, 1.0, x[i], w[i]).powi(2);
        (0..x.len()).map(square).sum()
    }

    /// Move coupled friction bounds on if the problem for the old ones is solved well enough, or `force` says so. True
    /// if they moved: x is inside the new ones, and has its w.
    pub fn follow(&mut self, problem: &Problem, state: &mut State, force: bool) -> Result<bool> {
        if !problem.has_live_bounds() {
            return Ok(false);
        }
        if !force && self.residual(problem, &state.x, &state.w) > self.target {
            return Ok(false);
        }
        let mut moved = false;
        for i in 0..state.x.len() {
            let (lo, hi) = problem.bounds_of(i, &state.x);
            moved |= lo != self.lo[i] || hi != self.hi[i];
            (self.lo[i], self.hi[i]) = (lo, hi);
        }
        if moved {
            self.settle(problem, state)?;
        }
        self.target = SHARE * self.residual(problem, &state.x, &state.w);
        Ok(moved)
    }

    /// `product = A step`.
    pub fn multiply_step(&mut self, problem: &Problem) -> Result<()> {
        let BoxQp { step, product, scratch, .. } = self;
        multiply(problem, step, product, scratch)
    }

    /// `out = A v`.
    pub fn multiply(&mut self, problem: &Problem, v: &[f64], out: &mut [f64]) -> Result<()> {
        multiply(problem, v, out, &mut self.scratch)
    }

    /// `wᵀp` and `pᵀAp` of the step, whose product is known.
    pub fn slope_and_curvature(&self, w: &[f64]) -> (f64, f64) {
        (dot(w, &self.step), dot(&self.step, &self.product))
    }

    /// `x += alpha step, w += alpha product`, unless a number overflows. Returns `½ Σ a δx²` and `Σ a x²`; None: as it
    /// was.
    pub fn advance(&self, problem: &Problem, state: &mut State, alpha: f64) -> Option<(f64, f64)> {
        let fits = |v: &f64, d: &f64| (v + alpha * d).is_finite();
        let all = |v: &[f64], d: &[f64]| v.iter().zip(d).all(|(v, d)| fits(v, d));
        if !all(&state.x, &self.step) || !all(&state.w, &self.product) {
            return None;
        }
        let (mut change, mut energy) = (0.0, 0.0);
        state.set_changes = 0;
        for i in 0..state.x.len() {
            let (lo, hi, old) = (self.lo[i], self.hi[i], state.x[i]);
            let new = (old + alpha * self.step[i]).max(lo).min(hi);
            state.x[i] = new;
            state.w[i] += alpha * self.product[i];
            let a = problem.diagonal()[i];
            change += a * (new - old) * (new - old);
            energy += a * new * new;
            state.set_changes += usize::from((old > lo && old < hi) != (new > lo && new < hi));
        }
        state.change = 0.5 * change;
        state.w_is_exact = false;
        Some((state.change, energy))
    }

    /// Go along `direction`, a descent direction on the rows strictly inside their bounds and zero elsewhere, so that
    /// the objective does not rise: projected in full, else in shorter and shorter parts, else to the first bound.
    /// False: no step lowers it.
    pub fn descend(&mut self, problem: &Problem, state: &mut State, direction: &[f64]) -> Result<bool> {
        let mut alpha = 1.0;
        for _ in 0..4 {
            for i in 0..state.x.len() {
                let x = state.x[i];
                self.step[i] = (x + alpha * direction[i]).max(self.lo[i]).min(self.hi[i]) - x;
            }
            self.multiply_step(problem)?;
            let (slope, curvature) = self.slope_and_curvature(&state.w);
            if slope + 0.5 * curvature < 0.0 {
                // The best point of the way there and no further.
                let best = if curvature > 0.0 { (-slope / curvature).min(1.0) } else { 1.0 };
                return Ok(self.advance(problem, state, best).is_some());
            }
            alpha *= 0.25;
        }
        let mut reach = f64::INFINITY;
        for i in 0..state.x.len() {
            let (x, d) = (state.x[i], direction[i]);
            self.step[i] = d;
            if d > 0.0 {
                reach = reach.min((self.hi[i] - x) / d);
            } else if d < 0.0 {
                reach = reach.min((self.lo[i] - x) / d);
            }
        }
        self.multiply_step(problem)?;
        let (slope, curvature) = self.slope_and_curvature(&state.w);
        let best = if curvature > 0.0 { (-slope / curvature).min(reach) } else { reach.min(1.0) };
        Ok(slope < 0.0 && best > 0.0 && self.advance(problem, state, best).is_some())
    }
}

/// `out = A v`.
pub(super) fn multiply(problem: &Problem, v: &[f64], out: &mut [f64], scratch: &mut Vec<f64>) -> Result<()> {
    match problem.operator() {
        Operator::Dense(a) => out.iter_mut().enumerate().for_each(|(i, out)| *out = a.row_dot(i, v)),
        Operator::Csr(a) => out.iter_mut().enumerate().for_each(|(i, out)| *out = a.row_dot(i, v)),
        Operator::Jacobian(a) => {
            refill(scratch, a.whitened_len(), 0.0)?;
            a.push(v, scratch);
            for (i, out) in out.iter_mut().enumerate() {
                *out = a.rows()[i].dot(scratch) + a.compliance()[i] * v[i];
            }
        }
    }
    Ok(())
}

pub(super) fn dot(p: &[f64], q: &[f64]) -> f64 {
    p.iter().zip(q).map(|(p, q)| p * q).sum()
}
