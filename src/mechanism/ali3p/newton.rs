//! One try of a step: predictor, Newton's iteration, projections.
//!
//! Symbols as in the paper. With `f = (1 - δ_f) / (1 - δ_m)`, `ζ = f β h²` and `T` the tangent of eq. 6,
//!
//! ```text
//! Newton        T Δq = -β h² / (1 - δ_m) · { [M q̈]_δm + [Φ_qᵀ (λ + αΦ) - Q]_δf },   then λ ← λ + αΦ
//! velocities    q̇ ← q̇ - T⁻¹ ζ Φ_qᵀ α (Φ_q q̇ + Φ_t)                    (eq. 3a, without forming P)
//! accelerations q̈ ← q̈ - T⁻¹ ζ Φ_qᵀ α (Φ_q q̈ + Φ̇_q q̇ + Φ̇_t)          (eq. 3b)
//! ```
//!
//! The projections are repeated, with the same factors, until the constraints hold to round-off: once is exact only for
//! infinite penalties.

use super::model::Model;
use super::settings::{Scheme, StepError};
use super::stepper::{check_finite, largest, norm, singular, State, Stepper, Try};
use crate::error::{Result, Status};

impl Stepper {
    /// Forces at the beginning of the step, which generalised-α mixes in.
    pub(super) fn prepare_step(&mut self, model: &mut dyn Model) -> Result<()> {
        let scheme = self.settings.scheme();
        if scheme.mass == 0.0 && scheme.force == 0.0 {
            return Ok(());
        }
        let now = std::mem::take(&mut self.now);
        let done = self.evaluate_matrices(model, &now, false).and_then(|()| self.evaluate_forces(model, &now));
        self.old_inertia.fill(0.0);
        self.structure.mass.multiply(&self.at.mass, &now.a, &mut self.old_inertia);
        self.old_forces.iter_mut().zip(&self.forces).for_each(|(old, q)| *old = -q);
        self.structure.jacobian.multiply_transposed(&self.at.jacobian, &now.lambda, &mut self.old_forces);
        self.now = now;
        done
    }

    /// Newton's iteration for a step h, from `now` to `next` at that time.
    pub(super) fn attempt(&mut self, model: &mut dyn Model, h: f64, time: f64) -> Result<Try> {
        let scheme = self.settings.scheme();
        let (scale, s) = (self.penalty_scale(h), self.settings);
        for (alpha, first) in self.alpha.iter_mut().zip(&self.alpha0) {
            *alpha = first * scale;
        }
        self.next.copy_from(&self.now);
        self.next.t = time;
        for i in 0..self.next.q.len() {
            self.next.q[i] += h * self.now.v[i] + 0.5 * h * h * self.now.a[i];
        }
        let mut tried = Try { converged: false, iterations: 0, error: f64::INFINITY };
        let mut next = std::mem::take(&mut self.next);
        let outcome = loop {
            self.newmark(&scheme, h, &mut next);
            if let Err(error) = self.evaluate(model, &next) {
                // What a wild guess brings is no fault of the model, unless it is the predictor itself.
                let wild = error.status() == Status::InvalidValue && tried.iterations > 0;
                break if wild { Ok(()) } else { Err(error) };
            }
            if tried.iterations > 0 {
                for i in 0..next.lambda.len() {
                    next.lambda[i] += self.alpha[i] * self.phi[i];
                }
                let holds = s.constraint_tolerance == 0.0 || largest(&self.phi) <= s.constraint_tolerance;
                if tried.error <= s.tolerance && holds {
                    tried.converged = true;
                    break Ok(());
                }
            }
            if tried.iterations == s.max_iterations {
                // Positions may have settled while the constraints have not.
                tried.error = tried.error.max(2.0 * s.tolerance);
                break Ok(());
            }
            match self.newton(&scheme, h, &mut next) {
                Some(error) => tried.error = error,
                None if tried.iterations == 0 => break Err(singular()),
                None => {
                    tried.error = f64::INFINITY;
                    break Ok(());
                }
            }
            tried.iterations += 1;
        };
        self.next = next;
        outcome.map(|()| tried)
    }

    /// Velocities and accelerations that go with the positions.
    fn newmark(&self, scheme: &Scheme, h: f64, next: &mut State) {
        let (beta, gamma, now) = (scheme.beta, scheme.gamma, &self.now);
        for i in 0..next.q.len() {
            let moved = next.q[i] - now.q[i];
            next.a[i] = (moved / h - now.v[i]) / (beta * h) - (0.5 / beta - 1.0) * now.a[i];
            next.v[i] = now.v[i] + h * ((1.0 - gamma) * now.a[i] + gamma * next.a[i]);
        }
    }

    /// Everything the Newton iteration needs at a state.
    fn evaluate(&mut self, model: &mut dyn Model, s: &State) -> Result<()> {
        check_finite("q", &s.q)?;
        self.evaluate_matrices(model, s, true)?;
        self.evaluate_forces(model, s)?;
        self.phi.fill(0.0);
        model.constraints(s.t, &s.q, &mut self.phi)?;
        check_finite("constraints", &self.phi)
    }

