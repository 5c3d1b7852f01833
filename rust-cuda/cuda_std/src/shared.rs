//! Shared memory.

#[doc(hidden)]
#[cfg(not(target_os = "cuda"))]
pub fn host_has_none<T>() -> *mut T {
    panic!("cuda_std: shared memory exists only on the GPU")
}
