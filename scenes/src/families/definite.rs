//! Definite matrices, well and badly conditioned, with every kind of bound.

use super::redundant::{bounded, gram};
use crate::planted::{Habits, Planted};
use crate::random::Random;
use crate::rows::Matrix;

/// `A = G D Gᵀ + ε I` with condition numbers to about 1e12.
pub fn make(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let n = random.between(1, 30);
    let rank = n + random.below(4);
    let spread: f64 = random.pick(&[1.0, 1e2, 1e4, 1e6]);
    let weights: Vec<f64> = (0..rank).map(|k| spread.powf(-(k as f64) / rank as f64)).collect();
    let g: Vec<f64> = (0..n * rank).map(|k| weights[k % rank] * random.signed()).collect();
    let Matrix::Dense(mut a) = gram(n, rank, g) else { unreachable!("a dense matrix") };
    let more = random.pick(&[0.0, 1e-9, 1e-3]);
    (0..n).for_each(|i| a[i * n + i] += more);
    let draft = bounded(Matrix::Dense(a), &mut random);
    let habits = Habits { at_bound: random.pick(&[0.3, 0.6]), by_mass: random.chance(0.5), ..Habits::default() };
    draft.plant(&habits, &mut random)
}
