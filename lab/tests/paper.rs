//! The papers' experiments, in short: every statement must hold or differ for a reason, and the page must hold the figures.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn paper(name: &str) -> (Output, PathBuf) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("paper_{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    let mut command = Command::new(env!("CARGO_BIN_EXE_mlcp-lab"));
    let output = command.args(["paper", name, "--short", "--out"]).arg(&folder).output().expect("mlcp-lab runs");
    (output, folder)
}

/// Run it; its verdict and its figures.
#[track_caller]
fn check(name: &str, verdict: &str, figures: usize) {
    let (output, folder) = paper(name);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.starts_with(&format!("{name}: {verdict}\n")), "{text}");
    let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
    assert_eq!(page.matches("</svg>").count(), figures);
    assert!(page.contains(&format!("<h2 id=\"{name}\">")));
    let ends = |end: &str| {
        let files = std::fs::read_dir(&folder).expect("a folder").flatten();
        files.filter(|f| f.file_name().to_string_lossy().ends_with(end)).count()
    };
    assert_eq!(ends(".svg"), figures);
    assert!(ends(".csv") >= 1);
}

#[test]
fn isolines() {
    check("isolines", "reproduced", 3);
}

#[test]
fn rod_has_the_papers_numbers_but_for_its_errata() {
    check("rod", "differs", 0);
}

#[test]
fn energy_picks_the_same_iterate_in_all_units() {
    check("units", "reproduced", 1);
}

#[test]
fn energy_falls_along_the_brick_wall_and_mixed_measures_rise_first() {
    check("brick-wall", "reproduced", 2);
}

#[test]
fn forklift_follows_the_reference_with_the_best_iterate() {
    let (output, folder) = paper("forklift");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!text.starts_with("forklift: fails"), "{text}");
    assert!(folder.join("forklift_path.svg").exists() && folder.join("forklift_wheels.svg").exists());
}

#[test]
fn bricard() {
    check("bricard", "reproduced", 1);
}

#[test]
fn facets_converge_to_the_cone() {
    check("facets", "reproduced", 1);
}

#[test]
fn an_unknown_name_is_refused_with_the_known_ones() {
    let (output, _) = paper("wall");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("'wall'") && said.contains("brick-wall") && said.lines().count() == 1, "{said}");
}
