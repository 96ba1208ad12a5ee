//! The rest of a problem: b, motion, bounds, friction, and questions about it.

use super::fixture::*;
use super::Row;
use mlcp::ffi::*;
use mlcp::Status::{self, *};
use std::ptr::{null, null_mut};

fn bounds(f: &mut Fixture, lo: &[f64], hi: &[f64]) -> Status {
    unsafe { mlcp_problem_set_bounds(f.p, lo.as_ptr(), lo.len(), hi.as_ptr(), hi.len()) }
}

fn motion(f: &mut Fixture, h: f64, v: &[f64], forces: &[f64], violation: &[f64]) -> Status {
    let (a, b, c) = (v.len(), forces.len(), violation.len());
    unsafe { mlcp_problem_set_motion(f.j, h, v.as_ptr(), a, forces.as_ptr(), b, violation.as_ptr(), c) }
}

fn friction(f: &mut Fixture, findex: &[i32], mu: &[f64], mode: i32) -> Status {
    unsafe { mlcp_problem_set_friction(f.p, findex.as_ptr(), findex.len(), mu.as_ptr(), mu.len(), mode) }
}

/// Cones on a fresh problem of four rows, of which the first is a contact's normal and the others are free.
fn cones(rows: &[i32], mu: &[f64], friction: &[i32; 4]) -> Status {
    let mut p = null_mut();
    let (lo, hi) = ([0.0, -INF, -INF, -INF], [INF; 4]);
    unsafe {
        ok(mlcp_problem_create(&mut p));
        let identity: [f64; 16] = std::array::from_fn(|k| if k % 5 == 0 { 1.0 } else { 0.0 });
        ok(mlcp_problem_set_dense(p, 4, identity.as_ptr(), 16, 4, 0));
        ok(mlcp_problem_set_bounds(p, lo.as_ptr(), 4, hi.as_ptr(), 4));
        ok(mlcp_problem_set_friction(p, friction.as_ptr(), 4, [0.5; 4].as_ptr(), 4, 0));
        let status = mlcp_problem_set_cones(p, rows.as_ptr(), rows.len(), mu.as_ptr(), mu.len());
        mlcp_problem_destroy(p);
        status
    }
}

/// What may follow cones: bounds and friction that leave them alone.
fn after_cones(lo: [f64; 4], hi: [f64; 4], findex: [i32; 4]) -> Status {
    let mut p = null_mut();
    unsafe {
        ok(mlcp_problem_create(&mut p));
        let identity: [f64; 16] = std::array::from_fn(|k| if k % 5 == 0 { 1.0 } else { 0.0 });
        ok(mlcp_problem_set_dense(p, 4, identity.as_ptr(), 16, 4, 0));
        ok(mlcp_problem_set_bounds(p, [0.0, -INF, -INF, -INF].as_ptr(), 4, [INF; 4].as_ptr(), 4));
        ok(mlcp_problem_set_cones(p, [0, 1, 2].as_ptr(), 3, [0.5].as_ptr(), 1));
        let mut status = mlcp_problem_set_bounds(p, lo.as_ptr(), 4, hi.as_ptr(), 4);
        if status == Ok {
            status = mlcp_problem_set_friction(p, findex.as_ptr(), 4, [0.5; 4].as_ptr(), 4, 0);
        }
        mlcp_problem_destroy(p);
        status
    }
}

/// A measure of x, with outputs in the fixture.
fn measure(f: &mut Fixture, problem: *const mlcp_problem, number: i32, x: &[f64], rows: usize) -> Status {
    unsafe { mlcp_problem_measure(problem, number, x.as_ptr(), x.len(), f.out.x.as_mut_ptr(), rows, &mut f.out.total) }
}

/// Another dense problem, beside the fixture's.
fn other(a: &[f64; 4]) -> *mut mlcp_problem {
    let mut p = null_mut();
    unsafe {
        ok(mlcp_problem_create(&mut p));
        ok(mlcp_problem_set_dense(p, 2, a.as_ptr(), 4, 2, 0));
    }
    p
}

