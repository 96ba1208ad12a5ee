//! The stepper: its state, how a step is tried, accepted or repeated, and how step and penalty follow the error.

use super::contact::Contacts;
use super::model::{Model, Structure};
use super::settings::{StepOutcome, StepReport, StepSettings};
use super::tangent::{Matrices, Tangent};
use crate::error::{Error, Result, Status};
use crate::memory::refill;
use crate::Settings;

/// Rounds of the projection of positions at most.
const POSITION_ROUNDS: usize = 50;
/// Least factor from one try to the next.
const LEAST_SHRINK: f64 = 0.1;
/// A try that failed is repeated with at most this share of its step.
const RETRY: f64 = 0.7;
/// A share of a step that is not worth one.
const REMAINDER: f64 = 1e-6;

#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub t: f64,
    pub q: Vec<f64>,
    pub v: Vec<f64>,
    pub a: Vec<f64>,
    pub lambda: Vec<f64>,
}

impl State {
    pub fn copy_from(&mut self, other: &State) {
        self.t = other.t;
        self.q.copy_from_slice(&other.q);
        self.v.copy_from_slice(&other.v);
        self.a.copy_from_slice(&other.a);
        self.lambda.copy_from_slice(&other.lambda);
    }
}

/// A mechanism on its way through time. Between steps it allocates nothing.
pub struct Stepper {
    pub(super) structure: Structure,
    pub(super) settings: StepSettings,
    pub(super) tangent: Tangent,
    pub(super) now: State,
    pub(super) next: State,
    pub(super) has_state: bool,
    /// Step to try next, and the step that the penalties were given for.
    pub(super) h: f64,
    /// Penalties at the first step: given, or made from the masses.
    pub(super) alpha0: Vec<f64>,
    pub(super) given: Option<Vec<f64>>,
    pub(super) alpha: Vec<f64>,
    pub(super) at: Matrices,
    pub(super) phi: Vec<f64>,
    pub(super) rate: Vec<f64>,
    pub(super) rows: Vec<f64>,
    pub(super) left: Vec<f64>,
    pub(super) pull: Vec<f64>,
    pub(super) forces: Vec<f64>,
    pub(super) residual: Vec<f64>,
    /// `M q̈` and `Φ_qᵀ λ - Q` at the beginning of the step.
    pub(super) old_inertia: Vec<f64>,
    pub(super) old_forces: Vec<f64>,
    pub(super) contacts: Option<Box<Contacts>>,
    pub(super) report: StepReport,
}

/// What a try came to.
pub(super) struct Try {
    pub converged: bool,
    pub iterations: usize,
    pub error: f64,
}

impl Stepper {
    /// A stepper for models of this structure.
    pub fn new(structure: Structure, settings: StepSettings) -> Result<Stepper> {
        structure.check()?;
        settings.check()?;
        let (n, m) = (structure.coordinates, structure.constraints);
        let state = || State { t: 0.0, q: vec![0.0; n], v: vec![0.0; n], a: vec![0.0; n], lambda: vec![0.0; m] };
        let contacts = match structure.contacts {
            0 => None,
            count => Some(Box::new(Contacts::new(count, n)?)),
        };
        let mut tangent = Tangent::default();
        tangent.analyse(&structure)?;
        let at = Matrices {
            mass: vec![0.0; structure.mass.entries()],
            stiffness: vec![0.0; structure.stiffness.entries()],
            damping: vec![0.0; structure.damping.entries()],
            jacobian: vec![0.0; structure.jacobian.entries()],
        };
        Ok(Stepper {
            structure,
            settings,
            tangent,
            now: state(),
            next: state(),
            has_state: false,
            h: settings.h,
            alpha0: vec![0.0; m],
            given: None,
            alpha: vec![0.0; m],
            at,
            phi: vec![0.0; m],
            rate: vec![0.0; m],
            rows: vec![0.0; m],
            left: vec![0.0; m],
            pull: vec![0.0; m],
            forces: vec![0.0; n],
            residual: vec![0.0; n],
            old_inertia: vec![0.0; n],
            old_forces: vec![0.0; n],
            contacts,
            report: StepReport::empty(),
        })
    }

    /// Change the settings; the step begins anew with `settings.h`.
    pub fn set_settings(&mut self, settings: StepSettings) -> Result<()> {
        settings.check()?;
        self.settings = settings;
        self.h = settings.h;
        Ok(())
    }

    /// The settings in force.
    pub fn settings(&self) -> &StepSettings {
        &self.settings
    }

