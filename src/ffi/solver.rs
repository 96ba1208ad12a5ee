//! `mlcp_solver`: a solver with its memory, from one step to the next.

use super::guard::{expect_len, guard, optional, optional_ref, out, remember, slice, slice_mut};
use super::handle::{Exclusive, Handle};
use super::problem::{change, mlcp_problem, read};
use super::types::{
    check_struct_size, mlcp_callback, mlcp_executor, mlcp_iteration, mlcp_report, mlcp_settings, mlcp_stage, mlcp_task,
};
use crate::error::{Error, Result, Status};
use crate::settings::{Settings, SolverKind};
use crate::solve::{supports, Engine, Executor, Observation, Observer};
use libc::{c_char, c_void};
use std::ffi::CStr;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Solver with its memory. It serves one thread at a time; use one per thread. Its reports are about its last solve.
pub struct mlcp_solver(Handle<Inner>);

struct Inner {
    engine: Engine,
    callback: mlcp_callback,
    user_data: *mut c_void,
}

unsafe fn take<'a>(solver: *const mlcp_solver) -> Result<Exclusive<'a, Inner>> {
    match unsafe { solver.as_ref() } {
        Some(solver) => solver.0.exclusive("solver"),
        None => Err(Error::new(Status::NullArgument, format_args!("solver is NULL"))),
    }
}

/// Free a handle that is not in use. Poisoned ones may be freed too.
pub(super) unsafe fn destroy<H, T>(handle: *mut H, inside: impl Fn(&H) -> &Handle<T>, name: &str) {
    let Some(alive) = (unsafe { handle.as_ref() }) else { return };
    match inside(alive).exclusive(name) {
        Err(error) if error.status() == Status::Busy => remember(&error),
        held => {
            drop(held);
            // SAFETY: made by Box::into_raw in the create function; the caller gives it up.
            guard(|| {
                drop(unsafe { Box::from_raw(handle) });
                Ok(())
            });
        }
    }
}

/// Find the solver with a short name such as "bpp", for tools.
///
/// name: a NUL-terminated text. out_kind: receives an mlcp_solver_kind. Returns INVALID_VALUE for a name that is none.
/// Any thread; allocates nothing. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_kind_from_name(name: *const c_char, out_kind: *mut i32) -> Status {
    guard(|| {
        if name.is_null() {
            return Err(Error::new(Status::NullArgument, format_args!("name is NULL")));
        }
        let out_kind = unsafe { out(out_kind, "out_kind") }?;
        // SAFETY: the caller promises a final NUL.
        let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("not UTF-8");
        *out_kind = SolverKind::from_name(name).ok_or_else(|| {
            Error::new(Status::InvalidValue, format_args!("name is \"{name}\", which names no solver"))
        })? as i32;
        Ok(())
    })
}

/// Ask whether a kind of solver can treat a problem.
///
/// kind: an mlcp_solver_kind. Returns MLCP_STATUS_OK if it can; UNSUPPORTED or NO_ENERGY with a sentence why not;
/// INVALID_VALUE for an unknown kind. Allocates the solver it asks. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_supports(kind: i32, problem: *const mlcp_problem) -> Status {
    guard(|| {
        let problem = unsafe { read(problem) }?;
        let kind = SolverKind::from_number(kind)
            .ok_or_else(|| Error::new(Status::InvalidValue, format_args!("kind is {kind}, which names no solver")))?;
        supports(kind, &problem.problem)
    })
}

/// Create a solver.
///
/// settings: NULL for the defaults, or a struct filled by mlcp_settings_init. out_solver: receives the handle, to be
/// given to mlcp_solver_destroy. Returns INVALID_SIZE, INVALID_VALUE naming the field. Any thread. Allocates. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_create(
    settings: *const mlcp_settings,
    out_solver: *mut *mut mlcp_solver,
) -> Status {
    guard(|| {
        let out_solver = unsafe { out(out_solver, "out_solver") }?;
        let settings = match unsafe { optional_ref(settings, "settings") }? {
            Some(settings) => Settings::try_from(settings)?,
            None => Settings::default(),
        };
        let inner = Inner { engine: Engine::new(settings)?, callback: None, user_data: std::ptr::null_mut() };
        *out_solver = Box::into_raw(Box::new(mlcp_solver(Handle::new(inner))));
        Ok(())
    })
}

