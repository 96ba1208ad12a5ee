//! Planted problems handed to libmlcp. Included by the library's tests as well.

use mlcp::{Engine, FrictionMode, Outcome, Problem, Settings, SolverKind, Triangle};
use mlcp_scenes::trial::{Answer, Demand, Form, Solver};
use mlcp_scenes::{Friction, Matrix, Planted};

/// One of the library's solvers with its handles, used again from problem to problem.
pub struct Library {
    engine: Engine,
    problem: Problem,
}

impl Library {
    /// A solver that stops where `demand` lets it say "converged"; the relative error alone decides.
    pub fn new(solver: SolverKind, demand: Demand) -> Library {
        let settings = Settings {
            solver,
            energy_tolerance: 0.0,
            relative_tolerance: demand.converged,
            residual_tolerance: demand.residual,
            history_capacity: 0,
            ..Settings::default()
        };
        let engine = Engine::new(settings).unwrap_or_else(|e| panic!("{e}"));
        Library { engine, problem: Problem::new() }
    }

    /// Fill, solve; a refusal of either is a sentence.
    pub fn try_solve(&mut self, planted: &Planted, form: Form, start: Option<&[f64]>) -> mlcp::Result<Answer> {
        fill(&mut self.problem, planted, form)?;
        let clock = std::time::Instant::now();
        let report = *self.engine.solve(&self.problem, start, None)?;
        Ok(Answer {
            x: self.engine.x().to_vec(),
            converged: report.outcome == Outcome::Converged,
            iterations: report.iterations,
            seconds: clock.elapsed().as_secs_f64(),
        })
    }

    /// The engine, for its report and stages.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}

impl Solver for Library {
    fn solve(&mut self, planted: &Planted, form: Form, start: Option<&[f64]>) -> Answer {
        // A problem that is refused is not solved.
        self.try_solve(planted, form, start)
            .unwrap_or_else(|_| Answer { x: vec![f64::NAN; planted.len()], ..Answer::default() })
    }
}

/// Refill a library problem.
pub fn fill(problem: &mut Problem, planted: &Planted, form: Form) -> mlcp::Result<()> {
    let n = planted.len();
    match (&planted.matrix, form) {
        (Matrix::Rows(rows), Form::Jacobian) => {
            problem.set_jacobian(&rows.inverse_mass, &rows.rows, &rows.bodies, Some(&rows.compliance))?;
        }
        (matrix, Form::Csr) => {
            let (row_start, columns, values) = compressed(n, &matrix.dense());
            problem.set_csr(n, &row_start, &columns, &values)?;
        }
        (matrix, Form::Lower) => problem.set_dense(n, &matrix.dense(), n, Triangle::Lower)?,
        (matrix, _) => problem.set_dense(n, &matrix.dense(), n, Triangle::Full)?,
    }
    problem.set_b(&planted.b)?;
    problem.set_bounds(&planted.lo, &planted.hi)?;
    if planted.has_friction() {
        match &planted.friction {
            Friction::Coupled => problem.set_friction(&planted.findex, &planted.mu, FrictionMode::Coupled)?,
            Friction::Frozen(normals) => {
                problem.set_friction(&planted.findex, &planted.mu, FrictionMode::Frozen)?;
                problem.set_frozen_normals(normals)?;
            }
        }
    }
    Ok(())
}

/// Compressed rows of all entries; zeros are left out, but for the diagonal.
fn compressed(n: usize, a: &[f64]) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
    let (mut row_start, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        for j in (0..n).filter(|&j| a[i * n + j] != 0.0 || i == j) {
            columns.push(j as i32);
            values.push(a[i * n + j]);
        }
        row_start.push(columns.len() as i32);
    }
    (row_start, columns, values)
}
