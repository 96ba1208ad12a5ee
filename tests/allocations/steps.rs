//! Steps prepared in advance, and a solver that takes them through the C functions.

use super::common::problems::to_csr;
use super::common::{Form, RowProblem};
use mlcp::ffi::*;
use mlcp::Status;
use std::mem::size_of;
use std::ptr;

/// A step's arrays, as an engine would hold them.
pub struct Step {
    pub form: Form,
    pub n: usize,
    pub a: Vec<f64>,
    csr: (Vec<i32>, Vec<i32>, Vec<f64>),
    scene: RowProblem,
    pub b: Vec<f64>,
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
    pub findex: Vec<i32>,
    mu: Vec<f64>,
    /// Three rows per contact with exact friction, and its coefficient.
    cones: (Vec<i32>, Vec<f64>),
}

impl Step {
    pub fn new(scene: &RowProblem, form: Form) -> Step {
        let (n, a) = (scene.len(), scene.dense());
        let none = scene.findex.is_empty();
        Step {
            form,
            n,
            csr: to_csr(n, &a),
            a,
            b: scene.b.clone(),
            lo: scene.lo.clone(),
            hi: scene.hi.clone(),
            findex: if none { vec![-1; n] } else { scene.findex.clone() },
            mu: if none { vec![0.0; n] } else { scene.mu.clone() },
            scene: scene.clone(),
            cones: Default::default(),
        }
    }

    /// The same step with the pairs of friction rows of every normal as cones.
    pub fn with_cones(mut self) -> Step {
        for i in 0..self.n as i32 {
            let pair: Vec<i32> = (0..self.n as i32).filter(|&j| j != i && self.findex[j as usize] == i).collect();
            if let [p, q] = pair[..] {
                self.cones.0.extend([i, p, q]);
                self.cones.1.push(self.mu[p as usize]);
            }
        }
        self.cones.0.chunks(3).for_each(|rows| rows[1..].iter().for_each(|&t| self.findex[t as usize] = -1));
        assert!(!self.cones.1.is_empty());
        self
    }
}

/// A problem, a solver and room for the answers.
pub struct Solver {
    pub problem: *mut mlcp_problem,
    solver: *mut mlcp_solver,
    x: Vec<f64>,
    more: Vec<f64>,
    rows: Vec<i32>,
    len: usize,
    bodies: usize,
}

// A solver serves one thread at a time, and may move.
unsafe impl Send for Solver {}

impl Solver {
    pub fn new(kind: i32, change: fn(&mut mlcp_settings)) -> Solver {
        let (mut problem, mut solver) = (ptr::null_mut(), ptr::null_mut());
        unsafe {
            let mut settings: mlcp_settings = std::mem::zeroed();
            assert_eq!(mlcp_settings_init(&mut settings, size_of::<mlcp_settings>()), Status::Ok);
            settings.solver = kind;
            change(&mut settings);
            assert_eq!(mlcp_problem_create(&mut problem), Status::Ok);
            assert_eq!(mlcp_solver_create(&settings, &mut solver), Status::Ok);
        }
        Solver { problem, solver, x: vec![0.0; 1000], more: vec![0.0; 1000], rows: vec![0; 1000], len: 0, bodies: 0 }
    }

    pub fn refill(&self, step: &Step) -> Status {
        let (p, n) = (self.problem, step.n);
        let first_error =
            |statuses: &[Status]| statuses.iter().copied().find(|&s| s != Status::Ok).unwrap_or(Status::Ok);
        unsafe {
            let matrix = match step.form {
                Form::Dense => mlcp_problem_set_dense(p, n, step.a.as_ptr(), step.a.len(), n, 0),
                Form::Lower => mlcp_problem_set_dense(p, n, step.a.as_ptr(), step.a.len(), n, 1),
                Form::Csr => {
                    let (start, columns, values) = &step.csr;
                    mlcp_problem_set_csr(
                        p,
                        n,
                        start.as_ptr(),
                        start.len(),
                        columns.as_ptr(),
                        columns.len(),
                        values.as_ptr(),
                        values.len(),
                    )
                }
                Form::Jacobian => {
                    let s = &step.scene;
                    mlcp_problem_set_jacobian(
                        p,
                        s.inverse_mass.as_ptr(),
                        s.inverse_mass.len(),
                        s.rows.as_ptr(),
                        s.rows.len(),
                        s.bodies.as_ptr(),
                        s.bodies.len(),
                        if s.compliance.is_empty() { ptr::null() } else { s.compliance.as_ptr() },
                        s.compliance.len(),
                    )
                }
            };
            first_error(&[
                matrix,
                mlcp_problem_set_b(p, step.b.as_ptr(), n),
                mlcp_problem_set_bounds(p, step.lo.as_ptr(), n, step.hi.as_ptr(), n),
                mlcp_problem_set_friction(p, step.findex.as_ptr(), n, step.mu.as_ptr(), n, 0),
                mlcp_problem_set_cones(
                    p,
                    step.cones.0.as_ptr(),
                    step.cones.0.len(),
                    step.cones.1.as_ptr(),
                    step.cones.1.len(),
                ),
            ])
        }
    }

    /// Refill and solve, cold.
    pub fn step(&mut self, step: &Step) -> Status {
        let status = self.refill(step);
        if status != Status::Ok {
            return status;
        }
        self.len = step.n;
        self.bodies = step.scene.inverse_mass.len() / 12 * usize::from(step.form == Form::Jacobian);
        unsafe {
            mlcp_solver_solve(self.solver, self.problem, ptr::null(), 0, self.x.as_mut_ptr(), step.n, ptr::null_mut())
        }
    }

    /// Every question about the last solve and its problem.
    pub fn ask_everything(&mut self) {
        let (n, p, s) = (self.len, self.problem, self.solver);
        let x = self.x.as_ptr();
        let (out, hi) = self.more.split_at_mut(500);
        let ok = |status| assert_eq!(status, Status::Ok);
        unsafe {
            let mut report: mlcp_report = std::mem::zeroed();
            ok(mlcp_report_init(&mut report, size_of::<mlcp_report>()));
            ok(mlcp_solver_get_report(s, &mut report));
            ok(mlcp_solver_get_w(s, out.as_mut_ptr(), n));
            ok(mlcp_solver_get_row_errors(s, out.as_mut_ptr(), n));
            let mut count = 0;
            ok(mlcp_solver_get_worst_rows(s, self.rows.as_mut_ptr(), 10, out.as_mut_ptr(), 10, &mut count));
            for index in 0..mlcp_solver_history_len(s) {
                let mut record: mlcp_iteration = std::mem::zeroed();
                ok(mlcp_iteration_init(&mut record, size_of::<mlcp_iteration>()));
                ok(mlcp_solver_get_history(s, index, &mut record));
            }
            let mut total = 0.0;
            for measure in 0..7 {
                ok(mlcp_problem_measure(p, measure, x, n, out.as_mut_ptr(), n, &mut total));
            }
            ok(mlcp_problem_get_w(p, x, n, out.as_mut_ptr(), n));
            ok(mlcp_problem_get_bounds(p, x, n, out.as_mut_ptr(), n, hi.as_mut_ptr(), n));
            ok(mlcp_problem_get_diagonal(p, out.as_mut_ptr(), n));
            if self.bodies > 0 {
                ok(mlcp_problem_get_velocity_change(p, x, n, out.as_mut_ptr(), 6 * self.bodies));
            }
        }
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        unsafe {
            mlcp_solver_destroy(self.solver);
            mlcp_problem_destroy(self.problem);
        }
    }
}