/// Destroy a solver; NULL is ignored.
///
/// A solver that is solving (a call from its own callback) is not destroyed; mlcp_last_error then says so. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_destroy(solver: *mut mlcp_solver) {
    unsafe { destroy(solver, |s| &s.0, "solver") }
}

/// Change the settings; takes effect with the next solve. Another solver kind starts with fresh memory.
///
/// settings: filled by mlcp_settings_init. Returns INVALID_SIZE, INVALID_VALUE naming the field; the old settings then
/// stay. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_set_settings(solver: *mut mlcp_solver, settings: *const mlcp_settings) -> Status {
    guard(|| {
        let mut inner = unsafe { take(solver) }?;
        let settings = unsafe { slice(settings, 1, "settings") }?;
        inner.engine.set_settings(Settings::try_from(&settings[0])?)
    })
}

/// Read the settings in force.
///
/// out_settings: a struct initialised by mlcp_settings_init. Returns INVALID_SIZE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_get_settings(
    solver: *const mlcp_solver,
    out_settings: *mut mlcp_settings,
) -> Status {
    guard(|| {
        let inner = unsafe { take(solver) }?;
        let out_settings = unsafe { out(out_settings, "out_settings") }?;
        check_struct_size::<mlcp_settings>("out_settings.struct_size", out_settings.struct_size)?;
        *out_settings = mlcp_settings::from(inner.engine.settings());
        Ok(())
    })
}

/// Set the function called after every iteration; NULL for none.
///
/// user_data is passed through and never read; it must live as long as it is set. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_set_callback(
    solver: *mut mlcp_solver,
    callback: mlcp_callback,
    user_data: *mut c_void,
) -> Status {
    guard(|| {
        let mut inner = unsafe { take(solver) }?;
        inner.callback = callback;
        inner.user_data = user_data;
        Ok(())
    })
}

/// Let islands be solved on the caller's threads: mlcp_settings.threads tasks at a time. NULL: on threads made for it.
///
/// user_data is passed through and never read; it must live as long as it is set. A task takes one island after the
/// other until none is left; an executor that calls only some of the tasks makes the solve slower, not wrong. An
/// executor must not return while a task still runs: the task would write to freed memory. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_set_executor(
    solver: *mut mlcp_solver,
    executor: mlcp_executor,
    user_data: *mut c_void,
) -> Status {
    guard(|| {
        let mut inner = unsafe { take(solver) }?;
        inner.engine.set_executor(executor.map(|execute| {
            let pool = Pool { execute, user_data };
            Box::new(move |count: usize, task: &(dyn Fn(usize) + Sync)| pool.run(count, task)) as Box<Executor>
        }));
        Ok(())
    })
}

/// The caller's threads.
struct Pool {
    execute: unsafe extern "C" fn(*mut c_void, i32, mlcp_task, *mut c_void),
    user_data: *mut c_void,
}

// SAFETY: the pointer is only handed back to the caller, who promises that it goes wherever the solver goes.
unsafe impl Send for Pool {}

impl Pool {
    fn run(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        let mut data: &(dyn Fn(usize) + Sync) = task;
        // SAFETY: `data` outlives the call, in which the caller promises to be done with it.
        unsafe { (self.execute)(self.user_data, count as i32, Some(run_task), (&raw mut data).cast()) };
    }
}

/// One task of a pool. A panic stays here; it leaves its worker's lock poisoned, which the solve reports.
unsafe extern "C" fn run_task(data: *mut c_void, index: i32) {
    // SAFETY: made by Pool::run.
    let task = unsafe { *data.cast::<&(dyn Fn(usize) + Sync)>() };
    let _ = catch_unwind(AssertUnwindSafe(|| task(index as usize)));
}

