//! Gradient projection with MINRES on the free rows.
//!
//! ```text
//! x ← a few projected gradient steps (spectral step, exact line search),   F = { i : lo_i < x_i < hi_i }
//! d ≈ argmin ‖ A_FF d + w_F ‖  in the norm of D⁻¹, by MINRES,   x ← x + d, projected and shortened so that f falls
//! ```
//! Reference: Heyn 2013 (GP-MINRES for contact), after More and Toraldo 1991; MINRES: Paige and Saunders 1975, here in
//! the form of conjugate residuals (Stiefel 1955), which are the same iterates for positive semidefinite A. The gradient
//! steps find out which rows are at a bound, the Krylov steps solve for the others without a factorisation. Residuals
//! are minimised, so that a singular A with a load outside its range does no harm. D = diag(A) preconditions.
//! `f = ½xᵀAx + bᵀx` never rises while the bounds stay.
//!
//! Coupled friction: the bounds are held until the projected gradient has fallen tenfold, then move on (`box_qp.rs`).
//!
//! Cost per step: [`GRADIENT`] + at most [`KRYLOV`] + a few products with A.
//! It wins on large problems whose factors fill, and on redundant ones that are not too large. It fails slowly on
//! brick walls, where the set of loaded contacts keeps changing, and on long chains, whose Krylov spaces need about as
//! many dimensions as the chain has links. A must be symmetric.

use super::box_qp::{self, dot, BoxQp};
use super::sweep::ROUND_OFF;
use super::{Progress, Solver, State};
use crate::error::Result;
use crate::memory::{refill, reserve};
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use crate::Budget;

/// Gradient steps in one step.
const GRADIENT: usize = 4;
/// Krylov steps at most, and the residual, as a share of the first, that ends them.
const KRYLOV: usize = 60;
const ENOUGH: f64 = 1e-3;

#[derive(Default)]
pub(super) struct GpMinres {
    qp: BoxQp,
    /// x before the step, the Krylov solution, its residual, its search direction, and their products with A.
    before: Vec<f64>,
    d: Vec<f64>,
    z: Vec<f64>,
    az: Vec<f64>,
    p: Vec<f64>,
    ap: Vec<f64>,
    is_free: Vec<bool>,
    lambda: f64,
}

impl Solver for GpMinres {
    fn check(&self, problem: &Problem) -> Result<()> {
        box_qp::check(problem, SolverKind::GpMinres)
    }

    fn follows_friction(&self, _: &Problem) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        for v in self.rows() {
            reserve(v, problem.len())?;
        }
        reserve(&mut self.is_free, problem.len())?;
        self.qp.reserve(problem)
    }

    fn start(&mut self, problem: &Problem, state: &mut State, _: &Settings) -> Result<()> {
        for v in self.rows() {
            refill(v, problem.len(), 0.0)?;
        }
        refill(&mut self.is_free, problem.len(), false)?;
        self.lambda = 1.0;
        self.qp.start(problem, state)
    }

    fn step(&mut self, problem: &Problem, state: &mut State, _: &Budget) -> Result<Progress> {
        self.qp.follow(problem, state, false)?;
        self.before.copy_from_slice(&state.x);
        for _ in 0..GRADIENT {
            self.gradient(problem, state)?;
        }
        self.qp.refresh(problem, state)?;
        if self.krylov(problem, state)? {
            let d = std::mem::take(&mut self.d);
            self.qp.descend(problem, state, &d)?;
            self.d = d;
            self.qp.refresh(problem, state)?;
        }
        let (mut change, mut energy) = (0.0, 0.0);
        state.set_changes = 0;
        for i in 0..state.x.len() {
            let (a, lo, hi, old, new) =
                (problem.diagonal()[i], self.qp.lo[i], self.qp.hi[i], self.before[i], state.x[i]);
            change += a * (new - old) * (new - old);
            energy += a * new * new;
            state.set_changes += usize::from((old > lo && old < hi) != (new > lo && new < hi));
        }
        state.change = 0.5 * change;
        if state.change > ROUND_OFF * energy || self.qp.follow(problem, state, true)? {
            return Ok(Progress::Continue);
        }
        Ok(Progress::Stalled)
    }
}

