//! The state that the blocks of a cluster share: the address of each block's shared memory, and the asynchronous copies that must be announced to its
//! mbarrier objects.
//!
//! Addresses in `.shared::cluster` (PTX ISA, "Shared State Space"): a block's own shared memory starts at 0; that of the
//! block with rank `r` in the cluster, the own one included, at `(r + 1) << 24`. The generic window of shared memory
//! holds both.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use super::async_copy::{Announced, Completion, Transfer};
use super::mbarrier::PhaseChange;

/// The bits of an address within one block's shared memory.
pub(super) const BLOCK_SHIFT: u32 = 24;
const OFFSET: u64 = (1 << BLOCK_SHIFT) - 1;

/// The blocks of a cluster in the order of their ranks.
pub(super) struct Cluster {
    blocks: Vec<Block>,
    announced: RefCell<Vec<Announced>>,
    /// By mbarrier object: the cycle of the latest arrival, and the one at which a phase was last complete.
    arrivals: RefCell<BTreeMap<*mut u8, (u64, u64)>>,
    /// Turns of warps, one behind the other, that have ended with a test of an mbarrier object whose phase was not complete.
    vain: Cell<u32>,
    /// The mbarrier objects that threads of other blocks have arrived at.
    crossed: RefCell<BTreeSet<*mut u8>>,
}

struct Block {
    shared: *mut u8,
    exited: Cell<bool>,
}

/// The outcome of looking an address up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// Where the byte is, and its offset in that block's shared memory.
    Found(*mut u8, u64),
    /// The block with this rank has exited, and its shared memory with it.
    Exited(u32),
    /// No block of the cluster has this address.
    Nowhere,
}

impl Cluster {
    /// A cluster of blocks whose shared memory starts at these places.
    pub fn new(shared: impl IntoIterator<Item = *mut u8>) -> Self {
        let block = |shared| Block {
            shared,
            exited: Cell::new(false),
        };
        Self {
            blocks: shared.into_iter().map(block).collect(),
            announced: RefCell::default(),
            arrivals: RefCell::default(),
            vain: Cell::new(0),
            crossed: RefCell::default(),
        }
    }

    /// The blocks begin anew.
    pub fn start(&self) {
        self.blocks.iter().for_each(|block| block.exited.set(false));
        self.announced.borrow_mut().clear();
        self.arrivals.borrow_mut().clear();
        self.vain.set(0);
        self.crossed.borrow_mut().clear();
    }

    /// Keeps copies until a thread waits for the mbarrier object on which they complete.
    pub fn announce(&self, announced: Announced) {
        self.announced.borrow_mut().push(announced);
    }

    /// The copies that complete on the mbarrier object, in the order of issue.
    pub fn take_announced(&self, mbarrier: *mut u8) -> Vec<Announced> {
        let mut announced = self.announced.borrow_mut();
        announced
            .extract_if(.., |copy| copy.mbarrier == mbarrier)
            .collect()
    }

    /// The copies of these threads that are to be announced; the announcements stay.
    pub fn take_transfers_of(&self, rank: u32, warp: u32, lanes: u32) -> Vec<Transfer> {
        let mut announced = self.announced.borrow_mut();
        let own = announced.iter_mut().filter(|copy| match copy.completion {
            Completion::Arrival {
                rank: r,
                warp: w,
                lane,
            } => (r, w) == (rank, warp) && lanes & (1 << lane) != 0,
            Completion::Bytes(_) => false,
        });
        own.flat_map(|copy| std::mem::take(&mut copy.transfers))
            .collect()
    }

    /// Something has arrived at an mbarrier object at this cycle.
    pub fn arrived(&self, mbarrier: *mut u8, cycle: u64, outcome: PhaseChange) {
        self.vain.set(0);
        let mut arrivals = self.arrivals.borrow_mut();
        let (latest, completed) = arrivals.entry(mbarrier).or_default();
        *latest = cycle.max(*latest);
        if outcome == PhaseChange::Complete {
            *completed = *latest;
        }
    }

