//! The condition of scaled rows, by Golub and Kahan's bidiagonalisation.
//!
//! With as many steps as rows it is exact; with the `STEPS` taken at most it is an estimate from below, sharp for the
//! largest and usually a little large for the smallest singular value.

use super::scaled_rows::ScaledRows;
use crate::linalg::BLOCK;
use nalgebra::{DMatrix, DVector};

/// Steps taken at most.
const STEPS: usize = 80;

/// Largest over smallest eigenvalue of the matrix A of the listed rows, scaled to unit diagonal. They must be independent.
pub(super) fn condition(rows: &ScaledRows, listed: &[usize]) -> f64 {
    let (m, columns) = (listed.len(), BLOCK * rows.width);
    if m < 2 {
        return 1.0;
    }
    let steps = m.min(STEPS);
    // Of rows of A only the columns of the listed rows count.
    let mut counts = vec![rows.whitened; columns];
    listed.iter().filter(|_| !rows.whitened).for_each(|&k| counts[k] = true);
    let mut left = DMatrix::zeros(m, steps);
    let mut right = DMatrix::zeros(columns, steps);
    let mut bidiagonal = DMatrix::zeros(steps, steps);
    // Any start that no symmetry of the mechanism makes special.
    let mut u = DVector::from_fn(m, |i, _| 1.0 + (7.0 * (i as f64 + 1.0)).sin());
    u.normalize_mut();
    let mut done = 0;
    let mut beta = 0.0;
    for s in 0..steps {
        left.set_column(s, &u);
        let mut v = DVector::zeros(columns);
        for (e, &k) in u.iter().zip(listed) {
            rows.add(k, *e, v.as_mut_slice());
        }
        v.iter_mut().zip(&counts).filter(|(_, counts)| !**counts).for_each(|(v, _)| *v = 0.0);
        orthogonalise(&mut v, &right, s);
        let alpha = v.norm();
        if alpha <= f64::EPSILON {
            break;
        }
        v /= alpha;
        right.set_column(s, &v);
        bidiagonal[(s, s)] = alpha;
        if s > 0 {
            bidiagonal[(s, s - 1)] = beta;
        }
        done = s + 1;
        u = DVector::from_iterator(m, listed.iter().map(|&k| rows.dot(k, v.as_slice())));
        orthogonalise(&mut u, &left, s + 1);
        beta = u.norm();
        if beta <= f64::EPSILON {
            break;
        }
        u /= beta;
    }
    let values = bidiagonal.view((0, 0), (done, done)).clone_owned().singular_values();
    let ratio = values.max() / values.min();
    // Rows of A have the square already.
    if rows.whitened {
        ratio * ratio
    } else {
        ratio
    }
}

/// Remove the first `count` columns of `basis` from `v`, twice.
fn orthogonalise(v: &mut DVector<f64>, basis: &DMatrix<f64>, count: usize) {
    for _ in 0..2 {
        for c in 0..count {
            let column = basis.column(c);
            let share = column.dot(v);
            v.axpy(-share, &column, 1.0);
        }
    }
}
