//! A wall of bricks in twelve rows, of three and of two in turn, with small gaps between neighbours (Enzenhöfer et al.,
//! Fig. 8). It stands still; a direct solver steps it.

use super::boxes::{on_ground, touching, Touch};
use super::quiet;
use super::step_problem::StepProblem;
use mlcp::{Engine, FrictionMode, Problem, Settings, SolverKind};
use mlcp_scenes::rigid::{Body, Mechanism, Rows, Vector};

/// Time step, s.
pub const H: f64 = 1.0 / 60.0;
/// Half sizes of a brick, m.
const HALF: Vector = Vector::new(0.2, 0.1, 0.1);
const MASS: f64 = 10.0;
/// Between neighbours in a row, m.
const GAP: f64 = 0.01;
const FRICTION: f64 = 0.5;
/// Stiffness of a contact, N/m.
const STIFFNESS: f64 = 1e8;
/// Contacts are seen from this distance, m.
const MARGIN: f64 = 1e-3;
const GRAVITY: Vector = Vector::new(0.0, 0.0, -9.81);

/// The wall with its solver.
pub struct BrickWall {
    mechanism: Mechanism,
    start: Vec<Vector>,
    engine: Engine,
    problem: Problem,
    /// Begin a budgeted step with the last one's impulses, if it has as many rows.
    pub warm: bool,
}

impl BrickWall {
    /// At rest, with this many rows, for the direct solver.
    pub fn new(rows: usize) -> mlcp::Result<Self> {
        let settings = Settings { solver: SolverKind::Bpp, relative_tolerance: 1e-16, ..Settings::default() };
        BrickWall::with(rows, settings)
    }

    /// At rest, with this many rows, for any solver.
    pub fn with(rows: usize, settings: Settings) -> mlcp::Result<Self> {
        let mut mechanism = Mechanism::default();
        let side = HALF * 2.0;
        let inertia =
            Vector::new(side.y.powi(2) + side.z.powi(2), side.x.powi(2) + side.z.powi(2), side.xy().norm_squared())
                * (MASS / 12.0);
        for row in 0..rows {
            let bricks = 3 - row % 2;
            for k in 0..bricks {
                let x = (side.x + GAP) * (k as f64 - 0.5 * (bricks - 1) as f64);
                let z = HALF.z + side.z * row as f64;
                mechanism.bodies.push(Body::at_rest(Vector::new(x, 0.0, z), MASS, inertia));
            }
        }
        let start = mechanism.bodies.iter().map(|b| b.position).collect();
        Ok(BrickWall { mechanism, start, engine: Engine::new(settings)?, problem: Problem::new(), warm: false })
    }

    /// Number of bricks.
    pub fn bricks(&self) -> usize {
        self.start.len()
    }

    /// How far the brick that moved most is from where it began, m.
    pub fn drift(&self) -> f64 {
        let moved = self.mechanism.bodies.iter().zip(&self.start).map(|(b, s)| (b.position - s).norm());
        moved.fold(0.0, f64::max)
    }

    /// The problem of the last step, and its solution.
    pub fn solved(&self) -> (&Problem, &[f64]) {
        (&self.problem, self.engine.x())
    }

    /// Every contact, as the two bodies and where they touch.
    fn contacts(&self) -> Vec<([Option<usize>; 2], Touch)> {
        let bodies = &self.mechanism.bodies;
        let mut all = Vec::new();
        for (k, body) in bodies.iter().enumerate() {
            all.extend(on_ground(body, HALF, MARGIN).into_iter().map(|t| ([None, Some(k)], t)));
            for (j, other) in bodies.iter().enumerate().take(k) {
                if (other.position - body.position).norm() < 2.0 * HALF.norm() + MARGIN {
                    let touches = touching((other, HALF), (body, HALF), MARGIN);
                    all.extend(touches.into_iter().map(|t| ([Some(j), Some(k)], t)));
                }
            }
        }
        all
    }

    /// The next step as a problem, in `self.problem`, friction within its normal impulses as `mode` says; the problem without
    /// bounds, and the forces.
    fn fill(&mut self, mode: FrictionMode) -> mlcp::Result<(StepProblem, Vec<f64>)> {
        let mut rows = Rows::default();
        for (bodies, touch) in self.contacts() {
            let arm = |b: Option<usize>| b.map_or(Vector::zeros(), |b| touch.point - self.mechanism.bodies[b].position);
            let [p, q] = bodies.map(arm);
            let helper = if touch.normal.x.abs() > 0.9 { Vector::y() } else { Vector::x() };
            let along = (helper - touch.normal * touch.normal.dot(&helper)).normalize();
            let across = touch.normal.cross(&along);
            for (n, gap) in [(touch.normal, touch.gap), (along, 0.0), (across, 0.0)] {
                rows.push(bodies, [-n, -p.cross(&n), n, q.cross(&n)], gap);
            }
        }
        let n = rows.violation.len();
        let mut kept = StepProblem {
            inverse_mass: self.mechanism.inverse_mass(),
            jacobian: rows.jacobian,
            bodies: rows.bodies,
            compliance: vec![1.0 / (STIFFNESS * H * H); n],
            ..StepProblem::default()
        };
        let problem = &mut self.problem;
        problem.set_jacobian(&kept.inverse_mass, &kept.jacobian, &kept.bodies, Some(&kept.compliance))?;
        let forces = self.mechanism.forces(GRAVITY);
        problem.set_motion(H, &self.mechanism.velocities(), Some(&forces), Some(&rows.violation))?;
        let is_normal = |i: usize| i.is_multiple_of(3);
        let lo: Vec<f64> = (0..n).map(|i| if is_normal(i) { 0.0 } else { f64::NEG_INFINITY }).collect();
        problem.set_bounds(&lo, &vec![f64::INFINITY; n])?;
        let findex: Vec<i32> = (0..n).map(|i| if is_normal(i) { -1 } else { (i - i % 3) as i32 }).collect();
        problem.set_friction(&findex, &vec![FRICTION; n], mode)?;
        kept.b = problem.b().to_vec();
        Ok((kept, forces))
    }

    fn advance(&mut self, forces: &[f64]) -> mlcp::Result<()> {
        let mut change = vec![0.0; 6 * self.mechanism.bodies.len()];
        self.problem.velocity_change(self.engine.x(), &mut change, &mut Vec::new())?;
        self.mechanism.advance(forces, &change, H);
        Ok(())
    }

    /// Step once; the problem that was solved, with friction frozen at the normal impulses of a solve without friction.
    pub fn step(&mut self) -> mlcp::Result<(StepProblem, mlcp::Report)> {
        let (mut kept, forces) = self.fill(FrictionMode::Frozen)?;
        let n = kept.b.len();
        self.engine.freeze_friction(&mut self.problem, None, None)?;
        (kept.lo, kept.hi) = (vec![0.0; n], vec![0.0; n]);
        self.problem.bounds_at(&vec![0.0; n], &mut kept.lo, &mut kept.hi);
        let start = self.engine.x().to_vec();
        let report = *self.engine.solve(&self.problem, Some(&start), None)?;
        self.advance(&forces)?;
        Ok((kept, report))
    }

    /// Step once in a single solve, friction coupled to the normal impulses.
    pub fn step_coupled(&mut self) -> mlcp::Result<mlcp::Report> {
        let (kept, forces) = self.fill(FrictionMode::Coupled)?;
        let start = Some(self.engine.x().to_vec()).filter(|x| self.warm && x.len() == kept.b.len());
        let report = quiet::solve(&mut self.engine, &self.problem, start.as_deref())?;
        self.advance(&forces)?;
        Ok(report)
    }
}
