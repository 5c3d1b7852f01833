//! The arguments of a launch, in the layout that the kernel declares.

use std::ffi::c_void;

use super::readable::{self, Piece};
use crate::driver::c_abi::errors::CudaError;
use crate::driver::reasons::WrongArguments;
use crate::exec::ExecutableKernel;

/// `CU_LAUNCH_PARAM_END`, `_BUFFER_POINTER` and `_BUFFER_SIZE`.
const END: usize = 0;
const BUFFER_POINTER: usize = 1;
const BUFFER_SIZE: usize = 2;

/// Copies the arguments from one of the two forms of `cuLaunchKernel`: a pointer to each of them, or one buffer.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` when both forms are used, none although the kernel takes arguments, or something is
/// missing.
///
/// # Safety
/// `arguments` is null or has a pointer for each parameter of the kernel, to as many bytes as it has; `extra` is null
/// or a list of options that ends with `CU_LAUNCH_PARAM_END`.
pub(in crate::driver) unsafe fn collect(
    kernel: &ExecutableKernel,
    arguments: *const *const c_void,
    extra: *const *const c_void,
) -> Result<Vec<u8>, CudaError> {
    match (arguments.is_null(), extra.is_null()) {
        (true, true) if kernel.parameters().is_empty() => Ok(Vec::new()),
        // SAFETY: the caller's promise.
        (false, true) => unsafe { from_pointers(kernel, arguments) },
        // SAFETY: the caller's promise.
        (true, false) => unsafe { from_buffer(kernel, extra) },
        (true, true) => Err(WrongArguments::Missing.refuse(kernel)),
        (false, false) => Err(WrongArguments::Twice.refuse(kernel)),
    }
}

/// # Safety
/// As for [`collect`], and `arguments` is not null. On Linux the pointers in the array may be wrong.
unsafe fn from_pointers(
    kernel: &ExecutableKernel,
    arguments: *const *const c_void,
) -> Result<Vec<u8>, CudaError> {
    let mut buffer = vec![0; kernel.parameter_bytes()];
    let pieces = kernel.parameters().iter().enumerate();
    let pieces: Vec<Piece> = pieces
        .map(|(index, parameter)| {
            let start = parameter.offset as usize;
            Piece {
                // SAFETY: there is a pointer for each parameter.
                from: unsafe { *arguments.add(index) }.expose_provenance(),
                to: start..start + parameter.bytes as usize,
            }
        })
        .collect();
    let end = arguments.wrapping_add(pieces.len()).cast();
    let refuse =
        |index: usize| WrongArguments::Unreadable(index, pieces[index].from).refuse(kernel);
    if let Some(index) = pieces.iter().position(|piece| piece.from == 0) {
        return Err(refuse(index));
    }
    // SAFETY: each argument has as many bytes as its parameter.
    unsafe { readable::copy(&pieces, &mut buffer, end) }.map_err(refuse)?;
    Ok(buffer)
}

/// # Safety
/// As for [`collect`], and `extra` is not null.
unsafe fn from_buffer(
    kernel: &ExecutableKernel,
    extra: *const *const c_void,
) -> Result<Vec<u8>, CudaError> {
    let (mut start, mut bytes) = (std::ptr::null(), None);
    let mut next = extra;
    loop {
        // SAFETY: the list continues until its end mark, and each option has a value behind it.
        let (option, value) = unsafe {
            match next.read() as usize {
                END => break,
                option => (option, next.add(1).read()),
            }
        };
        match option {
            BUFFER_POINTER => start = value.cast::<u8>(),
            // SAFETY: this option's value points to a size.
            BUFFER_SIZE => bytes = unsafe { value.cast::<usize>().as_ref() }.copied(),
            _ => return Err(CudaError::InvalidValue),
        }
        // SAFETY: as above.
        next = unsafe { next.add(2) };
    }
    let needed = kernel.parameter_bytes();
    if start.is_null() || bytes.is_none_or(|bytes| bytes < needed) {
        return Err(WrongArguments::ShortBuffer(bytes.unwrap_or(0)).refuse(kernel));
    }
    // SAFETY: the buffer has at least `needed` bytes.
    Ok(unsafe { std::slice::from_raw_parts(start, needed) }.to_vec())
}
