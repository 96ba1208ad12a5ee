//! `mlcp_problem`: one step's problem, refilled every step.

use super::guard::{disjoint, expect_len, guard, optional, out, slice, slice_mut};
use super::handle::{Exclusive, Handle, Shared};
use crate::error::{Error, Result, Status};
use crate::metrics::{check_diagonal, exact_diagonal, ExactMassWorkspace, Measure, Point};
use crate::problem::{FrictionMode, Problem, Triangle};
use std::sync::Mutex;

/// Problem of one step: find x and w with w = A x + b, lo <= x <= hi, and w complementary (w >= 0 at lo, <= 0 at hi, 0
/// between). Units are the caller's: with impulses in N s and velocities in m/s all energies are joules.
///
/// Refill it every step: a set_dense, set_csr or set_jacobian starts a new problem with b = 0, all rows free and no
/// friction. Memory is kept, so a refill no larger than an earlier one allocates nothing. A call that fails leaves the
/// problem as it was. Threads may read and solve one problem at the same time; changing it meanwhile answers BUSY.
pub struct mlcp_problem(pub(super) Handle<Inner>);

pub(super) struct Inner {
    pub problem: Problem,
    scratch: Mutex<Scratch>,
}

/// Memory for measuring through the handle, shared by readers.
#[derive(Default)]
struct Scratch {
    bodies: Vec<f64>,
    w: Vec<f64>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    diagonal: Vec<f64>,
    exact: ExactMassWorkspace,
}

/// Take a problem handle to read it.
pub(super) unsafe fn read<'a>(problem: *const mlcp_problem) -> Result<Shared<'a, Inner>> {
    match unsafe { problem.as_ref() } {
        Some(problem) => problem.0.shared("problem"),
        None => Err(Error::new(Status::NullArgument, format_args!("problem is NULL"))),
    }
}

/// Take a problem handle to change it.
pub(super) unsafe fn take<'a>(problem: *mut mlcp_problem) -> Result<Exclusive<'a, Inner>> {
    match unsafe { problem.as_ref() } {
        Some(problem) => problem.0.exclusive("problem"),
        None => Err(Error::new(Status::NullArgument, format_args!("problem is NULL"))),
    }
}

/// Run `change` on a problem held exclusively.
pub(super) unsafe fn change(problem: *mut mlcp_problem, change: impl FnOnce(&mut Problem) -> Result<()>) -> Status {
    guard(|| change(&mut unsafe { take(problem) }?.problem))
}

/// Create an empty problem.
///
/// out_problem: receives the handle, to be given to mlcp_problem_destroy. Any thread. Allocates the handle. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_create(out_problem: *mut *mut mlcp_problem) -> Status {
    guard(|| {
        let out_problem = unsafe { out(out_problem, "out_problem") }?;
        let inner = Inner { problem: Problem::new(), scratch: Mutex::default() };
        *out_problem = Box::into_raw(Box::new(mlcp_problem(Handle::new(inner))));
        Ok(())
    })
}

/// Destroy a problem; NULL is ignored.
///
/// A problem that is being solved is not destroyed; mlcp_last_error then says so. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_destroy(problem: *mut mlcp_problem) {
    unsafe { super::solver::destroy(problem, |p| &p.0, "problem") }
}

/// Take memory for Jacobian problems of up to `rows` rows on `bodies` bodies, so that no refill up to that size
/// allocates. Optional: refills grow the memory by themselves.
///
/// Returns OUT_OF_MEMORY or INVALID_SIZE if so large a memory cannot be had. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_reserve(problem: *mut mlcp_problem, rows: usize, bodies: usize) -> Status {
    unsafe { change(problem, |p| p.reserve(rows, bodies)) }
}

/// Start a problem with a dense matrix A of n rows.
///
/// a: row i begins at a[i * row_stride] and has n entries; a_len counts doubles and must reach the last entry. With
/// MLCP_TRIANGLE_LOWER only entries j <= i are read and mirrored, as ODE fills its matrices; with MLCP_TRIANGLE_FULL all
/// are read, and A need not be symmetric for solvers that allow it. Entries must be finite. The data are copied.
/// Returns INVALID_SIZE, INVALID_VALUE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_set_dense(
    problem: *mut mlcp_problem,
    n: usize,
    a: *const f64,
    a_len: usize,
    row_stride: usize,
    triangle: i32,
) -> Status {
    unsafe {
        change(problem, |p| {
            let triangle = match triangle {
                0 => Triangle::Full,
                1 => Triangle::Lower,
                t => return Err(Error::new(Status::InvalidValue, format_args!("triangle is {t}, which names none"))),
            };
            p.set_dense(n, slice(a, a_len, "a")?, row_stride, triangle)
        })
    }
}

