//! ALI3-P: the index-3 augmented Lagrangian formulation with projections of velocities and accelerations, with variable
//! step and variable penalty (Dopico, Sanjurjo, Cuadrado, Luaces).
//!
//! Newmark or generalised-α, Newton's iteration on positions with the multipliers updated in between, then velocities and
//! accelerations projected with the same factors. Constraints may be redundant: the penalties keep the tangent regular.
//! Contacts are forces in Q, or unilateral constraints solved as an MLCP at the end of each step.

mod contact;
mod model;
mod newton;
mod settings;
mod stepper;
mod tangent;
mod touch;

pub use contact::ContactRows;
pub use model::{Model, Pattern, Structure, Values};
pub use settings::{StepError, StepOutcome, StepReport, StepSettings};
pub use stepper::Stepper;
