//! A thread block: its warps take turns on one host thread and synchronise at barriers.
//!
//! A warp runs until it waits, has executed [`TURN`] basic blocks, or has reached its limit of cycles. Warps of a block alone run in
//! order of their numbers; warps of blocks that run at the same time run in order of their clocks ([`Worker::turn`]). Both orders are
//! the same in every run.
//!
//! Invariants:
//!
//! - `alive` is the number of threads that have not exited, `running` the number of warps with such threads.
//! - Bit i of `arrived_at` is set exactly while threads have arrived at barrier i that has not completed since.
//! - A barrier completes when `expected` threads have arrived, or all threads alive if `expected` is 0. So an exit can complete it, too.

use std::rc::Rc;

use crate::memory::WriteHold;

use super::async_copy::{Ahead, WarpCopies};
use super::bytes_in_flight::BytesInFlight;
use super::cluster::Cluster;
use super::context::{Context, Lanes};
use super::cost::{BlockCost, latency};
use super::fault::Fault;
use super::grid::Grid;
use super::group::complete_cluster_barrier;
use super::latencies::Latencies;
use super::memory::{Cached, NearLines};
use super::phases::{End, Moment, Phases};
use super::thread_states::{self, At, Awaited, Standing};
use super::touched::Touches;
use super::warp::{Stop, Warp};
use super::warp_handlers::LANES;
use super::warpgroup::Multiplications;
use super::watch::Watch;

/// Hardware barriers of a block.
pub(super) const BARRIERS: usize = 16;
/// Basic blocks that a warp executes before another one gets its turn, so that warps may poll what others write.
const TURN: u32 = 1 << 16;

/// One host thread's state for a grid: reused from block to block.
pub(super) struct Worker<'g> {
    cx: Context<'g>,
    warps: Vec<Warp>,
    barriers: [Barrier; BARRIERS],
    /// The barriers at which threads have arrived since these were last complete, a bit each.
    arrived_at: u32,
    /// Warp instructions left.
    budget: u64,
    phases: Phases,
    /// Warps with threads that have not exited, and these threads.
    running: usize,
    alive: u32,
    /// Some have exited since the barriers were last looked at: others may have waited for them.
    exited: bool,
    /// Threads have arrived at the cluster's barrier, or exited, since the last call of this function.
    cluster_event: bool,
    _shared: Vec<u128>,
}

/// The threads that have arrived at a barrier.
#[derive(Clone, Copy, Default)]
struct Barrier {
    /// Threads that have arrived since the barrier was last complete.
    arrived: u32,
    /// How many it takes; 0: all threads of the block that have not exited.
    expected: u32,
    /// `bar.red`: votes for true, and votes at all.
    votes: u32,
    /// The latest arrival, and what its warp would have saved if all its loads had hit the L2 cache.
    cycles: u64,
    saving: u64,
    /// The warps that did not wait.
    passed: u32,
}

/// How warps come to a barrier or to their end, the last of them at `latest`.
fn end(warps: &[Warp], latest: Moment) -> End {
    let at_once = warps.iter().map(Warp::at_once).sum();
    End { latest, at_once }
}

