//! Spectral projected gradient.
//!
//! ```text
//! d = clamp(x - λ D⁻¹ w, lo, hi) - x,   x ← x + α d,   λ = sᵀDs / sᵀy  or  sᵀy / yᵀD⁻¹y,   s = Δx, y = Δw = A s
//! ```
//! Reference: Birgin, Martinez, Raydan 2000, on Barzilai and Borwein's step 1988, which alternates as in Frassoldati,
//! Zanni, Zanghirati 2008; D = diag(A) makes it invariant to units (`box_qp.rs`). α is 1 unless `f(x + d)` is above the
//! largest of the last [`MEMORY`] objectives; then it is the exact minimiser along d, which the product A d gives for
//! nothing. The objective may rise for a while, but never above that memory.
//!
//! Coupled friction: the bounds are held until the projected gradient has fallen tenfold, then move on (`box_qp.rs`).
//!
//! Cost per step: one product with A. w is carried along and renewed whenever the loop measures.
//! It wins where products are cheap and rows are many, and on redundant contacts, which do not slow it. It fails slowly
//! where A is ill-conditioned beyond its diagonal: long chains, high mass ratios. A must be symmetric.

use super::box_qp::{self, BoxQp};
use super::sweep::ROUND_OFF;
use super::{Progress, Solver, State};
use crate::error::Result;
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use crate::Budget;

/// Objectives remembered by the line search.
const MEMORY: usize = 10;
/// Least decrease, as a fraction of the slope.
const ARMIJO: f64 = 1e-4;
/// Steps in rows scaled to a unit diagonal are of order 1; beyond this one has met a direction without curvature.
const LONGEST: f64 = 1e8;
/// Short steps are taken where the two formulas differ by more than this factor.
const ALTERNATE: f64 = 0.2;
/// Short steps remembered; the shortest is taken.
const SHORTS: usize = 3;

#[derive(Default)]
pub(super) struct Spg {
    qp: BoxQp,
    lambda: f64,
    /// Objective less that at the start.
    f: f64,
    past: [f64; MEMORY],
    shorts: [f64; SHORTS],
    steps: usize,
}

impl Solver for Spg {
    fn check(&self, problem: &Problem) -> Result<()> {
        box_qp::check(problem, SolverKind::Spg)
    }

    fn follows_friction(&self, _: &Problem) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        self.qp.reserve(problem)
    }

    fn start(&mut self, problem: &Problem, state: &mut State, _: &Settings) -> Result<()> {
        self.qp.start(problem, state)?;
        self.begin();
        Ok(())
    }

    fn step(&mut self, problem: &Problem, state: &mut State, _: &Budget) -> Result<Progress> {
        if self.qp.follow(problem, state, false)? {
            self.begin();
        }
        for i in 0..state.x.len() {
            self.qp.step[i] = self.qp.projected(i, self.lambda, state.x[i], state.w[i]);
        }
        self.qp.multiply_step(problem)?;
        let (slope, curvature) = self.qp.slope_and_curvature(&state.w);
        let alpha = self.line_search(slope, curvature);
        let Some((change, energy)) = self.qp.advance(problem, state, alpha) else {
            state.change = 0.0;
            return Ok(Progress::Stalled);
        };
        self.f += alpha * slope + 0.5 * alpha * alpha * curvature;
        self.next_lambda(problem, curvature);
        if change > ROUND_OFF * energy {
            return Ok(Progress::Continue);
        }
        // A short step is no proof of arrival: once more from here, with exact velocities.
        let fresh = self.steps <= 1;
        self.qp.refresh(problem, state)?;
        let moved = self.qp.follow(problem, state, true)?;
        self.begin();
        Ok(if fresh && !moved { Progress::Stalled } else { Progress::Continue })
    }
}

impl Spg {
    /// Forget the past: the problem is another.
    fn begin(&mut self) {
        self.lambda = 1.0;
        self.f = 0.0;
        self.past = [f64::NEG_INFINITY; MEMORY];
        self.shorts = [f64::INFINITY; SHORTS];
        self.steps = 0;
    }

    /// The fraction of the step to take.
    fn line_search(&mut self, slope: f64, curvature: f64) -> f64 {
        self.past[self.steps % MEMORY] = self.f;
        self.steps += 1;
        let most = self.past.iter().fold(f64::NEG_INFINITY, |m, &f| m.max(f));
        if self.f + slope + 0.5 * curvature <= most + ARMIJO * slope || curvature <= 0.0 {
            1.0
        } else {
            (-slope / curvature).clamp(0.0, 1.0)
        }
    }

    fn next_lambda(&mut self, problem: &Problem, curvature: f64) {
        let (mut size, mut bend) = (0.0, 0.0);
        for i in 0..self.qp.step.len() {
            size += problem.diagonal()[i] * self.qp.step[i].powi(2);
            bend += self.qp.inverse[i] * self.qp.product[i].powi(2);
        }
        if curvature.is_nan() || curvature * LONGEST <= size {
            self.lambda = if size > 0.0 { LONGEST } else { 1.0 };
            return;
        }
        let (long, short) = (size / curvature, curvature / bend);
        self.shorts[self.steps % SHORTS] = short;
        self.lambda =
            if short < ALTERNATE * long { self.shorts.iter().fold(f64::INFINITY, |m, &s| m.min(s)) } else { long };
        if !self.lambda.is_finite() {
            self.lambda = 1.0;
        }
    }
}