    /// A warp's turn has ended; `in_vain`: with a test of an mbarrier object whose phase was not complete. Returns whether all
    /// warps of the cluster have done nothing else for so long that they never will.
    pub fn turn_ended(&self, in_vain: bool) -> bool {
        /// The number of successive turns, far more than the cluster has warps: each warp that can make progress had its turn.
        const MOST: u32 = 1 << 16;
        let vain = if in_vain { self.vain.get() + 1 } else { 0 };
        self.vain.set(vain);
        vain > MOST
    }

    /// The cycle at which a phase of the mbarrier object was last complete.
    pub fn completed(&self, mbarrier: *mut u8) -> u64 {
        self.arrivals
            .borrow()
            .get(&mbarrier)
            .map_or(0, |(_, completed)| *completed)
    }

    /// A thread of another block has arrived at an mbarrier object.
    pub fn cross(&self, mbarrier: *mut u8) {
        self.crossed.borrow_mut().insert(mbarrier);
    }

    /// Whether a thread of another block has arrived at an mbarrier object.
    pub fn is_crossed(&self, mbarrier: *mut u8) -> bool {
        self.crossed.borrow().contains(&mbarrier)
    }

    /// The last thread of a block has exited.
    pub fn exit(&self, rank: u32) {
        if let Some(block) = self.blocks.get(rank as usize) {
            block.exited.set(true);
        }
    }

    /// The rank of the block whose shared memory, of `bytes` bytes, a place is in, and the offset there.
    pub fn owner(&self, place: *mut u8, bytes: u32) -> Option<(u32, u32)> {
        let offset = |block: &Block| (place as usize).wrapping_sub(block.shared as usize);
        let owner = |block: &Block| offset(block) < bytes as usize;
        let rank = self.blocks.iter().position(owner)?;
        Some((rank as u32, offset(&self.blocks[rank]) as u32))
    }

    /// Looks up an address that lies in no block's own part of the window.
    pub fn look_up(&self, address: u64) -> Lookup {
        let Some(rank) = (address >> BLOCK_SHIFT).checked_sub(1) else {
            return Lookup::Nowhere;
        };
        match self.blocks.get(usize::try_from(rank).unwrap_or(usize::MAX)) {
            Some(block) if block.exited.get() => Lookup::Exited(rank as u32),
            Some(block) => {
                let offset = address & OFFSET;
                Lookup::Found(block.shared.wrapping_add(offset as usize), offset)
            }
            None => Lookup::Nowhere,
        }
    }
}

/// `mapa`: the address of the same variable in the block with that rank.
pub(super) fn map_address(address: u64, rank: u32) -> u64 {
    (u64::from(rank) + 1) << BLOCK_SHIFT | address & OFFSET
}

/// `getctarank`: the rank of the block that an address belongs to; `own` for an address of the asking block.
pub(super) fn rank_of(address: u64, own: u32) -> u32 {
    match (address >> BLOCK_SHIFT & 0xff) as u32 {
        0 => own,
        rank => rank - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_block_and_an_offset() {
        let mut memory = [[0u8; 64]; 2];
        let starts = memory.each_mut().map(|block| block.as_mut_ptr());
        let cluster = Cluster::new(starts);
        let address = map_address(40, 1);
        let found = Lookup::Found(starts[1].wrapping_add(40), 40);
        assert_eq!(cluster.look_up(address), found);
        assert_eq!((rank_of(address, 7), rank_of(40, 7)), (1, 7));
        assert_eq!(map_address(address, 0), map_address(40, 0));
        assert_eq!(cluster.look_up(map_address(40, 2)), Lookup::Nowhere);
        assert_eq!(cluster.look_up(40), Lookup::Nowhere);
    }

    #[test]
    fn a_block_that_has_exited_has_no_memory() {
        let mut memory = [0u8; 64];
        let cluster = Cluster::new([memory.as_mut_ptr()]);
        cluster.exit(0);
        assert_eq!(cluster.look_up(map_address(0, 0)), Lookup::Exited(0));
        cluster.start();
        assert_ne!(cluster.look_up(map_address(0, 0)), Lookup::Exited(0));
    }
}
