//! Lemke's complementary pivoting for boxes, free and fixed rows.
//!
//! References: Lemke 1965; Cottle, Pang & Stone 1992, section 4.4, for the lexicographic rule; Dirkse & Ferris 1995 for
//! boxes without extra rows.
//!
//! An artificial t covers the rows that are wrong at a starting vertex (every x at a bound),
//!
//! ```text
//! v = A y + b + c t,     c_i = 1 at the lower bound, -1 at the upper,     t = least that makes every sign right
//! ```
//!
//! in the units of `scaled.rs`, and is driven to 0 along the path on which all rows but t's are complementary. One step
//! is one pivot: the variable that left calls in its partner (v_i for y_i at the bound it reached, y_i for v_i at 0), and
//! the first variable to meet a bound leaves. Where y_i crosses its box without any other meeting a bound, v_i enters
//! with the other sign. Ties are broken lexicographically, so that no basis returns. Free rows are solved for their y
//! beforehand, by pivots among themselves; where those are singular, with 1e-7 added, or taken off when that ends in a
//! ray. Fixed rows never pivot. When t is
//! 0, the rows between bounds are solved once more from the matrix itself, which removes the pivots' round-off.
//!
//! Points of the path do not satisfy v = A y + b: what the driver sees and measures between is the clamped y with its own
//! w, not an approximation that improves steadily. A warm start only says at which end of its box a row begins.
//!
//! Cost per step: 2 n² flops, memory n². The number of pivots is about n to 3n, exponential at worst. It wins on small
//! problems that are not symmetric or have zero diagonals: it finds a solution of every monotone problem that has one,
//! and of many others. A path that ends in a ray says so: for monotone A, but for round-off, there is no solution. It fails by
//! round-off on large redundant problems.

use super::scaled::Scaled;
use super::{Progress, Solver, State};
use crate::error::{Error, Result, Status};
use crate::linalg::DenseLu;
use crate::memory::{refill, reserve};
use crate::problem::Problem;
use crate::settings::Settings;
use crate::Budget;

/// Free rows whose pivots are smaller than the first are singular; they are given the second.
const SINGULAR: f64 = 1e-10;
const SHIFT: f64 = 1e-7;
/// Smallest pivot of the path.
const PIVOT: f64 = 1e-7;
/// Ratios closer than this, relative to the larger, tie.
const TIE: f64 = 1e-12;
/// The last solve: a proximal term that keeps redundant rows solvable, and how often it is repeated.
const POLISH_SHIFT: f64 = 1e-9;
const POLISH: usize = 4;

/// A variable of the tableau.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variable {
    X(usize),
    V(usize),
    Artificial,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// t has not entered yet.
    Begin,
    /// The variable in this column enters, in this direction.
    Path(usize, f64),
    Done,
}

pub(super) struct Lemke {
    scaled: Scaled,
    lu: DenseLu,
    /// By rows, n by n + 1: basic = tableau · nonbasic + constant.
    tableau: Vec<f64>,
    basic: Vec<Variable>,
    nonbasic: Vec<Variable>,
    /// Values of the basic variables.
    value: Vec<f64>,
    /// y of the rows whose y is not basic: one of its bounds.
    y: Vec<f64>,
    /// Is row i at its upper bound, when at one?
    upper: Vec<bool>,
    /// Column of v_k if nonbasic, for the lexicographic rule.
    column: Vec<usize>,
    /// Sign of a valid v_k at the starting vertex.
    outward: Vec<f64>,
    v: Vec<f64>,
    free: Vec<usize>,
    out: Vec<f64>,
    /// What singular free rows are given, and whether there were any.
    shift: f64,
    singular: bool,
    phase: Phase,
}

impl Default for Lemke {
    fn default() -> Self {
        Lemke {
            scaled: Scaled::default(),
            lu: DenseLu::default(),
            tableau: Vec::new(),
            basic: Vec::new(),
            nonbasic: Vec::new(),
            value: Vec::new(),
            y: Vec::new(),
            upper: Vec::new(),
            column: Vec::new(),
            outward: Vec::new(),
            v: Vec::new(),
            free: Vec::new(),
            out: Vec::new(),
            shift: SHIFT,
            singular: false,
            phase: Phase::Begin,
        }
    }
}

