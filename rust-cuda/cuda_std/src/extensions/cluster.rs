//! Clusters: blocks that run at the same time, wait for each other, and reach each other's shared memory.
//!
//! The module needs sm_90; in a module for older GPUs it does not exist. In a launch without clusters every block is a
//! cluster of one.
//!
//! PTX ISA, *Special Registers: %cluster_ctarank, %cluster_nctarank, %clusterid, %nclusterid*, *Parallel Synchronization
//! and Communication Instructions: barrier.cluster*, *Data Movement and Conversion Instructions: mapa, ld, st*.

#[cfg(target_os = "cuda")]
use core::arch::asm;
use core::marker::PhantomData;

use crate::extensions::SharedPtr;
use crate::gpu_only;
#[cfg(target_os = "cuda")]
use crate::llvm;

macro_rules! special_register {
    ($($function:ident, $register:literal, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[gpu_only]
        pub fn $function() -> u32 {
            let value;
            // SAFETY: reads a special register.
            unsafe {
                asm!(
                    concat!("mov.u32 {}, ", $register, ";"),
                    lateout(reg32) value,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            value
        }
    )*};
}

special_register! {
    block_rank, "%cluster_ctarank", "The block's number in its cluster (PTX `%cluster_ctarank`).";
    block_count, "%cluster_nctarank", "Blocks in the cluster (PTX `%cluster_nctarank`).";
    cluster_idx_x, "%clusterid.x", "The cluster's index in the grid, `x` (PTX `%clusterid.x`).";
    grid_clusters_x, "%nclusterid.x", "Clusters in the grid, `x` (PTX `%nclusterid.x`).";
}

/// Waits until all threads of the cluster have arrived; what they stored before, also into each other's shared memory, is
/// visible after (PTX `barrier.cluster.arrive`, `barrier.cluster.wait`).
///
/// # Safety
/// All threads of the cluster that have not exited call it, those of a warp together.
#[gpu_only]
pub unsafe fn sync() {
    // SAFETY: the caller's.
    unsafe {
        arrive();
        wait();
    }
}

/// Arrives at the cluster's barrier and goes on (PTX `barrier.cluster.arrive`).
///
/// # Safety
/// All threads of the cluster that have not exited call it and then [`wait`], those of a warp together.
#[gpu_only]
pub unsafe fn arrive() {
    // SAFETY: the caller's.
    unsafe { llvm::cluster_arrive() }
}

/// Waits until all threads of the cluster have arrived (PTX `barrier.cluster.wait`).
///
/// # Safety
/// As for [`arrive`].
#[gpu_only]
pub unsafe fn wait() {
    // SAFETY: the caller's.
    unsafe { llvm::cluster_wait() }
}

/// Where the variable at `place` of this block is in the block with the number `rank` (PTX `mapa.shared::cluster`).
#[gpu_only]
pub fn map_shared_rank<T>(place: SharedPtr<T>, rank: u32) -> ClusterPtr<T> {
    let address;
    // SAFETY: computes an address; touches no memory.
    unsafe {
        asm!(
            "mapa.shared::cluster.u32 {}, {}, {};",
            lateout(reg32) address,
            in(reg32) place.address(),
            in(reg32) rank,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    ClusterPtr {
        address,
        to: PhantomData,
    }
}

/// A pointer into the shared memory of a block of the cluster (state space `.shared::cluster`). The block must not have
/// exited: a cluster ends with [`sync`].
#[derive(Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct ClusterPtr<T> {
    address: u32,
    to: PhantomData<*mut T>,
}

impl<T> Clone for ClusterPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ClusterPtr<T> {}

impl<T> ClusterPtr<T> {
    /// The address in the state space, in bytes.
    #[inline(always)]
    pub const fn address(self) -> u32 {
        self.address
    }

    /// `count` elements further on.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "named as on raw pointers")]
    pub const fn add(self, count: u32) -> Self {
        Self {
            address: self
                .address
                .wrapping_add(count.wrapping_mul(size_of::<T>() as u32)),
            to: PhantomData,
        }
    }
}

macro_rules! accesses {
    ($($type:ty, $register:ident, $width:literal;)*) => {$(
        impl ClusterPtr<$type> {
            #[doc = concat!("Loads the value (PTX `ld.shared::cluster.", $width, "`).")]
            ///
            /// # Safety
            /// The pointer points to an initialised value of a block that has not exited, and no thread stores to it
            /// meanwhile.
            #[gpu_only]
            pub unsafe fn read(self) -> $type {
                let value;
                // SAFETY: the caller's.
                unsafe {
                    asm!(
                        concat!("ld.shared::cluster.", $width, " {}, [{}];"),
                        lateout($register) value,
                        in(reg32) self.address,
                        options(readonly, nostack, preserves_flags),
                    );
                }
                value
            }

            #[doc = concat!("Stores a value (PTX `st.shared::cluster.", $width, "`).")]
            ///
            /// # Safety
            /// The pointer points into the shared memory of a block that has not exited, and no other thread accesses
            /// the place meanwhile.
            #[gpu_only]
            pub unsafe fn write(self, value: $type) {
                // SAFETY: the caller's.
                unsafe {
                    asm!(
                        concat!("st.shared::cluster.", $width, " [{}], {};"),
                        in(reg32) self.address,
                        in($register) value,
                        options(nostack, preserves_flags),
                    );
                }
            }
        }
    )*};
}

accesses! {
    u32, reg32, "b32";
    i32, reg32, "b32";
    f32, reg32, "b32";
    u64, reg64, "b64";
    f64, reg64, "b64";
}
