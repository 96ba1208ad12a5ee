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
//! Coupled friction bounds move between proximal points, part of the way to where the normals are: cheap, and mostly enough.
//! Where others have failed already, friction rows at their bounds are *tied* to their normals instead,
//! `x_i = ± mu_i x_n`, and the pivots know it (`proximal.rs`): an unsymmetric factor of twice the cost. The proximal problem is
//! then solved with the bounds that hold at its solution. Where contacts are redundant that takes hundreds of pivots, each
//! far cheaper than other methods' steps, and on rattling walls nothing else here arrives as reliably.
//!
//! Cost per step: one factorisation (`free_system.rs`: rows or bodies, whichever is cheaper) and a few products with A.
//! It wins on small and medium problems, on stiff and badly scaled ones, and with a warm start, which usually needs one
//! or two steps. It fails on matrices that are not symmetric (refused) or clearly indefinite (stalls).

use super::proximal::{Proximal, Set, EPSILON_MAX, ROUND_OFF};
use super::{damped, require_positive_diagonal, Progress, Solver, State};
use crate::error::{Error, Result, Status};
use crate::linalg::Failure;
use crate::memory::{refill, reserve};
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use crate::Budget;

/// First attempt: almost no proximal term. Most problems are solved there.
const EPSILON_FIRST: f64 = 1e-8;
/// Where the homotopy begins when the first attempt cycles.
const EPSILON_START: f64 = 1e-2;
const EPSILON_MIN: f64 = 1e-9;
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

#[derive(Default)]
pub(super) struct Bpp {
    prox: Proximal,
    /// Sets at the last proximal point.
    kept: Vec<Set>,
    /// Has ε never had to grow?
    first_attempt: bool,
    /// Is the factorisation that of the current sets and ε?
    factored: bool,
    /// `Σ w²/a` over the free rows at the last proximal point.
    residual_energy: f64,
    /// Proximal steps before ε may shrink again.
    hold: usize,
    /// Is the next step the first? From a good start its proximal point is mostly good enough: let the loop see it.
    begins: bool,
    /// Proximal steps with this factorisation that the loop has seen.
    seen: usize,
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

    fn follows_friction(&self, _: &Problem) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        reserve(&mut self.kept, problem.len())?;
        if Proximal::can_tie(problem) {
            self.prox.reserve_ties(problem)?;
        }
        self.prox.reserve(problem)
    }

    fn start(&mut self, problem: &Problem, state: &mut State, _: &Settings) -> Result<()> {
        let epsilon = if problem.has_live_bounds() { EPSILON_START } else { EPSILON_FIRST };
        self.prox.start(problem, state, epsilon)?;
        if state.patient && Proximal::can_tie(problem) {
            self.prox.tie(problem)?;
        }
        refill(&mut self.kept, problem.len(), Set::Free)?;
        self.kept.copy_from_slice(&self.prox.sets);
        self.first_attempt = true;
        self.factored = false;
        self.residual_energy = f64::INFINITY;
        self.hold = 0;
        self.begins = true;
        self.seen = 0;
        self.run = Run::new(0);
        Ok(())
    }

    fn step(&mut self, problem: &Problem, state: &mut State, budget: &Budget) -> Result<Progress> {
        if !self.factored {
            match self.prox.factor(problem, budget)? {
                Ok(()) => self.factored = true,
                Err(Failure::OutOfTime(_)) => return Ok(Progress::OutOfTime),
                Err(Failure::NotPositive(_)) => return Ok(Progress::Stalled),
            }
        }
        let moves_bounds = problem.has_live_bounds() && !self.prox.is_tied;
        let shows = std::mem::take(&mut self.begins);
        let mut proximal_steps = std::mem::take(&mut self.seen);
        let mut done = false;
        let infeasible = loop {
            if !self.find_candidate(problem, state, budget)? {
                self.lose();
                return Ok(Progress::Continue);
            }
            let infeasible = self.prox.infeasible();
            if infeasible > 0 {
                break infeasible;
            }
            proximal_steps += 1;
            self.prox.publish(problem, state, 0);
            done = self.move_centre(problem);
            if done || proximal_steps == REPEATS || moves_bounds {
                break 0;
            }
            if shows {
                self.seen = proximal_steps;
                return Ok(Progress::Continue);
            }
        };
        if proximal_steps > 0 {
            self.kept.copy_from_slice(&self.prox.sets);
            self.shrink();
            self.run = Run::new(0);
            // What the last candidate found infeasible is the next run's first move.
            self.pivot(problem);
        } else {
            self.prox.publish(problem, state, infeasible);
            if self.run.is_lost(infeasible, self.prox.sets.len()) {
                self.lose();
            } else {
                self.pivot(problem);
            }
        }
        Ok(if done { Progress::Stalled } else { Progress::Continue })
    }
}

