//! The checker's public interface: one method per event that a driver reports.
//!
//! Each method first updates happens-before, then compares the access with the shadow of its bytes. The table in the head of
//! [`order`](super) says which calls of the driver report which events, and in what sequence.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::advice::{self, Advice, AdvisedAccess};
use super::clock::Clock;
use super::description::Description;
use super::finding::{Finding, OrderRule, Owner, Party, Repaired};
use super::happens_before::HappensBefore;
use super::ids::{
    ContextId, EventId, OperationId, StreamId, StreamKind, ThreadId, ValueId, WaitId,
};
use super::memory::{Conflict, Death, How, Life, Memory, Outside};
use super::owners::RegionId;
use super::repairs::{Later, Repairs};
use super::shadow::Accessor;
use super::site::Site;
use crate::Kind;
use crate::memory::Accesses;

/// What the host does to page-locked memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAccess {
    /// It reads.
    Read,
    /// It writes.
    Write,
}

/// What runs now, and what it comes after.
type Now<'a> = (&'a Arc<Site>, &'a Clock);

/// Follows a program and finds what nothing orders. See the [module](super) for the rules.
///
/// Calls come in the order in which the program makes them; [`accessed`](Self::accessed) comes when an operation is
/// executed, in an order that agrees with happens-before. Unknown identifiers (a stream that was not created, an operation
/// that has ended) are ignored.
#[derive(Debug)]
pub struct Checker {
    order: HappensBefore,
    memory: Memory,
    findings: Vec<Finding>,
    repairs: Repairs,
    executions: u64,
    /// Stream-ordered frees whose happens-before set is only known when they execute.
    open_frees: BTreeMap<OperationId, RegionId>,
    /// How many ranges may be added before superfluous history is dropped.
    room: usize,
    /// The least that `room` can be.
    least_room: usize,
}

impl Checker {
    /// A checker without streams and memory.
    pub fn new() -> Self {
        Self::with_room(4096)
    }

    /// As [`new`](Self::new), and drops superfluous history whenever `ranges` ranges of bytes were accessed, or as many as the
    /// history had after the last time if those are more. The findings do not depend on it.
    pub fn with_room(ranges: usize) -> Self {
        Self {
            order: HappensBefore::default(),
            memory: Memory::default(),
            findings: Vec::new(),
            repairs: Repairs::default(),
            executions: 0,
            open_frees: BTreeMap::new(),
            room: ranges,
            least_room: ranges,
        }
    }

    /// A host thread gets a clock of its own; everything that its parent has done happens before. Without a parent, the same
    /// holds for the unregistered threads.
    pub fn thread_started(&mut self, parent: Option<ThreadId>, thread: ThreadId) {
        self.order
            .thread_started(parent.unwrap_or(ThreadId::UNREGISTERED), thread);
    }

    /// A host thread has ended, and its parent (without one: the unregistered threads) continues after it.
    pub fn thread_joined(&mut self, parent: Option<ThreadId>, thread: ThreadId) {
        self.order
            .thread_joined(parent.unwrap_or(ThreadId::UNREGISTERED), thread);
    }

    /// A context with its legacy default stream.
    pub fn context_created(&mut self, thread: ThreadId, context: ContextId, legacy: StreamId) {
        self.stream_created(thread, legacy, context, StreamKind::Legacy);
    }

    /// The context and its streams are destroyed.
    pub fn context_destroyed(&mut self, context: ContextId) {
        self.order.context_destroyed(context);
    }

    /// A stream. Everything that the thread knows now happens before its operations: they need its handle.
    pub fn stream_created(
        &mut self,
        thread: ThreadId,
        stream: StreamId,
        context: ContextId,
        kind: StreamKind,
    ) {
        self.order.stream_created(thread, stream, context, kind);
    }

    /// The program has no use for the stream any more. Its submitted operations still run.
    pub fn stream_destroyed(&mut self, stream: StreamId) {
        self.order.stream_destroyed(stream);
    }

