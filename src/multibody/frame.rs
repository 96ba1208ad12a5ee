//! One time step as an engine knows it: bodies, bilateral constraints, contacts, step size.
//!
//! The fields are those of Lu et al. 2013, Table 1, with what it lacks: bounds on both sides, compliance, damping,
//! restitution, time. Everything is checked when it is set, and kept to the bit; memory is kept from step to step.
//!
//! Body numbers in pairs are places in this frame's list, -1 is the world; ids only follow a body from frame to frame.
//! A contact's normal points away from the first body of its pair, its point is relative to that body's centre of mass
//! (the world's origin for -1), its gap is negative in penetration.

use crate::error::{Error, Result, Status};
use crate::memory::{refill, reserve};
use crate::problem::intervals;
use nalgebra::Matrix3;

/// Unit vectors and quaternions of single-precision engines are off by less.
const UNIT_NOISE: f64 = 1e-4;
/// An inertia may be unsymmetric by this fraction of its own size.
const INERTIA_NOISE: f64 = 1e-5;

/// The bodies of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bodies<'a> {
    /// The engine's name of each body; empty: their numbers.
    pub ids: &'a [i32],
    /// kg, > 0; +inf for a body that no impulse moves.
    pub masses: &'a [f64],
    /// kg m², 9 per body by rows, about the centre of mass in the body's axes; symmetric positive definite. Not looked at
    /// where the mass is infinite.
    pub inertia: &'a [f64],
    /// m, 3 per body, the centre of mass in the world.
    pub positions: &'a [f64],
    /// 4 per body, (w, x, y, z), from body axes to the world's; of length 1.
    pub quaternions: &'a [f64],
    /// m/s and rad/s, 6 per body, linear then angular in world axes, at the beginning of the step.
    pub velocities: &'a [f64],
    /// N and N m, 6 per body, all that acts but constraints and contacts: gravity, and the gyroscopic torque if wanted.
    pub forces: &'a [f64],
}

/// The bilateral constraints of a frame, limits and motors included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Constraints<'a> {
    /// How many rows each joint has.
    pub rows: &'a [i32],
    /// 2 per joint, body numbers.
    pub pairs: &'a [i32],
    /// 12 per row: linear and angular part on the first body, then on the second.
    pub jacobian: &'a [f64],
    /// N s or N m s, one per row; -inf for none.
    pub lo: &'a [f64],
    /// N s or N m s, one per row; +inf for none.
    pub hi: &'a [f64],
    /// m or rad, one per row: the constraint's value, removed within the step.
    pub violation: &'a [f64],
    /// m/N or rad/(N m), one per row; empty: rigid.
    pub compliance: &'a [f64],
    /// N s/m or N m s/rad, one per row, of compliant rows; empty: none.
    pub damping: &'a [f64],
}

/// The contacts of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contacts<'a> {
    /// 2 per contact, body numbers.
    pub pairs: &'a [i32],
    /// m, one per contact; negative in penetration.
    pub gap: &'a [f64],
    /// Coefficient of friction, one per contact, >= 0.
    pub mu: &'a [f64],
    /// 3 per contact, away from the first body; of length 1.
    pub normals: &'a [f64],
    /// m, 3 per contact, from the first body's centre of mass, in world axes.
    pub points: &'a [f64],
    /// Newton's coefficient, one per contact, in [0, 1]; empty: 0.
    pub restitution: &'a [f64],
    /// m/N, one per contact; empty: rigid.
    pub compliance: &'a [f64],
    /// N s/m, one per contact; empty: none.
    pub damping: &'a [f64],
}

/// A time step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    step: f64,
    time: f64,
    ids: Vec<i32>,
    masses: Vec<f64>,
    inertia: Vec<f64>,
    positions: Vec<f64>,
    quaternions: Vec<f64>,
    velocities: Vec<f64>,
    forces: Vec<f64>,
    joint_rows: Vec<i32>,
    joint_pairs: Vec<i32>,
    jacobian: Vec<f64>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    violation: Vec<f64>,
    row_compliance: Vec<f64>,
    row_damping: Vec<f64>,
    contact_pairs: Vec<i32>,
    gap: Vec<f64>,
    mu: Vec<f64>,
    normals: Vec<f64>,
    points: Vec<f64>,
    restitution: Vec<f64>,
    contact_compliance: Vec<f64>,
    contact_damping: Vec<f64>,
}

