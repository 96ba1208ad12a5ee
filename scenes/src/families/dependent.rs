//! Rows that are nearly, not quite, combinations of others.

use super::redundant::{bounded, gram};
use crate::planted::{Habits, Planted};
use crate::random::Random;

/// Copies of rows, off by 1e-4 to 1e-9 of their size: singular for some arithmetic, regular for other.
pub fn make(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let (base, rank) = (random.between(1, 6), random.between(2, 8));
    let mut rows: Vec<Vec<f64>> = (0..base).map(|_| random.vector(rank)).collect();
    for _ in 0..random.between(1, base) {
        let from = random.below(base);
        let apart = random.scale(1e-9, 1e-4);
        let row = rows[from].iter().map(|v| v + apart * random.signed()).collect();
        rows.push(row);
    }
    let n = rows.len();
    let draft = bounded(gram(n, rank, rows.concat()), &mut random);
    let habits = Habits { at_bound: random.pick(&[0.3, 0.6]), by_mass: random.chance(0.5), ..Habits::default() };
    draft.plant(&habits, &mut random)
}