/// A frozen problem that was never told its normals.
fn unready() -> *mut mlcp_problem {
    let p = other(&[1.0, 0.0, 0.0, 1.0]);
    unsafe { ok(mlcp_problem_set_friction(p, [-1, 0].as_ptr(), 2, [0.0, 0.5].as_ptr(), 2, 1)) };
    p
}

fn measure_other(f: &mut Fixture, p: *mut mlcp_problem, number: i32) -> Status {
    let status = measure(f, p, number, &[0.0; 2], 2);
    unsafe { mlcp_problem_destroy(p) };
    status
}

pub fn rows() -> Vec<Row> {
    [setters(), cone_setters(), questions()].concat()
}

#[rustfmt::skip] // One row, one line.
fn setters() -> Vec<Row> {
    let rows: Vec<Row> = vec![
        ("mlcp_problem_set_b", NullArgument, &["problem is NULL"], |_| unsafe { mlcp_problem_set_b(null_mut(), B.as_ptr(), 3) }),
        ("mlcp_problem_set_b", NullArgument, &["b is NULL"], |f| unsafe { mlcp_problem_set_b(f.p, null(), 3) }),
        ("mlcp_problem_set_b", InvalidSize, &["b has length 0", "3"], |f| unsafe { mlcp_problem_set_b(f.p, null(), 0) }),
        ("mlcp_problem_set_b", InvalidSize, &["b has length 2", "3"], |f| unsafe { mlcp_problem_set_b(f.p, B.as_ptr(), 2) }),
        ("mlcp_problem_set_b", InvalidSize, &["b has length", "more than memory"], |f| unsafe { mlcp_problem_set_b(f.p, B.as_ptr(), usize::MAX) }),
        ("mlcp_problem_set_b", InvalidValue, &["b[1] is NaN"], |f| unsafe { mlcp_problem_set_b(f.p, [0.0, NAN, INF].as_ptr(), 3) }),
        ("mlcp_problem_set_b", InvalidValue, &["b[2] is inf"], |f| unsafe { mlcp_problem_set_b(f.p, [0.0, 0.0, INF].as_ptr(), 3) }),
        ("mlcp_problem_set_b", InvalidValue, &["b is not aligned"], |f| unsafe { mlcp_problem_set_b(f.j, misaligned(B.as_ptr()), 2) }),
        // set_motion
        ("mlcp_problem_set_motion", NullArgument, &["problem is NULL"], |_| unsafe { mlcp_problem_set_motion(null_mut(), 0.1, VELOCITY.as_ptr(), 12, null(), 0, null(), 0) }),
        ("mlcp_problem_set_motion", NullArgument, &["velocities is NULL"], |f| unsafe { mlcp_problem_set_motion(f.j, 0.1, null(), 12, null(), 0, null(), 0) }),
        ("mlcp_problem_set_motion", NullArgument, &["forces is NULL"], |f| unsafe { mlcp_problem_set_motion(f.j, 0.1, VELOCITY.as_ptr(), 12, null(), 12, null(), 0) }),
        ("mlcp_problem_set_motion", NullArgument, &["violation is NULL"], |f| unsafe { mlcp_problem_set_motion(f.j, 0.1, VELOCITY.as_ptr(), 12, null(), 0, null(), 2) }),
        ("mlcp_problem_set_motion", InvalidState, &["Jacobian"], |f| unsafe { mlcp_problem_set_motion(f.p, 0.1, VELOCITY.as_ptr(), 12, null(), 0, null(), 0) }),
        ("mlcp_problem_set_motion", InvalidValue, &["h is 0"], |f| motion(f, 0.0, &VELOCITY, &VELOCITY, &[0.0; 2])),
        ("mlcp_problem_set_motion", InvalidValue, &["h is -1"], |f| motion(f, -1.0, &VELOCITY, &VELOCITY, &[0.0; 2])),
        ("mlcp_problem_set_motion", InvalidValue, &["h is NaN"], |f| motion(f, NAN, &VELOCITY, &VELOCITY, &[0.0; 2])),
        ("mlcp_problem_set_motion", InvalidValue, &["h is inf"], |f| motion(f, INF, &VELOCITY, &VELOCITY, &[0.0; 2])),
        ("mlcp_problem_set_motion", InvalidSize, &["velocities has length 11", "12"], |f| motion(f, 0.1, &VELOCITY[..11], &VELOCITY, &[0.0; 2])),
        ("mlcp_problem_set_motion", InvalidSize, &["forces has length 6", "12"], |f| motion(f, 0.1, &VELOCITY, &VELOCITY[..6], &[0.0; 2])),
        ("mlcp_problem_set_motion", InvalidSize, &["violation has length 3", "2"], |f| motion(f, 0.1, &VELOCITY, &VELOCITY, &[0.0; 3])),
        ("mlcp_problem_set_motion", InvalidValue, &["velocities[0] is NaN"], |f| motion(f, 0.1, &[NAN; 12], &VELOCITY, &[0.0; 2])),
        ("mlcp_problem_set_motion", InvalidValue, &["forces[0] is inf"], |f| motion(f, 0.1, &VELOCITY, &[INF; 12], &[0.0; 2])),
        ("mlcp_problem_set_motion", InvalidValue, &["violation[1] is NaN"], |f| motion(f, 0.1, &VELOCITY, &VELOCITY, &[0.0, NAN])),
        // Finite numbers whose b is not: violation / h and J v overflow. A row of b may not become infinite by the back door.
        ("mlcp_problem_set_motion", InvalidValue, &["b[0]", "overflows"], |f| motion(f, 1e-10, &VELOCITY, &VELOCITY, &[1e300, 0.0])),
        ("mlcp_problem_set_motion", InvalidValue, &["b[0]", "overflows"], |f| motion(f, 1e10, &[0.0; 12], &[f64::MAX; 12], &[0.0; 2])),
        // set_bounds
        ("mlcp_problem_set_bounds", NullArgument, &["problem is NULL"], |_| unsafe { mlcp_problem_set_bounds(null_mut(), LO.as_ptr(), 3, HI.as_ptr(), 3) }),
        ("mlcp_problem_set_bounds", NullArgument, &["lo is NULL"], |f| unsafe { mlcp_problem_set_bounds(f.p, null(), 3, HI.as_ptr(), 3) }),
        ("mlcp_problem_set_bounds", NullArgument, &["hi is NULL"], |f| unsafe { mlcp_problem_set_bounds(f.p, LO.as_ptr(), 3, null(), 3) }),
        ("mlcp_problem_set_bounds", InvalidSize, &["lo has length 2", "3"], |f| bounds(f, &LO[..2], &HI)),
        ("mlcp_problem_set_bounds", InvalidSize, &["hi has length 2", "3"], |f| bounds(f, &LO, &HI[..2])),
        ("mlcp_problem_set_bounds", InvalidValue, &["lo[1] is NaN"], |f| bounds(f, &[0.0, NAN, 0.0], &HI)),
        ("mlcp_problem_set_bounds", InvalidValue, &["hi[0] is NaN"], |f| bounds(f, &LO, &[NAN, 1.0, 1.0])),
        ("mlcp_problem_set_bounds", InvalidValue, &["lo[0] is inf"], |f| bounds(f, &[INF, 0.0, 0.0], &HI)),
        ("mlcp_problem_set_bounds", InvalidValue, &["hi[2] - lo[2]", "overflows", "infinite"], |f| bounds(f, &[0.0, 0.0, -1e308], &[1.0, 1.0, 1e308])),
        ("mlcp_problem_set_bounds", InvalidValue, &["hi[2] is -inf"], |f| bounds(f, &LO, &[1.0, 1.0, -INF])),
        ("mlcp_problem_set_bounds", InvalidValue, &["lo[2] = 2", "hi[2] = 1"], |f| bounds(f, &[0.0, 0.0, 2.0], &[1.0; 3])),
        ("mlcp_problem_set_bounds", InvalidValue, &["row 1", "friction"], |f| bounds(f, &[0.0, 0.5, 0.0], &[1.0; 3])),
        ("mlcp_problem_set_bounds", InvalidValue, &["hi is not aligned"], |f| unsafe { mlcp_problem_set_bounds(f.j, LO.as_ptr(), 2, misaligned(HI.as_ptr()), 2) }),
        // set_friction
        ("mlcp_problem_set_friction", NullArgument, &["problem is NULL"], |_| unsafe { mlcp_problem_set_friction(null_mut(), [-1; 3].as_ptr(), 3, [0.0; 3].as_ptr(), 3, 0) }),
        ("mlcp_problem_set_friction", NullArgument, &["findex is NULL"], |f| unsafe { mlcp_problem_set_friction(f.p, null(), 3, [0.0; 3].as_ptr(), 3, 0) }),
        ("mlcp_problem_set_friction", NullArgument, &["mu is NULL"], |f| unsafe { mlcp_problem_set_friction(f.p, [-1; 3].as_ptr(), 3, null(), 3, 0) }),
        ("mlcp_problem_set_friction", InvalidSize, &["findex has length 2", "3"], |f| friction(f, &[-1; 2], &[0.0; 3], 0)),
        ("mlcp_problem_set_friction", InvalidSize, &["mu has length 4", "3"], |f| friction(f, &[-1; 3], &[0.0; 4], 0)),
        ("mlcp_problem_set_friction", InvalidIndex, &["findex[2] is 3"], |f| friction(f, &[-1, -1, 3], &[0.0; 3], 0)),
        ("mlcp_problem_set_friction", InvalidIndex, &["findex[0] is -2"], |f| friction(f, &[-2, -1, -1], &[0.0; 3], 0)),
        ("mlcp_problem_set_friction", InvalidIndex, &["findex[2] is 1", "row 1"], |f| friction(f, &[-1, 0, 1], &[0.5; 3], 0)),
        ("mlcp_problem_set_friction", InvalidIndex, &["findex[0] is 1"], |f| friction(f, &[1, 0, -1], &[0.5; 3], 0)),
        ("mlcp_problem_set_friction", InvalidValue, &["mu[1] is NaN"], |f| friction(f, &[-1, 0, 0], &[0.0, NAN, 0.0], 0)),
        ("mlcp_problem_set_friction", InvalidValue, &["mu[1] is -0.5"], |f| friction(f, &[-1, 0, 0], &[0.0, -0.5, 0.0], 1)),
        ("mlcp_problem_set_friction", InvalidValue, &["mode is 2"], |f| friction(f, &[-1; 3], &[0.0; 3], 2)),
        ("mlcp_problem_set_friction", InvalidValue, &["mode is -1"], |f| friction(f, &[-1; 3], &[0.0; 3], -1)),
        ("mlcp_problem_set_friction", InvalidValue, &["findex is not aligned"], |f| unsafe { mlcp_problem_set_friction(f.j, misaligned([-1; 3].as_ptr()), 2, [0.0; 2].as_ptr(), 2, 0) }),
        // set_frozen_normals
        ("mlcp_problem_set_frozen_normals", NullArgument, &["problem is NULL"], |_| unsafe { mlcp_problem_set_frozen_normals(null_mut(), B.as_ptr(), 3) }),
        ("mlcp_problem_set_frozen_normals", NullArgument, &["x is NULL"], |f| unsafe { mlcp_problem_set_frozen_normals(f.p, null(), 3) }),
        ("mlcp_problem_set_frozen_normals", InvalidState, &["coupled"], |f| unsafe { mlcp_problem_set_frozen_normals(f.p, B.as_ptr(), 3) }),
        ("mlcp_problem_set_frozen_normals", InvalidSize, &["x has length 2", "3"], |f| unsafe { mlcp_problem_set_frozen_normals(f.p, B.as_ptr(), 2) }),
        ("mlcp_problem_set_frozen_normals", InvalidValue, &["x[0] is NaN"], |f| unsafe { mlcp_problem_set_frozen_normals(f.p, [NAN; 3].as_ptr(), 3) }),
    ];
    rows
}

