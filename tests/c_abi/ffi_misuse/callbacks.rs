//! Calls from inside a callback, destruction, names, and what cannot be put in a table.

use super::fixture::*;
use mlcp::auto::Reason;
use mlcp::ffi::*;
use mlcp::{SolverKind, Status};
use std::ffi::{c_void, CStr};
use std::ptr::{null, null_mut};

/// What a callback is given, and what it found.
struct Inside {
    p: *mut mlcp_problem,
    j: *mut mlcp_problem,
    s: *mut mlcp_solver,
    calls: usize,
    stop_at: usize,
    complaints: Vec<String>,
}

unsafe extern "C" fn meddle(record: *const mlcp_iteration, user_data: *mut c_void) -> i32 {
    let inside = unsafe { &mut *(user_data as *mut Inside) };
    inside.calls += 1;
    let (p, s) = (inside.p, inside.s);
    let mut out = [7.0; 3];
    let at = out.as_mut_ptr();
    let mut given = settings();
    let mut seen = report();
    let busy = unsafe {
        [
            ("solve", mlcp_solver_solve(s, p, null(), 0, at, 3, null_mut())),
            ("set_settings", mlcp_solver_set_settings(s, &settings())),
            ("get_settings", mlcp_solver_get_settings(s, &mut given)),
            ("set_callback", mlcp_solver_set_callback(s, None, null_mut())),
            ("set_executor", mlcp_solver_set_executor(s, None, null_mut())),
            ("get_report", mlcp_solver_get_report(s, &mut seen)),
            ("get_w", mlcp_solver_get_w(s, at, 3)),
            ("get_row_errors", mlcp_solver_get_row_errors(s, at, 3)),
            ("get_history", mlcp_solver_get_history(s, 0, &mut std::mem::zeroed())),
            ("get_stage", mlcp_solver_get_stage(s, 0, &mut std::mem::zeroed())),
            ("freeze_friction", mlcp_solver_freeze_friction(s, p, null(), 0, at, 3, null_mut())),
            ("get_worst_rows", mlcp_solver_get_worst_rows(s, null_mut(), 0, null_mut(), 0, &mut 0)),
            ("reserve", mlcp_problem_reserve(p, 9, 9)),
            ("set_dense", mlcp_problem_set_dense(p, 3, A.as_ptr(), 9, 3, 0)),
            ("set_csr", mlcp_problem_set_csr(p, 0, [0].as_ptr(), 1, null(), 0, null(), 0)),
            ("set_jacobian", mlcp_problem_set_jacobian(p, null(), 0, null(), 0, null(), 0, null(), 0)),
            ("set_b", mlcp_problem_set_b(p, B.as_ptr(), 3)),
            ("set_motion", mlcp_problem_set_motion(p, 0.1, null(), 0, null(), 0, null(), 0)),
            ("set_bounds", mlcp_problem_set_bounds(p, LO.as_ptr(), 3, HI.as_ptr(), 3)),
            ("set_friction", mlcp_problem_set_friction(p, [-1; 3].as_ptr(), 3, B.as_ptr(), 3, 0)),
            ("set_cones", mlcp_problem_set_cones(p, null(), 0, null(), 0)),
            ("set_frozen_normals", mlcp_problem_set_frozen_normals(p, B.as_ptr(), 3)),
        ]
    };
    for (name, status) in busy {
        if status != Status::Busy {
            inside.complaints.push(format!("{name} answers {status:?} instead of BUSY"));
        }
    }
    if !last_error().contains("problem is in use") {
        inside.complaints.push(last_error());
    }
    unsafe {
        if mlcp_solver_history_len(s) != 0 {
            inside.complaints.push("history_len of a solver in use is not 0".into());
        }
        if mlcp_solver_stages_len(s) != 0 {
            inside.complaints.push("stages_len of a solver in use is not 0".into());
        }
        // Destroying what is in use does nothing, and says so.
        mlcp_solver_destroy(s);
        if !last_error().contains("solver is in use") {
            inside.complaints.push(format!("destroying the solver: {}", last_error()));
        }
        mlcp_problem_destroy(p);
        if !last_error().contains("problem is in use") {
            inside.complaints.push(format!("destroying the problem: {}", last_error()));
        }
        // Reading the problem, and anything with another one, is allowed.
        let record = &*record;
        ok(mlcp_problem_get_w(p, record.x, record.n, at, 3));
        if record.measured == 1 && !(0..3).all(|i| (out[i] - *record.w.add(i)).abs() < 1e-12) {
            inside.complaints.push(format!("w of iteration {} is not A x + b", record.iteration));
        }
        assert_eq!(mlcp_problem_rows(p), 3);
        ok(mlcp_problem_set_b(inside.j, B.as_ptr(), 2));
    }
    i32::from(inside.calls == inside.stop_at)
}

