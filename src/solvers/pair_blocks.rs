//! `Kᵀ Γ⁻¹ K` of two-body rows, pair by pair: what they add to a velocity-space matrix.
//!
//! Rows that follow each other on one pair of bodies are added up first, in twelve columns of twelve numbers, those of the
//! first body and those of the second. Four columns at a time stay in registers while the rows pass by; of a symmetric
//! matrix only what lies on or below the diagonal, by squares of four.

use crate::linalg::{with_lanes, Kernel, Lanes};
use crate::problem::{Row, ROW_LEN};
use std::ops::Range;

/// Twelve columns of twelve numbers.
pub(super) type PairBlocks = [[f64; ROW_LEN]; ROW_LEN];

/// `Σ Kᵀ γ K` of the rows with weights γ, given to `sink` with the bodies of each pair; above the diagonal stands anything.
/// Rows of weight 0 and pairs that are not `wanted` are passed over.
pub(super) fn for_each_pair(
    rows: &[Row],
    weights: &[f64],
    wanted: impl Fn([u32; 2]) -> bool,
    sink: impl FnMut([u32; 2], &PairBlocks),
) {
    with_lanes(Pairs::<_, _, _, false> { rows, weights, right: |i: usize| &rows[i].k, wanted, sink });
}

/// `Σ Kᵀ γ Z`, likewise, with other rows Z on the right: all of it.
pub(super) fn for_each_general_pair(
    rows: &[Row],
    weights: &[f64],
    right: &[[f64; ROW_LEN]],
    sink: impl FnMut([u32; 2], &PairBlocks),
) {
    with_lanes(Pairs::<_, _, _, true> { rows, weights, right: |i: usize| &right[i], wanted: |_| true, sink });
}

/// A column of what a body's own velocities have to do with each other.
#[inline(always)]
pub(super) fn own(blocks: &PairBlocks, half: usize, d: usize) -> [f64; 6] {
    std::array::from_fn(|c| blocks[6 * half + d][6 * half + c])
}

/// A column of what the second body's velocities have to do with the first one's.
#[inline(always)]
pub(super) fn across(blocks: &PairBlocks, d: usize) -> [f64; 6] {
    std::array::from_fn(|c| blocks[d][6 + c])
}

/// A column of what the first body's velocities have to do with the second one's.
#[inline(always)]
pub(super) fn back_across(blocks: &PairBlocks, d: usize) -> [f64; 6] {
    std::array::from_fn(|c| blocks[6 + d][c])
}

struct Pairs<'a, R, W, F, const FULL: bool> {
    rows: &'a [Row],
    weights: &'a [f64],
    right: R,
    wanted: W,
    sink: F,
}

impl<'a, R, W, F, const FULL: bool> Kernel for Pairs<'a, R, W, F, FULL>
where
    R: Fn(usize) -> &'a [f64; ROW_LEN],
    W: Fn([u32; 2]) -> bool,
    F: FnMut([u32; 2], &PairBlocks),
{
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Pairs { rows, weights, right, wanted, mut sink } = self;
        let mut blocks = [[0.0; ROW_LEN]; ROW_LEN];
        let mut begin = 0;
        while begin < rows.len() {
            let mut end = begin;
            let mut some = false;
            while end < rows.len() && rows[end].body == rows[begin].body {
                some |= weights[end] != 0.0;
                end += 1;
            }
            if some && wanted(rows[begin].body) {
                let run = begin..end;
                columns::<L, _, FULL, 0>(lanes, rows, weights, &right, run.clone(), &mut blocks);
                columns::<L, _, FULL, 1>(lanes, rows, weights, &right, run.clone(), &mut blocks);
                columns::<L, _, FULL, 2>(lanes, rows, weights, &right, run, &mut blocks);
                sink(rows[begin].body, &blocks);
            }
            begin = end;
        }
    }
}

/// Four columns of the rows of a run; all of them, or from the square on the diagonal down.
#[inline(always)]
fn columns<'a, L: Lanes, R: Fn(usize) -> &'a [f64; ROW_LEN], const FULL: bool, const SQUARE: usize>(
    lanes: L,
    rows: &[Row],
    weights: &[f64],
    right: &R,
    run: Range<usize>,
    blocks: &mut PairBlocks,
) {
    let first = if FULL { 0 } else { SQUARE };
    let mut sums = [[lanes.all(0.0); 4]; 3];
    for i in run {
        if weights[i] == 0.0 {
            continue;
        }
        let ((k, _), (z, _)) = (rows[i].k.as_chunks::<4>(), right(i).as_chunks::<4>());
        for d in 0..4 {
            let scaled = lanes.all(weights[i] * z[SQUARE][d]);
            for s in first..3 {
                sums[s][d] = lanes.add(sums[s][d], lanes.mul(lanes.load(&k[s]), scaled));
            }
        }
    }
    for d in 0..4 {
        let (column, _) = blocks[4 * SQUARE + d].as_chunks_mut::<4>();
        for s in first..3 {
            column[s] = lanes.store(sums[s][d]);
        }
    }
}
