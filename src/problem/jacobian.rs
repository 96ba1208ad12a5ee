//! A = J M⁻¹ Jᵀ + C from two-body rows, never formed.
//!
//! Each body's inverse mass matrix is factored once, `M⁻¹ = L Lᵀ`, and the rows are stored *whitened*: `K = J L`, so
//! that `A = K Kᵀ + C`. A sweep or product then reads 12 doubles per row instead of 24, mass ratios disappear from the
//! velocity-space matrices, and bodies with zero inverse mass need no special case. The whitened velocity change of
//! impulses x is `y = Kᵀ x`; the true one is `L y`.
//!
//! Rows that touch the world point at one extra body slot whose entries are zero, which spares the kernels a branch.

use super::check::{finite, length, product};
use super::row_products;
use crate::error::{Error, Result, Status};
use crate::linalg::Two;
use crate::memory::reserve;
use nalgebra::{Matrix3, Vector3};

/// Doubles per constraint row.
pub const ROW_LEN: usize = 12;
/// Doubles per body in `inverse_mass`.
pub const BODY_LEN: usize = 12;

/// An inverse inertia may be unsymmetric or indefinite by this fraction of its own size: single-precision engines.
const INERTIA_NOISE: f64 = 1e-5;
/// Where all entries of J and M⁻¹ are smaller, no sum of products in J M⁻¹ Jᵀ overflows.
const SMALL_ENTRY: f64 = 1e75;
const SMALL_MASS: f64 = 1e150;
/// A Cholesky pivot below this fraction of its diagonal is a locked direction.
const LOCKED: f64 = 1e-12;

/// A whitened row and the body slots it acts on.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// `J L`: six entries on the first body, six on the second; zeros for the world.
    pub k: [f64; ROW_LEN],
    /// Body slots; the slot [`Jacobian::bodies`] is the world.
    pub body: [u32; 2],
}

impl Row {
    /// `K_i y`.
    #[inline]
    pub fn dot(&self, y: &[f64]) -> f64 {
        let (y, _) = y.as_chunks::<6>();
        dot(&self.k, &y[self.body[0] as usize], &y[self.body[1] as usize])
    }

    /// `y += K_iᵀ x_i`.
    #[inline]
    pub fn add(&self, x: f64, y: &mut [f64]) {
        let (y, _) = y.as_chunks_mut::<6>();
        let (k, _) = self.k.as_chunks::<6>();
        let x = Two::both(x);
        for (k, &body) in k.iter().zip(&self.body) {
            let (y, _) = y[body as usize].as_chunks_mut::<2>();
            let (k, _) = k.as_chunks::<2>();
            for c in 0..3 {
                Two::load(&y[c]).add_product(Two::load(&k[c]), x).store(&mut y[c]);
            }
        }
    }

    /// `K_i K_jᵀ`: what an impulse in one row does to the velocity of the other.
    #[inline]
    pub fn coupling(&self, other: &Row) -> f64 {
        if self.body == other.body {
            let (k, _) = other.k.as_chunks::<6>();
            return dot(&self.k, &k[0], &k[1]);
        }
        let mut a = 0.0;
        for s in 0..2 {
            for t in 0..2 {
                if self.body[s] == other.body[t] {
                    a += (0..6).map(|c| self.k[6 * s + c] * other.k[6 * t + c]).sum::<f64>();
                }
            }
        }
        a
    }
}

/// A row's twelve entries times six and six others.
#[inline(always)]
fn dot(k: &[f64; ROW_LEN], p: &[f64; 6], q: &[f64; 6]) -> f64 {
    let (k, _) = k.as_chunks::<2>();
    let ((p, _), (q, _)) = (p.as_chunks::<2>(), q.as_chunks::<2>());
    let at = |c: usize, y: &[f64; 2]| Two::load(&k[c]) * Two::load(y);
    // Few steps one after the other: the next row waits for the result.
    (((at(0, &p[0]) + at(1, &p[1])) + (at(2, &p[2]) + at(3, &q[0]))) + (at(4, &q[1]) + at(5, &q[2]))).sum()
}

/// Two-body constraint rows.
#[derive(Debug, Default)]
pub struct Jacobian {
    /// As given, for those who record problems.
    inverse_mass: Vec<f64>,
    /// L of every body, and that of the next rows in the making.
    root: Vec<Root>,
    next_root: Vec<Root>,
    /// Rows as given, for velocities of bodies that no impulse can move.
    raw: Vec<[f64; ROW_LEN]>,
    rows: Vec<Row>,
    compliance: Vec<f64>,
    /// Free velocity of every body, kept for its capacity.
    motion: Vec<f64>,
}

/// Lower Cholesky factor of a body's inverse mass matrix.
#[derive(Clone, Copy, Debug)]
struct Root {
    linear: Vector3<f64>,
    angular: Matrix3<f64>,
}