    /// Sizes and sparsity.
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// Give the penalties α, one per constraint, > 0 (N/m for a constraint in metres), for steps of `settings.h`; none:
    /// they are made from the masses. Takes effect with the next [`Self::set_state`].
    pub fn set_penalties(&mut self, alpha: Option<&[f64]>) -> Result<()> {
        if let Some(alpha) = alpha {
            expect("penalties", alpha.len(), self.structure.constraints)?;
            if let Some(i) = alpha.iter().position(|a| !(*a > 0.0 && a.is_finite())) {
                return Err(Error::new(
                    Status::InvalidValue,
                    format_args!("penalties[{i}] is {}, it must be positive and finite", alpha[i]),
                ));
            }
        }
        self.given = alpha.map(<[f64]>::to_vec);
        Ok(())
    }

    /// How the problem of the contacts is solved; none: as by default, to round-off.
    pub fn set_contact_solver(&mut self, settings: Option<Settings>) -> Result<()> {
        match &mut self.contacts {
            Some(contacts) => contacts.set_solver(settings),
            None => Err(Error::new(Status::InvalidState, format_args!("the model has no contacts"))),
        }
    }

    /// Contact impulses of the last step, N s: normal and two tangents per contact.
    pub fn contact_impulses(&self) -> &[f64] {
        self.contacts.as_ref().map_or(&[], |c| &c.impulses)
    }

    /// Begin at time t with positions and velocities, which should satisfy the constraints ([`Self::project`] makes them).
    /// Finds the accelerations and multipliers that go with them.
    pub fn set_state(&mut self, model: &mut dyn Model, t: f64, q: &[f64], v: &[f64]) -> Result<()> {
        let n = self.structure.coordinates;
        expect("q", q.len(), n)?;
        expect("v", v.len(), n)?;
        if !t.is_finite() {
            return Err(Error::new(Status::InvalidValue, format_args!("t is {t}, it must be finite")));
        }
        check_finite("q", q)?;
        check_finite("v", v)?;
        let mut start = State { t, q: q.to_vec(), v: v.to_vec(), a: vec![0.0; n], lambda: Vec::new() };
        start.lambda.resize(self.structure.constraints, 0.0);
        let alpha0 = std::mem::take(&mut self.alpha0);
        let done = self.find_accelerations(model, &mut start);
        if done.is_err() {
            self.alpha0 = alpha0;
            return done;
        }
        self.now.copy_from(&start);
        self.has_state = true;
        self.h = self.settings.h;
        self.report = StepReport::empty();
        self.report.time = t;
        Ok(())
    }

    /// `M a + Φ_qᵀ λ = Q` and `Φ_q a + Φ̇_q q̇ + Φ̇_t = 0`, by multipliers; penalties on the way.
    fn find_accelerations(&mut self, model: &mut dyn Model, s: &mut State) -> Result<()> {
        self.evaluate_matrices(model, s, false)?;
        self.find_penalties()?;
        self.evaluate_forces(model, s)?;
        refill(&mut self.rows, self.structure.constraints, 0.0)?;
        model.constraint_acceleration(s.t, &s.q, &s.v, &mut self.rows)?;
        check_finite("constraint_acceleration", &self.rows)?;
        // Weight of the constraints beside the masses as in a step.
        let scheme = self.settings.scheme();
        let weight = scheme.beta * self.settings.h * self.settings.h;
        self.alpha.copy_from_slice(&self.alpha0);
        if !self.tangent.factor(&self.structure, &self.at, 0.0, weight, &self.alpha) {
            return Err(singular());
        }
        let known = std::mem::take(&mut self.rows);
        let forces = std::mem::take(&mut self.forces);
        let solved = self.solve_constrained(weight, &forces, &known, &mut s.a, &mut s.lambda);
        (self.rows, self.forces) = (known, forces);
        if solved {
            Ok(())
        } else {
            Err(singular())
        }
    }

    /// `M x + Φ_qᵀ λ = f` and `Φ_q x + c = 0` with the factors of `M + weight Φ_qᵀ α Φ_q`, by updates of the given λ:
    /// `(M + w Φᵀ α Φ) x = f - Φᵀ (λ + w α c)`, `λ ← λ + w α (Φ x + c)`. False: singular.
    pub(super) fn solve_constrained(
        &mut self,
        weight: f64,
        f: &[f64],
        c: &[f64],
        x: &mut [f64],
        lambda: &mut [f64],
    ) -> bool {
        let mut last = f64::INFINITY;
        for _ in 0..4 * self.settings.max_projections {
            self.residual.copy_from_slice(f);
            for i in 0..lambda.len() {
                self.pull[i] = -lambda[i] - weight * self.alpha[i] * c[i];
            }
            self.structure.jacobian.multiply_transposed(&self.at.jacobian, &self.pull, &mut self.residual);
            if !self.tangent.solve(&mut self.residual) {
                return false;
            }
            x.copy_from_slice(&self.residual);
            self.pull.copy_from_slice(c);
            self.structure.jacobian.multiply(&self.at.jacobian, x, &mut self.pull);
            for (i, lambda) in lambda.iter_mut().enumerate() {
                *lambda += weight * self.alpha[i] * self.pull[i];
            }
            let worst = largest(&self.pull);
            if worst <= f64::EPSILON * (1.0 + largest(x)) || worst >= last {
                break;
            }
            last = worst;
        }
        true
    }

