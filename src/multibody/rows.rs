//! The constraint rows of a frame: first the constraints' own, then normal and two tangents of every contact.
//!
//! A row with compliance c and damping d is an implicit spring and damper, `x = -h (φ₊/c + d φ̇₊)` with
//! φ₊ = φ + h φ̇₊: it keeps the form w = J v₊ + C x + bias = 0 with
//!
//! ```text
//! C = c / (h (h + d c)),     bias = φ / (h + d c)          (rigid, c = 0: C = 0, bias = φ / h)
//! ```
//!
//! A contact that closes within the step, at approach speed u < 0, leaves with at least -e u: bias = min(bias, e u).

use super::frame::Frame;
use crate::error::{Error, Result, Status};
use crate::memory::reserve;
use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};

/// The rows of a frame and the bodies they act on. Keeps its memory.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// 12 per body, in world axes.
    pub inverse_mass: Vec<f64>,
    /// 9 per body, in world axes; 0 for immovable ones.
    pub inertia: Vec<f64>,
    /// 12 per row.
    pub jacobian: Vec<f64>,
    /// 2 per row.
    pub bodies: Vec<i32>,
    pub compliance: Vec<f64>,
    pub bias: Vec<f64>,
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
    pub findex: Vec<i32>,
    pub mu: Vec<f64>,
    /// 3 per contact: its rows.
    pub cones: Vec<i32>,
    /// Velocities at the end of the step without any constraint impulse.
    pub free: Vec<f64>,
}

/// Two unit vectors that make a right-handed frame with `n`. They depend on nothing else, so that every formulation and
/// every replay has the same.
pub fn tangents(n: Vector3<f64>) -> [Vector3<f64>; 2] {
    let other = if n.x.abs() < 0.7 { Vector3::x() } else { Vector3::y() };
    let first = n.cross(&other).normalize();
    [first, n.cross(&first)]
}

fn vector(values: &[f64], k: usize) -> Vector3<f64> {
    Vector3::from_column_slice(&values[3 * k..][..3])
}

impl Rows {
    pub fn fill(&mut self, frame: &Frame) -> Result<()> {
        let h = frame.step();
        if h <= 0.0 {
            return Err(Error::new(Status::InvalidState, format_args!("the frame has no step yet")));
        }
        let (bodies, contacts) = (frame.bodies(), frame.contacts());
        let (nb, nc, nr) = (bodies.masses.len(), contacts.gap.len(), frame.constraints().lo.len());
        let n = nr + 3 * nc;
        reserve(&mut self.inverse_mass, 12 * nb)?;
        reserve(&mut self.inertia, 9 * nb)?;
        reserve(&mut self.free, 6 * nb)?;
        reserve(&mut self.jacobian, 12 * n)?;
        reserve(&mut self.bodies, 2 * n)?;
        reserve(&mut self.findex, n)?;
        reserve(&mut self.cones, 3 * nc)?;
        for v in [&mut self.compliance, &mut self.bias, &mut self.lo, &mut self.hi, &mut self.mu] {
            reserve(v, n)?;
            v.clear();
        }
        self.jacobian.clear();
        self.bodies.clear();
        self.findex.clear();
        self.cones.clear();
        self.fill_bodies(frame);
        self.fill_constraints(frame);
        for k in 0..nc {
            self.fill_contact(frame, k);
        }
        Ok(())
    }

