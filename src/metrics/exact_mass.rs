//! Exact effective masses: the diagonal of A⁻¹ (Enzenhoefer et al. 2019, eq. 11 and section 5.1.1).
//!
//! The energy error takes `1/a_ii` for the mass that row i feels, as if no other row acted. The mass it really feels
//! is `(A⁻¹)_ii >= 1/a_ii`. That costs a dense factorisation, so it is for analysis, not for every iteration.

use super::check_diagonal;
use crate::error::{Error, Result, Status};
use crate::linalg::DenseCholesky;
use crate::memory::refill;
use crate::problem::Problem;
use crate::Budget;

/// Memory of [`exact_diagonal`], to be reused.
#[derive(Default)]
pub struct ExactMassWorkspace {
    cholesky: DenseCholesky,
    column: Vec<f64>,
}

/// Write `1/(A⁻¹)_ii`, which takes the place of `a_ii` in [`super::energy_row`].
///
/// A pivot below `n · 2⁻⁴⁶` of its diagonal counts as zero: the matrix is singular and the answer would be noise.
pub fn exact_diagonal(problem: &Problem, work: &mut ExactMassWorkspace, out: &mut [f64]) -> Result<()> {
    let n = problem.len();
    check_diagonal(problem.diagonal())?;
    if !problem.is_symmetric() {
        return Err(Error::new(Status::Unsupported, format_args!("exact masses need a symmetric A, this one is not")));
    }
    problem.gather_dense(work.cholesky.matrix(n)?, n);
    let singular = |row: usize| {
        Error::new(Status::Singular, format_args!("A is singular at row {row}: it has no exact effective mass"))
    };
    work.cholesky.factor(&Budget::unlimited()).map_err(|failure| singular(failure.row()))?;
    let floor = n as f64 * 2f64.powi(-46);
    if let Some(row) = (0..n).find(|&i| work.cholesky.pivot(i) < floor * problem.diagonal()[i]) {
        return Err(singular(row));
    }
    refill(&mut work.column, n, 0.0)?;
    for (i, out) in out.iter_mut().enumerate() {
        work.column.fill(0.0);
        work.column[i] = 1.0;
        work.cholesky.solve(&mut work.column);
        *out = 1.0 / work.column[i];
    }
    Ok(())
}
