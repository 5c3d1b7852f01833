//! A launch: blocks of a grid distributed over host cores.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::memory::WriteHold;

use super::block::Worker;
use super::cost::{BlockCost, GridCost};
use super::fault::Fault;
use super::program::ExecutableKernel;
use super::watch::{Observed, Watch};

/// A kernel launch.
#[derive(Clone, Copy)]
pub struct Grid<'a> {
    /// What to run.
    pub kernel: &'a ExecutableKernel,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub dynamic_shared_bytes: u32,
    /// The parameter buffer, laid out as [`ExecutableKernel::parameters`] says.
    pub parameters: &'a [u8],
    /// `%globaltimer` when the grid starts.
    pub start_ns: u64,
    /// Cycles per microsecond of the modelled SM clock.
    pub clock_mhz: f64,
    /// Number of modelled SMs, for `%smid` and `%nsmid`.
    pub multiprocessors: u32,
    /// Warp instructions that one block may execute before it is considered an endless loop.
    pub instruction_budget: u64,
    /// Host threads to use. Results and costs do not depend on it.
    pub threads: usize,
}

/// The most shared memory a block can have on any GPU (227 KiB), and a little more.
const MAX_SHARED: u64 = 256 << 10;
/// Blocks are handed to host threads in chunks, to keep the hand-over cheap.
const MAX_CHUNK: u64 = 256;

impl Grid<'_> {
    /// Threads of a block.
    pub(super) fn threads_per_block(&self) -> u32 {
        self.block.iter().product()
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.grid.iter().map(|extent| u64::from(*extent)).product()
    }

    /// Bytes of shared memory of a block.
    pub(super) fn shared_bytes(&self) -> u32 {
        self.kernel.static_shared_bytes() + self.dynamic_shared_bytes
    }

    /// The index of the thread with linear index `rank` in its block.
    pub(super) fn thread(&self, rank: u32) -> [u32; 3] {
        let [x, y, _] = self.block.map(|extent| extent.max(1));
        [rank % x, rank / x % y, rank / x / y]
    }

    /// The index of the block with linear index `rank`.
    pub(super) fn block_index(&self, rank: u64) -> [u32; 3] {
        let [x, y, _] = self.grid.map(u64::from);
        [
            (rank % x) as u32,
            (rank / x % y) as u32,
            (rank / x / y) as u32,
        ]
    }

    fn check(&self) -> Result<(), Fault> {
        let refuse = |message: String| {
            Err(Fault::InvalidLaunch {
                kernel: self.kernel.name().to_owned(),
                message,
            })
        };
        let threads = self
            .block
            .iter()
            .try_fold(1u32, |product, extent| product.checked_mul(*extent));
        let limit = self.kernel.max_threads_per_block();
        if threads.is_none_or(|threads| threads == 0 || threads > limit) {
            return refuse(format!(
                "block of {:?} threads; allowed are 1 to {limit}",
                self.block
            ));
        }
        if self
            .kernel
            .required_threads()
            .is_some_and(|required| required != self.block)
        {
            return refuse(format!(
                "block of {:?} threads contradicts its .reqntid",
                self.block
            ));
        }
        let blocks = self.grid.iter().try_fold(1u64, |product, extent| {
            product.checked_mul((*extent).into())
        });
        if blocks.is_none_or(|blocks| blocks == 0) {
            return refuse(format!("grid of {:?} blocks", self.grid));
        }
        let shared =
            u64::from(self.kernel.static_shared_bytes()) + u64::from(self.dynamic_shared_bytes);
        if shared > MAX_SHARED {
            return refuse(format!("{shared} bytes of shared memory"));
        }
        let needed = self.kernel.parameter_bytes();
        if self.parameters.len() < needed {
            return refuse(format!(
                "{} bytes of parameters; it takes {needed}",
                self.parameters.len()
            ));
        }
        Ok(())
    }
}

