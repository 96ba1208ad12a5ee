//! Exact Coulomb friction: a contact's two tangent rows share a disc whose radius follows the normal row.
//!
//! ```text
//! lo <= x_n <= hi complementary with w_n,      |x_t| <= mu max(x_n, 0),      w_t = -s x_t with s >= 0, s = 0 inside
//! ```
//! The normal row is complementary with its own velocity (Coulomb's law as it stands, not its associated relaxation),
//! and the disc is that at the very x. mu = +inf: the tangents are free while x_n > 0.

use super::check::length;
use super::friction::{reach, Friction};
use crate::error::{Error, Result, Status};
use crate::memory::{refill, reserve};

/// One contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cone {
    /// The normal row.
    pub normal: usize,
    /// The two tangent rows, which are at right angles.
    pub tangents: [usize; 2],
    /// The coefficient of friction, +inf allowed.
    pub mu: f64,
}

impl Cone {
    /// Radius of the disc of tangent impulses when the impulses are `x`.
    #[inline]
    pub fn radius(&self, x: &[f64]) -> f64 {
        reach(self.mu, x[self.normal])
    }

    /// The contact's two tangent entries of `v`.
    #[inline]
    pub fn pick(&self, v: &[f64]) -> [f64; 2] {
        [v[self.tangents[0]], v[self.tangents[1]]]
    }
}

/// What a row is to the contacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// In no contact.
    None,
    /// The normal row of this contact.
    Normal(usize),
    /// The first tangent row of this contact.
    First(usize),
    /// The second tangent row of this contact.
    Second(usize),
}

/// The contacts of a problem; empty when there are none.
#[derive(Debug, Default)]
pub struct Cones {
    list: Vec<Cone>,
    /// What each row is; empty when there are no contacts.
    parts: Vec<Part>,
    /// The same of contacts in the making.
    next: Vec<Part>,
}

impl Cones {
    /// No contacts, for measuring points of problems without.
    pub const NONE: &'static Cones = &Cones { list: Vec::new(), parts: Vec::new(), next: Vec::new() };

    /// The contacts, in the order they were given.
    pub fn list(&self) -> &[Cone] {
        &self.list
    }

    /// No contacts at all?
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// What row `i` is to the contacts.
    #[inline]
    pub fn part(&self, i: usize) -> Part {
        self.parts.get(i).copied().unwrap_or(Part::None)
    }

    /// Is row `i` a tangent row?
    #[inline]
    pub fn is_tangent(&self, i: usize) -> bool {
        matches!(self.part(i), Part::First(_) | Part::Second(_))
    }

    /// Radius of the disc that tangent row `i` belongs to.
    #[inline]
    pub(super) fn radius(&self, i: usize, x: &[f64]) -> Option<f64> {
        match self.part(i) {
            Part::First(k) | Part::Second(k) => Some(self.list[k].radius(x)),
            _ => None,
        }
    }

    pub(super) fn reserve(&mut self, rows: usize) -> Result<()> {
        reserve(&mut self.list, rows / 3)?;
        reserve(&mut self.parts, rows)?;
        reserve(&mut self.next, rows)
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.parts.clear();
    }

    /// Check and take over contacts of three rows each; on an error the old ones stay.
    pub(super) fn fill(&mut self, rows: &[i32], mu: &[f64], lo: &[f64], hi: &[f64], friction: &Friction) -> Result<()> {
        let n = lo.len();
        if !rows.len().is_multiple_of(3) {
            return Err(Error::new(
                Status::InvalidSize,
                format_args!("rows has length {}, expected 3 per contact", rows.len()),
            ));
        }
        length("mu", mu.len(), rows.len() / 3)?;
        refill(&mut self.next, n, Part::None)?;
        for (k, &i) in rows.iter().enumerate() {
            if i < 0 || i as usize >= n {
                return Err(Error::new(Status::InvalidIndex, format_args!("rows[{k}] is {i}, outside 0..{n}")));
            }
            let row = i as usize;
            if self.next[row] != Part::None {
                return Err(Error::new(Status::InvalidIndex, format_args!("rows[{k}] is {i}, which is used before")));
            }
            if friction.normal_of(row).is_some() {
                return Err(Error::new(
                    Status::InvalidState,
                    format_args!("rows[{k}] is {i}, a friction row of set_friction; it cannot be in a cone as well"),
                ));
            }
            self.next[row] = [Part::Normal(k / 3), Part::First(k / 3), Part::Second(k / 3)][k % 3];
            check_bounds(self.next[row], row, lo[row], hi[row])?;
        }
        if let Some(k) = mu.iter().position(|m| m.is_nan() || *m < 0.0) {
            return Err(Error::new(Status::InvalidValue, format_args!("mu[{k}] is {}, it must be >= 0", mu[k])));
        }
        reserve(&mut self.list, mu.len())?;
        self.list.clear();
        self.list.extend(rows.chunks_exact(3).zip(mu).map(|(r, &mu)| Cone {
            normal: r[0] as usize,
            tangents: [r[1] as usize, r[2] as usize],
            mu,
        }));
        std::mem::swap(&mut self.parts, &mut self.next);
        if self.list.is_empty() {
            self.parts.clear();
        }
        Ok(())
    }

