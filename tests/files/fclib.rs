//! FCLIB's files: problems go there and come back, closed forms come out, hostile matrices are refused.

use crate::common::corpus;
use crate::common::frames::{random_frame, sliding_mass, stack};
use crate::common::Random;
use hdf5_pure::FileBuilder;
use mlcp::dataset::{Dataset, Fclib, FclibEquations, FclibMatrix, FclibSolution, Recorded};
use mlcp::multibody::{Formulation, Formulator, Frame};
use mlcp::{FrictionMode, Problem, Status};
use std::path::{Path, PathBuf};

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fclib");
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder.join(name)
}

fn write_and_read(fclib: &Fclib, name: &str) -> (Fclib, Recorded) {
    let path = scratch(name);
    fclib.write(&path).unwrap();
    let file = Dataset::open(&path).unwrap();
    assert_eq!((file.problems(), file.frames()), (1, 0));
    (file.fclib().unwrap().clone(), file.problem(0).unwrap())
}

#[test]
fn recorded_problems_go_there_and_back() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/engines.h5");
    let file = Dataset::open(path.as_ref()).unwrap();
    let (mut local, mut refused) = (0, 0);
    for k in 0..file.problems() {
        let mut recorded = file.problem(k).unwrap();
        recorded.x = recorded.x_ref.take();
        let (fclib, order) = match Fclib::from_recorded(&recorded) {
            Ok(found) => found,
            Err(e) => {
                assert_eq!(e.status(), Status::Unsupported, "{e}");
                refused += 1;
                continue;
            }
        };
        local += 1;
        let (read, back) = write_and_read(&fclib, "local.h5");
        assert_eq!(read, fclib, "{}", recorded.name);
        // Row k of FCLIB's problem is row order[k] of ours, to the bit.
        let (a, b) = (recorded.matrix.as_ref().unwrap().dense(), back.matrix.as_ref().unwrap().dense());
        let n = recorded.rows();
        for i in 0..n {
            assert_eq!(back.b[i].to_bits(), recorded.b[order[i]].to_bits());
            assert_eq!(back.lo[i], recorded.lo[order[i]], "{}", recorded.name);
            // In space FCLIB's contacts are cones.
            let (mu, normal) = match fclib.dimension {
                3 if i % 3 > 0 && i < back.cones.len() => (back.cone_mu[i / 3], Some(i - i % 3)),
                _ => (back.mu[i], back.normal_of(i)),
            };
            assert_eq!((mu, normal.map(|f| order[f])), (recorded.mu[order[i]], recorded.normal_of(order[i])));
            assert_eq!(back.x.as_ref().unwrap()[i], recorded.x.as_ref().unwrap()[order[i]]);
            for j in 0..n {
                let (ours, theirs) = (a[n * order[i] + order[j]], b[n * i + j]);
                // Below the contacts stands the transpose of V, which engines give only to round-off.
                assert!((ours - theirs).abs() <= 1e-6 * (1.0 + ours.abs()), "{} {i} {j}", recorded.name);
            }
        }
    }
    // Walls, piles and chains go; limits, motors, boxed friction and infinite friction have no place in FCLIB.
    assert!(local >= 30 && refused >= 10, "{local} written, {refused} refused");
}

