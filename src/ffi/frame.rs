//! `mlcp_frame`: one time step as an engine knows it, and the problems to be made of it.

use super::guard::{disjoint, expect_len, guard, optional_ref, out, slice, slice_mut, text};
use super::handle::{Exclusive, Handle, Shared};
use super::problem::mlcp_problem;
use super::types::check_struct_size;
use crate::error::{Error, Result, Status};
use crate::multibody::{
    Bodies, Constraints, ContactState, Contacts, Formulation, Formulator, Frame, FrameErrors, Response,
};
use libc::c_char;
use std::mem::size_of;

/// Frame of one time step: bodies, bilateral constraints, contacts, step size. Everything is checked when it is set and
/// kept to the bit; memory is kept, so that refilling a frame no larger than an earlier one allocates nothing. A call
/// that fails leaves the frame as it was.
///
/// The formulations of a frame are named by a text, NULL meaning "box":
///   "box"              friction |x_1|, |x_2| <= mu x_n, coupled
///   "cone"             friction |(x_1, x_2)| <= mu x_n, Coulomb's exact cone
///   "frozen-box"       the box, at normals given to mlcp_problem_set_frozen_normals
///   "polyhedral:N"     N facets, corners on the circle (Lu et al. 2013, eq. 19): not symmetric, zero diagonals
///   "circumscribed:N"  N facets, edges on the circle; N = 4 is the box
///   "mixed:..."        any of these, with the velocities at the end of the step as free rows before the impulses
pub struct mlcp_frame(pub(super) Handle<FrameInner>);

#[derive(Default)]
pub(super) struct FrameInner {
    pub frame: Frame,
    formulator: Formulator,
    response: Response,
}

/// Bodies of a frame. Buffers given to mlcp_frame_set_bodies are read and stay the caller's; buffers from
/// mlcp_frame_get_bodies stay the frame's.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_bodies {
    /// sizeof(mlcp_bodies).
    pub struct_size: usize,
    /// Number of bodies.
    pub count: usize,
    /// Number by which the engine knows each body, to follow it from frame to frame, one per body; NULL: 0, 1, 2 ...
    pub ids: *const i32,
    /// Masses, kg, > 0, one per body; +inf for a body that no impulse moves.
    pub masses: *const f64,
    /// Inertia, kg m^2, 9 per body by rows, about the centre of mass in the body's axes; symmetric positive definite,
    /// not looked at where the mass is infinite.
    pub inertia: *const f64,
    /// Centres of mass in the world, m, 3 per body.
    pub positions: *const f64,
    /// Rotations from the body's axes to the world's, w x y z, 4 per body; of length 1.
    pub quaternions: *const f64,
    /// Velocities at the beginning of the step, m/s and rad/s, 6 per body, linear then angular, world axes.
    pub velocities: *const f64,
    /// Forces, N and N m, 6 per body: all that act but constraints and contacts, gravity included.
    pub forces: *const f64,
}

/// Bilateral constraints of a frame, limits and motors included.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_constraints {
    /// sizeof(mlcp_constraints).
    pub struct_size: usize,
    /// Number of joints.
    pub joints: usize,
    /// Number of rows of all joints together.
    pub count: usize,
    /// Number of rows of each joint, one per joint; the sum is count.
    pub rows: *const i32,
    /// Places of each joint's bodies in the frame's list, 2 per joint; -1 for the world.
    pub pairs: *const i32,
    /// Jacobian, 12 per row: linear and angular part on the first body, then on the second.
    pub jacobian: *const f64,
    /// Lower bounds, N s or N m s, one per row; -inf for none.
    pub lo: *const f64,
    /// Upper bounds, N s or N m s, one per row; +inf for none.
    pub hi: *const f64,
    /// Values of the constraints, m or rad, one per row; the step removes them.
    pub violation: *const f64,
    /// Compliances, m/N or rad/(N m), >= 0, one per row; NULL: rigid.
    pub compliance: *const f64,
    /// Damping of compliant rows, N s/m or N m s/rad, >= 0, one per row; NULL: none.
    pub damping: *const f64,
}