#[rustfmt::skip] // One row, one line.
fn cone_setters() -> Vec<Row> {
    const E: &str = "mlcp_problem_set_cones";
    const FREE: [i32; 4] = [-1; 4];
    const LOW: [f64; 4] = [0.0, -INF, -INF, -INF];
    let rows: Vec<Row> = vec![
        (E, NullArgument, &["problem is NULL"], |_| unsafe { mlcp_problem_set_cones(null_mut(), [0, 1, 2].as_ptr(), 3, [0.5].as_ptr(), 1) }),
        (E, NullArgument, &["rows is NULL"], |f| unsafe { mlcp_problem_set_cones(f.p, null(), 3, [0.5].as_ptr(), 1) }),
        (E, NullArgument, &["mu is NULL"], |f| unsafe { mlcp_problem_set_cones(f.p, [0, 1, 2].as_ptr(), 3, null(), 1) }),
        (E, InvalidSize, &["rows has length 4", "3 per contact"], |_| cones(&[0, 1, 2, 3], &[0.5], &FREE)),
        (E, InvalidSize, &["mu has length 2", "1"], |_| cones(&[0, 1, 2], &[0.5; 2], &FREE)),
        (E, InvalidSize, &["mu has length 0", "1"], |_| cones(&[0, 1, 2], &[], &FREE)),
        (E, InvalidSize, &["rows has length", "more than memory"], |f| unsafe { mlcp_problem_set_cones(f.p, [0].as_ptr(), usize::MAX, [0.5].as_ptr(), 1) }),
        (E, InvalidIndex, &["rows[2] is 4"], |_| cones(&[0, 1, 4], &[0.5], &FREE)),
        (E, InvalidIndex, &["rows[1] is -1"], |_| cones(&[0, -1, 2], &[0.5], &FREE)),
        (E, InvalidIndex, &["rows[2] is 1", "used before"], |_| cones(&[0, 1, 1], &[0.5], &FREE)),
        (E, InvalidIndex, &["rows[3] is 0", "used before"], |_| cones(&[0, 1, 2, 0, 3, 3], &[0.5; 2], &FREE)),
        (E, InvalidValue, &["mu[0] is NaN"], |_| cones(&[0, 1, 2], &[NAN], &FREE)),
        (E, InvalidValue, &["mu[0] is -0.5"], |_| cones(&[0, 1, 2], &[-0.5], &FREE)),
        (E, InvalidValue, &["row 3", "normal", "lower bound -inf"], |_| cones(&[3, 1, 2], &[0.5], &FREE)),
        (E, InvalidState, &["rows[1] is 1", "friction row"], |_| cones(&[0, 1, 2], &[0.5], &[-1, 0, -1, -1])),
        (E, InvalidValue, &["rows is not aligned"], |f| unsafe { mlcp_problem_set_cones(f.p, misaligned([0; 4].as_ptr()), 3, [0.5].as_ptr(), 1) }),
        (E, InvalidValue, &["row 0", "normal", "-1"], |_| after_cones([-1.0, -INF, -INF, -INF], [INF; 4], FREE)),
        (E, InvalidValue, &["row 1", "tangent", "1]"], |_| after_cones(LOW, [INF, 1.0, INF, INF], FREE)),
        (E, InvalidState, &["findex[2] is 0", "cone"], |_| after_cones(LOW, [INF; 4], [-1, -1, 0, -1])),
        // Legal: no cones, an infinite coefficient, a further friction row on the same normal, before and after.
        (E, Ok, &[], |f| unsafe { mlcp_problem_set_cones(f.p, null(), 0, null(), 0) }),
        (E, Ok, &[], |_| cones(&[0, 1, 2], &[INF], &FREE)),
        (E, Ok, &[], |_| cones(&[0, 2, 1], &[0.5], &[-1, -1, -1, 0])),
        (E, Ok, &[], |_| after_cones(LOW, [5.0, INF, INF, INF], [-1, -1, -1, 0])),
    ];
    rows
}

