//! Solvers that factor on the body side learn the pattern of any contact graph: who touches whom, in whatever order.

use mlcp::{Engine, Outcome, Problem, Settings, SolverKind};

/// Random sparse graphs over many bodies, refilled on one engine.
#[test]
fn any_graph_can_be_factored() {
    for solver in [SolverKind::Bpp, SolverKind::InteriorPoint, SolverKind::ProxNewton] {
        let mut engine = Engine::new(Settings { solver, ..Settings::default() }).unwrap();
        let mut problem = Problem::new();
        for seed in 0..60u64 {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut random = move |below: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize % below
            };
            let count = 30 + random(30);
            let mut inverse_mass = vec![0.0; 12 * count];
            for body in inverse_mass.chunks_mut(12) {
                for d in [0, 1, 2, 3, 7, 11] {
                    body[d] = 1.0;
                }
            }
            // Pairs of bodies, some of them neighbours by number that share a third body, in random order of rows.
            let mut pairs = Vec::new();
            for k in 1..count {
                match random(3) {
                    0 => pairs.push([k, random(k)]),
                    1 => pairs.extend([[k - 1, count - 1], [k, count - 1]]),
                    _ => pairs.push([k, k - 1]),
                }
            }
            for k in (1..pairs.len()).rev() {
                pairs.swap(k, random(k + 1));
            }
            let (mut rows, mut bodies) = (Vec::new(), Vec::new());
            for [p, q] in pairs.into_iter().filter(|[p, q]| p != q) {
                for d in 0..6 {
                    let mut row = [0.0; 12];
                    row[d] = 1.0;
                    row[6 + d] = -1.0;
                    rows.extend(row);
                    bodies.extend([p as i32, q as i32]);
                }
            }
            let n = bodies.len() / 2;
            problem.set_jacobian(&inverse_mass, &rows, &bodies, Some(&vec![1e-3; n])).unwrap();
            problem.set_b(&(0..n).map(|_| random(1000) as f64 / 500.0 - 1.0).collect::<Vec<_>>()).unwrap();
            let report = engine.solve(&problem, None, None).unwrap_or_else(|e| panic!("{solver:?} seed {seed}: {e}"));
            assert_eq!(report.outcome, Outcome::Converged, "{solver:?} seed {seed}");
        }
    }
}
