//! The pattern of a sparse Cholesky factor, in blocks: an order that fills little, the elimination tree, the columns of L.
//!
//! [`BlockPattern::analyse`] takes the pattern of a symmetric block matrix (approximate minimum degree, Liu's tree) and
//! keeps its memory; a pattern equal to the last one is not analysed again.

use super::blocks::{Block, Column, B};
use crate::error::{Error, Result, Status};
use crate::memory::{refill, reserve};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::sparse::linalg::amd;
use faer::sparse::SymbolicSparseColMatRef;

/// Of up to so many blocks memory for a full factor is taken ahead: 3 MB.
const AHEAD: usize = 128;
/// No block.
pub(super) const NONE: u32 = u32::MAX;

/// An ordered pattern.
pub(super) struct BlockPattern {
    /// Pattern as given, to recognise it.
    start: Vec<u32>,
    index: Vec<u32>,
    /// `order[new] = old` and back.
    pub order: Vec<u32>,
    pub place: Vec<u32>,
    /// The elimination tree.
    pub parent: Vec<u32>,
    /// Column starts and row indices of L below the diagonal, in the new order.
    pub column: Vec<usize>,
    pub row: Vec<u32>,
    stack: MemBuffer,
    /// Work: marks, path compression, next entry of a column.
    mark: Vec<u32>,
    head: Vec<u32>,
    next: Vec<usize>,
}

impl Default for BlockPattern {
    fn default() -> Self {
        BlockPattern {
            start: Vec::new(),
            index: Vec::new(),
            order: Vec::new(),
            place: Vec::new(),
            parent: Vec::new(),
            column: Vec::new(),
            row: Vec::new(),
            stack: MemBuffer::new(StackReq::EMPTY),
            mark: Vec::new(),
            head: Vec::new(),
            next: Vec::new(),
        }
    }
}

impl BlockPattern {
    /// Take memory for patterns of up to n blocks and so many neighbours; `entries`: of L, if known.
    pub fn reserve(&mut self, n: usize, neighbours: usize, entries: usize) -> Result<()> {
        for v in [&mut self.order, &mut self.place, &mut self.parent, &mut self.mark, &mut self.head] {
            reserve(v, n)?;
        }
        reserve(&mut self.next, n)?;
        reserve(&mut self.column, n + 1)?;
        reserve(&mut self.start, n + 1)?;
        reserve(&mut self.index, neighbours)?;
        reserve(&mut self.row, entries)?;
        self.reserve_stack(n, neighbours)
    }

    fn reserve_stack(&mut self, n: usize, neighbours: usize) -> Result<()> {
        let needed = amd::order_scratch::<u32>(n, neighbours);
        if self.stack.len() < needed.size_bytes() {
            self.stack = MemBuffer::try_new(needed)
                .map_err(|_| Error::new(Status::OutOfMemory, format_args!("no memory to order {n} blocks")))?;
        }
        Ok(())
    }

    /// Is this the pattern that was analysed last?
    pub fn is(&self, start: &[u32], index: &[u32]) -> bool {
        self.start == start && self.index == index
    }

    /// No pattern is known from here on.
    pub fn forget(&mut self) {
        self.start.clear();
    }

    /// Learn a symmetric pattern: row i has the sorted columns `index[start[i]..start[i+1]]`; diagonals may be left out.
    pub fn analyse(&mut self, start: &[u32], index: &[u32]) -> Result<()> {
        self.forget();
        let n = start.len() - 1;
        for v in [&mut self.order, &mut self.place, &mut self.parent, &mut self.mark, &mut self.head] {
            refill(v, n, NONE)?;
        }
        refill(&mut self.next, n, 0)?;
        self.find_order(start, index)?;
        self.find_tree(start, index);
        self.find_columns(start, index)?;
        reserve(&mut self.index, index.len())?;
        reserve(&mut self.start, start.len())?;
        self.index.clear();
        self.index.extend_from_slice(index);
        self.start.extend_from_slice(start);
        Ok(())
    }

    /// Entries of L to take memory for ahead, before the pattern is known: all, if the blocks are few.
    pub fn fill_ahead(n: usize) -> usize {
        if n <= AHEAD {
            n * n.saturating_sub(1) / 2
        } else {
            0
        }
    }

    /// Multiplications and additions of a Cholesky factorisation.
    pub fn flops(&self) -> f64 {
        let squares = self.column.windows(2).map(|c| ((c[1] - c[0] + 1) as f64).powi(2));
        (B * B * B) as f64 * squares.sum::<f64>()
    }

    /// Where row p of column q is, which must be in the pattern; both in the new order.
    pub fn entry(&self, p: u32, q: u32) -> usize {
        let range = self.column[q as usize]..self.column[q as usize + 1];
        range.start + self.row[range.clone()].binary_search(&p).expect("entry outside the analysed pattern")
    }

    /// The blocks of column j with their rows.
    #[inline(always)]
    pub fn entries_of<'a>(&'a self, j: usize, blocks: &'a [Block]) -> impl Iterator<Item = (&'a Block, usize)> + Clone {
        let entries = self.column[j]..self.column[j + 1];
        blocks[entries.clone()].iter().zip(self.row[entries].iter().map(|&i| i as usize))
    }

    /// A vector in the new order; with the padding, where an overflow may have left its traces.
    pub fn gather(&self, from: &[f64], to: &mut [Column]) {
        let (six, _) = from.as_chunks::<B>();
        for (to, &old) in to.iter_mut().zip(&self.order) {
            *to = Column::of(&six[old as usize]);
        }
    }

    /// And back.
    pub fn scatter(&self, from: &[Column], to: &mut [f64]) {
        let (six, _) = to.as_chunks_mut::<B>();
        for (from, &old) in from.iter().zip(&self.order) {
            six[old as usize].copy_from_slice(&from.0[..B]);
        }
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
}

/// Make room for `len` entries, and if that takes new memory, for half as many again.
pub(super) fn reserve_ahead<T>(v: &mut Vec<T>, len: usize) -> Result<()> {
    if v.capacity() < len {
        reserve(v, len + len / 2)
    } else {
        Ok(())
    }
}

fn neighbours<'a>(start: &[u32], index: &'a [u32], i: u32) -> &'a [u32] {
    &index[start[i as usize] as usize..start[i as usize + 1] as usize]
}
