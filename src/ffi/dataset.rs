//! `mlcp_dataset`: recorded frames and problems, read at random.

use super::frame::{mlcp_frame, mlcp_frame_errors, take_frame};
use super::guard::{expect_len, guard, out, slice_mut, text};
use super::handle::{Exclusive, Handle, Shared};
use super::problem::mlcp_problem;
use super::types::check_struct_size;
use crate::dataset::{Dataset, FrameSolution, Recorded};
use crate::error::{Error, Result, Status};
use crate::problem::FrictionMode;
use libc::c_char;
use std::ffi::CString;
use std::mem::size_of;
use std::path::Path;

/// An open file of frames and problems: a recording, a problem file or FCLIB's (HDF5), or a friction problem in Siconos'
/// text format. Files are not trusted: what is corrupt, truncated or hostile is refused with a sentence, and takes no more
/// memory than its length allows.
pub struct mlcp_dataset(Handle<DatasetInner>);

struct DatasetInner {
    file: Dataset,
    names: Vec<CString>,
    /// The problem last read.
    problem: Option<(usize, Recorded)>,
    /// What the last mlcp_dataset_get_solution lent.
    solution: Option<Lent>,
}

struct Lent {
    solution: FrameSolution,
    formulation: CString,
    solver: CString,
    outcome: CString,
    states: Vec<i32>,
}

/// Which x of a recorded problem. Numbers are part of the ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedX {
    /// The engine's warm start.
    Start = 0,
    /// A reference solution, with coupled friction.
    Reference = 1,
    /// The solution recorded with the problem.
    Solution = 2,
}

/// Solution recorded with a frame. Pointers belong to the dataset.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mlcp_frame_solution {
    /// sizeof(mlcp_frame_solution).
    pub struct_size: usize,
    /// Formulation in which the frame was written as a problem, see mlcp_frame.
    pub formulation: *const c_char,
    /// Solution of the frame's problem in that formulation, z_len doubles.
    pub z: *const f64,
    /// Length of z.
    pub z_len: usize,
    /// Velocities at the end of the step, velocities_len doubles, 6 per body.
    pub velocities: *const f64,
    /// Length of velocities.
    pub velocities_len: usize,
    /// States of the contacts, an mlcp_contact_state each, states_len of them.
    pub states: *const i32,
    /// Length of states.
    pub states_len: usize,
    /// Errors of the solution.
    pub errors: mlcp_frame_errors,
    /// Iterations of the solve; 0 where the solver did not say.
    pub iterations: i32,
    /// Always 0.
    pub reserved: i32,
    /// Seconds of the solve; 0 where the solver did not say.
    pub seconds: f64,
    /// Name of the solver; empty where it did not say.
    pub solver: *const c_char,
    /// Name of an mlcp_outcome; empty where the solver did not say.
    pub outcome: *const c_char,
}

fn null() -> Error {
    Error::new(Status::NullArgument, format_args!("dataset is NULL"))
}

unsafe fn read_dataset<'a>(dataset: *const mlcp_dataset) -> Result<Shared<'a, DatasetInner>> {
    unsafe { dataset.as_ref() }.ok_or_else(null)?.0.shared("dataset")
}

unsafe fn take_dataset<'a>(dataset: *mut mlcp_dataset) -> Result<Exclusive<'a, DatasetInner>> {
    unsafe { dataset.as_ref() }.ok_or_else(null)?.0.exclusive("dataset")
}

fn c_string(text: &str) -> CString {
    // Names in files may hold anything but what ends a text in C.
    CString::new(text.replace('\0', "?")).unwrap_or_default()
}

impl DatasetInner {
    fn problem(&mut self, index: usize) -> Result<&Recorded> {
        if self.problem.as_ref().is_none_or(|p| p.0 != index) {
            self.problem = Some((index, self.file.problem(index)?));
        }
        match &self.problem {
            Some((_, recorded)) => Ok(recorded),
            None => Err(Error::new(Status::Internal, format_args!("a problem that was read is not there"))),
        }
    }
}

/// Open a file and list what is in it.
///
/// path: of the file. out_dataset: receives the handle, to be given to mlcp_dataset_destroy. Returns FILE with a sentence.
/// Any thread. Allocates; files up to 256 MiB are read into memory. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_dataset_open(path: *const c_char, out_dataset: *mut *mut mlcp_dataset) -> Status {
    guard(|| unsafe {
        let path = text(path, "path")?;
        let out_dataset = out(out_dataset, "out_dataset")?;
        let file = Dataset::open(Path::new(path))?;
        let names = (0..file.problems()).map(|k| c_string(file.problem_name(k).unwrap_or(""))).collect();
        let inner = DatasetInner { file, names, problem: None, solution: None };
        *out_dataset = Box::into_raw(Box::new(mlcp_dataset(Handle::new(inner))));
        Ok(())
    })
}

/// Close a file; NULL is ignored. Pointers from the dataset become invalid.
///
/// A dataset that another thread is using is not destroyed; mlcp_last_error then says so. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_dataset_destroy(dataset: *mut mlcp_dataset) {
    unsafe { super::solver::destroy(dataset, |d| &d.0, "dataset") }
}

/// Number of problems in a file; 0 for NULL. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_dataset_problems(dataset: *const mlcp_dataset) -> usize {
    let mut count = 0;
    guard(|| {
        count = unsafe { read_dataset(dataset) }?.names.len();
        Ok(())
    });
    count
}

