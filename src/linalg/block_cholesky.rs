//! Sparse Cholesky factorisation A = L Lᵀ in square blocks of size B, left-looking.
//!
//! B = 6 factors velocity-space matrices, one block per body; B = 1 factors ordinary sparse ones. Three stages, each in
//! memory that is kept: [`BlockCholesky::analyse`] orders the pattern (approximate minimum degree) and finds the
//! pattern of L; [`BlockCholesky::clear`] and [`BlockCholesky::at`] fill in the numbers; [`BlockCholesky::factor`].
//! A pattern equal to the last one is not analysed again. Cost: `B³` times the sum of squared column counts.

use super::Failure;
use crate::error::{refill, reserve, Error, Result, Status};
use crate::Budget;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::sparse::linalg::amd;
use faer::sparse::SymbolicSparseColMatRef;
use nalgebra::{SMatrix, SVector};

/// One block.
pub type Block<const B: usize> = SMatrix<f64, B, B>;

const NONE: u32 = u32::MAX;
/// Memory for a full factor is taken ahead up to this many bytes: 128 blocks of 6 by 6, 774 numbers.
const AHEAD: usize = 2_400_000;
/// Columns factored between two looks at the clock.
const CLOCK: usize = 64;

/// A symmetric positive definite block matrix and its factor.
pub struct BlockCholesky<const B: usize> {
    /// Pattern as given, to recognise it.
    start: Vec<u32>,
    index: Vec<u32>,
    /// `order[new] = old` and back.
    order: Vec<u32>,
    place: Vec<u32>,
    stack: MemBuffer,
    parent: Vec<u32>,
    /// Column starts and row indices of L below the diagonal, in the new order.
    column: Vec<usize>,
    row: Vec<u32>,
    diagonal: Vec<Block<B>>,
    below: Vec<Block<B>>,
    /// Work: marks, list heads, list links, next entry of a column.
    mark: Vec<u32>,
    head: Vec<u32>,
    link: Vec<u32>,
    next: Vec<usize>,
    x: Vec<SVector<f64, B>>,
    flops: f64,
}

