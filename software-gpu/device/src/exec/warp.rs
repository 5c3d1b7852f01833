//! A warp: 32 threads, a stack of frames, and the scheduling of diverged threads.
//!
//! # Divergence and reconvergence
//!
//! Threads of a frame that are at the same place form a *split* (place and mask). A warp executes one split at a time,
//! a basic block at a time. When a branch divides a split, both parts stay in the frame; splits that meet at the start
//! of a block merge. Which one runs next decides how early they reconverge:
//!
//! - Lowering numbers the blocks so that every edge other than a loop's back edge leads to a higher number and the
//!   blocks of a loop are contiguous (`lower::order`). The split in the lowest block runs first. So the parts of an
//!   `if` wait at its join, and threads that leave a loop wait for the others behind it.
//! - A split at a loop header waits while others are inside that loop: threads that `continue` are caught up with.
//!
//! For structured code this is reconvergence at the immediate post-dominator; for irreducible control flow it remains
//! correct, because any order of splits is. Threads may depend on each other within a warp (independent thread
//! scheduling): a split that waits at a warp barrier (`bar.warp.sync`, or the implied one of `shfl.sync` and its variants)
//! lets the others run, and a split that keeps others waiting for long (a spin lock) is made to yield.
//!
//! A call pushes a frame with the calling split; the other splits of the caller wait until it returns.

mod barriers;
mod calls;

pub(super) use barriers::Arrival;

use barriers::uniform;

use super::bytes_in_flight::BytesInFlight;
use super::context::{Context, Lanes};
use super::cost::{Class, latency};
use super::fault::Fault;
use super::grid::Grid;
use super::op::Slot;
use super::polling;
use super::program::{BasicBlock, Code, Terminator};
use super::thread_states::{At, Standing};
use super::warp_handlers::LANES;

/// Scheduling decisions in favour of one split, while others are there, after which the others get as many.
const PATIENCE: u32 = 4096;

/// As many once a split of the block has kept others waiting for so long: where there is one lock, the next is near.
const PATIENCE_LEFT: u32 = 64;

/// Why a warp stopped running.
pub(super) enum Stop {
    /// Its turn has ended.
    Turn,
    /// Some threads arrived at a block barrier; see [`Warp::take_arrival`].
    Arrived,
    /// Some threads arrived at the cluster's barrier.
    ClusterArrived,
    /// All threads have exited.
    Done,
    /// A thread did something illegal.
    Fault(Box<Fault>),
}

/// A cache line of registers.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "frames read it as rows of any width")] [u8; 64]);

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    /// Waits for these lanes.
    WarpBarrier(u32),
    /// Waits at the barrier with this number.
    BlockBarrier(u32),
    /// Waits at the cluster's barrier.
    ClusterBarrier,
}

/// Threads at the same place.
#[derive(Clone, Copy)]
struct Split {
    pc: u32,
    mask: u32,
    state: State,
}

impl State {
    fn at(self) -> At {
        match self {
            Self::Ready => At::Running,
            Self::WarpBarrier(members) => At::WarpBarrier(members),
            Self::BlockBarrier(id) => At::BlockBarrier(id),
            Self::ClusterBarrier => At::ClusterBarrier,
        }
    }
}

impl Split {
    /// The line of the barrier that it waits at, or of the end of its basic block.
    fn line(&self, blocks: &[BasicBlock]) -> u32 {
        let leads_here = |block: &&BasicBlock| match &block.end {
            Terminator::WarpBarrier { next, .. } => *next == self.pc,
            Terminator::BlockBarrier(barrier) => barrier.next == self.pc,
            Terminator::ClusterWait { next } => *next == self.pc,
            _ => false,
        };
        let place = match self.state {
            State::Ready => blocks.get(self.pc as usize),
            _ => blocks.iter().find(leads_here),
        };
        place.map_or(0, |block| block.line)
    }
}

/// An activation of a function.
struct Frame {
    code: usize,
    /// Start in the register file, in bytes.
    base: usize,
    /// Start in each thread's local memory.
    local_base: u32,
    /// Bytes of `.local` variables in this frame and those below it.
    stack_bytes: u32,
    /// The split that runs.
    current: Split,
    /// The others.
    others: Vec<Split>,
}

