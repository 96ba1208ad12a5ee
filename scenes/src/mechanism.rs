//! Bodies with joints, limits, motors and contacts, written down as two-body rows.

use crate::planted::Draft;
use crate::random::Random;
use crate::rows::{Matrix, Rows};

/// A vector in space.
pub type Vector = [f64; 3];

/// The number of the world among the bodies.
pub const WORLD: i32 = -1;

/// No bounds: a joint row.
pub const FREE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
/// A row that only pushes.
pub const PUSH: (f64, f64) = (0.0, f64::INFINITY);

/// p × q.
pub fn cross(p: Vector, q: Vector) -> Vector {
    [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]]
}

/// Two directions across a third, all of length one.
pub fn across(axis: Vector) -> [Vector; 2] {
    let least = (0..3).min_by(|&i, &j| axis[i].abs().total_cmp(&axis[j].abs())).unwrap_or(0);
    let mut unit = [0.0; 3];
    unit[least] = 1.0;
    let t = cross(axis, unit);
    let length = t.iter().map(|c| c * c).sum::<f64>().sqrt();
    let t = t.map(|c| c / length);
    [t, cross(axis, t)]
}

/// p + s q.
pub fn along(p: Vector, s: f64, q: Vector) -> Vector {
    std::array::from_fn(|c| p[c] + s * q[c])
}

/// Bodies and the rows between them.
#[derive(Clone, Debug, Default)]
pub struct Mechanism {
    rows: Rows,
    places: Vec<Vector>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    findex: Vec<i32>,
    mu: Vec<f64>,
}

impl Mechanism {
    /// Number of rows so far.
    pub fn len(&self) -> usize {
        self.lo.len()
    }

    /// Are there no rows yet?
    pub fn is_empty(&self) -> bool {
        self.lo.is_empty()
    }

    /// A box of the given mass (kg) and side lengths (m) with its axes along the world's.
    pub fn add_box(&mut self, place: Vector, mass: f64, size: Vector) -> i32 {
        let [x, y, z] = size;
        let inverse = |p: f64, q: f64| 12.0 / (mass * (p * p + q * q));
        let block = [inverse(y, z), 0.0, 0.0, 0.0, inverse(x, z), 0.0, 0.0, 0.0, inverse(x, y)];
        self.add_block(place, mass, block)
    }

    /// A box of the given mass with random sides (0.1 to 1 m), turned at random.
    pub fn add_turned(&mut self, place: Vector, mass: f64, random: &mut Random) -> i32 {
        let size = [0; 3].map(|_| random.range(0.1, 1.0));
        let axis = random.direction();
        let [p, q] = across(axis);
        let square = |k: usize| size[k] * size[k];
        let inverse = [square(1) + square(2), square(0) + square(2), square(0) + square(1)].map(|s| 12.0 / (mass * s));
        let turned = |i: usize, j: usize| {
            // Written so that mirrored entries have the same bits.
            let (i, j) = (i.min(j), i.max(j));
            inverse[0] * axis[i] * axis[j] + inverse[1] * p[i] * p[j] + inverse[2] * q[i] * q[j]
        };
        self.add_block(place, mass, std::array::from_fn(|k| turned(k / 3, k % 3)))
    }

    /// A body with this world inverse inertia, 1/(kg m²), by rows.
    pub fn add_block(&mut self, place: Vector, mass: f64, inverse_inertia: [f64; 9]) -> i32 {
        self.rows.inverse_mass.extend([1.0 / mass; 3]);
        self.rows.inverse_mass.extend(inverse_inertia);
        self.places.push(place);
        self.places.len() as i32 - 1
    }

    /// Number of bodies.
    pub fn bodies(&self) -> usize {
        self.places.len()
    }

    /// Centre of mass of a body; of the world, the origin.
    pub fn place(&self, body: i32) -> Vector {
        usize::try_from(body).map_or([0.0; 3], |k| self.places[k])
    }

    /// A row of twelve entries; returns its number.
    pub fn add_row(&mut self, pair: [i32; 2], entries: [f64; 12], bounds: (f64, f64)) -> usize {
        self.rows.rows.extend(entries);
        self.rows.bodies.extend(pair);
        self.rows.compliance.push(0.0);
        self.lo.push(bounds.0);
        self.hi.push(bounds.1);
        self.findex.push(-1);
        self.mu.push(0.0);
        self.len() - 1
    }

    /// The velocity of the second body against the first along `axis` at a point of space.
    pub fn add_linear(&mut self, pair: [i32; 2], point: Vector, axis: Vector, bounds: (f64, f64)) -> usize {
        let arm = |body: i32| cross(along(point, -1.0, self.place(body)), axis);
        let (p, q) = (arm(pair[0]), arm(pair[1]));
        let minus = |v: Vector| v.map(|c| -c);
        self.add_row(pair, twelve([minus(axis), minus(p), axis, q]), bounds)
    }

    /// The angular velocity of the second body against the first about `axis`.
    pub fn add_angular(&mut self, pair: [i32; 2], axis: Vector, bounds: (f64, f64)) -> usize {
        self.add_row(pair, twelve([[0.0; 3], axis.map(|c| -c), [0.0; 3], axis]), bounds)
    }

    /// Three rows that hold a point.
    pub fn add_ball(&mut self, pair: [i32; 2], point: Vector) {
        for axis in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] {
            self.add_linear(pair, point, axis, FREE);
        }
    }

    /// Five rows that leave a turn about `axis` through a point.
    pub fn add_hinge(&mut self, pair: [i32; 2], point: Vector, axis: Vector) {
        self.add_ball(pair, point);
        for across in across(axis) {
            self.add_angular(pair, across, FREE);
        }
    }

    /// A contact that pushes the second body along `normal`, with two friction rows if there is a coefficient.
    pub fn add_contact(&mut self, pair: [i32; 2], point: Vector, normal: Vector, mu: Option<f64>) -> usize {
        let row = self.add_linear(pair, point, normal, PUSH);
        if let Some(mu) = mu {
            for tangent in across(normal) {
                let rub = self.add_linear(pair, point, tangent, FREE);
                (self.findex[rub], self.mu[rub]) = (row as i32, mu);
            }
        }
        row
    }

    /// Give every row this compliance.
    pub fn soften(&mut self, compliance: f64) {
        self.rows.compliance.fill(compliance);
    }

    /// The bounds of one row, to change.
    pub fn bounds_mut(&mut self, row: usize) -> (&mut f64, &mut f64) {
        (&mut self.lo[row], &mut self.hi[row])
    }

    /// Entries of one row.
    pub fn entries(&self, row: usize) -> [f64; 12] {
        std::array::from_fn(|c| self.rows.rows[12 * row + c])
    }

    /// The two bodies of a row.
    pub fn pair(&self, row: usize) -> [i32; 2] {
        [self.rows.bodies[2 * row], self.rows.bodies[2 * row + 1]]
    }

    /// The rows, to plant a solution in.
    pub fn draft(self) -> Draft {
        let Mechanism { rows, lo, hi, findex, mu, .. } = self;
        Draft { matrix: Matrix::Rows(rows), lo, hi, findex, mu }
    }
}

fn twelve(parts: [Vector; 4]) -> [f64; 12] {
    std::array::from_fn(|k| parts[k / 3][k % 3])
}
