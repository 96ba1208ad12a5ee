//! `mlcp-lab record`: simulate a small scene of balls and record every step of it.

use mlcp::dataset::{Recorder, RecorderOptions, WhenFull};
use mlcp::multibody::{Bodies, Constraints, Contacts, Formulation, Formulator, Frame, Response};
use mlcp::{Engine, Problem, Settings, SolverKind};
use std::path::PathBuf;

const GRAVITY: f64 = 9.81;
const RADIUS: f64 = 0.1;
const MU: f64 = 0.5;
const STEP: f64 = 1.0 / 120.0;

/// What to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scene {
    /// 15 balls fall into a box, as in Lu et al. 2013, section 6.2.
    Spheres,
    /// 100 balls fall into a box.
    Crowd,
    /// A chain of 12 balls swings down and drags over the ground.
    Chain,
}

/// Simulate a scene of balls and record every step with its solution.
///
/// The file holds, per step, bodies, constraints, contacts, and the solution with its errors; replay it with
/// `mlcp-lab replay`, look at it with `mlcp-lab info`, h5ls or h5py.
#[derive(clap::Args)]
pub struct Record {
    /// The scene
    #[arg(value_enum)]
    scene: Scene,
    /// File to write
    #[arg(long, value_name = "FILE", default_value = "recording.h5")]
    out: PathBuf,
    /// Steps of 1/120 s
    #[arg(long, value_name = "N", default_value = "240", value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
    /// How to write each step as a problem
    #[arg(long, value_name = "NAME", default_value = "box")]
    formulation: String,
    /// Who solves it
    #[arg(long, value_name = "NAME", default_value = "bpp")]
    solver: String,
    /// Iteration budget of one step; 0: the solver's default
    #[arg(long, value_name = "N", default_value = "0")]
    iterations: usize,
}

/// Balls, and joints between them.
#[derive(Default)]
struct World {
    positions: Vec<f64>,
    velocities: Vec<f64>,
    /// Ball-and-socket joints between consecutive balls, half way; the first hangs on the world.
    chained: bool,
    /// Half width of the box; no walls: infinite.
    wall: f64,
    masses: Vec<f64>,
    inertia: Vec<f64>,
    quaternions: Vec<f64>,
    forces: Vec<f64>,
}

/// Buffers of a step's rows.
#[derive(Default)]
struct Found {
    rows: Vec<i32>,
    joint_pairs: Vec<i32>,
    jacobian: Vec<f64>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    violation: Vec<f64>,
    pairs: Vec<i32>,
    gap: Vec<f64>,
    mu: Vec<f64>,
    normals: Vec<f64>,
    points: Vec<f64>,
}

impl World {
    fn new(scene: Scene) -> World {
        let (count, wall) = match scene {
            Scene::Spheres => (15, 0.4),
            Scene::Crowd => (100, 0.8),
            Scene::Chain => (12, f64::INFINITY),
        };
        let mut world = World { wall, chained: scene == Scene::Chain, ..World::default() };
        let across = if scene == Scene::Crowd { 5 } else { 2 };
        let mut random = 7u32;
        for k in 0..count {
            let mut jitter = || {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                0.04 * (f64::from(random >> 8) / f64::from(1u32 << 24) - 0.5)
            };
            let place = |k: usize| 0.25 * (k as f64 - (across as f64 - 1.0) / 2.0);
            world.positions.extend(match scene {
                Scene::Chain => [2.0 * RADIUS * k as f64, 0.0, 1.5],
                _ => [
                    place(k % across) + jitter(),
                    place(k / across % across) + jitter(),
                    0.15 + 0.25 * (k / across / across) as f64,
                ],
            });
            let mass = 1.0 + 0.5 * (k % 3) as f64;
            let i = 0.4 * mass * RADIUS * RADIUS;
            world.masses.push(mass);
            world.inertia.extend([i, 0.0, 0.0, 0.0, i, 0.0, 0.0, 0.0, i]);
            world.quaternions.extend([1.0, 0.0, 0.0, 0.0]);
            world.forces.extend([0.0, 0.0, -GRAVITY * mass, 0.0, 0.0, 0.0]);
        }
        world.velocities = vec![0.0; 6 * count];
        world
    }