impl<const B: usize> Default for BlockCholesky<B> {
    fn default() -> Self {
        BlockCholesky {
            start: Vec::new(),
            index: Vec::new(),
            order: Vec::new(),
            place: Vec::new(),
            stack: MemBuffer::new(StackReq::EMPTY),
            parent: Vec::new(),
            column: Vec::new(),
            row: Vec::new(),
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

impl<const B: usize> BlockCholesky<B> {
    /// Take memory for patterns of up to n blocks and so many neighbours. In small systems any fill then fits; in larger
    /// ones it is only known with the pattern.
    pub fn reserve(&mut self, n: usize, neighbours: usize) -> Result<()> {
        for v in [&mut self.order, &mut self.place, &mut self.parent, &mut self.mark, &mut self.head, &mut self.link] {
            reserve(v, n)?;
        }
        reserve(&mut self.next, n)?;
        reserve(&mut self.column, n + 1)?;
        reserve(&mut self.start, n + 1)?;
        reserve(&mut self.index, neighbours)?;
        reserve(&mut self.diagonal, n)?;
        reserve(&mut self.x, n)?;
        self.reserve_stack(n, neighbours)?;
        let full = n.saturating_mul(n.saturating_sub(1)) / 2;
        if full.saturating_mul(std::mem::size_of::<Block<B>>()) <= AHEAD {
            reserve(&mut self.row, full)?;
            reserve(&mut self.below, full)?;
        }
        Ok(())
    }

    fn reserve_stack(&mut self, n: usize, neighbours: usize) -> Result<()> {
        let needed = amd::order_scratch::<u32>(n, neighbours);
        if self.stack.len() < needed.size_bytes() {
            self.stack = MemBuffer::try_new(needed)
                .map_err(|_| Error::new(Status::OutOfMemory, format_args!("no memory to order {n} blocks")))?;
        }
        Ok(())
    }

    /// Learn a symmetric pattern: row i has the sorted columns `index[start[i]..start[i+1]]`; diagonals may be left out.
    pub fn analyse(&mut self, start: &[u32], index: &[u32]) -> Result<()> {
        if self.start == start && self.index == index {
            return Ok(());
        }
        // Until the end of this function no pattern is known.
        self.start.clear();
        let n = start.len() - 1;
        for v in [&mut self.order, &mut self.place, &mut self.parent, &mut self.mark, &mut self.head, &mut self.link] {
            refill(v, n, NONE)?;
        }
        refill(&mut self.next, n, 0)?;
        self.find_order(start, index)?;
        self.find_tree(start, index);
        self.find_columns(start, index)?;
        let entries = self.row.len();
        refill(&mut self.diagonal, n, Block::zeros())?;
        // Contacts come and go, and fill with them: take half as much again.
        reserve_ahead(&mut self.below, entries)?;
        refill(&mut self.below, entries, Block::zeros())?;
        refill(&mut self.x, n, SVector::zeros())?;
        let block = (B * B * B) as f64;
        self.flops = block * self.column.windows(2).map(|c| ((c[1] - c[0] + 1) as f64).powi(2)).sum::<f64>();
        reserve(&mut self.index, index.len())?;
        reserve(&mut self.start, start.len())?;
        self.index.clear();
        self.index.extend_from_slice(index);
        self.start.extend_from_slice(start);
        Ok(())
    }

    /// Multiplications and additions of one factorisation.
    pub fn flops(&self) -> f64 {
        self.flops
    }

    fn find_order(&mut self, start: &[u32], index: &[u32]) -> Result<()> {
        let n = self.order.len();
        self.reserve_stack(n, index.len())?;
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, start, None, index);
        amd::order(&mut self.order, &mut self.place, pattern, amd::Control::default(), MemStack::new(&mut self.stack))
            .map(|_| ())
            .map_err(|e| Error::new(Status::InvalidSize, format_args!("{n} blocks could not be ordered: {e:?}")))
    }

    /// Elimination tree (Liu), with path compression in `head`.
    fn find_tree(&mut self, start: &[u32], index: &[u32]) {
        for i in 0..self.order.len() as u32 {
            for &old in neighbours(start, index, self.order[i as usize]) {
                let mut k = self.place[old as usize];
                while k < i {
                    let up = self.head[k as usize];
                    self.head[k as usize] = i;
                    if up == NONE {
                        self.parent[k as usize] = i;
                        break;
                    }
                    k = up;
                }
            }
        }
    }

    /// Rows of L by climbing the tree from every entry of A; filling by rows leaves each column sorted.
    fn find_columns(&mut self, start: &[u32], index: &[u32]) -> Result<()> {
        let n = self.order.len();
        refill(&mut self.column, n + 1, 0)?;
        for fill in [false, true] {
            self.mark.fill(NONE);
            for i in 0..n as u32 {
                self.mark[i as usize] = i;
                for &old in neighbours(start, index, self.order[i as usize]) {
                    let mut k = self.place[old as usize];
                    while k < i && self.mark[k as usize] != i {
                        self.mark[k as usize] = i;
                        if fill {
                            self.row[self.next[k as usize]] = i;
                            self.next[k as usize] += 1;
                        } else {
                            self.column[k as usize + 1] += 1;
                        }
                        k = self.parent[k as usize];
                    }
                }
            }
            if !fill {
                for j in 0..n {
                    self.column[j + 1] += self.column[j];
                    self.next[j] = self.column[j];
                }
                reserve_ahead(&mut self.row, self.column[n])?;
                refill(&mut self.row, self.column[n], 0)?;
            }
        }
        Ok(())
    }

    /// Set every number to zero.
    pub fn clear(&mut self) {
        self.diagonal.fill(Block::zeros());
        self.below.fill(Block::zeros());
    }

    /// Add `block` at (i, j) and its transpose at (j, i); the pair must be in the pattern. On the diagonal it is added
    /// once.
    pub fn add(&mut self, i: usize, j: usize, block: &Block<B>) {
        let (p, q) = (self.place[i], self.place[j]);
        match p.cmp(&q) {
            std::cmp::Ordering::Equal => self.diagonal[p as usize] += block,
            std::cmp::Ordering::Greater => *self.at(p, q) += block,
            std::cmp::Ordering::Less => *self.at(q, p) += block.transpose(),
        }
    }

    fn at(&mut self, p: u32, q: u32) -> &mut Block<B> {
        let range = self.column[q as usize]..self.column[q as usize + 1];
        let offset = self.row[range.clone()].binary_search(&p).expect("entry outside the analysed pattern");
        &mut self.below[range.start + offset]
    }

    /// Factor in place.
    pub fn factor(&mut self, budget: &Budget) -> std::result::Result<(), Failure> {
        let n = self.order.len();
        // head[j]: first column k < j that still has to update column j; link chains the rest.
        self.head.fill(NONE);
        for j in 0..n {
            if j % CLOCK == CLOCK - 1 && budget.spent() {
                return Err(Failure::OutOfTime(self.order[j] as usize));
            }
            let column = self.column[j]..self.column[j + 1];
            for p in column.clone() {
                self.mark[self.row[p] as usize] = p as u32;
            }
            let mut k = self.head[j];
            while k != NONE {
                let following = self.link[k as usize];
                self.update(j, k as usize);
                k = following;
            }
            let Some(l) = self.diagonal[j].cholesky() else {
                return Err(Failure::NotPositive(self.order[j] as usize));
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
        let (p, end) = (self.next[k], self.column[k + 1]);
        let ljk = self.below[p].transpose();
        self.diagonal[j] -= self.below[p] * ljk;
        for q in p + 1..end {
            let product = self.below[q] * ljk;
            let target = self.mark[self.row[q] as usize] as usize;
            self.below[target] -= product;
        }
        self.next[k] = p + 1;
        self.enlist(k);
    }

    /// Put column k on the list of the column its next entry updates.
    fn enlist(&mut self, k: usize) {
        if self.next[k] < self.column[k + 1] {
            let i = self.row[self.next[k]] as usize;
            self.link[k] = self.head[i];
            self.head[i] = k as u32;
        }
    }

    /// Solve A x = b in place; `x` has B numbers per block.
    pub fn solve(&mut self, x: &mut [f64]) {
        for (new, &old) in self.order.iter().enumerate() {
            self.x[new].copy_from_slice(&x[B * old as usize..][..B]);
        }
        for j in 0..self.order.len() {
            let mut xj = self.x[j];
            self.diagonal[j].solve_lower_triangular_unchecked_mut(&mut xj);
            self.x[j] = xj;
            for p in self.column[j]..self.column[j + 1] {
                self.x[self.row[p] as usize] -= self.below[p] * xj;
            }
        }
        for j in (0..self.order.len()).rev() {
            let mut xj = self.x[j];
            for p in self.column[j]..self.column[j + 1] {
                xj -= self.below[p].tr_mul(&self.x[self.row[p] as usize]);
            }
            self.diagonal[j].tr_solve_lower_triangular_unchecked_mut(&mut xj);
            self.x[j] = xj;
        }
        for (new, &old) in self.order.iter().enumerate() {
            x[B * old as usize..][..B].copy_from_slice(self.x[new].as_slice());
        }
    }
}

/// Make room for `len` entries, and if that takes new memory, for half as many again.
fn reserve_ahead<T>(v: &mut Vec<T>, len: usize) -> Result<()> {
    if v.capacity() < len {
        reserve(v, len + len / 2)
    } else {
        Ok(())
    }
}

fn neighbours<'a>(start: &[u32], index: &'a [u32], i: u32) -> &'a [u32] {
    &index[start[i as usize] as usize..start[i as usize + 1] as usize]
}
