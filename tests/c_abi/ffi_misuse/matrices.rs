//! Filling a matrix: set_dense, set_csr, set_jacobian, reserve.

use super::fixture::*;
use super::Row;
use mlcp::ffi::*;
use mlcp::Status::{self, *};
use std::ptr::{null, null_mut};

fn dense(f: &mut Fixture, n: usize, a: *const f64, len: usize, stride: usize, triangle: i32) -> Status {
    unsafe { mlcp_problem_set_dense(f.p, n, a, len, stride, triangle) }
}

fn csr(f: &mut Fixture, n: usize, start: &[i32], columns: &[i32], values: &[f64]) -> Status {
    let (s, c, v) = (start.len(), columns.len(), values.len());
    unsafe { mlcp_problem_set_csr(f.p, n, start.as_ptr(), s, columns.as_ptr(), c, values.as_ptr(), v) }
}

fn jacobian(f: &mut Fixture, mass: &[f64], rows: &[f64], bodies: &[i32], compliance: &[f64]) -> Status {
    let (m, r, b, c) = (mass.len(), rows.len(), bodies.len(), compliance.len());
    unsafe {
        mlcp_problem_set_jacobian(f.j, mass.as_ptr(), m, rows.as_ptr(), r, bodies.as_ptr(), b, compliance.as_ptr(), c)
    }
}

/// The fixture's array with one number replaced.
fn with<const K: usize>(mut v: [f64; K], at: usize, value: f64) -> [f64; K] {
    v[at] = value;
    v
}

const START: [i32; 3] = [0, 1, 2];
const COLUMNS: [i32; 2] = [0, 1];
const VALUES: [f64; 2] = [1.0, 1.0];

