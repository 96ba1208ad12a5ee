//! The sparse factorisation in panels against the dense one, on contact-like and other patterns, definite and singular, with
//! rows switched off as pivots do; and what it does with matrices it cannot factor.

use crate::common::Random;
use mlcp::linalg::{DenseCholesky, Failure, PanelCholesky};
use mlcp::Budget;

/// A symmetric matrix in compressed rows.
struct Sparse {
    start: Vec<u32>,
    index: Vec<u32>,
    values: Vec<f64>,
}

impl Sparse {
    /// All entries that are not zero, and the diagonal, if `diagonal`.
    fn new(a: &[Vec<f64>], diagonal: bool) -> Self {
        let mut sparse = Sparse { start: vec![0], index: Vec::new(), values: Vec::new() };
        for (i, row) in a.iter().enumerate() {
            for (j, &v) in row.iter().enumerate().filter(|&(j, &v)| if i == j { diagonal } else { v != 0.0 }) {
                sparse.index.push(j as u32);
                sparse.values.push(v);
            }
            sparse.start.push(sparse.index.len() as u32);
        }
        sparse
    }

    fn factor(
        &self,
        factor: &mut PanelCholesky,
        kept: &[bool],
        diagonal: &[f64],
        budget: &Budget,
    ) -> Result<(), Failure> {
        factor.analyse(&self.start, &self.index).unwrap();
        factor.fill(|i| kept[i], |_, _, k| self.values[k]);
        diagonal.iter().enumerate().for_each(|(i, &a)| factor.set_diagonal(i, a));
        factor.factor(budget)
    }
}

/// `K Kᵀ` of rows between random pairs of bodies with `width` numbers each; several rows per pair. The order of rows is
/// random, too. Rank at most `width * bodies`.
fn contacts(random: &mut Random, bodies: usize, pairs: usize, width: usize) -> Vec<Vec<f64>> {
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for _ in 0..pairs {
        let (p, q) = (random.below(bodies), random.below(bodies));
        for _ in 0..1 + random.below(9) {
            let mut row = vec![0.0; width * bodies];
            for body in [p, q] {
                row[width * body..][..width].iter_mut().for_each(|k| *k = random.signed());
            }
            rows.insert(random.below(rows.len() + 1), row);
        }
    }
    let dot = |p: &[f64], q: &[f64]| p.iter().zip(q).map(|(a, b)| a * b).sum::<f64>();
    rows.iter().map(|p| rows.iter().map(|q| dot(p, q)).collect()).collect()
}

/// A diagonally dominant matrix with the given share of entries.
fn scattered(random: &mut Random, n: usize, share: f64) -> Vec<Vec<f64>> {
    let mut a = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..i {
            if random.chance(share) {
                let v = random.signed();
                (a[i][j], a[j][i]) = (v, v);
            }
        }
    }
    for i in 0..n {
        a[i][i] = 0.1 + a[i].iter().map(|v| v.abs()).sum::<f64>();
    }
    a
}

/// Both factorisations of `A + ε diag(A)`, the rows that are not kept replaced by those of the identity.
fn compare(name: &str, panel: &mut PanelCholesky, a: &[Vec<f64>], epsilon: f64, random: &mut Random) {
    let n = a.len();
    let off = random.pick(&[0.0, 0.0, 0.3, 0.9]);
    let kept: Vec<bool> = (0..n).map(|_| !random.chance(off)).collect();
    let entry = |i: usize, j: usize| match (kept[i] && kept[j], i == j) {
        (true, true) => a[i][i] * (1.0 + epsilon),
        (true, false) => a[i][j],
        (false, same) => f64::from(same),
    };
    let diagonal: Vec<f64> = (0..n).map(|i| entry(i, i)).collect();
    let budget = Budget::unlimited();
    let with_diagonal = random.chance(0.8);
    Sparse::new(a, with_diagonal).factor(panel, &kept, &diagonal, &budget).unwrap_or_else(|e| panic!("{name}: {e:?}"));
    let mut dense = DenseCholesky::default();
    let numbers = dense.matrix(n).unwrap();
    for j in 0..n {
        for i in j..n {
            numbers[j * n + i] = entry(i, j);
        }
    }
    dense.factor(&budget).unwrap();
    let b = random.vector(n);
    let (mut x, mut y) = (b.clone(), b.clone());
    panel.solve(&mut x);
    dense.solve(&mut y);
    // Residuals do not depend on how nearly singular the matrix is; x itself does.
    let size = |x: &[f64]| x.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let norm = (0..n).map(|i| (0..n).map(|j| entry(i, j).abs()).sum::<f64>()).fold(0.0, f64::max);
    let residual = |x: &[f64]| {
        let r: Vec<f64> = (0..n).map(|i| (0..n).map(|j| entry(i, j) * x[j]).sum::<f64>() - b[i]).collect();
        size(&r) / (norm * size(x) + size(&b) + f64::MIN_POSITIVE)
    };
    assert!(
        residual(&x) <= 1e-14 + 10.0 * residual(&y),
        "{name}: residual {:e}, dense {:e}",
        residual(&x),
        residual(&y)
    );
    if epsilon >= 1e-2 {
        let gap: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x - y).collect();
        assert!(size(&gap) <= 1e-10 * size(&y), "{name}: x differs by {:e} of {:e}", size(&gap), size(&y));
    }
}

