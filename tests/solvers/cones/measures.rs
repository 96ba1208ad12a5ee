//! The measures on discs: what they are on a line, in another basis, in other units, and where a report puts them.

use super::{natural_of_disc, one_contact, patient};
use crate::common::Random;
use mlcp::metrics::Disc;
use mlcp::{Engine, Measure, Settings, SolverKind};

const SUMS: [Measure; 6] = [
    Measure::Energy,
    Measure::FischerBurmeister,
    Measure::Natural,
    Measure::Merit,
    Measure::Penalized,
    Measure::DualityGap,
];

/// A disc with the impulse inside, on or beyond its rim.
fn random_disc(random: &mut Random) -> Disc {
    let a = random.scale(0.1, 10.0);
    let radius = if random.chance(0.1) { f64::INFINITY } else { random.range(0.0, 2.0) };
    let size = match random.below(4) {
        0 => 0.0,
        1 if radius.is_finite() => radius,
        _ => random.range(0.0, 3.0),
    };
    let (angle, heading) = (random.range(0.0, 6.3), random.range(0.0, 6.3));
    let speed = if random.chance(0.2) { 0.0 } else { random.scale(0.01, 10.0) };
    Disc {
        diagonal: [a, random.range(0.5, 2.0) * a],
        x: [size * angle.cos(), size * angle.sin()],
        w: [speed * heading.cos(), speed * heading.sin()],
        radius,
    }
}

fn close(p: f64, q: f64) -> bool {
    p == q || (p - q).abs() <= 1e-10 * (1.0 + p.abs().max(q.abs()))
}

#[test]
fn on_a_line_a_disc_is_a_row() {
    let mut random = Random::new(4);
    for _ in 0..20_000 {
        let disc = random_disc(&mut random);
        let (a, r) = (disc.diagonal[0], disc.radius);
        let sign = random.pick(&[-1.0, 1.0]);
        let (x, w) = (disc.x[0].hypot(disc.x[1]) * sign, disc.w[0].hypot(disc.w[1]) * random.pick(&[-1.0, 1.0]));
        // Beyond the rim the penalised measure is a disc's own.
        for measure in SUMS.into_iter().filter(|&m| m != Measure::Penalized || x.abs() <= r) {
            let row = measure.row(a, x, w, -r, r);
            for turned in [
                Disc { diagonal: [a, a], x: [x, 0.0], w: [w, 0.0], radius: r },
                Disc { diagonal: [a, a], x: [0.0, x], w: [0.0, w], radius: r },
            ] {
                let both = turned.error(measure);
                assert!(close(row, both), "{measure:?} of {turned:?}: {both:e}, of the row {row:e}");
            }
        }
    }
}

#[test]
fn another_basis_changes_nothing() {
    let mut random = Random::new(5);
    for _ in 0..20_000 {
        let disc = random_disc(&mut random);
        let (s, c) = random.range(0.0, 6.3).sin_cos();
        let turn = |v: [f64; 2]| [c * v[0] - s * v[1], s * v[0] + c * v[1]];
        // Diagonals of a rotated block: their sum stays, here with no entry off the diagonal before.
        let [p, q] = disc.diagonal;
        let turned = Disc {
            diagonal: [c * c * p + s * s * q, s * s * p + c * c * q],
            x: turn(disc.x),
            w: turn(disc.w),
            radius: disc.radius * (1.0 + 1e-15),
        };
        for measure in SUMS {
            let (e, f) = (disc.error(measure), turned.error(measure));
            // At the rim round-off decides between inside and outside; the roots of FB make 1e-15 to 1e-7.
            let noise = if matches!(measure, Measure::DualityGap) && e.is_infinite() { 0.0 } else { 1e-6 };
            assert!(e == f || (e - f).abs() <= noise * (1.0 + e), "{measure:?}: {e:e} {f:e} {disc:?} {turned:?}");
        }
    }
}