impl<'g> Worker<'g> {
    pub fn new(grid: &'g Grid<'g>, hold: &'g WriteHold<'g>, checked: bool) -> Self {
        let program = &*grid.kernel.program;
        let mut shared = vec![0u128; (grid.shared_bytes() as usize).div_ceil(16)];
        let mut cx = Context {
            registers: std::ptr::null_mut(),
            mask: 0,
            active: 0,
            extra_instructions: 0,
            cycles: 0,
            saving: 0,
            in_vain: false,
            limit: u64::MAX,
            warp: 0,
            local: std::ptr::null_mut(),
            local_stride: program.local_bytes,
            local_base: 0,
            barrier_result: (0, 0),
            shared: shared.as_mut_ptr().cast(),
            shared_bytes: grid.shared_bytes(),
            cluster: Rc::new(Cluster::new([shared.as_mut_ptr().cast()])),
            cluster_rank: 0,
            copies: Vec::new(),
            multiplications: Vec::new(),
            block: [0; 3],
            block_rank: 0,
            cost: BlockCost::default(),
            ahead: Ahead::default(),
            in_flight: BytesInFlight::default(),
            near: NearLines::default(),
            touches: Box::default(),
            fault: None,
            caches: vec![Cached::default(); program.sites as usize],
            watch: checked.then(|| Box::new(Watch::new(grid))),
            code: &program.codes[0],
            grid,
            hold,
        };
        let threads = grid.threads_per_block();
        let count = threads.div_ceil(LANES as u32);
        let warps = (0..count)
            .map(|index| Warp::new(&mut cx, index, threads))
            .collect();
        if program.copies_asynchronously {
            cx.copies = (0..count).map(|_| WarpCopies::new()).collect();
        }
        if program.multiplies_in_warpgroups {
            cx.multiplications = (0..count).map(|_| Multiplications::new()).collect();
        }
        Self {
            cx,
            warps,
            barriers: Default::default(),
            arrived_at: 0,
            budget: 0,
            phases: Phases::default(),
            running: 0,
            alive: 0,
            exited: false,
            cluster_event: false,
            _shared: shared,
        }
    }

    /// Where the block's shared memory is.
    pub fn shared(&self) -> *mut u8 {
        self.cx.shared
    }

    /// The latencies of the device's memory.
    pub fn latencies(&self) -> Latencies {
        self.cx.latencies()
    }

    /// Makes the block a part of a cluster.
    pub fn join(&mut self, cluster: Rc<Cluster>, rank: u32) {
        self.cx.cluster = cluster;
        self.cx.cluster_rank = rank;
    }

    pub fn warps(&self) -> &[Warp] {
        &self.warps
    }

    pub fn warps_mut(&mut self) -> &mut [Warp] {
        &mut self.warps
    }

    /// Runs the block with linear index `rank`, alone.
    pub fn run(&mut self, rank: u64) -> Result<BlockCost, Fault> {
        self.cx.cluster.start();
        self.start(rank);
        while !self.is_done() {
            // A round in which no warp could run is a deadlock: only other warps of the block can release these.
            let mut progress = false;
            for index in 0..self.warps.len() {
                if self.warps[index].is_ready() {
                    progress = true;
                    self.run_warp(index, u64::MAX)?;
                }
            }
            if self.take_cluster_event() {
                complete_cluster_barrier(std::slice::from_mut(self));
            }
            if !progress {
                return Err(self.deadlock());
            }
        }
        Ok(self.cost())
    }