/// See the [module documentation](self).
pub(super) struct Warp {
    index: u32,
    /// Lanes that have a thread.
    threads: u32,
    exited: u32,
    cycles: u64,
    /// How many of them would be saved if all global loads hit the L2 cache.
    saving: u64,
    /// When all that was loaded from global memory is there, if it misses the L2 cache and if it hits it.
    loaded: [u64; 2],
    /// Its bytes in flight in this phase.
    in_flight: BytesInFlight,
    ready: bool,
    frames: Vec<Frame>,
    registers: Vec<Line>,
    local: Vec<u128>,
    arrival: Option<Arrival>,
    barrier_result: (u32, u32),
    /// Lanes that have arrived at the cluster's barrier since it was last complete, and the cycle of the latest.
    cluster_arrived: u32,
    cluster_arrival: u64,
    /// When those who wait there may continue, since it was last complete.
    cluster_release: u64,
    /// Lanes that have arrived there and not waited since.
    cluster_unwaited: u32,
    /// Decisions since splits were last made to take turns, and whether such a turn is on.
    decisions: u32,
    rotating: bool,
    /// Whether there ever was one in this block.
    has_rotated: bool,
    /// Lanes that have just passed a warp barrier.
    met: u32,
    /// The basic block before which it has let others go first, and which it executes next.
    gave_way_at: Option<u32>,
}

/// Whether others go first: a warp's communication with other blocks follows the order of all clocks, after `wait` cycles.
fn gives_way(cx: &mut Context<'_>, gave_way_at: &mut Option<u32>, pc: u32, wait: u32) -> bool {
    // The warp already gave way before this basic block, and now it is its turn.
    if gave_way_at.take() == Some(pc) {
        return false;
    }
    cx.cycles += u64::from(wait);
    let are_others = cx.limit != u64::MAX;
    if are_others {
        *gave_way_at = Some(pc);
        // The turn ends here; the block with the earliest clock continues.
        cx.limit = 0;
    }
    are_others
}

/// Instructions issued, by class. All are read before one is written, so that they are added at once.
#[inline(always)]
fn sum(issued: &[u32; Class::COUNT], more: &[u32; Class::COUNT]) -> [u32; Class::COUNT] {
    let mut sum = [0; Class::COUNT];
    for class in 0..Class::COUNT {
        sum[class] = issued[class].wrapping_add(more[class]);
    }
    sum
}

/// What it takes to continue at `to` behind block `from`: blocks are numbered so that only a loop's next iteration has a lower one.
fn fetched_again(from: u32, to: u32) -> u64 {
    match to <= from {
        true => latency::AGAIN.into(),
        false => 0,
    }
}

impl Warp {
    /// Warp `index` of a block of `threads` threads. Fills the rows that are the same in all blocks.
    pub fn new(cx: &mut Context<'_>, index: u32, threads: u32) -> Self {
        let program = &*cx.grid.kernel.program;
        let code = &program.codes[0];
        let lanes = (threads - index * LANES as u32).min(LANES as u32);
        let local = program.local_bytes as usize * LANES;
        let mut warp = Self {
            index,
            threads: u32::MAX >> (LANES as u32 - lanes),
            exited: 0,
            cycles: 0,
            saving: 0,
            loaded: [0; 2],
            in_flight: BytesInFlight::default(),
            ready: true,
            frames: Vec::with_capacity(1),
            registers: vec![Line([0; 64]); code.frame_bytes as usize / 64],
            local: vec![0; local.div_ceil(16)],
            arrival: None,
            barrier_result: (0, 0),
            cluster_arrived: 0,
            cluster_arrival: 0,
            cluster_release: 0,
            cluster_unwaited: 0,
            decisions: 0,
            rotating: false,
            has_rotated: false,
            met: 0,
            gave_way_at: None,
        };
        warp.fill(cx, &code.constants, 0);
        warp
    }

