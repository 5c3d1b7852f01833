//! What happens before an operation when it runs, and the clocks that grow then.

use std::sync::Arc;

use super::HappensBefore;
use crate::order::clock::Clock;
use crate::order::ids::{OperationId, ThreadId, ValueId};
use crate::order::known::Predecessors;
use crate::order::site::Site;

impl HappensBefore {
    /// The operation runs. `None` for one that has ended.
    pub(in crate::order) fn runs(&mut self, operation: OperationId) -> Option<(Arc<Site>, Clock)> {
        let own = self.operations.get_mut(&operation)?;
        own.known.settle(&self.learned);
        own.site.runs_after(own.known.clock());
        Some((Arc::clone(&own.site), own.known.clock().clone()))
    }

    /// What of the operation runs before its `griddepcontrol.wait`, and what that part comes after; `None` for an
    /// operation that does not overlap the one before it.
    pub(in crate::order) fn begins(
        &mut self,
        operation: OperationId,
    ) -> Option<(Arc<Site>, Clock)> {
        let own = self.operations.get_mut(&operation)?;
        let (before, known) = own.overlaps.as_mut()?;
        known.settle(&self.learned);
        let mut clock = known.clock().clone();
        if let Some(begun) = before.began_after() {
            clock.join(&begun);
        }
        // The clock excludes the step itself: a clock that includes a step of its stream includes all earlier ones.
        Some((Arc::clone(&own.site), clock))
    }

    /// The operation's stores can be seen, also those of a kernel that has run before the one before it has ended.
    pub(in crate::order) fn lands(&mut self, operation: OperationId) {
        if let Some(own) = self.operations.get_mut(&operation)
            && own.overlaps.is_some()
        {
            own.known.settle(&self.learned);
            own.site.ends_after(own.known.clock());
        }
    }

    /// The number of the operation's execution, which is `next` if it touches memory for the first time.
    pub(in crate::order) fn executed(&mut self, operation: OperationId, next: u64) -> u64 {
        let own = self.operations.get_mut(&operation);
        own.map_or(next, |own| *own.executed.get_or_insert(next))
    }

    /// A host function begins, after everything that host threads have done by now.
    pub(in crate::order) fn host_function_begins(&mut self, operation: OperationId) -> Option<()> {
        let host = self.host();
        let own = self.operations.get_mut(&operation)?;
        own.known.learn(&host);
        self.learned_by(operation)
    }

    /// A host function has ended: host threads may learn of it, and of what happened before it.
    pub(in crate::order) fn host_function_ends(&mut self, operation: OperationId) {
        if let Some(own) = self.operations.get(&operation) {
            let clock = own.known.clock();
            let threads = self.threads.values_mut();
            threads.for_each(|thread| thread.known.learn(clock));
        }
    }

    /// The value was written by this operation or access of the host, and by those that were named before.
    pub(in crate::order) fn value_written(&mut self, write: ValueId, writer: &Site) {
        if let Some(clock) = writer.seen_after() {
            let writer = Predecessors::of(writer.epoch, clock.clone());
            self.values.entry(write).or_default().join(&writer);
        }
    }

    /// The value was written by one of the host's threads.
    pub(in crate::order) fn value_written_by_host(&mut self, write: ValueId) {
        let mut host = Predecessors::default();
        host.learn(&self.host());
        self.values.insert(write, host);
    }

    /// The write has gone on with what `earlier` wrote.
    pub(in crate::order) fn value_continued(&mut self, write: ValueId, earlier: ValueId) {
        if let Some(clock) = self.values.get(&earlier).cloned() {
            self.values.entry(write).or_default().join(&clock);
        }
    }

    /// The thread has seen what this operation, or this access of the host, has written, and continues after it.
    pub(in crate::order) fn acquired(&mut self, thread: ThreadId, writer: &Site) {
        if let Some(clock) = writer.seen_after() {
            self.thread(thread).known.learn(clock);
        }
    }

    /// As [`acquired`](Self::acquired), of a host function that runs.
    pub(in crate::order) fn acquired_by(
        &mut self,
        operation: OperationId,
        writer: &Site,
    ) -> Option<()> {
        let own = self.operations.get_mut(&operation)?;
        own.known.learn(writer.seen_after()?);
        self.learned_by(operation)
    }

    pub(in crate::order) fn value_forgotten(&mut self, write: ValueId) {
        self.values.remove(&write);
    }

    /// Forgets the writes that everyone comes after.
    pub(in crate::order) fn prune_values(&mut self, everyone: &Clock) {
        self.values.retain(|_, write| !write.is_known_to(everyone));
    }

    /// The wait has ended, after that write.
    pub(in crate::order) fn value_found(
        &mut self,
        wait: OperationId,
        write: Option<ValueId>,
    ) -> Option<()> {
        let own = self.operations.get_mut(&wait)?;
        if let Some(write) = write.and_then(|write| self.values.get(&write)) {
            own.known.join(write);
        }
        self.learned_by(wait)
    }

    fn learned_by(&mut self, operation: OperationId) -> Option<()> {
        let (site, clock) = self.runs(operation)?;
        self.learned.add(site.epoch, clock);
        Some(())
    }

    /// What all host threads together have waited for and done.
    pub(in crate::order) fn host(&mut self) -> Clock {
        let mut host = Clock::default();
        for thread in self.threads.values_mut() {
            thread.known.settle(&self.learned);
            host.join(thread.known.clock());
        }
        host
    }
}