/// Contacts of a frame.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_contacts {
    /// sizeof(mlcp_contacts).
    pub struct_size: usize,
    /// Number of contacts.
    pub count: usize,
    /// Places of each contact's bodies in the frame's list, 2 per contact; -1 for the world.
    pub pairs: *const i32,
    /// Distances, m, one per contact; negative in penetration.
    pub gap: *const f64,
    /// Coefficients of friction, >= 0, no unit, one per contact.
    pub mu: *const f64,
    /// Normals, 3 per contact, of length 1, away from the first body of the pair.
    pub normals: *const f64,
    /// Points of contact, m, 3 per contact, world axes, from the first body's centre of mass (the world's origin for
    /// -1).
    pub points: *const f64,
    /// Coefficients of restitution (Newton's), in [0, 1], one per contact; NULL: 0.
    pub restitution: *const f64,
    /// Compliances, m/N, >= 0, one per contact; NULL: rigid.
    pub compliance: *const f64,
    /// Damping of compliant contacts, N s/m, >= 0, one per contact; NULL: none.
    pub damping: *const f64,
}

/// Errors of a frame's solution (Lu et al. 2013, section 5).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_frame_errors {
    /// sizeof(mlcp_frame_errors).
    pub struct_size: usize,
    /// Half the squared Fischer-Burmeister residual of the formulation's problem; mixed units.
    pub total: f64,
    /// Half the squared Fischer-Burmeister residual of the contacts' normal rows alone; mixed units.
    pub normal: f64,
    /// Sum of |sliding speed (mu p_n - |friction|)|, in joules.
    pub magnitude: f64,
    /// Sum of friction . velocity + |friction| |velocity|, in joules: 0 where friction opposes sliding.
    pub direction: f64,
    /// Energy error of the formulation's problem in joules; NaN where a row has none.
    pub energy: f64,
}

impl From<&FrameErrors> for mlcp_frame_errors {
    fn from(e: &FrameErrors) -> Self {
        mlcp_frame_errors {
            struct_size: size_of::<mlcp_frame_errors>(),
            total: e.total,
            normal: e.normal,
            magnitude: e.magnitude,
            direction: e.direction,
            energy: e.energy,
        }
    }
}

fn null() -> Error {
    Error::new(Status::NullArgument, format_args!("frame is NULL"))
}

/// Take a frame handle to read it.
pub(super) unsafe fn read_frame<'a>(frame: *const mlcp_frame) -> Result<Shared<'a, FrameInner>> {
    unsafe { frame.as_ref() }.ok_or_else(null)?.0.shared("frame")
}

/// Take a frame handle to change it.
pub(super) unsafe fn take_frame<'a>(frame: *mut mlcp_frame) -> Result<Exclusive<'a, FrameInner>> {
    unsafe { frame.as_ref() }.ok_or_else(null)?.0.exclusive("frame")
}

/// A formulation by its name; NULL is the box.
pub(super) unsafe fn formulation(name: *const c_char) -> Result<Formulation> {
    match name.is_null() {
        true => Ok(Formulation::BOX),
        false => unsafe { text(name, "formulation") }?.parse(),
    }
}

/// `each` values per member, or none for NULL where that is allowed.
unsafe fn many<'a, T>(pointer: *const T, count: usize, each: usize, name: &str) -> Result<&'a [T]> {
    let len = count.checked_mul(each).ok_or_else(|| {
        Error::new(Status::InvalidSize, format_args!("{name}: {count} times {each} overflows the address space"))
    })?;
    unsafe { slice(pointer, len, name) }
}

unsafe fn some<'a, T>(pointer: *const T, count: usize, name: &str) -> Result<&'a [T]> {
    match pointer.is_null() {
        true => Ok(&[]),
        false => unsafe { slice(pointer, count, name) },
    }
}

unsafe fn given<'a, T>(pointer: *const T, name: &str) -> Result<&'a T> {
    unsafe { optional_ref(pointer, name) }?
        .ok_or_else(|| Error::new(Status::NullArgument, format_args!("{name} is NULL")))
}

