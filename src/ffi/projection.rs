//! `mlcp_projection`: positions and velocities back onto the motion that the constraints allow.

use super::guard::{disjoint, expect_len, guard, optional, out, slice, slice_mut};
use super::handle::{Exclusive, Handle};
use super::problem::{mlcp_problem, read};
use crate::error::{Error, Result, Status};
use crate::mechanism::Projection;

/// Projection with its memory. It serves one thread at a time.
pub struct mlcp_projection(Handle<Projection>);

unsafe fn take<'a>(projection: *mut mlcp_projection) -> Result<Exclusive<'a, Projection>> {
    match unsafe { projection.as_ref() } {
        Some(projection) => projection.0.exclusive("projection"),
        None => Err(Error::new(Status::NullArgument, format_args!("projection is NULL"))),
    }
}

/// Create a projection.
///
/// tolerance: singular values of the rows, scaled to length 1, well below it count as zero; in [1e-7, 1), 0: 1e-4. It
/// should be no less than the violation, over the mechanism's size, that positions begin with. out_projection: receives
/// the handle, to be given to mlcp_projection_destroy. Returns INVALID_VALUE. Any thread. Allocates. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_projection_create(tolerance: f64, out_projection: *mut *mut mlcp_projection) -> Status {
    guard(|| {
        let out_projection = unsafe { out(out_projection, "out_projection") }?;
        let mut projection = Projection::new();
        if tolerance != 0.0 {
            projection.set_tolerance(tolerance)?;
        }
        *out_projection = Box::into_raw(Box::new(mlcp_projection(Handle::new(projection))));
        Ok(())
    })
}

/// Destroy a projection; NULL is ignored. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_projection_destroy(projection: *mut mlcp_projection) {
    unsafe { super::solver::destroy(projection, |p| &p.0, "projection") }
}

/// Compute the displacements of least kinetic energy that take the rows' violations away: -M^-1 J^T (J M^-1 J^T)^+
/// violation.
///
/// Every row of the problem counts as bilateral; rows may be redundant. Move the bodies by the displacements, fill the
/// problem anew and repeat until the violation is small enough: two or three times reach round-off. problem: a Jacobian
/// problem. violation: one per row, m or rad. out_change: six per body, displacement (m) then rotation vector (rad).
/// Returns INVALID_STATE for a dense or CSR problem, INVALID_SIZE, INVALID_VALUE. Allocates only on first use at a
/// size. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_projection_correct_positions(
    projection: *mut mlcp_projection,
    problem: *const mlcp_problem,
    violation: *const f64,
    violation_len: usize,
    out_change: *mut f64,
    out_change_len: usize,
) -> Status {
    guard(|| {
        let mut projection = unsafe { take(projection) }?;
        let inner = unsafe { read(problem) }?;
        let violation = unsafe { slice(violation, violation_len, "violation") }?;
        disjoint((violation, "violation"), (out_change, out_change_len, "out_change"))?;
        let change = unsafe { slice_mut(out_change, out_change_len, "out_change") }?;
        projection.correct(&inner.problem, violation, change)
    })
}

/// Compute the change of velocities of least kinetic energy that makes J v = target: add it to the velocities.
///
/// problem: a Jacobian problem; every row counts as bilateral and rows may be redundant. velocities: six per body, linear
/// (m/s) then angular (rad/s). target: one per row, or NULL with length 0 for zeros. out_change: six per body. Returns
/// INVALID_STATE for a dense or CSR problem, INVALID_SIZE, INVALID_VALUE. Allocates only on first use at a size. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_projection_correct_velocities(
    projection: *mut mlcp_projection,
    problem: *const mlcp_problem,
    velocities: *const f64,
    velocities_len: usize,
    target: *const f64,
    target_len: usize,
    out_change: *mut f64,
    out_change_len: usize,
) -> Status {
    guard(|| {
        let mut projection = unsafe { take(projection) }?;
        let inner = unsafe { read(problem) }?;
        let velocities = unsafe { slice(velocities, velocities_len, "velocities") }?;
        let target = unsafe { optional(target, target_len, "target") }?;
        expect_len("out_change", out_change_len, 6 * inner.problem.bodies())?;
        for (name, read) in [("velocities", velocities), ("target", target.unwrap_or(&[]))] {
            disjoint((read, name), (out_change, out_change_len, "out_change"))?;
        }
        let change = unsafe { slice_mut(out_change, out_change_len, "out_change") }?;
        projection.velocity_change(&inner.problem, velocities, target, change)
    })
}