/// Start a problem with a sparse matrix A of n rows in compressed row storage.
///
/// row_start: n + 1 offsets, the first 0, the last equal to the number of entries. columns, values: one per entry;
/// columns rise strictly within each row, from 0. The lower and the upper triangle must be stored. Values must be
/// finite. Copied. Returns INVALID_SIZE, INVALID_INDEX, INVALID_VALUE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_set_csr(
    problem: *mut mlcp_problem,
    n: usize,
    row_start: *const i32,
    row_start_len: usize,
    columns: *const i32,
    columns_len: usize,
    values: *const f64,
    values_len: usize,
) -> Status {
    unsafe {
        change(problem, |p| {
            let row_start = slice(row_start, row_start_len, "row_start")?;
            let columns = slice(columns, columns_len, "columns")?;
            p.set_csr(n, row_start, columns, slice(values, values_len, "values")?)
        })
    }
}

/// Start a problem with two-body constraint rows: A = J M^-1 J^T + C, never formed.
///
/// inverse_mass: 12 doubles per body: three inverse masses (1/kg, one per world axis), then the inverse inertia in world
/// axes, 3 by 3 by rows (1/(kg m^2)), symmetric positive semidefinite; zeros for an immovable body.
/// jacobian: 12 doubles per row: linear and angular part on the first body, then on the second.
/// bodies: two body numbers per row, -1 for the world. compliance: C, one per row, >= 0 (velocity per impulse; a spring of
/// stiffness k gives 1/(k h^2), a CFM in ODE's sense cfm/h); NULL with length 0 for none. All finite; copied.
/// Returns INVALID_SIZE, INVALID_INDEX, INVALID_VALUE (also where a_ii = J M^-1 J^T + C of a row overflows). Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_set_jacobian(
    problem: *mut mlcp_problem,
    inverse_mass: *const f64,
    inverse_mass_len: usize,
    jacobian: *const f64,
    jacobian_len: usize,
    bodies: *const i32,
    bodies_len: usize,
    compliance: *const f64,
    compliance_len: usize,
) -> Status {
    unsafe {
        change(problem, |p| {
            let inverse_mass = slice(inverse_mass, inverse_mass_len, "inverse_mass")?;
            let jacobian = slice(jacobian, jacobian_len, "jacobian")?;
            let bodies = slice(bodies, bodies_len, "bodies")?;
            p.set_jacobian(inverse_mass, jacobian, bodies, optional(compliance, compliance_len, "compliance")?)
        })
    }
}

/// Set b of w = A x + b: the rows' velocities (m/s, rad/s) without any impulse. Engines that write A x = b + w (Bullet,
/// ODE, DART) pass -b.
///
/// b: one finite double per row; copied. Returns INVALID_SIZE, INVALID_VALUE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_set_b(problem: *mut mlcp_problem, b: *const f64, b_len: usize) -> Status {
    unsafe { change(problem, |p| p.set_b(slice(b, b_len, "b")?)) }
}

/// Set b of a Jacobian problem from the bodies' motion: b = J (v + h M^-1 f) + violation / h.
///
/// h: step in seconds, > 0. velocities: six per body, linear (m/s) then angular (rad/s), at the beginning of the step.
/// forces: six per body, force (N) then torque (N m), gravity included; NULL with length 0 for none. violation: one per
/// row, the constraint's value (m, rad; negative: penetration), of which each step removes all: scale it to remove less;
/// NULL with length 0 for none. Returns INVALID_STATE for a dense or CSR problem, INVALID_SIZE, INVALID_VALUE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_set_motion(
    problem: *mut mlcp_problem,
    h: f64,
    velocities: *const f64,
    velocities_len: usize,
    forces: *const f64,
    forces_len: usize,
    violation: *const f64,
    violation_len: usize,
) -> Status {
    unsafe {
        change(problem, |p| {
            let velocities = slice(velocities, velocities_len, "velocities")?;
            let forces = optional(forces, forces_len, "forces")?;
            p.set_motion(h, velocities, forces, optional(violation, violation_len, "violation")?)
        })
    }
}

