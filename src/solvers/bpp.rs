//! Block principal pivoting with an adaptive proximal term.
//!
//! References: Judice & Pires 1994 (block pivots between the index sets); Rockafellar 1976 (proximal point method).
//!
//! Rows are free (F), at their lower (L) or upper bound (U). One step solves for the free rows with the others held,
//!
//! ```text
//! (A_FF + ε D_F) x_F = ε D_F c_F - b_F - A_FB x_B,        D = diag(A)
//! ```
//!
//! and moves *every* row that came out infeasible: free rows beyond a bound to that bound, bound rows whose regularised
//! velocity `w + ε D (x - c)` has the wrong sign to F. When none is left, x is the proximal point of the centre c; c
//! moves to x and ε shrinks. ε D makes the system definite where contacts are redundant, and does not bias the answer:
//! at a fixed point x = c the term is zero. D makes it invariant to units and row scaling. On inconsistent rows the
//! iteration tends to the least `Σ w²/2a`, which is the least energy error a free row can have.
//!
//! Block pivots may cycle. The textbook cure, Murty's least-index single pivots, needs hundreds of factorisations on a
//! redundant wall. Here ε grows instead, which makes the proximal problem easier (for ε beyond the norm of A it is
//! almost diagonal), the sets return to the last proximal point's, and ε shrinks again afterwards.
//!
//! Cost per step: one factorisation (`free_system.rs`: rows or bodies, whichever is cheaper) and a few products with A.
//! It wins on small and medium problems, on stiff and badly scaled ones, and with a warm start, which usually needs one
//! or two steps. It fails on matrices that are not symmetric (refused) or clearly indefinite (stalls).

use super::free_system::FreeSystem;
use super::{damped, require_positive_diagonal, Progress, Solver, State};
use crate::error::{refill, reserve, Error, Result, Status};
use crate::linalg::Failure;
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use crate::Budget;

/// First attempt: almost no proximal term. Most problems are solved there.
const EPSILON_FIRST: f64 = 1e-8;
/// Where the homotopy begins when the first attempt cycles.
const EPSILON_START: f64 = 1e-2;
const EPSILON_MIN: f64 = 1e-9;
/// At this weight a proximal problem is nearly diagonal; more would not help.
const EPSILON_MAX: f64 = 100.0;
/// Growth after a cycle.
const GROW: f64 = 4.0;
/// ε shrinks by the first factor after at most so many pivots.
const SHRINK: [(usize, f64); 3] = [(2, 0.2), (4, 0.4), (8, 0.7)];
/// Pivots without fewer infeasible rows before a run counts as cycling.
const TRIES: usize = 1;
/// A run also counts as lost when it has this many times the infeasible rows it began with, or of an eighth of all.
const BLOW_UP: f64 = 1.5;
/// Proximal steps with one factorisation.
const REPEATS: usize = 8;
/// Row violations below this fraction of the largest row are round-off.
const ROUND_OFF: f64 = 1e-13;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    Lower,
    Free,
    Upper,
}

#[derive(Default)]
pub(super) struct Bpp {
    system: FreeSystem,
    sets: Vec<Set>,
    /// Sets at the last proximal point.
    kept: Vec<Set>,
    centre: Vec<f64>,
    /// Bounds the pivots work with; coupled friction moves them between proximal steps.
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// ε D.
    shift: Vec<f64>,
    /// sqrt(a_ii).
    root: Vec<f64>,
    free: Vec<f64>,
    /// Candidate impulses and their velocities.
    x: Vec<f64>,
    w: Vec<f64>,
    scratch: Vec<f64>,
    /// Violations up to this many √J are round-off.
    tolerance: f64,
    epsilon: f64,
    /// Has ε never had to grow?
    first_attempt: bool,
    /// Is the factorisation that of the current sets and ε?
    factored: bool,
    /// `Σ w²/a` over the free rows at the last proximal point.
    residual_energy: f64,
    /// Proximal steps before ε may shrink again.
    hold: usize,
    run: Run,
}

/// Pivots since the last proximal point.
#[derive(Clone, Copy, Default)]
struct Run {
    pivots: usize,
    first: usize,
    least: usize,
    tries: usize,
    /// Runs lost since the last proximal point: each makes the next more patient, so that none is lost for ever.
    losses: usize,
}

impl Run {
    fn new(losses: usize) -> Self {
        Run { pivots: 0, first: 0, least: usize::MAX, tries: TRIES + losses, losses }
    }

