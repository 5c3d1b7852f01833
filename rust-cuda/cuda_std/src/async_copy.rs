//! Copies from global to shared memory that the thread does not wait for, in groups.
//!
//! They are of sm_80 and later: in a module for an older architecture a call is an error of the driver, or of `ptxas`, which names
//! the instruction. [`extensions::async_copy`](crate::extensions::async_copy) has those that an mbarrier counts.
//!
//! PTX ISA, *Data Movement and Conversion Instructions: Asynchronous copy*.

use crate::gpu_only;

/// The shared address of `dst`, then the copy.
#[cfg(target_os = "cuda")]
macro_rules! copy {
    ($cache:literal, $dst:expr, $src:expr, $bytes:expr) => {
        core::arch::asm!(
            "{{ .reg .b64 to, from;",
            "cvta.to.shared.u64 to, {dst};",
            "cvta.to.global.u64 from, {src};",
            concat!("cp.async.", $cache, ".shared.global [to], [from], {bytes}; }}"),
            dst = in(reg64) $dst,
            src = in(reg64) $src,
            bytes = const $bytes,
            options(nostack, preserves_flags),
        )
    };
}

/// Begins to copy one value of 4, 8 or 16 bytes, through the first-level cache (PTX `cp.async.ca`).
///
/// # Safety
/// `dst` is in shared memory, `src` in global memory, both are aligned to the value's size, and nothing uses `dst` or writes `src`
/// until the copy has been waited for.
#[gpu_only]
pub unsafe fn cp_async_ca<T>(dst: *mut T, src: *const T) {
    const { assert!(matches!(size_of::<T>(), 4 | 8 | 16), "4, 8 or 16 bytes") };
    // SAFETY: the caller's.
    unsafe { copy!("ca", dst, src, size_of::<T>()) }
}

/// Begins to copy one value of 16 bytes, past the first-level cache (PTX `cp.async.cg`).
///
/// # Safety
/// As for [`cp_async_ca`].
#[gpu_only]
pub unsafe fn cp_async_cg<T>(dst: *mut T, src: *const T) {
    const { assert!(size_of::<T>() == 16, "16 bytes") };
    // SAFETY: the caller's.
    unsafe { copy!("cg", dst, src, size_of::<T>()) }
}

/// Makes a group of the thread's copies since the last one (PTX `cp.async.commit_group`).
#[gpu_only]
pub fn cp_async_commit_group() {
    // SAFETY: no preconditions.
    unsafe { core::arch::asm!("cp.async.commit_group;", options(nostack, preserves_flags)) }
}

/// Waits until at most the `N` youngest of the thread's groups are under way (PTX `cp.async.wait_group`).
#[gpu_only]
pub fn cp_async_wait_group<const N: u32>() {
    // SAFETY: no preconditions.
    unsafe {
        core::arch::asm!("cp.async.wait_group {};", const N, options(nostack, preserves_flags));
    }
}

/// Waits for all of the thread's copies (PTX `cp.async.wait_all`).
#[gpu_only]
pub fn cp_async_wait_all() {
    // SAFETY: no preconditions.
    unsafe { core::arch::asm!("cp.async.wait_all;", options(nostack, preserves_flags)) }
}
