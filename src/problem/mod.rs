//! What to solve: one operator A (dense, CSR or Jacobian rows), b, bounds, friction coupling and friction cones.
//!
//! A problem is refilled every step. Choosing a matrix starts it anew (b = 0, every row free, no friction); every
//! buffer keeps its capacity, so a step no larger than an earlier one allocates nothing. Friction and cones take their
//! memory when they are first used, for the largest step so far. A call that fails leaves the problem as it was:
//! everything is checked before anything is written.

mod body_graph;
mod bounds;
mod check;
mod cones;
mod csr;
mod dense;
mod friction;
mod gram;
mod islands;
mod jacobian;
mod obeys;
mod round_off;
mod row_products;

pub use body_graph::BodyGraph;
pub use bounds::intervals;
pub use check::are_finite;
pub use cones::{project_disc, Cone, Cones, Part};
pub use csr::Csr;
pub use dense::{Dense, Triangle};
pub use friction::{Friction, FrictionBounds, FrictionMode};
pub use gram::Gram;
pub use islands::Islands;
pub use jacobian::{Jacobian, Row, BODY_LEN, ROW_LEN};
pub use round_off::gamma;

use crate::error::{Error, Result, Status};
use crate::memory::{refill, reserve};
use check::{finite, length};

/// Off-diagonal pairs may differ by this fraction of `sqrt(a_ii a_jj)` and still count as symmetric: engines that
/// compute A in single precision are off by 1e-7.
const SYMMETRY_TOLERANCE: f64 = 1e-6;

/// Up to this many rows a dense matrix stays one.
const ALWAYS_DENSE: usize = 128;
/// Beyond, one with at most this part of its entries is stored in compressed rows, zeros left out.
const MOSTLY_ZERO: usize = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Form {
    #[default]
    Dense,
    Csr,
    Jacobian,
}

/// The operator of a problem, as the solvers see it.
#[derive(Clone, Copy)]
pub enum Operator<'a> {
    /// All entries.
    Dense(&'a Dense),
    /// Compressed rows.
    Csr(&'a Csr),
    /// Two-body constraint rows.
    Jacobian(&'a Jacobian),
}

impl Operator<'_> {
    /// Entry (i, j) of A.
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        match self {
            Operator::Dense(a) => a.row(i)[j],
            Operator::Csr(a) => a.get(i, j),
            Operator::Jacobian(a) => a.entry(i, j),
        }
    }
}

/// All that a solver's memory depends on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    form: Form,
    rows: usize,
    bodies: usize,
    entries: usize,
    has_live_bounds: bool,
    has_cones: bool,
}

impl Extent {
    /// Is memory taken for `room` enough?
    pub fn fits(&self, room: &Extent) -> bool {
        self.form == room.form
            && self.rows <= room.rows
            && self.bodies <= room.bodies
            && self.entries <= room.entries
            && self.has_live_bounds <= room.has_live_bounds
            && self.has_cones <= room.has_cones
    }
}

/// One step's problem.
#[derive(Debug)]
pub struct Problem {
    form: Form,
    dense: Dense,
    csr: Csr,
    jacobian: Jacobian,
    symmetric: bool,
    is_dominated: bool,
    diagonal: Vec<f64>,
    b: Vec<f64>,
    /// b in the making.
    next_b: Vec<f64>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    friction: Friction,
    cones: Cones,
}

impl Default for Problem {
    fn default() -> Self {
        Self::new()
    }
}

impl Problem {
    /// An empty problem of no rows.
    pub fn new() -> Self {
        Problem {
            form: Form::Dense,
            dense: Dense::default(),
            csr: Csr::default(),
            jacobian: Jacobian::default(),
            symmetric: true,
            is_dominated: true,
            diagonal: Vec::new(),
            b: Vec::new(),
            next_b: Vec::new(),
            lo: Vec::new(),
            hi: Vec::new(),
            friction: Friction::default(),
            cones: Cones::default(),
        }
    }

    /// Take memory for Jacobian problems of up to `rows` rows on `bodies` bodies, so that no later refill of that size
    /// allocates.
    pub fn reserve(&mut self, rows: usize, bodies: usize) -> Result<()> {
        self.jacobian.reserve(rows, bodies)?;
        self.friction.reserve(rows, FrictionMode::Frozen)?;
        self.cones.reserve(rows)?;
        self.reserve_rows(rows)
    }

