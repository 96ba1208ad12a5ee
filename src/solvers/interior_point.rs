//! Primal-dual interior point method with predictor-corrector steps and a proximal term.
//!
//! References: Mehrotra 1992; Altman & Gondzio 1999 for the proximal regularisation.
//!
//! With multipliers p, q >= 0 of the lower and upper bounds, the problem is
//!
//! ```text
//! A x + b = p - q,     p (x - lo) = 0,     q (hi - x) = 0
//! ```
//!
//! The zeros on the right become σμ and a Newton step is taken; eliminating the multipliers leaves one system in dx,
//!
//! ```text
//! (A + P/(X-Lo) + Q/(Hi-X) + ρD) dx = -w + (σμ - c)/(x-lo) - (σμ - d)/(hi-x),      D = diag(A)
//! ```
//!
//! factored once (`free_system.rs`, rows or bodies) and solved twice: a predictor with σ = 0, then a corrector that
//! aims at the μ the predictor promises and makes up for its second-order terms c, d. ρD keeps redundant joint rows
//! solvable and vanishes from the fixed point, since it only weighs the step. Rows with lo = hi are left out.
//!
//! Cost per iteration: one factorisation with every row, two solves, two or three products. It takes 10 to 40
//! iterations whatever the number of contacts, and minds degeneracy least of all solvers here: it wins on redundant
//! walls and piles. It cannot use a warm start well, and small easy problems are cheaper by pivots. It needs a
//! symmetric A.

use super::free_system::FreeSystem;
use super::{require_positive_diagonal, Progress, Solver, State};
use crate::error::{refill, reserve, Error, Result, Status};
use crate::linalg::Failure;
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use crate::Budget;

/// ρ at the start; it shrinks with μ.
const RHO_START: f64 = 1e-6;
const RHO_MIN: f64 = 1e-10;
/// Part of the way to the boundary that a step may go.
const BOUNDARY: f64 = 0.995;
/// Complementarity this far below the starting one is round-off.
const ROUND_OFF: f64 = 1e-26;

#[derive(Default)]
pub(super) struct InteriorPoint {
    system: FreeSystem,
    /// Multipliers of the bounds; 0 where a bound is absent.
    p: Vec<f64>,
    q: Vec<f64>,
    /// Step, its predictor, and right-hand sides.
    dx: Vec<f64>,
    dp: Vec<f64>,
    dq: Vec<f64>,
    shift: Vec<f64>,
    rhs: Vec<f64>,
    product: Vec<f64>,
    /// The system's unknowns, without fixed rows.
    packed: Vec<f64>,
    scratch: Vec<f64>,
    rho: f64,
    mu_start: f64,
    /// Finite bounds of rows that are not fixed.
    bounds: usize,
}

impl Solver for InteriorPoint {
    fn check(&self, problem: &Problem) -> Result<()> {
        if !problem.is_symmetric() {
            return Err(Error::new(Status::Unsupported, format_args!("ipm needs a symmetric A, this one is not")));
        }
        require_positive_diagonal(problem, SolverKind::InteriorPoint)
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        for v in self.rows() {
            reserve(v, problem.len())?;
        }
        reserve(&mut self.scratch, 6 * (problem.bodies() + 1))?;
        self.system.reserve(problem)
    }

    fn start(&mut self, problem: &Problem, state: &mut State, _: &Settings) -> Result<()> {
        let n = problem.len();
        for v in self.rows() {
            refill(v, n, 0.0)?;
        }
        self.system.prepare(problem)?;
        // A typical row's share of the energy that is to be found, in √J.
        let energy: f64 = (0..n).map(|i| state.w[i] * state.w[i] / problem.diagonal()[i]).sum();
        let size = (energy / n as f64).sqrt().max(f64::MIN_POSITIVE.sqrt());
        self.bounds = 0;
        for i in 0..n {
            let (lo, hi, x) = (state.lo[i], state.hi[i], &mut state.x[i]);
            if lo == hi {
                *x = lo;
                continue;
            }
            // Inside the bounds by a typical impulse, or in the middle if there is no room for that.
            let margin = (size / problem.diagonal()[i].sqrt()).min(0.5 * (hi - lo));
            *x = x.max(lo + margin).min(hi - margin);
            for (slack, multiplier) in [(*x - lo, &mut self.p[i]), (hi - *x, &mut self.q[i])] {
                if slack.is_finite() {
                    *multiplier = size * size / slack.max(f64::MIN_POSITIVE);
                    self.bounds += 1;
                }
            }
        }
        state.w_is_exact = false;
        self.rho = RHO_START;
        self.mu_start = size * size;
        Ok(())
    }

