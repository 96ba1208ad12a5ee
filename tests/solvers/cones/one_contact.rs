//! A thousand contacts of three rows, against a search that knows the three ways a contact can be.

use super::{natural_of_disc, natural_of_row, one_contact, patient, KINDS};
use crate::common::oracle::eliminate;
use crate::common::Random;
use mlcp::SolverKind;

/// Every solution: open, sticking, and sliding at each angle where the slip opposes the friction. Along an angle the
/// contact has one unknown, x_n from w_n = 0; the angle is a root of the slip's part across it.
fn solutions(a: &[f64; 9], b: &[f64; 3], mu: f64) -> Vec<[f64; 3]> {
    let w =
        |x: &[f64; 3]| -> [f64; 3] { std::array::from_fn(|i| b[i] + (0..3).map(|j| a[3 * i + j] * x[j]).sum::<f64>()) };
    let mut found = Vec::new();
    if b[0] >= 0.0 {
        found.push([0.0; 3]);
    }
    if let Some(x) = eliminate(3, a.to_vec(), b.iter().map(|v| -v).collect()) {
        if x[0] > 0.0 && x[1].hypot(x[2]) <= mu * x[0] {
            found.push([x[0], x[1], x[2]]);
        }
    }
    let at = |angle: f64| -> Option<[f64; 3]> {
        let (s, c) = angle.sin_cos();
        let normal = -b[0] / (a[0] + mu * (a[1] * c + a[2] * s));
        (normal > 0.0).then_some([normal, mu * normal * c, mu * normal * s])
    };
    // Slip across the angle: zero where slip and friction are in line.
    let across = |angle: f64| at(angle).map(|x| w(&x)[2] * angle.cos() - w(&x)[1] * angle.sin());
    let steps = 2000;
    for k in 0..steps {
        let turn = std::f64::consts::TAU / steps as f64;
        let (mut low, mut high) = (k as f64 * turn, (k + 1) as f64 * turn);
        let (Some(first), Some(last)) = (across(low), across(high)) else { continue };
        if first.signum() == last.signum() {
            continue;
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            match across(middle) {
                Some(v) if v.signum() == first.signum() => low = middle,
                _ => high = middle,
            }
        }
        if let Some(x) = at(0.5 * (low + high)) {
            let slip = w(&x);
            if slip[1] * low.cos() + slip[2] * low.sin() <= 0.0 {
                found.push(x);
            }
        }
    }
    found
}

#[test]
fn a_thousand_contacts_are_solved() {
    let mut random = Random::new(2013);
    let mut solved = [0; 3];
    let (mut unique, mut ways) = (0, [0; 3]);
    for case in 0..1000 {
        let m: [f64; 9] = std::array::from_fn(|_| random.signed());
        let a: [f64; 9] = std::array::from_fn(|k| {
            let (i, j) = (k / 3, k % 3);
            (0..3).map(|l| m[3 * i + l] * m[3 * j + l]).sum::<f64>() + if i == j { 0.1 } else { 0.0 }
        });
        let b: [f64; 3] = std::array::from_fn(|i| 2.0 * random.signed() - if i == 0 { 0.7 } else { 0.0 });
        let mu = random.range(0.0, 1.2);
        let all = solutions(&a, &b, mu);
        assert!(!all.is_empty(), "case {case}: the search found no solution");
        unique += usize::from(all.len() == 1);
        ways[if all[0] == [0.0; 3] {
            0
        } else if all[0][1].hypot(all[0][2]) < 0.999999 * mu * all[0][0] {
            1
        } else {
            2
        }] += 1;
        let problem = one_contact(&a, &b, mu);
        for (k, kind) in KINDS.into_iter().enumerate() {
            let mut engine = patient(kind, 0);
            let report = *engine.solve(&problem, None, None).unwrap();
            let x: [f64; 3] = engine.x().try_into().unwrap();
            let w: [f64; 3] = std::array::from_fn(|i| b[i] + (0..3).map(|j| a[3 * i + j] * x[j]).sum::<f64>());
            let natural = natural_of_row(x[0], w[0], 0.0, f64::INFINITY)
                + natural_of_disc([x[1], x[2]], [w[1], w[2]], mu * x[0].max(0.0));
            assert!((natural - report.natural).abs() <= 1e-12, "case {case}: {natural:e} {:e}", report.natural);
            let apart = |s: &[f64; 3]| (0..3).map(|i| (s[i] - x[i]).abs()).fold(0.0, f64::max);
            let near = all.iter().map(apart).fold(f64::INFINITY, f64::min);
            let good = natural <= 1e-8;
            solved[k] += usize::from(good);
            // The matrices' condition is below 1e3 or so: a residual of 1e-8 leaves 1e-5 in x, and the search 1e-9.
            assert!(!good || near <= 1e-5, "case {case}, {}: {x:?} is {near:e} from {all:?}", kind.name());
            assert!(good || kind != SolverKind::AlartCurnier, "case {case}: {natural:e}, {report:?}");
        }
    }
    println!(
        "solved by prox, prox-gs, alart-curnier: {solved:?} of 1000; unique {unique}; open, stick, slide {ways:?}"
    );
    assert!(ways.iter().all(|&w| w > 100), "{ways:?}");
    assert!(unique > 900, "{unique}");
    assert_eq!(solved[2], 1000);
    assert!(solved[0] >= 950 && solved[1] >= 990, "{solved:?}");
}
