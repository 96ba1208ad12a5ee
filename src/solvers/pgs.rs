//! Projected Gauss-Seidel, with relaxation projected SOR.
//!
//! ```text
//! for i in rows:  x_i ← clamp( x_i - ω w_i / a_ii, lo_i(x), hi_i(x) ),   w_i = (A x + b)_i
//! ```
//! Reference: Cryer 1971; Erleben 2007 for contact. Coupled friction bounds are evaluated at the current normal impulse
//! in every row visit.
//!
//! Cost per sweep (`sweep.rs`): the nonzeros of A; with Jacobian rows 48 flops a row, and where there are many of them one
//! pass over memory for several sweeps (`wave.rs`).
//! It wins when a rough answer will do, many contacts share few bodies and n is large. It fails slowly: high mass ratios
//! and long chains need a number of sweeps that grows with the condition number.

use super::sweep::{Sweeper, Swept, ROUND_OFF};
use super::{require_positive_diagonal, Progress, Solver, State, TOGETHER};
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

    fn together(&self, problem: &Problem) -> usize {
        Sweeper::together(problem)
    }

    fn step(&mut self, problem: &Problem, state: &mut State, _: &Budget) -> Result<Progress> {
        let mut swept = [Swept::default(); TOGETHER];
        let swept = &mut swept[..state.at_once.clamp(1, TOGETHER)];
        self.sweeper.sweeps(problem, &mut state.x, swept, problem.friction_bounds());
        let (last, earlier) = swept.split_last().map_or((Swept::default(), &[][..]), |(last, rest)| (*last, rest));
        state.earlier.extend(earlier.iter().map(|s| (s.change, s.set_changes)));
        state.w_is_exact = false;
        state.change = last.change;
        state.set_changes = last.set_changes;
        Ok(if last.change <= ROUND_OFF * last.energy { Progress::Stalled } else { Progress::Continue })
    }
}
