//! The dense tableau of small problems: formed from rows, eliminated, pivoted and swept, beside plain loops.

use crate::common::oracle;
use crate::common::rows::{Options, RowProblem};
use crate::common::{Form, Random};
use mlcp::linalg::Tableau;
use mlcp::problem::{Gram, Operator};

/// A definite matrix in which about half the rows are strangers to each other.
fn matrix(random: &mut Random, n: usize) -> Vec<f64> {
    let options = Options {
        bodies: 1 + n / 3,
        rows: n,
        compliance: true,
        immovable: false,
        repeated: false,
        ..Options::default()
    };
    let mut a = RowProblem::random(random.next(), options).dense();
    for i in 0..n {
        a[i * n + i] *= 1.1;
    }
    a
}

fn tableau(n: usize, a: &[f64]) -> Tableau {
    let mut tableau = Tableau::default();
    tableau.clear(n).unwrap();
    for i in 0..n {
        tableau.row_mut(i).copy_from_slice(&a[i * n + i..(i + 1) * n]);
    }
    tableau
}

fn agree(found: &[f64], expected: &[f64], about: &str) {
    let size = expected.iter().fold(1e-300, |s: f64, v| s.max(v.abs()));
    for (i, (p, q)) in found.iter().zip(expected).enumerate() {
        assert!((p - q).abs() <= 1e-9 * size, "{about}: entry {i} is {p}, expected {q}");
    }
}

/// Rows in any order, alone or in groups on the same bodies, make the matrix that plain loops make.
#[test]
fn rows_make_the_matrix() {
    let (mut gram, mut tableau) = (Gram::default(), Tableau::default());
    for seed in 0..400 {
        let mut random = Random::new(seed ^ 0x6a);
        let rows = if seed % 2 == 0 {
            let options = Options { bodies: 1 + random.below(6), rows: 1 + random.below(30), ..Options::default() };
            RowProblem::random(seed, options)
        } else {
            RowProblem::boxes(seed, 1 + random.below(5), 1 + random.below(3), 0.5)
        };
        let n = rows.len();
        let mut order: Vec<u32> = (0..n as u32).collect();
        if seed % 3 == 0 {
            for i in (1..n).rev() {
                order.swap(i, random.below(i + 1));
            }
        }
        let problem = rows.fill(Form::Jacobian, None);
        let Operator::Jacobian(jacobian) = problem.operator() else { panic!("not made of rows") };
        gram.fill(&mut tableau, jacobian, &order).unwrap();
        let a = rows.dense();
        for p in 0..n {
            let expected: Vec<f64> = (p..n).map(|q| a[order[p] as usize * n + order[q] as usize]).collect();
            agree(tableau.row_mut(p), &expected, &format!("seed {seed} row {p} of {n}"));
        }
    }
}

/// With the first rows eliminated, `A y + q = 0` there for any y of the others.
#[test]
fn eliminated_rows_rest() {
    for seed in 0..400 {
        let mut random = Random::new(seed ^ 0xe1);
        let n = 1 + random.below(40);
        let first = random.below(n + 1);
        let a = matrix(&mut random, n);
        let (q, mut y) = (random.vector(n), random.vector(n));
        let mut t = tableau(n, &a);
        let (mut along, mut carried) = (q.clone(), q.clone());
        t.eliminate(&vec![0.0; first], &mut along);
        t.forward(&mut carried);
        agree(&along, &carried, &format!("seed {seed}: right-hand side"));
        t.backward(&carried, &mut y);
        for i in 0..first {
            let w = q[i] + (0..n).map(|j| a[i * n + j] * y[j]).sum::<f64>();
            let size = q[i].abs() + (0..n).map(|j| (a[i * n + j] * y[j]).abs()).sum::<f64>();
            assert!(w.abs() <= 1e-9 * size, "seed {seed} row {i}: {w}");
        }
        // The others see the Schur complement.
        let mut product = vec![0.0; n];
        t.multiply(&y, &mut product);
        for i in first..n {
            let w = q[i] + (0..n).map(|j| a[i * n + j] * y[j]).sum::<f64>();
            let size = q[i].abs() + (0..n).map(|j| (a[i * n + j] * y[j]).abs()).sum::<f64>();
            assert!((carried[i] + product[i] - w).abs() <= 1e-8 * size, "seed {seed} row {i}");
        }
    }
}