/// Set the bounds lo <= x <= hi (N s, N m s).
///
/// Only an infinite bound (INFINITY, HUGE_VAL) is absent: translate your engine's number for it, such as Bullet's 1e10
/// and FLT_MAX. Finite bounds of any size hold. lo and hi infinite: a joint; lo = hi: a fixed row, any w is right; a
/// new problem has only free rows. On a friction row the bounds must contain 0 and cap the coupled ones. Copied.
/// Returns INVALID_SIZE, INVALID_VALUE (NaN, lo = +inf, hi = -inf, lo > hi, or finite bounds whose distance hi - lo
/// overflows). Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_set_bounds(
    problem: *mut mlcp_problem,
    lo: *const f64,
    lo_len: usize,
    hi: *const f64,
    hi_len: usize,
) -> Status {
    unsafe { change(problem, |p| p.set_bounds(slice(lo, lo_len, "lo")?, slice(hi, hi_len, "hi")?)) }
}

/// Couple friction rows to normal rows: |x_i| <= mu_i max(x_f, 0) with f = findex[i].
///
/// findex: per row its normal row, or -1 (or the row itself) for none; rows in any order; a normal row may not be a
/// friction row. mu: >= 0, +inf allowed; read on friction rows only. mode: MLCP_FRICTION_MODE_COUPLED, bounds follow
/// the impulses, and errors are measured with the bounds evaluated at the x measured; or MLCP_FRICTION_MODE_FROZEN,
/// bounds are evaluated once at the impulses given to mlcp_problem_set_frozen_normals. Copied. Returns INVALID_SIZE,
/// INVALID_INDEX, INVALID_VALUE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_set_friction(
    problem: *mut mlcp_problem,
    findex: *const i32,
    findex_len: usize,
    mu: *const f64,
    mu_len: usize,
    mode: i32,
) -> Status {
    unsafe {
        change(problem, |p| {
            let mode = match mode {
                0 => FrictionMode::Coupled,
                1 => FrictionMode::Frozen,
                m => return Err(Error::new(Status::InvalidValue, format_args!("mode is {m}, which names none"))),
            };
            p.set_friction(slice(findex, findex_len, "findex")?, slice(mu, mu_len, "mu")?, mode)
        })
    }
}

/// Declare contacts with exact Coulomb friction: |x_t| <= mu max(x_n, 0) for the two tangent rows t together, w_t opposing
/// x_t at the rim of that disc and zero inside; x_n is complementary with its own w_n. Bounds follow the impulses.
///
/// rows: three row numbers per contact: the normal row, with lo >= 0 (call mlcp_problem_set_bounds first), and two
/// tangent rows at right angles, without bounds of their own; no row twice. mu: one per contact, >= 0, +inf allowed:
/// the tangents are then free while the contact is closed. Replaces all earlier cones; rows_len and mu_len 0 for none.
/// Rows coupled by mlcp_problem_set_friction stay coupled and may hang on a cone's normal row, but cannot be in a cone.
/// The two tangent rows of a contact have one error, reported on the first of them. Solved by MLCP_SOLVER_KIND_AUTO,
/// PROX, PROX_GS and ALART_CURNIER. Copied. Returns INVALID_SIZE, INVALID_INDEX, INVALID_VALUE, INVALID_STATE (a
/// friction row). Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_set_cones(
    problem: *mut mlcp_problem,
    rows: *const i32,
    rows_len: usize,
    mu: *const f64,
    mu_len: usize,
) -> Status {
    unsafe { change(problem, |p| p.set_cones(slice(rows, rows_len, "rows")?, slice(mu, mu_len, "mu")?)) }
}

/// Give the normal impulses at which frozen friction bounds are evaluated, for example last step's;
/// mlcp_solver_freeze_friction finds them as ODE's and Bullet's Dantzig solvers do.
///
/// x: one finite double per row, of which normal rows are read. Returns INVALID_STATE if friction is coupled,
/// INVALID_SIZE, INVALID_VALUE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_set_frozen_normals(
    problem: *mut mlcp_problem,
    x: *const f64,
    x_len: usize,
) -> Status {
    unsafe { change(problem, |p| p.set_frozen_normals(slice(x, x_len, "x")?)) }
}

/// Number of rows; 0 for NULL or a problem that is being changed. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_rows(problem: *const mlcp_problem) -> usize {
    let mut rows = 0;
    guard(|| {
        rows = unsafe { read(problem) }?.problem.len();
        Ok(())
    });
    rows
}

