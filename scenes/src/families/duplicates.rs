//! Rows that stand there more than once, in other units or turned round.

use super::redundant::{bounded, gram};
use crate::planted::{Habits, Planted};
use crate::random::Random;

/// A definite or redundant base, each row of which comes up to four times more, times 1, -1, 2 or 1e-3.
pub fn make(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let base = random.between(1, 18);
    let rank = random.between(1, base + 2);
    let mut rows: Vec<Vec<f64>> = (0..base).map(|_| random.vector(rank)).collect();
    for _ in 0..random.between(1, 3 * base) {
        let (from, factor) = (random.below(rows.len()), random.pick(&[1.0, -1.0, 2.0, 1e-3]));
        let row = rows[from].iter().map(|v| factor * v).collect();
        rows.push(row);
    }
    let order = random.order(rows.len());
    let g = order.iter().flat_map(|&i| rows[i].clone()).collect();
    let draft = bounded(gram(rows.len(), rank, g), &mut random);
    let habits = Habits { at_bound: random.pick(&[0.3, 0.5, 0.8]), by_mass: random.chance(0.5), ..Habits::default() };
    draft.plant(&habits, &mut random)
}