/// Create an empty frame.
///
/// out_frame: receives the handle, to be given to mlcp_frame_destroy. Any thread. Allocates the handle. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_frame_create(out_frame: *mut *mut mlcp_frame) -> Status {
    guard(|| {
        let out_frame = unsafe { out(out_frame, "out_frame") }?;
        *out_frame = Box::into_raw(Box::new(mlcp_frame(Handle::new(FrameInner::default()))));
        Ok(())
    })
}

/// Destroy a frame; NULL is ignored. Pointers from mlcp_frame_get_... become invalid.
///
/// A frame that is in use is not destroyed; mlcp_last_error then says so. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_frame_destroy(frame: *mut mlcp_frame) {
    unsafe { super::solver::destroy(frame, |f| &f.0, "frame") }
}

/// Set the step size h > 0, s, and the time at the beginning of the step, s.
///
/// Returns INVALID_VALUE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_frame_set_step(frame: *mut mlcp_frame, step: f64, time: f64) -> Status {
    guard(|| unsafe { take_frame(frame) }?.frame.set_step(step, time))
}

/// Begin a frame with its bodies; constraints and contacts of an earlier one are dropped.
///
/// bodies: copied. Returns INVALID_SIZE (struct_size), INVALID_VALUE naming the field. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_frame_set_bodies(frame: *mut mlcp_frame, bodies: *const mlcp_bodies) -> Status {
    guard(|| unsafe {
        let mut inner = take_frame(frame)?;
        let b = given(bodies, "bodies")?;
        check_struct_size::<mlcp_bodies>("bodies.struct_size", b.struct_size)?;
        let n = b.count;
        inner.frame.set_bodies(&Bodies {
            ids: some(b.ids, n, "ids")?,
            masses: many(b.masses, n, 1, "masses")?,
            inertia: many(b.inertia, n, 9, "inertia")?,
            positions: many(b.positions, n, 3, "positions")?,
            quaternions: many(b.quaternions, n, 4, "quaternions")?,
            velocities: many(b.velocities, n, 6, "velocities")?,
            forces: many(b.forces, n, 6, "forces")?,
        })
    })
}

/// Replace a frame's constraints.
///
/// constraints: copied. Returns INVALID_SIZE, INVALID_INDEX, INVALID_VALUE naming the field. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_frame_set_constraints(
    frame: *mut mlcp_frame,
    constraints: *const mlcp_constraints,
) -> Status {
    guard(|| unsafe {
        let mut inner = take_frame(frame)?;
        let c = given(constraints, "constraints")?;
        check_struct_size::<mlcp_constraints>("constraints.struct_size", c.struct_size)?;
        let n = c.count;
        inner.frame.set_constraints(&Constraints {
            rows: many(c.rows, c.joints, 1, "rows")?,
            pairs: many(c.pairs, c.joints, 2, "pairs")?,
            jacobian: many(c.jacobian, n, 12, "jacobian")?,
            lo: many(c.lo, n, 1, "lo")?,
            hi: many(c.hi, n, 1, "hi")?,
            violation: many(c.violation, n, 1, "violation")?,
            compliance: some(c.compliance, n, "compliance")?,
            damping: some(c.damping, n, "damping")?,
        })
    })
}

/// Replace a frame's contacts.
///
/// contacts: copied. Returns INVALID_SIZE, INVALID_INDEX, INVALID_VALUE naming the field. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_frame_set_contacts(frame: *mut mlcp_frame, contacts: *const mlcp_contacts) -> Status {
    guard(|| unsafe {
        let mut inner = take_frame(frame)?;
        let c = given(contacts, "contacts")?;
        check_struct_size::<mlcp_contacts>("contacts.struct_size", c.struct_size)?;
        let n = c.count;
        inner.frame.set_contacts(&Contacts {
            pairs: many(c.pairs, n, 2, "pairs")?,
            gap: many(c.gap, n, 1, "gap")?,
            mu: many(c.mu, n, 1, "mu")?,
            normals: many(c.normals, n, 3, "normals")?,
            points: many(c.points, n, 3, "points")?,
            restitution: some(c.restitution, n, "restitution")?,
            compliance: some(c.compliance, n, "compliance")?,
            damping: some(c.damping, n, "damping")?,
        })
    })
}

