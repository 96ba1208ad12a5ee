//! Frames on disk: one group `/frames/<number>` per step, the tree of Lu et al. 2013, Table 1, and what it lacks.
//!
//! ```text
//! step, time                                                                             s
//! bodies/      ids masses inertia positions quaternions velocities forces
//! constraints/ rows pairs jacobian bounds violation compliance damping
//! contacts/    pairs gap mu normals points restitution compliance damping
//! solution/    z velocities slide_or_stick (0 open, 1 stick, 2 slide)                    if there is one
//!              total_error normal_error friction_error magnitude_error direction_error energy_error iterations
//!              attributes formulation, solver, outcome, seconds
//! ```
//!
//! Every dataset has an attribute `unit`; the group has the sizes. A dataset that is the same as in the frame before is
//! that one again, by a hard link; velocities may be those at the end of that frame.

use super::hdf5::{Address, Values, Writer};
use super::source::{Fields, Found};
use crate::error::Error;
use crate::multibody::{Bodies, Constraints, ContactState, Contacts, Formulation, Frame, FrameErrors, Response};
use crate::solve::Report;
use std::collections::HashMap;

/// A solution recorded with a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameSolution {
    /// How the frame was written as a problem.
    pub formulation: Formulation,
    /// The solution of that problem.
    pub z: Vec<f64>,
    /// Velocities at the end of the step, six per body.
    pub velocities: Vec<f64>,
    /// What each contact did.
    pub states: Vec<ContactState>,
    /// The errors.
    pub errors: FrameErrors,
    /// Iterations of the solver; 0 where it did not say.
    pub iterations: usize,
    /// Seconds of the solver; 0 where it did not say.
    pub seconds: f64,
    /// Name of the solver; empty where it did not say.
    pub solver: String,
    /// How the solve ended; empty where the solver did not say.
    pub outcome: String,
}

/// What the frame before looked like, field by field.
#[derive(Debug, Default)]
pub(super) struct Memory {
    last: HashMap<&'static str, Kept>,
    bounds: Vec<f64>,
}

/// Velocities at the end of a step, as the memory calls them.
const END: &str = "end";
const VELOCITY_UNIT: &str = "m/s, rad/s";

#[derive(Debug)]
struct Kept {
    shape: [usize; 3],
    bits: Bits,
    address: Address,
}

/// Values to the bit: NaN is equal to itself, 0 is not -0.
#[derive(Debug, PartialEq)]
enum Bits {
    Doubles(Vec<f64>),
    Integers(Vec<i32>),
}

impl Bits {
    fn are(&self, values: &Values<'_>) -> bool {
        match (self, values) {
            (Bits::Doubles(a), Values::Doubles(b)) => {
                a.len() == b.len() && a.iter().zip(*b).all(|(a, b)| a.to_bits() == b.to_bits())
            }
            (Bits::Integers(a), Values::Integers(b)) => a == b,
            _ => false,
        }
    }

    fn become_(&mut self, values: &Values<'_>) {
        match values {
            Values::Doubles(b) => match self {
                Bits::Doubles(a) => {
                    a.clear();
                    a.extend_from_slice(b);
                }
                _ => *self = Bits::Doubles(b.to_vec()),
            },
            Values::Integers(b) => *self = Bits::Integers(b.to_vec()),
            Values::Text(_) => *self = Bits::Integers(Vec::new()),
        }
    }
}

impl Memory {
    /// A dataset, or the last frame's if that is the same.
    fn dataset(
        &mut self,
        to: &mut Writer,
        key: &'static str,
        shape: &[usize],
        values: Values<'_>,
        unit: &str,
    ) -> Address {
        let mut padded = [usize::MAX; 3];
        padded[..shape.len()].copy_from_slice(shape);
        if let Some(kept) = self.last.get_mut(key) {
            if kept.shape != padded || !kept.bits.are(&values) {
                kept.address = to.dataset(shape, values, unit);
                kept.bits.become_(&values);
                kept.shape = padded;
            }
            return kept.address;
        }
        let address = to.dataset(shape, values, unit);
        let mut bits = Bits::Integers(Vec::new());
        bits.become_(&values);
        self.last.insert(key, Kept { shape: padded, bits, address });
        address
    }