impl Solver for Lemke {
    fn check(&self, _: &Problem) -> Result<()> {
        Ok(())
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        let n = problem.len();
        let too_large = || Error::new(Status::OutOfMemory, format_args!("no memory for a tableau of {n} rows"));
        self.scaled.reserve(n)?;
        self.lu.reserve(n)?;
        reserve(&mut self.tableau, n.checked_mul(n + 1).ok_or_else(too_large)?)?;
        reserve(&mut self.basic, n)?;
        reserve(&mut self.nonbasic, n + 1)?;
        reserve(&mut self.upper, n)?;
        reserve(&mut self.column, n)?;
        reserve(&mut self.free, n)?;
        for v in [&mut self.value, &mut self.y, &mut self.v, &mut self.out, &mut self.outward] {
            reserve(v, n)?;
        }
        Ok(())
    }

    fn start(&mut self, problem: &Problem, state: &mut State, _: &Settings) -> Result<()> {
        self.scaled.fill(problem, state)?;
        self.shift = SHIFT;
        self.begin(state)
    }

    fn step(&mut self, _: &Problem, state: &mut State, budget: &Budget) -> Result<Progress> {
        let alive = match self.phase {
            Phase::Begin => {
                if !self.eliminate_free(budget) {
                    return Ok(Progress::OutOfTime);
                }
                self.cover();
                true
            }
            Phase::Path(column, direction) => self.advance(column, direction),
            Phase::Done => true,
        };
        if !alive && self.singular && self.shift > 0.0 {
            // Free rows may change sign, so neither sign of the shift is the right one unless A is monotone.
            self.shift = -SHIFT;
            self.begin(state)?;
            return Ok(Progress::Continue);
        }
        self.gather();
        if self.phase == Phase::Done {
            self.polish()?;
        }
        let finite = self.scaled.publish(&self.out, state);
        Ok(match (alive, self.phase) {
            (false, _) => Progress::Ray,
            (true, Phase::Done) => Progress::Stalled,
            _ if !finite => Progress::Stalled,
            _ => Progress::Continue,
        })
    }
}

impl Lemke {
    /// Go to the starting vertex.
    fn begin(&mut self, state: &State) -> Result<()> {
        let n = self.scaled.len();
        refill(&mut self.tableau, n * (n + 1), 0.0)?;
        refill(&mut self.basic, n, Variable::Artificial)?;
        refill(&mut self.nonbasic, n + 1, Variable::Artificial)?;
        refill(&mut self.upper, n, false)?;
        refill(&mut self.column, n, usize::MAX)?;
        refill(&mut self.free, n, 0)?;
        for v in [&mut self.value, &mut self.y, &mut self.v, &mut self.out, &mut self.outward] {
            refill(v, n, 0.0)?;
        }
        self.scaled.enter(&state.x, &mut self.out);
        for i in 0..n {
            let (lo, hi) = (self.scaled.lo[i], self.scaled.hi[i]);
            self.upper[i] = hi.is_finite() && (lo == f64::NEG_INFINITY || self.out[i] - lo > hi - self.out[i]);
            self.outward[i] = if self.upper[i] { -1.0 } else { 1.0 };
            self.y[i] = if self.upper[i] { hi } else { lo };
            if lo == f64::NEG_INFINITY && hi == f64::INFINITY {
                self.y[i] = 0.0;
            }
            (self.basic[i], self.nonbasic[i]) = (Variable::V(i), Variable::X(i));
            for j in 0..n {
                self.tableau[i * (n + 1) + j] = self.scaled.a[j * n + i];
            }
        }
        self.scaled.multiply(&self.y, &mut self.value);
        self.singular = false;
        self.phase = Phase::Begin;
        Ok(())
    }

    fn is_free(&self, i: usize) -> bool {
        self.scaled.lo[i] == f64::NEG_INFINITY && self.scaled.hi[i] == f64::INFINITY
    }

    fn is_fixed(&self, i: usize) -> bool {
        self.scaled.lo[i] == self.scaled.hi[i]
    }

