//! Matrices of problems: all entries, or two-body rows in the layout of libmlcp's `Problem::set_jacobian`.

use crate::oracle::{Number, Wide};

/// Two-body constraint rows: `A = J M⁻¹ Jᵀ + C`. No row names one body twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Per body 12 doubles: three inverse masses in 1/kg, then the world inverse inertia by rows in 1/(kg m²).
    pub inverse_mass: Vec<f64>,
    /// Per row 12 doubles: linear and angular part on the first body, then on the second.
    pub rows: Vec<f64>,
    /// Per row two body numbers, -1 for the world.
    pub bodies: Vec<i32>,
    /// Per row a compliance >= 0; the diagonal C.
    pub compliance: Vec<f64>,
}

/// The operator of a problem.
#[derive(Clone, Debug, PartialEq)]
pub enum Matrix {
    /// Two-body rows.
    Rows(Rows),
    /// n² entries by rows.
    Dense(Vec<f64>),
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.compliance.len()
    }

    /// Are there no rows?
    pub fn is_empty(&self) -> bool {
        self.compliance.is_empty()
    }

    /// Number of bodies, the world not counted.
    pub fn body_count(&self) -> usize {
        self.inverse_mass.len() / 12
    }

    /// The two halves of a row that act on bodies: body number and six entries.
    pub fn halves(&self, i: usize) -> impl Iterator<Item = (usize, &[f64])> {
        (0..2).filter_map(move |side| {
            let body = usize::try_from(self.bodies[2 * i + side]).ok()?;
            Some((body, &self.rows[12 * i + 6 * side..][..6]))
        })
    }

    /// `A x` in numbers as wide as asked for.
    pub fn product<N: Number>(&self, x: &[f64]) -> Vec<N> {
        let mut impulse = vec![N::zero(); 6 * self.body_count()];
        for (i, &x) in x.iter().enumerate().filter(|(_, &x)| x != 0.0) {
            for (body, row) in self.halves(i) {
                for c in 0..6 {
                    impulse[6 * body + c].add_product(row[c], x);
                }
            }
        }
        let masses = self.inverse_mass.chunks_exact(12);
        let velocity: Vec<N> = masses.zip(impulse.chunks_exact(6)).flat_map(|(m, p)| moved(m, p)).collect();
        (0..self.len())
            .map(|i| {
                let mut w = N::zero();
                for (body, row) in self.halves(i) {
                    for c in (0..6).filter(|&c| row[c] != 0.0) {
                        w.add(&velocity[6 * body + c].times(row[c]));
                    }
                }
                w.add_product(self.compliance[i], x[i]);
                w
            })
            .collect()
    }

    /// The diagonal of A, each entry the nearest double to the exact one.
    pub fn diagonal(&self) -> Vec<f64> {
        let own = |i: usize| {
            let mut sum = Wide::zero();
            for (body, row) in self.halves(i) {
                let row6: [Wide; 6] = std::array::from_fn(|c| wide(row[c]));
                let dv = moved(&self.inverse_mass[12 * body..][..12], &row6);
                (0..6).for_each(|c| sum.add(&dv[c].times(row[c])));
            }
            sum.add_product(self.compliance[i], 1.0);
            sum.to_f64()
        };
        (0..self.len()).map(own).collect()
    }

    /// `|J| |M⁻¹| |J|ᵀ |x| + C |x|`: the sizes that round-off in `A x` is measured by.
    pub fn sizes(&self, x: &[f64]) -> Vec<f64> {
        let sizes = |v: &[f64]| v.iter().map(|v| v.abs()).collect::<Vec<f64>>();
        let positive = Rows { inverse_mass: sizes(&self.inverse_mass), rows: sizes(&self.rows), ..self.clone() };
        positive.plain_product(&sizes(x))
    }

    /// `A x` by plain loops of doubles.
    pub fn plain_product(&self, x: &[f64]) -> Vec<f64> {
        let dv = self.velocity_change(x);
        (0..self.len()).map(|i| self.row_velocity(i, &dv) + self.compliance[i] * x[i]).collect()
    }

    /// `M⁻¹ Jᵀ x`, six velocities per body, by plain loops.
    pub fn velocity_change(&self, x: &[f64]) -> Vec<f64> {
        let mut p = vec![0.0; 6 * self.body_count()];
        for (i, x) in x.iter().enumerate() {
            for (body, row) in self.halves(i) {
                for c in 0..6 {
                    p[6 * body + c] += row[c] * x;
                }
            }
        }
        let mut v = vec![0.0; p.len()];
        for (body, m) in self.inverse_mass.chunks_exact(12).enumerate() {
            for c in 0..3 {
                v[6 * body + c] = m[c] * p[6 * body + c];
                v[6 * body + 3 + c] = (0..3).map(|j| m[3 + 3 * c + j] * p[6 * body + 3 + j]).sum();
            }
        }
        v
    }

    /// `J_i v` for six velocities per body, the world at rest.
    pub fn row_velocity(&self, i: usize, v: &[f64]) -> f64 {
        self.halves(i).map(|(body, row)| (0..6).map(|c| row[c] * v[6 * body + c]).sum::<f64>()).sum()
    }

    /// All entries of A by plain loops, made symmetric to the last bit.
    pub fn dense(&self) -> Vec<f64> {
        let n = self.len();
        let mut touching = vec![Vec::new(); self.body_count()];
        for i in 0..n {
            self.halves(i).for_each(|(body, _)| touching[body].push(i));
        }
        let mut a = vec![0.0; n * n];
        for j in 0..n {
            // M⁻¹ J_jᵀ on the one or two bodies that row j touches.
            let halves: Vec<(usize, [f64; 6])> =
                self.halves(j).map(|(body, row)| (body, self.push(body, row))).collect();
            for (body, dv) in &halves {
                for &i in &touching[*body] {
                    let row = self.halves(i).filter(|(other, _)| other == body);
                    let sum: f64 = row.map(|(_, row)| (0..6).map(|c| row[c] * dv[c]).sum::<f64>()).sum();
                    a[i * n + j] += sum;
                }
            }
            a[j * n + j] += self.compliance[j];
        }
        symmetrize(n, &mut a);
        a
    }

    fn push(&self, body: usize, row: &[f64]) -> [f64; 6] {
        let m = &self.inverse_mass[12 * body..][..12];
        std::array::from_fn(|c| match c {
            0..3 => m[c] * row[c],
            _ => (0..3).map(|j| m[3 * c - 6 + j] * row[3 + j]).sum(),
        })
    }

    /// Put the bodies and rows of another world behind these.
    pub fn append(&mut self, other: &Rows) {
        let shift = self.body_count() as i32;
        self.inverse_mass.extend(&other.inverse_mass);
        self.rows.extend(&other.rows);
        self.bodies.extend(other.bodies.iter().map(|&b| if b < 0 { b } else { b + shift }));
        self.compliance.extend(&other.compliance);
    }

    /// These rows in another order.
    pub fn reordered(&self, order: &[usize]) -> Rows {
        Rows {
            inverse_mass: self.inverse_mass.clone(),
            rows: order.iter().flat_map(|&i| &self.rows[12 * i..12 * i + 12]).copied().collect(),
            bodies: order.iter().flat_map(|&i| &self.bodies[2 * i..2 * i + 2]).copied().collect(),
            compliance: order.iter().map(|&i| self.compliance[i]).collect(),
        }
    }
}