    /// α0: given, or such that the constraint's weight in the tangent of the first step is `penalty`.
    fn find_penalties(&mut self) -> Result<()> {
        let s = &self.structure;
        let mut alpha = vec![0.0; s.constraints];
        if let Some(given) = &self.given {
            alpha.copy_from_slice(given);
        } else {
            let mut diagonal = vec![0.0; s.coordinates];
            for (i, d) in diagonal.iter_mut().enumerate() {
                *d = s.mass.row(i).filter(|&k| s.mass.column(k) == i).map(|k| self.at.mass[k]).sum();
            }
            let heaviest = largest(&diagonal);
            let weight = self.settings.scheme().beta * self.settings.h * self.settings.h;
            for (r, alpha) in alpha.iter_mut().enumerate() {
                let inverse: f64 = s
                    .jacobian
                    .row(r)
                    .map(|k| {
                        // A coordinate without mass of its own is carried by the others.
                        let mass = diagonal[s.jacobian.column(k)];
                        self.at.jacobian[k].powi(2) / if mass > 0.0 { mass } else { heaviest }
                    })
                    .sum();
                *alpha = if inverse > 0.0 && inverse.is_finite() {
                    self.settings.penalty / (weight * inverse)
                } else {
                    self.settings.penalty
                };
            }
        }
        self.alpha0 = alpha;
        Ok(())
    }

    /// Project positions onto Φ = 0, to `tolerance` in the units of Φ, then velocities onto Φ_q q̇ + Φ_t = 0, each by the
    /// change of least kinetic energy (González et al., eqs. 2 and 3). The stepper's own state is not touched. Returns the
    /// largest |Φ_i| reached; positions that cannot be reached, as with contradictory constraints, come as near as they do.
    pub fn project(
        &mut self,
        model: &mut dyn Model,
        t: f64,
        q: &mut [f64],
        v: &mut [f64],
        tolerance: f64,
    ) -> Result<f64> {
        let n = self.structure.coordinates;
        expect("q", q.len(), n)?;
        expect("v", v.len(), n)?;
        check_finite("q", q)?;
        check_finite("v", v)?;
        if !(tolerance > 0.0 && t.is_finite()) {
            return Err(Error::new(
                Status::InvalidValue,
                format_args!("tolerance is {tolerance} and t is {t}, they must be positive and finite"),
            ));
        }
        let mut s = State { t, q: q.to_vec(), v: v.to_vec(), a: vec![0.0; n], lambda: Vec::new() };
        let alpha0 = self.alpha0.clone();
        let reached = self.project_state(model, &mut s, tolerance);
        self.alpha0 = alpha0;
        let reached = reached?;
        q.copy_from_slice(&s.q);
        v.copy_from_slice(&s.v);
        Ok(reached)
    }

    fn project_state(&mut self, model: &mut dyn Model, s: &mut State, tolerance: f64) -> Result<f64> {
        let weight = self.settings.scheme().beta * self.settings.h * self.settings.h;
        let mut phi = vec![0.0; self.structure.constraints];
        let mut last = f64::INFINITY;
        for round in 0..POSITION_ROUNDS {
            phi.fill(0.0);
            model.constraints(s.t, &s.q, &mut phi)?;
            check_finite("constraints", &phi)?;
            self.evaluate_matrices(model, s, false)?;
            self.find_penalties()?;
            self.alpha.copy_from_slice(&self.alpha0);
            if !self.tangent.factor(&self.structure, &self.at, 0.0, weight, &self.alpha) {
                return Err(singular());
            }
            last = largest(&phi);
            if last <= tolerance || round + 1 == POSITION_ROUNDS {
                break;
            }
            let mut change = vec![0.0; s.q.len()];
            self.project_onto(weight, &mut change, &mut phi);
            s.q.iter_mut().zip(&change).for_each(|(q, d)| *q += d);
            check_finite("q", &s.q)?;
        }
        phi.fill(0.0);
        model.constraint_rate(s.t, &s.q, &mut phi)?;
        check_finite("constraint_rate", &phi)?;
        self.project_onto(weight, &mut s.v, &mut phi);
        Ok(last)
    }

    /// The state: t, q, q̇, q̈, λ.
    pub fn state(&self) -> (f64, &[f64], &[f64], &[f64], &[f64]) {
        (self.now.t, &self.now.q, &self.now.v, &self.now.a, &self.now.lambda)
    }

    /// What the last step did.
    pub fn report(&self) -> &StepReport {
        &self.report
    }

