//! The C interface: every export called wrongly, the headers, and the C and C++ examples.
//!
//! Modules other than `ffi_misuse` run compilers; `make check` leaves them out.

#[path = "../common/toolchain.rs"]
#[allow(dead_code)]
mod toolchain;

mod c_examples;
mod ffi_misuse;
mod header;
mod readme;
