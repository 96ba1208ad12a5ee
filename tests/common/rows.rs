//! Two-body constraint rows, random or of boxes in contact, with an A of their own made by plain loops.

use super::corpus::{lower_triangle, Form};
use super::problems::{to_csr, Kind};
use mlcp::{FrictionMode, Problem, Triangle};
use mlcp_scenes::Random;

/// A problem given by bodies and rows: A = J M⁻¹ Jᵀ + C.
#[derive(Clone, Debug, Default)]
pub struct RowProblem {
    pub seed: u64,
    /// 12 per body: inverse masses, world inverse inertia by rows.
    pub inverse_mass: Vec<f64>,
    /// 12 per row.
    pub rows: Vec<f64>,
    /// 2 per row, -1 for the world.
    pub bodies: Vec<i32>,
    /// 1 per row, or empty for none.
    pub compliance: Vec<f64>,
    pub b: Vec<f64>,
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
    /// Normal row or -1; empty without friction.
    pub findex: Vec<i32>,
    pub mu: Vec<f64>,
}

/// What random rows may contain.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub bodies: usize,
    pub rows: usize,
    /// Masses are drawn log-uniformly from 1 to this.
    pub mass_ratio: f64,
    pub compliance: bool,
    /// Some bodies cannot move.
    pub immovable: bool,
    /// Some rows name one body twice.
    pub repeated: bool,
    pub kinds: &'static [Kind],
}

impl Default for Options {
    fn default() -> Self {
        Options {
            bodies: 4,
            rows: 6,
            mass_ratio: 10.0,
            compliance: false,
            immovable: true,
            repeated: true,
            kinds: &Kind::ALL,
        }
    }
}

impl RowProblem {
    /// Any rows on any bodies. Every row has a movable body, so that it has an effective mass. Bounds and b are scaled
    /// with the row's own mass: impulses of heavy bodies are large.
    pub fn random(seed: u64, options: Options) -> RowProblem {
        let mut random = Random::new(seed);
        let mut scene = RowProblem { seed, ..RowProblem::default() };
        let count = options.bodies.max(1);
        let fixed: Vec<bool> = (0..count).map(|k| k > 0 && options.immovable && random.chance(0.25)).collect();
        for &fixed in &fixed {
            let mass = random.scale(1.0, options.mass_ratio.max(1.0 + 1e-9));
            let block = if fixed { [0.0; 12] } else { body(mass, &mut random) };
            scene.inverse_mass.extend(block);
        }
        let movable: Vec<i32> = (0..count as i32).filter(|&k| !fixed[k as usize]).collect();
        for _ in 0..options.rows {
            let first = random.pick(&movable);
            let second = if options.repeated && random.chance(0.1) {
                first
            } else if random.chance(0.3) {
                -1
            } else {
                random.below(count) as i32
            };
            let pair = if random.chance(0.5) { [first, second] } else { [second, first] };
            scene.bodies.extend(pair);
            let row = random.vector(12);
            scene.rows.extend(row);
            if options.compliance {
                scene.compliance.push(if random.chance(0.3) { 0.0 } else { 0.05 * random.unit() });
            }
        }
        let a = scene.dense();
        let n = options.rows;
        for i in 0..n {
            let root = a[i * n + i].sqrt();
            let kind = random.pick(options.kinds);
            let (lo, hi) = kind.bounds(&mut random);
            scene.lo.push(lo / root);
            scene.hi.push(hi / root);
            scene.b.push(random.signed() * root);
        }
        scene
    }

