//! What the semismooth Newton solvers share: the system, the line search, the ways out when it fails.
//!
//! A complementarity function gives each row `φ_i(y_i, v_i) = 0` if and only if row i is solved; with an element
//! `(p_i, q_i)` of its generalised gradient, one Newton step solves
//!
//! ```text
//! (diag(p) + diag(q) (A + ε I)) d = -φ
//! ```
//!
//! in the units of `scaled.rs`. ε is 1e-10 as a rule and keeps redundant rows solvable; it is a proximal term centred
//! at the iterate, so that it vanishes with d and does not bias the answer. It grows when a direction fails and shrinks
//! after good steps. Steps are halved until half the squared Fischer-Burmeister function, smooth and zero only at
//! solutions, falls enough against the largest of the last few values (Armijo; Grippo, Lampariello & Lucidi 1986).
//! When no ε gives a step, a Levenberg-Marquardt direction `(JᵀJ + μ I) d = -Jᵀφ` is tried, at last the gradient.

use super::scaled::Scaled;
use super::{Progress, State};
use crate::error::Result;
use crate::linalg::DenseLu;
use crate::memory::{refill, reserve};
use crate::problem::Problem;
use crate::Budget;

const EPSILON_MIN: f64 = 1e-10;
const EPSILON_MAX: f64 = 1.0;
/// After a step shorter than this, ε is at least that.
const SHORT: f64 = 0.25;
const EPSILON_SHORT: f64 = 1e-7;
/// Armijo's share of the promised decrease.
const SUFFICIENT: f64 = 1e-4;
/// Halvings before a direction counts as failed; for the gradient, which always has some step, more.
pub(super) const HALVINGS: i32 = 12;
const GRADIENT_HALVINGS: i32 = 60;
/// Values the line search looks back on.
const MEMORY: usize = 5;

/// Value and generalised gradient `(φ, ∂φ/∂y, ∂φ/∂v)` of a row.
pub(super) type Row = fn(y: f64, v: f64, lo: f64, hi: f64) -> (f64, f64, f64);

/// Shared work of a Newton solver.
#[derive(Default)]
pub(super) struct Newton {
    scaled: Scaled,
    lu: DenseLu,
    y: Vec<f64>,
    v: Vec<f64>,
    /// Trial point and its velocities.
    next_y: Vec<f64>,
    next_v: Vec<f64>,
    phi: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
    direction: Vec<f64>,
    gradient: Vec<f64>,
    epsilon: f64,
    /// Is every diagonal positive, so that ε compares with it?
    has_yardstick: bool,
    merit: f64,
    recent: [f64; MEMORY],
}

