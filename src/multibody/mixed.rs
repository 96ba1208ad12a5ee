//! The mixed form keeps the velocities v at the end of the step as free rows before the impulses (Lu et al. 2013, eq. 18):
//!
//! ```text
//! M v - Jᵀ x - (M v₀ + h f) = 0,      w = J v + C x + bias
//! ```
//!
//! It is not symmetric and has no energy where C = 0, but it is sparse, and masses enter it unsquared.

use super::formulation::Shape;
use super::frame::Frame;
use super::rows::Rows;
use crate::error::Result;
use crate::memory::refill;
use crate::problem::Problem;

/// The mixed form in compressed rows.
#[derive(Debug, Default)]
pub(super) struct Mixed {
    row_start: Vec<i32>,
    columns: Vec<i32>,
    values: Vec<f64>,
    b: Vec<f64>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    findex: Vec<i32>,
    mu: Vec<f64>,
    /// Rows on each body with the half of the row that is on it; where each body's begin, and where the next goes.
    touching: Vec<(usize, usize)>,
    begin: Vec<usize>,
    next: Vec<usize>,
}

impl Mixed {
    /// Refill `out` with the mixed form of a frame's rows.
    pub fn fill(&mut self, frame: &Frame, rows: &Rows, shape: Shape, out: &mut Problem) -> Result<()> {
        let (nb, n) = (frame.bodies().masses.len(), rows.lo.len());
        let dof = 6 * nb;
        self.sort_by_body(rows, nb)?;
        self.row_start.clear();
        self.row_start.push(0);
        self.columns.clear();
        self.values.clear();
        self.b.clear();
        for k in 0..nb {
            self.push_body(frame, rows, k);
        }
        for i in 0..n {
            let mut halves = [(rows.bodies[2 * i], 0), (rows.bodies[2 * i + 1], 1)];
            halves.sort_unstable();
            for (body, half) in halves.into_iter().filter(|(body, _)| *body >= 0) {
                for c in 0..6 {
                    self.push(6 * body as usize + c, rows.jacobian[12 * i + 6 * half + c]);
                }
            }
            self.push(dof + i, rows.compliance[i]);
            self.row_start.push(self.columns.len() as i32);
            self.b.push(rows.bias[i]);
        }
        out.set_csr(dof + n, &self.row_start, &self.columns, &self.values)?;
        out.set_b(&self.b)?;
        let shifted = |v: &mut Vec<f64>, first: f64, rest: &[f64]| {
            v.clear();
            v.resize(dof, first);
            v.extend_from_slice(rest);
        };
        shifted(&mut self.lo, f64::NEG_INFINITY, &rows.lo);
        shifted(&mut self.hi, f64::INFINITY, &rows.hi);
        shifted(&mut self.mu, 0.0, &rows.mu);
        out.set_bounds(&self.lo, &self.hi)?;
        self.findex.clear();
        if shape == Shape::Cone {
            self.findex.extend(rows.cones.iter().map(|r| r + dof as i32));
            return out.set_cones(&self.findex, frame.contacts().mu);
        }
        self.findex.resize(dof, -1);
        self.findex.extend(rows.findex.iter().map(|&f| if f < 0 { -1 } else { f + dof as i32 }));
        out.set_friction(&self.findex, &self.mu, shape.mode())
    }

    fn push(&mut self, column: usize, value: f64) {
        if value != 0.0 {
            self.columns.push(column as i32);
            self.values.push(value);
        }
    }

    /// Six rows M v - Jᵀ x - M v_free = 0; v - v_free = 0 of a body that no impulse moves.
    fn push_body(&mut self, frame: &Frame, rows: &Rows, k: usize) {
        let (mass, dof) = (frame.bodies().masses[k], 6 * frame.bodies().masses.len());
        let movable = mass.is_finite();
        for c in 0..6 {
            let mut b = 0.0;
            for j in 0..6 {
                let m = match (c < 3, j < 3) {
                    _ if !movable => f64::from(c == j),
                    (true, true) => mass * f64::from(c == j),
                    (false, false) => rows.inertia[9 * k + 3 * (c - 3) + j - 3],
                    _ => 0.0,
                };
                self.push(6 * k + j, m);
                b -= m * rows.free[6 * k + j];
            }
            if movable {
                for at in self.begin[k]..self.begin[k + 1] {
                    let (i, half) = self.touching[at];
                    self.push(dof + i, -rows.jacobian[12 * i + 6 * half + c]);
                }
            }
            self.row_start.push(self.columns.len() as i32);
            self.b.push(b);
        }
    }

    fn sort_by_body(&mut self, rows: &Rows, nb: usize) -> Result<()> {
        refill(&mut self.begin, nb + 1, 0)?;
        for &body in rows.bodies.iter().filter(|b| **b >= 0) {
            self.begin[body as usize + 1] += 1;
        }
        for k in 0..nb {
            self.begin[k + 1] += self.begin[k];
        }
        refill(&mut self.touching, self.begin[nb], (0, 0))?;
        refill(&mut self.next, nb + 1, 0)?;
        self.next.copy_from_slice(&self.begin);
        for (at, &body) in rows.bodies.iter().enumerate().filter(|(_, b)| **b >= 0) {
            let place = &mut self.next[body as usize];
            self.touching[*place] = (at / 2, at % 2);
            *place += 1;
        }
        Ok(())
    }
}
