//! Mbarrier objects: barriers in shared memory that count arrivals of threads and bytes of asynchronous copies.
//!
//! An object goes through phases. A phase completes when as many arrivals as [`Mbarrier::init`] was told have come, and
//! as many bytes as were [expected](Mbarrier::arrive_expect_tx); then the next one begins with the same count. Who
//! waits names the phase by its parity: 0 for the first, 1 for the second, 0 for the third. Waiting for parity 1 at
//! a fresh object returns at once, as if a phase before the first had completed.
//!
//! Every method needs sm_80 and PTX 7.1, those that say so sm_90; in a build for older GPUs the methods do not exist. An
//! arrival releases and a wait acquires: what a thread did before it arrived is visible to those that waited for the phase.
//!
//! The methods share their safety contract: the pointer is to 8 aligned bytes of the block's shared memory, which hold an
//! initialised object, and no phase gets more arrivals than it waits for.
//!
//! PTX ISA, *Parallel Synchronization and Communication Instructions: mbarrier*.

#[cfg(target_os = "cuda")]
use core::arch::asm;

use crate::extensions::SharedPtr;
use crate::gpu_only;

/// An mbarrier object of this block: its place in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Mbarrier(SharedPtr<u64>);

impl Mbarrier {
    /// The most arrivals of a phase, and the most bytes under way in it.
    pub const MAX_COUNT: u32 = (1 << 20) - 1;

    /// The object at this place.
    #[inline(always)]
    pub const fn at(place: SharedPtr<u64>) -> Self {
        Self(place)
    }

    /// Its place.
    #[inline(always)]
    pub const fn place(self) -> SharedPtr<u64> {
        self.0
    }

    /// The object `count` places further on in an array of them.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "named as on raw pointers")]
    pub const fn add(self, count: u32) -> Self {
        Self(self.0.add(count))
    }

    /// Makes an object whose phases wait for `arrivals`, 1 to [`MAX_COUNT`](Self::MAX_COUNT) (PTX `mbarrier.init`). One
    /// thread does it; the others may use the object after a barrier, asynchronous copies after
    /// [`fence::mbarrier_init`](crate::extensions::fence::mbarrier_init) too.
    ///
    /// # Safety
    /// The module's contract, except that the object does not exist yet.
    #[gpu_only]
    pub unsafe fn init(self, arrivals: u32) {
        // SAFETY: the caller keeps the contract.
        unsafe {
            asm!(
                "mbarrier.init.shared.b64 [{}], {};",
                in(reg32) self.0.address(),
                in(reg32) arrivals,
                options(nostack, preserves_flags),
            );
        }
    }

    /// Ends the object's life; its memory may serve something else (PTX `mbarrier.inval`).
    ///
    /// # Safety
    /// The module's contract; no thread uses the object any more.
    #[gpu_only]
    pub unsafe fn inval(self) {
        // SAFETY: the caller keeps the contract.
        unsafe {
            asm!(
                "mbarrier.inval.shared.b64 [{}];",
                in(reg32) self.0.address(),
                options(nostack, preserves_flags),
            );
        }
    }

    /// Arrives (PTX `mbarrier.arrive`).
    ///
    /// # Safety
    /// The module's contract.
    #[gpu_only]
    pub unsafe fn arrive(self) {
        // SAFETY: the caller keeps the contract.
        unsafe {
            asm!(
                "{{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [{}]; }}",
                in(reg32) self.0.address(),
                options(nostack, preserves_flags),
            );
        }
    }

    /// Arrives when all `cp.async` copies that this thread has issued so far are complete, without waiting for them; this
    /// is one of the arrivals that the object was initialised with (PTX `cp.async.mbarrier.arrive.noinc`).
    ///
    /// # Safety
    /// The module's contract.
    #[gpu_only]
    pub unsafe fn arrive_after_copies(self) {
        // SAFETY: the caller keeps the contract.
        unsafe {
            asm!(
                "cp.async.mbarrier.arrive.noinc.shared.b64 [{}];",
                in(reg32) self.0.address(),
                options(nostack, preserves_flags),
            );
        }
    }

    /// Arrives, and tells the phase to wait for so many more bytes of [bulk copies](crate::extensions::bulk) (PTX
    /// `mbarrier.arrive.expect_tx`, sm_90).
    ///
    /// # Safety
    /// The module's contract; at most [`MAX_COUNT`](Self::MAX_COUNT) bytes are under way.
    #[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
    #[gpu_only]
    pub unsafe fn arrive_expect_tx(self, bytes: u32) {
        // SAFETY: the caller keeps the contract.
        unsafe {
            asm!(
                "{{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [{}], {}; }}",
                in(reg32) self.0.address(),
                in(reg32) bytes,
                options(nostack, preserves_flags),
            );
        }
    }

    /// Tells the phase to wait for so many more bytes, without arriving (PTX `mbarrier.expect_tx`, sm_90).
    ///
    /// # Safety
    /// As for [`arrive_expect_tx`](Self::arrive_expect_tx).
    #[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
    #[gpu_only]
    pub unsafe fn expect_tx(self, bytes: u32) {
        // SAFETY: the caller keeps the contract.
        unsafe {
            asm!(
                "mbarrier.expect_tx.relaxed.cta.shared.b64 [{}], {};",
                in(reg32) self.0.address(),
                in(reg32) bytes,
                options(nostack, preserves_flags),
            );
        }
    }

