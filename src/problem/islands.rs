//! Islands: rows that have nothing to do with the rest.
//!
//! Two rows are on one island when they act on the same body that can move, when A has an entry for them, or when one
//! bounds the other's friction. What is chained together by that is solved together, and the rest apart.

use super::{Dense, Jacobian, Operator, Problem, ALWAYS_DENSE};
use crate::error::Result;
use crate::memory::{refill, reserve};

pub(super) const NONE: u32 = u32::MAX;
/// Entries that are looked at together.
const CHUNK: usize = 8;

/// The rows of a problem by island, in the order of each island's first row, and the bodies that they move.
#[derive(Debug, Default)]
pub struct Islands {
    /// A forest over rows and bodies: each points towards the root of its tree.
    parent: Vec<u32>,
    /// Which island a row or body is on; [`NONE`]: a body on none.
    number: Vec<u32>,
    /// Where it is among those of its island.
    place: Vec<u32>,
    /// Rows of island k: `rows[start[k]..start[k + 1]]`, rising; the same with bodies.
    start: Vec<u32>,
    rows: Vec<u32>,
    body_start: Vec<u32>,
    bodies: Vec<u32>,
}

impl Islands {
    /// Take memory for the islands of a problem, as many as it has rows.
    pub fn reserve(&mut self, problem: &Problem) -> Result<()> {
        let (n, bodies) = (problem.len(), problem.bodies());
        for v in [&mut self.parent, &mut self.number, &mut self.place] {
            reserve(v, n + bodies)?;
        }
        for v in [&mut self.start, &mut self.body_start] {
            reserve(v, n + 1)?;
        }
        reserve(&mut self.rows, n)?;
        reserve(&mut self.bodies, bodies)
    }

    /// Find the islands of a problem. A dense matrix beyond [`ALWAYS_DENSE`] rows is one, unless it is mostly zeros: then it
    /// comes in compressed rows.
    pub fn find(&mut self, problem: &Problem) -> Result<()> {
        let n = problem.len();
        self.reserve(problem)?;
        self.parent.clear();
        self.parent.extend(0..(n + problem.bodies()) as u32);
        match problem.operator() {
            Operator::Dense(a) if n <= ALWAYS_DENSE => self.join_entries(a, n),
            Operator::Dense(_) => (1..n).for_each(|i| self.join(0, i)),
            Operator::Csr(a) => {
                for i in 0..n {
                    for (j, value) in a.row(i) {
                        if value != 0.0 && j != i {
                            self.join(i, j);
                        }
                    }
                }
            }
            Operator::Jacobian(a) => self.join_bodies(a),
        }
        for i in 0..n {
            if let Some(f) = problem.friction().normal_of(i) {
                self.join(i, f);
            }
        }
        for cone in problem.cones().list() {
            cone.tangents.iter().for_each(|&t| self.join(cone.normal, t));
        }
        self.list(n)
    }

    /// Join each row to those it has an entry with.
    fn join_entries(&mut self, a: &Dense, n: usize) {
        // Islands among the rows so far: where they are one, the first entry is enough, and neighbours mostly have it.
        let mut islands = 0;
        for i in 0..n {
            islands += 1;
            let (chunks, tail) = a.row(i)[..i].as_chunks::<CHUNK>();
            if islands > 1 {
                islands -= self.join_row(i, CHUNK * chunks.len(), tail);
            }
            for (at, chunk) in chunks.iter().enumerate().rev() {
                if islands == 1 {
                    break;
                }
                if chunk.iter().fold(0, |bits, v| bits | v.to_bits()) << 1 != 0 {
                    islands -= self.join_row(i, CHUNK * at, chunk);
                }
            }
            // What was mirrored has nothing new to say.
            for j in if a.is_mirrored() || islands == 1 { i..i } else { 0..i } {
                if a.row(j)[i] != 0.0 {
                    islands -= usize::from(self.joins(i, j));
                }
            }
        }
    }

    /// Join row i to those from `first` on that it has an entry with. How many islands less are there?
    #[inline]
    fn join_row(&mut self, i: usize, first: usize, entries: &[f64]) -> usize {
        let mut fewer = 0;
        for (j, &v) in (first..).zip(entries) {
            if v != 0.0 && self.parent[i] != self.parent[j] {
                fewer += usize::from(self.joins(i, j));
            }
        }
        fewer
    }

    /// Join each row to the bodies it moves.
    fn join_bodies(&mut self, a: &Jacobian) {
        let n = a.rows().len();
        let (mut before, mut parent) = ([NONE; 2], NONE);
        for (i, row) in a.rows().iter().enumerate() {
            // Rows of one contact or joint follow each other, and most are where the last one is.
            if before == row.body && row.k.iter().any(|&k| k != 0.0) {
                self.parent[i] = parent;
                continue;
            }
            // A body that no impulse moves ties nothing together.
            let moves = [0, 1].map(|half| row.body[half] < a.bodies() as u32 && row.k[6 * half..][..6] != [0.0; 6]);
            for half in 0..2 {
                if moves[half] {
                    self.join(i, n + row.body[half] as usize);
                }
            }
            before = if moves == [true; 2] { row.body } else { [NONE; 2] };
            parent = self.parent[i];
        }
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.parent[at] as usize != at {
            let above = self.parent[self.parent[at] as usize];
            self.parent[at] = above;
            at = above as usize;
        }
        at
    }

