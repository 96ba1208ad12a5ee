//! Lemke's complementary pivoting for boxes, free and fixed rows, and coupled friction.
//!
//! References: Lemke 1965; Cottle, Pang & Stone 1992, section 4.4, for the lexicographic rule; Dirkse & Ferris 1995 for
//! boxes without extra rows; Stewart & Trinkle 1996, Anitescu & Potra 1997 for friction as part of the path.
//!
//! An artificial t covers the rows that are wrong at a starting vertex (every x at a bound),
//!
//! ```text
//! v = A y + b + c t,     c_i = 1 at the lower bound, -1 at the upper,     t = least that makes every sign right
//! ```
//!
//! in the units of `scaled.rs`, and is driven to 0 along the path on which all rows but t's are complementary. One step
//! is one pivot of `lemke_path.rs`: the variable that left calls in its partner (v_i for y_i at the bound it reached, y_i for
//! v_i at 0), and the first variable to meet a bound leaves. Ties are broken lexicographically, so that in exact arithmetic
//! no basis returns. In floating point one may: the basis is compared with one kept at pivots 1, 2, 4, 8, …, and one that
//! returned after the tableau was computed anew ends the path. Free rows are solved for their y beforehand, by pivots among
//! themselves; where those are singular, with 1e-7 added, or taken off when that ends in a ray; a free row that others imply
//! keeps y = 0. Fixed rows never pivot. When t is 0, the rows between bounds are solved once more from the matrix itself,
//! which removes the pivots' round-off.
//!
//! Friction bounds |y_i| <= m_i y_n are part of the path where the normal impulse may not be negative and the row has no
//! other bounds; elsewhere the loop moves them. That problem is not monotone: a path that ends in a ray is tried again with other
//! weights in c.
//!
//! Points of the path do not satisfy v = A y + b: what the loop sees and measures between is the clamped y with its own
//! w, not an approximation that improves steadily. A warm start only says at which end of its box a row begins.
//!
//! Cost per step: 2 n² flops, memory n². The number of pivots is about n to 3n, exponential at worst. It wins on small
//! problems that are not symmetric or have zero diagonals: it finds a solution of every monotone problem that has one,
//! and of many others; and on coupled friction that no other method settles. A path that ends in a ray says so: for monotone
//! A, but for round-off, there is no solution. It fails by round-off on large redundant problems.

use super::lemke_path::{Path, Step};
use super::scaled::Scaled;
use super::{Progress, Solver, State};
use crate::error::{Error, Result, Status};
use crate::linalg::DenseLu;
use crate::memory::{refill, reserve};
use crate::problem::Problem;
use crate::settings::Settings;
use crate::Budget;

/// What singular free rows are given, relative to a diagonal of 1: small beside any row's mass, large beside round-off.
const SHIFT: f64 = 1e-7;
/// Rows to take memory for before it is needed: the most for which `auto` has a stage of it.
const AHEAD: usize = 300;
/// The last solve: a proximal term that keeps redundant rows solvable, and how often it is repeated.
const POLISH_SHIFT: f64 = 1e-9;
const POLISH: usize = 4;
/// A path's end is a solution when its natural residual is at most this share of the largest b, in the scaled units.
const RESIDUAL: f64 = 1e-6;
/// Pivots between two comparisons of the tableau with the matrix; one costs as much as a pivot.
const CHECK: usize = 16;
/// Paths that are tried where friction is coupled, and elsewhere, where only round-off makes another one end elsewhere.
const PATHS_COUPLED: usize = 12;
const PATHS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// t has not entered yet.
    Begin,
    OnPath,
    Done,
}

pub(super) struct Lemke {
    scaled: Scaled,
    lu: DenseLu,
    path: Path,
    v: Vec<f64>,
    free: Vec<usize>,
    step: Vec<f64>,
    out: Vec<f64>,
    /// What singular free rows are given on this path.
    shift: f64,
    phase: Phase,
    /// Paths tried so far.
    tried: usize,
    /// Pivots of this path, and since the tableau was computed from the matrix.
    pivots: usize,
    since: usize,
    /// Has a basis returned on this path?
    returned: bool,
    /// Is friction a part of the path?
    follows: bool,
}

