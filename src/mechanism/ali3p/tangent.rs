//! The tangent `M + f [γ h C + β h² (Φ_qᵀ α Φ_q + K)]` (eq. 6): assembled into places found once, factored as sparse LU.

use super::model::Structure;
use crate::error::Result;
use crate::linalg::SparseLu;

/// Numbers of M, K, C and Φ_q at one state.
#[derive(Default)]
pub(super) struct Matrices {
    pub mass: Vec<f64>,
    pub stiffness: Vec<f64>,
    pub damping: Vec<f64>,
    pub jacobian: Vec<f64>,
}

/// The factors, and where each contribution goes.
#[derive(Default)]
pub(super) struct Tangent {
    lu: SparseLu,
    mass: Vec<usize>,
    stiffness: Vec<usize>,
    damping: Vec<usize>,
    /// For each constraint all pairs of its entries.
    pairs: Vec<usize>,
}

impl Tangent {
    /// Find the pattern.
    pub fn analyse(&mut self, s: &Structure) -> Result<()> {
        let n = s.coordinates;
        let mut entries: Vec<(usize, usize)> = (0..n).map(|i| (i, i)).collect();
        for pattern in [&s.mass, &s.stiffness, &s.damping] {
            for i in 0..n {
                entries.extend(pattern.row(i).map(|k| (pattern.column(k), i)));
            }
        }
        for r in 0..s.constraints {
            for a in s.jacobian.row(r) {
                entries.extend(s.jacobian.row(r).map(|b| (s.jacobian.column(b), s.jacobian.column(a))));
            }
        }
        // By column, then row.
        entries.sort_unstable();
        entries.dedup();
        let mut start = vec![0; n + 1];
        entries.iter().for_each(|e| start[e.0 + 1] += 1);
        (0..n).for_each(|j| start[j + 1] += start[j]);
        let index: Vec<usize> = entries.iter().map(|e| e.1).collect();
        self.lu.analyse(&start, &index)?;
        let places = |pattern: &super::Pattern, lu: &SparseLu| -> Vec<usize> {
            (0..n)
                .flat_map(|i| pattern.row(i).map(move |k| (i, k)))
                .map(|(i, k)| lu.place(i, pattern.column(k)))
                .collect()
        };
        self.mass = places(&s.mass, &self.lu);
        self.stiffness = places(&s.stiffness, &self.lu);
        self.damping = places(&s.damping, &self.lu);
        self.pairs.clear();
        for r in 0..s.constraints {
            for a in s.jacobian.row(r) {
                for b in s.jacobian.row(r) {
                    self.pairs.push(self.lu.place(s.jacobian.column(a), s.jacobian.column(b)));
                }
            }
        }
        Ok(())
    }

    /// Fill and factor `M + damping C + stiffness (K + Φ_qᵀ α Φ_q)`. False: singular.
    pub fn factor(&mut self, s: &Structure, m: &Matrices, damping: f64, stiffness: f64, alpha: &[f64]) -> bool {
        let values = &mut self.lu.values;
        values.fill(0.0);
        self.mass.iter().zip(&m.mass).for_each(|(&at, v)| values[at] += v);
        self.damping.iter().zip(&m.damping).for_each(|(&at, v)| values[at] += damping * v);
        self.stiffness.iter().zip(&m.stiffness).for_each(|(&at, v)| values[at] += stiffness * v);
        let mut pair = 0;
        for r in 0..s.constraints {
            let row = &m.jacobian[s.jacobian.row(r)];
            for a in row {
                for b in row {
                    values[self.pairs[pair]] += stiffness * alpha[r] * a * b;
                    pair += 1;
                }
            }
        }
        self.lu.factor()
    }

    /// Solve in place. False: singular.
    pub fn solve(&mut self, x: &mut [f64]) -> bool {
        self.lu.solve(x)
    }
}
