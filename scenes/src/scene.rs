//! Scenes with analytic contacts, of any size, one step after being let go: a chain, a wall of bricks, a packing of balls.
//!
//! What tests and benchmarks solve when recorded problems are too small.

/// Seconds of a step.
pub const STEP: f64 = 1.0 / 60.0;
const GRAVITY: f64 = 9.81;

/// Bodies and rows of a scene; a row says how fast body 1 moves against body 0 at a point, along an axis.
#[derive(Default)]
pub struct Scene {
    /// 12 per body: inverse masses, world inverse inertia by rows.
    pub inverse_mass: Vec<f64>,
    /// 6 per body, before the step.
    pub velocities: Vec<f64>,
    /// 6 per body.
    pub forces: Vec<f64>,
    /// 12 per row.
    pub rows: Vec<f64>,
    /// 2 per row, -1 for the world.
    pub bodies: Vec<i32>,
    /// 1 per row.
    pub compliance: Vec<f64>,
    /// 1 per row; on friction rows -inf.
    pub lo: Vec<f64>,
    /// 1 per row; on friction rows +inf.
    pub hi: Vec<f64>,
    /// Normal row of each friction row, else -1.
    pub findex: Vec<i32>,
    /// Of the friction rows, else 0.
    pub mu: Vec<f64>,
}

impl Scene {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.lo.len()
    }

    /// A box of the given mass and side lengths, at rest, under gravity along -z.
    fn add_box(&mut self, mass: f64, size: [f64; 3]) -> i32 {
        let id = (self.inverse_mass.len() / 12) as i32;
        let inertia = |a: f64, b: f64| 12.0 / (mass * (a * a + b * b));
        let [x, y, z] = size;
        self.inverse_mass.extend([1.0 / mass; 3]);
        self.inverse_mass.extend([inertia(y, z), 0.0, 0.0, 0.0, inertia(x, z), 0.0, 0.0, 0.0, inertia(x, y)]);
        self.velocities.extend([0.0; 6]);
        self.forces.extend([0.0, 0.0, -mass * GRAVITY, 0.0, 0.0, 0.0]);
        id
    }

    /// A ball of the given mass and radius, likewise.
    fn add_ball(&mut self, mass: f64, radius: f64) -> i32 {
        let side = radius * 2.4f64.sqrt();
        self.add_box(mass, [side; 3])
    }

    /// Relative velocity of body 1 against body 0 along `axis` at arms `r0`, `r1`.
    fn add_row(&mut self, pair: [i32; 2], r0: [f64; 3], r1: [f64; 3], axis: [f64; 3], bounds: [f64; 2]) -> i32 {
        let cross = |r: [f64; 3]| {
            [r[1] * axis[2] - r[2] * axis[1], r[2] * axis[0] - r[0] * axis[2], r[0] * axis[1] - r[1] * axis[0]]
        };
        self.rows.extend(axis.map(|v| -v));
        self.rows.extend(cross(r0).map(|v| -v));
        self.rows.extend(axis);
        self.rows.extend(cross(r1));
        self.bodies.extend(pair);
        self.compliance.push(0.0);
        self.lo.push(bounds[0]);
        self.hi.push(bounds[1]);
        self.findex.push(-1);
        self.mu.push(0.0);
        self.rows() as i32 - 1
    }

    /// A contact with normal +z from body 0 to body 1: one normal and two friction rows.
    fn add_contact(&mut self, pair: [i32; 2], r0: [f64; 3], r1: [f64; 3], mu: f64) {
        self.add_contact_along([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], pair, r0, r1, mu);
    }

    /// A contact with the given normal and tangents.
    fn add_contact_along(&mut self, axes: [[f64; 3]; 3], pair: [i32; 2], r0: [f64; 3], r1: [f64; 3], mu: f64) {
        let normal = self.add_row(pair, r0, r1, axes[0], [0.0, f64::INFINITY]);
        for axis in [axes[1], axes[2]] {
            let row = self.add_row(pair, r0, r1, axis, [f64::NEG_INFINITY, f64::INFINITY]) as usize;
            self.findex[row] = normal;
            self.mu[row] = mu;
        }
    }
}

