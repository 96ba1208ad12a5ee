//! The condition of a symmetric positive definite matrix that is only known by its products.
//!
//! Small ones by all their eigenvalues. For large ones the largest eigenvalue comes from Lanczos' method, the smallest from
//! the locally optimal preconditioned conjugate gradient method (Knyazev 2001): both are Rayleigh quotients, so the
//! condition is estimated from below.

use nalgebra::{DMatrix, DVector};

/// Up to this size all eigenvalues are found.
const SMALL: usize = 80;
/// Steps of each method at most.
const STEPS: usize = 60;
/// Conjugate gradients that sharpen the preconditioner, at most, and to which share of the residual.
const INNER: usize = 12;
const SHARP: f64 = 1e-3;
/// Changes of the smallest eigenvalue below this share, so many in a row, end the search.
const SETTLED: f64 = 1e-2;
const IN_A_ROW: usize = 2;

/// The matrix, by its products, and something near its inverse, for vectors of length n.
pub(super) trait Operator {
    fn multiply(&mut self, x: &DVector<f64>) -> DVector<f64>;
    fn precondition(&mut self, x: &DVector<f64>) -> DVector<f64>;
}

/// Largest over smallest eigenvalue.
pub(super) fn condition(n: usize, a: &mut dyn Operator) -> f64 {
    if n < 2 {
        return 1.0;
    }
    if n <= SMALL {
        let unit = |i: usize| DVector::from_fn(n, |k, _| f64::from(u8::from(k == i)));
        let columns: Vec<DVector<f64>> = (0..n).map(|i| a.multiply(&unit(i))).collect();
        let values = DMatrix::from_columns(&columns).symmetric_eigenvalues();
        return values.max() / values.min();
    }
    largest(n, a) / smallest(n, a)
}

/// Any vector that no symmetry of the mechanism makes special.
fn start(n: usize) -> DVector<f64> {
    DVector::from_fn(n, |i, _| 1.0 + (7.0 * (i as f64 + 1.0)).sin()).normalize()
}

fn largest(n: usize, a: &mut dyn Operator) -> f64 {
    let mut basis: Vec<DVector<f64>> = vec![start(n)];
    let mut ritz = DMatrix::zeros(STEPS, STEPS);
    for s in 0..STEPS {
        let mut next = a.multiply(&basis[s]);
        for _ in 0..2 {
            for (k, v) in basis.iter().enumerate() {
                let share = v.dot(&next);
                ritz[(k, s)] += share;
                next.axpy(-share, v, 1.0);
            }
        }
        let length = next.norm();
        if s + 1 == STEPS || length <= f64::EPSILON * ritz[(0, 0)] {
            let done: DMatrix<f64> = ritz.view((0, 0), (s + 1, s + 1)).clone_owned();
            return (0.5 * (&done + done.transpose())).symmetric_eigenvalues().max();
        }
        ritz[(s + 1, s)] = length;
        basis.push(next / length);
    }
    1.0
}

/// Near `A⁻¹ b` by preconditioned conjugate gradients. Few motions that no row forbids are as few steps.
fn solve(a: &mut dyn Operator, b: &DVector<f64>) -> DVector<f64> {
    let mut x = DVector::zeros(b.len());
    let mut residual = b.clone();
    let mut z = a.precondition(&residual);
    let mut step = z.clone();
    let mut size = residual.dot(&z);
    let enough = SHARP * b.norm();
    for _ in 0..INNER {
        let image = a.multiply(&step);
        let length = size / step.dot(&image);
        if !length.is_finite() {
            break;
        }
        x.axpy(length, &step, 1.0);
        residual.axpy(-length, &image, 1.0);
        if residual.norm() <= enough {
            break;
        }
        z = a.precondition(&residual);
        let next = residual.dot(&z);
        step = &z + next / size * &step;
        size = next;
    }
    x
}

fn smallest(n: usize, a: &mut dyn Operator) -> f64 {
    let mut x = solve(a, &start(n)).normalize();
    let mut image = a.multiply(&x);
    let mut value = x.dot(&image);
    let mut last: Option<DVector<f64>> = None;
    let mut settled = 0;
    for _ in 0..STEPS {
        // The span of the iterate, its preconditioned residual and the last step, by columns at right angles.
        let residual = &image - value * &x;
        let mut basis = vec![x.clone()];
        for direction in [Some(solve(a, &residual)), last.take()].into_iter().flatten() {
            let mut v = direction;
            let whole = v.norm();
            for _ in 0..2 {
                basis.iter().for_each(|b| v.axpy(-b.dot(&v), b, 1.0));
            }
            if v.norm() > 1e-10 * whole {
                basis.push(v.normalize());
            }
        }
        let images: Vec<DVector<f64>> =
            basis.iter().enumerate().map(|(k, b)| if k == 0 { image.clone() } else { a.multiply(b) }).collect();
        let small = DMatrix::from_fn(basis.len(), basis.len(), |i, j| basis[i].dot(&images[j]));
        let eigen = (0.5 * (&small + small.transpose())).symmetric_eigen();
        let best = eigen.eigenvalues.imin();
        let share = eigen.eigenvectors.column(best);
        let combine = |of: &[DVector<f64>], from: usize| {
            (from..of.len()).fold(DVector::zeros(n), |sum, k| sum + share[k] * &of[k])
        };
        last = Some(combine(&basis, 1));
        (x, image) = (combine(&basis, 0), combine(&images, 0));
        let before = value;
        value = eigen.eigenvalues[best];
        settled = if (before - value).abs() <= SETTLED * value.abs() { settled + 1 } else { 0 };
        if settled == IN_A_ROW {
            break;
        }
    }
    value
}
