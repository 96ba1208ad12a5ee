//! Exact Coulomb friction: the law, its measures, and the three solvers that know it.
//!
//! The references are closed forms and searches of this file's own; natural residuals are evaluated here, from a product
//! `A x + b` formed here.

mod corpus;
mod law;
mod measures;
mod one_contact;

use mlcp::{Engine, Problem, Settings, SolverKind};

/// The solvers that know cones.
pub const KINDS: [SolverKind; 3] = [SolverKind::Prox, SolverKind::ProxGs, SolverKind::AlartCurnier];

/// A solver that goes on as long as it can.
pub fn patient(solver: SolverKind, max_iterations: usize) -> Engine {
    let settings =
        Settings { solver, max_iterations, energy_tolerance: 0.0, relative_tolerance: 1e-28, ..Settings::default() };
    Engine::new(settings).unwrap()
}

/// |x - P(x - w)| of a contact's tangents, by the definition.
pub fn natural_of_disc(x: [f64; 2], w: [f64; 2], radius: f64) -> f64 {
    let z = [x[0] - w[0], x[1] - w[1]];
    let size = (z[0] * z[0] + z[1] * z[1]).sqrt();
    let scale = if size > radius { radius / size } else { 1.0 };
    ((x[0] - scale * z[0]).powi(2) + (x[1] - scale * z[1]).powi(2)).sqrt()
}

/// |x - clamp(x - w)| of a row, by the definition.
pub fn natural_of_row(x: f64, w: f64, lo: f64, hi: f64) -> f64 {
    (x - (x - w).max(lo).min(hi)).abs()
}

/// A dense problem of one contact.
pub fn one_contact(a: &[f64; 9], b: &[f64; 3], mu: f64) -> Problem {
    let inf = f64::INFINITY;
    let mut problem = Problem::new();
    problem.set_dense(3, a, 3, mlcp::Triangle::Full).unwrap();
    problem.set_b(b).unwrap();
    problem.set_bounds(&[0.0, -inf, -inf], &[inf; 3]).unwrap();
    problem.set_cones(&[0, 1, 2], &[mu]).unwrap();
    problem
}
