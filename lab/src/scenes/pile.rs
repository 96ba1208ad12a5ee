//! Round bodies among walls: balls and logs under gravity, with contacts found in closed form.
//!
//! A log is a capsule, a cylinder whose ends are half balls: the set of points within `radius` of a segment. A ball is one
//! with a segment of length 0. Logs side by side touch at the two ends of the length they share, crossed ones at one
//! point, a log and a wall at both ends of the log.

use super::quiet;
use mlcp::multibody::{Bodies, Contacts, Formulation, Formulator, Frame, Response};
use mlcp::{Engine, Error, Problem, Report, Settings};
use nalgebra::{Matrix3, UnitQuaternion, Vector3};

type Vector = Vector3<f64>;

const GRAVITY: f64 = 9.81;
/// Axes whose sine is below this are side by side.
const PARALLEL: f64 = 0.1;

/// Bodies of one shape, and where they are.
pub struct Pile {
    /// Of every body, m.
    pub radius: f64,
    /// Half the length of the segment, m; 0 for balls.
    pub half: f64,
    /// Of every body, kg.
    pub mass: f64,
    /// Coefficient of friction of every contact.
    pub mu: f64,
    /// Step size, s.
    pub step: f64,
    /// Planes: inward unit normal n and offset d, inside is n·p >= d.
    pub walls: Vec<(Vector, f64)>,
    positions: Vec<Vector>,
    turns: Vec<UnitQuaternion<f64>>,
    velocities: Vec<f64>,
    time: f64,
}

/// A contact: bodies (-1 is the world), point and normal in the world, gap.
struct Touch {
    pair: [i32; 2],
    point: Vector,
    normal: Vector,
    gap: f64,
}

impl Pile {
    /// A pile without bodies.
    pub fn new(radius: f64, half: f64, mass: f64, mu: f64, step: f64, walls: Vec<(Vector, f64)>) -> Self {
        let (positions, turns, velocities) = Default::default();
        Pile { radius, half, mass, mu, step, walls, positions, turns, velocities, time: 0.0 }
    }

    /// Add a body at rest; its segment lies along the y axis, turned by `turn`.
    pub fn add(&mut self, position: Vector, turn: UnitQuaternion<f64>) {
        self.positions.push(position);
        self.turns.push(turn);
        self.velocities.extend([0.0; 6]);
    }

    /// Middle of every body.
    pub fn positions(&self) -> &[Vector] {
        &self.positions
    }

    /// Seconds since the beginning.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Inertia about the middle, in body axes: a ball, or a cylinder as long as the log.
    fn inertia(&self) -> Matrix3<f64> {
        let (m, r2) = (self.mass, self.radius * self.radius);
        if self.half == 0.0 {
            return Matrix3::identity() * (0.4 * m * r2);
        }
        let length = 2.0 * (self.half + self.radius);
        let across = m * (3.0 * r2 + length * length) / 12.0;
        Matrix3::from_diagonal(&Vector::new(across, 0.5 * m * r2, across))
    }

    fn ends(&self, body: usize) -> [Vector; 2] {
        let along = self.turns[body] * Vector::y() * self.half;
        [self.positions[body] - along, self.positions[body] + along]
    }

    /// What may touch within a step: whatever is no farther than the fastest body gets, and a bit.
    fn touches(&self) -> Vec<Touch> {
        let speed = |v: &[f64]| Vector::new(v[0], v[1], v[2]).norm();
        let fastest = self.velocities.chunks_exact(6).map(speed).fold(0.0, f64::max);
        let reach = 0.1 * self.radius + self.step * fastest;
        let mut found = Vec::new();
        for body in 0..self.positions.len() {
            let ends = self.ends(body);
            let count = if self.half == 0.0 { 1 } else { 2 };
            for &(normal, offset) in &self.walls {
                for end in &ends[..count] {
                    let gap = normal.dot(end) - offset - self.radius;
                    if gap < reach {
                        let point = end - normal * (self.radius + gap);
                        found.push(Touch { pair: [-1, body as i32], point, normal, gap });
                    }
                }
            }
            for other in 0..body {
                let far = 2.0 * (self.half + self.radius) + reach;
                if (self.positions[body] - self.positions[other]).norm() < far {
                    self.touch(other, body, reach, &mut found);
                }
            }
        }
        found
    }

    /// Contacts of two bodies.
    fn touch(&self, a: usize, b: usize, reach: f64, found: &mut Vec<Touch>) {
        let (ends_a, ends_b) = (self.ends(a), self.ends(b));
        for (p, q) in nearest(ends_a, ends_b) {
            let distance = (q - p).norm();
            let gap = distance - 2.0 * self.radius;
            if gap < reach && distance > 0.0 {
                let normal = (q - p) / distance;
                let point = p + normal * (self.radius + 0.5 * gap);
                found.push(Touch { pair: [a as i32, b as i32], point, normal, gap });
            }
        }
    }

