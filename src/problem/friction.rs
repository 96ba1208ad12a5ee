//! Friction rows take their bounds from a normal row.
//!
//! `hi_i = min(cap, mu_i max(x_f, 0))`, `lo_i = -hi_i` likewise, with f = findex(i). Two honest readings exist. *Coupled*:
//! the bounds follow the impulses, and an error is measured with the bounds at that very x. *Frozen*: the bounds are
//! evaluated once, at given normal impulses; ODE and Bullet's Dantzig do this, and so does the box friction of
//! Enzenhoefer et al. 2019.

use crate::error::{Error, Result, Status};
use crate::linalg::{at_least, at_most, fetch};
use crate::memory::{refill, reserve};

/// How friction bounds depend on normal impulses. Numbers are part of the ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrictionMode {
    /// Bounds follow the current iterate.
    #[default]
    Coupled = 0,
    /// Bounds are evaluated once, at the normal impulses given by `mlcp_problem_set_frozen_normals`.
    Frozen = 1,
}

const NONE: u32 = u32::MAX;

/// The coupling of a problem's rows; empty when there is none.
#[derive(Debug, Default)]
pub struct Friction {
    mode: FrictionMode,
    normal: Vec<u32>,
    mu: Vec<f64>,
    /// Half width of every friction row's bound once frozen.
    frozen: Vec<f64>,
    /// The impulses it was frozen at.
    frozen_at: Vec<f64>,
    /// The one before it was released.
    kept: Vec<f64>,
}

/// Refuse indices and coefficients that make no bounds.
pub(super) fn check(findex: &[i32], mu: &[f64], lo: &[f64], hi: &[f64]) -> Result<()> {
    let n = findex.len();
    for i in 0..n {
        let f = findex[i];
        if f < -1 || (f >= 0 && f as usize >= n) {
            return Err(Error::new(Status::InvalidIndex, format_args!("findex[{i}] is {f}, outside -1..{n}")));
        }
        if f == -1 || f as usize == i {
            continue;
        }
        let of_normal = findex[f as usize];
        if of_normal != -1 && of_normal != f {
            return Err(Error::new(
                Status::InvalidIndex,
                format_args!("findex[{i}] is {f}, but row {f} is a friction row itself"),
            ));
        }
        if mu[i].is_nan() || mu[i] < 0.0 {
            return Err(Error::new(Status::InvalidValue, format_args!("mu[{i}] is {}, it must be >= 0", mu[i])));
        }
        check_cap(i, lo[i], hi[i])?;
    }
    Ok(())
}

/// A friction row's own bounds only cap the coupled ones, so they must leave room for zero.
pub(super) fn check_cap(i: usize, lo: f64, hi: f64) -> Result<()> {
    if lo <= 0.0 && hi >= 0.0 {
        Ok(())
    } else {
        Err(Error::new(
            Status::InvalidValue,
            format_args!("row {i} is a friction row, its own bounds [{lo}, {hi}] must contain 0"),
        ))
    }
}

impl Friction {
    pub(super) fn reserve(&mut self, rows: usize, mode: FrictionMode) -> Result<()> {
        reserve(&mut self.normal, rows)?;
        reserve(&mut self.mu, rows)?;
        if mode == FrictionMode::Coupled {
            return Ok(());
        }
        reserve(&mut self.frozen, rows)?;
        reserve(&mut self.frozen_at, rows)?;
        reserve(&mut self.kept, rows)
    }

    pub(super) fn clear(&mut self) {
        self.normal.clear();
        self.mu.clear();
        self.frozen.clear();
        self.frozen_at.clear();
    }

    /// Memory for it has been reserved.
    pub(super) fn fill(&mut self, findex: &[i32], mu: &[f64], mode: FrictionMode) {
        self.clear();
        self.mode = mode;
        let coupled = |i: usize, f: i32| f >= 0 && f as usize != i;
        if findex.iter().enumerate().any(|(i, &f)| coupled(i, f)) {
            self.normal.extend(findex.iter().enumerate().map(|(i, &f)| if coupled(i, f) { f as u32 } else { NONE }));
            self.mu.extend_from_slice(mu);
        }
    }

    /// Become the friction of these rows of another; `place` has the place of each.
    pub(super) fn select(&mut self, whole: &Friction, rows: &[u32], place: &[u32]) -> Result<()> {
        self.clear();
        self.mode = whole.mode;
        if whole.is_set() {
            self.reserve(rows.len(), self.mode)?;
            let rows = rows.iter().map(|&i| i as usize);
            self.normal.extend(rows.clone().map(|i| whole.normal_of(i).map_or(NONE, |f| place[f])));
            self.mu.extend(rows.clone().map(|i| whole.mu[i]));
            self.frozen.extend(rows.clone().filter_map(|i| whole.frozen.get(i)));
            self.frozen_at.extend(rows.filter_map(|i| whole.frozen_at.get(i)));
        }
        Ok(())
    }

    fn require_frozen(&self) -> Result<()> {
        if self.is_set() && self.mode != FrictionMode::Frozen {
            return Err(Error::new(
                Status::InvalidState,
                format_args!("normals are frozen, but the friction mode is coupled"),
            ));
        }
        Ok(())
    }

