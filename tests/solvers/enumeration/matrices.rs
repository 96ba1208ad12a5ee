//! How matrices are read: strides, triangles, symmetry, refills.

use super::{engine, solve};
use crate::common::problems::{Kind, Load, SmallProblem};
use crate::common::Random;
use mlcp::problem::Operator;
use mlcp::{Engine, Outcome, Problem, Settings, SolverKind, Status, Triangle};

/// Padding and the upper triangle hold NaN: nobody may read them.
#[test]
fn row_stride_and_lower_triangle() {
    for seed in 0..200 {
        let n = 1 + seed as usize % 7;
        let p = SmallProblem::random(seed, n, n, Load::Any, &Kind::ALL);
        let stride = n + seed as usize % 4;
        let (mut padded, mut lower) = (vec![f64::NAN; stride * n], vec![f64::NAN; stride * n]);
        for i in 0..n {
            for j in 0..n {
                padded[i * stride + j] = p.a[i * n + j];
                if j <= i {
                    lower[i * stride + j] = p.a[i * n + j];
                }
            }
        }
        // The last row needs no padding.
        let needed = (n - 1) * stride + n;
        let x = Random::new(seed).vector(n);
        let w = |a: &[f64], triangle| {
            let mut problem = Problem::new();
            problem.set_dense(n, a, stride, triangle).unwrap();
            problem.set_b(&p.b).unwrap();
            let mut w = vec![0.0; n];
            problem.multiply(&x, &mut w, &mut Vec::new()).unwrap();
            assert!(problem.is_symmetric());
            w
        };
        let expected = w(&padded[..needed], Triangle::Full);
        assert_eq!(w(&lower[..needed], Triangle::Lower), expected, "seed {seed}");
        for i in 0..n {
            // A handful of order-one terms.
            assert!((expected[i] - p.w(&x)[i]).abs() < 1e-13, "seed {seed}");
        }
        let mut problem = Problem::new();
        let short = problem.set_dense(n, &padded[..needed - 1], stride, Triangle::Full).unwrap_err();
        assert_eq!(short.status(), Status::InvalidSize);
    }
}

