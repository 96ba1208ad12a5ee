//! The order in which a sweep visits the rows: contacts four by four, then the others.
//!
//! Three rows in a row on the same two bodies, mostly a contact's normal and its two directions of friction, are a *trio*.
//! Four trios none of which shares a moving body with another make a *quad*: whatever the order of their visits, the numbers
//! are the same, so they are visited side by side (`quad_visit.rs`). Within each chunk of rows a trio goes to the first quad
//! that has room and none of its bodies:
//!
//! ```text
//! quad(trio) = min { q : q has less than 4 trios, no trio of q moves a body that this one moves }
//! ```
//! one bit for each quad and body, a few instructions for each trio. The quads that are full are visited first, in their
//! order, then the chunk's other rows as they are listed. That is Gauss-Seidel in another order; a trio's rows keep theirs.

use super::row_sweep::find_couplings_along;
use super::wave::{chunks, rows_of, CHUNK};
use crate::error::Result;
use crate::linalg::Quad;
use crate::memory::{refill, reserve};
use crate::problem::{Jacobian, Problem};
use std::ops::Range;

/// Rows of a trio.
pub(super) const TRIO: usize = 3;
/// Rows of a quad.
pub(super) const QUAD_ROWS: usize = 4 * TRIO;
/// Fewer rows are visited as they are listed: on the small recorded problems `sgs` converged on one or two less with quads.
const LEAST: usize = 256;
/// Quads that a chunk may try to fill.
const QUADS: usize = u128::BITS as usize;

/// The visits of a problem's rows, chunk by chunk.
#[derive(Default)]
pub(super) struct Plan {
    /// In the place of each chunk's rows: the first rows of its quads' trios, and from where the quads' rows end on the
    /// other rows.
    order: Vec<u32>,
    /// What each row's visit needs beside the row; see [`Part`].
    notes: Vec<[f64; 2]>,
    counts: Vec<Count>,
    /// The quads of the chunk at hand that move each body.
    taken: Vec<u128>,
}

/// How many quads a chunk has.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    rubbing: u32,
    plain: u32,
}

/// A chunk.
pub(super) struct Part<'a> {
    /// Quads of trios whose second and third rows take their bounds from the first.
    pub rubbing: usize,
    /// The first rows of all quads' trios; the others than those `rubbing` have no such bounds.
    pub quads: &'a [[u32; 4]],
    /// Of each quad: three diagonals of four trios, then the couplings of the rows 1 and 0, 2 and 0, 2 and 1.
    pub notes: &'a [[Quad; 6]],
    /// The other rows.
    pub rest: &'a [u32],
    /// What each of them owes to the two before it; two more follow.
    pub couplings: &'a [[f64; 2]],
}

impl Part<'_> {
    /// Its rows in the order of their visits.
    pub fn rows(&self) -> Vec<u32> {
        let trios = self.quads.as_flattened().iter().flat_map(|&i| i..i + TRIO as u32);
        trios.chain(self.rest.iter().copied()).collect()
    }
}

impl Plan {
    pub fn reserve(&mut self, rows: usize, bodies: usize) -> Result<()> {
        reserve(&mut self.order, rows)?;
        reserve(&mut self.notes, rows + 2)?;
        reserve(&mut self.counts, chunks(rows))?;
        reserve(&mut self.taken, bodies + 1)
    }

    /// Find the quads.
    pub fn find(&mut self, problem: &Problem, jacobian: &Jacobian) -> Result<()> {
        let n = problem.len();
        refill(&mut self.order, n, 0)?;
        refill(&mut self.notes, n + 2, [0.0; 2])?;
        refill(&mut self.counts, chunks(n), Count::default())?;
        refill(&mut self.taken, jacobian.bodies() + 1, 0)?;
        for chunk in 0..chunks(n) {
            let rows = rows_of(chunk, n);
            let order = &mut self.order[rows.clone()];
            let notes = &mut self.notes[rows.clone()];
            let (count, other) = arrange(problem, jacobian, rows, order, &mut self.taken);
            self.counts[chunk] = count;
            let (quads, rest) = order.split_at(other);
            for (quad, notes) in
                quads.as_chunks().0.iter().zip(notes.as_chunks_mut::<QUAD_ROWS>().0).take(other / QUAD_ROWS)
            {
                *notes = note(problem, jacobian, quad);
            }
            find_couplings_along(rest, jacobian, &mut notes[other..]);
        }
        Ok(())
    }

    /// Room for the couplings of rows in an order of the caller's.
    pub fn couplings_of_lists(&mut self, rows: usize) -> Result<()> {
        refill(&mut self.notes, rows + 2, [0.0; 2])
    }

    /// Those couplings.
    pub fn couplings_mut(&mut self) -> &mut [[f64; 2]] {
        &mut self.notes
    }

