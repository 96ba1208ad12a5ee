//! Several sweeps in one pass over memory.
//!
//! A problem larger than the caches is read anew in every sweep, and the sweep waits for the memory. Here a sweep follows
//! close behind the one before it, while the rows are still near: rows are cut into chunks, and a sweep visits a chunk as
//! soon as the one before has passed every row that has to do with it. Meanwhile what comes next is fetched
//! (`row_sweep.rs`): without that, the first sweep would wait for the memory, and the others for it; and so would one that
//! follows so far behind that the nearer caches have lost its rows, as in packings, where neighbours are a layer away.
//!
//! ```text
//! sweep s + 1 may visit chunk c   when   sweep s has visited all chunks up to reach(c)
//! reach(c) = the last chunk with a row that acts on a body of c's rows, bounds their friction or is bounded by them
//! ```
//! Each row then finds the very numbers that it finds when the sweeps come one after the other, so the bits are the same,
//! in any order of the rows. A good one, where bodies meet their neighbours soon, lets sweeps follow closely; in the worst
//! one, where the first body meets the last, every sweep waits for the end of the one before and nothing is lost.

use crate::error::Result;
use crate::memory::{refill, reserve};
use crate::problem::{Jacobian, Problem};
use std::ops::Range;

/// Rows of a chunk: whole contacts, and whole quads of them where all rows are of contacts.
pub(super) const CHUNK: usize = 960;
/// Sweeps that make one pass: two hide the memory where arithmetic takes half as long as reading, more reach further back.
pub(super) const SWEEPS: usize = 4;
/// Up to this many rows, some 25 MB, stay in the last cache from one sweep to the next, and several sweeps in one pass do not
/// pay.
const NEAR: usize = 1 << 17;
/// Up to this many rows, some 12 MB, the processor fetches what comes next by itself.
const NEARER: usize = 1 << 16;

/// Sweeps that a problem of `n` rows is passed by together.
pub(super) fn together(n: usize) -> usize {
    if n > NEAR {
        SWEEPS
    } else {
        1
    }
}

/// Does it pay to fetch ahead what sweeps of `n` rows read?
pub(super) fn fetches_ahead(n: usize) -> bool {
    n > NEARER
}

/// How many chunks `n` rows are cut into.
pub(super) fn chunks(n: usize) -> usize {
    n.div_ceil(CHUNK)
}

/// The rows of a chunk.
pub(super) fn rows_of(chunk: usize, n: usize) -> Range<usize> {
    (CHUNK * chunk).min(n)..(CHUNK * (chunk + 1)).min(n)
}

/// How closely sweeps may follow each other.
#[derive(Default)]
pub(super) struct Wave {
    reach: Vec<u32>,
    /// The last chunk that acts on each body.
    last: Vec<u32>,
}

impl Wave {
    pub fn reserve(&mut self, rows: usize, bodies: usize) -> Result<()> {
        if together(rows) > 1 {
            reserve(&mut self.reach, chunks(rows))?;
            reserve(&mut self.last, bodies)?;
        }
        Ok(())
    }

    /// Find out for these rows.
    pub fn find(&mut self, problem: &Problem, jacobian: &Jacobian) -> Result<()> {
        let n = problem.len();
        if together(n) == 1 {
            return Ok(());
        }
        refill(&mut self.last, jacobian.bodies(), 0)?;
        refill(&mut self.reach, chunks(n), 0)?;
        // The world's velocity is no body's, and what no impulse moves is zero for all.
        let moved = |i: usize| {
            let row = &jacobian.rows()[i];
            let halves = row.body.iter().zip(row.k.as_chunks::<6>().0);
            halves.filter(|&(&b, k)| (b as usize) < jacobian.bodies() && *k != [0.0; 6]).map(|(&b, _)| b as usize)
        };
        for i in 0..n {
            moved(i).for_each(|body| self.last[body] = (i / CHUNK) as u32);
        }
        for i in 0..n {
            let mut to = (i / CHUNK) as u32;
            moved(i).for_each(|body| to = to.max(self.last[body]));
            let reach = &mut self.reach[i / CHUNK];
            *reach = to.max(*reach);
            if let Some(normal) = problem.friction().normal_of(i) {
                let reach = &mut self.reach[i.min(normal) / CHUNK];
                *reach = ((i.max(normal) / CHUNK) as u32).max(*reach);
            }
        }
        Ok(())
    }

    /// All chunks of so many sweeps, as `(sweep, chunk)`. The first goes ahead chunk by chunk, the others follow as closely
    /// as they may.
    pub fn visits(&self, sweeps: usize) -> Visits<'_> {
        Visits { reach: &self.reach, sweeps, sweep: 0, next: [0; SWEEPS] }
    }
}

/// Chunks in the order of their visits.
pub(super) struct Visits<'a> {
    reach: &'a [u32],
    sweeps: usize,
    /// The one to look at.
    sweep: usize,
    /// The next chunk of each sweep.
    next: [usize; SWEEPS],
}

impl Iterator for Visits<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let Visits { reach, sweeps, sweep, next } = self;
        loop {
            let chunk = next[*sweep];
            let may = match *sweep {
                0 => chunk < reach.len(),
                behind => reach.get(chunk).is_some_and(|&reach| (reach as usize) < next[behind - 1]),
            };
            if may {
                next[*sweep] += 1;
                let visit = (*sweep, chunk);
                // The first waits for the others after every chunk.
                *sweep = if *sweep == 0 { 1 % *sweeps } else { *sweep };
                return Some(visit);
            }
            if *sweep == 0 {
                return None;
            }
            *sweep = (*sweep + 1) % *sweeps;
        }
    }
}