    /// The step from here as a frame, contacts in the order of the bodies.
    pub fn frame(&self) -> Result<Frame, Error> {
        let n = self.positions.len();
        let flat = |v: &[Vector]| v.iter().flat_map(|p| [p.x, p.y, p.z]).collect::<Vec<f64>>();
        let inertia: Vec<f64> = self.inertia().iter().copied().collect::<Vec<_>>().repeat(n);
        let turns: Vec<f64> = self.turns.iter().flat_map(|q| [q.w, q.i, q.j, q.k]).collect();
        let forces = [0.0, 0.0, -GRAVITY * self.mass, 0.0, 0.0, 0.0].repeat(n);
        let mut frame = Frame::new();
        frame.set_step(self.step, self.time)?;
        frame.set_bodies(&Bodies {
            ids: &[],
            masses: &vec![self.mass; n],
            inertia: &inertia,
            positions: &flat(&self.positions),
            quaternions: &turns,
            velocities: &self.velocities,
            forces: &forces,
        })?;
        let touches = self.touches();
        let place = |body: i32| usize::try_from(body).map_or_else(|_| Vector::zeros(), |k| self.positions[k]);
        let points: Vec<Vector> = touches.iter().map(|t| t.point - place(t.pair[0])).collect();
        frame.set_contacts(&Contacts {
            pairs: &touches.iter().flat_map(|t| t.pair).collect::<Vec<i32>>(),
            gap: &touches.iter().map(|t| t.gap).collect::<Vec<f64>>(),
            mu: &vec![self.mu; touches.len()],
            normals: &flat(&touches.iter().map(|t| t.normal).collect::<Vec<_>>()),
            points: &flat(&points),
            ..Contacts::default()
        })?;
        Ok(frame)
    }

    /// Move everything on by a step that starts at `frame`, with velocities solved exactly.
    pub fn advance(&mut self, frame: &Frame, stepper: &mut Stepper) -> Result<(), Error> {
        let velocities = stepper.velocities(frame)?;
        self.velocities.copy_from_slice(velocities);
        for (k, v) in self.velocities.chunks_exact(6).enumerate() {
            self.positions[k] += Vector::new(v[0], v[1], v[2]) * self.step;
            let turn = UnitQuaternion::from_scaled_axis(Vector::new(v[3], v[4], v[5]) * self.step);
            self.turns[k] = turn * self.turns[k];
            self.turns[k].renormalize();
        }
        self.time += self.step;
        Ok(())
    }
}

/// Where two segments touch: pairs of points, one of each.
fn nearest(a: [Vector; 2], b: [Vector; 2]) -> Vec<(Vector, Vector)> {
    let (along_a, along_b) = (a[1] - a[0], b[1] - b[0]);
    let crossed = along_a.cross(&along_b).norm() > PARALLEL * along_a.norm() * along_b.norm();
    let mut pairs: Vec<(Vector, Vector)> = Vec::new();
    if !crossed {
        // Ends that lie beside the other segment; the two farthest apart bound the length they share.
        pairs.extend(a.iter().filter_map(|&p| Some((p, beside(p, b)?))));
        pairs.extend(b.iter().filter_map(|&q| Some((beside(q, a)?, q))));
        let from = a[0];
        let along = |p: &(Vector, Vector)| along_a.dot(&(p.0 - from));
        pairs.sort_by(|p, q| along(p).total_cmp(&along(q)));
        if pairs.len() > 2 {
            pairs = vec![pairs[0], pairs[pairs.len() - 1]];
        }
    }
    if pairs.is_empty() {
        pairs.push(closest(a, b));
    }
    pairs
}

/// The point of a segment level with p, if there is one.
fn beside(p: Vector, [from, to]: [Vector; 2]) -> Option<Vector> {
    let along = to - from;
    let share = along.dot(&(p - from)) / along.norm_squared();
    (0.0..=1.0).contains(&share).then(|| from + along * share)
}

