//! Rows of zeros among others: no effective mass, no energy, only the natural residual can judge.

use super::redundant::{bounded, gram};
use crate::planted::{Habits, Planted};
use crate::random::Random;
use crate::rows::Matrix;

/// A redundant or definite base with one to four rows and columns of zeros.
pub fn make(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let n = random.between(1, 12);
    let rank = random.between(1, n + 2);
    let Matrix::Dense(mut a) = gram(n, rank, random.vector(n * rank)) else { unreachable!("a dense matrix") };
    for _ in 0..random.between(1, n.min(4)) {
        let row = random.below(n);
        (0..n).for_each(|j| (a[row * n + j], a[j * n + row]) = (0.0, 0.0));
    }
    let draft = bounded(Matrix::Dense(a), &mut random);
    let habits = Habits { at_bound: random.pick(&[0.3, 0.6]), by_mass: random.chance(0.5), ..Habits::default() };
    draft.plant(&habits, &mut random)
}
