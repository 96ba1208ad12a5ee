//! A Gauss-Seidel sweep over Jacobian rows at the speed of memory.
//!
//! The visits of two neighbouring rows mostly share a body, so each waits for the other's update to reach `y`, and
//! then for its own dot product: some sixty cycles in which nothing else happens. Here a row looks two rows ahead. Its
//! dot product is taken before the last two updates are in `y`, and what they would have added comes from the couplings
//! `A_i,i-1` and `A_i,i-2`, found once at the start:
//!
//! ```text
//! w_i = K_i y + A_i,i-1 δ_i-1 + A_i,i-2 δ_i-2 + c_i x_i + b_i,    y = Kᵀ(δ_1 ... δ_i-3 and all before)
//! ```
//! That is the same sweep in the same order, up to round-off; from one row to the next only a product, a difference and
//! the bounds are waited for. `make bench-scale` compares it with reading the same bytes, `tests/instructions.rs` counts
//! what it executes.

use super::sweep::Swept;
use crate::error::{refill, Result};
use crate::linalg::{at_least, at_most};
use crate::problem::{Jacobian, Problem, Row};
use std::ops::Range;

/// Rows that a visit looks ahead.
const AHEAD: usize = 2;

/// Length of the couplings of `n` rows: the first and the last ones have neighbours that are not there.
pub(super) fn couplings_len(n: usize) -> usize {
    n + AHEAD
}

/// `[A_i,i-1, A_i,i-2]` of every row i; zero where there is no such row.
pub(super) fn find_couplings(jacobian: &Jacobian, couplings: &mut Vec<[f64; AHEAD]>) -> Result<()> {
    let rows = jacobian.rows();
    refill(couplings, couplings_len(rows.len()), [0.0; AHEAD])?;
    for i in 1..rows.len() {
        couplings[i][0] = rows[i].coupling(&rows[i - 1]);
        if i > 1 {
            couplings[i][1] = rows[i].coupling(&rows[i - 2]);
        }
    }
    Ok(())
}

/// The same along a list of rows: of its first two rows no neighbours before them count.
pub(super) fn find_couplings_along(list: &[u32], jacobian: &Jacobian, couplings: &mut [[f64; AHEAD]]) {
    let mut behind: [Option<&Row>; AHEAD] = [None; AHEAD];
    for (&i, coupling) in list.iter().zip(couplings) {
        let row = &jacobian.rows()[i as usize];
        *coupling = behind.map(|other| other.map_or(0.0, |other| row.coupling(other)));
        behind = [Some(row), behind[0]];
    }
}

/// The rows of a rising list, if they follow each other without a gap.
pub(super) fn as_range(list: &[u32]) -> Option<Range<usize>> {
    let (first, last) = (*list.first()? as usize, *list.last()? as usize);
    (last - first + 1 == list.len()).then_some(first..last + 1)
}

/// A sweep about to run.
pub(super) struct RowSweep<'a> {
    pub problem: &'a Problem,
    pub jacobian: &'a Jacobian,
    pub relaxation: f64,
    pub couplings: &'a [[f64; AHEAD]],
    /// `Kᵀx`.
    pub y: &'a mut [f64],
    pub x: &'a mut [f64],
}

impl RowSweep<'_> {
    /// Visit all rows, `BACK`wards or as they are listed.
    #[inline]
    pub fn run<const BACK: bool>(self, bounds: impl Fn(usize, &[f64]) -> (f64, f64)) -> Swept {
        let n = self.jacobian.rows().len();
        let couplings = &self.couplings[..couplings_len(n)];
        let visits = (0..n).map(|k| {
            let i = if BACK { n - 1 - k } else { k };
            (i, if BACK { [couplings[i + 1][0], couplings[i + 2][1]] } else { couplings[i] })
        });
        self.visit(visits, bounds)
    }

    /// Visit the rows of a rising list that has everything they are coupled to, with the couplings found along it.
    #[inline(never)]
    pub fn run_along(self, list: &[u32], bounds: impl Fn(usize, &[f64]) -> (f64, f64)) -> Swept {
        let (couplings, n) = (self.couplings.iter().copied(), self.jacobian.rows().len());
        match as_range(list) {
            Some(rows) => self.visit((rows.start..rows.end.min(n)).zip(couplings), bounds),
            None => self.visit(list.iter().map(|&i| i as usize).zip(couplings), bounds),
        }
    }

    /// Visit rows, given with what each owes to the two before it.
    #[inline(always)]
    fn visit(
        self,
        visits: impl Iterator<Item = (usize, [f64; AHEAD])>,
        bounds: impl Fn(usize, &[f64]) -> (f64, f64),
    ) -> Swept {
        let RowSweep { problem, jacobian, relaxation, y, x, .. } = self;
        let rows = jacobian.rows();
        let n = rows.len();
        let (x, b, a) = (&mut x[..n], &problem.b()[..n], &problem.diagonal()[..n]);
        let compliance = &jacobian.compliance()[..n];
        let mut swept = Swept::default();
        // The two rows visited last, whose changes are not in y yet: the later first.
        let mut behind: [(&Row, f64); AHEAD] = match rows.first() {
            Some(row) => [(row, 0.0); AHEAD],
            None => return swept,
        };
        for (i, [near, far]) in visits {
            let (row, old, step) = (&rows[i], x[i], relaxation / a[i]);
            let (lo, hi) = bounds(i, x);
            let own = old - step * (compliance[i] * old + b[i]);
            // In the order in which they come to be known: the last change comes in last.
            let target = ((own - (step * far) * behind[1].1) - step * row.dot(y)) - (step * near) * behind[0].1;
            let new = at_most(at_least(target, lo), hi);
            let mut delta = new - old;
            if delta.abs() <= f64::MAX {
                x[i] = new;
            } else {
                delta = overflowed();
            }
            behind[1].0.add(behind[1].1, y);
            behind = [(row, delta), behind[0]];
            swept.add(a[i], old, x[i], (lo, hi));
        }
        for (row, delta) in behind.into_iter().rev() {
            row.add(delta, y);
        }
        swept.close()
    }
}

/// The change of a row that overflowed: x stays as it is. Out of line, so that no sound row waits for the question.
#[cold]
#[inline(never)]
fn overflowed() -> f64 {
    0.0
}