impl GpMinres {
    fn rows(&mut self) -> [&mut Vec<f64>; 6] {
        let GpMinres { before, d, z, az, p, ap, .. } = self;
        [before, d, z, az, p, ap]
    }

    /// A projected gradient step of the spectral length, and no further than the least objective on the way.
    fn gradient(&mut self, problem: &Problem, state: &mut State) -> Result<()> {
        for i in 0..state.x.len() {
            self.qp.step[i] = self.qp.projected(i, self.lambda, state.x[i], state.w[i]);
        }
        self.qp.multiply_step(problem)?;
        let (slope, curvature) = self.qp.slope_and_curvature(&state.w);
        let alpha = if curvature > 0.0 { (-slope / curvature).clamp(0.0, 1.0) } else { 1.0 };
        let Some(_) = self.qp.advance(problem, state, alpha) else { return Ok(()) };
        let size: f64 = (0..state.x.len()).map(|i| problem.diagonal()[i] * self.qp.step[i].powi(2)).sum();
        let lambda = size / curvature;
        self.lambda = if lambda.is_finite() && lambda > 0.0 { lambda.min(1e4) } else { 1.0 };
        Ok(())
    }

    /// `az = A z` on the free rows.
    fn multiply(&mut self, problem: &Problem) -> Result<()> {
        let GpMinres { qp, z, az, is_free, .. } = self;
        qp.multiply(problem, z, az)?;
        for (az, free) in az.iter_mut().zip(is_free) {
            *az = if *free { *az } else { 0.0 };
        }
        Ok(())
    }

    /// Conjugate residuals from d = 0 on the free rows, preconditioned by D: z = -D⁻¹ (w + A d). True if d is a
    /// direction to go.
    fn krylov(&mut self, problem: &Problem, state: &State) -> Result<bool> {
        for i in 0..state.x.len() {
            self.is_free[i] = state.x[i] > self.qp.lo[i] && state.x[i] < self.qp.hi[i];
            self.z[i] = if self.is_free[i] { -state.w[i] * self.qp.inverse[i] } else { 0.0 };
        }
        self.d.fill(0.0);
        self.p.copy_from_slice(&self.z);
        self.multiply(problem)?;
        self.ap.copy_from_slice(&self.az);
        let norm = |z: &[f64]| (0..z.len()).map(|i| problem.diagonal()[i] * z[i] * z[i]).sum::<f64>();
        let first = norm(&self.z);
        let mut energy = dot(&self.z, &self.az);
        let mut gone = false;
        for _ in 0..KRYLOV.min(2 * state.x.len()) {
            let bend: f64 = (0..self.ap.len()).map(|i| self.qp.inverse[i] * self.ap[i] * self.ap[i]).sum();
            let alpha = energy / bend;
            // Directions without curvature end it; so does overflow.
            if !(energy > 0.0 && alpha.is_finite()) || energy <= 1e-15 * norm(&self.z) {
                break;
            }
            for i in 0..self.d.len() {
                self.d[i] += alpha * self.p[i];
                self.z[i] -= alpha * self.qp.inverse[i] * self.ap[i];
            }
            gone = true;
            if norm(&self.z) <= ENOUGH * ENOUGH * first {
                break;
            }
            self.multiply(problem)?;
            let next = dot(&self.z, &self.az);
            let beta = next / energy;
            energy = next;
            for i in 0..self.p.len() {
                self.p[i] = self.z[i] + beta * self.p[i];
                self.ap[i] = self.az[i] + beta * self.ap[i];
            }
        }
        Ok(gone && self.d.iter().all(|d| d.is_finite()))
    }
}