impl Frame {
    /// An empty frame; its step must be set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Step size h > 0 and the time at its beginning, in seconds.
    pub fn set_step(&mut self, step: f64, time: f64) -> Result<()> {
        if !(step > 0.0 && step.is_finite()) {
            return Err(invalid(format_args!("step is {step}, it must be positive and finite")));
        }
        if !time.is_finite() {
            return Err(invalid(format_args!("time is {time}, it must be finite")));
        }
        (self.step, self.time) = (step, time);
        Ok(())
    }

    /// Begin the frame with its bodies; constraints and contacts of an earlier one are dropped.
    pub fn set_bodies(&mut self, bodies: &Bodies<'_>) -> Result<()> {
        check_bodies(bodies)?;
        let n = bodies.masses.len();
        reserve(&mut self.ids, n)?;
        for (to, from) in [
            (&mut self.masses, bodies.masses),
            (&mut self.inertia, bodies.inertia),
            (&mut self.positions, bodies.positions),
            (&mut self.quaternions, bodies.quaternions),
            (&mut self.velocities, bodies.velocities),
            (&mut self.forces, bodies.forces),
        ] {
            copy(to, from)?;
        }
        self.ids.clear();
        match bodies.ids.is_empty() {
            true => self.ids.extend(0..n as i32),
            false => self.ids.extend_from_slice(bodies.ids),
        }
        self.set_constraints(&Constraints::default())?;
        self.set_contacts(&Contacts::default())
    }

    /// Replace the constraints.
    pub fn set_constraints(&mut self, constraints: &Constraints<'_>) -> Result<()> {
        check_constraints(constraints, self.masses.len())?;
        let rows = constraints.lo.len();
        copy(&mut self.joint_rows, constraints.rows)?;
        copy(&mut self.joint_pairs, constraints.pairs)?;
        copy(&mut self.jacobian, constraints.jacobian)?;
        copy(&mut self.lo, constraints.lo)?;
        copy(&mut self.hi, constraints.hi)?;
        copy(&mut self.violation, constraints.violation)?;
        copy_or_zero(&mut self.row_compliance, constraints.compliance, rows)?;
        copy_or_zero(&mut self.row_damping, constraints.damping, rows)
    }

    /// Replace the contacts.
    pub fn set_contacts(&mut self, contacts: &Contacts<'_>) -> Result<()> {
        check_contacts(contacts, self.masses.len())?;
        let n = contacts.gap.len();
        copy(&mut self.contact_pairs, contacts.pairs)?;
        copy(&mut self.gap, contacts.gap)?;
        copy(&mut self.mu, contacts.mu)?;
        copy(&mut self.normals, contacts.normals)?;
        copy(&mut self.points, contacts.points)?;
        copy_or_zero(&mut self.restitution, contacts.restitution, n)?;
        copy_or_zero(&mut self.contact_compliance, contacts.compliance, n)?;
        copy_or_zero(&mut self.contact_damping, contacts.damping, n)
    }

    /// Become a copy of another frame, in the memory there is. Nothing is checked again.
    pub fn copy_from(&mut self, other: &Frame) -> Result<()> {
        (self.step, self.time) = (other.step, other.time);
        for (to, from) in [
            (&mut self.ids, &other.ids),
            (&mut self.joint_rows, &other.joint_rows),
            (&mut self.joint_pairs, &other.joint_pairs),
            (&mut self.contact_pairs, &other.contact_pairs),
        ] {
            copy(to, from)?;
        }
        for (to, from) in [
            (&mut self.masses, &other.masses),
            (&mut self.inertia, &other.inertia),
            (&mut self.positions, &other.positions),
            (&mut self.quaternions, &other.quaternions),
            (&mut self.velocities, &other.velocities),
            (&mut self.forces, &other.forces),
            (&mut self.jacobian, &other.jacobian),
            (&mut self.lo, &other.lo),
            (&mut self.hi, &other.hi),
            (&mut self.violation, &other.violation),
            (&mut self.row_compliance, &other.row_compliance),
            (&mut self.row_damping, &other.row_damping),
            (&mut self.gap, &other.gap),
            (&mut self.mu, &other.mu),
            (&mut self.normals, &other.normals),
            (&mut self.points, &other.points),
            (&mut self.restitution, &other.restitution),
            (&mut self.contact_compliance, &other.contact_compliance),
            (&mut self.contact_damping, &other.contact_damping),
        ] {
            copy(to, from)?;
        }
        Ok(())
    }

