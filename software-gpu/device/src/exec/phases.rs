//! The phases of a block: what its barriers keep apart cannot overlap.
//!
//! Between two barriers at which all threads of a block wait, the block takes as long as its slowest warp or as its busiest unit, whichever is
//! longer; what it loads and stores has to pass, and to go through shared memory, before it can continue. Where its warps wait for memory more
//! than once, only what they ask for [at once](super::bytes_in_flight) has to. Copies that it issues and does not wait for before the barrier,
//! [`Ahead`], overlap with its computation. A block without such barriers has no phases: its warps drift apart and use all units at the same
//! time.
//!
//! What a block has stored before the barrier is in the way of what it loads behind it, and so is what other blocks have: equal blocks
//! that begin together stay in step, and all store at the same time.

use super::async_copy::Ahead;
use super::cost::{BlockCost, Class, Coupling};

/// Bytes between one multiprocessor's shared memory and its registers in a cycle.
const SHARED_PER_CYCLE: u64 = 128;
/// Bytes between one multiprocessor and the memory system in a cycle.
const GLOBAL_PER_CYCLE: u64 = 64;
/// Bytes between one multiprocessor and the shared memory of others in a cycle.
pub(super) const CLUSTER_PER_CYCLE: u64 = 16;
/// Warp instructions that all schedulers of a multiprocessor issue in a cycle.
const DISPATCH_PER_CYCLE: f64 = 4.0;

/// A cycle, and by how much it would be earlier if all loads had hit the L2 cache.
pub(super) type Moment = (u64, u64);

/// How the warps of a block come to a barrier, or to their end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct End {
    /// When the last of them comes.
    pub latest: Moment,
    /// Bytes of global memory that they requested [at once](super::bytes_in_flight).
    pub at_once: u64,
}

/// Bytes that pass.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    /// Bytes of global memory.
    read: u64,
    written: u64,
    /// Bytes of shared memory, loaded or stored.
    shared: u64,
}

/// The progress of a block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Phases {
    /// When the phase began, and what had been counted then.
    start: Moment,
    before: BlockCost,
    /// The counts at the last barrier of any kind.
    at_barrier: Traffic,
    /// Bytes stored since something was last loaded.
    stored: u64,
    /// Barriers hold warps up after something was loaded or stored.
    coupled: bool,
    /// All threads of the block waited at one of them.
    phased: bool,
}

impl Phases {
    /// A barrier is complete at which all threads of the block waited, to which its warps came as `end` says.
    /// Returns when they may continue.
    pub fn barrier(&mut self, cost: &mut BlockCost, ahead: &mut Ahead, end: End) -> Moment {
        let awaited = awaited(cost, ahead);
        let Traffic { read, written, .. } = self.traffic_since_barrier(&awaited);
        if !self.coupled {
            return end.latest;
        }
        self.phased = true;
        if read > 0 {
            cost.exposed_bytes += std::mem::take(&mut self.stored);
        }
        self.stored += written;
        let end = self.end(&awaited, end);
        (self.start, self.before) = (end, awaited);
        ahead.phase += 1;
        end
    }

    /// A barrier is complete at which only some waited: the others handed over what they had loaded, or the room for more.
    /// Returns for how many cycles they were busy with that.
    pub fn handed_over(&mut self, cost: &mut BlockCost, ahead: &Ahead) -> u64 {
        let traffic = self.traffic_since_barrier(&awaited(cost, ahead));
        if !self.coupled {
            return 0;
        }
        // The stores of those that take it are in the way of the next loads.
        cost.exposed_bytes += traffic.written;
        traffic.shared / SHARED_PER_CYCLE + (traffic.read + traffic.written) / GLOBAL_PER_CYCLE
    }

    /// The cost since the last barrier of any kind.
    fn traffic_since_barrier(&mut self, cost: &BlockCost) -> Traffic {
        // Barriers before anything was loaded begin the work, and do not cut it into phases.
        self.coupled |= cost.global_read_bytes + cost.global_write_bytes > 0;
        let now = Traffic {
            read: cost.global_read_bytes,
            written: cost.global_write_bytes,
            shared: cost.shared_bytes,
        };
        let before = std::mem::replace(&mut self.at_barrier, now);
        Traffic {
            read: now.read.saturating_sub(before.read),
            written: now.written - before.written,
            shared: now.shared.saturating_sub(before.shared),
        }
    }

