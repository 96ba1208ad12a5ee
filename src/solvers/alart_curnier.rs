//! Nonsmooth Newton method of Alart and Curnier on boxes, coupled friction and exact friction cones.
//!
//! Reference: Alart & Curnier 1991; Acary, Brémond & Huber 2018 for how it fares and how to globalise it.
//!
//! ```text
//! x_n = clamp( x_n - r_n w_n ),     x_t = P( x_t - r_t w_t ),  P onto the disc of radius mu clamp( x_n - r_n w_n )
//! ```
//! is linearised at the iterate, with r the inverse diagonals. A contact is then open (its impulses go to zero), sticks
//! (its velocities go to zero) or slides along u, the direction of `z = x_t - r_t w_t`: along u the impulse is tied to
//! the normal one, `x_u = mu x_n`, and across it, with `s = radius / |z|` and τ at right angles to u,
//!
//! ```text
//! δw_τ + (1-s)/(s r) δx_τ = -x_τ / (s r),      δw = A δx
//! ```
//! which is a row of A with a positive shift. `cone_system.rs` solves for the step. A proximal term ε diag(A) δx, which
//! vanishes with the step, keeps redundant rows solvable. Steps are halved until the error of the equations, in joules
//! `½ Σ a |x - P(x - w/a)|²`, falls against the largest of the last few; if no step does, not even with more ε, sweeps by
//! contact (`prox_gs.rs`) take over for a while, as they also begin.
//!
//! Cost per step: one dense LU factorisation of the rows, or of 6 velocities a body where these are fewer; a product with
//! A per trial step. It wins where accuracy is wanted: a handful of steps from the right pattern of stick and slip. It
//! fails now and then on redundant contacts of which many slide: hundreds of short steps, and no promise.

use super::cone_system::{ConeSystem, Unknown};
use super::prox_gs::ContactSweeps;
use super::sweep::ROUND_OFF;
use super::{require_positive_diagonal, Progress, Solver, State};
use crate::error::Result;
use crate::memory::{refill, reserve};
use crate::problem::{project_disc, Cone, Problem};
use crate::settings::{Settings, SolverKind};
use crate::Budget;

/// ε as a rule: less gives long steps along null directions of redundant rows, more makes joints slow.
const EPSILON_MIN: f64 = 1e-7;
const EPSILON_MAX: f64 = 1e-2;
/// Growth and decay of ε after a failure and a full step.
const EPSILON_GROWTH: f64 = 100.0;
const EPSILON_DECAY: f64 = 0.1;
/// Halvings before a direction counts as failed.
const HALVINGS: i32 = 6;
/// The share of the error that a step must take away, times its length.
const SUFFICIENT: f64 = 1e-3;
/// Values the line search looks back on: the error has many kinks, and steps that go down all the time end in one.
const MEMORY: usize = 25;
/// Sweeps at the start and after a failure; they grow with every failure.
const SWEEPS: usize = 20;
const MOST_SWEEPS: usize = 200;

#[derive(Default)]
pub(super) struct AlartCurnier {
    sweeps: ContactSweeps,
    system: ConeSystem,
    /// Impulses as the projection sees them, normals first.
    aim: Vec<f64>,
    step: Vec<f64>,
    next_x: Vec<f64>,
    next_w: Vec<f64>,
    scratch: Vec<f64>,
    epsilon: f64,
    recent: [f64; MEMORY],
    /// Sweeps to be made before the next Newton step.
    due: usize,
    /// Sweeps after the next failure.
    patience: usize,
}

impl Solver for AlartCurnier {
    fn check(&self, problem: &Problem) -> Result<()> {
        require_positive_diagonal(problem, SolverKind::AlartCurnier)
    }

    fn follows_friction(&self, _: &Problem) -> bool {
        true
    }

