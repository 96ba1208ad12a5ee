//! `mlcp-lab paper rod`: every number of the rod on two contacts (Enzenhöfer et al., section 5.1), and its errata.

use super::brick_wall::MEASURES;
use super::section::{Context, Section};
use crate::plot::Chart;
use mlcp::metrics::{exact_diagonal, ExactMassWorkspace, Point};
use mlcp::problem::Cones;
use mlcp::{Engine, Measure, Problem, Settings};
use std::fmt::Write;

const MASS: f64 = 4.0;
const LENGTH: f64 = 1.5;
const TORQUE: f64 = 20.0;
const GRAVITY: f64 = 9.81;
const H: f64 = 0.01;

/// Eq. 25 as Jacobian rows.
fn problem() -> mlcp::Result<Problem> {
    let (inertia, thin) = (MASS * LENGTH * LENGTH / 12.0, 1e-3);
    let mut inverse_mass = vec![1.0 / MASS; 3];
    inverse_mass.extend([1.0 / inertia, 0.0, 0.0, 0.0, 1.0 / thin, 0.0, 0.0, 0.0, 1.0 / inertia]);
    let mut rows = vec![0.0; 24];
    for (k, side) in [-0.5, 0.5].into_iter().enumerate() {
        (rows[12 * k + 2], rows[12 * k + 3]) = (1.0, side * LENGTH);
    }
    let mut problem = Problem::new();
    problem.set_jacobian(&inverse_mass, &rows, &[0, -1, 0, -1], None)?;
    problem.set_motion(H, &[0.0; 6], Some(&[0.0, 0.0, -MASS * GRAVITY, TORQUE, 0.0, 0.0]), None)?;
    problem.set_bounds(&[0.0; 2], &[f64::INFINITY; 2])?;
    Ok(problem)
}

/// Errors of both rows under a measure; `diagonal` is that of A or its stand-in by the exact mass.
fn errors(measure: Measure, diagonal: &[f64], x: [f64; 2], w: [f64; 2]) -> [f64; 2] {
    let (lo, hi) = ([0.0; 2], [f64::INFINITY; 2]);
    let mut rows = [0.0; 2];
    Point { diagonal, x: &x, w: &w, lo: &lo, hi: &hi, cones: Cones::NONE }.rows(measure, &mut rows);
    rows
}

/// Do two numbers agree in as many digits as the paper prints?
fn agree(value: f64, printed: f64, half_unit: f64) -> bool {
    (value - printed).abs() <= half_unit * (1.0 + 1e-9)
}

/// Run it.
pub fn run(_: &Context) -> Result<Section, String> {
    experiment().map_err(|e| e.to_string())
}

fn experiment() -> mlcp::Result<Section> {
    let mut section = Section::new(
        "A rod on two contacts",
        "Enzenhöfer et al. 2019, §5.1",
        "4 kg, 1.5 m, 20 N m about its middle, h = 0.01 s: two rows from eq. 25, the first guess x1 = 0, w2 = 0 of a \
         pivoting method, its error under each measure and with both effective masses.",
    );
    let problem = problem()?;
    let (a, b) = (problem.diagonal().to_vec(), problem.b().to_vec());
    let coupling = problem.operator().entry(0, 1);
    let measured = format!("a11 = {:.4}, a22 = {:.4}, a12 = {coupling:.4} kg⁻¹", a[0], a[1]);
    let reason = "A misprint: eq. 26 itself has 4/m, which is 1.0 with m = 4 kg, and all its results use 1.0.";
    section.claim_or("A has 0.1 on its diagonal and -0.5 beside it (eq. 26)", measured, agree(a[0], 0.1, 0.05), reason);
    let measured = format!("b = ({:.4}, {:.4}) m/s", b[0], b[1]);
    section.claim("b = (-0.2981, 0.1019) m/s", measured, agree(b[0], -0.2981, 5e-5) && agree(b[1], 0.1019, 5e-5));
    // x1 = 0 and w2 = 0.
    let x = [0.0, -b[1] / a[1]];
    let w = [coupling * x[1] + b[0], 0.0];
    section.claim("the first guess has x2 = -0.1019 N s", format!("{:.4} N s", x[1]), agree(x[1], -0.1019, 5e-5));
    let reason = "The paper drops the coupling: w1 = a12 x2 + b1, not b1. Its errors below belong to its own pair.";
    section.claim_or("and w1 = -0.2981 m/s", format!("w1 = {:.5} m/s", w[0]), agree(w[0], -0.2981, 5e-5), reason);
    let mut exact = vec![0.0; 2];
    exact_diagonal(&problem, &mut ExactMassWorkspace::default(), &mut exact)?;
    let mut csv = String::from("pair,measure,row_1,row_2,sum\n");
    let pairs = [("published", [0.0, -0.1019], [-0.2981, 0.0]), ("true", x, w)];
    for (name, x, w) in pairs {
        for (label, measure, diagonal) in [
            ("energy", Measure::Energy, &a),
            ("energy, exact mass", Measure::EnergyExactMass, &exact),
            ("Fischer-Burmeister", Measure::FischerBurmeister, &a),
            ("natural", Measure::Natural, &a),
        ] {
            let [first, second] = errors(measure, diagonal, x, w);
            let _ = writeln!(csv, "{name},\"{label}\",{first:.6e},{second:.6e},{:.6e}", first + second);
        }
    }
    published(&mut section, &a, &exact);
    let [first, second] = errors(Measure::Energy, &a, x, w);
    let measured = format!("{:.3e} + {:.3e} = {:.3e} J", first, second, first + second);
    let says = "(not in the paper) the energy error of the true pair x = (0, -0.1019), w = A x + b";
    section.claim(says, measured, agree(first + second, 3.573e-2, 5e-6));
    preference(&mut section, &a, &b, x, w);
    let mut engine = Engine::new(Settings::default())?;
    let error = engine.solve(&problem, None, None)?.energy_error;
    let x = engine.x();
    let measured = format!("x = ({:.6}, {:.6}) N s, w = 0, error {error:.1e} J", x[0], x[1]);
    // 2 x 2 by Cramer's rule.
    let det = a[0] * a[1] - coupling * coupling;
    let want = [(coupling * b[1] - a[1] * b[0]) / det, (coupling * b[0] - a[0] * b[1]) / det];
    let holds = (x[0] - want[0]).abs() < 1e-12 && (x[1] - want[1]).abs() < 1e-12;
    section.claim("(not in the paper) the solution: both contacts hold", measured, holds);
    let _ = writeln!(csv, "solution,energy,0,0,{error:e}");
    section.table("rod", csv);
    Ok(section)
}

