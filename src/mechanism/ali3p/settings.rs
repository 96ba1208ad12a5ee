//! How to step, and what a step did.

use crate::error::{Error, Result, Status};

/// What ends the Newton iteration and steers the step (Dopico et al., eqs. 11a, 11b). Numbers are part of the ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepError {
    /// Norm of the change of positions.
    Position = 0,
    /// Norm of the residual, `β h² / (1 - δ_m)` times that of the forces.
    Residual = 1,
}

impl StepError {
    /// From its number.
    pub fn from_number(number: i32) -> Option<StepError> {
        [StepError::Position, StepError::Residual].into_iter().find(|e| *e as i32 == number)
    }
}

/// How a step ended. Numbers are part of the ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// No step yet.
    None = 0,
    /// The state has moved on.
    Stepped = 1,
    /// Newton's iteration did not converge, not with the smallest step allowed either; the state is unchanged.
    Failed = 2,
}

/// Settings of a stepper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepSettings {
    /// First step, s.
    pub h: f64,
    /// Least and largest step, s; only with `variable_step`.
    pub h_min: f64,
    /// See `h_min`.
    pub h_max: f64,
    /// Follow the error with the step: `h ← h (ν ε / e)^(1/3)`. Otherwise every step is `h`.
    pub variable_step: bool,
    /// Follow the step with the penalties: `α ← α (h_old / h_new)²`.
    pub variable_penalty: bool,
    /// Spectral radius at infinite frequency of the generalised-α method, in [0, 1]; None: Newmark's trapezoidal rule.
    pub spectral_radius: Option<f64>,
    /// What is compared with `tolerance`.
    pub error: StepError,
    /// ε of the Newton iteration and of the step control, in the units of q.
    pub tolerance: f64,
    /// Largest |Φ_i| after a step, in the units of Φ; 0: whatever the iteration leaves.
    pub constraint_tolerance: f64,
    /// Penalty as a pure number: `β h² α_i Φ_q,i M⁻¹ Φ_q,iᵀ`, the weight of the constraints beside the masses at the
    /// first step. Unused where penalties are given.
    pub penalty: f64,
    /// ν.
    pub safety: f64,
    /// Most by which a step may exceed the one before.
    pub growth: f64,
    /// Newton iterations at most.
    pub max_iterations: usize,
    /// Refinements at most of each projection.
    pub max_projections: usize,
}

impl Default for StepSettings {
    fn default() -> Self {
        StepSettings {
            h: 1e-3,
            h_min: 1e-6,
            h_max: 1e-1,
            variable_step: false,
            variable_penalty: true,
            spectral_radius: None,
            error: StepError::Position,
            tolerance: 1e-8,
            constraint_tolerance: 1e-10,
            penalty: 1e4,
            safety: 0.9,
            growth: 2.0,
            max_iterations: 20,
            max_projections: 50,
        }
    }
}

impl StepSettings {
    /// Refuse what makes no sense, naming the field.
    pub fn check(&self) -> Result<()> {
        let refuse = |name: &str, value: f64, rule: &str| {
            Err(Error::new(Status::InvalidValue, format_args!("settings.{name} is {value}, it must be {rule}")))
        };
        let positive = |v: f64| v > 0.0 && v.is_finite();
        for (name, v) in [("h", self.h), ("h_min", self.h_min), ("h_max", self.h_max), ("tolerance", self.tolerance)] {
            if !positive(v) {
                return refuse(name, v, "positive and finite");
            }
        }
        if self.variable_step && !(self.h_min <= self.h && self.h <= self.h_max) {
            return refuse("h", self.h, "between h_min and h_max");
        }
        if !(self.constraint_tolerance >= 0.0 && self.constraint_tolerance.is_finite()) {
            return refuse("constraint_tolerance", self.constraint_tolerance, ">= 0 and finite");
        }
        if !positive(self.penalty) {
            return refuse("penalty", self.penalty, "positive and finite");
        }
        if !(self.safety > 0.0 && self.safety <= 1.0) {
            return refuse("safety", self.safety, "in (0, 1]");
        }
        if !(self.growth >= 1.0 && self.growth.is_finite()) {
            return refuse("growth", self.growth, ">= 1 and finite");
        }
        if let Some(rho) = self.spectral_radius {
            if !(0.0..=1.0).contains(&rho) {
                return refuse("spectral_radius", rho, "in [0, 1]");
            }
        }
        if self.max_iterations == 0 || self.max_projections == 0 {
            return refuse("max_iterations", 0.0, "at least 1, and max_projections too");
        }
        Ok(())
    }

    pub(super) fn scheme(&self) -> Scheme {
        match self.spectral_radius {
            None => Scheme { mass: 0.0, force: 0.0, beta: 0.25, gamma: 0.5 },
            Some(rho) => {
                let (mass, force) = ((2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0));
                let shift = force - mass;
                Scheme { mass, force, beta: 0.25 * (1.0 + shift) * (1.0 + shift), gamma: 0.5 + shift }
            }
        }
    }
}

/// δ_m, δ_f of the generalised-α method, β and γ of Newmark's formulas.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scheme {
    pub mass: f64,
    pub force: f64,
    pub beta: f64,
    pub gamma: f64,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepReport {
    /// How it ended.
    pub outcome: StepOutcome,
    /// Newton iterations of the last try.
    pub iterations: usize,
    /// Tries that did not converge before.
    pub rejected: usize,
    /// Refinements of the projections.
    pub projections: usize,
    /// Time reached, s.
    pub time: f64,
    /// The step taken, s.
    pub h: f64,
    /// The step that will be tried next, s.
    pub next_h: f64,
    /// Penalties over those at the beginning.
    pub penalty_scale: f64,
    /// The last error of the Newton iteration, as the settings choose.
    pub error: f64,
    /// Largest |Φ_i|.
    pub position_violation: f64,
    /// Largest |Φ_q q̇ + Φ_t|.
    pub velocity_violation: f64,
    /// Largest |Φ_q q̈ + Φ̇_q q̇ + Φ̇_t|.
    pub acceleration_violation: f64,
    /// ½ q̇ᵀ M q̇, J.
    pub kinetic_energy: f64,
    /// As the model says, J.
    pub potential_energy: f64,
    /// Contacts that were closed.
    pub contacts: usize,
    /// Energy error of their solve, J.
    pub contact_error: f64,
    /// Deepest penetration left, m.
    pub penetration: f64,
}

impl StepReport {
    /// Before any step.
    pub fn empty() -> Self {
        StepReport {
            outcome: StepOutcome::None,
            iterations: 0,
            rejected: 0,
            projections: 0,
            time: 0.0,
            h: 0.0,
            next_h: 0.0,
            penalty_scale: 1.0,
            error: 0.0,
            position_violation: 0.0,
            velocity_violation: 0.0,
            acceleration_violation: 0.0,
            kinetic_energy: 0.0,
            potential_energy: 0.0,
            contacts: 0,
            contact_error: 0.0,
            penetration: 0.0,
        }
    }
}
