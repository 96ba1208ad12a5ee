//! How wrong an x is, computed without the library: w exactly or with a hundred bits, the energy error from it, and what
//! round-off may make of a right answer.

mod error;
mod number;

pub use error::{energy_row, natural_row, Oracle};
pub use number::{Dyadic, Number, Wide};
