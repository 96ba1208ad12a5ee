//! The iterate: impulses, velocities and the bounds that hold there, and its error with what round-off may hide.

use super::report::sane;
use crate::error::Result;
use crate::memory::{reserve, resize};
use crate::metrics::{cheap_root, root_of, Judged, Measure, Point};
use crate::problem::{are_finite, Problem};
use crate::solvers::{damped, State, TOGETHER};

/// The iterate of a solve.
pub(super) struct Iterate {
    pub state: State,
    /// Where bounds move: those at the iterate that was measured last. Elsewhere the state's say it all.
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// Where the solver's iterate lies outside the bounds that hold there: the nearest point inside and its w, which are what
    /// is measured, shown and returned.
    pub inside: Vec<f64>,
    pub inside_w: Vec<f64>,
    pub is_outside: bool,
    /// Bounds of the round-off in w, where they are asked for.
    delta: Vec<f64>,
    pub judge: Measure,
    /// The error that counts as solved.
    pub tolerance: f64,
    scratch: Vec<f64>,
}

impl Default for Iterate {
    fn default() -> Self {
        Iterate {
            state: State::default(),
            lo: Vec::new(),
            hi: Vec::new(),
            inside: Vec::new(),
            inside_w: Vec::new(),
            is_outside: false,
            delta: Vec::new(),
            judge: Measure::Energy,
            tolerance: 0.0,
            scratch: Vec::new(),
        }
    }
}

impl Iterate {
    pub fn reserve(&mut self, problem: &Problem) -> Result<()> {
        for v in self.rows() {
            reserve(v, problem.len())?;
        }
        reserve(&mut self.scratch, problem.round_off_room())?;
        reserve(&mut self.state.earlier, TOGETHER)
    }

    /// Be of the problem's length, at x = clamp(0).
    pub fn begin(&mut self, problem: &Problem, judge: Measure) -> Result<()> {
        for v in self.rows() {
            resize(v, problem.len(), 0.0)?;
        }
        self.state.x.fill(0.0);
        if !problem.has_live_bounds() {
            problem.bounds_at(&self.state.x, &mut self.state.lo, &mut self.state.hi);
        }
        reserve(&mut self.scratch, problem.round_off_room())?;
        reserve(&mut self.state.earlier, TOGETHER)?;
        self.judge = judge;
        self.state.change = 0.0;
        self.state.set_changes = 0;
        self.settle(problem)
    }

    /// Go to x, moved into its bounds.
    pub fn go_to(&mut self, problem: &Problem, x: &[f64]) -> Result<()> {
        self.state.x.copy_from_slice(x);
        self.settle(problem)
    }

    /// Go to x = clamp(0).
    pub fn go_to_zero(&mut self, problem: &Problem) -> Result<()> {
        self.state.x.fill(0.0);
        self.settle(problem)
    }

    /// Find what is measured of the solver's iterate: the point itself, or the nearest one inside its bounds; its exact w and
    /// the bounds there. False if it overflowed.
    pub fn find_measured(&mut self, problem: &Problem) -> Result<bool> {
        self.is_outside = !problem.contains(&self.state.x);
        if self.is_outside {
            self.inside.copy_from_slice(&self.state.x);
            problem.clamp(&mut self.inside);
            problem.multiply(&self.inside, &mut self.inside_w, &mut self.scratch)?;
        } else if !self.state.w_is_exact {
            self.find_w(problem)?;
        }
        let (x, w) = self.outside().unwrap_or((&self.state.x, &self.state.w));
        if !(is_finite(x) && is_finite(w)) {
            return Ok(false);
        }
        self.find_bounds(problem);
        Ok(true)
    }

    /// Let the point that is measured be the iterate.
    pub fn step_inside(&mut self) {
        if self.is_outside {
            self.state.x.copy_from_slice(&self.inside);
            self.state.w.copy_from_slice(&self.inside_w);
            self.state.w_is_exact = true;
        }
        self.is_outside = false;
    }

    /// Let the solver's bounds be those that hold at its x.
    pub fn renew_bounds(&mut self, problem: &Problem) {
        if problem.has_live_bounds() {
            problem.bounds_at(&self.state.x, &mut self.state.lo, &mut self.state.hi);
        }
    }

    /// Move x into its bounds, and find its w and the bounds there.
    pub fn settle(&mut self, problem: &Problem) -> Result<()> {
        self.is_outside = false;
        problem.clamp(&mut self.state.x);
        self.find_w(problem)?;
        self.find_bounds(problem);
        Ok(())
    }

    /// Find the exact w of x.
    pub fn find_w(&mut self, problem: &Problem) -> Result<()> {
        self.state.w_is_exact = true;
        problem.multiply(&self.state.x, &mut self.state.w, &mut self.scratch)
    }

    /// Find the bounds at the measured point, where they move.
    pub fn find_bounds(&mut self, problem: &Problem) {
        if problem.has_live_bounds() {
            let x = if self.is_outside { &self.inside } else { &self.state.x };
            problem.bounds_at(x, &mut self.lo, &mut self.hi);
        }
    }

