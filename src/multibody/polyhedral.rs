//! Friction cones cut into facets: the LCP of Lu et al. 2013, eq. 19, made from a problem with friction rows.
//!
//! Per contact the two friction rows t1, t2 give way to n_d components α_k >= 0 along d_k = cos θ_k t1 + sin θ_k t2, and
//! a sliding speed s >= 0 joins them:
//!
//! ```text
//! w_α = D' (A x + b)_t + s e >= 0  ⊥  α >= 0        w_s = mu p_n - e' α >= 0  ⊥  s >= 0        x_t = D α
//! ```
//!
//! The unknowns are z = (rows that are no friction rows, as they come; α, contact by contact; s). The matrix is not
//! symmetric and s has a zero diagonal, so only the natural residual judges it. It is `Tᵀ A T` with x = T z, plus the
//! entries of s; hence it can be had from any form of A, the mixed ones included.
//!
//! *Inscribed* polygons (the paper's) have their corners on the circle |x_t| = mu p_n, *circumscribed* ones touch it with
//! their edges; the two approach the cone from inside and outside as 1/n_d², the direction of sliding friction as 1/n_d.
//! With n_d = 4 and the same axes the
//! inscribed one is the diamond |x_1| + |x_2| <= mu p_n, and the circumscribed one is the box |x_i| <= mu p_n: the
//! coupled friction of [`crate::problem`] itself.

use crate::error::{Error, Result, Status};
use crate::memory::refill;
use crate::problem::{Cone, Problem};

/// More facets than this cannot be told from a circle at any tolerance that matters.
pub const MOST_FACETS: usize = 256;

/// How a friction circle becomes a polygon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polygon {
    /// Corners on the circle, the first on the first friction row's axis.
    Inscribed(usize),
    /// Edges touch the circle, the first across the first friction row's axis.
    Circumscribed(usize),
}

impl Polygon {
    /// Number of corners, which is n_d.
    pub fn facets(self) -> usize {
        match self {
            Polygon::Inscribed(n) | Polygon::Circumscribed(n) => n,
        }
    }

    /// Corner `k` for mu p_n = 1.
    fn corner(self, k: usize) -> [f64; 2] {
        match self {
            Polygon::Inscribed(n) => on_circle(k, n),
            Polygon::Circumscribed(n) => {
                let radius = 1.0 / (std::f64::consts::PI / n as f64).cos();
                on_circle(2 * k + 1, 2 * n).map(|c| c * radius)
            }
        }
    }
}

/// The point at `k / n` of a turn, exact on the axes and diagonals.
fn on_circle(k: usize, n: usize) -> [f64; 2] {
    let root = std::f64::consts::FRAC_1_SQRT_2;
    if (8 * k).is_multiple_of(n) {
        return [
            [1.0, 0.0],
            [root, root],
            [0.0, 1.0],
            [-root, root],
            [-1.0, 0.0],
            [-root, -root],
            [0.0, -1.0],
            [root, -root],
        ][8 * k / n % 8];
    }
    let (sin, cos) = (std::f64::consts::TAU * k as f64 / n as f64).sin_cos();
    [cos, sin]
}

/// A contact of the source problem.
#[derive(Clone, Copy, Debug)]
struct Contact {
    normal: usize,
    tangents: [usize; 2],
    /// One friction row: a contact in the plane.
    planar: bool,
    mu: f64,
    /// First α in z.
    first: usize,
}

/// The map between a problem with friction rows and its polyhedral LCP. Keeps its memory.
#[derive(Debug, Default)]
pub struct Polyhedral {
    rows: usize,
    contacts: Vec<Contact>,
    /// Corners of the polygon; two opposite ones for planar contacts.
    corners: Vec<[f64; 2]>,
    /// Per row of the source: its place in z, or `NONE` for a friction row.
    place: Vec<usize>,
    /// Per row of the source: its contact, if it is a friction row.
    contact_of: Vec<usize>,
    len: usize,
    work: Vec<f64>,
    marks: Vec<bool>,
    touched: Vec<usize>,
    combined: [Vec<(usize, f64)>; 2],
    row_start: Vec<i32>,
    columns: Vec<i32>,
    values: Vec<f64>,
    b: Vec<f64>,
    lo: Vec<f64>,
    hi: Vec<f64>,
}

const NONE: usize = usize::MAX;

