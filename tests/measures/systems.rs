//! Measures of whole problems: the duality gap against the true optimum, exact masses, sums.

use super::{total, ROW_MEASURES};
use crate::common::oracle::{self, eliminate, objective};
use crate::common::problems::{Kind, Load, SmallProblem};
use crate::common::rows::{Options, RowProblem};
use crate::common::{Form, Random};
use mlcp::metrics::{exact_diagonal, ExactMassWorkspace, Point};
use mlcp::problem::Cones;
use mlcp::{Measure, Status};

/// `f(x) - min f <= Σ w+ (x-lo) + w- (hi-x)` for feasible x. The optimum comes from enumeration.
#[test]
fn duality_gap_bounds_the_distance_to_the_optimum() {
    let mut finite = 0;
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        let n = 1 + random.below(5);
        let rank = 1 + random.below(n);
        let p = SmallProblem::random(seed, n, rank, Load::Any, &Kind::ALL);
        let Some(best) = oracle::solution(n, &p.a, &p.b, &p.lo, &p.hi) else { continue };
        let least = objective(n, &p.a, &p.b, &best.x);
        for _ in 0..3 {
            let x = p.clamp(&random.vector(n));
            let above = objective(n, &p.a, &p.b, &x) - least;
            let gap = total(Measure::DualityGap, &p.diagonal(), &x, &p.w(&x), &p.lo, &p.hi);
            // The oracle's solution satisfies its conditions to 1e-9 of numbers of order one.
            assert!(above >= -1e-8, "seed {seed}: {above} below the optimum");
            assert!(above <= gap + 1e-8, "seed {seed}: {above} J above the optimum, gap {gap} J");
            finite += usize::from(gap.is_finite());
        }
    }
    assert!(finite > 1000, "only {finite} finite gaps were tested");
}

/// At the oracle's solutions every measure vanishes, up to the oracle's own 1e-9.
#[test]
fn measures_vanish_at_enumerated_solutions() {
    for seed in 0..500 {
        let n = 1 + seed as usize % 6;
        let p = SmallProblem::random(seed, n, n, Load::Any, &Kind::ALL);
        let best = oracle::solution(n, &p.a, &p.b, &p.lo, &p.hi).expect("definite problems have a solution");
        for measure in ROW_MEASURES.into_iter().filter(|&m| m != Measure::DualityGap) {
            let error = total(measure, &p.diagonal(), &best.x, &best.w, &p.lo, &p.hi);
            assert!(error <= 1e-7, "seed {seed} {measure:?}: {error}");
        }
    }
}

/// Totals are the sums of rows, in order, and the same bits when all are taken at once.
#[test]
fn totals_are_sums_of_rows() {
    for seed in 0..200 {
        let n = 1 + seed as usize % 8;
        let p = SmallProblem::random(seed, n, n, Load::Any, &Kind::ALL);
        let mut x = Random::new(seed).vector(n);
        if seed % 2 == 0 {
            x.iter_mut().enumerate().for_each(|(i, x)| *x = x.max(p.lo[i]).min(p.hi[i]));
        }
        let (w, diagonal) = (p.w(&x), p.diagonal());
        let at = Point { diagonal: &diagonal, x: &x, w: &w, lo: &p.lo, hi: &p.hi, cones: Cones::NONE };
        for measure in ROW_MEASURES {
            let mut rows = vec![0.0; n];
            at.rows(measure, &mut rows);
            assert_eq!(rows.iter().fold(0.0, |s, e| s + e), measure.total(&at), "{measure:?}");
        }
        let mut found = vec![0.0; n];
        let all = at.totals(Measure::Energy, &mut found);
        let mut rows = vec![0.0; n];
        at.rows(Measure::Energy, &mut rows);
        assert_eq!(found, rows);
        at.totals(Measure::Natural, &mut found);
        at.rows(Measure::Natural, &mut rows);
        assert_eq!(found, rows);
        for (measure, total) in [
            (Measure::Energy, all.energy),
            (Measure::FischerBurmeister, all.fischer_burmeister),
            (Measure::Natural, all.natural),
            (Measure::Merit, all.merit),
            (Measure::Penalized, all.penalized),
            (Measure::DualityGap, all.duality_gap),
        ] {
            assert_eq!(total.to_bits(), measure.total(&at).to_bits(), "{measure:?}");
        }
    }
}

/// `1/(A⁻¹)_ii` by elimination; never above a_ii.
#[test]
fn exact_masses_match_elimination_in_every_form() {
    let mut work = ExactMassWorkspace::default();
    for seed in 0..200 {
        let options = Options { rows: 1 + seed as usize % 8, compliance: true, ..Options::default() };
        let mut scene = RowProblem::random(seed, options);
        // Some compliance everywhere keeps A invertible with a condition number below 1e4.
        scene.compliance.iter_mut().for_each(|c| *c += 0.01);
        let n = scene.len();
        let a = scene.dense();
        for form in Form::ALL {
            let problem = scene.fill(form, None);
            let mut masses = vec![0.0; n];
            exact_diagonal(&problem, &mut work, &mut masses).unwrap();
            for i in 0..n {
                let mut unit = vec![0.0; n];
                unit[i] = 1.0;
                let column = eliminate(n, a.clone(), unit).unwrap();
                let expected = 1.0 / column[i];
                let gap = (masses[i] - expected).abs();
                assert!(gap <= 1e-10 * expected, "seed {seed} {form:?} row {i}: {} {expected}", masses[i]);
                assert!(masses[i] <= a[i * n + i] * (1.0 + 1e-14), "seed {seed} row {i}");
            }
        }
    }
}

#[test]
fn exact_masses_refuse_a_singular_matrix() {
    for seed in 0..100 {
        let p = SmallProblem::random(seed, 5, 3, Load::Any, &Kind::ALL);
        let error = exact_diagonal(&p.fill_dense(), &mut ExactMassWorkspace::default(), &mut [0.0; 5]).unwrap_err();
        assert_eq!(error.status(), Status::Singular, "seed {seed}: {error}");
    }
}