/// Solve a problem and return the best iterate.
///
/// x0: starting impulses (N s), one per row, for example last step's; NULL with length 0 to start from x = clamp(0). It is
/// moved into the bounds first. out_x: receives one finite impulse per row, never worse than the start under the chosen
/// measure; may be the same buffer as x0. out_report: NULL, or a struct initialised by mlcp_report_init.
/// Returns MLCP_STATUS_OK also when the tolerance was not reached: what was achieved is the report's outcome and errors.
/// Else UNSUPPORTED, NO_ENERGY, INVALID_STATE, INVALID_SIZE, INVALID_VALUE (also where w overflows at clamp(0)), BUSY; out_x
/// and out_report are then untouched.
/// Allocates only when a problem is larger than any before, in rows, bodies, entries of A or, beyond 128 bodies or a matrix
/// of 770 rows, fill of its factor, and when MLCP_SOLVER_KIND_AUTO first turns to a solver; the matrix kernels take one
/// buffer per thread, at its first large factorisation. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_solve(
    solver: *mut mlcp_solver,
    problem: *const mlcp_problem,
    x0: *const f64,
    x0_len: usize,
    out_x: *mut f64,
    out_x_len: usize,
    out_report: *mut mlcp_report,
) -> Status {
    guard(|| {
        let problem = unsafe { read(problem) }?;
        let n = problem.problem.len();
        unsafe {
            solve_into(solver, n, (x0, x0_len), (out_x, out_x_len), out_report, |engine, start, observer| {
                engine.solve(&problem.problem, start, observer).map(|_| ())
            })
        }
    })
}

/// Freeze friction as ODE's and Bullet's Dantzig solvers do: solve the problem with every friction row at zero, then
/// evaluate the friction bounds at the normal impulses found. The next mlcp_solver_solve then solves the problem that
/// those solvers solve.
///
/// problem: with friction mode MLCP_FRICTION_MODE_FROZEN, else INVALID_STATE; without friction rows nothing happens to
/// it. x0, out_x, out_report and the returned status are as for mlcp_solver_solve, for the solve without friction;
/// out_x is a good x0 for the next solve. On an error the problem stays unchanged. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_freeze_friction(
    solver: *mut mlcp_solver,
    problem: *mut mlcp_problem,
    x0: *const f64,
    x0_len: usize,
    out_x: *mut f64,
    out_x_len: usize,
    out_report: *mut mlcp_report,
) -> Status {
    unsafe {
        change(problem, |p| {
            let n = p.len();
            solve_into(solver, n, (x0, x0_len), (out_x, out_x_len), out_report, |engine, start, observer| {
                engine.freeze_friction(p, start, observer).map(|_| ())
            })
        })
    }
}

/// Check the arguments of a solve of `n` rows, run it with the solver's callback, and hand out what it found.
unsafe fn solve_into(
    solver: *mut mlcp_solver,
    n: usize,
    x0: (*const f64, usize),
    out_x: (*mut f64, usize),
    out_report: *mut mlcp_report,
    solve: impl FnOnce(&mut Engine, Option<&[f64]>, Option<Observer<'_>>) -> Result<()>,
) -> Result<()> {
    let mut inner = unsafe { take(solver) }?;
    let start = unsafe { optional(x0.0, x0.1, "x0") }?;
    expect_len("out_x", out_x.1, n)?;
    // Looked at now, so that nothing can fail after the solve; written only then, because x0 may be the same buffer.
    unsafe { slice(out_x.0 as *const f64, out_x.1, "out_x") }?;
    if !out_report.is_null() {
        unsafe { mlcp_report::check_out(out_report, "out_report") }?;
    }
    let Inner { engine, callback, user_data } = &mut *inner;
    match *callback {
        None => solve(engine, start, None)?,
        Some(function) => {
            let mut observer = |seen: &Observation<'_>| {
                let mut record = mlcp_iteration::from(&seen.record);
                (record.x, record.w, record.n) = (seen.x.as_ptr(), seen.w.as_ptr(), n);
                unsafe { function(&record, *user_data) != 0 }
            };
            solve(engine, start, Some(&mut observer))?
        }
    };
    unsafe { slice_mut(out_x.0, out_x.1, "out_x") }?.copy_from_slice(engine.x());
    if !out_report.is_null() {
        unsafe { mlcp_report::write(out_report, "out_report", engine.report()) }?;
    }
    Ok(())
}

/// Read the last solve's report again.
///
/// out_report: a struct initialised by mlcp_report_init. Returns INVALID_SIZE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_get_report(solver: *const mlcp_solver, out_report: *mut mlcp_report) -> Status {
    guard(|| {
        let inner = unsafe { take(solver) }?;
        unsafe { mlcp_report::write(out_report, "out_report", inner.engine.report()) }
    })
}

/// Read the velocities w = A x + b of the last solve, in m/s or rad/s.
///
/// out_w: exactly one double per row of that solve. Returns INVALID_SIZE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_get_w(solver: *const mlcp_solver, out_w: *mut f64, out_w_len: usize) -> Status {
    guard(|| unsafe { copy_out(take(solver)?.engine.w(), out_w, out_w_len, "out_w") })
}