/// The two corners of a contact in the plane.
const LINE: [[f64; 2]; 2] = [[1.0, 0.0], [-1.0, 0.0]];

impl Polyhedral {
    /// Refill `out` with the LCP of `source`, whose friction rows come one or two to a normal row.
    pub fn fill(&mut self, source: &Problem, polygon: Polygon, out: &mut Problem) -> Result<()> {
        let facets = polygon.facets();
        if !(3..=MOST_FACETS).contains(&facets) {
            return Err(Error::new(
                Status::InvalidValue,
                format_args!("facets is {facets}, it must be within 3..={MOST_FACETS}"),
            ));
        }
        self.corners.clear();
        self.corners.extend((0..facets).map(|k| polygon.corner(k)));
        self.find_contacts(source)?;
        self.assemble(source)?;
        out.set_csr(self.len, &self.row_start, &self.columns, &self.values)?;
        out.set_b(&self.b)?;
        out.set_bounds(&self.lo, &self.hi)
    }

    /// Number of contacts.
    pub fn contacts(&self) -> usize {
        self.contacts.len()
    }

    /// Where the sliding speeds begin in z; one per contact, in the order of their normal rows' first friction rows.
    pub fn first_speed(&self) -> usize {
        self.len - self.contacts.len()
    }

    /// Impulses of the source problem, `x = T z`.
    pub fn to_rows(&self, z: &[f64], x: &mut [f64]) -> Result<()> {
        for (name, found, expected) in [("z", z.len(), self.len), ("out_x", x.len(), self.rows)] {
            if found != expected {
                return Err(Error::new(
                    Status::InvalidSize,
                    format_args!("{name} has length {found}, expected {expected}"),
                ));
            }
        }
        for (i, x) in x.iter_mut().enumerate() {
            *x = match self.place[i] {
                NONE => {
                    let contact = &self.contacts[self.contact_of[i]];
                    let axis = usize::from(!contact.planar && contact.tangents[1] == i);
                    self.facets(contact).map(|(at, corner)| corner[axis] * z[at]).sum()
                }
                place => z[place],
            };
        }
        Ok(())
    }

    /// Places in z of a contact's α, with the corners they stand for.
    fn facets<'a>(&'a self, contact: &'a Contact) -> impl Iterator<Item = (usize, [f64; 2])> + 'a {
        let corners: &[[f64; 2]] = if contact.planar { &LINE } else { &self.corners };
        corners.iter().enumerate().map(|(k, &corner)| (contact.first + k, corner))
    }

    /// Contacts with exact cones come first, then friction rows grouped by their normals; and the layout of z.
    fn find_contacts(&mut self, source: &Problem) -> Result<()> {
        let n = source.len();
        self.rows = n;
        self.contacts.clear();
        refill(&mut self.place, n, NONE)?;
        refill(&mut self.contact_of, n, NONE)?;
        let friction = source.friction();
        let refuse =
            |i: usize, why: &str| Err(Error::new(Status::Unsupported, format_args!("friction row {i}: {why}")));
        for cone in source.cones().list() {
            if !cone.mu.is_finite() {
                return refuse(cone.tangents[0], "infinite friction has no polyhedral form");
            }
            for row in [cone.normal, cone.tangents[0], cone.tangents[1]] {
                self.contact_of[row] = self.contacts.len();
            }
            let Cone { normal, tangents, mu } = *cone;
            self.contacts.push(Contact { normal, tangents, planar: false, mu, first: 0 });
        }
        for i in 0..n {
            let Some(normal) = friction.normal_of(i) else { continue };
            let (lo, hi) = source.own_bounds(i);
            if lo != f64::NEG_INFINITY || hi != f64::INFINITY {
                return refuse(i, "a friction row with bounds of its own has no polyhedral form");
            }
            if source.own_bounds(normal).0 < 0.0 {
                return refuse(i, "its normal row may pull, so it has no friction cone");
            }
            let mu = friction.mu_of(i);
            if !mu.is_finite() {
                return refuse(i, "infinite friction has no polyhedral form");
            }
            // contact_of of a normal row tells the contact it belongs to.
            match self.contact_of[normal] {
                NONE => {
                    self.contact_of[normal] = self.contacts.len();
                    let tangents = [i; 2];
                    self.contacts.push(Contact { normal, tangents, planar: true, mu, first: 0 });
                }
                c => {
                    let contact = &mut self.contacts[c];
                    if !contact.planar {
                        return refuse(i, "a third friction row on one normal row has no polyhedral form");
                    }
                    if mu != contact.mu {
                        return refuse(i, "its coefficient differs from that of the other friction row");
                    }
                    contact.tangents[1] = i;
                    contact.planar = false;
                }
            }
            self.contact_of[i] = self.contact_of[normal];
        }
        let mut len = 0;
        for i in 0..n {
            if friction.normal_of(i).is_none() && !source.cones().is_tangent(i) {
                self.place[i] = len;
                len += 1;
            }
        }
        for contact in &mut self.contacts {
            contact.first = len;
            len += if contact.planar { 2 } else { self.corners.len() };
        }
        self.len = len + self.contacts.len();
        Ok(())
    }

