//! The linear system of a step with coupled friction, an interior point's or a tied pivot's: `(A + S + E) x = r`.
//!
//! S is a positive diagonal; E ties each friction row to its normal row by one entry, so the system is not symmetric.
//! Factored by LU, over the rows or, for Jacobian problems `A = K Kᵀ + C` with more rows than velocities, over the bodies:
//! with `Γ = C + S + E`, which is inverted contact by contact,
//!
//! ```text
//! (I + Kᵀ Γ⁻¹ K) u = Kᵀ Γ⁻¹ r,     x = Γ⁻¹ (r - K u)
//! ```
//! There it is sparse, in 6 by 6 blocks over the graph of bodies that share a row, as long as every normal row is on the
//! bodies of its friction rows. Blocks are not exchanged for better pivots: a caller who finds a solution wrong asks for
//! the dense factor, which has them.

use super::pair_blocks::{across, back_across, for_each_general_pair, own};
use crate::error::Result;
use crate::linalg::{BlockLu, DenseLu, Failure};
use crate::memory::{refill, reserve};
use crate::problem::{BodyGraph, Jacobian, Operator, Problem, Row, ROW_LEN};
use crate::Budget;

const NONE: u32 = u32::MAX;
/// Fewer bodies are better off with a dense factor.
const FEW: usize = 4;
/// The largest order of a dense factor.
const LARGEST_DENSE: usize = 2000;
/// A coefficient of friction is at most this, in the units where both rows have the mass 1: rougher is no different.
const ROUGHEST: f64 = 1e6;

/// How far a friction row's bounds reach for one unit of its normal impulse; 0 for other rows.
pub(super) fn reach_of(problem: &Problem, i: usize) -> f64 {
    let (friction, a) = (problem.friction(), problem.diagonal());
    friction.normal_of(i).map_or(0.0, |f| friction.mu_of(i).min(ROUGHEST * (a[f] / a[i]).sqrt()))
}

/// Where a system is factored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Side {
    #[default]
    Rows,
    Bodies,
    Blocks,
}

#[derive(Default)]
pub(super) struct CoupledSystem {
    side: Side,
    lu: DenseLu,
    blocks: BlockLu,
    graph: BodyGraph,
    /// The rows solved for, normals before the friction rows that hang on them, and the place of every row.
    active: Vec<u32>,
    position: Vec<u32>,
    /// 1/Γ_ii of every row, 0 of those that are not solved for.
    inverse_gamma: Vec<f64>,
    /// Rows of `Γ_ii Γ⁻¹ K`.
    right: Vec<[f64; ROW_LEN]>,
    u: Vec<f64>,
    packed: Vec<f64>,
}

impl CoupledSystem {
    pub fn reserve(&mut self, problem: &Problem) -> Result<()> {
        let (n, bodies) = (problem.len(), problem.bodies());
        reserve(&mut self.active, n)?;
        reserve(&mut self.position, n)?;
        reserve(&mut self.inverse_gamma, n)?;
        reserve(&mut self.packed, n)?;
        reserve(&mut self.u, 6 * (bodies + 1))?;
        if on_bodies(problem) {
            reserve(&mut self.right, n)?;
            self.graph.reserve(n, bodies)?;
            self.blocks.reserve(bodies, 2 * n)?;
        }
        self.lu.reserve(order(problem).min(LARGEST_DENSE))
    }

    /// Is a factor sparse, or small enough to be dense?
    pub fn is_cheap(problem: &Problem) -> bool {
        on_bodies(problem) || problem.len() <= LARGEST_DENSE
    }

    /// Look at a problem's pattern. Once per solve.
    pub fn prepare(&mut self, problem: &Problem) -> Result<()> {
        self.side = Side::Rows;
        let Operator::Jacobian(jacobian) = problem.operator() else { return Ok(()) };
        if !on_bodies(problem) {
            return Ok(());
        }
        self.side = Side::Bodies;
        let body = |i: usize| jacobian.rows()[i].body;
        let alike = |i: usize| problem.friction().normal_of(i).is_none_or(|f| body(f) == body(i));
        if problem.bodies() >= FEW && (0..problem.len()).all(alike) {
            self.graph.find(jacobian)?;
            self.blocks.analyse(&self.graph.start, &self.graph.index)?;
            self.side = Side::Blocks;
        }
        Ok(())
    }

