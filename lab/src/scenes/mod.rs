//! Scenes that make a contact problem at every step, for experiments and recordings.

pub mod boxes;
pub mod brick_wall;
pub mod driving;
pub mod pile;
pub mod quiet;
pub mod step_problem;
