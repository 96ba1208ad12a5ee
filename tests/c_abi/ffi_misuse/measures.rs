//! The measures on plain arrays.

use super::fixture::*;
use super::Row;
use mlcp::ffi::*;
use mlcp::Status::{self, *};
use std::ptr::{null, null_mut};

const X: [f64; 3] = [0.5, 0.25, -1.0];
const W: [f64; 3] = [-1.0, 0.5, 2.0];
const D: [f64; 3] = [2.0, 2.0, 1.0];

/// Rows for a measure without a diagonal. `$call` is the call with x, w, lo, hi, out_row_errors, out_total and f.
macro_rules! plain {
    ($name:literal, $f:ident) => {{
        fn call(n: usize, v: [*const f64; 4], rows: *mut f64, total: *mut f64) -> Status {
            unsafe { $f(n, v[0], v[1], v[2], v[3], rows, total) }
        }
        rows_of!($name, call)
    }};
}

// One row, one line.
macro_rules! rows_of {
    ($name:literal, $call:ident) => {{
        let rows: Vec<Row> = vec![
            ($name, NullArgument, &["x is NULL"], |f| {
                $call(3, [null(), W.as_ptr(), LO.as_ptr(), HI.as_ptr()], f.out.x.as_mut_ptr(), &mut f.out.total)
            }),
            ($name, NullArgument, &["w is NULL"], |f| {
                $call(3, [X.as_ptr(), null(), LO.as_ptr(), HI.as_ptr()], f.out.x.as_mut_ptr(), &mut f.out.total)
            }),
            ($name, NullArgument, &["lo is NULL"], |f| {
                $call(3, [X.as_ptr(), W.as_ptr(), null(), HI.as_ptr()], f.out.x.as_mut_ptr(), &mut f.out.total)
            }),
            ($name, NullArgument, &["hi is NULL"], |f| {
                $call(3, [X.as_ptr(), W.as_ptr(), LO.as_ptr(), null()], f.out.x.as_mut_ptr(), &mut f.out.total)
            }),
            ($name, NullArgument, &["out_total is NULL"], |f| {
                $call(3, [X.as_ptr(), W.as_ptr(), LO.as_ptr(), HI.as_ptr()], f.out.x.as_mut_ptr(), null_mut())
            }),
            ($name, InvalidSize, &["has length 18446744073709551615"], |f| {
                $call(
                    usize::MAX,
                    [X.as_ptr(), W.as_ptr(), LO.as_ptr(), HI.as_ptr()],
                    f.out.x.as_mut_ptr(),
                    &mut f.out.total,
                )
            }),
            ($name, InvalidValue, &["x[1] is NaN"], |f| {
                $call(
                    3,
                    [[0.0, NAN, 0.0].as_ptr(), W.as_ptr(), LO.as_ptr(), HI.as_ptr()],
                    f.out.x.as_mut_ptr(),
                    &mut f.out.total,
                )
            }),
            ($name, InvalidValue, &["x[2] is inf"], |f| {
                $call(
                    3,
                    [[0.0, 0.0, INF].as_ptr(), W.as_ptr(), LO.as_ptr(), HI.as_ptr()],
                    f.out.x.as_mut_ptr(),
                    &mut f.out.total,
                )
            }),
            ($name, InvalidValue, &["w[0] is NaN"], |f| {
                $call(
                    3,
                    [X.as_ptr(), [NAN, 0.0, 0.0].as_ptr(), LO.as_ptr(), HI.as_ptr()],
                    f.out.x.as_mut_ptr(),
                    &mut f.out.total,
                )
            }),
            ($name, InvalidValue, &["w[2] is -inf"], |f| {
                $call(
                    3,
                    [X.as_ptr(), [0.0, 0.0, -INF].as_ptr(), LO.as_ptr(), HI.as_ptr()],
                    f.out.x.as_mut_ptr(),
                    &mut f.out.total,
                )
            }),
            ($name, InvalidValue, &["lo[1] is NaN"], |f| {
                $call(
                    3,
                    [X.as_ptr(), W.as_ptr(), [0.0, NAN, 0.0].as_ptr(), HI.as_ptr()],
                    f.out.x.as_mut_ptr(),
                    &mut f.out.total,
                )
            }),
            ($name, InvalidValue, &["lo[1] is inf"], |f| {
                $call(
                    3,
                    [X.as_ptr(), W.as_ptr(), [0.0, INF, 0.0].as_ptr(), [1.0, INF, 1.0].as_ptr()],
                    f.out.x.as_mut_ptr(),
                    &mut f.out.total,
                )
            }),
            ($name, InvalidValue, &["hi[2] is NaN"], |f| {
                $call(
                    3,
                    [X.as_ptr(), W.as_ptr(), LO.as_ptr(), [1.0, 1.0, NAN].as_ptr()],
                    f.out.x.as_mut_ptr(),
                    &mut f.out.total,
                )
            }),
            ($name, InvalidValue, &["hi[2] is -inf"], |f| {
                $call(
                    3,
                    [X.as_ptr(), W.as_ptr(), LO.as_ptr(), [1.0, 1.0, -INF].as_ptr()],
                    f.out.x.as_mut_ptr(),
                    &mut f.out.total,
                )
            }),
            ($name, InvalidValue, &["lo[1] = 3", "hi[1] = 2"], |f| {
                $call(
                    3,
                    [X.as_ptr(), W.as_ptr(), [0.0, 3.0, 0.0].as_ptr(), [1.0, 2.0, 1.0].as_ptr()],
                    f.out.x.as_mut_ptr(),
                    &mut f.out.total,
                )
            }),
            ($name, InvalidValue, &["x is not aligned"], |f| {
                $call(
                    2,
                    [misaligned(X.as_ptr()), W.as_ptr(), LO.as_ptr(), HI.as_ptr()],
                    f.out.x.as_mut_ptr(),
                    &mut f.out.total,
                )
            }),
            ($name, InvalidValue, &["out_row_errors is not aligned"], |f| {
                $call(
                    2,
                    [X.as_ptr(), W.as_ptr(), LO.as_ptr(), HI.as_ptr()],
                    misaligned(f.out.x.as_ptr()),
                    &mut f.out.total,
                )
            }),
            ($name, InvalidValue, &["out_total is not aligned"], |f| {
                $call(
                    2,
                    [X.as_ptr(), W.as_ptr(), LO.as_ptr(), HI.as_ptr()],
                    f.out.x.as_mut_ptr(),
                    misaligned(&f.out.total),
                )
            }),
            ($name, InvalidValue, &["out_row_errors overlaps x"], |f| {
                let mut x = [0.5; 5];
                let at = x.as_mut_ptr();
                $call(3, [at, W.as_ptr(), [0.0; 3].as_ptr(), [1.0; 3].as_ptr()], at.wrapping_add(2), &mut f.out.total)
            }),
            ($name, InvalidValue, &["out_row_errors overlaps hi"], |f| {
                let mut h = [1.0; 3];
                let at = h.as_mut_ptr();
                $call(3, [X.as_ptr(), W.as_ptr(), [-1.0; 3].as_ptr(), at], at, &mut f.out.total)
            }),
            // Legal: no rows at all, and rows without the row errors.
            ($name, Ok, &[], |_| {
                let mut t = NAN;
                let s = $call(0, [null(); 4], null_mut(), &mut t);
                assert_eq!(t, 0.0);
                s
            }),
            ($name, Ok, &[], |_| {
                let mut t = NAN;
                let s = $call(3, [X.as_ptr(), W.as_ptr(), LO.as_ptr(), HI.as_ptr()], null_mut(), &mut t);
                assert!(t > 0.0);
                s
            }),
        ];
        rows
    }};
}