#[rustfmt::skip] // One row, one line.
pub fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = vec![
        ("mlcp_problem_create", NullArgument, &["out_problem is NULL"], |_| unsafe { mlcp_problem_create(null_mut()) }),
        ("mlcp_problem_create", InvalidValue, &["out_problem is not aligned"], |f| unsafe { mlcp_problem_create(misaligned(&f.out.problem)) }),
        ("mlcp_problem_reserve", NullArgument, &["problem is NULL"], |_| unsafe { mlcp_problem_reserve(null_mut(), 1, 1) }),
        ("mlcp_problem_reserve", OutOfMemory, &["no memory"], |f| unsafe { mlcp_problem_reserve(f.p, usize::MAX, 1) }),
        ("mlcp_problem_reserve", OutOfMemory, &["no memory"], |f| unsafe { mlcp_problem_reserve(f.p, 1 << 59, 1) }),
        ("mlcp_problem_reserve", InvalidSize, &["bodies", "overflows"], |f| unsafe { mlcp_problem_reserve(f.p, 1, usize::MAX) }),
        ("mlcp_problem_reserve", Ok, &[], |f| unsafe { mlcp_problem_reserve(f.p, 0, 0) }),
        // set_dense
        ("mlcp_problem_set_dense", NullArgument, &["problem is NULL"], |_| unsafe { mlcp_problem_set_dense(null_mut(), N, A.as_ptr(), 9, N, 0) }),
        ("mlcp_problem_set_dense", NullArgument, &["a is NULL"], |f| dense(f, N, null(), 9, N, 0)),
        ("mlcp_problem_set_dense", InvalidSize, &["a has length 0", "9"], |f| dense(f, N, null(), 0, N, 0)),
        ("mlcp_problem_set_dense", InvalidSize, &["a has length 8", "9"], |f| dense(f, N, A.as_ptr(), 8, N, 0)),
        ("mlcp_problem_set_dense", InvalidSize, &["a has length 9", "11"], |f| dense(f, N, A.as_ptr(), 9, 4, 0)),
        ("mlcp_problem_set_dense", InvalidSize, &["row_stride is 2", "n = 3"], |f| dense(f, N, A.as_ptr(), 9, 2, 0)),
        ("mlcp_problem_set_dense", InvalidSize, &["row_stride is 0"], |f| dense(f, N, A.as_ptr(), 9, 0, 0)),
        ("mlcp_problem_set_dense", InvalidSize, &["overflows"], |f| dense(f, N, A.as_ptr(), 9, usize::MAX, 0)),
        ("mlcp_problem_set_dense", InvalidSize, &["overflows"], |f| dense(f, usize::MAX, A.as_ptr(), 9, usize::MAX, 0)),
        ("mlcp_problem_set_dense", InvalidSize, &["overflows"], |f| dense(f, 1 << 33, A.as_ptr(), 9, 1 << 33, 0)),
        ("mlcp_problem_set_dense", InvalidSize, &["a has length 9"], |f| dense(f, 1 << 31, A.as_ptr(), 9, 1 << 31, 0)),
        ("mlcp_problem_set_dense", InvalidSize, &["a has length", "more than memory"], |f| dense(f, N, A.as_ptr(), usize::MAX, N, 0)),
        ("mlcp_problem_set_dense", InvalidValue, &["a[1][2] is NaN"], |f| dense(f, N, with(A, 5, NAN).as_ptr(), 9, N, 0)),
        ("mlcp_problem_set_dense", InvalidValue, &["a[2][0] is inf"], |f| dense(f, N, with(A, 6, INF).as_ptr(), 9, N, 0)),
        ("mlcp_problem_set_dense", InvalidValue, &["a[2][2] is -inf"], |f| dense(f, N, with(A, 8, -INF).as_ptr(), 9, N, 1)),
        ("mlcp_problem_set_dense", InvalidValue, &["triangle is 2"], |f| dense(f, N, A.as_ptr(), 9, N, 2)),
        ("mlcp_problem_set_dense", InvalidValue, &["triangle is -1"], |f| dense(f, N, A.as_ptr(), 9, N, -1)),
        ("mlcp_problem_set_dense", InvalidValue, &["a is not aligned"], |f| dense(f, 2, misaligned(A.as_ptr()), 4, 2, 0)),
        // set_csr
        ("mlcp_problem_set_csr", NullArgument, &["problem is NULL"], |_| unsafe { mlcp_problem_set_csr(null_mut(), 2, START.as_ptr(), 3, COLUMNS.as_ptr(), 2, VALUES.as_ptr(), 2) }),
        ("mlcp_problem_set_csr", NullArgument, &["row_start is NULL"], |f| unsafe { mlcp_problem_set_csr(f.p, 2, null(), 3, COLUMNS.as_ptr(), 2, VALUES.as_ptr(), 2) }),
        ("mlcp_problem_set_csr", NullArgument, &["columns is NULL"], |f| unsafe { mlcp_problem_set_csr(f.p, 2, START.as_ptr(), 3, null(), 2, VALUES.as_ptr(), 2) }),
        ("mlcp_problem_set_csr", NullArgument, &["values is NULL"], |f| unsafe { mlcp_problem_set_csr(f.p, 2, START.as_ptr(), 3, COLUMNS.as_ptr(), 2, null(), 2) }),
        ("mlcp_problem_set_csr", InvalidSize, &["row_start has length 0", "3"], |f| unsafe { mlcp_problem_set_csr(f.p, 2, null(), 0, COLUMNS.as_ptr(), 2, VALUES.as_ptr(), 2) }),
        ("mlcp_problem_set_csr", InvalidSize, &["row_start has length 3", "4"], |f| csr(f, 3, &START, &COLUMNS, &VALUES)),
        ("mlcp_problem_set_csr", InvalidSize, &["row_start has length 3", "2"], |f| csr(f, 1, &START, &COLUMNS, &VALUES)),
        ("mlcp_problem_set_csr", InvalidSize, &["n is 18446744073709551615"], |f| csr(f, usize::MAX, &START, &COLUMNS, &VALUES)),
        ("mlcp_problem_set_csr", InvalidSize, &["n is 4294967296"], |f| csr(f, 1 << 32, &START, &COLUMNS, &VALUES)),
        ("mlcp_problem_set_csr", InvalidSize, &["values has length 1", "2"], |f| csr(f, 2, &START, &COLUMNS, &VALUES[..1])),
        ("mlcp_problem_set_csr", InvalidIndex, &["row_start[0] is 1"], |f| csr(f, 2, &[1, 1, 2], &COLUMNS, &VALUES)),
        ("mlcp_problem_set_csr", InvalidIndex, &["row_start[0] is -1"], |f| csr(f, 2, &[-1, 1, 2], &COLUMNS, &VALUES)),
        ("mlcp_problem_set_csr", InvalidIndex, &["row_start[1] is -1"], |f| csr(f, 2, &[0, -1, 2], &COLUMNS, &VALUES)),
        ("mlcp_problem_set_csr", InvalidIndex, &["row_start[2] is 1"], |f| csr(f, 2, &[0, 2, 1], &COLUMNS, &VALUES)),
        ("mlcp_problem_set_csr", InvalidIndex, &["row_start[2] is 1", "2"], |f| csr(f, 2, &[0, 1, 1], &COLUMNS, &VALUES)),
        ("mlcp_problem_set_csr", InvalidIndex, &["row_start[2] is 3", "2"], |f| csr(f, 2, &[0, 1, 3], &COLUMNS, &VALUES)),
        ("mlcp_problem_set_csr", InvalidIndex, &["row_start[2] is 2147483647"], |f| csr(f, 2, &[0, 1, i32::MAX], &COLUMNS, &VALUES)),
        ("mlcp_problem_set_csr", InvalidIndex, &["columns[1] is 2", "0..2"], |f| csr(f, 2, &START, &[0, 2], &VALUES)),
        ("mlcp_problem_set_csr", InvalidIndex, &["columns[0] is -1"], |f| csr(f, 2, &START, &[-1, 1], &VALUES)),
        ("mlcp_problem_set_csr", InvalidIndex, &["columns[1] is 0", "row 0"], |f| csr(f, 2, &[0, 2, 2], &[1, 0], &VALUES)),
        ("mlcp_problem_set_csr", InvalidIndex, &["columns[1] is 1", "row 0"], |f| csr(f, 2, &[0, 2, 2], &[1, 1], &VALUES)),
        ("mlcp_problem_set_csr", InvalidValue, &["values[1] is NaN"], |f| csr(f, 2, &START, &COLUMNS, &[1.0, NAN])),
        ("mlcp_problem_set_csr", InvalidValue, &["values[0] is -inf"], |f| csr(f, 2, &START, &COLUMNS, &[-INF, 1.0])),
        ("mlcp_problem_set_csr", InvalidValue, &["columns is not aligned"], |f| unsafe { mlcp_problem_set_csr(f.p, 1, START.as_ptr(), 2, misaligned(COLUMNS.as_ptr()), 1, VALUES.as_ptr(), 1) }),
    ];
    rows.extend(jacobian_rows());
    rows
}