    /// A chunk's visits.
    #[inline]
    pub fn part(&self, chunk: usize) -> Part<'_> {
        let Range { start, end } = rows_of(chunk, self.order.len());
        let Count { rubbing, plain } = self.counts[chunk];
        let quads = (rubbing + plain) as usize;
        let other = start + QUAD_ROWS * quads;
        Part {
            rubbing: rubbing as usize,
            quads: &self.order[start..end].as_chunks().0[..quads],
            notes: self.notes[start..other].as_flattened().as_chunks().0.as_chunks().0,
            rest: &self.order[other..end],
            couplings: &self.notes[other..end + 2],
        }
    }

    /// Both, for those who fetch them.
    #[inline(always)]
    pub fn memory(&self) -> (&[u32], &[[f64; 2]]) {
        (&self.order, &self.notes)
    }
}

/// Is there a trio at row i, and do its second and third rows take their bounds from the first?
fn trio_at(problem: &Problem, jacobian: &Jacobian, i: usize) -> Option<bool> {
    let rows: &[_; TRIO] = jacobian.rows()[i..].first_chunk()?;
    let normal = |i: usize| problem.friction().normal_of(i);
    let body = rows[0].body;
    // The two are read together and written together, so they are two.
    let same = rows[1].body == body && rows[2].body == body && body[0] != body[1];
    match (same, normal(i), normal(i + 1), normal(i + 2)) {
        (true, None, None, None) => Some(false),
        (true, None, Some(p), Some(q)) if p == i && q == i => Some(true),
        _ => None,
    }
}

/// Order the rows of a chunk. Returns how many quads there are, and where the other rows begin.
fn arrange(
    problem: &Problem,
    jacobian: &Jacobian,
    rows: Range<usize>,
    order: &mut [u32],
    taken: &mut [u128],
) -> (Count, usize) {
    let mut quads = [([0u32; 4], 0); QUADS];
    let (mut full, mut used, mut rubbing) = (0u128, 0u128, 0u128);
    let mut in_quad = [None; CHUNK];
    // A quad is read four rows at a time: the very last rows stay out of it.
    let last = if problem.len() < LEAST { rows.start } else { rows.end.min(problem.len() - 1) };
    let mut i = rows.start;
    while i + TRIO <= last {
        let Some(rubs) = trio_at(problem, jacobian, i) else {
            i += 1;
            continue;
        };
        let moves = |half: usize| jacobian.rows()[i..i + TRIO].iter().any(|row| row.k[6 * half..][..6] != [0.0; 6]);
        let bodies = jacobian.rows()[i].body.map(|b| b as usize);
        let moving = [moves(0), moves(1)];
        let mut closed = full | if rubs { used & !rubbing } else { rubbing };
        for half in 0..2 {
            closed |= if moving[half] { taken[bodies[half]] } else { 0 };
        }
        if closed != u128::MAX {
            let k = (!closed).trailing_zeros() as usize;
            let bit = 1 << k;
            let (quad, len) = &mut quads[k];
            quad[*len] = i as u32;
            *len += 1;
            used |= bit;
            full |= if *len == 4 { bit } else { 0 };
            rubbing |= if rubs { bit } else { 0 };
            bodies.into_iter().for_each(|body| taken[body] |= bit);
            in_quad[i - rows.start] = Some(k as u8);
        }
        i += TRIO;
    }
    let mut len = 0;
    for chosen in [full & rubbing, full & !rubbing] {
        for (quad, _) in (0..QUADS).filter(|k| chosen >> k & 1 == 1).map(|k| quads[k]) {
            order[4 * len..][..4].copy_from_slice(&quad);
            len += 1;
        }
    }
    let count = Count { rubbing: (full & rubbing).count_ones(), plain: (full & !rubbing).count_ones() };
    let other = QUAD_ROWS * len;
    let (mut i, mut at) = (rows.start, other);
    while i < rows.end {
        let k = in_quad[i - rows.start];
        if k.is_some() {
            jacobian.rows()[i].body.into_iter().for_each(|body| taken[body as usize] = 0);
        }
        if k.is_some_and(|k| full >> k & 1 == 1) {
            i += TRIO;
        } else {
            order[at] = i as u32;
            at += 1;
            i += 1;
        }
    }
    (count, other)
}

/// A quad's diagonals and couplings.
fn note(problem: &Problem, jacobian: &Jacobian, quad: &[u32; 4]) -> [[f64; 2]; QUAD_ROWS] {
    let mut notes = [[0.0; 2]; QUAD_ROWS];
    let (fours, _) = notes.as_flattened_mut().as_chunks_mut::<4>();
    for (lane, &i) in quad.iter().enumerate() {
        let i = i as usize;
        let rows = &jacobian.rows()[i..i + TRIO];
        for s in 0..TRIO {
            fours[s][lane] = problem.diagonal()[i + s];
        }
        fours[3][lane] = rows[1].coupling(&rows[0]);
        fours[4][lane] = rows[2].coupling(&rows[0]);
        fours[5][lane] = rows[2].coupling(&rows[1]);
    }
    notes
}
