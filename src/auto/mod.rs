//! `auto`: which solvers treat a problem, in which order, for how long.
//!
//! - [`plan`]: from a class of problems to stages; a stage is a value, with its own stop rules.
//! - [`cost`]: every threshold, with its unit and effect, and the command that shows what it does.
//! - [`why`]: the explanations a caller reads. No code decides anything by them.

pub mod cost;
mod plan;
mod why;

pub use plan::{Plan, Rules, Share, Stage, Work, MAX_STAGES};
pub use why::Reason;
