//! libmlcp as a C or C++ programmer gets it: `make install`, then the projects of `tests/packaging` that an outsider would
//! write, with pkg-config and make, with CMake's find_package, and with CMake from source.
//!
//! The library installed here is the one these tests were built with; that `make install` builds its own is left out, it
//! takes minutes. A program of its own, because one test makes cargo write the library anew beside the others' programs.

#[path = "common/toolchain.rs"]
#[allow(dead_code)]
mod toolchain;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{OnceLock, RwLock};
use toolchain::{library_dir, root, run_ok};

fn scratch(name: &str) -> PathBuf {
    toolchain::scratch("packaging", name)
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Held by those who read the library beside the tests; alone by the one test whose cargo may write it anew.
static LIBRARY: RwLock<()> = RwLock::new(());

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8 path")
}

/// Run a command that must succeed, without the test's own library path; returns what it printed.
fn call(command: &mut Command) -> String {
    let output = command
        .env_remove("LD_LIBRARY_PATH")
        .output()
        .unwrap_or_else(|e| panic!("cannot run {command:?} ({e}): `make test` installs what is needed"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}\n{printed}{}", String::from_utf8_lossy(&output.stderr));
    printed
}

fn empty(name: &str) -> PathBuf {
    let folder = scratch(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("an old scratch folder");
    }
    folder
}

fn install(prefix: &Path) -> Command {
    let mut command = Command::new("make");
    command.current_dir(root()).env("MLCP_BUILD", library_dir()).args(["install", &format!("PREFIX={}", text(prefix))]);
    command
}

/// The prefix that the projects use, installed once.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = empty("prefix");
        let _library = LIBRARY.read();
        call(&mut install(&prefix));
        prefix
    })
}

fn files(folder: &Path) -> Vec<String> {
    fn visit(folder: &Path, top: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                visit(&path, top, found);
            } else {
                found.push(text(path.strip_prefix(top).expect("below the top")).to_owned());
            }
        }
    }
    let mut found = Vec::new();
    visit(folder, folder, &mut found);
    found.sort();
    found
}

/// Everything that is promised, whatever headers there are.
fn expected_files() -> Vec<String> {
    let mut expected: Vec<String> = files(&root().join("include")).iter().map(|f| format!("include/{f}")).collect();
    let series = VERSION.rsplit_once('.').expect("three numbers").0;
    expected.extend([
        "lib/cmake/mlcp/mlcpConfig.cmake".to_owned(),
        "lib/cmake/mlcp/mlcpConfigVersion.cmake".to_owned(),
        "lib/libmlcp.a".to_owned(),
        "lib/libmlcp.so".to_owned(),
        format!("lib/libmlcp.so.{series}"),
        format!("lib/libmlcp.so.{VERSION}"),
        "lib/pkgconfig/mlcp.pc".to_owned(),
    ]);
    expected.sort();
    expected
}

fn expect_rod(printed: &str) {
    assert_eq!(printed, format!("mlcp {VERSION}: x = (0.329533, 0.062867) N s\n"));
}

/// A copy of a project, so that nothing is built inside the source tree; its program stays beside it.
fn project(name: &str) -> PathBuf {
    let copy = empty(name);
    let (from, to) = (root().join("tests/packaging").join(name), copy.join(name));
    std::fs::create_dir_all(&to).expect("a scratch folder");
    for file in files(&from) {
        std::fs::copy(from.join(&file), to.join(&file)).expect("copy the project");
    }
    std::fs::copy(root().join("tests/packaging/rod.c"), copy.join("rod.c")).expect("copy the program");
    to
}

#[test]
fn the_installed_tree_is_complete() {
    assert_eq!(files(prefix()), expected_files());
    let library = prefix().join("lib/libmlcp.so");
    let dynamic = run_ok("readelf", ["-d", text(&library)]);
    let series = VERSION.rsplit_once('.').expect("three numbers").0;
    assert!(dynamic.contains(&format!("[libmlcp.so.{series}]")), "{dynamic}");
    let symbols = run_ok("nm", ["-D", "--defined-only", text(&library)]);
    let names: Vec<&str> = symbols.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert!(names.iter().all(|name| name.starts_with("mlcp_")), "{names:?}");
    let header = std::fs::read_to_string(root().join("include/mlcp.h")).expect("mlcp.h");
    for name in &names {
        assert!(header.contains(&format!("{name}(")), "{name} is exported but not in mlcp.h");
    }
    assert!(names.contains(&"mlcp_solver_solve") && names.len() > 40, "{names:?}");
}

