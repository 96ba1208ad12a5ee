//! `include/mlcp_bullet.hpp` against Bullet as the distribution ships it, in float and in double: the checks of
//! `tests/engines/bullet/checks.cpp`, the two examples, and the programs in `docs/integrate-bullet.md`.
//!
//! `make test` installs Bullet. Without it these tests fail, unless MLCP_SKIP_BULLET is set: then they say "skipped".

use crate::toolchain::{compile, library_dir, root, run, run_ok};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Debian ships both builds of Bullet, each with its pkg-config module.
#[derive(Clone, Copy, PartialEq)]
enum Precision {
    Float,
    Double,
}
use Precision::{Double, Float};

fn scratch(name: &str) -> PathBuf {
    crate::toolchain::scratch("bullet", name)
}

impl Precision {
    fn module(self) -> &'static str {
        match self {
            Float => "bullet",
            Double => "bullet-float64",
        }
    }

    /// Bullet's flags; its headers are a system's, our warnings are not for them.
    fn flags(self) -> Vec<String> {
        let printed = run_ok("pkg-config", ["--cflags", "--libs", self.module()]);
        printed.split_whitespace().map(|flag| flag.replacen("-I", "-isystem", 1)).collect()
    }
}

/// Is Bullet there? If not, that is a failure, or a skip that was asked for.
fn bullet() -> bool {
    let found = [Float, Double].iter().all(|p| run("pkg-config", ["--exists", p.module()]).status.success());
    let skip = std::env::var_os("MLCP_SKIP_BULLET").is_some();
    assert!(found || skip, "Bullet is missing: install libbullet-dev (`make test` does), or set MLCP_SKIP_BULLET=1");
    if !found {
        println!("skipped: Bullet is not installed and MLCP_SKIP_BULLET is set");
    }
    found
}

fn build(tool: &str, std: &str, precision: Precision, source: &Path, out: &Path) {
    let library = library_dir();
    let examples = root().join("c_examples");
    let mut link = vec![format!("-L{}", library.display()), "-lmlcp".to_owned(), format!("-I{}", examples.display())];
    link.extend(precision.flags());
    let link: Vec<&str> = link.iter().map(String::as_str).collect();
    compile(tool, &[std, "-O1"], source, out, &link);
}

/// The checks, built once for each precision.
fn checks(precision: Precision) -> &'static Path {
    static BUILT: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
    BUILT[precision as usize].get_or_init(|| {
        let out = scratch(&format!("checks_{}", precision.module()));
        build("g++", "-std=c++11", precision, &root().join("tests/engines/bullet/checks.cpp"), &out);
        out
    })
}

fn check(name: &str) {
    if !bullet() {
        return;
    }
    for precision in [Float, Double] {
        let printed = run_ok(checks(precision).to_str().expect("UTF-8 path"), [name]);
        print!("{printed}");
        assert!(printed.ends_with(": ok\n"), "{printed}");
    }
}