    /// Velocities at the beginning of a step: as a rule those at the end of the one before.
    fn velocities(&mut self, to: &mut Writer, shape: &[usize; 2], values: Values<'_>) -> Address {
        match self.last.get(END) {
            Some(end) if end.shape[..2] == shape[..] && end.bits.are(&values) => end.address,
            _ => self.dataset(to, "velocities", shape, values, VELOCITY_UNIT),
        }
    }
}

/// Add a frame to a file.
pub(super) fn write(
    to: &mut Writer,
    memory: &mut Memory,
    frame: &Frame,
    solution: Option<(Formulation, &[f64], &Response, Option<&Report>)>,
) -> Address {
    let mut links = vec![
        ("step", memory.dataset(to, "step", &[], Values::Doubles(&[frame.step()]), "s")),
        ("time", memory.dataset(to, "time", &[], Values::Doubles(&[frame.time()]), "s")),
        ("bodies", write_bodies(to, memory, &frame.bodies())),
        ("constraints", write_constraints(to, memory, &frame.constraints())),
        ("contacts", write_contacts(to, memory, &frame.contacts())),
    ];
    if let Some(solution) = solution {
        links.push(("solution", write_solution(to, memory, solution)));
    }
    let counts =
        [frame.bodies().masses.len(), frame.constraints().lo.len(), frame.contacts().gap.len()].map(|n| [n as i32]);
    let attributes = [
        ("bodies", Values::Integers(&counts[0])),
        ("constraint_rows", Values::Integers(&counts[1])),
        ("contacts", Values::Integers(&counts[2])),
    ];
    to.group(&links, &attributes)
}

fn write_bodies(to: &mut Writer, memory: &mut Memory, b: &Bodies<'_>) -> Address {
    let n = b.masses.len();
    let links = [
        ("ids", memory.dataset(to, "ids", &[n], Values::Integers(b.ids), "")),
        ("masses", memory.dataset(to, "masses", &[n], Values::Doubles(b.masses), "kg")),
        ("inertia", memory.dataset(to, "inertia", &[n, 3, 3], Values::Doubles(b.inertia), "kg m^2, body axes")),
        ("positions", memory.dataset(to, "positions", &[n, 3], Values::Doubles(b.positions), "m")),
        ("quaternions", memory.dataset(to, "quaternions", &[n, 4], Values::Doubles(b.quaternions), "1 (w, x, y, z)")),
        ("velocities", memory.velocities(to, &[n, 6], Values::Doubles(b.velocities))),
        ("forces", memory.dataset(to, "forces", &[n, 6], Values::Doubles(b.forces), "N, N m")),
    ];
    to.group(&links, &[])
}

fn write_constraints(to: &mut Writer, memory: &mut Memory, c: &Constraints<'_>) -> Address {
    let (n, joints) = (c.lo.len(), c.rows.len());
    let mut bounds = std::mem::take(&mut memory.bounds);
    bounds.clear();
    bounds.extend(c.lo.iter().zip(c.hi).flat_map(|(lo, hi)| [lo, hi]));
    let links = [
        ("rows", memory.dataset(to, "rows", &[joints], Values::Integers(c.rows), "")),
        ("pairs", memory.dataset(to, "joint_pairs", &[joints, 2], Values::Integers(c.pairs), "")),
        ("jacobian", memory.dataset(to, "jacobian", &[n, 12], Values::Doubles(c.jacobian), "")),
        ("bounds", memory.dataset(to, "bounds", &[n, 2], Values::Doubles(&bounds), "N s or N m s")),
        ("violation", memory.dataset(to, "violation", &[n], Values::Doubles(c.violation), "m or rad")),
        ("compliance", memory.dataset(to, "row_compliance", &[n], Values::Doubles(c.compliance), "m/N or rad/(N m)")),
        ("damping", memory.dataset(to, "row_damping", &[n], Values::Doubles(c.damping), "N s/m or N m s/rad")),
    ];
    memory.bounds = bounds;
    to.group(&links, &[])
}

