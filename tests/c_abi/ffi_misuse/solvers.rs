//! Solvers: settings, solving, and questions about the last solve.

use super::fixture::*;
use super::Row;
use mlcp::ffi::*;
use mlcp::Status::{self, *};
use std::mem::size_of;
use std::ptr::{null, null_mut};

/// Both calls that read settings refuse the same ones.
macro_rules! refused_settings {
    ($($status:ident, $needles:expr, $change:expr;)*) => {{
        let rows: Vec<Row> = vec![$(
            ("mlcp_solver_create", $status, $needles, |f| unsafe {
                let mut s = settings();
                let change: fn(&mut mlcp_settings) = $change;
                change(&mut s);
                mlcp_solver_create(&s, &mut f.out.solver)
            }),
            ("mlcp_solver_set_settings", $status, $needles, |f| unsafe {
                let mut s = settings();
                let change: fn(&mut mlcp_settings) = $change;
                change(&mut s);
                mlcp_solver_set_settings(f.s, &s)
            }),
        )*];
        rows
    }};
}

fn settings_rows() -> Vec<Row> {
    refused_settings! {
        InvalidSize, &["settings.struct_size is 0", "_init"], |s| s.struct_size = 0;
        InvalidSize, &["settings.struct_size is 8"], |s| s.struct_size = 8;
        InvalidSize, &["settings.struct_size", "newer"], |s| s.struct_size = size_of::<mlcp_settings>() + 8;
        InvalidSize, &["settings.struct_size is 18446744073709551615"], |s| s.struct_size = usize::MAX;
        InvalidValue, &["settings.solver is -1"], |s| s.solver = -1;
        InvalidValue, &["settings.solver is 99"], |s| s.solver = 99;
        InvalidValue, &["settings.choice is -2"], |s| s.choice = -2;
        InvalidValue, &["settings.choice is 7"], |s| s.choice = 7;
        InvalidValue, &["settings.max_iterations is -1"], |s| s.max_iterations = -1;
        InvalidValue, &["settings.check_interval is -3"], |s| s.check_interval = -3;
        InvalidValue, &["settings.stall_window is -2147483648"], |s| s.stall_window = i32::MIN;
        InvalidValue, &["settings.history_capacity is -1"], |s| s.history_capacity = -1;
        InvalidValue, &["settings.threads is -1"], |s| s.threads = -1;
        InvalidValue, &["settings.time_limit is NaN"], |s| s.time_limit = NAN;
        InvalidValue, &["settings.time_limit is -1"], |s| s.time_limit = -1.0;
        InvalidValue, &["settings.time_limit is inf"], |s| s.time_limit = INF;
        InvalidValue, &["settings.energy_tolerance is NaN"], |s| s.energy_tolerance = NAN;
        InvalidValue, &["settings.energy_tolerance is -1"], |s| s.energy_tolerance = -1.0;
        InvalidValue, &["settings.relative_tolerance is NaN"], |s| s.relative_tolerance = NAN;
        InvalidValue, &["settings.relative_tolerance is inf"], |s| s.relative_tolerance = INF;
        InvalidValue, &["settings.stall_decrease is NaN"], |s| s.stall_decrease = NAN;
        InvalidValue, &["settings.stall_decrease is 1"], |s| s.stall_decrease = 1.0;
        InvalidValue, &["settings.stall_decrease is -0.5"], |s| s.stall_decrease = -0.5;
        InvalidValue, &["settings.relaxation is 0"], |s| s.relaxation = 0.0;
        InvalidValue, &["settings.relaxation is 2"], |s| s.relaxation = 2.0;
        InvalidValue, &["settings.relaxation is NaN"], |s| s.relaxation = NAN;
    }
}

macro_rules! init_rows {
    ($name:literal, $init:ident, $field:ident, $argument:literal, $type:ty) => {{
        let rows: Vec<Row> = vec![
            ($name, NullArgument, &[concat!($argument, " is NULL")], |_| unsafe {
                $init(null_mut(), size_of::<$type>())
            }),
            ($name, InvalidSize, &["struct_size is 0"], |f| unsafe { $init(&mut f.out.$field, 0) }),
            ($name, InvalidSize, &["struct_size is 4"], |f| unsafe { $init(&mut f.out.$field, 4) }),
            ($name, InvalidSize, &["struct_size", "newer"], |f| unsafe {
                $init(&mut f.out.$field, size_of::<$type>() + 1)
            }),
            ($name, InvalidSize, &["struct_size is 18446744073709551615"], |f| unsafe {
                $init(&mut f.out.$field, usize::MAX)
            }),
            ($name, InvalidValue, &[concat!($argument, " is not aligned")], |f| unsafe {
                $init(misaligned(&f.out.$field), size_of::<$type>())
            }),
        ];
        rows
    }};
}

