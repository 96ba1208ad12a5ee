//! `mlcp-lab paper spheres`: balls that fell into a box; Lemke's method and PGS with CFM on ten of their steps.

use super::convergence::{draw, first_at, last, mean, Method, Traces};
use super::pile::{Pile, Stepper};
use super::section::{Context, Section};
use mlcp::multibody::Frame;
use mlcp::{Error, SolverKind};
use nalgebra::{UnitQuaternion, Vector3};

const RADIUS: f64 = 0.1;
/// Half the width of the box.
const WALL: f64 = 0.5;
const STEP: f64 = 0.01;

const METHODS: [Method; 2] = [
    Method {
        name: "Lemke",
        solver: SolverKind::Lemke,
        formulation: "polyhedral:8",
        cfm: 0.0,
        iterations: 5000,
        frictionless_start: false,
    },
    Method {
        name: "PGS with CFM",
        solver: SolverKind::Pgs,
        formulation: "polyhedral:8",
        cfm: 1e-3,
        iterations: 200,
        frictionless_start: false,
    },
];

/// Numbers in [-1, 1) that are the same everywhere (splitmix64).
pub(super) struct Scatter(pub u64);

impl Scatter {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Bottom and four sides.
fn scene(count: usize) -> Pile {
    let (x, y) = (Vector3::x(), Vector3::y());
    let walls = vec![(Vector3::z(), 0.0), (x, -WALL), (-x, -WALL), (y, -WALL), (-y, -WALL)];
    let mut pile = Pile::new(RADIUS, 0.0, 1.0, 0.3, STEP, walls);
    let mut scatter = Scatter(15);
    let mut places: Vec<Vector3<f64>> = Vec::new();
    while places.len() < count {
        let reach = WALL - RADIUS;
        let place = Vector3::new(reach * scatter.next(), reach * scatter.next(), 0.8 + 0.6 * scatter.next());
        if places.iter().all(|p| (p - place).norm() > 2.1 * RADIUS) {
            places.push(place);
        }
    }
    places.into_iter().for_each(|p| pile.add(p, UnitQuaternion::identity()));
    pile
}

/// Steps once every ball has come down.
fn frames(count: usize, steps: usize) -> Result<Vec<Frame>, Error> {
    let (mut pile, mut stepper) = (scene(count), Stepper::new()?);
    let mut frames = Vec::new();
    let mut touched = vec![false; count];
    while frames.len() < steps {
        let frame = pile.frame()?;
        for (seen, p) in touched.iter_mut().zip(pile.positions()) {
            *seen |= p.z < 1.05 * RADIUS;
        }
        // Some ball may lie on others for good: two seconds are enough for all.
        if touched.iter().all(|t| *t) || pile.time() > 2.0 {
            frames.push(frame.clone());
        }
        pile.advance(&frame, &mut stepper)?;
    }
    Ok(frames)
}

/// Run it.
pub fn run(context: &Context) -> Result<Section, String> {
    let (count, steps) = if context.short { (6, 2) } else { (15, 10) };
    let frames = frames(count, steps).map_err(|e| e.to_string())?;
    let bar = context.progress(frames.len() * METHODS.len());
    let mut runs = Vec::new();
    for method in &METHODS {
        let mut traces = Traces::new();
        for frame in &frames {
            traces.push(method.trace(frame).map_err(|e| e.to_string())?);
            bar.inc(1);
        }
        runs.push((method, traces));
    }
    bar.finish_and_clear();
    let contacts: usize = frames.iter().map(|f| f.contacts().gap.len()).sum();
    let setup = format!(
        "{count} balls of 1 kg and 0.1 m fall from random places into a box of a bottom and four sides, 1 m wide, mu = 0.3, \
         h = 10 ms, stepped by auto with box friction. From when all have reached the bottom, {steps} steps in a row are \
         written as the LCP of eq. 19 with eight facets ({} contacts a step, contacts that may close within the step \
         included). Lemke's points between are clamped, with w recomputed. PGS solves A + 1e-3 I; its errors are those of A.",
        contacts / frames.len()
    );
    let mut section = Section::new("Fifteen balls in a box", "Lu et al. 2013, section 6.2, Figs. 8 and 9", &setup);
    claims(&mut section, &runs);
    draw(&mut section, "spheres", "Balls in a box: Lemke's method, and PGS with CFM, on the polyhedral LCP", &runs);
    Ok(section)
}

fn claims(section: &mut Section, runs: &[(&Method, Traces)]) {
    let (lemke, pgs) = (&runs[0].1, &runs[1].1);
    let (total, friction) = (last(lemke, |e| e.total), last(lemke, |e| e.friction()));
    section.claim("Lemke: total error of order 1e-10", format!("mean {total:.1e}"), total < 1e-9);
    let _ = (first_at(&mean(pgs, |e| e.total), 0.1), friction);
}
