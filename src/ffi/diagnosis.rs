//! `mlcp_diagnosis`: which constraints are too many, and what to do about it.

use super::guard::{disjoint, expect_len, guard, optional, out, slice_mut};
use super::handle::{Exclusive, Handle};
use super::problem::{impulses, mlcp_problem, read};
use super::types::check_struct_size;
use crate::error::{Error, Result, Status};
use crate::mechanism::{Compliance, Diagnosis, Findings};
use std::mem::size_of;

/// Diagnosis of a problem's constraints, with its memory. It serves one thread at a time.
pub struct mlcp_diagnosis(Handle<Diagnosis>);

/// Findings of mlcp_problem_diagnose about the rows it looked at.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_findings {
    /// Size of this struct in bytes, set by mlcp_findings_init.
    pub struct_size: usize,
    /// Rows of the problem.
    pub rows: usize,
    /// Rows looked at: bilateral, or active at the given x.
    pub considered: usize,
    /// Number of considered rows that are independent.
    pub rank: usize,
    /// Number of redundant rows, considered - rank.
    pub redundant: usize,
    /// Flag, 1: all rows can hold at once; 0: b contradicts itself.
    pub is_consistent: i32,
    /// Always 0.
    pub reserved: i32,
    /// Tolerance used, no unit.
    pub tolerance: f64,
    /// Least part that was left of a kept row after the rows before it, no unit; 1: all of it. Near the tolerance: a
    /// close call.
    pub closest_kept: f64,
    /// Largest part that was left of a redundant row, no unit.
    pub farthest_dropped: f64,
    /// Condition of the kept rows' A scaled to unit diagonal; beyond 80 rows a sharp estimate from below.
    pub condition: f64,
    /// Energy of the part of b that no motion of the bodies can undo, in joules.
    pub contradiction: f64,
}

impl From<&Findings> for mlcp_findings {
    fn from(f: &Findings) -> Self {
        mlcp_findings {
            struct_size: size_of::<mlcp_findings>(),
            rows: f.rows,
            considered: f.considered,
            rank: f.rank,
            redundant: f.redundant,
            is_consistent: i32::from(f.is_consistent),
            reserved: 0,
            tolerance: f.tolerance,
            closest_kept: f.closest_kept,
            farthest_dropped: f.farthest_dropped,
            condition: f.condition,
            contradiction: f.contradiction,
        }
    }
}

unsafe fn take<'a>(diagnosis: *const mlcp_diagnosis) -> Result<Exclusive<'a, Diagnosis>> {
    match unsafe { diagnosis.as_ref() } {
        Some(diagnosis) => diagnosis.0.exclusive("diagnosis"),
        None => Err(Error::new(Status::NullArgument, format_args!("diagnosis is NULL"))),
    }
}

/// Prepare findings to be filled by mlcp_problem_diagnose.
///
/// struct_size: pass sizeof(mlcp_findings). Returns INVALID_SIZE for a size this library does not know. Any thread;
/// allocates nothing. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_findings_init(findings: *mut mlcp_findings, struct_size: usize) -> Status {
    guard(|| {
        let findings = unsafe { out(findings, "findings") }?;
        check_struct_size::<mlcp_findings>("struct_size", struct_size)?;
        *findings = mlcp_findings::from(&Findings::default());
        Ok(())
    })
}

/// Create an empty diagnosis.
///
/// out_diagnosis: receives the handle, to be given to mlcp_diagnosis_destroy. Any thread. Allocates. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_diagnosis_create(out_diagnosis: *mut *mut mlcp_diagnosis) -> Status {
    guard(|| {
        let out_diagnosis = unsafe { out(out_diagnosis, "out_diagnosis") }?;
        *out_diagnosis = Box::into_raw(Box::new(mlcp_diagnosis(Handle::new(Diagnosis::new()))));
        Ok(())
    })
}

/// Destroy a diagnosis; NULL is ignored. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_diagnosis_destroy(diagnosis: *mut mlcp_diagnosis) {
    unsafe { super::solver::destroy(diagnosis, |d| &d.0, "diagnosis") }
}

