//! `K Kᵀ` formed from two-body rows, as a tableau: for small problems.
//!
//! Neighbouring rows on the same two bodies, those of a joint or a contact, form a group. Of each group K is stored four
//! rows at a time by columns, so that a row's products with four others that share a body are one vector.

use super::jacobian::{Jacobian, Row};
use crate::error::{refill, reserve, Result};
use crate::linalg::Tableau;
use pulp::{Arch, Simd, WithSimd};

/// Rows that are treated together.
const FOUR: usize = Tableau::ROOM + 1;
const NONE: u32 = u32::MAX;

/// Four rows of K by columns, those of the first body and those of the second; zeros for rows that are not there.
type Quad = [[[f64; FOUR]; 6]; 2];

/// Memory for forming it.
#[derive(Default)]
pub struct Gram {
    groups: Vec<Group>,
    /// K of the groups, one after the other.
    quads: Vec<Quad>,
    /// Groups of a body, last first: `head` of the list and the next of each entry, which is twice the group plus its half.
    head: Vec<u32>,
    next: Vec<u32>,
    arch: Arch,
}

/// Neighbouring rows on the same bodies.
#[derive(Clone, Copy)]
struct Group {
    first: usize,
    len: usize,
    body: [u32; 2],
    /// Where its K begins.
    quad: usize,
}

impl Gram {
    /// Take memory for up to `rows` rows on `bodies` bodies.
    pub fn reserve(&mut self, rows: usize, bodies: usize) -> Result<()> {
        reserve(&mut self.groups, rows)?;
        reserve(&mut self.quads, rows)?;
        reserve(&mut self.head, bodies)?;
        reserve(&mut self.next, rows.saturating_mul(2))
    }

    /// Add `K Kᵀ` of the rows in `order` to a tableau of as many.
    pub fn add_to(&mut self, tableau: &mut Tableau, jacobian: &Jacobian, order: &[u32]) -> Result<()> {
        let (rows, world) = (jacobian.rows(), jacobian.bodies());
        self.reserve(order.len(), world)?;
        self.groups.clear();
        self.quads.clear();
        for (p, &i) in order.iter().enumerate() {
            let Row { k, body } = &rows[i as usize];
            let place = match self.groups.last_mut() {
                Some(group) if group.body == *body => {
                    group.len += 1;
                    (group.len - 1) % FOUR
                }
                _ => {
                    self.groups.push(Group { first: p, len: 1, body: *body, quad: self.quads.len() });
                    0
                }
            };
            if place == 0 {
                self.quads.push([[[0.0; FOUR]; 6]; 2]);
            }
            if let Some(quad) = self.quads.last_mut() {
                for (column, k) in quad.as_flattened_mut().iter_mut().zip(k) {
                    column[place] = *k;
                }
            }
        }
        refill(&mut self.head, world, NONE)?;
        refill(&mut self.next, 2 * self.groups.len(), NONE)?;
        let Gram { groups, quads, head, next, arch } = self;
        let (out, stride) = tableau.rows_mut();
        arch.dispatch(Add { groups, quads, head, next, rows, order, out, stride });
        Ok(())
    }
}

struct Add<'a> {
    groups: &'a [Group],
    quads: &'a [Quad],
    head: &'a mut [u32],
    next: &'a mut [u32],
    rows: &'a [Row],
    order: &'a [u32],
    out: &'a mut [f64],
    stride: usize,
}

impl WithSimd for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Add { groups, quads, head, next, rows, order, out, stride } = self;
        for (g, mine) in groups.iter().enumerate() {
            let quads = &quads[mine.quad..][..mine.len.div_ceil(FOUR)];
            for half in 0..2 {
                let mut at = head.get(mine.body[half] as usize).copied().unwrap_or(NONE);
                while at != NONE {
                    let (other, theirs) = (&groups[at as usize / 2], at as usize % 2);
                    let out = out[other.first * stride..].chunks_exact_mut(stride);
                    for (out, &i) in out.zip(&order[other.first..][..other.len]) {
                        let (k, _) = rows[i as usize].k.as_chunks::<6>();
                        let k = k[theirs].map(|k| simd.splat_f64s(k));
                        let (out, _) = out[mine.first..].as_chunks_mut::<FOUR>();
                        for (out, quad) in out.iter_mut().zip(quads) {
                            add_products(simd, out, &k, &quad[half]);
                        }
                    }
                    at = next[at as usize];
                }
            }
            // Among themselves they share both bodies.
            let out = out[mine.first * stride..].chunks_exact_mut(stride);
            for (r, (out, &i)) in out.zip(&order[mine.first..][..mine.len]).enumerate() {
                let k = rows[i as usize].k.map(|k| simd.splat_f64s(k));
                let before = r / FOUR;
                let (out, _) = out[mine.first + FOUR * before..].as_chunks_mut::<FOUR>();
                for (out, quad) in out.iter_mut().zip(&quads[before..]) {
                    add_products(simd, out, &k, quad.as_flattened());
                }
            }
            for (half, &body) in mine.body.iter().enumerate() {
                if let Some(head) = head.get_mut(body as usize) {
                    next[2 * g + half] = *head;
                    *head = (2 * g + half) as u32;
                }
            }
        }
    }
}

/// `out += Σ_c k_c columns_c`.
#[inline(always)]
fn add_products<S: Simd>(simd: S, out: &mut [f64; FOUR], k: &[S::f64s], columns: &[[f64; FOUR]]) {
    let (vectors, rest) = S::as_mut_simd_f64s(out);
    let whole = FOUR - rest.len();
    for (j, vector) in vectors.iter_mut().enumerate() {
        let mut sum = *vector;
        for (&k, column) in k.iter().zip(columns) {
            let (column, _) = S::as_simd_f64s(column);
            sum = simd.mul_add_e_f64s(k, column[j], sum);
        }
        *vector = sum;
    }
    // Where a vector is longer than that.
    for (&k, column) in k.iter().zip(columns) {
        let k = simd.reduce_max_f64s(k);
        for (entry, &column) in rest.iter_mut().zip(&column[whole..]) {
            *entry += k * column;
        }
    }
}