    fn step(&mut self, problem: &Problem, state: &mut State, budget: &Budget) -> Result<Progress> {
        let n = problem.len();
        problem.multiply(&state.x, &mut state.w, &mut self.scratch)?;
        loop {
            for i in 0..n {
                let (below, above) = (state.x[i] - state.lo[i], state.hi[i] - state.x[i]);
                self.shift[i] = self.p[i] / below + self.q[i] / above + self.rho * problem.diagonal()[i];
            }
            let free = (0..n).filter(|&i| state.lo[i] < state.hi[i]);
            match self.system.factor(problem, free, &self.shift, budget)? {
                Ok(()) => break,
                Err(Failure::OutOfTime(_)) => return Ok(Progress::OutOfTime),
                Err(Failure::NotPositive(_)) if self.rho < 1.0 => self.rho *= 100.0,
                Err(Failure::NotPositive(_)) => return Ok(Progress::Stalled),
            }
        }
        let mu = self.complementarity(state, 0.0);
        // Predictor: straight at the solution.
        self.direction(problem, state, 0.0, false)?;
        let reach = self.longest_step(state);
        let predicted = self.complementarity(state, reach);
        let sigma = if mu > 0.0 { (predicted / mu).powi(3).min(1.0) } else { 0.0 };
        // Corrector: with the predictor's own second-order terms.
        self.direction(problem, state, sigma * mu, true)?;
        let length = (BOUNDARY.max(1.0 - mu / self.mu_start) * self.longest_step(state)).min(1.0);
        let mut change = 0.0;
        for i in 0..n {
            let dx = length * self.dx[i];
            change += problem.diagonal()[i] * dx * dx;
            state.x[i] += dx;
            self.p[i] += length * self.dp[i];
            self.q[i] += length * self.dq[i];
        }
        state.change = 0.5 * change;
        state.set_changes = 0;
        problem.multiply(&state.x, &mut state.w, &mut self.scratch)?;
        state.w_is_exact = true;
        self.rho = (self.rho * 0.3).max(RHO_MIN);
        let finite = state.change.is_finite();
        let done = !finite || (self.bounds > 0 && mu <= ROUND_OFF * self.mu_start);
        Ok(if done { Progress::Stalled } else { Progress::Continue })
    }
}

impl InteriorPoint {
    /// Every buffer with one number per row.
    fn rows(&mut self) -> [&mut Vec<f64>; 9] {
        let InteriorPoint { p, q, dx, dp, dq, shift, rhs, product, packed, .. } = self;
        [p, q, dx, dp, dq, shift, rhs, product, packed]
    }

    /// Mean product of slack and multiplier after a step of this length.
    fn complementarity(&self, state: &State, length: f64) -> f64 {
        let mut sum = 0.0;
        for i in 0..state.x.len() {
            let x = state.x[i] + length * self.dx[i];
            if self.p[i] > 0.0 {
                sum += (self.p[i] + length * self.dp[i]) * (x - state.lo[i]);
            }
            if self.q[i] > 0.0 {
                sum += (self.q[i] + length * self.dq[i]) * (state.hi[i] - x);
            }
        }
        if self.bounds == 0 {
            0.0
        } else {
            sum / self.bounds as f64
        }
    }

    /// Newton direction towards the complementarity `target`; with `correct` the second-order terms of the direction
    /// now in dx, dp, dq are made up for.
    fn direction(&mut self, problem: &Problem, state: &State, target: f64, correct: bool) -> Result<()> {
        let n = state.x.len();
        let share = if correct { 1.0 } else { 0.0 };
        for i in 0..n {
            let (below, above) = (state.x[i] - state.lo[i], state.hi[i] - state.x[i]);
            let (c, d) = (share * self.dx[i] * self.dp[i], -share * self.dx[i] * self.dq[i]);
            // Kept for the multipliers below: their targets over the slacks.
            self.dp[i] = if self.p[i] > 0.0 { (target - c) / below } else { 0.0 };
            self.dq[i] = if self.q[i] > 0.0 { (target - d) / above } else { 0.0 };
            self.rhs[i] = -state.w[i] + self.dp[i] - self.dq[i];
            self.dx[i] = 0.0;
        }
        // One refinement: the body side loses digits where the shift is small.
        for round in 0..2 {
            let mut m = 0;
            for i in (0..n).filter(|&i| state.lo[i] < state.hi[i]) {
                let known = if round == 0 { 0.0 } else { self.product[i] + self.shift[i] * self.dx[i] };
                self.packed[m] = self.rhs[i] - known;
                m += 1;
            }
            self.system.solve(problem, &mut self.packed[..m])?;
            m = 0;
            for i in (0..n).filter(|&i| state.lo[i] < state.hi[i]) {
                self.dx[i] += self.packed[m];
                m += 1;
            }
            if round == 0 {
                problem.multiply(&self.dx, &mut self.product, &mut self.scratch)?;
                for i in 0..n {
                    self.product[i] -= problem.b()[i];
                }
            }
        }
        for i in 0..n {
            let (below, above) = (state.x[i] - state.lo[i], state.hi[i] - state.x[i]);
            if self.p[i] > 0.0 {
                self.dp[i] -= self.p[i] + self.p[i] / below * self.dx[i];
            }
            if self.q[i] > 0.0 {
                self.dq[i] -= self.q[i] - self.q[i] / above * self.dx[i];
            }
        }
        Ok(())
    }

    /// Longest step, at most 1, that keeps slacks and multipliers non-negative.
    fn longest_step(&self, state: &State) -> f64 {
        let mut longest: f64 = 1.0;
        let mut limit = |value: f64, rate: f64| {
            if rate < 0.0 {
                longest = longest.min(-value / rate);
            }
        };
        for i in 0..state.x.len() {
            if self.p[i] > 0.0 {
                limit(state.x[i] - state.lo[i], self.dx[i]);
                limit(self.p[i], self.dp[i]);
            }
            if self.q[i] > 0.0 {
                limit(state.hi[i] - state.x[i], -self.dx[i]);
                limit(self.q[i], self.dq[i]);
            }
        }
        longest
    }
}
