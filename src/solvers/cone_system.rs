//! The linear system of a Newton step on boxes, coupled friction and friction cones.
//!
//! Each row's change δ is known, or solved for, or tied to that of the normal row of its contact:
//!
//! ```text
//! known:   δ_i = value        active:  (A δx)_i + shift_i δ_i = rhs_i        tied:  δ_i = factor δ_normal + offset
//! ```
//! The two tangent rows of a cone are first turned by the contact's frame, so that "along the slip" and "across it" are
//! rows of their own. Put into one another, the active rows are left, with the matrix `R A G + S`: R picks (turned)
//! rows, G adds to each active row what is tied to it. It is not symmetric. Factored densely by LU, over the rows or,
//! for Jacobian problems `A = K Kᵀ + C` with more rows than velocities, over the bodies: with `Γ = C + S`,
//!
//! ```text
//! (I + (KᵀG) Γ⁻¹ (R K)) u = (KᵀG) Γ⁻¹ r,     δ = Γ⁻¹ (r - R K u)
//! ```

use super::box_qp::multiply;
use crate::error::{Error, Result, Status};
use crate::linalg::DenseLu;
use crate::memory::{refill, reserve};
use crate::problem::{Jacobian, Operator, Part, Problem, ROW_LEN};

const NONE: u32 = u32::MAX;

/// What a step wants of a row's change.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unknown {
    Known(f64),
    Active { shift: f64, rhs: f64 },
    Tied { to: usize, factor: f64, offset: f64 },
}

#[derive(Default)]
pub(super) struct ConeSystem {
    lu: DenseLu,
    on_bodies: bool,
    /// Of every row; of a cone's tangents in the turned frame.
    pub unknowns: Vec<Unknown>,
    /// Per contact cosine and sine of the direction that the first tangent row is turned to.
    pub frames: Vec<[f64; 2]>,
    /// The rows solved for, and the place of every row among them.
    active: Vec<u32>,
    position: Vec<u32>,
    /// All entries, column-major, on the row side.
    a: Vec<f64>,
    /// One column of A G.
    column: Vec<f64>,
    /// R K and G K of the active rows, on the body side.
    picked: Vec<[f64; ROW_LEN]>,
    pushed: Vec<[f64; ROW_LEN]>,
    inverse_gamma: Vec<f64>,
    /// The part of the step that is known, and A times it.
    known: Vec<f64>,
    product: Vec<f64>,
    rhs: Vec<f64>,
    u: Vec<f64>,
    scratch: Vec<f64>,
}

impl ConeSystem {
    pub fn reserve(&mut self, problem: &Problem) -> Result<()> {
        let n = problem.len();
        reserve(&mut self.unknowns, n)?;
        reserve(&mut self.frames, n / 3)?;
        reserve(&mut self.active, n)?;
        reserve(&mut self.position, n)?;
        for v in [&mut self.column, &mut self.inverse_gamma, &mut self.known, &mut self.product, &mut self.rhs] {
            reserve(v, n)?;
        }
        reserve(&mut self.u, 6 * (problem.bodies() + 1))?;
        reserve(&mut self.scratch, 6 * (problem.bodies() + 1))?;
        reserve(&mut self.picked, n)?;
        reserve(&mut self.pushed, n)?;
        // A smaller problem on the row side has no more rows than this one has velocities.
        self.reserve_rows(if on_bodies(problem) { 6 * problem.bodies() } else { n })
    }

    fn reserve_rows(&mut self, n: usize) -> Result<()> {
        let too_large = || Error::new(Status::OutOfMemory, format_args!("no memory for all entries of {n} rows"));
        reserve(&mut self.a, n.checked_mul(n).ok_or_else(too_large)?)?;
        self.lu.reserve(n)
    }

    /// Choose the side; on the row side read all of A. Once per solve.
    pub fn start(&mut self, problem: &Problem) -> Result<()> {
        let n = problem.len();
        refill(&mut self.unknowns, n, Unknown::Known(0.0))?;
        refill(&mut self.frames, problem.cones().list().len(), [1.0, 0.0])?;
        for v in [&mut self.column, &mut self.known, &mut self.product] {
            refill(v, n, 0.0)?;
        }
        self.on_bodies = on_bodies(problem);
        if self.on_bodies {
            return Ok(());
        }
        self.reserve_rows(n)?;
        refill(&mut self.a, n * n, 0.0)?;
        let a = &mut self.a;
        match problem.operator() {
            Operator::Csr(m) => (0..n).for_each(|i| m.row(i).for_each(|(j, v)| a[j * n + i] = v)),
            m => (0..n).for_each(|j| (0..n).for_each(|i| a[j * n + i] = m.entry(i, j))),
        }
        Ok(())
    }

