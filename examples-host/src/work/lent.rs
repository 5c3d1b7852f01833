//! Page-locked memory that host functions work on.

use libcuda::host;

/// Works on page-locked memory in place, through `body`: the software GPU's checker compares that with what the device reads
/// and writes, and on the modelled host the work takes as long as streaming through the elements, out and back.
#[track_caller]
pub fn in_place<T, R>(elements: &mut [T], body: impl FnOnce(&mut [T]) -> R) -> R {
    let (start, bytes) = (elements.as_ptr().cast(), size_of_val(elements));
    host::reads(start, bytes);
    host::writes(start, bytes);
    host::memory_work(2 * bytes as u64, || body(elements))
}
