//! Accelerated projected gradient descent.
//!
//! ```text
//! x⁺ = clamp(y - t D⁻¹ w(y), lo, hi),   θ⁺: θ⁺² = (1 - θ⁺) θ²,   y⁺ = x⁺ + β (x⁺ - x),   β = θ (1 - θ) / (θ² + θ⁺)
//! ```
//! Reference: Nesterov 1983; Mazhar, Heyn, Negrut, Tasora 2015 for contact; O'Donoghue and Candes 2015 for the restart.
//! D = diag(A) makes it invariant to units (`box_qp.rs`). t is halved until `pᵀAp <= pᵀDp / t` on the step p = x⁺ - y,
//! which for a quadratic is the whole condition, and grows a little after each success. When the step points uphill
//! against the last gradient, the momentum is dropped.
//!
//! Coupled friction: the bounds are held until the projected gradient has fallen tenfold, then move on (`box_qp.rs`).
//!
//! Cost per step: one product with A; w(y) follows from those at x and x⁺. One more for each halving.
//! It wins with many rows and a modest budget: the error falls as 1/k², whatever the rank. It fails slowly on
//! ill-conditioned problems, and its objective is not monotone. A must be symmetric.

use super::box_qp::{self, BoxQp};
use super::sweep::ROUND_OFF;
use super::{Progress, Solver, State};
use crate::error::Result;
use crate::memory::{refill, reserve};
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use crate::Budget;

const SHRINK: f64 = 0.5;
const GROW: f64 = 1.05;
/// Halvings in one step; A would have to be far from positive semidefinite, or overflow, to need more.
const HALVINGS: usize = 60;

#[derive(Default)]
pub(super) struct Apgd {
    qp: BoxQp,
    /// The point ahead, and its velocities.
    y: Vec<f64>,
    wy: Vec<f64>,
    theta: f64,
    t: f64,
    /// Steps since the momentum was dropped.
    since: usize,
}

impl Solver for Apgd {
    fn check(&self, problem: &Problem) -> Result<()> {
        box_qp::check(problem, SolverKind::Apgd)
    }

    fn follows_friction(&self, _: &Problem) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        reserve(&mut self.y, problem.len())?;
        reserve(&mut self.wy, problem.len())?;
        self.qp.reserve(problem)
    }

    fn start(&mut self, problem: &Problem, state: &mut State, _: &Settings) -> Result<()> {
        self.qp.start(problem, state)?;
        refill(&mut self.y, problem.len(), 0.0)?;
        refill(&mut self.wy, problem.len(), 0.0)?;
        self.t = 1.0;
        self.begin(state);
        Ok(())
    }

    fn step(&mut self, problem: &Problem, state: &mut State, _: &Budget) -> Result<Progress> {
        if self.qp.follow(problem, state, false)? {
            self.begin(state);
        }
        self.project(problem)?;
        let theta2 = self.theta * self.theta;
        let next = 0.5 * (-theta2 + (theta2 * theta2 + 4.0 * theta2).sqrt());
        let beta = self.theta * (1.0 - self.theta) / (theta2 + next);
        let (mut change, mut energy, mut uphill) = (0.0, 0.0, 0.0);
        state.set_changes = 0;
        let finite = |v: &[f64], p: &[f64]| v.iter().zip(p).all(|(v, p)| (v + p).is_finite());
        if !finite(&self.y, &self.qp.step) || !finite(&self.wy, &self.qp.product) {
            state.change = 0.0;
            return Ok(Progress::Stalled);
        }
        for i in 0..state.x.len() {
            let (lo, hi, old, w_old) = (self.qp.lo[i], self.qp.hi[i], state.x[i], state.w[i]);
            let new = (self.y[i] + self.qp.step[i]).max(lo).min(hi);
            let w_new = self.wy[i] + self.qp.product[i];
            uphill += self.wy[i] * (new - old);
            let a = problem.diagonal()[i];
            change += a * (new - old) * (new - old);
            energy += a * new * new;
            state.set_changes += usize::from((old > lo && old < hi) != (new > lo && new < hi));
            (state.x[i], state.w[i]) = (new, w_new);
            self.y[i] = new + beta * (new - old);
            self.wy[i] = w_new + beta * (w_new - w_old);
        }
        state.change = 0.5 * change;
        state.w_is_exact = false;
        self.theta = next;
        self.t *= GROW;
        self.since += 1;
        if uphill > 0.0 {
            self.begin(state);
        }
        if state.change > ROUND_OFF * energy {
            return Ok(Progress::Continue);
        }
        // Without momentum and with exact velocities, standing still is arrival.
        let plain = self.since <= 1;
        self.qp.refresh(problem, state)?;
        let moved = self.qp.follow(problem, state, true)?;
        self.begin(state);
        Ok(if plain && !moved { Progress::Stalled } else { Progress::Continue })
    }
}

impl Apgd {
    /// Drop the momentum.
    fn begin(&mut self, state: &State) {
        self.y.copy_from_slice(&state.x);
        self.wy.copy_from_slice(&state.w);
        self.theta = 1.0;
        self.since = 0;
    }

    /// The projected step from y and its product, with t shortened until it bounds the curvature.
    fn project(&mut self, problem: &Problem) -> Result<()> {
        for _ in 0..HALVINGS {
            let mut size = 0.0;
            for i in 0..self.y.len() {
                self.qp.step[i] = self.qp.projected(i, self.t, self.y[i], self.wy[i]);
                size += problem.diagonal()[i] * self.qp.step[i].powi(2);
            }
            self.qp.multiply_step(problem)?;
            let (_, curvature) = self.qp.slope_and_curvature(&self.wy);
            // False when either is not a number: the caller looks.
            if curvature * self.t > size {
                self.t *= SHRINK;
            } else {
                break;
            }
        }
        Ok(())
    }
}
