//! Time steps as engines know them, and the problems to be made of them.

mod polyhedral;

pub use polyhedral::{Polygon, Polyhedral, MOST_FACETS};