impl Default for Lemke {
    fn default() -> Self {
        Lemke {
            scaled: Scaled::default(),
            lu: DenseLu::default(),
            path: Path::default(),
            v: Vec::new(),
            free: Vec::new(),
            step: Vec::new(),
            out: Vec::new(),
            shift: SHIFT,
            phase: Phase::Begin,
            tried: 0,
            pivots: 0,
            since: 0,
            returned: false,
            follows: false,
        }
    }
}

impl Solver for Lemke {
    fn check(&self, _: &Problem) -> Result<()> {
        Ok(())
    }

    fn follows_friction(&self, problem: &Problem) -> bool {
        let friction = problem.friction();
        let is_plain = |i: usize| match friction.normal_of(i) {
            None => true,
            Some(normal) => {
                problem.own_bounds(i) == (f64::NEG_INFINITY, f64::INFINITY)
                    && problem.own_bounds(normal).0 >= 0.0
                    && friction.mu_of(i).is_finite()
            }
        };
        (0..problem.len()).all(is_plain)
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        // Where a plan only holds it ready for smaller problems, a large one's tableau would be a waste.
        let n = problem.len().min(AHEAD);
        self.scaled.reserve(n)?;
        self.lu.reserve(n)?;
        self.path.reserve(n)?;
        reserve(&mut self.free, n)?;
        for v in [&mut self.v, &mut self.out, &mut self.step] {
            reserve(v, n)?;
        }
        Ok(())
    }

    fn start(&mut self, problem: &Problem, state: &mut State, _: &Settings) -> Result<()> {
        let n = problem.len();
        let too_large = || Error::new(Status::OutOfMemory, format_args!("no memory for a tableau of {n} rows"));
        n.checked_mul(n + 1).ok_or_else(too_large)?;
        self.scaled.fill(problem, state)?;
        self.lu.reserve(n)?;
        self.shift = SHIFT;
        self.tried = 0;
        self.follows = problem.has_live_bounds() && self.follows_friction(problem);
        self.path.laws(problem, &self.scaled, self.follows)?;
        self.begin(state)
    }

    fn step(&mut self, problem: &Problem, state: &mut State, budget: &Budget) -> Result<Progress> {
        let progress = match self.phase {
            Phase::Begin => {
                if !self.path.eliminate_free(self.shift, budget)? {
                    return Ok(Progress::OutOfTime);
                }
                self.path.cover(self.tried);
                self.phase = if self.path.is_covered() { Phase::Done } else { Phase::OnPath };
                Progress::Continue
            }
            Phase::OnPath => self.advance(state, budget)?,
            Phase::Done => Progress::Stalled,
        };
        if progress == Progress::OutOfTime {
            return Ok(progress);
        }
        self.path.gather(&mut self.out);
        if self.phase == Phase::Done {
            self.polish()?;
        }
        let is_finite = self.publish(problem, state);
        if self.phase == Phase::Done && !self.is_solution() {
            // The path ended where round-off is as large as b.
            return self.next_path(state, Progress::Stalled);
        }
        Ok(match (progress, self.phase) {
            (Progress::Continue, Phase::Done) => Progress::Stalled,
            (Progress::Continue, _) if !is_finite => Progress::Stalled,
            (progress, _) => progress,
        })
    }
}

impl Lemke {
    /// Go to the starting vertex.
    fn begin(&mut self, state: &State) -> Result<()> {
        let n = self.scaled.len();
        refill(&mut self.free, n, 0)?;
        for v in [&mut self.v, &mut self.out, &mut self.step] {
            refill(v, n, 0.0)?;
        }
        self.scaled.enter(&state.x, &mut self.out);
        self.path.begin(&self.scaled, &self.out)?;
        self.phase = Phase::Begin;
        (self.pivots, self.since, self.returned) = (0, 0, false);
        Ok(())
    }

