//! `mlcp-lab paper facets`: the same steps with friction cones of 4, 8, ... 64 facets, beside the exact cone.

use super::section::{Context, Section};
use crate::plot::Chart;
use crate::scenes::pile::Scatter;
use mlcp::multibody::{Bodies, Contacts, Formulation, Formulator, Frame, Response};
use mlcp::{Engine, Problem, Settings, SolverKind};
use std::f64::consts::PI;
use std::fmt::Write;

const FACETS: [usize; 5] = [4, 8, 16, 32, 64];
const GRAVITY: f64 = 9.81;
const MU: f64 = 0.5;
const STEP: f64 = 0.01;
const RADIUS: f64 = 0.1;

/// Velocities at the end of the step.
fn velocities(frame: &Frame, formulation: &str, solver: SolverKind) -> mlcp::Result<Vec<f64>> {
    let formulation: Formulation = formulation.parse()?;
    let (mut formulator, mut problem, mut response) = (Formulator::new(), Problem::new(), Response::default());
    formulator.fill(frame, formulation, &mut problem)?;
    let exact = Settings {
        solver,
        relative_tolerance: 1e-24,
        energy_tolerance: 1e-26,
        residual_tolerance: 1e-13,
        ..Settings::default()
    };
    let mut engine = Engine::new(exact)?;
    engine.solve(&problem, None, None)?;
    formulator.respond(frame, formulation, engine.x(), &mut response)?;
    Ok(response.velocities)
}

/// Balls of 1 kg on the ground, at these places with these horizontal velocities; those that touch are in contact.
fn balls(places: &[[f64; 2]], speeds: &[[f64; 2]]) -> mlcp::Result<Frame> {
    let n = places.len();
    let (mut pairs, mut normals, mut points) = (Vec::new(), Vec::new(), Vec::new());
    for (k, [x, y]) in places.iter().enumerate() {
        pairs.extend([-1, k as i32]);
        normals.extend([0.0, 0.0, 1.0]);
        points.extend([*x, *y, 0.0]);
        for (j, [u, v]) in places[..k].iter().enumerate() {
            let distance = (x - u).hypot(y - v);
            if distance < 2.001 * RADIUS {
                let normal = [(x - u) / distance, (y - v) / distance, 0.0];
                pairs.extend([j as i32, k as i32]);
                normals.extend(normal);
                points.extend(normal.map(|c| RADIUS * c));
            }
        }
    }
    let contacts = pairs.len() / 2;
    let i = 0.4 * RADIUS * RADIUS;
    let mut frame = Frame::new();
    frame.set_step(STEP, 0.0)?;
    frame.set_bodies(&Bodies {
        ids: &[],
        masses: &vec![1.0; n],
        inertia: &[i, 0.0, 0.0, 0.0, i, 0.0, 0.0, 0.0, i].repeat(n),
        positions: &places.iter().flat_map(|p| [p[0], p[1], RADIUS]).collect::<Vec<f64>>(),
        quaternions: &[1.0, 0.0, 0.0, 0.0].repeat(n),
        velocities: &speeds.iter().flat_map(|v| [v[0], v[1], 0.0, 0.0, 0.0, 0.0]).collect::<Vec<f64>>(),
        forces: &[0.0, 0.0, -GRAVITY, 0.0, 0.0, 0.0].repeat(n),
    })?;
    frame.set_contacts(&Contacts {
        pairs: &pairs,
        gap: &vec![0.0; contacts],
        mu: &vec![MU; contacts],
        normals: &normals,
        points: &points,
        ..Contacts::default()
    })?;
    Ok(frame)
}

/// Four balls, the outer three on their way to the middle one that they touch, all off course and without spin.
fn huddle(scatter: &mut Scatter) -> mlcp::Result<Frame> {
    let (mut places, mut speeds) = (vec![[0.0; 2]], vec![[0.3 * scatter.next(), 0.3 * scatter.next()]]);
    for k in 0..3 {
        let (sin, cos) = (PI / 1.5 * f64::from(k)).sin_cos();
        places.push([2.0 * RADIUS * cos, 2.0 * RADIUS * sin]);
        speeds.push([0.5 * scatter.next() - cos, 0.5 * scatter.next() - sin]);
    }
    balls(&places, &speeds)
}

/// The largest error of the velocity, and of the dissipated energy as a fraction, over directions of sliding.
fn worst_of_one(facets: usize, directions: usize) -> mlcp::Result<[f64; 2]> {
    let loss = MU * GRAVITY * STEP;
    let mut worst = [0.0f64; 2];
    for k in 0..directions {
        let angle = 0.01 + 2.0 * PI * k as f64 / (directions * facets) as f64;
        let v = velocities(
            &balls(&[[0.0; 2]], &[[angle.cos(), angle.sin()]])?,
            &format!("polyhedral:{facets}"),
            SolverKind::Lemke,
        )?;
        let error = (v[0] - (1.0 - loss) * angle.cos()).hypot(v[1] - (1.0 - loss) * angle.sin());
        let lost = 1.0 - v[0] * angle.cos() - v[1] * angle.sin();
        worst = [worst[0].max(error), worst[1].max((lost / loss - 1.0).abs())];
    }
    Ok(worst)
}

