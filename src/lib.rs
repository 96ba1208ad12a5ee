//! **libmlcp**: contact and friction, solved step by step, with the error in joules.
//!
//! # The problem
//! Find impulses `x` (N·s) and velocities `w` (m/s, or rad/s with N·m·s) with
//!
//! ```text
//! w = A x + b,   lo <= x <= hi,   x = lo  =>  w >= 0
//!                                 x = hi  =>  w <= 0
//!                            lo < x < hi  =>  w  = 0
//! ```
//!
//! An infinite bound is absent; both infinite: a joint row; `lo = hi`: a fixed row, any `w` is right. In mechanics
//! `A = J M⁻¹ Jᵀ + C` is symmetric positive semidefinite, usually singular, and `b` need not lie in its range.
//! Engines that write `A x = b + w` (Bullet, ODE, DART) pass `-b`. A friction row may take its bounds from a normal
//! row: `|x_i| <= mu_i max(x_normal, 0)`; or the two tangent rows of a contact share a disc of that radius, a friction cone.
//!
//! # The map
//! - [`problem`]: what to solve. One operator (dense, CSR or two-body Jacobian rows), b, bounds, friction, cones.
//! - [`metrics`]: how wrong an x is, row by row; pure functions.
//! - [`solvers`]: one file each; a solver is `start` and `step`, and never judges itself.
//! - [`auto`]: which solvers, in which order, until when; every threshold; why.
//! - [`mechanism`]: redundant constraints diagnosed and cured, projection, time stepping in dependent coordinates.
//! - [`solve`]: the loop of one stage, stop rules, best iterate, islands, report.
//! - [`linalg`]: factorisations; knows no complementarity.
//! - [`multibody`]: frames (bodies, joints, contacts of a step) and the problems to be made of them.
//! - `dataset`: recordings and problem files in HDF5 (feature `dataset`, on by default).
//! - `memory`: buffers that grow, in large pages.
//! - [`ffi`]: the C ABI; but for `memory` and `linalg/lanes.rs` the only place with `unsafe`.
//!
//! Uses point one way: `linalg ← problem ← metrics ← solve ← ffi`, `problem ← solvers ← auto ← solve`,
//! `solve ← mechanism ← ffi`, `metrics ← multibody ← dataset ← ffi`.
//! `tests/architecture.rs` holds them to it.

mod budget;
mod error;
mod memory;
mod settings;

pub mod auto;
#[cfg(feature = "dataset")]
pub mod dataset;
pub mod ffi;
pub mod linalg;
pub mod mechanism;
pub mod metrics;
pub mod multibody;
pub mod problem;
pub mod solve;
pub mod solvers;

pub use budget::Budget;
pub use error::{Error, Result, Status};
pub use metrics::Measure;
pub use problem::{FrictionMode, Problem, Triangle};
pub use settings::{Choice, Settings, SolverKind};
pub use solve::{Engine, Iteration, Outcome, Report};
