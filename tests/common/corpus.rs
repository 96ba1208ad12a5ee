//! Problems recorded from Bullet and ODE, `tests/data/engines.h5`, and generated ones, `tests/data/outside.h5`.
//!
//! w = A x + b throughout.

use mlcp::dataset::{Dataset, JacobianRows, Recorded};
use mlcp::{FrictionMode, Problem, Triangle};

/// How to hand the matrix over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Dense,
    /// The lower triangle alone, the rest of the buffer NaN: nobody may read it.
    Lower,
    Csr,
    Jacobian,
}

impl Form {
    /// One of each kind of operator; the lower triangle makes the operator that all entries make.
    pub const ALL: [Form; 3] = [Form::Dense, Form::Csr, Form::Jacobian];
}

/// How to read the friction rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Friction {
    /// Bounds evaluated once, at the reference solution.
    FrozenAtReference,
    /// Bounds follow the iterate.
    Coupled,
}

/// Problems whose joint rows contradict each other, and the least relative energy error that any of ODE, OSQP, PIQP,
/// ProxQP, Clarabel and DAQP reached on them (both: ProxQP; friction frozen at the reference).
pub const INCONSISTENT: [(&str, f64); 2] =
    [("bullet_bridge12_s060_i0_n96", 1.0e-10), ("bullet_bridge12_s150_i0_n93", 9.1e-8)];

/// One recorded step of one island.
#[derive(Clone, Debug)]
pub struct CorpusProblem {
    pub name: String,
    pub n: usize,
    pub row_start: Vec<i32>,
    pub columns: Vec<i32>,
    pub values: Vec<f64>,
    pub b: Vec<f64>,
    /// On friction rows -inf.
    pub lo: Vec<f64>,
    /// On friction rows +inf.
    pub hi: Vec<f64>,
    pub findex: Vec<i32>,
    /// Of the friction rows.
    pub mu: Vec<f64>,
    /// Reference solution with coupled friction; not unique where the problem is rank-deficient; empty where none is known.
    pub x_ref: Vec<f64>,
    /// The engine's warm start, if it keeps one.
    pub x0: Option<Vec<f64>>,
    pub jacobian: Option<JacobianRows>,
    /// What the engine's own Dantzig solver found, if it reported no error.
    pub dantzig: Option<Vec<f64>>,
    /// ODE works in forces and accelerations: joules need x·dt and w·dt.
    pub units_are_forces: bool,
    /// 1 where none is recorded.
    pub dt: f64,
}

impl CorpusProblem {
    /// The normal row of friction row `i`; a row that names itself has none.
    pub fn normal_of(&self, i: usize) -> Option<usize> {
        let f = self.findex[i];
        (f >= 0 && f as usize != i).then_some(f as usize)
    }