    /// Begins a block.
    pub fn start(&mut self, cx: &mut Context<'_>) {
        self.exited = 0;
        self.cycles = 0;
        self.saving = 0;
        self.loaded = [0; 2];
        self.in_flight = BytesInFlight::default();
        self.ready = true;
        self.arrival = None;
        (self.cluster_arrived, self.cluster_unwaited) = (0, 0);
        self.cluster_release = 0;
        self.decisions = 0;
        self.rotating = false;
        self.has_rotated = false;
        self.met = 0;
        self.gave_way_at = None;
        let code = &cx.grid.kernel.program.codes[0];
        self.fill(cx, &code.constants[..code.block_constants], 0);
        let mut others = self
            .frames
            .pop()
            .map_or_else(Vec::new, |frame| frame.others);
        others.clear();
        self.frames.clear();
        self.enter(cx, 0, self.threads, others);
    }

    /// Whether it can run.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// Modelled cycles so far.
    #[inline]
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// How many fewer they would be if all global loads hit the L2 cache.
    pub fn saving(&self) -> u64 {
        self.saving
    }

    /// The most bytes that it has had in flight since the last barrier of the whole block.
    pub fn at_once(&self) -> u64 {
        self.in_flight.at_once()
    }

    /// All warps of the block have arrived.
    pub fn begin_phase(&mut self) {
        self.in_flight = BytesInFlight::default();
    }

    /// Lanes whose threads have not exited.
    #[inline]
    pub fn alive_lanes(&self) -> u32 {
        self.threads & !self.exited
    }

    /// Number of threads that have not exited.
    #[inline]
    pub fn alive(&self) -> u32 {
        self.alive_lanes().count_ones()
    }

    /// The positions of the threads that have not exited.
    pub fn standing(&self, grid: &Grid<'_>) -> Vec<Standing> {
        let mut all = Vec::new();
        for (depth, frame) in self.frames.iter().enumerate() {
            let blocks = &grid.kernel.program.codes[frame.code].blocks;
            // The current split of a caller is inside the call.
            let innermost = depth + 1 == self.frames.len();
            let current = innermost.then_some(&frame.current);
            for split in current.into_iter().chain(&frame.others) {
                let lanes = split.mask & !self.exited;
                if lanes != 0 {
                    all.push(Standing {
                        warp: self.index,
                        lanes,
                        at: split.state.at(),
                        line: split.line(blocks),
                    });
                }
            }
        }
        all
    }

    /// Runs until something happens, at most `turn` basic blocks, spending `budget` warp instructions.
    pub fn run(&mut self, cx: &mut Context<'_>, turn: u32, budget: &mut u64) -> Stop {
        cx.warp = self.index;
        cx.local = self.local.as_mut_ptr().cast();
        cx.cycles = self.cycles;
        cx.barrier_result = self.barrier_result;
        // All warps count bytes in one counter: the warp's own bytes are the difference to the count at its start.
        let counted = cx.cost.global_read_bytes;
        cx.in_flight = self.in_flight.resumed(counted);
        let stop = self.run_frames(cx, turn, budget);
        self.in_flight = cx.in_flight.with(cx.cost.global_read_bytes);
        self.cycles = cx.cycles;
        stop
    }

    fn run_frames(&mut self, cx: &mut Context<'_>, mut turn: u32, budget: &mut u64) -> Stop {
        loop {
            let Some(frame) = self.frames.last_mut() else {
                self.ready = false;
                return Stop::Done;
            };
            let (code, base) = (frame.code, frame.base);
            cx.local_base = frame.local_base;
            cx.code = &cx.grid.kernel.program.codes[code];
            cx.registers = self.registers.as_mut_ptr().wrapping_byte_add(base).cast();
            // Splits may have changed in the last turn: merge them, release warp barriers and choose the next split.
            let runs = self.settle(cx.code);
            let met = std::mem::take(&mut self.met);
            if met != 0
                && let Some(watch) = &mut cx.watch
            {
                watch.warp_barrier(self.index, met, self.alive_lanes());
            }
            if !runs {
                if self
                    .frames
                    .last()
                    .is_some_and(|frame| frame.others.is_empty())
                {
                    // No split is left in this frame: every thread has returned or exited.
                    self.leave(cx);
                    continue;
                }
                // Every split of the frame waits for other warps.
                self.ready = false;
                return Stop::Turn;
            }
            match self.run_split(cx, &mut turn, budget) {
                // A split that diverged ends its run, but the warp's turn continues with another split.
                Some(Stop::Turn) if turn > 0 && cx.cycles < cx.limit => {}
                Some(stop) => return stop,
                None if turn == 0 || cx.cycles >= cx.limit => return Stop::Turn,
                None => {}
            }
        }
    }

