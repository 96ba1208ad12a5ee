//! Structs that cross the boundary. `struct_size` first, append-only.

use super::guard::{out, slice};
use crate::error::{Error, Result, Status};
use crate::metrics::Measure;
use crate::settings::{Choice, Settings, SolverKind};
use crate::solve::{Iteration, Report, StageReport};
use libc::c_void;
use std::mem::size_of;

/// Settings of a solve. Fill the struct with mlcp_settings_init, then change fields.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_settings {
    /// Size of this struct in bytes, set by mlcp_settings_init.
    pub struct_size: usize,
    /// Solver to use: an mlcp_solver_kind. Default MLCP_SOLVER_KIND_AUTO.
    pub solver: i32,
    /// Iterate to return: the best under this mlcp_measure (default MLCP_MEASURE_ENERGY), or MLCP_CHOICE_LAST.
    pub choice: i32,
    /// Iteration budget, of all solvers together. 0: each solver's default, which stands with its mlcp_solver_kind.
    pub max_iterations: i32,
    /// Sweeps between exact error measurements. 0: the solver's default, which stands with its
    /// mlcp_solver_kind; pivots and Newton steps, whose default is 1, are measured always.
    pub check_interval: i32,
    /// Consecutive measurements (not iterations) without progress after which a solver counts as stalled, whatever
    /// max_iterations allows. 0: the solver's default, which stands with its mlcp_solver_kind.
    pub stall_window: i32,
    /// Iteration records kept for mlcp_solver_get_history; longer runs are thinned evenly. 0: none. Default 128.
    pub history_capacity: i32,
    /// Wall-clock budget in seconds, also checked inside long factorisations. 0: no limit.
    pub time_limit: f64,
    /// Energy error, in joules, at which a solve has converged. Default 1e-18. 0: only the relative test counts.
    pub energy_tolerance: f64,
    /// Fraction of the energy error at x = clamp(0), no unit, at which a solve has converged. Default 1e-10. 0: only
    /// the absolute test counts.
    pub relative_tolerance: f64,
    /// Natural residual, in N s or m/s, at which a solve has converged if a row has no energy (a_ii <= 0). Default
    /// 1e-10.
    pub residual_tolerance: f64,
    /// Fraction, no unit, by which the energy error must fall within stall_window measurements. Default 0.01.
    pub stall_decrease: f64,
    /// Relaxation of the sweeps, in (0, 2), no unit. Default 1; above 1 over-relaxes (projected SOR).
    pub relaxation: f64,
    /// Threads on which MLCP_SOLVER_KIND_AUTO solves islands side by side, the calling thread included. 0 or 1: the
    /// calling thread alone. The answer has the same bits for any number, unless time is limited. See
    /// mlcp_solver_set_executor.
    pub threads: i32,
}

/// Result of a solve. Errors are measured at the returned x, with w = A x + b computed afresh. x and w are finite; an
/// error too large for a double reads +inf, and no error reads NaN.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_report {
    /// Size of this struct in bytes, set by mlcp_report_init.
    pub struct_size: usize,
    /// Outcome of the solve: an mlcp_outcome.
    pub outcome: i32,
    /// Solver that was asked for: an mlcp_solver_kind.
    pub solver: i32,
    /// Solver that found the returned x: an mlcp_solver_kind; the one asked for if x is the starting point.
    pub best_solver: i32,
    /// Number of solvers that ran, one after the other: see mlcp_solver_get_stage. 0: the start was good enough.
    pub stages: i32,
    /// Friction mode of the problem: an mlcp_friction_mode.
    pub friction_mode: i32,
    /// Measure that decided on convergence: MLCP_MEASURE_ENERGY, or MLCP_MEASURE_NATURAL if a row has no energy.
    pub judge: i32,
    /// Number of times the bounds of coupled friction were moved for a solver that does not move them itself.
    pub friction_updates: i32,
    /// Rows of the problem.
    pub rows: i32,
    /// Iterations done.
    pub iterations: i32,
    /// Iteration the returned x comes from; 0: the starting point.
    pub best_iteration: i32,
    /// Number of times the error was measured.
    pub measurements: i32,
    /// Changes of rows between bound and free, added up over all iterations.
    pub set_changes: i32,
    /// Wall-clock time in seconds.
    pub seconds: f64,
    /// Energy error in joules; +inf if a row has no energy.
    pub energy_error: f64,
    /// Energy error over energy_scale, no unit. 0 when the error is 0.
    pub relative_energy_error: f64,
    /// Energy error at x = clamp(0), the problem's own scale, in joules.
    pub energy_scale: f64,
    /// Energy error at the starting point, moved into its bounds, in joules. A start worse than x = clamp(0) is not used.
    pub initial_energy_error: f64,
    /// Fischer-Burmeister residual; mixes N s and m/s.
    pub fischer_burmeister: f64,
    /// Natural residual; mixes N s and m/s.
    pub natural: f64,
    /// Half the squared Fischer-Burmeister residual; mixed units.
    pub merit: f64,
    /// Penalised Fischer-Burmeister residual; mixed units.
    pub penalized: f64,
    /// Duality gap in joules; +inf where a row without a bound on that side moves.
    pub duality_gap: f64,
    /// Islands, solved apart from each other. 0: islands were not looked for, as with few rows, a good start, little
    /// time or another solver than auto.
    pub islands: i32,
    /// Bound of what round-off in the computed w = A x + b adds to the error that decided: the true energy error of x
    /// is at most energy_error + round_off, in joules. Where judge is MLCP_MEASURE_NATURAL, the true natural residual
    /// is at most natural + round_off, in N s or m/s.
    pub round_off: f64,
}

