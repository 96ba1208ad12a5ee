//! Finds the library this test was built with, and runs compilers on C and C++ sources.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Flags under which every C and C++ file of this project must be silent.
pub const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// A compiler pair.
pub struct Compiler {
    pub c: &'static str,
    pub cpp: &'static str,
}

/// The compilers that must accept everything.
pub const COMPILERS: [Compiler; 2] = [Compiler { c: "gcc", cpp: "g++" }, Compiler { c: "clang", cpp: "clang++" }];

/// The project's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A path in the scratch folder of a file of tests.
pub fn scratch(file: &str, name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    std::fs::create_dir_all(&dir).expect("scratch folder");
    dir.join(name)
}

/// The folder that holds libmlcp.so and libmlcp.a: cargo leaves them beside the test binary, or one folder up.
pub fn library_dir() -> PathBuf {
    let exe = std::env::current_exe().expect("path of the test");
    exe.ancestors()
        .skip(1)
        .take(2)
        .find(|dir| dir.join("libmlcp.so").exists() && dir.join("libmlcp.a").exists())
        .unwrap_or_else(|| {
            panic!("no libmlcp.so and libmlcp.a near {}: is it still a cdylib and staticlib?", exe.display())
        })
        .to_path_buf()
}

/// Run a tool. One that is missing is a failure that says what to install.
pub fn run<S: AsRef<OsStr>>(tool: &str, args: impl IntoIterator<Item = S>) -> Output {
    let package = match tool {
        "nm" => "binutils",
        "clang++" => "clang",
        other => other,
    };
    Command::new(tool)
        .args(args)
        // A panic inside the library would print a backtrace of hundreds of lines.
        .env("RUST_BACKTRACE", "0")
        .env("LD_LIBRARY_PATH", library_dir())
        .output()
        .unwrap_or_else(|e| {
            panic!("cannot run {tool} ({e}): install {package}, for example with `apt install {package}`")
        })
}

/// Run a tool that must succeed; returns what it printed.
pub fn run_ok<S: AsRef<OsStr>>(tool: &str, args: impl IntoIterator<Item = S>) -> String {
    let args: Vec<_> = args.into_iter().map(|a| a.as_ref().to_os_string()).collect();
    let output = run(tool, &args);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{tool} {args:?} ended with {}\n{stdout}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    stdout
}

/// Compile `source` with the strict flags to `out`.
pub fn compile(compiler: &str, flags: &[&str], source: &Path, out: &Path, link: &[&str]) {
    let include = format!("-I{}", root().join("include").display());
    let mut args: Vec<&OsStr> = flags.iter().chain(&STRICT).map(OsStr::new).collect();
    args.extend([OsStr::new(&include), source.as_os_str(), OsStr::new("-o"), out.as_os_str()]);
    args.extend(link.iter().map(OsStr::new));
    run_ok(compiler, args);
}