#[test]
fn callbacks_meet_busy_handles() {
    let f = Fixture::new();
    let before = f.answers();
    let mut other = null_mut();
    let mut inside = unsafe {
        ok(mlcp_problem_create(&mut other));
        ok(mlcp_problem_set_csr(other, 2, [0, 1, 2].as_ptr(), 3, [0, 1].as_ptr(), 2, [1.0, 1.0].as_ptr(), 2));
        Inside { p: f.p, j: other, s: f.s, calls: 0, stop_at: usize::MAX, complaints: Vec::new() }
    };
    let mut x = [0.0; 3];
    unsafe {
        ok(mlcp_solver_set_callback(f.s, Some(meddle), &mut inside as *mut Inside as *mut c_void));
        ok(mlcp_solver_solve(f.s, f.p, null(), 0, x.as_mut_ptr(), 3, null_mut()));
        assert!(inside.calls >= 2, "the start and at least one iteration");
        // Stopping at the start.
        let mut seen = report();
        inside.stop_at = inside.calls + 1;
        ok(mlcp_solver_solve(f.s, f.p, null(), 0, x.as_mut_ptr(), 3, &mut seen));
        assert_eq!((seen.outcome, seen.iterations), (5, 0));
        ok(mlcp_solver_set_callback(f.s, None, null_mut()));
        // The handles are free again: the solver's own answers are the last solve's.
        ok(mlcp_solver_solve(f.s, f.p, null(), 0, x.as_mut_ptr(), 3, null_mut()));
        mlcp_problem_destroy(other);
    }
    assert!(inside.complaints.is_empty(), "{:?}", inside.complaints);
    assert_eq!(f.answers(), before);
}

#[test]
fn destroying_nothing_is_nothing() {
    unsafe {
        mlcp_problem_destroy(null_mut());
        mlcp_solver_destroy(null_mut());
        mlcp_frame_destroy(null_mut());
        mlcp_recorder_destroy(null_mut());
        mlcp_dataset_destroy(null_mut());
        assert_eq!((mlcp_dataset_problems(null()), mlcp_dataset_frames(null())), (0, 0));
        assert!(last_error().contains("dataset is NULL"), "{}", last_error());
        assert_eq!(CStr::from_ptr(mlcp_dataset_problem_name(null(), 0)), c"");
        assert_eq!(mlcp_problem_rows(null()), 0);
        assert!(last_error().contains("problem is NULL"), "{}", last_error());
        assert_eq!(mlcp_solver_history_len(null()), 0);
        assert_eq!(mlcp_solver_stages_len(null()), 0);
        assert!(last_error().contains("solver is NULL"), "{}", last_error());
    }
}

#[test]
fn names_are_known_or_unknown() {
    let text = |p| unsafe { CStr::from_ptr(p) }.to_str().unwrap();
    let names = |f: extern "C" fn(i32) -> *const libc::c_char, n: i32| (0..n).map(|k| text(f(k))).collect::<Vec<_>>();
    for (f, count) in [
        (mlcp_status_name as extern "C" fn(i32) -> *const libc::c_char, 13),
        (mlcp_outcome_name, OUTCOMES),
        (mlcp_contact_state_name, 3),
        (mlcp_reason_text, Reason::ALL.len() as i32),
    ] {
        let all = names(f, count);
        assert!(all.iter().all(|n| !n.is_empty() && *n != "unknown"), "{all:?}");
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        for number in [-1, count, i32::MAX, i32::MIN] {
            assert_eq!(text(f(number)), "unknown", "{number}");
        }
    }
    assert_eq!(text(mlcp_version()), env!("CARGO_PKG_VERSION"));
    for kind in SolverKind::ALL {
        let (name, mut back) = (mlcp_solver_kind_name(kind as i32), 0);
        assert_eq!(text(name), kind.name());
        assert_eq!(unsafe { mlcp_solver_kind_from_name(name, &mut back) }, Status::Ok);
        assert_eq!(back, kind as i32);
    }
    for number in [-1, 1000, i32::MAX, i32::MIN] {
        assert_eq!(text(mlcp_solver_kind_name(number)), "unknown", "{number}");
    }
}

