//! The proximal problem that block pivots and the proximal Newton method share.
//!
//! For a centre c and a weight ε, the point `x` that solves the problem with `A + ε D` in place of A and
//! `b - ε D c` in place of b, D = diag(A). It is unique, however redundant the rows, and equal to c at a solution of
//! the problem itself. Given index sets, [`Proximal::candidate`] finds the x they stand for.
//!
//! Friction rows at their bounds stay there while a caller moves the bounds, or they are *tied*: the candidate then has
//! `x_i = ± mu_i x_n` with the normal impulse x_n that it finds itself, from an unsymmetric system (`coupled_system.rs`).

use super::coupled_system::{reach_of, CoupledSystem};
use super::free_system::FreeSystem;
use super::State;
use crate::error::Result;
use crate::linalg::{at_least, Failure};
use crate::memory::{refill, reserve};
use crate::problem::Problem;
use crate::Budget;

/// At this weight a proximal problem is nearly diagonal; more would not help.
pub const EPSILON_MAX: f64 = 100.0;
/// Row violations below this fraction of the largest row are round-off.
pub const ROUND_OFF: f64 = 1e-13;

/// A candidate that leaves more than this part of what it should have removed comes from a factor that is no good.
const LEFT: f64 = 1e-6;

/// Where a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// At its lower bound.
    Lower,
    /// Between its bounds.
    Free,
    /// At its upper bound.
    Upper,
}

impl Set {
    /// -1 at the lower bound, 1 at the upper one.
    fn side(self) -> f64 {
        match self {
            Set::Lower => -1.0,
            Set::Free => 0.0,
            Set::Upper => 1.0,
        }
    }
}

#[derive(Default)]
pub struct Proximal {
    system: FreeSystem,
    coupled: CoupledSystem,
    /// Are friction rows tied to their normals?
    pub is_tied: bool,
    /// Coefficient of every tied friction row, else 0, and how each row follows its normal.
    reach: Vec<f64>,
    follow: Vec<f64>,
    pub sets: Vec<Set>,
    pub centre: Vec<f64>,
    /// Bounds in force; block pivots move them with coupled friction.
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
    /// ε D.
    pub shift: Vec<f64>,
    /// sqrt(a_ii), and its reciprocal.
    root: Vec<f64>,
    inverse_root: Vec<f64>,
    /// Largest `|b_i| / sqrt(a_ii)`.
    load: f64,
    /// Newton's correction.
    step: Vec<f64>,
    /// Candidate impulses and their velocities.
    pub x: Vec<f64>,
    pub w: Vec<f64>,
    pub scratch: Vec<f64>,
    /// Violations up to this many √J are round-off.
    tolerance: f64,
    pub epsilon: f64,
}

impl Proximal {
    pub fn reserve(&mut self, problem: &Problem) -> Result<()> {
        for v in self.rows() {
            reserve(v, problem.len())?;
        }
        reserve(&mut self.sets, problem.len())?;
        reserve(&mut self.scratch, 6 * (problem.bodies() + 1))?;
        self.system.reserve(problem)
    }

    /// Can friction rows be tied to their normals? Where nothing is known of bodies the system is dense.
    pub fn can_tie(problem: &Problem) -> bool {
        problem.friction().is_live() && problem.has_plain_friction() && CoupledSystem::is_cheap(problem)
    }

    /// Take the memory for tied friction rows, too.
    pub fn reserve_ties(&mut self, problem: &Problem) -> Result<()> {
        reserve(&mut self.reach, problem.len())?;
        reserve(&mut self.follow, problem.len())?;
        self.coupled.reserve(problem)
    }

    /// Tie friction rows to their normals from now on.
    pub fn tie(&mut self, problem: &Problem) -> Result<()> {
        let n = problem.len();
        self.reserve_ties(problem)?;
        refill(&mut self.follow, n, 0.0)?;
        self.reach.clear();
        self.reach.extend((0..n).map(|i| reach_of(problem, i)));
        self.is_tied = true;
        self.coupled.prepare(problem)
    }

    /// Centre at the starting point, sets where each row alone would go.
    pub fn start(&mut self, problem: &Problem, state: &State, epsilon: f64) -> Result<()> {
        self.is_tied = false;
        let n = problem.len();
        for v in self.rows() {
            refill(v, n, 0.0)?;
        }
        refill(&mut self.sets, n, Set::Free)?;
        self.system.prepare(problem)?;
        self.lo.copy_from_slice(&state.lo);
        self.hi.copy_from_slice(&state.hi);
        for ((root, inverse), a) in self.root.iter_mut().zip(&mut self.inverse_root).zip(problem.diagonal()) {
            *root = a.sqrt();
            *inverse = 1.0 / *root;
        }
        let (b, inverse) = (&problem.b()[..n], &self.inverse_root[..n]);
        self.load = largest(n, 0.0, |i| (b[i] * inverse[i]).abs());
        for i in 0..n {
            let aim = state.x[i] - state.w[i] / problem.diagonal()[i];
            self.sets[i] = if aim <= self.lo[i] {
                Set::Lower
            } else if aim >= self.hi[i] {
                Set::Upper
            } else {
                Set::Free
            };
        }
        self.centre.copy_from_slice(&state.x);
        self.epsilon = epsilon;
        Ok(())
    }