/// Root of the mean squared difference to the exact cone, over all bodies of all frames.
fn of_four(frames: &[Frame], exact: &[Vec<f64>], formulation: &str) -> mlcp::Result<f64> {
    let (mut sum, mut count) = (0.0, 0);
    for (frame, exact) in frames.iter().zip(exact) {
        let v = velocities(frame, formulation, SolverKind::Lemke)?;
        for (v, exact) in v.chunks_exact(6).zip(exact.chunks_exact(6)) {
            sum += (0..3).map(|c| (v[c] - exact[c]).powi(2)).sum::<f64>();
            count += 1;
        }
    }
    Ok((sum / f64::from(count)).sqrt())
}

/// By how much the logarithm falls per doubling, by least squares.
fn order(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let x = |k: usize| k as f64 - (n - 1.0) / 2.0;
    let along: f64 = values.iter().enumerate().map(|(k, v)| x(k) * v.log2()).sum();
    -along / (0..values.len()).map(|k| x(k) * x(k)).sum::<f64>()
}

/// Run it.
pub fn run(context: &Context) -> Result<Section, String> {
    let say = |e: mlcp::Error| e.to_string();
    let (directions, count) = if context.short { (20, 5) } else { (60, 40) };
    let mut scatter = Scatter(7);
    let frames: Vec<Frame> = (0..count).map(|_| huddle(&mut scatter)).collect::<mlcp::Result<_>>().map_err(say)?;
    let cone = |f: &Frame| velocities(f, "cone", SolverKind::AlartCurnier);
    let exact: Vec<Vec<f64>> = frames.iter().map(cone).collect::<mlcp::Result<_>>().map_err(say)?;
    let bar = context.progress(FACETS.len());
    let mut csv = String::from(
        "facets,ball_velocity_m_per_s,ball_velocity_bound,ball_dissipation,ball_dissipation_bound,\
         four_inscribed_m_per_s,four_circumscribed_m_per_s\n",
    );
    // Columns of the table.
    let mut columns: [Vec<f64>; 6] = Default::default();
    for facets in FACETS {
        let delta = PI / facets as f64;
        let [velocity, dissipation] = worst_of_one(facets, directions).map_err(say)?;
        let bounds = [MU * GRAVITY * STEP * 2.0 * (delta / 2.0).sin(), 1.0 - delta.cos()];
        let [inside, outside] =
            ["polyhedral", "circumscribed"].map(|shape| of_four(&frames, &exact, &format!("{shape}:{facets}")));
        let row = [velocity, bounds[0], dissipation, bounds[1], inside.map_err(say)?, outside.map_err(say)?];
        let _ = writeln!(csv, "{facets},{}", row.map(|v| format!("{v:e}")).join(","));
        columns.iter_mut().zip(row).for_each(|(c, v)| c.push(v));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let setup = format!(
        "Beyond the paper: how good is the LCP of eq. 19? One ball that begins to slide in each of {directions} directions, \
         where the exact cone takes mu g h off its speed, and {count} times four balls that slide into each other at random, \
         {} contacts, with 4 to 64 facets by Lemke's method; beside the exact cone by Alart and Curnier's.",
        frames[0].contacts().gap.len()
    );
    let mut section = Section::new("Facets against the cone", "beyond Lu et al. 2013, eq. 19", &setup);
    let [velocity, bound, dissipation, dissipation_bound, inside, outside] = &columns;
    let within = |values: &[f64], bounds: &[f64]| values.iter().zip(bounds).all(|(v, b)| *v <= 1.1 * b);
    section.claim(
        "friction points up to π/n beside the slip, so velocities are wrong by up to 2 sin(π/2n) mu g h: first order",
        format!("order {:.2}, from {:.1e} to {:.1e} m/s", order(velocity), velocity[0], velocity[4]),
        within(velocity, bound) && (order(velocity) - 1.0).abs() < 0.1,
    );
    section.claim(
        "the energy that sliding dissipates is wrong by up to 1 - cos(π/n): second order",
        format!("order {:.2}, from {:.1e} to {:.1e}", order(dissipation), dissipation[0], dissipation[4]),
        within(dissipation, dissipation_bound) && (order(dissipation) - 2.0).abs() < 0.2,
    );
    section.claim(
        "bodies that push each other converge to the exact cone at first order, too, from inside and from outside",
        format!(
            "order {:.2} inscribed, {:.2} circumscribed; with 64 facets {:.1e} and {:.1e} m/s (root mean square)",
            order(inside),
            order(outside),
            inside[4],
            outside[4]
        ),
        [inside, outside].iter().all(|v| (order(v) - 1.0).abs() < 0.2),
    );
    let curve = |values: &[f64]| FACETS.iter().zip(values).map(|(n, v)| ((*n as f64).log2(), *v)).collect();
    let chart = |title, y_title, curves: [(&str, &[f64]); 2]| Chart {
        title,
        x_title: "facets, as a power of 2",
        y_title,
        log: true,
        curves: curves.into_iter().map(|(name, values)| (name.to_string(), curve(values))).collect(),
        ..Chart::default()
    };
    let charts = [
        chart("One ball: velocity", "largest error [m/s]", [("measured", velocity), ("bound", bound)]),
        chart("One ball: dissipation", "largest error", [("measured", dissipation), ("bound", dissipation_bound)]),
        chart("Four balls: velocities", "r.m.s. difference [m/s]", [("inscribed", inside), ("circumscribed", outside)]),
    ];
    let caption = "A straight line is a power law: velocities fall as 1/n, the dissipated energy as 1/n².";
    section.figure("facets", "Polyhedral friction cones of n facets against the exact cone", caption, &charts);
    section.table("facets", csv);
    Ok(section)
}
