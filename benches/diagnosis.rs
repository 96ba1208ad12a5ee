//! What it costs to diagnose the bilateral rows of a net of hinged bodies, by size and form:
//! `cargo bench --bench diagnosis`.

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion};
use mlcp::mechanism::Diagnosis;
use mlcp::Problem;

#[path = "../tests/common/mod.rs"]
mod common;

use common::problems::csr_of;
use mlcp_scenes::rigid::net;

fn diagnosis(c: &mut Criterion) {
    let mut group = c.benchmark_group("diagnosis");
    group.sample_size(10);
    for side in [8, 16, 23] {
        let (net, mut jacobian) = (net(side), Problem::new());
        let rows = net.rows();
        jacobian.set_jacobian(&net.inverse_mass(), &rows.jacobian, &rows.bodies, None).expect("rows");
        for (form, problem) in [("csr", csr_of(&jacobian)), ("jacobian", jacobian)] {
            let mut diagnosis = Diagnosis::new();
            let found = diagnosis.run(&problem, None, 0.0).expect("diagnosis");
            println!("{form}: {} rows, rank {}, condition {:.1e}", found.rows, found.rank, found.condition);
            group.bench_function(BenchmarkId::new(form, problem.len()), |b| {
                b.iter(|| diagnosis.run(&problem, None, 0.0).expect("diagnosis").rank)
            });
        }
    }
    group.finish();
}

criterion_group!(benches, diagnosis);
criterion_main!(benches);
