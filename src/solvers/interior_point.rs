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
//! Coupled friction bounds move with x: then `x - lo = x + m x_n` and `hi - x = m x_n - x` with the normal impulse x_n,
//! Newton's step knows it, and the system gains one entry per friction row, `m (P/(X-Lo) - Q/(Hi-X))` at the normal
//! (`coupled_system.rs`). No outer iteration on the bounds is needed. The coupled problem is not monotone, and where
//! contacts are redundant Newton's step may run off along directions that A does not see; ρ grows when that shows in
//! short steps. Where μ comes to a rest all the same, the method starts again from a point further inside.
//!
//! Cost per iteration: one factorisation with every row, two solves, two or three products. It takes 10 to 40
//! iterations whatever the number of contacts, and minds degeneracy least of all solvers here: it wins on redundant
//! walls and piles. It makes no use of a warm start, and small easy problems are cheaper by pivots. It needs a
//! symmetric A.

use super::coupled_system::CoupledSystem;
use super::free_system::FreeSystem;
use super::{require_positive_diagonal, Progress, Solver, State};
use crate::error::{refill, reserve, Error, Result, Status};
use crate::linalg::Failure;
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use crate::Budget;

/// ρ at the start; it decays from step to step.
const RHO_START: f64 = 1e-6;
const RHO_MIN: f64 = 1e-10;
const RHO_DECAY: f64 = 0.3;
/// A coupled step shorter than this went astray in the null space of A, where only ρ holds it: ρ grows.
const SHORT: f64 = 0.1;
const RHO_GROWTH: f64 = 1000.0;
const RHO_MAX: f64 = 1e-3;
/// So many steps in a row that do not bring μ down by this factor lead nowhere: start again, further from the bounds.
const PROGRESS: f64 = 0.9;
const PATIENCE: usize = 60;
const RESTARTS: usize = 2;
const FURTHER: f64 = 10.0;
/// Part of the way to the boundary that a step may go.
const BOUNDARY: f64 = 0.995;
/// A coefficient of friction is at most this, in the units where both rows have the mass 1: rougher is no different.
const ROUGHEST: f64 = 1e6;
/// Complementarity this far below the starting one is round-off.
const ROUND_OFF: f64 = 1e-26;

#[derive(Default)]
pub(super) struct InteriorPoint {
    system: FreeSystem,
    coupled: CoupledSystem,
    /// Do friction bounds move with x?
    is_coupled: bool,
    /// Rows that cannot move: lo = hi, or friction without roughness.
    held: Vec<bool>,
    /// Coefficient m of every coupled friction row, else 0, and E of the system.
    reach: Vec<f64>,
    tie: Vec<f64>,
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
    /// Least μ so far, and steps since it fell.
    least_mu: f64,
    rest: usize,
    restarts: usize,
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

    fn follows_friction(&self, problem: &Problem) -> bool {
        problem.has_plain_friction()
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        for v in self.rows() {
            reserve(v, problem.len())?;
        }
        reserve(&mut self.scratch, 6 * (problem.bodies() + 1))?;
        reserve(&mut self.held, problem.len())?;
        if problem.has_live_bounds() && problem.has_plain_friction() {
            self.coupled.reserve(problem)?;
        }
        self.system.reserve(problem)
    }

    fn start(&mut self, problem: &Problem, state: &mut State, _: &Settings) -> Result<()> {
        let n = problem.len();
        for v in self.rows() {
            refill(v, n, 0.0)?;
        }
        refill(&mut self.held, n, false)?;
        self.is_coupled = problem.has_live_bounds() && problem.has_plain_friction();
        if !self.is_coupled {
            self.system.prepare(problem)?;
        }
        self.restarts = 0;
        self.begin(problem, state);
        Ok(())
    }

