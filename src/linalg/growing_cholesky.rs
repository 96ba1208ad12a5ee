//! Dense Cholesky factor A = L Lᵀ that rows and columns join at the end and leave anywhere, each at a cost of m².

use crate::error::{Error, Result, Status};
use crate::memory::reserve;

/// The factor of a symmetric positive definite matrix that changes row by row.
#[derive(Default)]
pub struct GrowingCholesky {
    /// Rows of L, `width` numbers apart.
    l: Vec<f64>,
    width: usize,
    m: usize,
}

impl GrowingCholesky {
    /// Take memory for matrices of up to n by n.
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        let no_memory = || Error::new(Status::OutOfMemory, format_args!("no memory for a dense {n} by {n} factor"));
        reserve(&mut self.l, n.checked_mul(n).ok_or_else(no_memory)?)
    }

    /// Begin with no rows, room for n.
    pub fn clear(&mut self, n: usize) -> Result<()> {
        self.reserve(n)?;
        if self.l.len() < n * n {
            self.l.resize(n * n, 0.0);
        }
        (self.width, self.m) = (n, 0);
        Ok(())
    }

    /// Add a last row: its entries with the rows there are, and its diagonal. A pivot below `least` is raised to it.
    pub fn push(&mut self, row: &[f64], diagonal: f64, least: f64) {
        let (m, width) = (self.m, self.width);
        let (above, new) = self.l.split_at_mut(m * width);
        let mut rest = diagonal;
        for p in 0..m {
            let lp = &above[p * width..p * width + p + 1];
            let dot: f64 = lp[..p].iter().zip(&new[..p]).map(|(a, b)| a * b).sum();
            new[p] = (row[p] - dot) / lp[p];
            rest -= new[p] * new[p];
        }
        new[m] = rest.max(least).sqrt();
        self.m += 1;
    }

    /// Take row p out.
    pub fn remove(&mut self, p: usize) {
        let width = self.width;
        for q in p + 1..self.m {
            self.l.copy_within(q * width..q * width + q + 1, (q - 1) * width);
        }
        self.m -= 1;
        // Rows from p on now have one entry right of the diagonal: rotate it away.
        for j in p..self.m {
            let (a, b) = (self.l[j * width + j], self.l[j * width + j + 1]);
            let r = a.hypot(b);
            let (c, s) = (a / r, b / r);
            for q in j..self.m {
                let (left, right) = (self.l[q * width + j], self.l[q * width + j + 1]);
                self.l[q * width + j] = c * left + s * right;
                self.l[q * width + j + 1] = c * right - s * left;
            }
        }
    }

    /// Solve A x = b in place.
    pub fn solve(&self, x: &mut [f64]) {
        let width = self.width;
        for p in 0..self.m {
            let row = &self.l[p * width..p * width + p + 1];
            let dot: f64 = row[..p].iter().zip(x.iter()).map(|(l, x)| l * x).sum();
            x[p] = (x[p] - dot) / row[p];
        }
        for p in (0..self.m).rev() {
            let row = &self.l[p * width..p * width + p + 1];
            x[p] /= row[p];
            let (head, tail) = x.split_at_mut(p);
            for (x, l) in head.iter_mut().zip(row) {
                *x -= l * tail[0];
            }
        }
    }
}