/// Is the guess better than no impulse at all? By the unit of velocity, impulses in N s throughout.
fn preference(section: &mut Section, a: &[f64], b: &[f64], x: [f64; 2], w: [f64; 2]) {
    let ratio = |measure: Measure, unit: f64| {
        let diagonal = [a[0] * unit, a[1] * unit];
        let sum = |x: [f64; 2], w: [f64; 2]| -> f64 { errors(measure, &diagonal, x, w.map(|w| w * unit)).iter().sum() };
        sum(x, w) / sum([0.0; 2], [b[0], b[1]])
    };
    let curve = |(measure, name, _): (Measure, &str, &str)| {
        let units = (0..=60).map(|k| 10f64.powf(f64::from(k) / 20.0));
        (name.to_string(), units.map(|u| (u, ratio(measure, u))).collect())
    };
    let [fb, natural, energy] = MEASURES.map(|(m, ..)| [ratio(m, 1.0), ratio(m, 1000.0)]);
    section.claim(
        "(not in the paper) whether the guess is better than no impulse depends on the unit, but not by energy",
        format!(
            "error of the guess / error of none, in m/s and in mm/s: Fischer-Burmeister {:.2} and {:.2}, natural {:.2} and {:.2}, \
             energy {:.2} and {:.2}",
            fb[0], fb[1], natural[0], natural[1], energy[0], energy[1]
        ),
        fb[0] > 1.0 && fb[1] < 1.0 && natural[0] > 1.0 && natural[1] < 1.0 && (energy[0] - energy[1]).abs() < 1e-12,
    );
    let chart = Chart {
        title: "below 1 the guess is preferred",
        x_title: "units of velocity in 1 m/s (1000: mm/s)",
        y_title: "error of the guess / error of none",
        x_log: true,
        curves: MEASURES.map(curve).to_vec(),
        backdrop: vec![vec![(1.0, 1.0), (1000.0, 1.0)]],
        ..Chart::default()
    };
    let caption = "x = (0, -0.1019) N s against x = (0, 0): two measures change their mind with the unit.";
    section.figure("rod", "Which of two iterates is better?", caption, &[chart]);
}

/// The printed errors, for the printed pair.
fn published(section: &mut Section, a: &[f64], exact: &[f64]) {
    let (x, w) = ([0.0, -0.1019], [-0.2981, 0.0]);
    for (measure, name) in [(Measure::FischerBurmeister, "Fischer-Burmeister"), (Measure::Natural, "natural residual")]
    {
        let [first, second] = errors(measure, a, x, w);
        let measured = format!("{first:.4} + {second:.4} = {:.4}", first + second);
        let says = format!("{name}: 0.2981 m/s + 0.1019 N s, a sum without meaning");
        let reason = "By the paper's own eq. 5 an impulse below its bound with w = 0 has the error 2 |x2|, not |x2|.";
        section.claim_or(&says, measured, agree(first + second, 0.4, 5e-5), reason);
    }
    let [first, second] = errors(Measure::Energy, a, x, w);
    let holds = agree(first, 4.44e-2, 5e-5) && agree(second, 5.2e-3, 5e-5) && agree(first + second, 4.96e-2, 5e-5);
    let measured = format!("{first:.3e} + {second:.3e} = {:.3e} J", first + second);
    section.claim("energy: 4.44e-2 + 5.2e-3 = 4.96e-2 J", measured, holds);
    let measured = format!("{:.4} and {:.4} kg", 1.0 / exact[0], 1.0 / exact[1]);
    let holds = exact.iter().all(|e| agree(1.0 / e, 1.33, 5e-3)) && 1.0 / exact[0] >= 1.0 / a[0];
    section.claim("exact effective masses 1.33 kg, above the approximate 1 kg", measured, holds);
    let [first, second] = errors(Measure::EnergyExactMass, exact, x, w);
    let measured = format!("{first:.3e} + {second:.3e} = {:.3e} J", first + second);
    let holds = agree(first, 5.91e-2, 5e-5) && agree(second, 3.9e-3, 5e-5) && agree(first + second, 6.3e-2, 5e-5);
    let [first, second] = errors(Measure::EnergyExactMass, &[1.0 / 1.33; 2], x, w);
    let sum = first + second;
    let reason =
        format!("Rounding: with 1.33 kg, as printed, in place of 4/3 kg: {first:.3e} + {second:.3e} = {sum:.3e} J.");
    section.claim_or("with exact masses: 5.91e-2 + 3.9e-3 = 6.30e-2 J", measured, holds, &reason);
}
