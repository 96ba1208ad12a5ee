//! Factors in blocks of 6 by 6, symmetric and not, on chains, stars, grids and random graphs.
//!
//! Reference: the product of the matrix, kept entry by entry by the test, with the solution.

use crate::common::Random;
use mlcp::linalg::{BlockCholesky, BlockLu, Failure};
use mlcp::Budget;

const B: usize = 6;

/// A block matrix, all entries, and its graph in compressed rows.
struct Matrix {
    blocks: usize,
    entries: Vec<f64>,
    start: Vec<u32>,
    index: Vec<u32>,
}

impl Matrix {
    fn order(&self) -> usize {
        B * self.blocks
    }

    fn column(&self, i: usize, j: usize, d: usize) -> [f64; B] {
        std::array::from_fn(|c| self.entries[(B * i + c) * self.order() + B * j + d])
    }

    /// Random blocks on a graph; heavy diagonals, so that it is definite. `skew`: how far from symmetric.
    fn random(random: &mut Random, blocks: usize, edges: &[(usize, usize)], skew: f64) -> Self {
        let n = B * blocks;
        let mut a = vec![0.0; n * n];
        let mut neighbours = vec![Vec::new(); blocks];
        for &(p, q) in edges {
            for c in 0..B {
                for d in 0..B {
                    let (even, odd) = (random.signed(), skew * random.signed());
                    a[(B * p + c) * n + B * q + d] += even + odd;
                    a[(B * q + d) * n + B * p + c] += even - odd;
                }
            }
            neighbours[p].push(q as u32);
            neighbours[q].push(p as u32);
        }
        for k in 0..n {
            let sum: f64 = (0..n).map(|j| a[k * n + j].abs().max(a[j * n + k].abs())).sum();
            a[k * n + k] = 0.1 + sum * random.range(0.6, 1.5);
        }
        let (mut start, mut index) = (vec![0], vec![]);
        for list in &mut neighbours {
            list.sort_unstable();
            list.dedup();
            index.extend_from_slice(list);
            start.push(index.len() as u32);
        }
        Matrix { blocks, entries: a, start, index }
    }

    fn pairs(&self) -> Vec<(usize, usize)> {
        let row = |i: usize| &self.index[self.start[i] as usize..self.start[i + 1] as usize];
        (0..self.blocks).flat_map(|i| row(i).iter().map(move |&j| (i, j as usize))).collect()
    }

    fn cholesky(&self, factor: &mut BlockCholesky) -> Result<(), Failure> {
        factor.analyse(&self.start, &self.index).unwrap();
        factor.clear(0.0);
        (0..self.blocks).for_each(|i| factor.add(i, i, |d| self.column(i, i, d)));
        // Both halves of what is symmetric are given once.
        self.pairs().into_iter().filter(|(i, j)| i < j).for_each(|(i, j)| factor.add(i, j, |d| self.column(i, j, d)));
        factor.factor(&Budget::unlimited()).unwrap()
    }

    fn lu(&self, factor: &mut BlockLu) {
        factor.analyse(&self.start, &self.index).unwrap();
        factor.clear(0.0);
        (0..self.blocks).for_each(|i| factor.add(i, i, |d| self.column(i, i, d)));
        self.pairs().into_iter().for_each(|(i, j)| factor.add(i, j, |d| self.column(i, j, d)));
        factor.factor(&Budget::unlimited()).unwrap().unwrap();
    }

    /// Largest entry of A x - b, beside the largest of b.
    fn residual(&self, x: &[f64], b: &[f64]) -> f64 {
        let row = |i: usize| self.entries[i * self.order()..][..self.order()].iter().zip(x).map(|(a, x)| a * x);
        let most = (0..self.order()).map(|i| (row(i).sum::<f64>() - b[i]).abs()).fold(0.0, f64::max);
        most / b.iter().fold(0.0, |m: f64, v| m.max(v.abs()))
    }
}

