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
//! Cost per iteration: one factorisation with every row, three solves, two products. It takes 10 to 40
//! iterations whatever the number of contacts, and minds degeneracy least of all solvers here: it wins on redundant
//! walls and piles. It makes no use of a warm start, and small easy problems are cheaper by pivots. It needs a
//! symmetric A.

use super::barrier::Barrier;
use super::coupled_system::{reach_of, CoupledSystem};
use super::free_system::FreeSystem;
use super::{require_positive_diagonal, Progress, Solver, State};
use crate::error::{Error, Result, Status};
use crate::linalg::Failure;
use crate::memory::{refill, reserve};
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
/// A solution that leaves more than this part of its right-hand side comes from a factor that is no good.
const LEFT: f64 = 1e-8;
/// Part of the way to the boundary that a step may go.
const BOUNDARY: f64 = 0.995;
/// Complementarity this far below the starting one is round-off.
const ROUND_OFF: f64 = 1e-26;
/// And this far below, Newton's step may overflow.
const OVERFLOW: f64 = 1e-10;

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
    /// How each friction row follows its normal: -E over the shift.
    follow: Vec<f64>,
    /// Slacks and multipliers of the bounds.
    barrier: Barrier,
    dx: Vec<f64>,
    shift: Vec<f64>,
    rhs: Vec<f64>,
    product: Vec<f64>,
    /// The system's right-hand side, then its solution.
    solution: Vec<f64>,
    scratch: Vec<f64>,
    rho: f64,
    /// Least μ so far, and steps since it fell.
    least_mu: f64,
    rest: usize,
    restarts: usize,
    mu_start: f64,
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
        self.barrier.reserve(problem.len())?;
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
        if self.is_coupled {
            self.coupled.prepare(problem)?;
        } else {
            self.system.prepare(problem)?;
        }
        self.restarts = 0;
        self.begin(problem, state)
    }

    fn step(&mut self, problem: &Problem, state: &mut State, budget: &Budget) -> Result<Progress> {
        let n = problem.len();
        if !state.w_is_exact {
            problem.multiply(&state.x, &mut state.w, &mut self.scratch)?;
        }
        self.find_slacks(problem, state);
        match self.factor(problem, budget)? {
            Ok(()) => {}
            Err(Failure::OutOfTime(_)) => return Ok(Progress::OutOfTime),
            Err(Failure::NotPositive(_)) => return Ok(Progress::Stalled),
        }
        let mu = self.barrier.mean(0.0);
        // Predictor: straight at the solution.
        self.direction(problem, state, 0.0, 0.0)?;
        if self.is_coupled && self.coupled.is_in_doubt() && !self.is_solved(problem)? && self.coupled.distrust(problem)
        {
            if self.factor(problem, budget)?.is_err() {
                return Ok(Progress::OutOfTime);
            }
            self.direction(problem, state, 0.0, 0.0)?;
        }
        let predicted = self.barrier.mean(self.barrier.longest_step());
        let sigma = if mu > 0.0 { (predicted / mu).powi(3).min(1.0) } else { 0.0 };
        // Corrector: with the predictor's own second-order terms.
        self.direction(problem, state, sigma * mu, 1.0)?;
        let length = (BOUNDARY.max(1.0 - mu / self.mu_start) * self.barrier.longest_step()).min(1.0);
        let change = (0..n).map(|i| problem.diagonal()[i] * (length * self.dx[i]).powi(2)).sum::<f64>();
        // Beyond round-off Newton's step may overflow: x stays.
        let finite = change.is_finite();
        if finite {
            for (x, dx) in state.x.iter_mut().zip(&self.dx) {
                *x += length * dx;
            }
            self.barrier.advance(length);
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
        // An overflow so near to the solution says that there is no more to be found, and another start would not, either.
        let settled = mu <= if finite { ROUND_OFF } else { OVERFLOW } * self.mu_start;
        let done = self.barrier.bounds > 0 && settled;
        if (!finite || self.rest == PATIENCE) && !done {
            if self.restarts == RESTARTS {
                return Ok(Progress::Stalled);
            }
            self.restarts += 1;
            self.begin(problem, state)?;
        }
        Ok(if done { Progress::Stalled } else { Progress::Continue })
    }
}

impl InteriorPoint {
    /// Place every row, from zero, whatever x is: near a solution the slacks are too uneven to begin with.
    fn begin(&mut self, problem: &Problem, state: &mut State) -> Result<()> {
        let n = problem.len();
        state.x.fill(0.0);
        self.barrier.clear(n)?;
        // A typical row's share of the energy that is to be found, in √J.
        let energy: f64 = problem.b().iter().zip(problem.diagonal()).map(|(b, a)| b * b / a).sum();
        let further = FURTHER.powi(self.restarts as i32);
        let size = further * (energy / n as f64).sqrt().max(f64::MIN_POSITIVE.sqrt());
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
        Ok(())
    }

    /// Every buffer with one number per row.
    fn rows(&mut self) -> [&mut Vec<f64>; 8] {
        let InteriorPoint { dx, shift, rhs, product, solution, reach, tie, follow, .. } = self;
        [dx, shift, rhs, product, solution, reach, tie, follow]
    }

