//! Which bodies share a row: the pattern of velocity-space matrices.

use super::jacobian::Jacobian;
use crate::error::Result;
use crate::memory::{refill, reserve};

/// The neighbours of body k are `index[start[k]..start[k + 1]]`, rising.
#[derive(Default)]
pub struct BodyGraph {
    /// Where the neighbours of each body begin.
    pub start: Vec<u32>,
    /// Neighbours.
    pub index: Vec<u32>,
    /// Pairs of bodies, the first in the upper half.
    pairs: Vec<u64>,
}

impl BodyGraph {
    /// Take memory for graphs of so many rows and bodies.
    pub fn reserve(&mut self, rows: usize, bodies: usize) -> Result<()> {
        reserve(&mut self.start, bodies + 1)?;
        reserve(&mut self.index, 2 * rows)?;
        reserve(&mut self.pairs, 2 * rows)
    }

    /// Find it.
    pub fn find(&mut self, jacobian: &Jacobian) -> Result<()> {
        let (rows, bodies) = (jacobian.rows(), jacobian.bodies());
        self.reserve(rows.len(), bodies)?;
        self.pairs.clear();
        let mut last = [bodies as u32; 2];
        // The rows of a contact follow each other.
        for row in rows.iter().filter(|row| std::mem::replace(&mut last, row.body) != row.body) {
            let [p, q] = row.body;
            if p != q && (p.max(q) as usize) < bodies {
                self.pairs.extend([u64::from(p) << 32 | u64::from(q), u64::from(q) << 32 | u64::from(p)]);
            }
        }
        self.pairs.sort_unstable();
        self.pairs.dedup();
        refill(&mut self.start, bodies + 1, 0)?;
        self.index.clear();
        for pair in &self.pairs {
            self.start[(pair >> 32) as usize + 1] += 1;
            self.index.push(*pair as u32);
        }
        for k in 0..bodies {
            self.start[k + 1] += self.start[k];
        }
        Ok(())
    }
}
