//! Other people's libraries beside this one: Bullet, ODE and Siconos, where they are installed.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/toolchain.rs"]
#[allow(dead_code)]
mod toolchain;

mod bullet;
mod ode;
mod siconos;
