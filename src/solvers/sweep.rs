//! One projected Gauss-Seidel sweep over the rows, shared by every solver that sweeps.
//!
//! ```text
//! x_i ← clamp( x_i - ω w_i / a_ii, lo_i, hi_i ),   w_i = (A x + b)_i
//! ```
//! Cost per sweep: the nonzeros of A; with Jacobian rows 48 flops a row (`row_sweep.rs`), on whitened rows
//! (`problem/jacobian.rs`) and the whitened velocity `y = Kᵀx`, which is carried along.

use super::quads::Plan;
use super::row_sweep::{self, RowSweep};
use super::wave::{self, Wave};
use crate::error::Result;
use crate::linalg::{at_least, at_most};
use crate::memory::{refill, reserve};
use crate::problem::{Csr, Dense, FrictionBounds, Jacobian, Operator, Problem};

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

impl Swept {
    /// Take note of a visit to a row of diagonal `a`.
    #[inline(always)]
    pub fn add(&mut self, a: f64, old: f64, new: f64, (lo, hi): (f64, f64)) {
        let delta = new - old;
        self.change += a * delta * delta;
        self.energy += a * new * new;
        self.set_changes += usize::from((old > lo && old < hi) != (new > lo && new < hi));
    }

    /// All rows were visited.
    #[inline]
    pub fn close(self) -> Swept {
        Swept { change: 0.5 * self.change, ..self }
    }
}

/// The memory of sweeps.
#[derive(Default)]
pub(super) struct Sweeper {
    relaxation: f64,
    /// Of Jacobian rows: in which order they are visited.
    plan: Plan,
    /// Of Jacobian rows: how closely sweeps may follow each other.
    wave: Wave,
    /// Whitened body velocities Kᵀx of a Jacobian problem.
    y: Vec<f64>,
}

/// The order in which a sweep visits the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As they are listed.
    Forth,
    /// From the last to the first.
    Back,
}

impl Order {
    fn rows(self, n: usize) -> impl Iterator<Item = usize> {
        (0..n).map(move |k| if self == Order::Forth { k } else { n - 1 - k })
    }
}

/// The order in which a sweep visits the rows, for those who compare: as they are listed, unless there are many rows on
/// bodies (`quads.rs`).
pub fn visiting_order(problem: &Problem) -> Result<Vec<u32>> {
    let mut plan = Plan::default();
    match problem.operator() {
        Operator::Jacobian(jacobian) => plan.find(problem, jacobian)?,
        _ => return Ok((0..problem.len() as u32).collect()),
    }
    Ok((0..wave::chunks(problem.len())).flat_map(|chunk| plan.part(chunk).rows()).collect())
}

impl Sweeper {
    pub fn reserve(&mut self, problem: &Problem) -> Result<()> {
        if let Operator::Jacobian(jacobian) = problem.operator() {
            self.plan.reserve(problem.len(), jacobian.bodies())?;
            reserve(&mut self.y, jacobian.whitened_len())?;
            self.wave.reserve(problem.len(), jacobian.bodies())?;
        }
        Ok(())
    }

    pub fn start(&mut self, problem: &Problem, x: &[f64], relaxation: f64) -> Result<()> {
        self.relaxation = relaxation;
        if let Operator::Jacobian(jacobian) = problem.operator() {
            self.plan.find(problem, jacobian)?;
            self.wave.find(problem, jacobian)?;
        }
        self.moved(problem, x)
    }

    /// x was changed by other means than a sweep.
    pub fn moved(&mut self, problem: &Problem, x: &[f64]) -> Result<()> {
        if let Operator::Jacobian(jacobian) = problem.operator() {
            refill(&mut self.y, jacobian.whitened_len(), 0.0)?;
            if x.iter().any(|&x| x != 0.0) {
                jacobian.push(x, &mut self.y);
            }
        }
        Ok(())
    }

