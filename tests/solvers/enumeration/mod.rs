//! The library against solutions found by enumeration, and its forms against each other and against plain loops.

mod forms;
mod friction;
mod matrices;
mod recorded;
mod solvers;

use mlcp::{Engine, Problem, Report, Settings, SolverKind};

/// A solver that goes as far as it can: no tolerance stops it early.
fn engine(kind: SolverKind) -> Engine {
    let settings = Settings {
        solver: kind,
        relative_tolerance: 1e-26,
        energy_tolerance: 0.0,
        max_iterations: if kind != SolverKind::Bpp { 20_000 } else { 0 },
        stall_window: if kind != SolverKind::Bpp { 200 } else { 0 },
        history_capacity: 0,
        ..Settings::default()
    };
    Engine::new(settings).unwrap()
}

fn solve(engine: &mut Engine, problem: &Problem) -> Report {
    *engine.solve(problem, None, None).unwrap()
}

/// What counts as a full-size energy of a problem, in joules: at its start, or that of its numbers. Residuals of a
/// backward stable solve are eps times the largest terms, and energies are their squares.
fn scale(problem: &Problem, report: &Report, x: &[f64]) -> f64 {
    let a = problem.diagonal();
    let kinetic: f64 = (0..a.len()).map(|i| 0.5 * problem.b()[i].powi(2) / a[i]).sum();
    let impulse: f64 = (0..a.len()).map(|i| 0.5 * a[i] * x[i] * x[i]).sum();
    report.energy_scale.max(kinetic).max(impulse)
}
