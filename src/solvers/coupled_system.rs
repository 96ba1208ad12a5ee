//! The linear system of a step with coupled friction, an interior point's or a tied pivot's.
//!
//! A friction row may follow its normal row: `x_i = z_i + t_i x_n`. With T for all of that, x = T z, and a positive diagonal S,
//!
//! ```text
//! (A T + S) z = r
//! ```
//!
//! Where S_i is infinite z_i is 0, so the row is tied to its normal and has no equation of its own. In this form no entry is
//! large beside the rest of its row and column, whatever S is; an entry that ties x_i to x_n by its weight would be, and
//! where A is singular its round-off would decide.
//!
//! Factored by LU, over the rows or, for Jacobian problems `A = K Kᵀ + C` with more rows than velocities, over the bodies:
//! with `Γ = C + S` and `s_i = t_i S_i / Γ_i`,
//!
//! ```text
//! (I + Kᵀ B K) u = Kᵀ B r,     x = B (r - K u),     (B r)_i = r_i / Γ_i + s_i r_n / Γ_n
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
    /// The rows that move, normals before the friction rows that follow them.
    active: Vec<u32>,
    /// 1 of every row that moves, else 0.
    moves: Vec<f64>,
    /// Those with an equation of their own, where a row has its equation, and t of every row.
    solved: Vec<u32>,
    position: Vec<u32>,
    follow: Vec<f64>,
    /// 1/Γ_i and s_i of every row that moves.
    inverse_gamma: Vec<f64>,
    slide: Vec<f64>,
    /// Rows of `B K`.
    right: Vec<[f64; ROW_LEN]>,
    u: Vec<f64>,
    packed: Vec<f64>,
}