/// Record of one iteration, for a callback and mlcp_solver_get_history. x and w are finite: a solver whose iterate
/// overflows is stalled, and the best iterate is shown in its place. An error or change too large for a double reads
/// +inf.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_iteration {
    /// Size of this struct in bytes.
    pub struct_size: usize,
    /// Number of the iteration; 0: the starting point.
    pub iteration: i32,
    /// Flag, 1: the errors were measured at this iterate; 0: they are copied from the last iterate that was measured.
    pub measured: i32,
    /// Rows that changed between bound and free.
    pub set_changes: i32,
    /// Solver at work: an mlcp_solver_kind; at the starting point the one of the settings.
    pub solver: i32,
    /// Energy error in joules.
    pub energy_error: f64,
    /// Error under the measure that chooses the returned iterate.
    pub error: f64,
    /// Least value of error so far.
    pub best_error: f64,
    /// Energy of this iteration's change of x, 1/2 sum a_ii dx_i^2, in joules.
    pub change: f64,
    /// Seconds since the solve began.
    pub seconds: f64,
    /// Impulses, n of them. Valid during the callback only; NULL in the history.
    pub x: *const f64,
    /// Velocities A x + b, n of them, if measured is 1. Valid during the callback only; NULL in the history.
    pub w: *const f64,
    /// Length of x and w.
    pub n: usize,
}

/// Piece of work for an mlcp_executor. It returns nothing and may be called on any thread, each index once.
pub type mlcp_task = Option<unsafe extern "C" fn(task_data: *mut c_void, index: i32)>;

/// Thread pool of the caller: calls task(task_data, k) for k = 0 ... count - 1, on any threads, in any order, and
/// returns when all calls have returned.
pub type mlcp_executor =
    Option<unsafe extern "C" fn(user_data: *mut c_void, count: i32, task: mlcp_task, task_data: *mut c_void)>;

/// Record of one solver within a solve, for mlcp_solver_get_stage: what ran, why, and with which result.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_stage {
    /// Size of this struct in bytes.
    pub struct_size: usize,
    /// Solver that ran: an mlcp_solver_kind.
    pub solver: i32,
    /// Reason why it ran: an mlcp_reason; mlcp_reason_text has the sentence.
    pub reason: i32,
    /// Outcome of this solver: an mlcp_outcome.
    pub outcome: i32,
    /// Iterations it took.
    pub iterations: i32,
    /// Wall-clock time in seconds. The first stage counts from the solve's start, the last to its end, so they add up.
    pub seconds: f64,
    /// Energy error at which this solver began, in joules; the natural residual, in N s or m/s, where a row has no
    /// energy.
    pub initial_energy_error: f64,
    /// Least energy error that this solver found, in joules (natural residual where a row has no energy); +inf if it
    /// measured none.
    pub energy_error: f64,
}

/// Function called after every iteration, the starting point included; a non-zero answer stops the solve. It runs on
/// the solving thread, may read other handles, and must neither throw nor longjmp. Calls on the solver itself, and
/// changes to the problem being solved, answer MLCP_STATUS_BUSY.
pub type mlcp_callback = Option<unsafe extern "C" fn(iteration: *const mlcp_iteration, user_data: *mut c_void) -> i32>;

/// Fill `settings` with the defaults.
///
/// struct_size: pass sizeof(mlcp_settings). Returns INVALID_SIZE for a size this library does not know. Any thread;
/// allocates nothing. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_settings_init(settings: *mut mlcp_settings, struct_size: usize) -> Status {
    super::guard(|| {
        let settings = unsafe { out(settings, "settings") }?;
        check_struct_size::<mlcp_settings>("struct_size", struct_size)?;
        *settings = mlcp_settings::from(&Settings::default());
        Ok(())
    })
}