impl Root {
    /// From three inverse masses and nine inverse inertia entries.
    fn new(body: usize, m: &[f64]) -> Result<Root> {
        let invalid = |k: usize, why: &str| {
            Error::new(
                Status::InvalidValue,
                format_args!("inverse_mass[{}] (body {body}) is {}: {why}", 12 * body + k, m[k]),
            )
        };
        if let Some(k) = (0..3).find(|&k| m[k] < 0.0) {
            return Err(invalid(k, "an inverse mass must be >= 0"));
        }
        let given = Matrix3::from_row_slice(&m[3..12]);
        let inertia = (given + given.transpose()) * 0.5;
        let size = inertia.diagonal().amax();
        if (given - inertia).amax() > INERTIA_NOISE * size {
            return Err(invalid(3, "the inverse inertia must be symmetric"));
        }
        let mut angular = Matrix3::zeros();
        for j in 0..3 {
            let pivot = inertia[(j, j)] - (0..j).map(|k| angular[(j, k)] * angular[(j, k)]).sum::<f64>();
            if pivot < -INERTIA_NOISE * size {
                return Err(invalid(3 + 4 * j, "the inverse inertia must be positive semidefinite"));
            }
            let locked = pivot <= LOCKED * inertia[(j, j)];
            angular[(j, j)] = if locked { 0.0 } else { pivot.sqrt() };
            for i in j + 1..3 {
                let rest = inertia[(i, j)] - (0..j).map(|k| angular[(i, k)] * angular[(j, k)]).sum::<f64>();
                if locked && rest.abs() > INERTIA_NOISE.sqrt() * size {
                    return Err(invalid(3 + 4 * j, "the inverse inertia must be positive semidefinite"));
                }
                angular[(i, j)] = if locked { 0.0 } else { rest / angular[(j, j)] };
            }
        }
        Ok(Root { linear: Vector3::new(m[0].sqrt(), m[1].sqrt(), m[2].sqrt()), angular })
    }

    /// `Lᵀ p`: a row's six entries whitened, or an impulse on the body.
    #[inline]
    fn whiten(&self, p: &[f64; 6]) -> [f64; 6] {
        let (m, l) = (&self.linear, &self.angular);
        // Above its diagonal L is zero.
        let angular = [l.m11 * p[3] + l.m21 * p[4] + l.m31 * p[5], l.m22 * p[4] + l.m32 * p[5], l.m33 * p[5]];
        [m.x * p[0], m.y * p[1], m.z * p[2], angular[0], angular[1], angular[2]]
    }

    /// `L y`: back to a true velocity.
    fn unwhiten(&self, y: &mut [f64]) {
        let linear = self.linear.component_mul(&Vector3::from_column_slice(&y[..3]));
        let angular = self.angular * Vector3::from_column_slice(&y[3..6]);
        y[..3].copy_from_slice(linear.as_slice());
        y[3..6].copy_from_slice(angular.as_slice());
    }
}

/// Refuse rows that do not fit the bodies. Returns whether all numbers are so small that no product overflows.
fn check(inverse_mass: &[f64], rows: &[f64], bodies: &[i32], compliance: Option<&[f64]>) -> Result<bool> {
    if !inverse_mass.len().is_multiple_of(BODY_LEN) {
        return Err(Error::new(
            Status::InvalidSize,
            format_args!("inverse_mass has length {}, expected 12 per body", inverse_mass.len()),
        ));
    }
    if !rows.len().is_multiple_of(ROW_LEN) {
        return Err(Error::new(
            Status::InvalidSize,
            format_args!("jacobian has length {}, expected 12 per row", rows.len()),
        ));
    }
    let (nb, n) = (inverse_mass.len() / BODY_LEN, rows.len() / ROW_LEN);
    if nb >= i32::MAX as usize || n >= i32::MAX as usize {
        return Err(Error::new(
            Status::InvalidSize,
            format_args!("{n} rows on {nb} bodies are more than 32 bits can name"),
        ));
    }
    length("bodies", bodies.len(), product("bodies", n, 2)?)?;
    // Most often one look settles it.
    let mut small = are_small(inverse_mass, SMALL_MASS) && are_small(rows, SMALL_ENTRY);
    if !small {
        finite("inverse_mass", inverse_mass)?;
        finite("jacobian", rows)?;
    }
    // One question for all; who fails it is looked for afterwards.
    let is_body = |&id: &i32| (id >= -1) & (id < nb as i32);
    if !bodies.iter().fold(true, |all, id| all & is_body(id)) {
        let k = bodies.iter().position(|id| !is_body(id)).unwrap_or(0);
        return Err(Error::new(Status::InvalidIndex, format_args!("bodies[{k}] is {}, outside -1..{nb}", bodies[k])));
    }
    if let Some(c) = compliance {
        length("compliance", c.len(), n)?;
        small &= are_small(c, SMALL_MASS);
        finite("compliance", c)?;
        if c.iter().fold(false, |any, &c| any | (c < 0.0)) {
            let i = c.iter().position(|&c| c < 0.0).unwrap_or(0);
            return Err(Error::new(Status::InvalidValue, format_args!("compliance[{i}] is {}, it must be >= 0", c[i])));
        }
    }
    Ok(small)
}

