//! Problems to be made of a frame, and what their solutions mean for its bodies and contacts.
//!
//! Every formulation describes the same step; they differ in the shape of the friction cone and in whether velocities
//! are eliminated. *Reduced* ones have impulses only, `A = J M⁻¹ Jᵀ + C`, rows as in `rows.rs`. *Mixed* ones keep the
//! velocities v at the end of the step as free rows before them (Lu et al. 2013, eq. 18),
//!
//! ```text
//! M v - Jᵀ x - (M v₀ + h f) = 0,      w = J v + C x + bias
//! ```
//!
//! not symmetric, and without energy where C = 0, but sparse whatever the masses, and never squared.

use super::frame::Frame;
use super::mixed::Mixed;
use super::polyhedral::{Polygon, Polyhedral, MOST_FACETS};
use super::rows::Rows;
use crate::error::{Error, Result, Status};
use crate::memory::refill;
use crate::metrics::{Measure, Point};
use crate::problem::{FrictionMode, Problem};
use std::fmt;
use std::str::FromStr;

/// Sliding slower than this, in m/s, counts as sticking.
pub const STICK_SPEED: f64 = 1e-6;
/// A normal impulse below this fraction of the frame's largest counts as none.
const OPEN_SHARE: f64 = 1e-12;

/// The shape of a friction cone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// |x_1|, |x_2| <= mu x_n, following x_n.
    Box,
    /// The same, at normal impulses to be given with [`Problem::set_frozen_normals`].
    FrozenBox,
    /// Facets, eq. 19 of Lu et al. 2013.
    Polyhedral(Polygon),
    /// The exact cone, eqs. 4 to 6.
    Cone,
}

impl Shape {
    /// How friction rows follow their normals.
    pub(super) fn mode(self) -> FrictionMode {
        match self {
            Shape::FrozenBox => FrictionMode::Frozen,
            _ => FrictionMode::Coupled,
        }
    }
}

/// How to write a frame as a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formulation {
    /// The friction cone.
    pub shape: Shape,
    /// Keep the velocities as free rows?
    pub mixed: bool,
}

impl Formulation {
    /// Box friction that follows the impulses, velocities eliminated.
    pub const BOX: Formulation = Formulation { shape: Shape::Box, mixed: false };

    /// Rows of the frame's problem in this formulation; its solutions have this length.
    pub fn rows(self, frame: &Frame) -> usize {
        let (joints, contacts) = (frame.constraints().lo.len(), frame.contacts().gap.len());
        let per_contact = match self.shape {
            Shape::Polyhedral(polygon) => polygon.facets() + 2,
            _ => 3,
        };
        joints + per_contact * contacts + if self.mixed { 6 * frame.bodies().masses.len() } else { 0 }
    }
}

/// `box`, `frozen-box`, `cone`, `polyhedral:8`, `circumscribed:8`, and the same after `mixed:`.
impl fmt::Display for Formulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mixed {
            f.write_str("mixed:")?;
        }
        match self.shape {
            Shape::Box => f.write_str("box"),
            Shape::FrozenBox => f.write_str("frozen-box"),
            Shape::Cone => f.write_str("cone"),
            Shape::Polyhedral(Polygon::Inscribed(n)) => write!(f, "polyhedral:{n}"),
            Shape::Polyhedral(Polygon::Circumscribed(n)) => write!(f, "circumscribed:{n}"),
        }
    }
}

impl FromStr for Formulation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Formulation> {
        let unknown = || {
            Error::new(
                Status::InvalidValue,
                format_args!(
                    "formulation '{text}' is none of box, frozen-box, cone, polyhedral:8, circumscribed:8, or one of these \
                     after mixed:"
                ),
            )
        };
        let (mixed, shape) = match text.strip_prefix("mixed") {
            Some(rest) => (true, rest.strip_prefix(':').unwrap_or(if rest.is_empty() { "box" } else { "?" })),
            None => (false, text),
        };
        let (name, facets) = match shape.split_once(':') {
            Some((name, facets)) => (name, Some(facets.parse().map_err(|_| unknown())?)),
            None => (shape, None),
        };
        let allowed = facets.is_none_or(|n| (3..=MOST_FACETS).contains(&n));
        let shape = match (name, facets) {
            ("box", None) => Shape::Box,
            ("frozen-box", None) => Shape::FrozenBox,
            ("cone", None) => Shape::Cone,
            ("polyhedral", Some(n)) if allowed => Shape::Polyhedral(Polygon::Inscribed(n)),
            ("circumscribed", Some(n)) if allowed => Shape::Polyhedral(Polygon::Circumscribed(n)),
            _ => return Err(unknown()),
        };
        Ok(Formulation { shape, mixed })
    }
}