    /// Every buffer with one number per row.
    fn rows(&mut self) -> [&mut Vec<f64>; 9] {
        let Proximal { centre, lo, hi, shift, root, inverse_root, step, x, w, .. } = self;
        [centre, lo, hi, shift, root, inverse_root, step, x, w]
    }

    /// Factor the free rows' system, with a larger ε where noise makes the matrix indefinite. A matrix that is not
    /// positive even so is no matrix of mechanics.
    pub fn factor(&mut self, problem: &Problem, budget: &Budget) -> Result<std::result::Result<(), Failure>> {
        if self.is_tied {
            return self.factor_tied(problem, budget);
        }
        loop {
            for (shift, a) in self.shift.iter_mut().zip(problem.diagonal()) {
                *shift = self.epsilon * a;
            }
            let sets = &self.sets;
            let free = (0..sets.len()).filter(|&i| sets[i] == Set::Free);
            match self.system.factor(problem, free, &self.shift, budget)? {
                Err(Failure::NotPositive(_)) if self.epsilon < EPSILON_MAX => self.epsilon *= 10.0,
                factored => return Ok(factored),
            }
        }
    }

    fn factor_tied(&mut self, problem: &Problem, budget: &Budget) -> Result<std::result::Result<(), Failure>> {
        for (i, a) in problem.diagonal().iter().enumerate() {
            self.shift[i] = self.epsilon * a;
            let (mut weight, mut follow) = (self.shift[i], 0.0);
            if let Some(f) = problem.friction().normal_of(i) {
                if self.sets[f] != Set::Free && self.sets[i] == Set::Free && self.reach[i] * self.x_at(f) == 0.0 {
                    // An open contact does not rub.
                    self.sets[i] = Set::Lower;
                }
                let side = self.sets[i].side();
                if side != 0.0 {
                    (weight, follow) = (f64::INFINITY, side * self.reach[i]);
                }
            }
            (self.step[i], self.follow[i]) = (weight, follow);
        }
        let (sets, friction) = (&self.sets, problem.friction());
        let is_free = |i: usize| sets[i] == Set::Free;
        let active = |i: usize| is_free(i) || friction.normal_of(i).is_some_and(is_free);
        self.coupled.factor(problem, active, &self.step, &self.follow, budget)
    }

    /// Where row i is held, unless it is free or a tied friction row.
    fn x_at(&self, i: usize) -> f64 {
        match self.sets[i] {
            Set::Lower => self.lo[i],
            Set::Free => self.centre[i],
            Set::Upper => self.hi[i],
        }
    }

    /// Factor tied rows densely from now on. False if that is so already, or too dear.
    pub fn distrust(&mut self, problem: &Problem) -> bool {
        self.is_tied && self.coupled.distrust(problem)
    }

    /// Pull tied friction rows that are at their bounds there.
    fn pull_tied(&mut self, problem: &Problem) {
        for i in 0..self.x.len() {
            if let Some(f) = problem.friction().normal_of(i) {
                let side = self.sets[i].side();
                if side != 0.0 {
                    self.x[i] = side * self.reach[i] * self.x[f];
                }
            }
        }
    }

    /// Solve as [`Proximal::candidate`] does, with tied friction rows. False if the factor is no good.
    pub fn candidate_tied(&mut self, problem: &Problem) -> Result<bool> {
        for i in 0..self.x.len() {
            self.x[i] = self.x_at(i);
        }
        self.pull_tied(problem);
        let (mut first, mut last) = (0.0, f64::INFINITY);
        let is_right = loop {
            problem.multiply(&self.x, &mut self.w, &mut self.scratch)?;
            let residual = self.residual();
            if last == f64::INFINITY {
                first = residual;
            }
            if residual <= 0.1 * self.tolerance || residual >= 0.1 * last {
                break residual <= (LEFT * first).max(self.tolerance);
            }
            last = residual;
            for i in 0..self.x.len() {
                self.step[i] = if self.sets[i] == Set::Free { -self.regularised(i) } else { 0.0 };
            }
            self.coupled.solve(problem, &mut self.step)?;
            for (x, step) in self.x.iter_mut().zip(&self.step) {
                *x += step;
            }
            self.pull_tied(problem);
        };
        for i in 0..self.x.len() {
            if let Some(f) = problem.friction().normal_of(i) {
                let reach = at_least(self.reach[i] * self.x[f], 0.0);
                (self.lo[i], self.hi[i]) = (-reach, reach);
            }
        }
        Ok(is_right && self.x.iter().zip(&self.w).fold(true, |all, (x, w)| all & x.is_finite() & w.is_finite()))
    }

