//! Blocks that run at the same time: those of a cluster, and all those of a cooperative grid.
//!
//! They take turns on one host thread. The block whose clock is earliest goes first, and a turn ends after a
//! [`QUANTUM`] of modelled time; so a block that polls for what another one writes spends as many cycles as it would on
//! the GPU, and the order is the same in every run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use crate::memory::WriteHold;

use super::block::Worker;
use super::cluster::Cluster;
use super::cost::BlockCost;
use super::fault::Fault;
use super::grid::Grid;
use super::touched::Touches;
use super::watch::{Crossing, Watch};

/// Modelled cycles of a turn: about two polls of global memory.
const QUANTUM: u64 = 1024;

/// One host thread's state for blocks that run at the same time: reused from group to group.
pub(super) struct Group<'g> {
    /// The blocks of the first cluster by their rank, then those of the next one.
    workers: Vec<Worker<'g>>,
    clusters: Vec<Rc<Cluster>>,
    cluster_blocks: usize,
    /// The memory that all blocks so far have accessed.
    touches: Box<Touches>,
}

impl<'g> Group<'g> {
    /// A group of `blocks` blocks, a multiple of the grid's cluster.
    pub fn new(grid: &'g Grid<'g>, hold: &'g WriteHold<'g>, checked: bool, blocks: usize) -> Self {
        let cluster_blocks = grid.cluster_blocks() as usize;
        let mut workers: Vec<_> = (0..blocks)
            .map(|_| Worker::new(grid, hold, checked))
            .collect();
        let mut clusters = Vec::new();
        for members in workers.chunks_mut(cluster_blocks) {
            let cluster = Rc::new(Cluster::new(members.iter().map(Worker::shared)));
            for (rank, member) in members.iter_mut().enumerate() {
                member.join(Rc::clone(&cluster), rank as u32);
            }
            clusters.push(cluster);
        }
        Self {
            workers,
            clusters,
            cluster_blocks,
            touches: Box::default(),
        }
    }

    /// What the checkers have seen in all blocks that were run, and the memory that these touched.
    pub fn into_observations(self) -> (Vec<Watch<'g>>, Touches) {
        let workers = self.workers.into_iter();
        let watches = workers.filter_map(|worker| worker.into_observations().0);
        (watches.map(|watch| *watch).collect(), *self.touches)
    }

    /// Runs the blocks with these linear indices, cluster by cluster.
    pub fn run(&mut self, ranks: impl Iterator<Item = u64>) -> Result<Vec<BlockCost>, Fault> {
        self.clusters.iter().for_each(|cluster| cluster.start());
        for (worker, rank) in self.workers.iter_mut().zip(ranks) {
            worker.start(rank);
        }
        let mut ready: BinaryHeap<_> = (0..self.workers.len())
            .map(|index| Reverse((0, index)))
            .collect();
        let mut queued = vec![true; self.workers.len()];
        while let Some(Reverse((_, index))) = ready.pop() {
            queued[index] = false;
            self.workers[index].turn(QUANTUM)?;
            let first = index / self.cluster_blocks * self.cluster_blocks;
            let members = first..first + self.cluster_blocks;
            pass_on(&mut self.workers[members.clone()], index - first);
            let released = self.workers[index].take_cluster_event()
                && complete_cluster_barrier(&mut self.workers[members.clone()]);
            let runnable = if released { members } else { index..index + 1 };
            for index in runnable {
                if let Some(cycles) = self.workers[index].earliest().filter(|_| !queued[index]) {
                    ready.push(Reverse((cycles, index)));
                    queued[index] = true;
                }
            }
        }
        match self.workers.iter().find(|worker| !worker.is_done()) {
            Some(stuck) => Err(stuck.deadlock()),
            None => Ok(self.costs()),
        }
    }

    /// The cost of the blocks.
    fn costs(&mut self) -> Vec<BlockCost> {
        let mut costs = Vec::new();
        for members in self.workers.chunks_mut(self.cluster_blocks) {
            let touched = members.iter_mut().map(Worker::touches_mut);
            let merged = self.touches.add_cluster(touched);
            costs.extend(members.iter().map(|member| {
                let cost = member.cost();
                let merged_bytes = (cost.global_read_bytes as f64 * merged) as u64;
                BlockCost {
                    merged_bytes,
                    ..cost
                }
            }));
        }
        costs
    }
}

/// Reports to the checkers the blocks of one cluster what the turn of one of them has done that concerns the others.
fn pass_on(members: &mut [Worker<'_>], turn: usize) {
    let crossings = members[turn].watch_mut().map(Watch::take_crossings);
    for crossing in crossings.into_iter().flatten() {
        let others = members.iter_mut().enumerate();
        let watches = others.filter_map(|(rank, member)| Some((rank, member.watch_mut()?)));
        match crossing {
            Crossing::Access(visit) => watches
                .filter(|(rank, _)| *rank == visit.rank as usize)
                .for_each(|(_, watch)| watch.visited(&visit)),
            Crossing::Heard => watches
                .filter(|(rank, _)| *rank != turn)
                .for_each(|(_, watch)| watch.others_hear()),
        }
    }
}

/// Ends `barrier.cluster` for the blocks of one cluster if all their threads that have not exited have arrived.
/// Returns whether it did.
pub(super) fn complete_cluster_barrier(members: &mut [Worker<'_>]) -> bool {
    let mut last_arrival = None;
    for warp in members.iter().flat_map(Worker::warps) {
        if !warp.has_arrived_at_cluster_barrier() {
            return false;
        }
        last_arrival = last_arrival.max(warp.cluster_arrival());
    }
    let (Some(cycles), Some(member)) = (last_arrival, members.first()) else {
        return false;
    };
    let cycles = cycles + u64::from(member.latencies().cluster_barrier);
    for watch in members.iter_mut().filter_map(Worker::watch_mut) {
        watch.cluster_met();
    }
    for warp in members.iter_mut().flat_map(Worker::warps_mut) {
        warp.release_from_cluster_barrier(cycles);
    }
    true
}
