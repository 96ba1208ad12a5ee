//! Sparse Cholesky factorisation A = L Lᵀ in blocks of 6 by 6, left-looking.
//!
//! For velocity-space matrices, one block per body; `panel_cholesky.rs` factors other sparse ones. Three stages, each
//! in memory that is kept: [`BlockCholesky::analyse`] orders the pattern (approximate minimum degree) and finds the
//! pattern of L; [`BlockCholesky::clear`] and [`BlockCholesky::at`] fill in the numbers; [`BlockCholesky::factor`].
//! A pattern equal to the last one is not analysed again. Cost: 216 times the sum of squared column counts.

use super::block_pattern::{reserve_ahead, BlockPattern, NONE};
use super::blocks::{self, Block, Column, B};
use super::Failure;
use crate::error::{refill, reserve, Result};
use crate::Budget;
use pulp::{Arch, Simd, WithSimd};

/// Memory for a full factor is taken ahead up to this many bytes: 128 bodies.
const AHEAD: usize = 3_200_000;
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
    x: Vec<Column>,
    flops: f64,
    /// Which vector instructions there are.
    arch: Arch,
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
            arch: Arch::new(),
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
        refill(&mut self.diagonal, n, Block::default())?;
        // Contacts come and go, and fill with them: take half as much again.
        reserve_ahead(&mut self.below, entries)?;
        refill(&mut self.below, entries, Block::default())?;
        refill(&mut self.x, n, Column::default())?;
        let block = (B * B * B) as f64;
        self.flops = block * self.pattern.column.windows(2).map(|c| ((c[1] - c[0] + 1) as f64).powi(2)).sum::<f64>();
        Ok(())
    }

    /// Multiplications and additions of one factorisation.
    pub fn flops(&self) -> f64 {
        self.flops
    }

    /// Become a multiple of the identity.
    pub fn clear(&mut self, diagonal: f64) {
        self.diagonal.fill(Block::diagonal(diagonal));
        self.below.fill(Block::default());
    }

    /// Add a block, given by columns, at (i, j) and its transpose at (j, i); the pair must be in the pattern. On the diagonal
    /// it is added once, and only its lower triangle counts.
    #[inline(always)]
    pub fn add(&mut self, i: usize, j: usize, columns: impl Fn(usize) -> [f64; B]) {
        let (p, q) = (self.pattern.place[i], self.pattern.place[j]);
        match p.cmp(&q) {
            std::cmp::Ordering::Equal => self.diagonal[p as usize].add(columns),
            std::cmp::Ordering::Greater => self.at(p, q).add(columns),
            std::cmp::Ordering::Less => self.at(q, p).add_transposed(columns),
        }
    }

    fn at(&mut self, p: u32, q: u32) -> &mut Block {
        let range = self.pattern.column[q as usize]..self.pattern.column[q as usize + 1];
        let offset = self.pattern.row[range.clone()].binary_search(&p).expect("entry outside the analysed pattern");
        &mut self.below[range.start + offset]
    }

    /// Factor in place.
    pub fn factor(&mut self, budget: &Budget) -> std::result::Result<(), Failure> {
        self.arch.dispatch(Factor { matrix: self, budget })
    }

    /// Put column k on the list of the column its next entry updates.
    fn enlist(&mut self, k: usize) {
        if self.next[k] < self.pattern.column[k + 1] {
            let i = self.pattern.row[self.next[k]] as usize;
            self.link[k] = self.head[i];
            self.head[i] = k as u32;
        }
    }

    /// Solve A x = b in place; `x` has six numbers per block.
    pub fn solve(&mut self, x: &mut [f64]) {
        let (six, _) = x.as_chunks_mut::<B>();
        for (x, &old) in self.x.iter_mut().zip(&self.pattern.order) {
            // With its padding, where an overflow may have left its traces.
            *x = Column::of(&six[old as usize]);
        }
        self.arch.dispatch(Solve { matrix: self });
        for (x, &old) in self.x.iter().zip(&self.pattern.order) {
            six[old as usize].copy_from_slice(&x.0[..B]);
        }
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
        let Factor { matrix, budget } = self;
        let n = matrix.pattern.order.len();
        // head[j]: first column k < j that still has to update column j; link chains the rest.
        matrix.head.fill(NONE);
        for j in 0..n {
            if j % CLOCK == CLOCK - 1 && budget.spent() {
                return Err(Failure::OutOfTime(matrix.pattern.order[j] as usize));
            }
            let column = matrix.pattern.column[j]..matrix.pattern.column[j + 1];
            for p in column.clone() {
                matrix.mark[matrix.pattern.row[p] as usize] = p as u32;
            }
            let mut k = matrix.head[j];
            while k != NONE {
                let following = matrix.link[k as usize];
                update(simd, matrix, j, k as usize);
                k = following;
            }
            if !blocks::factor(simd, &mut matrix.diagonal[j]) {
                return Err(Failure::NotPositive(matrix.pattern.order[j] as usize));
            }
            for below in &mut matrix.below[column.clone()] {
                blocks::divide(simd, below, &matrix.diagonal[j]);
            }
            matrix.next[j] = column.start;
            matrix.enlist(j);
        }
        Ok(())
    }
}

/// Column j -= L_jk times column k, from row j down.
#[inline(always)]
fn update<S: Simd>(simd: S, matrix: &mut BlockCholesky, j: usize, k: usize) {
    let (p, end) = (matrix.next[k], matrix.pattern.column[k + 1]);
    // Column k stands before column j.
    let (before, after) = matrix.below.split_at_mut(matrix.pattern.column[j]);
    let first = &before[p];
    blocks::subtract_product(simd, &mut matrix.diagonal[j], first, first);
    for q in p + 1..end {
        let target = matrix.mark[matrix.pattern.row[q] as usize] as usize - matrix.pattern.column[j];
        blocks::subtract_product(simd, &mut after[target], &before[q], first);
    }
    matrix.next[k] = p + 1;
    matrix.enlist(k);
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
            let entries = pattern.column[j]..pattern.column[j + 1];
            for (below, &i) in below[entries.clone()].iter().zip(&pattern.row[entries]) {
                blocks::subtract_times(simd, &mut x[i as usize], below, &known);
            }
        }
        for j in (0..n).rev() {
            let entries = pattern.column[j]..pattern.column[j + 1];
            let (before, after) = x.split_at_mut(j + 1);
            let terms = below[entries.clone()].iter().zip(&pattern.row[entries]);
            let terms = terms.map(|(below, &i)| (below, &after[i as usize - j - 1]));
            blocks::subtract_transposed(simd, &mut before[j], terms);
            blocks::backward(&diagonal[j], &mut before[j]);
        }
    }
}