fn energy(n: usize, v: [*const f64; 4], rows: *mut f64, total: *mut f64) -> Status {
    unsafe { mlcp_energy_error(n, D.as_ptr(), v[0], v[1], v[2], v[3], rows, total) }
}

fn energy_with(d: *const f64, f: &mut Fixture) -> Status {
    let rows = f.out.x.as_mut_ptr();
    unsafe { mlcp_energy_error(3, d, X.as_ptr(), W.as_ptr(), LO.as_ptr(), HI.as_ptr(), rows, &mut f.out.total) }
}

fn penalized(n: usize, v: [*const f64; 4], rows: *mut f64, total: *mut f64) -> Status {
    unsafe { mlcp_penalized_error(n, v[0], v[1], v[2], v[3], 0.95, rows, total) }
}

fn penalized_with(lambda: f64, f: &mut Fixture) -> Status {
    let rows = f.out.x.as_mut_ptr();
    unsafe { mlcp_penalized_error(3, X.as_ptr(), W.as_ptr(), LO.as_ptr(), HI.as_ptr(), lambda, rows, &mut f.out.total) }
}

pub fn rows() -> Vec<Row> {
    let own: Vec<Row> = vec![
        ("mlcp_energy_error", NullArgument, &["diagonal is NULL"], |f| energy_with(null(), f)),
        ("mlcp_energy_error", NoEnergy, &["diagonal[1] is 0", "row 1"], |f| energy_with([1.0, 0.0, 1.0].as_ptr(), f)),
        ("mlcp_energy_error", NoEnergy, &["diagonal[0] is -2"], |f| energy_with([-2.0, 0.0, 1.0].as_ptr(), f)),
        ("mlcp_energy_error", NoEnergy, &["diagonal[2] is NaN"], |f| energy_with([1.0, 1.0, NAN].as_ptr(), f)),
        ("mlcp_energy_error", NoEnergy, &["diagonal[2] is inf"], |f| energy_with([1.0, 1.0, INF].as_ptr(), f)),
        ("mlcp_energy_error", InvalidValue, &["out_row_errors overlaps diagonal"], |f| unsafe {
            let mut d = [1.0; 3];
            let at = d.as_mut_ptr();
            mlcp_energy_error(3, at, X.as_ptr(), W.as_ptr(), LO.as_ptr(), HI.as_ptr(), at, &mut f.out.total)
        }),
        ("mlcp_penalized_error", InvalidValue, &["lambda is 0"], |f| penalized_with(0.0, f)),
        ("mlcp_penalized_error", InvalidValue, &["lambda is 1.5"], |f| penalized_with(1.5, f)),
        ("mlcp_penalized_error", InvalidValue, &["lambda is -1"], |f| penalized_with(-1.0, f)),
        ("mlcp_penalized_error", InvalidValue, &["lambda is NaN"], |f| penalized_with(NAN, f)),
    ];
    [
        own,
        rows_of!("mlcp_energy_error", energy),
        rows_of!("mlcp_penalized_error", penalized),
        plain!("mlcp_fischer_burmeister_error", mlcp_fischer_burmeister_error),
        plain!("mlcp_natural_error", mlcp_natural_error),
        plain!("mlcp_merit_error", mlcp_merit_error),
        plain!("mlcp_duality_gap", mlcp_duality_gap),
    ]
    .concat()
}
