//! The checker's doors.

use std::ops::Range;
use std::sync::Arc;

use super::advice::{self, Access, Advice};
use super::clock::Clock;
use super::description::Description;
use super::finding::{Finding, Owner, Party, Rule};
use super::happens_before::Order;
use super::ids::{ContextId, EventId, OperationId, StreamId, StreamKind, ThreadId};
use super::memory::{Conflict, Death, How, Life, Memory, Outside};
use super::shadow::Accessor;
use super::site::Site;
use crate::memory::Accesses;
use crate::reports::Kind;

/// What the host does to page-locked memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAccess {
    /// It reads.
    Read,
    /// It writes.
    Write,
}

/// Follows a program and finds what nothing orders. See the [module](super) for the rules.
///
/// Calls come in the order in which the program makes them; [`accessed`](Self::accessed) comes when an operation is
/// executed, in an order that agrees with happens-before. What is unknown (a stream that was not created, an operation
/// that has ended) is ignored.
#[derive(Debug)]
pub struct Checker {
    order: Order,
    memory: Memory,
    findings: Vec<Finding>,
    executions: u64,
    /// How many ranges may be added before what has become useless is dropped.
    room: usize,
    /// The least that `room` can be.
    least_room: usize,
}

impl Checker {
    /// Knows of no streams and no memory.
    pub fn new() -> Self {
        Self::with_room(4096)
    }

    /// As [`new`](Self::new), and looks for useless history whenever so many ranges of bytes were accessed, or as many
    /// as the history had after the last time if those are more. What is found does not depend on it.
    pub fn with_room(ranges: usize) -> Self {
        Self {
            order: Order::default(),
            memory: Memory::default(),
            findings: Vec::new(),
            executions: 0,
            room: ranges,
            least_room: ranges,
        }
    }

    /// A host thread gets a clock of its own and comes after what its parent has done. Without a parent it comes after
    /// what the unregistered threads have done.
    pub fn thread_started(&mut self, parent: Option<ThreadId>, thread: ThreadId) {
        self.order
            .thread_started(parent.unwrap_or(ThreadId::UNREGISTERED), thread);
    }

    /// A host thread is over, and its parent (without one: the unregistered threads) goes on after it.
    pub fn thread_joined(&mut self, parent: Option<ThreadId>, thread: ThreadId) {
        self.order
            .thread_joined(parent.unwrap_or(ThreadId::UNREGISTERED), thread);
    }

    /// A context with its legacy default stream.
    pub fn context_created(&mut self, thread: ThreadId, context: ContextId, legacy: StreamId) {
        self.stream_created(thread, legacy, context, StreamKind::Legacy);
    }

    /// The context and its streams are gone.
    pub fn context_destroyed(&mut self, context: ContextId) {
        self.order.context_destroyed(context);
    }

    /// A stream. Its operations come after what the thread knows now: they need its handle.
    pub fn stream_created(
        &mut self,
        thread: ThreadId,
        stream: StreamId,
        context: ContextId,
        kind: StreamKind,
    ) {
        self.order.stream_created(thread, stream, context, kind);
    }

    /// The program has no use for the stream any more. What it was given still runs.
    pub fn stream_destroyed(&mut self, stream: StreamId) {
        self.order.stream_destroyed(stream);
    }

    /// What reports call the stream from now on; an empty name takes the one that it had. The legacy default stream keeps its own.
    pub fn stream_named(&mut self, stream: StreamId, name: &str) {
        self.order.names.give(stream, name);
    }

    /// An operation of a stream. It comes after everything in the stream, everything that the thread has waited for, what
    /// the legacy stream's rules say, and the operations `after`: the nodes of a graph, of whose launch this is the end.
    pub fn submitted(
        &mut self,
        thread: ThreadId,
        stream: StreamId,
        operation: OperationId,
        after: &[OperationId],
        description: Description,
    ) {
        self.order
            .submitted(thread, stream, operation, after, description);
    }

    /// A node of a graph. It comes after the operation `launch`, which was submitted to a stream as the beginning of this
    /// launch, and after the nodes `after`. Nodes are submitted after those that they depend on.
    pub fn submitted_node(
        &mut self,
        thread: ThreadId,
        launch: OperationId,
        operation: OperationId,
        after: &[OperationId],
        description: Description,
    ) {
        self.order
            .submitted_node(thread, launch, operation, after, description);
    }

    /// The node, submitted just now, waits for what the event stands for: an event wait node.
    pub fn node_waited(&mut self, node: OperationId, event: EventId) {
        self.order.node_waited(node, event);
    }