/// Number of frames in a file; 0 for NULL. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_dataset_frames(dataset: *const mlcp_dataset) -> usize {
    let mut count = 0;
    guard(|| {
        count = unsafe { read_dataset(dataset) }?.file.frames();
        Ok(())
    });
    count
}

/// Name of a problem; problems are sorted by name.
///
/// index: below mlcp_dataset_problems; else the empty text. Belongs to the dataset; never NULL. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_dataset_problem_name(dataset: *const mlcp_dataset, index: usize) -> *const c_char {
    let mut name = c"".as_ptr();
    guard(|| {
        let inner = unsafe { read_dataset(dataset) }?;
        name = inner.names.get(index).map_or(name, |n| n.as_ptr());
        Ok(())
    });
    name
}

/// Refill a problem with a recorded one, as Jacobian rows where they were recorded, else as CSR.
///
/// friction_mode: an mlcp_friction_mode; MLCP_FRICTION_MODE_FROZEN takes the recorded normals, else the normals of the
/// reference solution; if the file has none, call mlcp_problem_set_frozen_normals. Returns INVALID_INDEX,
/// INVALID_VALUE, FILE with a sentence that names the field. Allocates. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_dataset_load_problem(
    dataset: *mut mlcp_dataset,
    index: usize,
    friction_mode: i32,
    problem: *mut mlcp_problem,
) -> Status {
    guard(|| unsafe {
        let mut inner = take_dataset(dataset)?;
        let mode = match friction_mode {
            0 => FrictionMode::Coupled,
            1 => FrictionMode::Frozen,
            m => return Err(Error::new(Status::InvalidValue, format_args!("friction_mode is {m}, which names none"))),
        };
        let mut problem = super::problem::take(problem)?;
        inner.problem(index)?.fill(&mut problem.problem, None, mode)
    })
}

/// Read an x recorded with a problem.
///
/// which: an mlcp_recorded_x. out_x: one double per row. Returns INVALID_STATE if none was recorded, INVALID_INDEX,
/// INVALID_SIZE, INVALID_VALUE, FILE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_dataset_get_x(
    dataset: *mut mlcp_dataset,
    index: usize,
    which: i32,
    out_x: *mut f64,
    out_x_len: usize,
) -> Status {
    guard(|| unsafe {
        let mut inner = take_dataset(dataset)?;
        let recorded = inner.problem(index)?;
        let (x, name) = match which {
            w if w == RecordedX::Start as i32 => (&recorded.x0, "x0"),
            w if w == RecordedX::Reference as i32 => (&recorded.x_ref, "x_ref"),
            w if w == RecordedX::Solution as i32 => (&recorded.x, "x"),
            w => return Err(Error::new(Status::InvalidValue, format_args!("which is {w}, which names none"))),
        };
        let x = x
            .as_ref()
            .ok_or_else(|| Error::new(Status::InvalidState, format_args!("problem {} has no {name}", recorded.name)))?;
        expect_len("out_x", out_x_len, x.len())?;
        slice_mut(out_x, out_x_len, "out_x")?.copy_from_slice(x);
        Ok(())
    })
}

/// Refill a frame with a recorded one.
///
/// index: below mlcp_dataset_frames. Returns INVALID_INDEX, FILE with a sentence that names the field; the frame then
/// stays as it was. Allocates. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_dataset_load_frame(
    dataset: *const mlcp_dataset,
    index: usize,
    frame: *mut mlcp_frame,
) -> Status {
    guard(|| unsafe {
        let inner = read_dataset(dataset)?;
        let mut frame = take_frame(frame)?;
        inner.file.frame(index, &mut frame.frame)
    })
}

/// Read the solution recorded with a frame.
///
/// out_solution: struct_size set by the caller; receives numbers, and pointers that are valid until the next call of this
/// function with this dataset. Returns INVALID_STATE if none was recorded, INVALID_INDEX, INVALID_SIZE, FILE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_dataset_get_solution(
    dataset: *mut mlcp_dataset,
    index: usize,
    out_solution: *mut mlcp_frame_solution,
) -> Status {
    guard(|| unsafe {
        let mut inner = take_dataset(dataset)?;
        let out_solution = out(out_solution, "out_solution")?;
        check_struct_size::<mlcp_frame_solution>("out_solution.struct_size", out_solution.struct_size)?;
        let solution = inner
            .file
            .frame_solution(index)?
            .ok_or_else(|| Error::new(Status::InvalidState, format_args!("frame {index} has no solution")))?;
        let lent = inner.solution.insert(Lent {
            formulation: c_string(&solution.formulation.to_string()),
            solver: c_string(&solution.solver),
            outcome: c_string(&solution.outcome),
            states: solution.states.iter().map(|&s| s as i32).collect(),
            solution,
        });
        let s = &lent.solution;
        *out_solution = mlcp_frame_solution {
            struct_size: size_of::<mlcp_frame_solution>(),
            formulation: lent.formulation.as_ptr(),
            z: s.z.as_ptr(),
            z_len: s.z.len(),
            velocities: s.velocities.as_ptr(),
            velocities_len: s.velocities.len(),
            states: lent.states.as_ptr(),
            states_len: lent.states.len(),
            errors: mlcp_frame_errors::from(&s.errors),
            iterations: i32::try_from(s.iterations).unwrap_or(i32::MAX),
            reserved: 0,
            seconds: s.seconds,
            solver: lent.solver.as_ptr(),
            outcome: lent.outcome.as_ptr(),
        };
        Ok(())
    })
}