    /// Solve for the free rows' y: pivots of largest size among their rows and columns. False: out of time.
    fn eliminate_free(&mut self, budget: &Budget) -> bool {
        let n = self.basic.len();
        loop {
            let mut best: Option<(usize, usize, f64)> = None;
            for r in 0..n {
                if !matches!(self.basic[r], Variable::V(i) if self.is_free(i)) {
                    continue;
                }
                for c in 0..n {
                    let size = self.tableau[r * (n + 1) + c].abs();
                    let candidate = matches!(self.nonbasic[c], Variable::X(j) if self.is_free(j));
                    if candidate && best.is_none_or(|b| size > b.2) {
                        best = Some((r, c, size));
                    }
                }
            }
            let Some((r, c, size)) = best else { return true };
            if budget.spent() {
                return false;
            }
            if size <= SINGULAR || size.is_nan() {
                self.tableau[r * (n + 1) + c] = self.shift;
                self.singular = true;
            }
            let step = -self.value[r] / self.tableau[r * (n + 1) + c];
            self.pivot(r, c, step, 0.0);
        }
    }

    /// Let t enter at the least value that makes every basic v's sign right.
    fn cover(&mut self) {
        let n = self.basic.len();
        let mut worst: Option<(usize, f64)> = None;
        for r in 0..n {
            let Variable::V(i) = self.basic[r] else { continue };
            if self.is_fixed(i) || self.is_free(i) {
                continue;
            }
            let sign = if self.upper[i] { -1.0 } else { 1.0 };
            self.tableau[r * (n + 1) + n] = sign;
            let short = -sign * self.value[r];
            // Of equal ones the last: that is the lexicographic order of the perturbation.
            if short > 0.0 && worst.is_none_or(|w| short >= w.1) {
                worst = Some((r, short));
            }
        }
        match worst {
            None => self.phase = Phase::Done,
            Some((r, short)) => {
                let left = self.basic[r];
                self.pivot(r, n, short, 0.0);
                self.call_partner(left);
            }
        }
    }

    /// One pivot of the path; false on a ray.
    fn advance(&mut self, c: usize, direction: f64) -> bool {
        let n = self.basic.len();
        // Where the entering variable meets its own other bound.
        let own = match self.nonbasic[c] {
            Variable::X(i) => self.scaled.hi[i] - self.scaled.lo[i],
            _ => f64::INFINITY,
        };
        let mut best: Option<(usize, f64)> = None;
        for r in 0..n {
            let rate = direction * self.tableau[r * (n + 1) + c];
            if rate.abs() <= PIVOT || rate.is_nan() {
                continue;
            }
            let (lo, hi) = self.limits(self.basic[r]);
            let room = if rate < 0.0 { (self.value[r] - lo) / -rate } else { (hi - self.value[r]) / rate };
            if room == f64::INFINITY || room.is_nan() {
                continue;
            }
            let room = room.max(0.0);
            let better = best.is_none_or(|(s, least)| {
                let tie = (room - least).abs() <= TIE * (1.0 + room.max(least));
                if !tie {
                    return room < least;
                }
                self.basic[r] == Variable::Artificial
                    || (self.basic[s] != Variable::Artificial && self.is_lexicographically_less(r, s, c, direction))
            });
            if better {
                best = Some((r, room));
            }
        }
        match best {
            Some((r, room)) if room <= own => {
                let left = self.basic[r];
                let rate = direction * self.tableau[r * (n + 1) + c];
                let entering_from = match self.nonbasic[c] {
                    Variable::X(i) => self.y[i],
                    _ => 0.0,
                };
                self.pivot(r, c, direction * room, entering_from);
                if let Variable::X(i) = left {
                    self.upper[i] = rate > 0.0;
                    self.y[i] = if self.upper[i] { self.scaled.hi[i] } else { self.scaled.lo[i] };
                }
                self.call_partner(left);
                true
            }
            _ if own.is_finite() => {
                for r in 0..n {
                    self.value[r] += direction * own * self.tableau[r * (n + 1) + c];
                }
                if let Variable::X(i) = self.nonbasic[c] {
                    self.upper[i] = direction > 0.0;
                    self.y[i] = if self.upper[i] { self.scaled.hi[i] } else { self.scaled.lo[i] };
                    self.call(Variable::V(i));
                }
                true
            }
            _ => false,
        }
    }

    /// Bounds of a basic variable.
    fn limits(&self, variable: Variable) -> (f64, f64) {
        let inf = f64::INFINITY;
        match variable {
            Variable::Artificial => (0.0, inf),
            Variable::X(i) => (self.scaled.lo[i], self.scaled.hi[i]),
            Variable::V(i) if self.is_fixed(i) || self.is_free(i) => (-inf, inf),
            Variable::V(i) if self.upper[i] => (-inf, 0.0),
            Variable::V(_) => (0.0, inf),
        }
    }

