//! Watching a kernel while it executes, for the checkers.
//!
//! Each host thread that executes blocks has a [`Watch`] of its own, which the handlers of memory instructions tell
//! what they are about to touch; without one they do nothing. What the watches of a grid have seen is put together at
//! its end ([`Observed`]) and does not depend on their number.
//!
//! - [`accesses`] collects the bytes of global memory that loads, stores and atomics touch.

mod accesses;

use crate::memory::{Accesses, Allocation};

use super::fault::Access;
use super::memory::Site;

use accesses::Recorder;

/// What the checkers have seen of a grid.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The bytes of device memory and page-locked host memory that it touched. Strong accesses of a scope wider than
    /// the cluster are in `atomics`; those of smaller scope are as good as plain ones to other operations.
    pub accesses: Accesses,
}

/// One host thread's checkers.
pub(super) struct Watch<'g> {
    recorder: Recorder<'g>,
}

impl<'g> Watch<'g> {
    /// For a program with so many memory instructions.
    pub fn new(sites: u32) -> Self {
        Self {
            recorder: Recorder::new(sites),
        }
    }

    /// `bytes` bytes of global memory, at `offset` of `allocation`, are about to be accessed.
    #[inline(always)]
    pub fn global(
        &mut self,
        site: &Site,
        access: Access,
        allocation: &'g Allocation,
        offset: usize,
        bytes: usize,
    ) {
        if !self.recorder.extends(site, allocation, offset, bytes) {
            self.recorder.begin(site, access, allocation, offset, bytes);
        }
    }

    /// Puts together what the watches of a grid have seen.
    pub fn observed(watches: Vec<Self>) -> Observed {
        let recorders = watches.into_iter().map(|watch| watch.recorder);
        Observed {
            accesses: Recorder::accesses(recorders),
        }
    }
}
