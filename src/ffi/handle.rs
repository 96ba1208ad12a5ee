//! Handles that know whether they are in use.
//!
//! A call that changes a handle takes it exclusively; a call that reads takes it shared. A clash, from another thread
//! or from inside a callback, is answered with BUSY instead of a data race. A panic while a handle is held exclusively
//! poisons it.

use crate::error::{Error, Result, Status};
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

const EXCLUSIVE: i32 = -1;

/// What a C handle points at.
pub struct Handle<T> {
    users: AtomicI32,
    poisoned: AtomicBool,
    value: UnsafeCell<T>,
}

impl<T> Handle<T> {
    pub fn new(value: T) -> Self {
        Handle { users: AtomicI32::new(0), poisoned: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    fn check(&self, name: &str) -> Result<()> {
        if self.poisoned.load(Ordering::Acquire) {
            return Err(Error::new(
                Status::Internal,
                format_args!("{name} was left half-changed by a defect in libmlcp; destroy it"),
            ));
        }
        Ok(())
    }

    fn busy(name: &str) -> Error {
        Error::new(Status::Busy, format_args!("{name} is in use, by its own callback or by another thread"))
    }

    /// Take the handle to change it.
    pub fn exclusive(&self, name: &str) -> Result<Exclusive<'_, T>> {
        self.check(name)?;
        self.users
            .compare_exchange(0, EXCLUSIVE, Ordering::Acquire, Ordering::Relaxed)
            .map_err(|_| Self::busy(name))?;
        Ok(Exclusive(self))
    }

    /// Take the handle to read it.
    pub fn shared(&self, name: &str) -> Result<Shared<'_, T>> {
        self.check(name)?;
        self.users
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |users| (users >= 0).then_some(users + 1))
            .map_err(|_| Self::busy(name))?;
        Ok(Shared(self))
    }
}

/// A handle held to change it.
pub struct Exclusive<'a, T>(&'a Handle<T>);
/// A handle held to read it.
pub struct Shared<'a, T>(&'a Handle<T>);

impl<T> Deref for Exclusive<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: `users` is EXCLUSIVE while this lives, so no other reference exists.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Exclusive<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Deref for Shared<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: `users` is positive while this lives, so no exclusive reference exists.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> Drop for Exclusive<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.poisoned.store(true, Ordering::Release);
        }
        self.0.users.store(0, Ordering::Release);
    }
}

impl<T> Drop for Shared<'_, T> {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Ordering::Release);
    }
}