    /// Factor densely from now on, in this solve. False if that is so already, or the system is too large for it.
    pub fn distrust(&mut self, problem: &Problem) -> bool {
        let may = self.side == Side::Blocks && order(problem) <= LARGEST_DENSE;
        if may {
            self.side = Side::Bodies;
        }
        may
    }

    /// May a solution be wrong?
    pub fn is_in_doubt(&self) -> bool {
        self.side == Side::Blocks
    }

    /// Factor for the rows in `active`; `shift` has S and `coupling` has E(i, normal of i) of every row.
    pub fn factor(
        &mut self,
        problem: &Problem,
        active: impl Fn(usize) -> bool,
        shift: &[f64],
        coupling: &[f64],
        budget: &Budget,
    ) -> Result<std::result::Result<(), Failure>> {
        let n = problem.len();
        refill(&mut self.position, n, NONE)?;
        self.active.clear();
        for friction in [false, true] {
            for i in (0..n).filter(|&i| active(i) && problem.friction().normal_of(i).is_some() == friction) {
                self.position[i] = self.active.len() as u32;
                self.active.push(i as u32);
            }
        }
        match (self.side, problem.operator()) {
            (Side::Blocks, Operator::Jacobian(jacobian)) => {
                self.fill_blocks(problem, jacobian, shift, coupling)?;
                return self.blocks.factor(budget);
            }
            (Side::Bodies, Operator::Jacobian(jacobian)) => self.fill_bodies(problem, jacobian, shift, coupling)?,
            _ => self.fill_rows(problem, shift, coupling)?,
        }
        self.lu.factor();
        Ok(Ok(()))
    }

    /// The normal row of friction row `i`, if both are solved for.
    fn normal(&self, problem: &Problem, i: usize) -> Option<usize> {
        problem.friction().normal_of(i).filter(|&f| self.position[f] != NONE)
    }

    fn fill_rows(&mut self, problem: &Problem, shift: &[f64], coupling: &[f64]) -> Result<()> {
        let m = self.active.len();
        let out = self.lu.matrix(m)?;
        out.fill(0.0);
        for (p, &i) in self.active.iter().enumerate() {
            let i = i as usize;
            match problem.operator() {
                Operator::Dense(a) => {
                    for (q, &j) in self.active.iter().enumerate() {
                        out[q * m + p] = a.row(i)[j as usize];
                    }
                }
                Operator::Csr(a) => {
                    for (j, value) in a.row(i).filter(|&(j, _)| self.position[j] != NONE) {
                        out[self.position[j] as usize * m + p] = value;
                    }
                }
                Operator::Jacobian(a) => {
                    for (q, &j) in self.active.iter().enumerate() {
                        out[q * m + p] = a.entry(i, j as usize);
                    }
                }
            }
            out[p * m + p] += shift[i];
            let normal = problem.friction().normal_of(i).filter(|&f| self.position[f] != NONE);
            if let Some(f) = normal {
                out[self.position[f] as usize * m + p] += coupling[i];
            }
        }
        Ok(())
    }

    fn invert_gamma(&mut self, a: &Jacobian, shift: &[f64]) -> Result<()> {
        refill(&mut self.inverse_gamma, shift.len(), 0.0)?;
        for &i in &self.active {
            self.inverse_gamma[i as usize] = 1.0 / (a.compliance()[i as usize] + shift[i as usize]);
        }
        Ok(())
    }