    /// What reports call the stream from now on; an empty name takes the one that it had. The legacy default stream keeps its own.
    pub fn stream_named(&mut self, stream: StreamId, name: &str) {
        self.order.names.give(stream, name);
    }

    /// The stream's name in reports.
    pub fn name_of(&self, stream: StreamId) -> String {
        self.order.names.of(stream)
    }

    /// The line of the program that made the newest allocation at this address, if symbols give it.
    pub fn line_of_allocation(&self, address: u64) -> Option<String> {
        self.memory.newest(address)?.description.line()
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

    /// The operation, submitted just now, is a host function or a wait for a value: its clock, and the clocks of later operations, grow when it
    /// runs.
    pub fn learns(&mut self, operation: OperationId) {
        self.order.learns(operation);
    }

    /// The operation of a stream, submitted just now, is a kernel. With programmatic stream serialisation it may begin
    /// before the kernel before it in its stream has ended, if nothing was given to the stream in between.
    pub fn launched(&mut self, thread: ThreadId, operation: OperationId, programmatic: bool) {
        self.order.launched(thread, operation, programmatic);
    }

    /// The node, submitted just now, waits for what the event stands for: an event wait node.
    pub fn node_waited(&mut self, node: OperationId, event: EventId) {
        self.order.node_waited(node, event);
    }

    /// The operation begins. To be called before all other reports of its execution.
    pub fn began(&mut self, operation: OperationId) {
        let Some((site, clock)) = self.order.runs(operation) else {
            return;
        };
        if let Some(region) = self.open_frees.remove(&operation) {
            let death = Death { site, clock };
            let found = self.memory.freed_by(region, &death);
            self.died(&death, found);
        }
    }

    /// What a kernel touches before it waits for the kernel before it (`griddepcontrol.wait`), as far as it may overlap
    /// that one. `waits` says that all its threads wait before it lets the next kernel begin.
    pub fn accessed_early(&mut self, operation: OperationId, accesses: &Accesses, waits: bool) {
        let Some((site, clock)) = self.order.begins(operation) else {
            return self.accessed(operation, accesses);
        };
        if !waits {
            site.begins_after(&clock);
        }
        self.note(operation, accesses, &site, &clock);
    }

    /// A host function begins. Everything that the host's threads have done by now happens before it: they may have synchronised with it through a
    /// lock.
    pub fn host_function_began(&mut self, operation: OperationId) {
        self.order.host_function_begins(operation);
    }

    /// A host function has returned: what it came after, host threads come after from now on.
    pub fn host_function_returned(&mut self, operation: OperationId) {
        self.order.host_function_ends(operation);
    }

    /// From now on the driver reports every write of the value at `range`: streams wait for it. The present contents count as
    /// this write.
    pub fn value_watched(&mut self, write: ValueId, range: Range<u64>) {
        for writer in self.writers(range) {
            self.order.value_written(write, &writer);
        }
    }

    /// The writers of the present contents of `range`, except those that happen before everything later. Atomic accesses may each have
    /// added to it, so all of them count.
    fn writers(&mut self, range: Range<u64>) -> Vec<Arc<Site>> {
        let called = self.order.call();
        let order = &self.order;
        let over = |site: &Site| {
            let operation = site.place.operation();
            operation.is_none_or(|operation| order.operation(operation).is_none())
        };
        self.memory.writers(range, called, over)
    }

    /// The program declares that a thread's own code has read `range`, and continues after the writers of its present contents.
    pub fn acquired(&mut self, thread: ThreadId, range: Range<u64>) {
        for writer in self.writers(range) {
            self.order.acquired(thread, &writer);
        }
    }

    /// As [`acquired`](Self::acquired), of a host function that runs.
    pub fn acquired_by(&mut self, operation: OperationId, range: Range<u64>) {
        for writer in self.writers(range) {
            self.order.acquired_by(operation, &writer);
        }
    }

    /// A watched value has another content from now on: this operation has written it, which has not
    /// [ended](Self::ended); without one, one of the host's threads.
    pub fn value_written(&mut self, write: ValueId, operation: Option<OperationId>) {
        let writer = operation.and_then(|operation| {
            self.order.lands(operation);
            self.order.operation(operation)
        });
        match writer.map(|writer| Arc::clone(&writer.site)) {
            Some(writer) => self.order.value_written(write, &writer),
            None => self.order.value_written_by_host(write),
        }
    }

    /// This write continues the value of `earlier` by atomic operations: a reader that observes it also happens after `earlier`.
    pub fn value_continued(&mut self, write: ValueId, earlier: ValueId) {
        self.order.value_continued(write, earlier);
    }

    /// Whether all later operations happen after this write of a value, or the write is unknown: joining it again adds
    /// nothing.
    pub fn is_known_to_all(&self, write: ValueId) -> bool {
        !self.order.values.contains_key(&write)
    }

    /// The write is not named again.
    pub fn value_forgotten(&mut self, write: ValueId) {
        self.order.value_forgotten(write);
    }

    /// The wait has ended, after that write of the value at `range`.
    pub fn value_found(
        &mut self,
        operation: OperationId,
        range: Range<u64>,
        write: Option<ValueId>,
    ) {
        self.order.value_found(operation, write);
        let atomics = range.into();
        let accesses = Accesses {
            atomics,
            ..Accesses::default()
        };
        self.accessed(operation, &accesses);
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

    /// The event's last record happens before all later operations of `stream`, whether or not it has completed.
    pub fn waited(&mut self, thread: ThreadId, stream: StreamId, event: EventId) {
        self.order.waited(thread, stream, event);
    }

    /// What `something` says that a thread continues after, it waits for until this wait has [`returned`](Self::returned). A host
    /// function that runs meanwhile does not come after it.
    pub fn waits(&mut self, wait: WaitId, something: impl FnOnce(&mut Self)) {
        self.order.waits_in(Some(wait));
        something(self);
        self.order.waits_in(None);
    }

    /// The wait has ended.
    pub fn returned(&mut self, wait: WaitId) {
        self.order.returned(wait);
    }

    /// The thread waits for all operations of the stream, or has queried that they are complete. To be called when the wait
    /// begins, like the other waits: what other threads submit during the wait is not part of it.
    pub fn stream_synchronized(&mut self, thread: ThreadId, stream: StreamId) {
        self.order.stream_synchronized(thread, stream);
    }

    /// The thread waits for the event's last record, or has queried that it is complete.
    pub fn event_synchronized(&mut self, thread: ThreadId, event: EventId) {
        self.order.event_synchronized(thread, event);
    }

    /// The thread continues after everything that the context's streams have been given.
    pub fn context_synchronized(&mut self, thread: ThreadId, context: ContextId) {
        self.order.context_synchronized(thread, context);
    }

    /// The thread continues after this operation, which has not [ended](Self::ended).
    pub fn operation_synchronized(&mut self, thread: ThreadId, operation: OperationId) {
        self.order.operation_synchronized(thread, operation);
    }

    /// What the operation touches, when it is executed. A host function's accesses are its operation's.
    pub fn accessed(&mut self, operation: OperationId, accesses: &Accesses) {
        if let Some((site, clock)) = self.order.runs(operation) {
            self.note(operation, accesses, &site, &clock);
        }
    }

    fn note(
        &mut self,
        operation: OperationId,
        accesses: &Accesses,
        site: &Arc<Site>,
        clock: &Clock,
    ) {
        let executed = self.order.executed(operation, self.executions + 1);
        self.executions = self.executions.max(executed);
        let by = Accessor {
            site,
            clock,
            executed,
        };
        let (outside, conflicts) = self.memory.accessed(accesses, by);
        self.found((site, clock), outside, conflicts);
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
        let (outside, conflicts) = self.memory.accessed(&accesses, by);
        self.found((&site, &clock), outside, conflicts);
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
        let Some(own) = self.order.operation(operation) else {
            return;
        };
        let death = Death {
            site: Arc::clone(&own.site),
            clock: own.known.clock().clone(),
        };
        if own.known.is_settled() {
            let found = self.memory.pool_freed(start, &death);
            self.died(&death, found);
        } else if let Some(region) = self.memory.pool_freed_later(start, &death) {
            self.open_frees.insert(operation, region);
        }
    }

    /// A free that is not in stream order and waits for nothing, of the allocation that begins at `start`: `cuMemFree` of
    /// a pool's memory, whose uses the host has to have waited for.
    pub fn pool_freed_by_host(&mut self, thread: ThreadId, start: u64, description: Description) {
        let (site, clock) = self.order.host_access(thread, description);
        let death = Death { site, clock };
        let found = self.memory.pool_freed(start, &death);
        self.died(&death, found);
    }

    fn died(&mut self, death: &Death, (outside, conflicts): (Option<Outside>, Vec<Conflict>)) {
        let free = (&death.site, &death.clock);
        if let Some(outside) = outside {
            self.outside(free, "frees", outside);
        }
        for conflict in conflicts {
            self.conflict(OrderRule::FreedWithoutOrder, free, "frees", conflict);
        }
    }

    /// The findings since the last call, in the order of detection.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    pub(super) fn order(&self) -> &HappensBefore {
        &self.order
    }

    pub(super) fn order_mut(&mut self) -> &mut HappensBefore {
        &mut self.order
    }

    /// How many ranges have a history, how many chains there are, and how many operations that have not ended.
    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize, usize) {
        let (chains, operations) = self.order.size();
        (self.memory.len(), chains, operations)
    }

