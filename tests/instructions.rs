//! What a row costs in instructions, counted by callgrind: a guard for the kernels that no busy machine can disturb.
//!
//! This program runs itself under valgrind with few and with many sweeps over a packing of balls, given as Jacobian rows;
//! the difference is that of the sweeps alone. A bound is a seventh above what was counted when it was set. If a kernel
//! became dearer for a good reason, raise it; if it became cheaper, lower it.
//!
//! A program of its own, small, because callgrind runs all of it.
//!
//! Bounds are for the code of the test profile, with all its checks, and for processors with 256-bit vectors; without them
//! kernels may take four times as much. What is shipped takes less; it is held to the same bounds by `cargo test --release --test instructions -- --nocapture`.

use mlcp::{Engine, Problem, Settings, SolverKind};
use std::process::Command;

mod common;

use common::Fill;

const FEW: usize = 4;
const MANY: usize = 20;

/// Runs under valgrind, when the other tests ask for it.
#[test]
#[ignore = "run by the other tests, under valgrind"]
fn workload() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<usize>().ok());
    let (Some(kind), Some(sweeps), Some(interval)) = (number("KIND"), number("SWEEPS"), number("INTERVAL")) else {
        return;
    };
    let problem = packing();
    let mut engine = Engine::new(Settings {
        solver: SolverKind::from_number(kind as i32).expect("a kind"),
        max_iterations: sweeps,
        energy_tolerance: 0.0,
        relative_tolerance: 0.0,
        check_interval: interval,
        history_capacity: 0,
        ..Settings::default()
    })
    .expect("legal settings");
    assert_eq!(engine.solve(&problem, None, None).expect("solved").iterations, sweeps);
}

fn packing() -> Problem {
    let mut problem = Problem::new();
    common::scenes::packing(5, 3).fill(&mut problem);
    problem
}

/// Instructions of the whole program.
fn count(kind: SolverKind, sweeps: usize, interval: usize) -> f64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().expect("this program"))
        .args(["--ignored", "--exact", "workload", "--test-threads=1"])
        .envs([("KIND", kind as usize), ("SWEEPS", sweeps), ("INTERVAL", interval)].map(|(k, v)| (k, v.to_string())))
        .output()
        .expect("valgrind is installed");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let collected = text.split("Collected :").nth(1).and_then(|t| t.split_whitespace().next());
    collected.and_then(|t| t.parse().ok()).unwrap_or_else(|| panic!("callgrind counted nothing: {text}"))
}

fn hold(name: &str, instructions: f64, bound: f64) {
    #[cfg(target_arch = "x86_64")]
    let bound = if std::arch::is_x86_feature_detected!("avx2") { bound } else { 4.0 * bound };
    #[cfg(not(target_arch = "x86_64"))]
    let bound = 4.0 * bound;
    println!("{name}: {instructions:.1} instructions per row, at most {bound}");
    assert!(instructions <= bound, "{name}: {instructions:.1} instructions per row, the bound is {bound}");
}

fn sweeps(kind: SolverKind, bound: f64) {
    let never = 1 << 30;
    let rows = packing().len() as f64;
    let each = (count(kind, MANY, never) - count(kind, FEW, never)) / ((MANY - FEW) as f64 * rows);
    hold(kind.name(), each, bound);
}

#[test]
fn pgs() {
    sweeps(SolverKind::Pgs, 192.0);
}

#[test]
fn symmetric_pgs() {
    sweeps(SolverKind::SymmetricPgs, 398.0);
}

#[test]
fn nncg() {
    sweeps(SolverKind::Nncg, 300.0);
}

#[test]
fn block_pgs() {
    sweeps(SolverKind::BlockPgs, 1100.0);
}

#[test]
fn jacobi() {
    sweeps(SolverKind::Jacobi, 320.0);
}

/// The exact velocities, the bounds there, the energy error and the copy of the best iterate.
#[test]
fn measuring() {
    let rows = packing().len() as f64;
    let each = |interval| count(SolverKind::Pgs, MANY, interval) - count(SolverKind::Pgs, FEW, interval);
    hold("measuring", (each(1) - each(1 << 30)) / ((MANY - FEW) as f64 * rows), 255.0);
}