    /// Step size in seconds; 0 until it is set.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// Time at the beginning of the step, in seconds.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// The bodies.
    pub fn bodies(&self) -> Bodies<'_> {
        Bodies {
            ids: &self.ids,
            masses: &self.masses,
            inertia: &self.inertia,
            positions: &self.positions,
            quaternions: &self.quaternions,
            velocities: &self.velocities,
            forces: &self.forces,
        }
    }

    /// The constraints.
    pub fn constraints(&self) -> Constraints<'_> {
        Constraints {
            rows: &self.joint_rows,
            pairs: &self.joint_pairs,
            jacobian: &self.jacobian,
            lo: &self.lo,
            hi: &self.hi,
            violation: &self.violation,
            compliance: &self.row_compliance,
            damping: &self.row_damping,
        }
    }

    /// The contacts.
    pub fn contacts(&self) -> Contacts<'_> {
        Contacts {
            pairs: &self.contact_pairs,
            gap: &self.gap,
            mu: &self.mu,
            normals: &self.normals,
            points: &self.points,
            restitution: &self.restitution,
            compliance: &self.contact_compliance,
            damping: &self.contact_damping,
        }
    }
}

fn invalid(sentence: std::fmt::Arguments<'_>) -> Error {
    Error::new(Status::InvalidValue, sentence)
}

fn copy<T: Copy>(to: &mut Vec<T>, from: &[T]) -> Result<()> {
    reserve(to, from.len())?;
    to.clear();
    to.extend_from_slice(from);
    Ok(())
}

fn copy_or_zero(to: &mut Vec<f64>, from: &[f64], len: usize) -> Result<()> {
    match from.is_empty() {
        true => refill(to, len, 0.0),
        false => copy(to, from),
    }
}

fn length(name: &str, found: usize, count: usize, each: usize) -> Result<()> {
    match count.checked_mul(each) {
        Some(expected) if found == expected => Ok(()),
        Some(expected) => {
            Err(Error::new(Status::InvalidSize, format_args!("{name} has length {found}, expected {expected}")))
        }
        None => Err(Error::new(Status::InvalidSize, format_args!("{name}: {count} times {each} overflows"))),
    }
}

fn finite(name: &str, values: &[f64]) -> Result<()> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) => Err(invalid(format_args!("{name}[{i}] is {}, it must be finite", values[i]))),
    }
}

fn not_negative(name: &str, values: &[f64], most: f64) -> Result<()> {
    match values.iter().position(|v| !(*v >= 0.0 && *v <= most)) {
        None => Ok(()),
        Some(i) => Err(invalid(format_args!("{name}[{i}] is {}, it must be within 0..={most}", values[i]))),
    }
}

/// Refuse vectors that are not of length 1.
fn unit(name: &str, values: &[f64], each: usize) -> Result<()> {
    finite(name, values)?;
    for (k, v) in values.chunks_exact(each).enumerate() {
        let size = v.iter().map(|c| c * c).sum::<f64>().sqrt();
        if (size - 1.0).abs() > UNIT_NOISE {
            return Err(invalid(format_args!("{name}[{}..] has the length {size}, it must be 1", each * k)));
        }
    }
    Ok(())
}

