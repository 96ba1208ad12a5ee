//! A problem as a dense matrix in units of its own, for the solvers that work on all entries.
//!
//! With `D = diag(1/√a_ii)` (1 where a_ii is not positive) and `x = D y`, `v = D w`,
//!
//! ```text
//! v = (D A D) y + D b,    D⁻¹ lo <= y <= D⁻¹ hi
//! ```
//!
//! is the same problem with y and v both in √J: row scaling and units drop out. Memory: n².

use super::State;
use crate::error::{Error, Result, Status};
use crate::memory::{refill, reserve};
use crate::problem::{Operator, Problem};

/// The scaled problem.
#[derive(Default)]
pub(super) struct Scaled {
    /// D A D, column-major.
    pub a: Vec<f64>,
    pub b: Vec<f64>,
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
    /// Diagonal of D.
    d: Vec<f64>,
}

impl Scaled {
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        let too_large = || Error::new(Status::OutOfMemory, format_args!("no memory for all entries of {n} rows"));
        reserve(&mut self.a, n.checked_mul(n).ok_or_else(too_large)?)?;
        for v in [&mut self.b, &mut self.lo, &mut self.hi, &mut self.d] {
            reserve(v, n)?;
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.b.len()
    }

    /// What y_i is multiplied by to give x_i.
    pub fn unit(&self, i: usize) -> f64 {
        self.d[i]
    }

    /// Copy the problem with the bounds of `state`.
    pub fn fill(&mut self, problem: &Problem, state: &State) -> Result<()> {
        let n = problem.len();
        self.reserve(n)?;
        for v in [&mut self.b, &mut self.lo, &mut self.hi, &mut self.d] {
            refill(v, n, 0.0)?;
        }
        refill(&mut self.a, n * n, 0.0)?;
        for i in 0..n {
            let a = problem.diagonal()[i];
            self.d[i] = if a > 0.0 { 1.0 / a.sqrt() } else { 1.0 };
            self.b[i] = self.d[i] * problem.b()[i];
            self.lo[i] = state.lo[i] / self.d[i];
            self.hi[i] = state.hi[i] / self.d[i];
        }
        let (a, d) = (&mut self.a, &self.d);
        let mut put = |i: usize, j: usize, value: f64| a[j * n + i] = (d[i] * value) * d[j];
        match problem.operator() {
            Operator::Dense(m) => (0..n).for_each(|i| m.row(i).iter().enumerate().for_each(|(j, &v)| put(i, j, v))),
            Operator::Csr(m) => (0..n).for_each(|i| m.row(i).for_each(|(j, v)| put(i, j, v))),
            Operator::Jacobian(m) => (0..n).for_each(|j| (0..n).for_each(|i| put(i, j, m.entry(i.max(j), i.min(j))))),
        }
        Ok(())
    }

    /// `y = D⁻¹ x`.
    pub fn enter(&self, x: &[f64], y: &mut [f64]) {
        for i in 0..x.len() {
            y[i] = x[i] / self.d[i];
        }
    }

    /// `v = D A D y + D b`.
    pub fn multiply(&self, y: &[f64], v: &mut [f64]) {
        let n = self.len();
        v.copy_from_slice(&self.b);
        for (j, &y) in y.iter().enumerate().filter(|(_, &y)| y != 0.0) {
            for (v, a) in v.iter_mut().zip(&self.a[j * n..(j + 1) * n]) {
                *v += a * y;
            }
        }
    }

    /// Hand y, moved into its bounds, to the loop, which finds the exact w. An iterate that overflowed is not handed over: false.
    pub fn publish(&self, y: &[f64], state: &mut State) -> bool {
        if !y.iter().zip(&self.d).all(|(y, d)| (y * d).is_finite()) {
            return false;
        }
        let mut change = 0.0;
        state.set_changes = 0;
        for i in 0..y.len() {
            let (new, old) = ((self.d[i] * y[i]).max(state.lo[i]).min(state.hi[i]), state.x[i]);
            change += ((new - old) / self.d[i]).powi(2);
            let is_free = |x: f64| x > state.lo[i] && x < state.hi[i];
            state.set_changes += usize::from(is_free(new) != is_free(old));
            state.x[i] = new;
        }
        state.change = 0.5 * change;
        state.w_is_exact = false;
        true
    }
}
