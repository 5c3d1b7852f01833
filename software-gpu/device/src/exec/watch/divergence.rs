//! Barriers that the threads of a warp reach apart from each other.
//!
//! `bar.sync`, `bar.red` and `bar.arrive`, and `barrier` with `.aligned`, require all threads of a warp to execute the
//! same one together (PTX ISA, "bar, barrier"); `barrier` without `.aligned` does not.

use super::super::fault::FaultLocation;
use super::super::grid::Grid;
use super::super::warp::Arrival;
use super::super::warp_handlers::LANES;

/// Threads of a warp that came to an aligned barrier without the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DivergentBarrier {
    /// The first thread that came; the line is the barrier's.
    pub place: FaultLocation,
    /// The barrier's number.
    pub barrier: u32,
    /// Lanes of the warp that came, one bit each.
    pub lanes: u32,
    /// Lanes that did not come and have not exited.
    pub absent: u32,
}

/// One host thread's part of it: the first finding of each barrier instruction.
#[derive(Default)]
pub(super) struct Divergence {
    /// Barriers that are not complete yet: the absent may still exit, which is as good as to come.
    pending: Vec<DivergentWarp>,
    found: Vec<DivergentWarp>,
}

#[derive(Clone, Copy)]
struct DivergentWarp {
    block: u64,
    warp: u32,
    line: u32,
    barrier: u32,
    lanes: u32,
    absent: u32,
}

impl Divergence {
    /// A block begins.
    pub fn start(&mut self) {
        self.pending.clear();
    }

    /// Some lanes of a warp have arrived at an aligned barrier, and others of those `alive` have not.
    #[cold]
    pub fn suspect(&mut self, block: u64, warp: u32, arrival: &Arrival, alive: u32) {
        self.pending.push(DivergentWarp {
            block,
            warp,
            line: arrival.line,
            barrier: arrival.barrier,
            lanes: arrival.mask,
            absent: alive & !arrival.mask,
        });
    }

    /// A barrier is complete; `alive` gives the lanes of a warp that have not exited.
    pub fn completed(&mut self, barrier: u32, alive: impl Fn(usize) -> u32) {
        let found = &mut self.found;
        self.pending.retain(|pending| {
            let absent = pending.absent & alive(pending.warp as usize);
            if pending.barrier != barrier {
                return true;
            }
            if absent != 0 && found.iter().all(|found| found.line != pending.line) {
                found.push(DivergentWarp { absent, ..*pending });
            }
            false
        });
    }

    /// The findings of several host threads: the first one of each instruction.
    pub fn barriers(all: impl Iterator<Item = Self>, grid: &Grid<'_>) -> Vec<DivergentBarrier> {
        let mut found: Vec<DivergentWarp> = all.flat_map(|one| one.found).collect();
        found.sort_by_key(|found| (found.block, found.line));
        let mut barriers: Vec<DivergentBarrier> = Vec::new();
        for found in found {
            if barriers.iter().all(|known| known.place.line != found.line) {
                let thread = found.warp * LANES as u32 + found.lanes.trailing_zeros();
                barriers.push(DivergentBarrier {
                    place: FaultLocation {
                        kernel: grid.kernel.name().to_owned(),
                        block: grid.block_index(found.block),
                        thread: grid.thread(thread),
                        line: found.line,
                    },
                    barrier: found.barrier,
                    lanes: found.lanes,
                    absent: found.absent,
                });
            }
        }
        barriers
    }
}
