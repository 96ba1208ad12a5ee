//! Handles with something in them, and sealed outputs.

use mlcp::ffi::*;
use mlcp::Status;
use std::mem::size_of;
use std::ptr;

pub const N: usize = 3;
pub const A: [f64; 9] = [2.0, 0.5, 0.0, 0.5, 2.0, 0.25, 0.0, 0.25, 1.0];
pub const B: [f64; 3] = [-1.0, 0.5, -2.0];
pub const LO: [f64; 3] = [0.0, -1.0, f64::NEG_INFINITY];
pub const HI: [f64; 3] = [f64::INFINITY, 1.0, f64::INFINITY];
pub const NAN: f64 = f64::NAN;
pub const INF: f64 = f64::INFINITY;

/// Two bodies, a unit row between them and one to the world.
pub const MASS: [f64; 24] = {
    let mut m = [0.0; 24];
    let mut k = 0;
    while k < 2 {
        let at = 12 * k;
        (m[at], m[at + 1], m[at + 2], m[at + 3], m[at + 7], m[at + 11]) = (1.0, 1.0, 1.0, 2.0, 2.0, 2.0);
        k += 1;
    }
    m
};
pub const ROWS: [f64; 24] = {
    let mut j = [0.0; 24];
    (j[0], j[6], j[12 + 1], j[12 + 5]) = (1.0, -1.0, 1.0, 0.5);
    j
};
pub const BODIES: [i32; 4] = [0, 1, 1, -1];
pub const COMPLIANCE: [f64; 2] = [0.0, 0.1];
pub const VELOCITY: [f64; 12] = [0.5; 12];

const SEAL: u8 = 0xa5;

/// Outputs, all bytes 0xa5 until someone writes them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Outputs {
    pub x: [f64; 16],
    pub y: [f64; 16],
    pub rows: [i32; 16],
    pub total: f64,
    pub count: usize,
    pub problem: *mut mlcp_problem,
    pub solver: *mut mlcp_solver,
    pub settings: mlcp_settings,
    pub report: mlcp_report,
    pub iteration: mlcp_iteration,
    pub stage: mlcp_stage,
    pub frame: *mut mlcp_frame,
    pub bodies: mlcp_bodies,
    pub constraints: mlcp_constraints,
    pub contacts: mlcp_contacts,
    pub errors: mlcp_frame_errors,
    pub recorder: *mut mlcp_recorder,
    pub counts: mlcp_recorder_counts,
    pub dataset: *mut mlcp_dataset,
    pub solution: mlcp_frame_solution,
}

impl Outputs {
    /// Structs that a call may look at before it writes.
    fn set_sizes(&mut self) {
        self.settings.struct_size = size_of::<mlcp_settings>();
        self.report.struct_size = size_of::<mlcp_report>();
        self.iteration.struct_size = size_of::<mlcp_iteration>();
        self.stage.struct_size = size_of::<mlcp_stage>();
        self.errors.struct_size = size_of::<mlcp_frame_errors>();
        self.counts.struct_size = size_of::<mlcp_recorder_counts>();
        self.solution.struct_size = size_of::<mlcp_frame_solution>();
    }
}

pub struct Fixture {
    /// Dense, N rows.
    pub p: *mut mlcp_problem,
    /// Two-body rows, 2 of them on 2 bodies.
    pub j: *mut mlcp_problem,
    /// Has solved `p`.
    pub s: *mut mlcp_solver,
    pub out: Box<Outputs>,
    /// What `out` looked like when it was sealed.
    sealed: Vec<u8>,
}

pub fn last_error() -> String {
    unsafe { std::ffi::CStr::from_ptr(mlcp_last_error()) }.to_str().expect("UTF-8").to_owned()
}

pub fn ok(status: Status) {
    assert_eq!(status, Status::Ok, "{}", last_error());
}

pub fn settings() -> mlcp_settings {
    unsafe {
        let mut settings: mlcp_settings = std::mem::zeroed();
        ok(mlcp_settings_init(&mut settings, size_of::<mlcp_settings>()));
        settings
    }
}

pub fn report() -> mlcp_report {
    unsafe {
        let mut report: mlcp_report = std::mem::zeroed();
        ok(mlcp_report_init(&mut report, size_of::<mlcp_report>()));
        report
    }
}