/// A large array that is mostly zeros is the same matrix as its entries in compressed rows, islands and bits included.
#[test]
fn mostly_zeros_become_compressed_rows() {
    let (n, m, stride) = (154, 7, 157);
    let mut random = Random::new(3);
    let (mut full, mut lower) = (vec![f64::NAN; stride * n], vec![f64::NAN; stride * n]);
    let (mut start, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    let blocks: Vec<SmallProblem> =
        (0..n / m).map(|k| SmallProblem::random(k as u64, m, m, Load::Any, &[Kind::Lower])).collect();
    for i in 0..n {
        for j in 0..n {
            let v = if i / m == j / m { blocks[i / m].a[i % m * m + j % m] } else { 0.0 };
            full[i * stride + j] = v;
            if j <= i {
                lower[i * stride + j] = v;
            }
            if v != 0.0 {
                columns.push(j as i32);
                values.push(v);
            }
        }
        start.push(columns.len() as i32);
    }
    let b = random.vector(n);
    let answer = |problem: &mut Problem| {
        let Operator::Csr(csr) = problem.operator() else { panic!("still dense") };
        assert!(csr.columns().iter().zip(&columns).all(|(&p, &q)| p as i32 == q), "columns");
        assert_eq!(csr.values(), values);
        assert!(problem.is_symmetric());
        problem.set_b(&b).unwrap();
        problem.set_bounds(&vec![0.0; n], &vec![f64::INFINITY; n]).unwrap();
        let mut auto = engine(SolverKind::Auto);
        assert_eq!(auto.solve(problem, None, None).unwrap().islands, n / m);
        auto.x().to_vec()
    };
    let mut problem = Problem::new();
    problem.set_csr(n, &start, &columns, &values).unwrap();
    let expected = answer(&mut problem);
    for (a, triangle) in [(&full, Triangle::Full), (&lower, Triangle::Lower)] {
        problem.set_dense(n, &a[..(n - 1) * stride + n], stride, triangle).unwrap();
        assert_eq!(answer(&mut problem), expected);
    }
    full[5 * stride + 150] = 0.1;
    problem.set_dense(n, &full, stride, Triangle::Full).unwrap();
    assert!(!problem.is_symmetric());
    problem.set_dense(n, &vec![1.0; n * n], n, Triangle::Full).unwrap();
    assert!(matches!(problem.operator(), Operator::Dense(_)));
}

/// Entries without their mirror images, small enough to be noise, are no obstacle to a sparse factorisation.
#[test]
fn one_sided_noise_is_factored() {
    let n = 150usize;
    let mut random = Random::new(4);
    let mut problem = Problem::new();
    let (mut start, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        for j in 0..n {
            let v = match i.abs_diff(j) {
                0 => 2.5,
                1 => -1.0,
                _ if random.chance(0.02) => 1e-9,
                _ => continue,
            };
            columns.push(j as i32);
            values.push(v);
        }
        start.push(columns.len() as i32);
    }
    problem.set_csr(n, &start, &columns, &values).unwrap();
    assert!(problem.is_symmetric());
    problem.set_b(&random.vector(n)).unwrap();
    problem.set_bounds(&vec![-0.1; n], &vec![0.1; n]).unwrap();
    for kind in [SolverKind::Bpp, SolverKind::InteriorPoint, SolverKind::ProxNewton] {
        let mut engine = Engine::new(Settings { solver: kind, ..Settings::default() }).unwrap();
        assert_eq!(engine.solve(&problem, None, None).unwrap().outcome, Outcome::Converged, "{}", kind.name());
    }
}

/// Single-precision noise is symmetric enough; anything beyond 1e-6 of the rows' scale is not, wherever it stands.
#[test]
fn asymmetry_is_detected_everywhere() {
    let n = 70; // more than two blocks of the comparison
    let mut random = Random::new(5);
    let mut a = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..i {
            let v = 0.01 * random.signed();
            (a[i * n + j], a[j * n + i]) = (v, v);
        }
        a[i * n + i] = 4.0;
    }
    let symmetric = |a: &[f64], csr: bool| {
        let mut problem = Problem::new();
        if csr {
            let (row_start, columns, values) = crate::common::problems::to_csr(n, a);
            problem.set_csr(n, &row_start, &columns, &values).unwrap();
        } else {
            problem.set_dense(n, a, n, Triangle::Full).unwrap();
        }
        problem.is_symmetric()
    };
    for csr in [false, true] {
        assert!(symmetric(&a, csr));
        for (i, j) in [(1, 0), (0, 1), (31, 0), (32, 31), (33, 2), (69, 0), (69, 68), (0, 69), (40, 64)] {
            let at = i * n + j;
            let kept = a[at];
            a[at] = kept + 1e-7 * 4.0;
            assert!(symmetric(&a, csr), "noise at ({i}, {j}) csr {csr}");
            a[at] = kept + 2e-6 * 4.0;
            assert!(!symmetric(&a, csr), "asymmetry at ({i}, {j}) csr {csr}");
            // An entry whose partner is missing.
            a[at] = 0.0;
            assert!(!symmetric(&a, csr) || kept.abs() <= 4e-6, "hole at ({i}, {j}) csr {csr}");
            a[at] = kept;
        }
    }
}

/// Pivoting refuses an unsymmetric A and says so; sweeps take it (a diagonally dominant one converges).
#[test]
fn unsymmetric_matrices() {
    let mut problem = Problem::new();
    problem.set_dense(2, &[2.0, 1.0, -1.0, 2.0], 2, Triangle::Full).unwrap();
    problem.set_b(&[-3.0, -1.0]).unwrap();
    let refused = engine(SolverKind::Bpp).solve(&problem, None, None).unwrap_err();
    assert_eq!(refused.status(), Status::Unsupported);
    let mut pgs = engine(SolverKind::Pgs);
    solve(&mut pgs, &problem);
    // 2x + y = 3, -x + 2y = 1.
    assert!((pgs.x()[0] - 1.0).abs() < 1e-12 && (pgs.x()[1] - 1.0).abs() < 1e-12, "{:?}", pgs.x());
}