    /// Solve for the step in x. False: the matrix is singular, and the step is not finite.
    pub fn solve(&mut self, problem: &Problem, step: &mut [f64]) -> Result<bool> {
        self.resolve(problem);
        multiply(problem, &self.known, &mut self.product, &mut self.scratch)?;
        refill(&mut self.rhs, self.active.len(), 0.0)?;
        for (p, &i) in self.active.iter().enumerate() {
            if let Unknown::Active { rhs, .. } = self.unknowns[i as usize] {
                self.rhs[p] = rhs - pick(problem, &self.frames, i as usize, &self.product);
            }
        }
        match problem.operator() {
            Operator::Jacobian(jacobian) if self.on_bodies => self.solve_bodies(problem, jacobian)?,
            _ => self.solve_rows(problem)?,
        }
        step.copy_from_slice(&self.known);
        for (i, unknown) in self.unknowns.iter().enumerate() {
            let delta = match *unknown {
                Unknown::Known(_) => continue,
                Unknown::Active { .. } => self.rhs[self.position[i] as usize],
                Unknown::Tied { to, factor, .. } => factor * self.rhs[self.position[to] as usize],
            };
            push(problem, &self.frames, i, delta, step);
        }
        Ok(step.iter().all(|d| d.is_finite()))
    }

    /// Number the active rows, free what is tied to known rows, and collect the known part of the step.
    fn resolve(&mut self, problem: &Problem) {
        let n = problem.len();
        self.active.clear();
        self.position.clear();
        self.position.resize(n, NONE);
        self.known.fill(0.0);
        for i in 0..n {
            if let Unknown::Active { .. } = self.unknowns[i] {
                self.position[i] = self.active.len() as u32;
                self.active.push(i as u32);
            }
        }
        for i in 0..n {
            if let Unknown::Tied { to, factor, offset } = self.unknowns[i] {
                if let Unknown::Known(value) = self.unknowns[to] {
                    self.unknowns[i] = Unknown::Known(factor * value + offset);
                } else {
                    push(problem, &self.frames, i, offset, &mut self.known);
                }
            }
            if let Unknown::Known(value) = self.unknowns[i] {
                push(problem, &self.frames, i, value, &mut self.known);
            }
        }
    }

    fn solve_rows(&mut self, problem: &Problem) -> Result<()> {
        let (n, m) = (problem.len(), self.active.len());
        let out = self.lu.matrix(m)?;
        out.fill(0.0);
        // Scaled to a unit diagonal, so that pivots compare.
        let scale = |i: usize| 1.0 / problem.diagonal()[i].sqrt();
        for i in 0..n {
            let (target, weight) = match self.unknowns[i] {
                Unknown::Known(_) => continue,
                Unknown::Active { .. } => (i, 1.0),
                Unknown::Tied { to, factor, .. } => (to, factor),
            };
            self.column.fill(0.0);
            for (j, part) in parts(problem, &self.frames, i).into_iter().filter(|(_, part)| *part != 0.0) {
                for (c, a) in self.column.iter_mut().zip(&self.a[j * n..(j + 1) * n]) {
                    *c += part * a;
                }
            }
            let q = self.position[target] as usize;
            for (p, &row) in self.active.iter().enumerate() {
                let entry = pick(problem, &self.frames, row as usize, &self.column);
                out[q * m + p] += weight * entry * scale(row as usize) * scale(target);
            }
        }
        for (p, &i) in self.active.iter().enumerate() {
            let i = i as usize;
            if let Unknown::Active { shift, .. } = self.unknowns[i] {
                out[p * m + p] += shift * scale(i) * scale(i);
            }
            self.rhs[p] *= scale(i);
        }
        self.lu.factor();
        self.lu.solve(&mut self.rhs);
        for (p, &i) in self.active.iter().enumerate() {
            self.rhs[p] *= scale(i as usize);
        }
        Ok(())
    }