/// Outcomes are numbered from 0.
const OUTCOMES: i32 = 8;

/// Each thread has its own sentence; a thread without errors has an empty one.
#[test]
fn errors_belong_to_their_thread() {
    unsafe { mlcp_problem_set_b(null_mut(), null(), 0) };
    let there = std::thread::spawn(last_error).join().unwrap();
    assert_eq!(there, "");
    assert_eq!(last_error(), "problem is NULL");
    // A call that succeeds leaves the sentence alone.
    let _ = report();
    assert_eq!(last_error(), "problem is NULL");
}

/// Before its first solve a solver has nothing to tell, and says so without failing.
#[test]
fn a_solver_that_has_not_run() {
    unsafe {
        let mut s = null_mut();
        ok(mlcp_solver_create(null(), &mut s));
        let mut seen = report();
        seen.outcome = 99;
        ok(mlcp_solver_get_report(s, &mut seen));
        assert_eq!((seen.outcome, seen.rows, seen.iterations), (0, 0, 0));
        assert_eq!(mlcp_solver_history_len(s), 0);
        ok(mlcp_solver_get_w(s, null_mut(), 0));
        ok(mlcp_solver_get_row_errors(s, null_mut(), 0));
        let mut count = 9;
        ok(mlcp_solver_get_worst_rows(s, null_mut(), 0, null_mut(), 0, &mut count));
        assert_eq!(count, 0);
        mlcp_solver_destroy(s);
    }
}

/// x0 and out_x may be one buffer, as the header says.
#[test]
fn starting_and_ending_in_one_buffer() {
    let f = Fixture::new();
    unsafe {
        let start = [0.3, 0.1, 0.2];
        let (mut apart, mut same) = ([0.0; 3], start);
        ok(mlcp_solver_solve(f.s, f.p, start.as_ptr(), 3, apart.as_mut_ptr(), 3, null_mut()));
        ok(mlcp_solver_solve(f.s, f.p, same.as_ptr(), 3, same.as_mut_ptr(), 3, null_mut()));
        assert_eq!(same.map(f64::to_bits), apart.map(f64::to_bits));
    }
}

/// Finite numbers at the edge of the doubles: an answer or a refusal, never NaN and never a defect caught at the boundary.
#[test]
fn extreme_problems_give_finite_answers() {
    let sizes = [1e-300, 1e-150, 1e-10, 1.0, 1e10, 1e150, 1e300];
    for kind in [1, 2] {
        for a in sizes {
            for b in sizes {
                for coupling in [0.0, 0.5, 0.999] {
                    unsafe {
                        let (mut p, mut s, mut chosen) = (null_mut(), null_mut(), settings());
                        chosen.solver = kind;
                        chosen.max_iterations = 50;
                        ok(mlcp_problem_create(&mut p));
                        ok(mlcp_solver_create(&chosen, &mut s));
                        let matrix = [a, coupling * a, coupling * a, a];
                        ok(mlcp_problem_set_dense(p, 2, matrix.as_ptr(), 4, 2, 0));
                        ok(mlcp_problem_set_b(p, [-b, 0.5 * b].as_ptr(), 2));
                        ok(mlcp_problem_set_bounds(p, [0.0; 2].as_ptr(), 2, [INF; 2].as_ptr(), 2));
                        let (mut x, mut seen) = ([NAN; 2], report());
                        let status = mlcp_solver_solve(s, p, null(), 0, x.as_mut_ptr(), 2, &mut seen);
                        let what = format!("solver {kind} a {a:e} b {b:e} coupling {coupling}: {status:?} {x:?}");
                        assert_ne!(status, Status::Internal, "{what}: {}", last_error());
                        if status == Status::Ok {
                            assert!(x.iter().all(|v| v.is_finite()), "{what}");
                            assert!(!seen.energy_error.is_nan() && !seen.energy_scale.is_nan(), "{what}");
                        }
                        mlcp_solver_destroy(s);
                        mlcp_problem_destroy(p);
                    }
                }
            }
        }
    }
}
