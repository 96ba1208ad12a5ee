//! Small random problems over every kind of bound.

use mlcp::{Problem, Triangle};
use mlcp_scenes::Random;

/// What bounds a row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No bounds: a joint row.
    Free,
    /// lo = hi.
    Fixed,
    /// Bounded below only: a contact.
    Lower,
    /// Bounded above only.
    Upper,
    /// Both bounds, zero between them.
    Boxed,
    /// Both bounds on one side of zero.
    BoxedAway,
}

impl Kind {
    pub const ALL: [Kind; 6] = [Kind::Free, Kind::Fixed, Kind::Lower, Kind::Upper, Kind::Boxed, Kind::BoxedAway];

    /// Bounds of this kind, of order one, now and then exactly zero.
    pub fn bounds(self, random: &mut Random) -> (f64, f64) {
        let inf = f64::INFINITY;
        let edge = if random.chance(0.5) { 0.0 } else { 0.5 * random.signed() };
        match self {
            Kind::Free => (-inf, inf),
            Kind::Fixed => (edge, edge),
            Kind::Lower => (edge, inf),
            Kind::Upper => (-inf, edge),
            Kind::Boxed => (-random.range(0.05, 1.0), random.range(0.05, 1.0)),
            Kind::BoxedAway => {
                let near = random.range(0.01, 0.3);
                let far = near + random.range(0.05, 1.0);
                if random.chance(0.5) {
                    (near, far)
                } else {
                    (-far, -near)
                }
            }
        }
    }
}

/// How b relates to the range of A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// b = A v: a solution exists whatever the bounds.
    Consistent,
    /// Any b: on a rank-deficient A with absent bounds there may be no solution.
    Any,
}

/// A dense problem of a few rows.
#[derive(Clone, Debug)]
pub struct SmallProblem {
    pub seed: u64,
    pub n: usize,
    pub rank: usize,
    /// Symmetric positive semidefinite, by rows, with a positive diagonal.
    pub a: Vec<f64>,
    pub b: Vec<f64>,
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
    pub kinds: Vec<Kind>,
}

impl SmallProblem {
    /// `A = G Gᵀ` with G of n by `rank`. For `rank >= n` a multiple of the identity is added, so that A is definite
    /// with a condition number of at most about 1e3.
    pub fn random(seed: u64, n: usize, rank: usize, load: Load, kinds: &[Kind]) -> Self {
        let mut random = Random::new(seed);
        let definite = rank >= n;
        let rank = rank.max(1);
        let mut g: Vec<Vec<f64>> = (0..n).map(|_| random.vector(rank)).collect();
        for i in 1..n {
            // Redundant contacts: the same row again, perhaps written in another scale.
            if !definite && random.chance(0.2) {
                let (from, scale) = (random.below(i), random.pick(&[1.0, -1.0, 2.0]));
                g[i] = g[from].iter().map(|v| v * scale).collect();
            }
        }
        for row in &mut g {
            // A row without effective mass has no energy and is no problem for any solver here.
            if row.iter().map(|v| v * v).sum::<f64>() < 0.01 {
                row[0] += 0.5;
            }
        }
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                a[i * n + j] = (0..rank).map(|k| g[i][k] * g[j][k]).sum();
            }
            if definite {
                a[i * n + i] += 0.02;
            }
        }
        let b = match load {
            Load::Any => random.vector(n),
            Load::Consistent => {
                let v = random.vector(n);
                (0..n).map(|i| (0..n).map(|j| a[i * n + j] * v[j]).sum()).collect()
            }
        };
        let kinds: Vec<Kind> = (0..n).map(|_| random.pick(kinds)).collect();
        let (lo, hi) = kinds.iter().map(|k| k.bounds(&mut random)).unzip();
        SmallProblem { seed, n, rank: rank.min(n), a, b, lo, hi, kinds }
    }

    pub fn is_definite(&self) -> bool {
        self.rank == self.n
    }

    /// The same problem with every number in other units per row: x_i / s_i, w_i · s_i.
    pub fn scaled(&self, s: &[f64]) -> Self {
        let n = self.n;
        let mut other = self.clone();
        for i in 0..n {
            for j in 0..n {
                other.a[i * n + j] *= s[i] * s[j];
            }
            other.b[i] *= s[i];
            other.lo[i] /= s[i];
            other.hi[i] /= s[i];
        }
        other
    }

    pub fn w(&self, x: &[f64]) -> Vec<f64> {
        (0..self.n).map(|i| self.b[i] + (0..self.n).map(|j| self.a[i * self.n + j] * x[j]).sum::<f64>()).collect()
    }

    pub fn diagonal(&self) -> Vec<f64> {
        (0..self.n).map(|i| self.a[i * self.n + i]).collect()
    }

    pub fn clamp(&self, x: &[f64]) -> Vec<f64> {
        (0..self.n).map(|i| x[i].max(self.lo[i]).min(self.hi[i])).collect()
    }

    /// Compressed rows; entries that are exactly zero are left out.
    pub fn csr(&self) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
        to_csr(self.n, &self.a)
    }

    pub fn fill_dense(&self) -> Problem {
        let mut problem = Problem::new();
        problem.set_dense(self.n, &self.a, self.n, Triangle::Full).unwrap();
        self.finish(problem)
    }

    pub fn fill_csr(&self) -> Problem {
        let (row_start, columns, values) = self.csr();
        let mut problem = Problem::new();
        problem.set_csr(self.n, &row_start, &columns, &values).unwrap();
        self.finish(problem)
    }

    fn finish(&self, mut problem: Problem) -> Problem {
        problem.set_b(&self.b).unwrap();
        problem.set_bounds(&self.lo, &self.hi).unwrap();
        problem
    }
}

/// Compressed rows of a square array; entries that are exactly zero are left out.
pub fn to_csr(n: usize, a: &[f64]) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
    let (mut row_start, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        for j in (0..n).filter(|j| a[i * n + j] != 0.0) {
            columns.push(j as i32);
            values.push(a[i * n + j]);
        }
        row_start.push(columns.len() as i32);
    }
    (row_start, columns, values)
}

/// The rod on a plane of Enzenhoefer et al. 2019, section 5.1: m = 4 kg, l = 1.5 m, T = 20 Nm, h = 0.01 s, two
/// contacts with lo = 0 and no upper bound. Their eq. 26 prints 0.1 on the diagonal, but 4/m is 1, as all their results
/// take it.
pub const ROD_A: [f64; 4] = [1.0, -0.5, -0.5, 1.0];
pub const ROD_B: [f64; 2] = [-0.2981, 0.1019];
/// The rod's solution, by hand: both contacts close, `x = -A⁻¹ b` with `A⁻¹ = [[4, 2], [2, 4]] / 3`.
pub const ROD_X: [f64; 2] = [(4.0 * 0.2981 - 2.0 * 0.1019) / 3.0, (2.0 * 0.2981 - 4.0 * 0.1019) / 3.0];

/// The same A by rows of its entries.
pub fn csr_of(problem: &Problem) -> Problem {
    let (mut start, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..problem.len() {
        problem.for_each_entry(i, &mut |j, a| {
            columns.push(j as i32);
            values.push(a);
        });
        start.push(columns.len() as i32);
    }
    let mut csr = Problem::new();
    csr.set_csr(problem.len(), &start, &columns, &values).unwrap();
    csr
}
