//! Sparse Cholesky factorisation A = L Lᵀ in blocks of 6 by 6, left-looking.
//!
//! For velocity-space matrices, one block per body; `panel_cholesky.rs` factors other sparse ones. Three stages, each
//! in memory that is kept: [`BlockCholesky::analyse`] orders the pattern (approximate minimum degree) and finds the
//! pattern of L; [`BlockCholesky::clear`] and [`BlockCholesky::at`] fill in the numbers; [`BlockCholesky::factor`].
//! A pattern equal to the last one is not analysed again. Cost: 216 times the sum of squared column counts.

use super::block_pattern::{reserve_ahead, BlockPattern, NONE};
use super::Failure;
use crate::error::{refill, reserve, Result};
use crate::Budget;
use nalgebra::{Matrix6, Vector6};

/// Rows of a block.
const B: usize = 6;
/// One block.
pub type Block = Matrix6<f64>;

/// Memory for a full factor is taken ahead up to this many bytes: 128 blocks of 6 by 6.
const AHEAD: usize = 2_400_000;
/// Columns factored between two looks at the clock.
const CLOCK: usize = 64;

/// A symmetric positive definite block matrix and its factor.
pub struct BlockCholesky {
    pattern: BlockPattern,
    diagonal: Vec<Block>,
    below: Vec<Block>,
    /// Work: marks, list heads, list links, next entry of a column.
    mark: Vec<u32>,
    head: Vec<u32>,
    link: Vec<u32>,
    next: Vec<usize>,
    x: Vec<Vector6<f64>>,
    flops: f64,
}

impl Default for BlockCholesky {
    fn default() -> Self {
        BlockCholesky {
            pattern: BlockPattern::default(),
            diagonal: Vec::new(),
            below: Vec::new(),
            mark: Vec::new(),
            head: Vec::new(),
            link: Vec::new(),
            next: Vec::new(),
            x: Vec::new(),
            flops: 0.0,
        }
    }
}

impl BlockCholesky {
    /// Take memory for patterns of up to n blocks and so many neighbours. In small systems any fill then fits; in larger
    /// ones it is only known with the pattern.
    pub fn reserve(&mut self, n: usize, neighbours: usize) -> Result<()> {
        for v in [&mut self.mark, &mut self.head, &mut self.link] {
            reserve(v, n)?;
        }
        reserve(&mut self.next, n)?;
        reserve(&mut self.diagonal, n)?;
        reserve(&mut self.x, n)?;
        let full = n.saturating_mul(n.saturating_sub(1)) / 2;
        let ahead = if full.saturating_mul(std::mem::size_of::<Block>()) <= AHEAD { full } else { 0 };
        reserve(&mut self.below, ahead)?;
        self.pattern.reserve(n, neighbours, ahead)
    }

    /// Learn a symmetric pattern: row i has the sorted columns `index[start[i]..start[i+1]]`; diagonals may be left out.
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

    /// Memory for the numbers of the pattern.
    fn take_memory(&mut self) -> Result<()> {
        let (n, entries) = (self.pattern.order.len(), self.pattern.row.len());
        for v in [&mut self.mark, &mut self.head, &mut self.link] {
            refill(v, n, NONE)?;
        }
        refill(&mut self.next, n, 0)?;
        refill(&mut self.diagonal, n, Block::zeros())?;
        // Contacts come and go, and fill with them: take half as much again.
        reserve_ahead(&mut self.below, entries)?;
        refill(&mut self.below, entries, Block::zeros())?;
        refill(&mut self.x, n, Vector6::zeros())?;
        let block = (B * B * B) as f64;
        self.flops = block * self.pattern.column.windows(2).map(|c| ((c[1] - c[0] + 1) as f64).powi(2)).sum::<f64>();
        Ok(())
    }

    /// Multiplications and additions of one factorisation.
    pub fn flops(&self) -> f64 {
        self.flops
    }

    /// Set every number to zero.
    pub fn clear(&mut self) {
        self.diagonal.fill(Block::zeros());
        self.below.fill(Block::zeros());
    }

