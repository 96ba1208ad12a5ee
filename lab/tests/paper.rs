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

/// The rows of a table of numbers.
fn numbers(table: &Path) -> Vec<Vec<f64>> {
    let text = std::fs::read_to_string(table).expect("a table");
    let row = |line: &str| line.split(',').map(|v| v.parse().expect("a number")).collect();
    text.lines().skip(1).map(row).collect()
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
    check("rod", "differs", 1);
}

#[test]
fn energy_picks_the_same_iterate_in_all_units() {
    check("units", "reproduced", 1);
}

#[test]
fn energy_falls_along_the_brick_wall_and_mixed_measures_rise_first() {
    check("brick-wall", "reproduced", 2);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("paper_brick-wall");
    let table = numbers(&folder.join("brick_wall.csv"));
    assert_eq!(table.len(), 101);
    // Columns 1, 3, 5: means by Fischer-Burmeister, natural residual, energy; iteration 0 is the start.
    for k in 2..=100 {
        assert!(table[k][5] <= table[k - 1][5], "energy rises at {k}");
    }
    for column in [1, 3] {
        let peak = (1..=100).max_by(|&a, &b| table[a][column].total_cmp(&table[b][column])).expect("rows");
        assert!(peak > 1 && table[100][column] < table[peak][column], "column {column} peaks at {peak}");
    }
}

#[test]
fn forklift_follows_the_reference_with_the_best_iterate() {
    let (output, folder) = paper("forklift");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!text.starts_with("forklift: fails"), "{text}");
    assert!(folder.join("forklift_path.svg").exists() && folder.join("forklift_wheels.svg").exists());
    let table = std::fs::read_to_string(folder.join("forklift_limits.csv")).expect("a table");
    let deviation = |kept: &str| -> f64 {
        let line = table.lines().find(|l| l.contains(kept)).expect("a line");
        line.rsplit(',').next().and_then(|v| v.parse().ok()).expect("a number")
    };
    let [last, fb, natural, energy] =
        ["last iterate", "by Fischer-Burmeister", "by natural", "by energy"].map(deviation);
    assert!(10.0 * energy <= last && energy <= 1.05 * fb.min(natural), "{last} {fb} {natural} {energy}");
}

#[test]
fn the_fortieth_sweep_on_the_hand_is_better_than_the_tenth() {
    let (output, folder) = paper("hand");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.starts_with("hand: ") && !text.contains("\n  fails "), "{text}");
    let table = numbers(&folder.join("hand.csv"));
    assert_eq!(table.len(), 15);
    // Columns 6, 7, 8: energy after 10, 40, 400 sweeps; 9: the best of 40.
    for row in &table {
        assert!(row[8] <= row[6] && row[9] <= row[7] * (1.0 + 1e-9), "{row:?}");
    }
}

#[test]
fn scenes_run_within_a_budget() {
    // Against the clock only little is certain.
    let (output, folder) = paper("budget");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success() && !text.contains("\n  fails "), "{text}");
    let table = std::fs::read_to_string(folder.join("budget.csv")).expect("a table");
    assert_eq!(table.lines().count(), 1 + 3 * 6 * 2, "{table}");
    assert!(!table.contains("inf") && !table.contains("NaN"), "{table}");
}

#[test]
fn bricard() {
    check("bricard", "reproduced", 1);
}

/// Written by `make reproduction`; here only whether it is whole.
#[test]
fn the_document_has_every_experiment_and_its_figures() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let text = std::fs::read_to_string(docs.join("reproduction.md")).expect("docs/reproduction.md");
    let said = String::from_utf8(paper("none").0.stderr).expect("UTF-8");
    let list = said.split("there are ").nth(1).and_then(|rest| rest.split(", and all").next()).expect("a list");
    let names: Vec<&str> = list.split(", ").collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(text.contains(&format!("\n## {name}\n")), "{name} is missing: make reproduction");
    }
    let rows = text.lines().filter(|l| l.starts_with("| ") && l.contains(" | fails | "));
    assert_eq!(rows.count(), 0, "a statement fails");
    let mut bytes = 0;
    for figure in text.split("](figures/").skip(1).filter_map(|rest| rest.split(')').next()) {
        bytes += std::fs::metadata(docs.join("figures").join(figure)).unwrap_or_else(|e| panic!("{figure}: {e}")).len();
    }
    assert!((100_000..1_500_000).contains(&bytes), "{bytes} bytes of figures");
}

#[test]
fn islands_have_the_same_bits_on_any_thread() {
    let (output, _) = paper("islands");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let at = text.find("the same bits").expect("the statement about bits");
    assert!(text[..at].ends_with("reproduced  expected: the impulses have "), "{text}");
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