/// Are all these numbers finite and below `most` in size? All are looked at, several at once.
fn are_small(values: &[f64], most: f64) -> bool {
    values.iter().fold(true, |all, v| all & (v.abs() < most))
}

/// A row on one body twice acts by the sum of its halves.
fn add_halves(raw: &mut [f64; ROW_LEN]) {
    for c in 0..6 {
        raw[c] += raw[6 + c];
    }
}

/// `J L` of one row, whose halves have been added up if both are on one body.
#[inline(always)]
fn whitened(root: &[Root], raw: &[f64; ROW_LEN], pair: [i32; 2]) -> Row {
    let pair = [pair[0], if pair[1] == pair[0] { -1 } else { pair[1] }];
    let mut row = Row { k: [0.0; ROW_LEN], body: [root.len() as u32; 2] };
    let ((raw, _), (k, _)) = (raw.as_chunks::<6>(), row.k.as_chunks_mut::<6>());
    for half in 0..2 {
        if let Some(root) = root.get(pair[half] as usize) {
            row.body[half] = pair[half] as u32;
            k[half] = root.whiten(&raw[half]);
        }
    }
    row
}

/// Refuse rows whose entry on the diagonal of A overflows; those beside it are no larger.
fn check_diagonal(root: &[Root], rows: &[f64], bodies: &[i32], compliance: Option<&[f64]>) -> Result<()> {
    for (i, (raw, &pair)) in rows.as_chunks::<ROW_LEN>().0.iter().zip(bodies.as_chunks::<2>().0).enumerate() {
        let mut raw = *raw;
        if pair[0] == pair[1] {
            add_halves(&mut raw);
        }
        let row = whitened(root, &raw, pair);
        let own = row.coupling(&row) + compliance.map_or(0.0, |c| c[i]);
        if !(own.is_finite() && raw.iter().all(|v| v.is_finite())) {
            return Err(Error::new(
                Status::InvalidValue,
                format_args!("jacobian[{}] (row {i}): a_ii = J M^-1 J^T + C of that row overflows", ROW_LEN * i),
            ));
        }
    }
    Ok(())
}

impl Jacobian {
    pub(super) fn reserve(&mut self, rows: usize, bodies: usize) -> Result<()> {
        let motion = product("bodies", bodies.saturating_add(1), 6)?;
        reserve(&mut self.inverse_mass, product("bodies", bodies, BODY_LEN)?)?;
        reserve(&mut self.root, bodies)?;
        reserve(&mut self.next_root, bodies)?;
        reserve(&mut self.raw, rows)?;
        reserve(&mut self.rows, rows)?;
        reserve(&mut self.compliance, rows)?;
        reserve(&mut self.motion, motion)
    }

    /// Copy and whiten rows, and write the diagonal of A, for which there is memory. Rows that do not fit the bodies and
    /// bodies that are not physical are refused, and nothing has changed.
    pub(super) fn fill(
        &mut self,
        inverse_mass: &[f64],
        rows: &[f64],
        bodies: &[i32],
        compliance: Option<&[f64]>,
        diagonal: &mut Vec<f64>,
    ) -> Result<()> {
        let small = check(inverse_mass, rows, bodies, compliance)?;
        let (nb, n) = (inverse_mass.len() / BODY_LEN, rows.len() / ROW_LEN);
        self.reserve(n, nb)?;
        self.next_root.clear();
        for (k, m) in inverse_mass.chunks_exact(BODY_LEN).enumerate() {
            self.next_root.push(Root::new(k, m)?);
        }
        if !small {
            check_diagonal(&self.next_root, rows, bodies, compliance)?;
        }
        std::mem::swap(&mut self.root, &mut self.next_root);
        self.inverse_mass.clear();
        self.inverse_mass.extend_from_slice(inverse_mass);
        let ((given, _), (pairs, _)) = (rows.as_chunks::<ROW_LEN>(), bodies.as_chunks::<2>());
        self.raw.clear();
        self.raw.extend_from_slice(given);
        for (raw, _) in self.raw.iter_mut().zip(pairs).filter(|(_, pair)| pair[0] == pair[1]) {
            add_halves(raw);
        }
        self.compliance.clear();
        match compliance {
            Some(c) => self.compliance.extend_from_slice(c),
            None => self.compliance.resize(n, 0.0),
        }
        diagonal.clear();
        diagonal.resize(n, 0.0);
        let root = &self.root;
        self.rows.clear();
        let own = diagonal.iter_mut().zip(&self.compliance);
        self.rows.extend(self.raw.iter().zip(pairs).zip(own).map(|((raw, pair), (own, c))| {
            let row = whitened(root, raw, *pair);
            // While the row is at hand.
            *own = row.coupling(&row) + c;
            row
        }));
        Ok(())
    }

