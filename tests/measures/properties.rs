//! What holds for every row (theory: zero exactly at solutions, non-negative, continuous, mirror, row scaling).

use super::{At, ROW_MEASURES};
use mlcp::Measure;
use proptest::prelude::*;

const INF: f64 = f64::INFINITY;

/// Cases are printed by proptest itself when one fails; no regression files beside the tests.
fn config() -> ProptestConfig {
    ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() }
}

/// Numbers as they occur: zero, and magnitudes over twelve decades of either sign. No under- or overflow in squares.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        1 => Just(0.0),
        8 => (-6.0..6.0f64, any::<bool>()).prop_map(|(e, negative)| 10f64.powf(e) * if negative { -1.0 } else { 1.0 }),
    ]
}

fn positive() -> impl Strategy<Value = f64> {
    (-6.0..6.0f64).prop_map(|e| 10f64.powf(e))
}

/// Every kind of bound.
fn bounds() -> impl Strategy<Value = (f64, f64)> {
    prop_oneof![
        Just((-INF, INF)),
        number().prop_map(|v| (v, INF)),
        number().prop_map(|v| (-INF, v)),
        number().prop_map(|v| (v, v)),
        (number(), positive()).prop_map(|(v, width)| (v, v + width)),
    ]
}

/// Any row; x is often exactly at a bound.
fn any_row() -> impl Strategy<Value = At> {
    (positive(), number(), number(), bounds(), 0..4).prop_map(|(a, x, w, (lo, hi), place)| {
        let x = match place {
            0 if lo.is_finite() => lo,
            1 if hi.is_finite() => hi,
            _ => x,
        };
        At { a, x, w, lo, hi }
    })
}

