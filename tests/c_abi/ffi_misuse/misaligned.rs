//! Misaligned structs. A library that dereferences one may bring the process down, so each call runs in a child.

use super::fixture::*;
use mlcp::ffi::*;
use mlcp::Status;
use std::ptr::null;

const CASE: &str = "MLCP_MISALIGNED_CASE";

/// A call that reads or writes a struct of the caller's.
type Case = (&'static str, fn(&mut Fixture) -> Status);

const CASES: [Case; 7] = [
    ("mlcp_solver_create", |f| unsafe { mlcp_solver_create(misaligned(&f.out.settings), &mut f.out.solver) }),
    ("mlcp_solver_set_settings", |f| unsafe { mlcp_solver_set_settings(f.s, misaligned(&f.out.settings)) }),
    ("mlcp_solver_get_settings", |f| unsafe { mlcp_solver_get_settings(f.s, misaligned(&f.out.settings)) }),
    ("mlcp_solver_solve", |f| unsafe {
        mlcp_solver_solve(f.s, f.p, null(), 0, f.out.x.as_mut_ptr(), N, misaligned(&f.out.report))
    }),
    ("mlcp_solver_get_report", |f| unsafe { mlcp_solver_get_report(f.s, misaligned(&f.out.report)) }),
    ("mlcp_solver_get_stage", |f| unsafe { mlcp_solver_get_stage(f.s, 0, misaligned(&f.out.stage)) }),
    ("mlcp_solver_get_history", |f| unsafe { mlcp_solver_get_history(f.s, 0, misaligned(&f.out.iteration)) }),
];

/// The child: one case, chosen by the environment; without it nothing.
#[test]
fn misaligned_child() {
    let Ok(name) = std::env::var(CASE) else { return };
    let (_, call) = CASES.into_iter().find(|c| c.0 == name).expect("a known case");
    let mut f = Fixture::new();
    let before = f.answers();
    f.seal();
    assert_eq!(call(&mut f), Status::InvalidValue, "{}", last_error());
    assert!(last_error().contains("is not aligned"), "{}", last_error());
    assert!(f.is_sealed());
    assert_eq!(f.answers(), before);
}

#[test]
fn misaligned_structs_are_refused() {
    let program = std::env::current_exe().unwrap();
    let mut wrong = Vec::new();
    for (name, _) in CASES {
        let child = std::process::Command::new(&program)
            .args(["misaligned::misaligned_child", "--exact", "--nocapture"])
            .env(CASE, name)
            .output()
            .unwrap();
        if !child.status.success() {
            let text = String::from_utf8_lossy(&child.stderr);
            let line =
                text.lines().find(|l| l.contains("misaligned pointer") || l.contains("left")).unwrap_or("").to_owned();
            wrong.push(format!("{name}: {} {line}", child.status));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