/// A chain of `links` boxes hanging from the world by ball joints, the last one `tip` times as heavy.
pub fn chain(links: usize, tip: f64) -> Scene {
    let mut scene = Scene::default();
    let free = [f64::NEG_INFINITY, f64::INFINITY];
    for k in 0..links {
        let mass = if k + 1 == links { tip } else { 1.0 };
        let id = scene.add_box(mass, [0.5, 0.1, 0.1]);
        // Slanting, so that links are not in line with gravity.
        for axis in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] {
            scene.add_row([id - 1, id], [0.25, 0.0, 0.01], [-0.25, 0.0, -0.01], axis, free);
        }
    }
    scene
}

/// A wall of `height` courses of `width` bricks (1 x 0.5 x 0.4 m, 10 kg), every second course shifted by half a brick;
/// two contacts per overlapping half brick and side, `compliance` on the normal rows.
pub fn wall(width: usize, height: usize, compliance: f64) -> Scene {
    let mut scene = Scene::default();
    let mut below: Vec<(i32, f64)> = Vec::new();
    for course in 0..height {
        let shift = 0.5 * (course % 2) as f64;
        let here: Vec<(i32, f64)> =
            (0..width).map(|k| (scene.add_box(10.0, [1.0, 0.5, 0.4]), k as f64 + shift)).collect();
        for &(id, x) in &here {
            let mut supports: Vec<(i32, f64)> =
                below.iter().copied().filter(|(_, other)| (other - x).abs() < 0.99).collect();
            if course == 0 {
                supports.push((-1, x));
            }
            for (other, at) in supports {
                let (left, right) = ((x - 0.5).max(at - 0.5), (x + 0.5).min(at + 0.5));
                for px in [left, right] {
                    for py in [-0.25, 0.25] {
                        scene.add_contact([other, id], [px - at, py, 0.2], [px - x, py, -0.2], 0.6);
                    }
                }
            }
        }
        below = here;
    }
    for (i, c) in scene.compliance.iter_mut().enumerate() {
        *c = if scene.findex[i] < 0 { compliance } else { 0.0 };
    }
    scene
}

/// Balls of 1 m and 1 kg, closely packed in `layers` square layers of `side` by `side`: four neighbours below, four around.
pub fn packing(side: usize, layers: usize) -> Scene {
    let mut scene = Scene::default();
    let mut centres: Vec<[f64; 3]> = Vec::new();
    for layer in 0..layers {
        let shift = 0.5 * (layer % 2) as f64;
        for k in 0..side * side {
            let at = [(k / side) as f64 + shift, (k % side) as f64 + shift, 0.5 + layer as f64 * 0.5f64.sqrt()];
            let id = scene.add_ball(1.0, 0.5);
            if layer == 0 {
                scene.add_contact([-1, id], [0.0; 3], [0.0, 0.0, -0.5], 0.5);
            }
            // Neighbours stand in this layer or the one before.
            for other in centres.len().saturating_sub(2 * side * side)..centres.len() {
                let n: [f64; 3] = std::array::from_fn(|c| at[c] - centres[other][c]);
                if n.iter().map(|v| v * v).sum::<f64>() < 1.001 {
                    let [x, y, z] = n;
                    let across = if x.abs() < 0.7 { [0.0, z, -y] } else { [-z, 0.0, x] };
                    let length = across.iter().map(|v| v * v).sum::<f64>().sqrt();
                    let t = across.map(|v| v / length);
                    let s = [y * t[2] - z * t[1], z * t[0] - x * t[2], x * t[1] - y * t[0]];
                    scene.add_contact_along(
                        [n, t, s],
                        [other as i32, id],
                        n.map(|v| 0.5 * v),
                        n.map(|v| -0.5 * v),
                        0.5,
                    );
                }
            }
            centres.push(at);
        }
    }
    scene
}