fn check_bodies(b: &Bodies<'_>) -> Result<()> {
    let n = b.masses.len();
    if n > i32::MAX as usize {
        return Err(Error::new(Status::InvalidSize, format_args!("{n} bodies are more than 32 bits can name")));
    }
    if !b.ids.is_empty() {
        length("ids", b.ids.len(), n, 1)?;
    }
    length("inertia", b.inertia.len(), n, 9)?;
    length("positions", b.positions.len(), n, 3)?;
    length("quaternions", b.quaternions.len(), n, 4)?;
    length("velocities", b.velocities.len(), n, 6)?;
    length("forces", b.forces.len(), n, 6)?;
    if let Some(i) = b.masses.iter().position(|m| m.is_nan() || *m <= 0.0) {
        return Err(invalid(format_args!("masses[{i}] is {}, it must be > 0", b.masses[i])));
    }
    for k in 0..n {
        if b.masses[k].is_finite() {
            check_inertia(k, &b.inertia[9 * k..][..9])?;
        }
    }
    finite("positions", b.positions)?;
    unit("quaternions", b.quaternions, 4)?;
    finite("velocities", b.velocities)?;
    finite("forces", b.forces)
}

fn check_inertia(body: usize, entries: &[f64]) -> Result<()> {
    if let Some(i) = entries.iter().position(|v| !v.is_finite()) {
        return Err(invalid(format_args!("inertia[{}] is {}, it must be finite", 9 * body + i, entries[i])));
    }
    let given = Matrix3::from_row_slice(entries);
    let inertia = (given + given.transpose()) * 0.5;
    if (given - inertia).amax() > INERTIA_NOISE * inertia.diagonal().amax() {
        return Err(invalid(format_args!("inertia[{}..] (body {body}) is not symmetric", 9 * body)));
    }
    match inertia.cholesky() {
        Some(_) => Ok(()),
        None => Err(invalid(format_args!("inertia[{}..] (body {body}) is not positive definite", 9 * body))),
    }
}

fn check_pairs(pairs: &[i32], bodies: usize) -> Result<()> {
    for (k, &id) in pairs.iter().enumerate() {
        if id < -1 || (id >= 0 && id as usize >= bodies) {
            return Err(Error::new(Status::InvalidIndex, format_args!("pairs[{k}] is {id}, outside -1..{bodies}")));
        }
    }
    match pairs.chunks_exact(2).position(|p| p[0] == p[1]) {
        None => Ok(()),
        Some(k) => Err(Error::new(
            Status::InvalidIndex,
            format_args!("pairs[{}] and pairs[{}] are both {}", 2 * k, 2 * k + 1, pairs[2 * k]),
        )),
    }
}

fn check_constraints(c: &Constraints<'_>, bodies: usize) -> Result<()> {
    let n = c.lo.len();
    length("pairs", c.pairs.len(), c.rows.len(), 2)?;
    check_pairs(c.pairs, bodies)?;
    if let Some(i) = c.rows.iter().position(|&r| r < 0) {
        return Err(invalid(format_args!("rows[{i}] is {}, it must be >= 0", c.rows[i])));
    }
    let total: i64 = c.rows.iter().map(|&r| i64::from(r)).sum();
    if total != n as i64 {
        return Err(Error::new(Status::InvalidSize, format_args!("rows adds up to {total}, but lo has length {n}")));
    }
    length("jacobian", c.jacobian.len(), n, 12)?;
    length("hi", c.hi.len(), n, 1)?;
    length("violation", c.violation.len(), n, 1)?;
    for (name, values) in [("compliance", c.compliance), ("damping", c.damping)] {
        if !values.is_empty() {
            length(name, values.len(), n, 1)?;
            not_negative(name, values, f64::MAX)?;
        }
    }
    finite("jacobian", c.jacobian)?;
    finite("violation", c.violation)?;
    intervals(c.lo, c.hi)
}

fn check_contacts(c: &Contacts<'_>, bodies: usize) -> Result<()> {
    let n = c.gap.len();
    length("pairs", c.pairs.len(), n, 2)?;
    length("mu", c.mu.len(), n, 1)?;
    length("normals", c.normals.len(), n, 3)?;
    length("points", c.points.len(), n, 3)?;
    check_pairs(c.pairs, bodies)?;
    finite("gap", c.gap)?;
    not_negative("mu", c.mu, f64::INFINITY)?;
    unit("normals", c.normals, 3)?;
    finite("points", c.points)?;
    for (name, values, most) in
        [("restitution", c.restitution, 1.0), ("compliance", c.compliance, f64::MAX), ("damping", c.damping, f64::MAX)]
    {
        if !values.is_empty() {
            length(name, values.len(), n, 1)?;
            not_negative(name, values, most)?;
        }
    }
    Ok(())
}
