//! `mlcp_recorder`: frames and problems to a file, from inside a game loop.

use super::frame::{formulation, mlcp_frame, read_frame};
use super::guard::{guard, optional, optional_ref, out, text};
use super::handle::{Handle, Shared};
use super::problem::{mlcp_problem, read};
use super::types::{check_struct_size, mlcp_report};
use crate::dataset::{Recorder, RecorderOptions, WhenFull};
use crate::error::{Error, Result, Status};
use crate::settings::SolverKind;
use crate::solve::{Outcome, Report};
use libc::c_char;
use std::path::Path;

/// Recorder to an HDF5 file. Frames are copied into a bounded queue and written by a thread of the recorder's own; a
/// killed process loses at most the queued frames, and the file still opens. Any thread may append.
pub struct mlcp_recorder(Handle<Recorder>);

/// Options of a recording. Zero in every field but struct_size: the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_recorder_options {
    /// sizeof(mlcp_recorder_options).
    pub struct_size: usize,
    /// Number of frames that may wait for the writer. 0: 64.
    pub queue: i32,
    /// Action when the queue is full, an mlcp_when_full: MLCP_WHEN_FULL_DROP drops the new frame and counts it,
    /// MLCP_WHEN_FULL_WAIT waits.
    pub when_full: i32,
    /// Flag, 1: every frame survives a power cut, which is slow; 0: frames survive a killed process only.
    pub sync: i32,
    /// Always 0.
    pub reserved: i32,
    /// Name of the engine, kept as an attribute of the file; NULL: none.
    pub engine: *const c_char,
}

/// Progress of a recording.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_recorder_counts {
    /// sizeof(mlcp_recorder_counts).
    pub struct_size: usize,
    /// Frames and problems in the file.
    pub written: u64,
    /// Frames and problems dropped because the queue was full.
    pub dropped: u64,
    /// Frames and problems waiting for the writer.
    pub queued: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
}

unsafe fn read_recorder<'a>(recorder: *const mlcp_recorder) -> Result<Shared<'a, Recorder>> {
    match unsafe { recorder.as_ref() } {
        Some(recorder) => recorder.0.shared("recorder"),
        None => Err(Error::new(Status::NullArgument, format_args!("recorder is NULL"))),
    }
}

/// Begin a recording; a file of that name is replaced.
///
/// path: of the file. options: NULL for the defaults. out_recorder: receives the handle, to be given to
/// mlcp_recorder_destroy. Returns FILE (cannot be written, or another recorder has it), INVALID_SIZE, INVALID_VALUE. Any
/// thread. Allocates; starts a thread. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_recorder_create(
    path: *const c_char,
    options: *const mlcp_recorder_options,
    out_recorder: *mut *mut mlcp_recorder,
) -> Status {
    guard(|| unsafe {
        let path = text(path, "path")?;
        let out_recorder = out(out_recorder, "out_recorder")?;
        let mut wanted = RecorderOptions::default();
        if let Some(o) = optional_ref(options, "options")? {
            check_struct_size::<mlcp_recorder_options>("options.struct_size", o.struct_size)?;
            let invalid = |name: &str, value: i32| {
                Error::new(Status::InvalidValue, format_args!("options.{name} is {value}, which is not allowed"))
            };
            wanted.queue = match o.queue {
                0 => wanted.queue,
                queue => usize::try_from(queue).map_err(|_| invalid("queue", queue))?,
            };
            wanted.when_full = match o.when_full {
                0 => WhenFull::Drop,
                1 => WhenFull::Wait,
                other => return Err(invalid("when_full", other)),
            };
            wanted.sync = match o.sync {
                0 => false,
                1 => true,
                other => return Err(invalid("sync", other)),
            };
            if !o.engine.is_null() {
                wanted.engine = text(o.engine, "options.engine")?.to_string();
            }
        }
        let recorder = Recorder::create(Path::new(path), &wanted)?;
        *out_recorder = Box::into_raw(Box::new(mlcp_recorder(Handle::new(recorder))));
        Ok(())
    })
}

/// End a recording: what is queued is written and the file closed. NULL is ignored.
///
/// To learn whether the last frames could be written, call mlcp_recorder_flush first. A recorder that another thread is
/// using is not destroyed; mlcp_last_error then says so. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_recorder_destroy(recorder: *mut mlcp_recorder) {
    unsafe { super::solver::destroy(recorder, |r| &r.0, "recorder") }
}