    fn fill_bodies(&mut self, frame: &Frame) {
        let (b, h) = (frame.bodies(), frame.step());
        self.inverse_mass.clear();
        self.inertia.clear();
        self.free.clear();
        for k in 0..b.masses.len() {
            let q = &b.quaternions[4 * k..][..4];
            let r = UnitQuaternion::from_quaternion(Quaternion::new(q[0], q[1], q[2], q[3])).to_rotation_matrix();
            let given = Matrix3::from_row_slice(&b.inertia[9 * k..][..9]);
            let movable = b.masses[k].is_finite();
            let world = match movable {
                true => symmetric(r.matrix() * symmetric(given) * r.matrix().transpose()),
                false => Matrix3::zeros(),
            };
            // Checked to be positive definite when it was set.
            let inverse = world.try_inverse().filter(|_| movable).map_or_else(Matrix3::zeros, symmetric);
            let light = if movable { 1.0 / b.masses[k] } else { 0.0 };
            self.inverse_mass.extend([light; 3]);
            self.inverse_mass.extend(inverse.transpose().iter());
            self.inertia.extend(world.transpose().iter());
            let (v, f) = (&b.velocities[6 * k..][..6], &b.forces[6 * k..][..6]);
            let turn = inverse * Vector3::new(f[3], f[4], f[5]);
            self.free.extend((0..3).map(|c| v[c] + h * light * f[c]));
            self.free.extend((0..3).map(|c| v[3 + c] + h * turn[c]));
        }
    }

    fn fill_constraints(&mut self, frame: &Frame) {
        let (c, h) = (frame.constraints(), frame.step());
        self.jacobian.extend_from_slice(c.jacobian);
        for (pair, &rows) in c.pairs.chunks_exact(2).zip(c.rows) {
            (0..rows).for_each(|_| self.bodies.extend_from_slice(pair));
        }
        self.lo.extend_from_slice(c.lo);
        self.hi.extend_from_slice(c.hi);
        for i in 0..c.lo.len() {
            let (compliance, bias) = soften(h, c.violation[i], c.compliance[i], c.damping[i]);
            self.compliance.push(compliance);
            self.bias.push(bias);
            self.findex.push(-1);
            self.mu.push(0.0);
        }
    }

    /// Normal and tangents: the velocity of the second body's point relative to the first's, along each.
    fn fill_contact(&mut self, frame: &Frame, k: usize) {
        let (b, c, h) = (frame.bodies(), frame.contacts(), frame.step());
        let pair = [c.pairs[2 * k], c.pairs[2 * k + 1]];
        let place = |id: i32| usize::try_from(id).map_or_else(|_| Vector3::zeros(), |id| vector(b.positions, id));
        let arm = vector(c.points, k);
        let arms = [arm, place(pair[0]) + arm - place(pair[1])];
        let normal = vector(c.normals, k).normalize();
        let [first, second] = tangents(normal);
        let row = self.lo.len() as i32;
        self.cones.extend([row, row + 1, row + 2]);
        let mut approach = 0.0;
        for (i, d) in [normal, first, second].into_iter().enumerate() {
            for (half, sign) in [(0, -1.0), (1, 1.0)] {
                let (linear, angular) = (sign * d, sign * arms[half].cross(&d));
                self.jacobian.extend(linear.iter().chain(angular.iter()));
                if let (0, Ok(body)) = (i, usize::try_from(pair[half])) {
                    let v = &b.velocities[6 * body..][..6];
                    approach += linear.dot(&vector(v, 0)) + angular.dot(&vector(v, 1));
                }
            }
            self.bodies.extend(pair);
            self.findex.push(if i == 0 { -1 } else { row });
            self.mu.push(if i == 0 { 0.0 } else { c.mu[k] });
            self.lo.push(if i == 0 { 0.0 } else { f64::NEG_INFINITY });
            self.hi.push(f64::INFINITY);
        }
        let (compliance, mut bias) = soften(h, c.gap[k], c.compliance[k], c.damping[k]);
        if approach < 0.0 && c.gap[k] + h * approach < 0.0 {
            bias = bias.min(c.restitution[k] * approach);
        }
        self.compliance.extend([compliance, 0.0, 0.0]);
        self.bias.extend([bias, 0.0, 0.0]);
    }
}

/// C and bias of a row with this violation, compliance and damping.
fn soften(h: f64, violation: f64, compliance: f64, damping: f64) -> (f64, f64) {
    let lag = h + damping * compliance;
    (compliance / (h * lag), violation / lag)
}

fn symmetric(m: Matrix3<f64>) -> Matrix3<f64> {
    (m + m.transpose()) * 0.5
}
