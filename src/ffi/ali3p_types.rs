//! Structs of the ALI3-P stepper that cross the boundary: the model, its settings, what a step did.

use super::guard::{guard, out};
use super::types::{check_struct_size, count};
use crate::error::{Error, Result, Status};
use crate::mechanism::ali3p::{StepError, StepReport, StepSettings};
use libc::c_void;
use std::mem::size_of;

/// Function that evaluates a part of a model at time t (s), positions q and velocities v: it writes out_len numbers,
/// which are zero before.
///
/// q and v have one number per coordinate and are valid during the call only. A non-zero answer gives up the step; the
/// stepper stays unchanged. It runs on the stepping thread and must neither throw nor longjmp. Calls on the stepper
/// itself answer MLCP_STATUS_BUSY.
pub type mlcp_evaluate = Option<
    unsafe extern "C" fn(
        t: f64,
        q: *const f64,
        v: *const f64,
        out_values: *mut f64,
        out_len: usize,
        user_data: *mut c_void,
    ) -> i32,
>;

/// Function that evaluates the contacts of a model at time t (s) and positions q. A non-zero answer gives up the step,
/// as for mlcp_evaluate.
///
/// out_gap: one distance per contact, m, closed at <= 0; infinity (open) before. out_normal: per contact the
/// gap's derivative, one number per coordinate. out_tangent: per contact two such rows, at right angles and equally
/// scaled, that give the sliding velocity; one or two of them may stay zero. out_friction: one coefficient per contact.
/// Rows and coefficients are zero before the call.
pub type mlcp_evaluate_contacts = Option<
    unsafe extern "C" fn(
        t: f64,
        q: *const f64,
        out_gap: *mut f64,
        out_normal: *mut f64,
        out_tangent: *mut f64,
        out_friction: *mut f64,
        contacts: usize,
        coordinates: usize,
        user_data: *mut c_void,
    ) -> i32,
>;

/// Sparse matrix of a model. All NULL and 0: zero. Without `evaluate` it is constant and `values` are given; with it
/// `values` is NULL and evaluate writes one number per column listed. Copied by mlcp_ali3p_create.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_model_matrix {
    /// Offsets of the rows, rows + 1 of them, the first 0; NULL for a zero matrix.
    pub row_start: *const i32,
    /// Length of row_start.
    pub row_start_len: usize,
    /// Column of every entry, rising within each row.
    pub columns: *const i32,
    /// Length of columns.
    pub columns_len: usize,
    /// Constant entries, as many as columns; NULL if they are evaluated.
    pub values: *const f64,
    /// Length of values.
    pub values_len: usize,
    /// Writes the entries; NULL if they are constant.
    pub evaluate: mlcp_evaluate,
}

/// Vector of a model. All NULL and 0: zero. Without `evaluate` it is constant. Copied by mlcp_ali3p_create.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_model_vector {
    /// Constant numbers; NULL if they are evaluated or zero.
    pub values: *const f64,
    /// Length of values.
    pub values_len: usize,
    /// Writes the numbers; NULL if they are constant or zero.
    pub evaluate: mlcp_evaluate,
}

/// Model of a mechanism in dependent coordinates: M q'' + Phi_q^T lambda = Q, Phi(q, t) = 0; Phi may be redundant.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_ali3p_model {
    /// Size of this struct in bytes, set by mlcp_ali3p_model_init.
    pub struct_size: usize,
    /// Number of coordinates, n.
    pub coordinates: usize,
    /// Number of constraints, m.
    pub constraints: usize,
    /// Passed to every evaluate function and never read; must live as long as the stepper.
    pub user_data: *mut c_void,
    /// M, n by n, symmetric; the lower and the upper triangle are given.
    pub mass: mlcp_model_matrix,
    /// K = -dQ/dq, n by n; may be an approximation, or zero.
    pub stiffness: mlcp_model_matrix,
    /// C = -dQ/dv, n by n; may be an approximation, or zero.
    pub damping: mlcp_model_matrix,
    /// Phi_q, m by n.
    pub jacobian: mlcp_model_matrix,
    /// Q, all forces, velocity-dependent inertia included; n numbers.
    pub forces: mlcp_model_vector,
    /// Phi; m numbers.
    pub constraint: mlcp_model_vector,
    /// Phi_t, the partial derivative to time; m numbers; zero unless constraints depend on time.
    pub constraint_rate: mlcp_model_vector,
    /// The second time derivative of Phi without Phi_q q'', d(Phi_q)/dt v + d(Phi_t)/dt; m numbers.
    pub constraint_acceleration: mlcp_model_vector,
    /// Potential energy, J, one number, for the report only; may be left zero.
    pub potential: mlcp_model_vector,
    /// Contacts that may close, solved as an MLCP at the end of each step; 0: none, or all of them forces in Q.
    pub contacts: usize,
    /// Function that writes the contacts; NULL if there are none.
    pub evaluate_contacts: mlcp_evaluate_contacts,
}