    fn solve_bodies(&mut self, problem: &Problem, jacobian: &Jacobian) -> Result<()> {
        let m = 6 * jacobian.bodies();
        refill(&mut self.picked, self.active.len(), [0.0; ROW_LEN])?;
        refill(&mut self.pushed, self.active.len(), [0.0; ROW_LEN])?;
        refill(&mut self.inverse_gamma, self.active.len(), 0.0)?;
        refill(&mut self.u, jacobian.whitened_len(), 0.0)?;
        for i in 0..problem.len() {
            match self.unknowns[i] {
                Unknown::Known(_) => {}
                Unknown::Active { shift, .. } => {
                    let p = self.position[i] as usize;
                    self.inverse_gamma[p] = 1.0 / (jacobian.compliance()[i] + shift);
                    add_turned(problem, jacobian, &self.frames, i, 1.0, &mut self.picked[p]);
                    add_turned(problem, jacobian, &self.frames, i, 1.0, &mut self.pushed[p]);
                }
                Unknown::Tied { to, factor, .. } => {
                    let pushed = &mut self.pushed[self.position[to] as usize];
                    add_turned(problem, jacobian, &self.frames, i, factor, pushed);
                }
            }
        }
        let out = self.lu.matrix(m)?;
        out.fill(0.0);
        for d in 0..m {
            out[d * m + d] = 1.0;
        }
        for (p, &i) in self.active.iter().enumerate() {
            let body = jacobian.rows()[i as usize].body;
            add_outer(out, m, body, &self.pushed[p], &self.picked[p], self.inverse_gamma[p]);
            add(&mut self.u, body, &self.pushed[p], self.inverse_gamma[p] * self.rhs[p]);
        }
        self.lu.factor();
        self.lu.solve(&mut self.u[..m]);
        for (p, &i) in self.active.iter().enumerate() {
            let body = jacobian.rows()[i as usize].body;
            self.rhs[p] = (self.rhs[p] - dot(&self.u, body, &self.picked[p])) * self.inverse_gamma[p];
        }
        Ok(())
    }
}

/// The rows that a turned row is made of, with their shares.
fn parts(problem: &Problem, frames: &[[f64; 2]], i: usize) -> [(usize, f64); 2] {
    let cones = problem.cones();
    match cones.part(i) {
        Part::First(k) => {
            let ([p, q], [c, s]) = (cones.list()[k].tangents, frames[k]);
            [(p, c), (q, s)]
        }
        Part::Second(k) => {
            let ([p, q], [c, s]) = (cones.list()[k].tangents, frames[k]);
            [(p, -s), (q, c)]
        }
        _ => [(i, 1.0), (i, 0.0)],
    }
}

/// The turned row i of a vector.
#[inline]
pub(super) fn pick(problem: &Problem, frames: &[[f64; 2]], i: usize, v: &[f64]) -> f64 {
    parts(problem, frames, i).iter().map(|&(j, part)| part * v[j]).sum()
}

/// `v += delta` in the turned row i.
fn push(problem: &Problem, frames: &[[f64; 2]], i: usize, delta: f64, v: &mut [f64]) {
    for (j, part) in parts(problem, frames, i) {
        v[j] += part * delta;
    }
}

fn add_turned(problem: &Problem, a: &Jacobian, frames: &[[f64; 2]], i: usize, factor: f64, out: &mut [f64; ROW_LEN]) {
    for (j, part) in parts(problem, frames, i) {
        for (out, k) in out.iter_mut().zip(&a.rows()[j].k) {
            *out += factor * part * k;
        }
    }
}

fn fewer_velocities(problem: &Problem) -> bool {
    problem.bodies() > 0 && 6 * problem.bodies() < problem.len()
}

/// The body side is the smaller one, and fits: rows of one contact are on the same bodies and its tangents equally soft.
fn on_bodies(problem: &Problem) -> bool {
    let Operator::Jacobian(a) = problem.operator() else { return false };
    let body = |i: usize| a.rows()[i].body;
    fewer_velocities(problem)
        && problem.cones().list().iter().all(|cone| {
            let [p, q] = cone.pick(a.compliance());
            p == q && cone.tangents.iter().all(|&t| body(t) == body(cone.normal))
        })
        && (0..problem.len()).all(|i| problem.friction().normal_of(i).is_none_or(|f| body(f) == body(i)))
}

/// `out += weight · p qᵀ` on a pair of bodies, column-major of order m; the world's slot is left out.
fn add_outer(out: &mut [f64], m: usize, body: [u32; 2], p: &[f64; ROW_LEN], q: &[f64; ROW_LEN], weight: f64) {
    for t in (0..2).filter(|&t| 6 * (body[t] as usize) < m) {
        for s in (0..2).filter(|&s| 6 * (body[s] as usize) < m) {
            for d in 0..6 {
                let scaled = weight * q[6 * t + d];
                let column = &mut out[(6 * body[t] as usize + d) * m + 6 * body[s] as usize..][..6];
                for c in 0..6 {
                    column[c] += p[6 * s + c] * scaled;
                }
            }
        }
    }
}

fn add(u: &mut [f64], body: [u32; 2], p: &[f64; ROW_LEN], weight: f64) {
    for s in 0..2 {
        for c in 0..6 {
            u[6 * body[s] as usize + c] += weight * p[6 * s + c];
        }
    }
}

fn dot(u: &[f64], body: [u32; 2], p: &[f64; ROW_LEN]) -> f64 {
    (0..12).map(|c| p[c] * u[6 * body[c / 6] as usize + c % 6]).sum()
}
