//! `include/mlcp_ode.hpp` against ODE as the distribution ships it: the programs under `tests/engines/ode`, the examples, the
//! preload shim, and the programs in `docs/integrate-ode.md` and `docs/integrate-your-engine.md`.
//!
//! `make test` installs ODE. Without it these tests fail, unless MLCP_SKIP_ODE is set: then they say "skipped".

use crate::toolchain::{compile, library_dir, root, run, run_ok};
use std::path::{Path, PathBuf};
use std::process::Command;

fn scratch(name: &str) -> PathBuf {
    crate::toolchain::scratch("ode", name)
}

/// Is ODE there? If not, that is a failure, or a skip that was asked for.
fn ode() -> bool {
    let found = run("pkg-config", ["--exists", "ode"]).status.success();
    let skip = std::env::var_os("MLCP_SKIP_ODE").is_some();
    assert!(found || skip, "ODE is missing: install libode-dev (`make test` does), or set MLCP_SKIP_ODE=1");
    if !found {
        println!("skipped: ODE is not installed and MLCP_SKIP_ODE is set");
    }
    found
}

fn build_with(tool: &str, flags: &[&str], source: &Path, out: &Path, libraries: &[&str]) {
    let search = format!("-L{}", library_dir().display());
    let examples = format!("-I{}", root().join("c_examples").display());
    let mut all = vec!["-O2", examples.as_str()];
    all.extend(flags);
    let mut link = vec![search.as_str()];
    link.extend(libraries);
    link.push("-pthread");
    compile(tool, &all, source, out, &link);
}

fn build(file: &str) -> PathBuf {
    let source = root().join(file);
    let out = scratch(source.file_stem().expect("a name").to_str().expect("UTF-8"));
    build_with("g++", &["-std=c++11"], &source, &out, &["-lmlcp", "-lode"]);
    out
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8 path")
}

/// Build and run a program of tests/ode, which ends with "ok".
fn check(name: &str) -> PathBuf {
    let binary = build(&format!("tests/engines/ode/{name}.cpp"));
    let printed = run_ok(text(&binary), [""; 0]);
    print!("{printed}");
    assert!(printed.ends_with("ok\n"), "{printed}");
    binary
}

fn under_valgrind(binary: &Path, args: &[&str]) {
    let mut line = vec!["-q", "--error-exitcode=9", "--leak-check=full", text(binary)];
    line.extend(args);
    run_ok("valgrind", line);
}

#[test]
fn trajectories_are_those_of_the_engine() {
    if ode() {
        check("trajectories");
    }
}

#[test]
fn rows_are_those_of_the_engine() {
    if ode() {
        check("rows");
    }
}

#[test]
fn threads_change_nothing() {
    if ode() {
        under_valgrind(&check("threads"), &["8"]);
    }
}

#[test]
fn steps_allocate_nothing_and_the_adapter_costs_little() {
    if ode() {
        check("memory");
    }
}

#[test]
fn the_engines_own_solvers_are_measured() {
    if ode() {
        check("measure");
    }
}

#[test]
fn joints_too_many_are_named() {
    if ode() {
        under_valgrind(&check("diagnosis"), &[]);
        let printed = run_ok(text(&build("c_examples/ode_door.cpp")), [""; 0]);
        print!("{printed}");
        assert!(printed.contains("well hung: 15 rows, 5 independent, in agreement"), "{printed}");
        assert!(printed.contains("hinge row 0 follows from "), "{printed}");
    }
}

/// An unmodified program, as it is and with the shim in front.
#[test]
fn preloaded_under_an_unmodified_program() {
    if !ode() {
        return;
    }
    let (plain, shim) = (scratch("plain"), scratch("ode_preload.so"));
    build_with("g++", &["-std=c++11"], &root().join("tests/engines/ode/plain.cpp"), &plain, &["-lode"]);
    build_with(
        "g++",
        &["-std=c++11", "-shared", "-fPIC"],
        &root().join("c_examples/ode_preload.cpp"),
        &shim,
        &["-lmlcp", "-ldl"],
    );
    let preloaded = |scene: [&str; 2], friction: &str| {
        let output = Command::new(&plain)
            .args(scene)
            .env("LD_PRELOAD", &shim)
            .env("LD_LIBRARY_PATH", library_dir())
            .env("MLCP_ODE_VERBOSE", "1")
            .env("MLCP_ODE_FRICTION", friction)
            .output()
            .expect("the program runs");
        assert!(output.status.success());
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(err.contains("problems") && err.contains("; 0 left to ODE"), "{err}");
        out.into_owned()
    };
    let drift = |printed: &str| printed.split_whitespace().nth(1).expect("a number").parse::<f64>().expect("a number");

    let (alone, ours) = (run_ok(text(&plain), ["wall", "60"]), preloaded(["wall", "60"], "frozen"));
    println!("alone: {alone}preloaded: {ours}");
    assert!(drift(&alone) > 1.0 && drift(&ours) < 0.020, "{alone}{ours}");
    assert!(drift(&preloaded(["wall", "5"], "coupled")) < 0.020);
    // Where ODE's own solver is exact, the same digits come out.
    assert_eq!(run_ok(text(&plain), ["chain", "300"]), preloaded(["chain", "300"], "frozen"));
}

