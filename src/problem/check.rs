//! Checks shared by everything that fills a problem.

use crate::error::{Error, Result, Status};
use crate::linalg::{with_lanes, Kernel, Lanes};

/// Refuse a buffer of the wrong length, by name.
pub fn length(name: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        Ok(())
    } else {
        Err(Error::new(Status::InvalidSize, format_args!("{name} has length {found}, expected {expected}")))
    }
}

/// Refuse NaN and infinity, by name and index.
pub fn finite(name: &str, values: &[f64]) -> Result<()> {
    if are_finite(std::iter::once(values)) {
        return Ok(());
    }
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) => {
            Err(Error::new(Status::InvalidValue, format_args!("{name}[{i}] is {}, it must be finite", values[i])))
        }
    }
}

/// The same without a name, of all parts of a whole, several numbers at once.
pub fn are_finite<'a>(parts: impl Iterator<Item = &'a [f64]>) -> bool {
    with_lanes(AreFinite(parts))
}

/// Only zero times a finite number is zero.
struct AreFinite<I>(I);

impl<'a, I: Iterator<Item = &'a [f64]>> Kernel for AreFinite<I> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> bool {
        // Four sums, which need not wait for each other.
        let (zero, mut sums, mut rest) = (lanes.all(0.0), [lanes.all(0.0); 4], 0.0);
        for part in self.0 {
            let (fours, tail) = part.as_chunks::<4>();
            let (groups, others) = fours.as_chunks::<4>();
            for group in groups {
                for k in 0..4 {
                    sums[k] = lanes.add(sums[k], lanes.mul(lanes.load(&group[k]), zero));
                }
            }
            for four in others {
                sums[0] = lanes.add(sums[0], lanes.mul(lanes.load(four), zero));
            }
            for v in tail {
                rest += 0.0 * v;
            }
        }
        lanes.store(lanes.sums(sums)) == [0.0; 4] && rest == 0.0
    }
}

/// `a * b`, or the sentence that it overflows.
pub fn product(name: &str, a: usize, b: usize) -> Result<usize> {
    a.checked_mul(b).ok_or_else(|| {
        Error::new(Status::InvalidSize, format_args!("{name}: {a} times {b} overflows the address space"))
    })
}

/// Are `p` and `q` the same up to `tolerance` of the two rows' scale? Diagonals that are not positive allow nothing.
pub fn alike(p: f64, q: f64, a_ii: f64, a_jj: f64, tolerance: f64) -> bool {
    // Written without a square root; false for NaN diagonals too.
    let gap = p - q;
    p == q || gap * gap <= tolerance * tolerance * (a_ii * a_jj).max(0.0)
}
