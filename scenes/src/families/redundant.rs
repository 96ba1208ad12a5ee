//! Random semidefinite matrices of a rank below their size, with every kind of bound.

use crate::planted::{Draft, Habits, Planted};
use crate::random::Random;
use crate::rows::{symmetrize, Matrix};

/// `A = G Gᵀ` with real entries in G.
pub fn real(seed: u64) -> Planted {
    make(seed, |random| random.signed())
}

/// `A = G Gᵀ` with whole numbers from -2 to 2 in G.
pub fn integer(seed: u64) -> Planted {
    make(seed, |random| random.between(0, 4) as f64 - 2.0)
}

fn make(seed: u64, entry: impl Fn(&mut Random) -> f64) -> Planted {
    let mut random = Random::new(seed);
    let n = random.between(2, 16);
    let rank = random.between(1, n - 1);
    let g: Vec<f64> = (0..n * rank).map(|_| entry(&mut random)).collect();
    let draft = bounded(gram(n, rank, g), &mut random);
    let habits = Habits {
        at_bound: random.pick(&[0.3, 0.5, 0.8]),
        graze: random.pick(&[0.0, 0.2]),
        by_mass: random.chance(0.5),
        ..Habits::default()
    };
    draft.plant(&habits, &mut random)
}

/// `G Gᵀ` by plain loops; a row of zeros becomes a unit row.
pub fn gram(n: usize, rank: usize, mut g: Vec<f64>) -> Matrix {
    for row in g.chunks_exact_mut(rank) {
        if row.iter().all(|&v| v == 0.0) {
            row[0] = 1.0;
        }
    }
    let dot = |i: usize, j: usize| (0..rank).map(|k| g[i * rank + k] * g[j * rank + k]).sum::<f64>();
    let mut a: Vec<f64> = (0..n * n).map(|k| dot(k / n, k % n)).collect();
    symmetrize(n, &mut a);
    Matrix::Dense(a)
}

/// Bounds for every row: free, one-sided from 0 or elsewhere, boxed around 0 or beside it, fixed now and then.
pub fn bounded(matrix: Matrix, random: &mut Random) -> Draft {
    let mut draft = Draft::free(matrix);
    let plain = random.chance(0.6);
    for i in 0..draft.lo.len() {
        let edge = if plain || random.chance(0.5) { 0.0 } else { random.signed() };
        let (near, far) = (random.range(0.05, 1.0), random.range(0.05, 1.0));
        let kinds = if plain { 3 } else { 6 };
        (draft.lo[i], draft.hi[i]) = match random.below(kinds) {
            0 => (f64::NEG_INFINITY, f64::INFINITY),
            1 => (edge, f64::INFINITY),
            2 => (-near, far),
            3 => (f64::NEG_INFINITY, edge),
            4 => (near, near + far),
            _ => (edge, edge),
        };
    }
    draft
}