    /// Give the solver the friction bounds at the current x. False if it had them already.
    pub fn move_bounds(&mut self, problem: &Problem) -> bool {
        let mut moved = false;
        for i in 0..self.state.x.len() {
            let (lo, hi) = problem.bounds_of(i, &self.state.x);
            moved |= lo != self.state.lo[i] || hi != self.state.hi[i];
            (self.state.lo[i], self.state.hi[i]) = (damped(self.state.lo[i], lo), damped(self.state.hi[i], hi));
        }
        moved
    }

    /// Judge the measured point, with a bound of its round-off: a cheap one if that decides, else one row by row.
    pub fn judged(&mut self, problem: &Problem) -> Result<Judged> {
        if self.judge == Measure::Energy {
            let (error, sizes) = self.point(problem).energy();
            if error.is_nan() {
                return Ok(Judged::LOST);
            }
            let judged = Judged::energy(error, cheap_root(problem, sizes), self.tolerance);
            if judged.decides(self.tolerance) {
                return Ok(judged);
            }
            self.bound_round_off(problem)?;
            let judged = Judged::energy(error, root_of(problem.diagonal(), &self.delta), self.tolerance);
            if error <= self.tolerance && judged.sure > self.tolerance && self.tighten_round_off(problem) {
                return Ok(Judged::energy(error, root_of(problem.diagonal(), &self.delta), self.tolerance));
            }
            return Ok(judged);
        }
        let error = sane(self.judge.total(&self.point(problem)));
        let x = if self.is_outside { &self.inside } else { &self.state.x };
        // At x = 0 w is b.
        if error == f64::INFINITY || x.iter().all(|&x| x == 0.0) {
            return Ok(Judged { error, sure: error, root: 0.0 });
        }
        self.bound_round_off(problem)?;
        let mut root = self.delta.iter().sum::<f64>();
        if error <= self.tolerance && error + root > self.tolerance && self.tighten_round_off(problem) {
            root = self.delta.iter().sum::<f64>();
        }
        Ok(Judged { error, sure: error + root, root })
    }

    pub fn bound_round_off(&mut self, problem: &Problem) -> Result<()> {
        let Iterate { state, inside, inside_w, is_outside, delta, scratch, .. } = self;
        let (x, w) = if *is_outside { (inside, inside_w) } else { (&mut state.x, &mut state.w) };
        problem.bound_round_off(x, w, delta, scratch)
    }

    /// Where a bound alone keeps an error above the tolerance, find the round-off itself.
    pub fn tighten_round_off(&mut self, problem: &Problem) -> bool {
        let Iterate { state, inside, inside_w, is_outside, delta, .. } = self;
        let (x, w) = if *is_outside { (inside, inside_w) } else { (&mut state.x, &mut state.w) };
        problem.tighten_round_off(x, w, delta)
    }

    /// `½ xᵀA x + bᵀx` in joules, which a solution minimises over the impulses that its bounds allow, where A is symmetric.
    pub fn potential(&self, problem: &Problem) -> f64 {
        let State { x, w, .. } = &self.state;
        0.5 * problem.b().iter().zip(w).zip(x).map(|((b, w), x)| (b + w) * x).sum::<f64>()
    }

    /// The point inside the bounds and its w, if the iterate is not.
    pub fn outside(&self) -> Option<(&[f64], &[f64])> {
        self.is_outside.then_some((&self.inside, &self.inside_w))
    }

    /// The iterate under the bounds where it was last measured.
    pub fn point<'a>(&'a self, problem: &'a Problem) -> Point<'a> {
        point(problem, &self.state, &self.lo, &self.hi, self.outside())
    }

    /// The solver's own iterate under the bounds it works with.
    pub fn frozen_point<'a>(&'a self, problem: &'a Problem) -> Point<'a> {
        Point { lo: &self.state.lo, hi: &self.state.hi, ..point(problem, &self.state, &self.lo, &self.hi, None) }
    }

    /// Every buffer with one number per row, but for the monitor's.
    fn rows(&mut self) -> [&mut Vec<f64>; 9] {
        let Iterate { state: State { x, w, lo, hi, .. }, lo: lo_there, hi: hi_there, inside, inside_w, delta, .. } =
            self;
        [x, w, lo, hi, lo_there, hi_there, inside, inside_w, delta]
    }
}

/// An iterate with the bounds there, to be measured; `lo` and `hi` where bounds move, and another point if one is given.
fn point<'a>(
    problem: &'a Problem,
    state: &'a State,
    lo: &'a [f64],
    hi: &'a [f64],
    other: Option<(&'a [f64], &'a [f64])>,
) -> Point<'a> {
    let (lo, hi) = if problem.has_live_bounds() { (lo, hi) } else { (&state.lo[..], &state.hi[..]) };
    let (x, w) = other.unwrap_or((&state.x, &state.w));
    Point { diagonal: problem.diagonal(), x, w, lo, hi, cones: problem.cones() }
}

/// Is every number finite?
pub(super) fn is_finite(values: &[f64]) -> bool {
    are_finite(std::iter::once(values))
}

/// Are they the same, number by number? All are looked at, several at once.
pub(super) fn are_same(p: &[f64], q: &[f64]) -> bool {
    p.iter().zip(q).fold(true, |same, (p, q)| same & (p == q))
}
