//! A thread block: its warps take turns on one host thread and meet at barriers.

use crate::memory::WriteHold;

use super::context::Context;
use super::cost::{BlockCost, latency};
use super::fault::Fault;
use super::grid::Grid;
use super::memory::Cached;
use super::shape::LANES;
use super::warp::{Stop, Warp};
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
    _shared: Vec<u128>,
}

/// Who has arrived at a barrier.
#[derive(Clone, Copy, Default)]
struct Barrier {
    /// Threads that have arrived since the barrier was last complete.
    arrived: u32,
    /// How many it takes; 0: all threads of the block that have not exited.
    expected: u32,
    /// `bar.red`: votes for true, and votes at all.
    votes: u32,
    /// The latest arrival.
    cycles: u64,
}

impl<'g> Worker<'g> {
    pub fn new(grid: &'g Grid<'g>, hold: &'g WriteHold<'g>, checked: bool) -> Self {
        let program = &*grid.kernel.program;
        let mut shared = vec![0u128; (grid.shared_bytes() as usize).div_ceil(16)];
        let mut cx = Context {
            registers: std::ptr::null_mut(),
            mask: 0,
            active: 0,
            cycles: 0,
            warp: 0,
            local: std::ptr::null_mut(),
            local_stride: program.local_bytes,
            local_base: 0,
            barrier_result: (0, 0),
            shared: shared.as_mut_ptr().cast(),
            shared_bytes: grid.shared_bytes(),
            block: [0; 3],
            block_rank: 0,
            cost: BlockCost::default(),
            fault: None,
            caches: vec![Cached::default(); program.sites as usize],
            watch: checked.then(|| Box::new(Watch::new(program.sites))),
            code: &program.codes[0],
            grid,
            hold,
        };
        let threads = grid.threads_per_block();
        let count = threads.div_ceil(LANES as u32);
        let warps = (0..count)
            .map(|index| Warp::new(&mut cx, index, threads))
            .collect();
        Self {
            cx,
            warps,
            barriers: Default::default(),
            _shared: shared,
        }
    }

    /// Runs the block with linear index `rank`.
    pub fn run(&mut self, rank: u64) -> Result<BlockCost, Fault> {
        self.start(rank);
        let mut budget = self.cx.grid.instruction_budget;
        let mut running = self.warps.len();
        while running > 0 {
            let mut progress = false;
            for index in 0..self.warps.len() {
                if !self.warps[index].is_ready() {
                    continue;
                }
                progress = true;
                match self.warps[index].run(&mut self.cx, TURN, &mut budget) {
                    // Threads may have exited for which others wait.
                    Stop::Turn => self.complete_barriers(),
                    Stop::Arrived => self.arrive(index)?,
                    Stop::Done => {
                        running -= 1;
                        self.complete_barriers();
                    }
                    Stop::Fault(fault) => return Err(*fault),
                }
            }
            if !progress {
                return Err(self.deadlock());
            }
        }
        let mut cost = self.cx.cost;
        cost.latency_cycles = self.warps.iter().map(Warp::cycles).max().unwrap_or(0) as f64;
        Ok(cost)
    }

    /// What the checkers have seen in all blocks that were run.
    pub fn into_watch(self) -> Option<Box<Watch<'g>>> {
        self.cx.watch
    }

    fn start(&mut self, rank: u64) {
        let cx = &mut self.cx;
        cx.block = cx.grid.block_index(rank);
        cx.block_rank = rank;
        cx.cost = BlockCost::default();
        cx.fault = None;
        self.barriers = Default::default();
        // SAFETY: the buffer has that many bytes, see `new`.
        unsafe { cx.shared.write_bytes(0, cx.shared_bytes as usize) };
        for warp in &mut self.warps {
            warp.start(cx);
        }
    }

    /// Takes note of the lanes of a warp that have just arrived at a barrier.
    fn arrive(&mut self, index: usize) -> Result<(), Fault> {
        let Some(arrival) = self.warps[index].take_arrival() else {
            return Ok(());
        };
        let barrier = &mut self.barriers[arrival.barrier as usize];
        barrier.arrived += arrival.mask.count_ones();
        barrier.expected = arrival.expected;
        barrier.votes += arrival.votes;
        barrier.cycles = barrier.cycles.max(self.warps[index].cycles());
        self.complete_barriers();
        Ok(())
    }

    /// Releases every barrier at which all expected threads have arrived.
    fn complete_barriers(&mut self) {
        let alive: u32 = self.warps.iter().map(Warp::alive).sum();
        for (id, barrier) in self.barriers.iter_mut().enumerate() {
            let expected = if barrier.expected == 0 {
                alive
            } else {
                barrier.expected
            };
            if barrier.arrived == 0 || barrier.arrived < expected {
                continue;
            }
            let cycles = barrier.cycles + u64::from(latency::BARRIER);
            for warp in &mut self.warps {
                warp.release(id as u32, cycles, barrier.votes, barrier.arrived);
            }
            *barrier = Barrier::default();
        }
    }

    fn deadlock(&self) -> Fault {
        let waiting = self.warps.iter().map(Warp::waiting).sum();
        let first = self.warps.iter().enumerate().find_map(|(index, warp)| {
            let (lane, line) = warp.stuck(self.cx.grid)?;
            Some(self.cx.place(index as u32, lane, line))
        });
        Fault::BarrierDeadlock {
            place: first.unwrap_or_else(|| self.cx.place(0, 0, 0)),
            waiting,
        }
    }
}