    /// One pivot of the path.
    fn advance(&mut self, state: &State, budget: &Budget) -> Result<Progress> {
        let step = self.path.advance();
        self.pivots += 1;
        self.since += 1;
        let has_returned = step == Step::Moved && self.path.has_returned(self.pivots);
        let is_wrong = match step {
            Step::Done => {
                self.phase = Phase::Done;
                return Ok(Progress::Continue);
            }
            Step::Ray => true,
            Step::Moved if has_returned => true,
            Step::Moved => {
                self.since.is_multiple_of(CHECK) && !self.path.is_accurate(&self.scaled, &mut self.out, &mut self.v)
            }
        };
        if !is_wrong {
            return Ok(Progress::Continue);
        }
        let may_be_round_off = self.since > 1 && !self.returned;
        self.returned |= has_returned;
        if may_be_round_off {
            // What the tableau says may be round-off: compute it from the matrix, and look again.
            self.since = 0;
            if self.path.rebuild(&self.scaled, budget) {
                return Ok(Progress::Continue);
            }
            if budget.spent() {
                return Ok(Progress::OutOfTime);
            }
        }
        let end = if step == Step::Ray { Progress::Ray } else { Progress::Stalled };
        self.next_path(state, end)
    }

    /// Begin another path, or end.
    fn next_path(&mut self, state: &State, end: Progress) -> Result<Progress> {
        self.tried += 1;
        if self.tried >= if self.follows { PATHS_COUPLED } else { PATHS } {
            return Ok(end);
        }
        // Free rows may change sign, so neither sign of the shift is the right one unless A is monotone.
        self.shift = -self.shift;
        self.begin(state)?;
        Ok(Progress::Continue)
    }

    /// Is the point found a solution, but for a small part of b? Elsewhere the tableau and the matrix are of two minds.
    fn is_solution(&mut self) -> bool {
        let size = self.scaled.b.iter().fold(0.0f64, |size, b| size.max(b.abs()));
        self.scaled.multiply(&self.out, &mut self.v);
        self.path.residual(&self.out, &self.v) <= RESIDUAL * size
    }

    /// Hand y to the loop.
    fn publish(&mut self, problem: &Problem, state: &mut State) -> bool {
        if !self.follows {
            return self.scaled.publish(&self.out, state);
        }
        // Friction rows have no bounds of their own; those that follow hold at the new impulses.
        for i in (0..problem.len()).filter(|&i| problem.friction().normal_of(i).is_some()) {
            (state.lo[i], state.hi[i]) = problem.own_bounds(i);
        }
        let is_finite = self.scaled.publish(&self.out, state);
        problem.bounds_at(&state.x, &mut state.lo, &mut state.hi);
        is_finite
    }

    /// Solve the rows between their bounds from the matrix itself, sliding rows tied to their normals.
    fn polish(&mut self) -> Result<()> {
        let n = self.scaled.len();
        let Lemke { scaled, lu, path, v, free, step, out, .. } = self;
        let mut m = 0;
        for i in (0..n).filter(|&i| path.is_basic(i)) {
            free[m] = i;
            m += 1;
        }
        let block = lu.matrix(m)?;
        for q in 0..m {
            for p in 0..m {
                block[q * m + p] = scaled.a[free[q] * n + free[p]];
            }
        }
        for (i, normal, slope) in path.sliding() {
            let Ok(q) = free[..m].binary_search(&normal) else { continue };
            for p in 0..m {
                block[q * m + p] += slope * scaled.a[i * n + free[p]];
            }
        }
        for q in 0..m {
            block[q * m + q] += POLISH_SHIFT;
        }
        lu.factor();
        for _ in 0..POLISH {
            scaled.multiply(out, v);
            for p in 0..m {
                step[p] = -v[free[p]];
            }
            lu.solve(&mut step[..m]);
            if !step[..m].iter().all(|d| d.is_finite()) {
                break;
            }
            for p in 0..m {
                out[free[p]] += step[p];
            }
            for (i, normal, slope) in path.sliding() {
                out[i] = slope * out[normal];
            }
        }
        Ok(())
    }
}
