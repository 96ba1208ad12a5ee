//! One solver on one problem, judged from outside: what it returned is measured again, what it claimed is held against that.

use crate::oracle::Oracle;
use crate::planted::Planted;
use crate::rows::Matrix;
use std::sync::Arc;

/// How the matrix is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Two-body rows.
    Jacobian,
    /// Compressed rows.
    Csr,
    /// All entries.
    Dense,
    /// The lower triangle of all entries.
    Lower,
}

impl Form {
    /// Every form.
    pub const ALL: [Form; 4] = [Form::Jacobian, Form::Csr, Form::Dense, Form::Lower];

    /// The name that tools print and read.
    pub fn name(self) -> &'static str {
        match self {
            Form::Jacobian => "jacobian",
            Form::Csr => "csr",
            Form::Dense => "dense",
            Form::Lower => "lower",
        }
    }
}

/// What a solver returned.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Impulses.
    pub x: Vec<f64>,
    /// Did it say that the error is within tolerance?
    pub converged: bool,
    /// Iterations it counted.
    pub iterations: usize,
    /// Wall-clock seconds of the solve.
    pub seconds: f64,
}

/// Anything that solves problems.
pub trait Solver {
    /// Solve a problem handed over in this form, from a start or from x = 0.
    fn solve(&mut self, problem: &Planted, form: Form, start: Option<&[f64]>) -> Answer;
}

/// What counts as solved, and what the solver was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Solved: an error of at most this fraction of that at x = 0.
    pub solved: f64,
    /// The fraction at which the solver may say that it has converged.
    pub converged: f64,
    /// The natural residual at which it may say so where a row has no energy.
    pub residual: f64,
}

impl Default for Demand {
    fn default() -> Self {
        Demand { solved: 1e-9, converged: 1e-10, residual: 1e-10 }
    }
}

/// What was found wrong with an answer, and how large its error is.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// True error of the answer: joules, or natural residual.
    pub error: f64,
    /// Error at x = 0.
    pub scale: f64,
    /// Error up to which the problem counts as solved.
    pub allowed: f64,
    /// There is a solution and the error is above what is allowed.
    pub unsolved: bool,
    /// It said "converged".
    pub converged: bool,
    /// It said "converged" and is not.
    pub falsely_converged: bool,
    /// The first row outside its bounds.
    pub outside: Option<usize>,
    /// The error is above that of the start or of x = 0, or not finite.
    pub worse_than_start: bool,
    /// A converged answer, given back as start, took iterations or came back changed.
    pub start_not_kept: bool,
    /// Seconds of the solve.
    pub seconds: f64,
}

impl Verdict {
    /// Is anything wrong?
    pub fn is_bad(&self) -> bool {
        self.unsolved
            || self.falsely_converged
            || self.outside.is_some()
            || self.worse_than_start
            || self.start_not_kept
    }

    /// Is a solution not known, and none found?
    pub fn is_open(&self) -> bool {
        !self.unsolved && !(self.error <= self.allowed)
    }

    /// The error as a fraction of that at x = 0.
    pub fn relative(&self) -> f64 {
        if self.error == 0.0 {
            0.0
        } else {
            self.error / self.scale
        }
    }
}

/// The forms a problem can be handed over in, each with the problem as it stands there: a matrix rounded from rows has a
/// b of its own.
pub fn cases(planted: &Planted, wanted: &[Form]) -> Vec<(Form, Arc<Planted>)> {
    let by_rows = matches!(planted.matrix, Matrix::Rows(_));
    let as_matrix = wanted.iter().any(|&f| f != Form::Jacobian).then(|| Arc::new(planted.as_dense()));
    let symmetric = as_matrix.as_ref().is_some_and(|p| p.matrix.is_symmetric());
    let case = |&form: &Form| match form {
        Form::Jacobian => by_rows.then(|| (form, Arc::new(planted.clone()))),
        Form::Lower if !symmetric => None,
        _ => as_matrix.clone().map(|matrix| (form, matrix)),
    };
    wanted.iter().filter_map(case).collect()
}

/// Solve and judge.
pub fn judge(solver: &mut dyn Solver, problem: &Planted, form: Form, start: Option<&[f64]>, demand: Demand) -> Verdict {
    let oracle = Oracle::new(problem);
    let answer = solver.solve(problem, form, start);
    let scale = oracle.scale();
    let error = oracle.error(&answer.x);
    let at_rest = oracle.error_with_round_off(&problem.rest());
    // Round-off at the solution; where only its existence is known, that of b.
    let round_off = match &problem.solution {
        Some(solution) => oracle.error_with_round_off(&solution.x),
        None => oracle.error_of_round_off(&problem.rest()),
    };
    let allowed = (demand.solved * scale).max(round_off);
    // A thousandth is left to the order of sums; where x = 0 is a solution up to round-off, round-off is left as well.
    let excused = if scale <= 0.5 * at_rest { at_rest } else { 0.0 };
    let promised = if oracle.has_energy() { (demand.converged * scale).max(excused) } else { demand.residual };
    let begun = start.map_or(scale, |start| oracle.error(&problem.clamped(start)).min(scale));
    let mut verdict = Verdict {
        error,
        scale,
        allowed,
        unsolved: problem.is_solvable && !(error <= allowed),
        converged: answer.converged,
        falsely_converged: answer.converged && !(error <= 1.001 * promised),
        outside: problem.outside(&answer.x),
        worse_than_start: !(error <= begun.max(allowed) * 1.001),
        start_not_kept: false,
        seconds: answer.seconds,
    };
    if answer.converged {
        let again = solver.solve(problem, form, Some(&answer.x));
        let same = again.x.iter().zip(&answer.x).all(|(p, q)| p.to_bits() == q.to_bits());
        verdict.start_not_kept = !same || again.iterations > 0;
    }
    verdict
}
