//! Primal active set method on a dense tableau, for small problems.
//!
//! References: Lawson & Hanson 1974 (least squares with bounds); Goodnight 1979 (the tableau, `linalg/tableau`).
//!
//! Joints, rows without bounds, are eliminated once. On the rest a few projected Gauss-Seidel sweeps guess which rows
//! are free. Then, in turn: go towards the minimum over the free rows, drop the row whose bound is met first, until
//! that minimum is reached; release the rows at a bound whose velocity has the wrong sign. The energy `½ xᵀ A x + bᵀ x`
//! never grows, so that no index set comes twice. Each row that enters or leaves costs one pivot, half a square, and the
//! start of the whole no more than a factorisation.
//!
//! One step does all of that, for the correction y of the iterate. Rows that the free ones imply are kept out while
//! they do no harm; otherwise their pivots are raised to ε of their diagonal, as if they were a little compliant, and a
//! second step takes away what that has left. Friction bounds move between steps.
//!
//! It wins below about a hundred rows. It fails on matrices that are not symmetric (refused); when pivots drown in
//! round-off it stalls.

use super::{damped, require_positive_diagonal, Progress, Solver, State};
use crate::error::{Error, Result, Status};
use crate::linalg::{at_least, Tableau};
use crate::memory::{refill, reserve, resize};
use crate::problem::{Gram, Operator, Problem};
use crate::settings::{Settings, SolverKind};
use crate::Budget;

/// ε: far above round-off, and small enough for a second step to have little to do.
const EPSILON: f64 = 1e-8;
/// Sweeps that guess the first index set.
const SWEEPS: usize = 3;
/// Up to so many rows a pivot costs less than another sweep.
const FEW: usize = 16;
/// A row of which less than this fraction is left is implied by the free ones.
const IMPLIED: f64 = 1e-6;
/// Violations below this fraction of the error at the start of a step, both in √J, are left to the next.
const SHARE: f64 = 1e-7;
/// And below this fraction of the largest `b² / a`, likewise, they are round-off.
const ROUND_OFF: f64 = 1e-14;
/// A step that changes no index set should leave less than this fraction of the error.
const SLOW: f64 = 0.5;
/// Up to this many rows memory is taken before it is needed.
const AHEAD: usize = 128;
/// How often a tableau of more rows than that, lost in round-off, is filled again.
const REFILLS: usize = 3;
/// Pivots between two looks at the clock.
const PIVOTS: usize = 32;

#[derive(Default)]
pub(super) struct ActiveSet {
    /// Rows in the order of the tableau: joints first.
    order: Vec<u32>,
    /// How many joints.
    joints: usize,
    /// Is that the problem's order?
    is_in_order: bool,
    tableau: Tableau,
    /// From here on all is in the order of the tableau: the least and largest y, y, its velocity at y = 0.
    least: Vec<f64>,
    most: Vec<f64>,
    y: Vec<f64>,
    q: Vec<f64>,
    /// Of a free row the y that its face's minimum has, of others the velocity there.
    value: Vec<f64>,
    /// Between these the value is right: a free row's y within its bounds, a held one's velocity on their side of zero.
    low: Vec<f64>,
    high: Vec<f64>,
    /// How the value changes with others' pivots: -1 if the row is free, else 1.
    sign: Vec<f64>,
    /// 1/√a, of rows with bounds.
    scale: Vec<f64>,
    /// ε a.
    least_pivot: Vec<f64>,
    /// Of rows with bounds: what is left of an implied row's diagonal, at most.
    implied: Vec<f64>,
    scratch: Vec<f64>,
    gram: Gram,
    /// Place in the order of every row.
    place: Vec<u32>,
    begun: bool,
    /// The energy error where the step began.
    energy: f64,
    /// Violations below this are none, in √J; never less than round-off.
    tolerance: f64,
    round_off: f64,
    pivots: usize,
    /// How often the tableau was filled again.
    refills: usize,
}

impl Solver for ActiveSet {
    fn check(&self, problem: &Problem) -> Result<()> {
        if !problem.is_symmetric() {
            return Err(Error::new(
                Status::Unsupported,
                format_args!("active-set needs a symmetric A, this one is not"),
            ));
        }
        require_positive_diagonal(problem, SolverKind::ActiveSet)
    }

