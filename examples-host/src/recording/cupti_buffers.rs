//! The buffers that CUPTI fills with records.
//!
//! CUPTI asks for a buffer within a call of the program and clears it. In memory that is new to the process each page would then
//! keep that call until the system has found it: hundreds of microseconds for a buffer. So buffers are used again, and those for
//! the beginning of a recording are made before it.

use std::alloc::{self, Layout};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a buffer: some two thousand records.
pub(super) const BYTES: usize = 256 << 10;
/// CUPTI's records begin at multiples of 8 bytes.
const LAYOUT: Layout = match Layout::from_size_align(BYTES, 8) {
    Ok(layout) => layout,
    Err(_) => panic!("a valid layout"),
};
/// How many buffers there are when a recording begins.
const READY: usize = 2;

/// Those that CUPTI does not have.
static UNUSED: Mutex<Vec<Buffer>> = Mutex::new(Vec::new());

struct Buffer(*mut u8);

// SAFETY: the memory belongs to the holder of the pointer.
unsafe impl Send for Buffer {}

fn unused() -> MutexGuard<'static, Vec<Buffer>> {
    UNUSED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the buffers for the beginning of a recording, and has the system find all their pages.
pub(super) fn prepare() {
    while unused().len() < READY {
        let buffer = allocated();
        if buffer.is_null() {
            return;
        }
        // SAFETY: it was allocated with as many bytes.
        unsafe { ptr::write_bytes(buffer, 1, BYTES) };
        unused().push(Buffer(buffer));
    }
}

/// A buffer of [`BYTES`], or null where there is no memory.
pub(super) fn take() -> *mut u8 {
    let used_before = unused().pop();
    used_before.map_or_else(allocated, |buffer| buffer.0)
}

/// Keeps a buffer for the next request.
///
/// # Safety
/// [`take`] returned it, and nothing uses it.
pub(super) unsafe fn give_back(buffer: *mut u8) {
    unused().push(Buffer(buffer));
}

fn allocated() -> *mut u8 {
    // SAFETY: the layout is not of zero size.
    unsafe { alloc::alloc(LAYOUT) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_comes_back_is_the_next_one_taken() {
        prepare();
        let first = take();
        // SAFETY: it was taken above.
        unsafe { give_back(first) };
        assert_eq!(take(), first);
        // SAFETY: as above.
        unsafe { give_back(first) };
    }
}