    fn step(&mut self, problem: &Problem, state: &mut State, budget: &Budget) -> Result<Progress> {
        let n = problem.len();
        if !state.w_is_exact {
            problem.multiply(&state.x, &mut state.w, &mut self.scratch)?;
        }
        loop {
            for i in 0..n {
                let (below, above) = self.slack(problem, state, i);
                let (p, q) = (self.p[i] / below, self.q[i] / above);
                self.shift[i] = p + q + self.rho * problem.diagonal()[i];
                self.tie[i] = self.reach[i] * (p - q);
            }
            let held = &self.held;
            if self.is_coupled {
                self.coupled.factor(problem, |i| !held[i], &self.shift, &self.tie)?;
                break;
            }
            match self.system.factor(problem, (0..n).filter(|&i| !held[i]), &self.shift, budget)? {
                Ok(()) => break,
                Err(Failure::OutOfTime(_)) => return Ok(Progress::OutOfTime),
                Err(Failure::NotPositive(_)) if self.rho < 1.0 => self.rho *= 100.0,
                Err(Failure::NotPositive(_)) => return Ok(Progress::Stalled),
            }
        }
        let mu = self.complementarity(problem, state, 0.0);
        // Predictor: straight at the solution.
        self.direction(problem, state, 0.0, 0.0)?;
        let reach = self.longest_step(problem, state);
        let predicted = self.complementarity(problem, state, reach);
        let sigma = if mu > 0.0 { (predicted / mu).powi(3).min(1.0) } else { 0.0 };
        // Corrector: with the predictor's own second-order terms.
        self.direction(problem, state, sigma * mu, 1.0)?;
        let length = (BOUNDARY.max(1.0 - mu / self.mu_start) * self.longest_step(problem, state)).min(1.0);
        let change = (0..n).map(|i| problem.diagonal()[i] * (length * self.dx[i]).powi(2)).sum::<f64>();
        // Beyond round-off Newton's step may overflow: x stays.
        let finite = change.is_finite();
        if finite {
            for i in 0..n {
                state.x[i] += length * self.dx[i];
                self.p[i] += length * self.dp[i];
                self.q[i] += length * self.dq[i];
            }
        }
        state.change = if finite { 0.5 * change } else { 0.0 };
        state.set_changes = 0;
        problem.multiply(&state.x, &mut state.w, &mut self.scratch)?;
        state.w_is_exact = true;
        self.rho = if self.is_coupled && length < SHORT {
            (self.rho * RHO_GROWTH).min(RHO_MAX)
        } else {
            (self.rho * RHO_DECAY).max(RHO_MIN)
        };
        self.rest = if mu < PROGRESS * self.least_mu { 0 } else { self.rest + 1 };
        self.least_mu = self.least_mu.min(mu);
        let done = self.bounds > 0 && mu <= ROUND_OFF * self.mu_start;
        if !finite || self.rest == PATIENCE {
            if self.restarts == RESTARTS {
                return Ok(Progress::Stalled);
            }
            self.restarts += 1;
            self.begin(problem, state);
        }
        Ok(if done { Progress::Stalled } else { Progress::Continue })
    }
}

impl InteriorPoint {
    /// Place every row, from zero, whatever x is: near a solution the slacks are too uneven to begin with.
    fn begin(&mut self, problem: &Problem, state: &mut State) {
        let n = problem.len();
        state.x.fill(0.0);
        self.p.fill(0.0);
        self.q.fill(0.0);
        // A typical row's share of the energy that is to be found, in √J.
        let energy: f64 = problem.b().iter().zip(problem.diagonal()).map(|(b, a)| b * b / a).sum();
        let further = FURTHER.powi(self.restarts as i32);
        let size = further * (energy / n as f64).sqrt().max(f64::MIN_POSITIVE.sqrt());
        self.bounds = 0;
        // Normals first: friction rows start inside the cones they span.
        for friction in [false, true] {
            for i in 0..n {
                let normal = problem.friction().normal_of(i).filter(|_| self.is_coupled);
                if normal.is_some() == friction {
                    self.place(problem, state, i, normal, size);
                }
            }
        }
        state.w_is_exact = false;
        self.rho = RHO_START;
        self.mu_start = size * size;
        self.least_mu = f64::INFINITY;
        self.rest = 0;
    }

    /// Every buffer with one number per row.
    fn rows(&mut self) -> [&mut Vec<f64>; 11] {
        let InteriorPoint { p, q, dx, dp, dq, shift, rhs, product, packed, reach, tie, .. } = self;
        [p, q, dx, dp, dq, shift, rhs, product, packed, reach, tie]
    }

    /// Start row i inside its bounds by a typical impulse, or in the middle if there is no room for that.
    fn place(&mut self, problem: &Problem, state: &mut State, i: usize, normal: Option<usize>, size: f64) {
        let (mut lo, mut hi) = (state.lo[i], state.hi[i]);
        if let Some(f) = normal {
            let roughest = ROUGHEST * (problem.diagonal()[f] / problem.diagonal()[i]).sqrt();
            self.reach[i] = problem.friction().mu_of(i).min(roughest);
            hi = self.reach[i] * state.x[f];
            lo = -hi;
        }
        let x = &mut state.x[i];
        if lo >= hi {
            self.held[i] = true;
            *x = lo;
            return;
        }
        let margin = (size / problem.diagonal()[i].sqrt()).min(0.5 * (hi - lo));
        *x = x.max(lo + margin).min(hi - margin);
        for (slack, multiplier) in [(*x - lo, &mut self.p[i]), (hi - *x, &mut self.q[i])] {
            if slack.is_finite() {
                *multiplier = size * size / slack.max(f64::MIN_POSITIVE);
                self.bounds += 1;
            }
        }
    }

    /// What row i has left below and above.
    #[inline]
    fn slack(&self, problem: &Problem, state: &State, i: usize) -> (f64, f64) {
        match self.normal(problem, i) {
            Some(f) => (self.reach[i] * state.x[f] + state.x[i], self.reach[i] * state.x[f] - state.x[i]),
            None => (state.x[i] - state.lo[i], state.hi[i] - state.x[i]),
        }
    }

