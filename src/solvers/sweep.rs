//! One projected Gauss-Seidel sweep over the rows in any order, shared by every solver that sweeps.
//!
//! ```text
//! x_i ← clamp( x_i - ω w_i / a_ii, lo_i, hi_i ),   w_i = (A x + b)_i
//! ```
//! Cost per sweep: the nonzeros of A; with Jacobian rows 48 flops a row, on whitened rows (`problem/jacobian.rs`) and
//! the whitened velocity `y = Kᵀx`, which is carried along.

use crate::error::{refill, reserve, Result};
use crate::problem::{Csr, Dense, Jacobian, Operator, Problem};

/// Changes whose energy is below this fraction of the impulses' own energy are round-off.
pub(super) const ROUND_OFF: f64 = 1e-31;

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Swept {
    /// `½ Σ a δx²`.
    pub change: f64,
    /// `Σ a x²` of the new impulses, the yardstick for round-off.
    pub energy: f64,
    /// Rows that changed between free and bound.
    pub set_changes: usize,
}

/// The memory of sweeps.
#[derive(Default)]
pub(super) struct Sweeper {
    relaxation: f64,
    /// 1/a_ii.
    inverse_diagonal: Vec<f64>,
    /// Whitened body velocities Kᵀx of a Jacobian problem.
    y: Vec<f64>,
}

impl Sweeper {
    pub fn reserve(&mut self, problem: &Problem) -> Result<()> {
        reserve(&mut self.inverse_diagonal, problem.len())?;
        reserve(&mut self.y, 6 * (problem.bodies() + 1))
    }

    pub fn start(&mut self, problem: &Problem, x: &[f64], relaxation: f64) -> Result<()> {
        self.relaxation = relaxation;
        refill(&mut self.inverse_diagonal, problem.len(), 0.0)?;
        for (inverse, a) in self.inverse_diagonal.iter_mut().zip(problem.diagonal()) {
            *inverse = 1.0 / a;
        }
        self.moved(problem, x)
    }

    /// x was changed by other means than a sweep.
    pub fn moved(&mut self, problem: &Problem, x: &[f64]) -> Result<()> {
        if let Operator::Jacobian(jacobian) = problem.operator() {
            refill(&mut self.y, jacobian.whitened_len(), 0.0)?;
            jacobian.push(x, &mut self.y);
        }
        Ok(())
    }

    /// Visit the rows in `order`; `bounds` gives those of a row at the current x.
    pub fn sweep(
        &mut self,
        problem: &Problem,
        x: &mut [f64],
        order: impl Iterator<Item = usize>,
        bounds: impl Fn(usize, &[f64]) -> (f64, f64),
    ) -> Swept {
        let Sweeper { relaxation, inverse_diagonal, y } = self;
        let mut visit = Visit { problem, relaxation: *relaxation, inverse_diagonal, x };
        match problem.operator() {
            Operator::Dense(a) => visit.rows(DenseRows(a), order, bounds),
            Operator::Csr(a) => visit.rows(CsrRows(a), order, bounds),
            Operator::Jacobian(a) => visit.rows(JacobianRows { jacobian: a, y }, order, bounds),
        }
    }

    /// Give `rows` its way to read and tell velocities, for solvers with a visit of their own.
    pub fn visit<V: Visitor>(&mut self, problem: &Problem, visitor: V) -> Swept {
        match problem.operator() {
            Operator::Dense(a) => visitor.rows(DenseRows(a)),
            Operator::Csr(a) => visitor.rows(CsrRows(a)),
            Operator::Jacobian(a) => visitor.rows(JacobianRows { jacobian: a, y: &mut self.y }),
        }
    }
}

/// A visit to all rows, whatever the form of A.
pub(super) trait Visitor {
    fn rows(self, rows: impl Rows) -> Swept;
}

/// How a visit reads a row's velocity and tells the others of a change.
pub(super) trait Rows {
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

/// A sweep in progress.
struct Visit<'a> {
    problem: &'a Problem,
    relaxation: f64,
    inverse_diagonal: &'a [f64],
    x: &'a mut [f64],
}

impl Visit<'_> {
    #[inline]
    fn rows(
        &mut self,
        mut rows: impl Rows,
        order: impl Iterator<Item = usize>,
        bounds: impl Fn(usize, &[f64]) -> (f64, f64),
    ) -> Swept {
        let (b, a) = (self.problem.b(), self.problem.diagonal());
        let x = &mut *self.x;
        let mut swept = Swept::default();
        let mut change = 0.0;
        for i in order {
            let w = rows.velocity(i, x) + b[i];
            let (lo, hi) = bounds(i, x);
            let old = x[i];
            let new = (old - self.relaxation * w * self.inverse_diagonal[i]).max(lo).min(hi);
            let delta = new - old;
            // Not finite: the row overflowed, and x stays as it is.
            if delta != 0.0 && delta.is_finite() {
                x[i] = new;
                rows.changed(i, delta);
                change += a[i] * delta * delta;
                let was_free = old > lo && old < hi;
                swept.set_changes += usize::from(was_free != (new > lo && new < hi));
            }
            swept.energy += a[i] * x[i] * x[i];
        }
        swept.change = 0.5 * change;
        swept
    }
}
