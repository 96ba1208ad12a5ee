//! Shared by tests and benches (which include it through `#[path]`): recorded problems, an independent oracle for small
//! problems, and generators whose seeds reproduce.
#![allow(dead_code, unused_imports)]

pub mod corpus;
pub mod frames;
pub mod lookup3;
pub mod oracle;
pub mod problems;
pub mod rows;
pub mod scenes;

pub use mlcp_scenes::Random;

pub use corpus::{CorpusProblem, Form, Friction};
pub use problems::{Kind, SmallProblem};
pub use rows::RowProblem;
pub use scenes::{Fill, Scene};