    /// How the slacks of row i change along dx.
    #[inline]
    fn rate(&self, problem: &Problem, i: usize) -> (f64, f64) {
        match self.normal(problem, i) {
            Some(f) => (self.reach[i] * self.dx[f] + self.dx[i], self.reach[i] * self.dx[f] - self.dx[i]),
            None => (self.dx[i], -self.dx[i]),
        }
    }

    #[inline]
    fn normal(&self, problem: &Problem, i: usize) -> Option<usize> {
        if self.is_coupled {
            problem.friction().normal_of(i)
        } else {
            None
        }
    }

    /// Mean product of slack and multiplier after a step of this length.
    fn complementarity(&self, problem: &Problem, state: &State, length: f64) -> f64 {
        let mut sum = 0.0;
        for i in 0..state.x.len() {
            let ((below, above), (d_below, d_above)) = (self.slack(problem, state, i), self.rate(problem, i));
            if self.p[i] > 0.0 {
                sum += (self.p[i] + length * self.dp[i]) * (below + length * d_below);
            }
            if self.q[i] > 0.0 {
                sum += (self.q[i] + length * self.dq[i]) * (above + length * d_above);
            }
        }
        if self.bounds == 0 {
            0.0
        } else {
            sum / self.bounds as f64
        }
    }

    /// Newton direction towards the complementarity `target`, which makes up for this `share` of the second-order terms of
    /// the direction now in dx, dp, dq.
    fn direction(&mut self, problem: &Problem, state: &State, target: f64, share: f64) -> Result<()> {
        let n = state.x.len();
        for i in 0..n {
            let ((below, above), (d_below, d_above)) = (self.slack(problem, state, i), self.rate(problem, i));
            let (c, d) = (share * d_below * self.dp[i], share * d_above * self.dq[i]);
            // Kept for the multipliers below: their targets over the slacks.
            self.dp[i] = if self.p[i] > 0.0 { (target - c) / below } else { 0.0 };
            self.dq[i] = if self.q[i] > 0.0 { (target - d) / above } else { 0.0 };
            self.rhs[i] = -state.w[i] + self.dp[i] - self.dq[i];
        }
        self.dx.fill(0.0);
        // One refinement: the body side loses digits where the shift is small.
        for round in 0..2 {
            for i in 0..n {
                let tie = self.normal(problem, i).map_or(0.0, |f| self.tie[i] * self.dx[f]);
                let known = if round == 0 { 0.0 } else { self.product[i] + self.shift[i] * self.dx[i] + tie };
                self.packed[i] = if self.held[i] { 0.0 } else { self.rhs[i] - known };
            }
            self.solve(problem)?;
            for i in (0..n).filter(|&i| !self.held[i]) {
                self.dx[i] += self.packed[i];
            }
            if round == 0 {
                problem.multiply(&self.dx, &mut self.product, &mut self.scratch)?;
                for i in 0..n {
                    self.product[i] -= problem.b()[i];
                }
            }
        }
        for i in 0..n {
            let ((below, above), (d_below, d_above)) = (self.slack(problem, state, i), self.rate(problem, i));
            if self.p[i] > 0.0 {
                self.dp[i] -= self.p[i] + self.p[i] / below * d_below;
            }
            if self.q[i] > 0.0 {
                self.dq[i] -= self.q[i] + self.q[i] / above * d_above;
            }
        }
        Ok(())
    }

    /// Solve the factored system for `packed`, in place; held rows are not touched.
    fn solve(&mut self, problem: &Problem) -> Result<()> {
        if self.is_coupled {
            return self.coupled.solve(problem, &self.tie, &mut self.packed);
        }
        // The other system wants its rows side by side.
        let mut m = 0;
        for i in (0..self.packed.len()).filter(|&i| !self.held[i]) {
            self.packed[m] = self.packed[i];
            m += 1;
        }
        self.system.solve(problem, &mut self.packed[..m])?;
        for i in (0..self.packed.len()).rev().filter(|&i| !self.held[i]) {
            m -= 1;
            self.packed[i] = self.packed[m];
        }
        Ok(())
    }

    /// Longest step, at most 1, that keeps slacks and multipliers non-negative.
    fn longest_step(&self, problem: &Problem, state: &State) -> f64 {
        let mut longest: f64 = 1.0;
        let mut limit = |value: f64, rate: f64| {
            if rate < 0.0 {
                longest = longest.min(-value / rate);
            }
        };
        for i in 0..state.x.len() {
            let ((below, above), (d_below, d_above)) = (self.slack(problem, state, i), self.rate(problem, i));
            if self.p[i] > 0.0 {
                limit(below, d_below);
                limit(self.p[i], self.dp[i]);
            }
            if self.q[i] > 0.0 {
                limit(above, d_above);
                limit(self.q[i], self.dq[i]);
            }
        }
        longest
    }
}