impl Bpp {
    /// Solve for the free rows. False if that cannot be done.
    fn find_candidate(&mut self, problem: &Problem, state: &State, budget: &Budget) -> Result<bool> {
        if !self.prox.is_tied {
            self.prox.candidate(problem, state)?;
            return Ok(true);
        }
        let mut found = self.prox.candidate_tied(problem)?;
        if !found && self.prox.distrust(problem) {
            found = self.prox.factor(problem, budget)?.is_ok() && self.prox.candidate_tied(problem)?;
        }
        Ok(found)
    }

    /// These sets lead nowhere.
    fn lose(&mut self) {
        self.grow();
        self.run = Run::new(self.run.losses + 1);
    }

    /// Move every infeasible row.
    fn pivot(&mut self, problem: &Problem) {
        // First, so that those of a contact that closes now slide the right way; while it is open the factor is the same.
        if self.prox.is_tied {
            self.prox.turn_open(problem);
        }
        for i in 0..self.prox.sets.len() {
            let set = self.prox.belongs(i);
            self.factored &= set == self.prox.sets[i];
            self.prox.sets[i] = set;
        }
    }

    /// The candidate is a proximal point: make it the centre. True when nothing more is to be gained.
    fn move_centre(&mut self, problem: &Problem) -> bool {
        let (mut moved, mut size, mut residual) = (0.0, 0.0, 0.0);
        for i in 0..self.prox.x.len() {
            let a = problem.diagonal()[i];
            moved += a * (self.prox.x[i] - self.prox.centre[i]).powi(2);
            size += a * self.prox.x[i] * self.prox.x[i];
            if self.prox.sets[i] == Set::Free {
                residual += self.prox.w[i] * self.prox.w[i] / a;
            }
            self.prox.centre[i] = self.prox.x[i].max(self.prox.lo[i]).min(self.prox.hi[i]);
        }
        let mut settled = true;
        if problem.has_live_bounds() && !self.prox.is_tied {
            for i in 0..self.prox.x.len() {
                let (lo, hi) = problem.bounds_of(i, &self.prox.centre);
                settled &= lo == self.prox.lo[i] && hi == self.prox.hi[i];
                (self.prox.lo[i], self.prox.hi[i]) = (damped(self.prox.lo[i], lo), damped(self.prox.hi[i], hi));
            }
        }
        // With almost no proximal term left, a residual that stays is one that no x removes.
        let inconsistent = self.prox.epsilon <= EPSILON_MIN && residual >= 0.98 * self.residual_energy;
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
        let epsilon = (self.prox.epsilon * factor).max(EPSILON_MIN);
        self.factored &= epsilon == self.prox.epsilon;
        self.prox.epsilon = epsilon;
    }

    /// The pivots cycle: go back to the last proximal point's sets with a stronger proximal term.
    fn grow(&mut self) {
        let next = if self.first_attempt { EPSILON_START } else { GROW * self.prox.epsilon };
        self.first_attempt = false;
        self.prox.epsilon = next.min(EPSILON_MAX).max(self.prox.epsilon);
        self.hold = 1;
        self.prox.sets.copy_from_slice(&self.kept);
        self.factored = false;
    }
}
