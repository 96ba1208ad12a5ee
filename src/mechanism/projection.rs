//! Projection of positions and velocities onto the motion that the constraints allow (González et al., eqs. 2 and 3).
//!
//! With whitened rows `K = J L`, `M⁻¹ = L Lᵀ`, the paper's `W = L⁻¹ (A L⁻¹)†` is `L K†`: the least kinetic energy that
//! undoes a violation. `K†` comes by iterated regularisation,
//!
//! ```text
//! y ← y - (KᵀK + ε I)⁻¹ Kᵀ (K y + r),   y = 0 at first,
//! ```
//!
//! which converges to `-K† r`, the least y among those that leave the least violation; rows are scaled to length 1 first.
//! A singular value σ is served at the rate ε / (σ² + ε), so those far below √ε, redundancies that imperfect positions
//! only seem to resolve, stay untouched: that is what makes the projection rank-revealing. One sparse factorisation, in
//! blocks of six per body, ordered once as long as the joints stay the same.

use crate::error::{Error, Result, Status};
use crate::linalg::{BlockCholesky, Failure};
use crate::memory::refill;
use crate::problem::{BodyGraph, Jacobian, Operator, Problem};
use crate::Budget;

/// Default of √ε.
pub const RANK_TOLERANCE: f64 = 1e-4;
/// Less than this would be lost in the round-off of KᵀK.
const LEAST_TOLERANCE: f64 = 1e-7;
/// Refinements at most.
const ROUNDS: usize = 30;
/// A correction this small beside the whole changes nothing.
const SETTLED: f64 = 1e-15;

/// Projects motions of Jacobian problems. Keeps its memory: a problem no larger than an earlier one allocates nothing.
pub struct Projection {
    epsilon: f64,
    factor: BlockCholesky,
    graph: BodyGraph,
    /// 1 / length of each row, 0 for rows that move nothing.
    scale: Vec<f64>,
    /// Whitened change of velocity, its correction, and the rows' residual.
    y: Vec<f64>,
    step: Vec<f64>,
    residual: Vec<f64>,
}

impl Default for Projection {
    fn default() -> Self {
        Projection {
            epsilon: RANK_TOLERANCE * RANK_TOLERANCE,
            factor: BlockCholesky::default(),
            graph: BodyGraph::default(),
            scale: Vec::new(),
            y: Vec::new(),
            step: Vec::new(),
            residual: Vec::new(),
        }
    }
}

impl Projection {
    /// Nothing projected yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// √ε: singular values of the rows, scaled to length 1, that are well below it count as zero. Default 1e-4; at least
    /// the violation (over the mechanism's size) that the positions begin with.
    pub fn set_tolerance(&mut self, tolerance: f64) -> Result<()> {
        if !(LEAST_TOLERANCE..1.0).contains(&tolerance) {
            return Err(Error::new(
                Status::InvalidValue,
                format_args!("tolerance is {tolerance}, it must be in [{LEAST_TOLERANCE:e}, 1)"),
            ));
        }
        self.epsilon = tolerance * tolerance;
        Ok(())
    }

    /// The change of the bodies' positions of least kinetic energy that takes all rows' violations `residual` away:
    /// `-M⁻¹ Jᵀ (J M⁻¹ Jᵀ)† residual`, six per body, linear then rotation vector. Every row of the problem counts as
    /// bilateral. Positions change the rows: apply it, fill the problem anew and repeat until the violation is small
    /// enough.
    pub fn correct(&mut self, problem: &Problem, residual: &[f64], out: &mut [f64]) -> Result<()> {
        let jacobian = rows_of(problem)?;
        expect("violation", residual.len(), problem.len())?;
        expect("out_change", out.len(), 6 * problem.bodies())?;
        if let Some(i) = residual.iter().position(|v| !v.is_finite()) {
            return Err(Error::new(
                Status::InvalidValue,
                format_args!("violation[{i}] is {}, it must be finite", residual[i]),
            ));
        }
        self.prepare(jacobian)?;
        refill(&mut self.residual, residual.len(), 0.0)?;
        self.residual.copy_from_slice(residual);
        self.run(jacobian, out)
    }

