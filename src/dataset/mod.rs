//! Recordings and problem files: HDF5, readable by h5py, MATLAB and `h5ls`; FCLIB's files, and Siconos' texts.
//!
//! [`Recorder`] writes from inside a game loop, one group per frame or problem, and a killed process leaves a file that
//! opens. [`Dataset`] reads, and trusts no file: what is corrupt, truncated or hostile is refused with a sentence that
//! names file, problem or frame, and field, and no more memory is taken than the file's own length allows.

mod fclib;
mod fclib_problem;
mod frame;
mod hdf5;
mod problem;
mod recorder;
mod siconos;
mod source;

pub use fclib::{Fclib, FclibEquations, FclibMatrix, FclibSolution};
pub use frame::FrameSolution;
pub use problem::{EngineSolution, Form, JacobianRows, MatrixRows, Recorded};
pub use recorder::{Recorder, RecorderCounts, RecorderOptions, WhenFull};

use crate::error::{Error, Result, Status};
use crate::multibody::Frame;
use source::{Fields, Opened};
use std::path::Path;

/// The root attribute `schema` of recordings; files of problems only say `mlcp-problems`.
const SCHEMA: &str = "mlcp-recording";
/// The newest version of the layout. Older ones stay readable.
const VERSION: i32 = 1;

/// An open file of frames and problems.
pub struct Dataset {
    name: String,
    /// The root group; none of a text.
    root: Option<Fields>,
    problems: Vec<(String, Fields)>,
    frames: Vec<(String, Fields)>,
    /// The one problem of an FCLIB file or of a text, and the same as ours.
    fclib: Option<(Fclib, Recorded)>,
}

impl Dataset {
    /// Open a file and list what is in it.
    pub fn open(path: &Path) -> Result<Dataset> {
        let name = source::short_name(path);
        let refuse = |what: String| source::refuse(&name, &what);
        let root = match source::open(path).map_err(refuse)? {
            Opened::Text(text) => {
                let says = |what| refuse(format!("read as a friction problem in Siconos' text format, it {what}"));
                let fclib = siconos::read(&text).map_err(says)?;
                return Dataset::of_one_problem(name, None, path, fclib);
            }
            Opened::Hdf5(root) => root,
        };
        if fclib::is_fclib(&root) {
            let fclib = fclib::read(&root).map_err(refuse)?;
            return Dataset::of_one_problem(name, Some(root), path, fclib);
        }
        let version = root.number("version").map_err(refuse)?.unwrap_or(1.0);
        if version > f64::from(VERSION) {
            let what = format!("has version {version} of the layout, this library reads up to {VERSION}");
            return Err(refuse(what));
        }
        let list = |name: &str| match root.group(name) {
            Some(group) => group.groups().map(Some).map_err(|e| refuse(format!("/{name} {e}"))),
            None => Ok(None),
        };
        let (problems, frames) = (list("problems")?, list("frames")?);
        if problems.is_none() && frames.is_none() {
            return Err(refuse("has neither a group /problems nor /frames".into()));
        }
        let (problems, frames) = (problems.unwrap_or_default(), frames.unwrap_or_default());
        Ok(Dataset { name, root: Some(root), problems, frames, fclib: None })
    }

    fn of_one_problem(name: String, root: Option<Fields>, path: &Path, fclib: Fclib) -> Result<Dataset> {
        let stem = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let recorded = fclib.to_recorded(&stem)?;
        Ok(Dataset { name, root, problems: Vec::new(), frames: Vec::new(), fclib: Some((fclib, recorded)) })
    }

    /// A text attribute of the file, such as `engine` or `library`.
    pub fn attribute(&self, name: &str) -> Option<String> {
        self.root.as_ref()?.text(name).ok().flatten()
    }

    /// Number of problems.
    pub fn problems(&self) -> usize {
        self.problems.len() + usize::from(self.fclib.is_some())
    }

    /// Name of a problem; they are sorted by name. The one problem of an FCLIB file is named after the file.
    pub fn problem_name(&self, index: usize) -> Option<&str> {
        match (&self.fclib, index) {
            (Some((_, recorded)), 0) => Some(&recorded.name),
            _ => self.problems.get(index).map(|p| p.0.as_str()),
        }
    }

    /// What an FCLIB file, or a text of Siconos', holds.
    pub fn fclib(&self) -> Option<&Fclib> {
        self.fclib.as_ref().map(|f| &f.0)
    }

    /// Read and check a problem.
    pub fn problem(&self, index: usize) -> Result<Recorded> {
        if let (Some((_, recorded)), 0) = (&self.fclib, index) {
            return Ok(recorded.clone());
        }
        let (name, fields) = self.member("problem", &self.problems, index)?;
        problem::read(fields, name).map_err(|e| self.refuse(format!("problem {name}: {e}")))
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Read and check a frame; on an error `frame` stays as it was.
    pub fn frame(&self, index: usize, frame: &mut Frame) -> Result<()> {
        let (name, fields) = self.member("frame", &self.frames, index)?;
        frame::read(fields, frame).map_err(|e| self.refuse(format!("frame {name}: {e}")))
    }

    /// Read the solution of a frame, if it has one.
    pub fn frame_solution(&self, index: usize) -> Result<Option<FrameSolution>> {
        let (name, fields) = self.member("frame", &self.frames, index)?;
        frame::read_solution(fields).map_err(|e| self.refuse(format!("frame {name}: {e}")))
    }

    fn refuse(&self, what: String) -> Error {
        source::refuse(&self.name, &what)
    }

    fn member<'a>(&self, what: &str, list: &'a [(String, Fields)], index: usize) -> Result<(&'a str, &'a Fields)> {
        match list.get(index) {
            Some((name, fields)) => Ok((name, fields)),
            None => Err(Error::new(
                Status::InvalidIndex,
                format_args!("{what} is {index}, {} has {}", self.name, list.len()),
            )),
        }
    }
}
