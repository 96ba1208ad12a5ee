//! Rigid bodies in natural coordinates, as a model for ALI3-P: each body is a point and three vectors, twelve numbers.
//!
//! With the point in the centre of mass and the vectors along the principal axes M is diagonal and constant, points of the
//! body are linear in q, and every constraint is linear or quadratic: `a·b = c` between two vectors, or a sum of
//! coordinate vectors with coefficients that may depend on time. Redundant rows come by themselves.

use mlcp::mechanism::ali3p::{Model, Pattern, Structure};
use mlcp::Result;
use nalgebra::{Matrix3, Vector3};

/// A vector in space.
pub type Vector = Vector3<f64>;

/// A function of time with its first two derivatives.
pub type OfTime = Box<dyn Fn(f64) -> [f64; 3]>;

/// A coefficient of a linear constraint.
pub enum Coefficient {
    /// The same at all times.
    Constant(f64),
    /// Given by a function of time, a rheonomic constraint.
    Given(OfTime),
}

impl Coefficient {
    fn at(&self, t: f64) -> [f64; 3] {
        match self {
            Coefficient::Constant(c) => [*c, 0.0, 0.0],
            Coefficient::Given(f) => f(t),
        }
    }
}

/// A constraint; vectors are named by `4 * body + which`: 0 the point, 1 to 3 the axes.
enum Constraint {
    /// a·b = c, one row.
    Dot { a: usize, b: usize, value: f64 },
    /// Σ c_i(t) x_i = 0, three rows.
    Sum(Vec<(usize, Coefficient)>),
}

/// A point fixed to a body, in its axes.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The body.
    pub body: usize,
    /// From the centre of mass, m.
    pub at: Vector,
}

/// What acts at a point of a body: the force, and how it answers to motion of the point.
pub struct Push {
    /// Where.
    pub point: Point,
    /// N.
    pub force: Vector,
    /// -∂F/∂x, N/m, diagonal.
    pub stiffness: Vector,
    /// -∂F/∂v, N s/m, diagonal.
    pub damping: Vector,
}

/// Contact laws and the like: all forces but gravity.
pub type Pushes = Box<dyn Fn(f64, &Bodies<'_>, &mut Vec<Push>)>;

/// Bodies at some positions and velocities.
pub struct Bodies<'a> {
    q: &'a [f64],
    v: &'a [f64],
}

impl Bodies<'_> {
    fn vector(from: &[f64], k: usize) -> Vector {
        Vector::new(from[3 * k], from[3 * k + 1], from[3 * k + 2])
    }

    /// Centre of mass (0) or an axis (1 to 3).
    pub fn axis(&self, body: usize, which: usize) -> Vector {
        Self::vector(self.q, 4 * body + which)
    }

    /// World position of a point.
    pub fn position(&self, p: Point) -> Vector {
        Self::combine(self.q, p)
    }

    /// World velocity of a point.
    pub fn velocity(&self, p: Point) -> Vector {
        Self::combine(self.v, p)
    }

    fn combine(from: &[f64], p: Point) -> Vector {
        let k = 4 * p.body;
        let part = |i: usize| Self::vector(from, k + i);
        part(0) + part(1) * p.at.x + part(2) * p.at.y + part(3) * p.at.z
    }

    /// A world point in the axes of a body.
    pub fn fixed(&self, body: usize, world: Vector) -> Point {
        let d = world - self.axis(body, 0);
        Point {
            body,
            at: Vector::new(d.dot(&self.axis(body, 1)), d.dot(&self.axis(body, 2)), d.dot(&self.axis(body, 3))),
        }
    }
}

/// A mechanism of such bodies.
pub struct NaturalModel {
    mass: Vec<f64>,
    weights: Vec<f64>,
    constraints: Vec<Constraint>,
    gravity: Vector,
    pushes: Pushes,
    buffer: Vec<Push>,
    /// Positions at the beginning.
    pub q: Vec<f64>,
    /// Velocities at the beginning.
    pub v: Vec<f64>,
}

impl NaturalModel {
    /// Nothing yet.
    pub fn new(gravity: Vector, pushes: Pushes) -> Self {
        NaturalModel {
            mass: Vec::new(),
            weights: Vec::new(),
            constraints: Vec::new(),
            gravity,
            pushes,
            buffer: Vec::new(),
            q: Vec::new(),
            v: Vec::new(),
        }
    }