    /// Runs the current split of the innermost frame until it ends, waits, diverges from others, or calls.
    fn run_split(
        &mut self,
        cx: &mut Context<'_>,
        turn: &mut u32,
        budget: &mut u64,
    ) -> Option<Stop> {
        let code = cx.code;
        let frame = self.frames.last_mut()?;
        let alone = frame.others.is_empty();
        let Split {
            mut pc, mut mask, ..
        } = frame.current;
        loop {
            let block = &code.blocks[pc as usize];
            // The block communicates with other blocks of the cluster or grid: those with an earlier clock go first.
            if let Some(wait) = block.meeting
                && gives_way(cx, &mut self.gave_way_at, pc, wait)
            {
                frame.current.pc = pc;
                frame.current.mask = mask;
                return Some(Stop::Turn);
            }
            cx.mask = mask;
            cx.active = mask;
            // The block reads a loaded value: the warp's clock goes to the cycle at which the value arrives.
            if let Some(offset) = block.awaits {
                // A loaded value is available when it is read, not when it was requested.
                let by = |ready: u64| ready.saturating_sub(u64::from(offset));
                if by(self.loaded[0]) > cx.cycles {
                    cx.in_flight.wait(cx.cost.global_read_bytes);
                }
                let hitting = (cx.cycles - self.saving).max(by(self.loaded[1]));
                cx.cycles = cx.cycles.max(by(self.loaded[0]));
                self.saving = cx.cycles - hitting;
            }
            // Two clocks: as modelled, and as if every load had hit the cache, which is `saving` cycles earlier.
            cx.saving = self.saving;
            let began = [cx.cycles, cx.cycles - self.saving];
            cx.near.begin();
            if block.meeting.is_some() {
                cx.near.clear();
            }
            for op in &code.ops[block.first as usize..block.last as usize] {
                // SAFETY: `lower` made the operation for the frame that `cx.registers` points to.
                unsafe { (op.run)(cx, op) };
            }
            if let Some(fault) = cx.fault.take() {
                return Some(Stop::Fault(fault));
            }
            // A block whose loads all hit nearby lines has costs of its own, known when it was lowered.
            let (cycles, saving, loaded) = match &block.near {
                Some(near) if cx.near.all_hit() => (near.cycles, near.saving, near.loaded),
                _ => (block.cycles, block.saving, block.loaded),
            };
            if loaded[0] > 0 {
                for ((latest, began), own) in self.loaded.iter_mut().zip(began).zip(loaded) {
                    *latest = (*latest).max(began + u64::from(own));
                }
            }
            cx.cycles += u64::from(cycles);
            self.saving += u64::from(saving);
            cx.cost.issue = sum(&cx.cost.issue, &block.issue);
            // The budget ends kernels that never end: it counts instructions, so that it does not depend on the host's speed.
            let spent = u64::from(block.instructions) + std::mem::take(&mut cx.extra_instructions);
            let Some(left) = budget.checked_sub(spent) else {
                frame.current.pc = pc;
                frame.current.mask = mask;
                return Some(Stop::Fault(Box::new(Fault::InstructionBudget {
                    place: cx.place(self.index, mask.trailing_zeros(), block.line),
                    budget: cx.grid.instruction_budget,
                    threads: polling::tell(cx, pc, mask),
                })));
            };
            *budget = left;
            *turn -= 1;
            match &block.end {
                Terminator::Jump(target) => {
                    cx.cycles += fetched_again(pc, *target);
                    pc = *target;
                }
                Terminator::Branch {
                    predicate,
                    negated,
                    taken,
                    next,
                } => {
                    // SAFETY: the slot is a predicate of this frame.
                    let holds = unsafe { cx.predicate(*predicate) };
                    let takes = if *negated { !holds } else { holds } & mask;
                    // All threads agree: the split stays whole.
                    if takes == mask {
                        cx.cycles += fetched_again(pc, *taken);
                        pc = *taken;
                    } else if takes == 0 {
                        cx.cycles += fetched_again(pc, *next);
                        pc = *next;
                    } else {
                        // The warp diverges. The scheduler of splits chooses which part runs next.
                        cx.cycles += fetched_again(pc, *taken).max(fetched_again(pc, *next));
                        frame.others.push(Split {
                            pc: *taken,
                            mask: takes,
                            state: State::Ready,
                        });
                        frame.current.pc = *next;
                        frame.current.mask = mask & !takes;
                        return Some(Stop::Turn);
                    }
                }
                // All threads of the frame are here: none is left to wait for.
                Terminator::WarpBarrier { next, .. } if alone => {
                    pc = *next;
                    if mask == self.threads & !self.exited {
                        (self.decisions, self.rotating) = (0, false);
                    }
                    if cx.watch.is_some() {
                        self.met |= mask;
                        frame.current.pc = pc;
                        frame.current.mask = mask;
                        return None;
                    }
                }
                end => {
                    frame.current.pc = pc;
                    frame.current.mask = mask;
                    return self.special_end(cx, end, block.line);
                }
            }
            // With other splits in the frame, each basic block ends in the scheduler, so that splits can merge at its start.
            if !alone || *turn == 0 || cx.cycles >= cx.limit {
                frame.current.pc = pc;
                frame.current.mask = mask;
                return Some(Stop::Turn);
            }
            mask = cx.active;
        }
    }