    fn fill_blocks(&mut self, problem: &Problem, a: &Jacobian, shift: &[f64], coupling: &[f64]) -> Result<()> {
        self.invert_gamma(a, shift)?;
        self.right.clear();
        for (i, row) in a.rows().iter().enumerate() {
            let mut right = row.k;
            if let Some(f) = problem.friction().normal_of(i) {
                let weight = coupling[i] * self.inverse_gamma[f];
                for (right, k) in right.iter_mut().zip(&a.rows()[f].k) {
                    *right -= weight * k;
                }
            }
            self.right.push(right);
        }
        let (matrix, bodies) = (&mut self.blocks, a.bodies());
        matrix.clear(1.0);
        for_each_general_pair(a.rows(), &self.inverse_gamma, &self.right, |pair, blocks| {
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
                matrix.add(p, q, |d| back_across(blocks, d));
            }
        });
        Ok(())
    }

    fn fill_bodies(&mut self, problem: &Problem, a: &Jacobian, shift: &[f64], coupling: &[f64]) -> Result<()> {
        self.invert_gamma(a, shift)?;
        let m = 6 * a.bodies();
        let out = self.lu.matrix(m)?;
        out.fill(0.0);
        for d in 0..m {
            out[d * m + d] = 1.0;
        }
        for &i in &self.active {
            let i = i as usize;
            add_outer(out, m, &a.rows()[i], &a.rows()[i], self.inverse_gamma[i]);
            let normal = problem.friction().normal_of(i).filter(|&f| self.position[f] != NONE);
            if let Some(f) = normal {
                let weight = -coupling[i] * self.inverse_gamma[i] * self.inverse_gamma[f];
                add_outer(out, m, &a.rows()[i], &a.rows()[f], weight);
            }
        }
        Ok(())
    }

    /// Solve in place, for the rows that are solved for; the others are left alone.
    pub fn solve(&mut self, problem: &Problem, coupling: &[f64], x: &mut [f64]) -> Result<()> {
        let m = self.active.len();
        let Operator::Jacobian(a) = problem.operator() else {
            return self.solve_rows(m, x);
        };
        if self.side == Side::Rows {
            return self.solve_rows(m, x);
        }
        refill(&mut self.packed, x.len(), 0.0)?;
        refill(&mut self.u, a.whitened_len(), 0.0)?;
        // Γ⁻¹ r, normals first, and what it does to the bodies.
        for k in 0..m {
            let i = self.active[k] as usize;
            let tie = self.normal(problem, i).map_or(0.0, |f| coupling[i] * self.packed[f]);
            self.packed[i] = (x[i] - tie) * self.inverse_gamma[i];
        }
        a.push(&self.packed, &mut self.u);
        let velocities = &mut self.u[..6 * a.bodies()];
        if self.side == Side::Blocks {
            self.blocks.solve(velocities);
        } else {
            self.lu.solve(velocities);
        }
        a.pull(&self.u, &mut self.packed);
        for k in 0..m {
            let i = self.active[k] as usize;
            let tie = self.normal(problem, i).map_or(0.0, |f| coupling[i] * x[f]);
            x[i] = (x[i] - self.packed[i] - tie) * self.inverse_gamma[i];
        }
        Ok(())
    }

    fn solve_rows(&mut self, m: usize, x: &mut [f64]) -> Result<()> {
        refill(&mut self.packed, m, 0.0)?;
        for (to, &i) in self.packed.iter_mut().zip(&self.active) {
            *to = x[i as usize];
        }
        self.lu.solve(&mut self.packed);
        for (from, &i) in self.packed.iter().zip(&self.active) {
            x[i as usize] = *from;
        }
        Ok(())
    }
}

fn on_bodies(problem: &Problem) -> bool {
    problem.bodies() > 0 && 6 * problem.bodies() < problem.len()
}

/// Order of the system that is factored.
fn order(problem: &Problem) -> usize {
    if on_bodies(problem) {
        6 * problem.bodies()
    } else {
        problem.len()
    }
}

/// `out += weight · K_iᵀ K_j`, column-major of order m; the world's slot is left out.
fn add_outer(out: &mut [f64], m: usize, row: &Row, other: &Row, weight: f64) {
    for (s, &p) in row.body.iter().enumerate().filter(|(_, &p)| 6 * (p as usize) < m) {
        for (t, &q) in other.body.iter().enumerate().filter(|(_, &q)| 6 * (q as usize) < m) {
            for d in 0..6 {
                let scaled = weight * other.k[6 * t + d];
                let column = &mut out[(6 * q as usize + d) * m + 6 * p as usize..][..6];
                for c in 0..6 {
                    column[c] += row.k[6 * s + c] * scaled;
                }
            }
        }
    }
}
