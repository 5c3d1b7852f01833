//! Copies from global to shared memory that a thread issues and does not wait for.
//!
//! A thread's copies go into groups: [`commit_group`] closes one, [`wait_group`] waits until all but the latest few
//! of the thread's own groups are complete. Other threads see the copied bytes after a barrier behind that wait, or through an
//! mbarrier object: [`Mbarrier::arrive_after_copies`](crate::extensions::mbarrier::Mbarrier::arrive_after_copies).
//!
//! All of this needs sm_80 (and PTX 7.1, for mbarriers); in a build for older GPUs it does not exist.
//!
//! PTX ISA, *Data Movement and Conversion Instructions: cp.async, cp.async.commit_group, cp.async.wait_group*.

#[cfg(target_os = "cuda")]
use core::arch::asm;

use crate::extensions::SharedPtr;
use crate::gpu_only;

macro_rules! copies {
    ($($function:ident, $instruction:literal, $doc:literal;)*) => {$(
        #[doc = $doc]
        ///
        /// # Safety
        /// Both sides are valid for that many bytes and aligned to them; `from` is in global memory; no other thread accesses `to`,
        /// and no thread writes to `from`, until the copy is complete.
        #[gpu_only]
        pub unsafe fn $function<T>(to: SharedPtr<T>, from: *const T) {
            // SAFETY: the caller's.
            unsafe {
                asm!(
                    "{{ .reg .b64 from; cvta.to.global.u64 from, {1};",
                    concat!($instruction, "; }}"),
                    in(reg32) to.address(),
                    in(reg64) from,
                    options(nostack, preserves_flags),
                );
            }
        }
    )*};
}

copies! {
    copy_4, "cp.async.ca.shared.global [{0}], [from], 4", "Copies 4 bytes (PTX `cp.async.ca`).";
    copy_8, "cp.async.ca.shared.global [{0}], [from], 8", "Copies 8 bytes (PTX `cp.async.ca`).";
    copy_16, "cp.async.cg.shared.global [{0}], [from], 16",
        "Copies 16 bytes, past the first-level cache (PTX `cp.async.cg`).";
}

/// Copies the first `bytes` of 16 bytes, 0 to 16, and writes zeros after them (PTX `cp.async.cg` with a source size). Of
/// `from` no more than these bytes are read.
///
/// # Safety
/// As for [`copy_16`], but that `from` is valid for that many bytes.
#[gpu_only]
pub unsafe fn copy_16_zero_filled<T>(to: SharedPtr<T>, from: *const T, bytes: u32) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "{{ .reg .b64 from; cvta.to.global.u64 from, {1};",
            "cp.async.cg.shared.global [{0}], [from], 16, {2}; }}",
            in(reg32) to.address(),
            in(reg64) from,
            in(reg32) bytes,
            options(nostack, preserves_flags),
        );
    }
}

/// Closes the group of the copies that this thread has issued since the last time (PTX `cp.async.commit_group`).
#[gpu_only]
pub fn commit_group() {
    // SAFETY: no preconditions.
    unsafe { asm!("cp.async.commit_group;", options(nostack, preserves_flags)) }
}

/// Waits for all of this thread's groups but the latest `PENDING` (PTX `cp.async.wait_group`).
#[gpu_only]
pub fn wait_group<const PENDING: u32>() {
    // SAFETY: no preconditions.
    unsafe {
        asm!(
            "cp.async.wait_group {};",
            const PENDING,
            options(nostack, preserves_flags),
        );
    }
}

/// Waits for all of this thread's copies, in groups or not (PTX `cp.async.wait_all`).
#[gpu_only]
pub fn wait_all() {
    // SAFETY: no preconditions.
    unsafe { asm!("cp.async.wait_all;", options(nostack, preserves_flags)) }
}
