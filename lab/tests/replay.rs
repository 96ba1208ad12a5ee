//! The command line as a user meets it: tables, pictures, exit codes, and files that are not what they claim.

use hdf5_pure::{AttrValue, FileBuilder};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ENGINES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/engines.h5");

/// Small problems of Bullet and ODE.
const SMALL: &str = "*_n[12][0-9]";

fn replay(file: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mlcp-lab")).arg("replay").arg(file).args(more).output().expect("mlcp-lab runs")
}

fn engines(more: &[&str]) -> Output {
    replay(Path::new(ENGINES), more)
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8 on standard output")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8 on standard error")
}

/// A folder of this test, emptied.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a temporary folder");
    path
}

/// Refused as a bad file or option should be: exit code 2 and one sentence that has all of these words.
#[track_caller]
fn assert_refused(output: &Output, words: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for word in words {
        assert!(said.contains(word), "no '{word}' in: {said}");
    }
}

#[test]
fn table_has_a_row_per_problem_and_solver_and_a_summary() {
    let output = engines(&["--problem", "bullet_box1*", "--repeats", "1", "--solver", "all"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let header: Vec<&str> = text.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(header[..5], ["problem", "n", "solver", "outcome", "iterations"]);
    assert_eq!(header[5..], ["energy_error[J]", "energy_rel", "natural", "fb", "microseconds", "note"]);
    let solvers = mlcp::SolverKind::ALL.len();
    assert_eq!(text.lines().filter(|l| l.starts_with("bullet_box1")).count(), 2 * solvers, "{text}");
    let summary: Vec<&str> = text.lines().skip_while(|l| !l.is_empty()).collect();
    for kind in mlcp::SolverKind::ALL {
        assert!(summary.iter().any(|l| l.starts_with(kind.name())), "{text}");
    }
    // bpp solves both; no solver's own word is taken for it, the row says so.
    let bpp = summary.iter().find(|l| l.starts_with("bpp")).unwrap();
    assert!(bpp.contains("2/2"), "{bpp}");
}

#[test]
fn pairs_of_friction_rows_become_cones() {
    let more = ["--friction", "cone", "--solver", "alart-curnier,pgs", "--repeats", "1"];
    let output = engines(&[&["--problem", "bullet_[bc]*s00[13]*"], &more[..]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let (text, said) = (stdout(&output), stderr(&output));
    assert!(said.contains("have no pair of friction rows to be a cone and are left out"), "{said}");
    assert!(text.contains("bullet_box1_s003_i0_n12") && !text.contains("bullet_chain5"), "{text}");
    assert!(text.contains("pgs does not treat friction cones"), "{text}");
    assert!(text.lines().any(|l| l.starts_with("alart-curnier") && l.contains("1/1")), "{text}");
    assert_refused(&engines(&[&["--problem", "bullet_chain5_s001*"], &more[..]].concat()), &["no problem", "cone"]);
}

/// Siconos' texts, several files at once, judged by the natural residual.
#[test]
fn texts_are_solved_to_a_natural_residual() {
    let folder = folder("texts");
    let files: Vec<String> = [0.3, 0.7]
        .iter()
        .map(|mu| {
            let path = folder.join(format!("slide{mu}.dat"));
            // A contact of a mass of 1 kg that slides at (1, 0.5) m/s and sinks at 0.1 m/s.
            std::fs::write(&path, format!("3 1\n0 3 3\n3 3\n1 0 0 0 1 0 0 0 1\n-0.1 1 0.5\n{mu}\n")).unwrap();
            path.to_str().expect("UTF-8 path").to_string()
        })
        .collect();
    let output =
        replay(Path::new(&files[0]), &[&files[1], "--natural", "1e-8", "--solver", "auto,prox-gs", "--repeats", "1"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("slide0.3") && text.contains("slide0.7"), "{text}");
    for solver in ["auto", "prox-gs"] {
        assert!(text.lines().any(|l| l.starts_with(solver) && l.contains("2/2")), "{text}");
    }
    assert!(text.contains("solved: natural <= 1e-8;") && !text.contains("stopped"), "{text}");
    assert_refused(&replay(Path::new(&files[0]), &["--natural=-1"]), &["--natural", ">= 0"]);
    assert_refused(&replay(Path::new(&files[0]), &["no_such_file.dat"]), &["no_such_file.dat", "cannot be opened"]);
    let converted = folder.join("slide.hdf5");
    let lab = |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_mlcp-lab")).args(args).output().expect("mlcp-lab runs");
    let done = lab(&["convert", &files[0], converted.to_str().unwrap(), "--to", "fclib"]);
    assert!(done.status.success(), "{}", stderr(&done));
    let said = stdout(&lab(&["info", converted.to_str().unwrap()]));
    assert!(said.contains("local friction problem in 3D, 1 contacts"), "{said}");
}

/// The collections of FCLIB and Siconos, rank-deficient stacks included, where they lie beside the project.
#[test]
fn collections_are_solved_to_a_natural_residual() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    let in_space = |name: &str| {
        !name.starts_with("fc2d")
            && !name.starts_with("gfc2d")
            && !name.contains("FC2D")
            && !name.starts_with("FrictionContactProblem")
    };
    let mut files: Vec<String> = ["fclib", "siconos/fclib", "siconos/friction"]
        .iter()
        .filter_map(|folder| std::fs::read_dir(corpus.join(folder)).ok())
        .flat_map(|entries| entries.filter_map(|e| Some(e.ok()?.path())))
        .filter(|p| in_space(&p.file_name().unwrap().to_string_lossy()))
        .map(|p| p.to_str().expect("UTF-8 path").to_string())
        .collect();
    files.sort();
    if files.is_empty() {
        println!("{} is not there: nothing to look at", corpus.display());
        return;
    }
    let more: Vec<&str> = files[1..].iter().map(String::as_str).collect();
    let output = replay(Path::new(&files[0]), &[&more[..], &["--natural", "1e-8", "--repeats", "1"]].concat());
    let text = stdout(&output);
    println!("{text}");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(text.contains(&format!("{0}/{0}", files.len())), "{text}");
}

#[test]
fn tab_separated_values_parse() {
    let output = engines(&["--problem", SMALL, "--solver", "bpp,pgs", "--tsv", "--repeats", "2"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split('\t').collect()).collect();
    assert!(rows.len() > 10 && rows.len() % 2 == 1, "{text}");
    for row in &rows[1..] {
        assert_eq!(row.len(), rows[0].len(), "{row:?}");
        let n: usize = row[1].parse().unwrap();
        assert!(row[0].ends_with(&format!("_n{n}")), "{row:?}");
        row[4].parse::<usize>().unwrap();
        for value in &row[5..10] {
            assert!(value.parse::<f64>().unwrap() >= 0.0, "{row:?}");
        }
        if row[3] == "converged" {
            assert!(row[6].parse::<f64>().unwrap() <= 1e-9, "{row:?}");
        }
    }
    assert!(stderr(&output).contains("solved"), "the summary goes to standard error");
}

#[test]
fn every_form_start_and_friction_gives_the_same_rows() {
    for more in [["--form", "csr"], ["--form", "dense"], ["--form", "jacobian"], ["--start", "ref"], ["--start", "x0"]]
    {
        for friction in ["frozen", "coupled"] {
            let mut all = vec!["--problem", "ode_*native*_n2?", "--solver", "bpp", "--tsv", "--friction", friction];
            all.extend(more);
            let output = engines(&all);
            assert!(output.status.success(), "{}", stderr(&output));
            assert_eq!(stdout(&output).lines().count(), 4, "{more:?} {friction}: {}", stdout(&output));
            // Native problems have neither Jacobian nor warm start.
            let falls_back = more == ["--form", "jacobian"] || more == ["--start", "x0"];
            assert_eq!(stderr(&output).contains("note: 3 problem(s)"), falls_back, "{}", stderr(&output));
        }
    }
}

#[test]
fn forces_become_joules() {
    // The same numbers read as forces and accelerations: joules are dt² of what they are as impulses and velocities.
    let one = |file: &Path| {
        let output = replay(file, &["--solver", "pgs", "--iterations", "1", "--tsv", "--repeats", "1"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let text = stdout(&output);
        let cells: Vec<f64> = text.lines().nth(1).unwrap().split('\t').map(|c| c.parse().unwrap_or(0.0)).collect();
        (cells[5], cells[6])
    };
    let here = folder("joules");
    let (impulse, force) = (here.join("impulse.h5"), here.join("force.h5"));
    Sample::default().write(&impulse);
    Sample { meta: Some(r#"{"units": "force", "dt": 0.02}"#), ..Sample::default() }.write(&force);
    let ((joules, relative), (scaled, same)) = (one(&impulse), one(&force));
    assert!(joules > 0.0 && (scaled / joules - 4e-4).abs() < 1e-12, "{joules} {scaled}");
    assert_eq!(relative, same);
}

#[test]
fn pictures_are_written_and_well_formed() {
    let here = folder("pictures");
    let output = engines(&["--problem", SMALL, "--plot", here.to_str().unwrap(), "--repeats", "1", "--solver", "all"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let mut names: Vec<String> =
        std::fs::read_dir(&here).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names.len(), 7, "{names:?}");
    assert!(names[0].starts_with("convergence_bullet_box1") && names[6] == "profile.svg", "{names:?}");
    for name in &names {
        let svg = std::fs::read_to_string(here.join(name)).unwrap();
        assert_well_formed(&svg, name);
        assert!(svg.contains("bpp") && svg.contains("<polyline"), "{name}");
        let unit = if name == "profile.svg" { "least time" } else { "energy error [J]" };
        assert!(svg.contains(unit) && !svg.contains("NaN") && !svg.contains("inf"), "{name}");
    }
}

/// Every element that opens closes again, in order.
fn assert_well_formed(svg: &str, name: &str) {
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (inside, _) = tag.split_once('>').unwrap_or_else(|| panic!("{name}: <{tag}"));
        assert_eq!(inside.matches('"').count() % 2, 0, "{name}: <{inside}>");
        let word = inside.split_whitespace().next().unwrap_or_default();
        if let Some(closed) = word.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "{name}");
        } else if !inside.ends_with('/') {
            open.push(word);
        }
    }
    assert!(open.is_empty() && svg.starts_with("<svg "), "{name}: {open:?}");
}

#[test]
fn bad_options_are_named() {
    let unknown = engines(&["--solver", "bpp,gauss"]);
    assert_refused(&unknown, &["gauss"]);
    for kind in mlcp::SolverKind::ALL {
        assert_refused(&unknown, &[kind.name()]);
    }
    assert_refused(&engines(&["--problem", "nothing*"]), &["engines.h5", "nothing*"]);
    assert_refused(&engines(&["--problem", "[a"]), &["--problem"]);
    assert_refused(&engines(&["--energy-rel", "nan"]), &["--energy-rel", "NaN"]);
    assert_refused(&engines(&["--budget-ms=-1"]), &["--budget-ms", "-1"]);
    assert_eq!(engines(&["--repeats", "0"]).status.code(), Some(2));
}

#[test]
fn files_that_are_not_problem_files() {
    let here = folder("bad_files");
    assert_refused(&replay(&here.join("missing.h5"), &[]), &["missing.h5"]);
    assert_refused(&replay(&here, &[]), &["bad_files"]);
    let write = |name: &str, bytes: &[u8]| {
        let path = here.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    assert_refused(&replay(&write("empty.h5", b""), &[]), &["empty.h5", "empty"]);
    assert_refused(&replay(&write("text.h5", b"w = A x + b\n"), &[]), &["text.h5", "HDF5"]);
    let whole = std::fs::read(ENGINES).unwrap();
    for keep in [1, 8, 47, 48, 96, 4096, whole.len() / 2, whole.len() - 1] {
        let output = replay(&write("cut.h5", &whole[..keep]), &["--problem", SMALL]);
        assert_refused(&output, &["cut.h5"]);
    }
    let path = here.join("other.h5");
    let mut file = FileBuilder::new();
    file.create_dataset("b").with_f64_data(&[1.0]);
    file.write(&path).unwrap();
    assert_refused(&replay(&path, &[]), &["other.h5", "/problems"]);
}

/// A small problem to spoil: a normal row, its friction row, a free row; A = 2 on the diagonal.
struct Sample {
    indptr: Vec<i64>,
    indices: Vec<i32>,
    data: Vec<f64>,
    b: Vec<f64>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    findex: Vec<i32>,
    x_ref: Vec<f64>,
    meta: Option<&'static str>,
}

impl Default for Sample {
    fn default() -> Self {
        Sample {
            indptr: vec![0, 2, 4, 5],
            indices: vec![0, 1, 0, 1, 2],
            data: vec![2.0, 1.0, 1.0, 2.0, 2.0],
            b: vec![-1.0, 0.5, 1.0],
            lo: vec![0.0, -0.5, f64::NEG_INFINITY],
            hi: vec![f64::INFINITY, 0.5, f64::INFINITY],
            findex: vec![-1, 0, -1],
            x_ref: vec![0.5, 0.0, -0.5],
            meta: None,
        }
    }
}

impl Sample {
    fn write(&self, path: &Path) {
        let mut file = FileBuilder::new();
        let mut problems = file.create_group("problems");
        let mut group = problems.create_group("toy");
        let mut a = group.create_group("A");
        a.create_dataset("indptr").with_i64_data(&self.indptr);
        a.create_dataset("indices").with_i32_data(&self.indices);
        a.create_dataset("data").with_f64_data(&self.data);
        group.add_group(a.finish());
        for (name, values) in [("b", &self.b), ("lo", &self.lo), ("hi", &self.hi), ("x_ref", &self.x_ref)] {
            group.create_dataset(name).with_f64_data(values);
        }
        group.create_dataset("findex").with_i32_data(&self.findex);
        if let Some(meta) = self.meta {
            group.set_attr("meta", AttrValue::String(meta.to_string()));
        }
        problems.add_group(group.finish());
        file.add_group(problems.finish());
        file.write(path).unwrap();
    }
}

#[test]
fn problems_that_make_no_sense_are_named_by_field() {
    let path = folder("fields").join("toy.h5");
    let sample = Sample::default;
    sample().write(&path);
    let output = replay(&path, &["--tsv"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let bad: Vec<(&str, Sample)> = vec![
        ("b[1]", Sample { b: vec![0.0, f64::NAN, 0.0], ..sample() }),
        ("A/indptr has 4 entries, expected 3", Sample { b: vec![0.0; 2], ..sample() }),
        ("lo has 2 entries", Sample { lo: vec![0.0; 2], ..sample() }),
        ("x_ref[2]", Sample { x_ref: vec![0.0, 0.0, f64::INFINITY], ..sample() }),
        ("findex[1] is 9", Sample { findex: vec![-1, 9, -1], ..sample() }),
        ("findex[0] is -7", Sample { findex: vec![-7, 0, -1], ..sample() }),
        ("lo[1]", Sample { lo: vec![0.0, 0.5, 0.0], ..sample() }),
        ("lo[0]", Sample { lo: vec![3.0, -0.5, 0.0], hi: vec![2.0, 0.5, 1.0], ..sample() }),
        ("A/indptr[3] is 5000000000", Sample { indptr: vec![0, 2, 4, 5_000_000_000], ..sample() }),
        ("A/indptr ends with -1", Sample { indptr: vec![0, 2, 4, -1], ..sample() }),
        ("A/indices has 5 entries, expected 6", Sample { indptr: vec![0, 2, 4, 6], ..sample() }),
        ("A/indptr[2] is 2", Sample { indptr: vec![0, 4, 2, 5], ..sample() }),
        ("A/indices[3] is 7", Sample { indices: vec![0, 1, 0, 7, 2], ..sample() }),
        ("A/data[4] is NaN", Sample { data: vec![2.0, 1.0, 1.0, 2.0, f64::NAN], ..sample() }),
        ("meta", Sample { meta: Some("{"), ..sample() }),
        ("dt", Sample { meta: Some(r#"{"units": "force", "dt": -1}"#), ..sample() }),
    ];
    for (field, sample) in bad {
        sample.write(&path);
        assert_refused(&replay(&path, &[]), &["toy.h5: problem toy: ", field]);
    }
}

#[test]
fn hostile_sizes_are_refused_before_memory_is_taken() {
    // The recorded file has no checksums: its arrays of 12 entries now claim 2⁴⁰, or a product that overflows.
    let path = folder("hostile").join("hostile.h5");
    let whole = std::fs::read(ENGINES).unwrap();
    let twelve: Vec<u8> = [12u64.to_le_bytes(), 12u64.to_le_bytes()].concat();
    let places: Vec<usize> = (0..whole.len() - 16).filter(|&i| whole[i..i + 16] == twelve[..]).collect();
    assert!(!places.is_empty(), "arrays of 12 entries are described somewhere");
    for claim in [1u64 << 40, u64::MAX] {
        let mut bytes = whole.clone();
        for &at in &places {
            bytes[at..at + 8].copy_from_slice(&claim.to_le_bytes());
            bytes[at + 8..at + 16].copy_from_slice(&claim.to_le_bytes());
        }
        std::fs::write(&path, &bytes).unwrap();
        assert_refused(
            &replay(&path, &["--problem", "bullet_box1*"]),
            &["hostile.h5: problem bullet_box1", "b claims"],
        );
    }
}

#[test]
fn flipped_bytes_never_crash() {
    let here = folder("flipped");
    let small = here.join("toy.h5");
    Sample { meta: Some(r#"{"units": "force", "dt": 0.02}"#), ..Sample::default() }.write(&small);
    let path = here.join("flipped.h5");
    // All over a small file, where most bytes are structure, and over the head of the recorded one.
    for (source, more, positions) in [(small.as_path(), "*", 200), (Path::new(ENGINES), "bullet_box1*", 40)] {
        let whole = std::fs::read(source).unwrap();
        let reach = whole.len().min(20_000);
        let mut refused = 0;
        for k in 0..positions {
            let mut bytes = whole.clone();
            bytes[k * reach / positions] ^= [0xff, 0x01, 0x80][k % 3];
            std::fs::write(&path, &bytes).unwrap();
            let output = replay(&path, &["--problem", more, "--repeats", "1", "--budget-ms", "200"]);
            match output.status.code() {
                Some(0) => {}
                Some(2) => {
                    refused += 1;
                    assert_refused(&output, &[]);
                }
                other => panic!("byte {} of {source:?}: {other:?}: {}", k * reach / positions, stderr(&output)),
            }
        }
        assert!(refused > 0, "no flip in {source:?} was noticed");
    }
}