    fn follows_friction(&self, _: &Problem) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        let n = problem.len().min(AHEAD);
        for v in self.rows() {
            reserve(v, n)?;
        }
        reserve(&mut self.order, n)?;
        reserve(&mut self.scratch, n.max(6 * (problem.bodies() + 1)))?;
        self.gram.reserve(n, problem.bodies())?;
        reserve(&mut self.place, n)?;
        self.tableau.reserve(n)
    }

    fn start(&mut self, problem: &Problem, state: &mut State, _: &Settings) -> Result<()> {
        let n = problem.len();
        for v in self.rows() {
            resize(v, n, 0.0)?;
        }
        let is_joint = |lo: f64, hi: f64| (lo == f64::NEG_INFINITY) & (hi == f64::INFINITY);
        let joints = |lo: &[f64], hi: &[f64]| lo.iter().zip(hi).map(|(&lo, &hi)| usize::from(is_joint(lo, hi))).sum();
        self.joints = joints(&state.lo, &state.hi);
        self.is_in_order = self.joints == joints(&state.lo[..self.joints], &state.hi[..self.joints]);
        reserve(&mut self.order, n)?;
        self.order.clear();
        if self.is_in_order {
            self.order.extend(0..n as u32);
        } else {
            for joints in [true, false] {
                let is_one = |i: &u32| is_joint(state.lo[*i as usize], state.hi[*i as usize]) == joints;
                self.order.extend((0..n as u32).filter(is_one));
            }
        }
        self.refills = 0;
        self.begin(problem)
    }

    fn step(&mut self, problem: &Problem, state: &mut State, budget: &Budget) -> Result<Progress> {
        if !state.w_is_exact {
            problem.multiply(&state.x, &mut state.w, &mut self.scratch)?;
            state.w_is_exact = true;
        }
        if self.begun {
            self.move_bounds(problem, state);
        }
        let before = self.energy;
        self.place(state);
        // The last step found the minimum on its face, and what is left there is no round-off: joints that contradict
        // each other.
        if self.begun && self.pivots == 0 && !problem.has_live_bounds() && self.energy > SLOW * before {
            (state.change, state.set_changes) = (0.0, 0);
            return Ok(Progress::Stalled);
        }
        self.pivots = 0;
        if self.begun {
            self.evaluate()?;
        } else {
            self.tableau.eliminate(&self.least_pivot[..self.joints], &mut self.q);
            self.begun = true;
            self.guess();
        }
        for p in self.joints..self.order.len() {
            self.limit(p);
        }
        let progress = self.descend(budget);
        if progress != Progress::OutOfTime {
            self.tableau.backward(&self.q, &mut self.y);
            self.publish(problem, state);
        }
        let may_refill = |n: usize| self.refills < REFILLS && n > AHEAD && state.change.is_finite();
        if progress == Progress::Stalled && may_refill(self.order.len()) {
            // After so many pivots the tableau is full of round-off: fill it again, and begin where they have led.
            self.refills += 1;
            self.begin(problem)?;
            return Ok(Progress::Continue);
        }
        Ok(if state.change.is_finite() { progress } else { Progress::Stalled })
    }
}

impl ActiveSet {
    /// Every buffer with one number per row.
    fn rows(&mut self) -> [&mut Vec<f64>; 11] {
        let ActiveSet { least, most, y, q, value, low, high, sign, scale, least_pivot, implied, .. } = self;
        [least, most, y, q, value, low, high, sign, scale, least_pivot, implied]
    }

    /// With no row free.
    fn begin(&mut self, problem: &Problem) -> Result<()> {
        self.sign.fill(1.0);
        self.begun = false;
        self.fill(problem)
    }

    /// Copy A into the tableau.
    fn fill(&mut self, problem: &Problem) -> Result<()> {
        let n = problem.len();
        match problem.operator() {
            Operator::Dense(a) if self.is_in_order => self.tableau.copy(n, a.rows())?,
            Operator::Dense(a) => {
                self.tableau.shape(n)?;
                for p in 0..n {
                    let row = a.row(self.order[p] as usize);
                    for (t, &j) in self.tableau.row_mut(p).iter_mut().zip(&self.order[p..]) {
                        *t = row[j as usize];
                    }
                }
            }
            Operator::Csr(a) => {
                self.tableau.clear(n)?;
                refill(&mut self.place, n, 0)?;
                for (p, &i) in self.order.iter().enumerate() {
                    self.place[i as usize] = p as u32;
                }
                for p in 0..n {
                    let out = self.tableau.row_mut(p);
                    let mut end = p + 1;
                    for (j, value) in a.row(self.order[p] as usize) {
                        let place = self.place[j] as usize;
                        if place >= p {
                            out[place - p] = value;
                            end = end.max(place + 1);
                        }
                    }
                    self.tableau.end_rows(p..p + 1, end);
                }
            }
            Operator::Jacobian(a) => {
                self.gram.fill(&mut self.tableau, a, &self.order)?;
                // With compliance.
                self.tableau.set_diagonal(self.order.iter().map(|&i| problem.diagonal()[i as usize]));
            }
        }
        let diagonal = &problem.diagonal()[..n];
        for (least, &i) in self.least_pivot.iter_mut().zip(&self.order) {
            *least = EPSILON * diagonal[i as usize];
        }
        let scales = self.scale.iter_mut().zip(&mut self.implied).zip(&self.order);
        for ((scale, implied), &i) in scales.skip(self.joints) {
            *scale = 1.0 / diagonal[i as usize].sqrt();
            *implied = IMPLIED * diagonal[i as usize];
        }
        // Among joints nothing is violated.
        if self.joints < n {
            let size = problem.b().iter().zip(diagonal).fold(0.0, |size, (b, a)| at_least(b * b / a, size));
            self.round_off = ROUND_OFF * size.sqrt();
        }
        Ok(())
    }

