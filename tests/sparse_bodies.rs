//! Many bodies, each touching few: the sparse body blocks must hold every pair that shares a row, however the bodies are
//! numbered.

mod common;

use common::rows::Options;
use common::{Form, Random, RowProblem};
use mlcp::{Engine, Settings, SolverKind};

/// Random rows, but between bodies that are near each other on a line and numbered in no order.
fn scattered_line(seed: u64) -> RowProblem {
    let mut random = Random::new(seed);
    let (bodies, rows) = (20 + random.below(40), 80 + random.below(80));
    let options = Options { bodies, rows, compliance: true, immovable: false, repeated: false, ..Options::default() };
    let mut scene = RowProblem::random(seed, options);
    let mut name: Vec<i32> = (0..bodies as i32).collect();
    for k in (1..bodies).rev() {
        name.swap(k, random.below(k + 1));
    }
    for pair in scene.bodies.chunks_exact_mut(2) {
        let (first, step) = (random.below(bodies), 1 + random.below(2));
        let second = name.get(first + step).copied().unwrap_or(-1);
        pair.copy_from_slice(&[name[first], second]);
    }
    scene
}

#[test]
fn any_numbering_of_bodies_is_solved() {
    for seed in 0..100 {
        let problem = scattered_line(seed).fill(Form::Jacobian, None);
        for solver in [SolverKind::Bpp, SolverKind::ProxNewton, SolverKind::InteriorPoint] {
            let mut engine = Engine::new(Settings { solver, ..Settings::default() }).unwrap();
            let report = *engine.solve(&problem, None, None).unwrap();
            let relative = report.energy_error / report.energy_scale;
            assert!(relative <= 1e-9, "seed {seed}, {solver:?}: {relative}");
        }
    }
}