    /// `(lo, hi, mu)`: bounds with friction rows unlimited, and the coefficients of those rows.
    pub fn friction_bounds(&self) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        (self.lo.clone(), self.hi.clone(), self.mu.clone())
    }

    /// All entries by rows.
    pub fn dense(&self) -> Vec<f64> {
        let mut a = vec![0.0; self.n * self.n];
        for i in 0..self.n {
            for k in self.row_start[i] as usize..self.row_start[i + 1] as usize {
                a[i * self.n + self.columns[k] as usize] = self.values[k];
            }
        }
        a
    }

    /// A new library problem; panics for `Form::Jacobian` where none was recorded.
    pub fn fill(&self, form: Form, friction: Friction) -> Problem {
        let mut problem = Problem::new();
        self.refill(&mut problem, form, friction);
        problem
    }

    /// Refill a library problem; panics for `Form::Jacobian` where none was recorded.
    pub fn refill(&self, problem: &mut Problem, form: Form, friction: Friction) {
        let name = &self.name;
        match form {
            Form::Dense => problem.set_dense(self.n, &self.dense(), self.n, Triangle::Full),
            Form::Lower => problem.set_dense(self.n, &lower_triangle(self.n, self.dense()), self.n, Triangle::Lower),
            Form::Csr => problem.set_csr(self.n, &self.row_start, &self.columns, &self.values),
            Form::Jacobian => {
                let j = self.jacobian.as_ref().unwrap_or_else(|| panic!("{name} has no Jacobian"));
                problem.set_jacobian(&j.inverse_mass, &j.rows, &j.bodies, j.compliance.as_deref())
            }
        }
        .unwrap_or_else(|e| panic!("{name}: {e}"));
        let (lo, hi, mu) = self.friction_bounds();
        problem.set_b(&self.b).unwrap_or_else(|e| panic!("{name}: {e}"));
        problem.set_bounds(&lo, &hi).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mode = match friction {
            Friction::Coupled => FrictionMode::Coupled,
            Friction::FrozenAtReference => FrictionMode::Frozen,
        };
        problem.set_friction(&self.findex, &mu, mode).unwrap_or_else(|e| panic!("{name}: {e}"));
        if friction == Friction::FrozenAtReference {
            problem.set_frozen_normals(&self.x_ref).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }

    /// `A x + b`, from the recorded matrix alone.
    pub fn w(&self, x: &[f64]) -> Vec<f64> {
        (0..self.n)
            .map(|i| {
                let entries = self.row_start[i] as usize..self.row_start[i + 1] as usize;
                entries.fold(self.b[i], |w, k| w + self.values[k] * x[self.columns[k] as usize])
            })
            .collect()
    }

    /// Energy error of x, from the recorded matrix alone, relative to that at clamp(0).
    pub fn relative_energy(&self, x: &[f64], friction: Friction) -> f64 {
        let (lo, hi, mu) = self.friction_bounds();
        let energy = |x: &[f64]| -> f64 {
            let normals = if friction == Friction::Coupled { x } else { &self.x_ref };
            let w = self.w(x);
            let row = |i: usize| {
                let (lo, hi) = match self.normal_of(i) {
                    Some(f) if normals[f] > 0.0 => (-mu[i] * normals[f], mu[i] * normals[f]),
                    Some(_) => (0.0, 0.0),
                    None => (lo[i], hi[i]),
                };
                mlcp::metrics::energy_row(self.diagonal(i), x[i], w[i], lo, hi)
            };
            (0..self.n).map(row).sum()
        };
        let zero: Vec<f64> = (0..self.n).map(|i| 0f64.max(lo[i]).min(hi[i])).collect();
        let error = energy(x);
        if error == 0.0 {
            0.0
        } else {
            error / energy(&zero)
        }
    }

    /// One diagonal entry of A.
    pub fn diagonal(&self, i: usize) -> f64 {
        let mut entries = self.row_start[i] as usize..self.row_start[i + 1] as usize;
        entries.find(|&k| self.columns[k] as usize == i).map_or(0.0, |k| self.values[k])
    }

    /// The forms this problem can be filled in.
    pub fn forms(&self) -> &'static [Form] {
        if self.jacobian.is_some() {
            &Form::ALL
        } else {
            &Form::ALL[..2]
        }
    }

    /// Joules per unit of `x · w`: dt² for forces and accelerations, 1 for impulses and velocities.
    pub fn joules(&self) -> f64 {
        if self.units_are_forces {
            self.dt * self.dt
        } else {
            1.0
        }
    }
}

/// Every recorded problem, sorted by name.
pub fn load() -> Vec<CorpusProblem> {
    let problems = load_file("engines.h5");
    let bare = problems.iter().find(|p| p.x_ref.is_empty());
    assert!(bare.is_none(), "{:?} has no x_ref", bare.map(|p| &p.name));
    problems
}

/// Every problem of a file in `tests/data`, sorted by name.
pub fn load_file(name: &str) -> Vec<CorpusProblem> {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let file = Dataset::open(path.as_ref()).unwrap_or_else(|e| panic!("{e}"));
    (0..file.problems()).map(|k| file.problem(k).unwrap_or_else(|e| panic!("{e}")).into()).collect()
}

/// All entries above the diagonal made NaN.
pub fn lower_triangle(n: usize, mut a: Vec<f64>) -> Vec<f64> {
    (0..n).for_each(|i| a[i * n + i + 1..(i + 1) * n].fill(f64::NAN));
    a
}

/// The recorded problem of that name.
pub fn load_one(name: &str) -> CorpusProblem {
    load().into_iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no problem {name} in the corpus"))
}

impl From<Recorded> for CorpusProblem {
    fn from(r: Recorded) -> CorpusProblem {
        let matrix = r.matrix.unwrap_or_else(|| panic!("{} has no matrix", r.name));
        CorpusProblem {
            n: r.b.len(),
            row_start: matrix.row_start,
            columns: matrix.columns,
            values: matrix.values,
            b: r.b,
            lo: r.lo,
            hi: r.hi,
            findex: r.findex,
            mu: r.mu,
            x_ref: r.x_ref.unwrap_or_default(),
            x0: r.x0,
            jacobian: r.jacobian,
            dantzig: r.engine_solutions.into_iter().find(|s| s.name.ends_with("_dantzig") && s.ok).map(|s| s.x),
            units_are_forces: r.units_are_forces,
            dt: r.step.unwrap_or(1.0),
            name: r.name,
        }
    }
}
