//! Exact friction cones in place of box friction.

use crate::error::{Error, Result, Status};
use crate::problem::{FrictionMode, Problem};

/// Turn every pair of friction rows on one normal row into an exact cone; a single friction row, a contact in the plane,
/// is exact as it is. On an error the problem stays as it was.
pub fn set_exact_cones(problem: &mut Problem) -> Result<()> {
    let n = problem.len();
    let mut tangents: Vec<Vec<usize>> = vec![Vec::new(); n];
    for i in 0..n {
        if let Some(normal) = problem.friction().normal_of(i) {
            tangents[normal].push(i);
        }
    }
    let refuse = |i: usize, why: &str| Err(Error::new(Status::Unsupported, format_args!("normal row {i}: {why}")));
    let (mut rows, mut mu) = (Vec::new(), Vec::new());
    let (mut findex, mut rest) = (vec![-1; n], vec![0.0; n]);
    for (normal, t) in tangents.iter().enumerate() {
        match t[..] {
            [] => {}
            [t] => (findex[t], rest[t]) = (normal as i32, problem.friction().mu_of(t)),
            [a, b] => {
                if problem.friction().mu_of(a) != problem.friction().mu_of(b) {
                    return refuse(normal, "its two friction rows have different coefficients");
                }
                if problem.own_bounds(normal).0 < 0.0 {
                    return refuse(normal, "it may pull, so it has no friction cone");
                }
                let unbounded = |i: usize| problem.own_bounds(i) == (f64::NEG_INFINITY, f64::INFINITY);
                if !unbounded(a) || !unbounded(b) {
                    return refuse(normal, "its friction rows have bounds of their own");
                }
                rows.extend([normal as i32, a as i32, b as i32]);
                mu.push(problem.friction().mu_of(a));
            }
            _ => return refuse(normal, "three friction rows on one normal row are no cone"),
        }
    }
    for cone in problem.cones().list() {
        rows.extend([cone.normal, cone.tangents[0], cone.tangents[1]].map(|r| r as i32));
        mu.push(cone.mu);
    }
    problem.set_friction(&findex, &rest, FrictionMode::Coupled)?;
    problem.set_cones(&rows, &mu)
}
