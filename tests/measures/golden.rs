//! Numbers from the paper: the point mass of Fig. 5 and the rod of section 5.1 (Enzenhoefer et al. 2019).

use super::{total, At};
use crate::common::problems::{ROD_A, ROD_B, ROD_X};
use mlcp::metrics::{exact_diagonal, ExactMassWorkspace};
use mlcp::{Engine, Measure, Problem, Settings, Triangle};

const LO: [f64; 2] = [0.0; 2];
const HI: [f64; 2] = [f64::INFINITY; 2];
const DIAGONAL: [f64; 2] = [1.0; 2];

/// The paper's pair drops the coupling: w1 is b1.
const PUBLISHED: ([f64; 2], [f64; 2]) = ([0.0, -0.1019], [-0.2981, 0.0]);

fn rod() -> Problem {
    let mut problem = Problem::new();
    problem.set_dense(2, &ROD_A, 2, Triangle::Full).unwrap();
    problem.set_b(&ROD_B).unwrap();
    problem.set_bounds(&LO, &HI).unwrap();
    problem
}

fn exact_masses() -> Vec<f64> {
    let mut out = vec![0.0; 2];
    exact_diagonal(&rod(), &mut ExactMassWorkspace::default(), &mut out).unwrap();
    out
}

/// As many digits as the paper prints.
fn prints_as(value: f64, printed: &str) {
    assert_eq!(format!("{value:.2e}"), printed);
}

#[test]
fn point_mass() {
    let (m, h) = (2.0, 0.01);
    let a = 1.0 / m;
    let at = |x: f64, force: f64| At { a, x, w: a * x + h * force / m, lo: 0.0, hi: f64::INFINITY };
    // a: pressed down, held by the contact. b: pressed down, let through.
    let (held, through) = (at(h * 30.0, -30.0), at(0.0, -30.0));
    assert_eq!(held.w, 0.0);
    assert_eq!(held.error(Measure::Energy), 0.0);
    let kinetic = 0.5 * m * through.w * through.w;
    assert!((through.error(Measure::Energy) - kinetic).abs() <= 1e-15 * kinetic);
    // c: pulled up, held by an adhesive impulse. d: pulled up, let go.
    let (glued, free) = (at(-h * 30.0, 30.0), at(0.0, 30.0));
    assert_eq!(glued.w, 0.0);
    assert_eq!(glued.error(Measure::Energy), 0.5 * a * glued.x * glued.x);
    assert!(free.w > 0.0);
    assert_eq!(free.error(Measure::Energy), 0.0);
}

#[test]
fn rod_published_pair() {
    let (x, w) = PUBLISHED;
    prints_as(At { a: 1.0, x: x[0], w: w[0], lo: 0.0, hi: HI[0] }.error(Measure::Energy), "4.44e-2");
    prints_as(At { a: 1.0, x: x[1], w: w[1], lo: 0.0, hi: HI[1] }.error(Measure::Energy), "5.19e-3");
    prints_as(total(Measure::Energy, &DIAGONAL, &x, &w, &LO, &HI), "4.96e-2");
    // Printed as 5.91e-2 + 3.9e-3 = 6.30e-2, from rounded masses.
    prints_as(total(Measure::EnergyExactMass, &exact_masses(), &x, &w, &LO, &HI), "6.31e-2");
    for measure in [Measure::FischerBurmeister, Measure::Natural] {
        // |w1| + |x2| for the natural residual; the Fischer-Burmeister function of x2 < 0 is 2 |x2|, which the paper
        // counts once.
        let counted = if measure == Measure::Natural { 1.0 } else { 2.0 };
        let value = total(measure, &DIAGONAL, &x, &w, &LO, &HI);
        assert!((value - (0.2981 + counted * 0.1019)).abs() < 1e-15, "{measure:?} {value}");
    }
}

#[test]
fn rod_exact_masses() {
    // (A⁻¹)_ii = 4/3 kg.
    for m in exact_masses() {
        assert!((m - 0.75).abs() < 1e-15, "{m}");
    }
}

#[test]
fn rod_true_pair() {
    let problem = rod();
    let x = PUBLISHED.0;
    let mut w = [0.0; 2];
    problem.multiply(&x, &mut w, &mut Vec::new()).unwrap();
    assert!((w[0] + 0.24715).abs() < 1e-15 && w[1].abs() < 1e-15, "{w:?}");
    let energy = total(Measure::Energy, problem.diagonal(), &x, &w, &LO, &HI);
    assert_eq!(format!("{energy:.3e}"), "3.573e-2");
}

#[test]
fn rod_solution() {
    let problem = rod();
    let mut engine = Engine::new(Settings::default()).unwrap();
    let report = *engine.solve(&problem, None, None).unwrap();
    assert_eq!(report.outcome, mlcp::Outcome::Converged);
    for i in 0..2 {
        assert!((engine.x()[i] - ROD_X[i]).abs() < 1e-14, "{:?}", engine.x());
        assert!(engine.w()[i].abs() < 1e-14, "{:?}", engine.w());
    }
    assert_eq!(format!("{:.6} {:.6}", ROD_X[0], ROD_X[1]), "0.329533 0.062867");
}