macro_rules! checks {
    ($($name:ident),* $(,)?) => { $(#[test] fn $name() { check(stringify!($name)); })* };
}

checks!(
    wall,
    chain,
    soft_contact,
    rolling_sphere,
    sliding_box,
    no_allocation,
    warm_start,
    split_impulse,
    measuring,
    frozen_is_dantzig,
    multibody,
    options,
    diagnosis,
    bad_input,
);

#[test]
fn clean_under_valgrind() {
    if bullet() {
        let binary = checks(Double).to_str().expect("UTF-8 path");
        for name in ["multibody", "bad_input", "split_impulse", "diagnosis"] {
            run_ok("valgrind", ["-q", "--error-exitcode=9", "--leak-check=full", binary, name]);
        }
    }
}

#[test]
fn header_compiles_everywhere() {
    if !bullet() {
        return;
    }
    let source = scratch("header.cpp");
    // Twice, beside mlcp.hpp where that one can be, with nothing included before.
    let text = "#include \"mlcp_bullet.hpp\"\n#include \"mlcp_bullet.hpp\"\n\
                #if __cplusplus >= 201703L\n#include \"mlcp.hpp\"\n#endif\n\
                int main()\n{\nmlcp::bullet::ConstraintSolver a;\nmlcp::bullet::MlcpSolver b;\n\
                return a.num_fallbacks() + b.num_fallbacks() == 0 ? 0 : 1;\n}\n";
    std::fs::write(&source, text).expect("write the source");
    for (i, (tool, std, precision)) in
        [("clang++", "-std=c++11", Float), ("clang++", "-std=c++20", Double), ("g++", "-std=c++17", Float)]
            .iter()
            .enumerate()
    {
        build(tool, std, *precision, &source, &scratch(&format!("header_{i}")));
    }
    let out = scratch("header_bare");
    let flags = Float.flags();
    let mut link: Vec<&str> = flags.iter().map(String::as_str).collect();
    let search = format!("-L{}", library_dir().display());
    link.extend([search.as_str(), "-lmlcp"]);
    compile("g++", &["-std=c++14", "-fno-exceptions", "-fno-rtti", "-Wconversion", "-Wshadow"], &source, &out, &link);
}

/// Both examples run, print their table and write a picture.
#[test]
fn examples() {
    if !bullet() {
        return;
    }
    for (name, steps, precision) in [("bullet_wall", "40", Float), ("bullet_ragdoll", "120", Double)] {
        let (binary, picture) = (scratch(name), scratch(&format!("{name}.svg")));
        build("g++", "-std=c++11", precision, &root().join(format!("c_examples/{name}.cpp")), &binary);
        let picture = picture.to_str().expect("UTF-8 path");
        let printed = run_ok(binary.to_str().expect("UTF-8 path"), ["--steps", steps, picture]);
        print!("{printed}");
        let libmlcp = printed.lines().find(|line| line.starts_with("libmlcp")).expect("a line for libmlcp");
        assert_eq!(libmlcp.split_whitespace().nth(11), Some("0"), "fallbacks in {libmlcp}");
        let svg = std::fs::read_to_string(picture).expect("the picture");
        for piece in ["<svg ", "time (s)", "(m)", "libmlcp", "btDantzig", "</svg>"] {
            assert!(svg.contains(piece), "{piece} in {picture}");
        }
        assert!(!svg.contains("nan") && !svg.contains("inf"), "{picture} has numbers that are none");
        assert!(!run(binary.to_str().expect("UTF-8 path"), ["--steps", "0"]).status.success());
    }
}

/// The C++ of the guide compiles as printed: a block with a main as it is, any other inside a function with a world.
/// The guide's program left a recording of problems with their solutions.
fn recorded(name: &str) {
    let file = mlcp::dataset::Dataset::open(&scratch(name)).expect("a recording");
    assert!(file.problems() > 0);
}

#[test]
fn the_guide_compiles() {
    if !bullet() {
        return;
    }
    let guide = std::fs::read_to_string(root().join("docs/integrate-bullet.md")).expect("docs/integrate-bullet.md");
    let blocks: Vec<&str> = guide.split("```cpp\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 4, "only {} blocks", blocks.len());
    let mut fragments = String::new();
    for block in blocks {
        if block.contains("int main(") {
            let (source, binary) = (scratch("guide.cpp"), scratch("guide"));
            std::fs::write(&source, block).expect("write the source");
            build("g++", "-std=c++11", Float, &source, &binary);
            let printed = run_ok(binary.to_str().expect("UTF-8 path"), [""; 0]);
            assert!(printed.contains("converged"), "{printed}");
        } else {
            fragments.push_str(&format!("{{\n{block}}}\n"));
        }
    }
    let source = scratch("guide_fragments.cpp");
    let here = source.parent().expect("a folder").display();
    let text = format!(
        "#include \"bullet_world.h\"\n#include \"mlcp_bullet.hpp\"\n#include <BulletDynamics/MLCPSolvers/btDantzigSolver.h>\n\
         #include <BulletDynamics/MLCPSolvers/btMLCPSolver.h>\n\
         #include <BulletDynamics/Featherstone/btMultiBodyMLCPConstraintSolver.h>\n#include <cstdio>\n#include <unistd.h>\n\
         int main() {{\nif (chdir(\"{here}\") != 0) return 1;\nmlcp::bullet::ConstraintSolver solver;\nBulletWorld scene(&solver);\n\
         btDiscreteDynamicsWorld &world = scene.world();\nbuild_wall(scene, 3);\n{fragments}return 0;\n}}\n"
    );
    std::fs::write(&source, text).expect("write the source");
    let binary = scratch("guide_fragments");
    build("g++", "-std=c++11", Double, &source, &binary);
    run_ok(binary.to_str().expect("UTF-8 path"), [""; 0]);
    recorded("bullet.h5");
}