#[test]
fn errors_are_zero_exactly_at_solutions_and_never_nan() {
    let mut random = Random::new(6);
    for _ in 0..20_000 {
        let disc = random_disc(&mut random);
        let natural = natural_of_disc(disc.x, disc.w, disc.radius);
        assert!(close(natural, disc.error(Measure::Natural)), "{disc:?}");
        for measure in SUMS {
            let e = disc.error(measure);
            assert!(e >= 0.0, "{measure:?} of {disc:?} is {e}");
            if natural > 1e-3 && measure != Measure::DualityGap {
                assert!(e > 1e-9, "{measure:?} of {disc:?} is {e:e}, natural {natural:e}");
            }
        }
        // Solutions: rest inside, opposed at the rim, nothing at all.
        let size = disc.x[0].hypot(disc.x[1]);
        let speed = disc.w[0].hypot(disc.w[1]);
        let mut solutions =
            vec![Disc { x: [0.0; 2], radius: 0.0, ..disc }, Disc { w: [0.0; 2], radius: size + 1.0, ..disc }];
        if size > 0.0 {
            solutions.push(Disc { w: disc.x.map(|v| -v * speed / size), radius: size, ..disc });
        }
        for solution in solutions {
            for measure in SUMS {
                let e = solution.error(measure);
                assert!(e <= 1e-12 * (1.0 + speed * (1.0 + speed)), "{measure:?} of {solution:?}: {e:e}");
            }
        }
    }
    for v in [0.0, 5e-324, 1e-160, 1.0, 1e160, 1e300, f64::MAX] {
        for w in [0.0, -5e-324, 1.0, -1e200, f64::MAX] {
            for radius in [0.0, 5e-324, 1.0, 1e300, f64::INFINITY] {
                for a in [5e-324, 1.0, 1e300] {
                    let disc = Disc { diagonal: [a, a], x: [v, -0.5 * v], w: [w, v], radius };
                    for measure in SUMS {
                        let e = disc.error(measure);
                        assert!(e >= 0.0, "{measure:?} of {disc:?} is {e}");
                    }
                }
            }
        }
    }
}

#[test]
fn units_do_not_change_the_energy() {
    let mut random = Random::new(7);
    for _ in 0..2000 {
        let disc = random_disc(&mut random);
        // Metres to millimetres, kilograms to grams: energies times 1e9.
        let (m, kg) = (1e3, 1e3);
        let impulse = m * kg;
        let other = Disc {
            diagonal: disc.diagonal.map(|a| a / kg),
            x: disc.x.map(|v| v * impulse),
            w: disc.w.map(|v| v * m),
            radius: disc.radius * impulse,
        };
        let (e, f) = (disc.error(Measure::Energy), other.error(Measure::Energy));
        assert!((e * kg * m * m - f).abs() <= 1e-9 * f.max(1e-3), "{e:e} {f:e} {disc:?}");
    }
}

#[test]
fn a_report_names_the_first_tangent_row() {
    let a = [2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 3.0];
    // The contact carries 0.5 N s, and slides at 5 m/s; the start is what would hold it.
    let problem = one_contact(&a, &[-1.0, 3.0, -4.0], 0.5);
    let mut engine =
        Engine::new(Settings { solver: SolverKind::ProxGs, max_iterations: 1, ..Settings::default() }).unwrap();
    // Stopped at once: the answer is the start, moved into the disc.
    let report = *engine.solve(&problem, Some(&[0.5, 0.3, 0.4]), Some(&mut |_| true)).unwrap();
    let x = engine.x();
    assert!((x[1] - 0.15).abs() < 1e-15 && (x[2] - 0.2).abs() < 1e-15 && x[0] == 0.5, "{x:?}");
    let w = [0.0, 3.0 + 0.15, -4.0 + 0.6];
    let mean = 2.0;
    let z = [x[1] - w[1] / mean, x[2] - w[2] / mean];
    let scale = 0.25 / z[0].hypot(z[1]);
    let by_hand = 0.5 * mean * ((x[1] - scale * z[0]).powi(2) + (x[2] - scale * z[1]).powi(2));
    assert!((report.energy_error - by_hand).abs() <= 1e-15, "{} {by_hand}", report.energy_error);
    let rows = engine.row_errors();
    assert_eq!((rows[0], rows[1], rows[2]), (0.0, report.energy_error, 0.0));
    let (mut worst, mut errors) = ([9; 3], [0.0; 3]);
    assert_eq!(engine.worst_rows(&mut worst, &mut errors), 1);
    assert_eq!((worst[0], errors[0]), (1, report.energy_error));
    // Every measure can choose, and the gap is never chosen outside the disc.
    for measure in SUMS {
        let settings = Settings {
            solver: SolverKind::ProxGs,
            choice: mlcp::Choice::Best(measure),
            relative_tolerance: 1e-24,
            energy_tolerance: 0.0,
            ..Settings::default()
        };
        let mut engine = Engine::new(settings).unwrap();
        let report = *engine.solve(&problem, None, None).unwrap();
        assert!(report.natural <= 1e-8, "{measure:?}: {report:?}");
        let x = engine.x();
        assert!(x[1].hypot(x[2]) <= 0.5 * x[0] * (1.0 + 1e-15), "{x:?}");
    }
    let mut engine = patient(SolverKind::AlartCurnier, 0);
    let report = *engine.solve(&problem, None, None).unwrap();
    assert!(report.duality_gap.is_finite() && report.merit < 1e-16 && report.penalized < 1e-8, "{report:?}");
}
