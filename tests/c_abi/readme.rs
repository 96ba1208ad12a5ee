//! The README's C program compiles as printed and prints what it should.

use crate::toolchain::{compile, library_dir, root, run_ok};
use std::path::PathBuf;

fn scratch(name: &str) -> PathBuf {
    crate::toolchain::scratch("readme", name)
}

#[test]
fn the_c_program_in_the_readme_runs() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let program = readme.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a C block");
    let (source, binary) = (scratch("readme.c"), scratch("readme"));
    std::fs::write(&source, program).expect("a scratch file");
    let library = library_dir();
    let search = format!("-L{}", library.display());
    let rpath = format!("-Wl,-rpath,{}", library.display());
    compile("gcc", &["-std=c99"], &source, &binary, &[&search, &rpath, "-lmlcp", "-lm"]);
    let printed = run_ok(binary.to_str().expect("a path"), [""; 0]);
    assert!(printed.starts_with("x = (0.329533, 0.062867) N s, converged, error "), "{printed}");
}

#[test]
fn the_commands_in_the_readme_exist() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).expect("Makefile");
    for target in ["demo", "check", "test", "golden", "bench", "lib"] {
        assert!(makefile.lines().any(|line| line.starts_with(&format!("{target}:"))), "make {target}");
    }
    for file in
        ["tests/solvers/solver_matrix.rs", "tests/measures/main.rs", "benches/monitoring.rs", "benches/solvers.rs"]
    {
        assert!(root().join(file).exists(), "{file}");
    }
}
