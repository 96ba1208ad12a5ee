//! Time steps as engines know them, and the problems to be made of them.
//!
//! [`Frame`]: bodies, constraints, contacts. [`Formulator`]: a frame as a problem in a chosen [`Formulation`], and its
//! solution as velocities, impulses and errors. [`Polyhedral`]: friction cut into facets, of any problem.

mod cone;
mod formulation;
mod frame;
mod mixed;
mod polyhedral;
mod rows;

pub use cone::set_exact_cones;
pub use formulation::{ContactState, Formulation, Formulator, FrameErrors, Response, Shape, STICK_SPEED};
pub use frame::{Bodies, Constraints, Contacts, Frame};
pub use polyhedral::{Polygon, Polyhedral, MOST_FACETS};
pub use rows::tangents;
