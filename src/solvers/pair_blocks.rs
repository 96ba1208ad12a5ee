//! The blocks that the rows on one pair of bodies add to a velocity-space matrix.

use crate::linalg::{Block, BlockCholesky, Two};
use crate::problem::Row;

/// `Σ Kᵀ Γ⁻¹ K` over rows on one pair of bodies.
pub(super) struct PairBlocks {
    pair: [u32; 2],
    own: [Block; 2],
    /// The second body's rows, the first one's columns.
    across: Block,
}

impl PairBlocks {
    /// No rows yet.
    pub fn of(pair: [u32; 2]) -> Self {
        PairBlocks { pair, own: [Block::zeros(); 2], across: Block::zeros() }
    }

    pub fn pair(&self) -> [u32; 2] {
        self.pair
    }

    /// Of the own blocks, which are symmetric, only the lower triangle: its columns begin with the pair of rows that has the
    /// diagonal.
    #[inline]
    pub fn add(&mut self, row: &Row, weight: f64) {
        let (halves, _) = row.k.as_chunks::<6>();
        let [first, second] = [&halves[0], &halves[1]].map(pairs);
        for d in 0..6 {
            let scaled = [&halves[0], &halves[1]].map(|half| Two::both(weight * half[d]));
            add_column(&mut self.own[0], d, d / 2, first, scaled[0]);
            add_column(&mut self.own[1], d, d / 2, second, scaled[1]);
            add_column(&mut self.across, d, 0, second, scaled[0]);
        }
    }

    /// The world, which is the body after the last, has no block.
    pub fn add_to(&self, matrix: &mut BlockCholesky, bodies: usize) {
        let [p, q] = self.pair.map(|k| k as usize);
        if p < bodies {
            matrix.add(p, p, &self.own[0]);
        }
        if q < bodies {
            matrix.add(q, q, &self.own[1]);
        }
        if p < bodies && q < bodies {
            matrix.add(q, p, &self.across);
        }
    }
}

/// Six numbers two by two.
#[inline]
fn pairs(six: &[f64; 6]) -> [Two; 3] {
    let (two, _) = six.as_chunks::<2>();
    [Two::load(&two[0]), Two::load(&two[1]), Two::load(&two[2])]
}

/// Column d of `block`, from pair `from` of its rows on, += half times `scaled`.
#[inline]
fn add_column(block: &mut Block, d: usize, from: usize, half: [Two; 3], scaled: Two) {
    let (column, _) = block.as_mut_slice()[6 * d..6 * d + 6].as_chunks_mut::<2>();
    for c in from..3 {
        Two::load(&column[c]).add_product(half[c], scaled).store(&mut column[c]);
    }
}
