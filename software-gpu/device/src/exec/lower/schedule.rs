//! The modelled time of a basic block.
//!
//! One warp alone issues in order, one instruction per cycle and pipe slot, and waits for the operands of each; an
//! instruction's result is ready after its latency. Results that nobody waits for within the block are waited for at its
//! end, so that chains through blocks and loops are counted once, in full. Loads from global memory are the exception: a
//! later block that reads the result of one waits for it there, so that loads in several blocks are under way together.
//! Address arithmetic and stores are not waited for.

use std::collections::HashMap;

use crate::ptx::ir::{Body, Instruction, RegisterId};

use super::super::cost::{Class, Weight, latency};
use super::super::latencies::Latencies;
use super::super::program::Near;
use super::flow::End;
use super::liveness::{read, written};

/// The clock of one block.
pub(super) struct Schedule {
    latencies: Latencies,
    /// Warp instructions by class.
    pub issue: [u32; Class::COUNT],
    missing: Track,
    hitting: Track,
    /// The two when loads of addresses hit the L1 cache, from the first such load on.
    near: Option<[Track; 2]>,
    meeting: Option<u32>,
}

/// The same instructions when all global loads miss the L2 cache, or when all hit it.
#[derive(Clone, Default)]
struct Track {
    now: u32,
    ready: HashMap<RegisterId, u32>,
    latest: u32,
    /// When the last load from global memory is ready.
    loaded: u32,
}

impl Track {
    fn add(
        &mut self,
        read: &[RegisterId],
        written: &[RegisterId],
        issues: u32,
        (latency, is_load): (u32, bool),
    ) {
        let operands = read.iter().filter_map(|register| self.ready.get(register));
        let start = self.now.max(operands.copied().max().unwrap_or(0));
        if issues > 0 {
            self.now = start + issues;
        }
        let done = start + latency;
        for register in written {
            self.ready.insert(*register, done);
            let latest = match is_load {
                true => &mut self.loaded,
                false => &mut self.latest,
            };
            *latest = done.max(*latest);
        }
    }

    fn end(&mut self, guard: Option<RegisterId>) {
        let ready = guard.and_then(|guard| self.ready.get(&guard).copied());
        self.now = self.now.max(ready.unwrap_or(0)) + u32::from(latency::BRANCH);
    }

    fn cycles(&self) -> u32 {
        self.now.max(self.latest)
    }
}

impl Schedule {
    /// The clock of a block that has no instructions yet.
    pub fn new(latencies: Latencies) -> Self {
        Self {
            latencies,
            issue: [0; Class::COUNT],
            missing: Track::default(),
            hitting: Track::default(),
            near: None,
            meeting: None,
        }
    }

    /// Cycles since the start of the block, for clocks read in it.
    pub fn now(&self) -> u32 {
        self.missing.now
    }

    /// Appends an instruction. `leads_to_address`: a later load of the block needs its result for its address.
    pub fn add(&mut self, instruction: &Instruction, weight: Weight, leads_to_address: bool) {
        self.issue[weight.class as usize] += u32::from(weight.issues);
        let (mut operands, mut results) = (Vec::new(), Vec::new());
        read(instruction, &mut operands);
        written(instruction, &mut results);
        let issues = u32::from(weight.issues);
        let is_load = weight.is_load;
        let cached = if is_load {
            self.latencies.l2
        } else {
            weight.latency
        };
        let [missing, hitting] = [weight.latency, cached].map(|cycles| (cycles.into(), is_load));
        if leads_to_address && is_load && self.near.is_none() {
            self.near = Some([self.missing.clone(), self.hitting.clone()]);
        }
        if let Some([far, cached]) = &mut self.near {
            let at_hand = (self.latencies.l1.into(), is_load);
            let [missing, hitting] = match leads_to_address && is_load {
                true => [at_hand; 2],
                false => [missing, hitting],
            };
            far.add(&operands, &results, issues, missing);
            cached.add(&operands, &results, issues, hitting);
        }
        self.missing.add(&operands, &results, issues, missing);
        self.hitting.add(&operands, &results, issues, hitting);
    }

    /// The next instruction tells other blocks how far this one has come, or asks how far they have: it comes in the order of
    /// their clocks, and after `wait` cycles.
    pub fn meets_others(&mut self, wait: u16) {
        *self.meeting.get_or_insert(0) += u32::from(wait);
    }

    /// What the warp waits before the block, if it meets other blocks in it.
    pub fn meeting(&self) -> Option<u32> {
        self.meeting
    }

    /// Accounts for the end of the block.
    pub fn end(&mut self, end: &End, body: &Body) {
        let (issues, guard) = match end {
            End::Fall(_) | End::WarpBarrier { .. } => return,
            End::Branch { guard, .. } => (1, Some(guard.register)),
            End::Call { at, .. } => (body.instructions[*at].operands.len() as u32, None),
            _ => (1, None),
        };
        self.issue[Class::Control as usize] += issues;
        let near = self.near.iter_mut().flatten();
        near.chain([&mut self.missing, &mut self.hitting])
            .for_each(|track| track.end(guard));
    }

    /// Cycles of the whole block.
    pub fn cycles(&self) -> u32 {
        self.missing.cycles()
    }

    /// When the last of its loads from global memory is ready, if they miss the L2 cache and if they hit it.
    pub fn loaded(&self) -> [u32; 2] {
        [self.missing.loaded, self.hitting.loaded]
    }

    /// What it takes when all loads of addresses hit the L1 cache, if there are any.
    pub fn near(&self) -> Option<Box<Near>> {
        let [missing, hitting] = self.near.as_ref()?;
        Some(Box::new(Near {
            cycles: missing.cycles(),
            saving: missing.cycles() - hitting.cycles(),
            loaded: [missing.loaded, hitting.loaded],
        }))
    }

    /// How many cycles less it takes when all global loads hit the L2 cache.
    pub fn saving(&self) -> u32 {
        self.missing.cycles() - self.hitting.cycles()
    }
}
