//! Nonsmooth nonlinear conjugate gradients on the map of a Gauss-Seidel sweep.
//!
//! ```text
//! g = PGS(z) - z,   β = gᵀDg / g₋ᵀDg₋,   p = g + β p₋,   z ← PGS(z) + β p₋     (β > 1: p = 0, z ← PGS(z))
//! ```
//! Reference: Silcowitz-Hansen, Niebe, Erleben 2010 (Fletcher-Reeves on the residual of the sweep, as if it were a
//! gradient). D = diag(A) weighs the rows, so that units do not matter. z may lie beyond its bounds; the iterate handed
//! out is PGS(z), which does not. Coupled friction bounds are evaluated in every row visit, as in `pgs.rs`.
//!
//! Cost per step: one sweep (`sweep.rs`), and for Jacobian rows half a one more for the whitened velocity of the new z.
//! It wins over plain sweeps where they converge slowly and evenly, on stacks and chains.
//! It fails where contacts keep opening and closing: then it restarts often, and is a plain sweep.

use super::sweep::{Order, Sweeper, ROUND_OFF};
use super::{require_positive_diagonal, Progress, Solver, State};
use crate::error::Result;
use crate::memory::{refill, reserve};
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use crate::Budget;

#[derive(Default)]
pub(super) struct Nncg {
    sweeper: Sweeper,
    /// The point ahead.
    z: Vec<f64>,
    p: Vec<f64>,
    /// `gᵀDg` of the last step; 0: there is none.
    last: f64,
}

impl Solver for Nncg {
    fn check(&self, problem: &Problem) -> Result<()> {
        require_positive_diagonal(problem, SolverKind::Nncg)
    }

    fn follows_friction(&self, _: &Problem) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        reserve(&mut self.z, problem.len())?;
        reserve(&mut self.p, problem.len())?;
        self.sweeper.reserve(problem)
    }

    fn start(&mut self, problem: &Problem, state: &mut State, settings: &Settings) -> Result<()> {
        refill(&mut self.z, problem.len(), 0.0)?;
        refill(&mut self.p, problem.len(), 0.0)?;
        self.z.copy_from_slice(&state.x);
        self.last = 0.0;
        self.sweeper.start(problem, &state.x, settings.relaxation)
    }

    fn step(&mut self, problem: &Problem, state: &mut State, _: &Budget) -> Result<Progress> {
        // x keeps z for a moment.
        state.x.copy_from_slice(&self.z);
        let swept = self.sweeper.sweep(problem, &mut self.z, Order::Forth, problem.friction_bounds());
        let size = 2.0 * swept.change;
        let beta = if self.last > 0.0 { size / self.last } else { 0.0 };
        let plain = self.last == 0.0;
        self.last = size;
        let restart = beta.is_nan() || beta > 1.0;
        for i in 0..state.x.len() {
            let (from, to) = (state.x[i], self.z[i]);
            let p = if restart { 0.0 } else { beta * self.p[i] };
            self.p[i] = if restart { 0.0 } else { (to - from) + p };
            state.x[i] = to;
            if (to + p).is_finite() {
                self.z[i] = to + p;
            }
        }
        state.w_is_exact = false;
        state.change = swept.change;
        state.set_changes = swept.set_changes;
        if !restart {
            self.sweeper.moved(problem, &self.z)?;
        }
        if swept.change > ROUND_OFF * swept.energy {
            return Ok(Progress::Continue);
        }
        // A plain sweep that changes nothing has arrived; one from a point ahead has not.
        self.z.copy_from_slice(&state.x);
        self.p.fill(0.0);
        self.last = 0.0;
        self.sweeper.moved(problem, &self.z)?;
        Ok(if plain { Progress::Stalled } else { Progress::Continue })
    }
}
