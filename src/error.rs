//! What can be wrong with a call: a status that C sees as a number, and a sentence.
//!
//! The sentence lives in a fixed buffer, so that reporting an error allocates nothing.

use std::ffi::CStr;
use std::fmt::{self, Write};

/// Was the call legal? Says nothing about how well a problem was solved: that is the outcome.
///
/// Numbers are part of the ABI and never reused. `mlcp_last_error()` has the sentence to each.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The call did what it says.
    Ok = 0,
    /// A pointer that may not be NULL is NULL.
    NullArgument = 1,
    /// A length does not fit the problem, or a size overflows.
    InvalidSize = 2,
    /// A number is NaN, infinite or out of range where that is not allowed.
    InvalidValue = 3,
    /// A row, column or body index is out of range or out of order.
    InvalidIndex = 4,
    /// The solver or measure cannot treat this problem.
    Unsupported = 5,
    /// A row has a diagonal a_ii <= 0, so it has no effective mass and no energy.
    NoEnergy = 6,
    /// The matrix is singular where its inverse is needed.
    Singular = 7,
    /// Something must be set first, or does not go with what was set.
    InvalidState = 8,
    /// The handle is in use: a call from inside its own callback, or from another thread.
    Busy = 9,
    /// Memory could not be had.
    OutOfMemory = 10,
    /// A defect in libmlcp was caught at the boundary; the handle only accepts destroy.
    Internal = 11,
    /// A file cannot be opened, read or written, or is not what it claims to be.
    File = 12,
}

impl Status {
    /// Every status, in the order of their numbers.
    pub const ALL: [Status; 13] = [
        Status::Ok,
        Status::NullArgument,
        Status::InvalidSize,
        Status::InvalidValue,
        Status::InvalidIndex,
        Status::Unsupported,
        Status::NoEnergy,
        Status::Singular,
        Status::InvalidState,
        Status::Busy,
        Status::OutOfMemory,
        Status::Internal,
        Status::File,
    ];

    /// Stable text of the status, for logs.
    pub fn name(self) -> &'static str {
        self.c_name().to_str().unwrap_or("")
    }

    /// Stable text of the status for C, the only table of these names.
    pub fn c_name(self) -> &'static CStr {
        match self {
            Status::Ok => c"ok",
            Status::NullArgument => c"null argument",
            Status::InvalidSize => c"invalid size",
            Status::InvalidValue => c"invalid value",
            Status::InvalidIndex => c"invalid index",
            Status::Unsupported => c"unsupported",
            Status::NoEnergy => c"no energy",
            Status::Singular => c"singular",
            Status::InvalidState => c"invalid state",
            Status::Busy => c"busy",
            Status::OutOfMemory => c"out of memory",
            Status::Internal => c"internal error",
            Status::File => c"file",
        }
    }
}

/// A refused call: what kind of mistake, and a sentence naming argument, index and value.
#[derive(Clone, Copy)]
pub struct Error {
    status: Status,
    text: Text,
}

/// Shorthand used throughout the crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Build an error; call it as `Error::new(Status::InvalidValue, format_args!("b[{i}] is {v}"))`.
    pub fn new(status: Status, sentence: fmt::Arguments<'_>) -> Self {
        let mut text = Text::EMPTY;
        // A sentence that does not fit is cut; that is not worth a second error.
        let _ = text.write_fmt(sentence);
        Error { status, text }
    }

    /// The kind of mistake.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The sentence.
    pub fn message(&self) -> &str {
        self.text.as_str()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.status, self.message())
    }
}

impl std::error::Error for Error {}

/// A sentence in place.
#[derive(Clone, Copy)]
struct Text {
    bytes: [u8; Text::CAPACITY],
    len: usize,
}

impl Text {
    const CAPACITY: usize = 240;
    const EMPTY: Text = Text { bytes: [0; Text::CAPACITY], len: 0 };

    fn as_str(&self) -> &str {
        // Only whole characters are ever appended.
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or("")
    }
}

impl Write for Text {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let room = Text::CAPACITY - self.len;
        let mut take = s.len().min(room);
        while !s.is_char_boundary(take) {
            take -= 1;
        }
        self.bytes[self.len..self.len + take].copy_from_slice(&s.as_bytes()[..take]);
        self.len += take;
        if take < s.len() {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}
