//! The diagnosis of redundant constraints: on mechanisms whose redundancies are known by hand, under changes of units
//! and scale, and on random ones with planted redundancies, certified by an independent singular value decomposition.

use crate::common::problems::csr_of;
use crate::common::Random;
use mlcp::mechanism::{Diagnosis, Findings, RowRole};
use mlcp::{Problem, Triangle};
use mlcp_scenes::rigid::{bricard, four_bar, net, Body, Kind, Mechanism, Rows, Vector};
use nalgebra::DMatrix;

fn problem_of(inverse_mass: &[f64], rows: &Rows) -> Problem {
    let mut problem = Problem::new();
    problem.set_jacobian(inverse_mass, &rows.jacobian, &rows.bodies, None).unwrap();
    problem
}

/// The same A as a dense and as a CSR problem, b and bounds left at their defaults.
fn other_forms(problem: &Problem) -> [Problem; 2] {
    let n = problem.len();
    let mut lower = vec![0.0; n * n];
    problem.gather_dense(&mut lower, n);
    // Column-major lower is row-major upper.
    let at = |i: usize, j: usize| if i <= j { lower[i * n + j] } else { lower[j * n + i] };
    let full: Vec<f64> = (0..n * n).map(|k| at(k / n, k % n)).collect();
    let mut dense = Problem::new();
    dense.set_dense(n, &full, n, Triangle::Full).unwrap();
    let (mut start, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        for j in (0..n).filter(|&j| full[i * n + j] != 0.0) {
            columns.push(j as i32);
            values.push(full[i * n + j]);
        }
        start.push(columns.len() as i32);
    }
    let mut csr = Problem::new();
    csr.set_csr(n, &start, &columns, &values).unwrap();
    [dense, csr]
}

fn diagnose(problem: &Problem) -> (Diagnosis, Findings) {
    let mut diagnosis = Diagnosis::new();
    let findings = diagnosis.run(problem, None, 0.0).unwrap();
    (diagnosis, findings)
}

fn rows_with(diagnosis: &Diagnosis, role: RowRole) -> Vec<usize> {
    (0..diagnosis.roles().len()).filter(|&i| diagnosis.roles()[i] == role).collect()
}

/// Rank and roles are as told, in every form of the problem, for rows and bodies in any unit.
fn expect(mechanism: &Mechanism, redundant: &[usize], shared: &[usize]) {
    let (mass, rows) = (mechanism.inverse_mass(), mechanism.rows());
    let n = rows.violation.len();
    let mut random = Random::new(7);
    let mut cases = vec![problem_of(&mass, &rows)];
    // Rows scaled by anything between a millionth and a million, of either sign.
    for _ in 0..4 {
        let mut scaled = rows.clone();
        for row in scaled.jacobian.chunks_exact_mut(12) {
            let s = random.scale(1e-6, 1e6) * random.pick(&[-1.0, 1.0]);
            row.iter_mut().for_each(|j| *j *= s);
        }
        cases.push(problem_of(&mass, &scaled));
    }
    // Grams and millimetres: 1/g and 1/(g mm²); point rows keep their 1, levers are in mm; angles stay angles.
    let mut small = mass.clone();
    for body in small.chunks_exact_mut(12) {
        body[..3].iter_mut().for_each(|m| *m *= 1e-3);
        body[3..].iter_mut().for_each(|i| *i *= 1e-9);
    }
    let mut levers = rows.clone();
    for row in levers.jacobian.chunks_exact_mut(12).filter(|r| r[..3].iter().any(|v| *v != 0.0)) {
        row[3..6].iter_mut().for_each(|v| *v *= 1e3);
        row[9..12].iter_mut().for_each(|v| *v *= 1e3);
    }
    cases.push(problem_of(&small, &levers));
    let others: Vec<Problem> = cases.iter().flat_map(other_forms).collect();
    let condition = diagnose(&cases[0]).1.condition;
    for (k, problem) in cases.iter().chain(&others).enumerate() {
        let (diagnosis, findings) = diagnose(problem);
        assert!((findings.condition / condition - 1.0).abs() < 1e-6, "case {k}: {findings:?}, first {condition}");
        assert_eq!(rows_with(&diagnosis, RowRole::Redundant), redundant, "case {k}: {findings:?}");
        assert_eq!(rows_with(&diagnosis, RowRole::Shared), shared, "case {k}: {findings:?}");
        assert_eq!((findings.considered, findings.rank), (n, n - redundant.len()), "case {k}");
        assert!(findings.is_consistent && findings.contradiction < 1e-20, "case {k}");
        // A matrix tells distances to the root of round-off.
        let round_off = if k < cases.len() { 1e-12 } else { 1e-5 };
        assert!(findings.closest_kept > 1e-3 && findings.farthest_dropped < round_off, "case {k}: {findings:?}");
    }
}