/// A row at a solution.
fn solved_row() -> impl Strategy<Value = At> {
    (positive(), number(), number(), bounds(), 0.0..1.0f64, 0..3).prop_map(
        |(a, x, w, (lo, hi), t, place)| match place {
            _ if lo == hi => At { a, x: lo, w, lo, hi },
            0 if lo.is_finite() => At { a, x: lo, w: w.abs(), lo, hi },
            1 if hi.is_finite() => At { a, x: hi, w: -w.abs(), lo, hi },
            _ => {
                let x = if lo.is_finite() && hi.is_finite() { lo + t * (hi - lo) } else { x.max(lo).min(hi) };
                At { a, x, w: 0.0, lo, hi }
            }
        },
    )
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn zero_at_solutions(row in solved_row()) {
        for measure in ROW_MEASURES {
            prop_assert_eq!(row.error(measure), 0.0, "{:?}", measure);
        }
    }

    /// The duality gap is only a measure of feasible x: beyond a bound it has nothing to say.
    #[test]
    fn positive_elsewhere(row in any_row()) {
        for measure in ROW_MEASURES {
            let error = row.error(measure);
            prop_assert!(error >= 0.0, "{:?} is {}", measure, error);
            let judges = measure != Measure::DualityGap || row.is_feasible();
            if judges {
                prop_assert_eq!(error == 0.0, row.is_solution(), "{:?} is {}", measure, error);
            }
        }
    }

    #[test]
    fn mirrored_rows_err_alike(row in any_row()) {
        let mirrored = At { a: row.a, x: -row.x, w: -row.w, lo: -row.hi, hi: -row.lo };
        for measure in ROW_MEASURES {
            prop_assert_eq!(row.error(measure), mirrored.error(measure), "{:?}", measure);
        }
    }

    /// J_i -> s J_i with s a power of two: every operation of the energy scales exactly, so the bits are the same.
    #[test]
    fn row_scaling_leaves_the_energy_alone(row in any_row(), exponent in -40..40i32) {
        let s = 2f64.powi(exponent);
        let scaled = At { a: row.a * s * s, x: row.x / s, w: row.w * s, lo: row.lo / s, hi: row.hi / s };
        prop_assert_eq!(row.error(Measure::Energy), scaled.error(Measure::Energy));
        prop_assert_eq!(row.error(Measure::DualityGap), scaled.error(Measure::DualityGap));
    }

    /// Any s: up to the rounding of the scaled numbers themselves. Where x is close to a bound their difference
    /// magnifies it, hence the room of eps times the bound's size.
    #[test]
    fn row_scaling_by_any_factor(row in any_row(), s in 1e-3..1e3f64) {
        let scaled = At { a: row.a * s * s, x: row.x / s, w: row.w * s, lo: row.lo / s, hi: row.hi / s };
        let (e, f) = (row.error(Measure::Energy).sqrt(), scaled.error(Measure::Energy).sqrt());
        let size = [row.x, row.lo, row.hi].iter().filter(|v| v.is_finite()).fold(0.0f64, |m, v| m.max(v.abs()));
        let room = 8.0 * f64::EPSILON * (e + row.a.sqrt() * size);
        prop_assert!((e - f).abs() <= room, "{e} {f} room {room}");
    }

    /// sqrt(e) is a maximum of minima of |δ| sqrt(a/2) and |w| / sqrt(2a), so it is Lipschitz with those constants.
    /// phi has partial derivatives in [0, 2]; the minimum has them in [0, 1].
    #[test]
    fn small_changes_change_little(row in any_row(), dx in -1e-3..1e-3f64, dw in -1e-3..1e-3f64) {
        let near = At { x: row.x + dx, w: row.w + dw, ..row };
        let (dx, dw) = ((near.x - row.x).abs(), (near.w - row.w).abs());
        let change = |measure| (row.error(measure) - near.error(measure)).abs();
        // Rounding of the differences to the bounds and of the squares.
        let size = [row.x, row.w, row.lo, row.hi].iter().filter(|v| v.is_finite()).fold(1.0f64, |m, v| m.max(v.abs()));
        let noise = 16.0 * f64::EPSILON * size;
        prop_assert!(change(Measure::Natural) <= dx.max(dw) + noise);
        prop_assert!(change(Measure::FischerBurmeister) <= 2.0 * (dx + dw) + noise);
        let root = (row.error(Measure::Energy).sqrt() - near.error(Measure::Energy).sqrt()).abs();
        let (by_x, by_w) = ((dx + noise) * (0.5 * row.a).sqrt(), (dw + noise) / (2.0 * row.a).sqrt());
        prop_assert!(root <= by_x.max(by_w) * (1.0 + 1e-12), "{root} {by_x} {by_w}");
    }

    /// Known bounds between the two residuals (Tseng 1996): (2-√2) |min| <= |phi| <= (2+√2) |min|.
    #[test]
    fn residuals_bound_each_other(row in any_row()) {
        let (fb, natural) = (row.error(Measure::FischerBurmeister), row.error(Measure::Natural));
        let root = std::f64::consts::SQRT_2;
        prop_assert!(fb >= (2.0 - root) * natural * (1.0 - 1e-14), "{fb} {natural}");
        prop_assert!(fb <= (2.0 + root) * natural * (1.0 + 1e-14), "{fb} {natural}");
    }

    /// The formulas of the papers, written as they stand there, where that is numerically harmless: bounds finite.
    #[test]
    fn rows_follow_the_formulas(row in any_row()) {
        let At { a, x, w, lo, hi } = row;
        let (up, down) = (w.max(0.0), (-w).max(0.0));
        let sq = |v: f64| v.max(0.0) * v.max(0.0);
        let energy = (0.5 * a * sq(x - hi))
            .max(0.5 * a * sq(lo - x))
            .max((up * up / (2.0 * a)).min(0.5 * a * sq(x - lo)))
            .max((down * down / (2.0 * a)).min(0.5 * a * sq(hi - x)));
        let close = |p: f64, q: f64| (p - q).abs() <= 1e-13 * p.abs().max(q.abs());
        prop_assert!(close(row.error(Measure::Energy), energy), "{} {energy}", row.error(Measure::Energy));
        let natural = (hi - x).min(down).abs().max((x - lo).min(up).abs());
        prop_assert_eq!(row.error(Measure::Natural), natural);
        if lo.is_finite() && hi.is_finite() {
            let phi = |p: f64, q: f64| p + q - p.hypot(q);
            let fb = phi(hi - x, down).abs().max(phi(x - lo, up).abs());
            // The textbook form cancels: its own error is a few ulps of its terms.
            let noise = 8.0 * f64::EPSILON * ((hi - x).abs() + (x - lo).abs() + w.abs());
            prop_assert!((row.error(Measure::FischerBurmeister) - fb).abs() <= noise);
            prop_assert!(close(row.error(Measure::Merit), 0.5 * row.error(Measure::FischerBurmeister).powi(2)));
            let gap = up * (x - lo).max(0.0) + down * (hi - x).max(0.0);
            prop_assert!(close(row.error(Measure::DualityGap), gap));
            let l = mlcp::metrics::DEFAULT_LAMBDA;
            let side = |p: f64, q: f64| (l * phi(p, q) + (1.0 - l) * p.max(0.0) * q).abs();
            let penalized = side(hi - x, down).max(side(x - lo, up));
            prop_assert!((row.error(Measure::Penalized) - penalized).abs() <= noise + 1e-13 * penalized);
        }
    }

    /// A far bound is almost no bound. phi(p, q) = q - q²/2p + O(p⁻²), the others are equal once the bound is far
    /// enough. The penalised residual and the gap grow with the bound by their definition: no limit there.
    #[test]
    fn infinite_bounds_are_limits(a in 1e-3..1e3f64, x in -10.0..10.0f64, w in -10.0..10.0f64, lower in any::<bool>()) {
        let far = 1e9;
        let (near, limit) = if lower { ((-far, 5.0), (-INF, 5.0)) } else { ((-5.0, far), (-5.0, INF)) };
        let finite = At { a, x, w, lo: near.0, hi: near.1 };
        let infinite = At { a, x, w, lo: limit.0, hi: limit.1 };
        prop_assert_eq!(finite.error(Measure::Energy), infinite.error(Measure::Energy));
        prop_assert_eq!(finite.error(Measure::Natural), infinite.error(Measure::Natural));
        let (f, i) = (finite.error(Measure::FischerBurmeister), infinite.error(Measure::FischerBurmeister));
        prop_assert!((f - i).abs() <= w * w / far, "{f} {i}");
        let (f, i) = (finite.error(Measure::Merit), infinite.error(Measure::Merit));
        prop_assert!((f - i).abs() <= 20.0 * w * w / far, "{f} {i}");
    }
}
