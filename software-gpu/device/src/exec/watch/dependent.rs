//! What a kernel touches before it waits for the grids before it, with `griddepcontrol.wait`.
//!
//! A thread has waited when it has executed the instruction, or when another thread of its block has and a barrier
//! lies between them: a block-wide or warp-wide one, or the phase of an mbarrier object.

use crate::memory::{Accesses, Allocation};

use super::super::fault::Access;
use super::super::memory::Site;
use super::super::warp_handlers::LANES;
use super::accesses::Recorder;

/// The accesses of a grid that executes `griddepcontrol`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependent {
    /// What its threads touched before they waited.
    pub early: Accesses,
    /// All threads waited before the grid let the next one begin: explicitly, or by its end.
    pub waits: bool,
}

/// Collects the accesses that come before the wait, of one host thread.
pub(super) struct Early<'g> {
    recorder: Recorder<'g>,
    /// The lanes of each warp of the block that have waited.
    waited: Vec<u32>,
    /// A thread let the next grid begin before it had waited, or ended without waiting.
    unwaited: bool,
}

impl<'g> Early<'g> {
    pub fn new(sites: u32) -> Self {
        Self {
            recorder: Recorder::new(sites),
            waited: Vec::new(),
            unwaited: false,
        }
    }

    pub fn start_block(&mut self, warps: usize) {
        self.waited.clear();
        self.waited.resize(warps, 0);
    }

    pub fn end_block(&mut self) {
        self.unwaited |= self.waited.contains(&0);
    }

    /// Lanes of the warp execute `griddepcontrol.wait`.
    pub fn wait(&mut self, warp: u32, lanes: u32) {
        if let Some(waited) = self.waited.get_mut(warp as usize) {
            *waited |= lanes;
        }
    }

    /// The warp executes `griddepcontrol.launch_dependents`.
    pub fn trigger(&mut self, warp: u32) {
        self.unwaited |= self.waited.get(warp as usize) == Some(&0);
    }

    /// The threads of the block have synchronised.
    pub fn met(&mut self) {
        if self.waited.iter().any(|lanes| *lanes != 0) {
            self.waited.fill(!0);
        }
    }

    /// The threads of the warp have synchronised, or one of them has acquired from another warp of the block.
    pub fn warp_met(&mut self, warp: u32, of_block: bool) {
        let any = |waited: &[u32]| waited.iter().any(|lanes| *lanes != 0);
        let heard = of_block && any(&self.waited);
        if let Some(waited) = self.waited.get_mut(warp as usize)
            && (heard || *waited != 0)
        {
            *waited = !0;
        }
    }

    /// Records an access of this thread and the lanes behind it, if it comes before the wait.
    pub fn takes(
        &mut self,
        site: &Site,
        access: Access,
        bytes: (&'g Allocation, usize, usize),
        thread: u32,
    ) -> bool {
        let (warp, lane) = (thread as usize / LANES, thread as usize % LANES);
        let lanes = self.waited.get(warp).copied().unwrap_or_default();
        let is_early = lanes >> lane & 1 == 0;
        if is_early && !self.recorder.extends(site, bytes) {
            self.recorder.begin(site, access, bytes);
        }
        is_early
    }

    /// Puts together what the host threads have seen of a grid.
    pub fn dependent(all: Vec<Self>) -> Option<Dependent> {
        let waits = !all.iter().any(|early| early.unwaited);
        let recorders: Vec<_> = all.into_iter().map(|early| early.recorder).collect();
        (!recorders.is_empty()).then(|| Dependent {
            early: Recorder::accesses(recorders),
            waits,
        })
    }
}
