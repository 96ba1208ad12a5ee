//! The scenes of `mlcp_scenes` as problems of the library.

use mlcp::problem::Operator;
use mlcp::{FrictionMode, Problem};
pub use mlcp_scenes::scene::{chain, packing, wall, Scene, STEP};

/// Hands a scene over to the library.
pub trait Fill {
    /// Fill a problem; coupled friction.
    fn fill(&self, problem: &mut Problem);
    /// The same problem in compressed rows: the pattern of rows that share a body.
    fn fill_csr_frozen(&self, problem: &mut Problem, normals: &[f64]);
    /// Fill a problem with friction frozen at the given normal impulses.
    fn fill_frozen(&self, problem: &mut Problem, normals: &[f64]);
}

impl Fill for Scene {
    fn fill(&self, problem: &mut Problem) {
        problem.set_jacobian(&self.inverse_mass, &self.rows, &self.bodies, Some(&self.compliance)).unwrap();
        problem.set_motion(STEP, &self.velocities, Some(&self.forces), None).unwrap();
        problem.set_bounds(&self.lo, &self.hi).unwrap();
        problem.set_friction(&self.findex, &self.mu, FrictionMode::Coupled).unwrap();
    }

    fn fill_csr_frozen(&self, problem: &mut Problem, normals: &[f64]) {
        let mut rows = Problem::new();
        self.fill(&mut rows);
        let Operator::Jacobian(jacobian) = rows.operator() else { unreachable!() };
        let (mut row_start, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..self.rows() {
            for j in 0..self.rows() {
                let a = jacobian.entry(i, j);
                if a != 0.0 {
                    columns.push(j as i32);
                    values.push(a);
                }
            }
            row_start.push(columns.len() as i32);
        }
        problem.set_csr(self.rows(), &row_start, &columns, &values).unwrap();
        problem.set_b(rows.b()).unwrap();
        problem.set_bounds(&self.lo, &self.hi).unwrap();
        problem.set_friction(&self.findex, &self.mu, FrictionMode::Frozen).unwrap();
        problem.set_frozen_normals(normals).unwrap();
    }

    fn fill_frozen(&self, problem: &mut Problem, normals: &[f64]) {
        self.fill(problem);
        problem.set_friction(&self.findex, &self.mu, FrictionMode::Frozen).unwrap();
        problem.set_frozen_normals(normals).unwrap();
    }
}