    /// The terminators that are rare enough to be out of the way.
    fn special_end(&mut self, cx: &mut Context<'_>, end: &Terminator, line: u32) -> Option<Stop> {
        let frame = self.frames.last_mut()?;
        let mask = frame.current.mask;
        match end {
            Terminator::Jump(_) | Terminator::Branch { .. } => {}
            Terminator::Table { index, targets } => return self.table(cx, *index, targets, line),
            Terminator::WarpBarrier { members, next } => {
                frame.current.pc = *next;
                frame.current.state = State::WarpBarrier(uniform(cx, *members, mask));
            }
            Terminator::BlockBarrier(barrier) => return self.block_barrier(cx, barrier, line),
            Terminator::ClusterArrive { next } => {
                frame.current.pc = *next;
                return self.cluster_arrive(cx, mask, line);
            }
            Terminator::ClusterWait { next } => {
                frame.current.pc = *next;
                // The wait pairs with an arrival. If the phase of that arrival is already complete, the threads continue at once.
                self.cluster_unwaited &= !mask;
                match self.cluster_arrived & mask {
                    0 => cx.cycles = cx.cycles.max(self.cluster_release),
                    _ => frame.current.state = State::ClusterBarrier,
                }
            }
            Terminator::Call {
                callee, arguments, ..
            } => return self.call(cx, *callee, arguments, line),
            Terminator::CallIndirect {
                target,
                callees,
                arguments,
                ..
            } => return self.call_indirect(cx, *target, callees, arguments, line),
            Terminator::Return => {
                // A return from the kernel's own frame is an exit.
                if self.frames.len() == 1 {
                    self.exited |= mask;
                }
                self.frames.last_mut()?.current.mask = 0;
            }
            Terminator::Exit => {
                self.exited |= mask;
                frame.current.mask = 0;
            }
        }
        None
    }

    fn table(
        &mut self,
        cx: &mut Context<'_>,
        index: Slot,
        targets: &[u32],
        line: u32,
    ) -> Option<Stop> {
        let frame = self.frames.last_mut()?;
        // SAFETY: lowering made the slot a 32-bit row of this frame.
        let row = unsafe { *cx.row::<u32>(index) };
        for lane in Lanes(frame.current.mask) {
            let Some(target) = targets.get(row[lane] as usize) else {
                let message = format!("branch index {} in a list of {}", row[lane], targets.len());
                let place = cx.place(self.index, lane as u32, line);
                return Some(Stop::Fault(Box::new(Fault::IllegalInstruction {
                    place,
                    message,
                })));
            };
            // Lanes with the same target form one split.
            let split = Split {
                pc: *target,
                mask: 1 << lane,
                state: State::Ready,
            };
            match frame
                .others
                .iter_mut()
                .find(|other| other.pc == *target && other.state == State::Ready)
            {
                Some(other) => other.mask |= split.mask,
                None => frame.others.push(split),
            }
        }
        frame.current.mask = 0;
        None
    }

