//! `mlcp-lab paper spheres` and `logs`, in their short versions.

use std::path::Path;
use std::process::Command;

/// Lines of a table as (method, numbers after it).
type Lines = Vec<(String, Vec<f64>)>;

/// Run an experiment and return what it printed and its table of each step's last errors.
fn run(name: &str) -> (String, Lines) {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&out);
    let done = Command::new(env!("CARGO_BIN_EXE_mlcp-lab"))
        .args(["paper", name, "--short", "--out"])
        .arg(&out)
        .output()
        .expect("mlcp-lab runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for file in ["report.html".to_string(), format!("{name}.svg"), format!("{name}_steps.svg"), format!("{name}.csv")] {
        let text = std::fs::read_to_string(out.join(&file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(text.len() > 500 && !text.contains("NaN"), "{file}");
    }
    let table = std::fs::read_to_string(out.join(format!("{name}_steps.csv"))).expect("a table");
    // Method names may hold commas, in quotes.
    let lines = table.lines().skip(1).map(|line| {
        let (method, numbers) = line.rsplit_once('"').expect("a name in quotes");
        let numbers = numbers.split(',').skip(1).map(|v| v.parse().expect("a number")).collect();
        (method.trim_start_matches('"').to_string(), numbers)
    });
    (String::from_utf8(done.stdout).expect("UTF-8"), lines.collect())
}

/// Total errors that a method ends with.
fn totals(lines: &Lines, method: &str) -> Vec<f64> {
    lines.iter().filter(|(m, _)| m == method).map(|(_, numbers)| numbers[2]).collect()
}

#[test]
fn balls_are_exact_by_lemke_and_jam_by_pgs_with_cfm() {
    let (said, lines) = run("spheres");
    assert!(said.contains("spheres: ") && !said.contains("fails"), "{said}");
    let (lemke, pgs) = (totals(&lines, "Lemke"), totals(&lines, "PGS with CFM"));
    assert_eq!((lemke.len(), pgs.len()), (2, 2));
    assert!(lemke.iter().all(|e| *e < 1e-15), "{lemke:?}");
    assert!(pgs.iter().all(|e| *e > 1e-4), "{pgs:?}");
}

#[test]
fn logs_are_solved_by_every_method() {
    let (said, lines) = run("logs");
    assert!(said.contains("logs: ") && !said.contains("fails"), "{said}");
    for method in ["Lemke", "Fischer-Newton", "interior point"] {
        let totals = totals(&lines, method);
        assert!(totals.len() == 2 && totals.iter().all(|e| *e < 1e-12), "{method}: {totals:?}");
    }
}