    fn join(&mut self, i: usize, j: usize) {
        self.joins(i, j);
    }

    /// The same; were they apart?
    fn joins(&mut self, i: usize, j: usize) -> bool {
        if self.parent[i] == self.parent[j] {
            return false;
        }
        let (i, j) = (self.root(i), self.root(j));
        self.parent[i.max(j)] = i.min(j) as u32;
        i != j
    }

    /// Sort rows and bodies by island.
    fn list(&mut self, n: usize) -> Result<()> {
        let all = self.parent.len();
        refill(&mut self.number, all, NONE)?;
        let mut islands = 0;
        let (mut parent, mut number) = (NONE, NONE);
        for i in 0..all {
            if self.parent[i] != parent {
                parent = self.parent[i];
                // The root of a tree with rows is its first row.
                let root = self.root(i);
                number = if root < i { self.number[root] } else { NONE };
                if root == i && i < n {
                    number = islands;
                    islands += 1;
                }
            }
            self.number[i] = number;
        }
        refill(&mut self.place, all, NONE)?;
        let (number, place) = (self.number.split_at(n), self.place.split_at_mut(n));
        sort(number.0, islands, place.0, &mut self.start, &mut self.rows)?;
        sort(number.1, islands, place.1, &mut self.body_start, &mut self.bodies)
    }

    /// How many islands.
    pub fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// No rows, no islands?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows of island k, rising.
    pub fn rows(&self, k: usize) -> &[u32] {
        &self.rows[self.start[k] as usize..self.start[k + 1] as usize]
    }

    /// How many rows are on the islands before island k.
    pub fn rows_before(&self, k: usize) -> usize {
        self.start[k] as usize
    }

    /// Bodies that the rows of island k move, rising; none where A is given as a matrix.
    pub fn bodies(&self, k: usize) -> &[u32] {
        &self.bodies[self.body_start[k] as usize..self.body_start[k + 1] as usize]
    }
}

/// List 0, 1, 2 ... by their `number`: those of number k are `items[start[k]..start[k + 1]]`, and `place` says where there.
fn sort(number: &[u32], count: u32, place: &mut [u32], start: &mut Vec<u32>, items: &mut Vec<u32>) -> Result<()> {
    refill(start, count as usize + 1, 0)?;
    // Neighbours mostly have the same number.
    let runs = || number.chunk_by(|p, q| p == q);
    let mut i = 0;
    for run in runs() {
        if let Some(count) = start.get_mut(run[0] as usize) {
            for (place, at) in place[i..].iter_mut().zip(*count..*count + run.len() as u32) {
                *place = at;
            }
            *count += run.len() as u32;
        }
        i += run.len();
    }
    let mut end = 0;
    for s in start.iter_mut() {
        (*s, end) = (end, end + *s);
    }
    refill(items, end as usize, 0)?;
    i = 0;
    for run in runs() {
        if let Some(first) = start.get(run[0] as usize) {
            for (item, i) in items[(first + place[i]) as usize..].iter_mut().zip(i..i + run.len()) {
                *item = i as u32;
            }
        }
        i += run.len();
    }
    Ok(())
}

impl Problem {
    /// Take memory for any part of another problem.
    pub fn reserve_like(&mut self, whole: &Problem) -> Result<()> {
        match whole.operator() {
            Operator::Dense(_) | Operator::Csr(_) => {
                self.csr.reserve(whole.len(), whole.entry_room())?;
                self.dense.reserve(whole.len().min(ALWAYS_DENSE))?;
            }
            Operator::Jacobian(a) => self.jacobian.reserve(whole.len(), a.bodies())?,
        }
        if whole.friction.is_set() {
            self.friction.reserve(whole.len(), whole.friction.mode())?;
        }
        if whole.has_cones() {
            self.cones.reserve(whole.len())?;
        }
        self.reserve_rows(whole.len())
    }

    /// Become island k of `whole`.
    pub fn select(&mut self, whole: &Problem, islands: &Islands, k: usize) -> Result<()> {
        let rows = islands.rows(k);
        let (places, body_places) = islands.place.split_at(whole.len());
        self.form = whole.form;
        match whole.operator() {
            Operator::Dense(a) => self.dense.select(a, rows)?,
            Operator::Csr(a) => self.csr.select(a, rows, places)?,
            Operator::Jacobian(a) => self.jacobian.select(a, rows, islands.bodies(k), body_places)?,
        }
        self.symmetric = whole.symmetric;
        self.reserve_rows(rows.len())?;
        let pick = |to: &mut Vec<f64>, from: &[f64]| {
            to.clear();
            to.extend(rows.iter().map(|&i| from[i as usize]));
        };
        pick(&mut self.diagonal, &whole.diagonal);
        pick(&mut self.b, &whole.b);
        pick(&mut self.lo, &whole.lo);
        pick(&mut self.hi, &whole.hi);
        self.friction.select(&whole.friction, rows, places)?;
        self.cones.select(&whole.cones, rows, places)
    }
}