/// Prepare a report to be filled by mlcp_solver_solve or mlcp_solver_get_report.
///
/// struct_size: pass sizeof(mlcp_report); a program built with an older header keeps its smaller struct and gets what
/// that has. Returns INVALID_SIZE for a size this library does not know. Any thread;
/// allocates nothing. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_report_init(report: *mut mlcp_report, struct_size: usize) -> Status {
    super::guard(|| {
        let size = unsafe { out(report.cast::<usize>(), "report") }?;
        check_grown_size::<mlcp_report>("struct_size", struct_size, mlcp_report::FIRST_SIZE)?;
        *size = struct_size;
        unsafe { mlcp_report::write(report, "report", &Report::empty(Settings::default().solver)) }
    })
}

/// Prepare a record to be filled by mlcp_solver_get_history.
///
/// struct_size: pass sizeof(mlcp_iteration). Returns INVALID_SIZE for a size this library does not know. Any thread;
/// allocates nothing. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_iteration_init(iteration: *mut mlcp_iteration, struct_size: usize) -> Status {
    super::guard(|| {
        let iteration = unsafe { out(iteration, "iteration") }?;
        check_struct_size::<mlcp_iteration>("struct_size", struct_size)?;
        *iteration = mlcp_iteration::from(&Iteration::default());
        Ok(())
    })
}

/// Prepare a record to be filled by mlcp_solver_get_stage.
///
/// struct_size: pass sizeof(mlcp_stage). Returns INVALID_SIZE for a size this library does not know. Any thread;
/// allocates nothing. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_stage_init(stage: *mut mlcp_stage, struct_size: usize) -> Status {
    super::guard(|| {
        let stage = unsafe { out(stage, "stage") }?;
        check_struct_size::<mlcp_stage>("struct_size", struct_size)?;
        *stage = mlcp_stage::from(&StageReport::default());
        Ok(())
    })
}

/// Refuse a struct that was not initialised, or by a header this library does not match.
pub(super) fn check_struct_size<T>(name: &str, found: usize) -> Result<()> {
    check_grown_size::<T>(name, found, size_of::<T>())
}

/// Refuse the size of a struct that has grown since its first release, where it had `first` bytes, unless it is that of
/// some release. Structs grow by whole fields of eight bytes.
fn check_grown_size<T>(name: impl std::fmt::Display, found: usize, first: usize) -> Result<()> {
    let known = size_of::<T>();
    if (first..=known).contains(&found) && (found - first).is_multiple_of(size_of::<f64>()) {
        return Ok(());
    }
    let why = if found == 0 {
        "call the _init function first"
    } else if found > known {
        "the header is newer than the library"
    } else {
        "the struct was not initialised"
    };
    Err(Error::new(Status::InvalidSize, format_args!("{name} is {found}, expected {known}: {why}")))
}

impl mlcp_report {
    /// Bytes of the struct in the first header.
    const FIRST_SIZE: usize = std::mem::offset_of!(mlcp_report, round_off);

    /// Check a report that a caller hands in; its header may be older than this library. NULL is refused by name.
    unsafe fn check_size(report: *const mlcp_report, name: &str) -> Result<usize> {
        // The first field; no more of it need be there.
        let size = unsafe { slice(report.cast::<usize>(), 1, name) }?[0];
        check_grown_size::<mlcp_report>(format_args!("{name}.struct_size"), size, Self::FIRST_SIZE)?;
        Ok(size)
    }

    /// Check a report that is to be written, before anything is done.
    pub(super) unsafe fn check_out(report: *mut mlcp_report, name: &str) -> Result<()> {
        unsafe { Self::check_size(report, name) }.map(|_| ())
    }

    /// Write what the caller's header knows of a report.
    pub(super) unsafe fn write(to: *mut mlcp_report, name: &str, report: &Report) -> Result<()> {
        let size = unsafe { Self::check_size(to, name) }?;
        let value = mlcp_report { struct_size: size, ..mlcp_report::from(report) };
        // SAFETY: the caller's struct has `size` bytes, this one at least as many.
        unsafe { std::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), to.cast::<u8>(), size) };
        Ok(())
    }

    /// Read what the caller's header knows of a report; the rest is as in an empty one.
    pub(super) unsafe fn read(from: *const mlcp_report, name: &str) -> Result<mlcp_report> {
        let size = unsafe { Self::check_size(from, name) }?;
        let mut value = mlcp_report::from(&Report::empty(SolverKind::Auto));
        // SAFETY: the caller's struct has `size` bytes, this one at least as many.
        unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut value).cast::<u8>(), size) };
        Ok(value)
    }
}