    /// Count a pivot; does it look like cycling?
    fn is_lost(&mut self, infeasible: usize, rows: usize) -> bool {
        if self.pivots == 0 {
            self.first = infeasible.max(rows / 8).max(8);
        }
        self.pivots += 1;
        if infeasible < self.least {
            self.least = infeasible;
            self.tries = TRIES + self.losses;
        } else if self.tries == 0 {
            return true;
        } else {
            self.tries -= 1;
        }
        infeasible as f64 > BLOW_UP * (1 + self.losses) as f64 * self.first as f64
    }
}

impl Solver for Bpp {
    fn check(&self, problem: &Problem) -> Result<()> {
        if !problem.is_symmetric() {
            return Err(Error::new(Status::Unsupported, format_args!("bpp needs a symmetric A, this one is not")));
        }
        require_positive_diagonal(problem, SolverKind::Bpp)
    }

    fn follows_friction(&self) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        let n = problem.len();
        for v in self.rows() {
            reserve(v, n)?;
        }
        reserve(&mut self.sets, n)?;
        reserve(&mut self.kept, n)?;
        reserve(&mut self.scratch, 6 * (problem.bodies() + 1))?;
        self.system.reserve(problem)
    }

    fn start(&mut self, problem: &Problem, state: &mut State, _: &Settings) -> Result<()> {
        let n = problem.len();
        for v in self.rows() {
            refill(v, n, 0.0)?;
        }
        refill(&mut self.sets, n, Set::Free)?;
        refill(&mut self.kept, n, Set::Free)?;
        self.system.prepare(problem)?;
        problem.bounds_at(&state.x, &mut self.lo, &mut self.hi);
        for i in 0..n {
            let a = problem.diagonal()[i];
            self.root[i] = a.sqrt();
            // Where the row alone would go.
            let aim = state.x[i] - state.w[i] / a;
            self.sets[i] = if aim <= self.lo[i] {
                Set::Lower
            } else if aim >= self.hi[i] {
                Set::Upper
            } else {
                Set::Free
            };
        }
        self.kept.copy_from_slice(&self.sets);
        self.centre.copy_from_slice(&state.x);
        self.epsilon = if problem.has_live_bounds() { EPSILON_START } else { EPSILON_FIRST };
        self.first_attempt = true;
        self.factored = false;
        self.residual_energy = f64::INFINITY;
        self.hold = 0;
        self.run = Run::new(0);
        Ok(())
    }

    fn step(&mut self, problem: &Problem, state: &mut State, budget: &Budget) -> Result<Progress> {
        if !self.factored {
            match self.factor(problem, budget)? {
                Ok(()) => self.factored = true,
                Err(Failure::OutOfTime(_)) => return Ok(Progress::OutOfTime),
                Err(Failure::NotPositive(_)) => return Ok(Progress::Stalled),
            }
        }
        let mut proximal_steps = 0;
        let mut done = false;
        let infeasible = loop {
            self.candidate(problem)?;
            let infeasible = self.infeasible();
            if infeasible > 0 {
                break infeasible;
            }
            proximal_steps += 1;
            self.publish(problem, state, 0);
            done = self.move_centre(problem);
            if done || proximal_steps == REPEATS || problem.has_live_bounds() {
                break 0;
            }
        };
        if proximal_steps > 0 {
            self.kept.copy_from_slice(&self.sets);
            self.shrink();
            self.run = Run::new(0);
            // What the last candidate found infeasible is the next run's first move.
            self.pivot();
        } else {
            self.publish(problem, state, infeasible);
            if self.run.is_lost(infeasible, self.sets.len()) {
                self.grow();
                self.run = Run::new(self.run.losses + 1);
            } else {
                self.pivot();
            }
        }
        Ok(if done { Progress::Stalled } else { Progress::Continue })
    }
}

impl Bpp {
    /// Every buffer with one number per row.
    fn rows(&mut self) -> [&mut Vec<f64>; 8] {
        let Bpp { centre, lo, hi, shift, root, free, x, w, .. } = self;
        [centre, lo, hi, shift, root, free, x, w]
    }