    /// Tied friction rows of open contacts wait at the bound that they would slide along.
    pub fn turn_open(&mut self, problem: &Problem) {
        for i in 0..self.sets.len() {
            let is_open = problem.friction().normal_of(i).is_some_and(|f| self.sets[f] != Set::Free);
            if is_open && self.sets[i] != Set::Free && self.lo[i] == self.hi[i] {
                self.sets[i] = if self.regularised(i) < 0.0 { Set::Upper } else { Set::Lower };
            }
        }
    }

    /// Solve for the free rows and find w = A x + b. Newton's correction is repeated while it gains digits: small ε
    /// costs some on the body side.
    pub fn candidate(&mut self, problem: &Problem, state: &State) -> Result<()> {
        for i in 0..self.x.len() {
            self.x[i] = self.x_at(i);
        }
        let mut last = f64::INFINITY;
        loop {
            // From the start, most often, nothing has moved yet.
            if state.w_is_exact && state.x == self.x {
                self.w.copy_from_slice(&state.w);
            } else {
                problem.multiply(&self.x, &mut self.w, &mut self.scratch)?;
            }
            let residual = self.residual();
            if residual <= 0.1 * self.tolerance || residual >= 0.1 * last {
                return Ok(());
            }
            last = residual;
            for i in 0..self.x.len() {
                self.step[i] = -self.regularised(i);
            }
            self.system.solve(problem, &mut self.step)?;
            for (x, step) in self.x.iter_mut().zip(&self.step) {
                *x += step;
            }
        }
    }

    /// Velocity of row i with the proximal term.
    #[inline]
    pub fn regularised(&self, i: usize) -> f64 {
        self.w[i] + self.shift[i] * (self.x[i] - self.centre[i])
    }

    /// Largest residual of a free row in √J, where rows of all units compare; sets the tolerance to go with it.
    fn residual(&mut self) -> f64 {
        let n = self.x.len();
        let (x, w, centre, shift) = (&self.x[..n], &self.w[..n], &self.centre[..n], &self.shift[..n]);
        let (root, inverse, sets) = (&self.root[..n], &self.inverse_root[..n], &self.sets[..n]);
        self.tolerance = ROUND_OFF * largest(n, self.load, |i| (root[i] * x[i]).abs());
        largest(n, 0.0, |i| {
            let residual = (w[i] + shift[i] * (x[i] - centre[i])).abs() * inverse[i];
            if sets[i] == Set::Free {
                residual
            } else {
                0.0
            }
        })
    }

    /// The set row i belongs to, going by the last candidate.
    #[inline]
    pub fn belongs(&self, i: usize) -> Set {
        let root = self.root[i];
        match self.sets[i] {
            Set::Free if root * (self.lo[i] - self.x[i]) > self.tolerance => Set::Lower,
            Set::Free if root * (self.x[i] - self.hi[i]) > self.tolerance => Set::Upper,
            Set::Lower if self.lo[i] < self.hi[i] && -self.regularised(i) > self.tolerance * root => Set::Free,
            Set::Upper if self.lo[i] < self.hi[i] && self.regularised(i) > self.tolerance * root => Set::Free,
            set => set,
        }
    }

    /// Rows that are not where they belong.
    pub fn infeasible(&self) -> usize {
        (0..self.sets.len()).filter(|&i| self.belongs(i) != self.sets[i]).count()
    }

    /// Hand the candidate to the loop.
    pub fn publish(&self, problem: &Problem, state: &mut State, infeasible: usize) {
        let mut change = 0.0;
        for i in 0..self.x.len() {
            change += problem.diagonal()[i] * (self.x[i] - state.x[i]).powi(2);
        }
        state.change = 0.5 * change;
        state.set_changes = infeasible;
        state.x.copy_from_slice(&self.x);
        state.w.copy_from_slice(&self.w);
        state.w_is_exact = true;
    }
}

/// The largest of `n` values, at least `least`; NaN does not count. Four at once, so that none waits for the one before.
#[inline(always)]
fn largest(n: usize, least: f64, value: impl Fn(usize) -> f64) -> f64 {
    let mut most = [least; 4];
    let whole = n - n % 4;
    for at in (0..whole).step_by(4) {
        for k in 0..4 {
            most[k] = at_least(value(at + k), most[k]);
        }
    }
    for i in whole..n {
        most[0] = at_least(value(i), most[0]);
    }
    most.into_iter().fold(least, |most, v| at_least(v, most))
}
