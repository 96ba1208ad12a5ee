//! Exact friction cones in place of box friction.

use crate::error::Result;
use crate::problem::{FrictionMode, Problem};

/// Turn every pair of friction rows of one normal and one coefficient into an exact cone and tell how many cones there are
/// now. Other friction rows stay coupled: a single one, a contact in the plane, is exact as it is.
pub fn set_exact_cones(problem: &mut Problem) -> Result<usize> {
    let n = problem.len();
    let mut tangents: Vec<Vec<usize>> = vec![Vec::new(); n];
    for i in 0..n {
        if let Some(normal) = problem.friction().normal_of(i) {
            tangents[normal].push(i);
        }
    }
    let unbounded = |i: usize| problem.own_bounds(i) == (f64::NEG_INFINITY, f64::INFINITY);
    let (mut rows, mut mu) = (Vec::new(), Vec::new());
    for cone in problem.cones().list() {
        rows.extend([cone.normal, cone.tangents[0], cone.tangents[1]].map(|r| r as i32));
        mu.push(cone.mu);
    }
    let mut findex = vec![-1; n];
    let coefficients: Vec<f64> = (0..n).map(|i| problem.friction().mu_of(i)).collect();
    for (normal, pair) in tangents.iter().enumerate() {
        match pair[..] {
            [p, q]
                if coefficients[p] == coefficients[q]
                    && unbounded(p)
                    && unbounded(q)
                    && problem.own_bounds(normal).0 >= 0.0 =>
            {
                rows.extend([normal, p, q].map(|r| r as i32));
                mu.push(coefficients[p]);
            }
            _ => pair.iter().for_each(|&i| findex[i] = normal as i32),
        }
    }
    problem.set_friction(&findex, &coefficients, FrictionMode::Coupled)?;
    problem.set_cones(&rows, &mu)?;
    Ok(mu.len())
}
