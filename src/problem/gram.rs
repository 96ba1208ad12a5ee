//! `K Kᵀ` formed from two-body rows, as a tableau: for small problems.
//!
//! Neighbouring rows on the same two bodies, those of a joint or a contact, form a group. Of each group K is stored four
//! rows at a time by columns, so that a row's products with four others that share a body are one vector.

use super::jacobian::{Jacobian, Row, ROW_LEN};
use crate::error::Result;
use crate::linalg::{with_lanes, Kernel, Lanes, Tableau};
use crate::memory::{refill, reserve};
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
    /// Behind the last column that its rows have something in.
    end: usize,
}

impl Gram {
    /// Take memory for up to `rows` rows on `bodies` bodies.
    pub fn reserve(&mut self, rows: usize, bodies: usize) -> Result<()> {
        reserve(&mut self.groups, rows)?;
        reserve(&mut self.quads, rows)?;
        reserve(&mut self.head, bodies)?;
        reserve(&mut self.next, rows.saturating_mul(2))
    }

    /// Fill a tableau with `K Kᵀ` of the rows in `order`.
    pub fn fill(&mut self, tableau: &mut Tableau, jacobian: &Jacobian, order: &[u32]) -> Result<()> {
        let (rows, world) = (jacobian.rows(), jacobian.bodies());
        self.reserve(order.len(), world)?;
        tableau.clear(order.len())?;
        self.groups.clear();
        if self.quads.len() < order.len() {
            refill(&mut self.quads, order.len(), [[[0.0; FOUR]; 6]; 2])?;
        }
        with_lanes(Gather { rows, order, groups: &mut self.groups, quads: &mut self.quads });
        refill(&mut self.head, world, NONE)?;
        refill(&mut self.next, 2 * self.groups.len(), NONE)?;
        let Gram { groups, quads, head, next, arch } = self;
        let (out, stride) = tableau.rows_mut();
        arch.dispatch(Add { groups, quads, head, next, out, stride });
        for group in groups {
            tableau.end_rows(group.first..group.first + group.len, group.end);
        }
        Ok(())
    }
}

/// Find the groups and turn their rows into columns.
struct Gather<'a> {
    rows: &'a [Row],
    order: &'a [u32],
    /// With room for as many as there are rows.
    groups: &'a mut Vec<Group>,
    quads: &'a mut [Quad],
}

impl Kernel for Gather<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Gather { rows, mut order, groups, quads } = self;
        let (mut first, mut quad) = (0, 0);
        while let Some(&i) = order.first() {
            let body = rows[i as usize].body;
            let mut len = 1;
            while len < order.len() && rows[order[len] as usize].body == body {
                len += 1;
            }
            groups.push(Group { first, len, body, quad, end: 0 });
            let (group, rest) = order.split_at(len);
            for four in group.chunks(FOUR) {
                let mut k = [&[0.0; ROW_LEN]; FOUR];
                for (k, &i) in k.iter_mut().zip(four) {
                    *k = &rows[i as usize].k;
                }
                let out = quads[quad].as_flattened_mut().as_chunks_mut::<FOUR>().0;
                for (c, out) in out.iter_mut().enumerate() {
                    let mut part = [lanes.all(0.0); FOUR];
                    for r in 0..FOUR {
                        part[r] = lanes.load(&k[r].as_chunks().0[c]);
                    }
                    let columns = lanes.columns(part);
                    for r in 0..FOUR {
                        out[r] = lanes.store(columns[r]);
                    }
                }
                quad += 1;
            }
            first += len;
            order = rest;
        }
    }
}

struct Add<'a> {
    groups: &'a mut [Group],
    quads: &'a [Quad],
    head: &'a mut [u32],
    next: &'a mut [u32],
    out: &'a mut [f64],
    stride: usize,
}

impl WithSimd for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Add { groups, quads, head, next, out, stride } = self;
        for g in 0..groups.len() {
            let mine = groups[g];
            groups[g].end = mine.first + mine.len;
            let columns = mine.quads(quads);
            for half in 0..2 {
                let mut at = head.get(mine.body[half] as usize).copied().unwrap_or(NONE);
                while at != NONE {
                    let (other, theirs) = (&mut groups[at as usize / 2], at as usize % 2);
                    other.end = mine.first + mine.len;
                    for (p, rows) in other.quads(quads).iter().enumerate() {
                        let out = &mut out[(other.first + FOUR * p) * stride + mine.first..];
                        for (q, columns) in columns.iter().enumerate() {
                            let out = &mut out[FOUR * q..];
                            add_products(simd, &rows[theirs], &columns[half], other.len - FOUR * p, out, stride);
                        }
                    }
                    at = next[at as usize];
                }
            }
            // Among themselves they share both bodies; what lies left of the diagonal nobody reads.
            for (p, rows) in columns.iter().enumerate() {
                let Some(rows) = rows.as_flattened().first_chunk::<ROW_LEN>() else { continue };
                for (q, columns) in columns.iter().enumerate().skip(p) {
                    let Some(columns) = columns.as_flattened().first_chunk::<ROW_LEN>() else { continue };
                    let out = &mut out[(mine.first + FOUR * p) * stride + mine.first + FOUR * q..];
                    add_products(simd, rows, columns, mine.len - FOUR * p, out, stride);
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

impl Group {
    /// Its rows by columns.
    #[inline(always)]
    fn quads<'a>(&self, quads: &'a [Quad]) -> &'a [Quad] {
        &quads[self.quad..][..self.len.div_ceil(FOUR)]
    }
}

/// `out_r += Σ_c rows_cr columns_c`, four numbers of each row; of four rows, or fewer.
#[inline(always)]
fn add_products<S: Simd, const N: usize>(
    simd: S,
    rows: &[[f64; FOUR]; N],
    columns: &[[f64; FOUR]; N],
    count: usize,
    out: &mut [f64],
    stride: usize,
) {
    let lanes = S::F64_LANES;
    // Where a vector is longer than four: one by one.
    if lanes > FOUR {
        for r in 0..count.min(FOUR) {
            for at in 0..FOUR {
                out[r * stride + at] += (0..N).map(|c| rows[c][r] * columns[c][at]).sum::<f64>();
            }
        }
        return;
    }
    for v in 0..FOUR / lanes {
        // The columns stay where they are while rows come and go.
        let mut column = [simd.splat_f64s(0.0); N];
        for c in 0..N {
            column[c] = S::as_simd_f64s(&columns[c]).0[v];
        }
        for r in 0..count.min(FOUR) {
            let Some(out) = out[r * stride..].first_chunk_mut::<FOUR>() else { return };
            let out = &mut S::as_mut_simd_f64s(out).0[v];
            // Two sums, so that neither waits for all of the other.
            let (mut even, mut odd) = (*out, simd.mul_f64s(simd.splat_f64s(rows[1][r]), column[1]));
            even = simd.mul_add_e_f64s(simd.splat_f64s(rows[0][r]), column[0], even);
            for c in (2..N).step_by(2) {
                even = simd.mul_add_e_f64s(simd.splat_f64s(rows[c][r]), column[c], even);
                odd = simd.mul_add_e_f64s(simd.splat_f64s(rows[c + 1][r]), column[c + 1], odd);
            }
            *out = simd.add_f64s(even, odd);
        }
    }
}
