//! Shuffles that read from lanes which do not take part.
//!
//! "Threads may only read data from another thread which is actively participating": what they get otherwise is undefined
//! (CUDA C++ Programming Guide, "Warp Shuffle Functions"; PTX ISA, "shfl.sync"). A lane that lies out of the range of the
//! operands is another matter: then the thread gets its own value.

use super::super::context::Context;
use super::super::fault::FaultLocation;
use super::super::grid::Grid;
use super::super::warp_handlers::LANES;
use super::Watch;

/// Lanes of a warp that read from lanes which do not take part in the shuffle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsentSource {
    /// The first thread that reads; the line is the shuffle's.
    pub place: FaultLocation,
    /// Lanes of the warp that read so, one bit each.
    pub lanes: u32,
    /// Lanes that take part.
    pub present: u32,
}

/// One host thread's part of it: the first finding of each instruction.
#[derive(Default)]
pub(super) struct Absent(Vec<AbsentThreads>);

#[derive(Clone, Copy)]
struct AbsentThreads {
    block: u64,
    warp: u32,
    line: u32,
    lanes: u32,
    present: u32,
}

impl Absent {
    /// The findings of several host threads: the first one of each instruction.
    pub fn sources(all: impl Iterator<Item = Self>, grid: &Grid<'_>) -> Vec<AbsentSource> {
        let mut found: Vec<AbsentThreads> = all.flat_map(|one| one.0).collect();
        found.sort_by_key(|found| (found.line, found.block));
        found.dedup_by_key(|found| found.line);
        let told = |found: &AbsentThreads| {
            let thread = found.warp * LANES as u32 + found.lanes.trailing_zeros();
            AbsentSource {
                place: FaultLocation {
                    kernel: grid.kernel.name().to_owned(),
                    block: grid.block_index(found.block),
                    thread: grid.thread(thread),
                    line: found.line,
                },
                lanes: found.lanes,
                present: found.present,
            }
        };
        found.iter().map(told).collect()
    }
}

impl Watch<'_> {
    fn absent_source(&mut self, warp: u32, line: u32, [lanes, present]: [u32; 2]) {
        let block = self.block;
        if self.absent.0.iter().all(|known| known.line != line) {
            self.absent.0.push(AbsentThreads {
                block,
                warp,
                line,
                lanes,
                present,
            });
        }
    }
}

impl Context<'_> {
    /// Reports to the checkers that lanes of the running warp have read from lanes which do not take part.
    #[cold]
    pub(in crate::exec) fn watch_absent_source(&mut self, line: u32, lanes: u32) {
        if let Some(watch) = &mut self.watch {
            watch.absent_source(self.warp, line, [lanes, self.mask]);
        }
    }
}