    /// The checkers, when they are on.
    pub fn watch_mut(&mut self) -> Option<&mut Watch<'g>> {
        self.cx.watch.as_deref_mut()
    }

    /// The memory that the blocks so far have touched.
    pub fn touches_mut(&mut self) -> &mut Touches {
        &mut self.cx.touches
    }

    /// What the checkers have seen in all blocks that were run, and the memory that these touched.
    pub fn into_observations(self) -> (Option<Box<Watch<'g>>>, Touches) {
        (self.cx.watch, *self.cx.touches)
    }

    /// Runs the earliest warp for `quantum` cycles.
    pub fn turn(&mut self, quantum: u64) -> Result<(), Fault> {
        let ready = self.warps.iter().enumerate();
        let ready = ready.filter(|(_, warp)| warp.is_ready());
        match ready.min_by_key(|(_, warp)| warp.cycles()) {
            Some((index, warp)) => {
                // The earliest warp runs first, so that blocks see each other's writes in the order of modelled time.
                let limit = warp.cycles() + quantum;
                self.run_warp(index, limit)
            }
            None => Ok(()),
        }
    }

    /// The cycle from which on a warp can run; `None` when all wait or have exited.
    pub fn earliest(&self) -> Option<u64> {
        let ready = self.warps.iter().filter(|warp| warp.is_ready());
        ready.map(Warp::cycles).min()
    }

    /// Whether all threads have exited.
    pub fn is_done(&self) -> bool {
        self.running == 0
    }

    /// The cost of the block.
    pub fn cost(&self) -> BlockCost {
        // The slowest warp determines the latency. The busiest unit may take longer: `phases` compares the two.
        let slowest = self.warps.iter().max_by_key(|warp| warp.cycles());
        let (cycles, saving) = slowest.map_or((0, 0), |warp| (warp.cycles(), warp.saving()));
        let handed = self.cx.grid.kernel.program.copies_asynchronously;
        let end = end(&self.warps, (cycles, saving));
        self.phases.block(self.cx.cost, self.cx.ahead, end, handed)
    }

    /// Whether the cluster's barrier may have become complete since the last call of this function.
    pub fn take_cluster_event(&mut self) -> bool {
        std::mem::take(&mut self.cluster_event)
    }

    fn run_warp(&mut self, index: usize, limit: u64) -> Result<(), Fault> {
        self.cx.limit = limit;
        self.cx.in_vain = false;
        let warp = &mut self.warps[index];
        let before = warp.alive();
        let stop = warp.run(&mut self.cx, TURN, &mut self.budget);
        let exited = before - warp.alive();
        self.alive -= exited;
        self.exited |= exited > 0;
        // A turn that only tested mbarrier objects without success is no progress. When every warp of the cluster has done nothing else
        // for long enough, the threads wait for an arrival that never happens.
        let in_vain = self.cx.in_vain && matches!(stop, Stop::Turn);
        if self.cx.cluster.turn_ended(in_vain) {
            return Err(self.deadlock());
        }
        match stop {
            // Threads may have exited: a barrier that waited for them alone is complete now.
            Stop::Turn => self.complete_barriers(None),
            Stop::Arrived => self.arrive(index),
            Stop::ClusterArrived => {}
            Stop::Done => {
                self.running -= 1;
                self.complete_barriers(None);
                if self.is_done() {
                    self.cx.finish_copies();
                    self.cx.cluster.exit(self.cx.cluster_rank);
                    if let Some(watch) = &mut self.cx.watch {
                        watch.end_block(self.cx.block_rank, self.cx.grid);
                    }
                }
            }
            Stop::Fault(mut fault) => {
                if let Fault::InstructionBudget { threads, .. } = &mut *fault {
                    threads.push_str(&self.standing(At::Running));
                }
                return Err(*fault);
            }
        }
        self.cluster_event = true;
        Ok(())
    }

    /// Begins the block with linear index `rank`.
    pub fn start(&mut self, rank: u64) {
        self.budget = self.cx.grid.instruction_budget;
        self.running = self.warps.len();
        self.exited = false;
        self.cluster_event = false;
        let cx = &mut self.cx;
        cx.block = cx.grid.block_index(rank);
        cx.block_rank = rank;
        cx.cost = BlockCost::default();
        // `touched` takes as many blocks as the device has multiprocessors as one group in time.
        let together = u64::from(cx.grid.multiprocessors.max(1));
        cx.touches.begin(rank / together);
        cx.ahead = Ahead::default();
        cx.near.clear();
        cx.fault = None;
        cx.copies.iter_mut().for_each(WarpCopies::clear);
        cx.multiplications
            .iter_mut()
            .for_each(Multiplications::clear);
        self.barriers = Default::default();
        self.arrived_at = 0;
        self.phases = Phases::default();
        // SAFETY: the buffer has that many bytes, see `new`.
        unsafe { cx.shared.write_bytes(0, cx.shared_bytes as usize) };
        if let Some(watch) = &mut cx.watch {
            watch.start_block(rank, self.warps.len());
        }
        for warp in &mut self.warps {
            warp.start(cx);
        }
        self.alive = self.warps.iter().map(Warp::alive).sum();
    }

    /// Records the lanes of a warp that have just arrived at a barrier.
    fn arrive(&mut self, index: usize) {
        let Some(arrival) = self.warps[index].take_arrival() else {
            return;
        };
        let warp = &self.warps[index];
        if let Some(watch) = &mut self.cx.watch {
            watch.arrived(index as u32, &arrival, warp.alive_lanes());
        }
        self.arrived_at |= 1 << arrival.barrier;
        let barrier = &mut self.barriers[arrival.barrier as usize];
        // `bar.arrive` and `bar.sync` may name a number of threads. All arrivals have to name the same one.
        barrier.arrived += arrival.mask.count_ones();
        barrier.expected = arrival.expected;
        barrier.votes += arrival.votes;
        barrier.passed |= u32::from(!arrival.waits) << index;
        // The barrier completes at the clock of its latest warp.
        if barrier.cycles <= warp.cycles() {
            (barrier.cycles, barrier.saving) = (warp.cycles(), warp.saving());
        }
        self.complete_barriers(Some(arrival.barrier as usize));
    }

    /// Releases the barrier at which threads have just arrived, if all expected ones have, and every such barrier when
    /// threads have exited.
    fn complete_barriers(&mut self, arrived: Option<usize>) {
        if std::mem::take(&mut self.exited) {
            for id in Lanes(self.arrived_at) {
                self.complete_barrier(id);
            }
        } else if let Some(id) = arrived {
            self.complete_barrier(id);
        }
    }

    /// Releases a barrier if all expected threads have arrived there.
    fn complete_barrier(&mut self, id: usize) {
        let barrier = &self.barriers[id];
        let expected = match barrier.expected {
            0 => self.alive,
            expected => expected,
        };
        if barrier.arrived == 0 || barrier.arrived < expected {
            return;
        }
        let barrier = std::mem::take(&mut self.barriers[id]);
        self.arrived_at &= !(1 << id);
        if let Some(watch) = &mut self.cx.watch {
            watch.completed(id as u32, |warp| self.warps[warp].alive_lanes());
        }
        let end = end(&self.warps, (barrier.cycles, barrier.saving));
        // Only a barrier at which every thread waits separates phases. Behind any other one, such as between a producer and its
        // consumers, some warps continue, and their work overlaps with that of the others.
        let whole = barrier.passed == 0 && barrier.arrived == self.alive;
        let (cost, ahead) = (&mut self.cx.cost, &mut self.cx.ahead);
        let (latest, busy) = if whole {
            (self.phases.barrier(cost, ahead, end), 0)
        } else {
            (end.latest, self.phases.handed_over(cost, ahead))
        };
        let (cycles, saving) = latest;
        let at = (cycles + u64::from(latency::BARRIER), saving);
        for (index, warp) in self.warps.iter_mut().enumerate() {
            if whole {
                warp.begin_phase();
            }
            // A warp that arrived without waiting handed data over: its next work waits for the units that it keeps busy.
            if barrier.passed >> index & 1 == 1 {
                warp.delay(busy);
            }
            warp.release(id as u32, at, barrier.votes, barrier.arrived);
        }
    }

    /// Names the threads that wait for ever.
    pub fn deadlock(&self) -> Fault {
        let grid = self.cx.grid;
        let waits = |warp: &Warp| warp.standing(grid).first().copied();
        let first = self.warps.iter().find_map(waits);
        let place = first.map_or_else(
            || self.cx.place(0, 0, 0),
            |first| {
                self.cx
                    .place(first.warp, first.lanes.trailing_zeros(), first.line)
            },
        );
        Fault::BarrierDeadlock {
            place,
            waiting: self.warps.iter().map(Warp::alive).sum(),
            threads: self.standing(At::Mbarrier),
        }
    }

    /// Where all threads of the block stand, in words; those that could run do what `ready` says.
    fn standing(&self, ready: At) -> String {
        let grid = self.cx.grid;
        let all: Vec<_> = self
            .warps
            .iter()
            .flat_map(|warp| warp.standing(grid))
            .map(|standing| match standing.at {
                At::Running => Standing {
                    at: ready,
                    ..standing
                },
                _ => standing,
            })
            .collect();
        let alive: u32 = self.warps.iter().map(Warp::alive).sum();
        thread_states::tell(grid, &all, grid.threads_per_block() - alive, |id| {
            let barrier = &self.barriers[id as usize];
            let expected = match barrier.expected {
                0 => alive,
                expected => expected,
            };
            let arrived = barrier.arrived;
            Awaited { arrived, expected }
        })
    }
}
