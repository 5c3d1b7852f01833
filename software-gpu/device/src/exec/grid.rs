//! A launch: blocks of a grid distributed over host cores.
//!
//! Blocks that may wait for each other form a *group*: the blocks of a cluster, all blocks of a cooperative grid, or else a single
//! block. A group runs on one host thread. Host threads take chunks of groups from a counter and keep their results apart; the results
//! are put in order of the groups at the end, so costs and findings do not depend on the number of host threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::memory::WriteHold;

use super::block::Worker;
use super::cost::GridCost;
use super::fault::Fault;
use super::group::Group;
use super::program::ExecutableKernel;
use super::touched::Touches;
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
    /// Blocks of a cluster in x, y, z; `None` for a launch without clusters. Divides `grid`.
    pub cluster: Option<[u32; 3]>,
    /// All blocks run at the same time, so that they can wait for each other: `cuLaunchCooperativeKernel`.
    pub cooperative: bool,
    /// Dynamic shared memory of a block.
    pub dynamic_shared_bytes: u32,
    /// The parameter buffer, laid out as [`ExecutableKernel::parameters`] says.
    pub parameters: &'a [u8],
    /// `%globaltimer` when the grid starts.
    pub start_ns: u64,
    /// Cycles per microsecond of the modelled SM clock.
    pub clock_mhz: f64,
    /// Compute capability of the device: how its tensor cores add.
    pub compute_capability: (u32, u32),
    /// Number of modelled SMs, for `%smid` and `%nsmid`.
    pub multiprocessors: u32,
    /// Warp instructions that one block may execute before it is considered an endless loop.
    pub instruction_budget: u64,
    /// Bytes of stack that a thread has where the kernel's need is not known: `CU_LIMIT_STACK_SIZE` of its context.
    pub stack_limit: u32,
    /// Host threads to use. Results and costs do not depend on it.
    pub threads: usize,
}

/// The most shared memory a block can have on any GPU (227 KiB), and a little more.
const MAX_SHARED: u64 = 256 << 10;
/// The most blocks of a cluster on any GPU.
const MAX_CLUSTER: u64 = 16;
/// Blocks are handed to host threads in chunks, to keep the hand-over cheap.
const MAX_CHUNK: u64 = 256;

