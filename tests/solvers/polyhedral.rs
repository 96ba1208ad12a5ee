//! The polyhedral-friction LCP of Lu et al. 2013, eq. 19, made from recorded contacts: Lemke solves every one that is
//! small, and the square polygon gives back the box friction it was made from.

use crate::common::corpus::{self, CorpusProblem, Form, Friction};
use mlcp::multibody::{Polygon, Polyhedral};
use mlcp::{Engine, Measure, Problem, Settings, SolverKind};

/// Rows up to which Lemke must solve everything.
const SMALL: usize = 60;

/// Natural residual that counts as solved.
const TOLERANCE: f64 = 1e-8;

fn lemke() -> Engine {
    let settings = Settings { solver: SolverKind::Lemke, residual_tolerance: 1e-10, ..Settings::default() };
    Engine::new(settings).unwrap()
}

/// The polyhedral LCPs with at most `SMALL` rows.
fn small(polygon: Polygon) -> Vec<(CorpusProblem, Problem, Polyhedral, Problem)> {
    let mut found = Vec::new();
    for p in corpus::load() {
        let source = p.fill(Form::Csr, Friction::Coupled);
        let (mut map, mut lcp) = (Polyhedral::default(), Problem::new());
        // Infinite friction is refused; those walls are far larger anyway.
        if map.fill(&source, polygon, &mut lcp).is_ok() && map.contacts() > 0 && lcp.len() <= SMALL {
            found.push((p, source, map, lcp));
        }
    }
    found
}

/// Natural residual of `x`, with friction bounds at that x.
fn natural(problem: &Problem, x: &[f64]) -> f64 {
    let n = problem.len();
    let (mut w, mut lo, mut hi) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    problem.multiply(x, &mut w, &mut Vec::new()).unwrap();
    problem.bounds_at(x, &mut lo, &mut hi);
    (0..n).map(|i| Measure::Natural.row(1.0, x[i], w[i], lo[i], hi[i])).sum()
}

#[test]
fn lemke_solves_every_small_polyhedral_problem() {
    for facets in [4, 8] {
        let problems = small(Polygon::Inscribed(facets));
        // Four facets: two boxes, six islands of piles and more; eight: fewer fit into 60 rows.
        assert!(problems.len() >= if facets == 4 { 10 } else { 3 }, "{} with {facets}", problems.len());
        let mut failed = Vec::new();
        for (p, _, _, lcp) in &problems {
            assert!(!lcp.is_symmetric() && !lcp.has_energy());
            let mut engine = lemke();
            let report = *engine.solve(lcp, None, None).unwrap();
            let found = natural(lcp, engine.x());
            println!(
                "{} n_d {facets}: {} rows, {} pivots, {:?}, natural {found:.1e}",
                p.name,
                lcp.len(),
                report.iterations,
                report.outcome
            );
            if found.is_nan() || found > TOLERANCE {
                failed.push(format!("{} {:?} {found:.1e}", p.name, report.outcome));
            }
        }
        assert!(failed.is_empty(), "n_d = {facets}:\n{}", failed.join("\n"));
    }
}

/// With the same axes, the diamond of four inscribed facets differs from the box; but the four circumscribed ones *are*
/// the box |x_i| <= mu x_n, so T z must solve the coupled problem that the LCP was made from.
#[test]
fn four_circumscribed_facets_are_the_box() {
    let problems = small(Polygon::Circumscribed(4));
    assert!(problems.len() >= 10);
    for (p, source, map, lcp) in &problems {
        let mut engine = lemke();
        engine.solve(lcp, None, None).unwrap();
        let mut x = vec![0.0; p.n];
        map.to_rows(engine.x(), &mut x).unwrap();
        let found = natural(source, &x);
        println!("{}: natural of the LCP {:.1e}, of the box {found:.1e}", p.name, natural(lcp, engine.x()));
        assert!(found <= TOLERANCE, "{}: {found:.1e}", p.name);
        same_velocities(p, &x);
    }
}

/// Coupled friction is no monotone problem: bullet_pile24_s140_i1_n12 has two solutions whose velocities are 1.7e-5 m/s
/// apart, both exact to 1e-15. But with the bounds frozen at the normals of x it is a convex one, whose body velocities
/// are unique although redundant contacts share their load in many ways; another solver must find them.
fn same_velocities(p: &CorpusProblem, x: &[f64]) {
    if p.jacobian.is_none() {
        return;
    }
    let frozen = CorpusProblem { x_ref: x.to_vec(), ..p.clone() }.fill(Form::Jacobian, Friction::FrozenAtReference);
    // An energy error of 1e-10 would leave its root in the velocities.
    let exact = Settings { relative_tolerance: 1e-22, energy_tolerance: 0.0, ..Settings::default() };
    let mut engine = Engine::new(exact).unwrap();
    engine.solve(&frozen, None, None).unwrap();
    let change = |x: &[f64]| {
        let mut out = vec![0.0; 6 * frozen.bodies()];
        frozen.velocity_change(x, &mut out, &mut Vec::new()).unwrap();
        out
    };
    let (lemke, bpp) = (change(x), change(engine.x()));
    let largest = bpp.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let apart = lemke.iter().zip(&bpp).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
    println!("{}: velocity changes up to {largest:.1e}, apart {apart:.1e}", p.name);
    assert!(apart <= 1e-8 * (1.0 + largest), "{}: {apart:.1e}", p.name);
}
