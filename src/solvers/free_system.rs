//! The linear system on the free rows, `(A_FF + S_F) x = r` with a positive diagonal S, factored on the cheaper side.
//!
//! *Rows*: `A_FF + S_F` itself, dense, |F| by |F|; or sparse in dense panels, with rows of the identity where rows are not
//! free, so that one order and one pattern serve every F. *Bodies*: for Jacobian rows `A = K Kᵀ + C` and with
//! `Γ = C + S` the same x follows from the whitened velocity u of 6 entries per body,
//!
//! ```text
//! (I + K_Fᵀ Γ_F⁻¹ K_F) u = K_Fᵀ Γ_F⁻¹ r,     x = Γ_F⁻¹ (r - K_F u)
//! ```
//!
//! dense or in 6 by 6 blocks over the graph of bodies that share a row. A wall of 30 bricks has 564 rows and 180
//! velocities. Small Γ costs digits on that side; callers refine. Patterns are analysed once per contact graph. Where few
//! rows enter or leave F, and S stays, the sparse sides compute again only what these rows have to do with.

use super::pair_blocks::{across, for_each_pair, own};
use crate::error::Result;
use crate::linalg::{BlockCholesky, DenseCholesky, Failure, PanelCholesky};
use crate::memory::{refill, reserve};
use crate::problem::{BodyGraph, Csr, Jacobian, Operator, Problem, Row};
use crate::Budget;

/// Below this order, of rows and of velocities, no sparse factorisation beats the dense one: from timing walls, piles, chains.
const ALWAYS_DENSE: [usize; 2] = [64, 16];
/// Speed of the dense kernel over the sparse ones, per flop, of rows and of bodies.
const DENSE_SPEED: [f64; 2] = [2.0, 2.0];

/// Up to this order memory for a dense factor is taken before it is needed.
const DENSE_AHEAD: usize = 768;

const NONE: u32 = u32::MAX;

/// Where a system was factored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Side {
    #[default]
    RowsDense,
    RowsSparse,
    BodiesDense,
    BodiesSparse,
}

#[derive(Default)]
pub(super) struct FreeSystem {
    side: Side,
    dense: DenseCholesky,
    rows: PanelCholesky,
    bodies: BlockCholesky,
    /// Is the sparse pattern of the current problem analysed?
    sparse: bool,
    /// Which bodies share a row.
    graph: BodyGraph,
    /// Where the rows of A begin.
    start: Vec<u32>,
    /// Rows of every body: `touching[first[k]..first[k + 1]]`.
    first: Vec<u32>,
    touching: Vec<u32>,
    /// The free rows of the last factorisation, and the place of every row among them.
    free: Vec<u32>,
    position: Vec<u32>,
    /// The matrix's diagonal at the last sparse factorisation of rows, -∞ where they were not free.
    diagonal: Vec<f64>,
    /// Rows or bodies whose numbers are others than at the last sparse factorisation.
    changed: Vec<bool>,
    /// 1/Γ of every row, 0 of those that are not free; and numbers of every row in between.
    inverse_gamma: Vec<f64>,
    of_rows: Vec<f64>,
    u: Vec<f64>,
}

impl FreeSystem {
    /// Take the memory that a problem of this size may need, as far as its pattern need not be known for it.
    pub fn reserve(&mut self, problem: &Problem) -> Result<()> {
        let (n, bodies) = (problem.len(), problem.bodies());
        for v in [&mut self.free, &mut self.position] {
            reserve(v, n)?;
        }
        reserve(&mut self.inverse_gamma, n)?;
        reserve(&mut self.of_rows, n)?;
        reserve(&mut self.diagonal, n)?;
        reserve(&mut self.changed, n.max(bodies + 1))?;
        reserve(&mut self.u, 6 * (bodies + 1))?;
        let ahead = |order: usize| order.min(DENSE_AHEAD);
        match problem.operator() {
            operator @ (Operator::Dense(_) | Operator::Csr(_)) => {
                if problem.entry_room() > 0 {
                    reserve(&mut self.start, n + 1)?;
                    self.rows.reserve(n, problem.entry_room())?;
                }
                self.dense.reserve(if matches!(operator, Operator::Dense(_)) { n } else { ahead(n) })
            }
            Operator::Jacobian(_) => {
                reserve(&mut self.first, bodies + 2)?;
                reserve(&mut self.touching, 2 * n)?;
                self.graph.reserve(n, bodies)?;
                self.bodies.reserve(bodies, 2 * n)?;
                // Row systems larger than the body system are never factored densely.
                self.dense.reserve(ahead(6 * bodies))
            }
        }
    }