    /// The cost of the block, whose warps came to their end as `end` says. `handed`: asynchronous copies hand data over.
    pub fn block(&self, mut cost: BlockCost, ahead: Ahead, end: End, handed: bool) -> BlockCost {
        cost.coupling = match (self.phased, self.coupled || handed) {
            (true, _) => Coupling::Phased,
            (false, true) => Coupling::Handed,
            (false, false) => Coupling::Free,
        };
        let (cycles, saving) = match self.start.0 {
            0 => end.latest,
            _ => self.end(&awaited(&cost, &ahead), end),
        };
        cost.latency_cycles = cycles as f64;
        cost.cached_saving_cycles = saving as f64;
        cost
    }

    /// The end of the phase.
    fn end(&self, cost: &BlockCost, End { latest, at_once }: End) -> Moment {
        let (start, saved) = self.start;
        let (cycles, saving) = (latest.0 - start, latest.1.saturating_sub(saved));
        let issue = self.issue_cycles(cost);
        let missing = cycles.max(issue);
        let hitting = cycles.saturating_sub(saving).max(issue);
        let shared = cost.shared_bytes.saturating_sub(self.before.shared_bytes);
        let read = cost
            .global_read_bytes
            .saturating_sub(self.before.global_read_bytes);
        let written = cost.global_write_bytes - self.before.global_write_bytes;
        let passed_on = cost.cluster_bytes - self.before.cluster_bytes;
        let transfers = |read| {
            shared / SHARED_PER_CYCLE
                + passed_on / CLUSTER_PER_CYCLE
                + (read + written) / GLOBAL_PER_CYCLE
        };
        let cycles = missing + transfers(read.min(at_once));
        let cycles = cycles.max(transfers(read));
        (start + cycles, saved + missing - hitting)
    }

    /// What the busiest unit takes for the phase's instructions.
    fn issue_cycles(&self, cost: &BlockCost) -> u64 {
        let issued = |class: Class| {
            let index = class as usize;
            f64::from(cost.issue[index].wrapping_sub(self.before.issue[index]))
        };
        let by_class = Class::ALL.map(|class| issued(class) / class.per_cycle());
        let all: f64 = Class::ALL.into_iter().map(issued).sum();
        let busiest = by_class.into_iter().fold(0.0, f64::max);
        busiest.max(all / DISPATCH_PER_CYCLE) as u64
    }
}

