//! Recordings and problem files: HDF5, readable by h5py, MATLAB and `h5ls`; and FCLIB's files.
//!
//! [`Dataset`] reads and trusts no file: what is corrupt, truncated or hostile is refused with a sentence that names
//! file, problem or frame, and field, and no more memory is taken than the file's own length allows.

mod problem;
mod source;

pub use problem::{Form, JacobianRows, MatrixRows, Recorded};

use crate::error::{Error, Result, Status};
use source::{Fields, Source};
use std::path::Path;

/// An open file of problems.
pub struct Dataset {
    source: Source,
    problems: Vec<(String, Fields)>,
}

impl Dataset {
    /// Open a file and list what is in it.
    pub fn open(path: &Path) -> Result<Dataset> {
        let source = Source::open(path)?;
        let root = source.root();
        let problems = match root.group("problems") {
            Some(group) => group.groups().map_err(|e| source.refuse(&format!("/problems {e}")))?,
            None => return Err(source.refuse("has no group /problems")),
        };
        Ok(Dataset { source, problems })
    }

    /// Number of problems.
    pub fn problems(&self) -> usize {
        self.problems.len()
    }

    /// Name of a problem; they are sorted by name.
    pub fn problem_name(&self, index: usize) -> Option<&str> {
        self.problems.get(index).map(|p| p.0.as_str())
    }

    /// Read and check a problem.
    pub fn problem(&self, index: usize) -> Result<Recorded> {
        let (name, fields) = self.problems.get(index).ok_or_else(|| {
            Error::new(
                Status::InvalidIndex,
                format_args!("problem is {index}, {} has {}", self.source.name(), self.problems.len()),
            )
        })?;
        problem::read(fields, name).map_err(|e| self.source.refuse(&format!("problem {name}: {e}")))
    }
}