    fn treats_cones(&self) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        self.sweeps.reserve(problem)?;
        self.system.reserve(problem)?;
        for v in self.rows() {
            reserve(v, problem.len())?;
        }
        reserve(&mut self.scratch, 6 * (problem.bodies() + 1))
    }

    fn start(&mut self, problem: &Problem, state: &mut State, settings: &Settings) -> Result<()> {
        for v in self.rows() {
            refill(v, problem.len(), 0.0)?;
        }
        self.sweeps.start(problem, &state.x, settings.relaxation)?;
        self.system.start(problem)?;
        self.epsilon = EPSILON_MIN;
        self.recent = [f64::INFINITY; MEMORY];
        (self.due, self.patience) = (if state.is_near { 0 } else { SWEEPS }, SWEEPS);
        Ok(())
    }

    fn step(&mut self, problem: &Problem, state: &mut State, budget: &Budget) -> Result<Progress> {
        if self.due > 0 {
            return self.sweep(problem, state, budget);
        }
        if !state.w_is_exact {
            problem.multiply(&state.x, &mut state.w, &mut self.scratch)?;
            state.w_is_exact = true;
        }
        let error = error(problem, &state.x, &state.w, &mut self.aim);
        if error == 0.0 {
            return Ok(Progress::Stalled);
        }
        self.recent.rotate_left(1);
        self.recent[MEMORY - 1] = error;
        let bar = self.recent.iter().filter(|e| e.is_finite()).fold(error, |m, e| m.max(*e));
        // From a good start a step goes most of the way, or the start is not as good as it looks.
        let (most_tries, halvings) = if state.is_near { (1, 1) } else { (3, HALVINGS) };
        let mut tries = 0;
        while tries < most_tries && self.epsilon <= EPSILON_MAX {
            if tries > 0 && budget.spent() {
                return Ok(Progress::OutOfTime);
            }
            self.linearise(problem, &state.x, &state.w);
            if self.system.solve(problem, &mut self.step)? {
                if let Some(length) = self.search(problem, &state.x, bar, halvings)? {
                    if length == 1.0 {
                        self.epsilon = (EPSILON_DECAY * self.epsilon).max(EPSILON_MIN);
                    }
                    let energy = self.take(problem, state);
                    let stands = state.change <= ROUND_OFF * energy;
                    return Ok(if stands { Progress::Stalled } else { Progress::Continue });
                }
            }
            self.epsilon *= EPSILON_GROWTH;
            tries += 1;
        }
        if state.is_near {
            (state.change, state.set_changes) = (0.0, 0);
            return Ok(Progress::GivesWay);
        }
        self.epsilon = EPSILON_MIN;
        self.recent = [f64::INFINITY; MEMORY];
        self.due = self.patience;
        self.patience = (2 * self.patience).min(MOST_SWEEPS);
        self.sweeps.moved(problem, &state.x)?;
        self.sweep(problem, state, budget)
    }
}

impl AlartCurnier {
    fn rows(&mut self) -> [&mut Vec<f64>; 4] {
        let AlartCurnier { aim, step, next_x, next_w, .. } = self;
        [aim, step, next_x, next_w]
    }

    /// All sweeps that are due.
    fn sweep(&mut self, problem: &Problem, state: &mut State, budget: &Budget) -> Result<Progress> {
        (state.change, state.set_changes, state.w_is_exact) = (0.0, 0, false);
        while self.due > 0 {
            let swept = self.sweeps.sweep(problem, &mut state.x);
            state.change += swept.change;
            state.set_changes += swept.set_changes;
            self.due -= 1;
            if budget.spent() {
                break;
            }
        }
        Ok(Progress::Continue)
    }

    /// Where each row goes, going by the projection.
    fn linearise(&mut self, problem: &Problem, x: &[f64], w: &[f64]) {
        let a = problem.diagonal();
        let (friction, cones) = (problem.friction(), problem.cones());
        self.aim.copy_from_slice(x);
        for i in (0..x.len()).filter(|&i| friction.normal_of(i).is_none() && !cones.is_tangent(i)) {
            let (lo, hi) = problem.bounds_of(i, x);
            let z = x[i] - w[i] / a[i];
            self.aim[i] = z.max(lo).min(hi);
            self.system.unknowns[i] = self.row(a[i], x[i], w[i], lo, hi);
        }
        for i in (0..x.len()).filter(|&i| !cones.is_tangent(i)) {
            let Some(normal) = friction.normal_of(i) else { continue };
            let (lo, hi) = problem.bounds_of(i, &self.aim);
            let mut unknown = self.row(a[i], x[i], w[i], lo, hi);
            // A bound that follows its normal, and is not cut by the row's own, ties the row to it.
            let z = x[i] - w[i] / a[i];
            let factor = friction.mu_of(i).copysign(z);
            let (bound, beyond) = if z < 0.0 { (lo, z <= lo) } else { (hi, z >= hi) };
            if friction.is_live() && self.aim[normal] > 0.0 && beyond && bound == factor * self.aim[normal] {
                unknown = Unknown::Tied { to: normal, factor, offset: factor * x[normal] - x[i] };
            }
            self.system.unknowns[i] = unknown;
        }
        for (k, cone) in cones.list().iter().enumerate() {
            self.contact(k, cone, a, x, w);
        }
    }