    /// Add `block` at (i, j) and its transpose at (j, i); the pair must be in the pattern. On the diagonal it is added
    /// once, and only its lower triangle counts.
    pub fn add(&mut self, i: usize, j: usize, block: &Block) {
        let (p, q) = (self.pattern.place[i], self.pattern.place[j]);
        match p.cmp(&q) {
            std::cmp::Ordering::Equal => self.diagonal[p as usize] += block,
            std::cmp::Ordering::Greater => *self.at(p, q) += block,
            std::cmp::Ordering::Less => *self.at(q, p) += block.transpose(),
        }
    }

    fn at(&mut self, p: u32, q: u32) -> &mut Block {
        let range = self.pattern.column[q as usize]..self.pattern.column[q as usize + 1];
        let offset = self.pattern.row[range.clone()].binary_search(&p).expect("entry outside the analysed pattern");
        &mut self.below[range.start + offset]
    }

    /// Factor in place.
    pub fn factor(&mut self, budget: &Budget) -> std::result::Result<(), Failure> {
        let n = self.pattern.order.len();
        // head[j]: first column k < j that still has to update column j; link chains the rest.
        self.head.fill(NONE);
        for j in 0..n {
            if j % CLOCK == CLOCK - 1 && budget.spent() {
                return Err(Failure::OutOfTime(self.pattern.order[j] as usize));
            }
            let column = self.pattern.column[j]..self.pattern.column[j + 1];
            for p in column.clone() {
                self.mark[self.pattern.row[p] as usize] = p as u32;
            }
            let mut k = self.head[j];
            while k != NONE {
                let following = self.link[k as usize];
                self.update(j, k as usize);
                k = following;
            }
            let Some(l) = self.diagonal[j].cholesky() else {
                return Err(Failure::NotPositive(self.pattern.order[j] as usize));
            };
            self.diagonal[j] = l.l();
            for p in column.clone() {
                let mut transposed = self.below[p].transpose();
                self.diagonal[j].solve_lower_triangular_unchecked_mut(&mut transposed);
                self.below[p] = transposed.transpose();
            }
            self.next[j] = column.start;
            self.enlist(j);
        }
        Ok(())
    }

    /// Column j -= L_jk times column k, from row j down.
    fn update(&mut self, j: usize, k: usize) {
        let (p, end) = (self.next[k], self.pattern.column[k + 1]);
        let ljk = self.below[p].transpose();
        self.diagonal[j] -= self.below[p] * ljk;
        for q in p + 1..end {
            let product = self.below[q] * ljk;
            let target = self.mark[self.pattern.row[q] as usize] as usize;
            self.below[target] -= product;
        }
        self.next[k] = p + 1;
        self.enlist(k);
    }

    /// Put column k on the list of the column its next entry updates.
    fn enlist(&mut self, k: usize) {
        if self.next[k] < self.pattern.column[k + 1] {
            let i = self.pattern.row[self.next[k]] as usize;
            self.link[k] = self.head[i];
            self.head[i] = k as u32;
        }
    }

    /// Solve A x = b in place; `x` has B numbers per block.
    pub fn solve(&mut self, x: &mut [f64]) {
        for (new, &old) in self.pattern.order.iter().enumerate() {
            self.x[new].copy_from_slice(&x[B * old as usize..][..B]);
        }
        for j in 0..self.pattern.order.len() {
            let mut xj = self.x[j];
            self.diagonal[j].solve_lower_triangular_unchecked_mut(&mut xj);
            self.x[j] = xj;
            for p in self.pattern.column[j]..self.pattern.column[j + 1] {
                self.x[self.pattern.row[p] as usize] -= self.below[p] * xj;
            }
        }
        for j in (0..self.pattern.order.len()).rev() {
            let mut xj = self.x[j];
            for p in self.pattern.column[j]..self.pattern.column[j + 1] {
                xj -= self.below[p].tr_mul(&self.x[self.pattern.row[p] as usize]);
            }
            self.diagonal[j].tr_solve_lower_triangular_unchecked_mut(&mut xj);
            self.x[j] = xj;
        }
        for (new, &old) in self.pattern.order.iter().enumerate() {
            x[B * old as usize..][..B].copy_from_slice(self.x[new].as_slice());
        }
    }
}
