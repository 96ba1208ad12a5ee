//! The boundary: panics, errors, raw pointers.

use crate::auto::Reason;
use crate::error::{Error, Result, Status};
use crate::settings::SolverKind;
use crate::solve::Outcome;
use libc::c_char;
use std::cell::RefCell;
use std::ffi::CStr;
use std::panic::{catch_unwind, AssertUnwindSafe};

const TEXT: usize = 256;

thread_local! {
    /// The last error's sentence on this thread, with a final NUL.
    static LAST_ERROR: RefCell<[u8; TEXT]> = const { RefCell::new([0; TEXT]) };
}

/// Run the body of an export.
pub(super) fn guard(body: impl FnOnce() -> Result<()>) -> Status {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        Err(Error::new(
            Status::Internal,
            format_args!("libmlcp panicked; please report it with the problem that did it"),
        ))
    });
    match result {
        Ok(()) => Status::Ok,
        Err(error) => {
            remember(&error);
            error.status()
        }
    }
}

/// Keep an error's sentence for `mlcp_last_error`.
pub(super) fn remember(error: &Error) {
    LAST_ERROR.with_borrow_mut(|text| {
        let bytes = error.message().as_bytes();
        let len = bytes.len().min(TEXT - 1);
        text[..len].copy_from_slice(&bytes[..len]);
        text[len] = 0;
    });
}

fn null(name: &str) -> Error {
    Error::new(Status::NullArgument, format_args!("{name} is NULL"))
}

fn check_buffer<T>(pointer: *const T, len: usize, name: &str) -> Result<()> {
    if pointer.is_null() {
        return Err(null(name));
    }
    if len > isize::MAX as usize / std::mem::size_of::<T>() {
        return Err(Error::new(Status::InvalidSize, format_args!("{name} has length {len}, more than memory holds")));
    }
    if !pointer.is_aligned() {
        return Err(Error::new(Status::InvalidValue, format_args!("{name} is not aligned for its type")));
    }
    Ok(())
}

/// A buffer to read; NULL only with length 0.
pub(super) unsafe fn slice<'a, T>(pointer: *const T, len: usize, name: &str) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    check_buffer(pointer, len, name)?;
    Ok(unsafe { std::slice::from_raw_parts(pointer, len) })
}

/// A buffer to read that may be left out.
pub(super) unsafe fn optional<'a, T>(pointer: *const T, len: usize, name: &str) -> Result<Option<&'a [T]>> {
    if pointer.is_null() && len == 0 {
        return Ok(None);
    }
    unsafe { slice(pointer, len, name) }.map(Some)
}

/// A buffer to write; NULL only with length 0.
pub(super) unsafe fn slice_mut<'a, T>(pointer: *mut T, len: usize, name: &str) -> Result<&'a mut [T]> {
    if len == 0 {
        return Ok(&mut []);
    }
    check_buffer(pointer, len, name)?;
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, len) })
}

/// A single value to read that may be left out.
pub(super) unsafe fn optional_ref<'a, T>(pointer: *const T, name: &str) -> Result<Option<&'a T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    check_buffer(pointer, 1, name)?;
    Ok(Some(unsafe { &*pointer }))
}

/// A single value to write.
pub(super) unsafe fn out<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T> {
    check_buffer(pointer, 1, name)?;
    Ok(unsafe { &mut *pointer })
}

/// A text with a final NUL.
pub(super) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: the caller promises a final NUL.
    unsafe { CStr::from_ptr(pointer) }
        .to_str()
        .map_err(|_| Error::new(Status::InvalidValue, format_args!("{name} is not UTF-8")))
}

/// Refuse buffers that share memory where one is written while the other is read.
pub(super) fn disjoint(read: (&[f64], &str), write: (*const f64, usize, &str)) -> Result<()> {
    let (r, w) = (read.0.as_ptr() as usize, write.0 as usize);
    let written = write.1.saturating_mul(std::mem::size_of::<f64>());
    if r < w.saturating_add(written) && w < r.saturating_add(std::mem::size_of_val(read.0)) {
        return Err(Error::new(Status::InvalidValue, format_args!("{} overlaps {}", write.2, read.1)));
    }
    Ok(())
}

/// Refuse an output buffer of the wrong length.
pub(super) fn expect_len(name: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        Ok(())
    } else {
        Err(Error::new(Status::InvalidSize, format_args!("{name} has length {found}, expected {expected}")))
    }
}

/// Sentence of the last call on this thread that did not return MLCP_STATUS_OK; empty if none.
///
/// It names the argument, the index and the value. Valid until the next failing call on this thread; never NULL; do
/// not free it. Any thread; allocates nothing. Since 0.1.
#[no_mangle]
pub extern "C" fn mlcp_last_error() -> *const c_char {
    LAST_ERROR.with(|text| text.as_ptr() as *const c_char)
}

/// Version of the library, for example "0.1.0". Static text. Any thread. Since 0.1.
#[no_mangle]
pub extern "C" fn mlcp_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr() as *const c_char
}

/// Name of an mlcp_status, "unknown" for any other number. Static text. Any thread. Since 0.1.
#[no_mangle]
pub extern "C" fn mlcp_status_name(status: i32) -> *const c_char {
    let status = Status::ALL.into_iter().find(|&s| s as i32 == status);
    status.map_or(c"unknown", Status::c_name).as_ptr()
}

/// Name of an mlcp_outcome, "unknown" for any other number. Static text. Any thread. Since 0.1.
#[no_mangle]
pub extern "C" fn mlcp_outcome_name(outcome: i32) -> *const c_char {
    let found = Outcome::ALL.into_iter().find(|o| *o as i32 == outcome);
    found.map_or(c"unknown", Outcome::c_name).as_ptr()
}

/// Sentence that says why a solver ran; "unknown" for a number that is no mlcp_reason. Static text. Any thread.
/// Since 0.1.
#[no_mangle]
pub extern "C" fn mlcp_reason_text(reason: i32) -> *const c_char {
    let reason = Reason::ALL.into_iter().find(|&r| r as i32 == reason);
    reason.map_or(c"unknown", Reason::text).as_ptr()
}

/// Short name of an mlcp_solver_kind, such as "bpp"; "unknown" for any other number. Static text. Any thread. Since 0.1.
#[no_mangle]
pub extern "C" fn mlcp_solver_kind_name(kind: i32) -> *const c_char {
    SolverKind::from_number(kind).map_or(c"unknown", SolverKind::c_name).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names that C gets are those of Rust's logs and of recordings.
    #[test]
    fn outcome_names_are_those_of_outcome() {
        let all = Outcome::ALL;
        for (number, outcome) in all.into_iter().enumerate() {
            assert_eq!(outcome as usize, number);
            // SAFETY: a static text with a final NUL.
            let name = unsafe { CStr::from_ptr(mlcp_outcome_name(number as i32)) };
            assert_eq!(name.to_str(), Ok(outcome.name()));
        }
        let beyond = unsafe { CStr::from_ptr(mlcp_outcome_name(all.len() as i32)) };
        assert_eq!(beyond, c"unknown", "a new outcome belongs into Outcome::ALL");
    }
}
