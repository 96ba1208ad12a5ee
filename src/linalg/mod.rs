//! Factorisations for the solvers, and the arithmetic of row kernels. Nothing here knows about complementarity.
//!
//! All keep their memory from one use to the next; those that may take long look at the deadline while they work.

mod block_cholesky;
mod block_lu;
mod block_pattern;
mod blocks;
mod dense_cholesky;
mod dense_lu;
mod fours;
mod growing_cholesky;
mod lanes;
mod panel_cholesky;
mod panel_pattern;
mod row_cholesky;
mod row_qr;
mod sparse_lu;
mod stale;
mod tableau;
mod twins;
mod updates;

pub use block_cholesky::BlockCholesky;
pub use block_lu::BlockLu;
pub use dense_cholesky::DenseCholesky;
pub use dense_lu::DenseLu;
pub use fours::{products, with_lanes, Kernel, Lanes, Quad};
pub use growing_cholesky::GrowingCholesky;
pub use lanes::{at_least, at_most, fetch, Two};
pub use panel_cholesky::PanelCholesky;
pub use row_cholesky::RowCholesky;
pub use row_qr::{BlockRow, RowQr, BLOCK};
pub use sparse_lu::SparseLu;
pub use tableau::Tableau;

/// Why a factorisation stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The pivot of this row or block is not positive.
    NotPositive(usize),
    /// The deadline passed at this row or block.
    OutOfTime(usize),
}

impl Failure {
    /// The row or block it stopped at.
    pub fn row(self) -> usize {
        match self {
            Failure::NotPositive(row) | Failure::OutOfTime(row) => row,
        }
    }
}
