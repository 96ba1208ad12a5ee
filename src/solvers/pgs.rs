//! Projected Gauss-Seidel, with relaxation projected SOR.
//!
//! ```text
//! for i in rows:  x_i ← clamp( x_i - ω w_i / a_ii, lo_i(x), hi_i(x) ),   w_i = (A x + b)_i
//! ```
//! Reference: Cryer 1971; Erleben 2007 for contact. Coupled friction bounds are evaluated at the current normal impulse
//! in every row visit.
//!
//! Cost per sweep: the nonzeros of A; with Jacobian rows 48 flops a row, on whitened rows (`problem/jacobian.rs`) and
//! the whitened velocity `y = Kᵀx`, which is carried along.
//! It wins when a rough answer will do, many contacts share few bodies and n is large. It fails slowly: high mass ratios
//! and long chains need a number of sweeps that grows with the condition number.

use super::{require_positive_diagonal, Progress, Solver, State};
use crate::error::{refill, reserve, Result};
use crate::problem::{Csr, Dense, Jacobian, Operator, Problem};
use crate::settings::{Settings, SolverKind};
use crate::Budget;

/// Changes whose energy is below this fraction of the impulses' own energy are round-off.
const ROUND_OFF: f64 = 1e-31;

#[derive(Default)]
pub(super) struct Pgs {
    relaxation: f64,
    /// 1/a_ii.
    inverse_diagonal: Vec<f64>,
    /// Whitened body velocities Kᵀx of a Jacobian problem.
    y: Vec<f64>,
}

impl Solver for Pgs {
    fn check(&self, problem: &Problem) -> Result<()> {
        require_positive_diagonal(problem, SolverKind::Pgs)
    }

    fn follows_friction(&self, _: &Problem) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        reserve(&mut self.inverse_diagonal, problem.len())?;
        reserve(&mut self.y, 6 * (problem.bodies() + 1))
    }

    fn start(&mut self, problem: &Problem, state: &mut State, settings: &Settings) -> Result<()> {
        self.relaxation = settings.relaxation;
        refill(&mut self.inverse_diagonal, problem.len(), 0.0)?;
        for (inverse, a) in self.inverse_diagonal.iter_mut().zip(problem.diagonal()) {
            *inverse = 1.0 / a;
        }
        if let Operator::Jacobian(jacobian) = problem.operator() {
            refill(&mut self.y, jacobian.whitened_len(), 0.0)?;
            jacobian.push(&state.x, &mut self.y);
        }
        Ok(())
    }

    fn step(&mut self, problem: &Problem, state: &mut State, _: &Budget) -> Result<Progress> {
        state.w_is_exact = false;
        state.change = 0.0;
        state.set_changes = 0;
        let energy = match problem.operator() {
            Operator::Dense(a) => self.sweep(problem, state, DenseRows(a)),
            Operator::Csr(a) => self.sweep(problem, state, CsrRows(a)),
            Operator::Jacobian(a) => {
                let mut y = std::mem::take(&mut self.y);
                let energy = self.sweep(problem, state, JacobianRows { jacobian: a, y: &mut y });
                self.y = y;
                energy
            }
        };
        Ok(if state.change <= ROUND_OFF * energy { Progress::Stalled } else { Progress::Continue })
    }
}

/// How a sweep reads a row's velocity and tells the others of a change.
trait Rows {
    fn velocity(&self, i: usize, x: &[f64]) -> f64;
    fn changed(&mut self, i: usize, delta: f64);
}

struct DenseRows<'a>(&'a Dense);
struct CsrRows<'a>(&'a Csr);
struct JacobianRows<'a> {
    jacobian: &'a Jacobian,
    y: &'a mut [f64],
}

impl Rows for DenseRows<'_> {
    #[inline]
    fn velocity(&self, i: usize, x: &[f64]) -> f64 {
        self.0.row_dot(i, x)
    }
    #[inline]
    fn changed(&mut self, _: usize, _: f64) {}
}

impl Rows for CsrRows<'_> {
    #[inline]
    fn velocity(&self, i: usize, x: &[f64]) -> f64 {
        self.0.row_dot(i, x)
    }
    #[inline]
    fn changed(&mut self, _: usize, _: f64) {}
}

impl Rows for JacobianRows<'_> {
    #[inline]
    fn velocity(&self, i: usize, x: &[f64]) -> f64 {
        self.jacobian.rows()[i].dot(self.y) + self.jacobian.compliance()[i] * x[i]
    }
    #[inline]
    fn changed(&mut self, i: usize, delta: f64) {
        self.jacobian.rows()[i].add(delta, self.y);
    }
}

impl Pgs {
    /// One sweep; returns twice the energy `Σ a x²` of the new impulses, the yardstick for round-off.
    fn sweep(&self, problem: &Problem, state: &mut State, mut rows: impl Rows) -> f64 {
        let (b, a) = (problem.b(), problem.diagonal());
        let x = &mut state.x;
        let (mut change, mut energy) = (0.0, 0.0);
        for i in 0..x.len() {
            let w = rows.velocity(i, x) + b[i];
            let (lo, hi) = problem.bounds_of(i, x);
            let old = x[i];
            let new = (old - self.relaxation * w * self.inverse_diagonal[i]).max(lo).min(hi);
            let delta = new - old;
            if delta != 0.0 {
                x[i] = new;
                rows.changed(i, delta);
                change += a[i] * delta * delta;
                let was_free = old > lo && old < hi;
                state.set_changes += usize::from(was_free != (new > lo && new < hi));
            }
            energy += a[i] * new * new;
        }
        state.change = 0.5 * change;
        energy
    }
}