    fn found(&mut self, second: Now<'_>, outside: Option<Outside>, conflicts: Vec<Conflict>) {
        for conflict in conflicts {
            self.conflict(OrderRule::Race, second, conflict.kinds.verb(), conflict);
        }
        if let Some(outside) = outside {
            self.outside(second, "uses", outside);
        }
    }

    fn conflict(
        &mut self,
        rule: OrderRule,
        (site, clock): Now<'_>,
        verb: &'static str,
        conflict: Conflict,
    ) {
        let first = AdvisedAccess {
            site: &conflict.earlier.site,
            verb: conflict.earlier.kinds.verb(),
        };
        let second = AdvisedAccess { site, verb };
        // The operation that was called first counts as the first, whichever happened to run first.
        let called_first = second.site.called < first.site.called;
        let reversed = rule == OrderRule::Race && called_first && !first.site.place.is_host();
        let (earlier, later) = if reversed {
            (second, first)
        } else {
            (first, second)
        };
        let edge = advice::edge(earlier, later);
        let lives = (conflict.life.clone(), None);
        self.add(
            rule,
            (first, second),
            conflict.bytes.clone(),
            lives,
            self.advice(earlier, later, reversed),
            Some((edge, clock)),
        );
    }

    fn outside(&mut self, (site, clock): Now<'_>, verb: &'static str, outside: Outside) {
        let reused = outside.newer.is_some();
        let (rule, other, does) = match outside.how {
            How::BeforeBirth(birth) => (OrderRule::UsedBeforeAllocation, birth, "allocates"),
            How::AfterDeath(death) => (OrderRule::UsedAfterFree, death, "frees"),
            How::DeathUnordered(death) if reused => (OrderRule::Reused, death, "frees"),
            How::DeathUnordered(death) => (OrderRule::FreedWithoutOrder, death, "frees"),
        };
        let first = AdvisedAccess {
            site: &other,
            verb: does,
        };
        let second = AdvisedAccess { site, verb };
        let (advice, edge) = match rule {
            OrderRule::UsedBeforeAllocation => {
                (self.advice(first, second, false), Some((first, second)))
            }
            OrderRule::UsedAfterFree => {
                let missing = format!("free the memory after {}", second.name());
                let advice = Advice {
                    lack: String::new(),
                    missing,
                    nearly: None,
                    reversed: false,
                };
                (advice, None)
            }
            _ => (self.advice(second, first, false), Some((second, first))),
        };
        let lives = (Some(outside.life), outside.newer);
        let edge = edge.map(|edge| (edge, clock));
        self.add(rule, (first, second), outside.bytes, lives, advice, edge);
    }

