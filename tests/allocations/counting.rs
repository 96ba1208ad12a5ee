//! An allocator that counts what the current thread takes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    // Plain cells without destructors: reading them allocates nothing.
    static ARMED: Cell<bool> = const { Cell::new(false) };
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn note(size: usize) {
    // A thread that is being torn down is not one under test.
    if ARMED.try_with(Cell::get).unwrap_or(false) {
        CALLS.set(CALLS.get() + 1);
        LARGEST.set(LARGEST.get().max(size));
        // What follows allocates itself.
        ARMED.set(false);
        if std::env::var_os("MLCP_TRACE_ALLOCATIONS").is_some() {
            eprintln!("{size} bytes\n{}", std::backtrace::Backtrace::force_capture());
        }
        ARMED.set(true);
    }
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        unsafe { System.realloc(pointer, layout, size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What was taken while something ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    pub calls: usize,
    pub largest: usize,
}

impl Taken {
    /// Set MLCP_TRACE_ALLOCATIONS to see where from.
    pub fn assert_none(self, what: &str) {
        assert_eq!(self.calls, 0, "{what}: {} allocations, the largest of {} bytes", self.calls, self.largest);
    }
}

/// Run and count what this thread takes meanwhile.
pub fn count<T>(run: impl FnOnce() -> T) -> (Taken, T) {
    CALLS.set(0);
    LARGEST.set(0);
    ARMED.set(true);
    let result = run();
    ARMED.set(false);
    (Taken { calls: CALLS.get(), largest: LARGEST.get() }, result)
}

pub fn last_error() -> String {
    unsafe { std::ffi::CStr::from_ptr(mlcp::ffi::mlcp_last_error()) }.to_string_lossy().into_owned()
}

/// The counter counts.
#[test]
fn counting_counts() {
    let (taken, kept) = count(|| vec![1u8; 100]);
    assert_eq!((taken.calls, taken.largest, kept.len()), (1, 100, 100));
    let (taken, _) = count(|| std::hint::black_box(1 + 1));
    assert_eq!(taken.calls, 0);
}
