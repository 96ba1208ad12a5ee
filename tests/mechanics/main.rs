//! Mechanisms and multibody frames: redundancy, ALI3-P stepping, formulations of a frame.

#[path = "../common/mod.rs"]
mod common;

mod ali3p;
mod ali3p_contact;
mod bricard;
mod diagnosis;
mod formulations;
