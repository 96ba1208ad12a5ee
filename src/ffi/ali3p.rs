//! `mlcp_ali3p`: a mechanism in dependent coordinates, stepped through time.

use super::ali3p_types::*;
use super::guard::{expect_len, guard, optional, optional_ref, out, slice, slice_mut};
use super::handle::{Exclusive, Handle};
use super::types::{check_struct_size, mlcp_settings};
use crate::error::{Error, Result, Status};
use crate::mechanism::ali3p::{ContactRows, Model, Pattern, StepSettings, Stepper, Structure};
use crate::Settings;
use libc::c_void;

/// Stepper that moves a mechanism through time. It serves one thread at a time. Steps allocate nothing after the first
/// few.
pub struct mlcp_ali3p(Handle<Inner>);

struct Inner {
    stepper: Stepper,
    model: CModel,
}

/// A matrix or vector of the model: constant, or evaluated.
struct Part {
    name: &'static str,
    values: Vec<f64>,
    evaluate: mlcp_evaluate,
}

impl Part {
    fn fill(&self, t: f64, q: &[f64], v: &[f64], out: &mut [f64], user_data: *mut c_void) -> Result<()> {
        let Some(evaluate) = self.evaluate else {
            if !self.values.is_empty() {
                out.copy_from_slice(&self.values);
            }
            return Ok(());
        };
        // SAFETY: the caller's function, with buffers that live through the call.
        match unsafe { evaluate(t, q.as_ptr(), v.as_ptr(), out.as_mut_ptr(), out.len(), user_data) } {
            0 => Ok(()),
            code => Err(gave_up(self.name, code)),
        }
    }
}

fn gave_up(name: &str, code: i32) -> Error {
    Error::new(Status::InvalidState, format_args!("{name} gave up with {code}; the stepper stays as it was"))
}

struct CModel {
    user_data: *mut c_void,
    mass: Part,
    stiffness: Part,
    damping: Part,
    jacobian: Part,
    forces: Part,
    constraint: Part,
    rate: Part,
    acceleration: Part,
    potential: Part,
    contacts: mlcp_evaluate_contacts,
    /// Velocities for functions that have none: zeros.
    rest: Vec<f64>,
}

impl Model for CModel {
    fn mass(&mut self, t: f64, q: &[f64], out: &mut [f64]) -> Result<()> {
        self.mass.fill(t, q, &self.rest, out, self.user_data)
    }
    fn forces(&mut self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) -> Result<()> {
        self.forces.fill(t, q, v, out, self.user_data)
    }
    fn stiffness(&mut self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) -> Result<()> {
        self.stiffness.fill(t, q, v, out, self.user_data)
    }
    fn damping(&mut self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) -> Result<()> {
        self.damping.fill(t, q, v, out, self.user_data)
    }
    fn constraints(&mut self, t: f64, q: &[f64], out: &mut [f64]) -> Result<()> {
        self.constraint.fill(t, q, &self.rest, out, self.user_data)
    }
    fn jacobian(&mut self, t: f64, q: &[f64], out: &mut [f64]) -> Result<()> {
        self.jacobian.fill(t, q, &self.rest, out, self.user_data)
    }
    fn constraint_rate(&mut self, t: f64, q: &[f64], out: &mut [f64]) -> Result<()> {
        self.rate.fill(t, q, &self.rest, out, self.user_data)
    }
    fn constraint_acceleration(&mut self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) -> Result<()> {
        self.acceleration.fill(t, q, v, out, self.user_data)
    }
    fn contacts(&mut self, t: f64, q: &[f64], out: &mut ContactRows) -> Result<()> {
        let Some(evaluate) = self.contacts else { return Ok(()) };
        let (count, n) = (out.gap.len(), q.len());
        let (gap, normal) = (out.gap.as_mut_ptr(), out.normal.as_mut_ptr());
        let (tangent, friction) = (out.tangent.as_mut_ptr(), out.friction.as_mut_ptr());
        // SAFETY: the caller's function, with buffers that live through the call.
        match unsafe { evaluate(t, q.as_ptr(), gap, normal, tangent, friction, count, n, self.user_data) } {
            0 => Ok(()),
            code => Err(gave_up("model.evaluate_contacts", code)),
        }
    }
    fn potential(&mut self, t: f64, q: &[f64]) -> Result<f64> {
        let mut energy = [0.0];
        self.potential.fill(t, q, &self.rest, &mut energy, self.user_data)?;
        Ok(energy[0])
    }
}

