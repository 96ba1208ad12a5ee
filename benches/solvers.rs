//! Cost of a PGS sweep per row in the three forms, and of a cold BPP solve by size: `cargo bench --bench solvers`.

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use mlcp::{Engine, Problem, Settings, SolverKind};

#[path = "../tests/common/mod.rs"]
mod common;

use common::corpus::{self, Form, Friction};
use common::{scenes, Fill};

/// A hundred sweeps of the 564-row wall; throughput is in row visits.
fn pgs_sweep(c: &mut Criterion) {
    const SWEEPS: usize = 100;
    let recorded = corpus::load().into_iter().find(|p| p.name == "ode_wall12_s200_i0_n564").expect("in the corpus");
    let mut group = c.benchmark_group("pgs_sweep");
    group.throughput(Throughput::Elements((SWEEPS * recorded.n) as u64));
    for form in Form::ALL {
        let problem = recorded.fill(form, Friction::Coupled);
        let mut engine = engine(SolverKind::Pgs, SWEEPS);
        group.bench_function(format!("{form:?}"), |b| {
            b.iter(|| engine.solve(&problem, None, None).expect("solved").energy_error)
        });
    }
    group.finish();
}

/// Cold solves to a relative energy error of 1e-10, friction frozen: the recorded problems, then walls of bricks.
fn bpp_solve(c: &mut Criterion) {
    let mut group = c.benchmark_group("bpp_solve");
    for name in [
        "bullet_box1_s003_i0_n12",
        "ode_buggy_s060_i0_n72",
        "bullet_chain20_m100_s090_i0_n100",
        "ode_wall12_s200_i0_n564",
    ] {
        let recorded = corpus::load().into_iter().find(|p| p.name == name).expect("in the corpus");
        let problem = recorded.fill(Form::Jacobian, Friction::FrozenAtReference);
        solve(&mut group, name, &problem);
    }
    for (width, height) in [(5, 10), (10, 20), (40, 25)] {
        let scene = scenes::wall(width, height, 0.0);
        let mut problem = Problem::new();
        scene.fill_frozen(&mut problem, &vec![3.0; scene.rows()]);
        solve(&mut group, &format!("wall_{}", scene.rows()), &problem);
    }
    group.finish();
}

fn solve<M: criterion::measurement::Measurement>(
    group: &mut criterion::BenchmarkGroup<'_, M>,
    name: &str,
    problem: &Problem,
) {
    let mut engine = engine(SolverKind::Bpp, 0);
    group.sample_size(10);
    group.throughput(Throughput::Elements(problem.len() as u64));
    group.bench_with_input(BenchmarkId::from_parameter(name), problem, |b, problem| {
        b.iter(|| engine.solve(problem, None, None).expect("solved").energy_error)
    });
}

fn engine(solver: SolverKind, max_iterations: usize) -> Engine {
    Engine::new(Settings { solver, max_iterations, history_capacity: 0, ..Settings::default() })
        .expect("legal settings")
}

criterion_group!(benches, pgs_sweep, bpp_solve);
criterion_main!(benches);
