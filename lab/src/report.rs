//! The comparison report: every solve as comma-separated values, pictures, and one page with all of it.

use crate::plot::{self, escape};
use crate::table::{Goal, Row, Solved};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// A column: its name, and its value where there is one.
type Column = (&'static str, fn(&Solved) -> f64);

const COLUMNS: [Column; 9] = [
    ("energy_error_J", |s| s.energy().unwrap_or(f64::NAN)),
    ("energy_rel", |s| s.relative().unwrap_or(f64::NAN)),
    ("natural", |s| s.report.natural),
    ("fischer_burmeister", |s| s.report.fischer_burmeister),
    ("total_error", |s| s.errors.map_or(f64::NAN, |e| e.total)),
    ("normal_error", |s| s.errors.map_or(f64::NAN, |e| e.normal)),
    ("friction_error_J", |s| s.errors.map_or(f64::NAN, |e| e.friction())),
    ("iterations", |s| s.report.iterations as f64),
    ("microseconds", |s| 1e6 * s.seconds),
];

/// Solver and formulation, as rows are grouped.
fn label(row: &Row) -> String {
    match row.formulation.as_str() {
        "" => row.solver.to_string(),
        formulation => format!("{} · {formulation}", row.solver),
    }
}

/// Write report.csv, the pictures and report.html into a folder.
pub fn write(folder: &Path, title: &str, rows: &[Row], goal: Goal) -> Result<(), String> {
    let save = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|e| format!("{}: cannot be written: {e}", path.display()))
    };
    save("report.csv", &csv(rows))?;
    let mut pictures = Vec::new();
    for (title, unit, column) in [
        ("Energy error", "J", 0),
        ("Natural residual", "mixed units", 2),
        ("Friction error", "J", 6),
        ("Iterations", "count", 7),
        ("Time", "µs", 8),
    ] {
        let (name, value) = COLUMNS[column];
        let groups = grouped(rows, value);
        if groups.iter().any(|g| g.1.iter().any(|v| v.is_finite())) {
            let svg = plot::boxes(title, unit, &groups);
            save(&format!("box_{name}.svg"), &svg)?;
            pictures.push(svg);
        }
        let over: Vec<(String, Vec<(f64, f64)>)> = over_frames(rows, value);
        if column < 7 && over.iter().any(|g| g.1.iter().any(|p| p.1.is_finite())) {
            let svg = plot::over_frames(&format!("{title} over frames"), unit, &over);
            save(&format!("frames_{name}.svg"), &svg)?;
            pictures.push(svg);
        }
    }
    save("report.html", &page(title, rows, goal, &pictures))
}

fn csv(rows: &[Row]) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut out = String::from("problem,frame,formulation,n,solver,outcome");
    COLUMNS.iter().for_each(|(name, _)| out += &format!(",{name}"));
    out.push('\n');
    for row in rows {
        let outcome = match &row.result {
            Ok(s) => s.report.outcome.name(),
            Err(refused) => refused.kind,
        };
        let frame = row.frame.map_or_else(String::new, |f| f.to_string());
        let formulation = quoted(&row.formulation);
        let _ = write!(out, "{},{frame},{formulation},{},{},{outcome}", quoted(&row.problem), row.n, row.solver);
        for (_, value) in COLUMNS {
            match row.result.as_ref().map(value) {
                Ok(v) if !v.is_nan() => out += &format!(",{v:e}"),
                _ => out.push(','),
            }
        }
        out.push('\n');
    }
    out
}

/// Rows of solvers that treat the formulation at all: one that refuses all but frames without contacts is no picture.
fn treated(rows: &[Row]) -> impl Iterator<Item = &Row> {
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for row in rows {
        counts.entry(label(row)).or_default()[usize::from(row.result.is_err())] += 1;
    }
    rows.iter().filter(move |row| counts.get(&label(row)).is_some_and(|[done, refused]| done > refused))
}

/// Values by solver and formulation.
fn grouped(rows: &[Row], value: impl Fn(&Solved) -> f64) -> Vec<plot::Group> {
    let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in treated(rows) {
        groups.entry(label(row)).or_default().extend(row.result.as_ref().ok().map(&value));
    }
    groups.into_iter().collect()
}

fn over_frames(rows: &[Row], value: fn(&Solved) -> f64) -> Vec<(String, Vec<(f64, f64)>)> {
    let mut groups: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for row in treated(rows) {
        if let (Some(frame), Ok(solved)) = (row.frame, &row.result) {
            groups.entry(label(row)).or_default().push((frame as f64, value(solved)));
        }
    }
    groups.into_iter().collect()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.filter(|v| !v.is_nan()).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn page(title: &str, rows: &[Row], goal: Goal, pictures: &[String]) -> String {
    let mut table = String::new();
    let mut groups: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    rows.iter().for_each(|row| groups.entry(label(row)).or_default().push(row));
    for (name, rows) in &groups {
        let solved = rows.iter().filter(|r| r.is_solved(goal)).count();
        let refused = rows.iter().filter(|r| r.result.is_err()).count();
        let _ = write!(table, "<tr><td>{}</td><td>{solved}/{}</td><td>{refused}</td>", escape(name), rows.len());
        for (_, value) in COLUMNS {
            let v = median(rows.iter().filter_map(|r| r.result.as_ref().ok()).map(value));
            let _ = match v.is_nan() {
                true => write!(table, "<td>-</td>"),
                false => write!(table, "<td>{v:.2e}</td>"),
            };
        }
        table += "</tr>\n";
    }
    let heads: String = COLUMNS.iter().map(|(name, _)| format!("<th>{name}</th>")).collect();
    let figures: String = pictures.iter().map(|p| format!("<figure>{p}</figure>\n")).collect();
    let (title, goal) = (escape(title), escape(&goal.to_string()));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n<style>\
         body{{font-family:sans-serif;margin:2em;color:#222}} table{{border-collapse:collapse;font-size:13px}} \
         td,th{{padding:3px 9px;border-bottom:1px solid #ddd;text-align:right}} \
         td:first-child,th:first-child{{text-align:left}} figure{{display:inline-block;margin:1em}}</style></head>\n\
         <body><h1>{title}</h1>\n<p>Solved: {goal}. The other columns are medians over what was not refused.</p>\n\
         <table><tr><th>solver</th><th>solved</th><th>refused</th>{heads}</tr>\n{table}</table>\n{figures}</body></html>\n"
    )
}