    fn reserve_rows(&mut self, rows: usize) -> Result<()> {
        for v in [&mut self.diagonal, &mut self.b, &mut self.next_b, &mut self.lo, &mut self.hi] {
            reserve(v, rows)?;
        }
        Ok(())
    }

    /// A as `n` rows of `row_stride` doubles, of which the first `n` count; with [`Triangle::Lower`] only `j <= i` is
    /// read and the rest mirrored. A large array that is mostly zeros is kept in compressed rows.
    pub fn set_dense(&mut self, n: usize, a: &[f64], row_stride: usize, triangle: Triangle) -> Result<()> {
        dense::check_size(n, a, row_stride)?;
        // A small triangle is checked while it is mirrored.
        let is_small_triangle = n <= ALWAYS_DENSE && triangle == Triangle::Lower;
        if !is_small_triangle {
            dense::check(n, a, row_stride, triangle)?;
        }
        self.reserve_rows(n)?;
        if n > ALWAYS_DENSE {
            // For both, so that a smaller matrix of the other sort finds its memory.
            self.dense.reserve(n)?;
            self.csr.reserve(n, mostly_zero(n))?;
            if dense::count(n, a, row_stride, triangle) + n <= mostly_zero(n) {
                self.csr.gather(n, a, row_stride, triangle)?;
                self.begin_csr(n);
                return Ok(());
            }
        }
        if is_small_triangle {
            self.dense.fill_lower(n, a, row_stride)?;
        } else {
            self.dense.fill(n, a, row_stride, triangle)?;
        }
        self.begin(Form::Dense, n);
        for (diagonal, &a) in self.diagonal.iter_mut().zip(self.dense.rows().iter().step_by(n + 1)) {
            *diagonal = a;
        }
        self.symmetric = triangle == Triangle::Lower || self.dense.is_symmetric(&self.diagonal, SYMMETRY_TOLERANCE);
        let (rows, diagonal) = (self.dense.rows().chunks_exact(n.max(1)), &self.diagonal);
        let is_dominated = |(own, row): (&f64, &[f64])| {
            round_off::row_is_dominated(*own, row.iter().copied().zip(diagonal.iter().copied()))
        };
        self.is_dominated = self.symmetric && diagonal.iter().zip(rows).fold(true, |all, row| all & is_dominated(row));
        Ok(())
    }

    /// A in compressed rows: `row_start` has n + 1 offsets, columns rise strictly within each row.
    pub fn set_csr(&mut self, n: usize, row_start: &[i32], columns: &[i32], values: &[f64]) -> Result<()> {
        csr::check(n, row_start, columns, values)?;
        self.reserve_rows(n)?;
        self.csr.fill(row_start, columns, values)?;
        self.begin_csr(n);
        Ok(())
    }

    fn begin_csr(&mut self, n: usize) {
        self.begin(Form::Csr, n);
        for i in 0..n {
            self.diagonal[i] = self.csr.get(i, i);
        }
        self.symmetric = self.csr.is_symmetric(&self.diagonal, SYMMETRY_TOLERANCE);
        let (csr, diagonal) = (&self.csr, &self.diagonal);
        let is_dominated =
            |i: usize| round_off::row_is_dominated(diagonal[i], csr.row(i).map(|(j, value)| (value, diagonal[j])));
        self.is_dominated = self.symmetric && (0..n).all(is_dominated);
    }

    /// `A = J M⁻¹ Jᵀ + C` from two-body rows. Per body 12 doubles: three inverse masses, then the world inverse inertia
    /// by rows. Per row 12 doubles: linear and angular part on the first body, then on the second; two body ids, -1 for
    /// the world; and a compliance (none: 0).
    pub fn set_jacobian(
        &mut self,
        inverse_mass: &[f64],
        rows: &[f64],
        bodies: &[i32],
        compliance: Option<&[f64]>,
    ) -> Result<()> {
        let n = rows.len() / ROW_LEN;
        self.reserve_rows(n)?;
        self.jacobian.fill(inverse_mass, rows, bodies, compliance, &mut self.diagonal)?;
        self.begin(Form::Jacobian, n);
        (self.symmetric, self.is_dominated) = (true, true);
        Ok(())
    }

