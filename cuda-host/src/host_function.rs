//! What a function works on that a stream calls (`cuLaunchHostFunc`).

/// Elements of page-locked memory, as a host function takes them along to the driver's thread.
pub struct Lent<T> {
    start: *mut T,
    len: usize,
}

// SAFETY: `get` is unsafe, and its caller guarantees that nothing else uses the elements.
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