    /// Add a body of given mass (kg) and principal moments (kg m²), axes along the world's; returns its number.
    pub fn body(&mut self, mass: f64, moments: Vector, at: Vector, velocity: Vector, spin: Vector) -> usize {
        let body = self.weights.len();
        self.weights.push(mass);
        let half = moments.sum() / 2.0;
        for m in [mass, half - moments.x, half - moments.y, half - moments.z] {
            self.mass.extend([m; 3]);
        }
        self.q.extend(at.iter());
        self.q.extend(Matrix3::<f64>::identity().iter());
        self.v.extend(velocity.iter());
        for axis in [Vector::x(), Vector::y(), Vector::z()] {
            self.v.extend(spin.cross(&axis).iter());
        }
        for a in 1..4 {
            for b in a..4 {
                let value = if a == b { 1.0 } else { 0.0 };
                self.constraints.push(Constraint::Dot { a: 4 * body + a, b: 4 * body + b, value });
            }
        }
        body
    }

    fn terms(p: Point, sign: f64) -> Vec<(usize, Coefficient)> {
        let all = [1.0, p.at.x, p.at.y, p.at.z];
        (0..4).filter(|&i| all[i] != 0.0).map(|i| (4 * p.body + i, Coefficient::Constant(sign * all[i]))).collect()
    }

    /// Two points coincide where the world point is now: three rows.
    pub fn coincide(&mut self, bodies: [usize; 2], world: Vector) {
        let here = Bodies { q: &self.q, v: &self.v };
        let (p, q) = (here.fixed(bodies[0], world), here.fixed(bodies[1], world));
        let mut terms = Self::terms(p, 1.0);
        terms.extend(Self::terms(q, -1.0));
        self.constraints.push(Constraint::Sum(terms));
    }

    /// An axis of the first body is a combination of axes of the second, with coefficients of time: three rows.
    pub fn align(&mut self, body: usize, axis: usize, to: usize, combination: Vec<(usize, Coefficient)>) {
        let mut terms: Vec<(usize, Coefficient)> = combination.into_iter().map(|(a, c)| (4 * to + a, c)).collect();
        terms.push((4 * body + axis, Coefficient::Constant(-1.0)));
        self.constraints.push(Constraint::Sum(terms));
    }

    /// Two bodies keep their relative attitude: two axes, six rows of which three are redundant.
    pub fn keep_attitude(&mut self, body: usize, to: usize) {
        for axis in [1, 2] {
            self.align(body, axis, to, vec![(axis, Coefficient::Constant(1.0))]);
        }
    }

    fn rows(&self) -> usize {
        self.constraints.iter().map(|c| if matches!(c, Constraint::Dot { .. }) { 1 } else { 3 }).sum()
    }

    /// For the stepper. K and C couple the same component of a body's four vectors.
    pub fn structure(&self) -> Structure {
        let n = self.q.len();
        let (mut start, mut columns) = (vec![0], Vec::new());
        for constraint in &self.constraints {
            match constraint {
                Constraint::Dot { a, b, .. } => {
                    let mut all: Vec<i32> =
                        [*a, *b].iter().flat_map(|k| (0..3).map(move |c| (3 * k + c) as i32)).collect();
                    all.sort_unstable();
                    all.dedup();
                    columns.extend(all);
                    start.push(columns.len() as i32);
                }
                Constraint::Sum(terms) => {
                    for c in 0..3 {
                        let mut all: Vec<i32> = terms.iter().map(|(k, _)| (3 * k + c) as i32).collect();
                        all.sort_unstable();
                        columns.extend(all);
                        start.push(columns.len() as i32);
                    }
                }
            }
        }
        let jacobian = Pattern::new("jacobian", self.rows(), n, &start, &columns).expect("rising columns");
        let (mut start, mut columns) = (vec![0], Vec::new());
        for i in 0..n {
            let (body, c) = (i / 12, i % 3);
            columns.extend((0..4).map(|k| (12 * body + 3 * k + c) as i32));
            start.push(columns.len() as i32);
        }
        let local = Pattern::new("stiffness", n, n, &start, &columns).expect("rising columns");
        Structure {
            coordinates: n,
            constraints: self.rows(),
            contacts: 0,
            mass: Pattern::diagonal(n),
            stiffness: local.clone(),
            damping: local,
            jacobian,
        }
    }

    fn evaluate_pushes(&mut self, t: f64, q: &[f64], v: &[f64]) {
        self.buffer.clear();
        (self.pushes)(t, &Bodies { q, v }, &mut self.buffer);
    }

    fn add_tangent(&mut self, t: f64, q: &[f64], v: &[f64], out: &mut [f64], which: fn(&Push) -> Vector) {
        self.evaluate_pushes(t, q, v);
        for push in &self.buffer {
            let s = [1.0, push.point.at.x, push.point.at.y, push.point.at.z];
            for (i, si) in s.iter().enumerate() {
                for c in 0..3 {
                    let row = 12 * push.point.body + 3 * i + c;
                    for (k, sk) in s.iter().enumerate() {
                        out[4 * row + k] += which(push)[c] * si * sk;
                    }
                }
            }
        }
    }