impl Grid<'_> {
    /// Threads of a block.
    pub(super) fn threads_per_block(&self) -> u32 {
        self.block.iter().product()
    }

    /// Warps of a block, the last of which may have less than 32 threads.
    pub(super) fn warps_per_block(&self) -> u32 {
        self.threads_per_block()
            .div_ceil(super::warp_handlers::LANES as u32)
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

    /// Blocks of a cluster in x, y, z; one block where the launch has no clusters.
    pub(super) fn cluster_extents(&self) -> [u32; 3] {
        self.cluster.unwrap_or([1; 3])
    }

    /// Blocks of a cluster.
    pub(super) fn cluster_blocks(&self) -> u32 {
        self.cluster_extents().iter().product()
    }

    /// Clusters in x, y, z.
    pub(super) fn clusters(&self) -> [u32; 3] {
        let cluster = self.cluster_extents();
        std::array::from_fn(|axis| self.grid[axis] / cluster[axis])
    }

    /// The linear index of the block that has rank `rank % cluster_blocks` in cluster `rank / cluster_blocks`.
    fn block_of_clusters(&self, rank: u64) -> u64 {
        let blocks = u64::from(self.cluster_blocks());
        let [x, y, _] = self.clusters().map(u64::from);
        let cluster = rank / blocks;
        // x runs fastest, as in `%clusterid` and `%cluster_ctaid` (PTX ISA, "Special Registers").
        let cluster = [cluster % x, cluster / x % y, cluster / x / y];
        let [width, height, depth] = self.cluster_extents().map(u64::from);
        let rank = rank % blocks;
        let at = [
            cluster[0] * width + rank % width,
            cluster[1] * height + rank / width % height,
            cluster[2] * depth + rank / width / height,
        ];
        let [x, y, _] = self.grid.map(u64::from);
        (at[2] * y + at[1]) * x + at[0]
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
        let cluster = self.cluster_extents();
        let divides = |axis: usize| self.grid[axis].checked_rem(cluster[axis]) == Some(0);
        let blocks = cluster.map(u64::from).iter().product::<u64>();
        if !(0..3).all(divides) || blocks > MAX_CLUSTER {
            return refuse(format!("clusters of {cluster:?} blocks"));
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
/// make the order of blocks visible run in block order on one thread. With several faults, the one in the block (of
/// clusters, the cluster) with the lowest index is reported.
pub fn execute(grid: &Grid<'_>, hold: &WriteHold<'_>) -> Result<GridCost, Fault> {
    run(grid, hold, false).0
}

/// As [`execute`], and records what the checkers need, up to the fault if there is one.
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
    let group = match (grid.cooperative, grid.cluster) {
        (true, _) => blocks,
        (false, Some(_)) => grid.cluster_blocks().into(),
        (false, None) => 1,
    };
    // If the order of blocks shows in the outcome, only one host thread gives the same outcome in every run.
    let threads = if grid.kernel.is_ordered() {
        1
    } else {
        grid.threads.max(1) as u64
    };
    let groups = blocks / group;
    // Eight chunks for each host thread: the last ones then end at about the same time.
    let chunk = (groups / (threads * 8)).clamp(1, MAX_CHUNK);
    let queue = Queue {
        grid,
        hold,
        checked,
        group,
        chunk,
        groups,
        next: AtomicU64::new(0),
        failed: AtomicU64::new(u64::MAX),
        results: Mutex::new(Vec::new()),
        observations: Mutex::default(),
    };
    let workers = threads.min(groups.div_ceil(chunk));
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

/// The blocks of a grid, taken chunk by chunk. A chunk is of groups: blocks that run at the same time, or one block.
struct Queue<'g> {
    grid: &'g Grid<'g>,
    hold: &'g WriteHold<'g>,
    checked: bool,
    /// Blocks of a group.
    group: u64,
    chunk: u64,
    groups: u64,
    next: AtomicU64,
    /// The lowest group that faulted. Later ones need not run.
    failed: AtomicU64,
    results: Mutex<Vec<(u64, Result<GridCost, Fault>)>>,
    observations: Mutex<Observations<'g>>,
}

/// The findings of host threads.
type Observations<'g> = (Vec<Watch<'g>>, Vec<Touches>);

/// What runs blocks, one at a time or several at the same time.
enum Runner<'g> {
    Block(Box<Worker<'g>>),
    Group(Group<'g>),
}

impl<'g> Runner<'g> {
    /// What the checkers have seen, and the memory that was touched.
    fn into_observations(self) -> Observations<'g> {
        let (watches, touches) = match self {
            Self::Block(worker) => {
                let (watch, touches) = worker.into_observations();
                (watch.map(|watch| *watch).into_iter().collect(), touches)
            }
            Self::Group(group) => group.into_observations(),
        };
        (watches, vec![touches])
    }
}

impl<'g> Queue<'g> {
    fn runner(&self) -> Runner<'g> {
        if self.grid.cluster.is_none() && !self.grid.cooperative {
            return Runner::Block(Box::new(Worker::new(self.grid, self.hold, self.checked)));
        }
        // A group has as many blocks as memory can hold: the driver checks that they fit on the device.
        let blocks = usize::try_from(self.group).unwrap_or(usize::MAX);
        Runner::Group(Group::new(self.grid, self.hold, self.checked, blocks))
    }

    fn work(&self) {
        let mut runner = None;
        loop {
            // Relaxed is enough: the counter only hands out numbers, and the scope's end orders the results.
            let first = self.next.fetch_add(self.chunk, Ordering::Relaxed);
            if first >= self.groups {
                break;
            }
            let runner = runner.get_or_insert_with(|| self.runner());
            let result = self.run(runner, first);
            self.results
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((first, result));
        }
        let Some((watches, touches)) = runner.map(Runner::into_observations) else {
            return;
        };
        let mut all = self
            .observations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.0.extend(watches);
        all.1.extend(touches);
    }

    fn run(&self, runner: &mut Runner<'g>, first: u64) -> Result<GridCost, Fault> {
        let mut total = GridCost::default();
        for rank in first..self.groups.min(first + self.chunk) {
            // A group below the lowest fault must still run, since it may fault as well. Those above cannot change the report.
            if rank > self.failed.load(Ordering::Relaxed) {
                break;
            }
            self.run_group(runner, rank, &mut total).inspect_err(|_| {
                self.failed.fetch_min(rank, Ordering::Relaxed);
            })?;
        }
        Ok(total)
    }

    fn run_group(
        &self,
        runner: &mut Runner<'g>,
        rank: u64,
        total: &mut GridCost,
    ) -> Result<(), Fault> {
        match runner {
            Runner::Block(worker) => total.push(1, worker.run(rank)?),
            Runner::Group(group) => {
                let ranks = rank * self.group..(rank + 1) * self.group;
                let ranks = ranks.map(|rank| self.grid.block_of_clusters(rank));
                for cost in group.run(ranks)? {
                    total.push(1, cost);
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> (Result<GridCost, Fault>, Observed) {
        let observations = self.observations.into_inner();
        let (watches, touches) = observations.unwrap_or_else(PoisonError::into_inner);
        let observed = Watch::observed(watches, self.grid);
        let results = self.results.into_inner();
        let mut cost = total(results.unwrap_or_else(PoisonError::into_inner));
        if let Ok(cost) = &mut cost {
            cost.touched = Touches::together(touches);
        }
        (cost, observed)
    }
}

/// The cost of all blocks, or the fault of the lowest one that failed.
fn total(mut results: Vec<(u64, Result<GridCost, Fault>)>) -> Result<GridCost, Fault> {
    // Chunks arrive in any order. Sorted, the first fault is that of the lowest group.
    results.sort_unstable_by_key(|(first, _)| *first);
    let mut total = GridCost::default();
    for (_, result) in results {
        for (count, cost) in result?.runs {
            total.push(count, cost);
        }
    }
    Ok(total)
}