impl From<&Settings> for mlcp_settings {
    fn from(s: &Settings) -> Self {
        mlcp_settings {
            struct_size: size_of::<mlcp_settings>(),
            solver: s.solver as i32,
            choice: match s.choice {
                Choice::Best(measure) => measure as i32,
                Choice::Last => -1,
            },
            max_iterations: count(s.max_iterations),
            check_interval: count(s.check_interval),
            stall_window: count(s.stall_window),
            history_capacity: count(s.history_capacity),
            time_limit: s.time_limit,
            energy_tolerance: s.energy_tolerance,
            relative_tolerance: s.relative_tolerance,
            residual_tolerance: s.residual_tolerance,
            stall_decrease: s.stall_decrease,
            relaxation: s.relaxation,
            threads: count(s.threads),
        }
    }
}

impl TryFrom<&mlcp_settings> for Settings {
    type Error = Error;

    fn try_from(s: &mlcp_settings) -> Result<Settings> {
        check_struct_size::<mlcp_settings>("settings.struct_size", s.struct_size)?;
        let number = |name: &str, value: i32| {
            Error::new(Status::InvalidValue, format_args!("settings.{name} is {value}, which names none"))
        };
        let not_negative = |name: &str, value: i32| {
            usize::try_from(value).map_err(|_| {
                Error::new(Status::InvalidValue, format_args!("settings.{name} is {value}, it must be >= 0"))
            })
        };
        let settings = Settings {
            solver: SolverKind::from_number(s.solver).ok_or_else(|| number("solver", s.solver))?,
            choice: match s.choice {
                -1 => Choice::Last,
                other => Choice::Best(Measure::from_number(other).ok_or_else(|| number("choice", other))?),
            },
            max_iterations: not_negative("max_iterations", s.max_iterations)?,
            check_interval: not_negative("check_interval", s.check_interval)?,
            stall_window: not_negative("stall_window", s.stall_window)?,
            history_capacity: not_negative("history_capacity", s.history_capacity)?,
            time_limit: s.time_limit,
            energy_tolerance: s.energy_tolerance,
            relative_tolerance: s.relative_tolerance,
            residual_tolerance: s.residual_tolerance,
            stall_decrease: s.stall_decrease,
            relaxation: s.relaxation,
            threads: not_negative("threads", s.threads)?,
        };
        settings.validate()?;
        Ok(settings)
    }
}

impl From<&Report> for mlcp_report {
    fn from(r: &Report) -> Self {
        mlcp_report {
            struct_size: size_of::<mlcp_report>(),
            outcome: r.outcome as i32,
            solver: r.solver as i32,
            best_solver: r.best_solver as i32,
            stages: count(r.stages),
            friction_mode: r.friction as i32,
            judge: r.judge as i32,
            friction_updates: count(r.friction_updates),
            rows: count(r.rows),
            iterations: count(r.iterations),
            best_iteration: count(r.best_iteration),
            measurements: count(r.measurements),
            set_changes: count(r.set_changes),
            seconds: r.seconds,
            energy_error: r.energy_error,
            relative_energy_error: r.relative_energy(),
            energy_scale: r.energy_scale,
            initial_energy_error: r.initial_energy_error,
            fischer_burmeister: r.fischer_burmeister,
            natural: r.natural,
            merit: r.merit,
            penalized: r.penalized,
            duality_gap: r.duality_gap,
            islands: count(r.islands),
            round_off: r.round_off,
        }
    }
}

impl From<&Iteration> for mlcp_iteration {
    fn from(i: &Iteration) -> Self {
        mlcp_iteration {
            struct_size: size_of::<mlcp_iteration>(),
            iteration: count(i.iteration),
            measured: i32::from(i.measured),
            set_changes: count(i.set_changes),
            solver: i.solver as i32,
            energy_error: i.energy_error,
            error: i.error,
            best_error: i.best_error,
            change: i.change,
            seconds: i.seconds,
            x: std::ptr::null(),
            w: std::ptr::null(),
            n: 0,
        }
    }
}

impl From<&StageReport> for mlcp_stage {
    fn from(s: &StageReport) -> Self {
        mlcp_stage {
            struct_size: size_of::<mlcp_stage>(),
            solver: s.solver as i32,
            reason: s.reason as i32,
            outcome: s.outcome as i32,
            iterations: count(s.iterations),
            seconds: s.seconds,
            initial_energy_error: s.initial_energy_error,
            energy_error: s.energy_error,
        }
    }
}

/// A count for C; beyond i32 it saturates.
pub(super) fn count(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}
