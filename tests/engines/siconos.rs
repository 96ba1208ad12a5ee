//! Siconos beside this library, where both of Debian's libfclib-dev and libsiconos-numerics-dev are installed: what we
//! export is read by FCLIB's own reader and solved by Siconos' solvers to our contact forces; Siconos' and FCLIB's
//! collections, where they lie beside the project, are solved to the same velocities.

use crate::common::frames::Parts;
use mlcp::dataset::{Dataset, Fclib, Recorded};
use mlcp::multibody::{Formulation, Formulator, Frame};
use mlcp::{Choice, Engine, FrictionMode, Measure, Problem, Settings};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What counts as solved: the norm of the natural map.
const SOLVED: f64 = 1e-8;
/// Velocities this far apart, m/s, are the same.
const SAME: f64 = 1e-6;
/// Siconos' PROX, ADMM, NSN_AC, NSGS on local problems.
const LOCAL: [&str; 4] = ["502", "523", "504", "500"];
/// NSGS_WR, NSN_AC_WR, NSN_AC, ADMM on global ones.
const GLOBAL: [&str; 4] = ["600", "606", "607", "613"];

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("siconos");
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder.join(name)
}

/// The program that asks Siconos, if it can be built.
fn build(name: &str) -> Option<PathBuf> {
    let out = scratch(name);
    let built = Command::new("cc")
        .args(["-std=gnu99", "-O1", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/engines/siconos/solve.c"), "-o"])
        .arg(&out)
        .args(["-I/usr/include/siconos", "-I/usr/include/siconos/numerics", "-I/usr/include/hdf5/serial"])
        .args(["-L/usr/lib/x86_64-linux-gnu/hdf5/serial", "-lsiconos_numerics", "-lfclib"])
        .args(["-lhdf5_serial_hl", "-lhdf5_serial", "-lm"])
        .output();
    if built.is_ok_and(|o| o.status.success()) {
        return Some(out);
    }
    println!("libfclib-dev or libsiconos-numerics-dev is not installed: not looked at");
    None
}

/// Velocities and impulses.
struct Answer {
    u: Vec<f64>,
    r: Vec<f64>,
}

/// What a solver of Siconos' makes of a file; its own word is not taken for it. Some take long, some crash.
fn ask(program: &Path, file: &Path, kind: &str, solver: &str) -> Option<Answer> {
    let said = scratch(&format!("{}.said", file.file_stem()?.to_string_lossy()));
    let mut child = Command::new(program)
        .arg(file)
        .args([kind, solver])
        .stdout(std::fs::File::create(&said).ok()?)
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let begin = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if begin.elapsed() > Duration::from_secs(if std::env::var_os("MLCP_LONG").is_some() { 60 } else { 4 }) {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let said = std::fs::read_to_string(&said).ok()?;
    let rows = said.lines().skip_while(|l| !l.starts_with("info")).skip(1);
    let pairs: Option<Vec<(f64, f64)>> = rows
        .map(|l| {
            let (u, r) = l.split_once(' ')?;
            Some((u.parse().ok()?, r.parse().ok()?))
        })
        .collect();
    let (u, r): (Vec<f64>, Vec<f64>) = pairs?.into_iter().unzip();
    u.iter().chain(&r).all(|v| v.is_finite()).then_some(Answer { u, r })
}

/// Norm of r - P(r - û) with û = u + mu |u_T| n and the projection P onto the cones, as Siconos and FCLIB judge.
fn natural_map(mu: &[f64], Answer { u, r }: &Answer) -> f64 {
    let mut square = 0.0;
    for (k, &mu) in mu.iter().enumerate() {
        let (u, r) = (&u[3 * k..3 * k + 3], &r[3 * k..3 * k + 3]);
        let aim = [r[0] - u[0] - mu * u[1].hypot(u[2]), r[1] - u[1], r[2] - u[2]];
        let t = aim[1].hypot(aim[2]);
        let nearest = if t <= mu * aim[0] {
            aim
        } else if mu * t <= -aim[0] {
            [0.0; 3]
        } else {
            let n = (mu * t + aim[0]) / (1.0 + mu * mu);
            [n, mu * n * aim[1] / t, mu * n * aim[2] / t]
        };
        square += (0..3).map(|c| (r[c] - nearest[c]).powi(2)).sum::<f64>();
    }
    square.sqrt()
}

fn fill(recorded: &Recorded) -> Problem {
    let mut problem = Problem::new();
    recorded.fill(&mut problem, None, FrictionMode::Coupled).unwrap();
    problem
}

/// How far an answer is from a solution: its natural map, and how far its velocities are from those of its impulses.
fn left(problem: &Problem, mu: &[f64], answer: &Answer) -> f64 {
    let mut u = vec![0.0; problem.len()];
    problem.multiply(&answer.r, &mut u, &mut Vec::new()).unwrap();
    natural_map(mu, answer).max(apart(&u, &answer.u).0)
}

/// Our answer, as exact as it gets.
fn solve(problem: &Problem) -> Answer {
    let settings = Settings {
        choice: Choice::Best(Measure::Natural),
        relative_tolerance: 0.0,
        energy_tolerance: 0.0,
        ..Settings::default()
    };
    let mut engine = Engine::new(settings).unwrap();
    let mut enough = |seen: &mlcp::solve::Observation<'_>| seen.record.measured && seen.record.error <= 1e-12;
    engine.solve(problem, None, Some(&mut enough)).unwrap();
    let mut u = vec![0.0; problem.len()];
    problem.multiply(engine.x(), &mut u, &mut Vec::new()).unwrap();
    Answer { u, r: engine.x().to_vec() }
}

/// Largest difference, and largest entry.
fn apart(a: &[f64], b: &[f64]) -> (f64, f64) {
    let most = |v: &mut dyn Iterator<Item = f64>| v.fold(0.0f64, |m, v| m.max(v.abs()));
    assert_eq!(a.len(), b.len());
    (most(&mut a.iter().zip(b).map(|(a, b)| a - b)), most(&mut a.iter().copied()))
}

/// A box that slides and spins on three points: all friction is at its limit, so that the forces are unique.
fn box_on_three_points() -> Frame {
    let mut parts = Parts::default();
    parts.body(4.0, [0.3, 0.4, 0.5], [0.0, 0.0, 0.5], [1.0, 0.3, 0.0, 0.0, 0.0, 0.5]);
    for point in [[0.5, 0.4, 0.0], [-0.5, 0.3, 0.0], [0.1, -0.5, 0.0]] {
        parts.contact([-1, 0], point, [0.0, 0.0, 1.0], 0.0, 0.3);
    }
    parts.frame(0.01, 0.0)
}

/// Three balls on the ground and one on top of them; some roll, some slide.
fn four_balls() -> Frame {
    let mut parts = Parts::default();
    let (radius, out) = (0.1, 0.11);
    let place = |k: usize| {
        let angle = 2.0 * std::f64::consts::PI * k as f64 / 3.0;
        [out * angle.cos(), out * angle.sin(), radius]
    };
    let height = radius + (4.0f64 * radius * radius - out * out).sqrt();
    for k in 0..3 {
        let mass = 1.0 + 0.5 * k as f64;
        parts.body(mass, [0.4 * mass * radius * radius; 3], place(k), [0.2, 0.1 * k as f64, 0.0, 0.0, 1.0, 0.0]);
        parts.contact([-1, k as i32], [place(k)[0], place(k)[1], 0.0], [0.0, 0.0, 1.0], 0.0, 0.3);
    }
    parts.body(2.0, [0.008; 3], [0.0, 0.0, height], [0.0; 6]);
    for k in 0..3 {
        let [x, y, z] = place(k);
        let normal = [-x, -y, height - z].map(|c| c / (2.0 * radius));
        parts.contact([k as i32, 3], normal.map(|c| radius * c), normal, 0.0, 0.2);
    }
    parts.frame(0.01, 0.0)
}

/// Frames go out as FCLIB files, global and local, and every solver that solves them has our velocities and our forces.
#[test]
fn siconos_finds_our_forces() {
    let Some(program) = build("solve_ours") else { return };
    let mut formulator = Formulator::new();
    for (name, frame) in [("box on three points", box_on_three_points()), ("four balls", four_balls())] {
        let global = Fclib::from_frame(&frame, &mut formulator).unwrap();
        let mut problem = Problem::new();
        formulator.fill(&frame, "cone".parse::<Formulation>().unwrap(), &mut problem).unwrap();
        let mut recorded = Recorded::default();
        recorded.capture(&problem, None);
        recorded.matrix = Some(mlcp::dataset::MatrixRows::of(&problem));
        let local = Fclib::from_recorded(&recorded).unwrap().0;
        let ours = solve(&problem);
        let mu = global.mu.clone();
        let error = left(&problem, &mu, &ours);
        println!("{name}: ours {error:.1e}, impulses {:.4?}", ours.r);
        assert!(error < 1e-12);
        for (fclib, kind, solvers) in [(&global, "global", &GLOBAL[..]), (&local, "local", &LOCAL[..])] {
            let path = scratch(&format!("ours_{kind}.hdf5"));
            fclib.write(&path).unwrap();
            let mut agreed = 0;
            for solver in solvers {
                let Some(theirs) = ask(&program, &path, kind, solver).filter(|t| t.r.len() == ours.r.len()) else {
                    println!("  {kind}, Siconos {solver}: no answer");
                    continue;
                };
                let error = left(&problem, &mu, &theirs);
                let ((forces, most), (velocities, fastest)) = (apart(&ours.r, &theirs.r), apart(&ours.u, &theirs.u));
                println!(
                    "  {kind}, Siconos {solver}: {error:.1e}; impulses {forces:.1e} of {most:.2} N s, \
                     velocities {velocities:.1e} of {fastest:.2} m/s apart"
                );
                if error <= SOLVED {
                    assert!(forces <= SAME * most && velocities <= SAME * fastest, "{name} {kind} {solver}");
                    agreed += 1;
                }
            }
            assert!(agreed >= 2, "{name}, {kind}: {agreed} solvers of Siconos' solve it");
        }
    }
}

/// Siconos' 3D friction problems and FCLIB's: the natural map is at most 1e-8, and the velocities are those of one of
/// Siconos' solvers, where any solves the problem. (Where velocities are not unique, its solvers differ among themselves:
/// OneObject-i1028.) Large ones with `MLCP_LONG=1`.
#[test]
fn collections_are_solved_to_the_same_velocities() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let mut files: Vec<PathBuf> = ["fclib", "siconos/fclib", "siconos/friction"]
        .iter()
        .filter_map(|folder| std::fs::read_dir(corpus.join(folder)).ok())
        .flat_map(|entries| entries.filter_map(|e| Some(e.ok()?.path())))
        .collect();
    files.sort();
    if files.is_empty() {
        println!("{} is not there: nothing to look at", corpus.display());
        return;
    }
    let program = build("solve_theirs");
    let long = std::env::var_os("MLCP_LONG").is_some();
    let (mut solved, mut compared, mut agreed) = (0, 0, 0);
    for file in &files {
        let dataset = Dataset::open(file).unwrap();
        let (fclib, recorded) = (dataset.fclib().unwrap(), dataset.problem(0).unwrap());
        if fclib.dimension != 3 || (recorded.rows() > 300 && !long) {
            continue;
        }
        let problem = fill(&recorded);
        let ours = solve(&problem);
        let error = left(&problem, &fclib.mu, &ours);
        assert!(error <= SOLVED, "{}: {error:e}", file.display());
        solved += 1;
        let Some(program) = &program else { continue };
        // The condensed problem, so that all have the same solvers.
        let path = scratch("theirs.hdf5");
        Fclib::from_recorded(&recorded).unwrap().0.write(&path).unwrap();
        let mut solves = false;
        for solver in LOCAL {
            let Some(answer) = ask(program, &path, "local", solver).filter(|a| a.r.len() == ours.r.len()) else {
                continue;
            };
            let theirs = left(&problem, &fclib.mu, &answer);
            let ((velocities, fastest), (forces, most)) = (apart(&ours.u, &answer.u), apart(&ours.r, &answer.r));
            println!(
                "{:<38} n {:>3}  ours {error:.1e}  Siconos {solver} {theirs:.1e}  velocities {velocities:.1e} of \
                 {fastest:.1e} apart, impulses {forces:.1e} of {most:.1e}",
                recorded.name,
                recorded.rows()
            );
            solves |= theirs <= SOLVED;
            if theirs <= SOLVED && velocities <= SAME * (1.0 + fastest) {
                agreed += 1;
                break;
            }
        }
        compared += usize::from(solves);
    }
    println!("{solved} solved to a natural map of {SOLVED:e}, {agreed} of {compared} with the velocities of Siconos");
    assert!(solved >= 18 && agreed == compared);
}
