//! Frames: what is set, what is made of it, what comes back.

use super::fixture::*;
use super::Row;
use mlcp::ffi::*;
use mlcp::Status::{self, *};
use std::mem::size_of;
use std::ptr::{null, null_mut};

/// Two bodies, one joint row between them, one contact of the second with the world.
pub struct Good {
    masses: [f64; 2],
    inertia: [f64; 18],
    positions: [f64; 6],
    quaternions: [f64; 8],
    velocities: [f64; 12],
    forces: [f64; 12],
    rows: [i32; 1],
    pairs: [i32; 2],
    jacobian: [f64; 12],
    lo: [f64; 1],
    hi: [f64; 1],
    violation: [f64; 1],
    contact_pairs: [i32; 2],
    normals: [f64; 3],
    mu: [f64; 1],
}

pub static GOOD: Good = Good {
    masses: [1.0, 2.0],
    inertia: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0],
    positions: [0.0; 6],
    quaternions: [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
    velocities: [0.5; 12],
    forces: [0.25; 12],
    rows: [1],
    pairs: [0, 1],
    jacobian: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    lo: [-INF],
    hi: [INF],
    violation: [0.01],
    contact_pairs: [-1, 1],
    normals: [0.0, 0.0, 1.0],
    mu: [0.5],
};

pub fn bodies() -> mlcp_bodies {
    mlcp_bodies {
        struct_size: size_of::<mlcp_bodies>(),
        count: 2,
        ids: null(),
        masses: GOOD.masses.as_ptr(),
        inertia: GOOD.inertia.as_ptr(),
        positions: GOOD.positions.as_ptr(),
        quaternions: GOOD.quaternions.as_ptr(),
        velocities: GOOD.velocities.as_ptr(),
        forces: GOOD.forces.as_ptr(),
    }
}

fn constraints() -> mlcp_constraints {
    mlcp_constraints {
        struct_size: size_of::<mlcp_constraints>(),
        joints: 1,
        count: 1,
        rows: GOOD.rows.as_ptr(),
        pairs: GOOD.pairs.as_ptr(),
        jacobian: GOOD.jacobian.as_ptr(),
        lo: GOOD.lo.as_ptr(),
        hi: GOOD.hi.as_ptr(),
        violation: GOOD.violation.as_ptr(),
        compliance: null(),
        damping: null(),
    }
}

fn contacts() -> mlcp_contacts {
    mlcp_contacts {
        struct_size: size_of::<mlcp_contacts>(),
        count: 1,
        pairs: GOOD.contact_pairs.as_ptr(),
        gap: GOOD.violation.as_ptr(),
        mu: GOOD.mu.as_ptr(),
        normals: GOOD.normals.as_ptr(),
        points: GOOD.positions.as_ptr(),
        restitution: null(),
        compliance: null(),
        damping: null(),
    }
}

pub fn frame() -> *mut mlcp_frame {
    let mut frame = null_mut();
    unsafe {
        ok(mlcp_frame_create(&mut frame));
        ok(mlcp_frame_set_step(frame, 0.1, 2.0));
        ok(mlcp_frame_set_bodies(frame, &bodies()));
        ok(mlcp_frame_set_constraints(frame, &constraints()));
        ok(mlcp_frame_set_contacts(frame, &contacts()));
    }
    frame
}

/// What a frame says of a z, to the bit.
fn says(frame: *mut mlcp_frame) -> Vec<u64> {
    let (mut v, mut x, mut states) = ([0.0; 12], [0.0; 4], [0; 1]);
    let mut e: mlcp_frame_errors = unsafe { std::mem::zeroed() };
    e.struct_size = size_of::<mlcp_frame_errors>();
    unsafe {
        let (v, x, s) = (v.as_mut_ptr(), x.as_mut_ptr(), states.as_mut_ptr());
        ok(mlcp_frame_get_response(frame, null(), [0.1; 4].as_ptr(), 4, v, 12, x, 4, s, 1, &mut e));
    }
    let numbers = [&v[..], &x[..], &[states[0] as f64, e.total, e.normal, e.magnitude, e.direction, e.energy]].concat();
    numbers.into_iter().map(f64::to_bits).collect()
}

/// Call with a good frame, which must say the same afterwards.
pub fn with(call: impl FnOnce(*mut mlcp_frame) -> Status) -> Status {
    let frame = frame();
    let before = says(frame);
    let status = call(frame);
    let sentence = last_error();
    assert!(status == Ok || says(frame) == before, "{sentence}: the frame has changed");
    unsafe { mlcp_frame_destroy(frame) };
    status
}

fn set_bodies(change: impl FnOnce(&mut mlcp_bodies)) -> Status {
    let mut b = bodies();
    change(&mut b);
    with(|f| unsafe { mlcp_frame_set_bodies(f, &b) })
}

