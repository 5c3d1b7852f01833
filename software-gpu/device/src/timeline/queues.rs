//! Hardware queues: the connections over which the host feeds the device.
//!
//! `CUDA_DEVICE_MAX_CONNECTIONS` connections are shared by all streams. Each has one queue for the multiprocessors and
//! one per copy engine. An operation leaves its queue when it starts, so an operation that was issued behind it on the same
//! connection waits too, even from another stream: a false dependency.

use std::collections::VecDeque;

use super::{CopyKind, OpId, OperationStage};

/// The unit that an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Multiprocessors,
    CopyEngine(CopyKind),
}

impl Unit {
    const COUNT: usize = 1 + CopyKind::ENGINES;

    /// The requirements of `work`, if there are any.
    pub fn of(work: &OperationStage) -> Option<Self> {
        match *work {
            OperationStage::Kernel { .. } | OperationStage::Set { .. } => {
                Some(Self::Multiprocessors)
            }
            OperationStage::Copy { kind, .. } => Some(Self::CopyEngine(kind)),
            OperationStage::Marker
            | OperationStage::Note
            | OperationStage::Timestamp
            | OperationStage::Upload
            | OperationStage::HostFunction
            | OperationStage::ValueWait => None,
        }
    }

    fn index(self) -> usize {
        match self {
            Self::Multiprocessors => 0,
            Self::CopyEngine(kind) => 1 + kind.engine(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Queues {
    connections: usize,
    queues: Vec<VecDeque<OpId>>,
}

impl Queues {
    pub fn new(connections: usize) -> Self {
        Self {
            connections,
            queues: vec![VecDeque::new(); connections * Unit::COUNT],
        }
    }

    pub fn push(&mut self, unit: Unit, connection: usize, op: OpId) {
        self.queue(unit, connection).push_back(op);
    }

    /// Whether `op` is the next to leave its queue.
    pub fn is_next(&mut self, unit: Unit, connection: usize, op: OpId) -> bool {
        self.queue(unit, connection).front() == Some(&op)
    }

    /// Removes the operation that starts, and returns the next one.
    pub fn pop(&mut self, unit: Unit, connection: usize) -> Option<OpId> {
        let queue = self.queue(unit, connection);
        queue.pop_front();
        queue.front().copied()
    }

    fn queue(&mut self, unit: Unit, connection: usize) -> &mut VecDeque<OpId> {
        &mut self.queues[unit.index() * self.connections + connection]
    }
}
