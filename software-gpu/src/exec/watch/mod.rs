//! Watching a kernel while it executes, for the checkers.
//!
//! Each host thread that executes blocks has a [`Watch`] of its own, which the handlers of memory instructions tell
//! what they are about to touch; without one they do nothing. What the watches of a grid have seen is put together at
//! its end ([`Observed`]) and does not depend on their number.
//!
//! - [`accesses`] collects the bytes of global memory that loads, stores and atomics touch.
//! - [`unwritten`] finds loads of device memory that nobody has written.

mod accesses;
mod unwritten;

use crate::memory::{Accesses, Allocation};

use super::fault::Access;
use super::grid::Grid;
use super::memory::Site;

use accesses::Recorder;
use unwritten::Unwritten;

pub(super) use unwritten::Accessor;
pub use unwritten::NeverWritten;

/// What the checkers have seen of a grid.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The bytes of device memory and page-locked host memory that it touched. Strong accesses of a scope wider than
    /// the cluster are in `atomics`; those of smaller scope are as good as plain ones to other operations.
    pub accesses: Accesses,
    /// Loads of device memory that nobody has written: the first one of each instruction, in the order of blocks.
    pub never_written: Vec<NeverWritten>,
}

/// One host thread's checkers.
pub(super) struct Watch<'g> {
    recorder: Recorder<'g>,
    unwritten: Unwritten<'g>,
}

impl<'g> Watch<'g> {
    /// For a program with so many memory instructions.
    pub fn new(sites: u32) -> Self {
        Self {
            recorder: Recorder::new(sites),
            unwritten: Unwritten::default(),
        }
    }

    /// `bytes` bytes of global memory, at `offset` of `allocation`, are about to be accessed.
    #[inline(always)]
    pub fn global(
        &mut self,
        site: &Site,
        access: Access,
        bytes: (&'g Allocation, usize, usize),
        accessor: Accessor,
    ) {
        if !self.recorder.extends(site, bytes) {
            self.elsewhere(site, access, bytes, accessor);
        }
    }

    /// An access that does not continue what its instruction has touched before.
    fn elsewhere(
        &mut self,
        site: &Site,
        access: Access,
        bytes: (&'g Allocation, usize, usize),
        accessor: Accessor,
    ) {
        if bytes.0.is_written() {
            self.recorder.begin(site, access, bytes);
        } else {
            // Each access is looked at: none may go by as part of a run.
            self.unwritten.access(site, access, bytes, accessor);
            self.recorder.add(site, access, bytes);
        }
    }

    /// The block with linear index `rank` has ended.
    pub fn end_block(&mut self, rank: u64, grid: &Grid<'_>) {
        self.unwritten.end_block(rank, grid.blocks());
    }

    /// Puts together what the watches of a grid have seen.
    pub fn observed(watches: Vec<Self>, grid: &Grid<'_>) -> Observed {
        let (recorders, unwritten): (Vec<_>, Vec<_>) = watches
            .into_iter()
            .map(|watch| (watch.recorder, watch.unwritten))
            .unzip();
        Observed {
            accesses: Recorder::accesses(recorders),
            never_written: Unwritten::never_written(unwritten, grid),
        }
    }
}