    /// The operation has ended, and is not named again.
    pub fn ended(&mut self, operation: OperationId) {
        self.order.ended(operation);
    }

    /// The event now stands for `operation` and everything before it in `stream`.
    pub fn recorded(&mut self, event: EventId, stream: StreamId, operation: OperationId) {
        self.order.recorded(event, stream, operation);
    }

    /// The event does not exist any more. Waits for it still hold.
    pub fn event_destroyed(&mut self, event: EventId) {
        self.order.events.remove(&event);
    }

    /// What `stream` gets from now on comes after what the event stands for now, whether or not that has completed.
    pub fn waited(&mut self, thread: ThreadId, stream: StreamId, event: EventId) {
        self.order.waited(thread, stream, event);
    }

    /// The thread goes on after what the stream has been given, or was told that it is complete. To be called when the
    /// wait begins, as all of these: what other threads submit during the wait is not part of it.
    pub fn stream_synchronized(&mut self, thread: ThreadId, stream: StreamId) {
        self.order.stream_synchronized(thread, stream);
    }

    /// The thread goes on after what the event stands for, or was told that it is complete.
    pub fn event_synchronized(&mut self, thread: ThreadId, event: EventId) {
        self.order.event_synchronized(thread, event);
    }

    /// The thread goes on after everything that the context's streams have been given.
    pub fn context_synchronized(&mut self, thread: ThreadId, context: ContextId) {
        self.order.context_synchronized(thread, context);
    }

    /// The thread goes on after this operation, which has not [ended](Self::ended).
    pub fn operation_synchronized(&mut self, thread: ThreadId, operation: OperationId) {
        self.order.operation_synchronized(thread, operation);
    }

    /// What the operation touches, when it is executed. A host function's accesses are its operation's.
    pub fn accessed(&mut self, operation: OperationId, accesses: &Accesses) {
        let Some(found) = self.order.operation_mut(operation) else {
            return;
        };
        let executed = *found.executed.get_or_insert_with(|| {
            self.executions += 1;
            self.executions
        });
        let found = found.clone();
        let by = Accessor {
            site: &found.site,
            clock: &found.clock,
            executed,
        };
        let (outside, conflict) = self.memory.accessed(accesses, by);
        self.found(&found.site, outside, conflict);
        self.tidy();
    }

    /// The program says that a thread's own code reads or writes memory, and does so now.
    pub fn host_accessed(
        &mut self,
        thread: ThreadId,
        access: HostAccess,
        range: Range<u64>,
        description: Description,
    ) {
        let (site, clock) = self.order.host_access(thread, description);
        self.executions += 1;
        let by = Accessor {
            site: &site,
            clock: &clock,
            executed: self.executions,
        };
        let mut accesses = Accesses::default();
        match access {
            HostAccess::Read => accesses.reads = range.into(),
            HostAccess::Write => accesses.writes = range.into(),
        }
        let (outside, conflict) = self.memory.accessed(&accesses, by);
        self.found(&site, outside, conflict);
        self.tidy();
    }

    /// Memory that exists when the call returns: of the device, or page-locked.
    pub fn allocated(&mut self, range: Range<u64>, description: Description) {
        let called = self.order.call();
        self.memory.allocated(range, called, description);
    }

    /// Memory that the call has freed after synchronising with everything that could use it.
    pub fn freed(&mut self, range: Range<u64>) {
        self.memory.freed(range);
    }

    /// Stream-ordered memory, directly after its operation was submitted: the program has its address now. Operations
    /// submitted from now on mean this allocation when they touch the range.
    pub fn pool_allocated(
        &mut self,
        operation: OperationId,
        range: Range<u64>,
        description: Description,
    ) {
        let called = self.order.call();
        if let Some(operation) = self.order.operation(operation) {
            let birth = Arc::clone(&operation.site);
            self.memory
                .pool_allocated(range, called, description, birth);
        }
        self.tidy();
    }

    /// The stream-ordered free of the allocation that begins at `start`, directly after its operation was submitted.
    pub fn pool_freed(&mut self, operation: OperationId, start: u64) {
        if let Some(operation) = self.order.operation(operation).cloned() {
            self.die(operation.site, operation.clock, start);
        }
    }

    /// A free that is not in stream order and waits for nothing, of the allocation that begins at `start`: `cuMemFree` of
    /// a pool's memory, whose uses the host has to have waited for.
    pub fn pool_freed_by_host(&mut self, thread: ThreadId, start: u64, description: Description) {
        let (site, clock) = self.order.host_access(thread, description);
        self.die(site, Arc::new(clock), start);
    }