/// Read a frame's step size (0 until it is set) and time, in seconds.
///
/// out_step, out_time: receive the step size and the time. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_frame_get_step(
    frame: *const mlcp_frame,
    out_step: *mut f64,
    out_time: *mut f64,
) -> Status {
    guard(|| unsafe {
        let inner = read_frame(frame)?;
        let (out_step, out_time) = (out(out_step, "out_step")?, out(out_time, "out_time")?);
        (*out_step, *out_time) = (inner.frame.step(), inner.frame.time());
        Ok(())
    })
}

/// Read a frame's bodies.
///
/// out_bodies: receives pointers into the frame, valid until it is changed or destroyed. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_frame_get_bodies(frame: *const mlcp_frame, out_bodies: *mut mlcp_bodies) -> Status {
    guard(|| unsafe {
        let inner = read_frame(frame)?;
        let b = inner.frame.bodies();
        *out(out_bodies, "out_bodies")? = mlcp_bodies {
            struct_size: size_of::<mlcp_bodies>(),
            count: b.masses.len(),
            ids: b.ids.as_ptr(),
            masses: b.masses.as_ptr(),
            inertia: b.inertia.as_ptr(),
            positions: b.positions.as_ptr(),
            quaternions: b.quaternions.as_ptr(),
            velocities: b.velocities.as_ptr(),
            forces: b.forces.as_ptr(),
        };
        Ok(())
    })
}

/// Read a frame's constraints.
///
/// out_constraints: receives pointers into the frame, valid until it is changed or destroyed. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_frame_get_constraints(
    frame: *const mlcp_frame,
    out_constraints: *mut mlcp_constraints,
) -> Status {
    guard(|| unsafe {
        let inner = read_frame(frame)?;
        let c = inner.frame.constraints();
        *out(out_constraints, "out_constraints")? = mlcp_constraints {
            struct_size: size_of::<mlcp_constraints>(),
            joints: c.rows.len(),
            count: c.lo.len(),
            rows: c.rows.as_ptr(),
            pairs: c.pairs.as_ptr(),
            jacobian: c.jacobian.as_ptr(),
            lo: c.lo.as_ptr(),
            hi: c.hi.as_ptr(),
            violation: c.violation.as_ptr(),
            compliance: c.compliance.as_ptr(),
            damping: c.damping.as_ptr(),
        };
        Ok(())
    })
}

/// Read a frame's contacts.
///
/// out_contacts: receives pointers into the frame, valid until it is changed or destroyed. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_frame_get_contacts(frame: *const mlcp_frame, out_contacts: *mut mlcp_contacts) -> Status {
    guard(|| unsafe {
        let inner = read_frame(frame)?;
        let c = inner.frame.contacts();
        *out(out_contacts, "out_contacts")? = mlcp_contacts {
            struct_size: size_of::<mlcp_contacts>(),
            count: c.gap.len(),
            pairs: c.pairs.as_ptr(),
            gap: c.gap.as_ptr(),
            mu: c.mu.as_ptr(),
            normals: c.normals.as_ptr(),
            points: c.points.as_ptr(),
            restitution: c.restitution.as_ptr(),
            compliance: c.compliance.as_ptr(),
            damping: c.damping.as_ptr(),
        };
        Ok(())
    })
}

/// Count the rows of a frame's problem in a formulation, which is the length of its solutions.
///
/// formulation: a name, see mlcp_frame. out_rows: receives the number. Returns INVALID_VALUE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_frame_get_rows(
    frame: *const mlcp_frame,
    formulation: *const c_char,
    out_rows: *mut usize,
) -> Status {
    guard(|| unsafe {
        let inner = read_frame(frame)?;
        let formulation = self::formulation(formulation)?;
        *out(out_rows, "out_rows")? = formulation.rows(&inner.frame);
        Ok(())
    })
}