    /// A row with these bounds.
    fn row(&self, a: f64, x: f64, w: f64, lo: f64, hi: f64) -> Unknown {
        let z = x - w / a;
        if z <= lo || lo == hi {
            Unknown::Known(lo - x)
        } else if z >= hi {
            Unknown::Known(hi - x)
        } else {
            Unknown::Active { shift: self.epsilon * a, rhs: -w }
        }
    }

    /// The tangents of contact k.
    fn contact(&mut self, k: usize, cone: &Cone, a: &[f64], x: &[f64], w: &[f64]) {
        let [i, j] = cone.tangents;
        let [p, q] = cone.pick(a);
        let (mean, radius) = (0.5 * (p + q), cone.radius(&self.aim));
        let (xt, wt) = (cone.pick(x), cone.pick(w));
        let z = [xt[0] - wt[0] / mean, xt[1] - wt[1] / mean];
        let size = z[0].hypot(z[1]);
        let shift = self.epsilon * mean;
        let system = &mut self.system;
        system.frames[k] = [1.0, 0.0];
        (system.unknowns[i], system.unknowns[j]) = if radius == 0.0 {
            (Unknown::Known(-xt[0]), Unknown::Known(-xt[1]))
        } else if size <= radius {
            (Unknown::Active { shift, rhs: -wt[0] }, Unknown::Active { shift, rhs: -wt[1] })
        } else {
            let [c, s] = [z[0] / size, z[1] / size];
            system.frames[k] = [c, s];
            let (along, across) = (c * xt[0] + s * xt[1], c * xt[1] - s * xt[0]);
            let share = radius / size;
            (
                Unknown::Tied { to: cone.normal, factor: cone.mu, offset: cone.mu * x[cone.normal] - along },
                Unknown::Active { shift: shift + mean * (1.0 - share) / share, rhs: -across * mean / share },
            )
        };
    }

    /// The first of the steps 1, 1/2, 1/4 … that lowers the error enough.
    fn search(&mut self, problem: &Problem, x: &[f64], bar: f64, halvings: i32) -> Result<Option<f64>> {
        for k in 0..=halvings {
            let t = 0.5f64.powi(k);
            for i in 0..x.len() {
                self.next_x[i] = x[i] + t * self.step[i];
            }
            problem.multiply(&self.next_x, &mut self.next_w, &mut self.scratch)?;
            if error(problem, &self.next_x, &self.next_w, &mut self.aim) <= (1.0 - SUFFICIENT * t) * bar {
                return Ok(Some(t));
            }
        }
        Ok(None)
    }

    /// Hand the trial point to the loop. Returns the energy of its impulses.
    fn take(&mut self, problem: &Problem, state: &mut State) -> f64 {
        (state.change, state.set_changes) = (0.0, 0);
        let mut energy = 0.0;
        for i in 0..state.x.len() {
            let (old, new) = (state.x[i], self.next_x[i]);
            state.change += 0.5 * problem.diagonal()[i] * (new - old) * (new - old);
            energy += problem.diagonal()[i] * new * new;
            let (lo, hi) = problem.bounds_of(i, &self.next_x);
            state.set_changes += usize::from((old > lo && old < hi) != (new > lo && new < hi));
        }
        state.x.copy_from_slice(&self.next_x);
        state.w.copy_from_slice(&self.next_w);
        state.w_is_exact = true;
        energy
    }
}

/// `½ Σ a |x - P(x - w/a)|²` in joules, friction bounds taken at the projected normals; `aim` is scratch.
fn error(problem: &Problem, x: &[f64], w: &[f64], aim: &mut [f64]) -> f64 {
    let (a, cones, friction) = (problem.diagonal(), problem.cones(), problem.friction());
    let mut error = 0.0;
    for coupled in [false, true] {
        for i in (0..x.len()).filter(|&i| friction.normal_of(i).is_some() == coupled && !cones.is_tangent(i)) {
            let (lo, hi) = problem.bounds_of(i, aim);
            aim[i] = (x[i] - w[i] / a[i]).max(lo).min(hi);
            error += 0.5 * a[i] * (x[i] - aim[i]) * (x[i] - aim[i]);
        }
    }
    for cone in cones.list() {
        let ([p, q], xt, wt) = (cone.pick(a), cone.pick(x), cone.pick(w));
        let mean = 0.5 * (p + q);
        let nearest = project_disc([xt[0] - wt[0] / mean, xt[1] - wt[1] / mean], cone.radius(aim));
        let d = [xt[0] - nearest[0], xt[1] - nearest[1]];
        error += 0.5 * mean * (d[0] * d[0] + d[1] * d[1]);
    }
    if error.is_nan() {
        f64::INFINITY
    } else {
        error
    }
}