/// Solve the fixture's problem with everything right but what a row changes.
struct Solve {
    x0: *const f64,
    x0_len: usize,
    x_len: usize,
}

const RIGHT: Solve = Solve { x0: null(), x0_len: 0, x_len: N };

fn solve(f: &mut Fixture, with: Solve) -> Status {
    unsafe { mlcp_solver_solve(f.s, f.p, with.x0, with.x0_len, f.out.x.as_mut_ptr(), with.x_len, &mut f.out.report) }
}

/// Another problem, solved by the fixture's solver; destroyed again.
fn solve_other(f: &mut Fixture, a: [f64; 4], frozen: bool, kind: i32) -> Status {
    unsafe {
        let (mut p, mut s) = (null_mut(), null_mut());
        let mut chosen = settings();
        chosen.solver = kind;
        ok(mlcp_problem_create(&mut p));
        ok(mlcp_solver_create(&chosen, &mut s));
        ok(mlcp_problem_set_dense(p, 2, a.as_ptr(), 4, 2, 0));
        ok(mlcp_problem_set_b(p, [1.0, 1.0].as_ptr(), 2));
        if frozen {
            ok(mlcp_problem_set_friction(p, [-1, 0].as_ptr(), 2, [0.0, 0.5].as_ptr(), 2, 1));
        }
        let status = mlcp_solver_solve(s, p, null(), 0, f.out.x.as_mut_ptr(), 2, &mut f.out.report);
        mlcp_solver_destroy(s);
        mlcp_problem_destroy(p);
        status
    }
}

fn exact_mass_choice(f: &mut Fixture) -> Status {
    unsafe {
        let mut s = null_mut();
        let mut chosen = settings();
        chosen.choice = 6;
        ok(mlcp_solver_create(&chosen, &mut s));
        let status = mlcp_solver_solve(s, f.p, null(), 0, f.out.x.as_mut_ptr(), N, &mut f.out.report);
        mlcp_solver_destroy(s);
        status
    }
}

#[rustfmt::skip] // One row, one line.
pub fn rows() -> Vec<Row> {
    let handles: Vec<Row> = vec![
        ("mlcp_solver_create", NullArgument, &["out_solver is NULL"], |_| unsafe { mlcp_solver_create(null(), null_mut()) }),
        ("mlcp_solver_create", InvalidValue, &["out_solver is not aligned"], |f| unsafe { mlcp_solver_create(null(), misaligned(&f.out.solver)) }),
        ("mlcp_solver_set_settings", NullArgument, &["solver is NULL"], |_| unsafe { mlcp_solver_set_settings(null_mut(), &settings()) }),
        ("mlcp_solver_set_settings", NullArgument, &["settings is NULL"], |f| unsafe { mlcp_solver_set_settings(f.s, null()) }),
        ("mlcp_solver_get_settings", NullArgument, &["solver is NULL"], |f| unsafe { mlcp_solver_get_settings(null(), &mut f.out.settings) }),
        ("mlcp_solver_get_settings", NullArgument, &["out_settings is NULL"], |f| unsafe { mlcp_solver_get_settings(f.s, null_mut()) }),
        ("mlcp_solver_get_settings", InvalidSize, &["out_settings.struct_size is 0"], |f| unsafe { f.out.settings.struct_size = 0; mlcp_solver_get_settings(f.s, &mut f.out.settings) }),
        ("mlcp_solver_get_settings", InvalidSize, &["out_settings.struct_size is 1000"], |f| unsafe { f.out.settings.struct_size = 1000; mlcp_solver_get_settings(f.s, &mut f.out.settings) }),
        ("mlcp_solver_set_executor", NullArgument, &["solver is NULL"], |_| unsafe { mlcp_solver_set_executor(null_mut(), None, null_mut()) }),
        ("mlcp_solver_set_executor", Ok, &[], |f| unsafe { mlcp_solver_set_executor(f.s, None, null_mut()) }),
        ("mlcp_solver_set_callback", NullArgument, &["solver is NULL"], |_| unsafe { mlcp_solver_set_callback(null_mut(), None, null_mut()) }),
        ("mlcp_solver_set_callback", Ok, &[], |f| unsafe { mlcp_solver_set_callback(f.s, None, null_mut()) }),
    ];
    [
        handles,
        settings_rows(),
        solve_rows(),
        kind_rows(),
        answer_rows(),
        init_rows!("mlcp_settings_init", mlcp_settings_init, settings, "settings", mlcp_settings),
        init_rows!("mlcp_report_init", mlcp_report_init, report, "report", mlcp_report),
        init_rows!("mlcp_stage_init", mlcp_stage_init, stage, "stage", mlcp_stage),
        init_rows!("mlcp_iteration_init", mlcp_iteration_init, iteration, "iteration", mlcp_iteration),
    ]
    .concat()
}