/// Copy a matrix: its pattern and, if constant, its values.
unsafe fn matrix(name: &'static str, m: &mlcp_model_matrix, rows: usize, columns: usize) -> Result<(Pattern, Part)> {
    let start = unsafe { slice(m.row_start, m.row_start_len, name) }?;
    let index = unsafe { slice(m.columns, m.columns_len, name) }?;
    let values = unsafe { slice(m.values, m.values_len, name) }?;
    let is_zero = start.is_empty() && index.is_empty() && values.is_empty() && m.evaluate.is_none();
    let pattern = if is_zero { Pattern::empty(rows) } else { Pattern::new(name, rows, columns, start, index)? };
    let part = constant_or_evaluated(name, values, m.evaluate, pattern.entries(), is_zero)?;
    Ok((pattern, part))
}

unsafe fn vector(name: &'static str, v: &mlcp_model_vector, len: usize) -> Result<Part> {
    let values = unsafe { slice(v.values, v.values_len, name) }?;
    constant_or_evaluated(name, values, v.evaluate, len, values.is_empty() && v.evaluate.is_none())
}

fn constant_or_evaluated(
    name: &'static str,
    values: &[f64],
    evaluate: mlcp_evaluate,
    len: usize,
    is_zero: bool,
) -> Result<Part> {
    if evaluate.is_some() && !values.is_empty() {
        return Err(Error::new(
            Status::InvalidState,
            format_args!("{name} has both values and an evaluate function; give one"),
        ));
    }
    if evaluate.is_none() && !is_zero && values.len() != len {
        return Err(Error::new(
            Status::InvalidSize,
            format_args!("{name}.values has length {}, expected {len}", values.len()),
        ));
    }
    if let Some(i) = values.iter().position(|v| !v.is_finite()) {
        return Err(Error::new(
            Status::InvalidValue,
            format_args!("{name}.values[{i}] is {}, it must be finite", values[i]),
        ));
    }
    Ok(Part { name, values: values.to_vec(), evaluate })
}

unsafe fn take<'a>(stepper: *const mlcp_ali3p) -> Result<Exclusive<'a, Inner>> {
    match unsafe { stepper.as_ref() } {
        Some(stepper) => stepper.0.exclusive("stepper"),
        None => Err(Error::new(Status::NullArgument, format_args!("stepper is NULL"))),
    }
}

/// Create a stepper for a mechanism: the index-3 augmented Lagrangian formulation with projections (ALI3-P).
///
/// model: initialised by mlcp_ali3p_model_init and filled; copied, but for user_data. settings: NULL for the defaults, or
/// initialised by mlcp_ali3p_settings_init. out_stepper: receives the handle, to be given to mlcp_ali3p_destroy. Returns
/// INVALID_SIZE, INVALID_INDEX, INVALID_VALUE, INVALID_STATE naming the part. Any thread. Allocates. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_ali3p_create(
    model: *const mlcp_ali3p_model,
    settings: *const mlcp_ali3p_settings,
    out_stepper: *mut *mut mlcp_ali3p,
) -> Status {
    guard(|| {
        let out_stepper = unsafe { out(out_stepper, "out_stepper") }?;
        let m = &unsafe { slice(model, 1, "model") }?[0];
        check_struct_size::<mlcp_ali3p_model>("model.struct_size", m.struct_size)?;
        let (n, rows) = (m.coordinates, m.constraints);
        if n >= i32::MAX as usize || rows >= i32::MAX as usize {
            return Err(Error::new(
                Status::InvalidSize,
                format_args!("model.coordinates is {n} and model.constraints {rows}, more than 32 bits can name"),
            ));
        }
        let settings = match unsafe { optional_ref(settings, "settings") }? {
            Some(settings) => StepSettings::try_from(settings)?,
            None => StepSettings::default(),
        };
        let (mass, mass_part) = unsafe { matrix("model.mass", &m.mass, n, n) }?;
        let (stiffness, stiffness_part) = unsafe { matrix("model.stiffness", &m.stiffness, n, n) }?;
        let (damping, damping_part) = unsafe { matrix("model.damping", &m.damping, n, n) }?;
        let (jacobian, jacobian_part) = unsafe { matrix("model.jacobian", &m.jacobian, rows, n) }?;
        let model = CModel {
            user_data: m.user_data,
            mass: mass_part,
            stiffness: stiffness_part,
            damping: damping_part,
            jacobian: jacobian_part,
            forces: unsafe { vector("model.forces", &m.forces, n) }?,
            constraint: unsafe { vector("model.constraint", &m.constraint, rows) }?,
            rate: unsafe { vector("model.constraint_rate", &m.constraint_rate, rows) }?,
            acceleration: unsafe { vector("model.constraint_acceleration", &m.constraint_acceleration, rows) }?,
            potential: unsafe { vector("model.potential", &m.potential, 1) }?,
            contacts: m.evaluate_contacts,
            rest: vec![0.0; n],
        };
        if (m.contacts > 0) != m.evaluate_contacts.is_some() {
            return Err(Error::new(
                Status::InvalidState,
                format_args!("model.contacts is {}, with evaluate_contacts it must be positive, else 0", m.contacts),
            ));
        }
        // Three rows of n numbers per contact, and a square matrix of such rows.
        let fits = |a: usize, b: usize| a.checked_mul(b).is_some_and(|product| product < i32::MAX as usize);
        if !fits(3 * m.contacts.min(i32::MAX as usize), n.max(3 * m.contacts.min(i32::MAX as usize))) {
            return Err(Error::new(
                Status::InvalidSize,
                format_args!("model.contacts is {}, their rows would take more than 32 bits can name", m.contacts),
            ));
        }
        let contacts = m.contacts;
        let structure = Structure { coordinates: n, constraints: rows, contacts, mass, stiffness, damping, jacobian };
        let inner = Inner { stepper: Stepper::new(structure, settings)?, model };
        *out_stepper = Box::into_raw(Box::new(mlcp_ali3p(Handle::new(inner))));
        Ok(())
    })
}