/// A frame as a global problem, condensed by the reader, is the frame's own reduced problem.
#[test]
fn frames_go_there_and_back() {
    let mut formulator = Formulator::new();
    let mut frames = vec![sliding_mass(0.3, 1.0, 0.5)];
    let mut random = Random::new(4);
    // Every seventh body of these is immovable and moves.
    frames.extend((0..6).map(|_| random_frame(&mut random, 8, 0, 9)));
    frames.push({
        let jointed = random_frame(&mut random, 4, 1, 3);
        assert!(jointed.constraints().lo[0].is_infinite());
        jointed
    });
    for frame in &frames {
        let fclib = Fclib::from_frame(frame, &mut formulator).unwrap();
        let (read, recorded) = write_and_read(&fclib, "global.h5");
        assert_eq!(read, fclib);
        let (mut ours, mut theirs) = (Problem::new(), Problem::new());
        formulator.fill(frame, Formulation::BOX, &mut ours).unwrap();
        recorded.fill(&mut theirs, None, FrictionMode::Coupled).unwrap();
        let (n, joints) = (ours.len(), frame.constraints().lo.len());
        assert_eq!(theirs.len(), n);
        let x = random.vector(n);
        // FCLIB has the contacts first.
        let turned = [&x[joints..], &x[..joints]].concat();
        let (mut w, mut v) = (vec![0.0; n], vec![0.0; n]);
        ours.multiply(&x, &mut w, &mut Vec::new()).unwrap();
        theirs.multiply(&turned, &mut v, &mut Vec::new()).unwrap();
        v.rotate_left(n - joints);
        let size = w.iter().fold(1.0f64, |m, v| m.max(v.abs()));
        assert!(w.iter().zip(&v).all(|(a, b)| (a - b).abs() <= 1e-12 * size), "{w:?}\n{v:?}");
    }
    let error = Fclib::from_frame(&stack(1.0), &mut formulator).unwrap_err();
    assert!(error.status() == Status::Unsupported && error.message().contains("bounds"), "{error}");
    assert_eq!(Fclib::from_frame(&Frame::new(), &mut formulator).unwrap_err().status(), Status::InvalidState);
}

/// Siconos' texts: the same local problem dense (by columns!), in blocks, and listed by columns; a global one; and what
/// is wrong in words.
#[test]
fn texts_of_siconos_are_read() {
    let open = |text: &str| {
        let path = scratch("problem.dat");
        std::fs::write(&path, text).unwrap();
        Dataset::open(&path)
    };
    // W = [4 1 0; 2 5 0; 0 3 6], not symmetric, so that columns are not rows.
    let dense = "3\n1\n0\n3\n3\n3 3\n4 2 0\n1 5 3\n0 0 6\n";
    let blocks = "3\n1\n1\n3\n3\n4 2 2\n2 3\n2 3\n3 4\n0 2 4\n0 1 0 1\n0\n4 2 1 5\n1\n0 0\n2\n0 3\n3\n6\n";
    let list = "3 1\n2 3 3\n2\nCSparse Version 3.1.9, May 4, 2016.\n3-by-3, nzmax: 6 nnz: 6, 1-norm: 9\n    \
                col 0 : locations 0 to 1\n 0 : 4\n 1 : 2\n    col 1 : locations 2 to 4\n 0 : 1\n 1 : 5\n 2 : 3\n    \
                col 2 : locations 5 to 5\n 2 : 6\n";
    for matrix in [dense, blocks, list] {
        let file = open(&format!("{matrix}-1.5 0.25 3e-1\n0.7\n0\n")).unwrap();
        let fclib = file.fclib().unwrap();
        let FclibEquations::Local { w, q, equalities: None } = &fclib.equations else { panic!("{fclib:?}") };
        let entries = [(0, 0, 4.0), (0, 1, 1.0), (1, 0, 2.0), (1, 1, 5.0), (2, 1, 3.0), (2, 2, 6.0)];
        assert_eq!(w.entries(), entries);
        assert_eq!((fclib.dimension, &q[..], &fclib.mu[..]), (3, &[-1.5, 0.25, 0.3][..], &[0.7][..]));
        let recorded = file.problem(0).unwrap();
        assert_eq!((recorded.name.as_str(), recorded.cone_mu.as_slice()), ("problem", &[0.7][..]));
        assert_eq!((file.problems(), file.frames(), file.attribute("engine")), (1, 0, None));
    }
    // M = diag(4, 16), H = [1 0; 0 1], f = (4, 32), w = (-1, 0.5): W = diag(1/4, 1/16), q = (0, 2.5).
    let global = "2 1\n2 2 2\n1\nCSparse Version\ntriplet: 2-by-2, nzmax: 2 nnz: 2\n 0 0 : 4\n 1 1 : 16\n\
                  0 2 2\n2 2\n1 0\n0 1\n4 32\n-1 0.5\n0.25\n";
    let recorded = open(global).unwrap().problem(0).unwrap();
    assert_eq!((recorded.matrix.unwrap().dense(), &recorded.b[..]), (vec![0.25, 0.0, 0.0, 0.0625], &[0.0, 2.5][..]));
    assert_eq!((recorded.findex, recorded.mu), (vec![-1, 0], vec![0.0, 0.25]));
    let tail = "-1.5 0.25 3e-1\n0.7\n";
    for (text, sentence) in [
        (format!("7 {tail}"), "in Siconos' text format, it has the dimension 7"),
        (dense.to_string(), "ends too early"),
        (format!("{dense}-1.5 x 3e-1 0.7"), "has 'x' for a number in q"),
        (format!("{dense}-1.5 inf 3e-1 0.7"), "has 'inf' for a number in q"),
        (format!("{dense}-1.5 0 3e-1 -0.7"), "-0.7 for mu[0]"),
        (format!("{}{tail}", dense.replace("3\n1\n0\n3", "3\n99999999999\n0\n3")), "more than its text can mean"),
        (format!("{}{tail}", blocks.replace("0 1 0 1", "0 1 0 2")), "has 2 for a block column, it must be below 2"),
        (format!("{}{tail}", blocks.replace("0 2 4", "0 5 4")), "pointers that do not rise"),
        (format!("{}{tail}", list.replace(" 2 : 6", " 3 : 6")), "has 3 for a place, it must be below 3"),
        (format!("{}{tail}", list.replace("3-by-3", "3-by-4")), "no 3-by-3"),
        (global.replacen("2 1", "2 2", 1), "has a second matrix of 2 by 2, expected 2 by 4"),
    ] {
        let error = open(&text).err().unwrap_or_else(|| panic!("{sentence}: read"));
        assert_eq!(error.status(), Status::File);
        assert!(error.message().contains(sentence) && error.message().contains("problem.dat"), "{sentence}: {error}");
    }
}