#[rustfmt::skip] // One row, one line.
fn kind_rows() -> Vec<Row> {
    const S: &str = "mlcp_solver_supports";
    const K: &str = "mlcp_solver_kind_from_name";
    const F: &str = "mlcp_solver_freeze_friction";
    vec![
        (F, NullArgument, &["solver is NULL"], |f| unsafe { mlcp_solver_freeze_friction(null_mut(), f.p, null(), 0, f.out.x.as_mut_ptr(), N, null_mut()) }),
        (F, NullArgument, &["problem is NULL"], |f| unsafe { mlcp_solver_freeze_friction(f.s, null_mut(), null(), 0, f.out.x.as_mut_ptr(), N, null_mut()) }),
        (F, NullArgument, &["x0 is NULL"], |f| unsafe { mlcp_solver_freeze_friction(f.s, f.p, null(), N, f.out.x.as_mut_ptr(), N, null_mut()) }),
        (F, NullArgument, &["out_x is NULL"], |f| unsafe { mlcp_solver_freeze_friction(f.s, f.p, null(), 0, null_mut(), N, null_mut()) }),
        (F, InvalidSize, &["out_x has length 2", "3"], |f| unsafe { mlcp_solver_freeze_friction(f.s, f.p, null(), 0, f.out.x.as_mut_ptr(), 2, null_mut()) }),
        (F, InvalidState, &["friction mode is coupled"], |f| unsafe { mlcp_solver_freeze_friction(f.s, f.p, null(), 0, f.out.x.as_mut_ptr(), N, null_mut()) }),
        (S, NullArgument, &["problem is NULL"], |_| unsafe { mlcp_solver_supports(1, null()) }),
        (S, InvalidValue, &["kind is 77"], |f| unsafe { mlcp_solver_supports(77, f.p) }),
        (S, Ok, &[], |f| unsafe { mlcp_solver_supports(1, f.p) }),
        (K, NullArgument, &["name is NULL"], |f| unsafe { mlcp_solver_kind_from_name(null(), f.out.rows.as_mut_ptr()) }),
        (K, NullArgument, &["out_kind is NULL"], |_| unsafe { mlcp_solver_kind_from_name(c"bpp".as_ptr(), null_mut()) }),
        (K, InvalidValue, &["name is \"simplex\""], |f| unsafe { mlcp_solver_kind_from_name(c"simplex".as_ptr(), f.out.rows.as_mut_ptr()) }),
    ]
}