    /// M and Φ_q; K and C, or zeros.
    pub(super) fn evaluate_matrices(&mut self, model: &mut dyn Model, s: &State, with_tangents: bool) -> Result<()> {
        self.at.mass.fill(0.0);
        model.mass(s.t, &s.q, &mut self.at.mass)?;
        check_finite("mass", &self.at.mass)?;
        self.at.jacobian.fill(0.0);
        model.jacobian(s.t, &s.q, &mut self.at.jacobian)?;
        check_finite("jacobian", &self.at.jacobian)?;
        self.at.stiffness.fill(0.0);
        self.at.damping.fill(0.0);
        if with_tangents {
            model.stiffness(s.t, &s.q, &s.v, &mut self.at.stiffness)?;
            check_finite("stiffness", &self.at.stiffness)?;
            model.damping(s.t, &s.q, &s.v, &mut self.at.damping)?;
            check_finite("damping", &self.at.damping)?;
        }
        Ok(())
    }

    pub(super) fn evaluate_forces(&mut self, model: &mut dyn Model, s: &State) -> Result<()> {
        self.forces.fill(0.0);
        model.forces(s.t, &s.q, &s.v, &mut self.forces)?;
        check_finite("forces", &self.forces)
    }

    /// One Newton step on `next`; its error, or none if the tangent is singular.
    fn newton(&mut self, scheme: &Scheme, h: f64, next: &mut State) -> Option<f64> {
        let s = &self.structure;
        let f = (1.0 - scheme.force) / (1.0 - scheme.mass);
        let weight = f * scheme.beta * h * h;
        if !self.tangent.factor(s, &self.at, f * scheme.gamma * h, weight, &self.alpha) {
            return None;
        }
        self.residual.fill(0.0);
        s.mass.multiply(&self.at.mass, &next.a, &mut self.residual);
        for (i, r) in self.residual.iter_mut().enumerate() {
            *r = (1.0 - scheme.mass) * *r - (1.0 - scheme.force) * self.forces[i];
            if scheme.mass != 0.0 || scheme.force != 0.0 {
                *r += scheme.mass * self.old_inertia[i] + scheme.force * self.old_forces[i];
            }
        }
        for i in 0..self.rows.len() {
            self.rows[i] = (1.0 - scheme.force) * (next.lambda[i] + self.alpha[i] * self.phi[i]);
        }
        s.jacobian.multiply_transposed(&self.at.jacobian, &self.rows, &mut self.residual);
        let scale = scheme.beta * h * h / (1.0 - scheme.mass);
        self.residual.iter_mut().for_each(|r| *r *= -scale);
        let residual = norm(&self.residual);
        if !self.tangent.solve(&mut self.residual) {
            return None;
        }
        next.q.iter_mut().zip(&self.residual).for_each(|(q, d)| *q += d);
        Some(match self.settings.error {
            StepError::Position => norm(&self.residual),
            StepError::Residual => residual,
        })
    }

    /// Project velocities, then accelerations, of `next`; `at` and `phi` belong to it. Returns the refinements.
    pub(super) fn project_rates(&mut self, model: &mut dyn Model, h: f64) -> Result<usize> {
        let scheme = self.settings.scheme();
        let weight = (1.0 - scheme.force) / (1.0 - scheme.mass) * scheme.beta * h * h;
        let mut next = std::mem::take(&mut self.next);
        let velocities = self.project_velocities(model, &mut next, weight);
        let both = velocities.and_then(|n| Ok(n + self.project_accelerations(model, &mut next, weight)?));
        self.next = next;
        both
    }

    /// Project the velocities of a state that `at` belongs to; `rate` becomes what is left.
    pub(super) fn project_velocities(&mut self, model: &mut dyn Model, s: &mut State, weight: f64) -> Result<usize> {
        let mut rate = std::mem::take(&mut self.rate);
        rate.fill(0.0);
        let known = model.constraint_rate(s.t, &s.q, &mut rate).and_then(|()| check_finite("constraint_rate", &rate));
        let rounds = known.map(|()| self.project_onto(weight, &mut s.v, &mut rate));
        self.rate = rate;
        rounds
    }

    /// The same for accelerations; `rows` becomes what is left.
    pub(super) fn project_accelerations(&mut self, model: &mut dyn Model, s: &mut State, weight: f64) -> Result<usize> {
        let mut known = std::mem::take(&mut self.rows);
        known.fill(0.0);
        let done = model
            .constraint_acceleration(s.t, &s.q, &s.v, &mut known)
            .and_then(|()| check_finite("constraint_acceleration", &known));
        let rounds = done.map(|()| self.project_onto(weight, &mut s.a, &mut known));
        self.rows = known;
        rounds
    }

    /// Change x so that `Φ_q x + c = 0`; c becomes what is left of it.
    pub(super) fn project_onto(&mut self, weight: f64, x: &mut [f64], c: &mut [f64]) -> usize {
        let s = &self.structure;
        let mut last = f64::INFINITY;
        let mut rounds = 0;
        loop {
            self.left.copy_from_slice(c);
            s.jacobian.multiply(&self.at.jacobian, x, &mut self.left);
            let worst = largest(&self.left);
            let enough = worst <= 4.0 * f64::EPSILON * (1.0 + largest(x));
            if enough || rounds == self.settings.max_projections || worst >= last {
                c.copy_from_slice(&self.left);
                return rounds;
            }
            last = worst;
            self.left.iter_mut().zip(&self.alpha).for_each(|(l, a)| *l *= -weight * a);
            self.residual.fill(0.0);
            s.jacobian.multiply_transposed(&self.at.jacobian, &self.left, &mut self.residual);
            if !self.tangent.solve(&mut self.residual) {
                return rounds;
            }
            x.iter_mut().zip(&self.residual).for_each(|(x, d)| *x += d);
            rounds += 1;
        }
    }
}
