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

/// docs/README.md names every page beside it, and every link of it leads to a file.
#[test]
fn the_map_of_the_documentation_is_whole() {
    let docs = root().join("docs");
    let map = std::fs::read_to_string(docs.join("README.md")).expect("docs/README.md");
    for entry in std::fs::read_dir(&docs).expect("docs") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        assert!(
            ["README.md", "figures"].contains(&&*name) || map.contains(&format!("]({name})")),
            "{name} is not named"
        );
    }
    for link in map.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(docs.join(link).exists(), "{link}");
    }
}
