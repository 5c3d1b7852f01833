//! LLVM's intrinsics for NVPTX, as far as `core::arch::nvptx` lacks them.
//!
//! LLVM knows their effects: that special registers can be read again, and that what a warp or block does together
//! must stay where it is.

unsafe extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    pub(crate) fn lane_id() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.clock64"]
    pub(crate) fn clock64() -> u64;
    #[link_name = "llvm.nvvm.read.ptx.sreg.globaltimer"]
    pub(crate) fn global_timer() -> u64;
    #[cfg(target_feature = "ptx63")]
    #[link_name = "llvm.nvvm.nanosleep"]
    pub(crate) fn nanosleep(nanoseconds: u32);

    #[link_name = "llvm.nvvm.barrier.cta.red.popc.aligned.all"]
    pub(crate) fn barrier_count(barrier: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.barrier.cta.red.and.aligned.all"]
    pub(crate) fn barrier_and(barrier: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.barrier.cta.red.or.aligned.all"]
    pub(crate) fn barrier_or(barrier: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.count"]
    pub(crate) fn barrier_sync(barrier: u32, threads: u32);
    #[link_name = "llvm.nvvm.barrier.cta.arrive.aligned.count"]
    pub(crate) fn barrier_arrive(barrier: u32, threads: u32);
    #[cfg(target_feature = "ptx80")]
    #[link_name = "llvm.nvvm.barrier.cluster.arrive.aligned"]
    pub(crate) fn cluster_arrive();
    #[cfg(target_feature = "ptx80")]
    #[link_name = "llvm.nvvm.barrier.cluster.wait.aligned"]
    pub(crate) fn cluster_wait();
    #[link_name = "llvm.nvvm.membar.cta"]
    pub(crate) fn fence_block();
    #[link_name = "llvm.nvvm.membar.gl"]
    pub(crate) fn fence_device();
    #[link_name = "llvm.nvvm.membar.sys"]
    pub(crate) fn fence_system();

    #[cfg(target_feature = "ptx62")]
    #[link_name = "llvm.nvvm.activemask"]
    pub(crate) fn active_mask() -> u32;
    #[cfg(not(target_feature = "ptx62"))]
    #[link_name = "llvm.nvvm.vote.ballot"]
    pub(crate) fn ballot(predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    pub(crate) fn sync_warp(mask: u32);
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    pub(crate) fn shuffle_up(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    pub(crate) fn shuffle_down(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    pub(crate) fn shuffle_index(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    pub(crate) fn shuffle_xor(mask: u32, value: u32, bits: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.vote.all.sync"]
    pub(crate) fn vote_all(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    pub(crate) fn vote_any(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    pub(crate) fn vote_ballot(mask: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    pub(crate) fn match_any_32(mask: u32, value: u32) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i64"]
    pub(crate) fn match_any_64(mask: u32, value: u64) -> u32;
    #[cfg(target_feature = "ptx71")]
    #[link_name = "llvm.nvvm.redux.sync.add"]
    pub(crate) fn redux_add(value: u32, mask: u32) -> u32;
    #[cfg(target_feature = "ptx71")]
    #[link_name = "llvm.nvvm.redux.sync.umin"]
    pub(crate) fn redux_umin(value: u32, mask: u32) -> u32;
    #[cfg(target_feature = "ptx71")]
    #[link_name = "llvm.nvvm.redux.sync.umax"]
    pub(crate) fn redux_umax(value: u32, mask: u32) -> u32;
    #[cfg(target_feature = "ptx71")]
    #[link_name = "llvm.nvvm.redux.sync.min"]
    pub(crate) fn redux_min(value: u32, mask: u32) -> u32;
    #[cfg(target_feature = "ptx71")]
    #[link_name = "llvm.nvvm.redux.sync.max"]
    pub(crate) fn redux_max(value: u32, mask: u32) -> u32;
    #[cfg(target_feature = "ptx71")]
    #[link_name = "llvm.nvvm.redux.sync.and"]
    pub(crate) fn redux_and(value: u32, mask: u32) -> u32;
    #[cfg(target_feature = "ptx71")]
    #[link_name = "llvm.nvvm.redux.sync.or"]
    pub(crate) fn redux_or(value: u32, mask: u32) -> u32;
    #[cfg(target_feature = "ptx71")]
    #[link_name = "llvm.nvvm.redux.sync.xor"]
    pub(crate) fn redux_xor(value: u32, mask: u32) -> u32;

    #[link_name = "llvm.nvvm.isspacep.global"]
    pub(crate) fn is_global(address: *const ()) -> bool;
    #[link_name = "llvm.nvvm.isspacep.shared"]
    pub(crate) fn is_shared(address: *const ()) -> bool;
}
