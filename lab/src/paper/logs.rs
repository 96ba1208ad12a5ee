//! `mlcp-lab paper logs`: forty logs piling up; Lemke, Fischer-Newton, interior point, and prox on the exact cone.

use super::convergence::{draw, last, reached, run_all, Method, Traces};
use super::section::{Context, Section};
use crate::scenes::pile::{Pile, Scatter, Stepper};
use mlcp::multibody::{Frame, FrameErrors};
use mlcp::{Error, SolverKind};
use nalgebra::{UnitQuaternion, Vector3};

const RADIUS: f64 = 0.1;
const HALF: f64 = 0.5;
const STEP: f64 = 0.01;

/// The polygon around the friction circle is the square of box friction: the first three solve one and the same law, as the
/// LCP of eq. 19 or, where a solver wants a symmetric A, with bounds that follow the normal impulses.
const METHODS: [Method; 4] = [
    Method::new("Lemke", SolverKind::Lemke, "circumscribed:4", 5000),
    Method::new("Fischer-Newton", SolverKind::FischerNewton, "circumscribed:4", 60),
    Method { until_best: true, ..Method::new("interior point", SolverKind::InteriorPoint, "box", 60) },
    Method { frictionless_start: true, ..Method::new("prox on the cone", SolverKind::ProxGs, "cone", 500) },
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
    let runs = run_all(context, &METHODS, &frames)?;
    let contacts = frames.iter().map(|f| f.contacts().gap.len()).max().unwrap_or(0);
    let setup = format!(
        "{count} logs of 10 kg, 0.2 m thick and 1.2 m long, fall in layers of five, each a little askew, onto a ground between \
         two walls; mu = 0.4, h = 10 ms, stepped by auto with box friction. Logs are cylinders with round ends: side by side \
         they touch at both ends of the length they share, crossed at one point. {steps} steps in a row from t = {from} s, \
         up to {contacts} contacts, are solved by each method from zero; prox starts from the impulses without friction, as \
         in the paper. Facets: the square around the friction circle, which is the same law as box friction, so that the \
         interior point method, which wants a symmetric A, solves the problem of the other two. Lemke's points between are \
         clamped, with w recomputed. No tolerance ends a run; the interior point method's ends with its best iterate.",
    );
    let source = "Lu et al. 2013, section 6.3, Figs. 11 to 14";
    let mut section = Section::new("Forty logs piling up", source, &setup);
    claim_lemke(&mut section, &runs[0].1, contacts);
    claim_newton(&mut section, &runs[1].1);
    claim_interior_point(&mut section, &runs[2].1, last(&runs[0].1, |e| e.friction()));
    claim_prox(&mut section, &runs[3].1, last(&runs[0].1, |e| e.friction()));
    draw(&mut section, "logs", "Logs piling up: three methods on facets, prox on the exact cone", &runs);
    Ok(section)
}

/// Where an error's mean stays below a level, in words.
fn when(traces: &Traces, level: f64) -> String {
    match reached(traces, |e| e.total, level) {
        Some(k) => format!("{level:.0e} from iteration {k}"),
        None => format!("{level:.0e} not reached"),
    }
}

fn claim_lemke(section: &mut Section, traces: &Traces, contacts: usize) {
    let (total, friction) = (last(traces, |e| e.total), last(traces, |e| e.friction()));
    let pivots: Vec<usize> = traces.iter().map(|t| t.len() - 1).collect();
    section.claim("Lemke: total error of order 1e-20 at the end", format!("mean {total:.1e}"), total < 1e-19);
    let (least, most) = (pivots.iter().min().unwrap_or(&0), pivots.iter().max().unwrap_or(&0));
    section.claim_or(
        "Lemke: complementary after about 92 pivots, not before",
        format!("after {least} to {most} pivots, not before"),
        (80..=105).contains(most),
        &format!(
            "Pivots grow with the problem: up to {contacts} contacts and {} unknowns; the paper gives no size.",
            6 * contacts
        ),
    );
    section.claim(
        "Lemke: the frictional error is large beside the total",
        format!("{friction:.1e} J against {total:.1e}"),
        friction > 1e6 * total,
    );
}

fn claim_newton(section: &mut Section, traces: &Traces) {
    let (total, level) = (|e: &FrameErrors| e.total, 1e-5);
    let at = reached(traces, total, level);
    section.claim("Fischer-Newton: 1e-5 in about 40 iterations", when(traces, level), at.is_some_and(|k| k <= 50));
    let end = reached(traces, total, 1e-20);
    let way = at.zip(end).map_or(usize::MAX, |(a, b)| b - a);
    section.claim_or(
        "Fischer-Newton: no quadratic convergence",
        format!("{}, {}", when(traces, level), when(traces, 1e-20)),
        way > 10,
        "Once its index sets are right the method here squares its error, as Newton's method should: the last fifteen decades \
         take a few iterations.",
    );
    let (normal, friction) = (last(traces, |e| e.normal), last(traces, |e| e.friction()));
    section.claim(
        "Fischer-Newton: the normal error is smaller than that of friction",
        format!("{normal:.1e} against {friction:.1e} J"),
        normal < friction,
    );
}

fn claim_interior_point(section: &mut Section, traces: &Traces, lemke: f64) {
    let (total, friction) = (last(traces, |e| e.total), last(traces, |e| e.friction()));
    section.claim(
        "interior point: 1e-15 in about 30 iterations",
        format!("{}; best {total:.1e}", when(traces, 1e-15)),
        reached(traces, |e| e.total, 1e-15).is_some_and(|k| k <= 40),
    );
    section.claim_or(
        "interior point: frictional error of order 1e-7",
        format!("{friction:.1e} J"),
        friction < 1e-6,
        &format!("It is the facets' error, not the method's: Lemke's solution of the same law has {lemke:.1e} J."),
    );
}

fn claim_prox(section: &mut Section, traces: &Traces, facets: f64) {
    let (total, friction) = (last(traces, |e| e.total), last(traces, |e| e.friction()));
    let from =
        reached(traces, |e| e.friction(), 1e-5).map_or("not reached".to_string(), |k| format!("from iteration {k}"));
    section.claim_or(
        "prox on the cone: frictional error of order 1e-5",
        format!("mean {friction:.1e} J after {} iterations, total {total:.1e}; 1e-5 J {from}", traces[0].len() - 1),
        friction < 3e-5,
        "The mean is that of the slowest step; sweeps go on lowering it. The paper does not say how many it made.",
    );
    section.claim(
        "prox on the cone: friction is more accurate than with the LCP",
        format!("{friction:.1e} J against {facets:.1e} J"),
        friction < 1e-2 * facets,
    );
}