    /// Does row r block before row s when b_k is perturbed by δᵏ, outwards from each starting bound?
    fn is_lexicographically_less(&self, r: usize, s: usize, c: usize, direction: f64) -> bool {
        let width = self.basic.len() + 1;
        let (gr, gs) = (direction * self.tableau[r * width + c], direction * self.tableau[s * width + c]);
        for k in 0..self.basic.len() {
            let entry = |row: usize| match self.column[k] {
                usize::MAX => f64::from(u8::from(self.basic[row] == Variable::V(k))),
                column => -self.tableau[row * width + column],
            };
            let (er, es) = (-self.outward[k] * entry(r) / gr, -self.outward[k] * entry(s) / gs);
            if (er - es).abs() > TIE * (er.abs() + es.abs()) {
                return er < es;
            }
        }
        false
    }

    /// The partner of the variable that left enters.
    fn call_partner(&mut self, left: Variable) {
        match left {
            Variable::Artificial => self.phase = Phase::Done,
            Variable::X(i) => self.call(Variable::V(i)),
            Variable::V(i) => self.call(Variable::X(i)),
        }
    }

    /// Enter a variable from its bound.
    fn call(&mut self, variable: Variable) {
        let up = match variable {
            Variable::X(i) | Variable::V(i) => !self.upper[i],
            Variable::Artificial => true,
        };
        if let Some(c) = self.nonbasic.iter().position(|v| *v == variable) {
            self.phase = Phase::Path(c, if up { 1.0 } else { -1.0 });
        }
    }

    /// Exchange basic r and nonbasic c, which moves by `step` from `from`.
    fn pivot(&mut self, r: usize, c: usize, step: f64, from: f64) {
        let n = self.basic.len();
        let width = n + 1;
        for i in 0..n {
            self.value[i] += step * self.tableau[i * width + c];
        }
        self.value[r] = from + step;
        let inverse = 1.0 / self.tableau[r * width + c];
        let (above, rest) = self.tableau.split_at_mut(r * width);
        let (row, below) = rest.split_at_mut(width);
        for value in row.iter_mut() {
            *value *= -inverse;
        }
        row[c] = inverse;
        for other in above.chunks_exact_mut(width).chain(below.chunks_exact_mut(width)) {
            let factor = other[c];
            if factor != 0.0 {
                other[c] = 0.0;
                for (o, p) in other.iter_mut().zip(row.iter()) {
                    *o += factor * p;
                }
            }
        }
        if let Variable::V(k) = self.basic[r] {
            self.column[k] = c;
        }
        if let Variable::V(k) = self.nonbasic[c] {
            self.column[k] = usize::MAX;
        }
        std::mem::swap(&mut self.basic[r], &mut self.nonbasic[c]);
    }

    /// y of every row.
    fn gather(&mut self) {
        self.out.copy_from_slice(&self.y);
        for (variable, value) in self.basic.iter().zip(&self.value) {
            if let Variable::X(i) = variable {
                self.out[*i] = *value;
            }
        }
    }

    /// Solve the rows between their bounds from the matrix itself.
    fn polish(&mut self) -> Result<()> {
        let n = self.basic.len();
        let mut m = 0;
        for i in 0..n {
            if self.basic.contains(&Variable::X(i)) {
                self.free[m] = i;
                m += 1;
            }
        }
        let block = self.lu.matrix(m)?;
        for q in 0..m {
            for p in 0..m {
                block[q * m + p] = self.scaled.a[self.free[q] * n + self.free[p]];
            }
            block[q * m + q] += POLISH_SHIFT;
        }
        self.lu.factor();
        for _ in 0..POLISH {
            self.scaled.multiply(&self.out, &mut self.v);
            for p in 0..m {
                self.value[p] = -self.v[self.free[p]];
            }
            self.lu.solve(&mut self.value[..m]);
            if !self.value[..m].iter().all(|d| d.is_finite()) {
                break;
            }
            for p in 0..m {
                self.out[self.free[p]] += self.value[p];
            }
        }
        Ok(())
    }
}
