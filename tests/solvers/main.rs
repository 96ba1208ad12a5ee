//! Solvers and `auto`: against enumeration, textbook methods, recorded and generated problems.

#[path = "../common/mod.rs"]
mod common;
// One test counts allocations. The allocator counts only on a thread that asks for it, so the other tests do not notice.
#[allow(dead_code, unsafe_code)]
#[path = "../allocations/counting.rs"]
mod counting;

mod auto;
mod cones;
mod contact_graphs;
mod enumeration;
mod finite;
mod first_order;
mod islands;
mod outside;
mod pivoting;
mod planted;
mod polyhedral;
mod solver_matrix;
mod sweep_order;
mod sweeps_together;
mod threads;
