//! The tableau of Lemke's path, and its pivots.
//!
//! ```text
//! basic = tableau · nonbasic + constant
//! ```
//!
//! Basic and nonbasic variables are y_i and v_i of every row and the artificial t. A friction row that slides has
//! u_i = y_i - s m y_n in place of y_i, with s = 1 or -1 for the side: nonbasic at u_i = 0 it follows its normal row by itself. A
//! friction row that sticks has y_i in the basis and leaves it where m y_n - s y_i reaches 0 for one of the sides.

mod accuracy;
mod blocking;

use super::scaled::Scaled;
use crate::error::Result;
use crate::memory::{refill, reserve};
use crate::problem::Problem;
use crate::Budget;
use blocking::Event;

/// Free rows whose pivots are smaller than this, beside a diagonal of 1, are singular.
const SINGULAR: f64 = 1e-10;

/// What a row allows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    /// One or two bounds.
    Bounded,
    Free,
    /// Its impulse is given: equal bounds, no friction, or implied by free rows.
    Fixed,
    /// |y_i| <= reach · y_normal.
    Friction {
        normal: usize,
        reach: f64,
    },
}

/// A variable of the tableau.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variable {
    X(usize),
    V(usize),
    Artificial,
}

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Basic(usize),
    Column(usize),
}

/// What a pivot of the path came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Moved,
    /// t is 0: a solution.
    Done,
    /// Nothing blocks.
    Ray,
}

#[derive(Default)]
pub(super) struct Path {
    law: Vec<Law>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// By rows, n by n + 1.
    tableau: Vec<f64>,
    basic: Vec<Variable>,
    nonbasic: Vec<Variable>,
    x_place: Vec<Place>,
    v_place: Vec<Place>,
    t_place: Option<Place>,
    /// Values of the basic variables.
    value: Vec<f64>,
    /// y of the rows whose y is not basic and that do not slide: one of its bounds.
    y: Vec<f64>,
    /// Is row i at its upper bound, or does it slide to that side, when not basic?
    upper: Vec<bool>,
    /// Sign of a valid v_k at the starting vertex.
    outward: Vec<f64>,
    /// c.
    cover: Vec<f64>,
    /// What was added to entries (i, j) between singular free rows.
    shifts: Vec<(usize, usize, f64)>,
    /// The variable that enters next, and whether it rises.
    entering: Option<(Variable, bool)>,
    /// A basis kept for comparison, the variable that entered it, and the pivot to keep the next at.
    kept: Vec<(Variable, bool)>,
    kept_entering: Option<(Variable, bool)>,
    keep_at: usize,
    /// The basis whose tableau is computed anew.
    basis: Vec<(Variable, bool)>,
}

