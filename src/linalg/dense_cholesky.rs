//! Dense Cholesky factorisation A = L Lᵀ by faer's kernels, in memory that is kept.

use super::Failure;
use crate::error::{Error, Result, Status};
use crate::memory::reserve;
use crate::Budget;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch, LltError, LltRegularization};
use faer::linalg::matmul::triangular::{matmul, BlockStructure};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, MatMut, MatRef, Par};

/// Columns factored between two looks at the clock: about a millisecond of work at n = 2000.
const PANEL: usize = 256;

/// faer's products keep a buffer for each thread, taken at the first that is not small: take it with the other memory, not in
/// the middle of a later solve. `n`: order of the largest matrix.
pub(super) fn warm_kernels(n: usize) {
    const SMALL: usize = 16;
    const ORDER: usize = 2 * SMALL;
    if n > SMALL {
        let (a, mut b) = ([0.0; ORDER * ORDER], [0.0; ORDER * ORDER]);
        let zeros = MatRef::from_column_major_slice(&a, ORDER, ORDER);
        let product = MatMut::from_column_major_slice_mut(&mut b, ORDER, ORDER);
        faer::linalg::matmul::matmul(product, Accum::Replace, zeros, zeros, 1.0, Par::Seq);
    }
}

/// A symmetric positive definite matrix and its factor, in the same memory.
pub struct DenseCholesky {
    n: usize,
    /// Column-major; only the lower triangle counts.
    a: Vec<f64>,
    stack: MemBuffer,
}

impl Default for DenseCholesky {
    fn default() -> Self {
        DenseCholesky {
            n: 0,
            a: Vec::new(),
            stack: MemBuffer::new(cholesky_in_place_scratch::<f64>(0, Par::Seq, Default::default())),
        }
    }
}

impl DenseCholesky {
    /// Take memory for matrices of up to n by n.
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        let no_memory = || Error::new(Status::OutOfMemory, format_args!("no memory for a dense {n} by {n} factor"));
        let entries = n.checked_mul(n).ok_or_else(no_memory)?;
        let needed = cholesky_in_place_scratch::<f64>(n.min(2 * PANEL), Par::Seq, Default::default());
        if self.stack.len() < needed.size_bytes() {
            self.stack = MemBuffer::try_new(needed).map_err(|_| no_memory())?;
            warm_kernels(n);
        }
        reserve(&mut self.a, entries)
    }

    /// An n by n matrix, column-major: fill the lower triangle, then [`Self::factor`]. What it holds before is
    /// unspecified.
    pub fn matrix(&mut self, n: usize) -> Result<&mut [f64]> {
        self.reserve(n)?;
        self.n = n;
        if self.a.len() < n * n {
            self.a.resize(n * n, 0.0);
        }
        Ok(&mut self.a[..n * n])
    }

    /// Factor in place.
    pub fn factor(&mut self, budget: &Budget) -> std::result::Result<(), Failure> {
        let n = self.n;
        let mut rest = MatMut::from_column_major_slice_mut(&mut self.a[..n * n], n, n);
        let mut done = 0;
        // Right-looking by panels, so that a large factorisation can be interrupted.
        loop {
            let left = n - done;
            let width = if left <= 2 * PANEL { left } else { PANEL };
            let (mut head, _, mut below, mut tail) = rest.split_at_mut(width, width);
            cholesky_in_place(
                head.as_mut(),
                LltRegularization::default(),
                Par::Seq,
                MemStack::new(&mut self.stack),
                Default::default(),
            )
            .map_err(|LltError::NonPositivePivot { index }| Failure::NotPositive(done + index))?;
            done += width;
            if done == n {
                return Ok(());
            }
            solve_lower_triangular_in_place(head.as_ref(), below.as_mut().transpose_mut(), Par::Seq);
            matmul(
                tail.as_mut(),
                BlockStructure::TriangularLower,
                Accum::Add,
                below.as_ref(),
                BlockStructure::Rectangular,
                below.as_ref().transpose(),
                BlockStructure::Rectangular,
                -1.0,
                Par::Seq,
            );
            if budget.spent() {
                return Err(Failure::OutOfTime(done));
            }
            rest = tail;
        }
    }

    /// The i-th pivot of A = L D Lᵀ.
    pub fn pivot(&self, i: usize) -> f64 {
        self.a[i * self.n + i] * self.a[i * self.n + i]
    }

    /// Solve A x = b in place.
    pub fn solve(&self, x: &mut [f64]) {
        let n = self.n;
        for j in 0..n {
            let column = &self.a[j * n + j..(j + 1) * n];
            let (head, tail) = x[j..n].split_at_mut(1);
            head[0] /= column[0];
            for (x, l) in tail.iter_mut().zip(&column[1..]) {
                *x -= l * head[0];
            }
        }
        for j in (0..n).rev() {
            let column = &self.a[j * n + j..(j + 1) * n];
            let (head, tail) = x[j..n].split_at_mut(1);
            let dot: f64 = tail.iter().zip(&column[1..]).map(|(x, l)| x * l).sum();
            head[0] = (head[0] - dot) / column[0];
        }
    }
}