    /// Merges and releases splits of the innermost frame and chooses the current one. `false` when none can run.
    fn settle(&mut self, code: &Code) -> bool {
        let (exited, alive) = (self.exited, self.alive_lanes());
        let Some(frame) = self.frames.last_mut() else {
            return false;
        };
        if frame.others.is_empty() && frame.current.mask != 0 && frame.current.state == State::Ready
        {
            return true;
        }
        if frame.current.mask != 0 {
            frame.others.push(frame.current);
        }
        frame.current.mask = 0;
        let splits = &mut frame.others;
        splits.iter_mut().for_each(|split| split.mask &= !exited);
        splits.retain(|split| split.mask != 0);
        self.met |= release_warp_barriers(splits);
        merge(splits);
        // Fairness: after `PATIENCE` decisions in favour of one order, splits take turns for as many decisions. Thus a thread that spins
        // on a lock lets the thread that holds it run.
        let ready = splits
            .iter()
            .filter(|split| split.state == State::Ready)
            .count();
        if splits.iter().any(|split| split.mask == alive) {
            // All splits have reconverged: none is left that waits for a turn.
            (self.decisions, self.rotating) = (0, false);
        }
        if ready > 1 {
            let patience = match self.has_rotated {
                true => PATIENCE_LEFT,
                false => PATIENCE,
            };
            self.decisions += 1;
            if self.decisions == patience {
                self.decisions = 0;
                self.rotating = !self.rotating;
                self.has_rotated = true;
            }
        }
        let chosen = match self.rotating && ready > 1 {
            // The split that was current has been appended: the first ready one has waited longest.
            true if self.decisions == 0 => {
                splits.iter().position(|split| split.state == State::Ready)
            }
            true => splits.iter().rposition(|split| split.state == State::Ready),
            false => preferred(splits, code),
        };
        let Some(chosen) = chosen else {
            return false;
        };
        frame.current = splits.remove(chosen);
        true
    }
}

/// Lets splits go whose warp barrier all living lanes have reached; returns their lanes.
fn release_warp_barriers(splits: &mut [Split]) -> u32 {
    let mut met = 0;
    let alive = splits.iter().fold(0, |lanes, split| lanes | split.mask);
    let at_barrier = |split: &&Split| matches!(split.state, State::WarpBarrier(_));
    let arrived = splits
        .iter()
        .filter(at_barrier)
        .fold(0, |lanes, split| lanes | split.mask);
    for split in splits {
        // Members that exited are not waited for.
        if let State::WarpBarrier(members) = split.state
            && members & alive & !arrived == 0
        {
            split.state = State::Ready;
            met |= split.mask;
        }
    }
    met
}

/// Unites ready splits at the same place; the later one in the list stays.
fn merge(splits: &mut Vec<Split>) {
    let mut index = 0;
    while index < splits.len() {
        let split = splits[index];
        let same = |other: &&mut Split| other.pc == split.pc && other.state == State::Ready;
        let later = splits[index + 1..].iter_mut().find(same);
        match later.filter(|_| split.state == State::Ready) {
            Some(later) => {
                later.mask |= split.mask;
                splits.remove(index);
            }
            None => index += 1,
        }
    }
}

/// The ready split to run: in the lowest block, but not at a loop header while others are inside the loop.
fn preferred(splits: &[Split], code: &Code) -> Option<usize> {
    let lowest = |low: u32, high: u32| {
        let inside = |split: &Split| split.state == State::Ready && (low..high).contains(&split.pc);
        let candidates = splits.iter().enumerate().filter(|(_, split)| inside(split));
        candidates
            .min_by_key(|(_, split)| split.pc)
            .map(|(index, _)| index)
    };
    let mut chosen = lowest(0, u32::MAX)?;
    loop {
        let header = splits[chosen].pc;
        let loop_end = code.blocks[header as usize].loop_end;
        // If threads are still inside of the loop, they run first. The one chosen may itself wait at an inner loop's header.
        match lowest(header + 1, loop_end.max(header + 1)) {
            Some(inside) => chosen = inside,
            None => return Some(chosen),
        }
    }
}
