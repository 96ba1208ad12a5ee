//! What the stepper wants to know of a mechanism: sizes, sparsity, and the functions of (t, q, q̇).

use super::contact::ContactRows;
use crate::error::{Error, Result, Status};

/// Where a sparse matrix has entries: compressed rows, columns rising within each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    start: Vec<u32>,
    columns: Vec<u32>,
}

impl Pattern {
    /// A matrix without entries, that is, zero.
    pub fn empty(rows: usize) -> Pattern {
        Pattern { start: vec![0; rows + 1], columns: Vec::new() }
    }

    /// All entries.
    pub fn full(rows: usize, columns: usize) -> Pattern {
        Pattern {
            start: (0..=rows).map(|i| (i * columns) as u32).collect(),
            columns: (0..rows).flat_map(|_| 0..columns as u32).collect(),
        }
    }

    /// The diagonal.
    pub fn diagonal(n: usize) -> Pattern {
        Pattern { start: (0..=n as u32).collect(), columns: (0..n as u32).collect() }
    }

    /// From compressed rows; `name` is for the sentence that refuses them.
    pub fn new(name: &str, rows: usize, columns: usize, start: &[i32], index: &[i32]) -> Result<Pattern> {
        let refuse = |sentence: std::fmt::Arguments<'_>| Err(Error::new(Status::InvalidIndex, sentence));
        if start.len() != rows + 1 {
            return Err(Error::new(
                Status::InvalidSize,
                format_args!("{name}.row_start has length {}, expected {}", start.len(), rows + 1),
            ));
        }
        if start[0] != 0 || start[rows] < 0 || start[rows] as usize != index.len() {
            return refuse(format_args!(
                "{name}.row_start must begin with 0 and end with {}, the number of columns listed",
                index.len()
            ));
        }
        for i in 0..rows {
            if start[i + 1] < start[i] || start[i + 1] as usize > index.len() {
                return refuse(format_args!("{name}.row_start[{}] is {}, out of order", i + 1, start[i + 1]));
            }
            let mut last = -1;
            for k in start[i] as usize..start[i + 1] as usize {
                if index[k] <= last || index[k] as usize >= columns {
                    return refuse(format_args!(
                        "{name}.columns[{k}] is {}, columns of row {i} must rise and be below {columns}",
                        index[k]
                    ));
                }
                last = index[k];
            }
        }
        Ok(Pattern {
            start: start.iter().map(|&s| s as u32).collect(),
            columns: index.iter().map(|&c| c as u32).collect(),
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.columns.len()
    }

    /// Entry numbers of a row.
    pub fn row(&self, i: usize) -> std::ops::Range<usize> {
        self.start[i] as usize..self.start[i + 1] as usize
    }

    /// Column of an entry.
    pub fn column(&self, entry: usize) -> usize {
        self.columns[entry] as usize
    }

    /// `out += A x`.
    pub(super) fn multiply(&self, values: &[f64], x: &[f64], out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out += self.row(i).map(|k| values[k] * x[self.column(k)]).sum::<f64>();
        }
    }

    /// `out += Aᵀ y`.
    pub(super) fn multiply_transposed(&self, values: &[f64], y: &[f64], out: &mut [f64]) {
        for (i, y) in y.iter().enumerate() {
            for k in self.row(i) {
                out[self.column(k)] += values[k] * y;
            }
        }
    }
}

/// Sizes and sparsity of a model. They stay the same for its life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Structure {
    /// Coordinates, n.
    pub coordinates: usize,
    /// Constraints, m; they may be redundant.
    pub constraints: usize,
    /// Contacts that may close, for [`Model::contacts`]; 0: none, or all of them forces in Q.
    pub contacts: usize,
    /// M, n by n.
    pub mass: Pattern,
    /// K = -∂Q/∂q, n by n; empty where forces do not depend on positions, or hardly.
    pub stiffness: Pattern,
    /// C = -∂Q/∂q̇, n by n.
    pub damping: Pattern,
    /// Φ_q, m by n.
    pub jacobian: Pattern,
}

impl Structure {
    pub(super) fn check(&self) -> Result<()> {
        let n = self.coordinates;
        let square = [("mass", &self.mass), ("stiffness", &self.stiffness), ("damping", &self.damping)];
        for (name, pattern) in square {
            if pattern.rows() != n {
                return Err(Error::new(
                    Status::InvalidSize,
                    format_args!("{name} has {} rows, expected one per coordinate, {n}", pattern.rows()),
                ));
            }
        }
        if self.jacobian.rows() != self.constraints {
            return Err(Error::new(
                Status::InvalidSize,
                format_args!(
                    "jacobian has {} rows, expected one per constraint, {}",
                    self.jacobian.rows(),
                    self.constraints
                ),
            ));
        }
        let all = square.into_iter().chain([("jacobian", &self.jacobian)]);
        for (name, pattern) in all {
            if let Some(k) = (0..pattern.entries()).find(|&k| pattern.column(k) >= n) {
                return Err(Error::new(
                    Status::InvalidIndex,
                    format_args!("{name} has column {}, there are {n} coordinates", pattern.column(k)),
                ));
            }
        }
        Ok(())
    }
}

/// Constants that fill what a model evaluates.
pub type Values<'a> = &'a mut [f64];

/// A mechanism in dependent coordinates: `M q̈ + Φ_qᵀ λ = Q`, `Φ(q, t) = 0`.
///
/// Outputs come filled with zeros; matrices are written entry by entry of their pattern. An error stops the step and
/// leaves the stepper as it was.
pub trait Model {
    /// M(q).
    fn mass(&mut self, t: f64, q: &[f64], out: Values<'_>) -> Result<()>;
    /// Q(q, q̇, t), all forces, velocity-dependent inertia included.
    fn forces(&mut self, t: f64, q: &[f64], v: &[f64], out: Values<'_>) -> Result<()>;
    /// K = -∂Q/∂q.
    fn stiffness(&mut self, _t: f64, _q: &[f64], _v: &[f64], _out: Values<'_>) -> Result<()> {
        Ok(())
    }
    /// C = -∂Q/∂q̇.
    fn damping(&mut self, _t: f64, _q: &[f64], _v: &[f64], _out: Values<'_>) -> Result<()> {
        Ok(())
    }
    /// Φ(q, t).
    fn constraints(&mut self, t: f64, q: &[f64], out: Values<'_>) -> Result<()>;
    /// Φ_q(q, t).
    fn jacobian(&mut self, t: f64, q: &[f64], out: Values<'_>) -> Result<()>;
    /// Φ_t(q, t): zero unless constraints depend on time.
    fn constraint_rate(&mut self, _t: f64, _q: &[f64], _out: Values<'_>) -> Result<()> {
        Ok(())
    }
    /// Φ̇_q q̇ + Φ̇_t: what Φ̈ is beside Φ_q q̈.
    fn constraint_acceleration(&mut self, t: f64, q: &[f64], v: &[f64], out: Values<'_>) -> Result<()>;
    /// Gaps, normals, tangents and friction at q, for contacts that are solved rather than forces in Q.
    fn contacts(&mut self, _t: f64, _q: &[f64], _out: &mut ContactRows) -> Result<()> {
        Ok(())
    }
    /// Potential energy in joules, for the report only.
    fn potential(&mut self, _t: f64, _q: &[f64]) -> Result<f64> {
        Ok(0.0)
    }
}