/// Destroy a stepper; NULL is ignored.
///
/// A stepper that is stepping (a call from its own functions) is not destroyed; mlcp_last_error then says so. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_ali3p_destroy(stepper: *mut mlcp_ali3p) {
    unsafe { super::solver::destroy(stepper, |s| &s.0, "stepper") }
}

/// Change the settings; the step begins anew with settings.h.
///
/// settings: initialised by mlcp_ali3p_settings_init. Returns INVALID_SIZE, INVALID_VALUE naming the field; the old
/// settings then stay. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_ali3p_set_settings(
    stepper: *mut mlcp_ali3p,
    settings: *const mlcp_ali3p_settings,
) -> Status {
    guard(|| {
        let mut inner = unsafe { take(stepper) }?;
        let settings = unsafe { slice(settings, 1, "settings") }?;
        inner.stepper.set_settings(StepSettings::try_from(&settings[0])?)
    })
}

/// Give the penalties alpha for steps of settings.h; takes effect with the next mlcp_ali3p_set_state.
///
/// penalties: one per constraint, > 0, N/m for a constraint in metres; NULL with length 0: made from the masses, which is
/// the default. Returns INVALID_SIZE, INVALID_VALUE. Allocates. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_ali3p_set_penalties(
    stepper: *mut mlcp_ali3p,
    penalties: *const f64,
    penalties_len: usize,
) -> Status {
    guard(|| {
        let mut inner = unsafe { take(stepper) }?;
        inner.stepper.set_penalties(unsafe { optional(penalties, penalties_len, "penalties") }?)
    })
}

/// Choose how the contacts' problem is solved in each step.
///
/// settings: NULL for the default, to round-off; or initialised by mlcp_settings_init. Returns INVALID_STATE if the
/// model has no contacts, INVALID_SIZE, INVALID_VALUE naming the field; the old settings then stay. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_ali3p_set_contact_solver(
    stepper: *mut mlcp_ali3p,
    settings: *const mlcp_settings,
) -> Status {
    guard(|| {
        let mut inner = unsafe { take(stepper) }?;
        let settings = match unsafe { optional_ref(settings, "settings") }? {
            Some(settings) => Some(Settings::try_from(settings)?),
            None => None,
        };
        inner.stepper.set_contact_solver(settings)
    })
}

/// Read the contact impulses of the last step, N s: normal and two tangents per contact; 0 where it was open.
///
/// out_impulses: three per contact. Returns INVALID_SIZE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_ali3p_get_contact_impulses(
    stepper: *const mlcp_ali3p,
    out_impulses: *mut f64,
    out_impulses_len: usize,
) -> Status {
    guard(|| {
        let inner = unsafe { take(stepper) }?;
        let impulses = inner.stepper.contact_impulses();
        expect_len("out_impulses", out_impulses_len, impulses.len())?;
        unsafe { slice_mut(out_impulses, out_impulses_len, "out_impulses") }?.copy_from_slice(impulses);
        Ok(())
    })
}