/// One 2D contact in every sparse kind, with guesses and a solution.
#[test]
fn every_sparse_kind_is_read() {
    let dense = [[2.0, 0.5], [0.5, 1.0]];
    let entries = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let x = |order: [usize; 4]| order.map(|k| dense[entries[k].0][entries[k].1]).to_vec();
    let kinds = [
        // Triplets in any order, one of them in two parts.
        (5, vec![1, 0, 0, 1, 1], vec![1, 1, 0, 0, 1], vec![0.25, 0.5, 2.0, 0.5, 0.75]),
        (-1, vec![0, 2, 4], vec![0, 1, 0, 1], x([0, 2, 1, 3])),
        (-2, vec![0, 2, 4], vec![0, 1, 0, 1], x([0, 1, 2, 3])),
    ];
    for (kind, p, i, x) in kinds {
        let w = FclibMatrix { rows: 2, columns: 2, kind, p, i, x };
        let solution = FclibSolution { u: vec![0.0, 1.0], r: vec![2.0, 3.0], ..FclibSolution::default() };
        let fclib = Fclib {
            dimension: 2,
            equations: FclibEquations::Local { w, q: vec![-1.0, 0.25], equalities: None },
            mu: vec![0.5],
            info: ["a title".into(), "ein größerer Text".into(), String::new()],
            guesses: vec![solution.clone(), FclibSolution { r: vec![4.0, 5.0], ..solution.clone() }],
            solution: Some(solution),
        };
        let (read, recorded) = write_and_read(&fclib, "kinds.h5");
        assert_eq!(read, fclib);
        assert_eq!(recorded.matrix.unwrap().dense(), dense.concat());
        assert_eq!((recorded.findex, recorded.mu), (vec![-1, 0], vec![0.0, 0.5]));
        assert_eq!((recorded.lo, recorded.x0), (vec![0.0, f64::NEG_INFINITY], Some(vec![2.0, 3.0])));
    }
}

