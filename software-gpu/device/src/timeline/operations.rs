//! The operations that are not forgotten yet, and which of them wait for which.

use std::collections::VecDeque;

use super::queues::Unit;
use super::{OpId, OperationStage, StreamId, Time};

/// How an operation was submitted, as far as its hand-over depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// A kernel launched with programmatic stream serialisation: its blocks may be on their way before the kernel before it
    /// in its stream has ended.
    pub early: bool,
    /// The launch of a graph that the operation is a node of: any number, the same for all nodes of a launch.
    pub launch: Option<OpId>,
}

/// One operation's way from submission to its end.
#[derive(Debug)]
pub(super) struct TimedOperation {
    pub stream: StreamId,
    pub work: OperationStage,
    /// The unit that it needs; of a mark, the one whose work it waited for last.
    pub unit: Option<Unit>,
    pub manner: Manner,
    /// The earliest that the blocks of a kernel with programmatic stream serialisation are on their way.
    pub on_its_way: Time,
    /// When a mark could follow that work, and which operation it was.
    pub followed: Option<(Time, OpId)>,
    /// Instead of its stream's.
    pub priority: Option<i32>,
    /// Operations that have to end first.
    pub waits_for: u32,
    /// The earliest start that those which have ended allow.
    pub ready: Time,
    /// The operations that wait for this one.
    pub successors: Vec<OpId>,
    /// Nothing more to wait for but the device.
    pub armed: bool,
    pub started: Option<Time>,
    pub ended: Option<Time>,
    /// Whether the end has been reported to the caller.
    pub reported: bool,
}

impl TimedOperation {
    /// Whether its blocks may be on their way while `earlier` runs.
    pub fn overlaps(&self, earlier: &Self) -> bool {
        let are_kernels = [self, earlier]
            .map(|operation| matches!(operation.work, OperationStage::Kernel { .. }))
            == [true; 2];
        self.manner.early && are_kernels && self.stream == earlier.stream
    }

    /// The time at which its blocks can be dispatched, now that `earlier` has ended and lets it start at `ready`.
    pub fn on_its_way_after(&self, earlier: &Self, ready: Time) -> Time {
        let after = match self.overlaps(earlier) {
            true => earlier.started.unwrap_or(ready),
            false => ready,
        };
        self.on_its_way.max(after)
    }

    /// Whether both are nodes of one launch of a graph.
    pub fn is_of_launch_of(&self, other: &Self) -> bool {
        self.manner.launch.is_some() && self.manner.launch == other.manner.launch
    }

    /// A mark that comes more than `change` after the work that it waited for hands nothing on: what follows it could
    /// have started already.
    pub fn settle(&mut self, change: Time) {
        if let Some((ready, _)) = self.followed
            && ready + change < self.ready
        {
            self.unit = None;
        }
    }

    /// Notes for a mark that it could follow `earlier`, which is `op`, at `ready`.
    pub fn follow(&mut self, op: OpId, earlier: (Option<Unit>, StreamId), ready: Time) {
        let is_mark = matches!(
            self.work,
            OperationStage::Marker
                | OperationStage::Note
                | OperationStage::Timestamp
                | OperationStage::Upload
        );
        if is_mark && self.followed < Some((ready, op)) {
            self.followed = Some((ready, op));
            let (unit, stream) = earlier;
            // The marks of a stream without work are the multiprocessors' to other streams.
            let elsewhere = (stream != self.stream).then_some(Unit::Multiprocessors);
            self.unit = unit.or(elsewhere);
        }
    }
}

/// Operations by number. Forgotten operations count as complete.
#[derive(Debug, Default)]
pub(super) struct Operations {
    first: u64,
    list: VecDeque<TimedOperation>,
}

impl Operations {
    pub fn next_id(&self) -> OpId {
        OpId(self.first + self.list.len() as u64)
    }

    pub fn add(&mut self, operation: TimedOperation) -> OpId {
        let op = self.next_id();
        self.list.push_back(operation);
        op
    }

    pub fn get(&self, op: OpId) -> Option<&TimedOperation> {
        let index = op.0.checked_sub(self.first)?;
        self.list.get(usize::try_from(index).ok()?)
    }

    pub fn get_mut(&mut self, op: OpId) -> Option<&mut TimedOperation> {
        let index = op.0.checked_sub(self.first)?;
        self.list.get_mut(usize::try_from(index).ok()?)
    }

    /// Whether the number was given once and has been forgotten since.
    pub fn is_forgotten(&self, op: OpId) -> bool {
        op.0 < self.first
    }

    /// Drops reported operations before `op`, up to the first that is still under way or ended after `horizon`.
    pub fn forget(&mut self, op: OpId, horizon: Time) {
        let over = |front: &TimedOperation| front.reported && front.ended <= Some(horizon);
        while self.first < op.0 && self.list.front().is_some_and(over) {
            self.list.pop_front();
            self.first += 1;
        }
    }
}
