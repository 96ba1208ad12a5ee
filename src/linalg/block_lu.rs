//! Sparse LU factorisation in blocks of 6 by 6, for matrices of a symmetric pattern, left-looking.
//!
//! ```text
//! A = L D U,     L and U with unit blocks on the diagonal, D U stored
//! ```
//! Rows are exchanged only within a block, while it is inverted. That is safe for matrices near a definite one, and not in
//! general: who uses a solution looks at its residual. Otherwise as `block_cholesky.rs`, at twice the cost.

use super::block_pattern::{reserve_ahead, BlockPattern, NONE};
use super::blocks::{self, Block, Column, B};
use super::updates::{Updates, CLOCK};
use super::Failure;
use crate::error::Result;
use crate::memory::{refill, reserve};
use crate::Budget;
use pulp::{Arch, Simd, WithSimd};

/// A block matrix and its factors.
#[derive(Default)]
pub struct BlockLu {
    pattern: BlockPattern,
    /// D, then its inverse.
    diagonal: Vec<Block>,
    /// Below the diagonal; and what is right of it, transposed, in the same places.
    below: Vec<Block>,
    right: Vec<Block>,
    updates: Updates,
    x: Vec<Column>,
    arch: Arch,
}

impl BlockLu {
    /// Take memory for patterns of up to n blocks and so many neighbours. What the fill takes is only known with the pattern.
    pub fn reserve(&mut self, n: usize, neighbours: usize) -> Result<()> {
        self.updates.reserve(n)?;
        reserve(&mut self.diagonal, n)?;
        reserve(&mut self.x, n)?;
        let ahead = BlockPattern::fill_ahead(n);
        reserve(&mut self.below, ahead)?;
        reserve(&mut self.right, ahead)?;
        self.pattern.reserve(n, neighbours, ahead)
    }

    /// Learn a pattern, as [`super::BlockCholesky::analyse`] does.
    pub fn analyse(&mut self, start: &[u32], index: &[u32]) -> Result<()> {
        if self.pattern.is(start, index) {
            return Ok(());
        }
        self.pattern.analyse(start, index)?;
        let done = self.take_memory();
        if done.is_err() {
            self.pattern.forget();
        }
        done
    }

    fn take_memory(&mut self) -> Result<()> {
        let (n, entries) = (self.pattern.order.len(), self.pattern.row.len());
        refill(&mut self.diagonal, n, Block::default())?;
        refill(&mut self.x, n, Column::default())?;
        self.updates.reserve(n)?;
        for v in [&mut self.below, &mut self.right] {
            reserve_ahead(v, entries)?;
            refill(v, entries, Block::default())?;
        }
        Ok(())
    }

    /// Become a multiple of the identity.
    pub fn clear(&mut self, diagonal: f64) {
        self.diagonal.fill(Block::diagonal(diagonal));
        self.below.fill(Block::default());
        self.right.fill(Block::default());
    }

    /// Add a block, given by columns, at (i, j); the pair must be in the pattern.
    #[inline(always)]
    pub fn add(&mut self, i: usize, j: usize, columns: impl Fn(usize) -> [f64; B]) {
        let (p, q) = (self.pattern.place[i], self.pattern.place[j]);
        match p.cmp(&q) {
            std::cmp::Ordering::Equal => self.diagonal[p as usize].add(columns),
            std::cmp::Ordering::Greater => self.below[self.pattern.entry(p, q)].add(columns),
            std::cmp::Ordering::Less => self.right[self.pattern.entry(q, p)].add_transposed(columns),
        }
    }

    /// Factor in place. Solutions with a singular block are not finite.
    pub fn factor(&mut self, budget: &Budget) -> Result<std::result::Result<(), Failure>> {
        self.updates.begin(self.pattern.order.len())?;
        Ok(self.arch.dispatch(Factor { matrix: self, budget }))
    }

    /// Solve A x = b in place; `x` has six numbers per block.
    pub fn solve(&mut self, x: &mut [f64]) {
        self.pattern.gather(x, &mut self.x);
        self.arch.dispatch(Solve { matrix: self });
        self.pattern.scatter(&self.x, x);
    }
}

struct Factor<'a> {
    matrix: &'a mut BlockLu,
    budget: &'a Budget,
}

impl WithSimd for Factor<'_> {
    type Output = std::result::Result<(), Failure>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let BlockLu { pattern, diagonal, below, right, updates, .. } = self.matrix;
        for j in 0..pattern.order.len() {
            if j % CLOCK == CLOCK - 1 && self.budget.spent() {
                return Err(Failure::OutOfTime(pattern.order[j] as usize));
            }
            let (column, mut k) = updates.open(pattern, j);
            // Earlier columns stand before this one.
            let (l, below) = below.split_at_mut(column.start);
            let (u, right) = right.split_at_mut(column.start);
            while k != NONE {
                let (entries, following) = updates.take(pattern, k);
                let p = entries.start;
                blocks::subtract_product(simd, &mut diagonal[j], &l[p], &u[p]);
                for q in p + 1..entries.end {
                    let target = updates.target(pattern, q) - column.start;
                    blocks::subtract_product(simd, &mut below[target], &l[q], &u[p]);
                    blocks::subtract_product(simd, &mut right[target], &u[q], &l[p]);
                }
                k = following;
            }
            diagonal[j] = blocks::inverse(&diagonal[j]);
            let transposed = diagonal[j].transposed();
            for below in &mut below[..column.len()] {
                let mut product = Block::default();
                blocks::subtract_product(simd, &mut product, below, &transposed);
                blocks::negate(simd, &mut product);
                *below = product;
            }
            updates.close(pattern, j);
        }
        Ok(())
    }
}

struct Solve<'a> {
    matrix: &'a mut BlockLu,
}

impl WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let BlockLu { pattern, diagonal, below, right, x, .. } = self.matrix;
        let n = pattern.order.len();
        for j in 0..n {
            let known = x[j];
            for (below, i) in pattern.entries_of(j, below) {
                blocks::subtract_times(simd, &mut x[i], below, &known);
            }
        }
        for j in (0..n).rev() {
            let (before, after) = x.split_at_mut(j + 1);
            let terms = pattern.entries_of(j, right).map(|(right, i)| (right, &after[i - j - 1]));
            let mut left = before[j];
            blocks::subtract_transposed(simd, &mut left, terms);
            // Minus twice is plus.
            let mut value = Column::default();
            blocks::subtract_times(simd, &mut value, &diagonal[j], &left);
            before[j] = value.negated();
        }
    }
}
