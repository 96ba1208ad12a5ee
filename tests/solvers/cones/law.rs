//! Coulomb's law in closed form: a sliding box, and the ends of the range of mu; and who refuses cones.

use super::{one_contact, patient, KINDS};
use mlcp::solve::supports;
use mlcp::{Engine, FrictionMode, Problem, Settings, SolverKind, Status};

const H: f64 = 0.01;
const GRAVITY: f64 = 9.81;
const MU: f64 = 0.4;
const MASS: f64 = 3.0;
/// Half width and half height of the box.
const HALF: [f64; 2] = [0.5, 0.2];

/// A square box that slides over the floor at `velocity`, a contact below each corner.
fn sliding_box(velocity: [f64; 2], mu: f64) -> Problem {
    let [r, z] = HALF;
    let side = 3.0 / MASS / (r * r + z * z);
    let mut mass = [1.0 / MASS; 12];
    mass[3..].copy_from_slice(&[side, 0.0, 0.0, 0.0, side, 0.0, 0.0, 0.0, 1.5 / MASS / (r * r)]);
    let (mut rows, mut cones) = (Vec::new(), Vec::new());
    for corner in [[r, r], [r, -r], [-r, r], [-r, -r]] {
        let arm = [corner[0], corner[1], -z];
        for axis in [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]] {
            cones.push((rows.len() / 12) as i32);
            rows.extend(axis);
            rows.extend([
                arm[1] * axis[2] - arm[2] * axis[1],
                arm[2] * axis[0] - arm[0] * axis[2],
                arm[0] * axis[1] - arm[1] * axis[0],
            ]);
            rows.extend([0.0; 6]);
        }
    }
    let n = rows.len() / 12;
    let lo: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { 0.0 } else { f64::NEG_INFINITY }).collect();
    let mut problem = Problem::new();
    problem.set_jacobian(&mass, &rows, &[0, -1].repeat(n), None).unwrap();
    let forces = [0.0, 0.0, -MASS * GRAVITY, 0.0, 0.0, 0.0];
    problem.set_motion(H, &[velocity[0], velocity[1], 0.0, 0.0, 0.0, 0.0], Some(&forces), None).unwrap();
    problem.set_bounds(&lo, &vec![f64::INFINITY; n]).unwrap();
    problem.set_cones(&cones, &[mu; 4]).unwrap();
    problem
}

#[test]
fn a_sliding_box_slows_down_along_its_heading() {
    for kind in KINDS {
        for k in 0..16 {
            let (s, c) = (k as f64 * std::f64::consts::TAU / 16.0).sin_cos();
            let problem = sliding_box([2.0 * c, 2.0 * s], MU);
            let mut engine = patient(kind, 20_000);
            let report = *engine.solve(&problem, None, None).unwrap();
            let about = format!("{} heading {k}/16: {report:?}", kind.name());
            let total = |axis: usize| (0..4).map(|q| engine.x()[3 * q + axis]).sum::<f64>();
            // The weight's impulse, and mu of it against the heading. All rounding: 12 rows of size 1.
            let push = MASS * GRAVITY * H;
            let wrong = [total(0) - push, total(1) + MU * push * c, total(2) + MU * push * s];
            assert!(wrong.iter().all(|v| v.abs() <= 1e-8), "{wrong:?} {about}");
            let mut change = [0.0; 6];
            problem.velocity_change(engine.x(), &mut change, &mut Vec::new()).unwrap();
            let lost = MU * GRAVITY * H;
            let wrong = [change[0] + lost * c, change[1] + lost * s, change[5]];
            assert!(wrong.iter().all(|v| v.abs() <= 1e-8), "{wrong:?} {about}");
        }
    }
}

#[test]
fn a_slow_box_stops() {
    for kind in KINDS {
        // It could lose mu g h = 0.039 m/s in a step.
        let problem = sliding_box([0.02, 0.01], MU);
        let mut engine = patient(kind, 20_000);
        engine.solve(&problem, None, None).unwrap();
        let mut change = [0.0; 6];
        problem.velocity_change(engine.x(), &mut change, &mut Vec::new()).unwrap();
        assert!((change[0] + 0.02).abs() <= 1e-8 && (change[1] + 0.01).abs() <= 1e-8, "{}: {change:?}", kind.name());
    }
}

#[test]
fn without_friction_and_with_no_end_of_it() {
    let a = [2.0, 0.3, -0.2, 0.3, 1.0, 0.1, -0.2, 0.1, 1.5];
    let inf = f64::INFINITY;
    for kind in KINDS {
        let solve = |b: [f64; 3], mu: f64| -> Vec<f64> {
            let mut engine = patient(kind, 0);
            let report = *engine.solve(&one_contact(&a, &b, mu), None, None).unwrap();
            assert!(report.natural <= 1e-8, "{} {b:?} {mu}: {report:?}", kind.name());
            engine.x().to_vec()
        };
        // No friction: x_n = -b_n / a_nn alone.
        let x = solve([-1.0, 3.0, -2.0], 0.0);
        assert!((x[0] - 0.5).abs() <= 1e-8 && x[1] == 0.0 && x[2] == 0.0, "{x:?}");
        // No end of it: all three velocities vanish; A x = -b by hand: x solves the 3 by 3 system.
        let x = solve([-1.0, 0.3, -0.2], inf);
        for i in 0..3 {
            let w = [-1.0, 0.3, -0.2][i] + (0..3).map(|j| a[3 * i + j] * x[j]).sum::<f64>();
            assert!(w.abs() <= 1e-8, "{x:?}");
        }
        // An open contact does not rub, however rough.
        assert_eq!(solve([1.0, 5.0, 5.0], inf), [0.0; 3]);
    }
}

