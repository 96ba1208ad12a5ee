//! Contacts through a complementarity solve: what a model says about them, and the problem they make.
//!
//! Rows act on the coordinates: normal rows are the gaps' derivatives, tangent rows give sliding velocities. With the
//! constrained inverse mass (Φ_q x = 0 in every response) impulses p change velocities by `M⁻¹ Jᵀ p`, and
//! `A = J M⁻¹ Jᵀ` is dense, one row per closed contact and direction.

use super::stepper::check_finite;
use crate::error::{Error, Result, Status};
use crate::{Engine, FrictionMode, Problem, Settings, Triangle};

/// A row that its contact's bodies hardly answer to, beside what they would without constraints, is left out.
const LEAST_MOBILITY: f64 = 1e-12;

/// The problem is small and dense, and the root of what is left of its energy error moves bodies in every step.
const RELATIVE_TOLERANCE: f64 = 1e-24;

/// What a model says about its contacts at a position. Rows come as zeros, gaps as infinity.
#[derive(Clone, Debug, Default)]
pub struct ContactRows {
    /// Distance per contact, m; closed at <= 0. Infinite: out of reach.
    pub gap: Vec<f64>,
    /// Derivative of each gap, one number per coordinate.
    pub normal: Vec<f64>,
    /// Two rows per contact, at right angles and equally scaled: sliding velocity over q̇. Zeros: none, as in the plane.
    pub tangent: Vec<f64>,
    /// Coefficient of friction per contact.
    pub friction: Vec<f64>,
}

impl ContactRows {
    fn new(contacts: usize, coordinates: usize) -> Self {
        ContactRows {
            gap: vec![f64::INFINITY; contacts],
            normal: vec![0.0; contacts * coordinates],
            tangent: vec![0.0; 2 * contacts * coordinates],
            friction: vec![0.0; contacts],
        }
    }

    pub(super) fn reset(&mut self) {
        self.gap.fill(f64::INFINITY);
        self.normal.fill(0.0);
        self.tangent.fill(0.0);
        self.friction.fill(0.0);
    }

    pub(super) fn check(&self) -> Result<()> {
        check_finite("contact normals", &self.normal)?;
        check_finite("contact tangents", &self.tangent)?;
        let wrong = |name: &str, i: usize, value: f64, rule: &str| {
            Err(Error::new(Status::InvalidValue, format_args!("{name}[{i}] is {value}, it must be {rule}")))
        };
        if let Some(i) = self.gap.iter().position(|g| g.is_nan() || *g == f64::NEG_INFINITY) {
            return wrong("gap", i, self.gap[i], "finite, or infinite for a contact out of reach");
        }
        if let Some(i) = self.friction.iter().position(|f| !(*f >= 0.0 && f.is_finite())) {
            return wrong("friction", i, self.friction[i], ">= 0 and finite");
        }
        Ok(())
    }

    /// Direction 0 is the normal, 1 and 2 the tangents.
    fn row(&self, row: Row) -> &[f64] {
        let n = self.normal.len() / self.friction.len();
        match row.direction {
            0 => &self.normal[row.contact * n..][..n],
            d => &self.tangent[(2 * row.contact + d - 1) * n..][..n],
        }
    }
}

/// A row of the contact problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub contact: usize,
    pub direction: usize,
}

/// The contacts of a stepper, with the memory of their problem.
pub(super) struct Contacts {
    pub rows: ContactRows,
    /// Contacts that were closed at the end of the step without contact forces.
    pub closed: Vec<usize>,
    /// Impulses of the last step, N s: normal and two tangents per contact.
    pub impulses: Vec<f64>,
    /// Energy error of the last step's solve, J.
    pub error: f64,
    /// Velocities without contact forces, and a change of positions in the making.
    pub free: Vec<f64>,
    pub change: Vec<f64>,
    engine: Engine,
    problem: Problem,
    listed: Vec<Row>,
    /// `M⁻¹ Jᵀ` by rows of J.
    response: Vec<f64>,
    a: Vec<f64>,
    b: Vec<f64>,
    bounds: [Vec<f64>; 2],
    friction: Vec<f64>,
    normal_of: Vec<i32>,
    cones: Vec<i32>,
    cone_friction: Vec<f64>,
}

impl Contacts {
    pub fn new(contacts: usize, coordinates: usize) -> Result<Self> {
        Ok(Contacts {
            rows: ContactRows::new(contacts, coordinates),
            closed: Vec::with_capacity(contacts),
            impulses: vec![0.0; 3 * contacts],
            error: 0.0,
            free: vec![0.0; coordinates],
            change: vec![0.0; coordinates],
            engine: Engine::new(default_solver())?,
            problem: Problem::new(),
            listed: Vec::new(),
            response: Vec::new(),
            a: Vec::new(),
            b: Vec::new(),
            bounds: [Vec::new(), Vec::new()],
            friction: Vec::new(),
            normal_of: Vec::new(),
            cones: Vec::new(),
            cone_friction: Vec::new(),
        })
    }

    pub fn set_solver(&mut self, settings: Option<Settings>) -> Result<()> {
        self.engine.set_settings(settings.unwrap_or_else(default_solver))
    }

