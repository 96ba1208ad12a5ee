//! The source tree keeps its own rules: who may use whom, where `unsafe` may stand, how long files are.
//!
//! A program of its own: it reads the sources and needs no room's helpers. Read as text, because the compiler does not mind a module that looks the wrong way.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const SRC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

/// What each module may use, as in the map of `src/lib.rs`. Leaves (`error`, `budget`) are open to all.
///
/// Two edges beside the straight line are meant: `settings` names `metrics::Measure`, because a caller chooses iterates
/// by a measure; and `solvers` read `settings`. Through the first, solvers could see metrics; they may not, so the test
/// also looks for the word itself.
const ALLOWED: [(&str, &[&str]); 15] = [
    ("error", &[]),
    ("memory", &[]),
    ("budget", &[]),
    ("linalg", &[]),
    ("problem", &["linalg"]),
    ("metrics", &["problem", "linalg"]),
    ("mechanism", &["solve", "problem", "linalg", "settings"]),
    ("settings", &["metrics"]),
    ("solvers", &["problem", "linalg", "settings"]),
    ("auto", &["problem", "settings", "solvers"]),
    ("solve", &["auto", "metrics", "problem", "settings", "solvers"]),
    ("multibody", &["metrics", "problem"]),
    ("dataset", &["metrics", "solve", "multibody", "problem"]),
    ("ffi", &["auto", "dataset", "solve", "mechanism", "metrics", "multibody", "problem", "settings"]),
    (
        "lib",
        &[
            "auto",
            "dataset",
            "ffi",
            "linalg",
            "mechanism",
            "metrics",
            "multibody",
            "problem",
            "settings",
            "solve",
            "solvers",
        ],
    ),
];
const LEAVES: [&str; 3] = ["error", "memory", "budget"];

/// Names re-exported at the crate's root, and where they live.
const ROOT_NAMES: [(&str, &str); 14] = [
    ("Budget", "budget"),
    ("Engine", "solve"),
    ("Error", "error"),
    ("Result", "error"),
    ("Status", "error"),
    ("Measure", "metrics"),
    ("Iteration", "solve"),
    ("Outcome", "solve"),
    ("Report", "solve"),
    ("FrictionMode", "problem"),
    ("Problem", "problem"),
    ("Triangle", "problem"),
    ("Settings", "settings"),
    ("SolverKind", "settings"),
];

struct File {
    path: PathBuf,
    /// First part of the path below src: the module it belongs to.
    module: String,
    text: String,
}

impl File {
    /// Lines of code, numbered: comments, strings' insides and test modules do not count as uses.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(k, line)| {
            let end = line.find("//").unwrap_or(line.len());
            (k + 1, &line[..end])
        })
    }

    fn at(&self, line: usize) -> String {
        format!("src/{}:{line}", self.path.strip_prefix(SRC).unwrap().display())
    }
}

