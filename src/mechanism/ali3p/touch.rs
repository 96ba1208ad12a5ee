//! The end of a step with contacts.
//!
//! Without contact forces the step came to q̃, ṽ. Contacts that are closed there push, within the constraints:
//!
//! ```text
//! v = ṽ + M⁻¹ Jᵀ p,   0 <= p_n complementary with N v >= 0,   |p_t| <= μ p_n against the sliding,   q = q̃ + h/2 (v - ṽ)
//! ```
//!
//! Then positions go the least way to Φ = 0 and gaps >= 0, and v is found anew with the rows there. Half a step's worth of
//! the change is what the trapezoidal rule gives a force that acts all the step long: a resting body stays where it is, a
//! sliding one follows Coulomb's law to second order, and the energy changes by p times the mean of the contact's old and
//! new velocity, which takes energy out. Impacts are inelastic and first-order in time. Accelerations are those of the
//! smooth forces.

use super::contact::{Contacts, Row};
use super::model::Model;
use super::stepper::{check_finite, largest, singular, State, Stepper};
use crate::error::Result;

/// Rounds of the projection of positions at most.
const ROUNDS: usize = 20;
/// Positions are projected to this (m) if the settings ask for nothing.
const TOLERANCE: f64 = 1e-10;

impl Stepper {
    /// Let closed contacts act on `next`. Returns the refinements of the projections this took.
    pub(super) fn touch(&mut self, model: &mut dyn Model, h: f64) -> Result<usize> {
        let Some(mut contacts) = self.contacts.take() else { return Ok(0) };
        let mut next = std::mem::take(&mut self.next);
        let done = self.touch_at(model, h, &mut contacts, &mut next);
        self.next = next;
        self.contacts = Some(contacts);
        done
    }

    fn touch_at(&mut self, model: &mut dyn Model, h: f64, c: &mut Contacts, next: &mut State) -> Result<usize> {
        c.impulses.fill(0.0);
        c.error = 0.0;
        evaluate(model, c, next)?;
        c.closed.clear();
        c.closed.extend((0..c.rows.gap.len()).filter(|&i| c.rows.gap[i] <= 0.0));
        if c.closed.is_empty() {
            return Ok(0);
        }
        let weight = self.settings.scheme().beta * h * h;
        c.free.copy_from_slice(&next.v);
        self.factor_masses(model, next, weight)?;
        self.push(c, &mut next.v, weight)?;
        c.keep_impulses();
        for i in 0..next.q.len() {
            next.q[i] += 0.5 * h * (next.v[i] - c.free[i]);
        }
        self.separate(model, c, next, weight)?;
        next.v.copy_from_slice(&c.free);
        let mut rounds = self.project_velocities(model, next, weight)?;
        self.push(c, &mut next.v, weight)?;
        c.keep_impulses();
        rounds += self.project_velocities(model, next, weight)?;
        rounds += self.project_accelerations(model, next, weight)?;
        Ok(rounds)
    }

    /// M and Φ_q at a state, and factors of `M + weight Φ_qᵀ α Φ_q`.
    fn factor_masses(&mut self, model: &mut dyn Model, s: &State, weight: f64) -> Result<()> {
        self.evaluate_matrices(model, s, false)?;
        match self.tangent.factor(&self.structure, &self.at, 0.0, weight, &self.alpha) {
            true => Ok(()),
            false => Err(singular()),
        }
    }

    /// Impulses of the closed contacts on velocities.
    fn push(&mut self, c: &mut Contacts, v: &mut [f64], weight: f64) -> Result<()> {
        c.clear();
        for k in 0..c.closed.len() {
            for direction in 0..3 {
                self.list(c, Row { contact: c.closed[k], direction }, weight);
            }
        }
        c.solve_velocities(v)
    }

    fn list(&mut self, c: &mut Contacts, row: Row, weight: f64) {
        let mobility = self.free_mobility(c.row(row));
        if mobility > 0.0 {
            c.push(row, mobility, |j, out| self.respond(weight, j, out));
        }
    }

    /// Move positions the least way (as masses measure it) to where Φ = 0 and no gap is negative; at first to where those
    /// that push are closed, or bodies would come to rest a little above the floor.
    fn separate(&mut self, model: &mut dyn Model, c: &mut Contacts, next: &mut State, weight: f64) -> Result<()> {
        let mut phi = std::mem::take(&mut self.rows);
        let mut change = std::mem::take(&mut c.change);
        let mut done = Ok(false);
        for round in 0..=ROUNDS {
            done = self.approach(model, c, next, weight, round, (&mut phi, &mut change));
            if !matches!(done, Ok(false)) {
                break;
            }
        }
        (self.rows, c.change) = (phi, change);
        done.map(|_| ())
    }

    /// One round; true: positions are where they should be, or it is the last and they stay where they are.
    fn approach(
        &mut self,
        model: &mut dyn Model,
        c: &mut Contacts,
        next: &mut State,
        weight: f64,
        round: usize,
        (phi, change): (&mut [f64], &mut [f64]),
    ) -> Result<bool> {
        self.factor_masses(model, next, weight)?;
        phi.fill(0.0);
        model.constraints(next.t, &next.q, phi)?;
        check_finite("constraints", phi)?;
        self.phi.copy_from_slice(phi);
        evaluate(model, c, next)?;
        let wanted = self.settings.constraint_tolerance;
        let tolerance = if wanted > 0.0 { wanted } else { TOLERANCE };
        let deepest = c.rows.gap.iter().fold(0.0f64, |least, g| least.min(*g));
        let reached = largest(phi) <= tolerance && deepest >= -tolerance;
        if round == ROUNDS || (round > 0 && reached) {
            return Ok(true);
        }
        change.fill(0.0);
        self.project_onto(weight, change, phi);
        c.clear();
        for contact in 0..c.rows.gap.len() {
            let pushes = round == 0 && c.impulses[3 * contact] > 0.0;
            if pushes || c.rows.gap[contact] < tolerance {
                self.list(c, Row { contact, direction: 0 }, weight);
            }
        }
        c.solve_gaps(change, round == 0)?;
        next.q.iter_mut().zip(change.iter()).for_each(|(q, d)| *q += d);
        check_finite("q", &next.q)?;
        Ok(false)
    }

    /// The motion that a force on the coordinates causes within the constraints, per unit of impulse.
    fn respond(&mut self, weight: f64, force: &[f64], out: &mut [f64]) -> bool {
        let mut reaction = std::mem::take(&mut self.left);
        let mut none = std::mem::take(&mut self.rate);
        reaction.fill(0.0);
        none.fill(0.0);
        let done = self.solve_constrained(weight, force, &none, out, &mut reaction);
        self.left = reaction;
        self.rate = none;
        done
    }

    /// `Σ J² / M_ii`: what a row would answer without constraints, roughly.
    fn free_mobility(&self, j: &[f64]) -> f64 {
        let mass = &self.structure.mass;
        let own = |i: usize| mass.row(i).filter(|&k| mass.column(k) == i).map(|k| self.at.mass[k]).sum::<f64>();
        j.iter().enumerate().filter(|(_, j)| **j != 0.0).map(|(i, j)| j * j / own(i)).filter(|m| m.is_finite()).sum()
    }
}

fn evaluate(model: &mut dyn Model, c: &mut Contacts, s: &State) -> Result<()> {
    c.rows.reset();
    model.contacts(s.t, &s.q, &mut c.rows)?;
    c.rows.check()
}
