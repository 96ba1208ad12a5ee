//! Units: the energy error is one number of joules in all of them; the residuals that add N·s to m/s are not.

use super::total;
use crate::common::problems::{ROD_A, ROD_B};
use crate::common::Random;
use mlcp::Measure;

/// A system of units, as multiples of SI: how many of its units make one kilogram, one metre.
#[derive(Clone, Copy, Debug)]
struct Units {
    mass: f64,
    length: f64,
}

impl Units {
    /// Factors of a row's impulse and velocity. Linear: kg m/s and m/s; angular: kg m²/s and rad/s.
    fn row(self, angular: bool) -> (f64, f64) {
        let arm = if angular { self.length } else { 1.0 };
        (self.mass * self.length * arm, self.length / arm)
    }

    fn energy(self) -> f64 {
        self.mass * self.length * self.length
    }
}

/// An iterate of a mixed problem: linear and angular rows, boxed and not.
struct Iterate {
    diagonal: Vec<f64>,
    x: Vec<f64>,
    w: Vec<f64>,
    lo: Vec<f64>,
    hi: Vec<f64>,
}

impl Iterate {
    fn total(&self, measure: Measure) -> f64 {
        total(measure, &self.diagonal, &self.x, &self.w, &self.lo, &self.hi)
    }

    fn rows(&self) -> Vec<f64> {
        (0..self.x.len())
            .map(|i| Measure::Energy.row(self.diagonal[i], self.x[i], self.w[i], self.lo[i], self.hi[i]))
            .collect()
    }

    fn expressed_in(&self, units: Units, angular: &[bool]) -> Iterate {
        let factors: Vec<(f64, f64)> = angular.iter().map(|&a| units.row(a)).collect();
        let times = |v: &[f64], f: &dyn Fn((f64, f64)) -> f64| v.iter().zip(&factors).map(|(v, &k)| v * f(k)).collect();
        Iterate {
            diagonal: times(&self.diagonal, &|(x, w)| w / x),
            x: times(&self.x, &|(x, _)| x),
            w: times(&self.w, &|(_, w)| w),
            lo: times(&self.lo, &|(x, _)| x),
            hi: times(&self.hi, &|(x, _)| x),
        }
    }
}

/// Two iterates of one random problem: A x + b with the same A and b, x different.
fn two_iterates(seed: u64) -> (Iterate, Iterate, Vec<bool>) {
    let mut random = Random::new(seed);
    let n = 1 + random.below(8);
    let problem = crate::common::SmallProblem::random(
        seed,
        n,
        1 + random.below(n),
        crate::common::problems::Load::Any,
        &crate::common::Kind::ALL,
    );
    let angular: Vec<bool> = (0..n).map(|_| random.chance(0.5)).collect();
    let mut iterate = || {
        let x = random.vector(n);
        Iterate { diagonal: problem.diagonal(), w: problem.w(&x), x, lo: problem.lo.clone(), hi: problem.hi.clone() }
    };
    let first = iterate();
    (first, iterate(), angular)
}

const SYSTEMS: [Units; 4] = [
    Units { mass: 1e3, length: 1e2 },             // g, cm
    Units { mass: 1e3, length: 1.0 },             // g, m
    Units { mass: 1e-3, length: 1e3 },            // t, mm
    Units { mass: 2.2046226, length: 3.2808399 }, // lb, ft
];

#[test]
fn energy_changes_by_one_factor_and_never_reorders() {
    for seed in 0..2000 {
        let (first, second, angular) = two_iterates(seed);
        for units in SYSTEMS {
            let (p, q) = (first.expressed_in(units, &angular), second.expressed_in(units, &angular));
            for (old, new) in [(&first, &p), (&second, &q)] {
                let size = old.rows().iter().fold(0.0f64, |m, v| m.max(*v));
                for (e, f) in old.rows().iter().zip(new.rows()) {
                    // Every number was rounded once or twice on the way; differences to bounds magnify that by the
                    // size of the numbers (of order one) over the difference, and energies are squares.
                    let gap = (e.sqrt() - (f / units.energy()).sqrt()).abs();
                    assert!(gap <= 1e-14 * (1.0 + size.sqrt()), "seed {seed} {units:?}: {e} {f}");
                }
            }
            let (e, f) = (first.total(Measure::Energy), second.total(Measure::Energy));
            if (e - f).abs() > 1e-12 * (e + f) {
                let flipped = (e < f) != (p.total(Measure::Energy) < q.total(Measure::Energy));
                assert!(!flipped, "seed {seed} {units:?}: the order of {e} and {f} flipped");
            }
        }
    }
}

/// Two iterates of the paper's rod, the first two index sets a pivoting method may look at: both contacts open, and the
/// paper's guess x1 = 0, w2 = 0. From SI to the mm-tonne-second system of CAD and finite elements, impulses keep their
/// numbers (1 kg m/s = 1 t mm/s) and velocities become 1000 times larger ones. Which iterate is better must not depend
/// on that.
#[test]
fn units_flip_fb_and_natural_but_not_energy() {
    let iterate = |x: [f64; 2]| Iterate {
        diagonal: vec![ROD_A[0], ROD_A[3]],
        w: vec![ROD_A[0] * x[0] + ROD_A[1] * x[1] + ROD_B[0], ROD_A[2] * x[0] + ROD_A[3] * x[1] + ROD_B[1]],
        x: x.to_vec(),
        lo: vec![0.0; 2],
        hi: vec![f64::INFINITY; 2],
    };
    let (open, guess) = (iterate([0.0, 0.0]), iterate([0.0, -0.1019]));
    let units = Units { mass: 1e-3, length: 1e3 };
    let (open_mm, guess_mm) = (open.expressed_in(units, &[false; 2]), guess.expressed_in(units, &[false; 2]));
    println!(
        "open:  x = {:?} N s, w = {:?} m/s;  in t, mm, s: x = {:?}, w = {:?}",
        open.x, open.w, open_mm.x, open_mm.w
    );
    println!(
        "guess: x = {:?} N s, w = {:?} m/s;  in t, mm, s: x = {:?}, w = {:?}",
        guess.x, guess.w, guess_mm.x, guess_mm.w
    );
    println!("measure              kg, m, s: open     guess       t, mm, s: open     guess");
    for measure in [Measure::FischerBurmeister, Measure::Natural, Measure::Merit, Measure::Penalized, Measure::Energy] {
        let si = (open.total(measure), guess.total(measure));
        let mm = (open_mm.total(measure), guess_mm.total(measure));
        println!("{:18} {:15.6} {:9.6} {:19.4} {:9.4}", format!("{measure:?}"), si.0, si.1, mm.0, mm.1);
        let flips = (si.0 < si.1) != (mm.0 < mm.1);
        assert_eq!(flips, measure != Measure::Energy, "{measure:?}");
    }
    // Energies: joules and millijoules.
    let (e, e_mm) = (guess.total(Measure::Energy), guess_mm.total(Measure::Energy));
    assert!((e_mm / e / 1000.0 - 1.0).abs() < 1e-15, "{e} J, {e_mm} mJ");
    assert!(e < open.total(Measure::Energy));
}

/// A change of the length unit alone leaves linear rows' ratio of x to w alone, but not angular ones'.
#[test]
fn row_kinds_scale_differently() {
    let mm = Units { mass: 1.0, length: 1e3 };
    assert_eq!(mm.row(false), (1e3, 1e3));
    assert_eq!(mm.row(true), (1e6, 1.0));
    assert_eq!(mm.energy(), 1e6);
}
