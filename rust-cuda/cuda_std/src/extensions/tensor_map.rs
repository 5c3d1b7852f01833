//! Copies of boxes out of tensors: one thread names a box by its coordinates, and the hardware computes the addresses.
//!
//! A [`TensorMap`] says how a tensor lies in global memory, and how large a box of it is; the host encodes it
//! (`cuTensorMapEncodeTiled`). What of a box is outside of the tensor comes as zeros, and is not stored. Copies into shared memory tell
//! an mbarrier object of the whole box's bytes, copies into global memory go into groups, as those of
//! [`bulk`](mod@crate::extensions::bulk), and through the same proxy.
//!
//! The module needs sm_90. Coordinates are in elements, the innermost dimension first.
//!
//! PTX ISA, *Data Movement and Conversion Instructions: cp.async.bulk.tensor*, *Tensor Manipulation*.

#[cfg(target_os = "cuda")]
use core::arch::asm;

use crate::extensions::SharedPtr;
use crate::extensions::mbarrier::Mbarrier;
use crate::gpu_only;

/// A tensor in global memory and a box of it, as the host has encoded them: `CUtensorMap` of cuda.h. Where copies use it, it is aligned to
/// 64 bytes.
pub type TensorMap = [u64; 16];

/// Makes a map that the host has copied into global memory visible to this block's copies by it (PTX
/// `fence.proxy.tensormap::generic.acquire.gpu`, PTX 8.3).
///
/// # Safety
/// The pointer is to a map in global memory.
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx83"))]
#[gpu_only]
pub unsafe fn acquire(map: *const TensorMap) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "fence.proxy.tensormap::generic.acquire.gpu [{}], 128;",
            in(reg64) map,
            options(nostack, preserves_flags),
        );
    }
}

/// Copies the box at these coordinates into the block's shared memory; `barrier` completes its bytes (PTX
/// `cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes`).
///
/// # Safety
/// The map has three dimensions. `to` has room for the box and is aligned as its swizzling demands; no other thread accesses it, and no thread
/// writes to the tensor, until the barrier's phase is complete; the barrier is initialised.
#[gpu_only]
pub unsafe fn copy_to_shared<T>(
    to: SharedPtr<T>,
    map: *const TensorMap,
    [x, y, z]: [u32; 3],
    barrier: Mbarrier,
) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{}], [{}, {{{}, {}, {}}}], [{}];",
            in(reg32) to.address(),
            in(reg64) map,
            in(reg32) x,
            in(reg32) y,
            in(reg32) z,
            in(reg32) barrier.place().address(),
            options(nostack, preserves_flags),
        );
    }
}

/// Copies the box at these coordinates into the shared memory of several blocks of the cluster, at the same place in each: into that of the
/// blocks whose bits are set in `blocks`, by their numbers in the cluster. The object in the place of `barrier` in each of them
/// completes its bytes (PTX
/// `cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster`).
///
/// # Safety
/// As for [`copy_to_shared`], in each of the blocks; none of them has exited before its phase is complete.
#[gpu_only]
pub unsafe fn multicast_to_cluster<T>(
    to: SharedPtr<T>,
    map: *const TensorMap,
    [x, y, z]: [u32; 3],
    barrier: Mbarrier,
    blocks: u16,
) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [{}], [{}, {{{}, {}, {}}}], [{}], {};",
            in(reg32) to.address(),
            in(reg64) map,
            in(reg32) x,
            in(reg32) y,
            in(reg32) z,
            in(reg32) barrier.place().address(),
            in(reg16) blocks,
            options(nostack, preserves_flags),
        );
    }
}

/// Copies a box from the block's shared memory to these coordinates of the tensor, as a part of the thread's open group of
/// [`bulk`](mod@crate::extensions::bulk) (PTX `cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group`).
///
/// # Safety
/// The map has three dimensions. `from` holds the box and is aligned as its swizzling demands; no thread writes to it, and no other thread accesses
/// the tensor's part, until the copy is complete.
#[gpu_only]
pub unsafe fn copy_to_global<T>(map: *const TensorMap, [x, y, z]: [u32; 3], from: SharedPtr<T>) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [{}, {{{}, {}, {}}}], [{}];",
            in(reg64) map,
            in(reg32) x,
            in(reg32) y,
            in(reg32) z,
            in(reg32) from.address(),
            options(nostack, preserves_flags),
        );
    }
}
