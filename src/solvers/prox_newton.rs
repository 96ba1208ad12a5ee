//! Proximal semismooth Newton method: the proximal problem solved by its dual, with an exact line search.
//!
//! References: Rockafellar 1976; Qi & Sun 1993; Li, Sun & Toh 2018 for the combination.
//!
//! With centre c and weight ε, the proximal point (`proximal.rs`) is the x(y) at the maximum of the concave,
//! piecewise quadratic dual function
//!
//! ```text
//! D(y) = -½ yᵀAy + min over lo <= x <= hi of (Ay + b)ᵀx + ε/2 |x - c|²_D,     x(y) = clamp( c - (Ay + b) / (ε D) )
//! ```
//!
//! A Newton step of D at y goes to the point that the index sets of x(y) stand for, which is the point a block pivot
//! would go to; here the step is cut by an exact line search on D, so that every step is an ascent and the iteration
//! cannot cycle. When the sets stay, the point is the proximal one; c moves there and ε shrinks.
//!
//! Cost per step: one factorisation of the free rows (`free_system.rs`, rows or bodies), a product with A and a line
//! search of some 40 passes over the rows. Sturdier than pivots on degenerate problems, slower on easy ones. It needs
//! a symmetric A.

use super::proximal::{Proximal, Set, ROUND_OFF};
use super::{require_positive_diagonal, Progress, Solver, State};
use crate::error::{Error, Result, Status};
use crate::linalg::Failure;
use crate::memory::{refill, reserve};
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use crate::Budget;

const EPSILON_START: f64 = 1e-2;
const EPSILON_MIN: f64 = 1e-8;
/// ε shrinks by this after each proximal step.
const SHRINK: f64 = 0.2;
/// Halvings of the line search.
const HALVINGS: usize = 40;

#[derive(Default)]
pub(super) struct ProxNewton {
    prox: Proximal,
    /// The dual iterate and its velocities A y + b.
    y: Vec<f64>,
    v: Vec<f64>,
    /// The step in both.
    dy: Vec<f64>,
    dv: Vec<f64>,
}

impl Solver for ProxNewton {
    fn check(&self, problem: &Problem) -> Result<()> {
        if !problem.is_symmetric() {
            return Err(Error::new(
                Status::Unsupported,
                format_args!("prox-newton needs a symmetric A, this one is not"),
            ));
        }
        require_positive_diagonal(problem, SolverKind::ProxNewton)
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        for v in [&mut self.y, &mut self.v, &mut self.dy, &mut self.dv] {
            reserve(v, problem.len())?;
        }
        self.prox.reserve(problem)
    }

    fn start(&mut self, problem: &Problem, state: &mut State, _: &Settings) -> Result<()> {
        for v in [&mut self.y, &mut self.v, &mut self.dy, &mut self.dv] {
            refill(v, problem.len(), 0.0)?;
        }
        self.y.copy_from_slice(&state.x);
        self.v.copy_from_slice(&state.w);
        self.prox.start(problem, state, EPSILON_START)?;
        self.find_sets(problem);
        Ok(())
    }

    fn step(&mut self, problem: &Problem, state: &mut State, budget: &Budget) -> Result<Progress> {
        match self.prox.factor(problem, budget)? {
            Ok(()) => {}
            Err(Failure::OutOfTime(_)) => return Ok(Progress::OutOfTime),
            Err(Failure::NotPositive(_)) => return Ok(Progress::Stalled),
        }
        self.prox.candidate(problem, state)?;
        let infeasible = self.prox.infeasible();
        self.prox.publish(problem, state, infeasible);
        if infeasible == 0 {
            return Ok(if self.move_centre(problem) { Progress::Stalled } else { Progress::Continue });
        }
        for i in 0..self.y.len() {
            self.dy[i] = self.prox.x[i] - self.y[i];
            self.dv[i] = self.prox.w[i] - self.v[i];
        }
        let length = self.line_search(problem);
        for i in 0..self.y.len() {
            self.y[i] += length * self.dy[i];
            self.v[i] += length * self.dv[i];
        }
        self.find_sets(problem);
        Ok(Progress::Continue)
    }
}

impl ProxNewton {
    /// x(y) before the clamp, for velocities v.
    #[inline]
    fn aim(&self, problem: &Problem, i: usize, v: f64) -> f64 {
        self.prox.centre[i] - v / (self.prox.epsilon * problem.diagonal()[i])
    }

    /// Index sets of x(y).
    fn find_sets(&mut self, problem: &Problem) {
        for i in 0..self.y.len() {
            let aim = self.aim(problem, i, self.v[i]);
            self.prox.sets[i] = if aim <= self.prox.lo[i] {
                Set::Lower
            } else if aim >= self.prox.hi[i] {
                Set::Upper
            } else {
                Set::Free
            };
        }
    }

    /// Slope of D along the step: positive at 0, falling, so that its zero is the maximum.
    fn slope(&self, problem: &Problem, length: f64) -> f64 {
        (0..self.y.len())
            .map(|i| {
                let aim = self.aim(problem, i, self.v[i] + length * self.dv[i]);
                let x = aim.max(self.prox.lo[i]).min(self.prox.hi[i]);
                self.dv[i] * (x - self.y[i] - length * self.dy[i])
            })
            .sum()
    }

    /// Where D is largest on the way to the Newton point.
    fn line_search(&self, problem: &Problem) -> f64 {
        if self.slope(problem, 1.0) >= 0.0 {
            return 1.0;
        }
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if self.slope(problem, middle) > 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    /// The candidate is the proximal point: make it the centre. True when nothing is left to gain.
    fn move_centre(&mut self, problem: &Problem) -> bool {
        let (mut moved, mut size) = (0.0, 0.0);
        for i in 0..self.y.len() {
            let (a, x) = (problem.diagonal()[i], self.prox.x[i]);
            moved += a * (x - self.prox.centre[i]).powi(2);
            size += a * x * x;
            self.prox.centre[i] = x.max(self.prox.lo[i]).min(self.prox.hi[i]);
        }
        self.y.copy_from_slice(&self.prox.x);
        self.v.copy_from_slice(&self.prox.w);
        self.prox.epsilon = (SHRINK * self.prox.epsilon).max(EPSILON_MIN);
        self.find_sets(problem);
        moved <= ROUND_OFF * ROUND_OFF * size
    }
}
