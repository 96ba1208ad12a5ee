//! Sparse factors of matrices in which few numbers change: what is computed again and what is kept have together the very
//! bits of a factor computed whole. On walls, chains and random graphs, with rows that come and go as pivots move them, bodies
//! that lose all their rows, and factorisations that fail in between.
//!
//! Reference: another handle that keeps nothing.

use crate::common::Random;
use mlcp::linalg::{BlockCholesky, Failure, PanelCholesky};
use mlcp::Budget;

const B: usize = 6;

/// Rows between pairs of bodies, as contacts have them.
struct Rows {
    bodies: usize,
    pairs: Vec<[usize; 2]>,
    k: Vec<[[f64; B]; 2]>,
}

impl Rows {
    /// Up to four rows on every pair.
    fn random(random: &mut Random, bodies: usize, graph: &[[usize; 2]]) -> Self {
        let mut rows = Rows { bodies, pairs: vec![], k: vec![] };
        for &pair in graph {
            for _ in 0..1 + random.below(4) {
                rows.pairs.push(pair);
                rows.k.push(std::array::from_fn(|_| std::array::from_fn(|_| random.signed())));
            }
        }
        rows
    }

    /// `I + Σ γ kᵀk` by blocks; all of it, or what has changed.
    fn fill(&self, factor: &mut BlockCholesky, weights: &[f64], changed: Option<&mut [bool]>) {
        match changed {
            Some(changed) => factor.clear_changed(1.0, changed),
            None => factor.clear(1.0),
        }
        for ((&[p, q], k), &weight) in self.pairs.iter().zip(&self.k).zip(weights) {
            factor.add(p, p, |d| k[0].map(|v| weight * v * k[0][d]));
            factor.add(q, q, |d| k[1].map(|v| weight * v * k[1][d]));
            factor.add(q, p, |d| k[1].map(|v| weight * v * k[0][d]));
        }
    }

    /// The bodies that share a row, in compressed rows.
    fn graph(&self) -> (Vec<u32>, Vec<u32>) {
        let (mut start, mut index) = (vec![0], vec![]);
        for body in 0..self.bodies {
            let other = |&[p, q]: &[usize; 2]| (p == body).then_some(q).or((q == body).then_some(p));
            let mut others: Vec<u32> = self.pairs.iter().filter_map(other).map(|k| k as u32).collect();
            others.sort_unstable();
            others.dedup();
            index.extend(others);
            start.push(index.len() as u32);
        }
        (start, index)
    }

    /// `K Kᵀ`, entry by entry.
    fn matrix(&self) -> Vec<Vec<f64>> {
        let halves = |i: usize| [0, 1].map(|s| (self.pairs[i][s], self.k[i][s]));
        let dot = |i: usize, j: usize| {
            let parts = halves(i).into_iter().flat_map(|p| halves(j).into_iter().map(move |q| (p, q)));
            let shared = parts.filter(|((a, _), (b, _))| a == b);
            shared.map(|((_, p), (_, q))| (0..B).map(|c| p[c] * q[c]).sum::<f64>()).sum()
        };
        (0..self.k.len()).map(|i| (0..self.k.len()).map(|j| dot(i, j)).collect()).collect()
    }
}

fn wall(width: usize, height: usize) -> (usize, Vec<[usize; 2]>) {
    let at = |i: usize, k: usize| i * width + k;
    let up = (1..height).flat_map(|i| (0..width).map(move |k| [at(i - 1, k), at(i, k)]));
    let aslant = (1..height).flat_map(|i| (1..width).map(move |k| [at(i - 1, k - 1), at(i, k)]));
    (width * height, up.chain(aslant).collect())
}

fn chain(bodies: usize) -> (usize, Vec<[usize; 2]>) {
    (bodies, (1..bodies).map(|k| [k - 1, k]).collect())
}

fn graphs(random: &mut Random) -> Vec<(usize, Vec<[usize; 2]>)> {
    let mut all = vec![(1, vec![]), (2, vec![[0, 1]]), wall(6, 7), wall(3, 20), chain(40)];
    for _ in 0..12 {
        let n = 2 + random.below(40);
        let pairs = (0..random.below(3 * n)).map(|_| [random.below(n), random.below(n)]);
        all.push((n, pairs.filter(|[p, q]| p != q).collect()));
    }
    all
}

