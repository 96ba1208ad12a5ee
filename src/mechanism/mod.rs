//! Mechanisms: constraints that are too many, and how to move in spite of them.
//!
//! - [`Diagnosis`]: rank, redundant rows and what they depend on, contradictions, a compliance for those that need one.

mod condition;
mod diagnosis;
mod scaled_rows;

pub use diagnosis::{Diagnosis, Findings, RowRole, MATRIX_TOLERANCE, TOLERANCE};