#[test]
fn examples_run_and_draw() {
    if !ode() {
        return;
    }
    for (name, steps) in [("ode_wall", "40"), ("ode_chain", "300"), ("ode_buggy", "120")] {
        let (binary, picture) = (build(&format!("c_examples/{name}.cpp")), scratch(&format!("{name}.svg")));
        let printed = run_ok(text(&binary), [text(&picture), steps]);
        print!("{printed}");
        for solver in ["dWorldStep ", "dWorldQuickStep ", "libmlcp "] {
            let row = printed.lines().find(|l| l.starts_with(solver)).unwrap_or_else(|| panic!("{solver}: {printed}"));
            assert_eq!(row.split_whitespace().count(), 6, "{row}");
        }
        let row: Vec<&str> = printed.lines().find(|l| l.starts_with("libmlcp")).unwrap().split_whitespace().collect();
        assert!(row[3].parse::<f64>().unwrap() < 1e-6, "energy error: {row:?}");
        let svg = std::fs::read_to_string(&picture).expect("a picture");
        assert!(svg.starts_with("<svg") && svg.contains("libmlcp") && svg.trim_end().ends_with("</svg>"));
    }
}

/// C++11 to C++20, gcc and clang, without exceptions, and where the stepper's symbols may not be used.
#[test]
fn the_header_compiles_everywhere() {
    if !ode() {
        return;
    }
    let source = scratch("header.cpp");
    let program = r#"
#include "mlcp_ode.hpp"
int main()
{
    dInitODE();
    const dWorldID world = dWorldCreate();
    mlcp::ode::Solver solver;
    const int stepped = mlcp::ode::world_step(world, 0.01, solver);
    mlcp::ode::Stepper stepper(world);
    const bool fine = stepper.step(0.01) == 1 && stepped == (mlcp::ode::available() ? 1 : 0) &&
                      (stepped == 1) == (solver.report().error[0] == 0);
#ifdef MLCP_ODE_PUBLIC_ONLY
    const bool expected = stepped == 0;
#else
    const bool expected = stepped == 1;
#endif
    dWorldDestroy(world);
    dCloseODE();
    return fine && expected ? 0 : 1;
}
"#;
    std::fs::write(&source, program).expect("write the source");
    let ways: [(&str, &[&str]); 5] = [
        ("g++", &["-std=c++20", "-Wconversion", "-Wno-sign-conversion"]),
        ("g++", &["-std=c++11", "-fno-exceptions"]),
        ("g++", &["-std=c++14", "-DMLCP_ODE_PUBLIC_ONLY"]),
        ("clang++", &["-std=c++11"]),
        ("clang++", &["-std=c++20"]),
    ];
    for (i, (tool, flags)) in ways.iter().enumerate() {
        let out = scratch(&format!("header_{i}"));
        build_with(tool, flags, &source, &out, &["-lmlcp", "-lode"]);
        run_ok(text(&out), [""; 0]);
    }
}

/// The recording that `mlcp-lab paper hand` reads; `tests/data/hand.h5` was made by this command.
#[test]
fn the_hand_lifts_the_hose_and_is_recorded() {
    if !ode() {
        return;
    }
    let (binary, file) = (build("c_examples/ode_hand.cpp"), scratch("hand.h5"));
    let printed = run_ok(text(&binary), [text(&file), "200"]);
    let last = printed.lines().rfind(|l| l.trim_start().starts_with("3.00")).expect("a line for 3 s");
    let height: f64 = last.split_whitespace().nth(1).and_then(|h| h.parse().ok()).expect("a height");
    assert!((0.25..0.35).contains(&height), "{printed}");
    let recording = mlcp::dataset::Dataset::open(&file).expect("a recording");
    assert!(recording.frames() == 15 && recording.problems() >= 15, "{} frames", recording.frames());
}

/// The code blocks of a document, in order.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let whole = std::fs::read_to_string(root().join(document)).unwrap_or_else(|e| panic!("{document}: {e}"));
    let fence = format!("```{language}\n");
    whole.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or("").to_owned()).collect()
}

#[test]
fn programs_in_the_ode_guide_run() {
    if !ode() {
        return;
    }
    let programs = blocks("docs/integrate-ode.md", "cpp");
    assert!(programs.len() >= 3, "{} programs", programs.len());
    for (i, program) in programs.iter().enumerate() {
        let (source, out) = (scratch(&format!("guide_{i}.cpp")), scratch(&format!("guide_{i}")));
        std::fs::write(&source, program).expect("write the source");
        build_with("g++", &["-std=c++11"], &source, &out, &["-lmlcp", "-lode"]);
        let here = out.parent().expect("a folder");
        let run = Command::new(&out).current_dir(here).env("LD_LIBRARY_PATH", library_dir()).output().expect("run");
        assert!(run.status.success(), "program {i}: {}", String::from_utf8_lossy(&run.stderr));
    }
    let recording = mlcp::dataset::Dataset::open(&scratch("ode.h5")).expect("a recording");
    assert_eq!(recording.problems(), 1);
}

#[test]
fn the_program_in_the_engine_guide_runs() {
    let programs = blocks("docs/integrate-your-engine.md", "c");
    assert_eq!(programs.len(), 1);
    assert!(programs[0].lines().count() <= 55, "it is said to be one page");
    let (source, out) = (scratch("your_engine.c"), scratch("your_engine"));
    std::fs::write(&source, &programs[0]).expect("write the source");
    let search = format!("-L{}", library_dir().display());
    compile("gcc", &["-std=c99"], &source, &out, &[&search, "-lmlcp", "-lm"]);
    let printed = run_ok(text(&out), [""; 0]);
    print!("{printed}");
    assert!(printed.starts_with("after 0.3 s: 0.1171 m/s (Coulomb: 0.1171), converged"), "{printed}");
    under_valgrind(&out, &[]);
}