    /// Look at a problem's pattern. Once per solve.
    pub fn prepare(&mut self, problem: &Problem) -> Result<()> {
        self.sparse = false;
        self.free.clear();
        refill(&mut self.position, problem.len(), NONE)?;
        refill(&mut self.diagonal, problem.len(), 0.0)?;
        refill(&mut self.inverse_gamma, problem.len(), 0.0)?;
        match problem.operator() {
            Operator::Dense(_) => {}
            Operator::Csr(csr) => {
                if problem.len() > ALWAYS_DENSE[0] {
                    self.analyse_rows(csr)?;
                }
            }
            Operator::Jacobian(jacobian) => {
                self.list_rows_of_bodies(jacobian)?;
                if 6 * jacobian.bodies() > ALWAYS_DENSE[1] {
                    self.graph.find(jacobian)?;
                    self.bodies.analyse(&self.graph.start, &self.graph.index)?;
                    self.sparse = true;
                }
            }
        }
        // The largest set of free rows for which the dense row side would be chosen.
        let largest = match self.other_side(problem) {
            None => problem.len(),
            Some((cost, _)) => problem.len().min((3.0 * cost).cbrt() as usize + 1),
        };
        self.dense.reserve(largest)
    }

    fn analyse_rows(&mut self, csr: &Csr) -> Result<()> {
        reserve(&mut self.start, csr.row_start().len())?;
        self.start.clear();
        self.start.extend(csr.row_start().iter().map(|&s| s as u32));
        self.rows.analyse(&self.start, csr.columns())?;
        self.sparse = true;
        Ok(())
    }

    fn list_rows_of_bodies(&mut self, jacobian: &Jacobian) -> Result<()> {
        let bodies = jacobian.bodies();
        // One slot for the world, which is dropped, and one that shifts counts into starts.
        refill(&mut self.first, bodies + 2, 0)?;
        for row in jacobian.rows() {
            for body in row.body {
                self.first[body as usize + 1] += 1;
            }
        }
        for k in 0..=bodies {
            self.first[k + 1] += self.first[k];
        }
        refill(&mut self.touching, self.first[bodies + 1] as usize, 0)?;
        for (i, row) in jacobian.rows().iter().enumerate() {
            for body in row.body {
                self.touching[self.first[body as usize] as usize] = i as u32;
                self.first[body as usize] += 1;
            }
        }
        // Each start has moved to the next body's: move them back.
        self.first.copy_within(0..=bodies, 1);
        self.first[0] = 0;
        Ok(())
    }

    /// Factor `A_FF + S_F` for the rows in `free`; `shift` has S of every row. A failure names a row or body.
    pub fn factor(
        &mut self,
        problem: &Problem,
        free: impl Iterator<Item = usize>,
        shift: &[f64],
        budget: &Budget,
    ) -> Result<std::result::Result<(), Failure>> {
        for &i in &self.free {
            self.position[i as usize] = NONE;
        }
        self.free.clear();
        for i in free {
            self.position[i] = self.free.len() as u32;
            self.free.push(i as u32);
        }
        self.side = self.choose(problem);
        match self.side {
            Side::RowsDense => self.fill_rows_dense(problem, shift)?,
            Side::RowsSparse => self.fill_rows_sparse(problem, shift)?,
            Side::BodiesDense => self.fill_bodies_dense(problem, shift)?,
            Side::BodiesSparse => self.fill_bodies_sparse(problem, shift)?,
        }
        Ok(match self.side {
            Side::RowsDense | Side::BodiesDense => self.dense.factor(budget),
            Side::RowsSparse => self.rows.factor(budget),
            Side::BodiesSparse => self.bodies.factor(budget)?,
        })
    }

    /// The side with the fewest weighted flops.
    fn choose(&self, problem: &Problem) -> Side {
        match self.other_side(problem) {
            Some((cost, side)) if cost < dense_cost(self.free.len()) => side,
            _ => Side::RowsDense,
        }
    }

