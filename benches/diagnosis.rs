//! What it costs to diagnose the bilateral rows of a net of hinged bodies, by size and form:
//! `cargo bench --bench diagnosis`.

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion};
use mlcp::mechanism::Diagnosis;
use mlcp::Problem;

#[path = "../lab/src/rigid.rs"]
#[allow(dead_code)]
mod rigid;

use rigid::{Body, Kind, Mechanism, Vector};

/// A sheet of side by side bodies, each hinged to its right and lower neighbour, all axes upright: a planar scissor net
/// with a great many redundant rows.
fn net(side: usize) -> Mechanism {
    let mut net = Mechanism::default();
    for k in 0..side * side {
        let at = Vector::new((k % side) as f64, (k / side) as f64, 0.0);
        net.bodies.push(Body::at_rest(at, 1.0 + (k % 7) as f64, Vector::new(0.1, 0.2, 0.3)));
    }
    for k in 0..side * side {
        let at = net.bodies[k].position;
        if k % side + 1 < side {
            net.join(Kind::Hinge, [Some(k), Some(k + 1)], at + Vector::new(0.5, 0.1, 0.0), Vector::z());
        }
        if k / side + 1 < side {
            net.join(Kind::Hinge, [Some(k), Some(k + side)], at + Vector::new(-0.1, 0.5, 0.0), Vector::z());
        }
    }
    net
}

/// Jacobian, CSR.
fn forms(net: &Mechanism) -> [(&'static str, Problem); 2] {
    let rows = net.rows();
    let mut jacobian = Problem::new();
    jacobian.set_jacobian(&net.inverse_mass(), &rows.jacobian, &rows.bodies, None).expect("rows");
    let mut on_body = vec![Vec::new(); net.bodies.len()];
    for (k, &body) in rows.bodies.iter().enumerate() {
        on_body[body as usize].push(k / 2);
    }
    let mlcp::problem::Operator::Jacobian(operator) = jacobian.operator() else { unreachable!() };
    let (mut start, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..jacobian.len() {
        let mut near: Vec<usize> = (0..2).flat_map(|s| on_body[rows.bodies[2 * i + s] as usize].clone()).collect();
        near.sort_unstable();
        near.dedup();
        for j in near {
            columns.push(j as i32);
            values.push(operator.entry(i, j));
        }
        start.push(columns.len() as i32);
    }
    let mut csr = Problem::new();
    csr.set_csr(jacobian.len(), &start, &columns, &values).expect("matrix");
    [("jacobian", jacobian), ("csr", csr)]
}

fn diagnosis(c: &mut Criterion) {
    let mut group = c.benchmark_group("diagnosis");
    group.sample_size(10);
    for side in [8, 16, 23] {
        let net = net(side);
        for (form, problem) in forms(&net) {
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