    /// Become the contacts of these rows of another; `place` has the place of each.
    pub(super) fn select(&mut self, whole: &Cones, rows: &[u32], place: &[u32]) -> Result<()> {
        self.clear();
        if !whole.is_empty() {
            self.reserve(rows.len())?;
            self.parts.resize(rows.len(), Part::None);
            for &i in rows {
                if let Part::Normal(k) = whole.part(i as usize) {
                    let cone = &whole.list[k];
                    let at = |row: usize| place[row] as usize;
                    let (normal, tangents) = (at(cone.normal), cone.tangents.map(at));
                    let number = self.list.len();
                    self.parts[normal] = Part::Normal(number);
                    self.parts[tangents[0]] = Part::First(number);
                    self.parts[tangents[1]] = Part::Second(number);
                    self.list.push(Cone { normal, tangents, mu: cone.mu });
                }
            }
            if self.list.is_empty() {
                self.parts.clear();
            }
        }
        Ok(())
    }

    /// Refuse friction rows that are in a contact already. A further row that hangs on a contact's normal may stay.
    pub(super) fn check_friction(&self, findex: &[i32]) -> Result<()> {
        let coupled = |i: usize| findex[i] >= 0 && findex[i] as usize != i;
        match (0..self.parts.len()).find(|&i| coupled(i) && self.part(i) != Part::None) {
            None => Ok(()),
            Some(i) => Err(Error::new(
                Status::InvalidState,
                format_args!("findex[{i}] is {}, but row {i} is in a friction cone", findex[i]),
            )),
        }
    }
}

/// A contact pushes only, and its tangents are bounded by their disc alone.
pub(super) fn check_bounds(part: Part, i: usize, lo: f64, hi: f64) -> Result<()> {
    match part {
        Part::Normal(_) if lo < 0.0 => Err(Error::new(
            Status::InvalidValue,
            format_args!("row {i} is the normal row of a friction cone, its lower bound {lo} must be >= 0"),
        )),
        Part::First(_) | Part::Second(_) if lo > f64::NEG_INFINITY || hi < f64::INFINITY => Err(Error::new(
            Status::InvalidValue,
            format_args!("row {i} is a tangent row of a friction cone, it may have no bounds of its own: [{lo}, {hi}]"),
        )),
        _ => Ok(()),
    }
}

/// Are two tangent impulses within the disc of this radius? The squares are rounded one by one: a caller gets the same
/// answer from the same comparison.
#[inline]
pub fn is_in_disc(z: [f64; 2], radius: f64) -> bool {
    z[0] * z[0] + z[1] * z[1] <= radius * radius
}

/// The point of the disc of this radius nearest to `z`; NaN where z is.
#[inline]
pub fn project_disc(z: [f64; 2], radius: f64) -> [f64; 2] {
    let size = z[0].hypot(z[1]);
    if size <= radius {
        return z;
    }
    if size < f64::INFINITY {
        // Divided first: the product may overflow.
        return [radius * (z[0] / size), radius * (z[1] / size)];
    }
    // Too long for its length to be a number, or NaN.
    let [p, q] = z.map(|v| (0.25 * v).clamp(-0.25 * f64::MAX, 0.25 * f64::MAX));
    let size = p.hypot(q);
    [radius * (p / size), radius * (q / size)]
}