    /// A fresh step of `n` rows: b = 0, every row free, no friction. Memory for it has been reserved.
    fn begin(&mut self, form: Form, n: usize) {
        self.form = form;
        // Whoever calls knows the diagonal.
        self.diagonal.resize(n, 0.0);
        for (v, value) in [(&mut self.b, 0.0), (&mut self.lo, f64::NEG_INFINITY), (&mut self.hi, f64::INFINITY)] {
            v.clear();
            v.resize(n, value);
        }
        self.friction.clear();
        self.cones.clear();
    }

    /// Set b of `w = A x + b`.
    pub fn set_b(&mut self, b: &[f64]) -> Result<()> {
        length("b", b.len(), self.len())?;
        finite("b", b)?;
        self.b.copy_from_slice(b);
        Ok(())
    }

    /// `b = J (v + h M⁻¹ f) + violation / h`: what the rows' velocities would be without any impulse (Enzenhoefer et
    /// al. 2019, eqs. 1-2). Six doubles per body in `velocities` and `forces`, linear then angular.
    pub fn set_motion(
        &mut self,
        h: f64,
        velocities: &[f64],
        forces: Option<&[f64]>,
        violation: Option<&[f64]>,
    ) -> Result<()> {
        if self.form != Form::Jacobian {
            return Err(Error::new(
                Status::InvalidState,
                format_args!("velocities and forces need a Jacobian problem; set b directly for a dense or CSR one"),
            ));
        }
        if !(h > 0.0 && h.is_finite()) {
            return Err(Error::new(
                Status::InvalidValue,
                format_args!("h is {h}, the step must be positive and finite"),
            ));
        }
        let twist = 6 * self.jacobian.bodies();
        length("velocities", velocities.len(), twist)?;
        finite("velocities", velocities)?;
        if let Some(f) = forces {
            length("forces", f.len(), twist)?;
            finite("forces", f)?;
        }
        if let Some(v) = violation {
            length("violation", v.len(), self.len())?;
            finite("violation", v)?;
        }
        // Finite arguments may still overflow: b is only replaced by what is known to be finite.
        refill(&mut self.next_b, self.b.len(), 0.0)?;
        self.jacobian.free_motion(h, velocities, forces, &mut self.next_b);
        for (i, b) in self.next_b.iter_mut().enumerate() {
            *b += violation.map_or(0.0, |v| v[i] / h);
            if !b.is_finite() {
                return Err(Error::new(
                    Status::InvalidValue,
                    format_args!("b[{i}] = J (v + h M^-1 f) + violation / h overflows with h = {h}"),
                ));
            }
        }
        std::mem::swap(&mut self.b, &mut self.next_b);
        Ok(())
    }

    /// Bounds of every row; infinite ones are absent, finite ones of any size hold. On a friction row they only cap the
    /// coupled bound.
    pub fn set_bounds(&mut self, lo: &[f64], hi: &[f64]) -> Result<()> {
        length("lo", lo.len(), self.len())?;
        length("hi", hi.len(), self.len())?;
        intervals(lo, hi)?;
        if self.friction.is_set() || self.has_cones() {
            for i in 0..lo.len() {
                let (l, h) = (lo[i], hi[i]);
                if self.friction.normal_of(i).is_some() {
                    friction::check_cap(i, l, h)?;
                }
                cones::check_bounds(self.cones.part(i), i, l, h)?;
            }
        }
        for (out, given) in [(&mut self.lo, lo), (&mut self.hi, hi)] {
            out.copy_from_slice(given);
        }
        Ok(())
    }

    /// Couple friction rows to normal rows: `|x_i| <= mu_i max(x_f, 0)` with `f = findex[i]`; -1 or i itself: none.
    pub fn set_friction(&mut self, findex: &[i32], mu: &[f64], mode: FrictionMode) -> Result<()> {
        length("findex", findex.len(), self.len())?;
        length("mu", mu.len(), self.len())?;
        friction::check(findex, mu, &self.lo, &self.hi)?;
        self.cones.check_friction(findex)?;
        self.friction.reserve(self.b.capacity(), mode)?;
        self.friction.fill(findex, mu, mode);
        Ok(())
    }

    /// Declare contacts with exact Coulomb friction: three rows each (normal, two tangents) and a coefficient. They
    /// replace all earlier cones; rows coupled by [`Self::set_friction`] stay so, and no row may be both.
    pub fn set_cones(&mut self, rows: &[i32], mu: &[f64]) -> Result<()> {
        self.cones.reserve(self.b.capacity())?;
        self.cones.fill(rows, mu, &self.lo, &self.hi, &self.friction)
    }