/// Read the diagonal of A, one entry per row: inverse effective masses, 1/kg or 1/(kg m^2).
///
/// out_diagonal: exactly one double per row. Returns INVALID_SIZE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_get_diagonal(
    problem: *const mlcp_problem,
    out_diagonal: *mut f64,
    out_diagonal_len: usize,
) -> Status {
    guard(|| {
        let inner = unsafe { read(problem) }?;
        expect_len("out_diagonal", out_diagonal_len, inner.problem.len())?;
        unsafe { slice_mut(out_diagonal, out_diagonal_len, "out_diagonal") }?.copy_from_slice(inner.problem.diagonal());
        Ok(())
    })
}

/// Compute the bounds in force when the impulses are x, friction evaluated; on a cone's tangent rows minus and plus the
/// radius.
///
/// x, out_lo, out_hi: one double per row. Returns INVALID_SIZE, INVALID_VALUE, INVALID_STATE (frozen friction without
/// normals). Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_get_bounds(
    problem: *const mlcp_problem,
    x: *const f64,
    x_len: usize,
    out_lo: *mut f64,
    out_lo_len: usize,
    out_hi: *mut f64,
    out_hi_len: usize,
) -> Status {
    guard(|| {
        let inner = unsafe { read(problem) }?;
        let n = inner.problem.len();
        let x = unsafe { impulses(x, x_len, n) }?;
        inner.problem.check_ready()?;
        expect_len("out_lo", out_lo_len, n)?;
        expect_len("out_hi", out_hi_len, n)?;
        disjoint((x, "x"), (out_lo, out_lo_len, "out_lo"))?;
        disjoint((x, "x"), (out_hi, out_hi_len, "out_hi"))?;
        let out_lo = unsafe { slice_mut(out_lo, out_lo_len, "out_lo") }?;
        disjoint((out_lo, "out_lo"), (out_hi, out_hi_len, "out_hi"))?;
        let out_hi = unsafe { slice_mut(out_hi, out_hi_len, "out_hi") }?;
        inner.problem.bounds_at(x, out_lo, out_hi);
        Ok(())
    })
}

/// Compute w = A x + b, in m/s or rad/s.
///
/// x, out_w: one double per row, not overlapping. Returns INVALID_SIZE, INVALID_VALUE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_get_w(
    problem: *const mlcp_problem,
    x: *const f64,
    x_len: usize,
    out_w: *mut f64,
    out_w_len: usize,
) -> Status {
    guard(|| {
        let inner = unsafe { read(problem) }?;
        let n = inner.problem.len();
        let x = unsafe { impulses(x, x_len, n) }?;
        expect_len("out_w", out_w_len, n)?;
        disjoint((x, "x"), (out_w, out_w_len, "out_w"))?;
        let out_w = unsafe { slice_mut(out_w, out_w_len, "out_w") }?;
        let mut scratch = inner.lock();
        inner.problem.multiply(x, out_w, &mut scratch.bodies)
    })
}

/// Compute the velocity changes of the bodies, M^-1 J^T x: add them to the velocities after a solve.
///
/// x: one double per row. out_velocity_change: six per body, linear (m/s) then angular (rad/s). Returns INVALID_STATE
/// for a dense or CSR problem, INVALID_SIZE, INVALID_VALUE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_get_velocity_change(
    problem: *const mlcp_problem,
    x: *const f64,
    x_len: usize,
    out_velocity_change: *mut f64,
    out_velocity_change_len: usize,
) -> Status {
    guard(|| {
        let inner = unsafe { read(problem) }?;
        let x = unsafe { impulses(x, x_len, inner.problem.len()) }?;
        disjoint((x, "x"), (out_velocity_change, out_velocity_change_len, "out_velocity_change"))?;
        let change = unsafe { slice_mut(out_velocity_change, out_velocity_change_len, "out_velocity_change") }?;
        let mut scratch = inner.lock();
        inner.problem.velocity_change(x, change, &mut scratch.bodies)
    })
}