/// The closest points of two segments: alternating projections, exact for points and end points, and quick for segments
/// that cross, which are solved for first.
fn closest(a: [Vector; 2], b: [Vector; 2]) -> (Vector, Vector) {
    let (u, v, w) = (a[1] - a[0], b[1] - b[0], a[0] - b[0]);
    let (uu, uv, vv) = (u.norm_squared(), u.dot(&v), v.norm_squared());
    let determinant = uu * vv - uv * uv;
    let mut s = if determinant > 0.0 { (uv * v.dot(&w) - vv * u.dot(&w)) / determinant } else { 0.5 };
    s = s.clamp(0.0, 1.0);
    let share = |at: Vector, from: Vector, along: Vector, size: f64| match size > 0.0 {
        true => (along.dot(&(at - from)) / size).clamp(0.0, 1.0),
        false => 0.0,
    };
    let t = share(a[0] + u * s, b[0], v, vv);
    let s = share(b[0] + v * t, a[0], u, uu);
    (a[0] + u * s, b[0] + v * t)
}

/// Solves the steps of a scene, to round-off where it can.
pub struct Stepper {
    formulator: Formulator,
    engine: Engine,
    problem: Problem,
    response: Response,
    report: Option<Report>,
    /// Begin a step with the last one's impulses, if it has as many rows.
    pub warm: bool,
}

impl Stepper {
    /// A stepper with memory of its own.
    pub fn new() -> Result<Self, Error> {
        Stepper::with(Settings::default())
    }

    /// A stepper for any solver.
    pub fn with(settings: Settings) -> Result<Self, Error> {
        Ok(Stepper {
            formulator: Formulator::new(),
            engine: Engine::new(settings)?,
            problem: Problem::default(),
            response: Response::default(),
            report: None,
            warm: false,
        })
    }

    /// The problem of the last step, and its solution.
    pub fn solved(&self) -> (&Problem, &[f64]) {
        (&self.problem, self.engine.x())
    }

    /// How the last solve went.
    pub fn report(&self) -> Option<Report> {
        self.report
    }

    /// Velocities at the end of the step, with box friction.
    fn velocities(&mut self, frame: &Frame) -> Result<&[f64], Error> {
        self.formulator.fill(frame, Formulation::BOX, &mut self.problem)?;
        let start = Some(self.engine.x().to_vec()).filter(|x| self.warm && x.len() == self.problem.len());
        self.report = Some(quiet::solve(&mut self.engine, &self.problem, start.as_deref())?);
        self.formulator.respond(frame, Formulation::BOX, self.engine.x(), &mut self.response)?;
        Ok(&self.response.velocities)
    }
}

/// Numbers in [-1, 1) that are the same everywhere (splitmix64).
pub struct Scatter(pub u64);

impl Scatter {
    /// The next one.
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_touch_where_they_should() {
        let v = Vector::new;
        // Side by side, shifted by one: they share the length from 1 to 2.
        let pairs = nearest([v(0.0, 0.0, 0.0), v(0.0, 2.0, 0.0)], [v(0.0, 1.0, 1.0), v(0.0, 3.0, 1.0)]);
        assert_eq!(pairs, [(v(0.0, 1.0, 0.0), v(0.0, 1.0, 1.0)), (v(0.0, 2.0, 0.0), v(0.0, 2.0, 1.0))]);
        // Crossed, one above the other.
        let pairs = nearest([v(0.0, -1.0, 0.0), v(0.0, 1.0, 0.0)], [v(-1.0, 0.0, 0.5), v(1.0, 0.0, 0.5)]);
        assert_eq!(pairs, [(v(0.0, 0.0, 0.0), v(0.0, 0.0, 0.5))]);
        // In line, end to end; and two balls.
        let pairs = nearest([v(0.0, 0.0, 0.0), v(0.0, 1.0, 0.0)], [v(0.0, 2.0, 0.0), v(0.0, 3.0, 0.0)]);
        assert_eq!(pairs, [(v(0.0, 1.0, 0.0), v(0.0, 2.0, 0.0))]);
        let pairs = nearest([v(0.0, 0.0, 0.0); 2], [v(3.0, 0.0, 0.0); 2]);
        assert_eq!(pairs, [(v(0.0, 0.0, 0.0), v(3.0, 0.0, 0.0))]);
    }

    #[test]
    fn log_on_the_ground_rests() {
        let mut pile = Pile::new(0.1, 0.5, 2.0, 0.5, 0.01, vec![(Vector::z(), 0.0)]);
        pile.add(Vector::new(0.0, 0.0, 0.105), UnitQuaternion::identity());
        let mut stepper = Stepper::new().unwrap();
        for _ in 0..30 {
            let frame = pile.frame().unwrap();
            assert_eq!(frame.contacts().gap.len(), 2);
            pile.advance(&frame, &mut stepper).unwrap();
        }
        assert!((pile.positions()[0] - Vector::new(0.0, 0.0, 0.1)).norm() < 1e-9, "{}", pile.positions()[0]);
    }
}