/// A row without effective mass is refused by name, in every form that can hold one.
#[test]
fn rows_without_mass_have_no_energy() {
    let mut dense = Problem::new();
    dense.set_dense(2, &[1.0, 0.0, 0.0, 0.0], 2, Triangle::Full).unwrap();
    let mut negative = Problem::new();
    negative.set_dense(2, &[1.0, 0.0, 0.0, -2.0], 2, Triangle::Full).unwrap();
    let mut csr = Problem::new();
    csr.set_csr(2, &[0, 1, 1], &[0], &[1.0]).unwrap();
    let mut rows = Problem::new();
    let mut jacobian = [0.0; 24];
    (jacobian[0], jacobian[12]) = (1.0, 1.0);
    let mut mass = [0.0; 24];
    mass[..3].fill(1.0);
    rows.set_jacobian(&mass, &jacobian, &[0, -1, 1, -1], None).unwrap();
    for problem in [&dense, &negative, &csr, &rows] {
        for kind in SolverKind::ALL {
            // Solvers that need no effective mass answer, judged by the natural residual; the others say why not.
            match engine(kind).solve(problem, None, None) {
                Ok(report) => {
                    assert_eq!(report.judge, mlcp::Measure::Natural, "{}", kind.name());
                    assert_eq!(report.energy_error, f64::INFINITY, "{}", kind.name());
                }
                Err(refused) => {
                    assert_eq!(refused.status(), Status::NoEnergy);
                    assert!(refused.message().contains("diagonal[1]"), "{refused}");
                }
            }
        }
        for kind in [SolverKind::Bpp, SolverKind::Pgs, SolverKind::InteriorPoint, SolverKind::ProxNewton] {
            assert!(engine(kind).solve(problem, None, None).is_err(), "{}", kind.name());
        }
    }
}

/// A refill begins anew: nothing of an earlier problem is left in the bounds, b or friction.
#[test]
fn refills_begin_anew() {
    let mut problem = Problem::new();
    problem.set_dense(2, &[1.0, 0.0, 0.0, 1.0], 2, Triangle::Full).unwrap();
    problem.set_b(&[1.0, 2.0]).unwrap();
    problem.set_bounds(&[0.0, 0.0], &[1.0, 1.0]).unwrap();
    problem.set_friction(&[-1, 0], &[0.0, 1.0], mlcp::FrictionMode::Coupled).unwrap();
    problem.set_csr(3, &[0, 1, 2, 3], &[0, 1, 2], &[1.0; 3]).unwrap();
    assert_eq!(problem.b(), [0.0; 3]);
    let (mut lo, mut hi) = ([0.0; 3], [0.0; 3]);
    problem.bounds_at(&[1.0; 3], &mut lo, &mut hi);
    assert_eq!((lo, hi), ([f64::NEG_INFINITY; 3], [f64::INFINITY; 3]));
    assert!(!problem.has_live_bounds());
    assert_eq!(problem.bodies(), 0);
}

/// No rows at all is a problem too, solved before it began.
#[test]
fn empty_problems() {
    let mut dense = Problem::new();
    dense.set_dense(0, &[], 0, Triangle::Full).unwrap();
    let mut csr = Problem::new();
    csr.set_csr(0, &[0], &[], &[]).unwrap();
    let mut rows = Problem::new();
    rows.set_jacobian(&[], &[], &[], None).unwrap();
    let mut bodies_only = Problem::new();
    bodies_only.set_jacobian(&[1.0; 12].map(|_| 0.0), &[], &[], None).unwrap();
    bodies_only.set_motion(0.1, &[0.0; 6], None, None).unwrap();
    for problem in [&Problem::new(), &dense, &csr, &rows, &bodies_only] {
        for kind in SolverKind::ALL {
            let mut solver = engine(kind);
            let report = solve(&mut solver, problem);
            assert_eq!(report.outcome, mlcp::Outcome::Converged);
            assert!(solver.x().is_empty());
        }
    }
}
