//! Contact problems whose solutions are known because they were chosen first, and an exact measure of what a solver made of
//! them. Plain data: nothing here knows the library.
//!
//! - [`families`]: generators, one file each; a seed gives the same problem everywhere.
//! - [`planted`]: how a solution is drawn and b chosen to suit it.
//! - [`mechanism`]: bodies, joints and contacts as two-body rows.
//! - [`oracle`]: energy errors from a w without round-off, and the bound on what round-off may do.
//! - [`rigid`]: rigid bodies and mechanisms with known redundancies, as rows.
//! - [`scene`]: a chain, a wall and a packing of any size.
//! - [`sequence`]: scenes stepped in time, each step a problem.
//! - [`trial`]: one solver on one problem, judged.

pub mod families;
pub mod mechanism;
pub mod oracle;
pub mod planted;
mod random;
pub mod rigid;
mod rows;
pub mod scene;
pub mod sequence;
mod start;
pub mod trial;

pub use families::Family;
pub use planted::{Draft, Friction, Habits, Planted, Solution};
pub use random::Random;
pub use rows::{symmetrize, Matrix, Rows};
pub use sequence::Sequence;
pub use start::Start;
