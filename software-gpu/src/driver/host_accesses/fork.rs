//! What a child process finds after `fork`: page-locked memory of its own, with the contents of that moment, and all of it open.
//!
//! The pages are shared between two mappings, and so `fork` would share them between two processes.

use std::cell::UnsafeCell;
use std::sync::{MutexGuard, Once};

use super::protection::{self, Protections};

/// The lock on the protections while the process forks.
struct Held(UnsafeCell<Option<MutexGuard<'static, Protections>>>);

// SAFETY: only the thread that forks uses it, between `before` and `after` or `in_child`, and holds the lock meanwhile.
unsafe impl Sync for Held {}

static HELD: Held = Held(UnsafeCell::new(None));

/// From now on, a child process gets memory of its own.
pub(super) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the functions stay where they are: this code is never unloaded.
        unsafe { libc::pthread_atfork(Some(before), Some(after), Some(in_child)) };
    });
}

extern "C" fn before() {
    let guard = protection::lock();
    // SAFETY: see `Held`.
    unsafe { *HELD.0.get() = Some(guard) };
}

extern "C" fn after() {
    // SAFETY: see `Held`.
    drop(unsafe { (*HELD.0.get()).take() });
}

extern "C" fn in_child() {
    // SAFETY: see `Held`. The child's only thread is the one that has forked.
    if let Some(mut protections) = unsafe { (*HELD.0.get()).take() } {
        protections.leave_parent();
    }
}