    /// The normal impulses at which [`FrictionMode::Frozen`] evaluates its bounds; read at normal rows only.
    pub fn set_frozen_normals(&mut self, x: &[f64]) -> Result<()> {
        length("x", x.len(), self.len())?;
        finite("x", x)?;
        self.friction.freeze(x)
    }

    /// Frozen friction of width zero, until the normals are set or [`Problem::restore_friction`] takes it back.
    pub fn release_friction(&mut self) -> Result<()> {
        self.friction.release(self.b.len())
    }

    /// Take [`Problem::release_friction`] back.
    pub fn restore_friction(&mut self) {
        self.friction.restore();
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.b.len()
    }

    /// No rows at all?
    pub fn is_empty(&self) -> bool {
        self.b.is_empty()
    }

    /// Number of bodies of a Jacobian problem, else 0.
    pub fn bodies(&self) -> usize {
        if self.form == Form::Jacobian {
            self.jacobian.bodies()
        } else {
            0
        }
    }

    /// How large the problem is.
    pub fn extent(&self) -> Extent {
        Extent {
            form: self.form,
            rows: self.len(),
            bodies: self.bodies(),
            entries: self.entry_room(),
            has_live_bounds: self.has_live_bounds(),
            has_cones: self.has_cones(),
        }
    }

    /// Entries in compressed rows that a matrix of this size may come to have.
    pub fn entry_room(&self) -> usize {
        match self.form {
            Form::Dense => mostly_zero(self.len()),
            Form::Csr => self.csr.room(),
            Form::Jacobian => 0,
        }
    }