    /// Become these rows of another, on the bodies that they move, each of which has its `place` among them. They are to be
    /// solved: rows and masses as they were given stay where they are.
    pub(super) fn select(&mut self, whole: &Jacobian, rows: &[u32], bodies: &[u32], place: &[u32]) -> Result<()> {
        self.reserve(rows.len(), bodies.len())?;
        self.inverse_mass.clear();
        self.raw.clear();
        self.root.clear();
        self.root.extend(bodies.iter().map(|&body| whole.root[body as usize]));
        self.compliance.clear();
        self.compliance.extend(rows.iter().map(|&i| whole.compliance[i as usize]));
        self.rows.clear();
        self.rows.extend(rows.iter().map(|&i| {
            let Row { k, body } = whole.rows[i as usize];
            // A body that a row names and does not move may be another part's.
            let mut row = Row { k, body: [bodies.len() as u32; 2] };
            for half in 0..2 {
                if let Some(&place) = place.get(body[half] as usize).filter(|_| k[6 * half..][..6] != [0.0; 6]) {
                    row.body[half] = place;
                }
            }
            row
        }));
        Ok(())
    }

    /// Inverse masses as they were given, 12 per body.
    pub fn inverse_mass(&self) -> &[f64] {
        &self.inverse_mass
    }

    /// Rows as they were given, but for a row on one body twice, which has its halves added up.
    pub fn given_rows(&self) -> &[[f64; ROW_LEN]] {
        &self.raw
    }

    /// Number of bodies, the world not counted.
    pub fn bodies(&self) -> usize {
        self.root.len()
    }

    /// Doubles in a whitened velocity: six per body and six for the world slot.
    pub fn whitened_len(&self) -> usize {
        6 * (self.root.len() + 1)
    }

    /// The whitened rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// C, the diagonal of compliances.
    pub fn compliance(&self) -> &[f64] {
        &self.compliance
    }

    /// Entry (i, j) of A.
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        self.rows[i].coupling(&self.rows[j]) + if i == j { self.compliance[i] } else { 0.0 }
    }

    /// `y += Kᵀ x`.
    pub fn push(&self, x: &[f64], y: &mut [f64]) {
        row_products::push(&self.rows, x, y);
    }

    /// `w = K y`.
    pub fn pull(&self, y: &[f64], w: &mut [f64]) {
        row_products::pull(&self.rows, y, w);
    }

    /// `L y`, body by body.
    pub fn unwhiten(&self, y: &mut [f64]) {
        for (root, y) in self.root.iter().zip(y.chunks_exact_mut(6)) {
            root.unwhiten(y);
        }
    }

    /// `J v` with the rows as given, six velocities per body.
    pub fn row_velocities(&self, v: &[f64], out: &mut [f64]) {
        let of = |body: u32, j: &[f64]| match v.get(6 * body as usize..6 * body as usize + 6) {
            Some(v) => v.iter().zip(j).map(|(v, j)| v * j).sum(),
            None => 0.0,
        };
        for ((out, raw), row) in out.iter_mut().zip(&self.raw).zip(&self.rows) {
            *out = of(row.body[0], &raw[..6]) + of(row.body[1], &raw[6..]);
        }
    }

    /// `b = J (v + h M⁻¹ f)`, with the rows as given: bodies of infinite mass move too.
    pub(super) fn free_motion(&mut self, h: f64, v: &[f64], forces: Option<&[f64]>, b: &mut [f64]) {
        let Jacobian { root, raw, rows, motion, .. } = self;
        motion.clear();
        motion.extend_from_slice(v);
        // The world slot rests. Capacity for it was reserved with the rows.
        motion.resize(v.len() + 6, 0.0);
        if let Some(forces) = forces {
            for ((root, f), v) in root.iter().zip(forces.as_chunks::<6>().0).zip(motion.chunks_exact_mut(6)) {
                let mut dv = root.whiten(f);
                root.unwhiten(&mut dv);
                for c in 0..6 {
                    v[c] += h * dv[c];
                }
            }
        }
        for ((b, raw), row) in b.iter_mut().zip(raw.iter()).zip(rows.iter()) {
            *b = Row { k: *raw, body: row.body }.dot(motion);
        }
    }
}