impl Newton {
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        self.scaled.reserve(n)?;
        self.lu.reserve(n)?;
        for v in self.rows() {
            reserve(v, n)?;
        }
        Ok(())
    }

    fn rows(&mut self) -> [&mut Vec<f64>; 9] {
        let Newton { y, v, next_y, next_v, phi, p, q, direction, gradient, .. } = self;
        [y, v, next_y, next_v, phi, p, q, direction, gradient]
    }

    pub fn start(&mut self, problem: &Problem, state: &State) -> Result<()> {
        self.scaled.fill(problem, state)?;
        for v in self.rows() {
            refill(v, problem.len(), 0.0)?;
        }
        self.scaled.enter(&state.x, &mut self.y);
        self.scaled.multiply(&self.y, &mut self.v);
        self.epsilon = EPSILON_MIN;
        self.has_yardstick = problem.has_energy();
        self.merit = self.merit_at(&self.y, &self.v);
        self.recent = [self.merit; MEMORY];
        Ok(())
    }

    /// One Newton step of the function `row`, globalised; its direction may be halved `patience` times.
    pub fn step(&mut self, row: Row, patience: i32, state: &mut State, budget: &Budget) -> Result<Progress> {
        let bar = self.recent.iter().fold(0.0, |m: f64, v| m.max(*v));
        let mut moved = None;
        let first = self.epsilon;
        let mut tries = 0;
        while moved.is_none() && self.epsilon <= EPSILON_MAX {
            if tries > 0 && budget.spent() {
                return Ok(Progress::OutOfTime);
            }
            // After a failure of the solver's own function, Fischer and Burmeister's, whose direction is one of descent.
            let own = tries % 2 == 0;
            self.linearise(if own { row } else { fischer_burmeister });
            self.solve_newton()?;
            moved = self.search(bar, if own { patience } else { HALVINGS }, None);
            tries += 1;
            if moved.is_none() && tries % 2 == 0 {
                self.epsilon *= 100.0;
            }
        }
        match moved {
            Some(1.0) => self.epsilon = (0.1 * self.epsilon).max(EPSILON_MIN),
            // Short steps mean long directions: along null directions of redundant rows they say nothing.
            Some(t) if t < SHORT && self.has_yardstick => {
                self.epsilon = (10.0 * self.epsilon).clamp(EPSILON_SHORT, EPSILON_MAX)
            }
            Some(_) => {}
            None => {
                self.epsilon = first;
                if budget.spent() {
                    return Ok(Progress::OutOfTime);
                }
                moved = self.fall_back(bar)?;
            }
        }
        if moved.is_none() {
            return Ok(Progress::Stalled);
        }
        std::mem::swap(&mut self.y, &mut self.next_y);
        std::mem::swap(&mut self.v, &mut self.next_v);
        self.merit = self.merit_at(&self.y, &self.v);
        self.recent.rotate_left(1);
        self.recent[MEMORY - 1] = self.merit;
        if !self.scaled.publish(&self.y, state) {
            return Ok(Progress::Stalled);
        }
        Ok(if self.merit == 0.0 { Progress::Stalled } else { Progress::Continue })
    }

    /// Value and generalised gradient of every row at the iterate.
    fn linearise(&mut self, row: Row) {
        for i in 0..self.y.len() {
            (self.phi[i], self.p[i], self.q[i]) = row(self.y[i], self.v[i], self.scaled.lo[i], self.scaled.hi[i]);
        }
    }

    /// The Newton direction of the last linearisation.
    fn solve_newton(&mut self) -> Result<()> {
        let n = self.y.len();
        let m = self.lu.matrix(n)?;
        for j in 0..n {
            let column = &mut m[j * n..(j + 1) * n];
            for i in 0..n {
                column[i] = self.q[i] * self.scaled.a[j * n + i];
            }
            column[j] += self.p[j] + self.epsilon * self.q[j];
            self.direction[j] = -self.phi[j];
        }
        self.lu.factor();
        self.lu.solve(&mut self.direction);
        Ok(())
    }

    /// Levenberg and Marquardt's direction on Fischer and Burmeister's function, then its gradient.
    fn fall_back(&mut self, bar: f64) -> Result<Option<f64>> {
        let n = self.y.len();
        self.linearise(fischer_burmeister);
        for j in 0..n {
            let column = &self.scaled.a[j * n..(j + 1) * n];
            let dot: f64 = (0..n).map(|i| self.q[i] * column[i] * self.phi[i]).sum();
            self.gradient[j] = dot + self.p[j] * self.phi[j];
        }
        let mu = (2.0 * self.merit).sqrt().clamp(1e-12, 1.0);
        let m = self.lu.matrix(n)?;
        for j in 0..n {
            for k in 0..=j {
                let (cj, ck) = (&self.scaled.a[j * n..(j + 1) * n], &self.scaled.a[k * n..(k + 1) * n]);
                let mut dot: f64 = (0..n).map(|i| self.q[i] * self.q[i] * cj[i] * ck[i]).sum();
                dot += self.p[j] * self.q[j] * ck[j] + self.p[k] * self.q[k] * cj[k];
                if j == k {
                    dot += self.p[j] * self.p[j] + mu;
                }
                (m[j * n + k], m[k * n + j]) = (dot, dot);
            }
            self.direction[j] = -self.gradient[j];
        }
        self.lu.factor();
        self.lu.solve(&mut self.direction);
        for attempt in 0..2 {
            if attempt == 1 {
                for (d, g) in self.direction.iter_mut().zip(&self.gradient) {
                    *d = -g;
                }
            }
            let slope: f64 = self.direction.iter().zip(&self.gradient).map(|(d, g)| d * g).sum();
            if slope < 0.0 {
                let halvings = if attempt == 0 { HALVINGS } else { GRADIENT_HALVINGS };
                let moved = self.search(bar, halvings, Some(slope));
                if moved.is_some() {
                    return Ok(moved);
                }
            }
        }
        Ok(None)
    }

    /// The first of the steps 1, 1/2, 1/4 … along the direction that lowers the merit enough; the trial point is then
    /// that step's. Without a slope the promise is Newton's, `-2 merit`.
    fn search(&mut self, bar: f64, halvings: i32, slope: Option<f64>) -> Option<f64> {
        if !self.direction.iter().all(|d| d.is_finite()) {
            return None;
        }
        let slope = slope.unwrap_or(-2.0 * self.merit);
        for k in 0..=halvings {
            let t = 0.5f64.powi(k);
            for i in 0..self.y.len() {
                self.next_y[i] = self.y[i] + t * self.direction[i];
            }
            self.scaled.multiply(&self.next_y, &mut self.next_v);
            let merit = self.merit_at(&self.next_y, &self.next_v);
            if merit <= bar + SUFFICIENT * t * slope {
                return Some(t);
            }
        }
        None
    }

    fn merit_at(&self, y: &[f64], v: &[f64]) -> f64 {
        let Scaled { lo, hi, .. } = &self.scaled;
        0.5 * (0..y.len()).map(|i| fischer_burmeister(y[i], v[i], lo[i], hi[i]).0.powi(2)).sum::<f64>()
    }
}

/// `a + b - √(a² + b²)` and its gradient, without cancellation; at the origin one element of it.
fn phi(a: f64, b: f64) -> (f64, f64, f64) {
    if a == f64::INFINITY {
        return (b, 0.0, 1.0);
    }
    let h = a.hypot(b);
    if h == 0.0 {
        return (0.0, 1.0 - std::f64::consts::FRAC_1_SQRT_2, 1.0 - std::f64::consts::FRAC_1_SQRT_2);
    }
    let value = if a + b > 0.0 { 2.0 * a * (b / (a + b + h)) } else { a + b - h };
    // 1 - s/h = t²/(h (h + s))
    let slope = |s: f64, t: f64| if s > 0.0 { (t / h) * (t / (h + s)) } else { 1.0 - s / h };
    (value, slope(a, b), slope(b, a))
}

/// The box form `φ(y - lo, -φ(hi - y, -v))`; infinite bounds are its limits, a fixed row is `y - lo`.
pub(super) fn fischer_burmeister(y: f64, v: f64, lo: f64, hi: f64) -> (f64, f64, f64) {
    if lo == hi {
        return (y - lo, 1.0, 0.0);
    }
    let (inner, inner_a, inner_b) = phi(hi - y, -v);
    let (value, outer_a, outer_b) = phi(y - lo, -inner);
    (value, outer_a + outer_b * inner_a, outer_b * inner_b)
}
