//! Buffers that grow, or say that there is no memory.
//!
//! Large ones ask for large pages: a sweep over a million rows reads more pages of 4 KiB than a processor remembers the
//! places of, and most Linux systems leave it to programs to ask for better. Beside `src/ffi` and `linalg/lanes.rs` the one
//! place with `unsafe`.

use crate::error::{Error, Result, Status};

/// Make `v` hold exactly `len` copies of `value`, reusing its capacity; memory that cannot be had is an error.
pub(crate) fn refill<T: Clone>(v: &mut Vec<T>, len: usize, value: T) -> Result<()> {
    v.clear();
    reserve(v, len)?;
    v.resize(len, value);
    Ok(())
}

/// Make `v` hold `len` entries that are overwritten before they are read: those that are there may stay.
#[inline(always)]
pub(crate) fn resize<T: Clone>(v: &mut Vec<T>, len: usize, value: T) -> Result<()> {
    if v.len() != len {
        reserve(v, len)?;
        v.resize(len, value);
    }
    Ok(())
}

/// Make sure `v` can hold `len` entries without allocating again.
#[inline(always)]
pub(crate) fn reserve<T>(v: &mut Vec<T>, len: usize) -> Result<()> {
    if v.capacity() < len {
        grow(v, len)?;
    }
    Ok(())
}

#[cold]
fn grow<T>(v: &mut Vec<T>, len: usize) -> Result<()> {
    v.try_reserve_exact(len - v.len()).map_err(|_| {
        Error::new(Status::OutOfMemory, format_args!("no memory for {len} entries of {} bytes", size_of::<T>()))
    })?;
    ask_for_large_pages(v);
    Ok(())
}

/// Ask for large pages inside `v`, if it has room for some. What comes of it is a matter of speed alone.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn ask_for_large_pages<T>(v: &mut Vec<T>) {
    const LARGE: usize = 1 << 21;
    let begin = v.as_mut_ptr() as usize;
    let (first, last) = (begin.next_multiple_of(LARGE), (begin + v.capacity() * size_of::<T>()) / LARGE * LARGE);
    if first < last {
        // SAFETY: whole pages inside the buffer, whose contents stay as they are.
        unsafe { libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages<T>(_: &mut Vec<T>) {}
