//! `Kᵀ Γ⁻¹ K` of two-body rows, pair by pair: what they add to a velocity-space matrix.
//!
//! Rows that follow each other on one pair of bodies are added up first, in twelve columns of twelve numbers, those of the
//! first body and those of the second. Four columns at a time stay in registers while the rows pass by; of the columns only
//! what lies on or below the diagonal, by squares of four, is needed.

use crate::linalg::{with_lanes, Kernel, Lanes};
use crate::problem::{Row, ROW_LEN};

/// Twelve columns of twelve numbers; above the diagonal anything.
pub(super) type PairBlocks = [[f64; ROW_LEN]; ROW_LEN];

/// The blocks of rows with these weights, given to `sink` with the bodies of each pair; rows of weight 0 are passed over.
pub(super) fn for_each_pair(rows: &[Row], weights: &[f64], sink: impl FnMut([u32; 2], &PairBlocks)) {
    with_lanes(Pairs { rows, weights, sink });
}

struct Pairs<'a, F> {
    rows: &'a [Row],
    weights: &'a [f64],
    sink: F,
}

impl<F: FnMut([u32; 2], &PairBlocks)> Kernel for Pairs<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Pairs { mut rows, mut weights, mut sink } = self;
        let mut blocks = [[0.0; ROW_LEN]; ROW_LEN];
        while let Some(first) = rows.first() {
            let mut len = 1;
            let mut some = weights[0] != 0.0;
            while len < rows.len() && rows[len].body == first.body {
                some |= weights[len] != 0.0;
                len += 1;
            }
            if some {
                columns::<L, 0>(lanes, &rows[..len], &weights[..len], &mut blocks);
                columns::<L, 1>(lanes, &rows[..len], &weights[..len], &mut blocks);
                columns::<L, 2>(lanes, &rows[..len], &weights[..len], &mut blocks);
                sink(first.body, &blocks);
            }
            (rows, weights) = (&rows[len..], &weights[len..]);
        }
    }
}

/// Four columns, from the square on the diagonal down.
#[inline(always)]
fn columns<L: Lanes, const SQUARE: usize>(lanes: L, rows: &[Row], weights: &[f64], blocks: &mut PairBlocks) {
    let mut sums = [[lanes.all(0.0); 4]; 3];
    for (row, &weight) in rows.iter().zip(weights) {
        if weight == 0.0 {
            continue;
        }
        let (k, _) = row.k.as_chunks::<4>();
        for d in 0..4 {
            let scaled = lanes.all(weight * k[SQUARE][d]);
            for s in SQUARE..3 {
                sums[s][d] = lanes.add(sums[s][d], lanes.mul(lanes.load(&k[s]), scaled));
            }
        }
    }
    for d in 0..4 {
        let (column, _) = blocks[4 * SQUARE + d].as_chunks_mut::<4>();
        for s in SQUARE..3 {
            column[s] = lanes.store(sums[s][d]);
        }
    }
}
