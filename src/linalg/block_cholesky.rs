//! Sparse Cholesky factorisation A = L Lᵀ in blocks of 6 by 6, left-looking.
//!
//! For velocity-space matrices, one block per body; `panel_cholesky.rs` factors other sparse ones. Three stages, each
//! in memory that is kept: [`BlockCholesky::analyse`] orders the pattern (approximate minimum degree) and finds the
//! pattern of L; [`BlockCholesky::clear`] and [`BlockCholesky::add`] fill in the numbers; [`BlockCholesky::factor`].
//! A pattern equal to the last one is not analysed again. Cost: 216 times the sum of squared column counts; where few
//! numbers have changed, [`BlockCholesky::clear_changed`] leaves out what would have the same bits as before.

use super::block_pattern::{reserve_ahead, BlockPattern, NONE};
use super::blocks::{self, Block, Column, B};
use super::stale::Stale;
use super::updates::{Updates, CLOCK};
use super::Failure;
use crate::error::Result;
use crate::memory::{refill, reserve};
use crate::Budget;
use pulp::{Arch, Simd, WithSimd};

/// A symmetric positive definite block matrix and its factor.
#[derive(Default)]
pub struct BlockCholesky {
    pattern: BlockPattern,
    diagonal: Vec<Block>,
    below: Vec<Block>,
    updates: Updates,
    stale: Stale,
    x: Vec<Column>,
    /// Which vector instructions there are.
    arch: Arch,
}

impl BlockCholesky {
    /// Take memory for patterns of up to n blocks and so many neighbours. In small systems any fill then fits; in larger
    /// ones it is only known with the pattern.
    pub fn reserve(&mut self, n: usize, neighbours: usize) -> Result<()> {
        self.updates.reserve(n)?;
        self.stale.reserve(n)?;
        reserve(&mut self.diagonal, n)?;
        reserve(&mut self.x, n)?;
        let ahead = BlockPattern::fill_ahead(n);
        reserve(&mut self.below, ahead)?;
        self.pattern.reserve(n, neighbours, ahead)
    }

    /// Learn a symmetric pattern: row i has the sorted columns `index[start[i]..start[i+1]]`; diagonals may be left out.
    /// All numbers are to be filled in next.
    pub fn analyse(&mut self, start: &[u32], index: &[u32]) -> Result<()> {
        if self.pattern.is(start, index) {
            self.stale.mark_all();
            return Ok(());
        }
        self.pattern.analyse(start, index)?;
        let done = self.take_memory();
        if done.is_err() {
            self.pattern.forget();
        }
        done
    }

    /// Memory for the numbers of the pattern.
    fn take_memory(&mut self) -> Result<()> {
        let (n, entries) = (self.pattern.order.len(), self.pattern.row.len());
        self.updates.reserve(n)?;
        self.stale.begin(n)?;
        refill(&mut self.diagonal, n, Block::default())?;
        // Contacts come and go, and fill with them: take half as much again.
        reserve_ahead(&mut self.below, entries)?;
        refill(&mut self.below, entries, Block::default())?;
        refill(&mut self.x, n, Column::default())
    }

    /// Multiplications and additions of one factorisation.
    pub fn flops(&self) -> f64 {
        self.pattern.flops()
    }

    /// Become a multiple of the identity.
    pub fn clear(&mut self, diagonal: f64) {
        self.stale.mark_all();
        self.diagonal.fill(Block::diagonal(diagonal));
        self.below.fill(Block::default());
    }

    /// Likewise, for a matrix that differs from the last one only on and between the blocks that are marked. Columns that do
    /// not depend on them stay as they were factored, and what is added there is passed over. Then those to be filled are
    /// marked: if there is no factor, all.
    pub fn clear_changed(&mut self, diagonal: f64, changed: &mut [bool]) {
        let BlockPattern { order, parent, column, .. } = &self.pattern;
        let parent = |j: usize| (parent[j] != NONE).then_some(parent[j] as usize);
        self.stale.mark(|marks| marks.iter_mut().zip(order).for_each(|(m, &i)| *m = changed[i as usize]), parent);
        for (j, &i) in order.iter().enumerate().filter(|(j, _)| self.stale.has(*j)) {
            changed[i as usize] = true;
            self.diagonal[j] = Block::diagonal(diagonal);
            self.below[column[j]..column[j + 1]].fill(Block::default());
        }
    }

