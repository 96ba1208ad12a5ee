//! Semismooth Newton on the min map in box form.
//!
//! References: Pang 1990; Kummer 1988; De Luca, Facchinei & Kanzow 2000 for the globalisation by another function.
//!
//! ```text
//! ψ_i = y_i - mid(lo_i, y_i - v_i, hi_i),      find y with ψ = 0
//! ```
//!
//! with y, v the impulses and velocities in √J (`scaled.rs`): there `y - v` is `x - D⁻¹w` of Erleben 2017. ψ is piecewise
//! linear, a step is the solution of the free rows' equations with the others at their bounds, and the last step is
//! exact. ψᵀψ is not smooth, a search along it may get stuck; it is done on Fischer and Burmeister's function, whose
//! direction also stands in where that of the min map fails (`newton.rs`).
//!
//! Cost per step: one dense LU factorisation, 2/3 n³, two or more when a direction fails; a product with A per trial
//! step. It wins where few rows change between bound and free, a few steps with a good start, without symmetry or
//! positive diagonals. It fails where `fischer_newton.rs` does.

use super::newton::Newton;
use super::{Progress, Solver, State};
use crate::error::Result;
use crate::problem::Problem;
use crate::settings::Settings;
use crate::Budget;

/// A direction that needs a shorter step than 1/16 gives way to that of Fischer and Burmeister.
const PATIENCE: i32 = 4;

#[derive(Default)]
pub(super) struct MinMapNewton(Newton);

impl Solver for MinMapNewton {
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
        self.0.step(min_map, PATIENCE, state, budget)
    }
}

/// `y - mid(lo, y - v, hi)` and an element of its generalised gradient.
fn min_map(y: f64, v: f64, lo: f64, hi: f64) -> (f64, f64, f64) {
    let aim = y - v;
    if aim <= lo || lo == hi {
        (y - lo, 1.0, 0.0)
    } else if aim >= hi {
        (y - hi, 1.0, 0.0)
    } else {
        (v, 0.0, 1.0)
    }
}
