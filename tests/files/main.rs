//! Files: recordings, problem files and FCLIB.

#[path = "../common/mod.rs"]
mod common;

mod fclib;
mod recording;
mod recording_python;
