//! Lanes of a warp that load an element of global memory and then store to it, without an atomic operation.
//!
//! Each lane computes its new value from the same old one, and one of the stores remains: `data[0] += 1.0` in all threads of a
//! warp adds 1. In PTX's memory model such accesses are a data race (PTX ISA, "Data-Races"). Only lanes of one warp are compared:
//! they execute the load together, and the store together, so the mistake does not depend on how the executor orders warps.
//!
//! Invariants: a load is remembered until its warp reaches a barrier, which orders it before the others' stores, or until a load
//! of another element takes its place in the table. A store that changes nothing, or is strong, is not looked at.

use super::super::fault::FaultLocation;
use super::super::grid::Grid;
use super::super::warp_handlers::LANES;

/// An element of global memory that several lanes of a warp updated without an atomic operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostUpdate {
    /// The first thread that stored; the line is the store's.
    pub place: FaultLocation,
    /// Another thread that stored.
    pub other_thread: [u32; 3],
    /// The line of the load.
    pub load_line: u32,
    /// The element's address.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u32,
}

/// An access of two lanes to the same element.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec) struct EqualLanes {
    pub warp: u32,
    /// The first of the two lanes; the other one is the next.
    pub lane: u32,
    pub address: u64,
    pub bytes: u32,
    pub line: u32,
}

/// Loads that are remembered: a power of two.
const REMEMBERED: usize = 256;

#[derive(Clone, Copy, Default)]
struct Load {
    address: u64,
    block: u64,
    warp: u32,
    /// How many barriers the warp had reached; 0 marks an unused entry.
    epoch: u32,
    line: u32,
}

#[derive(Clone, Copy)]
struct Suspect {
    block: u64,
    load_line: u32,
    store: EqualLanes,
}

/// The findings of one host thread.
pub(super) struct LostUpdates {
    loads: Box<[Load; REMEMBERED]>,
    /// For each warp of the block: the number of barriers that it has reached, counted from 1.
    epochs: Vec<u32>,
    block: u64,
    /// The first one of each pair of instructions.
    found: Vec<Suspect>,
}

impl Default for LostUpdates {
    fn default() -> Self {
        Self {
            loads: Box::new([Load::default(); REMEMBERED]),
            epochs: Vec::new(),
            block: 0,
            found: Vec::new(),
        }
    }
}

fn entry(warp: u32, address: u64) -> usize {
    // Multiplicative hashing (Knuth): neighbouring elements and warps go to different entries.
    let mixed = (address ^ u64::from(warp) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize % REMEMBERED
}

impl LostUpdates {
    /// A block of this many warps begins.
    pub fn start(&mut self, block: u64, warps: usize) {
        self.block = block;
        self.epochs.clear();
        self.epochs.resize(warps, 1);
    }

    /// A warp has reached a barrier.
    pub fn reach_barrier(&mut self, warp: u32) {
        if let Some(epoch) = self.epochs.get_mut(warp as usize) {
            *epoch += 1;
        }
    }

    fn epoch(&self, warp: u32) -> u32 {
        self.epochs.get(warp as usize).copied().unwrap_or(1)
    }

    /// Two lanes load the same element.
    pub fn load(&mut self, lanes: EqualLanes) {
        self.loads[entry(lanes.warp, lanes.address)] = Load {
            address: lanes.address,
            block: self.block,
            warp: lanes.warp,
            epoch: self.epoch(lanes.warp),
            line: lanes.line,
        };
    }

    /// Two lanes store to the same element, and change it.
    pub fn store(&mut self, lanes: EqualLanes) {
        let load = self.loads[entry(lanes.warp, lanes.address)];
        let is_of_same = (load.block, load.warp) == (self.block, lanes.warp);
        if !is_of_same || load.address != lanes.address || load.epoch != self.epoch(lanes.warp) {
            return;
        }
        let lines = |suspect: &Suspect| (suspect.load_line, suspect.store.line);
        let suspect = Suspect {
            block: self.block,
            load_line: load.line,
            store: lanes,
        };
        match self
            .found
            .iter_mut()
            .find(|known| lines(known) == lines(&suspect))
        {
            Some(known) if known.block > suspect.block => *known = suspect,
            Some(_) => {}
            None => self.found.push(suspect),
        }
    }

    /// The findings of several host threads: the first one of each pair of instructions, in the order of blocks.
    pub fn findings(all: impl Iterator<Item = Self>, grid: &Grid<'_>) -> Vec<LostUpdate> {
        let mut suspects: Vec<Suspect> = all.flat_map(|one| one.found).collect();
        suspects.sort_by_key(|s| (s.block, s.store.line, s.load_line));
        let mut seen = Vec::new();
        suspects.retain(|suspect| {
            let lines = (suspect.load_line, suspect.store.line);
            let is_new = !seen.contains(&lines);
            seen.push(lines);
            is_new
        });
        let finding = |suspect: Suspect| {
            let EqualLanes {
                warp,
                lane,
                address,
                bytes,
                line,
            } = suspect.store;
            let rank = warp * LANES as u32 + lane;
            LostUpdate {
                place: FaultLocation {
                    kernel: grid.kernel.name().to_owned(),
                    block: grid.block_index(suspect.block),
                    thread: grid.thread(rank),
                    line,
                },
                other_thread: grid.thread(rank + 1),
                load_line: suspect.load_line,
                address,
                bytes,
            }
        };
        suspects.into_iter().map(finding).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(warp: u32, address: u64, line: u32) -> EqualLanes {
        EqualLanes {
            warp,
            lane: 0,
            address,
            bytes: 4,
            line,
        }
    }

    fn started() -> LostUpdates {
        let mut updates = LostUpdates::default();
        updates.start(3, 2);
        updates
    }

    #[test]
    fn a_load_and_a_store_of_one_warp_are_found_once() {
        let mut updates = started();
        for _ in 0..2 {
            updates.load(lanes(1, 64, 10));
            updates.store(lanes(1, 64, 12));
        }
        let [found] = updates.found.as_slice() else {
            panic!("{}", updates.found.len());
        };
        assert_eq!(
            (found.block, found.load_line, found.store.line),
            (3, 10, 12)
        );
    }

    #[test]
    fn other_elements_warps_and_blocks_are_kept_apart() {
        let mut updates = started();
        updates.load(lanes(1, 64, 10));
        updates.store(lanes(1, 68, 12));
        updates.store(lanes(0, 64, 12));
        updates.start(4, 2);
        updates.store(lanes(1, 64, 12));
        assert!(updates.found.is_empty());
    }

    #[test]
    fn a_barrier_orders_the_load_before_the_store() {
        let mut updates = started();
        updates.load(lanes(1, 64, 10));
        updates.reach_barrier(0);
        updates.reach_barrier(1);
        updates.store(lanes(1, 64, 12));
        assert!(updates.found.is_empty());
        updates.load(lanes(1, 64, 10));
        updates.reach_barrier(0);
        updates.store(lanes(1, 64, 12));
        assert_eq!(updates.found.len(), 1, "another warp's barrier");
    }
}
