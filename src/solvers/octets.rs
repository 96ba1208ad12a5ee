//! The order in which a sweep visits the rows: contacts eight by eight, then the others.
//!
//! Three rows in a row on the same two bodies, mostly a contact's normal and its two directions of friction, are a *trio*.
//! Up to eight trios none of which shares a moving body with another make an *octet*: whatever the order of their visits,
//! the numbers are the same, so they are visited side by side (`octet_visit.rs`). Within each chunk of rows a trio goes to
//! the first octet that has room and none of its bodies:
//!
//! ```text
//! octet(trio) = min { q : q has less than 8 trios, no trio of q moves a body that this one moves }
//! ```
//! one bit for each octet and body, a few instructions for each trio. The octets are visited first, in their order, then
//! the chunk's other rows as they are listed. That is Gauss-Seidel in another order; a trio's rows keep theirs. An octet
//! that is not full has its first trio several times, at its head, marked by diagonals of zero: those are not visited.

use super::row_sweep::find_couplings_along;
use super::wave::{chunks, rows_of, CHUNK};
use crate::error::{refill, reserve, Result};
use crate::linalg::Octet;
use crate::problem::{Jacobian, Problem};
use std::ops::Range;

/// Rows of a trio.
pub(super) const TRIO: usize = 3;
/// Trios of a full octet.
pub(super) const EIGHT: usize = 8;
/// Rows of a full octet.
pub(super) const OCTET_ROWS: usize = EIGHT * TRIO;
/// Fewer rows are visited as they are listed: on the small recorded problems `sgs` converged on one or two less with octets.
const LEAST: usize = 256;
/// Octets that a chunk may try to fill.
const OCTETS: usize = u128::BITS as usize;
/// An octet with fewer trios costs more than their rows one by one.
const FEWEST: usize = 3;
/// So many octets of a chunk may be less than full.
const PARTIAL: usize = 8;
/// Notes of a chunk, one for each row and those that partial octets need beyond.
const NOTES: usize = CHUNK + PARTIAL * OCTET_ROWS;

/// The visits of a problem's rows, chunk by chunk.
#[derive(Default)]
pub(super) struct Plan {
    /// In the place of each chunk's rows: the first rows of its octets' trios, and at the end the other rows.
    order: Vec<u32>,
    /// What each row's visit needs beside the row, [`NOTES`] for every chunk; see [`Part`].
    notes: Vec<[f64; 2]>,
    counts: Vec<Count>,
    /// The octets of the chunk at hand that move each body.
    taken: Vec<u128>,
}

/// How many octets a chunk has, and how many rows beside.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    rubbing: u16,
    plain: u16,
    rest: u16,
}

/// A chunk.
pub(super) struct Part<'a> {
    /// Octets of trios whose second and third rows take their bounds from the first.
    pub rubbing: usize,
    /// The first rows of all octets' trios; the others than those `rubbing` have no such bounds.
    pub octets: &'a [[u32; EIGHT]],
    /// Of each octet: three diagonals of eight trios, then the couplings of the rows 1 and 0, 2 and 0, 2 and 1.
    pub notes: &'a [[Octet; 6]],
    /// The other rows.
    pub rest: &'a [u32],
    /// What each of them owes to the two before it; two more follow.
    pub couplings: &'a [[f64; 2]],
}

impl Part<'_> {
    /// Its rows in the order of their visits.
    pub fn rows(&self) -> Vec<u32> {
        let trios = self.octets.iter().flat_map(trios).flat_map(|i| i..i + TRIO as u32);
        trios.chain(self.rest.iter().copied()).collect()
    }
}

/// An octet's trios, each once.
pub(super) fn trios(octet: &[u32; EIGHT]) -> impl Iterator<Item = u32> + '_ {
    (0..EIGHT).filter(|&l| !is_again(octet, l)).map(|l| octet[l])
}

/// Does the lane only fill the octet?
fn is_again(octet: &[u32; EIGHT], lane: usize) -> bool {
    octet.get(lane + 1) == Some(&octet[lane])
}

/// How many notes `rows` rows need.
fn notes_of(rows: usize) -> usize {
    // Two more, for those who look ahead from the last row.
    (NOTES - CHUNK) * chunks(rows) + rows + 2
}

impl Plan {
    pub fn reserve(&mut self, rows: usize, bodies: usize) -> Result<()> {
        reserve(&mut self.order, rows)?;
        reserve(&mut self.notes, notes_of(rows))?;
        reserve(&mut self.counts, chunks(rows))?;
        reserve(&mut self.taken, bodies + 1)
    }