/// Read the energy error of every row of the last solve, in joules (natural residuals where a row has no energy); the
/// sum is the report's error.
///
/// out_row_errors: exactly one double per row of that solve. Returns INVALID_SIZE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_get_row_errors(
    solver: *const mlcp_solver,
    out_row_errors: *mut f64,
    out_row_errors_len: usize,
) -> Status {
    guard(|| unsafe {
        copy_out(take(solver)?.engine.row_errors(), out_row_errors, out_row_errors_len, "out_row_errors")
    })
}

/// Read which rows have the largest energy errors of the last solve, worst first.
///
/// out_rows, out_errors: room for the row numbers and their errors in joules, of equal length. out_count: receives how many
/// were written; rows without error are left out. Returns INVALID_SIZE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_get_worst_rows(
    solver: *const mlcp_solver,
    out_rows: *mut i32,
    out_rows_len: usize,
    out_errors: *mut f64,
    out_errors_len: usize,
    out_count: *mut usize,
) -> Status {
    guard(|| {
        let inner = unsafe { take(solver) }?;
        let out_count = unsafe { out(out_count, "out_count") }?;
        expect_len("out_errors", out_errors_len, out_rows_len)?;
        let rows = unsafe { slice_mut(out_rows, out_rows_len, "out_rows") }?;
        let errors = unsafe { slice_mut(out_errors, out_errors_len, "out_errors") }?;
        *out_count = inner.engine.worst_rows(rows, errors);
        Ok(())
    })
}

/// Number of records in the last solve's history; 0 for NULL or a solver in use. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_history_len(solver: *const mlcp_solver) -> usize {
    let mut len = 0;
    guard(|| {
        len = unsafe { take(solver) }?.engine.history().len();
        Ok(())
    });
    len
}

/// Read one record of the last solve's history; index 0 is the starting point.
///
/// out_iteration: a struct initialised by mlcp_iteration_init. Returns INVALID_INDEX, INVALID_SIZE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_get_history(
    solver: *const mlcp_solver,
    index: usize,
    out_iteration: *mut mlcp_iteration,
) -> Status {
    guard(|| {
        let inner = unsafe { take(solver) }?;
        let out_iteration = unsafe { out(out_iteration, "out_iteration") }?;
        check_struct_size::<mlcp_iteration>("out_iteration.struct_size", out_iteration.struct_size)?;
        let history = inner.engine.history();
        let record = history.get(index).ok_or_else(|| {
            Error::new(
                Status::InvalidIndex,
                format_args!("index is {index}, the history has {} records", history.len()),
            )
        })?;
        *out_iteration = mlcp_iteration::from(record);
        Ok(())
    })
}

/// Number of solvers that the last solve ran, one after the other; 0 for NULL or a solver in use. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_stages_len(solver: *const mlcp_solver) -> usize {
    let mut len = 0;
    guard(|| {
        len = unsafe { take(solver) }?.engine.stages().len();
        Ok(())
    });
    len
}

/// Read which solver the last solve ran as its stage `index`, why and with which result. MLCP_SOLVER_KIND_AUTO may run
/// several.
///
/// out_stage: a struct initialised by mlcp_stage_init. Returns INVALID_INDEX, INVALID_SIZE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_solver_get_stage(
    solver: *const mlcp_solver,
    index: usize,
    out_stage: *mut mlcp_stage,
) -> Status {
    guard(|| {
        let inner = unsafe { take(solver) }?;
        let out_stage = unsafe { out(out_stage, "out_stage") }?;
        check_struct_size::<mlcp_stage>("out_stage.struct_size", out_stage.struct_size)?;
        let stages = inner.engine.stages();
        let stage = stages.get(index).ok_or_else(|| {
            Error::new(Status::InvalidIndex, format_args!("index is {index}, the solve had {} stages", stages.len()))
        })?;
        *out_stage = mlcp_stage::from(stage);
        Ok(())
    })
}

unsafe fn copy_out(values: &[f64], out: *mut f64, out_len: usize, name: &str) -> Result<()> {
    expect_len(name, out_len, values.len())?;
    unsafe { slice_mut(out, out_len, name) }?.copy_from_slice(values);
    Ok(())
}