/// Five rows per hinge: x, y, z, then two of the axis. Out of the plane are z and the two of the axis.
#[test]
fn four_bar_in_space() {
    let out_of_plane = |joint: usize| [5 * joint + 2, 5 * joint + 3, 5 * joint + 4];
    let shared: Vec<usize> = (0..3).flat_map(out_of_plane).collect();
    expect(&four_bar(), &out_of_plane(3), &shared);
}

/// Thirty rows, thirty freedoms, one motion: the very last row is one too many.
#[test]
fn bricard_in_its_cube() {
    let (diagnosis, findings) = diagnose(&problem_of(&bricard().inverse_mass(), &bricard().rows()));
    assert_eq!((findings.considered, findings.rank), (30, 29));
    let shared = rows_with(&diagnosis, RowRole::Shared);
    let redundant = rows_with(&diagnosis, RowRole::Redundant);
    assert_eq!(redundant.len(), 1);
    // Which rows carry the dependency: those where the one left null vector of the rows is not zero.
    let null = left_null_space(&bricard().inverse_mass(), &bricard().rows());
    assert_eq!(null.ncols(), 1);
    let involved: Vec<usize> = (0..30).filter(|&i| null[(i, 0)].abs() > 1e-9).collect();
    assert_eq!(redundant[0], *involved.last().unwrap());
    assert_eq!([shared.clone(), redundant.clone()].concat(), involved);
    expect(&bricard(), &redundant, &shared);
}

/// A door of 0.9 m by 2 m that turns about z at its edge. One hinge holds it; the second and the third are too many, up
/// to all of their rows.
#[test]
fn door_on_three_hinges() {
    let mut door = Mechanism::default();
    door.bodies.push(Body::at_rest(Vector::new(0.45, 0.0, 1.0), 20.0, Vector::new(6.67, 8.02, 1.35)));
    for height in [0.3, 1.0, 1.7] {
        door.join(Kind::Hinge, [None, Some(0)], Vector::new(0.0, 0.0, height), Vector::z());
    }
    expect(&door, &(5..15).collect::<Vec<_>>(), &(0..5).collect::<Vec<_>>());
    // Row 6 is y of the second hinge: y of the first and a turn about x, which the hinge's axis forbids.
    let problem = problem_of(&door.inverse_mass(), &door.rows());
    let (mut diagnosis, _) = diagnose(&problem);
    check_dependencies(&mut diagnosis, &door.rows());
    let of_six: Vec<usize> = diagnosis.dependency(6).unwrap().iter().map(|d| d.0).collect();
    assert_eq!(of_six[0], 1);
    assert!(of_six.len() == 2 && (of_six[1] == 3 || of_six[1] == 4), "{of_six:?}");
}