/// Settings of a stepper. Fill the struct with mlcp_ali3p_settings_init, then change fields.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_ali3p_settings {
    /// Size of this struct in bytes, set by mlcp_ali3p_settings_init.
    pub struct_size: usize,
    /// Flag, 1: the step follows the error, h <- h (safety tolerance / e)^(1/3); 0: every step is h. Default 0.
    pub variable_step: i32,
    /// Flag, 1: penalties follow the step, alpha <- alpha (h_old / h_new)^2; 0: penalties stay. Default 1.
    pub variable_penalty: i32,
    /// Error that is compared with tolerance: an mlcp_step_error. Default MLCP_STEP_ERROR_POSITION.
    pub error: i32,
    /// Newton iterations of a try at most. Default 20.
    pub max_iterations: i32,
    /// Refinements of each projection at most. Default 50.
    pub max_projections: i32,
    /// Always 0.
    pub reserved: i32,
    /// First step, s. Default 1e-3.
    pub h: f64,
    /// Least step, s, if it is variable. Default 1e-6.
    pub h_min: f64,
    /// Largest step, s, if it is variable. Default 0.1. The rule watches Newton's iteration; this bounds the truncation.
    pub h_max: f64,
    /// Spectral radius at infinite frequency of the generalised-alpha method, in [0, 1]; -1 (default): trapezoidal rule.
    pub spectral_radius: f64,
    /// Error at which Newton's iteration ends and towards which the step is steered, in the units of q. Default 1e-8.
    pub tolerance: f64,
    /// Largest |Phi_i| after a step, in the units of Phi. Default 1e-10. 0: whatever the iteration leaves.
    pub constraint_tolerance: f64,
    /// Weight of the constraints beside the masses in the tangent of the first step, no unit; penalties are made from it
    /// unless they are given. Default 1e4.
    pub penalty: f64,
    /// Safety factor of the step control, in (0, 1]. Default 0.9.
    pub safety: f64,
    /// Factor by which a step may exceed the step before, >= 1, no unit. Default 2.
    pub growth: f64,
}

/// Report of a step.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_ali3p_report {
    /// Size of this struct in bytes, set by mlcp_ali3p_report_init.
    pub struct_size: usize,
    /// Outcome of the step: an mlcp_step_outcome.
    pub outcome: i32,
    /// Newton iterations of the last try.
    pub iterations: i32,
    /// Earlier tries of the step that did not converge.
    pub rejected: i32,
    /// Refinements of the projections.
    pub projections: i32,
    /// Time reached, s.
    pub time: f64,
    /// Step taken, s; after a failure the last step tried.
    pub h: f64,
    /// Step that will be tried next, s.
    pub next_h: f64,
    /// Penalties divided by the penalties at the beginning, no unit.
    pub penalty_scale: f64,
    /// Last error of Newton's iteration, as the settings choose.
    pub error: f64,
    /// Largest |Phi_i|.
    pub position_violation: f64,
    /// Largest |Phi_q v + Phi_t|.
    pub velocity_violation: f64,
    /// Largest |second time derivative of Phi|.
    pub acceleration_violation: f64,
    /// Kinetic energy, 1/2 v^T M v, J.
    pub kinetic_energy: f64,
    /// Potential energy, as the model says, J.
    pub potential_energy: f64,
    /// Contacts that were closed.
    pub contacts: usize,
    /// Energy error of the contacts' solve, J.
    pub contact_error: f64,
    /// Deepest penetration left, m.
    pub penetration: f64,
}

impl mlcp_model_matrix {
    const ZERO: Self = mlcp_model_matrix {
        row_start: std::ptr::null(),
        row_start_len: 0,
        columns: std::ptr::null(),
        columns_len: 0,
        values: std::ptr::null(),
        values_len: 0,
        evaluate: None,
    };
}

impl mlcp_model_vector {
    const ZERO: Self = mlcp_model_vector { values: std::ptr::null(), values_len: 0, evaluate: None };
}

/// Make `model` one without coordinates: all matrices and vectors zero.
///
/// struct_size: pass sizeof(mlcp_ali3p_model). Returns INVALID_SIZE for a size this library does not know. Any thread;
/// allocates nothing. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_ali3p_model_init(model: *mut mlcp_ali3p_model, struct_size: usize) -> Status {
    guard(|| {
        let model = unsafe { out(model, "model") }?;
        check_struct_size::<mlcp_ali3p_model>("struct_size", struct_size)?;
        *model = mlcp_ali3p_model {
            struct_size,
            coordinates: 0,
            constraints: 0,
            user_data: std::ptr::null_mut(),
            mass: mlcp_model_matrix::ZERO,
            stiffness: mlcp_model_matrix::ZERO,
            damping: mlcp_model_matrix::ZERO,
            jacobian: mlcp_model_matrix::ZERO,
            forces: mlcp_model_vector::ZERO,
            constraint: mlcp_model_vector::ZERO,
            constraint_rate: mlcp_model_vector::ZERO,
            constraint_acceleration: mlcp_model_vector::ZERO,
            potential: mlcp_model_vector::ZERO,
            contacts: 0,
            evaluate_contacts: None,
        };
        Ok(())
    })
}