    /// Whether the phase of this parity is complete, without waiting (PTX `mbarrier.test_wait.parity`, PTX 7.1).
    ///
    /// PTX ISA, *mbarrier.test_wait, mbarrier.try_wait*: the parity tells only the current phase and the one just before it
    /// apart, so a thread that asks has to be at most one phase behind. `true` makes visible what was done before the
    /// arrivals at that phase, asynchronous copies that complete on the object included; `false` makes nothing visible.
    ///
    /// # Safety
    /// The module's contract; the phase is the current one or the one before.
    #[gpu_only]
    pub unsafe fn test_wait_parity(self, parity: u32) -> bool {
        let complete: u32;
        // SAFETY: the caller keeps the contract.
        unsafe {
            asm!(
                "{{ .reg .pred complete; mbarrier.test_wait.parity.shared.b64 complete, [{}], {}; \
                 selp.b32 {}, 1, 0, complete; }}",
                in(reg32) self.0.address(),
                in(reg32) parity,
                lateout(reg32) complete,
                options(nostack, preserves_flags),
            );
        }
        complete != 0
    }

    /// The same, but where the phase is not complete the thread may sleep until it is, or until a time that the hardware
    /// chooses has passed (PTX `mbarrier.try_wait.parity`, sm_90).
    ///
    /// # Safety
    /// As for [`test_wait_parity`](Self::test_wait_parity).
    #[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
    #[gpu_only]
    pub unsafe fn try_wait_parity(self, parity: u32) -> bool {
        let complete: u32;
        // SAFETY: the caller keeps the contract.
        unsafe {
            asm!(
                "{{ .reg .pred complete; mbarrier.try_wait.parity.shared.b64 complete, [{}], {}; \
                 selp.b32 {}, 1, 0, complete; }}",
                in(reg32) self.0.address(),
                in(reg32) parity,
                lateout(reg32) complete,
                options(nostack, preserves_flags),
            );
        }
        complete != 0
    }

    /// Arrives at the object in the same place of the block with the number `rank` in the cluster, this block's own included. What
    /// the thread did before is visible to those that wait with
    /// [`wait_parity_of_cluster`](Self::wait_parity_of_cluster) (PTX `mapa.shared::cluster`,
    /// `mbarrier.arrive.release.cluster.shared::cluster`, sm_90).
    ///
    /// # Safety
    /// The module's contract, of that block's object; the block has not exited.
    #[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
    #[gpu_only]
    pub unsafe fn arrive_at(self, rank: u32) {
        let there = crate::extensions::cluster::map_shared_rank(self.0, rank);
        // SAFETY: the caller keeps the contract.
        unsafe {
            asm!(
                "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [{}];",
                in(reg32) there.address(),
                options(nostack, preserves_flags),
            );
        }
    }

    /// Arrives like [`arrive_at`](Self::arrive_at), for a thread that has only read: it has used the values, so nothing that it did is
    /// still to come, and nothing has to be made visible to another block. The release is of the scope of the block, and costs no
    /// fence of the whole device (PTX `mapa.shared::cluster`, `mbarrier.arrive.shared::cluster`, sm_90).
    ///
    /// # Safety
    /// As for [`arrive_at`](Self::arrive_at); the thread has written nothing that those who wait read.
    #[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
    #[gpu_only]
    pub unsafe fn arrive_at_having_read(self, rank: u32) {
        let there = crate::extensions::cluster::map_shared_rank(self.0, rank);
        // SAFETY: the caller keeps the contract.
        unsafe {
            asm!(
                "mbarrier.arrive.shared::cluster.b64 _, [{}];",
                in(reg32) there.address(),
                options(nostack, preserves_flags),
            );
        }
    }

    /// Waits until the phase of this parity is complete, and acquires at the scope of the cluster: what threads of other blocks did
    /// before they [arrived](Self::arrive_at) is visible, and what their copies have brought (PTX
    /// `mbarrier.try_wait.parity.acquire.cluster`, sm_90). [`wait_parity`](Self::wait_parity) acquires at that of the block.
    ///
    /// # Safety
    /// As for [`test_wait_parity`](Self::test_wait_parity).
    #[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
    #[gpu_only]
    pub unsafe fn wait_parity_of_cluster(self, parity: u32) {
        let mut complete = 0u32;
        while complete == 0 {
            // SAFETY: the caller keeps the contract.
            unsafe {
                asm!(
                    "{{ .reg .pred complete; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 complete, [{}], {}; \
                     selp.b32 {}, 1, 0, complete; }}",
                    in(reg32) self.0.address(),
                    in(reg32) parity,
                    lateout(reg32) complete,
                    options(nostack, preserves_flags),
                );
            }
        }
    }

    /// Waits until the phase of this parity is complete: [`try_wait_parity`](Self::try_wait_parity) in a loop, or before sm_90,
    /// where that does not exist, [`test_wait_parity`](Self::test_wait_parity), which makes the warp ask over and over.
    ///
    /// # Safety
    /// As for [`test_wait_parity`](Self::test_wait_parity).
    #[gpu_only]
    pub unsafe fn wait_parity(self, parity: u32) {
        #[cfg(target_feature = "ptx80")]
        // SAFETY: the caller keeps the contract.
        while !unsafe { self.try_wait_parity(parity) } {}
        #[cfg(not(target_feature = "ptx80"))]
        // SAFETY: the caller keeps the contract.
        while !unsafe { self.test_wait_parity(parity) } {}
    }
}
