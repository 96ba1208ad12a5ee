//! Bricard's mechanism under gravity (González et al.), stepped in three ways; for the experiment and its test.

use mlcp::mechanism::{Compliance, Projection};
use mlcp::{Engine, Problem, Settings, SolverKind};
use mlcp_scenes::rigid::{bricard, bricard_p2, Mechanism, Vector};

/// Gravity, m/s².
pub const GRAVITY: Vector = Vector::new(0.0, -9.81, 0.0);

/// How the redundancy is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cure {
    /// Not at all: rigid rows, violations fed back.
    Plain,
    /// Springs and dampers in the angular rows of the hinges.
    Compliant,
    /// Positions and velocities projected after each step (eqs. 2 and 3). Tangential steps that are projected back lose
    /// energy in proportion to h.
    Projected,
    /// The same projections after a step whose rows are taken half-way and act on the mean of old and new velocity: second
    /// order, and the projections have hardly anything left to do, so they lose no energy.
    Midpoint,
}

/// One sample of a run.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// s.
    pub time: f64,
    /// x of P2, m.
    pub x: f64,
    /// Norm of all constraints' values.
    pub violation: f64,
    /// Kinetic and potential energy over that at the start, J.
    pub energy: f64,
}

/// The mechanism with its solver.
pub struct Run {
    cure: Cure,
    h: f64,
    mechanism: Mechanism,
    problem: Problem,
    engine: Engine,
    projection: Projection,
    x: Vec<f64>,
    time: f64,
    start_energy: f64,
}

/// Angular stiffness (N m/rad) and damping (N m s/rad) of the compliant hinges.
const STIFFNESS: f64 = 1e4;
const DAMPING: f64 = 1e3;
/// Violation that ends the projection of positions.
const POSITION_TOLERANCE: f64 = 1e-13;
const MOST_ROUNDS: usize = 60;

impl Run {
    /// At rest in the cube.
    pub fn new(cure: Cure, h: f64) -> Result<Run, mlcp::Error> {
        let settings = Settings { solver: SolverKind::Bpp, relative_tolerance: 1e-20, ..Settings::default() };
        let mechanism = bricard();
        let start_energy = mechanism.energy(GRAVITY);
        let n = mechanism.rows().violation.len();
        Ok(Run {
            cure,
            h,
            mechanism,
            problem: Problem::new(),
            engine: Engine::new(settings)?,
            projection: Projection::new(),
            x: vec![0.0; n],
            time: 0.0,
            start_energy,
        })
    }

    fn fill(&mut self, compliance: Option<&[f64]>) -> Result<Vec<f64>, mlcp::Error> {
        let rows = self.mechanism.rows();
        self.problem.set_jacobian(&self.mechanism.inverse_mass(), &rows.jacobian, &rows.bodies, compliance)?;
        Ok(rows.violation)
    }

    /// Semi-implicit Euler (eq. 1), then the cure.
    pub fn step(&mut self) -> Result<Sample, mlcp::Error> {
        let h = self.h;
        let spring = Compliance::new(STIFFNESS, DAMPING, h)?;
        let is_angular = |i: usize| i % 5 >= 3;
        let soft: Vec<f64> = (0..30).map(|i| if is_angular(i) { spring.compliance } else { 0.0 }).collect();
        let compliant = self.cure == Cure::Compliant;
        let mut violation = self.fill(compliant.then_some(&soft[..]))?;
        for (i, v) in violation.iter_mut().enumerate() {
            *v *= match self.cure {
                Cure::Projected => 0.0,
                Cure::Compliant if is_angular(i) => spring.share,
                _ => 1.0,
            };
        }
        let velocities = self.mechanism.velocities();
        let start = self.mechanism.clone();
        if self.cure == Cure::Midpoint {
            // Off the constraints the redundant row would seem independent, and lock.
            self.drift(&velocities, h / 2.0);
            self.project_positions()?;
            violation = self.fill(None)?;
            self.problem.set_motion(h, &velocities, None, None)?;
            // J v⁺ + J v = 0.
            violation.iter_mut().zip(self.problem.b()).for_each(|(v, b)| *v = h * b);
        }
        let forces = self.mechanism.forces(GRAVITY);
        let mut change = vec![0.0; velocities.len()];
        self.problem.set_motion(h, &velocities, Some(&forces), Some(&violation))?;
        self.engine.solve(&self.problem, None, None)?;
        self.x.copy_from_slice(self.engine.x());
        self.problem.velocity_change(&self.x, &mut change, &mut Vec::new())?;
        for (k, body) in self.mechanism.bodies.iter_mut().enumerate() {
            let part = |from: &[f64], at: usize| Vector::from_column_slice(&from[6 * k + at..][..3]);
            let push = part(&forces, 0) * (h / body.mass);
            let turn = body.world_inertia().try_inverse().map_or(Vector::zeros(), |i| i * part(&forces, 3) * h);
            body.velocity += push + part(&change, 0);
            body.spin += turn + part(&change, 3);
        }
        let mut mean = self.mechanism.velocities();
        if self.cure == Cure::Midpoint {
            mean.iter_mut().zip(&velocities).for_each(|(m, v)| *m = 0.5 * (*m + v));
            for (body, start) in self.mechanism.bodies.iter_mut().zip(start.bodies) {
                (body.position, body.rotation) = (start.position, start.rotation);
            }
        }
        self.drift(&mean, h);
        self.time += h;
        if matches!(self.cure, Cure::Projected | Cure::Midpoint) {
            self.project_positions()?;
            self.project_velocities()?;
        }
        Ok(self.sample())
    }

    fn drift(&mut self, velocities: &[f64], h: f64) {
        for (body, v) in self.mechanism.bodies.iter_mut().zip(velocities.chunks_exact(6)) {
            body.shift(Vector::from_column_slice(&v[..3]) * h, Vector::from_column_slice(&v[3..]) * h);
        }
    }

    fn project_positions(&mut self) -> Result<(), mlcp::Error> {
        let mut change = vec![0.0; 6 * self.mechanism.bodies.len()];
        for _ in 0..MOST_ROUNDS {
            let violation = self.fill(None)?;
            if norm(&violation) <= POSITION_TOLERANCE {
                break;
            }
            self.projection.correct(&self.problem, &violation, &mut change)?;
            for (body, c) in self.mechanism.bodies.iter_mut().zip(change.chunks_exact(6)) {
                let (displacement, turn) = (Vector::from_column_slice(&c[..3]), Vector::from_column_slice(&c[3..]));
                body.shift(displacement, turn);
            }
        }
        Ok(())
    }

    fn project_velocities(&mut self) -> Result<(), mlcp::Error> {
        let mut change = vec![0.0; 6 * self.mechanism.bodies.len()];
        self.fill(None)?;
        self.projection.velocity_change(&self.problem, &self.mechanism.velocities(), None, &mut change)?;
        for (body, c) in self.mechanism.bodies.iter_mut().zip(change.chunks_exact(6)) {
            body.velocity += Vector::from_column_slice(&c[..3]);
            body.spin += Vector::from_column_slice(&c[3..]);
        }
        Ok(())
    }

    /// Where it is.
    pub fn sample(&self) -> Sample {
        Sample {
            time: self.time,
            x: bricard_p2(&self.mechanism).x,
            violation: norm(&self.mechanism.rows().violation),
            energy: self.mechanism.energy(GRAVITY) - self.start_energy,
        }
    }
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}