    /// The best side besides dense rows, with its cost; neither depends on which rows are free.
    fn other_side(&self, problem: &Problem) -> Option<(f64, Side)> {
        match problem.operator() {
            Operator::Dense(_) => None,
            Operator::Csr(_) => self.sparse.then(|| (DENSE_SPEED[0] * self.rows.flops(), Side::RowsSparse)),
            Operator::Jacobian(j) => {
                let dense = (dense_cost(6 * j.bodies()), Side::BodiesDense);
                let sparse = self.sparse.then(|| (DENSE_SPEED[1] * self.bodies.flops(), Side::BodiesSparse));
                Some(sparse.filter(|sparse| sparse.0 < dense.0).unwrap_or(dense))
            }
        }
    }

    fn fill_rows_dense(&mut self, problem: &Problem, shift: &[f64]) -> Result<()> {
        let m = self.free.len();
        let out = self.dense.matrix(m)?;
        match problem.operator() {
            Operator::Dense(a) => {
                for (p, &i) in self.free.iter().enumerate() {
                    let row = a.row(i as usize);
                    for (q, &j) in self.free[..=p].iter().enumerate() {
                        out[q * m + p] = row[j as usize];
                    }
                }
            }
            Operator::Csr(a) => {
                out.fill(0.0);
                for (p, &i) in self.free.iter().enumerate() {
                    for (j, value) in a.row(i as usize) {
                        let q = self.position[j] as usize;
                        if q <= p {
                            out[q * m + p] = value;
                        }
                    }
                }
            }
            Operator::Jacobian(a) => {
                out.fill(0.0);
                for (p, &i) in self.free.iter().enumerate() {
                    let row = &a.rows()[i as usize];
                    out[p * m + p] += a.compliance()[i as usize];
                    for (half, &body) in row.body.iter().enumerate().filter(|(_, &k)| (k as usize) < a.bodies()) {
                        let range = self.first[body as usize] as usize..self.first[body as usize + 1] as usize;
                        for &j in &self.touching[range] {
                            let q = self.position[j as usize] as usize;
                            if q <= p {
                                out[q * m + p] += half_dot(row, half, &a.rows()[j as usize], body);
                            }
                        }
                    }
                }
            }
        }
        for (p, &i) in self.free.iter().enumerate() {
            out[p * m + p] += shift[i as usize];
        }
        Ok(())
    }

    /// Rows that are not free become rows of the identity.
    fn fill_rows_sparse(&mut self, problem: &Problem, shift: &[f64]) -> Result<()> {
        let Operator::Csr(a) = problem.operator() else { return Ok(()) };
        let (position, values) = (&self.position[..], a.values());
        refill(&mut self.changed, position.len(), false)?;
        for i in 0..position.len() {
            let is_free = position[i] != NONE;
            let entry = if is_free { problem.diagonal()[i] + shift[i] } else { f64::NEG_INFINITY };
            self.changed[i] = entry != self.diagonal[i];
            self.diagonal[i] = entry;
        }
        self.rows.fill_changed(&self.changed, move |i| position[i] != NONE, move |_, _, k| values[k]);
        for (i, &position) in position.iter().enumerate() {
            self.rows.set_diagonal(i, if position != NONE { self.diagonal[i] } else { 1.0 });
        }
        Ok(())
    }

    /// 1/Γ of every row, and the bodies of those where it is not what it was.
    fn invert_gamma(&mut self, jacobian: &Jacobian, shift: &[f64]) -> Result<()> {
        refill(&mut self.changed, jacobian.bodies() + 1, false)?;
        for (i, row) in jacobian.rows().iter().enumerate() {
            let is_free = self.position[i] != NONE;
            let inverse = if is_free { 1.0 / (jacobian.compliance()[i] + shift[i]) } else { 0.0 };
            if inverse != self.inverse_gamma[i] {
                self.inverse_gamma[i] = inverse;
                row.body.iter().for_each(|&k| self.changed[k as usize] = true);
            }
        }
        // The world has no block.
        self.changed[jacobian.bodies()] = false;
        Ok(())
    }

