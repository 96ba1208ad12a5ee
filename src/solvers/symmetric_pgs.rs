//! Symmetric projected Gauss-Seidel: a sweep forward and one backward, with relaxation projected SSOR.
//!
//! ```text
//! for i in 0..n, then for i in n-1..=0:  x_i ← clamp( x_i - ω w_i / a_ii, lo_i(x), hi_i(x) ),   w_i = (A x + b)_i
//! ```
//! Reference: Young 1971, ch. 15 (SSOR); projected as in Cryer 1971. Coupled friction bounds are evaluated at the current
//! normal impulse in every row visit. For symmetric A every visit lowers `½xᵀAx + bᵀx`, as in `pgs.rs`.
//!
//! Cost per step: two sweeps (`sweep.rs`).
//! It wins where the order of the rows should not matter: the answer of a few steps is the same for a list and its
//! reverse but for the first sweep, and chains listed against the way the load travels fare no worse than others. It
//! fails as one-way sweeps do, and with ω = 1 a step, at twice the cost, gains hardly more than one of theirs.

use super::sweep::{Order, Sweeper, ROUND_OFF};
use super::{require_positive_diagonal, Progress, Solver, State};
use crate::error::Result;
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use crate::Budget;

#[derive(Default)]
pub(super) struct SymmetricPgs {
    sweeper: Sweeper,
}

impl Solver for SymmetricPgs {
    fn check(&self, problem: &Problem) -> Result<()> {
        require_positive_diagonal(problem, SolverKind::SymmetricPgs)
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
        let forth = self.sweeper.sweep(problem, &mut state.x, Order::Forth, bounds);
        let back = self.sweeper.sweep(problem, &mut state.x, Order::Back, bounds);
        state.w_is_exact = false;
        state.change = forth.change + back.change;
        state.set_changes = forth.set_changes + back.set_changes;
        Ok(if state.change <= ROUND_OFF * back.energy { Progress::Stalled } else { Progress::Continue })
    }
}
