//! Watching a kernel while it executes, for the checkers.
//!
//! Each host thread that executes blocks has a [`Watch`] of its own, to which the handlers of memory instructions report their accesses;
//! without one they do nothing. What the watches of a grid have seen is put together at its end ([`Observed`]) and does not depend on their
//! number.
//!
//! - [`accesses`] collects the bytes of global memory that loads, stores and atomics touch.
//! - [`dependent`] separates the accesses of a kernel before its wait for earlier grids.
//! - [`unwritten`] finds loads of device memory that was never written.
//! - [`shared`] finds races in shared memory, by the [`order`] that barriers give to the threads of a block.
//! - [`in_flight`] finds accesses to shared memory that an asynchronous copy is about to write or to read.
//! - [`crossing`] reports to the blocks of a cluster the accesses of others to their shared memory.
//! - [`absent`] finds shuffles that read from lanes which do not take part.
//! - [`divergence`] finds barriers that diverged threads of a warp reach separately.
//! - [`lost_updates`] finds lanes that update the same element of global memory without an atomic operation.

mod absent;
mod accesses;
mod crossing;
mod dependent;
mod divergence;
mod in_flight;
mod lost_updates;
mod missing;
mod order;
mod shared;
mod unwritten;

use crate::memory::{Accesses, Allocation};
use crate::ptx::ir::Space;

use super::context::Lanes;
use super::fault::Access;
use super::grid::Grid;
use super::memory::Site;
use super::warp::Arrival;
use super::warp_handlers::LANES;

use absent::Absent;
use accesses::Recorder;
use crossing::Crossings;
use dependent::Early;
use divergence::Divergence;
use in_flight::InFlight;
use lost_updates::LostUpdates;
use order::WarpClocks;
use shared::Shared;
use unwritten::Unwritten;

pub use absent::AbsentSource;
pub(super) use crossing::Crossing;
pub use dependent::Dependent;
pub use divergence::DivergentBarrier;
pub(super) use lost_updates::EqualLanes;
pub use lost_updates::LostUpdate;
pub use missing::Missing;
pub(super) use order::Knowledge;
pub(super) use shared::Scattered;
pub use shared::SharedRace;
pub(super) use unwritten::Accessor;
pub use unwritten::NeverWritten;

/// The checkers' observations of a grid.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The bytes of device memory and page-locked host memory that it touched. Strong accesses of a scope wider than
    /// the cluster are in `atomics`; those of smaller scope are as good as plain ones to other operations.
    pub accesses: Accesses,
    /// What of it came before `griddepcontrol.wait`, and is not in `accesses`; none of a kernel without the instruction.
    pub dependent: Option<Dependent>,
    /// Loads of device memory that was never written: the first one of each instruction, in the order of blocks.
    pub never_written: Vec<NeverWritten>,
    /// Races in shared memory: the first one of each pair of instructions, in the order of blocks.
    pub shared_races: Vec<SharedRace>,
    /// Barriers that threads of a warp reached without the others: the first time for each instruction.
    pub divergent_barriers: Vec<DivergentBarrier>,
    /// Shuffles that read from lanes which do not take part: the first time for each instruction, by line.
    pub absent_sources: Vec<AbsentSource>,
    /// Elements of global memory that several lanes updated without an atomic operation: the first one of each pair of
    /// instructions, in the order of blocks.
    pub lost_updates: Vec<LostUpdate>,
}

/// Lanes one behind the other whose accesses lie side by side, or are to the same bytes.
struct LaneRun {
    lanes: u32,
    bytes: usize,
}

impl LaneRun {
    /// The run that begins with the first lane of `lanes`, at least one.
    #[inline(always)]
    fn first(lanes: u32, offsets: &[usize; LANES], stride: usize) -> Self {
        let first = lanes.trailing_zeros() as usize;
        let length_with = |step: usize| {
            let mut length = 1;
            while first + length < LANES
                && lanes >> (first + length) & 1 == 1
                && offsets[first + length] == offsets[first] + length * step
            {
                length += 1;
            }
            length
        };
        let (length, bytes) = match length_with(stride) {
            1 => (length_with(0), stride),
            length => (length, length * stride),
        };
        let lanes = u32::MAX >> (LANES - length) << first;
        Self { lanes, bytes }
    }
}