    /// Add a block, given by columns, at (i, j) and its transpose at (j, i); the pair must be in the pattern. On the diagonal
    /// it is added once, and only its lower triangle counts.
    #[inline(always)]
    pub fn add(&mut self, i: usize, j: usize, columns: impl Fn(usize) -> [f64; B]) {
        let (p, q) = (self.pattern.place[i], self.pattern.place[j]);
        if !self.stale.has(p.min(q) as usize) {
            return;
        }
        match p.cmp(&q) {
            std::cmp::Ordering::Equal => self.diagonal[p as usize].add(columns),
            std::cmp::Ordering::Greater => self.below[self.pattern.entry(p, q)].add(columns),
            std::cmp::Ordering::Less => self.below[self.pattern.entry(q, p)].add_transposed(columns),
        }
    }

    /// Factor in place.
    pub fn factor(&mut self, budget: &Budget) -> Result<std::result::Result<(), Failure>> {
        self.updates.begin(self.pattern.order.len())?;
        let done = self.arch.dispatch(Factor { matrix: self, budget });
        self.stale.finish(done.is_ok());
        Ok(done)
    }

    /// Solve A x = b in place; `x` has six numbers per block.
    pub fn solve(&mut self, x: &mut [f64]) {
        self.pattern.gather(x, &mut self.x);
        self.arch.dispatch(Solve { matrix: self });
        self.pattern.scatter(&self.x, x);
    }
}

struct Factor<'a> {
    matrix: &'a mut BlockCholesky,
    budget: &'a Budget,
}

impl WithSimd for Factor<'_> {
    type Output = std::result::Result<(), Failure>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let BlockCholesky { pattern, diagonal, below, updates, stale, .. } = self.matrix;
        for j in 0..pattern.order.len() {
            if j % CLOCK == CLOCK - 1 && self.budget.spent() {
                return Err(Failure::OutOfTime(pattern.order[j] as usize));
            }
            if !stale.has(j) {
                updates.pass(pattern, j);
                continue;
            }
            let (column, mut k) = updates.open(pattern, j);
            // Earlier columns stand before this one.
            let (before, below) = below.split_at_mut(column.start);
            while k != NONE {
                // Column j -= L_jk times column k, from row j down.
                let (entries, following) = updates.take(pattern, k);
                let first = &before[entries.start];
                blocks::subtract_product(simd, &mut diagonal[j], first, first);
                for q in entries.start + 1..entries.end {
                    let target = updates.target(pattern, q) - column.start;
                    blocks::subtract_product(simd, &mut below[target], &before[q], first);
                }
                k = following;
            }
            if !blocks::factor(simd, &mut diagonal[j]) {
                return Err(Failure::NotPositive(pattern.order[j] as usize));
            }
            for below in &mut below[..column.len()] {
                blocks::divide(simd, below, &diagonal[j]);
            }
            updates.close(pattern, j);
        }
        Ok(())
    }
}

struct Solve<'a> {
    matrix: &'a mut BlockCholesky,
}

impl WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let BlockCholesky { pattern, diagonal, below, x, .. } = self.matrix;
        let n = pattern.order.len();
        for j in 0..n {
            blocks::forward(simd, &diagonal[j], &mut x[j]);
            let known = x[j];
            for (below, i) in pattern.entries_of(j, below) {
                blocks::subtract_times(simd, &mut x[i], below, &known);
            }
        }
        for j in (0..n).rev() {
            let (before, after) = x.split_at_mut(j + 1);
            let terms = pattern.entries_of(j, below).map(|(below, i)| (below, &after[i - j - 1]));
            blocks::subtract_transposed(simd, &mut before[j], terms);
            blocks::backward(&diagonal[j], &mut before[j]);
        }
    }
}
