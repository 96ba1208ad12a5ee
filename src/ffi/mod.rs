//! The C ABI: every `extern "C"` function, and all of the crate's `unsafe`.
//!
//! One file per C noun. Each export is one `guard` (`guard.rs`), which turns errors into a status and a sentence and
//! keeps panics from crossing; each handle knows whether it is in use (`handle.rs`). Nothing is written to the caller
//! before a call is known to succeed. cbindgen turns these files into `include/mlcp.h`; rules for what may stand here
//! are in `cbindgen.toml` beside this file.
#![allow(unsafe_code, non_camel_case_types)]
// Safety requirements are part of each function's prose, which becomes the header's.
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]

mod ali3p;
mod ali3p_types;
#[cfg(feature = "dataset")]
mod dataset;
mod diagnosis;
mod frame;
mod guard;
mod handle;
mod measure;
mod problem;
mod projection;
#[cfg(feature = "dataset")]
mod recorder;
mod solver;
mod types;

pub use ali3p::*;
pub use ali3p_types::*;
#[cfg(feature = "dataset")]
pub use dataset::*;
pub use diagnosis::*;
pub use frame::*;
pub use guard::*;
pub use measure::*;
pub use problem::*;
pub use projection::*;
#[cfg(feature = "dataset")]
pub use recorder::*;
pub use solver::*;
pub use types::*;