    /// Contacts that close within this step, or nearly.
    fn contacts(&self, found: &mut Found) {
        let n = self.masses.len();
        let at = |k: usize| [self.positions[3 * k], self.positions[3 * k + 1], self.positions[3 * k + 2]];
        let speed = |k: usize| self.velocities[6 * k..][..3].iter().map(|v| v * v).sum::<f64>().sqrt();
        let mut add = |pair: [i32; 2], normal: [f64; 3], point: [f64; 3], gap: f64, reach: f64| {
            if gap < reach {
                found.pairs.extend(pair);
                found.normals.extend(normal);
                found.points.extend(point);
                found.gap.push(gap);
                found.mu.push(MU);
            }
        };
        let planes = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]];
        for k in 0..n {
            let p = at(k);
            for (w, normal) in planes.iter().enumerate() {
                let off = if w == 0 { 0.0 } else { -self.wall };
                let gap = (0..3).map(|c| normal[c] * p[c]).sum::<f64>() - off - RADIUS;
                let point = std::array::from_fn(|c| p[c] - (RADIUS + gap) * normal[c]);
                add([-1, k as i32], *normal, point, gap, 0.005 + STEP * speed(k));
            }
            for j in 0..k {
                if self.chained && j + 1 == k {
                    continue;
                }
                let q = at(j);
                let d: [f64; 3] = std::array::from_fn(|c| p[c] - q[c]);
                let distance = d.iter().map(|v| v * v).sum::<f64>().sqrt();
                if distance > 1e-9 {
                    let normal = d.map(|v| v / distance);
                    let reach = 0.005 + STEP * (speed(k) + speed(j));
                    add([j as i32, k as i32], normal, normal.map(|v| RADIUS * v), distance - 2.0 * RADIUS, reach);
                }
            }
        }
    }

    /// Three rows per joint: the point half way between two balls, as seen from either. Balls do not turn their arms, so
    /// that each joint keeps its two balls a diameter apart.
    fn joints(&self, found: &mut Found) {
        if !self.chained {
            return;
        }
        for k in 0..self.masses.len() {
            let p = &self.positions[3 * k..][..3];
            let mut row = [0.0; 12];
            if k == 0 {
                // The first ball stays where it hangs.
                for c in 0..3 {
                    row = [0.0; 12];
                    row[c] = 1.0;
                    found.jacobian.extend(row);
                    found.violation.push(p[c] - [0.0, 0.0, 1.5][c]);
                }
                found.rows.push(3);
                found.joint_pairs.extend([0, -1]);
                continue;
            }
            let q = &self.positions[3 * k - 3..][..3];
            let d: [f64; 3] = std::array::from_fn(|c| p[c] - q[c]);
            let distance = d.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-9);
            for c in 0..3 {
                (row[c], row[6 + c]) = (-d[c] / distance, d[c] / distance);
            }
            found.rows.push(1);
            found.joint_pairs.extend([k as i32 - 1, k as i32]);
            found.jacobian.extend(row);
            found.violation.push(distance - 2.0 * RADIUS);
        }
        found.lo = vec![f64::NEG_INFINITY; found.violation.len()];
        found.hi = vec![f64::INFINITY; found.violation.len()];
    }

    fn frame(&self, frame: &mut Frame, time: f64) -> mlcp::Result<()> {
        let mut found = Found::default();
        self.contacts(&mut found);
        self.joints(&mut found);
        frame.set_step(STEP, time)?;
        frame.set_bodies(&Bodies {
            ids: &[],
            masses: &self.masses,
            inertia: &self.inertia,
            positions: &self.positions,
            quaternions: &self.quaternions,
            velocities: &self.velocities,
            forces: &self.forces,
        })?;
        frame.set_constraints(&Constraints {
            rows: &found.rows,
            pairs: &found.joint_pairs,
            jacobian: &found.jacobian,
            lo: &found.lo,
            hi: &found.hi,
            violation: &found.violation,
            compliance: &[],
            damping: &[],
        })?;
        frame.set_contacts(&Contacts {
            pairs: &found.pairs,
            gap: &found.gap,
            mu: &found.mu,
            normals: &found.normals,
            points: &found.points,
            restitution: &[],
            compliance: &[],
            damping: &[],
        })
    }
}

impl Record {
    /// Run the command; an error is one sentence.
    pub fn run(&self) -> Result<(), String> {
        let say = |e: mlcp::Error| e.to_string();
        let formulation: Formulation = self.formulation.parse().map_err(say)?;
        let solver =
            SolverKind::from_name(&self.solver).ok_or_else(|| format!("no solver is named '{}'", self.solver))?;
        let settings = Settings { solver, max_iterations: self.iterations, ..Settings::default() };
        let mut engine = Engine::new(settings).map_err(say)?;
        let options = RecorderOptions {
            when_full: WhenFull::Wait,
            engine: format!("mlcp-lab record {:?}", self.scene).to_lowercase(),
            ..RecorderOptions::default()
        };
        let recorder = Recorder::create(&self.out, &options).map_err(say)?;
        let mut world = World::new(self.scene);
        let (mut frame, mut formulator) = (Frame::new(), Formulator::new());
        let (mut problem, mut response) = (Problem::new(), Response::default());
        for step in 0..self.steps {
            world.frame(&mut frame, f64::from(step) * STEP).map_err(say)?;
            formulator.fill(&frame, formulation, &mut problem).map_err(say)?;
            let report = *engine.solve(&problem, None, None).map_err(say)?;
            formulator.respond(&frame, formulation, engine.x(), &mut response).map_err(say)?;
            recorder.append_frame(&frame, Some((formulation, engine.x())), Some(&report)).map_err(say)?;
            world.velocities.copy_from_slice(&response.velocities);
            for (p, v) in world.positions.chunks_exact_mut(3).zip(world.velocities.chunks_exact(6)) {
                (0..3).for_each(|c| p[c] += STEP * v[c]);
            }
        }
        recorder.flush().map_err(say)?;
        let counts = recorder.counts();
        println!("{}: {} steps, {:.1} MB", self.out.display(), counts.written, counts.bytes as f64 / 1e6);
        Ok(())
    }
}
