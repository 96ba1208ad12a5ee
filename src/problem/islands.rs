//! Islands: rows that have nothing to do with the rest.
//!
//! Two rows are on one island when they act on the same body that can move, when A has an entry for them, or when one
//! bounds the other's friction. What is chained together by that is solved together, and the rest apart.

use super::{Operator, Problem};
use crate::error::{refill, reserve, Result};

pub(super) const NONE: u32 = u32::MAX;

/// The rows of a problem by island, in the order of each island's first row.
#[derive(Debug, Default)]
pub struct Islands {
    /// A forest over rows and bodies: each points towards the root of its tree.
    parent: Vec<u32>,
    /// Which island a tree is.
    number: Vec<u32>,
    /// Rows of island k: `rows[start[k]..start[k + 1]]`, rising.
    start: Vec<u32>,
    rows: Vec<u32>,
}

impl Islands {
    /// Take memory for the islands of a problem.
    pub fn reserve(&mut self, problem: &Problem) -> Result<()> {
        let n = problem.len();
        reserve(&mut self.parent, n + problem.bodies())?;
        reserve(&mut self.start, n + 2)?;
        reserve(&mut self.number, n)?;
        reserve(&mut self.rows, n)
    }

    /// Find the islands of a problem. A dense matrix is one, unless it is mostly zeros: then it comes in compressed rows.
    pub fn find(&mut self, problem: &Problem) -> Result<()> {
        let n = problem.len();
        reserve(&mut self.parent, n + problem.bodies())?;
        self.parent.clear();
        self.parent.extend(0..(n + problem.bodies()) as u32);
        match problem.operator() {
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
            Operator::Jacobian(a) => {
                for (i, row) in a.rows().iter().enumerate() {
                    for (half, &body) in row.body.iter().enumerate() {
                        // A body that no impulse moves ties nothing together.
                        if (body as usize) < a.bodies() && row.k[6 * half..][..6] != [0.0; 6] {
                            self.join(i, n + body as usize);
                        }
                    }
                }
            }
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

    fn root(&mut self, mut at: usize) -> usize {
        while self.parent[at] as usize != at {
            let above = self.parent[self.parent[at] as usize];
            self.parent[at] = above;
            at = above as usize;
        }
        at
    }

    fn join(&mut self, i: usize, j: usize) {
        let (i, j) = (self.root(i), self.root(j));
        self.parent[i.max(j)] = i.min(j) as u32;
    }

    /// Sort the rows by island.
    fn list(&mut self, n: usize) -> Result<()> {
        refill(&mut self.number, n, NONE)?;
        reserve(&mut self.start, n + 2)?;
        self.start.clear();
        self.start.push(0);
        for i in 0..n {
            // The root of a tree with rows is its first row.
            let root = self.root(i);
            if self.number[root] == NONE {
                self.number[root] = self.start.len() as u32 - 1;
                self.start.push(0);
            }
            let number = self.number[root];
            self.number[i] = number;
            self.start[number as usize + 1] += 1;
        }
        for k in 1..self.start.len() {
            self.start[k] += self.start[k - 1];
        }
        refill(&mut self.rows, n, 0)?;
        for i in 0..n {
            let at = &mut self.start[self.number[i] as usize];
            self.rows[*at as usize] = i as u32;
            *at += 1;
        }
        // Each start has moved to the next island's: move them back.
        let count = self.start.len() - 1;
        self.start.copy_within(0..count, 1);
        self.start[0] = 0;
        Ok(())
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
}

/// Where rows and bodies of a whole problem are in one of its parts.
#[derive(Debug, Default)]
pub struct Places {
    /// Place of every row, [`NONE`] for those elsewhere.
    pub(super) row: Vec<u32>,
    /// The same of every body.
    pub(super) body: Vec<u32>,
    /// The bodies of the part, in order.
    pub(super) bodies: Vec<u32>,
}

impl Places {
    /// Make room for a problem. Nothing is placed between two uses.
    pub fn cover(&mut self, whole: &Problem) -> Result<()> {
        for (v, len) in [(&mut self.row, whole.len()), (&mut self.body, whole.bodies())] {
            if v.len() < len {
                refill(v, len, NONE)?;
            }
        }
        reserve(&mut self.bodies, whole.bodies())
    }
}

impl Problem {
    /// Take memory for any part of another problem.
    pub fn reserve_like(&mut self, whole: &Problem) -> Result<()> {
        match whole.operator() {
            Operator::Dense(_) | Operator::Csr(_) => self.csr.reserve(whole.len(), whole.entry_room())?,
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

    /// Become the part of `whole` that has these rows; they must be a union of islands. `places` covers `whole`.
    pub fn select(&mut self, whole: &Problem, rows: &[u32], places: &mut Places) -> Result<()> {
        for (p, &i) in rows.iter().enumerate() {
            places.row[i as usize] = p as u32;
        }
        self.form = whole.form;
        match whole.operator() {
            Operator::Dense(a) => self.dense.select(a, rows)?,
            Operator::Csr(a) => self.csr.select(a, rows, &places.row)?,
            Operator::Jacobian(a) => self.jacobian.select(a, rows, places)?,
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
        self.friction.select(&whole.friction, rows, &places.row)?;
        self.cones.select(&whole.cones, rows, &places.row)?;
        for &i in rows {
            places.row[i as usize] = NONE;
        }
        Ok(())
    }
}