#[rustfmt::skip] // One row, one line.
fn solve_rows() -> Vec<Row> {
    const E: &str = "mlcp_solver_solve";
    let rows: Vec<Row> = vec![
        (E, NullArgument, &["solver is NULL"], |f| unsafe { mlcp_solver_solve(null_mut(), f.p, null(), 0, f.out.x.as_mut_ptr(), N, null_mut()) }),
        (E, NullArgument, &["problem is NULL"], |f| unsafe { mlcp_solver_solve(f.s, null(), null(), 0, f.out.x.as_mut_ptr(), N, null_mut()) }),
        (E, NullArgument, &["x0 is NULL"], |f| solve(f, Solve { x0_len: N, ..RIGHT })),
        (E, NullArgument, &["out_x is NULL"], |f| unsafe { mlcp_solver_solve(f.s, f.p, null(), 0, null_mut(), N, &mut f.out.report) }),
        (E, InvalidSize, &["x0 has length 2", "3"], |f| solve(f, Solve { x0: B.as_ptr(), x0_len: 2, ..RIGHT })),
        (E, InvalidSize, &["x0 has length 0", "3"], |f| solve(f, Solve { x0: B.as_ptr(), x0_len: 0, ..RIGHT })),
        (E, InvalidSize, &["out_x has length 2", "3"], |f| solve(f, Solve { x_len: 2, ..RIGHT })),
        (E, InvalidSize, &["out_x has length 4", "3"], |f| solve(f, Solve { x_len: 4, ..RIGHT })),
        (E, InvalidSize, &["out_x has length 18446744073709551615"], |f| solve(f, Solve { x_len: usize::MAX, ..RIGHT })),
        (E, InvalidValue, &["x0[1] is NaN"], |f| solve(f, Solve { x0: [0.0, NAN, 0.0].as_ptr(), x0_len: N, ..RIGHT })),
        (E, InvalidValue, &["x0[2] is inf"], |f| solve(f, Solve { x0: [0.0, 0.0, INF].as_ptr(), x0_len: N, ..RIGHT })),
        (E, InvalidValue, &["x0 is not aligned"], |f| solve(f, Solve { x0: misaligned(A.as_ptr()), x0_len: N, ..RIGHT })),
        (E, InvalidValue, &["out_x is not aligned"], |f| unsafe { mlcp_solver_solve(f.s, f.p, null(), 0, misaligned(f.out.x.as_ptr()), N, null_mut()) }),
        (E, InvalidSize, &["out_report.struct_size is 0"], |f| { f.out.report.struct_size = 0; solve(f, RIGHT) }),
        (E, InvalidSize, &["out_report.struct_size is 12"], |f| { f.out.report.struct_size = 12; solve(f, RIGHT) }),
        (E, InvalidSize, &["out_report.struct_size is 100000"], |f| { f.out.report.struct_size = 100000; solve(f, RIGHT) }),
        (E, Unsupported, &["bpp", "symmetric"], |f| solve_other(f, [1.0, 0.5, -0.5, 1.0], false, 1)),
        (E, NoEnergy, &["diagonal[1] is 0"], |f| solve_other(f, [1.0, 0.0, 0.0, 0.0], false, 1)),
        (E, NoEnergy, &["diagonal[0] is -1"], |f| solve_other(f, [-1.0, 0.0, 0.0, 1.0], false, 2)),
        (E, InvalidState, &["frozen"], |f| solve_other(f, [1.0, 0.0, 0.0, 1.0], true, 1)),
        (E, Unsupported, &["exact-mass"], exact_mass_choice),
        (E, Ok, &[], |f| solve_other(f, [1.0, 0.5, -0.5, 1.0], false, 2)),
        (E, Ok, &[], |f| solve(f, RIGHT)),
    ];
    rows
}