    /// `count` boxes in columns of `height` on the ground, four contacts each below, with two friction rows a contact.
    /// Positions, masses and velocities vary with the seed. Redundant, as all real contact is.
    pub fn boxes(seed: u64, count: usize, height: usize, mu: f64) -> RowProblem {
        let mut random = Random::new(seed);
        let mut scene = RowProblem { seed, ..RowProblem::default() };
        let (h, g) = (1.0 / 60.0, 9.81);
        let mut velocities = Vec::new();
        for _ in 0..count {
            let mass = random.scale(0.5, 5.0);
            let block = body(mass, &mut random);
            scene.inverse_mass.extend(block);
            for c in 0..6 {
                velocities.push(0.05 * random.signed() - if c == 1 { h * g } else { 0.0 });
            }
        }
        for k in 0..count {
            let below = if k % height == 0 { -1 } else { k as i32 - 1 };
            for corner in 0..4 {
                let jitter = 0.02 * random.signed();
                let (x, z) = ([-0.5, 0.5, 0.5, -0.5][corner] + jitter, [-0.5, -0.5, 0.5, 0.5][corner] - jitter);
                let normal = scene.b.len() as i32;
                for (row, axis) in [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]].into_iter().enumerate() {
                    scene.add_row([k as i32, below], [x, -0.5, z], [x, 0.5, z], axis);
                    let b = scene.row_velocity(scene.b.len(), &velocities);
                    scene.b.push(b);
                    let is_normal = row == 0;
                    scene.lo.push(if is_normal { 0.0 } else { f64::NEG_INFINITY });
                    scene.hi.push(f64::INFINITY);
                    scene.findex.push(if is_normal { -1 } else { normal });
                    scene.mu.push(if is_normal { 0.0 } else { mu });
                }
            }
        }
        scene
    }

    /// A row along `axis` at point `p` of the first body and `q` of the second, both from their centres.
    fn add_row(&mut self, bodies: [i32; 2], p: [f64; 3], q: [f64; 3], axis: [f64; 3]) {
        let cross = |r: [f64; 3]| {
            [r[1] * axis[2] - r[2] * axis[1], r[2] * axis[0] - r[0] * axis[2], r[0] * axis[1] - r[1] * axis[0]]
        };
        self.rows.extend(axis);
        self.rows.extend(cross(p));
        self.rows.extend(axis.map(|v| -v));
        self.rows.extend(cross(q).map(|v| -v));
        self.bodies.extend(bodies);
    }

    pub fn len(&self) -> usize {
        self.rows.len() / 12
    }

    /// `M⁻¹ Jᵀ x`, six per body, by plain loops.
    pub fn velocity_change(&self, x: &[f64]) -> Vec<f64> {
        let count = self.inverse_mass.len() / 12;
        let mut impulse = vec![0.0; 6 * count];
        for (i, x) in x.iter().enumerate() {
            for half in 0..2 {
                if let Ok(k) = usize::try_from(self.bodies[2 * i + half]) {
                    for c in 0..6 {
                        impulse[6 * k + c] += self.rows[12 * i + 6 * half + c] * x;
                    }
                }
            }
        }
        (0..count)
            .flat_map(|k| times_inverse_mass(&self.inverse_mass[12 * k..][..12], &impulse[6 * k..][..6]))
            .collect()
    }

    /// A by rows, by plain loops.
    pub fn dense(&self) -> Vec<f64> {
        let n = self.len();
        let mut a = vec![0.0; n * n];
        for j in 0..n {
            let mut unit = vec![0.0; n];
            unit[j] = 1.0;
            let dv = self.velocity_change(&unit);
            for i in 0..n {
                a[i * n + j] = self.row_velocity(i, &dv);
            }
            a[j * n + j] += self.compliance.get(j).copied().unwrap_or(0.0);
        }
        // Exactly symmetric, as a recorded matrix is.
        for i in 0..n {
            for j in 0..i {
                let mean = 0.5 * (a[i * n + j] + a[j * n + i]);
                (a[i * n + j], a[j * n + i]) = (mean, mean);
            }
        }
        a
    }

    /// `J_i v`, the world at rest.
    pub fn row_velocity(&self, i: usize, v: &[f64]) -> f64 {
        let mut sum = 0.0;
        for half in 0..2 {
            if let Ok(k) = usize::try_from(self.bodies[2 * i + half]) {
                sum += (0..6).map(|c| self.rows[12 * i + 6 * half + c] * v[6 * k + c]).sum::<f64>();
            }
        }
        sum
    }

    /// A new library problem. Friction, if any, is coupled, or frozen at the given impulses.
    pub fn fill(&self, form: Form, frozen_at: Option<&[f64]>) -> Problem {
        let mut problem = Problem::new();
        self.refill(&mut problem, form, frozen_at);
        problem
    }

    pub fn refill(&self, problem: &mut Problem, form: Form, frozen_at: Option<&[f64]>) {
        let n = self.len();
        match form {
            Form::Dense => problem.set_dense(n, &self.dense(), n, Triangle::Full),
            Form::Lower => problem.set_dense(n, &lower_triangle(n, self.dense()), n, Triangle::Lower),
            Form::Csr => {
                let (row_start, columns, values) = to_csr(n, &self.dense());
                problem.set_csr(n, &row_start, &columns, &values)
            }
            Form::Jacobian => {
                let compliance = (!self.compliance.is_empty()).then_some(&self.compliance[..]);
                problem.set_jacobian(&self.inverse_mass, &self.rows, &self.bodies, compliance)
            }
        }
        .unwrap_or_else(|e| panic!("seed {}: {e}", self.seed));
        problem.set_b(&self.b).unwrap();
        problem.set_bounds(&self.lo, &self.hi).unwrap();
        if !self.findex.is_empty() {
            let mode = if frozen_at.is_some() { FrictionMode::Frozen } else { FrictionMode::Coupled };
            problem.set_friction(&self.findex, &self.mu, mode).unwrap();
            if let Some(x) = frozen_at {
                problem.set_frozen_normals(x).unwrap();
            }
        }
    }
}

/// A body of this mass with a random positive definite inverse inertia, symmetric to the last bit.
fn body(mass: f64, random: &mut Random) -> [f64; 12] {
    let mut block = [1.0 / mass; 12];
    let g: Vec<[f64; 3]> = (0..3).map(|_| [random.signed(), random.signed(), random.signed()]).collect();
    for i in 0..3 {
        for j in 0..3 {
            let dot: f64 = (0..3).map(|k| g[i][k] * g[j][k]).sum();
            block[3 + 3 * i + j] = (6.0 / mass) * (0.3 * dot + if i == j { 0.5 } else { 0.0 });
        }
    }
    block
}

/// One body's `M⁻¹ p`.
pub fn times_inverse_mass(block: &[f64], p: &[f64]) -> [f64; 6] {
    let mut v = [0.0; 6];
    for i in 0..3 {
        v[i] = block[i] * p[i];
        v[3 + i] = (0..3).map(|j| block[3 + 3 * i + j] * p[3 + j]).sum();
    }
    v
}