/// One host thread's checkers.
pub(super) struct Watch<'g> {
    recorder: Recorder<'g>,
    /// Only for a kernel that executes `griddepcontrol`.
    early: Option<Box<Early<'g>>>,
    unwritten: Unwritten<'g>,
    /// When there is shared memory.
    shared: Option<(WarpClocks, Shared)>,
    /// Only for a kernel that copies asynchronously.
    in_flight: Option<Box<InFlight>>,
    /// Only for a kernel whose blocks reach each other's shared memory.
    crossings: Option<Box<Crossings>>,
    divergence: Divergence,
    absent: Absent,
    lost_updates: LostUpdates,
    /// The running block.
    block: u64,
}

impl<'g> Watch<'g> {
    /// The checkers of one host thread that executes blocks of `grid`.
    pub fn new(grid: &Grid<'_>) -> Self {
        let program = &grid.kernel.program;
        let sites = program.codes.iter().flat_map(|code| &code.sites);
        let shared = sites.filter(|site| matches!(site.space, Space::Shared | Space::Generic));
        let granule = shared.fold(4, |granule, site| {
            granule.min(1 << site.bytes.trailing_zeros().min(2))
        });
        let bytes = grid.shared_bytes();
        Self {
            recorder: Recorder::new(program.sites),
            early: program
                .depends_on_grids
                .then(|| Box::new(Early::new(program.sites))),
            unwritten: Unwritten::default(),
            shared: (bytes > 0).then(|| (WarpClocks::default(), Shared::new(bytes, granule))),
            in_flight: InFlight::of(grid),
            crossings: Crossings::of(grid),
            divergence: Divergence::default(),
            absent: Absent::default(),
            lost_updates: LostUpdates::default(),
            block: 0,
        }
    }

    /// The block with linear index `rank` begins.
    pub fn start_block(&mut self, rank: u64, warps: usize) {
        self.block = rank;
        self.divergence.start();
        self.lost_updates.start(rank, warps);
        if let Some(early) = &mut self.early {
            early.start_block(warps);
        }
        if let Some(in_flight) = &mut self.in_flight {
            in_flight.start(rank);
        }
        if let Some(crossings) = &mut self.crossings {
            crossings.start();
        }
        if let Some((order, shared)) = &mut self.shared {
            match self.crossings.is_some() {
                true => order.start_with_others(warps),
                false => order.start(warps),
            }
            shared.start(rank);
        }
    }

    /// Lanes of a warp are about to access the block's shared memory: `lane` its bytes at `address`, and those behind
    /// it the bytes behind, `bytes` altogether. `same` says that a store changes nothing.
    pub fn shared(
        &mut self,
        site: &Site,
        access: Access,
        (warp, lane): (u32, usize),
        (address, bytes): (u32, u32),
        same: bool,
    ) {
        let lane_bytes = site.bytes * site.count;
        let count = match bytes == lane_bytes {
            true => 1,
            false => bytes / lane_bytes.max(1),
        };
        self.meet_copies(site, access, (warp, lane), (address, lane_bytes, count));
        self.shared_in_order(site, access, (warp, lane), (address, count), same);
    }

    /// The same for `count` lanes, without the copies that are under way.
    pub fn shared_in_order(
        &mut self,
        site: &Site,
        access: Access,
        (warp, lane): (u32, usize),
        (address, count): (u32, u32),
        same: bool,
    ) {
        if site.strength.strong && access != Access::Store {
            self.listens(warp, site.strength.acquires);
        }
        let Some((order, shared)) = &mut self.shared else {
            return;
        };
        let lane_bytes = site.bytes * site.count;
        let lanes = |first: u32, count| shared::Lanes {
            lane: (lane + first as usize) % LANES,
            count,
            address: address + first * lane_bytes,
            bytes: lane_bytes,
        };
        if !site.strength.strong {
            shared.access(order, site, access, warp, lanes(0, count), same);
            return;
        }
        for index in 0..count {
            let lanes = lanes(index, 1);
            if access != Access::Store {
                order.hear(warp, lanes.address, site.strength.acquires);
            }
            shared.access(order, site, access, warp, lanes, same);
            if access != Access::Load {
                order.tell(warp, lanes.address, site.strength.releases);
            }
        }
    }

