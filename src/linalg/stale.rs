//! Which columns of a factor have to be computed again when few numbers of the matrix have changed.
//!
//! A column of L depends on its own numbers and on the columns below it in the elimination tree. So those that have changed
//! and their ancestors are stale; all others would come out with the same bits, and are kept.

use crate::error::Result;
use crate::memory::{refill, reserve};

/// Marks of the columns, or panels, of a factor.
#[derive(Default)]
pub(super) struct Stale {
    marks: Vec<bool>,
    /// Is there a whole factor, of which columns could be kept?
    factored: bool,
}

impl Stale {
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        reserve(&mut self.marks, n)
    }

    /// Begin with n columns, none of them factored.
    pub fn begin(&mut self, n: usize) -> Result<()> {
        self.factored = false;
        refill(&mut self.marks, n, true)
    }

    /// Every column is stale.
    pub fn mark_all(&mut self) {
        self.factored = false;
        self.marks.fill(true);
    }

    /// The columns that `changed` marks are stale, and those that `parent` leads to from them. Without a factor all are. Until
    /// [`Stale::finish`] there is none.
    pub fn mark(&mut self, changed: impl FnOnce(&mut [bool]), parent: impl Fn(usize) -> Option<usize>) {
        if !std::mem::take(&mut self.factored) {
            return self.marks.fill(true);
        }
        self.marks.fill(false);
        changed(&mut self.marks);
        for j in 0..self.marks.len() {
            if let Some(parent) = parent(j).filter(|_| self.marks[j]) {
                self.marks[parent] = true;
            }
        }
    }

    /// Has column j to be computed again?
    #[inline(always)]
    pub fn has(&self, j: usize) -> bool {
        self.marks[j]
    }

    /// Is every column stale?
    pub fn is_all(&self) -> bool {
        !self.marks.contains(&false)
    }

    /// The factorisation has ended, well or not.
    pub fn finish(&mut self, well: bool) {
        self.factored = well;
    }
}
