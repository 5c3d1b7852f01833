//! Loads, stores and atomics: addresses of a warp to host memory.
//!
//! A warp whose 32 addresses lie side by side and aligned is served by one bounds check and a copy of rows; any other
//! pattern by one check and a loop of the lanes, in ascending order. The remaining cases go lane by lane.
//! Kernels that race with themselves race here too: accesses are plain machine accesses through raw pointers, atomics on
//! global memory are the host's.
//!
//! Generic addresses: shared, local and parameter space appear in windows that no device allocation and no host
//! pointer can lie in; everything else is global. Constant space is global memory.
//!
//! `target` finds the memory behind an address and checks it, `lanes` that of a warp, whose addresses have a `pattern`;
//! `equal` finds lanes with the same address; `cells` reads and writes elements and register cells; `load`, `store`,
//! `atomic`, `copy`, `tensor_copy`, `texture`, `fragment`, `mbarrier` and `matrix` are the handlers.

mod atomic;
mod cells;
mod copy;
mod equal;
mod fragment;
mod lanes;
mod load;
mod matrix;
mod mbarrier;
mod near;
mod pattern;
mod store;
mod target;
mod tensor_copy;
mod texture;

use crate::ptx::ir::Space;

use super::op::Slot;

pub(super) use atomic::{Combination, Combine, atomic};
pub(super) use copy::{
    announce_copies, commit_copies, copy_async, copy_bulk, wait_for_all_copies, wait_for_copies,
};
pub(super) use fragment::{Fragment, Matrix, REGISTERS, load_fragment, store_fragment};
pub(super) use load::load;
pub(super) use matrix::{load_tiles, store_tiles};
pub(super) use mbarrier::{Update, test_mbarrier, update_mbarrier};
pub(super) use near::{NearLines, look_up_line};
pub(super) use store::store;
pub(super) use target::{Cached, lane_address};
pub(super) use tensor_copy::{TensorCopy, copy_tensor};
pub(super) use texture::{Operation, Outside, Query, TexelElements, TextureAccess, access_texture};

/// Where generic addresses of shared memory start. The low half is the address in `.shared` space.
pub(super) const SHARED_WINDOW: u64 = 0x00f0_0000_0000_0000;
/// Where generic addresses of local memory start.
pub(super) const LOCAL_WINDOW: u64 = 0x00f1_0000_0000_0000;
/// Where generic addresses of kernel parameters start.
pub(super) const PARAMETER_WINDOW: u64 = 0x00f2_0000_0000_0000;
/// Size of a window.
pub(super) const WINDOW: u64 = 1 << 48;

/// The static properties of one memory instruction.
#[derive(Clone, Copy)]
pub(super) struct Site {
    pub line: u32,
    pub space: Space,
    /// Added to the address row.
    pub offset: i64,
    /// The address is relative to the frame's local memory.
    pub relative: bool,
    /// The address row has 64-bit cells.
    pub wide_address: bool,
    /// Bytes of one element.
    pub bytes: u32,
    /// TexelElements per lane.
    pub count: u32,
    /// Loads extend by sign.
    pub signed: bool,
    /// Data rows have 64-bit cells.
    pub wide: bool,
    /// Data rows, one per element. A load without interest in an element names a scratch row.
    pub rows: [Slot; 4],
    /// For the checkers.
    pub strength: Strength,
    /// Index of the site's entry in [`Context::caches`].
    pub cache: u32,
    /// For an atomic operation: whether the new value is independent of the old one.
    pub exchanges: bool,
    /// For an atomic operation: the operator.
    pub combine: Option<Combination>,
}

/// What an access promises to other threads: see "Memory Consistency Model" in the PTX ISA.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Strength {
    /// Relaxed or more, volatile, or atomic.
    pub strong: bool,
    /// Its scope reaches beyond the cluster. Ignored unless the access is strong.
    pub beyond_cluster: bool,
    pub acquires: bool,
    pub releases: bool,
}

impl Site {
    fn lane_bytes(&self) -> u64 {
        u64::from(self.bytes) * u64::from(self.count)
    }
}

/// Whether an address lies in the kernel's parameters, which cannot be written.
#[inline(always)]
fn is_parameter(space: Space, address: u64) -> bool {
    space == Space::Param || space == Space::Generic && generic(address).0 == Space::Param
}

/// The space that a generic address lies in, and the address there.
#[inline(always)]
pub(super) fn generic(address: u64) -> (Space, u64) {
    let low = address & (WINDOW - 1);
    match address & !(WINDOW - 1) {
        SHARED_WINDOW => (Space::Shared, low),
        LOCAL_WINDOW => (Space::Local, low),
        PARAMETER_WINDOW => (Space::Param, low),
        _ => (Space::Global, address),
    }
}

/// An access of a warp goes lane by lane: a test counts them.
#[inline(always)]
fn note_lane_by_lane() {
    #[cfg(test)]
    lanes::tests::LANE_BY_LANE.set(lanes::tests::LANE_BY_LANE.get() + 1);
}

/// Whether an address of the site lies in local memory, where lanes with adjacent addresses are not adjacent.
#[inline(always)]
fn is_local(site: &Site, address: u64) -> bool {
    match site.space {
        Space::Local => true,
        Space::Generic => generic(address).0 == Space::Local,
        _ => false,
    }
}