fn set_constraints(change: impl FnOnce(&mut mlcp_constraints)) -> Status {
    let mut c = constraints();
    change(&mut c);
    with(|f| unsafe { mlcp_frame_set_constraints(f, &c) })
}

fn set_contacts(change: impl FnOnce(&mut mlcp_contacts)) -> Status {
    let mut c = contacts();
    change(&mut c);
    with(|f| unsafe { mlcp_frame_set_contacts(f, &c) })
}

fn fill(name: &std::ffi::CStr, problem: *mut mlcp_problem) -> Status {
    with(|f| unsafe { mlcp_frame_fill_problem(f, name.as_ptr(), problem) })
}

/// A response with outputs of these lengths in the fixture.
fn respond(f: &mut Fixture, z: &[f64], lens: [usize; 3]) -> Status {
    let (v, x, s) = (f.out.x.as_mut_ptr(), f.out.y.as_mut_ptr(), f.out.rows.as_mut_ptr());
    with(|frame| unsafe {
        mlcp_frame_get_response(
            frame,
            null(),
            z.as_ptr(),
            z.len(),
            v,
            lens[0],
            x,
            lens[1],
            s,
            lens[2],
            &mut f.out.errors,
        )
    })
}

pub fn rows() -> Vec<Row> {
    [setters(), getters()].concat()
}

#[rustfmt::skip] // One row, one line.
fn setters() -> Vec<Row> {
    let rows: Vec<Row> = vec![
        ("mlcp_frame_create", NullArgument, &["out_frame is NULL"], |_| unsafe { mlcp_frame_create(null_mut()) }),
        ("mlcp_frame_create", InvalidValue, &["out_frame is not aligned"], |f| unsafe { mlcp_frame_create(misaligned(&f.out.frame)) }),
        ("mlcp_frame_set_step", NullArgument, &["frame is NULL"], |_| unsafe { mlcp_frame_set_step(null_mut(), 0.1, 0.0) }),
        ("mlcp_frame_set_step", InvalidValue, &["step is 0"], |_| with(|f| unsafe { mlcp_frame_set_step(f, 0.0, 0.0) })),
        ("mlcp_frame_set_step", InvalidValue, &["step is NaN"], |_| with(|f| unsafe { mlcp_frame_set_step(f, NAN, 0.0) })),
        ("mlcp_frame_set_step", InvalidValue, &["time is inf"], |_| with(|f| unsafe { mlcp_frame_set_step(f, 0.1, INF) })),
        ("mlcp_frame_set_bodies", NullArgument, &["frame is NULL"], |_| unsafe { mlcp_frame_set_bodies(null_mut(), &bodies()) }),
        ("mlcp_frame_set_bodies", NullArgument, &["bodies is NULL"], |_| with(|f| unsafe { mlcp_frame_set_bodies(f, null()) })),
        ("mlcp_frame_set_bodies", NullArgument, &["masses is NULL"], |_| set_bodies(|b| b.masses = null())),
        ("mlcp_frame_set_bodies", NullArgument, &["forces is NULL"], |_| set_bodies(|b| b.forces = null())),
        ("mlcp_frame_set_bodies", InvalidSize, &["bodies.struct_size is 0"], |_| set_bodies(|b| b.struct_size = 0)),
        ("mlcp_frame_set_bodies", InvalidSize, &["masses has length", "more than memory"], |_| set_bodies(|b| b.count = usize::MAX / 8)),
        ("mlcp_frame_set_bodies", InvalidValue, &["inertia is not aligned"], |_| set_bodies(|b| b.inertia = misaligned(b.inertia))),
        ("mlcp_frame_set_bodies", InvalidValue, &["masses[1] is 0"], |_| set_bodies(|b| b.masses = [1.0, 0.0].as_ptr())),
        ("mlcp_frame_set_bodies", InvalidValue, &["masses[0] is NaN"], |_| set_bodies(|b| b.masses = [NAN, 1.0].as_ptr())),
        ("mlcp_frame_set_bodies", InvalidValue, &["inertia[0..]", "positive definite"], |_| set_bodies(|b| b.inertia = [0.0; 18].as_ptr())),
        ("mlcp_frame_set_bodies", InvalidValue, &["quaternions[0..]", "length 0"], |_| set_bodies(|b| b.quaternions = [0.0; 8].as_ptr())),
        ("mlcp_frame_set_bodies", InvalidValue, &["velocities[0] is NaN"], |_| set_bodies(|b| b.velocities = [NAN; 12].as_ptr())),
        ("mlcp_frame_set_constraints", NullArgument, &["frame is NULL"], |_| unsafe { mlcp_frame_set_constraints(null_mut(), &constraints()) }),
        ("mlcp_frame_set_constraints", NullArgument, &["constraints is NULL"], |_| with(|f| unsafe { mlcp_frame_set_constraints(f, null()) })),
        ("mlcp_frame_set_constraints", NullArgument, &["jacobian is NULL"], |_| set_constraints(|c| c.jacobian = null())),
        ("mlcp_frame_set_constraints", InvalidSize, &["constraints.struct_size is 9"], |_| set_constraints(|c| c.struct_size = 9)),
        ("mlcp_frame_set_constraints", InvalidSize, &["rows adds up to 2"], |_| set_constraints(|c| c.rows = [2].as_ptr())),
        ("mlcp_frame_set_constraints", InvalidIndex, &["pairs[1] is 2"], |_| set_constraints(|c| c.pairs = [0, 2].as_ptr())),
        ("mlcp_frame_set_constraints", InvalidValue, &["lo[0] = 2"], |_| set_constraints(|c| (c.lo, c.hi) = ([2.0].as_ptr(), [1.0].as_ptr()))),
        ("mlcp_frame_set_constraints", InvalidValue, &["compliance[0] is -1"], |_| set_constraints(|c| c.compliance = [-1.0].as_ptr())),
        ("mlcp_frame_set_contacts", NullArgument, &["frame is NULL"], |_| unsafe { mlcp_frame_set_contacts(null_mut(), &contacts()) }),
        ("mlcp_frame_set_contacts", NullArgument, &["contacts is NULL"], |_| with(|f| unsafe { mlcp_frame_set_contacts(f, null()) })),
        ("mlcp_frame_set_contacts", NullArgument, &["normals is NULL"], |_| set_contacts(|c| c.normals = null())),
        ("mlcp_frame_set_contacts", InvalidSize, &["contacts.struct_size is 0"], |_| set_contacts(|c| c.struct_size = 0)),
        ("mlcp_frame_set_contacts", InvalidIndex, &["pairs[0] and pairs[1]"], |_| set_contacts(|c| c.pairs = [1, 1].as_ptr())),
        ("mlcp_frame_set_contacts", InvalidValue, &["normals[0..]", "length 2"], |_| set_contacts(|c| c.normals = [0.0, 2.0, 0.0].as_ptr())),
        ("mlcp_frame_set_contacts", InvalidValue, &["mu[0] is NaN"], |_| set_contacts(|c| c.mu = [NAN].as_ptr())),
        ("mlcp_frame_set_contacts", InvalidValue, &["restitution[0] is 2"], |_| set_contacts(|c| c.restitution = [2.0].as_ptr())),
    ];
    rows
}