fn write_contacts(to: &mut Writer, memory: &mut Memory, c: &Contacts<'_>) -> Address {
    let n = c.gap.len();
    let links = [
        ("pairs", memory.dataset(to, "contact_pairs", &[n, 2], Values::Integers(c.pairs), "")),
        ("gap", memory.dataset(to, "gap", &[n], Values::Doubles(c.gap), "m")),
        ("mu", memory.dataset(to, "mu", &[n], Values::Doubles(c.mu), "1")),
        ("normals", memory.dataset(to, "normals", &[n, 3], Values::Doubles(c.normals), "1")),
        ("points", memory.dataset(to, "points", &[n, 3], Values::Doubles(c.points), "m")),
        ("restitution", memory.dataset(to, "restitution", &[n], Values::Doubles(c.restitution), "1")),
        ("compliance", memory.dataset(to, "contact_compliance", &[n], Values::Doubles(c.compliance), "m/N")),
        ("damping", memory.dataset(to, "contact_damping", &[n], Values::Doubles(c.damping), "N s/m")),
    ];
    to.group(&links, &[])
}

fn write_solution(
    to: &mut Writer,
    memory: &mut Memory,
    (formulation, z, response, report): (Formulation, &[f64], &Response, Option<&Report>),
) -> Address {
    let e = &response.errors;
    let states: Vec<i32> = response.states.iter().map(|&s| s as i32).collect();
    let iterations = [report.map_or(0, |r| i32::try_from(r.iterations).unwrap_or(i32::MAX))];
    let (bodies, contacts) = (response.velocities.len() / 6, states.len());
    let mut links = vec![
        ("z", memory.dataset(to, "z", &[z.len()], Values::Doubles(z), "N s, N m s; m/s, rad/s")),
        ("velocities", memory.dataset(to, END, &[bodies, 6], Values::Doubles(&response.velocities), VELOCITY_UNIT)),
        ("slide_or_stick", memory.dataset(to, "states", &[contacts], Values::Integers(&states), "")),
        ("iterations", memory.dataset(to, "iterations", &[], Values::Integers(&iterations), "")),
    ];
    for (name, value, unit) in [
        ("total_error", e.total, "mixed"),
        ("normal_error", e.normal, "mixed"),
        ("friction_error", e.friction(), "J"),
        ("magnitude_error", e.magnitude, "J"),
        ("direction_error", e.direction, "J"),
        ("energy_error", e.energy, "J"),
    ] {
        links.push((name, memory.dataset(to, name, &[], Values::Doubles(&[value]), unit)));
    }
    let name = formulation.to_string();
    let mut attributes = vec![("formulation", Values::Text(&name))];
    if let Some(report) = report {
        attributes.push(("solver", Values::Text(report.solver.name())));
        attributes.push(("outcome", Values::Text(report.outcome.name())));
        attributes.push(("seconds", Values::Doubles(std::slice::from_ref(&report.seconds))));
    }
    to.group(&links, &attributes)
}

