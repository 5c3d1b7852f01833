//! What the host comes after, for a driver that protects the host memory of operations that nothing has waited for.

use super::checker::Checker;
use super::clock::{Clock, Epoch};
use super::ids::OperationId;

/// An operation's place in happens-before. It stays valid when the operation has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationEpoch(Epoch);

impl OperationEpoch {
    /// Whether everything after this operation is also after the other one, since both are operations of one stream or one branch of a graph. `false`
    /// may also mean that this is not known without a search.
    pub fn follows(self, other: Self) -> bool {
        self.0.chain == other.0.chain && self.0.position >= other.0.position
    }
}

/// What some code of the host comes after.
#[derive(Clone, Debug, Default)]
pub struct HostClock(Clock);

impl HostClock {
    /// Whether the code comes after this operation.
    pub fn knows(&self, step: OperationEpoch) -> bool {
        self.0.knows(step.0)
    }

    /// Whether both come after the same operations. `false` may also mean that this is not known without a search.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }
}

impl Checker {
    /// The operation's place in happens-before; `None` for one that has ended.
    pub fn step_of(&self, operation: OperationId) -> Option<OperationEpoch> {
        let operation = self.order().operation(operation)?;
        Some(OperationEpoch(operation.site.epoch))
    }

    /// What the host threads together come after: an operation that is not in it is ordered before none of them.
    pub fn host_clock(&mut self) -> HostClock {
        HostClock(self.order_mut().host())
    }

    /// What an operation comes after, itself included; nothing for one that has ended. For a host function that has begun: everything that happens
    /// before its code.
    pub fn clock_of(&self, operation: OperationId) -> HostClock {
        let operation = self.order().operation(operation);
        let clock = operation.map(|operation| operation.known.clock().clone());
        HostClock(clock.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::{ContextId, StreamId, StreamKind, ThreadId};

    #[test]
    fn the_host_knows_what_any_of_its_threads_has_waited_for() {
        let (main, worker) = (ThreadId::UNREGISTERED, ThreadId(1));
        let (context, legacy, stream) = (ContextId(0), StreamId(0), StreamId(1));
        let mut checker = Checker::new();
        checker.context_created(main, context, legacy);
        checker.stream_created(main, stream, context, StreamKind::NonBlocking);
        checker.thread_started(None, worker);
        let [first, second] = [OperationId(1), OperationId(2)];
        checker.submitted(main, stream, first, &[], "copy".into());
        let step = checker.step_of(first).expect("submitted");
        let before = checker.host_clock();
        assert!(!before.knows(step));
        checker.stream_synchronized(worker, stream);
        checker.ended(first);
        let after = checker.host_clock();
        assert!(after.knows(step) && !after.is_same(&before));
        checker.submitted(main, stream, second, &[], "copy".into());
        let later = checker.step_of(second).expect("submitted");
        assert!(!checker.host_clock().knows(later));
        assert!(checker.clock_of(second).knows(step));
        assert!(later.follows(step) && !step.follows(later));
        assert_eq!(checker.step_of(first), None);
    }
}
