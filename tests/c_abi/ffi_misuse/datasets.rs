//! Recorders and datasets: paths, options, indices, and files that are none.

use super::fixture::*;
use super::frames::{frame, with};
use super::Row;
use mlcp::ffi::*;
use mlcp::Status::{self, *};
use std::ffi::{CStr, CString};
use std::mem::size_of;
use std::ptr::{null, null_mut};

const ENGINES: &CStr = {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/engines.h5\0");
    match CStr::from_bytes_with_nul(path.as_bytes()) {
        Result::Ok(path) => path,
        Err(_) => panic!("a path with NUL"),
    }
};

fn path(name: &str) -> CString {
    let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/misuse");
    std::fs::create_dir_all(folder).expect("a scratch folder");
    CString::new(format!("{folder}/{name}")).unwrap()
}

fn options() -> mlcp_recorder_options {
    mlcp_recorder_options {
        struct_size: size_of::<mlcp_recorder_options>(),
        queue: 0,
        when_full: 1,
        sync: 0,
        reserved: 0,
        engine: null(),
    }
}

fn create(f: &mut Fixture, change: impl FnOnce(&mut mlcp_recorder_options)) -> Status {
    let mut o = options();
    change(&mut o);
    unsafe { mlcp_recorder_create(path("none.h5").as_ptr(), &o, &mut f.out.recorder) }
}

/// Call with a recorder, whose file must open afterwards and hold what was recorded before.
fn recording(name: &str, call: impl FnOnce(*mut mlcp_recorder) -> Status) -> Status {
    let path = path(name);
    let (mut recorder, mut dataset, frame) = (null_mut(), null_mut(), frame());
    unsafe {
        ok(mlcp_recorder_create(path.as_ptr(), &options(), &mut recorder));
        ok(mlcp_recorder_append_frame(recorder, frame, null(), [0.0; 4].as_ptr(), 4, null()));
        let status = call(recorder);
        let sentence = CString::new(last_error()).unwrap();
        mlcp_recorder_destroy(recorder);
        mlcp_frame_destroy(frame);
        ok(mlcp_dataset_open(path.as_ptr(), &mut dataset));
        let frames = mlcp_dataset_frames(dataset);
        mlcp_dataset_destroy(dataset);
        assert_eq!(frames, 1, "{sentence:?}");
        status
    }
}

fn append(name: &str, formulation: *const libc::c_char, z: &[f64], report: *const mlcp_report) -> Status {
    let frame = frame();
    let status =
        recording(name, |r| unsafe { mlcp_recorder_append_frame(r, frame, formulation, z.as_ptr(), z.len(), report) });
    unsafe { mlcp_frame_destroy(frame) };
    status
}

/// Call with the recorded engine problems.
fn engines(call: impl FnOnce(*mut mlcp_dataset) -> Status) -> Status {
    let mut dataset = null_mut();
    unsafe {
        ok(mlcp_dataset_open(ENGINES.as_ptr(), &mut dataset));
        assert_eq!((mlcp_dataset_problems(dataset), mlcp_dataset_frames(dataset)), (65, 0));
        assert_eq!(
            CStr::from_ptr(mlcp_dataset_problem_name(dataset, 0)).to_str(),
            Result::Ok("bullet_box1_s003_i0_n12")
        );
        assert_eq!(CStr::from_ptr(mlcp_dataset_problem_name(dataset, 65)).to_bytes(), b"");
        let status = call(dataset);
        mlcp_dataset_destroy(dataset);
        status
    }
}

