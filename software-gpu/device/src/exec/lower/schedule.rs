//! The modelled time of a basic block.
//!
//! One warp alone issues one instruction per cycle and pipe slot; an instruction's result is ready after its latency. The
//! compiler knows the latencies of arithmetic, shuffles and shared memory, and puts other instructions between a result and
//! its use: chains that do not depend on each other run side by side. It does not know how long memory takes. A warp issues in
//! order, so that the first use of what was loaded holds up all that is behind it.
//!
//! The end of the block waits for every result that no instruction in it has used, so that chains through blocks and loops are
//! counted once, in full. Loads from global memory are the exception: a later block that reads the result of one waits for
//! it there, so that loads in several blocks are under way together. Address arithmetic and stores are not waited for.

use std::collections::{HashMap, HashSet};

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

/// When a result is ready, and what is known of that.
#[derive(Clone, Copy)]
struct Latency {
    cycles: u32,
    /// It comes from global memory.
    is_load: bool,
    /// The compiler takes it into account.
    is_foreseen: bool,
}

/// The same instructions when all global loads miss the L2 cache, or when all hit it.
#[derive(Clone, Default)]
struct Track {
    /// The earliest cycle in which the next instruction can issue.
    now: u32,
    /// When all instructions so far have issued.
    issued: u32,
    ready: HashMap<RegisterId, u32>,
    /// Registers whose latency the compiler does not know.
    unforeseen: HashSet<RegisterId>,
    latest: u32,
    /// When the last load from global memory is ready.
    loaded: u32,
}

impl Track {
    /// Returns whether the warp waits before the instruction for what the compiler could not foresee.
    fn add(
        &mut self,
        read: &[RegisterId],
        written: &[RegisterId],
        issues: u32,
        latency: Latency,
    ) -> bool {
        let ready = |register: &RegisterId| self.ready.get(register).copied().unwrap_or(0);
        let operands = read.iter().map(ready).max().unwrap_or(0);
        let unforeseen = read.iter().filter(|at| self.unforeseen.contains(at));
        let awaited = unforeseen.map(ready).max();
        // What is only given another name is not waited for yet.
        let until = awaited.filter(|until| issues > 0 && *until > self.now);
        self.now = until.unwrap_or(self.now);
        let start = self.now.max(operands);
        if issues > 0 {
            self.now += issues;
            self.issued = self.issued.max(start + issues);
        }
        let done = start + latency.cycles;
        let is_renamed = issues == 0 && awaited.is_some();
        for register in written {
            self.ready.insert(*register, done);
            match latency.is_foreseen && !is_renamed {
                true => self.unforeseen.remove(register),
                false => self.unforeseen.insert(*register),
            };
            let latest = match latency.is_load {
                true => &mut self.loaded,
                false => &mut self.latest,
            };
            *latest = done.max(*latest);
        }
        until.is_some()
    }

    /// The next instruction comes behind all before it.
    fn keep_order(&mut self) {
        self.now = self.now.max(self.issued);
    }

    /// The block's last instruction is in its place: nothing of the block comes behind it.
    fn end(&mut self, guard: Option<RegisterId>) {
        self.keep_order();
        let ready = guard.and_then(|guard| self.ready.get(&guard).copied());
        self.now = self.now.max(ready.unwrap_or(0)) + u32::from(latency::BRANCH);
    }

    fn cycles(&self) -> u32 {
        self.now.max(self.issued).max(self.latest)
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

    /// Cycles since the start of the block, for what is waited for in it.
    pub fn now(&self) -> u32 {
        self.missing.now
    }

    /// Cycles until all instructions so far have issued, for clocks read in it.
    pub fn issued(&self) -> u32 {
        self.missing.now.max(self.missing.issued)
    }

    /// Appends an instruction. `leads_to_address`: a later load of the block needs its result for its address. Returns whether
    /// the warp waits for memory before it.
    pub fn add(
        &mut self,
        instruction: &Instruction,
        weight: Weight,
        leads_to_address: bool,
    ) -> bool {
        self.issue[weight.class as usize] += u32::from(weight.issues);
        let (mut operands, mut results) = (Vec::new(), Vec::new());
        read(instruction, &mut operands);
        written(instruction, &mut results);
        let issues = u32::from(weight.issues);
        let is_load = weight.is_load;
        let is_foreseen =
            weight.class != Class::Memory || weight.latency < self.latencies.unforeseen();
        let after = |cycles: u16| Latency {
            cycles: cycles.into(),
            is_load,
            is_foreseen,
        };
        let missing = after(weight.latency);
        let hitting = match is_load {
            true => after(self.latencies.l2),
            false => missing,
        };
        if leads_to_address && is_load && self.near.is_none() {
            self.near = Some([self.missing.clone(), self.hitting.clone()]);
        }
        if weight == Weight::CLOCK {
            let near = self.near.iter_mut().flatten();
            near.chain([&mut self.missing, &mut self.hitting])
                .for_each(Track::keep_order);
        }
        if let Some([far, cached]) = &mut self.near {
            let at_hand = after(self.latencies.l1);
            let [missing, hitting] = match leads_to_address && is_load {
                true => [at_hand; 2],
                false => [missing, hitting],
            };
            far.add(&operands, &results, issues, missing);
            cached.add(&operands, &results, issues, hitting);
        }
        let waits = self.missing.add(&operands, &results, issues, missing);
        self.hitting.add(&operands, &results, issues, hitting);
        waits
    }

    /// The next instruction publishes this block's progress to other blocks, or reads theirs: it executes in the order of their
    /// clocks, and after `wait` cycles.
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
            // The compiler redirects the branch before it to its target.
            End::Jump(_) if self.is_empty() => return,
            End::Branch { guard, .. } => (1, Some(guard.register)),
            End::Call { at, .. } => (body.instructions[*at].operands.len() as u32, None),
            _ => (1, None),
        };
        self.issue[Class::Control as usize] += issues;
        let near = self.near.iter_mut().flatten();
        near.chain([&mut self.missing, &mut self.hitting])
            .for_each(|track| track.end(guard));
    }

    /// No instruction has issued.
    fn is_empty(&self) -> bool {
        self.issue.iter().all(|issued| *issued == 0)
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