    /// Rate (0) or acceleration (1) terms of the constraints.
    fn derivative(&self, t: f64, q: &[f64], v: &[f64], second: bool, out: &mut [f64]) {
        let mut row = 0;
        for constraint in &self.constraints {
            match constraint {
                Constraint::Dot { a, b, .. } => {
                    if second {
                        out[row] = 2.0 * Bodies::vector(v, *a).dot(&Bodies::vector(v, *b));
                    }
                    row += 1;
                }
                Constraint::Sum(terms) => {
                    for (k, c) in terms {
                        let [_, rate, acceleration] = c.at(t);
                        for d in 0..3 {
                            out[row + d] += if second {
                                2.0 * rate * v[3 * k + d] + acceleration * q[3 * k + d]
                            } else {
                                rate * q[3 * k + d]
                            };
                        }
                    }
                    row += 3;
                }
            }
        }
    }
}

impl Model for NaturalModel {
    fn mass(&mut self, _: f64, _: &[f64], out: &mut [f64]) -> Result<()> {
        out.copy_from_slice(&self.mass);
        Ok(())
    }

    fn forces(&mut self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) -> Result<()> {
        for (body, weight) in self.weights.iter().enumerate() {
            (0..3).for_each(|c| out[12 * body + c] += weight * self.gravity[c]);
        }
        self.evaluate_pushes(t, q, v);
        for push in &self.buffer {
            let s = [1.0, push.point.at.x, push.point.at.y, push.point.at.z];
            for (i, s) in s.iter().enumerate() {
                (0..3).for_each(|c| out[12 * push.point.body + 3 * i + c] += s * push.force[c]);
            }
        }
        Ok(())
    }

    fn stiffness(&mut self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) -> Result<()> {
        self.add_tangent(t, q, v, out, |p| p.stiffness);
        Ok(())
    }

    fn damping(&mut self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) -> Result<()> {
        self.add_tangent(t, q, v, out, |p| p.damping);
        Ok(())
    }

    fn constraints(&mut self, t: f64, q: &[f64], out: &mut [f64]) -> Result<()> {
        let mut row = 0;
        for constraint in &self.constraints {
            match constraint {
                Constraint::Dot { a, b, value } => {
                    out[row] = Bodies::vector(q, *a).dot(&Bodies::vector(q, *b)) - value;
                    row += 1;
                }
                Constraint::Sum(terms) => {
                    for (k, c) in terms {
                        (0..3).for_each(|d| out[row + d] += c.at(t)[0] * q[3 * k + d]);
                    }
                    row += 3;
                }
            }
        }
        Ok(())
    }

    fn jacobian(&mut self, t: f64, q: &[f64], out: &mut [f64]) -> Result<()> {
        let mut entry = 0;
        for constraint in &self.constraints {
            match constraint {
                Constraint::Dot { a, b, .. } if a == b => {
                    (0..3).for_each(|c| out[entry + c] = 2.0 * q[3 * a + c]);
                    entry += 3;
                }
                Constraint::Dot { a, b, .. } => {
                    // Columns rise: a < b.
                    for c in 0..3 {
                        out[entry + c] = q[3 * b + c];
                        out[entry + 3 + c] = q[3 * a + c];
                    }
                    entry += 6;
                }
                Constraint::Sum(terms) => {
                    let mut sorted: Vec<(usize, f64)> = terms.iter().map(|(k, c)| (*k, c.at(t)[0])).collect();
                    sorted.sort_unstable_by_key(|s| s.0);
                    for _ in 0..3 {
                        for (_, c) in &sorted {
                            out[entry] = *c;
                            entry += 1;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn constraint_rate(&mut self, t: f64, q: &[f64], out: &mut [f64]) -> Result<()> {
        self.derivative(t, q, &[], false, out);
        Ok(())
    }

    fn constraint_acceleration(&mut self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) -> Result<()> {
        self.derivative(t, q, v, true, out);
        Ok(())
    }

    fn potential(&mut self, _: f64, q: &[f64]) -> Result<f64> {
        Ok(self
            .weights
            .iter()
            .enumerate()
            .map(|(body, weight)| -weight * self.gravity.dot(&Bodies::vector(q, 4 * body)))
            .sum())
    }
}

/// Positions only, for looking at a state.
pub fn at<'a>(q: &'a [f64], v: &'a [f64]) -> Bodies<'a> {
    Bodies { q, v }
}
