//! Which columns update which in a left-looking factorisation.
//!
//! Column j waits for all columns k < j that have an entry in row j. Each k stands on the list of the next row that it has
//! an entry in, and moves on when that is done (George and Liu 1981).

use super::block_pattern::{BlockPattern, NONE};
use crate::error::Result;
use crate::memory::{refill, reserve};
use std::ops::Range;

/// Columns factored between two looks at the clock.
pub(super) const CLOCK: usize = 64;

#[derive(Default)]
pub(super) struct Updates {
    /// Where column j has its entry in each row.
    mark: Vec<u32>,
    /// The first column on the list of each row, and the one after each column.
    head: Vec<u32>,
    link: Vec<u32>,
    /// The next entry of each column.
    next: Vec<usize>,
}

impl Updates {
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        for v in [&mut self.mark, &mut self.head, &mut self.link] {
            reserve(v, n)?;
        }
        reserve(&mut self.next, n)
    }

    /// Begin with n columns.
    pub fn begin(&mut self, n: usize) -> Result<()> {
        for v in [&mut self.mark, &mut self.head, &mut self.link] {
            refill(v, n, NONE)?;
        }
        refill(&mut self.next, n, 0)
    }

    /// Column j is next: its entries, and the first column that updates it.
    #[inline(always)]
    pub fn open(&mut self, pattern: &BlockPattern, j: usize) -> (Range<usize>, u32) {
        let column = pattern.column[j]..pattern.column[j + 1];
        for p in column.clone() {
            self.mark[pattern.row[p] as usize] = p as u32;
        }
        (column, self.head[j])
    }

    /// The entries of column k from row j on, and the column that updates j after it.
    #[inline(always)]
    pub fn take(&mut self, pattern: &BlockPattern, k: u32) -> (Range<usize>, u32) {
        let (k, following) = (k as usize, self.link[k as usize]);
        let entries = self.next[k]..pattern.column[k + 1];
        self.enlist(pattern, k, entries.start + 1);
        (entries, following)
    }

    /// Where column j has its entry in the row of entry q of another column.
    #[inline(always)]
    pub fn target(&self, pattern: &BlockPattern, q: usize) -> usize {
        self.mark[pattern.row[q] as usize] as usize
    }

    /// Column j keeps its numbers, but the columns that updated it go on to their next rows, in the order they always do.
    pub fn pass(&mut self, pattern: &BlockPattern, j: usize) {
        let mut k = self.head[j];
        while k != NONE {
            k = self.take(pattern, k).1;
        }
        self.close(pattern, j);
    }

    /// Column j is done.
    #[inline(always)]
    pub fn close(&mut self, pattern: &BlockPattern, j: usize) {
        self.enlist(pattern, j, pattern.column[j]);
    }

    #[inline(always)]
    fn enlist(&mut self, pattern: &BlockPattern, k: usize, entry: usize) {
        self.next[k] = entry;
        if entry < pattern.column[k + 1] {
            let i = pattern.row[entry] as usize;
            self.link[k] = self.head[i];
            self.head[i] = k as u32;
        }
    }
}