    /// Lanes of a warp access the block's shared memory, each the same number of bytes at an address of its own. For
    /// stores this may be called after all of them.
    pub fn shared_lanes(
        &mut self,
        site: &Site,
        access: Access,
        warp: u32,
        (lanes, bytes): (&Scattered, u32),
    ) {
        if site.strength.strong {
            for lane in Lanes(lanes.mask) {
                let same = lanes.same >> lane & 1 == 1;
                let place = (lanes.addresses[lane], bytes);
                self.shared(site, access, (warp, lane), place, same);
            }
            return;
        }
        if self.in_flight.is_some() {
            for lane in Lanes(lanes.mask) {
                let place = (lanes.addresses[lane], bytes, 1);
                self.meet_copies(site, access, (warp, lane), place);
            }
        }
        if let Some((order, shared)) = &mut self.shared {
            shared.scattered(order, site, access, warp, (lanes, bytes));
        }
    }

    /// The accesses to shared memory that follow are of another execution of a memory instruction.
    #[inline(always)]
    pub fn next_instruction(&mut self) {
        if let Some((_, shared)) = &mut self.shared {
            shared.next_instruction();
        }
    }

    /// A warp's clock for accesses to shared memory.
    pub fn knowledge(&mut self, warp: u32) -> Option<Knowledge> {
        let (order, _) = self.shared.as_mut()?;
        Some(order.knowledge(warp))
    }

    /// The following accesses use that clock; the same call restores the other one.
    pub fn exchange(&mut self, warp: u32, knowledge: &mut Knowledge) {
        if let Some((order, _)) = &mut self.shared {
            order.exchange(warp, knowledge);
        }
    }

    /// Lanes of a warp wait for the grids before theirs.
    pub fn grids_waited(&mut self, warp: u32, lanes: u32) {
        if let Some(early) = &mut self.early {
            early.wait(warp, lanes);
        }
    }

    /// A warp lets the next grid begin.
    pub fn dependents_launched(&mut self, warp: u32) {
        if let Some(early) = &mut self.early {
            early.trigger(warp);
        }
    }

    /// A warp has executed a fence.
    pub fn fence(&mut self, warp: u32) {
        self.fence_hears_others(warp);
        if let Some((order, _)) = &mut self.shared {
            order.fence(warp);
        }
    }

    /// A thread has arrived at the mbarrier object at an address of the block's shared memory, or has issued a copy that
    /// completes on it.
    pub fn tell_mbarrier(&mut self, warp: u32, address: u32) {
        if let Some((order, _)) = &mut self.shared {
            order.tell(warp, address, true);
        }
    }

    /// A thread has found a phase of the mbarrier object at an address of the block's shared memory complete.
    pub fn hear_mbarrier(&mut self, warp: u32, address: u32) {
        self.lost_updates.reach_barrier(warp);
        if let Some(early) = &mut self.early {
            early.warp_met(warp, true);
        }
        if let Some((order, _)) = &mut self.shared {
            order.hear(warp, address, true);
        }
    }

    /// A thread has found a phase complete at which threads of other blocks have arrived.
    pub fn hear_cluster(&mut self, warp: u32) {
        self.hears_others(warp);
        if let Some((order, _)) = &mut self.shared {
            order.hear_all(warp);
        }
    }

    /// Two lanes of a warp are about to load the same element of global memory.
    pub fn equal_loads(&mut self, lanes: EqualLanes) {
        self.lost_updates.load(lanes);
    }

    /// Two lanes of a warp are about to store to the same element of global memory, and change it.
    pub fn equal_stores(&mut self, lanes: EqualLanes) {
        self.lost_updates.store(lanes);
    }

    /// Lanes of a warp have synchronised at a warp barrier; `alive` are all that have not exited.
    pub fn warp_barrier(&mut self, warp: u32, lanes: u32, alive: u32) {
        self.lost_updates.reach_barrier(warp);
        if let Some(early) = &mut self.early {
            early.warp_met(warp, false);
        }
        if let Some((order, _)) = &mut self.shared {
            order.warp_barrier(warp, lanes, alive);
        }
    }

    /// Lanes of a warp have arrived at a block barrier.
    pub fn arrived(&mut self, warp: u32, arrival: &Arrival, alive: u32) {
        self.lost_updates.reach_barrier(warp);
        if let Some((order, _)) = &mut self.shared {
            order.arrive(warp, arrival.barrier, arrival.mask, arrival.waits, alive);
        }
        if arrival.aligned && alive & !arrival.mask != 0 {
            self.divergence.suspect(self.block, warp, arrival, alive);
        }
    }

