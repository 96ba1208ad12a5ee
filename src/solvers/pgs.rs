//! Projected Gauss-Seidel, with relaxation projected SOR.
//!
//! ```text
//! for i in rows:  x_i ← clamp( x_i - ω w_i / a_ii, lo_i(x), hi_i(x) ),   w_i = (A x + b)_i
//! ```
//! Reference: Cryer 1971; Erleben 2007 for contact. Coupled friction bounds are evaluated at the current normal impulse
//! in every row visit.
//!
//! Cost per sweep (`sweep.rs`): the nonzeros of A; with Jacobian rows 48 flops a row.
//! It wins when a rough answer will do, many contacts share few bodies and n is large. It fails slowly: high mass ratios
//! and long chains need a number of sweeps that grows with the condition number.

use super::sweep::{Order, Sweeper, ROUND_OFF};
use super::{require_positive_diagonal, Progress, Solver, State};
use crate::error::Result;
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use crate::Budget;

#[derive(Default)]
pub(super) struct Pgs {
    sweeper: Sweeper,
}

impl Solver for Pgs {
    fn check(&self, problem: &Problem) -> Result<()> {
        require_positive_diagonal(problem, SolverKind::Pgs)
    }

    fn follows_friction(&self, _: &Problem) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        self.sweeper.reserve(problem)
    }

    fn start(&mut self, problem: &Problem, state: &mut State, settings: &Settings) -> Result<()> {
        self.sweeper.start(problem, &state.x, settings.relaxation)
    }

    fn step(&mut self, problem: &Problem, state: &mut State, _: &Budget) -> Result<Progress> {
        let bounds = problem.friction_bounds();
        let swept = self.sweeper.sweep(problem, &mut state.x, Order::Forth, |i, x| bounds.at(i, x));
        state.w_is_exact = false;
        state.change = swept.change;
        state.set_changes = swept.set_changes;
        Ok(if swept.change <= ROUND_OFF * swept.energy { Progress::Stalled } else { Progress::Continue })
    }
}