    /// Find the octets.
    pub fn find(&mut self, problem: &Problem, jacobian: &Jacobian) -> Result<()> {
        let n = problem.len();
        refill(&mut self.order, n, 0)?;
        refill(&mut self.notes, notes_of(n), [0.0; 2])?;
        refill(&mut self.counts, chunks(n), Count::default())?;
        refill(&mut self.taken, jacobian.bodies() + 1, 0)?;
        for chunk in 0..chunks(n) {
            let rows = rows_of(chunk, n);
            let order = &mut self.order[rows.clone()];
            let notes = &mut self.notes[NOTES * chunk..];
            let count = arrange(problem, jacobian, rows, order, &mut self.taken);
            self.counts[chunk] = count;
            let octets = (count.rubbing + count.plain) as usize;
            let (of_octets, couplings) = notes.split_at_mut(OCTET_ROWS * octets);
            for (octet, notes) in order.as_chunks().0.iter().zip(of_octets.as_chunks_mut::<OCTET_ROWS>().0) {
                *notes = note(problem, jacobian, octet);
            }
            find_couplings_along(&order[order.len() - count.rest as usize..], jacobian, couplings);
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
        let Count { rubbing, plain, rest } = self.counts[chunk];
        let (octets, rest) = ((rubbing + plain) as usize, rest as usize);
        let (notes, couplings) = self.notes[NOTES * chunk..].split_at(OCTET_ROWS * octets);
        Part {
            rubbing: rubbing as usize,
            octets: &self.order[start..end].as_chunks().0[..octets],
            notes: notes.as_flattened().as_chunks().0.as_chunks().0,
            rest: &self.order[end - rest..end],
            couplings: &couplings[..rest + 2],
        }
    }

    /// Both, from about where those of row `i` are, for those who fetch them.
    #[inline(always)]
    pub fn memory(&self, i: usize) -> (&[u32], &[[f64; 2]]) {
        (&self.order[i..], &self.notes[i + (NOTES - CHUNK) * (i / CHUNK)..])
    }
}

/// Is there a trio at row i, and do its second and third rows take their bounds from the first?
fn trio_at(problem: &Problem, jacobian: &Jacobian, i: usize) -> Option<bool> {
    let rows: &[_; TRIO] = jacobian.rows()[i..].first_chunk()?;
    let normal = |i: usize| problem.friction().normal_of(i);
    let same = rows[1].body == rows[0].body && rows[2].body == rows[0].body;
    match (same, normal(i), normal(i + 1), normal(i + 2)) {
        (true, None, None, None) => Some(false),
        (true, None, Some(p), Some(q)) if p == i && q == i => Some(true),
        _ => None,
    }
}

/// Order the rows of a chunk.
fn arrange(problem: &Problem, jacobian: &Jacobian, rows: Range<usize>, order: &mut [u32], taken: &mut [u128]) -> Count {
    let mut octets = [([0u32; EIGHT], 0); OCTETS];
    let (mut full, mut used, mut rubbing) = (0u128, 0u128, 0u128);
    let mut in_octet = [None; CHUNK];
    // An octet is read four rows at a time: the very last rows stay out of it.
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
            let (octet, len) = &mut octets[k];
            octet[*len] = i as u32;
            *len += 1;
            used |= bit;
            full |= if *len == EIGHT { bit } else { 0 };
            rubbing |= if rubs { bit } else { 0 };
            bodies.into_iter().for_each(|body| taken[body] |= bit);
            in_octet[i - rows.start] = Some(k as u8);
        }
        i += TRIO;
    }
    let mut chosen = full;
    for (k, (octet, len)) in octets.iter_mut().enumerate().filter(|(_, o)| (FEWEST..EIGHT).contains(&o.1)).take(PARTIAL)
    {
        let missing = EIGHT - *len;
        octet.rotate_right(missing);
        let first = octet[missing];
        octet[..missing].fill(first);
        chosen |= 1 << k;
    }
    let mut len = 0;
    for chosen in [chosen & rubbing, chosen & !rubbing] {
        for (octet, _) in (0..OCTETS).filter(|k| chosen >> k & 1 == 1).map(|k| octets[k]) {
            order[EIGHT * len..][..EIGHT].copy_from_slice(&octet);
            len += 1;
        }
    }
    let mut rest = 0;
    for i in rows.clone().rev() {
        // Of a trio's rows the last comes first, and it is the first that knows the octet.
        let first = (i - rows.start).saturating_sub(TRIO - 1)..=i - rows.start;
        let k = in_octet[first].iter().rev().find_map(|&k| k);
        if in_octet[i - rows.start].is_some() {
            jacobian.rows()[i].body.into_iter().for_each(|body| taken[body as usize] = 0);
        }
        if k.is_none_or(|k| chosen >> k & 1 == 0) {
            rest += 1;
            order[rows.len() - rest] = i as u32;
        }
    }
    Count {
        rubbing: (chosen & rubbing).count_ones() as u16,
        plain: (chosen & !rubbing).count_ones() as u16,
        rest: rest as u16,
    }
}

/// An octet's diagonals and couplings.
fn note(problem: &Problem, jacobian: &Jacobian, octet: &[u32; EIGHT]) -> [[f64; 2]; OCTET_ROWS] {
    let mut notes = [[0.0; 2]; OCTET_ROWS];
    let (eights, _) = notes.as_flattened_mut().as_chunks_mut::<EIGHT>();
    for lane in (0..EIGHT).filter(|&lane| !is_again(octet, lane)) {
        let i = octet[lane] as usize;
        let rows = &jacobian.rows()[i..i + TRIO];
        for s in 0..TRIO {
            eights[s][lane] = problem.diagonal()[i + s];
        }
        eights[3][lane] = rows[1].coupling(&rows[0]);
        eights[4][lane] = rows[2].coupling(&rows[0]);
        eights[5][lane] = rows[2].coupling(&rows[1]);
    }
    notes
}