    fn advice(
        &self,
        earlier: AdvisedAccess<'_>,
        later: AdvisedAccess<'_>,
        reversed: bool,
    ) -> Advice {
        Advice {
            lack: advice::lack(earlier, later),
            missing: advice::order(earlier, later, &self.order.names),
            nearly: self.order.nearly(earlier.site, later.site),
            reversed,
        }
    }

    /// `edge` is the dependency that the advice recommends, with the clock of the second side.
    fn add(
        &mut self,
        rule: OrderRule,
        (first, second): (AdvisedAccess<'_>, AdvisedAccess<'_>),
        bytes: Range<u64>,
        (life, newer): (Option<Life>, Option<Life>),
        advice: Advice,
        edge: Option<((AdvisedAccess<'_>, AdvisedAccess<'_>), &Clock)>,
    ) {
        let kind = match rule {
            OrderRule::Race => Kind::Race,
            _ => Kind::Lifetime,
        };
        let allocation = life.map(Owner::from);
        let of = allocation
            .as_ref()
            .map_or(0, |owner| owner.description.place());
        let names = &self.order.names;
        let parties = [first, second].map(|access| Party::new(access, names));
        let [a, b] = parties.each_ref().map(Party::key);
        let key = format!("{rule:?}: {a}; {b}; {of:x}");
        let repaired = edge.and_then(|(edge, clock)| self.repair(edge, second, clock, kind, &key));
        let [first, second] = parties;
        self.findings.push(Finding {
            kind,
            rule,
            key,
            first,
            second,
            reversed: advice.reversed,
            bytes,
            allocation,
            newer: newer.map(Owner::from),
            lack: advice.lack,
            missing: advice.missing,
            nearly: advice.nearly,
            repaired,
        });
    }