    /// One step, not beyond `t_end`. With a variable step it is retried with smaller ones. If the report says
    /// [`StepOutcome::Failed`], or an error is returned, the state is what it was.
    pub fn step(&mut self, model: &mut dyn Model, t_end: f64) -> Result<StepReport> {
        if !self.has_state {
            return Err(Error::new(Status::InvalidState, format_args!("the stepper has no state yet")));
        }
        if t_end.is_nan() || t_end <= self.now.t {
            return Err(Error::new(
                Status::InvalidValue,
                format_args!("t_end is {t_end}, it must lie after the time reached, {}", self.now.t),
            ));
        }
        let s = self.settings;
        let mut rejected = 0;
        let mut wanted = self.h;
        self.prepare_step(model)?;
        loop {
            let left = t_end - self.now.t;
            // The last step takes in a remainder too short to stand alone.
            let is_last = wanted * (1.0 + REMAINDER) >= left;
            let h = if is_last { left } else { wanted };
            let tried = self.attempt(model, h, if is_last { t_end } else { self.now.t + h })?;
            if tried.converged {
                let mut projections = self.project_rates(model, h)?;
                projections += self.touch(model, h)?;
                return self.accept(model, h, wanted, tried, rejected, projections);
            }
            if !s.variable_step || h <= s.h_min {
                self.report.outcome = StepOutcome::Failed;
                self.report.iterations = tried.iterations;
                self.report.rejected = rejected;
                self.report.error = tried.error;
                self.report.h = h;
                return Ok(self.report);
            }
            rejected += 1;
            wanted = (h * self.ratio(tried.error).clamp(LEAST_SHRINK, RETRY)).max(s.h_min);
        }
    }

    /// (ν ε / e)^(1/3), p = 2.
    fn ratio(&self, error: f64) -> f64 {
        if error.is_finite() {
            (self.settings.safety * self.settings.tolerance / error.max(f64::MIN_POSITIVE)).cbrt()
        } else {
            0.0
        }
    }

    fn accept(
        &mut self,
        model: &mut dyn Model,
        h: f64,
        wanted: f64,
        tried: Try,
        rejected: usize,
        projections: usize,
    ) -> Result<StepReport> {
        let s = self.settings;
        let mut momentum = std::mem::take(&mut self.residual);
        momentum.fill(0.0);
        self.structure.mass.multiply(&self.at.mass, &self.next.v, &mut momentum);
        let kinetic = 0.5 * momentum.iter().zip(&self.next.v).map(|(p, v)| p * v).sum::<f64>();
        self.residual = momentum;
        let potential = model.potential(self.next.t, &self.next.q)?;
        check_finite("potential", &[potential])?;
        // A step cut short by t_end says little about the next.
        let next_h = if !s.variable_step {
            s.h
        } else if h < wanted {
            wanted
        } else {
            (h * self.ratio(tried.error).clamp(LEAST_SHRINK, s.growth)).clamp(s.h_min, s.h_max)
        };
        let violation = |phi: &[f64]| largest(phi);
        self.report = StepReport {
            outcome: StepOutcome::Stepped,
            iterations: tried.iterations,
            rejected,
            projections,
            time: self.next.t,
            h,
            next_h,
            penalty_scale: self.penalty_scale(h),
            error: tried.error,
            position_violation: violation(&self.phi),
            velocity_violation: violation(&self.rate),
            acceleration_violation: violation(&self.rows),
            kinetic_energy: kinetic,
            potential_energy: potential,
            ..self.contact_report()
        };
        std::mem::swap(&mut self.now, &mut self.next);
        self.h = next_h;
        Ok(self.report)
    }

    fn contact_report(&self) -> StepReport {
        let Some(c) = &self.contacts else { return StepReport::empty() };
        StepReport {
            contacts: c.closed.len(),
            contact_error: c.error,
            penetration: c.rows.gap.iter().fold(0.0, |most, g| (-g).max(most)),
            ..StepReport::empty()
        }
    }

    pub(super) fn penalty_scale(&self, h: f64) -> f64 {
        if self.settings.variable_penalty {
            (self.settings.h / h).powi(2)
        } else {
            1.0
        }
    }
}

pub(super) fn singular() -> Error {
    Error::new(
        Status::Singular,
        format_args!("the tangent is singular: some coordinate has neither mass nor a constraint that carries it"),
    )
}

fn expect(name: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::new(Status::InvalidSize, format_args!("{name} has length {found}, expected {expected}")))
}

pub(super) fn check_finite(name: &str, values: &[f64]) -> Result<()> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) => {
            Err(Error::new(Status::InvalidValue, format_args!("{name}[{i}] is {}, it must be finite", values[i])))
        }
    }
}

pub(super) fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, v| v.abs().max(most))
}

pub(super) fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}