    /// Factor the free rows' system, with a larger ε where noise makes the matrix indefinite. A matrix that is not
    /// positive even so is no matrix of mechanics.
    fn factor(&mut self, problem: &Problem, budget: &Budget) -> Result<std::result::Result<(), Failure>> {
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

    /// Solve for the free rows and find w = A x + b. Newton's correction is repeated while it gains digits: small ε
    /// costs some on the body side.
    fn candidate(&mut self, problem: &Problem) -> Result<()> {
        for i in 0..self.x.len() {
            self.x[i] = match self.sets[i] {
                Set::Lower => self.lo[i],
                Set::Free => self.centre[i],
                Set::Upper => self.hi[i],
            };
        }
        let mut last = f64::INFINITY;
        loop {
            problem.multiply(&self.x, &mut self.w, &mut self.scratch)?;
            let residual = self.residual(problem);
            if residual <= 0.1 * self.tolerance || residual >= 0.1 * last {
                return Ok(());
            }
            last = residual;
            let mut m = 0;
            for i in 0..self.x.len() {
                if self.sets[i] == Set::Free {
                    self.free[m] = -self.regularised(i);
                    m += 1;
                }
            }
            self.system.solve(problem, &mut self.free[..m])?;
            m = 0;
            for i in 0..self.x.len() {
                if self.sets[i] == Set::Free {
                    self.x[i] += self.free[m];
                    m += 1;
                }
            }
        }
    }

    /// Velocity of row i with the proximal term.
    #[inline]
    fn regularised(&self, i: usize) -> f64 {
        self.w[i] + self.shift[i] * (self.x[i] - self.centre[i])
    }

    /// Largest residual of a free row in √J, where rows of all units compare; sets the tolerance to go with it.
    fn residual(&mut self, problem: &Problem) -> f64 {
        let (mut residual, mut size) = (0.0f64, 0.0f64);
        for i in 0..self.x.len() {
            size = size.max((self.root[i] * self.x[i]).abs()).max((problem.b()[i] / self.root[i]).abs());
            if self.sets[i] == Set::Free {
                residual = residual.max(self.regularised(i).abs() / self.root[i]);
            }
        }
        self.tolerance = ROUND_OFF * size;
        residual
    }

    /// The set row i belongs to, going by the last candidate.
    #[inline]
    fn belongs(&self, i: usize) -> Set {
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
    fn infeasible(&self) -> usize {
        (0..self.sets.len()).filter(|&i| self.belongs(i) != self.sets[i]).count()
    }

    /// Move every infeasible row.
    fn pivot(&mut self) {
        for i in 0..self.sets.len() {
            let set = self.belongs(i);
            self.factored &= set == self.sets[i];
            self.sets[i] = set;
        }
    }

    /// The candidate is a proximal point: make it the centre. True when nothing more is to be gained.
    fn move_centre(&mut self, problem: &Problem) -> bool {
        let (mut moved, mut size, mut residual) = (0.0, 0.0, 0.0);
        for i in 0..self.x.len() {
            let a = problem.diagonal()[i];
            moved += a * (self.x[i] - self.centre[i]).powi(2);
            size += a * self.x[i] * self.x[i];
            if self.sets[i] == Set::Free {
                residual += self.w[i] * self.w[i] / a;
            }
            self.centre[i] = self.x[i].max(self.lo[i]).min(self.hi[i]);
        }
        let mut settled = true;
        if problem.has_live_bounds() {
            for i in 0..self.x.len() {
                let (lo, hi) = problem.bounds_of(i, &self.centre);
                settled &= lo == self.lo[i] && hi == self.hi[i];
                (self.lo[i], self.hi[i]) = (damped(self.lo[i], lo), damped(self.hi[i], hi));
            }
        }
        // With almost no proximal term left, a residual that stays is one that no x removes.
        let inconsistent = self.epsilon <= EPSILON_MIN && residual >= 0.98 * self.residual_energy;
        self.residual_energy = residual;
        settled && (moved <= ROUND_OFF * ROUND_OFF * size || inconsistent)
    }

    /// A proximal point was found: weaken the proximal term, the more the easier it was.
    fn shrink(&mut self) {
        if self.hold > 0 {
            self.hold -= 1;
            return;
        }
        let pivots = self.run.pivots + 1;
        let factor = SHRINK.iter().find(|(most, _)| pivots <= *most).map_or(1.0, |(_, factor)| *factor);
        let epsilon = (self.epsilon * factor).max(EPSILON_MIN);
        self.factored &= epsilon == self.epsilon;
        self.epsilon = epsilon;
    }

    /// The pivots cycle: go back to the last proximal point's sets with a stronger proximal term.
    fn grow(&mut self) {
        let next = if self.first_attempt { EPSILON_START } else { GROW * self.epsilon };
        self.first_attempt = false;
        self.epsilon = next.min(EPSILON_MAX).max(self.epsilon);
        self.hold = 1;
        self.sets.copy_from_slice(&self.kept);
        self.factored = false;
    }

    /// Hand the candidate to the driver.
    fn publish(&self, problem: &Problem, state: &mut State, infeasible: usize) {
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