/// What a contact does. Numbers are part of the ABI and of recordings.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactState {
    /// No impulse.
    Open = 0,
    /// Pressed, and slower than 1e-6 m/s in the tangent plane.
    Stick = 1,
    /// Pressed and sliding.
    Slide = 2,
}

/// The errors of Lu et al. 2013, section 5, of a frame's solution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameErrors {
    /// ½ φᵀφ of the Fischer-Burmeister function over all rows of the formulation; mixed units.
    pub total: f64,
    /// ½ φᵀφ over the contacts' normal rows; mixed units.
    pub normal: f64,
    /// Σ |s σ|, sliding speed times what friction leaves of mu p_n, in joules.
    pub magnitude: f64,
    /// Σ λ_f·v_f + |λ_f||v_f|, in joules: 0 where friction opposes sliding. (The paper's λ_f·v_f alone is not 0 at a
    /// solution that slides: there it is the dissipated energy.)
    pub direction: f64,
    /// Energy error of the formulation's problem, in joules; NaN where a row has none.
    pub energy: f64,
}

impl ContactState {
    /// The state with this number.
    pub fn from_number(number: i32) -> Option<Self> {
        [ContactState::Open, ContactState::Stick, ContactState::Slide].into_iter().find(|&s| s as i32 == number)
    }
}

impl FrameErrors {
    /// Magnitude and direction together.
    pub fn friction(&self) -> f64 {
        self.magnitude + self.direction
    }
}

/// What a solution means for the frame. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// Impulses of the frame's rows: the constraints', then normal and two tangents of every contact, N s.
    pub impulses: Vec<f64>,
    /// Velocities at the end of the step, six per body.
    pub velocities: Vec<f64>,
    /// What every contact does.
    pub states: Vec<ContactState>,
    /// The errors.
    pub errors: FrameErrors,
}

/// Makes problems of frames, one after another. Keeps its memory.
#[derive(Debug, Default)]
pub struct Formulator {
    rows: Rows,
    mixed: Mixed,
    polyhedral: Polyhedral,
    /// The frame's rows with box friction, mixed or not, for those that are made of it.
    source: Problem,
    /// The problem that a solution is judged by.
    judged: Problem,
    /// A problem in the making, exchanged with the caller's when it is whole.
    spare: Problem,
    w: Vec<f64>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    scratch: Vec<f64>,
    change: Vec<f64>,
}

impl Formulator {
    /// A formulator without memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Refill `out` with the frame's problem; on an error it stays as it was.
    pub fn fill(&mut self, frame: &Frame, formulation: Formulation, out: &mut Problem) -> Result<()> {
        let mut spare = std::mem::take(&mut self.spare);
        let filled = self.fill_any(frame, formulation, &mut spare);
        if filled.is_ok() {
            std::mem::swap(&mut spare, out);
        }
        self.spare = spare;
        filled
    }

    fn fill_any(&mut self, frame: &Frame, formulation: Formulation, out: &mut Problem) -> Result<()> {
        self.rows.fill(frame)?;
        match formulation.shape {
            Shape::Polyhedral(polygon) => {
                self.fill_source(frame, formulation.mixed)?;
                self.polyhedral.fill(&self.source, polygon, out)
            }
            shape => self.fill_rows(frame, formulation.mixed, shape, out),
        }
    }

    /// The frame's rows with box friction, into `source`.
    fn fill_source(&mut self, frame: &Frame, mixed: bool) -> Result<()> {
        let mut source = std::mem::take(&mut self.source);
        let filled = self.fill_rows(frame, mixed, Shape::Box, &mut source);
        self.source = source;
        filled
    }

    fn fill_rows(&mut self, frame: &Frame, mixed: bool, shape: Shape, out: &mut Problem) -> Result<()> {
        let rows = &self.rows;
        if mixed {
            return self.mixed.fill(frame, rows, shape, out);
        }
        out.set_jacobian(&rows.inverse_mass, &rows.jacobian, &rows.bodies, Some(&rows.compliance))?;
        // bias is a velocity, set_motion wants what to remove in a step of 1.
        out.set_motion(1.0, &rows.free, None, Some(&rows.bias))?;
        out.set_bounds(&rows.lo, &rows.hi)?;
        match shape {
            Shape::Cone => out.set_cones(&rows.cones, frame.contacts().mu),
            shape => out.set_friction(&rows.findex, &rows.mu, shape.mode()),
        }
    }

    /// What `z`, a solution of the frame's problem in this formulation, means: impulses, velocities, states, errors.
    pub fn respond(&mut self, frame: &Frame, formulation: Formulation, z: &[f64], out: &mut Response) -> Result<()> {
        let mut judged = std::mem::take(&mut self.judged);
        let done = self.respond_with(frame, formulation, z, &mut judged, out);
        self.judged = judged;
        done
    }

