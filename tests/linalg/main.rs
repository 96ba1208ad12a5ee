//! Linear algebra: factors and tableaux beside plain loops and dense references.

#[path = "../common/mod.rs"]
mod common;

mod block_factors;
mod panel_cholesky;
mod partial_factors;
mod tableau;