/// Measure how wrong x is, for any x: this library's, another solver's, or a guess.
///
/// w = A x + b is computed here; friction bounds are evaluated at x, or frozen. measure: an mlcp_measure; energies and
/// the duality gap are joules, the others mix units. out_row_errors: one double per row, or NULL with length 0.
/// out_total: receives the sum. Returns NO_ENERGY (an energy with a_ii <= 0 in a row), SINGULAR (exact mass),
/// INVALID_SIZE, INVALID_VALUE, INVALID_STATE. Allocates only on first use at a size. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_measure(
    problem: *const mlcp_problem,
    measure: i32,
    x: *const f64,
    x_len: usize,
    out_row_errors: *mut f64,
    out_row_errors_len: usize,
    out_total: *mut f64,
) -> Status {
    guard(|| {
        let inner = unsafe { read(problem) }?;
        let n = inner.problem.len();
        let x = unsafe { impulses(x, x_len, n) }?;
        let measure = Measure::from_number(measure)
            .ok_or_else(|| Error::new(Status::InvalidValue, format_args!("measure is {measure}, which names none")))?;
        disjoint((x, "x"), (out_total, 1, "out_total"))?;
        let wants_rows = !(out_row_errors.is_null() && out_row_errors_len == 0);
        if wants_rows {
            expect_len("out_row_errors", out_row_errors_len, n)?;
            disjoint((x, "x"), (out_row_errors, out_row_errors_len, "out_row_errors"))?;
        }
        let rows = unsafe { slice_mut(out_row_errors, out_row_errors_len, "out_row_errors") }?;
        disjoint((rows, "out_row_errors"), (out_total, 1, "out_total"))?;
        let out_total = unsafe { out(out_total, "out_total") }?;
        let mut scratch = inner.lock();
        let at = scratch.measure_at(&inner.problem, measure, x)?;
        *out_total = measure.total(&at);
        at.rows(measure, rows);
        Ok(())
    })
}

/// Tell whether x obeys the problem: every impulse is within its bounds, bit for bit.
///
/// Friction rows must be within the bounds evaluated at x, or within the frozen ones; a cone's tangents within its
/// disc, t1*t1 + t2*t2 <= (mu*n)*(mu*n) in doubles, squares rounded one by one. An x returned by mlcp_solver_solve
/// always obeys. An x with NaN does not; x need not be finite. out_contains: receives 1 or 0. Returns NULL_ARGUMENT,
/// INVALID_SIZE, INVALID_STATE (frozen friction without normals). Any thread; allocates nothing. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_contains(
    problem: *const mlcp_problem,
    x: *const f64,
    x_len: usize,
    out_contains: *mut i32,
) -> Status {
    guard(|| {
        let inner = unsafe { read(problem) }?;
        expect_len("x", x_len, inner.problem.len())?;
        let x = unsafe { slice(x, x_len, "x") }?;
        disjoint((x, "x"), (out_contains.cast(), 1, "out_contains"))?;
        let out_contains = unsafe { out(out_contains, "out_contains") }?;
        inner.problem.check_ready()?;
        *out_contains = i32::from(inner.problem.contains(x));
        Ok(())
    })
}

/// One finite impulse per row.
pub(super) unsafe fn impulses<'a>(x: *const f64, x_len: usize, n: usize) -> Result<&'a [f64]> {
    expect_len("x", x_len, n)?;
    let x = unsafe { slice(x, x_len, "x") }?;
    match x.iter().position(|v| !v.is_finite()) {
        None => Ok(x),
        Some(i) => Err(Error::new(Status::InvalidValue, format_args!("x[{i}] is {}, it must be finite", x[i]))),
    }
}

impl Inner {
    /// The scratch; a poisoned lock only means another reader panicked, and scratch has no invariants.
    fn lock(&self) -> std::sync::MutexGuard<'_, Scratch> {
        self.scratch.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Scratch {
    fn measure_at<'a>(&'a mut self, problem: &'a Problem, measure: Measure, x: &'a [f64]) -> Result<Point<'a>> {
        let n = problem.len();
        problem.check_ready()?;
        if measure.needs_diagonal() {
            check_diagonal(problem.diagonal())?;
        }
        for v in [&mut self.w, &mut self.lo, &mut self.hi, &mut self.diagonal] {
            crate::memory::refill(v, n, 0.0)?;
        }
        problem.multiply(x, &mut self.w, &mut self.bodies)?;
        problem.bounds_at(x, &mut self.lo, &mut self.hi);
        let diagonal = if measure == Measure::EnergyExactMass {
            exact_diagonal(problem, &mut self.exact, &mut self.diagonal)?;
            &self.diagonal
        } else {
            problem.diagonal()
        };
        Ok(Point { diagonal, x, w: &self.w, lo: &self.lo, hi: &self.hi, cones: problem.cones() })
    }
}
