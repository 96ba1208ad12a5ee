//! Semismooth Newton on the box form of Fischer and Burmeister's function.
//!
//! References: Fischer 1992; Billups 1995 for the box form; De Luca, Facchinei & Kanzow 1996 for the method.
//!
//! ```text
//! φ(s, t) = s + t - √(s² + t²),      ψ_i = φ(y_i - lo_i, -φ(hi_i - y_i, -v_i)),      find y with ψ = 0
//! ```
//!
//! with y, v the impulses and velocities in √J (`scaled.rs`), v where the row is free, y - lo where it is fixed. ψ is
//! smooth but where a row is at a bound with v = 0, and ½ψᵀψ is smooth everywhere, which makes the line search safe.
//! Steps, regularisation and ways out of trouble: `newton.rs`.
//!
//! Cost per step: one dense LU factorisation, 2/3 n³, more when a direction fails; a product with A per trial step.
//! It wins on small problems without symmetry or with zero diagonals, and converges quadratically near a solution. It
//! fails where ½ψᵀψ has a local minimum that is no solution (only if A is not monotone), and stops short on problems
//! without solutions. On large redundant problems it needs tens of factorisations, where pivoting needs a few.

use super::newton::{fischer_burmeister, Newton, HALVINGS};
use super::{Progress, Solver, State};
use crate::error::Result;
use crate::problem::Problem;
use crate::settings::Settings;
use crate::Budget;

#[derive(Default)]
pub(super) struct FischerNewton(Newton);

impl Solver for FischerNewton {
    fn check(&self, _: &Problem) -> Result<()> {
        Ok(())
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        self.0.reserve(problem.len())
    }

    fn start(&mut self, problem: &Problem, state: &mut State, _: &Settings) -> Result<()> {
        self.0.start(problem, state)
    }

    fn step(&mut self, _: &Problem, state: &mut State, budget: &Budget) -> Result<Progress> {
        self.0.step(fischer_burmeister, HALVINGS, state, budget)
    }
}