    /// Visit the rows in `order`; `bounds` gives those of a row at the current x.
    pub fn sweep(&mut self, problem: &Problem, x: &mut [f64], order: Order, bounds: FrictionBounds<'_>) -> Swept {
        let relaxation = self.relaxation;
        match problem.operator() {
            Operator::Dense(a) => visit(problem, relaxation, x, order.rows(x.len()), bounds, |i, x| a.row_dot(i, x)),
            Operator::Csr(a) => visit(problem, relaxation, x, order.rows(x.len()), bounds, |i, x| a.row_dot(i, x)),
            Operator::Jacobian(jacobian) => {
                let Sweeper { plan, y, .. } = self;
                let rows = RowSweep { problem, jacobian, relaxation, bounds, y, x };
                match order {
                    Order::Forth => rows.run::<false>(plan),
                    Order::Back => rows.run::<true>(plan),
                }
            }
        }
    }

    /// Begin sweeps over rising lists of rows, each of which has everything its rows are coupled to. Together they have every
    /// row at most once.
    pub fn start_lists(&mut self, problem: &Problem, x: &[f64], relaxation: f64) -> Result<()> {
        self.relaxation = relaxation;
        if let Operator::Jacobian(_) = problem.operator() {
            self.plan.couplings_of_lists(problem.len())?;
        }
        self.moved(problem, x)
    }

    /// Before the first sweep over a list. `at`: how many rows are on the lists before it.
    pub fn enter_list(&mut self, problem: &Problem, list: &[u32], at: usize) {
        if let Operator::Jacobian(jacobian) = problem.operator() {
            row_sweep::find_couplings_along(list, jacobian, &mut self.plan.couplings_mut()[at..]);
        }
    }

    /// Visit the rows of a list in its order.
    pub fn sweep_list(
        &mut self,
        problem: &Problem,
        x: &mut [f64],
        list: &[u32],
        at: usize,
        bounds: FrictionBounds<'_>,
    ) -> Swept {
        let relaxation = self.relaxation;
        let rows = list.iter().map(|&i| i as usize);
        match problem.operator() {
            Operator::Dense(a) => visit(problem, relaxation, x, rows, bounds, |i, x| a.row_dot(i, x)),
            Operator::Csr(a) => visit(problem, relaxation, x, rows, bounds, |i, x| a.row_dot(i, x)),
            Operator::Jacobian(jacobian) => {
                let couplings = &self.plan.couplings_mut()[at..];
                RowSweep { problem, jacobian, relaxation, bounds, y: &mut self.y, x }.run_along(list, couplings)
            }
        }
    }

    /// How many sweeps over this problem cost less together.
    pub fn together(problem: &Problem) -> usize {
        match problem.operator() {
            Operator::Jacobian(_) => wave::together(problem.len()),
            _ => 1,
        }
    }

    /// As many sweeps as `swept` has places for, [`Sweeper::together`] at most, as the rows are listed: the same bits as
    /// one after the other.
    pub fn sweeps(&mut self, problem: &Problem, x: &mut [f64], swept: &mut [Swept], bounds: FrictionBounds<'_>) {
        match problem.operator() {
            Operator::Jacobian(jacobian) if swept.len() > 1 => {
                let Sweeper { relaxation, plan, wave, y } = self;
                RowSweep { problem, jacobian, relaxation: *relaxation, bounds, y, x }.pass(plan, wave, swept);
            }
            _ => swept.iter_mut().for_each(|swept| *swept = self.sweep(problem, x, Order::Forth, bounds)),
        }
    }

    /// Whitened velocities `Kᵀx`, six per body; empty where A is given as a matrix.
    pub fn y(&mut self) -> &mut [f64] {
        &mut self.y
    }

    /// Go on from where another has swept to, which then has what was here.
    pub fn swap_velocities(&mut self, other: &mut Sweeper) {
        std::mem::swap(&mut self.y, &mut other.y);
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

/// A sweep over rows of a matrix.
#[inline]
fn visit(
    problem: &Problem,
    relaxation: f64,
    x: &mut [f64],
    rows: impl Iterator<Item = usize>,
    bounds: FrictionBounds<'_>,
    velocity: impl Fn(usize, &[f64]) -> f64,
) -> Swept {
    let (b, a) = (problem.b(), problem.diagonal());
    let mut swept = Swept::default();
    for i in rows {
        let (lo, hi) = bounds.at(i, x);
        let old = x[i];
        let new = at_most(at_least(old - relaxation / a[i] * (velocity(i, x) + b[i]), lo), hi);
        // Not finite: the row overflowed, and x stays as it is.
        if (new - old).is_finite() {
            x[i] = new;
        }
        swept.add(a[i], old, x[i], (lo, hi));
    }
    swept.close()
}