fn graphs(random: &mut Random) -> Vec<(usize, Vec<(usize, usize)>)> {
    let mut all = vec![(1, vec![]), (2, vec![(0, 1)])];
    all.push((17, (1..17).map(|k| (k - 1, k)).collect()));
    all.push((12, (1..12).map(|k| (0, k)).collect()));
    let grid = |i: usize, j: usize| 6 * i + j;
    let across = (0..5).flat_map(|i| (1..6).map(move |j| (grid(i, j - 1), grid(i, j))));
    let along = (1..5).flat_map(|i| (0..6).map(move |j| (grid(i - 1, j), grid(i, j))));
    all.push((30, across.chain(along).collect()));
    for _ in 0..20 {
        let n = 2 + random.below(15);
        let pairs = (0..random.below(3 * n)).map(|_| (random.below(n), random.below(n)));
        all.push((n, pairs.filter(|(p, q)| p != q).collect()));
    }
    all
}

/// One handle each for all graphs, as a solver keeps it while contacts come and go. Diagonally dominant matrices of order
/// 180 lose little more than a digit.
#[test]
fn solutions_fit() {
    let mut random = Random::new(6);
    let (mut cholesky, mut lu) = (BlockCholesky::default(), BlockLu::default());
    for (blocks, edges) in graphs(&mut random) {
        for skew in [0.0, 0.5, 2.0] {
            let a = Matrix::random(&mut random, blocks, &edges, skew);
            let b: Vec<f64> = (0..a.order()).map(|_| random.signed()).collect();
            let mut x = b.clone();
            a.lu(&mut lu);
            lu.solve(&mut x);
            assert!(a.residual(&x, &b) <= 1e-13, "LU, {blocks} blocks, {edges:?}: {:e}", a.residual(&x, &b));
            if skew == 0.0 {
                let mut x = b.clone();
                a.cholesky(&mut cholesky).unwrap();
                cholesky.solve(&mut x);
                assert!(a.residual(&x, &b) <= 1e-13, "{blocks} blocks, {edges:?}: {:e}", a.residual(&x, &b));
            }
        }
    }
}

/// Nothing of a right-hand side that overflows, or of a matrix that cannot be factored, is left for the next.
#[test]
fn overflows_leave_no_traces() {
    let mut random = Random::new(7);
    let chain: Vec<_> = (1..9).map(|k| (k - 1, k)).collect();
    let a = Matrix::random(&mut random, 9, &chain, 0.0);
    let b: Vec<f64> = (0..a.order()).map(|_| random.signed()).collect();
    let mut fresh = (b.clone(), b.clone());
    let (mut cholesky, mut lu) = (BlockCholesky::default(), BlockLu::default());
    for round in 0..2 {
        a.cholesky(&mut cholesky).unwrap();
        a.lu(&mut lu);
        let mut x = (b.clone(), b.clone());
        cholesky.solve(&mut x.0);
        lu.solve(&mut x.1);
        if round == 0 {
            fresh = x;
        } else {
            assert_eq!(x, fresh);
        }
        let mut broken = (vec![f64::INFINITY; a.order()], vec![f64::NAN; a.order()]);
        cholesky.solve(&mut broken.0);
        lu.solve(&mut broken.1);
        let mut nan = Matrix::random(&mut random, 9, &chain, 0.0);
        nan.entries[0] = f64::NAN;
        assert_eq!(nan.cholesky(&mut cholesky), Err(Failure::NotPositive(0)));
        nan.lu(&mut lu);
    }
}

/// A pivot that is not positive is named by its block, whatever the order of elimination.
#[test]
fn the_block_that_is_not_positive_is_named() {
    let mut random = Random::new(8);
    for block in 0..12 {
        let star: Vec<_> = (1..12).map(|k| (0, k)).collect();
        let mut a = Matrix::random(&mut random, 12, &star, 0.0);
        let at = B * block + random.below(B);
        let n = a.order();
        a.entries[at * n + at] = -1.0;
        assert_eq!(a.cholesky(&mut BlockCholesky::default()), Err(Failure::NotPositive(block)));
    }
}