/// An address that is not a multiple of the type's alignment.
pub fn misaligned<T>(pointer: *const T) -> *mut T {
    (pointer as *mut u8).wrapping_add(1) as *mut T
}

pub unsafe fn fill_dense(p: *mut mlcp_problem) {
    unsafe {
        ok(mlcp_problem_set_dense(p, N, A.as_ptr(), 9, N, 0));
        ok(mlcp_problem_set_b(p, B.as_ptr(), N));
        ok(mlcp_problem_set_bounds(p, LO.as_ptr(), N, HI.as_ptr(), N));
        ok(mlcp_problem_set_friction(p, [-1, 0, -1].as_ptr(), N, [0.0, 0.5, 0.0].as_ptr(), N, 0));
    }
}

impl Fixture {
    pub fn new() -> Fixture {
        unsafe {
            let (mut p, mut j, mut s) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
            ok(mlcp_problem_create(&mut p));
            ok(mlcp_problem_create(&mut j));
            ok(mlcp_solver_create(ptr::null(), &mut s));
            fill_dense(p);
            ok(mlcp_problem_set_jacobian(
                j,
                MASS.as_ptr(),
                24,
                ROWS.as_ptr(),
                24,
                BODIES.as_ptr(),
                4,
                COMPLIANCE.as_ptr(),
                2,
            ));
            ok(mlcp_problem_set_motion(j, 0.1, VELOCITY.as_ptr(), 12, ptr::null(), 0, ptr::null(), 0));
            let mut x = [0.0; N];
            ok(mlcp_solver_solve(s, p, ptr::null(), 0, x.as_mut_ptr(), N, ptr::null_mut()));
            Fixture { p, j, s, out: Box::new(std::mem::zeroed()), sealed: Vec::new() }
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let at = &*self.out as *const Outputs as *const u8;
        unsafe { std::slice::from_raw_parts(at, size_of::<Outputs>()) }.to_vec()
    }

    pub fn seal(&mut self) {
        unsafe { ptr::write_bytes(&mut *self.out as *mut Outputs as *mut u8, SEAL, size_of::<Outputs>()) };
        self.out.set_sizes();
        self.sealed = self.bytes();
    }

    /// Only `struct_size` may differ: rows put wrong numbers there.
    pub fn is_sealed(&self) -> bool {
        let mut now = *self.out;
        now.set_sizes();
        let at = &now as *const Outputs as *const u8;
        unsafe { std::slice::from_raw_parts(at, size_of::<Outputs>()) == &self.sealed[..] }
    }

    /// What all handles have to say, as bits; solving comes last, because it replaces the solver's own answers.
    pub fn answers(&self) -> Vec<u64> {
        let mut all = Vec::new();
        let mut note = |values: &[f64]| all.extend(values.iter().map(|v| v.to_bits()));
        unsafe {
            let mut v = [0.0; N];
            ok(mlcp_solver_get_w(self.s, v.as_mut_ptr(), N));
            note(&v);
            ok(mlcp_solver_get_row_errors(self.s, v.as_mut_ptr(), N));
            note(&v);
            let mut s = settings();
            ok(mlcp_solver_get_settings(self.s, &mut s));
            note(&[
                s.solver as f64,
                s.choice as f64,
                s.max_iterations as f64,
                s.check_interval as f64,
                s.stall_window as f64,
            ]);
            note(&[s.time_limit, s.energy_tolerance, s.relative_tolerance, s.stall_decrease, s.relaxation]);
            note(&[
                mlcp_problem_rows(self.p) as f64,
                mlcp_problem_rows(self.j) as f64,
                mlcp_solver_history_len(self.s) as f64,
            ]);
            for (problem, n) in [(self.j, 2), (self.p, N)] {
                let (mut x, mut r) = ([0.0; N], report());
                ok(mlcp_solver_solve(self.s, problem, ptr::null(), 0, x.as_mut_ptr(), n, &mut r));
                note(&x);
                note(&[r.energy_error, r.energy_scale, r.fischer_burmeister, r.iterations as f64, r.outcome as f64]);
            }
        }
        all
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        unsafe {
            mlcp_solver_destroy(self.s);
            mlcp_problem_destroy(self.j);
            mlcp_problem_destroy(self.p);
        }
    }
}