    fn respond_with(
        &mut self,
        frame: &Frame,
        formulation: Formulation,
        z: &[f64],
        judged: &mut Problem,
        out: &mut Response,
    ) -> Result<()> {
        self.fill_any(frame, formulation, judged)?;
        if z.len() != judged.len() {
            return Err(Error::new(
                Status::InvalidSize,
                format_args!("z has length {}, the formulation has {} rows", z.len(), judged.len()),
            ));
        }
        if let Some(i) = z.iter().position(|v| !v.is_finite()) {
            return Err(Error::new(Status::InvalidValue, format_args!("z[{i}] is {}, it must be finite", z[i])));
        }
        if formulation.shape == Shape::FrozenBox {
            judged.set_frozen_normals(z)?;
        }
        let (bodies, n) = (frame.bodies().masses.len(), self.rows.lo.len());
        let velocities = if formulation.mixed { 6 * bodies } else { 0 };
        refill(&mut out.impulses, n, 0.0)?;
        match formulation.shape {
            Shape::Polyhedral(_) => {
                refill(&mut self.scratch, velocities + n, 0.0)?;
                self.polyhedral.to_rows(z, &mut self.scratch)?;
                out.impulses.copy_from_slice(&self.scratch[velocities..]);
            }
            _ => out.impulses.copy_from_slice(&z[velocities..]),
        }
        let judge = self.judge(judged, z)?;
        self.move_bodies(frame, out)?;
        self.look_at_contacts(frame, out)?;
        (out.errors.total, out.errors.energy) = judge;
        Ok(())
    }

    /// Total and energy error of z.
    fn judge(&mut self, problem: &Problem, z: &[f64]) -> Result<(f64, f64)> {
        for v in [&mut self.w, &mut self.lo, &mut self.hi] {
            refill(v, z.len(), 0.0)?;
        }
        problem.multiply(z, &mut self.w, &mut self.scratch)?;
        problem.bounds_at(z, &mut self.lo, &mut self.hi);
        let at = Point {
            diagonal: problem.diagonal(),
            x: z,
            w: &self.w,
            lo: &self.lo,
            hi: &self.hi,
            cones: problem.cones(),
        };
        let energy = if problem.has_energy() { Measure::Energy.total(&at) } else { f64::NAN };
        Ok((Measure::Merit.total(&at), energy))
    }

    /// v = free + M⁻¹ Jᵀ x, from the impulses alone, whatever z says of velocities.
    fn move_bodies(&mut self, frame: &Frame, out: &mut Response) -> Result<()> {
        self.fill_source(frame, false)?;
        refill(&mut self.change, self.rows.free.len(), 0.0)?;
        self.source.velocity_change(&out.impulses, &mut self.change, &mut self.scratch)?;
        refill(&mut out.velocities, self.rows.free.len(), 0.0)?;
        for (v, (free, change)) in out.velocities.iter_mut().zip(self.rows.free.iter().zip(&self.change)) {
            *v = free + change;
        }
        Ok(())
    }

    fn look_at_contacts(&mut self, frame: &Frame, out: &mut Response) -> Result<()> {
        let (contacts, first) = (frame.contacts(), frame.constraints().lo.len());
        let x = &out.impulses;
        refill(&mut self.w, x.len(), 0.0)?;
        self.source.multiply(x, &mut self.w, &mut self.scratch)?;
        let largest = x.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        refill(&mut out.states, contacts.gap.len(), ContactState::Open)?;
        let mut errors = FrameErrors::default();
        for (k, state) in out.states.iter_mut().enumerate() {
            let at = first + 3 * k;
            errors.normal += Measure::Merit.row(1.0, x[at], self.w[at], 0.0, f64::INFINITY);
            let (force, speed) = (x[at + 1].hypot(x[at + 2]), self.w[at + 1].hypot(self.w[at + 2]));
            let reach = if x[at] > 0.0 && contacts.mu[k] > 0.0 { contacts.mu[k] * x[at] } else { 0.0 };
            // Unlimited friction leaves nothing to slide against: any speed is an error, of no finite size.
            errors.magnitude += if speed > 0.0 { (speed * (reach - force)).abs() } else { 0.0 };
            errors.direction += x[at + 1] * self.w[at + 1] + x[at + 2] * self.w[at + 2] + force * speed;
            *state = match x[at] > OPEN_SHARE * largest {
                false => ContactState::Open,
                true if speed > STICK_SPEED => ContactState::Slide,
                true => ContactState::Stick,
            };
        }
        out.errors = errors;
        Ok(())
    }
}