    fn die(&mut self, site: Arc<Site>, clock: Arc<Clock>, start: u64) {
        let death = Death { site, clock };
        let (outside, conflict) = self.memory.pool_freed(start, &death);
        if let Some(outside) = outside {
            self.outside(&death.site, "frees", outside);
        }
        if let Some(conflict) = conflict {
            self.conflict(Rule::FreedWithoutOrder, &death.site, "frees", conflict);
        }
    }

    /// What was found since the last time, in the order in which it was found.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// How many ranges have a history, how many chains there are, and how many operations that have not ended.
    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize, usize) {
        let (chains, operations) = self.order.size();
        (self.memory.len(), chains, operations)
    }

    fn found(&mut self, second: &Site, outside: Option<Outside>, conflict: Option<Conflict>) {
        if let Some(conflict) = conflict {
            self.conflict(Rule::Race, second, conflict.kinds.verb(), conflict);
        }
        if let Some(outside) = outside {
            self.outside(second, "uses", outside);
        }
    }

    fn conflict(&mut self, rule: Rule, second: &Site, verb: &'static str, conflict: Conflict) {
        let first = Access {
            site: &conflict.earlier.site,
            verb: conflict.earlier.kinds.verb(),
        };
        let second = Access { site: second, verb };
        // What was called first is meant to come first, whichever happened to run first.
        let called_first = second.site.called < first.site.called;
        let reversed = rule == Rule::Race && called_first && !first.site.place.is_host();
        let (earlier, later) = if reversed {
            (second, first)
        } else {
            (first, second)
        };
        let advice = self.advice(earlier, later, reversed);
        let Conflict { bytes, life, .. } = &conflict;
        self.add(
            rule,
            (first, second),
            bytes.clone(),
            (life.clone(), None),
            advice,
        );
    }

    fn outside(&mut self, second: &Site, verb: &'static str, outside: Outside) {
        let reused = outside.newer.is_some();
        let (rule, site, does) = match outside.how {
            How::BeforeBirth(birth) => (Rule::UsedBeforeAllocation, birth, "allocates"),
            How::AfterDeath(death) => (Rule::UsedAfterFree, death, "frees"),
            How::DeathUnordered(death) if reused => (Rule::Reused, death, "frees"),
            How::DeathUnordered(death) => (Rule::FreedWithoutOrder, death, "frees"),
        };
        let first = Access {
            site: &site,
            verb: does,
        };
        let second = Access { site: second, verb };
        let advice = match rule {
            Rule::UsedBeforeAllocation => self.advice(first, second, false),
            Rule::UsedAfterFree => Advice {
                lack: String::new(),
                missing: format!("free the memory after {}", second.name()),
                nearly: None,
                reversed: false,
            },
            _ => self.advice(second, first, false),
        };
        let lives = (Some(outside.life), outside.newer);
        self.add(rule, (first, second), outside.bytes, lives, advice);
    }

    fn advice(&self, earlier: Access<'_>, later: Access<'_>, reversed: bool) -> Advice {
        Advice {
            lack: advice::lack(earlier, later),
            missing: advice::order(earlier, later, &self.order.names),
            nearly: self.order.nearly(earlier.site, later.site),
            reversed,
        }
    }

    fn add(
        &mut self,
        rule: Rule,
        (first, second): (Access<'_>, Access<'_>),
        bytes: Range<u64>,
        (life, newer): (Option<Life>, Option<Life>),
        advice: Advice,
    ) {
        let kind = match rule {
            Rule::Race => Kind::Race,
            _ => Kind::Lifetime,
        };
        let names = &self.order.names;
        let (first, second) = (Party::new(first, names), Party::new(second, names));
        let allocation = life.map(Owner::from);
        let of = allocation
            .as_ref()
            .map_or(0, |owner| owner.description.place());
        self.findings.push(Finding {
            kind,
            rule,
            key: format!("{rule:?}: {}; {}; {of:x}", first.key(), second.key()),
            first,
            second,
            reversed: advice.reversed,
            bytes,
            allocation,
            newer: newer.map(Owner::from),
            lack: advice.lack,
            missing: advice.missing,
            nearly: advice.nearly,
        });
    }

    /// Drops history that has become useless, now and then: its cost is spread over the accesses that made it.
    fn tidy(&mut self) {
        if self.memory.growth() < self.room {
            return;
        }
        let everyone = self.order.known_to_all();
        self.memory.prune(&everyone, self.order.oldest_call());
        self.room = self.memory.len().max(self.least_room);
    }
}

impl Default for Checker {
    fn default() -> Self {
        Self::new()
    }
}

impl From<Life> for Owner {
    fn from(life: Life) -> Self {
        Self {
            description: life.description,
            range: life.range,
        }
    }
}