#[test]
fn cones_boxes_joints_and_coupled_rows_together() {
    // Rows: joint, contact (1, 2, 3), box, and a spin row that hangs on the contact's normal.
    let n = 6;
    let mut a = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            a[n * i + j] = if i == j { 2.0 } else { 0.3 / (1.0 + (i as f64 - j as f64).abs()) };
        }
    }
    let inf = f64::INFINITY;
    let (b, mu, spin) = ([0.5, -2.0, 1.5, -0.4, -3.0, 0.9], 0.3, 0.1);
    for form in 0..2 {
        let mut problem = Problem::new();
        if form == 0 {
            problem.set_dense(n, &a, n, mlcp::Triangle::Full).unwrap();
        } else {
            let start: Vec<i32> = (0..=n).map(|i| (n * i) as i32).collect();
            let columns: Vec<i32> = (0..n * n).map(|k| (k % n) as i32).collect();
            problem.set_csr(n, &start, &columns, &a).unwrap();
        }
        problem.set_b(&b).unwrap();
        problem.set_bounds(&[-inf, 0.0, -inf, -inf, -0.5, -inf], &[inf, inf, inf, inf, 0.5, inf]).unwrap();
        problem.set_friction(&[-1, -1, -1, -1, -1, 1], &[spin; 6], FrictionMode::Coupled).unwrap();
        problem.set_cones(&[1, 2, 3], &[mu]).unwrap();
        for kind in KINDS {
            let mut engine = patient(kind, 20_000);
            engine.solve(&problem, None, None).unwrap();
            let x = engine.x();
            let w: Vec<f64> = (0..n).map(|i| b[i] + (0..n).map(|j| a[n * i + j] * x[j]).sum::<f64>()).collect();
            let reach = spin * x[1].max(0.0);
            let natural = super::natural_of_row(x[0], w[0], -inf, inf)
                + super::natural_of_row(x[1], w[1], 0.0, inf)
                + super::natural_of_disc([x[2], x[3]], [w[2], w[3]], mu * x[1].max(0.0))
                + super::natural_of_row(x[4], w[4], -0.5, 0.5)
                + super::natural_of_row(x[5], w[5], -reach, reach);
            assert!(natural <= 1e-8, "{} form {form}: {natural:e} {x:?}", kind.name());
            // The case is not trivial: the contact slides, the box is at its bound, the spin row at its.
            assert!(x[1] > 0.1 && (x[2].hypot(x[3]) - mu * x[1]).abs() < 1e-7 && x[4] > 0.499, "{x:?}");
        }
    }
}

#[test]
fn everyone_else_refuses_cones() {
    let problem = sliding_box([1.0, 0.0], MU);
    for kind in SolverKind::ALL.into_iter().filter(|k| !KINDS.contains(k) && *k as i32 != 0) {
        let why = "does not treat friction cones; prox, prox-gs and alart-curnier do";
        let refused = supports(kind, &problem).unwrap_err();
        assert!(refused.status() == Status::Unsupported && refused.message().contains(why), "{refused}");
        assert!(refused.message().contains(kind.name()), "{refused}");
        let mut engine = Engine::new(Settings { solver: kind, ..Settings::default() }).unwrap();
        assert_eq!(engine.solve(&problem, None, None).unwrap_err().status(), Status::Unsupported);
    }
    for kind in KINDS {
        supports(kind, &problem).unwrap();
        // A row without mass has no r.
        let massless = one_contact(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], &[-1.0; 3], 0.5);
        assert_eq!(supports(kind, &massless).unwrap_err().status(), Status::NoEnergy);
    }
}

#[test]
fn a_refused_call_leaves_the_cones_alone() {
    let mut problem = sliding_box([1.0, 0.0], MU);
    assert!(problem.has_cones() && problem.cones().list().len() == 4);
    assert!(problem.set_cones(&[0, 1, 2, 3, 4, 4], &[0.1, 0.1]).is_err());
    assert!(problem.set_cones(&[0, 1, 2], &[-1.0]).is_err());
    assert_eq!(problem.cones().list().len(), 4);
    assert_eq!(problem.cones().list()[1].tangents, [4, 5]);
    assert_eq!(problem.cones().list()[1].mu, MU);
    problem.set_cones(&[3, 5, 4], &[0.9]).unwrap();
    assert_eq!((problem.cones().list().len(), problem.cones().list()[0].tangents), (1, [5, 4]));
    problem.set_cones(&[], &[]).unwrap();
    assert!(!problem.has_cones() && !problem.has_live_bounds());
}