/// What pivots do to the weights: a few rows come or go, or many, a body loses all its rows, none is left, or none changes.
fn pivot(random: &mut Random, rows: &Rows, weights: &mut [f64]) {
    let n = weights.len();
    if n == 0 {
        return;
    }
    let gamma = |i: usize| 1.0 + i as f64;
    match random.below(12) {
        0 => weights.fill(0.0),
        1 => (0..n).for_each(|i| weights[i] = gamma(i)),
        2 => weights.iter_mut().for_each(|w| *w *= 0.2),
        3 => {}
        4 | 5 => {
            let body = random.below(rows.bodies);
            (0..n).filter(|&i| rows.pairs[i].contains(&body)).for_each(|i| weights[i] = 0.0);
        }
        few => {
            for _ in 0..few - 5 {
                let i = random.below(n);
                weights[i] = if weights[i] == 0.0 { gamma(i) } else { 0.0 };
            }
        }
    }
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|v| v.to_bits()).collect()
}

/// The bits of some solutions.
fn solutions(order: usize, random: &mut Random, mut solve: impl FnMut(usize, &mut [f64])) {
    for _ in 0..3 {
        let b = random.vector(order);
        let mut x = [b.clone(), b];
        solve(0, &mut x[0]);
        solve(1, &mut x[1]);
        assert_eq!(bits(&x[0]), bits(&x[1]));
    }
}

fn late() -> Budget {
    let late = Budget::start(1e-9);
    std::thread::sleep(std::time::Duration::from_millis(1));
    late
}

#[test]
fn blocks_have_the_bits_of_a_whole_factor() {
    let mut random = Random::new(11);
    let (mut kept, mut stale) = (0, 0);
    // One handle for all graphs: nothing of the last may be left in the next.
    let mut partial = BlockCholesky::default();
    for (bodies, graph) in graphs(&mut random) {
        let rows = Rows::random(&mut random, bodies, &graph);
        let (start, index) = rows.graph();
        let mut whole = BlockCholesky::default();
        partial.analyse(&start, &index).unwrap();
        whole.analyse(&start, &index).unwrap();
        let mut weights: Vec<f64> = (0..rows.k.len()).map(|i| 1.0 + i as f64).collect();
        let mut last = vec![0.0; weights.len()];
        for round in 0..60 {
            pivot(&mut random, &rows, &mut weights);
            let spoiled = round % 7 == 3 && !weights.is_empty();
            let (at, before) = (random.below(weights.len().max(1)), weights.clone());
            if spoiled {
                weights[at] = random.pick(&[-1e6, f64::INFINITY, f64::NAN, -f64::MAX]);
            }
            let mut changed = vec![false; bodies];
            for (pair, _) in rows.pairs.iter().zip(weights.iter().zip(&last)).filter(|(_, (w, l))| w != l) {
                pair.iter().for_each(|&k| changed[k] = true);
            }
            last.copy_from_slice(&weights);
            rows.fill(&mut partial, &weights, Some(&mut changed));
            rows.fill(&mut whole, &weights, None);
            let budget = if round % 11 == 5 { late() } else { Budget::unlimited() };
            let done = partial.factor(&budget).unwrap();
            assert_eq!(done, whole.factor(&budget).unwrap(), "{bodies} bodies, round {round}");
            assert!(done.is_err() || !spoiled);
            if done.is_ok() {
                solutions(B * bodies, &mut random, |which, x| [&mut partial, &mut whole][which].solve(x));
                stale += changed.iter().filter(|&&c| c).count();
                kept += changed.iter().filter(|&&c| !c).count();
            }
            weights = before;
        }
    }
    assert!(kept > stale / 4, "{kept} columns were kept, {stale} were not");
}

