//! Copies of many bytes at once, which one thread issues and the hardware carries out.
//!
//! Copies into shared memory complete their bytes on an mbarrier object, which has to
//! [expect](crate::extensions::mbarrier::Mbarrier::arrive_expect_tx) them. Copies into global memory go into groups of the thread that
//! issues them, as those of [`async_copy`](mod@crate::extensions::async_copy) do.
//!
//! The copies work through the asynchronous proxy: [`fence::proxy_async`](crate::extensions::fence::proxy_async) has to stand between
//! stores to shared memory by threads and a copy that reads them.
//!
//! The module needs sm_90; in a module for older GPUs it does not exist. Addresses and sizes are multiples of 16 bytes.
//!
//! PTX ISA, *Data Movement and Conversion Instructions: cp.async.bulk*.

#[cfg(target_os = "cuda")]
use core::arch::asm;

use crate::extensions::SharedPtr;
use crate::extensions::cluster::ClusterPtr;
use crate::extensions::mbarrier::Mbarrier;
use crate::gpu_only;

/// Copies `bytes` bytes from global memory into the block's shared memory; `barrier` completes them (PTX
/// `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes`).
///
/// # Safety
/// Both sides are valid for `bytes` bytes and aligned to 16; no other thread accesses `to`, and no thread writes to `from`,
/// until the barrier's phase is complete; the barrier is initialised.
#[gpu_only]
pub unsafe fn copy_to_shared<T>(to: SharedPtr<T>, from: *const T, bytes: u32, barrier: Mbarrier) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "{{ .reg .b64 from; cvta.to.global.u64 from, {1};",
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{0}], [from], {2}, [{3}]; }}",
            in(reg32) to.address(),
            in(reg64) from,
            in(reg32) bytes,
            in(reg32) barrier.place().address(),
            options(nostack, preserves_flags),
        );
    }
}

/// Copies `bytes` bytes from global memory into the shared memory of several blocks of the cluster, at the same place in each: into
/// that of the blocks whose bits are set in `blocks`, by their numbers in the cluster. The object in the place of `barrier` in each
/// of them completes them (PTX
/// `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster`). The bytes are read once.
///
/// # Safety
/// As for [`copy_to_shared`], in each of the blocks: each one's object expects the bytes, or is made to before
/// its phase can end. None of the blocks has exited before its phase is complete.
#[gpu_only]
pub unsafe fn multicast_to_cluster<T>(
    to: SharedPtr<T>,
    from: *const T,
    bytes: u32,
    barrier: Mbarrier,
    blocks: u16,
) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "{{ .reg .b64 from; cvta.to.global.u64 from, {1};",
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [{0}], [from], {2}, [{3}], {4}; }}",
            in(reg32) to.address(),
            in(reg64) from,
            in(reg32) bytes,
            in(reg32) barrier.place().address(),
            in(reg16) blocks,
            options(nostack, preserves_flags),
        );
    }
}

/// Copies `bytes` bytes from the block's shared memory into that of a block of the cluster; `barrier`, in the same block's
/// shared memory as `to`, completes them (PTX `cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes`).
///
/// # Safety
/// As for [`copy_to_shared`]; the other block has not exited before the phase is complete.
#[gpu_only]
pub unsafe fn copy_to_cluster<T>(
    to: ClusterPtr<T>,
    from: SharedPtr<T>,
    bytes: u32,
    barrier: ClusterPtr<u64>,
) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [{}], [{}], {}, [{}];",
            in(reg32) to.address(),
            in(reg32) from.address(),
            in(reg32) bytes,
            in(reg32) barrier.address(),
            options(nostack, preserves_flags),
        );
    }
}

/// Copies `bytes` bytes from the block's shared memory into global memory, as a part of the thread's open group (PTX
/// `cp.async.bulk.global.shared::cta.bulk_group`).
///
/// # Safety
/// Both sides are valid for `bytes` bytes and aligned to 16; no other thread accesses `to`, and no thread writes to `from`, until
/// the copy is complete.
#[gpu_only]
pub unsafe fn copy_to_global<T>(to: *mut T, from: SharedPtr<T>, bytes: u32) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "{{ .reg .b64 to; cvta.to.global.u64 to, {0};",
            "cp.async.bulk.global.shared::cta.bulk_group [to], [{1}], {2}; }}",
            in(reg64) to,
            in(reg32) from.address(),
            in(reg32) bytes,
            options(nostack, preserves_flags),
        );
    }
}

/// Closes the group of this thread's copies into global memory (PTX `cp.async.bulk.commit_group`).
#[gpu_only]
pub fn commit_group() {
    // SAFETY: no preconditions.
    unsafe {
        asm!(
            "cp.async.bulk.commit_group;",
            options(nostack, preserves_flags)
        )
    }
}

/// Waits for all of this thread's groups but the latest `PENDING` (PTX `cp.async.bulk.wait_group`).
#[gpu_only]
pub fn wait_group<const PENDING: u32>() {
    // SAFETY: no preconditions.
    unsafe {
        asm!(
            "cp.async.bulk.wait_group {};",
            const PENDING,
            options(nostack, preserves_flags),
        );
    }
}

/// Waits until the sources of all of this thread's groups but the latest `PENDING` have been read and may be written to
/// again (PTX `cp.async.bulk.wait_group.read`).
#[gpu_only]
pub fn wait_group_read<const PENDING: u32>() {
    // SAFETY: no preconditions.
    unsafe {
        asm!(
            "cp.async.bulk.wait_group.read {};",
            const PENDING,
            options(nostack, preserves_flags),
        );
    }
}
