//! Projected Jacobi with a safe relaxation.
//!
//! ```text
//! x ← clamp( x - t D⁻¹ w, lo(x), hi(x) ),   t = ω / ‖D^-½ A D^-½‖,   w = A x + b,   D = diag(A)
//! ```
//! Reference: Cottle, Pang, Stone 1992, ch. 5. The norm is the largest eigenvalue, from a few power iterations at the
//! start. For symmetric positive semidefinite A and fixed bounds the map is then nonexpansive: steps never grow, and one
//! that does shows that the estimate was too low, so t is halved. Friction rows follow the new normal impulses.
//!
//! Cost per step: one product with A; all rows at once, in any order, with one result: the answer does not depend on
//! how the rows are listed.
//! It wins nowhere on one core; it is the baseline that parallel engines use, and the reference for the others. It fails
//! slowly everywhere else: the error falls by `1 - t λ_min` a step.

use super::box_qp::multiply;
use super::sweep::ROUND_OFF;
use super::{require_positive_diagonal, Progress, Solver, State};
use crate::error::Result;
use crate::memory::{refill, reserve};
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use crate::Budget;

/// Power iterations at the start.
const POWER: usize = 20;
/// They find the norm from below, this far at most on contact problems.
const MARGIN: f64 = 1.1;
/// Growth of the step that halves t; moving friction bounds alone make it grow a little.
const GROWTH: f64 = 4.0;

#[derive(Default)]
pub(super) struct Jacobi {
    inverse: Vec<f64>,
    v: Vec<f64>,
    av: Vec<f64>,
    scratch: Vec<f64>,
    t: f64,
    /// `Σ a δx²` of the smallest step so far with this t.
    least: f64,
}

impl Solver for Jacobi {
    fn check(&self, problem: &Problem) -> Result<()> {
        require_positive_diagonal(problem, SolverKind::Jacobi)
    }

    fn follows_friction(&self, _: &Problem) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        for v in [&mut self.inverse, &mut self.v, &mut self.av] {
            reserve(v, problem.len())?;
        }
        reserve(&mut self.scratch, 6 * (problem.bodies() + 1))
    }

    fn start(&mut self, problem: &Problem, state: &mut State, settings: &Settings) -> Result<()> {
        for v in [&mut self.inverse, &mut self.v, &mut self.av] {
            refill(v, problem.len(), 0.0)?;
        }
        for (inverse, a) in self.inverse.iter_mut().zip(problem.diagonal()) {
            *inverse = 1.0 / a;
        }
        let norm = norm(problem, &self.inverse, &mut self.v, &mut self.av, &mut self.scratch)?;
        self.t = settings.relaxation / (MARGIN * norm).max(1.0);
        self.least = f64::INFINITY;
        self.fresh(problem, state)
    }

    fn step(&mut self, problem: &Problem, state: &mut State, _: &Budget) -> Result<Progress> {
        self.fresh(problem, state)?;
        let (mut change, mut energy) = (0.0, 0.0);
        state.set_changes = 0;
        for friction in [false, true] {
            for i in 0..state.x.len() {
                if problem.friction().normal_of(i).is_some() != friction {
                    continue;
                }
                let (lo, hi) = problem.bounds_of(i, &state.x);
                let old = state.x[i];
                let new = (old - self.t * state.w[i] * self.inverse[i]).max(lo).min(hi);
                let a = problem.diagonal()[i];
                if (new - old).is_finite() {
                    state.x[i] = new;
                    change += a * (new - old) * (new - old);
                    state.set_changes += usize::from((old > lo && old < hi) != (new > lo && new < hi));
                }
                energy += a * state.x[i] * state.x[i];
            }
        }
        if change > GROWTH * self.least {
            self.t *= 0.5;
            self.least = f64::INFINITY;
        } else {
            self.least = self.least.min(change);
        }
        state.change = 0.5 * change;
        state.w_is_exact = false;
        Ok(if state.change <= ROUND_OFF * energy { Progress::Stalled } else { Progress::Continue })
    }
}

impl Jacobi {
    fn fresh(&mut self, problem: &Problem, state: &mut State) -> Result<()> {
        if !state.w_is_exact {
            problem.multiply(&state.x, &mut state.w, &mut self.scratch)?;
            state.w_is_exact = true;
        }
        Ok(())
    }
}

/// The norm of D^-½ A D^-½ by power iterations `v ← D⁻¹ A v` in the norm of D, from 1/D; v and av are scratch.
pub(super) fn norm(
    problem: &Problem,
    inverse: &[f64],
    v: &mut [f64],
    av: &mut [f64],
    scratch: &mut Vec<f64>,
) -> Result<f64> {
    let a = problem.diagonal();
    let n = a.len();
    for i in 0..n {
        // Not orthogonal to anything that contacts usually have, and of size 1 in every row's own units.
        v[i] = inverse[i].sqrt() * if i % 2 == 0 { 1.0 } else { 0.75 };
    }
    let mut norm = 1.0;
    for _ in 0..POWER {
        multiply(problem, v, av, scratch)?;
        let size: f64 = (0..n).map(|i| a[i] * v[i] * v[i]).sum::<f64>().sqrt();
        for i in 0..n {
            av[i] *= inverse[i];
        }
        let image: f64 = (0..n).map(|i| a[i] * av[i] * av[i]).sum::<f64>().sqrt();
        let next = image / size;
        if !next.is_finite() || next == 0.0 {
            break;
        }
        norm = next;
        for i in 0..n {
            v[i] = av[i] / next;
        }
    }
    Ok(norm)
}
