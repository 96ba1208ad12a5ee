//! Where the recording of the hand comes from: `c_examples/ode_hand.cpp`, compiled and run here and now if ODE is installed;
//! else every 200th step of it, kept with the tests.

use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A file, and what it is.
pub struct Recording {
    /// The file.
    pub path: PathBuf,
    /// For the report.
    pub origin: String,
}

/// The kept steps.
pub fn kept(why: &str) -> Recording {
    let path = Path::new(ROOT).join("tests/data/hand.h5");
    Recording { path, origin: format!("{why}: every 200th step, as kept in tests/data/hand.h5") }
}

/// A new one, into `folder`, or the kept ones with the reason.
pub fn recording(folder: &Path) -> Recording {
    match record(folder) {
        Ok(path) => {
            let origin = format!("Every fifth step, in {}", path.file_name().unwrap_or_default().to_string_lossy());
            Recording { path, origin }
        }
        Err(why) => {
            let kept = kept(&format!("{why} (`scripts/setup.sh c++ pkg-config ode.pc` installs what it takes)"));
            eprintln!("mlcp-lab: hand: {}", kept.origin);
            kept
        }
    }
}

/// Run a tool; what it printed, or why not, in a line.
fn run(command: &mut Command, what: &str) -> Result<String, String> {
    let done = command.output().map_err(|e| format!("{what}: {e}"))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(format!("{what}: {}", said.lines().find(|l| !l.trim().is_empty()).unwrap_or("it failed")));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

fn record(folder: &Path) -> Result<PathBuf, String> {
    let flags = run(Command::new("pkg-config").args(["--cflags", "--libs", "ode"]), "pkg-config finds no ODE")?;
    // Cargo leaves the library that this program is made of in deps.
    let here = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut near = here.ancestors().skip(1).take(2).flat_map(|d| [d.join("deps"), d.to_path_buf()]);
    let library = near.find(|d| d.join("libmlcp.so").exists()).ok_or("no libmlcp.so beside mlcp-lab")?;
    let folder = folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?;
    let (program, file) = (folder.join("ode_hand"), folder.join("hand.h5"));
    let mut compiler = Command::new("c++");
    compiler.current_dir(ROOT).args(["-std=c++11", "-O2", "c_examples/ode_hand.cpp", "-Iinclude", "-o"]).arg(&program);
    compiler.arg("-L").arg(&library).arg("-lmlcp").args(flags.split_whitespace());
    run(&mut compiler, "c++ cannot build c_examples/ode_hand.cpp")?;
    run(Command::new(&program).arg(&file).env("LD_LIBRARY_PATH", &library), "ode_hand")?;
    let _ = std::fs::remove_file(program);
    Ok(file)
}