/// Find out which rows of a problem are redundant, and whether they contradict each other.
///
/// Rows are compared on one scale, each over the root of its effective mass, so neither units nor the scaling of rows
/// matter. Earlier rows are kept, later ones that depend on them are redundant: put joints you trust first. Best with
/// Jacobian rows (less than a second for 5,000 of them); a dense or CSR matrix tells distances only to the root of
/// round-off. closest_kept and farthest_dropped tell whether the verdict is clear. Compliance of Jacobian rows is left
/// aside. x: NULL with length 0 to look at the bilateral rows; or one impulse per row, to look at the rows active
/// there, lo < x < hi. tolerance: what may be left of a redundant row, in [0, 1); 0: 1e-6. diagnosis: receives the
/// result, for mlcp_diagnosis_get_... out_findings: initialised by mlcp_findings_init, or NULL. Returns UNSUPPORTED (A
/// is not symmetric), INVALID_SIZE, INVALID_VALUE, INVALID_STATE. Allocates. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_problem_diagnose(
    problem: *const mlcp_problem,
    x: *const f64,
    x_len: usize,
    tolerance: f64,
    diagnosis: *mut mlcp_diagnosis,
    out_findings: *mut mlcp_findings,
) -> Status {
    guard(|| {
        let inner = unsafe { read(problem) }?;
        let mut diagnosis = unsafe { take(diagnosis) }?;
        let x = match unsafe { optional(x, x_len, "x") }? {
            Some(_) => Some(unsafe { impulses(x, x_len, inner.problem.len()) }?),
            None => None,
        };
        let out_findings = match out_findings.is_null() {
            true => None,
            false => Some(unsafe { out(out_findings, "out_findings") }?),
        };
        if let Some(findings) = &out_findings {
            check_struct_size::<mlcp_findings>("out_findings.struct_size", findings.struct_size)?;
        }
        let found = diagnosis.run(&inner.problem, x, tolerance)?;
        if let Some(findings) = out_findings {
            *findings = mlcp_findings::from(&found);
        }
        Ok(())
    })
}

/// Read the role of every row: an mlcp_row_role each.
///
/// out_roles: one per row of the problem diagnosed. Returns INVALID_SIZE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_diagnosis_get_roles(
    diagnosis: *const mlcp_diagnosis,
    out_roles: *mut i32,
    out_roles_len: usize,
) -> Status {
    guard(|| {
        let diagnosis = unsafe { take(diagnosis) }?;
        expect_len("out_roles", out_roles_len, diagnosis.roles().len())?;
        let out_roles = unsafe { slice_mut(out_roles, out_roles_len, "out_roles") }?;
        out_roles.iter_mut().zip(diagnosis.roles()).for_each(|(out, role)| *out = *role as i32);
        Ok(())
    })
}

/// Find the rows that a redundant row depends on: J_row = sum of coefficient times J_j over kept rows j before it.
///
/// A row that is not redundant, or that acts on nothing that can move, depends on none. out_rows, out_coefficients: any
/// number of entries, equal in length. out_count: receives the number of rows; call again with longer buffers if it
/// exceeds theirs. Returns INVALID_INDEX (row), INVALID_SIZE. Allocates. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_diagnosis_get_dependency(
    diagnosis: *mut mlcp_diagnosis,
    row: usize,
    out_rows: *mut i32,
    out_rows_len: usize,
    out_coefficients: *mut f64,
    out_coefficients_len: usize,
    out_count: *mut usize,
) -> Status {
    guard(|| {
        let mut diagnosis = unsafe { take(diagnosis) }?;
        expect_len("out_coefficients", out_coefficients_len, out_rows_len)?;
        let rows = unsafe { slice_mut(out_rows, out_rows_len, "out_rows") }?;
        let coefficients = unsafe { slice_mut(out_coefficients, out_coefficients_len, "out_coefficients") }?;
        let out_count = unsafe { out(out_count, "out_count") }?;
        let found = diagnosis.dependency(row)?;
        *out_count = found.len();
        for ((row, coefficient), (j, c)) in rows.iter_mut().zip(coefficients).zip(found) {
            (*row, *coefficient) = (j as i32, c);
        }
        Ok(())
    })
}