    /// Start row i inside its bounds by a typical impulse, or in the middle if there is no room for that.
    fn place(&mut self, problem: &Problem, state: &mut State, i: usize, normal: Option<usize>, size: f64) {
        let (mut lo, mut hi) = (state.lo[i], state.hi[i]);
        if let Some(f) = normal {
            self.reach[i] = reach_of(problem, i);
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
        self.barrier.place(i, *x - lo, hi - *x, size * size);
    }

    /// The slacks of all rows, and E of a coupled system.
    fn find_slacks(&mut self, problem: &Problem, state: &State) {
        self.barrier.set_slacks(&state.x, &state.lo, &state.hi);
        if !self.is_coupled {
            return;
        }
        let Barrier { below, above, .. } = &mut self.barrier;
        for i in 0..state.x.len() {
            if let Some(f) = problem.friction().normal_of(i) {
                let reach = self.reach[i] * state.x[f];
                below.set_slack(i, reach + state.x[i]);
                above.set_slack(i, reach - state.x[i]);
                let (p, q) = (below.multiplier[i] * below.inverse[i], above.multiplier[i] * above.inverse[i]);
                self.tie[i] = self.reach[i] * (p - q);
            }
        }
    }

    /// How all slacks change along dx.
    fn find_rates(&mut self, problem: &Problem) {
        self.barrier.set_rates(&self.dx);
        if !self.is_coupled {
            return;
        }
        for i in 0..self.dx.len() {
            if let Some(f) = problem.friction().normal_of(i) {
                let reach = self.reach[i] * self.dx[f];
                self.barrier.below.rate[i] = reach + self.dx[i];
                self.barrier.above.rate[i] = reach - self.dx[i];
            }
        }
    }

    /// Newton direction towards the complementarity `target`, which makes up for this `share` of the second-order terms of
    /// the direction now at hand.
    fn direction(&mut self, problem: &Problem, state: &State, target: f64, share: f64) -> Result<()> {
        self.barrier.aim(target, share, &state.w, &mut self.rhs);
        self.solution.copy_from_slice(&self.rhs);
        self.solve(problem)?;
        self.dx.copy_from_slice(&self.solution);
        // One refinement: the body side loses digits where the shift is small. What only predicts can do without.
        if share > 0.0 {
            self.refine(problem)?;
        }
        self.find_rates(problem);
        self.barrier.follow();
        Ok(())
    }

    /// Correct dx by what is left of the right-hand side.
    fn refine(&mut self, problem: &Problem) -> Result<()> {
        self.find_rest(problem)?;
        self.solve(problem)?;
        for (dx, correction) in self.dx.iter_mut().zip(&self.solution) {
            *dx += correction;
        }
        Ok(())
    }

    /// What is left of the right-hand side.
    fn find_rest(&mut self, problem: &Problem) -> Result<()> {
        problem.multiply(&self.dx, &mut self.product, &mut self.scratch)?;
        for i in 0..self.dx.len() {
            let known = self.product[i] - problem.b()[i] + self.shift[i] * self.dx[i];
            self.solution[i] = self.rhs[i] - known;
        }
        if self.is_coupled {
            for i in 0..self.dx.len() {
                if let Some(f) = problem.friction().normal_of(i) {
                    self.solution[i] -= self.tie[i] * self.dx[f];
                }
            }
        }
        Ok(())
    }

    /// Is little left of it?
    fn is_solved(&mut self, problem: &Problem) -> Result<bool> {
        self.find_rest(problem)?;
        let size = |v: &[f64]| {
            let rows = v.iter().zip(problem.diagonal()).zip(&self.held);
            rows.filter(|(_, held)| !**held).map(|((v, a), _)| v * v / a).sum::<f64>()
        };
        Ok(size(&self.solution) <= LEFT * LEFT * size(&self.rhs))
    }

    /// Factor the system, with a larger ρ where noise makes the matrix indefinite.
    fn factor(&mut self, problem: &Problem, budget: &Budget) -> Result<std::result::Result<(), Failure>> {
        loop {
            self.barrier.weigh(self.rho, problem.diagonal(), &mut self.shift);
            let held = &self.held;
            if self.is_coupled {
                for ((follow, tie), shift) in self.follow.iter_mut().zip(&self.tie).zip(&self.shift) {
                    *follow = -tie / shift;
                }
                return self.coupled.factor(problem, |i| !held[i], &self.shift, &self.follow, budget);
            }
            let rows = (0..held.len()).filter(|&i| !held[i]);
            match self.system.factor(problem, rows, &self.shift, budget)? {
                Err(Failure::NotPositive(_)) if self.rho < 1.0 => self.rho *= 100.0,
                factored => return Ok(factored),
            }
        }
    }

    /// Solve the factored system in place; held rows do not move.
    fn solve(&mut self, problem: &Problem) -> Result<()> {
        if !self.is_coupled {
            return self.system.solve(problem, &mut self.solution);
        }
        for (x, &held) in self.solution.iter_mut().zip(&self.held) {
            *x = if held { 0.0 } else { *x };
        }
        self.coupled.solve(problem, &mut self.solution)
    }
}
