//! Warps at the barriers of a block and of a cluster.

use super::super::block::BARRIERS;
use super::super::context::Context;
use super::super::fault::Fault;
use super::super::op::Slot;
use super::super::program::BlockBarrier;
use super::super::warp_handlers::LANES;
use super::{State, Stop, Warp};

/// Threads of a warp that arrived at a block barrier.
pub(in crate::exec) struct Arrival {
    pub barrier: u32,
    pub mask: u32,
    /// Threads that the barrier takes; 0: all.
    pub expected: u32,
    /// `bar.red`: how many voted true.
    pub votes: u32,
    /// Not `bar.arrive`.
    pub waits: bool,
    /// All lanes have to arrive together, see [`BlockBarrier::aligned`]; not required when lanes took turns to spin.
    pub aligned: bool,
    pub line: u32,
}

impl Warp {
    /// The arrival that made [`Warp::run`] stop.
    pub(in crate::exec) fn take_arrival(&mut self) -> Option<Arrival> {
        self.arrival.take()
    }

    /// Delays the warp by this number of cycles.
    pub(in crate::exec) fn delay(&mut self, cycles: u64) {
        self.cycles += cycles;
    }

    /// Lets the threads that wait at barrier `id` continue, not earlier than `cycles`.
    pub(in crate::exec) fn release(
        &mut self,
        id: u32,
        (cycles, saving): (u64, u64),
        votes: u32,
        arrived: u32,
    ) {
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        let current = (frame.current.mask != 0).then_some(&mut frame.current);
        for split in current
            .into_iter()
            .chain(&mut frame.others)
            .filter(|split| split.state == State::BlockBarrier(id))
        {
            split.state = State::Ready;
            self.ready = true;
            if self.cycles < cycles {
                (self.cycles, self.saving) = (cycles, saving);
            }
            self.barrier_result = (votes, arrived);
        }
    }

    /// Whether all threads that have not exited have arrived at the cluster's barrier.
    pub(in crate::exec) fn has_arrived_at_cluster_barrier(&self) -> bool {
        self.threads & !self.exited & !self.cluster_arrived == 0
    }

    /// The cycle at which the last of its threads arrived, if any did.
    pub(in crate::exec) fn cluster_arrival(&self) -> Option<u64> {
        (self.cluster_arrived != 0).then_some(self.cluster_arrival)
    }

    /// The cluster's barrier is complete: lets the threads that wait there continue, not earlier than `cycles`.
    pub(in crate::exec) fn release_from_cluster_barrier(&mut self, cycles: u64) {
        self.cluster_arrived = 0;
        self.cluster_release = cycles;
        let splits = self.frames.iter_mut().flat_map(|frame| &mut frame.others);
        for split in splits.filter(|split| split.state == State::ClusterBarrier) {
            split.state = State::Ready;
            self.ready = true;
            self.cycles = self.cycles.max(cycles);
        }
    }

    /// `barrier.cluster.arrive`.
    pub(super) fn cluster_arrive(
        &mut self,
        cx: &Context<'_>,
        mask: u32,
        line: u32,
    ) -> Option<Stop> {
        let again = self.cluster_unwaited & mask;
        if again != 0 {
            let message =
                "barrier.cluster.arrive without barrier.cluster.wait before it".to_owned();
            let place = cx.place(self.index, again.trailing_zeros(), line);
            let fault = Fault::IllegalInstruction { place, message };
            return Some(Stop::Fault(Box::new(fault)));
        }
        self.cluster_arrived |= mask;
        self.cluster_unwaited |= mask;
        self.cluster_arrival = cx.cycles;
        Some(Stop::ClusterArrived)
    }

    pub(super) fn block_barrier(
        &mut self,
        cx: &mut Context<'_>,
        barrier: &BlockBarrier,
        line: u32,
    ) -> Option<Stop> {
        let frame = self.frames.last_mut()?;
        let mask = frame.current.mask;
        let id = uniform(cx, barrier.id, mask);
        let expected = barrier.threads.map(|slot| uniform(cx, slot, mask));
        if id as usize >= BARRIERS
            || expected.is_some_and(|count| count == 0 || count % LANES as u32 != 0)
        {
            let message = format!("barrier {id} of 16 for {} threads", expected.unwrap_or(0));
            let place = cx.place(self.index, mask.trailing_zeros(), line);
            return Some(Stop::Fault(Box::new(Fault::IllegalInstruction {
                place,
                message,
            })));
        }
        let votes = barrier.reduction.map_or(0, |(predicate, negated)| {
            // SAFETY: lowering made the slot a predicate of this frame.
            let holds = unsafe { cx.predicate(predicate) };
            if negated { !holds } else { holds }
        });
        self.arrival = Some(Arrival {
            barrier: id,
            mask,
            expected: expected.unwrap_or(0),
            votes: (votes & mask).count_ones(),
            waits: barrier.waits,
            aligned: barrier.aligned && !self.has_rotated,
            line,
        });
        frame.current.pc = barrier.next;
        if barrier.waits {
            frame.current.state = State::BlockBarrier(id);
        }
        let alone = frame.others.is_empty();
        if barrier.waits && alone && mask == self.alive_lanes() {
            // The whole warp waits at one place: there is nothing to settle.
            (self.decisions, self.rotating) = (0, false);
            self.ready = false;
            return Some(Stop::Arrived);
        }
        // Runs again when the block has taken note: the arrival may complete the barrier.
        self.ready = self.settle(cx.code);
        Some(Stop::Arrived)
    }
}

/// The value of a 32-bit row in the first lane of `mask`.
pub(super) fn uniform(cx: &Context<'_>, slot: Slot, mask: u32) -> u32 {
    // SAFETY: lowering made the slot a 32-bit row of the current frame.
    let row = unsafe { &*cx.row::<u32>(slot) };
    row[mask.trailing_zeros() as usize & (LANES - 1)]
}