/// One row at an end of a chain has nothing to do with most of it. After a failure, or for another problem of the same
/// pattern, everything has.
#[test]
fn few_columns_depend_on_one_row() {
    let mut random = Random::new(12);
    let (bodies, graph) = chain(64);
    let rows = Rows::random(&mut random, bodies, &graph);
    let (start, index) = rows.graph();
    let mut factor = BlockCholesky::default();
    let mut count = |again: bool, weights: &[f64]| {
        let mut changed = vec![false; bodies];
        if again {
            factor.analyse(&start, &index).unwrap();
        } else {
            changed[0] = true;
        }
        rows.fill(&mut factor, weights, Some(&mut changed));
        let done = factor.factor(&Budget::unlimited()).unwrap();
        (changed.iter().filter(|&&c| c).count(), done.is_ok())
    };
    let good = vec![1.0; rows.k.len()];
    let mut bad = good.clone();
    bad[0] = -1e6;
    assert_eq!(count(true, &good), (bodies, true));
    let (few, _) = count(false, &good);
    assert!(few <= bodies / 2, "{few} of {bodies}");
    assert_eq!(count(false, &bad), (few, false));
    assert_eq!(count(false, &good), (bodies, true));
    assert_eq!(count(false, &good), (few, true));
    assert_eq!(count(true, &good), (bodies, true));
}

#[test]
fn panels_have_the_bits_of_a_whole_factor() {
    let mut random = Random::new(13);
    let (mut some, mut all) = (0, 0);
    let mut partial = PanelCholesky::default();
    for (bodies, graph) in graphs(&mut random) {
        let rows = Rows::random(&mut random, bodies, &graph);
        let mut a = rows.matrix();
        let n = a.len();
        // Noise may leave an entry without its mirror image.
        if n > 0 && random.chance(0.5) {
            let (i, j) = (random.below(n), random.below(n));
            a[i][j] += if a[i][j] == 0.0 { 1e-13 } else { 0.0 };
        }
        let (mut start, mut index, mut values) = (vec![0], vec![], vec![]);
        for row in &a {
            for (j, &v) in row.iter().enumerate().filter(|(_, &v)| v != 0.0) {
                index.push(j as u32);
                values.push(v);
            }
            start.push(index.len() as u32);
        }
        let mut whole = PanelCholesky::default();
        partial.analyse(&start, &index).unwrap();
        whole.analyse(&start, &index).unwrap();
        let mut weights: Vec<f64> = (0..n).map(|i| 1.0 + i as f64).collect();
        let mut last = vec![f64::NAN; n];
        for round in 0..60 {
            pivot(&mut random, &rows, &mut weights);
            let spoiled = round % 7 == 3 && n > 0;
            let before = weights.clone();
            if spoiled {
                weights[random.below(n)] = random.pick(&[-1e6, f64::INFINITY, f64::NAN]);
            }
            let is_free = |i: usize| weights[i] != 0.0;
            let changed: Vec<bool> = weights.iter().zip(&last).map(|(w, l)| w != l).collect();
            last.copy_from_slice(&weights);
            let counted = std::cell::Cell::new(0);
            let value = |_: usize, _: usize, k: usize| {
                counted.set(counted.get() + 1);
                values[k]
            };
            partial.fill_changed(&changed, is_free, value);
            let filled = counted.replace(0);
            whole.fill(is_free, value);
            for factor in [&mut partial, &mut whole] {
                (0..n).for_each(|i| factor.set_diagonal(i, if is_free(i) { a[i][i] + 0.01 * weights[i] } else { 1.0 }));
            }
            let budget = if round % 11 == 5 { late() } else { Budget::unlimited() };
            let done = partial.factor(&budget);
            if budget.spent() {
                // What is kept takes no time: a whole factor may be late where this one is not.
                assert!(matches!(whole.factor(&budget), Err(Failure::OutOfTime(_))) || n == 0);
            } else {
                assert_eq!(done, whole.factor(&budget), "{n} rows, round {round}");
            }
            assert!(done.is_err() || !spoiled);
            if done.is_ok() && !budget.spent() {
                solutions(n, &mut random, |which, x| [&mut partial, &mut whole][which].solve(x));
                some += filled;
                all += counted.get();
            }
            weights = before;
        }
    }
    assert!(some < all / 5 * 4, "{some} of {all} entries were filled again");
}
