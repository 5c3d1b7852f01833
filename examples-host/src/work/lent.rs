//! Page-locked memory that host functions work on.

use libcuda::host;

/// Elements of page-locked memory, as a host function takes them along to the driver's thread.
pub struct Lent<T> {
    start: *mut T,
    len: usize,
}

// SAFETY: `get` is unsafe, and whoever calls it vouches that nobody else uses the elements.
unsafe impl<T: Send> Send for Lent<T> {}

impl<T> Lent<T> {
    /// Lends these elements.
    pub fn new(elements: &mut [T]) -> Self {
        Self {
            start: elements.as_mut_ptr(),
            len: elements.len(),
        }
    }

    /// The elements.
    ///
    /// # Safety
    /// They still exist, and nothing else uses them, on the host or on the device, as long as the slice does.
    pub unsafe fn get<'a>(self) -> &'a mut [T] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

/// Works on page-locked memory in place, through `body`: the software GPU's checker compares that with what the device reads
/// and writes, and on the modelled host the work takes as long as streaming through the elements, out and back.
#[track_caller]
pub fn in_place<T, R>(elements: &mut [T], body: impl FnOnce(&mut [T]) -> R) -> R {
    let (start, bytes) = (elements.as_ptr().cast(), size_of_val(elements));
    host::reads(start, bytes);
    host::writes(start, bytes);
    host::memory_work(2 * bytes as u64, || body(elements))
}