    /// Freeze at width zero, and keep the old widths.
    pub(super) fn release(&mut self, rows: usize) -> Result<()> {
        self.require_frozen()?;
        let rows = if self.is_set() { rows } else { 0 };
        refill(&mut self.kept, rows, 0.0)?;
        std::mem::swap(&mut self.frozen, &mut self.kept);
        Ok(())
    }

    /// Back to the widths before the release.
    pub(super) fn restore(&mut self) {
        std::mem::swap(&mut self.frozen, &mut self.kept);
    }

    pub(super) fn freeze(&mut self, x: &[f64]) -> Result<()> {
        self.require_frozen()?;
        if self.is_set() {
            refill(&mut self.frozen, x.len(), 0.0)?;
            refill(&mut self.frozen_at, x.len(), 0.0)?;
            self.frozen_at.copy_from_slice(x);
            for i in 0..x.len() {
                if let Some(f) = self.normal_of(i) {
                    self.frozen[i] = reach(self.mu[i], x[f]);
                }
            }
        }
        Ok(())
    }

    /// Is any row coupled?
    pub fn is_set(&self) -> bool {
        !self.normal.is_empty()
    }

    /// Do bounds follow the iterate?
    pub fn is_live(&self) -> bool {
        self.is_set() && self.mode == FrictionMode::Coupled
    }

    /// How bounds depend on normal impulses.
    pub fn mode(&self) -> FrictionMode {
        self.mode
    }

    /// The normal row that bounds row `i`, if any.
    #[inline]
    pub fn normal_of(&self, i: usize) -> Option<usize> {
        self.normal.get(i).filter(|&&f| f != NONE).map(|&f| f as usize)
    }

    /// The coefficient of friction row `i`, 0 on other rows.
    pub fn mu_of(&self, i: usize) -> f64 {
        if self.normal_of(i).is_some() {
            self.mu[i]
        } else {
            0.0
        }
    }

    /// The impulses at which the bounds were frozen; empty if they were not.
    pub fn frozen_at(&self) -> &[f64] {
        &self.frozen_at
    }

    pub(super) fn check_ready(&self) -> Result<()> {
        if self.is_set() && self.mode == FrictionMode::Frozen && self.frozen.is_empty() {
            Err(Error::new(
                Status::InvalidState,
                format_args!("friction mode is frozen, but no normal impulses were given to freeze it at"),
            ))
        } else {
            Ok(())
        }
    }

    /// The bounds of all rows, whose own ones are `lo` and `hi`.
    pub(super) fn bounds<'a>(&'a self, lo: &'a [f64], hi: &'a [f64]) -> FrictionBounds<'a> {
        let coupled = self.mode == FrictionMode::Coupled;
        FrictionBounds { lo, hi, normal: &self.normal, width: if coupled { &self.mu } else { &self.frozen }, coupled }
    }
}

/// The bounds of all rows, friction rows as their normal rows have it; made once and asked in every row visit.
#[derive(Clone, Copy)]
pub struct FrictionBounds<'a> {
    lo: &'a [f64],
    hi: &'a [f64],
    normal: &'a [u32],
    /// The coefficients if the bounds are coupled, else half their widths.
    width: &'a [f64],
    coupled: bool,
}

impl FrictionBounds<'_> {
    /// Those of row `i` when the impulses are `x`.
    #[inline(always)]
    pub fn at(&self, i: usize, x: &[f64]) -> (f64, f64) {
        let (lo, hi) = (self.lo[i], self.hi[i]);
        match self.normal.get(i) {
            Some(&f) if f != NONE => {
                let half = if self.coupled { reach(self.width[i], x[f as usize]) } else { self.width[i] };
                (at_least(lo, -half), at_most(hi, half))
            }
            _ => (lo, hi),
        }
    }
}

impl<'a> FrictionBounds<'a> {
    /// Bounds that follow nothing.
    pub fn fixed(lo: &'a [f64], hi: &'a [f64]) -> Self {
        FrictionBounds { lo, hi, normal: &[], width: &[], coupled: false }
    }

    /// The rows' own bounds.
    #[inline(always)]
    pub fn own(&self) -> (&'a [f64], &'a [f64]) {
        (self.lo, self.hi)
    }

    /// Do any rows follow others?
    #[inline(always)]
    pub fn has_friction(&self) -> bool {
        !self.normal.is_empty()
    }

    /// The coefficients if the bounds are coupled, else half their widths; of rows that follow others.
    #[inline(always)]
    pub fn width(&self) -> &'a [f64] {
        self.width
    }

    /// Do the bounds follow the current impulses?
    #[inline(always)]
    pub fn is_coupled(&self) -> bool {
        self.coupled
    }

    /// Fetch what [`FrictionBounds::at`] reads of row `i` and its neighbours, but for [`FrictionBounds::fetch_normal`].
    #[inline(always)]
    pub fn fetch(&self, i: usize) {
        [self.lo, self.hi].iter().for_each(|v| fetch(&v[i]));
        self.width.get(i).into_iter().for_each(fetch);
    }

    /// Fetch which row is row `i`'s normal row.
    #[inline(always)]
    pub fn fetch_normal(&self, i: usize) {
        self.normal.get(i).into_iter().for_each(fetch);
    }
}

/// `mu · max(x_n, 0)`, with inf · 0 = 0: an open contact does not rub, however rough.
#[inline(always)]
pub(super) fn reach(mu: f64, normal: f64) -> f64 {
    at_least(mu * normal, 0.0)
}
