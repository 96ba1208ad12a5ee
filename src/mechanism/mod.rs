//! Mechanisms: constraints that are too many, and how to move in spite of them.
//!
//! - [`Diagnosis`]: rank, redundant rows and what they depend on, contradictions, a compliance for those that need one.
//! - [`Compliance`]: springs and dampers as rows.
//! - [`Projection`]: positions and velocities back onto the motion that the constraints allow.
//! - [`ali3p`]: a time stepper for mechanisms in dependent coordinates, with variable step and penalty.

pub mod ali3p;
mod basis;
mod compliance;
mod condition;
mod diagnosis;
mod projection;
mod scaled_rows;

pub use compliance::Compliance;
pub use diagnosis::{Diagnosis, Findings, RowRole, TOLERANCE};
pub use projection::{Projection, RANK_TOLERANCE};
