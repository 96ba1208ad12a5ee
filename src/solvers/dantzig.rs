//! Dantzig and Keller's principal pivoting, one row at a time, with boxes and a warm start.
//!
//! References: Cottle & Dantzig 1968; Keller 1973; Baraff 1994 for contact, as in ODE and Bullet.
//!
//! Rows done are complementary among themselves: at a bound with the right sign of v, or clamped (set C) with v = 0. One
//! step drives one more row r until it is complementary too,
//!
//! ```text
//! δy_r = s,   δy_C = -s A_CC⁻¹ A_Cr,   δv = A δy,      s = -sign(v_r)
//! ```
//!
//! until v_r is 0, y_r meets a bound, or a row done would turn wrong: that one then changes between bound and C, and the
//! drive goes on. y, v in √J (`scaled.rs`).
//!
//! Rows not done yet are held at the warm start, not at zero, so that those right there cost nothing. A is taken with
//! 1e-7 on its unit diagonal, centred at the start: redundant rows, at which the textbook method divides by zero, become
//! definite, every drive ends, and the answer errs by 1e-7. Another pass, centred at the answer of the last, removes that
//! error: passes are repeated until y stands still. On inconsistent rows this tends to the least squares.
//!
//! Cost per step: some pivots of n |C| flops, with a factor of A_CC that grows and shrinks; about n steps from zero.
//! It wins on small problems and gives bounds and clamped rows exactly. It fails slowly: redundant walls take several
//! pivots per row. A must be symmetric with a positive diagonal.

use super::scaled::Scaled;
use super::{require_positive_diagonal, Progress, Solver, State};
use crate::error::{Error, Result, Status};
use crate::linalg::GrowingCholesky;
use crate::memory::{refill, reserve};
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use crate::Budget;

/// Proximal weight on the unit diagonal.
const EPSILON: f64 = 1e-7;
/// Velocities up to this fraction of the largest term are zero.
const ROUND_OFF: f64 = 1e-13;
/// A drive that needs more pivots than n/4 and this many is cycling by round-off, and given up.
const PIVOTS: usize = 50;
const PASSES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    /// Not done yet.
    Waiting,
    Bound,
    Clamped,
}

/// What ends a piece of a drive.
#[derive(Clone, Copy)]
enum Event {
    Zero,
    Bound(f64),
    /// The clamped row at this position of C meets this bound.
    Leaves(usize, f64),
    /// The velocity of this row becomes zero.
    Joins(usize),
}

#[derive(Default)]
pub(super) struct Dantzig {
    scaled: Scaled,
    factor: GrowingCholesky,
    sets: Vec<Set>,
    clamped: Vec<usize>,
    y: Vec<f64>,
    v: Vec<f64>,
    centre: Vec<f64>,
    /// A_CC⁻¹ A_Cr, or a row to factor.
    g: Vec<f64>,
    dv: Vec<f64>,
    next: usize,
    passes: usize,
}

impl Solver for Dantzig {
    fn check(&self, problem: &Problem) -> Result<()> {
        if !problem.is_symmetric() {
            return Err(Error::new(Status::Unsupported, format_args!("dantzig needs a symmetric A, this one is not")));
        }
        require_positive_diagonal(problem, SolverKind::Dantzig)
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        let n = problem.len();
        self.scaled.reserve(n)?;
        self.factor.reserve(n)?;
        reserve(&mut self.sets, n)?;
        reserve(&mut self.clamped, n)?;
        for v in [&mut self.y, &mut self.v, &mut self.centre, &mut self.g, &mut self.dv] {
            reserve(v, n)?;
        }
        Ok(())
    }

    fn start(&mut self, problem: &Problem, state: &mut State, _: &Settings) -> Result<()> {
        self.scaled.fill(problem, state)?;
        for v in [&mut self.y, &mut self.v, &mut self.centre, &mut self.g, &mut self.dv] {
            refill(v, problem.len(), 0.0)?;
        }
        self.scaled.enter(&state.x, &mut self.y);
        // Friction bounds may have moved past x.
        for i in 0..self.y.len() {
            self.y[i] = self.y[i].max(self.scaled.lo[i]).min(self.scaled.hi[i]);
        }
        self.passes = 0;
        self.begin_pass()
    }

    fn step(&mut self, _: &Problem, state: &mut State, budget: &Budget) -> Result<Progress> {
        let n = self.y.len();
        let tolerance = self.find_velocities();
        while self.next < n && self.is_right(self.next, tolerance) {
            self.next += 1;
        }
        if self.next == n {
            self.passes += 1;
            let moved = self.centre.iter().zip(&self.y).map(|(c, y)| (c - y).powi(2)).sum::<f64>();
            let size = self.y.iter().map(|y| y * y).sum::<f64>();
            let done = self.passes == PASSES || moved <= ROUND_OFF * ROUND_OFF * size;
            let finite = self.scaled.publish(&self.y, state);
            self.begin_pass()?;
            return Ok(if done || !finite { Progress::Stalled } else { Progress::Continue });
        }
        if !self.drive(self.next, budget) {
            return Ok(Progress::OutOfTime);
        }
        self.next += 1;
        if self.scaled.publish(&self.y, state) {
            Ok(Progress::Continue)
        } else {
            Ok(Progress::Stalled)
        }
    }
}

impl Dantzig {
    /// No row done, centred at the present y.
    fn begin_pass(&mut self) -> Result<()> {
        let n = self.y.len();
        refill(&mut self.sets, n, Set::Waiting)?;
        refill(&mut self.clamped, n, 0)?;
        self.clamped.clear();
        self.factor.clear(n)?;
        self.centre.copy_from_slice(&self.y);
        self.next = 0;
        Ok(())
    }

