//! Every export, called wrongly: the status is right, the sentence names the argument, outputs stay untouched, and the
//! handles still solve what they held before, to the bit.

// Calling the C functions is the point.
#![allow(unsafe_code)]

mod callbacks;
mod datasets;
mod fixture;
mod frames;
mod matrices;
mod measures;
mod mechanisms;
mod misaligned;
mod problems;
mod solvers;

use fixture::{last_error, Fixture};
use mlcp::Status;

/// A wrong call: the export, what must come back, what the sentence must contain, and the call.
type Row = (&'static str, Status, &'static [&'static str], fn(&mut Fixture) -> Status);

fn all_rows() -> Vec<Row> {
    [
        matrices::rows(),
        measures::rows(),
        mechanisms::rows(),
        problems::rows(),
        solvers::rows(),
        frames::rows(),
        datasets::rows(),
    ]
    .concat()
}

#[test]
fn wrong_calls_are_refused_and_change_nothing() {
    let mut wrong = Vec::new();
    for (k, (export, expected, needles, call)) in all_rows().into_iter().enumerate() {
        let mut f = Fixture::new();
        let before = f.answers();
        f.seal();
        let found = call(&mut f);
        let sentence = last_error();
        let mut complain = |what: String| wrong.push(format!("row {k} {export}: {what} ({sentence:?})"));
        if found != expected {
            complain(format!("{found:?}, expected {expected:?}"));
        }
        if found != Status::Ok {
            for needle in needles.iter().filter(|n| !sentence.contains(**n)) {
                complain(format!("the sentence does not mention {needle:?}"));
            }
            if !f.is_sealed() {
                complain("an output was written".into());
            }
        }
        if f.answers() != before {
            complain("the handles no longer give the same answers".into());
        }
    }
    assert!(wrong.is_empty(), "{} complaints:\n{}", wrong.len(), wrong.join("\n"));
}

/// Exports that cannot be called wrongly, or are tested one by one in `callbacks.rs` and `mechanisms.rs`.
const ELSEWHERE: [&str; 21] = [
    "mlcp_contact_state_name",
    "mlcp_frame_destroy",
    "mlcp_recorder_destroy",
    "mlcp_dataset_destroy",
    "mlcp_dataset_problems",
    "mlcp_dataset_frames",
    "mlcp_dataset_problem_name",
    "mlcp_last_error",
    "mlcp_version",
    "mlcp_status_name",
    "mlcp_outcome_name",
    "mlcp_solver_kind_name",
    "mlcp_problem_destroy",
    "mlcp_solver_destroy",
    "mlcp_problem_rows",
    "mlcp_solver_history_len",
    "mlcp_solver_stages_len",
    "mlcp_reason_text",
    "mlcp_diagnosis_destroy",
    "mlcp_projection_destroy",
    "mlcp_ali3p_destroy",
];

/// Function names declared in the header.
fn exports() -> Vec<String> {
    let header = include_str!("../../../include/mlcp.h");
    let mut names = Vec::new();
    for line in header.lines().filter(|l| !l.trim_start().starts_with("//") && !l.contains("typedef")) {
        let Some(end) = line.find('(') else { continue };
        let name: String = line[..end].chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let name: String = name.chars().rev().collect();
        if name.starts_with("mlcp_") {
            names.push(name);
        }
    }
    names
}

#[test]
fn every_export_has_its_rows() {
    let (exports, rows) = (exports(), all_rows());
    assert!(exports.len() >= 43, "only {} exports found in the header: {exports:?}", exports.len());
    for name in &exports {
        let covered = ELSEWHERE.contains(&name.as_str()) || rows.iter().any(|r| r.0 == name);
        assert!(covered, "{name} has no row");
    }
    for name in rows.iter().map(|r| r.0).chain(ELSEWHERE) {
        assert!(exports.iter().any(|e| e == name), "{name} is not in the header");
    }
    // An export that takes a pointer has a row for NULL.
    for name in exports.iter().filter(|n| !ELSEWHERE.contains(&n.as_str())) {
        let null = rows.iter().any(|r| r.0 == name && r.1 == Status::NullArgument);
        assert!(null, "{name} has no row for NULL");
    }
}