/// Refill a problem with a frame's, in a formulation.
///
/// Rows: first the constraints', then normal and two tangents of every contact, impulses in N s; facets and mixed forms
/// have other rows. formulation: a name, see mlcp_frame. Returns INVALID_VALUE, INVALID_STATE (no step set),
/// UNSUPPORTED (infinite friction has no facets). Uses memory of the frame, which therefore serves one thread at a
/// time. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_frame_fill_problem(
    frame: *mut mlcp_frame,
    formulation: *const c_char,
    problem: *mut mlcp_problem,
) -> Status {
    guard(|| unsafe {
        let mut inner = take_frame(frame)?;
        let formulation = self::formulation(formulation)?;
        let mut problem = super::problem::take(problem)?;
        let FrameInner { frame, formulator, .. } = &mut *inner;
        formulator.fill(frame, formulation, &mut problem.problem)
    })
}

/// Compute what a solution of a frame's problem means for its bodies and contacts.
///
/// formulation, z: as the problem was filled and solved. out_velocities: 6 per body, m/s and rad/s at the end of the step.
/// out_impulses: one per constraint row, then normal and two tangents of every contact, N s. out_states: one per contact,
/// an mlcp_contact_state. Each of the three may be NULL with length 0. out_errors: receives the errors, or NULL. Returns
/// INVALID_SIZE, INVALID_VALUE, INVALID_STATE. Uses memory of the frame. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_frame_get_response(
    frame: *mut mlcp_frame,
    formulation: *const c_char,
    z: *const f64,
    z_len: usize,
    out_velocities: *mut f64,
    out_velocities_len: usize,
    out_impulses: *mut f64,
    out_impulses_len: usize,
    out_states: *mut i32,
    out_states_len: usize,
    out_errors: *mut mlcp_frame_errors,
) -> Status {
    guard(|| unsafe {
        let mut inner = take_frame(frame)?;
        let formulation = self::formulation(formulation)?;
        let z = slice(z, z_len, "z")?;
        let FrameInner { frame, formulator, response } = &mut *inner;
        let rows = Formulation::BOX.rows(frame);
        let (bodies, contacts) = (frame.bodies().masses.len(), frame.contacts().gap.len());
        for (name, pointer, len, expected) in [
            ("out_velocities", out_velocities, out_velocities_len, 6 * bodies),
            ("out_impulses", out_impulses, out_impulses_len, rows),
        ] {
            if !(pointer.is_null() && len == 0) {
                expect_len(name, len, expected)?;
                disjoint((z, "z"), (pointer, len, name))?;
            }
        }
        let velocities = slice_mut(out_velocities, out_velocities_len, "out_velocities")?;
        disjoint((velocities, "out_velocities"), (out_impulses, out_impulses_len, "out_impulses"))?;
        let impulses = slice_mut(out_impulses, out_impulses_len, "out_impulses")?;
        if !(out_states.is_null() && out_states_len == 0) {
            expect_len("out_states", out_states_len, contacts)?;
        }
        let states = slice_mut(out_states, out_states_len, "out_states")?;
        let errors = if out_errors.is_null() { None } else { Some(out(out_errors, "out_errors")?) };
        if let Some(errors) = &errors {
            check_struct_size::<mlcp_frame_errors>("out_errors.struct_size", errors.struct_size)?;
        }
        formulator.respond(frame, formulation, z, response)?;
        if !velocities.is_empty() {
            velocities.copy_from_slice(&response.velocities);
        }
        if !impulses.is_empty() {
            impulses.copy_from_slice(&response.impulses);
        }
        for (out, state) in states.iter_mut().zip(&response.states) {
            *out = *state as i32;
        }
        if let Some(errors) = errors {
            *errors = mlcp_frame_errors::from(&response.errors);
        }
        Ok(())
    })
}

/// Name of an mlcp_contact_state, "unknown" for any other number. Static text. Any thread. Since 0.1.
#[no_mangle]
pub extern "C" fn mlcp_contact_state_name(state: i32) -> *const c_char {
    match ContactState::from_number(state) {
        Some(ContactState::Open) => c"open",
        Some(ContactState::Stick) => c"stick",
        Some(ContactState::Slide) => c"slide",
        None => c"unknown",
    }
    .as_ptr()
}