    /// The change of velocities that makes `J v = target` (0 if there is none) at least kinetic energy: add it to v.
    pub fn velocity_change(
        &mut self,
        problem: &Problem,
        velocities: &[f64],
        target: Option<&[f64]>,
        out: &mut [f64],
    ) -> Result<()> {
        let jacobian = rows_of(problem)?;
        expect("velocities", velocities.len(), 6 * problem.bodies())?;
        expect("out_change", out.len(), 6 * problem.bodies())?;
        if let Some(target) = target {
            expect("target", target.len(), problem.len())?;
        }
        for (name, values) in [("velocities", velocities), ("target", target.unwrap_or(&[]))] {
            if let Some(i) = values.iter().position(|v| !v.is_finite()) {
                return Err(Error::new(
                    Status::InvalidValue,
                    format_args!("{name}[{i}] is {}, it must be finite", values[i]),
                ));
            }
        }
        self.prepare(jacobian)?;
        refill(&mut self.residual, problem.len(), 0.0)?;
        jacobian.row_velocities(velocities, &mut self.residual);
        for (r, t) in self.residual.iter_mut().zip(target.unwrap_or(&[])) {
            *r -= t;
        }
        self.run(jacobian, out)
    }

    /// Order and factor `KᵀK + ε I` with rows of length 1.
    fn prepare(&mut self, jacobian: &Jacobian) -> Result<()> {
        let (rows, bodies) = (jacobian.rows(), jacobian.bodies());
        let inside = |body: u32| (body as usize) < bodies;
        refill(&mut self.scale, rows.len(), 0.0)?;
        for (row, scale) in rows.iter().zip(&mut self.scale) {
            let length = row.k.iter().fold(0.0f64, |sum, k| sum.hypot(*k));
            *scale = if length > 0.0 { 1.0 / length } else { 0.0 };
        }
        self.graph.find(jacobian)?;
        self.factor.analyse(&self.graph.start, &self.graph.index)?;
        self.factor.clear(self.epsilon);
        for (row, &scale) in rows.iter().zip(&self.scale) {
            let k = row.k.map(|k| k * scale);
            let (half, [p, q]) = (k.as_chunks::<6>().0, row.body);
            for (s, &body) in row.body.iter().enumerate().filter(|(_, b)| inside(**b)) {
                self.factor.add(body as usize, body as usize, |d| half[s].map(|k| k * half[s][d]));
            }
            if p != q && inside(p) && inside(q) {
                self.factor.add(p as usize, q as usize, |d| half[0].map(|k| k * half[1][d]));
            }
        }
        self.factor.factor(&Budget::unlimited())?.map_err(|failure| match failure {
            Failure::NotPositive(body) | Failure::OutOfTime(body) => {
                Error::new(Status::Singular, format_args!("the rows on body {body} are not finite"))
            }
        })
    }

    /// Iterate on `residual` and write the unwhitened change.
    fn run(&mut self, jacobian: &Jacobian, out: &mut [f64]) -> Result<()> {
        let whitened = jacobian.whitened_len();
        refill(&mut self.y, whitened, 0.0)?;
        refill(&mut self.step, whitened, 0.0)?;
        let rows = jacobian.rows();
        for _ in 0..ROUNDS {
            self.step.fill(0.0);
            for ((row, &r), &scale) in rows.iter().zip(&self.residual).zip(&self.scale) {
                row.add(-r * scale * scale, &mut self.step);
            }
            self.factor.solve(&mut self.step[..whitened - 6]);
            self.step[whitened - 6..].fill(0.0);
            let size = |v: &[f64]| v.iter().fold(0.0f64, |most, v| most.max(v.abs()));
            self.y.iter_mut().zip(&self.step).for_each(|(y, s)| *y += s);
            for (row, r) in rows.iter().zip(&mut self.residual) {
                *r += row.dot(&self.step);
            }
            if size(&self.step) <= SETTLED * size(&self.y) {
                break;
            }
        }
        jacobian.unwhiten(&mut self.y);
        if let Some(i) = self.y.iter().position(|v| !v.is_finite()) {
            return Err(Error::new(Status::InvalidValue, format_args!("the change of body {} overflows", i / 6)));
        }
        out.copy_from_slice(&self.y[..out.len()]);
        Ok(())
    }
}

fn rows_of(problem: &Problem) -> Result<&Jacobian> {
    match problem.operator() {
        Operator::Jacobian(jacobian) => Ok(jacobian),
        _ => Err(Error::new(Status::InvalidState, format_args!("only a Jacobian problem knows its bodies"))),
    }
}

fn expect(name: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::new(Status::InvalidSize, format_args!("{name} has length {found}, expected {expected}")))
}
