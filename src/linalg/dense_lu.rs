//! Dense LU factorisation P A = L U with partial pivoting by faer's kernels, in memory that is kept.

use super::dense_cholesky::warm_kernels;
use crate::error::{Error, Result, Status};
use crate::memory::{refill, reserve};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::{MatMut, Par};

/// A square matrix and its factors, in the same memory.
pub struct DenseLu {
    n: usize,
    /// Column-major.
    a: Vec<f64>,
    /// `order[new] = old` row, and back.
    order: Vec<usize>,
    place: Vec<usize>,
    /// A right-hand side in the order of the factor.
    permuted: Vec<f64>,
    stack: MemBuffer,
}

impl Default for DenseLu {
    fn default() -> Self {
        DenseLu {
            n: 0,
            a: Vec::new(),
            order: Vec::new(),
            place: Vec::new(),
            permuted: Vec::new(),
            stack: MemBuffer::new(StackReq::EMPTY),
        }
    }
}

impl DenseLu {
    /// Take memory for matrices of up to n by n.
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        let no_memory = || Error::new(Status::OutOfMemory, format_args!("no memory for a dense {n} by {n} factor"));
        let entries = n.checked_mul(n).ok_or_else(no_memory)?;
        let needed = lu_in_place_scratch::<usize, f64>(n, n, Par::Seq, Default::default());
        if self.stack.len() < needed.size_bytes() {
            self.stack = MemBuffer::try_new(needed).map_err(|_| no_memory())?;
            warm_kernels(n);
        }
        reserve(&mut self.order, n)?;
        reserve(&mut self.place, n)?;
        reserve(&mut self.permuted, n)?;
        reserve(&mut self.a, entries)
    }

    /// An n by n matrix, column-major: fill it, then [`Self::factor`]. What it holds before is unspecified.
    pub fn matrix(&mut self, n: usize) -> Result<&mut [f64]> {
        self.reserve(n)?;
        self.n = n;
        refill(&mut self.order, n, 0)?;
        refill(&mut self.place, n, 0)?;
        refill(&mut self.permuted, n, 0.0)?;
        if self.a.len() < n * n {
            self.a.resize(n * n, 0.0);
        }
        Ok(&mut self.a[..n * n])
    }

    /// Factor in place. A singular matrix has a zero (or tiny) pivot, and solutions with it are not finite (or huge).
    pub fn factor(&mut self) {
        let n = self.n;
        if n == 0 {
            return;
        }
        let a = MatMut::from_column_major_slice_mut(&mut self.a[..n * n], n, n);
        let stack = MemStack::new(&mut self.stack);
        lu_in_place(a, &mut self.order, &mut self.place, Par::Seq, stack, Default::default());
    }

    /// Solve A x = b in place.
    pub fn solve(&mut self, x: &mut [f64]) {
        let n = self.n;
        for (to, &from) in self.permuted.iter_mut().zip(&self.order) {
            *to = x[from];
        }
        x.copy_from_slice(&self.permuted);
        for j in 0..n {
            let (head, tail) = x[j..n].split_at_mut(1);
            for (x, l) in tail.iter_mut().zip(&self.a[j * n + j + 1..(j + 1) * n]) {
                *x -= l * head[0];
            }
        }
        for j in (0..n).rev() {
            x[j] /= self.a[j * n + j];
            let (head, tail) = x[..=j].split_at_mut(j);
            for (x, u) in head.iter_mut().zip(&self.a[j * n..j * n + j]) {
                *x -= u * tail[0];
            }
        }
    }
}
