//! Locks of the driver's own state.
//!
//! Order, outermost first: QP control, CQ, work queue, mailbox, index pools. A panic elsewhere does not make the
//! state unusable: every change under a lock is complete before anything can fail.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, whatever happened to an earlier owner.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