/// Runs all blocks of `grid` on `hold`'s memory.
///
/// Costs and memory contents do not depend on [`Grid::threads`] for kernels without data races: kernels whose atomics
/// make the order of blocks visible run in block order on one thread. With several faults, the one in the block with
/// the lowest index is reported.
pub fn execute(grid: &Grid<'_>, hold: &WriteHold<'_>) -> Result<GridCost, Fault> {
    run(grid, hold, false).0
}

/// As [`execute`], and sees what the checkers want to know, up to the fault if there is one.
///
/// For kernels whose blocks race with each other, what they touch may depend on their race.
pub fn execute_checked(
    grid: &Grid<'_>,
    hold: &WriteHold<'_>,
) -> (Result<GridCost, Fault>, Observed) {
    run(grid, hold, true)
}

fn run(
    grid: &Grid<'_>,
    hold: &WriteHold<'_>,
    checked: bool,
) -> (Result<GridCost, Fault>, Observed) {
    if let Err(refused) = grid.check() {
        return (Err(refused), Observed::default());
    }
    let blocks = grid.blocks();
    let threads = if grid.kernel.is_ordered() {
        1
    } else {
        grid.threads.max(1) as u64
    };
    let chunk = (blocks / (threads * 8)).clamp(1, MAX_CHUNK);
    let queue = Queue {
        grid,
        hold,
        checked,
        chunk,
        blocks,
        next: AtomicU64::new(0),
        failed: AtomicU64::new(u64::MAX),
        results: Mutex::new(Vec::new()),
        watches: Mutex::new(Vec::new()),
    };
    let workers = threads.min(blocks.div_ceil(chunk));
    if workers == 1 {
        queue.work();
    } else {
        rayon::scope(|scope| {
            for _ in 1..workers {
                scope.spawn(|_| queue.work());
            }
            queue.work();
        });
    }
    queue.finish()
}

/// The blocks of a grid, taken chunk by chunk.
struct Queue<'g> {
    grid: &'g Grid<'g>,
    hold: &'g WriteHold<'g>,
    checked: bool,
    chunk: u64,
    blocks: u64,
    next: AtomicU64,
    /// The lowest block that faulted. Later blocks need not run.
    failed: AtomicU64,
    results: Mutex<Vec<(u64, Result<GridCost, Fault>)>>,
    watches: Mutex<Vec<Watch<'g>>>,
}

impl<'g> Queue<'g> {
    fn work(&self) {
        let mut worker = None;
        loop {
            let first = self.next.fetch_add(self.chunk, Ordering::Relaxed);
            if first >= self.blocks {
                break;
            }
            let worker =
                worker.get_or_insert_with(|| Worker::new(self.grid, self.hold, self.checked));
            let result = self.run(worker, first);
            self.results
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((first, result));
        }
        if let Some(watch) = worker.and_then(Worker::into_watch) {
            self.watches
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(*watch);
        }
    }

    fn run(&self, worker: &mut Worker<'g>, first: u64) -> Result<GridCost, Fault> {
        let mut cost = GridCost::default();
        for rank in first..self.blocks.min(first + self.chunk) {
            if rank > self.failed.load(Ordering::Relaxed) {
                break;
            }
            let block: BlockCost = worker.run(rank).inspect_err(|_| {
                self.failed.fetch_min(rank, Ordering::Relaxed);
            })?;
            cost.push(1, block);
        }
        Ok(cost)
    }

    fn finish(self) -> (Result<GridCost, Fault>, Observed) {
        let watches = self.watches.into_inner();
        let observed = Watch::observed(watches.unwrap_or_else(PoisonError::into_inner));
        let results = self.results.into_inner();
        let cost = total(results.unwrap_or_else(PoisonError::into_inner));
        (cost, observed)
    }
}

/// The cost of all blocks, or the fault of the lowest one that failed.
fn total(mut results: Vec<(u64, Result<GridCost, Fault>)>) -> Result<GridCost, Fault> {
    results.sort_unstable_by_key(|(first, _)| *first);
    let mut total = GridCost::default();
    for (_, result) in results {
        for (count, cost) in result?.runs {
            total.push(count, cost);
        }
    }
    Ok(total)
}
