//! `mlcp-lab paper spheres`: balls that fell into a box; Lemke's method and PGS with CFM on ten of their steps.

use super::convergence::{draw, last, mean, run_all, Method, Traces};
use super::section::{Context, Section};
use crate::scenes::pile::{Pile, Scatter, Stepper};
use mlcp::multibody::Frame;
use mlcp::{Error, SolverKind};
use nalgebra::{UnitQuaternion, Vector3};

const RADIUS: f64 = 0.1;
/// Half the width of the box.
const WALL: f64 = 0.5;
const STEP: f64 = 0.01;
const SWEEPS: usize = 200;

const METHODS: [Method; 3] = [
    Method::new("Lemke", SolverKind::Lemke, "polyhedral:8", 5000),
    Method { cfm: 1e-3, ..Method::new("PGS with CFM", SolverKind::Pgs, "polyhedral:8", SWEEPS) },
    Method::new("PGS, box friction", SolverKind::Pgs, "box", SWEEPS),
];

/// Bottom and four sides.
pub fn scene(count: usize) -> Pile {
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
    let runs = run_all(context, &METHODS, &frames)?;
    let contacts: usize = frames.iter().map(|f| f.contacts().gap.len()).sum();
    let setup = format!(
        "{count} balls of 1 kg and 0.1 m fall from random places into a box of a bottom and four sides, 1 m wide, mu = 0.3, \
         h = 10 ms, stepped by auto with box friction. From t = {:.2} s, when all have reached the bottom or 2 s are over, \
         {steps} steps in a row are written as the LCP of eq. 19 with eight facets ({} contacts a step, contacts that may \
         close within the step included). Lemke's points between are clamped, with w recomputed. PGS solves A + 1e-3 I; its \
         errors are those of A.",
        frames[0].time(),
        contacts / frames.len()
    );
    let mut section = Section::new("Fifteen balls in a box", "Lu et al. 2013, section 6.2, Figs. 8 and 9", &setup);
    claims(&mut section, &runs);
    draw(
        &mut section,
        "spheres",
        "Balls in a box: Lemke's method and PGS with CFM on facets, PGS on box friction",
        &runs,
    );
    Ok(section)
}

fn claims(section: &mut Section, runs: &[(&Method, Traces)]) {
    let [lemke, pgs, by_box] = [0, 1, 2].map(|k| &runs[k].1);
    let (total, normal) = (last(lemke, |e| e.total), last(lemke, |e| e.normal));
    let friction = last(lemke, |e| e.friction());
    section.claim(
        "Lemke: total error of order 1e-10, a high accuracy",
        format!("total {total:.1e}, normal {normal:.1e} (means over the steps)"),
        total < 1e-9,
    );
    section.claim(
        "Lemke: the frictional error is larger than the total, because the cone is linearised",
        format!("friction {friction:.1e} J (mean): the LCP is solved, Coulomb's law between its facets is not"),
        friction > 1e3 * total,
    );
    let mut each: Vec<f64> = lemke.iter().filter_map(|t| t.last()).map(|e| e.friction()).collect();
    each.sort_unstable_by(f64::total_cmp);
    section.claim_or(
        "Lemke: the frictional error is of order 1e-5",
        format!(
            "mean {friction:.1e} J; of the steps the least has {:.0e}, the middle one {:.0e}, the most {:.0e} J",
            each[0],
            each[each.len() / 2],
            each[each.len() - 1]
        ),
        (2e-6..5e-5).contains(&friction),
        "It is the facets' error, which is larger the more balls slide, and in which direction: few steps make the mean.",
    );
    let sweeps = mean(pgs, |e| e.total);
    let range = |values: &[f64]| values.iter().fold((f64::INFINITY, 0.0f64), |(a, b), &v| (a.min(v), b.max(v)));
    let half = sweeps.len() / 2;
    let ((_, early), (least, most)) = (range(&sweeps[10.min(half)..half]), range(&sweeps[half..]));
    section.claim(
        "PGS with CFM comes to the order of 1e-1, and further iterations change nothing",
        format!(
            "total between {least:.1e} and {most:.1e} over the second half of the sweeps, at most {early:.1e} before"
        ),
        least > 1e-2 && most < 10.0 && most > 0.5 * early,
    );
    let turns = sweeps[half..].windows(3).filter(|v| (v[1] - v[0]) * (v[2] - v[1]) < 0.0).count();
    let end = last(by_box, |e| e.total);
    section.claim_or(
        "explained by a local minimum",
        format!("the mean turns in {turns} of the last {} sweeps; on box friction PGS ends at {end:.1e}", sweeps.len() - half),
        false,
        "It is no minimum but a cycle: the rows of the sliding speed s have a zero diagonal, so CFM divides by 1e-3 and one \
         sweep overshoots what the next takes back. The same steps without such rows, as box friction, converge.",
    );
}
