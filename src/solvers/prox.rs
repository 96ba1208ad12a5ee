//! Prox fixed point on boxes and exact friction cones: every row at once.
//!
//! ```text
//! x_n ← clamp( x_n - r_n w_n ),    x_t ← P( x_t - r_t w_t ),    w = A x + b,    P onto the disc of radius mu x_n
//! ```
//! Reference: Alart & Curnier 1991 for the equations, Foerg, Geier, Neumann & Ulbrich 2006 and Studer 2009 for r. Here
//! `r = t / a`, with a the row's diagonal entry (of two tangent rows the larger) and one t for all. t begins at the
//! inverse norm of D^-½ A D^-½, with which the map is nonexpansive but for the friction radii; it grows while steps
//! shrink, up to twice the inverse norm, and halves when a step grows.
//!
//! Cost per step: one product with A. The result does not depend on how the rows are listed.
//! It wins where all contacts are to be treated in parallel. It fails slowly, as `jacobi.rs` does, and may circle where
//! large coefficients of friction couple normals and tangents strongly.

use super::jacobi::norm;
use super::sweep::ROUND_OFF;
use super::{require_positive_diagonal, Progress, Solver, State};
use crate::error::Result;
use crate::memory::{refill, reserve};
use crate::problem::{project_disc, Problem};
use crate::settings::{Settings, SolverKind};
use crate::Budget;

/// The norm is found from below, this far at most on contact problems.
const MARGIN: f64 = 1.1;
/// Growth of t after a step that was shorter than the one before.
const FASTER: f64 = 1.02;
/// The most that t may be of the inverse norm.
const MOST: f64 = 1.9;
/// Growth of the step that halves t.
const GROWTH: f64 = 4.0;

#[derive(Default)]
pub(super) struct Prox {
    inverse: Vec<f64>,
    v: Vec<f64>,
    /// The iterate before.
    old: Vec<f64>,
    scratch: Vec<f64>,
    t: f64,
    most: f64,
    last: f64,
    /// `Σ a δx²` of the smallest step so far with this t.
    least: f64,
}

impl Solver for Prox {
    fn check(&self, problem: &Problem) -> Result<()> {
        require_positive_diagonal(problem, SolverKind::Prox)
    }

    fn follows_friction(&self, _: &Problem) -> bool {
        true
    }

    fn treats_cones(&self) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        for v in [&mut self.inverse, &mut self.v, &mut self.old] {
            reserve(v, problem.len())?;
        }
        reserve(&mut self.scratch, 6 * (problem.bodies() + 1))
    }

    fn start(&mut self, problem: &Problem, _: &mut State, settings: &Settings) -> Result<()> {
        for v in [&mut self.inverse, &mut self.v, &mut self.old] {
            refill(v, problem.len(), 0.0)?;
        }
        for (inverse, a) in self.inverse.iter_mut().zip(problem.diagonal()) {
            *inverse = 1.0 / a;
        }
        let norm = norm(problem, &self.inverse, &mut self.v, &mut self.old, &mut self.scratch)?;
        let safe = settings.relaxation / (MARGIN * norm).max(1.0);
        (self.t, self.most) = (safe, MOST * safe);
        (self.last, self.least) = (f64::INFINITY, f64::INFINITY);
        for cone in problem.cones().list() {
            // A disc keeps its shape only if both rows go by one r.
            let [p, q] = cone.pick(&self.inverse);
            for i in cone.tangents {
                self.inverse[i] = p.min(q);
            }
        }
        Ok(())
    }

    fn step(&mut self, problem: &Problem, state: &mut State, _: &Budget) -> Result<Progress> {
        if !state.w_is_exact {
            problem.multiply(&state.x, &mut state.w, &mut self.scratch)?;
        }
        self.old.copy_from_slice(&state.x);
        let State { x, w, .. } = &mut *state;
        let aim = |i: usize, x: f64| x - self.t * w[i] * self.inverse[i];
        // Rows that bound others first: the others follow the new impulses.
        for friction in [false, true] {
            for i in 0..x.len() {
                if problem.friction().normal_of(i).is_some() == friction && !problem.cones().is_tangent(i) {
                    let (lo, hi) = problem.bounds_of(i, x);
                    let new = aim(i, x[i]).max(lo).min(hi);
                    set(x, i, new);
                }
            }
        }
        for cone in problem.cones().list() {
            let [i, j] = cone.tangents;
            let [p, q] = project_disc([aim(i, x[i]), aim(j, x[j])], cone.radius(x));
            set(x, i, p);
            set(x, j, q);
        }
        let (mut change, mut energy) = (0.0, 0.0);
        state.set_changes = 0;
        for (i, &a) in problem.diagonal().iter().enumerate() {
            let (new, old) = (state.x[i], self.old[i]);
            change += a * (new - old) * (new - old);
            energy += a * new * new;
            let (lo, hi) = problem.bounds_of(i, &state.x);
            state.set_changes += usize::from((old > lo && old < hi) != (new > lo && new < hi));
        }
        self.adapt(change);
        state.change = 0.5 * change;
        state.w_is_exact = false;
        Ok(if state.change <= ROUND_OFF * energy { Progress::Stalled } else { Progress::Continue })
    }
}

impl Prox {
    /// Choose t for the next step.
    fn adapt(&mut self, change: f64) {
        if change > GROWTH * self.least {
            self.t *= 0.5;
            self.least = f64::INFINITY;
        } else {
            if change < self.last {
                self.t = (FASTER * self.t).min(self.most);
            }
            self.least = self.least.min(change);
        }
        self.last = change;
    }
}

/// A number that overflowed is not taken over.
fn set(x: &mut [f64], i: usize, new: f64) {
    if new.is_finite() {
        x[i] = new;
    }
}