/// Rows that entered hold the inverse; when they have left again, in another order, the matrix is back.
#[test]
fn pivots_go_forth_and_back() {
    for seed in 0..300 {
        let mut random = Random::new(seed ^ 0x90);
        let n = 1 + random.below(30);
        let a = matrix(&mut random, n);
        let mut t = tableau(n, &a);
        let still = vec![0.0; n];
        for k in 0..n {
            let pivot = t.look(k);
            t.pivot(k, pivot, true, 0.0, &still, &mut still.clone());
        }
        t.settle();
        let r = random.vector(n);
        let mut x = vec![0.0; n];
        t.multiply(&r, &mut x);
        let minus: Vec<f64> = r.iter().map(|r| -r).collect();
        agree(&x, &oracle::eliminate(n, a.clone(), minus).unwrap(), &format!("seed {seed}: inverse"));
        for k in (0..n).rev().step_by(2).chain((0..n).rev().skip(1).step_by(2)) {
            let pivot = t.look(k);
            t.pivot(k, pivot, false, 0.0, &still, &mut still.clone());
        }
        t.settle();
        for i in 0..n {
            agree(t.row_mut(i), &a[i * n + i..(i + 1) * n], &format!("seed {seed} row {i}"));
        }
    }
}

/// In whatever order rows come and go, and however many at a time: what is free in the end decides.
#[test]
fn rows_come_and_go() {
    for seed in 0..300 {
        let mut random = Random::new(seed ^ 0x5e77);
        let n = 2 + random.below(40);
        let a = matrix(&mut random, n);
        let (mut t, mut free) = (tableau(n, &a), vec![false; n]);
        let still = vec![0.0; n];
        for _ in 0..3 * n {
            let k = random.below(n);
            free[k] = !free[k];
            let pivot = t.look(k);
            t.pivot(k, pivot, free[k], 0.0, &still, &mut still.clone());
        }
        t.settle();
        // With the right sides of free rows and the impulses of held ones, the tableau gives the others: here from x.
        let x = random.vector(n);
        let w: Vec<f64> = (0..n).map(|i| (0..n).map(|j| a[i * n + j] * x[j]).sum()).collect();
        let given: Vec<f64> = (0..n).map(|i| if free[i] { -w[i] } else { x[i] }).collect();
        // Free rows: x = A_FF⁻¹ w - A_FF⁻¹ A_FB x_B; held ones: w = A_BF A_FF⁻¹ w + Schur x_B.
        for i in 0..n {
            let (sum, size) = (0..n).fold((0.0, 1.0), |(sum, size), j| {
                let sign = if free[i] == free[j] { 1.0 } else { -1.0 };
                let entry = t.row_mut(i.min(j))[i.max(j) - i.min(j)] * given[j] * sign;
                (sum + entry, size + f64::abs(entry))
            });
            let expected = if free[i] { x[i] } else { w[i] };
            assert!((sum - expected).abs() <= 1e-7 * size, "seed {seed} row {i}: {sum} {expected}");
        }
    }
}

/// Sweeps are those of projected Gauss-Seidel.
#[test]
fn sweeps_are_gauss_seidel() {
    for seed in 0..300 {
        let mut random = Random::new(seed ^ 0x5e);
        let n = 1 + random.below(30);
        let a = matrix(&mut random, n);
        let b = random.vector(n);
        let least: Vec<f64> = (0..n).map(|_| -random.unit()).collect();
        let most: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { f64::INFINITY } else { random.unit() }).collect();
        let mut t = tableau(n, &a);
        let (mut y, mut w) = (vec![0.0; n], b.clone());
        t.sweep(3, &vec![0.0; n], (&least, &most), &mut y, &mut w);
        let mut x = vec![0.0; n];
        let velocity = |i: usize, x: &[f64]| b[i] + (0..n).map(|j| a[i * n + j] * x[j]).sum::<f64>();
        for _ in 0..3 {
            for i in 0..n {
                x[i] = (x[i] - velocity(i, &x) / a[i * n + i]).clamp(least[i], most[i]);
            }
        }
        agree(&y, &x, &format!("seed {seed}: y"));
        let expected: Vec<f64> = (0..n).map(|i| velocity(i, &x)).collect();
        let size = expected.iter().chain(&b).fold(0.0f64, |s, v| s.max(v.abs()));
        assert!(w.iter().zip(&expected).all(|(p, q)| (p - q).abs() <= 1e-9 * size), "seed {seed}: {w:?}, {expected:?}");
    }
}