#[rustfmt::skip] // One row, one line.
fn getters() -> Vec<Row> {
    let rows: Vec<Row> = vec![
        ("mlcp_frame_get_step", NullArgument, &["frame is NULL"], |f| unsafe { mlcp_frame_get_step(null(), &mut f.out.x[0], &mut f.out.x[1]) }),
        ("mlcp_frame_get_step", NullArgument, &["out_time is NULL"], |f| with(|frame| unsafe { mlcp_frame_get_step(frame, &mut f.out.x[0], null_mut()) })),
        ("mlcp_frame_get_bodies", NullArgument, &["frame is NULL"], |f| unsafe { mlcp_frame_get_bodies(null(), &mut f.out.bodies) }),
        ("mlcp_frame_get_bodies", NullArgument, &["out_bodies is NULL"], |_| with(|frame| unsafe { mlcp_frame_get_bodies(frame, null_mut()) })),
        ("mlcp_frame_get_constraints", NullArgument, &["frame is NULL"], |f| unsafe { mlcp_frame_get_constraints(null(), &mut f.out.constraints) }),
        ("mlcp_frame_get_constraints", NullArgument, &["out_constraints is NULL"], |_| with(|frame| unsafe { mlcp_frame_get_constraints(frame, null_mut()) })),
        ("mlcp_frame_get_contacts", NullArgument, &["frame is NULL"], |f| unsafe { mlcp_frame_get_contacts(null(), &mut f.out.contacts) }),
        ("mlcp_frame_get_contacts", NullArgument, &["out_contacts is NULL"], |_| with(|frame| unsafe { mlcp_frame_get_contacts(frame, null_mut()) })),
        ("mlcp_frame_get_rows", NullArgument, &["frame is NULL"], |f| unsafe { mlcp_frame_get_rows(null(), null(), &mut f.out.count) }),
        ("mlcp_frame_get_rows", NullArgument, &["out_rows is NULL"], |_| with(|frame| unsafe { mlcp_frame_get_rows(frame, null(), null_mut()) })),
        ("mlcp_frame_get_rows", InvalidValue, &["formulation 'cube'"], |f| with(|frame| unsafe { mlcp_frame_get_rows(frame, c"cube".as_ptr(), &mut f.out.count) })),
        ("mlcp_frame_fill_problem", NullArgument, &["frame is NULL"], |f| unsafe { mlcp_frame_fill_problem(null_mut(), null(), f.p) }),
        ("mlcp_frame_fill_problem", NullArgument, &["problem is NULL"], |_| fill(c"box", null_mut())),
        ("mlcp_frame_fill_problem", InvalidValue, &["formulation 'polyhedral:2'"], |f| fill(c"polyhedral:2", f.p)),
        ("mlcp_frame_fill_problem", InvalidValue, &["formulation is not UTF-8"], |f| fill(c"\xff\xfe", f.p)),
        ("mlcp_frame_fill_problem", InvalidState, &["no step"], |f| unsafe { let mut e = null_mut(); ok(mlcp_frame_create(&mut e)); let s = mlcp_frame_fill_problem(e, null(), f.p); mlcp_frame_destroy(e); s }),
        ("mlcp_frame_fill_problem", Unsupported, &["infinite friction"], |f| unsafe { let e = frame(); let mut c = contacts(); c.mu = [INF].as_ptr(); ok(mlcp_frame_set_contacts(e, &c)); let s = mlcp_frame_fill_problem(e, c"polyhedral:4".as_ptr(), f.p); mlcp_frame_destroy(e); s }),
        // Finite numbers whose b overflows: the problem stays as it was.
        ("mlcp_frame_fill_problem", InvalidValue, &["b[", "overflows"], |f| unsafe { let e = frame(); let mut b = bodies(); b.velocities = [1e308; 12].as_ptr(); ok(mlcp_frame_set_bodies(e, &b)); let mut c = constraints(); c.jacobian = [1e150; 12].as_ptr(); ok(mlcp_frame_set_constraints(e, &c)); let s = mlcp_frame_fill_problem(e, null(), f.p); mlcp_frame_destroy(e); s }),
        ("mlcp_frame_fill_problem", InvalidValue, &["jacobian[0]", "a_ii", "overflows"], |f| unsafe { let e = frame(); let mut b = bodies(); b.velocities = [1e308; 12].as_ptr(); ok(mlcp_frame_set_bodies(e, &b)); let mut c = constraints(); c.jacobian = [1e300; 12].as_ptr(); ok(mlcp_frame_set_constraints(e, &c)); let s = mlcp_frame_fill_problem(e, null(), f.p); mlcp_frame_destroy(e); s }),
        ("mlcp_frame_get_response", NullArgument, &["frame is NULL"], |f| unsafe { mlcp_frame_get_response(null_mut(), null(), B.as_ptr(), 3, f.out.x.as_mut_ptr(), 12, null_mut(), 0, null_mut(), 0, null_mut()) }),
        ("mlcp_frame_get_response", NullArgument, &["z is NULL"], |f| with(|e| unsafe { mlcp_frame_get_response(e, null(), null(), 4, f.out.x.as_mut_ptr(), 12, null_mut(), 0, null_mut(), 0, null_mut()) })),
        ("mlcp_frame_get_response", InvalidSize, &["z has length 3", "4 rows"], |f| respond(f, &[0.0; 3], [12, 4, 1])),
        ("mlcp_frame_get_response", InvalidValue, &["z[2] is NaN"], |f| respond(f, &[0.0, 0.0, NAN, 0.0], [12, 4, 1])),
        ("mlcp_frame_get_response", InvalidSize, &["out_velocities has length 6", "12"], |f| respond(f, &[0.0; 4], [6, 4, 1])),
        ("mlcp_frame_get_response", InvalidSize, &["out_impulses has length 3", "4"], |f| respond(f, &[0.0; 4], [12, 3, 1])),
        ("mlcp_frame_get_response", InvalidSize, &["out_states has length 2", "1"], |f| respond(f, &[0.0; 4], [12, 4, 2])),
        ("mlcp_frame_get_response", InvalidSize, &["out_errors.struct_size is 0"], |f| { f.out.errors.struct_size = 0; respond(f, &[0.0; 4], [12, 4, 1]) }),
        ("mlcp_frame_get_response", InvalidValue, &["out_impulses overlaps"], |f| with(|e| unsafe { let v = f.out.x.as_mut_ptr(); mlcp_frame_get_response(e, null(), [0.0; 4].as_ptr(), 4, v, 12, v.add(8), 4, null_mut(), 0, null_mut()) })),
        // Legal: nothing wanted, everything wanted.
        ("mlcp_frame_get_response", Ok, &[], |_| with(|e| unsafe { mlcp_frame_get_response(e, null(), [0.0; 4].as_ptr(), 4, null_mut(), 0, null_mut(), 0, null_mut(), 0, null_mut()) })),
        ("mlcp_frame_get_response", Ok, &[], |f| respond(f, &[0.0; 4], [12, 4, 1])),
    ];
    rows
}
