//! `mlcp-lab paper logs`: forty logs piling up; Lemke, Fischer-Newton, interior point, and prox on the exact cone.

use super::convergence::{draw, last, Method, Traces};
use super::pile::{Pile, Stepper};
use super::section::{Context, Section};
use super::spheres::Scatter;
use mlcp::multibody::Frame;
use mlcp::{Error, SolverKind};
use nalgebra::{UnitQuaternion, Vector3};

const RADIUS: f64 = 0.1;
const HALF: f64 = 0.5;
const STEP: f64 = 0.01;

const fn method(name: &'static str, solver: SolverKind, formulation: &'static str, iterations: usize) -> Method {
    Method { name, solver, formulation, cfm: 0.0, iterations, frictionless_start: false }
}

const METHODS: [Method; 4] = [
    method("Lemke", SolverKind::Lemke, "circumscribed:4", 5000),
    method("Fischer-Newton", SolverKind::FischerNewton, "circumscribed:4", 60),
    method("interior point", SolverKind::InteriorPoint, "box", 60),
    Method { frictionless_start: true, ..method("prox on the cone", SolverKind::ProxGs, "cone", 200) },
];

/// Logs in layers of five, each a little askew, above a ground between two walls.
fn scene(count: usize) -> Pile {
    let x = Vector3::x();
    let walls = vec![(Vector3::z(), 0.0), (x, -0.9), (-x, -0.9)];
    let mut pile = Pile::new(RADIUS, HALF, 10.0, 0.4, STEP, walls);
    let mut scatter = Scatter(40);
    for k in 0..count {
        let (column, layer) = (k % 5, k / 5);
        let place = Vector3::new(
            0.32 * (column as f64 - 2.0) + 0.05 * scatter.next(),
            0.05 * scatter.next(),
            0.3 + 0.35 * layer as f64 + 0.03 * scatter.next(),
        );
        pile.add(place, UnitQuaternion::from_scaled_axis(Vector3::z() * (0.05 * scatter.next())));
    }
    pile
}

/// Steps in a row from time `from`.
fn frames(count: usize, steps: usize, from: f64) -> Result<Vec<Frame>, Error> {
    let (mut pile, mut stepper) = (scene(count), Stepper::new()?);
    let mut frames = Vec::new();
    while frames.len() < steps {
        let frame = pile.frame()?;
        if pile.time() >= from {
            frames.push(frame.clone());
        }
        pile.advance(&frame, &mut stepper)?;
    }
    Ok(frames)
}

/// Run it.
pub fn run(context: &Context) -> Result<Section, String> {
    let (count, steps, from) = if context.short { (8, 2, 0.3) } else { (40, 5, 0.4) };
    let frames = frames(count, steps, from).map_err(|e| e.to_string())?;
    let bar = context.progress(frames.len() * METHODS.len());
    let mut runs = Vec::new();
    for method in &METHODS {
        let mut traces = Traces::new();
        let t = std::time::Instant::now();
        for frame in &frames {
            traces.push(method.trace(frame).map_err(|e| e.to_string())?);
            bar.inc(1);
        }
        eprintln!("{} {:?} contacts {}", method.name, t.elapsed(), frames[0].contacts().gap.len());
        runs.push((method, traces));
    }
    bar.finish_and_clear();
    let mut section = Section::new("Forty logs", "Lu et al. 2013, section 6.3, Figs. 11 to 14", "");
    let total = last(&runs[0].1, |e| e.total);
    section.claim("Lemke", format!("mean {total:.1e}"), total < 1e-9);
    draw(&mut section, "logs", "Forty logs piling up", &runs);
    Ok(section)
}