/// Queue a frame, perhaps with a solution.
///
/// formulation, z: how the frame's problem was filled (see mlcp_frame) and its solution; z NULL with length 0: none. The
/// solution of a frame without rows has length 0 and is not NULL. The errors of the solution are computed by the writer.
/// report: the solve's, or NULL. All copied. A full queue drops the frame and returns MLCP_STATUS_OK, or waits, as the
/// options say; see mlcp_recorder_get_counts. Returns INVALID_SIZE, INVALID_VALUE, INVALID_STATE (the frame has no step),
/// FILE if the writer failed earlier. Allocates nothing once the queue's slots have grown to the scene. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_recorder_append_frame(
    recorder: *mut mlcp_recorder,
    frame: *const mlcp_frame,
    formulation: *const c_char,
    z: *const f64,
    z_len: usize,
    report: *const mlcp_report,
) -> Status {
    guard(|| unsafe {
        let recorder = read_recorder(recorder)?;
        let frame = read_frame(frame)?;
        let formulation = self::formulation(formulation)?;
        // A frame without rows has a solution without numbers.
        let z = optional(z, z_len, "z")?.filter(|z| !z.is_empty() || formulation.rows(&frame.frame) == 0);
        let solution = z.map(|z| (formulation, z));
        recorder.append_frame(&frame.frame, solution, report_from(report)?.as_ref()).map(|_| ())
    })
}

/// Queue a problem, perhaps with a solution.
///
/// name: of its group, without '/', at most 200 bytes; NULL: a number. Names should differ. x: one double per row, or NULL
/// with length 0. report: the solve's, or NULL. All copied. A full queue is as for mlcp_recorder_append_frame. Returns
/// INVALID_SIZE, INVALID_VALUE, FILE if the writer failed earlier. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_recorder_append_problem(
    recorder: *mut mlcp_recorder,
    name: *const c_char,
    problem: *const mlcp_problem,
    x: *const f64,
    x_len: usize,
    report: *const mlcp_report,
) -> Status {
    guard(|| unsafe {
        let recorder = read_recorder(recorder)?;
        let problem = read(problem)?;
        let name = if name.is_null() { "" } else { text(name, "name")? };
        let x = optional(x, x_len, "x")?.filter(|x| !x.is_empty() || problem.problem.is_empty());
        recorder.append_problem(name, &problem.problem, x, report_from(report)?.as_ref()).map(|_| ())
    })
}

/// Wait until everything queued is in the file.
///
/// Returns FILE, with the sentence, if the writer failed. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_recorder_flush(recorder: *mut mlcp_recorder) -> Status {
    guard(|| unsafe { read_recorder(recorder) }?.flush())
}

/// Read the progress of a recording.
///
/// out_counts: struct_size set by the caller; receives the numbers. Returns INVALID_SIZE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_recorder_get_counts(
    recorder: *const mlcp_recorder,
    out_counts: *mut mlcp_recorder_counts,
) -> Status {
    guard(|| unsafe {
        let recorder = read_recorder(recorder)?;
        let out_counts = out(out_counts, "out_counts")?;
        check_struct_size::<mlcp_recorder_counts>("out_counts.struct_size", out_counts.struct_size)?;
        let c = recorder.counts();
        let struct_size = out_counts.struct_size;
        *out_counts = mlcp_recorder_counts {
            struct_size,
            written: c.written,
            dropped: c.dropped,
            queued: c.queued,
            bytes: c.bytes,
        };
        Ok(())
    })
}

/// What a recording keeps of a report.
unsafe fn report_from(report: *const mlcp_report) -> Result<Option<Report>> {
    if report.is_null() {
        return Ok(None);
    }
    let r = unsafe { mlcp_report::read(report, "report") }?;
    let invalid = |name: &str, value: i32| {
        Error::new(Status::InvalidValue, format_args!("report.{name} is {value}, which names none"))
    };
    let outcome = Outcome::ALL.into_iter().find(|&o| o as i32 == r.outcome);
    let solver = SolverKind::from_number(r.solver).ok_or_else(|| invalid("solver", r.solver))?;
    Ok(Some(Report {
        outcome: outcome.ok_or_else(|| invalid("outcome", r.outcome))?,
        iterations: r.iterations.max(0) as usize,
        seconds: r.seconds,
        energy_error: r.energy_error,
        natural: r.natural,
        ..Report::empty(solver)
    }))
}