    fn fill_bodies_dense(&mut self, problem: &Problem, shift: &[f64]) -> Result<()> {
        let Operator::Jacobian(a) = problem.operator() else { return Ok(()) };
        self.invert_gamma(a, shift)?;
        let (bodies, m) = (a.bodies(), 6 * a.bodies());
        let out = self.dense.matrix(m)?;
        out.fill(0.0);
        for d in 0..m {
            out[d * m + d] = 1.0;
        }
        let all = |_| true;
        for_each_pair(a.rows(), &self.inverse_gamma, all, |pair, blocks| {
            let [p, q] = pair.map(|k| k as usize);
            let mut add = |to: usize, from: usize, columns: &dyn Fn(usize) -> [f64; 6]| {
                for d in 0..6 {
                    let column = &mut out[(6 * from + d) * m + 6 * to..][..6];
                    column.iter_mut().zip(columns(d)).for_each(|(entry, value)| *entry += value);
                }
            };
            if p < bodies {
                add(p, p, &|d| own(blocks, 0, d));
            }
            if q < bodies {
                add(q, q, &|d| own(blocks, 1, d));
            }
            if p < q && q < bodies {
                add(q, p, &|d| across(blocks, d));
            } else if q < p && p < bodies {
                add(p, q, &|d| std::array::from_fn(|c| blocks[c][6 + d]));
            }
        });
        Ok(())
    }

    fn fill_bodies_sparse(&mut self, problem: &Problem, shift: &[f64]) -> Result<()> {
        let Operator::Jacobian(a) = problem.operator() else { return Ok(()) };
        self.invert_gamma(a, shift)?;
        let (matrix, bodies) = (&mut self.bodies, a.bodies());
        matrix.clear_changed(1.0, &mut self.changed);
        let wanted = |pair: [u32; 2]| pair.iter().any(|&k| self.changed[k as usize]);
        for_each_pair(a.rows(), &self.inverse_gamma, wanted, |pair, blocks| {
            // The world, which is the body after the last, has no block.
            let [p, q] = pair.map(|k| k as usize);
            if p < bodies {
                matrix.add(p, p, |d| own(blocks, 0, d));
            }
            if q < bodies {
                matrix.add(q, q, |d| own(blocks, 1, d));
            }
            if p < bodies && q < bodies {
                matrix.add(q, p, |d| across(blocks, d));
            }
        });
        Ok(())
    }

    /// Solve in place; `x` has a number of every row. Those that are not free do not count, and become 0.
    pub fn solve(&mut self, problem: &Problem, x: &mut [f64]) -> Result<()> {
        match (self.side, problem.operator()) {
            (Side::RowsDense, _) => {
                refill(&mut self.of_rows, self.free.len(), 0.0)?;
                for (to, &i) in self.of_rows.iter_mut().zip(&self.free) {
                    *to = x[i as usize];
                }
                self.dense.solve(&mut self.of_rows);
                x.fill(0.0);
                for (from, &i) in self.of_rows.iter().zip(&self.free) {
                    x[i as usize] = *from;
                }
            }
            (Side::RowsSparse, _) => {
                for (x, &position) in x.iter_mut().zip(&self.position) {
                    *x = if position == NONE { 0.0 } else { *x };
                }
                self.rows.solve(x);
            }
            (_, Operator::Jacobian(a)) => {
                refill(&mut self.u, a.whitened_len(), 0.0)?;
                refill(&mut self.of_rows, x.len(), 0.0)?;
                for ((to, &x), weight) in self.of_rows.iter_mut().zip(x.iter()).zip(&self.inverse_gamma) {
                    *to = weight * x;
                }
                a.push(&self.of_rows, &mut self.u);
                let m = 6 * a.bodies();
                if self.side == Side::BodiesDense {
                    self.dense.solve(&mut self.u[..m]);
                } else {
                    self.bodies.solve(&mut self.u[..m]);
                }
                a.pull(&self.u, &mut self.of_rows);
                for ((x, moved), weight) in x.iter_mut().zip(&self.of_rows).zip(&self.inverse_gamma) {
                    *x = weight * (*x - moved);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Flops of a dense factorisation.
fn dense_cost(n: usize) -> f64 {
    (n as f64).powi(3) / 3.0
}

/// The part of `K_i · K_j` on one body, which is `half` of row i.
#[inline]
fn half_dot(row: &Row, half: usize, other: &Row, body: u32) -> f64 {
    let theirs = usize::from(other.body[0] != body);
    (0..6).map(|c| row.k[6 * half + c] * other.k[6 * theirs + c]).sum()
}
