//! Which variable meets a bound first on a step along Lemke's path, ties decided lexicographically.

use super::{Law, Path, Place, Variable};

/// Smallest pivot of the path, relative to the largest entry of its column or 1: below it is round-off of earlier pivots.
const PIVOT: f64 = 1e-9;
/// A variable this near to its bound, relative to the largest value of all, is at it.
const ZERO: f64 = 1e-13;
/// Ratios closer than this, relative to the larger, tie.
const TIE: f64 = 1e-12;
/// An entry of the tableau this small, beside a diagonal of 1, is round-off of a 0 where the lexicographic rule asks for its
/// sign.
const NOTHING: f64 = 1e-11;

/// Which event ends a step along the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Event {
    /// The basic variable of this row reaches its upper bound, or its lower.
    Bound(usize, bool),
    /// The sticking friction row, basic in this tableau row, begins to slide to this side.
    Slides(usize, bool),
    /// The entering impulse crosses its own box.
    Crosses,
}

/// What blocks: a slack that falls to 0, `slack = Σ factor · row + constant`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub room: f64,
    rate: f64,
    terms: [Option<(usize, f64)>; 2],
    pub event: Event,
}

impl Path {
    /// y of a normal row now, its change with the variable in column c, and its tableau row.
    fn normal_impulse(&self, normal: usize, c: usize, direction: f64) -> (f64, f64, Option<usize>) {
        match self.x_place[normal] {
            Place::Basic(r) => (self.value[r], direction * self.at(r, c), Some(r)),
            Place::Column(at) => (self.y[normal], if at == c { direction } else { 0.0 }, None),
        }
    }

    /// What the entering variable meets first.
    pub(super) fn first_block(&self, c: usize, direction: f64) -> Option<Block> {
        let n = self.len();
        let mut size = 0.0f64;
        let mut most = 1.0f64;
        for r in 0..n {
            size = size.max(self.value[r].abs());
            most = most.max(self.at(r, c).abs());
        }
        let (least, zero) = (PIVOT * most, ZERO * size);
        let mut best: Option<Block> = None;
        let mut consider = |slack: f64, rate: f64, terms: [Option<(usize, f64)>; 2], event: Event| {
            // NaN blocks nothing, and neither does a bound that is not there.
            if rate.is_nan() || rate >= -least || slack == f64::INFINITY {
                return;
            }
            let slack = if slack <= zero { 0.0 } else { slack };
            let block = Block { room: slack / -rate, rate, terms, event };
            if best.as_ref().is_none_or(|best| self.comes_before(&block, best)) {
                best = Some(block);
            }
        };
        match self.nonbasic[c] {
            Variable::X(i) => match self.law[i] {
                Law::Friction { normal, reach } => {
                    let (y, rate, row) = self.normal_impulse(normal, c, direction);
                    let slack = 2.0 * reach * y;
                    consider(slack, 2.0 * reach * rate - 1.0, [row.map(|r| (r, 2.0 * reach)), None], Event::Crosses);
                }
                _ => consider(self.hi[i] - self.lo[i], -1.0, [None; 2], Event::Crosses),
            },
            Variable::V(_) | Variable::Artificial => {}
        }
        for r in 0..n {
            let (value, rate) = (self.value[r], direction * self.at(r, c));
            let (lo, hi) = match self.basic[r] {
                Variable::Artificial => (0.0, f64::INFINITY),
                Variable::X(i) => {
                    if let Law::Friction { normal, reach } = self.law[i] {
                        let (y, change, row) = self.normal_impulse(normal, c, direction);
                        for (to_upper, s) in [(false, -1.0), (true, 1.0)] {
                            let terms = [row.map(|row| (row, reach)), Some((r, -s))];
                            let slack = reach * y - s * value;
                            consider(slack, reach * change - s * rate, terms, Event::Slides(r, to_upper));
                        }
                        continue;
                    }
                    (self.lo[i], self.hi[i])
                }
                Variable::V(i) => match self.law[i] {
                    Law::Fixed | Law::Free => continue,
                    _ if self.upper[i] => (f64::NEG_INFINITY, 0.0),
                    _ => (0.0, f64::INFINITY),
                },
            };
            if rate < 0.0 {
                consider(value - lo, rate, [Some((r, 1.0)), None], Event::Bound(r, false));
            } else {
                consider(hi - value, -rate, [Some((r, -1.0)), None], Event::Bound(r, true));
            }
        }
        best
    }

    /// Does p block before q when b_k is perturbed by δᵏ, outwards from each starting bound?
    fn comes_before(&self, p: &Block, q: &Block) -> bool {
        if (p.room - q.room).abs() > TIE * p.room.max(q.room) {
            return p.room < q.room;
        }
        let is_end = |block: &Block| matches!(block.event, Event::Bound(r, _) if self.basic[r] == Variable::Artificial);
        if is_end(p) || is_end(q) {
            return is_end(p);
        }
        for k in 0..self.len() {
            let change = |block: &Block| {
                let of_row = |&(row, factor): &(usize, f64)| {
                    factor
                        * match self.v_place[k] {
                            Place::Basic(at) => f64::from(u8::from(at == row)),
                            Place::Column(column) => -self.at(row, column),
                        }
                };
                let sum = block.terms.iter().flatten().map(of_row).sum::<f64>();
                if sum.abs() <= NOTHING {
                    0.0
                } else {
                    sum * self.outward[k] / -block.rate
                }
            };
            let (of_p, of_q) = (change(p), change(q));
            if (of_p - of_q).abs() > TIE * (of_p.abs() + of_q.abs()) {
                return of_p < of_q;
            }
        }
        false
    }
}