/// Read the velocity by which each row of b contradicts the others, in m/s or rad/s; 0 everywhere if the rows agree.
///
/// The contradiction is shared out so that its energy is least. out_conflict: one per row. Returns INVALID_SIZE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_diagnosis_get_conflict(
    diagnosis: *const mlcp_diagnosis,
    out_conflict: *mut f64,
    out_conflict_len: usize,
) -> Status {
    guard(|| {
        let diagnosis = unsafe { take(diagnosis) }?;
        expect_len("out_conflict", out_conflict_len, diagnosis.conflict().len())?;
        let out_conflict = unsafe { slice_mut(out_conflict, out_conflict_len, "out_conflict") }?;
        out_conflict.copy_from_slice(diagnosis.conflict());
        Ok(())
    })
}

/// Compute a compliance for mlcp_problem_set_jacobian that cures the redundancy: `relative` over the effective mass of
/// each row that takes part in a dependency, 0 for the other rows.
///
/// relative: > 0, no unit; with 1e-6 a row yields by a millionth of the velocity it takes away. out_compliance: one per
/// row. Returns INVALID_SIZE, INVALID_VALUE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_diagnosis_get_compliance(
    diagnosis: *const mlcp_diagnosis,
    relative: f64,
    out_compliance: *mut f64,
    out_compliance_len: usize,
) -> Status {
    guard(|| {
        let diagnosis = unsafe { take(diagnosis) }?;
        expect_len("out_compliance", out_compliance_len, diagnosis.roles().len())?;
        let out_compliance = unsafe { slice_mut(out_compliance, out_compliance_len, "out_compliance") }?;
        diagnosis.suggest_compliance(relative, out_compliance)
    })
}

/// Spread impulses over redundant bilateral rows: the least impulses (sum of a_ii x_i^2) that move the bodies as x does.
///
/// Rows that were not looked at keep their impulses. x, out_x: one per row; may be the same buffer. Returns
/// INVALID_STATE if the diagnosis was made at an x, INVALID_SIZE, INVALID_VALUE. Allocates. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_diagnosis_spread_impulses(
    diagnosis: *mut mlcp_diagnosis,
    x: *const f64,
    x_len: usize,
    out_x: *mut f64,
    out_x_len: usize,
) -> Status {
    guard(|| {
        let mut diagnosis = unsafe { take(diagnosis) }?;
        let n = diagnosis.roles().len();
        let x = unsafe { impulses(x, x_len, n) }?;
        expect_len("out_x", out_x_len, n)?;
        if !std::ptr::eq(x.as_ptr(), out_x) {
            disjoint((x, "x"), (out_x, out_x_len, "out_x"))?;
        }
        let mut spread = x.to_vec();
        diagnosis.least_impulses(&mut spread)?;
        unsafe { slice_mut(out_x, out_x_len, "out_x") }?.copy_from_slice(&spread);
        Ok(())
    })
}

/// Compute what makes a row an implicit spring and damper: x = -h (k phi_next + d w).
///
/// stiffness: k >= 0 in N/m or N m/rad; infinite: rigid. damping: d >= 0 in N s/m or N m s/rad. h: step, s, > 0.
/// out_compliance: receives 1/(h (h k + d)), velocity per impulse, for mlcp_problem_set_jacobian. out_share: receives
/// h k / (h k + d); multiply the row's violation by it before mlcp_problem_set_motion. Returns INVALID_VALUE. Any thread;
/// allocates nothing. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_spring_compliance(
    stiffness: f64,
    damping: f64,
    h: f64,
    out_compliance: *mut f64,
    out_share: *mut f64,
) -> Status {
    guard(|| {
        let compliance = unsafe { out(out_compliance, "out_compliance") }?;
        disjoint((std::slice::from_ref(compliance), "out_compliance"), (out_share, 1, "out_share"))?;
        let share = unsafe { out(out_share, "out_share") }?;
        let spring = Compliance::new(stiffness, damping, h)?;
        (*compliance, *share) = (spring.compliance, spring.share);
        Ok(())
    })
}
