//! Arrays that graph calls take and return.

use super::params::EdgeData;
use crate::driver::c_abi::errors::CudaError;

/// An array that the program passes.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for no array in the place of some elements.
///
/// # Safety
/// The array is null or has `count` elements.
pub(super) unsafe fn input<'a, T>(start: *const T, count: usize) -> Result<&'a [T], CudaError> {
    match (start.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(CudaError::InvalidValue),
        // SAFETY: the caller's promise.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(start, count) }),
    }
}

/// Refuses edges that mean something else than "after the end of".
///
/// # Errors
/// `CUDA_ERROR_NOT_SUPPORTED`, by name.
///
/// # Safety
/// As [`input`], for edges.
pub(super) unsafe fn full_edges(
    call: &str,
    data: *const EdgeData,
    count: usize,
) -> Result<(), CudaError> {
    if data.is_null() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    let data = unsafe { input(data, count) }?;
    if data.iter().any(|edge| *edge != EdgeData::default()) {
        crate::say!("software GPU: {call}: programmatic dependencies are not supported");
        return Err(CudaError::NotSupported);
    }
    Ok(())
}

/// Returns `values` as the graph queries do: without an array only their number; else as many as it has room for, and
/// null in the places beyond, and the number of those that were written.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` without a place for the number.
///
/// # Safety
/// `array` is null or has as many places as `count` says.
pub(super) unsafe fn output<T: Copy>(
    values: &[T],
    null: T,
    array: *mut T,
    count: *mut usize,
) -> Result<(), CudaError> {
    // SAFETY: a caller of an entry point passes null or a number.
    let room = unsafe { count.as_ref() }.copied();
    let room = room.ok_or(CudaError::InvalidValue)?;
    let returned = if array.is_null() {
        values.len()
    } else {
        for place in 0..room {
            let value = values.get(place).copied().unwrap_or(null);
            // SAFETY: the caller's promise.
            unsafe { array.add(place).write(value) };
        }
        room.min(values.len())
    };
    // SAFETY: it was not null.
    unsafe { count.write(returned) };
    Ok(())
}

/// Reads one set of parameters.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for null.
///
/// # Safety
/// The pointer is null or points to parameters of this type.
pub(super) unsafe fn parameters<T: Copy>(from: *const T) -> Result<T, CudaError> {
    // SAFETY: the caller's promise.
    unsafe { from.as_ref() }
        .copied()
        .ok_or(CudaError::InvalidValue)
}
