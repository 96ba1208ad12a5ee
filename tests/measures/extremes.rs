//! Numbers at the edges of what a double holds: never NaN, never negative, never a zero that hides an error.

use super::{At, ROW_MEASURES};
use mlcp::metrics::penalized_row;
use mlcp::Measure;

const INF: f64 = f64::INFINITY;

const SIZES: [f64; 14] =
    [0.0, 5e-324, 1e-310, 2.3e-308, 1e-200, 1e-150, 1e-9, 1.0, 1e9, 1e150, 1e200, 1e300, 8e307, f64::MAX];

fn signed() -> Vec<f64> {
    SIZES.iter().flat_map(|&v| [v, -v]).skip(1).collect()
}

/// Bounds of many sizes, or absent.
fn bounds() -> Vec<(f64, f64)> {
    let edges = [0.0, 5e-324, -5e-324, 1e-200, 1.0, -1.0, 1e10, -1e10, 1e300, -1e300];
    let mut all = vec![(-INF, INF)];
    for lo in edges {
        all.push((lo, INF));
        all.push((-INF, lo));
        all.extend(edges.iter().filter(|&&hi| hi >= lo).map(|&hi| (lo, hi)));
    }
    all
}

fn every_row(mut check: impl FnMut(At)) {
    for (lo, hi) in bounds() {
        for &x in &signed() {
            for &w in &signed() {
                for a in [5e-324, 1e-310, 1e-200, 1e-9, 1.0, 1e200, 1e300, f64::MAX] {
                    check(At { a, x, w, lo, hi });
                }
            }
        }
    }
}

#[test]
fn never_nan_and_never_negative() {
    every_row(|row| {
        for measure in ROW_MEASURES {
            let error = row.error(measure);
            assert!(error >= 0.0, "{measure:?} of {row:?} is {error}");
        }
    });
}

/// |phi| >= (2-√2) |min| (Tseng 1996). A NaN on one side of the maximum would show as a zero here.
#[test]
fn residuals_do_not_vanish_at_extremes() {
    every_row(|row| {
        let (fb, natural) = (row.error(Measure::FischerBurmeister), row.error(Measure::Natural));
        // The factor falls between two subnormals at the very bottom.
        assert!(fb >= 0.585 * natural || natural < 1e-320, "{row:?}: Fischer-Burmeister {fb}, natural {natural}");
        assert!(fb <= 3.42 * natural || natural < 1e-320, "{row:?}: Fischer-Burmeister {fb}, natural {natural}");
        let penalized = row.error(Measure::Penalized);
        assert!(penalized >= 0.94 * fb || fb < 1e-320, "{row:?}: penalised {penalized}, Fischer-Burmeister {fb}");
    });
}

/// A small impulse beyond its bound beside a large velocity: phi(p, q) = p - p²/(hypot(p, q) + q) for p < 0, which has
/// no cancellation, so that a relative error of a few ulps is all there may be.
#[test]
fn fischer_burmeister_keeps_its_digits() {
    for exponent in 0..40 {
        let p = -(10f64.powi(-exponent));
        for q in [1e-3, 1.0, 1e3] {
            let row = At { a: 1.0, x: p, w: q, lo: 0.0, hi: INF };
            let (expected, found) = ((p - p * p / (p.hypot(q) + q)).abs(), row.error(Measure::FischerBurmeister));
            assert!((found - expected).abs() <= 1e-15 * expected, "{row:?}: {found:e}, expected {expected:e}");
        }
    }
}

/// With lambda = 1 the penalised residual is the Fischer-Burmeister residual, whatever the product would be.
#[test]
fn penalized_with_lambda_one_is_fischer_burmeister() {
    every_row(|row| {
        let (penalized, fb) = (penalized_row(row.x, row.w, row.lo, row.hi, 1.0), row.error(Measure::FischerBurmeister));
        assert_eq!(penalized, fb, "{row:?}");
    });
}

/// No square overflows or underflows here, so a row that is not solved must show.
#[test]
fn energy_vanishes_only_at_solutions() {
    every_row(|row| {
        let moderate = |v: f64| v == 0.0 || (1e-70..=1e70).contains(&v.abs());
        if [row.a, row.x, row.w].into_iter().all(moderate)
            && [row.lo, row.hi].iter().all(|v| moderate(*v) || v.is_infinite())
        {
            assert_eq!(row.error(Measure::Energy) == 0.0, row.is_solution(), "{row:?}");
        }
    });
}