#[test]
fn matrices_that_lie_are_refused() {
    let good = FclibMatrix { rows: 3, columns: 3, kind: -2, p: vec![0, 1, 2, 3], i: vec![0, 1, 2], x: vec![1.0; 3] };
    let cases: [(&str, FclibMatrix); 6] = [
        ("W/i[1] is 7", FclibMatrix { i: vec![0, 7, 2], ..good.clone() }),
        ("W/p does not rise", FclibMatrix { p: vec![0, 2, 1, 3], ..good.clone() }),
        ("W/p does not rise", FclibMatrix { p: vec![0, 1, 2, 9], ..good.clone() }),
        ("W/p has 4 entries, expected 100", FclibMatrix { rows: 99, ..good.clone() }),
        ("W/x[2] is NaN", FclibMatrix { x: vec![1.0, 1.0, f64::NAN], ..good.clone() }),
        ("W/nz is 4", FclibMatrix { kind: 4, ..good.clone() }),
    ];
    for (sentence, w) in cases {
        let equations = FclibEquations::Local { w, q: vec![0.0; 3], equalities: None };
        let (info, guesses) = (Default::default(), Vec::new());
        let path = scratch("lies.h5");
        Fclib { dimension: 3, equations, mu: vec![0.5], info, solution: None, guesses }.write(&path).unwrap();
        let error = Dataset::open(&path).err().expect("refused");
        assert!(error.status() == Status::File && error.message().contains(sentence), "{error}");
    }
    // A rolling problem is told apart.
    let path = scratch("rolling.h5");
    let mut file = FileBuilder::new();
    let group = file.create_group("fclib_global_rolling");
    file.add_group(group.finish());
    file.write(&path).unwrap();
    let error = Dataset::open(&path).err().expect("refused");
    assert!(error.message().contains("rolling"), "{error}");
    assert_eq!(corpus::load().len(), 65);
}

/// What FCLIB's own reader makes of our files.
const READER: &str = r#"
#include <fclib.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    struct fclib_local *l = argc == 3 ? fclib_read_local(argv[1]) : NULL;
    struct fclib_global *g = argc == 2 ? fclib_read_global(argv[1]) : NULL;
    if (l != NULL) {
        struct fclib_solution *s = fclib_read_solution(argv[1]);
        printf("local %d %d %d %.17g %.17g %s %.17g\n", l->spacedim, l->W->m, l->W->nz, l->q[1], l->mu[0], l->info->title, s->r[0]);
    }
    if (g != NULL) {
        printf("global %d %d %d %.17g %.17g\n", g->spacedim, g->M->m, g->H->n, g->f[2], g->w[0]);
    }
    return 0;
}
"#;

#[test]
fn libfclib_reads_our_files() {
    let (source, program) = (scratch("reader.c"), scratch("reader"));
    std::fs::write(&source, READER).unwrap();
    let hdf5 = ["-I/usr/include/hdf5/serial", "-L/usr/lib/x86_64-linux-gnu/hdf5/serial"];
    let built = std::process::Command::new("cc")
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .args(hdf5)
        .args(["-lfclib", "-lhdf5_serial_hl", "-lhdf5_serial", "-lm"])
        .output();
    if !built.is_ok_and(|o| o.status.success()) {
        println!("libfclib-dev is not installed: not looked at");
        return;
    }
    let run = |args: &[&std::path::Path]| {
        let output = std::process::Command::new(&program).args(args).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let file = Dataset::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/engines.h5").as_ref()).unwrap();
    let mut recorded = file.problem(0).unwrap();
    recorded.x = recorded.x_ref.take();
    let (fclib, order) = Fclib::from_recorded(&recorded).unwrap();
    let path = scratch("ours_local.h5");
    fclib.write(&path).unwrap();
    let (q, mu) = (recorded.b[order[1]], fclib.mu[0]);
    let r = recorded.x.as_ref().unwrap()[order[0]];
    let said = run(&[&path, Path::new("local")]);
    let fields: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(fields[..4], ["local", "3", "12", "-2"], "{said}");
    let number = |k: usize| fields[k].parse::<f64>().unwrap();
    assert_eq!((number(4), number(5), fields[6], number(7)), (q, mu, recorded.name.as_str(), r), "{said}");
    let global = Fclib::from_frame(&sliding_mass(0.3, 1.0, 0.5), &mut Formulator::new()).unwrap();
    let path = scratch("ours_global.h5");
    global.write(&path).unwrap();
    let said = run(&[&path]);
    assert!(said.starts_with("global 3 6 3 "), "{said}");
}
