//! The problem of one step, kept; and the same problem in other units or with rescaled rows.

use mlcp::{Problem, Result};

/// Jacobian rows with bodies, b and bounds, in SI unless converted.
#[derive(Clone, Debug, Default)]
pub struct StepProblem {
    /// 12 per body.
    pub inverse_mass: Vec<f64>,
    /// 12 per row.
    pub jacobian: Vec<f64>,
    /// Two per row, -1 for the world.
    pub bodies: Vec<i32>,
    /// One per row.
    pub compliance: Vec<f64>,
    /// Velocities without impulses.
    pub b: Vec<f64>,
    /// Lower bounds of the impulses.
    pub lo: Vec<f64>,
    /// Upper bounds.
    pub hi: Vec<f64>,
}

impl StepProblem {
    /// Fill a problem with it.
    pub fn fill(&self, problem: &mut Problem) -> Result<()> {
        problem.set_jacobian(&self.inverse_mass, &self.jacobian, &self.bodies, Some(&self.compliance))?;
        problem.set_b(&self.b)?;
        problem.set_bounds(&self.lo, &self.hi)
    }

    /// In other units: `mass` of them are a kilogram, `length` of them a metre; seconds stay. Rows must be velocities of
    /// points.
    pub fn in_units(&self, mass: f64, length: f64) -> Self {
        let mut other = self.clone();
        for body in other.inverse_mass.chunks_exact_mut(12) {
            body[..3].iter_mut().for_each(|m| *m /= mass);
            body[3..].iter_mut().for_each(|i| *i /= mass * length * length);
        }
        for row in other.jacobian.chunks_exact_mut(6) {
            row[3..].iter_mut().for_each(|lever| *lever *= length);
        }
        other.compliance.iter_mut().for_each(|c| *c /= mass);
        other.b.iter_mut().for_each(|v| *v *= length);
        other.lo.iter_mut().chain(&mut other.hi).for_each(|x| *x *= mass * length);
        other
    }

    /// Row i of J multiplied by `scale(i)`: another way to write the same constraints.
    pub fn with_scaled_rows(&self, scale: impl Fn(usize) -> f64) -> Self {
        let mut other = self.clone();
        for i in 0..self.b.len() {
            let s = scale(i);
            other.jacobian[12 * i..][..12].iter_mut().for_each(|j| *j *= s);
            other.compliance[i] *= s * s;
            other.b[i] *= s;
            other.lo[i] /= s;
            other.hi[i] /= s;
        }
        other
    }
}