/// The same without what comes while the block computes.
fn awaited(cost: &BlockCost, ahead: &Ahead) -> BlockCost {
    BlockCost {
        global_read_bytes: cost.global_read_bytes.saturating_sub(ahead.read),
        shared_bytes: cost.shared_bytes.saturating_sub(ahead.shared),
        ..*cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Ahead = Ahead {
        phase: 0,
        read: 0,
        shared: 0,
    };

    /// All requests were made at once.
    fn at(cycle: u64, saving: u64) -> End {
        End {
            latest: (cycle, saving),
            at_once: u64::MAX,
        }
    }

    fn cost(fma: u32, read: u64) -> BlockCost {
        let mut cost = BlockCost {
            global_read_bytes: read,
            ..BlockCost::default()
        };
        cost.issue[Class::Fma32 as usize] = fma;
        cost
    }

    #[test]
    fn phases_add_up() {
        let mut phases = Phases::default();
        let mut loaded = cost(0, 6400);
        assert_eq!(
            phases.barrier(&mut loaded, &mut NOTHING.clone(), at(900, 500)),
            (1000, 500)
        );
        // 4,000 multiply-adds take 1,000 cycles, however short the slowest warp's path is.
        let block = phases.block(cost(4000, 6400), NOTHING, at(1200, 500), false);
        assert_eq!(block.latency_cycles, 2000.0);
        assert_eq!(block.cached_saving_cycles, 500.0);
        assert_eq!(block.coupling, Coupling::Phased);
    }

    #[test]
    fn bytes_of_another_round_pass_while_the_first_warps_wait() {
        let end = |at_once| {
            let latest = (900, 500);
            let end = End { latest, at_once };
            let mut phases = Phases::default();
            phases.barrier(&mut cost(0, 6400), &mut NOTHING.clone(), end)
        };
        assert_eq!(end(6400), (1000, 500));
        assert_eq!(end(1280), (920, 500));
        // The memory port is not faster than that, however many rounds there are.
        let mut phases = Phases::default();
        let end = End {
            latest: (900, 0),
            at_once: 64,
        };
        let passed = phases.barrier(&mut cost(0, 64 * 2000), &mut NOTHING.clone(), end);
        assert_eq!(passed, (2000, 0));
    }

    #[test]
    fn what_was_stored_is_in_the_way_of_what_is_loaded_behind_it() {
        let mut phases = Phases::default();
        let (mut cost, mut cycle) = (cost(0, 0), 0);
        let mut barrier = |read, written| {
            cost.global_read_bytes += read;
            cost.global_write_bytes += written;
            let end = phases.barrier(&mut cost, &mut NOTHING.clone(), at(cycle, 0));
            cycle = end.0;
            cost.exposed_bytes
        };
        assert_eq!(barrier(6400, 0), 0);
        assert_eq!(barrier(0, 128), 0);
        assert_eq!(barrier(0, 64), 0);
        assert_eq!(barrier(32, 0), 192);
        // Stores of the same phase follow its loads.
        assert_eq!(barrier(32, 256), 192);
        assert_eq!(barrier(32, 0), 448);
        assert_eq!(barrier(32, 0), 448);
    }

    #[test]
    fn what_goes_to_other_blocks_passes_their_network() {
        let mut phases = Phases::default();
        let passing = |bytes| BlockCost {
            cluster_bytes: bytes,
            ..cost(0, 6400)
        };
        assert_eq!(
            phases.barrier(&mut passing(1600), &mut NOTHING.clone(), at(900, 0)),
            (1100, 0)
        );
        assert_eq!(
            phases.barrier(&mut passing(4800), &mut NOTHING.clone(), at(1100, 0)),
            (1300, 0)
        );
    }

    #[test]
    fn what_comes_while_the_block_computes_does_not_hold_it_up() {
        let ring = |ahead: u64| {
            let (mut phases, mut ahead) = (
                Phases::default(),
                Ahead {
                    read: ahead,
                    ..NOTHING
                },
            );
            let mut cost = cost(0, 6400);
            let end = phases.barrier(&mut cost, &mut ahead, at(900, 0));
            (end, ahead.phase)
        };
        assert_eq!(ring(0), ((1000, 0), 1));
        assert_eq!(ring(5120), ((920, 0), 1));
    }

    #[test]
    fn without_barriers_there_are_no_phases() {
        let block = Phases::default().block(cost(4000, 6400), NOTHING, at(900, 500), false);
        assert_eq!(block.latency_cycles, 900.0);
        assert_eq!(block.exposed_bytes, 0);
        assert_eq!(block.coupling, Coupling::Free);
        let handed = Phases::default().block(cost(1, 0), NOTHING, at(9, 0), true);
        assert_eq!(handed.coupling, Coupling::Handed);
    }

    #[test]
    fn a_barrier_before_any_load_cuts_nothing() {
        let mut phases = Phases::default();
        let end = phases.barrier(&mut cost(4000, 0), &mut NOTHING.clone(), at(900, 500));
        assert_eq!(end, (900, 500));
        let block = phases.block(cost(8000, 0), NOTHING, at(950, 0), false);
        assert_eq!(
            (block.latency_cycles, block.coupling),
            (950.0, Coupling::Free)
        );
    }

    #[test]
    fn warps_that_hand_data_over_are_busy_with_the_transfer() {
        let mut phases = Phases::default();
        let begun = phases.handed_over(&mut cost(256, 0), &NOTHING);
        assert_eq!(begun, 0);
        let mut cost = cost(512, 6400);
        (cost.global_write_bytes, cost.shared_bytes) = (640, 1024);
        // 1024 bytes of shared memory, 6400 and 640 of global memory; of these what is stored is in the way of loads.
        assert_eq!(phases.handed_over(&mut cost, &NOTHING), 8 + 110);
        assert_eq!(cost.exposed_bytes, 640);
        assert_eq!(phases.handed_over(&mut cost, &NOTHING), 0);
        assert_eq!(cost.exposed_bytes, 640);
        let block = phases.block(cost, NOTHING, at(900, 0), false);
        assert_eq!(block.coupling, Coupling::Handed);
    }

    #[test]
    fn a_hit_saves_nothing_where_a_unit_is_the_bottleneck() {
        let mut phases = Phases::default();
        let end = phases.barrier(&mut cost(4000, 64), &mut NOTHING.clone(), at(900, 500));
        assert_eq!(end, (1001, 0));
    }
}