impl CoupledSystem {
    pub fn reserve(&mut self, problem: &Problem) -> Result<()> {
        let (n, bodies) = (problem.len(), problem.bodies());
        let CoupledSystem { active, moves, solved, position, follow, inverse_gamma, slide, packed, .. } = self;
        for v in [active, solved, position] {
            reserve(v, n)?;
        }
        for v in [moves, follow, inverse_gamma, slide, packed] {
            reserve(v, n)?;
        }
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

    /// Factor for the rows in `active`; `shift` has S of every row, `follow` t of every friction row.
    pub fn factor(
        &mut self,
        problem: &Problem,
        active: impl Fn(usize) -> bool,
        shift: &[f64],
        follow: &[f64],
        budget: &Budget,
    ) -> Result<std::result::Result<(), Failure>> {
        self.list(problem, active, shift, follow)?;
        match (self.side, problem.operator()) {
            (Side::Blocks, Operator::Jacobian(jacobian)) => {
                self.find_right(problem, jacobian, shift)?;
                self.fill_blocks(jacobian);
                return self.blocks.factor(budget);
            }
            (Side::Bodies, Operator::Jacobian(jacobian)) => {
                self.find_right(problem, jacobian, shift)?;
                self.fill_bodies(problem, jacobian)?;
            }
            _ => self.fill_rows(problem, shift)?,
        }
        self.lu.factor();
        Ok(Ok(()))
    }

    /// List the rows that move and those with an equation.
    fn list(&mut self, problem: &Problem, active: impl Fn(usize) -> bool, shift: &[f64], follow: &[f64]) -> Result<()> {
        let n = problem.len();
        refill(&mut self.position, n, NONE)?;
        refill(&mut self.moves, n, 0.0)?;
        refill(&mut self.follow, n, 0.0)?;
        self.active.clear();
        self.solved.clear();
        for friction in [false, true] {
            for i in (0..n).filter(|&i| active(i) && problem.friction().normal_of(i).is_some() == friction) {
                self.moves[i] = 1.0;
                self.active.push(i as u32);
                if shift[i] < f64::INFINITY {
                    self.position[i] = self.solved.len() as u32;
                    self.solved.push(i as u32);
                }
                if problem.friction().normal_of(i).is_some_and(|f| self.moves[f] > 0.0) {
                    self.follow[i] = follow[i];
                }
            }
        }
        Ok(())
    }

    fn fill_rows(&mut self, problem: &Problem, shift: &[f64]) -> Result<()> {
        let CoupledSystem { solved, position, active, follow, lu, .. } = self;
        let m = solved.len();
        let out = lu.matrix(m)?;
        out.fill(0.0);
        // What row j adds to the columns: its own, and that of the row it follows.
        let columns = |j: usize| {
            let own = position[j];
            let normal = problem.friction().normal_of(j).filter(|_| follow[j] != 0.0);
            let followed = normal.map(|f| (position[f] as usize, follow[j]));
            [(own != NONE).then_some((own as usize, 1.0)), followed].into_iter().flatten()
        };
        for (p, &i) in solved.iter().enumerate() {
            let i = i as usize;
            let mut add = |j: usize, value: f64| {
                for (q, weight) in columns(j) {
                    out[q * m + p] += weight * value;
                }
            };
            match problem.operator() {
                Operator::Dense(a) => active.iter().for_each(|&j| add(j as usize, a.row(i)[j as usize])),
                Operator::Csr(a) => a.row(i).for_each(|(j, value)| add(j, value)),
                Operator::Jacobian(a) => active.iter().for_each(|&j| add(j as usize, a.entry(i, j as usize))),
            }
            out[p * m + p] += shift[i];
        }
        Ok(())
    }

    /// Find Γ, s and the rows of `B K`.
    fn find_right(&mut self, problem: &Problem, a: &Jacobian, shift: &[f64]) -> Result<()> {
        refill(&mut self.inverse_gamma, shift.len(), 0.0)?;
        refill(&mut self.slide, shift.len(), 0.0)?;
        for &i in &self.active {
            let i = i as usize;
            let inverse = 1.0 / (a.compliance()[i] + shift[i]);
            self.inverse_gamma[i] = inverse;
            self.slide[i] = self.follow[i] * if inverse > 0.0 { shift[i] * inverse } else { 1.0 };
        }
        self.right.clear();
        for (i, row) in a.rows().iter().enumerate() {
            let mut right = row.k.map(|k| k * self.inverse_gamma[i]);
            if let Some(f) = problem.friction().normal_of(i).filter(|_| self.slide[i] != 0.0) {
                let weight = self.slide[i] * self.inverse_gamma[f];
                for (right, k) in right.iter_mut().zip(&a.rows()[f].k) {
                    *right += weight * k;
                }
            }
            self.right.push(right);
        }
        Ok(())
    }

    fn fill_blocks(&mut self, a: &Jacobian) {
        let (matrix, bodies) = (&mut self.blocks, a.bodies());
        matrix.clear(1.0);
        for_each_general_pair(a.rows(), &self.moves, &self.right, |pair, blocks| {
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
    }

    fn fill_bodies(&mut self, problem: &Problem, a: &Jacobian) -> Result<()> {
        let m = 6 * a.bodies();
        let out = self.lu.matrix(m)?;
        out.fill(0.0);
        for d in 0..m {
            out[d * m + d] = 1.0;
        }
        for &i in &self.active {
            let i = i as usize;
            add_outer(out, m, &a.rows()[i], &a.rows()[i], self.inverse_gamma[i]);
            if let Some(f) = problem.friction().normal_of(i).filter(|_| self.slide[i] != 0.0) {
                add_outer(out, m, &a.rows()[i], &a.rows()[f], self.slide[i] * self.inverse_gamma[f]);
            }
        }
        Ok(())
    }

    /// Solve in place, for the rows that move; the others are left alone.
    pub fn solve(&mut self, problem: &Problem, x: &mut [f64]) -> Result<()> {
        match problem.operator() {
            Operator::Jacobian(a) if self.side != Side::Rows => self.solve_bodies(problem, a, x),
            _ => self.solve_rows(problem, x),
        }
    }

    fn solve_bodies(&mut self, problem: &Problem, a: &Jacobian, x: &mut [f64]) -> Result<()> {
        refill(&mut self.packed, x.len(), 0.0)?;
        refill(&mut self.u, a.whitened_len(), 0.0)?;
        // B r, and what it does to the bodies.
        for &i in &self.active {
            let i = i as usize;
            let normal = problem.friction().normal_of(i).filter(|_| self.slide[i] != 0.0);
            let slide = normal.map_or(0.0, |f| self.slide[i] * self.packed[f]);
            self.packed[i] = x[i] * self.inverse_gamma[i] + slide;
        }
        a.push(&self.packed, &mut self.u);
        let velocities = &mut self.u[..6 * a.bodies()];
        if self.side == Side::Blocks {
            self.blocks.solve(velocities);
        } else {
            self.lu.solve(velocities);
        }
        a.pull(&self.u, &mut self.packed);
        for &i in &self.active {
            let i = i as usize;
            let normal = problem.friction().normal_of(i).filter(|_| self.slide[i] != 0.0);
            let slide = normal.map_or(0.0, |f| self.slide[i] * x[f]);
            x[i] = (x[i] - self.packed[i]) * self.inverse_gamma[i] + slide;
        }
        Ok(())
    }

    fn solve_rows(&mut self, problem: &Problem, x: &mut [f64]) -> Result<()> {
        refill(&mut self.packed, self.solved.len(), 0.0)?;
        for (to, &i) in self.packed.iter_mut().zip(&self.solved) {
            *to = x[i as usize];
        }
        self.lu.solve(&mut self.packed);
        for &i in &self.active {
            let i = i as usize;
            let own = self.packed.get(self.position[i] as usize).copied().unwrap_or(0.0);
            let normal = problem.friction().normal_of(i).filter(|_| self.follow[i] != 0.0);
            x[i] = own + normal.map_or(0.0, |f| self.follow[i] * x[f]);
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