impl Path {
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        reserve(&mut self.tableau, n * (n + 1))?;
        reserve(&mut self.law, n)?;
        reserve(&mut self.basic, n)?;
        reserve(&mut self.nonbasic, n + 1)?;
        reserve(&mut self.x_place, n)?;
        reserve(&mut self.v_place, n)?;
        reserve(&mut self.upper, n)?;
        reserve(&mut self.shifts, n)?;
        reserve(&mut self.kept, n)?;
        reserve(&mut self.basis, n)?;
        for v in [&mut self.lo, &mut self.hi, &mut self.value, &mut self.y, &mut self.outward, &mut self.cover] {
            reserve(v, n)?;
        }
        Ok(())
    }

    /// Note what every row allows.
    pub fn laws(&mut self, problem: &Problem, scaled: &Scaled, follows: bool) -> Result<()> {
        let n = scaled.len();
        self.reserve(n)?;
        self.law.clear();
        for v in [&mut self.lo, &mut self.hi] {
            refill(v, n, 0.0)?;
        }
        for i in 0..n {
            (self.lo[i], self.hi[i]) = (scaled.lo[i], scaled.hi[i]);
            let normal = problem.friction().normal_of(i).filter(|_| follows);
            let law = match normal {
                Some(normal) => {
                    let reach = problem.friction().mu_of(i) * scaled.unit(normal) / scaled.unit(i);
                    if reach > 0.0 && reach.is_finite() {
                        Law::Friction { normal, reach }
                    } else {
                        (self.lo[i], self.hi[i]) = (0.0, 0.0);
                        Law::Fixed
                    }
                }
                None if self.lo[i] == self.hi[i] => Law::Fixed,
                None if self.lo[i] == f64::NEG_INFINITY && self.hi[i] == f64::INFINITY => Law::Free,
                None => Law::Bounded,
            };
            self.law.push(law);
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.law.len()
    }

    fn width(&self) -> usize {
        self.len() + 1
    }

    #[inline]
    fn at(&self, r: usize, c: usize) -> f64 {
        self.tableau[r * self.width() + c]
    }

    /// Is row i's y in the basis?
    pub fn is_basic(&self, i: usize) -> bool {
        matches!(self.x_place[i], Place::Basic(_))
    }

    /// The rows that slide: row, its normal row, and y_i / y_normal.
    pub fn sliding(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        (0..self.len()).filter_map(|i| match self.law[i] {
            Law::Friction { normal, reach } if !self.is_basic(i) => Some((i, normal, self.side(i) * reach)),
            _ => None,
        })
    }

    fn side(&self, i: usize) -> f64 {
        if self.upper[i] {
            1.0
        } else {
            -1.0
        }
    }

    /// The starting vertex: every y at the bound that is nearer to `start`.
    pub fn begin(&mut self, scaled: &Scaled, start: &[f64]) -> Result<()> {
        let n = self.len();
        refill(&mut self.tableau, n * (n + 1), 0.0)?;
        refill(&mut self.basic, n, Variable::Artificial)?;
        refill(&mut self.nonbasic, n + 1, Variable::Artificial)?;
        refill(&mut self.x_place, n, Place::Column(0))?;
        refill(&mut self.v_place, n, Place::Column(0))?;
        refill(&mut self.upper, n, false)?;
        for v in [&mut self.value, &mut self.y, &mut self.outward, &mut self.cover] {
            refill(v, n, 0.0)?;
        }
        self.shifts.clear();
        self.kept.clear();
        self.kept_entering = None;
        self.keep_at = 1;
        for i in 0..n {
            let (lo, hi) = (self.lo[i], self.hi[i]);
            self.upper[i] = match self.law[i] {
                Law::Friction { .. } => scaled.b[i] < 0.0,
                _ => hi.is_finite() && (lo == f64::NEG_INFINITY || start[i] - lo > hi - start[i]),
            };
            self.y[i] = match self.law[i] {
                Law::Free | Law::Friction { .. } => 0.0,
                _ if self.upper[i] => hi,
                _ => lo,
            };
        }
        self.fill(scaled);
        self.outward_signs();
        Ok(())
    }

    /// Signs of valid velocities at the starting vertex.
    fn outward_signs(&mut self) {
        for i in 0..self.len() {
            self.outward[i] = -self.side(i);
        }
    }

    /// The tableau with every v basic, y of the other rows where they are, and t = 0.
    fn fill(&mut self, scaled: &Scaled) {
        let n = self.len();
        let width = n + 1;
        for i in 0..n {
            (self.basic[i], self.nonbasic[i]) = (Variable::V(i), Variable::X(i));
            (self.v_place[i], self.x_place[i]) = (Place::Basic(i), Place::Column(i));
            let row = &mut self.tableau[i * width..(i + 1) * width];
            for (j, entry) in row[..n].iter_mut().enumerate() {
                *entry = scaled.a[j * n + i];
            }
            row[n] = self.cover[i];
        }
        self.nonbasic[n] = Variable::Artificial;
        self.t_place = Some(Place::Column(n));
        for &(i, j, shift) in &self.shifts {
            self.tableau[i * width + j] += shift;
        }
        self.value.copy_from_slice(&scaled.b);
        for (j, &y) in self.y.iter().enumerate().filter(|(_, &y)| y != 0.0) {
            for (value, a) in self.value.iter_mut().zip(&scaled.a[j * n..(j + 1) * n]) {
                *value += a * y;
            }
        }
    }

    /// Let row i's column stand for u_i in place of y_i, or back, while both it and its normal row are not basic: the normal
    /// row's column takes the sliding impulse along, `slope` times its own.
    fn tie_column(&mut self, i: usize, normal: usize, slope: f64) {
        let (Place::Column(c), Place::Column(at)) = (self.x_place[i], self.x_place[normal]) else { return };
        let y = self.y[normal];
        for (row, value) in self.tableau.chunks_exact_mut(self.law.len() + 1).zip(&mut self.value) {
            row[at] += slope * row[c];
            *value += slope * y * row[c];
        }
    }

    /// Solve for the free rows' y: pivots of largest size among their rows and columns. False: out of time.
    pub fn eliminate_free(&mut self, shift: f64, budget: &Budget) -> Result<bool> {
        let n = self.len();
        loop {
            let mut best: Option<(usize, usize, f64)> = None;
            for r in 0..n {
                if !matches!(self.basic[r], Variable::V(i) if self.law[i] == Law::Free) {
                    continue;
                }
                for c in 0..n {
                    let is_free = matches!(self.nonbasic[c], Variable::X(j) if self.law[j] == Law::Free);
                    let size = self.at(r, c).abs();
                    if is_free && best.is_none_or(|b| size > b.2) {
                        best = Some((r, c, size));
                    }
                }
            }
            let Some((r, c, size)) = best else { break };
            if budget.spent() {
                return Ok(false);
            }
            if size <= SINGULAR || size.is_nan() {
                let (Variable::V(i), Variable::X(j)) = (self.basic[r], self.nonbasic[c]) else { break };
                let width = self.width();
                let is_implied = self.tableau[r * width..r * width + n].iter().all(|a| a.abs() <= SINGULAR)
                    && (0..n).all(|row| self.at(row, self.column_of(i)).abs() <= SINGULAR);
                if is_implied {
                    // The rows that are solved already imply it: nothing moves it, and it moves nothing.
                    self.law[i] = Law::Fixed;
                    continue;
                }
                let old = self.at(r, c);
                reserve(&mut self.shifts, n)?;
                self.shifts.push((i, j, shift - old));
                self.tableau[r * width + c] = shift;
            }
            let step = -self.value[r] / self.at(r, c);
            self.pivot(r, c, step, 0.0);
        }
        self.tie_all();
        Ok(true)
    }

    fn column_of(&self, i: usize) -> usize {
        match self.x_place[i] {
            Place::Column(c) => c,
            Place::Basic(_) => 0,
        }
    }

    /// Let friction rows slide to the side that resists their velocity.
    fn tie_all(&mut self) {
        for i in 0..self.len() {
            let Law::Friction { normal, reach } = self.law[i] else { continue };
            if let Place::Basic(r) = self.v_place[i] {
                self.upper[i] = self.value[r] < 0.0;
            }
            let slope = self.side(i) * reach;
            self.tie_column(i, normal, slope);
        }
        self.outward_signs();
    }

    /// Let t enter at the least value that makes every basic v's sign right. Weights differ from path to path.
    pub fn cover(&mut self, path: usize) {
        let n = self.len();
        let mut worst: Option<(usize, f64)> = None;
        for r in 0..n {
            let Variable::V(i) = self.basic[r] else { continue };
            let sign = self.outward[i];
            let short = -sign * self.value[r];
            let is_covered = match self.law[i] {
                Law::Fixed | Law::Free => false,
                Law::Friction { .. } => short > 0.0,
                Law::Bounded => true,
            };
            if !is_covered {
                continue;
            }
            let weight = weight(i, path);
            self.cover[i] = sign * weight;
            let width = self.width();
            self.tableau[r * width + n] = sign * weight;
            let short = short / weight;
            // Of equal ones the last: that is the lexicographic order of the perturbation.
            if short > 0.0 && worst.is_none_or(|w| short >= w.1) {
                worst = Some((r, short));
            }
        }
        self.entering = None;
        if let Some((r, short)) = worst {
            let left = self.basic[r];
            self.pivot(r, n, short, 0.0);
            self.call_partner(left);
        }
    }

    /// Is there nothing to do: is every sign right, with t = 0?
    pub fn is_covered(&self) -> bool {
        self.entering.is_none()
    }

    /// One pivot of the path.
    pub fn advance(&mut self) -> Step {
        let Some((variable, rises)) = self.entering else { return Step::Done };
        let Some(Place::Column(c)) = self.place(variable) else { return Step::Ray };
        let direction = if rises { 1.0 } else { -1.0 };
        let Some(block) = self.first_block(c, direction) else { return Step::Ray };
        match block.event {
            Event::Crosses => self.cross(c, direction, block.room),
            Event::Bound(r, at_upper) => self.exchange(r, c, direction * block.room, at_upper),
            Event::Slides(r, to_upper) => {
                if let Variable::X(i) = self.basic[r] {
                    // y_i becomes u_i, which leaves at 0.
                    self.upper[i] = to_upper;
                    self.follow(r, i, -1.0);
                    self.value[r] = -direction * block.room * self.at(r, c);
                }
                self.exchange(r, c, direction * block.room, to_upper);
            }
        }
        if self.entering.is_none() {
            Step::Done
        } else {
            Step::Moved
        }
    }

    fn place(&self, variable: Variable) -> Option<Place> {
        match variable {
            Variable::X(i) => Some(self.x_place[i]),
            Variable::V(i) => Some(self.v_place[i]),
            Variable::Artificial => self.t_place,
        }
    }

    /// Add `way` times the sliding impulse to tableau row r, which stands for row i's impulse: y_i = u_i + s m y_n.
    fn follow(&mut self, r: usize, i: usize, way: f64) {
        let Law::Friction { normal, reach } = self.law[i] else { return };
        let factor = way * self.side(i) * reach;
        let width = self.width();
        match self.x_place[normal] {
            Place::Column(at) => {
                self.tableau[r * width + at] += factor;
                self.value[r] += factor * self.y[normal];
            }
            Place::Basic(other) => {
                for k in 0..width {
                    self.tableau[r * width + k] += factor * self.tableau[other * width + k];
                }
                self.value[r] += factor * self.value[other];
            }
        }
    }

    /// Basic r leaves at one of its bounds, the variable in column c enters, and the partner of what left is called.
    fn exchange(&mut self, r: usize, c: usize, step: f64, at_upper: bool) {
        let left = self.basic[r];
        let entered = self.nonbasic[c];
        let from = match entered {
            Variable::X(i) => self.y[i],
            _ => 0.0,
        };
        self.pivot(r, c, step, from);
        if let Variable::X(i) = left {
            self.upper[i] = at_upper;
            self.y[i] = match self.law[i] {
                Law::Friction { .. } => 0.0,
                _ if at_upper => self.hi[i],
                _ => self.lo[i],
            };
        }
        if let Variable::X(i) = entered {
            // What entered is u_i: from here on y_i itself.
            self.follow(r, i, 1.0);
            self.y[i] = 0.0;
        }
        self.call_partner(left);
    }

    /// The impulse in column c goes to the other end of its box, and its velocity enters with the other sign.
    fn cross(&mut self, c: usize, direction: f64, room: f64) {
        let Variable::X(i) = self.nonbasic[c] else { return };
        let width = self.width();
        for (row, value) in self.tableau.chunks_exact(width).zip(&mut self.value) {
            *value += direction * room * row[c];
        }
        match self.law[i] {
            Law::Friction { normal, reach } => self.cross_cone(c, normal, 2.0 * self.side(i) * reach),
            _ => self.y[i] = if direction > 0.0 { self.hi[i] } else { self.lo[i] },
        }
        self.upper[i] = !self.upper[i];
        self.call(Variable::V(i));
    }

    /// Let column c stand for z = u + slope · y_normal in place of u.
    fn cross_cone(&mut self, c: usize, normal: usize, slope: f64) {
        let width = self.width();
        match self.x_place[normal] {
            Place::Column(at) => {
                for row in self.tableau.chunks_exact_mut(width) {
                    row[at] -= slope * row[c];
                }
            }
            Place::Basic(r) => {
                let scale = 1.0 / (1.0 + slope * self.at(r, c));
                let (above, rest) = self.tableau.split_at_mut(r * width);
                let (row, below) = rest.split_at_mut(width);
                row.iter_mut().for_each(|v| *v *= scale);
                for other in above.chunks_exact_mut(width).chain(below.chunks_exact_mut(width)) {
                    let factor = -slope * other[c];
                    if factor != 0.0 {
                        other.iter_mut().zip(&*row).for_each(|(o, v)| *o += factor * v);
                    }
                }
            }
        }
    }

    /// The partner of the variable that left enters.
    fn call_partner(&mut self, left: Variable) {
        match left {
            Variable::Artificial => self.entering = None,
            Variable::X(i) => self.call(Variable::V(i)),
            Variable::V(i) => self.call(Variable::X(i)),
        }
    }

    /// Enter a variable from its bound: upwards from a lower one, downwards from an upper one. A velocity at an upper bound is
    /// negative.
    fn call(&mut self, variable: Variable) {
        let rises = match variable {
            Variable::X(i) | Variable::V(i) => !self.upper[i],
            Variable::Artificial => true,
        };
        self.entering = Some((variable, rises));
    }

    /// Exchange basic r and nonbasic c, which moves by `step` from `from`.
    fn pivot(&mut self, r: usize, c: usize, step: f64, from: f64) {
        let width = self.width();
        for (row, value) in self.tableau.chunks_exact(width).zip(&mut self.value) {
            *value += step * row[c];
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
        std::mem::swap(&mut self.basic[r], &mut self.nonbasic[c]);
        self.put(self.basic[r], Place::Basic(r));
        self.put(self.nonbasic[c], Place::Column(c));
    }

    fn put(&mut self, variable: Variable, place: Place) {
        match variable {
            Variable::X(i) => self.x_place[i] = place,
            Variable::V(i) => self.v_place[i] = place,
            Variable::Artificial => self.t_place = Some(place),
        }
    }

    /// y of every row.
    pub fn gather(&self, out: &mut [f64]) {
        out.copy_from_slice(&self.y);
        for (variable, value) in self.basic.iter().zip(&self.value) {
            if let Variable::X(i) = variable {
                out[*i] = *value;
            }
        }
        for (i, normal, slope) in self.sliding() {
            out[i] = slope * out[normal];
        }
    }
}

/// Weight of row i in the cover of the k-th path: 1 on the first, between 1/2 and 3/2 on others.
fn weight(i: usize, path: usize) -> f64 {
    if path == 0 {
        return 1.0;
    }
    let mut hash =
        (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (path as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
    10f64.powf(4.0 * ((hash >> 11) as f64 / (1u64 << 53) as f64) - 2.0)
}
