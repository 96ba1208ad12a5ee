//! Frames: random ones that only have to be legal, and a pile whose step has a meaning.

use mlcp::multibody::{Bodies, Constraints, Contacts, Frame};
use mlcp_scenes::Random;

/// Buffers of a frame in the making.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    pub masses: Vec<f64>,
    pub inertia: Vec<f64>,
    pub positions: Vec<f64>,
    pub quaternions: Vec<f64>,
    pub velocities: Vec<f64>,
    pub forces: Vec<f64>,
    pub joint_rows: Vec<i32>,
    pub joint_pairs: Vec<i32>,
    pub jacobian: Vec<f64>,
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
    pub violation: Vec<f64>,
    pub row_compliance: Vec<f64>,
    pub row_damping: Vec<f64>,
    pub pairs: Vec<i32>,
    pub gap: Vec<f64>,
    pub mu: Vec<f64>,
    pub normals: Vec<f64>,
    pub points: Vec<f64>,
    pub restitution: Vec<f64>,
}

impl Parts {
    pub fn body(&mut self, mass: f64, inertia: [f64; 3], position: [f64; 3], velocity: [f64; 6]) {
        self.masses.push(mass);
        self.inertia.extend([inertia[0], 0.0, 0.0, 0.0, inertia[1], 0.0, 0.0, 0.0, inertia[2]]);
        self.positions.extend(position);
        self.quaternions.extend([1.0, 0.0, 0.0, 0.0]);
        self.velocities.extend(velocity);
        let weight = if mass.is_finite() { -9.81 * mass } else { 0.0 };
        self.forces.extend([0.0, 0.0, weight, 0.0, 0.0, 0.0]);
    }

    pub fn contact(&mut self, pair: [i32; 2], point: [f64; 3], normal: [f64; 3], gap: f64, mu: f64) {
        self.pairs.extend(pair);
        self.points.extend(point);
        self.normals.extend(normal);
        self.gap.push(gap);
        self.mu.push(mu);
        self.restitution.push(0.0);
    }

    pub fn row(&mut self, pair: [i32; 2], jacobian: [f64; 12], violation: f64) {
        self.joint_rows.push(1);
        self.joint_pairs.extend(pair);
        self.jacobian.extend(jacobian);
        self.lo.push(f64::NEG_INFINITY);
        self.hi.push(f64::INFINITY);
        self.violation.push(violation);
        self.row_compliance.push(0.0);
        self.row_damping.push(0.0);
    }

    pub fn frame(&self, step: f64, time: f64) -> Frame {
        let mut frame = Frame::new();
        frame.set_step(step, time).unwrap();
        frame
            .set_bodies(&Bodies {
                ids: &[],
                masses: &self.masses,
                inertia: &self.inertia,
                positions: &self.positions,
                quaternions: &self.quaternions,
                velocities: &self.velocities,
                forces: &self.forces,
            })
            .unwrap();
        frame
            .set_constraints(&Constraints {
                rows: &self.joint_rows,
                pairs: &self.joint_pairs,
                jacobian: &self.jacobian,
                lo: &self.lo,
                hi: &self.hi,
                violation: &self.violation,
                compliance: &self.row_compliance,
                damping: &self.row_damping,
            })
            .unwrap();
        frame
            .set_contacts(&Contacts {
                pairs: &self.pairs,
                gap: &self.gap,
                mu: &self.mu,
                normals: &self.normals,
                points: &self.points,
                restitution: &self.restitution,
                compliance: &[],
                damping: &[],
            })
            .unwrap();
        frame
    }
}

fn unit<const N: usize>(random: &mut Random) -> [f64; N] {
    loop {
        let v: [f64; N] = std::array::from_fn(|_| random.range(-1.0, 1.0));
        let size = v.iter().map(|c| c * c).sum::<f64>().sqrt();
        if size > 0.1 {
            return v.map(|c| c / size);
        }
    }
}

/// Any legal frame: nothing in it fits, but every field differs.
pub fn random_frame(random: &mut Random, bodies: usize, joints: usize, contacts: usize) -> Frame {
    let mut parts = Parts::default();
    for k in 0..bodies {
        let mass = if k % 7 == 6 { f64::INFINITY } else { random.range(0.1, 10.0) };
        let inertia = [(); 3].map(|()| random.range(0.5, 1.0));
        parts.body(mass, inertia, std::array::from_fn(|_| random.range(-2.0, 2.0)), [0.0; 6]);
        parts.quaternions.truncate(4 * k);
        parts.quaternions.extend(unit::<4>(random));
        let skew = random.range(-0.1, 0.1);
        (parts.inertia[9 * k + 1], parts.inertia[9 * k + 3]) = (skew, skew);
        (0..6).for_each(|c| parts.velocities[6 * k + c] = random.range(-1.0, 1.0));
        (0..6).for_each(|c| parts.forces[6 * k + c] += random.range(-1.0, 1.0));
    }
    let pair = |random: &mut Random| {
        let a = random.below(bodies) as i32;
        [a, (a + 1 + random.below(bodies) as i32) % (bodies as i32 + 1) - 1]
    };
    for k in 0..joints {
        let mut p = pair(random);
        p[1] = if p[0] == p[1] { -1 } else { p[1] };
        parts.row(p, std::array::from_fn(|_| random.range(-1.0, 1.0)), random.range(-0.01, 0.01));
        if k % 3 == 1 {
            parts.lo[k] = 0.0;
            parts.row_compliance[k] = random.range(0.0, 1e-3);
            parts.row_damping[k] = random.range(0.0, 10.0);
        }
    }
    for _ in 0..contacts {
        let mut p = pair(random);
        p[1] = if p[0] == p[1] { -1 } else { p[1] };
        let (point, normal) = (std::array::from_fn(|_| random.range(-0.5, 0.5)), unit::<3>(random));
        parts.contact(p, point, normal, random.range(-0.01, 0.01), random.range(0.0, 1.0));
        *parts.restitution.last_mut().unwrap() = random.range(0.0, 1.0);
    }
    parts.frame(random.range(1e-3, 2e-2), random.range(0.0, 100.0))
}

/// A point mass that slides on the ground along `angle`, all forces through its centre.
pub fn sliding_mass(angle: f64, speed: f64, mu: f64) -> Frame {
    let mut parts = Parts::default();
    parts.body(2.0, [1.0; 3], [0.0; 3], [speed * angle.cos(), speed * angle.sin(), 0.0, 0.0, 0.0, 0.0]);
    // From the world up: the point in world coordinates is the body's centre.
    parts.contact([-1, 0], [0.0; 3], [0.0, 0.0, 1.0], 0.0, mu);
    parts.frame(0.01, 0.0)
}

/// Two cubes of 1 m, one on the other, pushed sideways, with four contacts each; the lower one hangs on a slack rope.
pub fn stack(push: f64) -> Frame {
    let mut parts = Parts::default();
    for k in 0..2 {
        parts.body(2.0 - k as f64, [1.0 / 3.0; 3], [0.0, 0.0, 0.5 + k as f64], [0.0; 6]);
        parts.forces[6 * k] = push;
        for (x, y) in [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)] {
            let (below, z) = if k == 0 { (-1, 0.0) } else { (0, 0.5) };
            parts.contact([below, k as i32], [x, y, z], [0.0, 0.0, 1.0], 0.0, 0.4);
        }
    }
    let mut rope = [0.0; 12];
    rope[0] = -1.0;
    parts.row([0, -1], rope, 0.02);
    parts.lo[0] = 0.0;
    parts.frame(0.01, 0.0)
}