#[test]
fn contact_matrices() {
    // One factor for all: nothing of the last pattern may be left in the next.
    let mut panel = PanelCholesky::default();
    for seed in 0..120 {
        let mut random = Random::new(seed);
        let bodies = 1 + random.below(12);
        let pairs = 1 + random.below(25);
        let width = 1 + random.below(6);
        let a = contacts(&mut random, bodies, pairs, width);
        let epsilon = random.pick(&[1e-2, 1e-6, 1e-9]);
        compare(&format!("seed {seed}, {} rows, ε {epsilon}", a.len()), &mut panel, &a, epsilon, &mut random);
    }
}

#[test]
fn scattered_matrices() {
    let mut panel = PanelCholesky::default();
    for seed in 0..80 {
        let mut random = Random::new(1000 + seed);
        let (n, share) = (random.below(90), random.pick(&[0.0, 0.02, 0.05, 0.2, 1.0]));
        let a = scattered(&mut random, n, share);
        compare(&format!("seed {seed}, {n} rows, {share} of all entries"), &mut panel, &a, 1e-2, &mut random);
    }
}

/// A wall: large enough for panels of every shape, and for several updates of one by another.
#[test]
fn a_chain_of_cliques() {
    let mut random = Random::new(5);
    let (bodies, width) = (40, 6);
    let mut rows = Vec::new();
    for k in 0..bodies - 1 {
        for step in [1, 7] {
            for _ in 0..5 + random.below(4) {
                let mut row = vec![0.0; width * (bodies + 7)];
                for body in [k, k + step] {
                    row[width * body..][..width].iter_mut().for_each(|v| *v = random.signed());
                }
                rows.push(row);
            }
        }
    }
    let dot = |p: &[f64], q: &[f64]| p.iter().zip(q).map(|(a, b)| a * b).sum::<f64>();
    let a: Vec<Vec<f64>> = rows.iter().map(|p| rows.iter().map(|q| dot(p, q)).collect()).collect();
    let mut panel = PanelCholesky::default();
    for epsilon in [1e-2, 1e-8] {
        compare(&format!("{} rows", a.len()), &mut panel, &a, epsilon, &mut random);
    }
    let dense = (a.len() as f64).powi(3) / 3.0;
    assert!(panel.flops() < 0.2 * dense, "{} operations, dense {dense}", panel.flops());
}

#[test]
fn what_cannot_be_factored_is_named() {
    let mut random = Random::new(1);
    let mut a = scattered(&mut random, 50, 0.1);
    a[17][17] = -1.0;
    let kept = vec![true; 50];
    let diagonal = |a: &[Vec<f64>]| (0..50).map(|i| a[i][i]).collect::<Vec<_>>();
    let mut panel = PanelCholesky::default();
    let budget = Budget::unlimited();
    let sparse = Sparse::new(&a, true);
    assert_eq!(sparse.factor(&mut panel, &kept, &diagonal(&a), &budget), Err(Failure::NotPositive(17)));
    for bad in [f64::NAN, f64::INFINITY, 0.0] {
        a[17][17] = bad;
        let failure = sparse.factor(&mut panel, &kept, &diagonal(&a), &budget).unwrap_err();
        assert!(matches!(failure, Failure::NotPositive(_)), "{bad}: {failure:?}");
    }
    // And a failure leaves nothing behind.
    a[17][17] = 100.0;
    assert_eq!(sparse.factor(&mut panel, &kept, &diagonal(&a), &budget), Ok(()));
    let late = Budget::start(1e-9);
    std::thread::sleep(std::time::Duration::from_millis(1));
    let failure = sparse.factor(&mut panel, &kept, &diagonal(&a), &late).unwrap_err();
    assert!(matches!(failure, Failure::OutOfTime(_)), "{failure:?}");
}

/// Noise may leave an entry without its mirror image. It is small, and whether it counts is open; nothing else changes.
#[test]
fn one_sided_entries_do_no_harm() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let n = 40;
        let mut a = scattered(&mut random, n, 0.05);
        for _ in 0..10 {
            let (i, j) = (random.below(n), random.below(n));
            if i != j && a[i][j] == 0.0 {
                a[i][j] = 1e-12;
            }
        }
        let diagonal: Vec<f64> = (0..n).map(|i| a[i][i]).collect();
        let mut panel = PanelCholesky::default();
        Sparse::new(&a, true).factor(&mut panel, &vec![true; n], &diagonal, &Budget::unlimited()).unwrap();
        let b = random.vector(n);
        let mut x = b.clone();
        panel.solve(&mut x);
        for i in 0..n {
            let residual = (0..n).map(|j| a[i][j] * x[j]).sum::<f64>() - b[i];
            assert!(residual.abs() < 1e-9, "seed {seed}: row {i} is off by {residual:e}");
        }
    }
}