    /// A block barrier is complete; `alive` gives the lanes of a warp that have not exited.
    pub fn completed(&mut self, barrier: u32, alive: impl Fn(usize) -> u32) {
        if let Some(early) = &mut self.early {
            early.met();
        }
        if let Some((order, _)) = &mut self.shared {
            order.complete(barrier, &alive);
        }
        self.divergence.completed(barrier, alive);
    }

    /// All threads of the block's cluster have synchronised.
    pub fn cluster_met(&mut self) {
        if let Some(early) = &mut self.early {
            early.met();
        }
        if let Some((order, _)) = &mut self.shared {
            order.all_met();
        }
    }

    /// `bytes` bytes of global memory, at `offset` of `allocation`, are about to be accessed.
    #[inline(always)]
    pub fn global(
        &mut self,
        site: &Site,
        access: Access,
        bytes: (&'g Allocation, usize, usize),
        accessor: Accessor,
    ) {
        let early = self.early.as_mut();
        let early = early.is_some_and(|early| early.takes(site, access, bytes, accessor.thread));
        if !early && !self.recorder.extends(site, bytes) {
            self.recorder.begin(site, access, bytes);
        }
        if self.crossings.is_some() && site.strength.strong && access != Access::Store {
            self.listens(accessor.thread / LANES as u32, site.strength.acquires);
        }
        if !bytes.0.is_written() {
            self.unwritten.access(site, access, bytes, accessor);
        }
    }

    /// Lanes of a warp are about to access global memory: each as many bytes, at its offset of `allocation`.
    pub fn global_lanes(
        &mut self,
        site: &Site,
        access: Access,
        allocation: &'g Allocation,
        warp: u32,
        (mask, offsets): (u32, &[usize; LANES]),
    ) {
        let stride = (site.bytes * site.count) as usize;
        let accessor = |lane: usize| Accessor {
            thread: warp * LANES as u32 + lane as u32,
            stride,
        };
        if self.early.is_some() {
            // Each lane has waited by itself.
            for lane in Lanes(mask) {
                let bytes = (allocation, offsets[lane], stride);
                self.global(site, access, bytes, accessor(lane));
            }
            return;
        }
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            let run = LaneRun::first(rest, offsets, stride);
            rest &= !run.lanes;
            let bytes = (allocation, offsets[lane], run.bytes);
            self.global(site, access, bytes, accessor(lane));
        }
    }

    /// The block with linear index `rank` has ended.
    pub fn end_block(&mut self, rank: u64, grid: &Grid<'_>) {
        if let Some(early) = &mut self.early {
            early.end_block();
        }
        self.unwritten.end_block(rank, grid.blocks());
    }

    /// Puts together what the watches of a grid have seen.
    pub fn observed(watches: Vec<Self>, grid: &Grid<'_>) -> Observed {
        let (mut recorders, mut unwritten) = (Vec::new(), Vec::new());
        let (mut shared, mut divergence) = (Vec::new(), Vec::new());
        let (mut early, mut in_flight) = (Vec::new(), Vec::new());
        let (mut absent, mut lost_updates) = (Vec::new(), Vec::new());
        for watch in watches {
            recorders.push(watch.recorder);
            early.extend(watch.early.map(|early| *early));
            unwritten.push(watch.unwritten);
            in_flight.extend(watch.in_flight.map(|in_flight| *in_flight));
            shared.extend(watch.shared.map(|(_, shared)| shared));
            divergence.push(watch.divergence);
            absent.push(watch.absent);
            lost_updates.push(watch.lost_updates);
        }
        // A race with a copy in flight must not be reported again as a race of two threads.
        let mut shared_races = InFlight::races(in_flight.into_iter(), grid);
        let with_copies: Vec<_> = shared_races.iter().map(SharedRace::lines).collect();
        let of_threads = Shared::races(shared.into_iter(), grid).into_iter();
        shared_races.extend(of_threads.filter(|race| !with_copies.contains(&race.lines())));
        Observed {
            accesses: Recorder::accesses(recorders),
            dependent: Early::dependent(early),
            never_written: Unwritten::never_written(unwritten, grid),
            shared_races,
            divergent_barriers: Divergence::barriers(divergence.into_iter(), grid),
            absent_sources: Absent::sources(absent.into_iter(), grid),
            lost_updates: LostUpdates::findings(lost_updates.into_iter(), grid),
        }
    }
}