#[rustfmt::skip] // One row, one line.
pub fn rows() -> Vec<Row> {
    let rows: Vec<Row> = vec![
        ("mlcp_recorder_create", NullArgument, &["path is NULL"], |f| unsafe { mlcp_recorder_create(null(), null(), &mut f.out.recorder) }),
        ("mlcp_recorder_create", NullArgument, &["out_recorder is NULL"], |_| unsafe { mlcp_recorder_create(path("none.h5").as_ptr(), null(), null_mut()) }),
        ("mlcp_recorder_create", File, &["no/x.h5", "cannot be written"], |f| unsafe { mlcp_recorder_create(path("no/x.h5").as_ptr(), null(), &mut f.out.recorder) }),
        ("mlcp_recorder_create", File, &["cannot be written"], |f| unsafe { mlcp_recorder_create(path("").as_ptr(), null(), &mut f.out.recorder) }),
        ("mlcp_recorder_create", InvalidValue, &["path is not UTF-8"], |f| unsafe { mlcp_recorder_create(c"\xff".as_ptr(), null(), &mut f.out.recorder) }),
        ("mlcp_recorder_create", InvalidSize, &["options.struct_size is 0"], |f| create(f, |o| o.struct_size = 0)),
        ("mlcp_recorder_create", InvalidValue, &["options.queue is -1"], |f| create(f, |o| o.queue = -1)),
        ("mlcp_recorder_create", InvalidValue, &["queue is 2000000"], |f| create(f, |o| o.queue = 2_000_000)),
        ("mlcp_recorder_create", InvalidValue, &["options.when_full is 2"], |f| create(f, |o| o.when_full = 2)),
        ("mlcp_recorder_create", InvalidValue, &["options.sync is 7"], |f| create(f, |o| o.sync = 7)),
        ("mlcp_recorder_append_frame", NullArgument, &["recorder is NULL"], |_| with(|e| unsafe { mlcp_recorder_append_frame(null_mut(), e, null(), null(), 0, null()) })),
        ("mlcp_recorder_append_frame", NullArgument, &["frame is NULL"], |_| recording("a1.h5", |r| unsafe { mlcp_recorder_append_frame(r, null(), null(), null(), 0, null()) })),
        ("mlcp_recorder_append_frame", InvalidSize, &["z has length 3", "4 rows"], |_| append("a2.h5", null(), &[0.0; 3], null())),
        ("mlcp_recorder_append_frame", InvalidSize, &["z has length 4", "polyhedral:4"], |_| append("a3.h5", c"polyhedral:4".as_ptr(), &[0.0; 4], null())),
        ("mlcp_recorder_append_frame", InvalidValue, &["z[1] is NaN"], |_| append("a4.h5", null(), &[0.0, NAN, 0.0, 0.0], null())),
        ("mlcp_recorder_append_frame", InvalidValue, &["formulation 'x'"], |_| append("a5.h5", c"x".as_ptr(), &[0.0; 4], null())),
        ("mlcp_recorder_append_frame", InvalidValue, &["report.solver is -5"], |_| { let mut r = report(); r.solver = -5; append("a6.h5", null(), &[0.0; 4], &r) }),
        ("mlcp_recorder_append_frame", InvalidSize, &["report.struct_size is 0"], |_| { let mut r = report(); r.struct_size = 0; append("a7.h5", null(), &[0.0; 4], &r) }),
        ("mlcp_recorder_append_frame", InvalidState, &["no step"], |_| recording("a8.h5", |r| unsafe { let mut e = null_mut(); ok(mlcp_frame_create(&mut e)); let s = mlcp_recorder_append_frame(r, e, null(), null(), 0, null()); mlcp_frame_destroy(e); s })),
        ("mlcp_recorder_append_problem", NullArgument, &["recorder is NULL"], |f| unsafe { mlcp_recorder_append_problem(null_mut(), null(), f.p, null(), 0, null()) }),
        ("mlcp_recorder_append_problem", NullArgument, &["problem is NULL"], |_| recording("b1.h5", |r| unsafe { mlcp_recorder_append_problem(r, null(), null(), null(), 0, null()) })),
        ("mlcp_recorder_append_problem", InvalidSize, &["x has length 2", "3"], |f| recording("b2.h5", |r| unsafe { mlcp_recorder_append_problem(r, null(), f.p, B.as_ptr(), 2, null()) })),
        ("mlcp_recorder_append_problem", InvalidValue, &["x[0] is NaN"], |f| recording("b3.h5", |r| unsafe { mlcp_recorder_append_problem(r, null(), f.p, [NAN; 3].as_ptr(), 3, null()) })),
        ("mlcp_recorder_append_problem", InvalidValue, &["name", "'/'"], |f| recording("b4.h5", |r| unsafe { mlcp_recorder_append_problem(r, c"a/b".as_ptr(), f.p, null(), 0, null()) })),
        ("mlcp_recorder_flush", NullArgument, &["recorder is NULL"], |_| unsafe { mlcp_recorder_flush(null_mut()) }),
        ("mlcp_recorder_get_counts", NullArgument, &["recorder is NULL"], |f| unsafe { mlcp_recorder_get_counts(null(), &mut f.out.counts) }),
        ("mlcp_recorder_get_counts", NullArgument, &["out_counts is NULL"], |_| recording("c1.h5", |r| unsafe { mlcp_recorder_get_counts(r, null_mut()) })),
        ("mlcp_recorder_get_counts", InvalidSize, &["out_counts.struct_size is 1"], |f| { f.out.counts.struct_size = 1; recording("c2.h5", |r| unsafe { mlcp_recorder_get_counts(r, &mut f.out.counts) }) }),
        ("mlcp_recorder_get_counts", Ok, &[], |f| recording("c3.h5", |r| unsafe { ok(mlcp_recorder_flush(r)); mlcp_recorder_get_counts(r, &mut f.out.counts) })),
        ("mlcp_dataset_open", NullArgument, &["path is NULL"], |f| unsafe { mlcp_dataset_open(null(), &mut f.out.dataset) }),
        ("mlcp_dataset_open", NullArgument, &["out_dataset is NULL"], |_| unsafe { mlcp_dataset_open(ENGINES.as_ptr(), null_mut()) }),
        ("mlcp_dataset_open", File, &["missing.h5", "cannot be opened"], |f| unsafe { mlcp_dataset_open(path("missing.h5").as_ptr(), &mut f.out.dataset) }),
        ("mlcp_dataset_open", File, &["is not a file"], |f| unsafe { mlcp_dataset_open(path("").as_ptr(), &mut f.out.dataset) }),
        ("mlcp_dataset_load_problem", NullArgument, &["dataset is NULL"], |f| unsafe { mlcp_dataset_load_problem(null_mut(), 0, 0, f.p) }),
        ("mlcp_dataset_load_problem", NullArgument, &["problem is NULL"], |_| engines(|d| unsafe { mlcp_dataset_load_problem(d, 0, 0, null_mut()) })),
        ("mlcp_dataset_load_problem", InvalidIndex, &["problem is 65", "has 65"], |f| engines(|d| unsafe { mlcp_dataset_load_problem(d, 65, 0, f.p) })),
        ("mlcp_dataset_load_problem", InvalidValue, &["friction_mode is 3"], |f| engines(|d| unsafe { mlcp_dataset_load_problem(d, 0, 3, f.p) })),
        ("mlcp_dataset_get_x", NullArgument, &["dataset is NULL"], |f| unsafe { mlcp_dataset_get_x(null_mut(), 0, 1, f.out.x.as_mut_ptr(), 12) }),
        ("mlcp_dataset_get_x", NullArgument, &["out_x is NULL"], |_| engines(|d| unsafe { mlcp_dataset_get_x(d, 0, 1, null_mut(), 12) })),
        ("mlcp_dataset_get_x", InvalidSize, &["out_x has length 3", "12"], |f| engines(|d| unsafe { mlcp_dataset_get_x(d, 0, 1, f.out.x.as_mut_ptr(), 3) })),
        ("mlcp_dataset_get_x", InvalidIndex, &["problem is 99"], |f| engines(|d| unsafe { mlcp_dataset_get_x(d, 99, 1, f.out.x.as_mut_ptr(), 12) })),
        ("mlcp_dataset_get_x", InvalidValue, &["which is 3"], |f| engines(|d| unsafe { mlcp_dataset_get_x(d, 0, 3, f.out.x.as_mut_ptr(), 12) })),
        ("mlcp_dataset_get_x", InvalidState, &["has no x"], |f| engines(|d| unsafe { mlcp_dataset_get_x(d, 0, 2, f.out.x.as_mut_ptr(), 12) })),
        ("mlcp_dataset_get_x", Ok, &[], |f| engines(|d| unsafe { mlcp_dataset_get_x(d, 0, 0, f.out.x.as_mut_ptr(), 12) })),
        ("mlcp_dataset_load_frame", NullArgument, &["dataset is NULL"], |_| with(|e| unsafe { mlcp_dataset_load_frame(null(), 0, e) })),
        ("mlcp_dataset_load_frame", NullArgument, &["frame is NULL"], |_| engines(|d| unsafe { mlcp_dataset_load_frame(d, 0, null_mut()) })),
        ("mlcp_dataset_load_frame", InvalidIndex, &["frame is 0", "has 0"], |_| with(|e| engines(|d| unsafe { mlcp_dataset_load_frame(d, 0, e) }))),
        ("mlcp_dataset_get_solution", NullArgument, &["dataset is NULL"], |f| unsafe { mlcp_dataset_get_solution(null_mut(), 0, &mut f.out.solution) }),
        ("mlcp_dataset_get_solution", NullArgument, &["out_solution is NULL"], |_| engines(|d| unsafe { mlcp_dataset_get_solution(d, 0, null_mut()) })),
        ("mlcp_dataset_get_solution", InvalidSize, &["out_solution.struct_size is 8"], |f| { f.out.solution.struct_size = 8; engines(|d| unsafe { mlcp_dataset_get_solution(d, 0, &mut f.out.solution) }) }),
        ("mlcp_dataset_get_solution", InvalidIndex, &["frame is 0"], |f| engines(|d| unsafe { mlcp_dataset_get_solution(d, 0, &mut f.out.solution) })),
    ];
    rows
}