#[rustfmt::skip] // One row, one line.
fn answer_rows() -> Vec<Row> {
    let rows: Vec<Row> = vec![
        ("mlcp_solver_get_report", NullArgument, &["solver is NULL"], |f| unsafe { mlcp_solver_get_report(null(), &mut f.out.report) }),
        ("mlcp_solver_get_report", NullArgument, &["out_report is NULL"], |f| unsafe { mlcp_solver_get_report(f.s, null_mut()) }),
        ("mlcp_solver_get_report", InvalidSize, &["out_report.struct_size is 0"], |f| unsafe { f.out.report.struct_size = 0; mlcp_solver_get_report(f.s, &mut f.out.report) }),
        ("mlcp_solver_get_report", InvalidSize, &["out_report.struct_size is 5000"], |f| unsafe { f.out.report.struct_size = 5000; mlcp_solver_get_report(f.s, &mut f.out.report) }),
        ("mlcp_solver_get_w", NullArgument, &["solver is NULL"], |f| unsafe { mlcp_solver_get_w(null(), f.out.x.as_mut_ptr(), N) }),
        ("mlcp_solver_get_w", NullArgument, &["out_w is NULL"], |f| unsafe { mlcp_solver_get_w(f.s, null_mut(), N) }),
        ("mlcp_solver_get_w", InvalidSize, &["out_w has length 2", "3"], |f| unsafe { mlcp_solver_get_w(f.s, f.out.x.as_mut_ptr(), 2) }),
        ("mlcp_solver_get_w", InvalidSize, &["out_w has length 0", "3"], |f| unsafe { mlcp_solver_get_w(f.s, null_mut(), 0) }),
        ("mlcp_solver_get_w", InvalidValue, &["out_w is not aligned"], |f| unsafe { mlcp_solver_get_w(f.s, misaligned(f.out.x.as_ptr()), N) }),
        ("mlcp_solver_get_row_errors", NullArgument, &["solver is NULL"], |f| unsafe { mlcp_solver_get_row_errors(null(), f.out.x.as_mut_ptr(), N) }),
        ("mlcp_solver_get_row_errors", NullArgument, &["out_row_errors is NULL"], |f| unsafe { mlcp_solver_get_row_errors(f.s, null_mut(), N) }),
        ("mlcp_solver_get_row_errors", InvalidSize, &["out_row_errors has length 4", "3"], |f| unsafe { mlcp_solver_get_row_errors(f.s, f.out.x.as_mut_ptr(), 4) }),
        ("mlcp_solver_get_worst_rows", NullArgument, &["solver is NULL"], |f| unsafe { mlcp_solver_get_worst_rows(null(), f.out.rows.as_mut_ptr(), 2, f.out.x.as_mut_ptr(), 2, &mut f.out.count) }),
        ("mlcp_solver_get_worst_rows", NullArgument, &["out_rows is NULL"], |f| unsafe { mlcp_solver_get_worst_rows(f.s, null_mut(), 2, f.out.x.as_mut_ptr(), 2, &mut f.out.count) }),
        ("mlcp_solver_get_worst_rows", NullArgument, &["out_errors is NULL"], |f| unsafe { mlcp_solver_get_worst_rows(f.s, f.out.rows.as_mut_ptr(), 2, null_mut(), 2, &mut f.out.count) }),
        ("mlcp_solver_get_worst_rows", NullArgument, &["out_count is NULL"], |f| unsafe { mlcp_solver_get_worst_rows(f.s, f.out.rows.as_mut_ptr(), 2, f.out.x.as_mut_ptr(), 2, null_mut()) }),
        ("mlcp_solver_get_worst_rows", InvalidSize, &["out_errors has length 3", "2"], |f| unsafe { mlcp_solver_get_worst_rows(f.s, f.out.rows.as_mut_ptr(), 2, f.out.x.as_mut_ptr(), 3, &mut f.out.count) }),
        ("mlcp_solver_get_worst_rows", InvalidSize, &["out_rows has length"], |f| unsafe { mlcp_solver_get_worst_rows(f.s, f.out.rows.as_mut_ptr(), usize::MAX, f.out.x.as_mut_ptr(), usize::MAX, &mut f.out.count) }),
        ("mlcp_solver_get_worst_rows", InvalidValue, &["out_rows is not aligned"], |f| unsafe { mlcp_solver_get_worst_rows(f.s, misaligned(f.out.rows.as_ptr()), 2, f.out.x.as_mut_ptr(), 2, &mut f.out.count) }),
        ("mlcp_solver_get_worst_rows", Ok, &[], |f| unsafe { mlcp_solver_get_worst_rows(f.s, null_mut(), 0, null_mut(), 0, &mut f.out.count) }),
        ("mlcp_solver_get_stage", NullArgument, &["solver is NULL"], |f| unsafe { mlcp_solver_get_stage(null(), 0, &mut f.out.stage) }),
        ("mlcp_solver_get_stage", NullArgument, &["out_stage is NULL"], |f| unsafe { mlcp_solver_get_stage(f.s, 0, null_mut()) }),
        ("mlcp_solver_get_stage", InvalidIndex, &["index is 6"], |f| unsafe { mlcp_solver_get_stage(f.s, 6, &mut f.out.stage) }),
        ("mlcp_solver_get_stage", InvalidSize, &["out_stage.struct_size is 0"], |f| unsafe { f.out.stage.struct_size = 0; mlcp_solver_get_stage(f.s, 0, &mut f.out.stage) }),
        ("mlcp_solver_get_history", NullArgument, &["solver is NULL"], |f| unsafe { mlcp_solver_get_history(null(), 0, &mut f.out.iteration) }),
        ("mlcp_solver_get_history", NullArgument, &["out_iteration is NULL"], |f| unsafe { mlcp_solver_get_history(f.s, 0, null_mut()) }),
        ("mlcp_solver_get_history", InvalidIndex, &["index is 1000"], |f| unsafe { mlcp_solver_get_history(f.s, 1000, &mut f.out.iteration) }),
        ("mlcp_solver_get_history", InvalidIndex, &["index is 18446744073709551615"], |f| unsafe { mlcp_solver_get_history(f.s, usize::MAX, &mut f.out.iteration) }),
        ("mlcp_solver_get_history", InvalidSize, &["out_iteration.struct_size is 0"], |f| unsafe { f.out.iteration.struct_size = 0; mlcp_solver_get_history(f.s, 0, &mut f.out.iteration) }),
    ];
    rows
}
