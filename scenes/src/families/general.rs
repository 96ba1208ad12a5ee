//! Matrices that no mechanism makes: monotone but not symmetric, with and without a diagonal.

use super::redundant::bounded;
use crate::planted::{Draft, Habits, Planted};
use crate::random::Random;
use crate::rows::Matrix;

/// `A = G Gᵀ + S` with S skew: positive definite in its symmetric part, every row with an energy.
pub fn positive(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let n = random.between(1, 20);
    let g = random.vector(n * n);
    let mut a = vec![0.0; n * n];
    let skew = random.scale(0.01, 10.0);
    for i in 0..n {
        for j in 0..n {
            a[i * n + j] = (0..n).map(|k| g[i * n + k] * g[j * n + k]).sum::<f64>();
        }
        a[i * n + i] += 0.1;
        for j in 0..i {
            let s = skew * random.signed();
            a[i * n + j] += s;
            a[j * n + i] -= s;
        }
    }
    finish(bounded(Matrix::Dense(a), &mut random), &mut random)
}

/// A quadratic program's conditions: `[[Q, -Cᵀ], [C, 0]]`, the lower rows without diagonal.
pub fn saddle(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let (m, k) = (random.between(1, 10), random.between(1, 8));
    let rank = random.between(1, m);
    let (g, c) = (random.vector(m * rank), random.vector(k * m));
    let n = m + k;
    let mut a = vec![0.0; n * n];
    for i in 0..m {
        for j in 0..m {
            a[i * n + j] = (0..rank).map(|r| g[i * rank + r] * g[j * rank + r]).sum();
        }
        for r in 0..k {
            a[i * n + m + r] = -c[r * m + i];
            a[(m + r) * n + i] = c[r * m + i];
        }
    }
    let mut draft = Draft::free(Matrix::Dense(a));
    draft.lo.fill(0.0);
    finish(draft, &mut random)
}

fn finish(draft: Draft, random: &mut Random) -> Planted {
    let habits = Habits { at_bound: random.pick(&[0.3, 0.6]), by_mass: false, ..Habits::default() };
    draft.plant(&habits, random)
}