#[rustfmt::skip] // One row, one line.
fn jacobian_rows() -> Vec<Row> {
    const E: &str = "mlcp_problem_set_jacobian";
    let rows: Vec<Row> = vec![
        (E, NullArgument, &["problem is NULL"], |_| unsafe { mlcp_problem_set_jacobian(null_mut(), MASS.as_ptr(), 24, ROWS.as_ptr(), 24, BODIES.as_ptr(), 4, null(), 0) }),
        (E, NullArgument, &["inverse_mass is NULL"], |f| unsafe { mlcp_problem_set_jacobian(f.j, null(), 24, ROWS.as_ptr(), 24, BODIES.as_ptr(), 4, null(), 0) }),
        (E, NullArgument, &["jacobian is NULL"], |f| unsafe { mlcp_problem_set_jacobian(f.j, MASS.as_ptr(), 24, null(), 24, BODIES.as_ptr(), 4, null(), 0) }),
        (E, NullArgument, &["bodies is NULL"], |f| unsafe { mlcp_problem_set_jacobian(f.j, MASS.as_ptr(), 24, ROWS.as_ptr(), 24, null(), 4, null(), 0) }),
        (E, NullArgument, &["compliance is NULL"], |f| unsafe { mlcp_problem_set_jacobian(f.j, MASS.as_ptr(), 24, ROWS.as_ptr(), 24, BODIES.as_ptr(), 4, null(), 2) }),
        (E, InvalidSize, &["inverse_mass has length 23"], |f| jacobian(f, &MASS[..23], &ROWS, &BODIES, &COMPLIANCE)),
        (E, InvalidSize, &["jacobian has length 13"], |f| jacobian(f, &MASS, &ROWS[..13], &BODIES, &COMPLIANCE)),
        (E, InvalidSize, &["bodies has length 3", "4"], |f| jacobian(f, &MASS, &ROWS, &BODIES[..3], &COMPLIANCE)),
        (E, InvalidSize, &["bodies has length 4", "2"], |f| jacobian(f, &MASS, &ROWS[..12], &BODIES, &COMPLIANCE)),
        (E, InvalidSize, &["compliance has length 1", "2"], |f| jacobian(f, &MASS, &ROWS, &BODIES, &COMPLIANCE[..1])),
        (E, InvalidSize, &["compliance has length 3", "2"], |f| jacobian(f, &MASS, &ROWS, &BODIES, &[0.0; 3])),
        (E, InvalidSize, &["inverse_mass has length", "more than memory"], |f| unsafe { mlcp_problem_set_jacobian(f.j, MASS.as_ptr(), usize::MAX, ROWS.as_ptr(), 24, BODIES.as_ptr(), 4, null(), 0) }),
        (E, InvalidIndex, &["bodies[1] is 2", "-1..2"], |f| jacobian(f, &MASS, &ROWS, &[0, 2, 1, -1], &COMPLIANCE)),
        (E, InvalidIndex, &["bodies[3] is -2"], |f| jacobian(f, &MASS, &ROWS, &[0, 1, 1, -2], &COMPLIANCE)),
        (E, InvalidIndex, &["bodies[0] is 2147483647"], |f| jacobian(f, &MASS, &ROWS, &[i32::MAX, 1, 1, -1], &COMPLIANCE)),
        (E, InvalidIndex, &["bodies[0] is -2147483648"], |f| jacobian(f, &MASS, &ROWS, &[i32::MIN, 1, 1, -1], &COMPLIANCE)),
        (E, InvalidValue, &["inverse_mass[13] is NaN"], |f| jacobian(f, &with(MASS, 13, NAN), &ROWS, &BODIES, &COMPLIANCE)),
        (E, InvalidValue, &["inverse_mass[0] is inf"], |f| jacobian(f, &with(MASS, 0, INF), &ROWS, &BODIES, &COMPLIANCE)),
        (E, InvalidValue, &["inverse_mass[14]", "-1", "body 1"], |f| jacobian(f, &with(MASS, 14, -1.0), &ROWS, &BODIES, &COMPLIANCE)),
        (E, InvalidValue, &["body 0", "symmetric"], |f| jacobian(f, &with(MASS, 4, 0.5), &ROWS, &BODIES, &COMPLIANCE)),
        (E, InvalidValue, &["body 1", "semidefinite"], |f| jacobian(f, &with(MASS, 23, -2.0), &ROWS, &BODIES, &COMPLIANCE)),
        (E, InvalidValue, &["body 0", "semidefinite"], |f| jacobian(f, &with(with(MASS, 4, 3.0), 6, 3.0), &ROWS, &BODIES, &COMPLIANCE)),
        (E, InvalidValue, &["jacobian[23] is NaN"], |f| jacobian(f, &MASS, &with(ROWS, 23, NAN), &BODIES, &COMPLIANCE)),
        (E, InvalidValue, &["jacobian[7] is -inf"], |f| jacobian(f, &MASS, &with(ROWS, 7, -INF), &BODIES, &COMPLIANCE)),
        (E, InvalidValue, &["compliance[1] is NaN"], |f| jacobian(f, &MASS, &ROWS, &BODIES, &[0.0, NAN])),
        (E, InvalidValue, &["compliance[0] is inf"], |f| jacobian(f, &MASS, &ROWS, &BODIES, &[INF, 0.0])),
        (E, InvalidValue, &["compliance[1] is -0.5"], |f| jacobian(f, &MASS, &ROWS, &BODIES, &[0.0, -0.5])),
        (E, InvalidValue, &["bodies is not aligned"], |f| unsafe { mlcp_problem_set_jacobian(f.j, MASS.as_ptr(), 24, ROWS.as_ptr(), 12, misaligned(BODIES.as_ptr()), 2, null(), 0) }),
        (E, InvalidValue, &["jacobian is not aligned"], |f| unsafe { mlcp_problem_set_jacobian(f.j, MASS.as_ptr(), 24, misaligned(ROWS.as_ptr()), 12, BODIES.as_ptr(), 2, null(), 0) }),
    ];
    rows
}