    /// Coupled friction: bounds follow the impulses, all the way once the index sets rest.
    fn move_bounds(&self, problem: &Problem, state: &mut State) {
        if problem.has_live_bounds() {
            let follow = if self.pivots == 0 { |_, new| new } else { damped };
            for i in 0..problem.len() {
                let (lo, hi) = problem.bounds_of(i, &state.x);
                (state.lo[i], state.hi[i]) = (follow(state.lo[i], lo), follow(state.hi[i], hi));
            }
        }
    }

    /// The problem of a correction y to the iterate.
    fn place(&mut self, state: &State) {
        let n = self.order.len();
        let (x, w) = (&state.x[..n], &state.w[..n]);
        let (lo, hi, q) = (&state.lo[..n], &state.hi[..n], &mut self.q[..n]);
        let (least, most) = (&mut self.least[..n], &mut self.most[..n]);
        self.energy = state.energy;
        self.tolerance = (SHARE * (2.0 * self.energy).sqrt()).max(self.round_off);
        if self.is_in_order {
            // Along the rows, which are then treated several at once.
            q.copy_from_slice(w);
            for i in self.joints..n {
                (least[i], most[i]) = (lo[i] - x[i], hi[i] - x[i]);
            }
        } else {
            for (p, &i) in self.order.iter().enumerate() {
                let i = i as usize;
                (q[p], least[p], most[p]) = (w[i], lo[i] - x[i], hi[i] - x[i]);
            }
        }
    }

    /// Begin at y = 0 with no row free; sweep; let those enter that came to rest between their bounds.
    fn guess(&mut self) {
        let n = self.order.len();
        if self.joints == n {
            return;
        }
        self.value.copy_from_slice(&self.q);
        self.y.fill(0.0);
        let sweeps = if n - self.joints <= FEW { 1 } else { SWEEPS };
        let bounds = (&self.least[..], &self.most[..]);
        self.tableau.sweep(sweeps, &self.implied, bounds, &mut self.y, &mut self.value);
        for p in self.joints..n {
            if self.y[p] > self.least[p] && self.y[p] < self.most[p] {
                let pivot = self.tableau.look(p);
                // A row that the free ones imply may rest where it is.
                if pivot > self.implied[p] {
                    self.enter(p, pivot);
                }
            }
        }
    }

    /// Begin at y = 0, or the bound where it has moved, with the rows free that were so.
    fn evaluate(&mut self) -> Result<()> {
        let n = self.order.len();
        self.tableau.settle();
        self.tableau.forward(&mut self.q);
        refill(&mut self.scratch, n, 0.0)?;
        for p in self.joints..n {
            self.y[p] = 0f64.max(self.least[p]).min(self.most[p]);
            self.scratch[p] = if self.is_free(p) { self.q[p] } else { -self.y[p] };
        }
        self.tableau.multiply(&self.scratch, &mut self.value);
        for p in self.joints..n {
            if !self.is_free(p) {
                self.value[p] = self.q[p] - self.value[p];
            }
        }
        Ok(())
    }

    /// A row that was looked at leaves its bound, or any other place, for the minimum over the free rows.
    fn enter(&mut self, p: usize, pivot: f64) {
        let pivot = pivot.max(self.least_pivot[p]);
        let step = -self.value[p] / pivot;
        self.pivot(p, pivot, step, true);
        self.value[p] = self.y[p] + step;
    }

    /// A free row stops at the bound where y is.
    fn leave(&mut self, p: usize) {
        let pivot = self.tableau.look(p);
        let velocity = (self.value[p] - self.y[p]) / pivot;
        self.pivot(p, pivot, velocity, false);
        self.value[p] = velocity;
    }