/// Fill `settings` with the defaults.
///
/// struct_size: pass sizeof(mlcp_ali3p_settings). Returns INVALID_SIZE for a size this library does not know. Any thread;
/// allocates nothing. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_ali3p_settings_init(settings: *mut mlcp_ali3p_settings, struct_size: usize) -> Status {
    guard(|| {
        let settings = unsafe { out(settings, "settings") }?;
        check_struct_size::<mlcp_ali3p_settings>("struct_size", struct_size)?;
        *settings = mlcp_ali3p_settings::from(&StepSettings::default());
        Ok(())
    })
}

/// Prepare a report to be filled by mlcp_ali3p_step.
///
/// struct_size: pass sizeof(mlcp_ali3p_report). Returns INVALID_SIZE for a size this library does not know. Any thread;
/// allocates nothing. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_ali3p_report_init(report: *mut mlcp_ali3p_report, struct_size: usize) -> Status {
    guard(|| {
        let report = unsafe { out(report, "report") }?;
        check_struct_size::<mlcp_ali3p_report>("struct_size", struct_size)?;
        *report = mlcp_ali3p_report::from(&StepReport::empty());
        Ok(())
    })
}

impl From<&StepSettings> for mlcp_ali3p_settings {
    fn from(s: &StepSettings) -> Self {
        mlcp_ali3p_settings {
            struct_size: size_of::<mlcp_ali3p_settings>(),
            variable_step: i32::from(s.variable_step),
            variable_penalty: i32::from(s.variable_penalty),
            error: s.error as i32,
            max_iterations: count(s.max_iterations),
            max_projections: count(s.max_projections),
            reserved: 0,
            h: s.h,
            h_min: s.h_min,
            h_max: s.h_max,
            spectral_radius: s.spectral_radius.unwrap_or(-1.0),
            tolerance: s.tolerance,
            constraint_tolerance: s.constraint_tolerance,
            penalty: s.penalty,
            safety: s.safety,
            growth: s.growth,
        }
    }
}

impl TryFrom<&mlcp_ali3p_settings> for StepSettings {
    type Error = Error;

    fn try_from(s: &mlcp_ali3p_settings) -> Result<StepSettings> {
        check_struct_size::<mlcp_ali3p_settings>("settings.struct_size", s.struct_size)?;
        let wrong = |name: &str, value: i32, rule: &str| {
            Error::new(Status::InvalidValue, format_args!("settings.{name} is {value}, {rule}"))
        };
        let flag = |name: &str, value: i32| match value {
            0 | 1 => Ok(value == 1),
            _ => Err(wrong(name, value, "it must be 0 or 1")),
        };
        let number =
            |name: &str, value: i32| usize::try_from(value).map_err(|_| wrong(name, value, "it must be at least 1"));
        let settings = StepSettings {
            h: s.h,
            h_min: s.h_min,
            h_max: s.h_max,
            variable_step: flag("variable_step", s.variable_step)?,
            variable_penalty: flag("variable_penalty", s.variable_penalty)?,
            spectral_radius: (s.spectral_radius != -1.0).then_some(s.spectral_radius),
            error: StepError::from_number(s.error).ok_or_else(|| wrong("error", s.error, "which names none"))?,
            tolerance: s.tolerance,
            constraint_tolerance: s.constraint_tolerance,
            penalty: s.penalty,
            safety: s.safety,
            growth: s.growth,
            max_iterations: number("max_iterations", s.max_iterations)?,
            max_projections: number("max_projections", s.max_projections)?,
        };
        settings.check()?;
        Ok(settings)
    }
}

impl From<&StepReport> for mlcp_ali3p_report {
    fn from(r: &StepReport) -> Self {
        mlcp_ali3p_report {
            struct_size: size_of::<mlcp_ali3p_report>(),
            outcome: r.outcome as i32,
            iterations: count(r.iterations),
            rejected: count(r.rejected),
            projections: count(r.projections),
            time: r.time,
            h: r.h,
            next_h: r.next_h,
            penalty_scale: r.penalty_scale,
            error: r.error,
            position_violation: r.position_violation,
            velocity_violation: r.velocity_violation,
            acceleration_violation: r.acceleration_violation,
            kinetic_energy: r.kinetic_energy,
            potential_energy: r.potential_energy,
            contacts: r.contacts,
            contact_error: r.contact_error,
            penetration: r.penetration,
        }
    }
}