#[test]
fn packagers_can_stage_it() {
    let stage = empty("stage");
    let libdir = "/opt/mlcp/lib/somewhere";
    let _library = LIBRARY.read();
    call(install(Path::new("/opt/mlcp")).args([format!("DESTDIR={}", text(&stage)), format!("LIBDIR={libdir}")]));
    let staged: Vec<String> = files(&stage).iter().map(|f| f.replace("lib/somewhere", "lib")).collect();
    let expected: Vec<String> = expected_files().iter().map(|f| format!("opt/mlcp/{f}")).collect();
    assert_eq!(staged, expected);
    let pc = std::fs::read_to_string(stage.join("opt/mlcp/lib/somewhere/pkgconfig/mlcp.pc")).expect("mlcp.pc");
    assert!(pc.contains("prefix=/opt/mlcp\n") && pc.contains("libdir=/opt/mlcp/lib/somewhere\n"), "{pc}");
    assert!(!pc.contains("stage"), "{pc}");
    for bad in ["relative/path", "/with a blank"] {
        let output = install(Path::new(bad)).output().expect("make runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("PREFIX and LIBDIR"), "{said}");
    }
}

#[test]
fn pkg_config_and_make() {
    let project = project("pkgconfig");
    let pc = prefix().join("lib/pkgconfig");
    call(Command::new("make").current_dir(&project).env("PKG_CONFIG_PATH", &pc));
    expect_rod(&call(&mut Command::new(project.join("rod_static"))));
    let needed = run_ok("readelf", ["-d", text(&project.join("rod_static"))]);
    assert!(!needed.contains("libmlcp"), "{needed}");
    let mut shared = Command::new(project.join("rod"));
    let output = shared.env("LD_LIBRARY_PATH", prefix().join("lib")).output().expect("the program runs");
    expect_rod(&String::from_utf8_lossy(&output.stdout));
}

fn configure_and_build(project: &Path, options: &[String]) -> PathBuf {
    let build = project.join("build");
    call(Command::new("cmake").arg("-S").arg(project).arg("-B").arg(&build).args(options));
    call(Command::new("cmake").arg("--build").arg(&build));
    build
}

#[test]
fn cmake_with_the_installed_package() {
    let project = project("cmake_installed");
    let build = configure_and_build(&project, &[format!("-DCMAKE_PREFIX_PATH={}", text(prefix()))]);
    expect_rod(&call(&mut Command::new(build.join("rod"))));
    expect_rod(&call(&mut Command::new(build.join("rod_static"))));

    // Another series is not this one.
    let list = project.join("CMakeLists.txt");
    let asks = std::fs::read_to_string(&list).expect("CMakeLists.txt").replace("mlcp 0.1 ", "mlcp 0.2 ");
    std::fs::write(&list, asks).expect("CMakeLists.txt");
    let mut refused = Command::new("cmake");
    refused.arg("-S").arg(&project).arg("-B").arg(project.join("other"));
    let output = refused.arg(format!("-DCMAKE_PREFIX_PATH={}", text(prefix()))).output().expect("cmake runs");
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("0.2"), "0.2 was found");
}

/// In the profile and folder of these tests, so that cargo finds its work done.
#[test]
fn cmake_from_source() {
    let _alone = LIBRARY.write();
    let project = project("cmake_source");
    let list = project.join("CMakeLists.txt");
    let source = std::fs::read_to_string(&list).expect("CMakeLists.txt");
    std::fs::write(&list, source.replace("${CMAKE_CURRENT_SOURCE_DIR}/../../..", text(root())))
        .expect("CMakeLists.txt");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    let options = ["-DMLCP_CARGO_PROFILE=dev".to_owned(), format!("-DMLCP_CARGO_TARGET_DIR={}", text(target))];
    for shared in ["OFF", "ON"] {
        let mut all = options.to_vec();
        all.push(format!("-DBUILD_SHARED_LIBS={shared}"));
        let build = configure_and_build(&project, &all);
        expect_rod(&call(&mut Command::new(build.join("rod"))));
    }
}

/// `debian/` gives two packages with the same files, parted as Debian wants them.
#[test]
fn debian_packages() {
    let _library = LIBRARY.read();
    let top = empty("debian");
    let tree = top.join(format!("mlcp-{VERSION}"));
    for name in ["cmake", "debian", "include", "scripts"] {
        for file in files(&root().join(name)) {
            let to = tree.join(name).join(&file);
            std::fs::create_dir_all(to.parent().expect("a folder")).expect("a scratch folder");
            std::fs::copy(root().join(name).join(&file), to).expect("copy the source");
        }
    }
    for name in ["Cargo.toml", "Makefile", "README.md", "LICENSE-MIT"] {
        std::fs::copy(root().join(name), tree.join(name)).expect("copy the source");
    }
    let mut build = Command::new("dpkg-buildpackage");
    // Stripping and compressing the debug information of these tests' library would take a minute.
    build.current_dir(&tree).env("MLCP_BUILD", library_dir()).env("DEB_BUILD_OPTIONS", "nostrip noautodbgsym");
    build.env("DPKG_DEB_COMPRESSOR_TYPE", "none");
    call(build.args(["-us", "-uc", "-b"]));

    let unpacked = top.join("unpacked");
    let architecture = call(Command::new("dpkg").arg("--print-architecture"));
    let series = VERSION.rsplit_once('.').expect("three numbers").0;
    for package in [format!("libmlcp{series}"), "libmlcp-dev".to_owned()] {
        let file = top.join(format!("{package}_{VERSION}_{}.deb", architecture.trim()));
        call(Command::new("dpkg-deb").arg("-x").args([&file, &unpacked]));
    }
    let multiarch = call(Command::new("gcc").arg("-print-multiarch"));
    let installed: Vec<String> = files(&unpacked.join("usr"))
        .iter()
        .filter(|file| !file.starts_with("share/doc/"))
        .map(|file| file.replace(&format!("lib/{}/", multiarch.trim()), "lib/"))
        .collect();
    assert_eq!(installed, expected_files());
}