    /// Row p gets a new impulse or velocity, and the others' values change with it.
    fn pivot(&mut self, p: usize, pivot: f64, step: f64, enters: bool) {
        self.tableau.pivot(p, pivot, enters, step, &self.sign, &mut self.value);
        self.sign[p] = if enters { -1.0 } else { 1.0 };
        self.limit(p);
        self.pivots += 1;
    }

    #[inline]
    fn is_free(&self, p: usize) -> bool {
        self.sign[p] < 0.0
    }

    /// Find which values of row p are right.
    fn limit(&mut self, p: usize) {
        (self.low[p], self.high[p]) = if self.is_free(p) {
            let slack = self.tolerance * self.scale[p];
            (self.least[p] - slack, self.most[p] + slack)
        } else {
            let slack = self.tolerance / self.scale[p];
            let (can_rise, can_fall) = (self.y[p] < self.most[p], self.y[p] > self.least[p]);
            (if can_rise { -slack } else { f64::NEG_INFINITY }, if can_fall { slack } else { f64::INFINITY })
        };
    }

    /// To the minimum. Stalls where pivots get lost in round-off.
    fn descend(&mut self, budget: &Budget) -> Progress {
        let n = self.order.len();
        let enough = 4 * n + 16;
        while self.pivots <= enough {
            while let Some((p, share, bound)) = self.first_bound() {
                self.approach(share);
                self.y[p] = bound;
                self.leave(p);
                if self.pivots.is_multiple_of(PIVOTS) && budget.spent() {
                    return Progress::OutOfTime;
                }
            }
            self.approach(1.0);
            let before = self.pivots;
            for p in self.joints..n {
                if self.is_wrong(p) && !self.is_free(p) {
                    let pivot = self.tableau.look(p);
                    self.enter(p, pivot);
                    if self.pivots.is_multiple_of(PIVOTS) && budget.spent() {
                        return Progress::OutOfTime;
                    }
                }
            }
            if self.pivots == before {
                return Progress::Continue;
            }
        }
        Progress::Stalled
    }

    /// Go a share of the way to the face's minimum.
    fn approach(&mut self, share: f64) {
        let rows = self.joints..self.order.len();
        let (value, sign) = (&self.value[rows.clone()], &self.sign[rows.clone()]);
        for ((y, value), sign) in self.y[rows].iter_mut().zip(value).zip(sign) {
            if *sign < 0.0 {
                *y = if share < 1.0 { *y + share * (value - *y) } else { *value };
            }
        }
    }

    /// The first bound on the way to the face's minimum: row, share of the way, bound.
    fn first_bound(&self) -> Option<(usize, f64, f64)> {
        let rows = self.joints..self.order.len();
        let (value, sign) = (&self.value[rows.clone()], &self.sign[rows.clone()]);
        let (low, high) = (&self.low[rows.clone()], &self.high[rows]);
        let mut first = None;
        let mut least = 1.0;
        for (p, (((&value, low), high), sign)) in (self.joints..).zip(value.iter().zip(low).zip(high).zip(sign)) {
            if (value < *low || value > *high) && *sign < 0.0 {
                let (from, to) = (self.y[p], value);
                let bound = if to < from { self.least[p] } else { self.most[p] };
                let share = ((bound - from) / (to - from)).max(0.0);
                if share < least {
                    least = share;
                    first = Some((p, share, bound));
                }
            }
        }
        first
    }

    /// Is a free row's y beyond its bound, or has a held row a velocity that would take it off?
    #[inline]
    fn is_wrong(&self, p: usize) -> bool {
        self.value[p] < self.low[p] || self.value[p] > self.high[p]
    }

    /// Hand the iterate to the loop.
    fn publish(&mut self, problem: &Problem, state: &mut State) {
        let n = self.order.len();
        let (x, a, lo, hi) = (&mut state.x[..n], &problem.diagonal()[..n], &state.lo[..n], &state.hi[..n]);
        let (joints, rest) = self.order.split_at(self.joints);
        let mut change = 0.0;
        for (&i, y) in joints.iter().zip(&self.y) {
            let i = i as usize;
            change += a[i] * y * y;
            x[i] += y;
        }
        let places = self.y.iter().zip(&self.least).zip(&self.most).skip(self.joints);
        for (&i, ((y, least), most)) in rest.iter().zip(places) {
            let i = i as usize;
            let old = x[i];
            let new = if y <= least {
                lo[i]
            } else if y >= most {
                hi[i]
            } else {
                old + y
            };
            change += a[i] * (new - old) * (new - old);
            x[i] = new;
        }
        state.change = 0.5 * change;
        state.set_changes = self.pivots;
        state.w_is_exact = false;
    }
}