#[rustfmt::skip] // One row, one line.
fn questions() -> Vec<Row> {
    let rows: Vec<Row> = vec![
        ("mlcp_problem_get_diagonal", NullArgument, &["problem is NULL"], |f| unsafe { mlcp_problem_get_diagonal(null(), f.out.x.as_mut_ptr(), 3) }),
        ("mlcp_problem_get_diagonal", NullArgument, &["out_diagonal is NULL"], |f| unsafe { mlcp_problem_get_diagonal(f.p, null_mut(), 3) }),
        ("mlcp_problem_get_diagonal", InvalidSize, &["out_diagonal has length 2", "3"], |f| unsafe { mlcp_problem_get_diagonal(f.p, f.out.x.as_mut_ptr(), 2) }),
        ("mlcp_problem_get_diagonal", InvalidSize, &["out_diagonal has length 4", "3"], |f| unsafe { mlcp_problem_get_diagonal(f.p, f.out.x.as_mut_ptr(), 4) }),
        ("mlcp_problem_get_diagonal", InvalidValue, &["out_diagonal is not aligned"], |f| unsafe { mlcp_problem_get_diagonal(f.p, misaligned(f.out.x.as_ptr()), 3) }),
        ("mlcp_problem_get_bounds", NullArgument, &["problem is NULL"], |f| unsafe { mlcp_problem_get_bounds(null(), B.as_ptr(), 3, f.out.x.as_mut_ptr(), 3, f.out.y.as_mut_ptr(), 3) }),
        ("mlcp_problem_get_bounds", NullArgument, &["x is NULL"], |f| unsafe { mlcp_problem_get_bounds(f.p, null(), 3, f.out.x.as_mut_ptr(), 3, f.out.y.as_mut_ptr(), 3) }),
        ("mlcp_problem_get_bounds", NullArgument, &["out_lo is NULL"], |f| unsafe { mlcp_problem_get_bounds(f.p, B.as_ptr(), 3, null_mut(), 3, f.out.y.as_mut_ptr(), 3) }),
        ("mlcp_problem_get_bounds", NullArgument, &["out_hi is NULL"], |f| unsafe { mlcp_problem_get_bounds(f.p, B.as_ptr(), 3, f.out.x.as_mut_ptr(), 3, null_mut(), 3) }),
        ("mlcp_problem_get_bounds", InvalidSize, &["x has length 2", "3"], |f| unsafe { mlcp_problem_get_bounds(f.p, B.as_ptr(), 2, f.out.x.as_mut_ptr(), 3, f.out.y.as_mut_ptr(), 3) }),
        ("mlcp_problem_get_bounds", InvalidSize, &["out_lo has length 4"], |f| unsafe { mlcp_problem_get_bounds(f.p, B.as_ptr(), 3, f.out.x.as_mut_ptr(), 4, f.out.y.as_mut_ptr(), 3) }),
        ("mlcp_problem_get_bounds", InvalidSize, &["out_hi has length 0"], |f| unsafe { mlcp_problem_get_bounds(f.p, B.as_ptr(), 3, f.out.x.as_mut_ptr(), 3, null_mut(), 0) }),
        ("mlcp_problem_get_bounds", InvalidValue, &["x[2] is NaN"], |f| unsafe { mlcp_problem_get_bounds(f.p, [0.0, 0.0, NAN].as_ptr(), 3, f.out.x.as_mut_ptr(), 3, f.out.y.as_mut_ptr(), 3) }),
        ("mlcp_problem_get_bounds", InvalidValue, &["out_hi overlaps out_lo"], |f| unsafe { mlcp_problem_get_bounds(f.p, B.as_ptr(), 3, f.out.x.as_mut_ptr(), 3, f.out.x.as_mut_ptr().add(2), 3) }),
        ("mlcp_problem_get_bounds", InvalidValue, &["out_lo overlaps x"], |f| unsafe { let mut x = [0.0; 3]; let at = x.as_mut_ptr(); mlcp_problem_get_bounds(f.p, at, 3, at, 3, f.out.y.as_mut_ptr(), 3) }),
        ("mlcp_problem_get_bounds", InvalidState, &["frozen"], |f| unsafe { let p = unready(); let s = mlcp_problem_get_bounds(p, B.as_ptr(), 2, f.out.x.as_mut_ptr(), 2, f.out.y.as_mut_ptr(), 2); mlcp_problem_destroy(p); s }),
        ("mlcp_problem_get_w", NullArgument, &["problem is NULL"], |f| unsafe { mlcp_problem_get_w(null(), B.as_ptr(), 3, f.out.x.as_mut_ptr(), 3) }),
        ("mlcp_problem_get_w", NullArgument, &["x is NULL"], |f| unsafe { mlcp_problem_get_w(f.p, null(), 3, f.out.x.as_mut_ptr(), 3) }),
        ("mlcp_problem_get_w", NullArgument, &["out_w is NULL"], |f| unsafe { mlcp_problem_get_w(f.p, B.as_ptr(), 3, null_mut(), 3) }),
        ("mlcp_problem_get_w", InvalidSize, &["x has length 4", "3"], |f| unsafe { mlcp_problem_get_w(f.p, A.as_ptr(), 4, f.out.x.as_mut_ptr(), 3) }),
        ("mlcp_problem_get_w", InvalidSize, &["out_w has length 2", "3"], |f| unsafe { mlcp_problem_get_w(f.p, B.as_ptr(), 3, f.out.x.as_mut_ptr(), 2) }),
        ("mlcp_problem_get_w", InvalidValue, &["x[0] is inf"], |f| unsafe { mlcp_problem_get_w(f.p, [INF, 0.0, 0.0].as_ptr(), 3, f.out.x.as_mut_ptr(), 3) }),
        ("mlcp_problem_get_w", InvalidValue, &["out_w overlaps x"], |f| unsafe { let mut x = [0.0; 5]; let at = x.as_mut_ptr(); mlcp_problem_get_w(f.p, at, 3, at.add(2), 3) }),
        ("mlcp_problem_get_w", InvalidValue, &["x is not aligned"], |f| unsafe { mlcp_problem_get_w(f.j, misaligned(B.as_ptr()), 2, f.out.x.as_mut_ptr(), 2) }),
        ("mlcp_problem_get_velocity_change", NullArgument, &["problem is NULL"], |f| unsafe { mlcp_problem_get_velocity_change(null(), B.as_ptr(), 2, f.out.x.as_mut_ptr(), 12) }),
        ("mlcp_problem_get_velocity_change", NullArgument, &["x is NULL"], |f| unsafe { mlcp_problem_get_velocity_change(f.j, null(), 2, f.out.x.as_mut_ptr(), 12) }),
        ("mlcp_problem_get_velocity_change", NullArgument, &["out_velocity_change is NULL"], |f| unsafe { mlcp_problem_get_velocity_change(f.j, B.as_ptr(), 2, null_mut(), 12) }),
        ("mlcp_problem_get_velocity_change", InvalidState, &["Jacobian"], |f| unsafe { mlcp_problem_get_velocity_change(f.p, B.as_ptr(), 3, f.out.x.as_mut_ptr(), 12) }),
        ("mlcp_problem_get_velocity_change", InvalidSize, &["x has length 3", "2"], |f| unsafe { mlcp_problem_get_velocity_change(f.j, B.as_ptr(), 3, f.out.x.as_mut_ptr(), 12) }),
        ("mlcp_problem_get_velocity_change", InvalidSize, &["out_velocity_change has length 6", "12"], |f| unsafe { mlcp_problem_get_velocity_change(f.j, B.as_ptr(), 2, f.out.x.as_mut_ptr(), 6) }),
        ("mlcp_problem_get_velocity_change", InvalidSize, &["out_velocity_change has length"], |f| unsafe { mlcp_problem_get_velocity_change(f.j, B.as_ptr(), 2, f.out.x.as_mut_ptr(), usize::MAX) }),
        ("mlcp_problem_get_velocity_change", InvalidValue, &["x[1] is NaN"], |f| unsafe { mlcp_problem_get_velocity_change(f.j, [0.0, NAN].as_ptr(), 2, f.out.x.as_mut_ptr(), 12) }),
        ("mlcp_problem_get_velocity_change", InvalidValue, &["out_velocity_change overlaps x"], |f| unsafe { let mut x = [0.0; 16]; let at = x.as_mut_ptr(); mlcp_problem_get_velocity_change(f.j, at, 2, at.add(1), 12) }),
        ("mlcp_problem_contains", NullArgument, &["problem is NULL"], |f| unsafe { mlcp_problem_contains(null(), B.as_ptr(), 3, f.out.rows.as_mut_ptr()) }),
        ("mlcp_problem_contains", NullArgument, &["x is NULL"], |f| unsafe { mlcp_problem_contains(f.p, null(), 3, f.out.rows.as_mut_ptr()) }),
        ("mlcp_problem_contains", NullArgument, &["out_contains is NULL"], |f| unsafe { mlcp_problem_contains(f.p, B.as_ptr(), 3, null_mut()) }),
        ("mlcp_problem_contains", InvalidSize, &["x has length 2", "3"], |f| unsafe { mlcp_problem_contains(f.p, B.as_ptr(), 2, f.out.rows.as_mut_ptr()) }),
        ("mlcp_problem_contains", InvalidState, &["frozen"], |f| unsafe { let p = unready(); let s = mlcp_problem_contains(p, B.as_ptr(), 2, f.out.rows.as_mut_ptr()); mlcp_problem_destroy(p); s }),
        ("mlcp_problem_contains", Ok, &[], |f| unsafe { mlcp_problem_contains(f.p, [NAN, 0.0, 0.0].as_ptr(), 3, f.out.rows.as_mut_ptr()) }),
        ("mlcp_problem_measure", NullArgument, &["problem is NULL"], |f| measure(f, null(), 0, &B, 3)),
        ("mlcp_problem_measure", NullArgument, &["x is NULL"], |f| unsafe { mlcp_problem_measure(f.p, 0, null(), 3, null_mut(), 0, &mut f.out.total) }),
        ("mlcp_problem_measure", NullArgument, &["out_row_errors"], |f| unsafe { mlcp_problem_measure(f.p, 0, B.as_ptr(), 3, null_mut(), 3, &mut f.out.total) }),
        ("mlcp_problem_measure", NullArgument, &["out_total is NULL"], |f| unsafe { mlcp_problem_measure(f.p, 0, B.as_ptr(), 3, f.out.x.as_mut_ptr(), 3, null_mut()) }),
        ("mlcp_problem_measure", InvalidSize, &["x has length 2", "3"], |f| measure(f, f.p, 0, &B[..2], 3)),
        ("mlcp_problem_measure", InvalidSize, &["out_row_errors has length 2", "3"], |f| measure(f, f.p, 0, &B, 2)),
        ("mlcp_problem_measure", InvalidSize, &["out_row_errors has length 0", "3"], |f| measure(f, f.p, 0, &B, 0)),
        ("mlcp_problem_measure", InvalidValue, &["x[1] is NaN"], |f| measure(f, f.p, 0, &[0.0, NAN, 0.0], 3)),
        ("mlcp_problem_measure", InvalidValue, &["measure is 7"], |f| measure(f, f.p, 7, &B, 3)),
        ("mlcp_problem_measure", InvalidValue, &["measure is -1"], |f| measure(f, f.p, -1, &B, 3)),
        ("mlcp_problem_measure", InvalidValue, &["out_row_errors overlaps x"], |f| unsafe { let mut x = [0.0; 3]; let at = x.as_mut_ptr(); mlcp_problem_measure(f.p, 0, at, 3, at, 3, &mut f.out.total) }),
        ("mlcp_problem_measure", NoEnergy, &["diagonal[1] is 0", "row 1"], |f| measure_other(f, other(&[1.0, 0.0, 0.0, 0.0]), 0)),
        ("mlcp_problem_measure", NoEnergy, &["diagonal[1] is 0"], |f| measure_other(f, other(&[1.0, 0.0, 0.0, 0.0]), 6)),
        ("mlcp_problem_measure", Singular, &["singular", "row 1"], |f| measure_other(f, other(&[1.0, 1.0, 1.0, 1.0]), 6)),
        ("mlcp_problem_measure", Unsupported, &["symmetric"], |f| measure_other(f, other(&[1.0, 0.5, 0.0, 1.0]), 6)),
        ("mlcp_problem_measure", InvalidState, &["frozen"], |f| measure_other(f, unready(), 0)),
        // Legal: residuals need no diagonal, and row errors may be left out.
        ("mlcp_problem_measure", Ok, &[], |f| measure_other(f, other(&[1.0, 0.0, 0.0, 0.0]), 1)),
        ("mlcp_problem_measure", Ok, &[], |f| unsafe { mlcp_problem_measure(f.p, 0, B.as_ptr(), 3, null_mut(), 0, &mut f.out.total) }),
    ];
    rows
}