fn files() -> Vec<File> {
    fn visit(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    visit(Path::new(SRC), &mut found);
    found.sort();
    let read = |path: PathBuf| {
        let below = path.strip_prefix(SRC).unwrap();
        let module = below.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
        File { module, text: std::fs::read_to_string(&path).unwrap(), path }
    };
    let files: Vec<File> = found.into_iter().map(read).collect();
    assert!(files.len() > 20, "only {} files found", files.len());
    files
}

/// Modules named after `crate::` on a line, braces included.
fn uses(line: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in line.match_indices("crate::") {
        let rest = &line[at + "crate::".len()..];
        let list = match rest.strip_prefix('{') {
            Some(inside) => inside.split('}').next().unwrap_or(inside).split(',').collect(),
            None => vec![rest],
        };
        for item in list {
            let name: String = item.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let home = ROOT_NAMES.iter().find(|(n, _)| *n == name).map_or(name.clone(), |(_, home)| (*home).to_owned());
            names.push(home);
        }
    }
    names
}

#[test]
fn uses_point_one_way() {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.into_iter().collect();
    let mut wrong = Vec::new();
    for file in files() {
        let Some(may) = allowed.get(file.module.as_str()) else {
            wrong.push(format!("module {} is not in the map", file.module));
            continue;
        };
        for (line, code) in file.code() {
            for name in uses(code).into_iter().filter(|n| !n.is_empty()) {
                let fine = name == file.module || LEAVES.contains(&name.as_str()) || may.contains(&name.as_str());
                if !fine {
                    wrong.push(format!("{}: {} may not use {name}", file.at(line), file.module));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `super::` reaches no further than the file's own module: top-level files have none to climb to.
#[test]
fn super_stays_inside_a_module() {
    for file in files() {
        let depth = file.path.strip_prefix(SRC).unwrap().iter().count();
        let is_root = file.path.ends_with("mod.rs");
        for (line, code) in file.code().filter(|(_, c)| c.contains("super::")) {
            // A mod.rs or a file at the top would leave its module; a test module inside it may climb one step.
            let inside = depth > 1 && !is_root;
            let indented = code.starts_with("    ");
            assert!(inside || indented, "{}: {code}", file.at(line));
            assert!(!code.contains("super::super"), "{}: {code}", file.at(line));
        }
    }
}

/// Solvers do not judge themselves: the words do not occur there, by whatever path.
#[test]
fn solvers_do_not_know_measures() {
    for file in files().iter().filter(|f| f.module == "solvers") {
        for (line, code) in file.code() {
            for word in ["Measure", "metrics", "monitor", "solve::", "auto::", "ffi", "Outcome", "Report", "Monitor"] {
                assert!(!code.contains(word), "{}: {}", file.at(line), code.trim());
            }
        }
    }
}

/// And linear algebra knows no complementarity.
#[test]
fn linalg_knows_no_complementarity() {
    for file in files().iter().filter(|f| f.module == "linalg") {
        for (line, code) in file.code() {
            for word in ["Problem", "bounds", "friction", "lo[", "hi["] {
                assert!(!code.contains(word), "{}: {}", file.at(line), code.trim());
            }
        }
    }
}

fn has_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !joins(code[..at].chars().next_back()) && !joins(code[at + word.len()..].chars().next())
    })
}

/// And in the file that names processor instructions, and the one that asks for large pages.
#[test]
fn unsafe_stands_only_in_ffi() {
    let may = |f: &File| ["ffi", "memory"].contains(&f.module.as_str()) || f.path.ends_with("linalg/lanes.rs");
    for file in files().iter().filter(|f| !may(f)) {
        for (line, code) in file.code() {
            assert!(!has_word(code, "unsafe"), "{}: {}", file.at(line), code.trim());
        }
    }
}

#[test]
fn the_library_neither_prints_nor_exits() {
    let words = [
        "println!",
        "eprintln!",
        "print!",
        "eprint!",
        "dbg!",
        "process::exit",
        "process::abort",
        "abort()",
        "todo!",
        "unimplemented!",
    ];
    for file in files() {
        for (line, code) in file.code() {
            if let Some(word) = words.iter().find(|w| code.contains(**w)) {
                panic!("{}: {word}", file.at(line));
            }
        }
    }
}

/// No globals but the sentence of the last error, which is a thread's own.
#[test]
fn no_globals() {
    for file in files() {
        for (line, code) in file.code() {
            let is_static = code.trim_start().starts_with("static ") || code.trim_start().starts_with("pub static ");
            let own = file.path.ends_with("ffi/guard.rs") && code.contains("LAST_ERROR");
            assert!(!is_static || own, "{}: {}", file.at(line), code.trim());
        }
    }
}

#[test]
fn files_are_short() {
    for file in files() {
        let lines = file.text.lines().count();
        assert!(lines <= 600, "{} has {lines} lines, split it", file.path.display());
        let long = file.text.lines().position(|l| l.chars().count() > 130);
        assert!(long.is_none(), "{} is too wide", file.at(long.unwrap() + 1));
    }
}

/// Every module says what it is for.
#[test]
fn files_open_with_a_sentence() {
    for file in files() {
        assert!(file.text.starts_with("//! "), "{} has no opening comment", file.path.display());
    }
}

/// Exports carry the comment that becomes the header's, ending in the version that brought them.
#[test]
fn exports_are_documented() {
    let mut exports = 0;
    for file in files().iter().filter(|f| f.module == "ffi") {
        let lines: Vec<&str> = file.text.lines().collect();
        for (k, line) in lines.iter().enumerate().filter(|(_, l)| l.contains("extern \"C\" fn mlcp_")) {
            exports += 1;
            let mut above = lines[..k].iter().rev();
            assert_eq!(above.next().map(|l| l.trim()), Some("#[no_mangle]"), "{}", file.at(k + 1));
            let last = above.next().copied().unwrap_or("");
            let since = last.starts_with("///").then(|| last.rsplit("Since ").next().unwrap_or(""));
            let version = since.and_then(|s| s.strip_suffix('.')).unwrap_or("");
            let numbers: Vec<_> = version.split('.').map(str::parse::<u32>).collect();
            assert!(numbers.len() == 2 && numbers.iter().all(Result::is_ok), "{}: ends in {last:?}", file.at(k + 1));
            assert!(line.starts_with("pub "), "{}", file.at(k + 1));
        }
        // Each body is one guard, so that no panic crosses.
        let starts = file.text.match_indices("#[no_mangle]").count();
        let declared = file.text.matches("extern \"C\" fn mlcp_").count();
        assert_eq!(starts, declared, "{}", file.path.display());
    }
    assert!(exports >= 43, "only {exports} exports found");
}

/// The reader of `use` lines itself.
#[test]
fn uses_are_read() {
    assert_eq!(uses("use crate::error::{Error, Result};"), ["error"]);
    assert_eq!(uses("use crate::{metrics::Measure, Budget};"), ["metrics", "budget"]);
    assert_eq!(uses("    let x = crate::solve::Engine::new(crate::Settings::default());"), ["solve", "settings"]);
    assert!(uses("use std::fmt;").is_empty());
}