    fn assemble(&mut self, source: &Problem) -> Result<()> {
        let (n, len) = (source.len(), self.len);
        refill(&mut self.work, len, 0.0)?;
        refill(&mut self.marks, len, false)?;
        refill(&mut self.b, len, 0.0)?;
        refill(&mut self.lo, len, 0.0)?;
        refill(&mut self.hi, len, f64::INFINITY)?;
        self.row_start.clear();
        self.row_start.push(0);
        self.columns.clear();
        self.values.clear();
        for i in 0..n {
            let place = self.place[i];
            if place == NONE {
                continue;
            }
            self.b[place] = source.b()[i];
            (self.lo[place], self.hi[place]) = source.own_bounds(i);
            let row = self.transformed(source, i, 0);
            self.push_row(&[(1.0, row)], None)?;
        }
        for c in 0..self.contacts.len() {
            let contact = self.contacts[c];
            let speed = self.first_speed() + c;
            let rows = [0, 1].map(|t| self.transformed(source, contact.tangents[t], t));
            let count = self.facets(&contact).count();
            for k in 0..count {
                let at = contact.first + k;
                let corner = if contact.planar { LINE[k] } else { self.corners[k] };
                // A planar contact has its one friction row twice; the second corner coordinate is then 0.
                self.b[at] = (0..2).map(|t| corner[t] * source.b()[contact.tangents[t]]).sum();
                self.push_row(&[(corner[0], rows[0]), (corner[1], rows[1])], Some((speed, 1.0)))?;
            }
        }
        for c in 0..self.contacts.len() {
            let contact = self.contacts[c];
            self.columns.push(self.place[contact.normal] as i32);
            self.values.push(contact.mu);
            let count = self.facets(&contact).count();
            for k in 0..count {
                self.columns.push((contact.first + k) as i32);
                self.values.push(-1.0);
            }
            self.row_start.push(self.columns.len() as i32);
        }
        Ok(())
    }

    /// Row `i` of `A T`, kept in `combined[slot]`; returns the slot.
    fn transformed(&mut self, source: &Problem, i: usize, slot: usize) -> usize {
        let mut row = std::mem::take(&mut self.combined[slot]);
        row.clear();
        source.for_each_entry(i, &mut |j, a| match self.place[j] {
            NONE => {
                let contact = &self.contacts[self.contact_of[j]];
                let axis = usize::from(!contact.planar && contact.tangents[1] == j);
                row.extend(self.facets(contact).map(|(at, corner)| (at, corner[axis] * a)));
            }
            place => row.push((place, a)),
        });
        self.combined[slot] = row;
        slot
    }

    /// Append the sum of scaled rows, and one entry more.
    fn push_row(&mut self, parts: &[(f64, usize)], more: Option<(usize, f64)>) -> Result<()> {
        let Polyhedral { work, marks, touched, combined, columns, values, row_start, .. } = self;
        touched.clear();
        let entries = parts.iter().flat_map(|&(scale, slot)| combined[slot].iter().map(move |&(j, a)| (j, scale * a)));
        for (j, a) in entries.chain(more) {
            if !marks[j] {
                marks[j] = true;
                touched.push(j);
            }
            work[j] += a;
        }
        touched.sort_unstable();
        for &j in touched.iter() {
            if work[j] != 0.0 {
                columns.push(j as i32);
                values.push(work[j]);
            }
            work[j] = 0.0;
            marks[j] = false;
        }
        let end = i32::try_from(columns.len()).map_err(|_| {
            Error::new(Status::InvalidSize, format_args!("the polyhedral problem has more than 2^31 entries"))
        })?;
        row_start.push(end);
        Ok(())
    }
}