impl Matrix {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Matrix::Rows(rows) => rows.len(),
            Matrix::Dense(a) => a.len().isqrt(),
        }
    }

    /// Are there no rows?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `A x` in numbers as wide as asked for.
    pub fn product<N: Number>(&self, x: &[f64]) -> Vec<N> {
        match self {
            Matrix::Rows(rows) => rows.product(x),
            Matrix::Dense(a) => by_row(x.len(), a, |row| {
                let mut w = N::zero();
                row.iter().zip(x).filter(|(a, x)| **a != 0.0 && **x != 0.0).for_each(|(&a, &x)| w.add_product(a, x));
                w
            }),
        }
    }

    /// `Σ_j |a_ij| |x_j|`, for two-body rows over the factors of A.
    pub fn sizes(&self, x: &[f64]) -> Vec<f64> {
        match self {
            Matrix::Rows(rows) => rows.sizes(x),
            Matrix::Dense(a) => by_row(x.len(), a, |row| row.iter().zip(x).map(|(a, x)| (a * x).abs()).sum()),
        }
    }

    /// The diagonal of A, each entry the nearest double to the exact one.
    pub fn diagonal(&self) -> Vec<f64> {
        match self {
            Matrix::Rows(rows) => rows.diagonal(),
            Matrix::Dense(a) => a.iter().step_by(self.len() + 1).copied().collect(),
        }
    }

    /// Are mirrored entries the same to the last bit?
    pub fn is_symmetric(&self) -> bool {
        match self {
            Matrix::Rows(_) => true,
            Matrix::Dense(a) => {
                let n = self.len();
                (0..n * n).all(|k| a[k] == a[k % n * n + k / n])
            }
        }
    }

    /// All entries by rows.
    pub fn dense(&self) -> Vec<f64> {
        match self {
            Matrix::Rows(rows) => rows.dense(),
            Matrix::Dense(a) => a.clone(),
        }
    }
}

fn wide(v: f64) -> Wide {
    let mut wide = Wide::zero();
    wide.add_product(v, 1.0);
    wide
}

/// One body's `M⁻¹ p`.
fn moved<N: Number>(m: &[f64], p: &[N]) -> [N; 6] {
    std::array::from_fn(|c| {
        if c < 3 {
            return p[c].times(m[c]);
        }
        let mut v = N::zero();
        (0..3).for_each(|j| v.add(&p[3 + j].times(m[3 * c - 6 + j])));
        v
    })
}

fn by_row<T>(n: usize, a: &[f64], row: impl Fn(&[f64]) -> T) -> Vec<T> {
    (0..n).map(|i| row(&a[i * n..(i + 1) * n])).collect()
}

/// Replace each pair of mirrored entries by its mean.
pub fn symmetrize(n: usize, a: &mut [f64]) {
    for i in 0..n {
        for j in 0..i {
            let mean = 0.5 * (a[i * n + j] + a[j * n + i]);
            (a[i * n + j], a[j * n + i]) = (mean, mean);
        }
    }
}