/// Read and check a frame; a field that this version does not know is not looked at.
pub(super) fn read(fields: &Fields, frame: &mut Frame) -> Found<()> {
    let group = |name: &str| fields.group(name).ok_or_else(|| format!("has no group {name}"));
    let says = |part: &'static str| move |e: Error| format!("{part}: {}", e.message());
    let (step, time) = (fields.scalar("step")?, fields.optional("time", 1)?.map_or(0.0, |t| t[0]));
    let b = group("bodies")?;
    let masses = b.doubles("masses", None)?;
    let n = masses.len();
    let doubles = |g: &Fields, name: &str, each: usize, n: usize| g.doubles(name, n.checked_mul(each));
    let ids = if b.has("ids") { b.integers("ids", Some(n))? } else { Vec::new() };
    let (inertia, positions) = (doubles(&b, "inertia", 9, n)?, doubles(&b, "positions", 3, n)?);
    let (quaternions, velocities) = (doubles(&b, "quaternions", 4, n)?, doubles(&b, "velocities", 6, n)?);
    let forces = doubles(&b, "forces", 6, n)?;
    let mut read = Frame::new();
    read.set_step(step, time).map_err(says("frame"))?;
    read.set_bodies(&Bodies {
        ids: &ids,
        masses: &masses,
        inertia: &inertia,
        positions: &positions,
        quaternions: &quaternions,
        velocities: &velocities,
        forces: &forces,
    })
    .map_err(says("bodies"))?;
    let c = group("constraints")?;
    let joint_rows = c.integers("rows", None)?;
    let violation = c.doubles("violation", None)?;
    let n = violation.len();
    let bounds = doubles(&c, "bounds", 2, n)?;
    let split = |k: usize| bounds.iter().skip(k).step_by(2).copied().collect::<Vec<f64>>();
    let pairs = c.integers("pairs", joint_rows.len().checked_mul(2))?;
    let jacobian = doubles(&c, "jacobian", 12, n)?;
    read.set_constraints(&Constraints {
        rows: &joint_rows,
        pairs: &pairs,
        jacobian: &jacobian,
        lo: &split(0),
        hi: &split(1),
        violation: &violation,
        compliance: &c.optional("compliance", n)?.unwrap_or_default(),
        damping: &c.optional("damping", n)?.unwrap_or_default(),
    })
    .map_err(says("constraints"))?;
    let c = group("contacts")?;
    let gap = c.doubles("gap", None)?;
    let n = gap.len();
    read.set_contacts(&Contacts {
        pairs: &c.integers("pairs", n.checked_mul(2))?,
        gap: &gap,
        mu: &c.doubles("mu", Some(n))?,
        normals: &doubles(&c, "normals", 3, n)?,
        points: &doubles(&c, "points", 3, n)?,
        restitution: &c.optional("restitution", n)?.unwrap_or_default(),
        compliance: &c.optional("compliance", n)?.unwrap_or_default(),
        damping: &c.optional("damping", n)?.unwrap_or_default(),
    })
    .map_err(says("contacts"))?;
    *frame = read;
    Ok(())
}

/// Read the solution of a frame, if there is one.
pub(super) fn read_solution(fields: &Fields) -> Found<Option<FrameSolution>> {
    let Some(s) = fields.group("solution") else { return Ok(None) };
    let says = |what: String| format!("solution: {what}");
    let found = || -> Found<FrameSolution> {
        let formulation = s.text("formulation")?.ok_or("has no attribute formulation")?;
        let states = s.integers("slide_or_stick", None)?;
        let state = |(k, &s): (usize, &i32)| {
            ContactState::from_number(s).ok_or(format!("slide_or_stick[{k}] is {s}, which names none"))
        };
        let error = |name: &str| if s.has(name) { s.scalar(name) } else { Ok(f64::NAN) };
        Ok(FrameSolution {
            formulation: formulation.parse().map_err(|e: Error| e.message().to_string())?,
            z: s.doubles("z", None)?,
            velocities: s.doubles("velocities", None)?,
            states: states.iter().enumerate().map(state).collect::<Found<_>>()?,
            errors: FrameErrors {
                total: error("total_error")?,
                normal: error("normal_error")?,
                magnitude: error("magnitude_error")?,
                direction: error("direction_error")?,
                energy: error("energy_error")?,
            },
            iterations: s.integers("iterations", Some(1))?[0].max(0) as usize,
            seconds: s.number("seconds")?.unwrap_or(0.0),
            solver: s.text("solver")?.unwrap_or_default(),
            outcome: s.text("outcome")?.unwrap_or_default(),
        })
    };
    found().map(Some).map_err(says)
}