    /// Begin a problem without rows.
    pub fn clear(&mut self) {
        self.listed.clear();
        self.response.clear();
    }

    /// Append a row that answers to an impulse with the motion that `respond` writes. `mobility` of it is what it would
    /// answer without constraints. A tangent goes with its normal. False: the row cannot move and is left out.
    pub fn push(&mut self, row: Row, mobility: f64, respond: impl FnOnce(&[f64], &mut [f64]) -> bool) -> bool {
        let n = self.free.len();
        if row.direction > 0 && !self.listed.contains(&Row { direction: 0, ..row }) {
            return false;
        }
        let at = self.response.len();
        self.response.resize(at + n, 0.0);
        let j = self.rows.row(row);
        let answers = respond(j, &mut self.response[at..]);
        let own = dot(j, &self.response[at..]);
        if !(answers && own.is_finite() && own > LEAST_MOBILITY * mobility) {
            self.response.truncate(at);
            return false;
        }
        self.listed.push(row);
        true
    }

    /// The coordinates' part of a row.
    pub fn row(&self, row: Row) -> &[f64] {
        self.rows.row(row)
    }

    /// Find the impulses on the listed rows and add what they do to the velocities.
    pub fn solve_velocities(&mut self, v: &mut [f64]) -> Result<()> {
        self.solve(v, |_| 0.0, |_| false)
    }

    /// Find what opens the gaps of the listed rows, after a change of positions, and add it to the change; with `closing`
    /// also what closes those of contacts that push.
    pub fn solve_gaps(&mut self, change: &mut [f64], closing: bool) -> Result<()> {
        let (gap, impulses) = (std::mem::take(&mut self.rows.gap), std::mem::take(&mut self.impulses));
        let error = self.error;
        let done = self.solve(change, |i| gap[i], |i| closing && impulses[3 * i] > 0.0);
        (self.rows.gap, self.impulses, self.error) = (gap, impulses, error);
        done
    }

    /// Make rows with velocities `J motion + offset` admissible, or zero where `holds`.
    fn solve(
        &mut self,
        motion: &mut [f64],
        offset: impl Fn(usize) -> f64,
        holds: impl Fn(usize) -> bool,
    ) -> Result<()> {
        let (n, m) = (motion.len(), self.listed.len());
        if m == 0 {
            return Ok(());
        }
        self.a.clear();
        self.a.resize(m * m, 0.0);
        self.b.clear();
        for i in 0..m {
            let j = self.rows.row(self.listed[i]);
            for k in 0..m {
                let entry = 0.5 * dot(j, &self.response[k * n..][..n]);
                self.a[i * m + k] += entry;
                self.a[k * m + i] += entry;
            }
            let normal = self.listed[i].direction == 0;
            self.b.push(dot(j, motion) + if normal { offset(self.listed[i].contact) } else { 0.0 });
        }
        self.problem.set_dense(m, &self.a, m, Triangle::Full)?;
        self.problem.set_b(&self.b)?;
        self.set_friction(holds)?;
        let report = self.engine.solve(&self.problem, None, None)?;
        self.error = report.energy_error;
        for (k, x) in self.engine.x().iter().enumerate() {
            motion.iter_mut().zip(&self.response[k * n..]).for_each(|(v, r)| *v += x * r);
        }
        Ok(())
    }

    /// Bounds, cones where both tangents are there, friction of one row where only one is.
    fn set_friction(&mut self, holds: impl Fn(usize) -> bool) -> Result<()> {
        let [lo, hi] = &mut self.bounds;
        [&mut *lo, &mut *hi, &mut self.friction, &mut self.cone_friction].into_iter().for_each(Vec::clear);
        [&mut self.normal_of, &mut self.cones].into_iter().for_each(Vec::clear);
        let mut normal = 0;
        for (i, row) in self.listed.iter().enumerate() {
            let mu = self.rows.friction[row.contact];
            let (mut findex, mut own) = (-1, 0.0);
            if row.direction == 0 {
                normal = i;
            } else {
                let same = |k: usize| self.listed.get(k).is_some_and(|r| r.contact == row.contact);
                let both = same(normal + 2);
                if both && row.direction == 1 {
                    self.cones.extend([normal as i32, normal as i32 + 1, normal as i32 + 2]);
                    self.cone_friction.push(mu);
                } else if !both {
                    (findex, own) = (normal as i32, mu);
                }
            }
            let pushes = row.direction == 0 && !holds(row.contact);
            lo.push(if pushes { 0.0 } else { f64::NEG_INFINITY });
            hi.push(f64::INFINITY);
            self.normal_of.push(findex);
            self.friction.push(own);
        }
        self.problem.set_bounds(lo, hi)?;
        self.problem.set_friction(&self.normal_of, &self.friction, FrictionMode::Coupled)?;
        self.problem.set_cones(&self.cones, &self.cone_friction)
    }

    /// The last solve was that of the step.
    pub fn keep_impulses(&mut self) {
        for (row, x) in self.listed.iter().zip(self.engine.x()) {
            self.impulses[3 * row.contact + row.direction] = *x;
        }
    }
}

fn default_solver() -> Settings {
    Settings {
        energy_tolerance: 0.0,
        relative_tolerance: RELATIVE_TOLERANCE,
        history_capacity: 0,
        ..Settings::default()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
