//! A frame in every formulation: the same step, against closed forms and each other.

use crate::common::frames::{random_frame, sliding_mass, stack, Parts};
use crate::common::Random;
use mlcp::multibody::{Bodies, Constraints, ContactState, Contacts, Formulation, Formulator, Frame, Response};
use mlcp::{Engine, Problem, Settings, SolverKind, Status};
use std::f64::consts::PI;

const G: f64 = 9.81;

/// Solve a frame in a formulation and say what it means.
fn solve(frame: &Frame, formulation: &str, solver: SolverKind) -> Response {
    let formulation: Formulation = formulation.parse().unwrap();
    let (mut formulator, mut problem, mut response) = (Formulator::new(), Problem::new(), Response::default());
    formulator.fill(frame, formulation, &mut problem).unwrap();
    assert_eq!(problem.len(), formulation.rows(frame), "{formulation}");
    let exact = Settings {
        solver,
        relative_tolerance: 1e-24,
        energy_tolerance: 1e-26,
        residual_tolerance: 1e-13,
        ..Settings::default()
    };
    let mut engine = Engine::new(exact).unwrap();
    engine.solve(&problem, None, None).unwrap();
    formulator.respond(frame, formulation, engine.x(), &mut response).unwrap();
    response
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

/// A mass slides across the axes of the facets. The exact cone takes mu g h off its speed, whatever the direction. With
/// n_d facets friction points along the corner nearest to the sliding direction, up to δ = π / n_d beside it: velocities
/// are wrong by up to mu g h · 2 sin(δ / 2), to first order in 1 / n_d; the dissipated energy only by the factor cos δ,
/// to second order. Circumscribed polygons have longer arms, 1 / cos δ.
#[test]
fn facets_converge_to_the_cone() {
    let (speed, mu, h) = (1.0, 0.5, 0.01);
    println!("n_d  velocity error  bound     dissipation error  bound");
    for facets in [4usize, 8, 16, 32, 64] {
        let (mut worst, mut worst_energy) = (0.0f64, 0.0f64);
        for k in 0..60 {
            let angle = 0.01 + 2.0 * PI * k as f64 / 60.0 / facets as f64;
            let frame = sliding_mass(angle, speed, mu);
            let v = solve(&frame, &format!("polyhedral:{facets}"), SolverKind::Lemke).velocities;
            let left = speed - mu * G * h;
            let exact = [left * angle.cos(), left * angle.sin()];
            worst = worst.max((v[0] - exact[0]).hypot(v[1] - exact[1]));
            // What is lost along the way it slid.
            let lost = speed - (v[0] * angle.cos() + v[1] * angle.sin());
            worst_energy = worst_energy.max((lost / (mu * G * h) - 1.0).abs());
        }
        let delta = PI / facets as f64;
        let (bound, energy_bound) = (mu * G * h * 2.0 * (delta / 2.0).sin(), 1.0 - delta.cos());
        println!("{facets:3}  {worst:.3e}       {bound:.3e} {worst_energy:.3e}          {energy_bound:.3e}");
        // The 60 angles come close to the worst one; the step turns the velocity a little.
        assert!(worst <= 1.01 * bound && worst >= 0.8 * bound, "{facets}: {worst} {bound}");
        assert!(worst_energy <= 1.1 * energy_bound && worst_energy >= 0.7 * energy_bound, "{facets}: {worst_energy}");
    }
}

/// The exact cone takes mu g h off the speed in every direction, mixed or not.
#[test]
fn the_cone_slides_in_every_direction() {
    for k in 0..12 {
        let angle = 0.3 + 0.5 * k as f64;
        let frame = sliding_mass(angle, 1.0, 0.5);
        let left = 1.0 - 0.5 * G * 0.01;
        let r = solve(&frame, "cone", SolverKind::AlartCurnier);
        let expected = [left * angle.cos(), left * angle.sin(), 0.0, 0.0, 0.0, 0.0];
        assert!(apart(&r.velocities, &expected) < 1e-10, "{angle}: {:?}", r.velocities);
        assert!(r.errors.friction() < 1e-10 && r.errors.normal < 1e-18, "{:?}", r.errors);
        assert_eq!(r.states, [ContactState::Slide]);
        // The mixed form is the same, judged by its own rows: its solution is the reduced one with its velocities.
        let (mut formulator, mut again) = (Formulator::new(), Response::default());
        let z = [&r.velocities[..], &r.impulses[..]].concat();
        formulator.respond(&frame, "mixed:cone".parse().unwrap(), &z, &mut again).unwrap();
        assert!(again.errors.total < 1e-18 && again.velocities == r.velocities, "{:?}", again.errors);
    }
}

/// Sliding along an axis, box, diamond and cone agree with the closed form.
#[test]
fn sliding_along_an_axis_has_a_closed_form() {
    let frame = sliding_mass(0.0, 1.0, 0.5);
    for (formulation, solver) in [
        ("box", SolverKind::Bpp),
        ("box", SolverKind::InteriorPoint),
        ("polyhedral:4", SolverKind::Lemke),
        ("mixed", SolverKind::MinMapNewton),
        ("mixed:polyhedral:4", SolverKind::Lemke),
        ("mixed:circumscribed:4", SolverKind::Lemke),
    ] {
        let r = solve(&frame, formulation, solver);
        let expected = [1.0 - 0.5 * G * 0.01, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert!(apart(&r.velocities, &expected) < 1e-12, "{formulation}: {:?}", r.velocities);
        assert_eq!(r.states, [ContactState::Slide], "{formulation}");
        let p = 2.0 * G * 0.01;
        assert!((r.impulses[0] - p).abs() < 1e-12 && (r.impulses[1].hypot(r.impulses[2]) - 0.5 * p).abs() < 1e-12);
        let e = r.errors;
        assert!(
            e.normal < 1e-20 && e.magnitude < 1e-12 && e.direction < 1e-12 && e.total < 1e-20,
            "{formulation}: {e:?}"
        );
        assert_eq!(e.energy.is_nan(), formulation != "box");
    }
}

/// Stacked cubes: pushed weakly they stick, whatever the shape of the cone; pushed harder the box and the square polygon
/// agree, and the diamond, whose corners lie on the axes, too.
#[test]
fn formulations_of_a_stack_agree() {
    for (push, sticks) in [(1.0, true), (3.0, true), (5.5, false)] {
        let frame = stack(push);
        let reference = solve(&frame, "box", SolverKind::InteriorPoint);
        assert_eq!(
            reference.states.iter().all(|&s| s != ContactState::Slide),
            sticks,
            "{push}: {:?}",
            reference.states
        );
        for formulation in
            ["circumscribed:4", "polyhedral:4", "polyhedral:8", "mixed:polyhedral:8", "mixed:circumscribed:4"]
        {
            let r = solve(&frame, formulation, SolverKind::Lemke);
            let gap = apart(&r.velocities, &reference.velocities);
            println!("push {push}, {formulation}: velocities {gap:.1e} apart, {:?}", r.errors);
            assert!(gap < 1e-9, "{push} {formulation}: {gap}");
            assert!(r.errors.normal < 1e-18 && r.errors.total < 1e-18, "{push} {formulation}: {:?}", r.errors);
            // Sliding, facets and boxes are solved exactly and are still not Coulomb's cone: the friction error says so.
            assert!(!sticks || r.errors.friction() < 1e-12, "{push} {formulation}: {:?}", r.errors);
        }
    }
}

/// Wrong answers have the errors that their definition says.
#[test]
fn errors_of_wrong_answers() {
    let frame = sliding_mass(0.0, 1.0, 0.5);
    let (mut formulator, mut r) = (Formulator::new(), Response::default());
    // No impulses at all: the ground is entered at g h; nothing rubs, so friction has nothing wrong.
    formulator.respond(&frame, Formulation::BOX, &[0.0; 3], &mut r).unwrap();
    let w = G * 0.01;
    assert!((r.errors.normal - 0.5 * w * w).abs() < 1e-12, "{:?}", r.errors);
    assert_eq!((r.errors.magnitude, r.errors.direction), (0.0, 0.0));
    assert_eq!(r.states, [ContactState::Open]);
    // Kinetic energy of the missing impulse: w² / (2 a) with a = 1 / m.
    assert!((r.errors.energy - w * w / (2.0 / 2.0)).abs() < 1e-12, "{:?}", r.errors);
    // The right normal impulse, no friction: magnitude = speed · mu p. Friction forwards: direction = 2 |f| speed.
    let p = 2.0 * w;
    formulator.respond(&frame, Formulation::BOX, &[p, 0.0, 0.0], &mut r).unwrap();
    assert!((r.errors.magnitude - 0.5 * p).abs() < 1e-12 && r.errors.direction == 0.0, "{:?}", r.errors);
    let t = mlcp::multibody::tangents(nalgebra::Vector3::z());
    let forwards = [p, 0.5 * p * t[0].x, 0.5 * p * t[1].x];
    formulator.respond(&frame, Formulation::BOX, &forwards, &mut r).unwrap();
    let speed = 1.0 + 0.5 * p / 2.0;
    assert!((r.errors.direction - 2.0 * 0.5 * p * speed).abs() < 1e-12 && r.errors.magnitude < 1e-12, "{:?}", r.errors);
    assert_eq!(
        formulator.respond(&frame, Formulation::BOX, &[0.0; 2], &mut r).unwrap_err().status(),
        Status::InvalidSize
    );
}

/// A mass on a spring, one implicit step: m v₊ = m v - h k x₊ - h d v₊ with x₊ = x + h v₊.
#[test]
fn compliance_and_damping_are_an_implicit_spring() {
    let (m, k, d, h, x, v) = (2.0, 300.0, 5.0, 0.01, 0.1, 0.7);
    let mut parts = Parts::default();
    parts.body(m, [1.0; 3], [0.0; 3], [v, 0.0, 0.0, 0.0, 0.0, 0.0]);
    parts.forces[2] = 0.0;
    let mut row = [0.0; 12];
    row[0] = 1.0;
    parts.row([0, -1], row, x);
    (parts.row_compliance[0], parts.row_damping[0]) = (1.0 / k, d);
    let expected = (m * v - h * k * x) / (m + h * h * k + h * d);
    for (formulation, solver) in [("box", SolverKind::Bpp), ("mixed", SolverKind::Lemke)] {
        let r = solve(&parts.frame(h, 0.0), formulation, solver);
        assert!((r.velocities[0] - expected).abs() < 1e-13, "{formulation}: {} {expected}", r.velocities[0]);
    }
    // Rigid: the violation is gone after the step, v₊ = -x / h.
    parts.row_compliance[0] = 0.0;
    let r = solve(&parts.frame(h, 0.0), "box", SolverKind::Bpp);
    assert!((r.velocities[0] + x / h).abs() < 1e-12);
}

/// Newton's restitution: a ball comes at speed u and leaves with e u; one that does not arrive in this step is let pass.
#[test]
fn restitution_is_newtons() {
    for (gap, e, expected) in [(0.0, 0.5, 1.0), (0.001, 0.25, 0.5), (0.5, 0.5, -2.0), (-0.05, 0.5, 5.0)] {
        let mut parts = Parts::default();
        parts.body(3.0, [1.0; 3], [0.0, 0.0, 1.0], [0.0, 0.0, -2.0, 0.0, 0.0, 0.0]);
        parts.forces[2] = 0.0;
        parts.contact([-1, 0], [0.0; 3], [0.0, 0.0, 1.0], gap, 0.3);
        parts.restitution[0] = e;
        let r = solve(&parts.frame(0.01, 0.0), "box", SolverKind::Bpp);
        // Deep penetration is pushed out faster than restitution would.
        assert!((r.velocities[2] - expected).abs() < 1e-10, "gap {gap}: {}", r.velocities[2]);
    }
}

/// A turned body has its inertia turned: R I⁻¹ Rᵀ, seen through the angular velocity that a torque gives it.
#[test]
fn inertia_turns_with_the_body() {
    let mut parts = Parts::default();
    parts.body(1.0, [1.0, 2.0, 4.0], [0.0; 3], [0.0; 6]);
    // A quarter turn about z takes the body's y axis to the world's -x axis.
    let s = 0.5f64.sqrt();
    parts.quaternions = vec![s, 0.0, 0.0, s];
    parts.forces = vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
    let r = solve(&parts.frame(0.1, 0.0), "box", SolverKind::Bpp);
    assert!(apart(&r.velocities[3..], &[0.1 / 2.0, 0.0, 0.0]) < 1e-15, "{:?}", r.velocities);
}

/// Trees of four bodies, welded by rows in the order 1-3, 0-3, 2-1, so that on both sides of the weld 1-3 the body before
/// ends its list with the same neighbour: solvers that factor on the body side once lost that weld.
#[test]
fn no_neighbour_is_lost() {
    let mut parts = Parts::default();
    const TREES: usize = 30;
    for k in 0..4 * TREES {
        parts.body(1.0, [0.1; 3], [k as f64, 0.0, 0.0], [(k % 4) as f64, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }
    for tree in 0..TREES as i32 {
        for (p, q) in [(1, 3), (0, 3), (2, 1)] {
            for c in 0..6 {
                let mut row = [0.0; 12];
                (row[c], row[6 + c]) = (1.0, -1.0);
                parts.row([4 * tree + p, 4 * tree + q], row, 0.0);
            }
        }
    }
    for solver in [SolverKind::Bpp, SolverKind::InteriorPoint, SolverKind::ProxNewton] {
        let r = solve(&parts.frame(0.01, 0.0), "box", solver);
        for v in r.velocities.chunks_exact(6) {
            // Each tree falls as one, at the mean of 0, 1, 2, 3.
            assert!(apart(v, &[1.5, 0.0, -G * 0.01, 0.0, 0.0, 0.0]) < 1e-9, "{solver:?}: {v:?}");
        }
    }
}

/// Frames of random numbers, refilled over one another: every formulation is what a fresh one gives.
#[test]
fn formulators_may_be_used_again() {
    let mut random = Random::new(11);
    let mut old = (Formulator::new(), Problem::new());
    for k in 0..40 {
        let frame = random_frame(&mut random, 1 + k % 9, k % 4, (7 * k) % 11);
        for name in ["box", "mixed", "polyhedral:5", "mixed:circumscribed:6"] {
            let mut new = (Formulator::new(), Problem::new());
            let formulation: Formulation = name.parse().unwrap();
            assert_eq!(formulation.to_string(), if name == "mixed" { "mixed:box" } else { name });
            old.0.fill(&frame, formulation, &mut old.1).unwrap();
            new.0.fill(&frame, formulation, &mut new.1).unwrap();
            let z = random.vector(new.1.len());
            let w = |p: &Problem| {
                let mut w = vec![0.0; z.len()];
                p.multiply(&z, &mut w, &mut Vec::new()).unwrap();
                w
            };
            assert_eq!(w(&old.1), w(&new.1));
        }
    }
}

/// The mixed form with its velocities eliminated is the reduced one.
#[test]
fn mixed_and_reduced_are_one() {
    let mut random = Random::new(21);
    for _ in 0..20 {
        let frame = random_frame(&mut random, 6, 3, 5);
        let (mut formulator, mut reduced, mut mixed) = (Formulator::new(), Problem::new(), Problem::new());
        formulator.fill(&frame, "box".parse().unwrap(), &mut reduced).unwrap();
        formulator.fill(&frame, "mixed".parse().unwrap(), &mut mixed).unwrap();
        let x = random.vector(reduced.len());
        let mut r = Response::default();
        formulator.respond(&frame, Formulation::BOX, &x, &mut r).unwrap();
        // With the velocities that x brings about, the mixed rows say: no momentum left over, and the same w.
        let z = [&r.velocities[..], &x[..]].concat();
        let (mut w, mut wz) = (vec![0.0; x.len()], vec![0.0; z.len()]);
        reduced.multiply(&x, &mut w, &mut Vec::new()).unwrap();
        mixed.multiply(&z, &mut wz, &mut Vec::new()).unwrap();
        let size = w.iter().chain(&r.velocities).fold(1.0f64, |m, v| m.max(v.abs()));
        let momentum = wz[..36].iter().fold(0.0f64, |m, v| m.max(v.abs()));
        assert!(momentum < 1e-10 * size && apart(&wz[36..], &w) < 1e-10 * size, "{momentum} {size}");
    }
}

#[test]
fn frames_refuse_what_makes_no_sense() {
    let good = random_frame(&mut Random::new(2), 3, 2, 2);
    let mut frame = good.clone();
    let (b, c, k) = (good.bodies(), good.constraints(), good.contacts());
    let bad_mass = [1.0, -1.0, 1.0];
    let (mut skew, mut flat) = (b.inertia.to_vec(), b.inertia.to_vec());
    skew[1] += 0.1;
    flat[8] = -1.0;
    let (long, mut nan) = ([2.0; 12], b.velocities.to_vec());
    nan[4] = f64::NAN;
    let bodies: [(Bodies<'_>, &str); 8] = [
        (Bodies { masses: &bad_mass, ..b }, "masses[1] is -1"),
        (Bodies { masses: &b.masses[..2], ..b }, "ids has length 3"),
        (Bodies { ids: &[], masses: &b.masses[..2], ..b }, "inertia has length 27"),
        (Bodies { inertia: &skew, ..b }, "body 0) is not symmetric"),
        (Bodies { inertia: &flat, ..b }, "body 0) is not positive definite"),
        (Bodies { quaternions: &long, ..b }, "quaternions[0..] has the length 4"),
        (Bodies { velocities: &nan, ..b }, "velocities[4] is NaN"),
        (Bodies { positions: &[], ..b }, "positions has length 0"),
    ];
    for (bodies, sentence) in bodies {
        let error = frame.set_bodies(&bodies).unwrap_err();
        assert!(error.message().contains(sentence), "{error}");
        assert_eq!(frame, good);
    }
    let constraints: [(Constraints<'_>, &str); 5] = [
        (Constraints { rows: &[1], ..c }, "pairs has length 4"),
        (Constraints { rows: &[1, 2], ..c }, "rows adds up to 3"),
        (Constraints { rows: &[3, -1], ..c }, "rows[1] is -1"),
        (Constraints { pairs: &[0, 3, 1, -1], ..c }, "pairs[1] is 3"),
        (Constraints { lo: &[2.0, 0.0], hi: &[1.0, 0.0], ..c }, "lo[0] = 2 lies above"),
    ];
    for (constraints, sentence) in constraints {
        let error = frame.set_constraints(&constraints).unwrap_err();
        assert!(error.message().contains(sentence), "{error}");
        assert_eq!(frame, good);
    }
    let contacts: [(Contacts<'_>, &str); 6] = [
        (Contacts { pairs: &[0, 0, 1, 2], ..k }, "pairs[0] and pairs[1] are both 0"),
        (Contacts { pairs: &[0, 1, -2, 2], ..k }, "pairs[2] is -2"),
        (Contacts { mu: &[0.1, -0.1], ..k }, "mu[1] is -0.1"),
        (Contacts { normals: &[0.0, 0.0, 1.0, 0.0, 0.0, 0.5], ..k }, "normals[3..] has the length 0.5"),
        (Contacts { restitution: &[0.0, 1.5], ..k }, "restitution[1] is 1.5"),
        (Contacts { gap: &[f64::INFINITY, 0.0], ..k }, "gap[0] is inf"),
    ];
    for (contacts, sentence) in contacts {
        let error = frame.set_contacts(&contacts).unwrap_err();
        assert!(error.message().contains(sentence), "{error}");
        assert_eq!(frame, good);
    }
    assert!(frame.set_step(0.0, 0.0).is_err() && frame.set_step(0.1, f64::NAN).is_err());
    let error = Formulator::new().fill(&Frame::new(), Formulation::BOX, &mut Problem::new()).unwrap_err();
    assert_eq!(error.status(), Status::InvalidState);
    for name in
        ["", "cube", "polyhedral", "polyhedral:2", "polyhedral:257", "mixed:", "mixedbox", "box:4", "polyhedral:x"]
    {
        assert!(name.parse::<Formulation>().is_err(), "{name}");
    }
}