/// Begin at a time with positions and velocities that satisfy the constraints (mlcp_ali3p_project computes them from a
/// guess); the accelerations and multipliers follow from the equations of motion.
///
/// q, v: one finite number per coordinate. Returns SINGULAR (a coordinate with neither mass nor a constraint), INVALID_SIZE,
/// INVALID_VALUE (also for what an evaluate function wrote), INVALID_STATE (one gave up); the state then stays. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_ali3p_set_state(
    stepper: *mut mlcp_ali3p,
    t: f64,
    q: *const f64,
    q_len: usize,
    v: *const f64,
    v_len: usize,
) -> Status {
    guard(|| {
        let mut inner = unsafe { take(stepper) }?;
        let (q, v) = unsafe { (slice(q, q_len, "q")?, slice(v, v_len, "v")?) };
        let Inner { stepper, model } = &mut *inner;
        stepper.set_state(model, t, q, v)
    })
}

/// Make one step, not beyond t_end.
///
/// A variable step that does not converge is retried with smaller ones. Not converging is no error: the report's
/// outcome says FAILED and the state is unchanged. t_end: s, may be infinite. out_report: initialised by
/// mlcp_ali3p_report_init, or NULL. Returns INVALID_STATE (no state yet, or an evaluate function gave up),
/// INVALID_VALUE (t_end, or NaN from an evaluate function), SINGULAR; the state is then unchanged. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_ali3p_step(
    stepper: *mut mlcp_ali3p,
    t_end: f64,
    out_report: *mut mlcp_ali3p_report,
) -> Status {
    guard(|| {
        let mut inner = unsafe { take(stepper) }?;
        let out_report = match out_report.is_null() {
            true => None,
            false => Some(unsafe { out(out_report, "out_report") }?),
        };
        if let Some(report) = &out_report {
            check_struct_size::<mlcp_ali3p_report>("out_report.struct_size", report.struct_size)?;
        }
        let Inner { stepper, model } = &mut *inner;
        let report = stepper.step(model, t_end)?;
        if let Some(out) = out_report {
            *out = mlcp_ali3p_report::from(&report);
        }
        Ok(())
    })
}

/// Read the state. Buffers may be left out with NULL and length 0.
///
/// out_t: receives the time, s. out_q, out_v, out_a: positions, velocities, accelerations, one per coordinate.
/// out_lambda: multipliers, one per constraint: the reactions are -Phi_q^T lambda. Returns INVALID_SIZE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_ali3p_get_state(
    stepper: *const mlcp_ali3p,
    out_t: *mut f64,
    out_q: *mut f64,
    out_q_len: usize,
    out_v: *mut f64,
    out_v_len: usize,
    out_a: *mut f64,
    out_a_len: usize,
    out_lambda: *mut f64,
    out_lambda_len: usize,
) -> Status {
    guard(|| {
        let inner = unsafe { take(stepper) }?;
        let (t, q, v, a, lambda) = inner.stepper.state();
        let parts = [
            ("out_q", out_q, out_q_len, q),
            ("out_v", out_v, out_v_len, v),
            ("out_a", out_a, out_a_len, a),
            ("out_lambda", out_lambda, out_lambda_len, lambda),
        ];
        let out_t = unsafe { out(out_t, "out_t") }?;
        for (name, at, len, values) in parts {
            if !(at.is_null() && len == 0) {
                expect_len(name, len, values.len())?;
                unsafe { slice_mut(at, len, name) }?;
            }
        }
        *out_t = t;
        for (name, at, len, values) in parts {
            if len > 0 {
                unsafe { slice_mut(at, len, name) }?.copy_from_slice(values);
            }
        }
        Ok(())
    })
}

/// Project positions onto Phi = 0 and velocities onto Phi_q v + Phi_t = 0, by the changes of least kinetic energy.
///
/// The stepper's state is not touched. tolerance: largest |Phi_i| wanted, > 0. q, v: one per coordinate; changed in
/// place. out_violation: receives the largest |Phi_i| reached, which contradictory constraints keep above the tolerance.
/// Returns SINGULAR, INVALID_SIZE, INVALID_VALUE, INVALID_STATE; nothing is changed then. Allocates. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_ali3p_project(
    stepper: *mut mlcp_ali3p,
    t: f64,
    tolerance: f64,
    q: *mut f64,
    q_len: usize,
    v: *mut f64,
    v_len: usize,
    out_violation: *mut f64,
) -> Status {
    guard(|| {
        let mut inner = unsafe { take(stepper) }?;
        let q = unsafe { slice_mut(q, q_len, "q") }?;
        super::guard::disjoint((q, "q"), (v, v_len, "v"))?;
        let v = unsafe { slice_mut(v, v_len, "v") }?;
        let out_violation = unsafe { out(out_violation, "out_violation") }?;
        let Inner { stepper, model } = &mut *inner;
        *out_violation = stepper.project(model, t, q, v, tolerance)?;
        Ok(())
    })
}
