//! Rows of a sparse matrix that have the same columns, and the graph that is left when each such group is one node.
//!
//! The rows of all contacts between two bodies are twins: in a wall of bricks twelve and more, so the graph has a tenth
//! of the nodes and a hundredth of the edges. Found by hashing and sorting, one pass over the entries.

use crate::error::Result;
use crate::memory::{refill, reserve};

const NONE: u32 = u32::MAX;

/// Groups of rows, numbered by their first row.
#[derive(Default)]
pub(super) struct Twins {
    /// Group of every row, and rows of every group.
    pub group: Vec<u32>,
    pub size: Vec<u32>,
    /// Groups that share an entry: `index[start[g]..start[g + 1]]`, rising, g itself among them if its diagonal is.
    pub start: Vec<u32>,
    pub index: Vec<u32>,
    /// Work: hashes with their rows, the first row of every group, marks.
    hash: Vec<(u64, u32)>,
    first: Vec<u32>,
    mark: Vec<u32>,
}

impl Twins {
    /// Take memory for n rows with so many entries.
    pub fn reserve(&mut self, n: usize, entries: usize) -> Result<()> {
        for v in [&mut self.group, &mut self.size, &mut self.first, &mut self.mark] {
            reserve(v, n)?;
        }
        reserve(&mut self.hash, n)?;
        reserve(&mut self.start, n + 1)?;
        reserve(&mut self.index, entries)
    }

    /// Group the rows `index[start[i]..start[i + 1]]`.
    pub fn find(&mut self, start: &[u32], index: &[u32]) -> Result<()> {
        let n = start.len() - 1;
        self.reserve(n, index.len())?;
        let row = |i: u32| &index[start[i as usize] as usize..start[i as usize + 1] as usize];
        self.hash.clear();
        self.hash.extend((0..n as u32).map(|i| (hash(row(i)), i)));
        self.hash.sort_unstable();
        refill(&mut self.group, n, NONE)?;
        // First the first row of the group stands for it; rows of one hash come rising.
        let mut last = (0, NONE);
        for &(hash, i) in &self.hash {
            if last.1 == NONE || last.0 != hash || row(last.1) != row(i) {
                last = (hash, i);
            }
            self.group[i as usize] = last.1;
        }
        self.size.clear();
        self.first.clear();
        for i in 0..n as u32 {
            let first = self.group[i as usize];
            if first == i {
                self.group[i as usize] = self.size.len() as u32;
                self.size.push(1);
                self.first.push(i);
            } else {
                let group = self.group[first as usize];
                self.group[i as usize] = group;
                self.size[group as usize] += 1;
            }
        }
        refill(&mut self.mark, self.size.len(), NONE)?;
        self.start.clear();
        self.start.push(0);
        self.index.clear();
        for (g, &first) in self.first.iter().enumerate() {
            let begin = self.index.len();
            for &j in row(first) {
                let other = self.group[j as usize];
                if self.mark[other as usize] != g as u32 {
                    self.mark[other as usize] = g as u32;
                    self.index.push(other);
                }
            }
            // In order already, unless the pattern is not quite symmetric.
            self.index[begin..].sort_unstable();
            self.start.push(self.index.len() as u32);
        }
        Ok(())
    }
}

/// A sum, so that it need not wait for the last entry's.
fn hash(row: &[u32]) -> u64 {
    row.iter().fold(0, |sum: u64, &j| {
        let mixed = (u64::from(j) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        sum.wrapping_add((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9))
    })
}