    /// The operator A.
    pub fn operator(&self) -> Operator<'_> {
        match self.form {
            Form::Dense => Operator::Dense(&self.dense),
            Form::Csr => Operator::Csr(&self.csr),
            Form::Jacobian => Operator::Jacobian(&self.jacobian),
        }
    }

    /// Diagonal of A.
    pub fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    /// Has every row a positive diagonal, so that its error has an energy?
    pub fn has_energy(&self) -> bool {
        // All of them, several at once.
        self.diagonal.iter().fold(true, |all, &a| all & (a > 0.0))
    }

    /// The vector b.
    pub fn b(&self) -> &[f64] {
        &self.b
    }

    /// Is A symmetric, up to single-precision noise?
    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// The friction coupling.
    pub fn friction(&self) -> &Friction {
        &self.friction
    }

    /// The friction cones.
    pub fn cones(&self) -> &Cones {
        &self.cones
    }

    /// Has any contact exact Coulomb friction?
    pub fn has_cones(&self) -> bool {
        !self.cones.is_empty()
    }

    /// Do bounds depend on x?
    pub fn has_live_bounds(&self) -> bool {
        self.friction.is_live() || self.has_cones()
    }

    /// Are friction bounds `|x_i| <= mu_i x_n` and nothing else: no caps, and normals that cannot pull?
    pub fn has_plain_friction(&self) -> bool {
        (0..self.len()).all(|i| match self.friction.normal_of(i) {
            None => true,
            Some(f) => self.lo[i] == f64::NEG_INFINITY && self.hi[i] == f64::INFINITY && self.lo[f] >= 0.0,
        })
    }

    /// Can the bounds be evaluated? Frozen friction needs its normals first.
    pub fn check_ready(&self) -> Result<()> {
        self.friction.check_ready()
    }

    /// The bounds that were set for row `i`, without friction.
    pub fn own_bounds(&self, i: usize) -> (f64, f64) {
        (self.lo[i], self.hi[i])
    }

    /// Bounds of row `i` when the impulses are `x`. A cone's tangent rows: minus and plus the radius of their disc.
    #[inline]
    pub fn bounds_of(&self, i: usize, x: &[f64]) -> (f64, f64) {
        match self.cones.radius(i, x) {
            None => self.friction_bounds().at(i, x),
            Some(radius) => (-radius, radius),
        }
    }

    /// The bounds of all rows but a cone's tangents, for visits to many of them.
    #[inline]
    pub fn friction_bounds(&self) -> FrictionBounds<'_> {
        self.friction.bounds(&self.lo, &self.hi)
    }

    /// Bounds of every row when the impulses are `x`.
    pub fn bounds_at(&self, x: &[f64], lo: &mut [f64], hi: &mut [f64]) {
        lo.copy_from_slice(&self.lo);
        hi.copy_from_slice(&self.hi);
        if self.friction.is_set() || self.has_cones() {
            for i in 0..x.len() {
                (lo[i], hi[i]) = self.bounds_of(i, x);
            }
        }
    }

    /// The entries `(j, a_ij)` of row `i` in rising order of j; zeros may or may not be among them.
    pub fn for_each_entry(&self, i: usize, f: &mut dyn FnMut(usize, f64)) {
        match self.operator() {
            Operator::Dense(a) => a.row(i).iter().enumerate().filter(|(_, &a)| a != 0.0).for_each(|(j, &a)| f(j, a)),
            Operator::Csr(a) => a.row(i).for_each(|(j, a)| f(j, a)),
            Operator::Jacobian(a) => {
                let (mine, world) = (a.rows()[i].body, a.bodies() as u32);
                for (j, row) in a.rows().iter().enumerate() {
                    if j == i || row.body.iter().any(|b| *b != world && mine.contains(b)) {
                        f(j, a.entry(i, j));
                    }
                }
            }
        }
    }

    /// `w = A x + b`. `scratch` is only used by Jacobian problems and keeps its capacity.
    pub fn multiply(&self, x: &[f64], w: &mut [f64], scratch: &mut Vec<f64>) -> Result<()> {
        // Where every cold solve begins. Few are looked at several at once; of many the first mostly tells.
        let is_zero = |x: &[f64]| x.iter().fold(true, |all, &x| all & (x == 0.0));
        if x.chunks(FEW).all(is_zero) {
            w.copy_from_slice(&self.b);
            return if self.form == Form::Jacobian { reserve(scratch, self.jacobian.whitened_len()) } else { Ok(()) };
        }
        match self.form {
            Form::Dense => self.dense.multiply(x, w),
            Form::Csr => self.csr.multiply(x, w),
            Form::Jacobian => {
                refill(scratch, self.jacobian.whitened_len(), 0.0)?;
                self.jacobian.push(x, scratch);
                self.jacobian.pull(scratch, w);
                for ((w, x), c) in w.iter_mut().zip(x).zip(self.jacobian.compliance()) {
                    *w += c * x;
                }
            }
        }
        for (w, b) in w.iter_mut().zip(&self.b) {
            *w += b;
        }
        Ok(())
    }

    /// Body velocity changes `M⁻¹ Jᵀ x`, six per body. Jacobian problems only.
    pub fn velocity_change(&self, x: &[f64], out: &mut [f64], scratch: &mut Vec<f64>) -> Result<()> {
        if self.form != Form::Jacobian {
            return Err(Error::new(Status::InvalidState, format_args!("only a Jacobian problem knows its bodies")));
        }
        length("out_velocity_change", out.len(), 6 * self.jacobian.bodies())?;
        refill(scratch, self.jacobian.whitened_len(), 0.0)?;
        self.jacobian.push(x, scratch);
        self.jacobian.unwhiten(scratch);
        out.copy_from_slice(&scratch[..out.len()]);
        Ok(())
    }

    /// Write the lower triangle of A, column-major with leading dimension `n`; the rest is left alone.
    pub fn gather_dense(&self, out: &mut [f64], n: usize) {
        match self.form {
            Form::Dense => {
                for i in 0..n {
                    for (j, &a) in self.dense.row(i)[..=i].iter().enumerate() {
                        out[j * n + i] = a;
                    }
                }
            }
            Form::Csr => {
                clear_lower(out, n);
                for i in 0..n {
                    for (j, a) in self.csr.row(i).filter(|&(j, _)| j <= i) {
                        out[j * n + i] = a;
                    }
                }
            }
            Form::Jacobian => {
                for j in 0..n {
                    for i in j..n {
                        out[j * n + i] = self.jacobian.entry(i, j);
                    }
                }
            }
        }
    }
}

/// Numbers that are looked at together.
const FEW: usize = 64;

/// A dense matrix of n rows with at most so many entries is stored in compressed rows.
fn mostly_zero(n: usize) -> usize {
    if n > ALWAYS_DENSE {
        n / MOSTLY_ZERO * n
    } else {
        0
    }
}

fn clear_lower(out: &mut [f64], n: usize) {
    for j in 0..n {
        out[j * n + j..(j + 1) * n].fill(0.0);
    }
}