/// Table on the floor: four normal contacts, of which any three hold it. Active at a given x only.
fn table(legs: &[(f64, f64)]) -> Problem {
    let mass = [0.1, 0.1, 0.1, 0.3, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 0.2];
    let (mut jacobian, mut bodies) = (Vec::new(), Vec::new());
    for &(x, y) in legs {
        let arm = Vector::new(x, y, -0.7).cross(&Vector::z());
        jacobian.extend([0.0, 0.0, 1.0, arm.x, arm.y, arm.z, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        bodies.extend([0, -1]);
    }
    let mut problem = Problem::new();
    problem.set_jacobian(&mass, &jacobian, &bodies, None).unwrap();
    problem.set_bounds(&vec![0.0; legs.len()], &vec![f64::INFINITY; legs.len()]).unwrap();
    problem
}

#[test]
fn table_on_four_legs() {
    let corners = [(0.5, 0.4), (-0.5, 0.4), (-0.5, -0.4), (0.5, -0.4)];
    let problem = table(&corners);
    let mut diagnosis = Diagnosis::new();
    // No row is bilateral.
    let none = diagnosis.run(&problem, None, 0.0).unwrap();
    assert_eq!((none.considered, none.rank, none.rows), (0, 0, 4));
    let all = diagnosis.run(&problem, Some(&[1.0; 4]), 0.0).unwrap();
    assert_eq!((all.considered, all.rank), (4, 3));
    assert_eq!(diagnosis.roles(), [RowRole::Shared, RowRole::Shared, RowRole::Shared, RowRole::Redundant]);
    // The corners of a rectangle: the last is the first minus the second plus the third.
    let expected = [(0, 1.0), (1, -1.0), (2, 1.0)];
    let found = diagnosis.dependency(3).unwrap();
    for (f, e) in found.iter().zip(expected) {
        assert!(f.0 == e.0 && (f.1 - e.1).abs() < 1e-12, "{found:?}");
    }
    assert_eq!(found.len(), 3);
    // A leg in the air is not looked at.
    let three = diagnosis.run(&problem, Some(&[1.0, 1.0, 0.0, 1.0]), 0.0).unwrap();
    assert_eq!((three.considered, three.rank), (3, 3));
    assert_eq!(diagnosis.roles()[2], RowRole::Outside);
    // Impulses cannot be spread over contacts: some might have to pull.
    assert!(diagnosis.least_impulses(&mut [1.0; 4]).is_err());
}

/// Orthonormal left null space of the whitened, normalised rows, by singular values.
fn left_null_space(inverse_mass: &[f64], rows: &Rows) -> DMatrix<f64> {
    let k = whitened(inverse_mass, rows);
    let gram = &k * k.transpose();
    let eigen = gram.symmetric_eigen();
    let columns: Vec<_> = (0..k.nrows()).filter(|&c| eigen.eigenvalues[c] < 1e-11).collect();
    eigen.eigenvectors.select_columns(&columns)
}

/// J M^-1/2 with rows of length 1, by an eigenvalue root of each body's inverse mass.
fn whitened(inverse_mass: &[f64], rows: &Rows) -> DMatrix<f64> {
    let (n, bodies) = (rows.violation.len(), inverse_mass.len() / 12);
    let mut k = DMatrix::zeros(n, 6 * bodies);
    for i in 0..n {
        for half in 0..2 {
            let body = rows.bodies[2 * i + half];
            if body < 0 {
                continue;
            }
            let m = &inverse_mass[12 * body as usize..][..12];
            let eigen = nalgebra::Matrix3::from_row_slice(&m[3..]).symmetric_eigen();
            let root = eigen.eigenvectors
                * nalgebra::Matrix3::from_diagonal(&eigen.eigenvalues.map(|v| v.max(0.0).sqrt()))
                * eigen.eigenvectors.transpose();
            let j = &rows.jacobian[12 * i + 6 * half..][..6];
            let angular = root * Vector::new(j[3], j[4], j[5]);
            for c in 0..3 {
                k[(i, 6 * body as usize + c)] += j[c] * m[c].sqrt();
                k[(i, 6 * body as usize + 3 + c)] += angular[c];
            }
        }
        let length = k.row(i).norm();
        if length > 0.0 {
            k.row_mut(i).unscale_mut(length);
        }
    }
    k
}

/// Each redundant row is what its dependency says, of rows that are kept and come before it.
fn check_dependencies(diagnosis: &mut Diagnosis, rows: &Rows) {
    let bodies = 1 + rows.bodies.iter().copied().max().unwrap() as usize;
    let spread = |i: usize| {
        let mut all = vec![0.0; 6 * bodies];
        for half in 0..2 {
            if let Ok(b) = usize::try_from(rows.bodies[2 * i + half]) {
                (0..6).for_each(|c| all[6 * b + c] += rows.jacobian[12 * i + 6 * half + c]);
            }
        }
        all
    };
    for i in rows_with(diagnosis, RowRole::Redundant) {
        let mut rest = spread(i);
        let size = rest.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for (j, c) in diagnosis.dependency(i).unwrap() {
            assert!(j < i && diagnosis.roles()[j] == RowRole::Shared, "row {i} on row {j}");
            rest.iter_mut().zip(spread(j)).for_each(|(r, v)| *r -= c * v);
        }
        let left = rest.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        assert!(left <= 1e-5 * size, "row {i}: {left:e} of {size:e} unexplained");
    }
}

/// Random rows on random bodies, and rows that follow from others: around a loop of bodies, or on the same pair.
fn random_mechanism(random: &mut Random) -> (Vec<f64>, Rows, usize) {
    let bodies = 3 + random.below(8);
    let mut mass = Vec::new();
    for _ in 0..bodies {
        let m = random.scale(1e-3, 1e3);
        mass.extend([m; 3]);
        let inertia = m * random.scale(1.0, 1e3);
        let turn =
            nalgebra::UnitQuaternion::from_scaled_axis(Vector::new(random.signed(), random.signed(), random.signed()));
        let diagonal = Vector::new(inertia, inertia * random.range(0.3, 3.0), inertia * random.range(0.3, 3.0));
        let r = turn.to_rotation_matrix();
        mass.extend((r * nalgebra::Matrix3::from_diagonal(&diagonal) * r.transpose()).iter());
    }
    let mut rows = Rows::default();
    let push = |rows: &mut Rows, pair: [i32; 2], parts: [[f64; 6]; 2], random: &mut Random| {
        let s = random.scale(1e-3, 1e3) * random.pick(&[-1.0, 1.0]);
        rows.jacobian.extend(parts.iter().flatten().map(|v| s * v));
        rows.bodies.extend(pair);
        rows.violation.push(0.0);
    };
    let vector = |random: &mut Random| -> [f64; 6] { std::array::from_fn(|_| random.signed()) };
    let minus = |p: [f64; 6]| p.map(|v| -v);
    let mut planted = 0;
    // A chain of bodies, world last or first, with a few rows per link.
    let freedoms = 1 + random.below(4);
    let mut potentials: Vec<Vec<[f64; 6]>> = Vec::new();
    for _ in 0..=bodies {
        potentials.push((0..freedoms).map(|_| vector(random)).collect());
    }
    let name = |k: usize| if k == bodies { -1 } else { k as i32 };
    let mut extra = Vec::new();
    for k in 0..bodies {
        for f in 0..freedoms {
            let parts = [potentials[k][f], minus(potentials[k + 1][f])];
            push(&mut rows, [name(k), name(k + 1)], parts, random);
        }
        if random.chance(0.3) && k >= 1 {
            extra.push((random.below(k), k + 1, random.below(freedoms)));
        }
    }
    // The links telescope: p_from - p_to follows from those between.
    for (from, to, f) in extra {
        let parts = [potentials[from][f], minus(potentials[to][f])];
        push(&mut rows, [name(from), name(to)], parts, random);
        planted += 1;
    }
    // Combinations of the rows of one link.
    for _ in 0..random.below(3) {
        let k = random.below(bodies);
        let mut parts = [[0.0; 6]; 2];
        for f in 0..freedoms {
            let c = random.signed();
            for d in 0..6 {
                parts[0][d] += c * potentials[k][f][d];
                parts[1][d] -= c * potentials[k + 1][f][d];
            }
        }
        push(&mut rows, [name(k), name(k + 1)], parts, random);
        planted += 1;
    }
    (mass, rows, planted)
}

#[test]
fn thousand_random_mechanisms() {
    let (mut total, mut matrices) = (0, 0);
    for seed in 0..1000 {
        let mut random = Random::new(seed);
        let (mass, rows, planted) = random_mechanism(&mut random);
        // Any order: the first of a dependent set stay.
        let n = rows.violation.len();
        let mut order: Vec<usize> = (0..n).collect();
        (1..n).rev().for_each(|i| order.swap(i, random.below(i + 1)));
        let mut shuffled = Rows::default();
        for &i in &order {
            shuffled.jacobian.extend(&rows.jacobian[12 * i..12 * i + 12]);
            shuffled.bodies.extend(&rows.bodies[2 * i..2 * i + 2]);
            shuffled.violation.push(0.0);
        }
        let (mut diagnosis, findings) = diagnose(&problem_of(&mass, &shuffled));
        assert_eq!(findings.redundant, planted, "seed {seed}: {findings:?}");
        check_dependencies(&mut diagnosis, &shuffled);
        // Kept rows are independent: the smallest singular value says so.
        let k = whitened(&mass, &shuffled);
        let kept: Vec<usize> = (0..n).filter(|&i| diagnosis.roles()[i] != RowRole::Redundant).collect();
        let values = k.select_rows(&kept).singular_values();
        assert!(values.min() > 1e-7, "seed {seed}: {:e}", values.min());
        let condition = (values.max() / values.min()).powi(2);
        assert!((findings.condition / condition - 1.0).abs() < 1e-3, "seed {seed}: {findings:?} {condition:e}");
        // The same from the matrix, as far as its squares can tell.
        if values.min() > 1e-4 {
            for problem in other_forms(&problem_of(&mass, &shuffled)) {
                let (other, found) = diagnose(&problem);
                assert_eq!(
                    found.redundant,
                    planted,
                    "seed {seed}: {found:?}, smallest singular value {:e}",
                    values.min()
                );
                assert_eq!(
                    rows_with(&other, RowRole::Redundant),
                    rows_with(&diagnosis, RowRole::Redundant),
                    "seed {seed}"
                );
                matrices += 1;
            }
        }
        // The rows in any dependency are those with weight in the left null space.
        let null = left_null_space(&mass, &shuffled);
        assert_eq!(null.ncols(), planted, "seed {seed}");
        for i in 0..n {
            let weight = null.row(i).norm();
            let takes_part = matches!(diagnosis.roles()[i], RowRole::Shared | RowRole::Redundant);
            assert!(
                takes_part == (weight > 1e-4) || (1e-5..1e-3).contains(&weight),
                "seed {seed}, row {i}: {weight:e}"
            );
        }
        total += planted;
    }
    assert!(total > 1500 && matrices > 1000, "{total} {matrices}");
}

#[test]
fn large_nets_of_known_rank() {
    for side in [2, 5, 8, 16, 23] {
        let net = net(side);
        let jacobian = problem_of(&net.inverse_mass(), &net.rows());
        let (from_rows, found) = diagnose(&jacobian);
        let (from_matrix, also) = diagnose(&csr_of(&jacobian));
        assert_eq!((found.rank, also.rank), (6 * side * side - 7, 6 * side * side - 7), "{found:?} {also:?}");
        assert_eq!(from_rows.roles(), from_matrix.roles(), "side {side}");
        assert!(found.closest_kept > 1e3 * found.farthest_dropped && also.closest_kept > 1e3 * also.farthest_dropped);
        // Estimates, both from below.
        assert!((0.3..3.0).contains(&(found.condition / also.condition)), "{found:?} {also:?}");
    }
}

/// Redundant rows may contradict each other: how much, and where.
#[test]
fn contradictions_are_found() {
    let mechanism = four_bar();
    let mut problem = problem_of(&mechanism.inverse_mass(), &mechanism.rows());
    let n = problem.len();
    let mut random = Random::new(3);
    // Velocities of bodies never contradict.
    problem.set_motion(0.01, &random.vector(18), None, None).unwrap();
    let (_, findings) = diagnose(&problem);
    assert!(findings.is_consistent && findings.contradiction < 1e-20, "{findings:?}");
    // 1 mm/s out of plane in the last hinge does: shared out over the out-of-plane rows, as kinetic energy has it.
    let mut b = problem.b().to_vec();
    b[17] += 1e-3;
    problem.set_b(&b).unwrap();
    let (diagnosis, findings) = diagnose(&problem);
    assert!(!findings.is_consistent);
    let null = left_null_space(&mechanism.inverse_mass(), &mechanism.rows());
    let scaled = nalgebra::DVector::from_fn(n, |i, _| b[i] / problem.diagonal()[i].sqrt());
    let part = null.tr_mul(&scaled);
    assert!((findings.contradiction / (0.5 * part.norm_squared()) - 1.0).abs() < 1e-9);
    let rest = &null * part;
    for i in 0..n {
        assert!((diagnosis.conflict()[i] - rest[i] * problem.diagonal()[i].sqrt()).abs() < 1e-12);
    }
}

/// The same motion, with the least impulses: against the pseudo-inverse.
#[test]
fn impulses_are_spread() {
    let mechanism = four_bar();
    let problem = problem_of(&mechanism.inverse_mass(), &mechanism.rows());
    let (mut diagnosis, _) = diagnose(&problem);
    let mut random = Random::new(11);
    let given = random.vector(20);
    let mut x = given.clone();
    diagnosis.least_impulses(&mut x).unwrap();
    let (mut before, mut after, mut scratch) = (vec![0.0; 18], vec![0.0; 18], Vec::new());
    problem.velocity_change(&given, &mut before, &mut scratch).unwrap();
    problem.velocity_change(&x, &mut after, &mut scratch).unwrap();
    for (p, q) in before.iter().zip(&after) {
        assert!((p - q).abs() < 1e-9, "{p} {q}");
    }
    let null = left_null_space(&mechanism.inverse_mass(), &mechanism.rows());
    let scaled = nalgebra::DVector::from_fn(20, |i, _| x[i] * problem.diagonal()[i].sqrt());
    assert!(null.tr_mul(&scaled).norm() < 1e-9);
}

/// The suggested compliance makes A regular and goes to the rows that need it, in proportion to their own 1/mass.
#[test]
fn suggested_compliance() {
    let mechanism = four_bar();
    let problem = problem_of(&mechanism.inverse_mass(), &mechanism.rows());
    let (diagnosis, _) = diagnose(&problem);
    let mut compliance = vec![-1.0; 20];
    diagnosis.suggest_compliance(1e-6, &mut compliance).unwrap();
    for i in 0..20 {
        let expected = if i % 5 >= 2 { 1e-6 * problem.diagonal()[i] } else { 0.0 };
        assert!((compliance[i] - expected).abs() <= 1e-15, "row {i}");
    }
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(diagnosis.suggest_compliance(bad, &mut compliance).is_err());
    }
}

/// A row on nothing that can move is redundant, depends on nothing, and contradicts if it is asked to move.
#[test]
fn rows_on_immovable_bodies() {
    let mut jacobian = vec![0.0; 24];
    (jacobian[0], jacobian[12 + 1]) = (1.0, 1.0);
    let mut mass = vec![0.0; 24];
    mass[12..15].fill(1.0);
    let mut problem = Problem::new();
    problem.set_jacobian(&mass, &jacobian, &[0, -1, 1, -1], None).unwrap();
    let (mut diagnosis, findings) = diagnose(&problem);
    assert_eq!(diagnosis.roles(), [RowRole::Redundant, RowRole::Needed]);
    assert!(findings.is_consistent && diagnosis.dependency(0).unwrap().is_empty());
    problem.set_b(&[1.0, 0.0]).unwrap();
    let (diagnosis, findings) = diagnose(&problem);
    assert!(!findings.is_consistent);
    assert_eq!(diagnosis.conflict(), [1.0, 0.0]);
}

#[test]
fn empty_and_refused() {
    let mut diagnosis = Diagnosis::new();
    let found = diagnosis.run(&Problem::new(), None, 0.0).unwrap();
    assert_eq!((found.rows, found.rank, found.is_consistent), (0, 0, true));
    for bad in [-1.0, 1.0, f64::NAN] {
        assert!(diagnosis.run(&Problem::new(), None, bad).unwrap_err().message().contains("tolerance"));
    }
    let mut problem = Problem::new();
    problem.set_dense(2, &[1.0, 0.5, -0.5, 1.0], 2, Triangle::Full).unwrap();
    assert!(diagnosis.run(&problem, None, 0.0).unwrap_err().message().contains("symmetric"));
    assert!(diagnosis.dependency(0).is_err());
}