    /// v of the present y with the proximal term; the clamped rows' round-off is taken out. Returns what counts as zero.
    fn find_velocities(&mut self) -> f64 {
        for fix in [true, false] {
            self.scaled.multiply(&self.y, &mut self.v);
            for i in 0..self.y.len() {
                self.v[i] += EPSILON * (self.y[i] - self.centre[i]);
            }
            if fix && !self.clamped.is_empty() {
                let m = self.clamped.len();
                for (g, &i) in self.g.iter_mut().zip(&self.clamped) {
                    *g = -self.v[i];
                }
                self.factor.solve(&mut self.g[..m]);
                for (g, &i) in self.g.iter().zip(&self.clamped) {
                    self.y[i] = (self.y[i] + g).max(self.scaled.lo[i]).min(self.scaled.hi[i]);
                }
            }
        }
        let size = self.y.iter().chain(&self.scaled.b).fold(0.0f64, |m, v| m.max(v.abs()));
        ROUND_OFF * size
    }

    /// Is row i complementary where it is? Then it is done.
    fn is_right(&mut self, i: usize, tolerance: f64) -> bool {
        let (lo, hi, y, v) = (self.scaled.lo[i], self.scaled.hi[i], self.y[i], self.v[i]);
        let bound = lo == hi || (y <= lo && v >= -tolerance) || (y >= hi && v <= tolerance);
        if self.sets[i] == Set::Waiting && bound {
            self.sets[i] = Set::Bound;
        } else if self.sets[i] == Set::Waiting && v.abs() <= tolerance {
            self.join(i);
        }
        self.sets[i] != Set::Waiting
    }

    /// Row i becomes clamped.
    fn join(&mut self, i: usize) {
        let n = self.y.len();
        let column = &self.scaled.a[i * n..(i + 1) * n];
        for (g, &j) in self.g.iter_mut().zip(&self.clamped) {
            *g = column[j];
        }
        let m = self.clamped.len();
        self.factor.push(&self.g[..m], column[i] + EPSILON, 0.5 * EPSILON);
        self.clamped.push(i);
        self.sets[i] = Set::Clamped;
    }

    /// Drive row r until it is complementary. False: out of time.
    fn drive(&mut self, r: usize, budget: &Budget) -> bool {
        let n = self.y.len();
        let s = if self.v[r] > 0.0 { -1.0 } else { 1.0 };
        for _ in 0..n / 4 + PIVOTS {
            if budget.spent() {
                return false;
            }
            self.find_direction(r, s);
            let (step, event) = self.first_event(r, s);
            if !step.is_finite() {
                break;
            }
            for (g, &i) in self.g.iter().zip(&self.clamped) {
                self.y[i] -= step * s * g;
            }
            self.y[r] += step * s;
            for i in 0..n {
                self.v[i] += step * self.dv[i];
            }
            match event {
                Event::Zero => {
                    self.join(r);
                    return true;
                }
                Event::Bound(bound) => {
                    self.y[r] = bound;
                    self.sets[r] = Set::Bound;
                    return true;
                }
                Event::Leaves(position, bound) => {
                    let i = self.clamped.remove(position);
                    self.factor.remove(position);
                    self.y[i] = bound;
                    self.sets[i] = Set::Bound;
                }
                Event::Joins(i) => self.join(i),
            }
        }
        // Given up: the next pass tries again.
        self.sets[r] = Set::Bound;
        true
    }

    /// g = A_CC⁻¹ A_Cr and δv = A δy.
    fn find_direction(&mut self, r: usize, s: f64) {
        let n = self.y.len();
        let m = self.clamped.len();
        let column = &self.scaled.a[r * n..(r + 1) * n];
        for (g, &i) in self.g.iter_mut().zip(&self.clamped) {
            *g = column[i];
        }
        self.factor.solve(&mut self.g[..m]);
        for (dv, a) in self.dv.iter_mut().zip(column) {
            *dv = s * a;
        }
        self.dv[r] += s * EPSILON;
        for (g, &i) in self.g.iter().zip(&self.clamped) {
            for (dv, a) in self.dv.iter_mut().zip(&self.scaled.a[i * n..(i + 1) * n]) {
                *dv -= s * g * a;
            }
        }
    }

    /// How far the drive goes, and what ends it.
    fn first_event(&self, r: usize, s: f64) -> (f64, Event) {
        let Scaled { lo, hi, .. } = &self.scaled;
        // The regularised Schur complement is at least ε.
        let mut best = (self.v[r].abs() / (s * self.dv[r]).max(0.5 * EPSILON), Event::Zero);
        let own = if s > 0.0 { hi[r] } else { lo[r] };
        let room = (own - self.y[r]).abs();
        if room <= best.0 {
            best = (room, Event::Bound(own));
        }
        for (p, &i) in self.clamped.iter().enumerate() {
            let rate = -s * self.g[p];
            let bound = if rate > 0.0 { hi[i] } else { lo[i] };
            let step = ((bound - self.y[i]) / rate).max(0.0);
            if rate != 0.0 && step < best.0 {
                best = (step, Event::Leaves(p, bound));
            }
        }
        for i in 0..self.y.len() {
            if self.sets[i] != Set::Bound || lo[i] == hi[i] || i == r {
                continue;
            }
            let sign = if self.y[i] <= lo[i] { 1.0 } else { -1.0 };
            let rate = sign * self.dv[i];
            let step = (sign * self.v[i]).max(0.0) / -rate;
            if rate < 0.0 && step < best.0 {
                best = (step, Event::Joins(i));
            }
        }
        best
    }
}