    /// The earlier finding whose repair also repairs this one. Without one, remembers the edge that this one recommends. `clock` is the clock of
    /// `now`, which is one of its sides.
    fn repair(
        &mut self,
        (earlier, later): (AdvisedAccess<'_>, AdvisedAccess<'_>),
        now: AdvisedAccess<'_>,
        clock: &Clock,
        kind: Kind,
        key: &str,
    ) -> Option<Repaired> {
        // A kernel that overlaps the one before it in its stream needs more than an event.
        if earlier.site.place.is_before_in_stream(&later.site.place) {
            return None;
        }
        let clock = Arc::ptr_eq(later.site, now.site).then_some(clock);
        let site = later.site;
        let repaired = self.repairs.covering(earlier.site, Later { site, clock });
        if repaired.is_none() {
            let (earlier, later) = (Arc::clone(earlier.site), Arc::clone(later.site));
            self.repairs.add(earlier, later, kind, key.to_owned());
        }
        repaired
    }

    /// Drops history that has become useless, now and then: its cost is spread over the accesses that made it.
    fn tidy(&mut self) {
        if self.memory.growth() < self.room {
            return;
        }
        let everyone = self.order.known_to_all();
        self.memory.prune(&everyone, self.order.oldest_call());
        self.order.prune_values(&everyone);
        let history = self.memory.len().max(self.order.unended());
        let history = history.max(self.order.values.len());
        self.room = history.max(self.least_room);
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
