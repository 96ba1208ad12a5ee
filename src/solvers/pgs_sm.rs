//! Projected Gauss-Seidel with subspace minimisation.
//!
//! ```text
//! x ← a few sweeps of PGS,    F = { i : lo_i < x_i < hi_i }
//! (A_FF + ε D_F) d_F = -w_F,  x ← x + d, projected and shortened so that ½xᵀAx + bᵀx falls;  repeated while F shrinks
//! ```
//! Reference: Silcowitz-Hansen, Niebe, Erleben 2010. The sweeps find out which rows are at a bound, the factorisation
//! (`free_system.rs`) solves for the others at once. ε is small, and does not bias the answer: at a solution w_F = 0.
//! Sweeps and subspace steps both lower the objective, so that it never rises while the bounds stay.
//!
//! Coupled friction: the bounds are held until the projected gradient has fallen tenfold, then move on (`box_qp.rs`).
//!
//! Cost per step: [`SWEEPS`] sweeps, up to [`ROUNDS`] factorisations, a few products.
//! It wins where sweeps settle the contacts soon but not the impulses: high mass ratios, long chains. It fails where the
//! set of sliding and open contacts keeps changing from step to step, as on large redundant walls. A must be symmetric.

use super::box_qp::{self, BoxQp};
use super::free_system::FreeSystem;
use super::sweep::{Order, Sweeper, ROUND_OFF};
use super::{Progress, Solver, State};
use crate::error::Result;
use crate::linalg::Failure;
use crate::memory::{refill, reserve};
use crate::problem::{FrictionBounds, Problem};
use crate::settings::{Settings, SolverKind};
use crate::Budget;

const SWEEPS: usize = 6;
const ROUNDS: usize = 4;
/// ε, and its largest value where noise makes the matrix indefinite.
const SHIFT: f64 = 1e-9;
const SHIFT_MAX: f64 = 1.0;

#[derive(Default)]
pub(super) struct PgsSm {
    qp: BoxQp,
    sweeper: Sweeper,
    system: FreeSystem,
    /// ε D.
    shift: Vec<f64>,
    direction: Vec<f64>,
    is_free: Vec<bool>,
    /// x before the step.
    before: Vec<f64>,
}

impl Solver for PgsSm {
    fn check(&self, problem: &Problem) -> Result<()> {
        box_qp::check(problem, SolverKind::PgsSm)
    }

    fn follows_friction(&self, _: &Problem) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        for v in self.rows() {
            reserve(v, problem.len())?;
        }
        reserve(&mut self.is_free, problem.len())?;
        self.qp.reserve(problem)?;
        self.sweeper.reserve(problem)?;
        self.system.reserve(problem)
    }

    fn start(&mut self, problem: &Problem, state: &mut State, settings: &Settings) -> Result<()> {
        for v in self.rows() {
            refill(v, problem.len(), 0.0)?;
        }
        refill(&mut self.is_free, problem.len(), false)?;
        self.qp.start(problem, state)?;
        self.system.prepare(problem)?;
        self.sweeper.start(problem, &state.x, settings.relaxation)
    }

    fn step(&mut self, problem: &Problem, state: &mut State, budget: &Budget) -> Result<Progress> {
        self.qp.follow(problem, state, false)?;
        self.before.copy_from_slice(&state.x);
        self.sweeper.moved(problem, &state.x)?;
        let mut swept = Default::default();
        for _ in 0..SWEEPS {
            let bounds = FrictionBounds::fixed(&self.qp.lo, &self.qp.hi);
            swept = self.sweeper.sweep(problem, &mut state.x, Order::Forth, bounds);
        }
        self.qp.refresh(problem, state)?;
        for (free, i) in self.is_free.iter_mut().zip(0..) {
            *free = state.x[i] > self.qp.lo[i] && state.x[i] < self.qp.hi[i];
        }
        for _ in 0..ROUNDS {
            match self.minimise(problem, state, budget)? {
                Some(Progress::OutOfTime) => {
                    state.x.copy_from_slice(&self.before);
                    state.w_is_exact = false;
                    return Ok(Progress::OutOfTime);
                }
                Some(_) => {}
                None => break,
            }
        }
        self.qp.refresh(problem, state)?;
        let (mut change, mut energy) = (0.0, 0.0);
        state.set_changes = swept.set_changes;
        for i in 0..state.x.len() {
            let a = problem.diagonal()[i];
            change += a * (state.x[i] - self.before[i]).powi(2);
            energy += a * state.x[i] * state.x[i];
        }
        state.change = 0.5 * change;
        if state.change > ROUND_OFF * energy || self.qp.follow(problem, state, true)? {
            return Ok(Progress::Continue);
        }
        Ok(Progress::Stalled)
    }
}

impl PgsSm {
    fn rows(&mut self) -> [&mut Vec<f64>; 3] {
        [&mut self.shift, &mut self.direction, &mut self.before]
    }

    /// One step to the least objective on the free rows; rows that meet a bound are free no longer. None: nothing more
    /// to gain here.
    fn minimise(&mut self, problem: &Problem, state: &mut State, budget: &Budget) -> Result<Option<Progress>> {
        let mut epsilon = SHIFT;
        loop {
            for (shift, a) in self.shift.iter_mut().zip(problem.diagonal()) {
                *shift = epsilon * a;
            }
            let is_free = &self.is_free;
            let free = (0..is_free.len()).filter(|&i| is_free[i]);
            match self.system.factor(problem, free, &self.shift, budget)? {
                Ok(()) => break,
                Err(Failure::OutOfTime(_)) => return Ok(Some(Progress::OutOfTime)),
                Err(Failure::NotPositive(_)) if epsilon < SHIFT_MAX => epsilon *= 100.0,
                Err(Failure::NotPositive(_)) => return Ok(None),
            }
        }
        for (direction, w) in self.direction.iter_mut().zip(&state.w) {
            *direction = -w;
        }
        self.system.solve(problem, &mut self.direction)?;
        if !self.is_free.contains(&true) || self.direction.iter().any(|d| !d.is_finite()) {
            return Ok(None);
        }
        if !self.qp.descend(problem, state, &self.direction)? {
            return Ok(None);
        }
        let mut met = false;
        for i in 0..state.x.len() {
            let inside = state.x[i] > self.qp.lo[i] && state.x[i] < self.qp.hi[i];
            met |= self.is_free[i] && !inside;
            self.is_free[i] &= inside;
        }
        Ok(met.then_some(Progress::Continue))
    }
}
