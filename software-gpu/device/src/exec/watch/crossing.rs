//! Accesses to the shared memory of other blocks of the cluster.
//!
//! The block that owns the memory looks for races, with the accesses of its own threads. All other blocks of the cluster are one more warp to it
//! ([`Order::start_with_others`]), of one thread: their accesses are not compared with each other. A barrier of the cluster orders everything. Every
//! other instruction that can order threads of different blocks is assumed to order all their accesses so far, which misses races but reports no
//! false ones (PTX ISA, "Memory Consistency Model", "Scope"):
//!
//! - a wait for an mbarrier object at which threads of other blocks have arrived;
//! - a load or an atomic operation that acquires;
//! - a fence, once a thread of the block has loaded anything by a strong access.
//!
//! `bar.sync` orders the threads of one block alone. Blocks of 1,024 threads have no room for one more warp: what other
//! blocks do in their shared memory is not looked at.

use super::super::context::Context;
use super::super::fault::Access;
use super::super::grid::Grid;
use super::super::memory::Site;
use super::super::warp_handlers::LANES;
use super::{Watch, shared};

/// What a block's turn has done that concerns the others, in order.
#[derive(Clone, Copy)]
pub(in crate::exec) enum Crossing {
    /// A thread accesses the shared memory of another block.
    Access(Visit),
    /// A thread may have heard of what other blocks have done.
    Heard,
}

/// An access to another block's shared memory.
#[derive(Clone, Copy)]
pub(in crate::exec) struct Visit {
    /// The other block's rank in the cluster.
    pub rank: u32,
    site: Site,
    access: Access,
    address: u32,
    bytes: u32,
}

/// The accesses of one block since its last message to the others.
#[derive(Default)]
pub(super) struct Crossings {
    events: Vec<Crossing>,
    /// A thread has loaded something by a strong access: a fence may order it after another block's release.
    listens: bool,
}

impl Crossings {
    /// Whether the blocks of the grid may access each other's shared memory.
    pub fn of(grid: &Grid<'_>) -> Option<Box<Self>> {
        let program = &grid.kernel.program;
        let has_room = grid.warps_per_block() < LANES as u32;
        let crosses = program.reaches_other_blocks && grid.cluster_blocks() > 1;
        (crosses && has_room).then(Box::default)
    }

    /// A block begins.
    pub fn start(&mut self) {
        *self = Self::default();
    }
}

impl Watch<'_> {
    /// Takes what the block's turn has done that concerns the others.
    pub fn take_crossings(&mut self) -> Vec<Crossing> {
        let crossings = self.crossings.as_mut();
        crossings.map_or_else(Vec::new, |crossings| std::mem::take(&mut crossings.events))
    }

    /// Another block has accessed this block's shared memory.
    pub fn visited(&mut self, visit: &Visit) {
        let Some((order, shared)) = &mut self.shared else {
            return;
        };
        let Some(others) = order.others() else { return };
        let lanes = shared::Lanes {
            lane: 0,
            count: 1,
            address: visit.address,
            bytes: visit.bytes,
        };
        shared.next_instruction();
        shared.access(order, &visit.site, visit.access, others, lanes, false);
    }

    /// Other blocks may have heard of all that this block has done.
    pub fn others_hear(&mut self) {
        if let Some((order, _)) = &mut self.shared {
            order.others_hear();
        }
    }

    /// A warp executes a load or an atomic operation that is strong.
    pub(super) fn listens(&mut self, warp: u32, acquires: bool) {
        let Some(crossings) = &mut self.crossings else {
            return;
        };
        crossings.listens = true;
        if acquires {
            self.hears_others(warp);
        }
    }

    /// A warp executes a fence.
    pub(super) fn fence_hears_others(&mut self, warp: u32) {
        let crossings = self.crossings.as_ref();
        if crossings.is_some_and(|crossings| crossings.listens) {
            self.hears_others(warp);
        }
    }

    /// A warp acquires all accesses of the other blocks.
    pub(super) fn hears_others(&mut self, warp: u32) {
        let Some(crossings) = &mut self.crossings else {
            return;
        };
        crossings.events.push(Crossing::Heard);
        if let Some((order, _)) = &mut self.shared {
            order.hear_others(warp);
        }
    }
}

impl Context<'_> {
    /// Reports to the checkers an access to another block's shared memory.
    #[cold]
    pub(in crate::exec) fn watch_other_block(
        &mut self,
        site: &Site,
        access: Access,
        place: *mut u8,
        bytes: u32,
    ) {
        let owner = self.cluster.owner(place, self.shared_bytes);
        let watch = self.watch.as_mut();
        let crossings = watch.and_then(|watch| watch.crossings.as_mut());
        if let (Some((rank, address)), Some(crossings)) = (owner, crossings) {
            crossings.events.push(Crossing::Access(Visit {
                rank,
                site: *site,
                access,
                address,
                bytes,
            }));
        }
    }
}
