//! Cost of each measure per row: `cargo bench --bench measures`. Throughput is in rows.

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use mlcp::metrics::{Measure, Point};
use std::hint::black_box;

#[path = "../tests/common/mod.rs"]
mod common;

use common::corpus::{self, Form, Friction};

fn measures(c: &mut Criterion) {
    let recorded = corpus::load().into_iter().find(|p| p.name == "ode_wall12_s200_i0_n564").expect("in the corpus");
    let problem = recorded.fill(Form::Csr, Friction::FrozenAtReference);
    let n = problem.len();
    let x: Vec<f64> = recorded.x_ref.iter().map(|v| 0.9 * v).collect();
    let (mut w, mut lo, mut hi) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    problem.multiply(&x, &mut w, &mut Vec::new()).expect("a product");
    problem.bounds_at(&x, &mut lo, &mut hi);
    let at = Point { diagonal: problem.diagonal(), x: &x, w: &w, lo: &lo, hi: &hi, cones: problem.cones() };
    let mut group = c.benchmark_group("measure");
    group.throughput(Throughput::Elements(n as u64));
    // The exact mass is the same formula on another diagonal.
    for measure in Measure::ALL.into_iter().filter(|&m| m != Measure::EnergyExactMass) {
        group.bench_function(format!("{measure:?}"), |b| b.iter(|| measure.total(black_box(&at))));
    }
    group.finish();
}

criterion_group!(benches, measures);
criterion_main!(benches);
