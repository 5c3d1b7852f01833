//! Happens-before: the operations that precede each operation, stream, event and host thread.
//!
//! Each live stream and each host thread has a chain of its own, which begins with its first operation or access. The nodes of
//! graphs share chains. `submission` builds the clock of an operation from its stream, from the host thread that submits it and
//! from its context's legacy stream. `execution` adds what becomes known only when the operation runs (see `known`).
//!
//! Invariants:
//!
//! - A clock only grows: joins take the later position of each chain.
//! - An event stands for its last record at the time of the call that waits for it, not for a record that follows.

mod execution;
mod submission;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use super::chains::Chains;
use super::clock::Clock;
use super::description::Description;
use super::ids::{
    ContextId, EventId, OperationId, StreamId, StreamKind, ThreadId, ValueId, WaitId,
};
use super::known::{Learned, Predecessors};
use super::names::Names;
use super::notes::{EventRecord, Note, remember};
use super::site::{AccessSite, Site};

/// Everything that has a clock.
#[derive(Debug)]
pub(super) struct HappensBefore {
    chains: Chains,
    threads: BTreeMap<ThreadId, Thread>,
    contexts: BTreeMap<ContextId, ContextClock>,
    streams: BTreeMap<StreamId, StreamClock>,
    pub(super) names: Names,
    pub(super) events: BTreeMap<EventId, EventClock>,
    operations: HashMap<OperationId, PendingOperation>,
    learned: Learned,
    /// The clocks that the threads waiting inside the driver will join.
    waits: BTreeMap<WaitId, Vec<(ThreadId, Predecessors)>>,
    /// The wait to which the calls of the checker belong now.
    wait: Option<WaitId>,
    /// What the writes of values that streams wait for come after.
    pub(super) values: BTreeMap<ValueId, Predecessors>,
    /// How many calls there were that have a place in the program.
    calls: u64,
    host_accesses: u64,
}

#[derive(Debug)]
struct Thread {
    /// Begins with the thread's first access.
    chain: Option<usize>,
    known: Predecessors,
    synchronised: VecDeque<Note>,
}

#[derive(Debug, Default)]
struct ContextClock {
    /// The last operation of the legacy stream.
    legacy: Predecessors,
    /// All operations of blocking streams, also of destroyed ones.
    blocking: Predecessors,
    /// All operations of all streams.
    all: Predecessors,
    /// The clocks of threads that `blocking` and `all` have joined.
    fed: BTreeMap<ThreadId, [Clock; 2]>,
}

#[derive(Debug)]
struct StreamClock {
    context: ContextId,
    kind: StreamKind,
    /// Begins with the first operation.
    chain: Option<usize>,
    known: Predecessors,
    operations: u64,
    waited: VecDeque<Note>,
    /// The events that were recorded here, the newest last.
    recorded: VecDeque<EventId>,
    /// The last operation, if it is a kernel and nothing was given to the stream since.
    kernel: Option<Arc<Site>>,
    /// The same of the operation before.
    kernel_before: Option<Arc<Site>>,
    fed: Fed,
}

/// What a stream has taken over of what grows, and what its context has taken over of the stream.
#[derive(Debug, Default)]
struct Fed {
    thread: (Option<ThreadId>, Clock),
    implied: Clock,
    by_context: Clock,
}

/// What the event stands for.
#[derive(Debug, Default)]
pub(super) struct EventClock {
    known: Predecessors,
    /// The newest last.
    pub(super) records: VecDeque<EventRecord>,
}

/// An operation that has not ended.
#[derive(Clone, Debug)]
pub(super) struct PendingOperation {
    pub(super) site: Arc<Site>,
    pub(super) known: Predecessors,
    /// Its clock grows when it runs.
    learns: bool,
    /// It may begin before this kernel has ended, but not before the other things that it comes after.
    overlaps: Option<(Arc<Site>, Predecessors)>,
    /// When it first touched memory, as a number that rises.
    pub(super) executed: Option<u64>,
}

impl Default for HappensBefore {
    fn default() -> Self {
        let unregistered = Thread::new(Predecessors::default());
        Self {
            chains: Chains::default(),
            threads: BTreeMap::from([(ThreadId::UNREGISTERED, unregistered)]),
            contexts: BTreeMap::new(),
            streams: BTreeMap::new(),
            names: Names::default(),
            events: BTreeMap::new(),
            operations: HashMap::new(),
            learned: Learned::default(),
            waits: BTreeMap::new(),
            wait: None,
            values: BTreeMap::new(),
            calls: 0,
            host_accesses: 0,
        }
    }
}

impl HappensBefore {
    pub(super) fn thread_started(&mut self, parent: ThreadId, thread: ThreadId) {
        if thread == ThreadId::UNREGISTERED {
            return;
        }
        let known = self.thread(parent).known.clone();
        if let Some(earlier) = self.threads.insert(thread, Thread::new(known)) {
            self.release(earlier);
        }
    }

    pub(super) fn thread_joined(&mut self, parent: ThreadId, thread: ThreadId) {
        if thread == ThreadId::UNREGISTERED {
            return;
        }
        if let Some(ended) = self.threads.remove(&thread) {
            self.thread(parent).known.join(&ended.known);
            self.release(ended);
        }
    }

    pub(super) fn context_destroyed(&mut self, context: ContextId) {
        self.contexts.remove(&context);
        let streams = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.context == context);
        let streams: Vec<StreamId> = streams.map(|(id, _)| *id).collect();
        streams
            .into_iter()
            .for_each(|stream| self.stream_destroyed(stream));
    }

    pub(super) fn stream_created(
        &mut self,
        thread: ThreadId,
        stream: StreamId,
        context: ContextId,
        kind: StreamKind,
    ) {
        self.stream_destroyed(stream);
        if kind == StreamKind::Legacy {
            self.names.legacy(stream);
        }
        let created = StreamClock {
            context,
            kind,
            chain: None,
            known: self.thread(thread).known.clone(),
            operations: 0,
            waited: VecDeque::new(),
            recorded: VecDeque::new(),
            kernel: None,
            kernel_before: None,
            fed: Fed::default(),
        };
        self.streams.insert(stream, created);
    }

    pub(super) fn stream_destroyed(&mut self, stream: StreamId) {
        if let Some(gone) = self.streams.remove(&stream) {
            if let Some(chain) = gone.chain {
                self.chains.release(chain);
            }
            self.names.forget(stream);
        }
    }

    pub(super) fn ended(&mut self, operation: OperationId) {
        self.lands(operation);
        self.operations.remove(&operation);
    }

    pub(super) fn operation(&self, operation: OperationId) -> Option<&PendingOperation> {
        self.operations.get(&operation)
    }

    pub(super) fn stream_synchronized(&mut self, thread: ThreadId, stream: StreamId) {
        let Some(stream) = self.streams.get(&stream) else {
            return;
        };
        let mut known = stream.known.clone();
        if stream.kind == StreamKind::Legacy
            && let Some(context) = self.contexts.get(&stream.context)
        {
            known.join(&context.blocking);
        }
        self.goes_on_after(thread, known);
    }

    /// From now on, synchronisations of threads belong to that wait; `None` ends it.
    pub(super) fn waits_in(&mut self, wait: Option<WaitId>) {
        self.wait = wait;
    }

    /// The wait has ended.
    pub(super) fn returned(&mut self, wait: WaitId) {
        for (thread, known) in self.waits.remove(&wait).unwrap_or_default() {
            self.thread(thread).known.join(&known);
        }
    }

    fn goes_on_after(&mut self, thread: ThreadId, known: Predecessors) {
        match self.wait {
            Some(wait) => self.waits.entry(wait).or_default().push((thread, known)),
            None => self.thread(thread).known.join(&known),
        }
    }

    pub(super) fn event_synchronized(&mut self, thread: ThreadId, event: EventId) {
        let called = self.call();
        let recorded = self.events.get(&event);
        let known = recorded.map(|event| event.known.clone());
        let record = recorded.and_then(|event| event.records.back().copied());
        if let Some(known) = known {
            self.goes_on_after(thread, known);
        }
        let note = Note {
            event,
            record,
            called,
        };
        remember(&mut self.thread(thread).synchronised, note);
    }

    pub(super) fn context_synchronized(&mut self, thread: ThreadId, context: ContextId) {
        if let Some(context) = self.contexts.get_mut(&context) {
            // Once, and not again by each thread that waits.
            context.all.settle(&self.learned);
            let all = context.all.clone();
            self.goes_on_after(thread, all);
        }
    }

    pub(super) fn operation_synchronized(&mut self, thread: ThreadId, operation: OperationId) {
        if let Some(operation) = self.operations.get(&operation) {
            let known = operation.knowledge();
            self.goes_on_after(thread, known);
        }
    }

    /// An access of the host: a step of its thread.
    pub(super) fn host_access(
        &mut self,
        thread: ThreadId,
        description: Description,
    ) -> (Arc<Site>, Clock) {
        let called = self.call();
        self.host_accesses += 1;
        let access = self.host_accesses;
        self.settle_thread(thread);
        let known = self.thread(thread).known.clock().clone();
        let chain = match self.thread(thread).chain {
            Some(chain) => chain,
            None => self.chains.own(&known),
        };
        let epoch = self.chains.step(chain);
        let own = self.thread(thread);
        own.chain = Some(chain);
        own.known.step(epoch);
        let clock = own.known.clock().clone();
        let thread = self.registered(thread);
        let place = AccessSite::Host { thread, access };
        let site = Site::new(epoch, place, description, thread, called);
        site.runs_after(&clock);
        (Arc::new(site), clock)
    }

    /// Numbers a call of the program.
    pub(super) fn call(&mut self) -> u64 {
        self.calls += 1;
        self.calls
    }

    /// What no operation and no host access to come can be unordered with.
    pub(super) fn known_to_all(&mut self) -> Clock {
        self.settle_all();
        let threads = self.threads.values().map(|thread| thread.known.clock());
        let operations = self.operations.values().flat_map(|operation| {
            let early = operation.overlaps.as_ref();
            // The clock of a kernel that may begin early excludes the operations that it overlaps.
            [
                Some(operation.known.clock()),
                early.map(|(_, known)| known.clock()),
            ]
        });
        let mut clocks = threads.chain(operations.flatten());
        let mut known = clocks.next().cloned().unwrap_or_default();
        clocks.for_each(|clock| known.meet(clock));
        known
    }

    /// All clocks join what has become known.
    fn settle_all(&mut self) {
        if self.learned.is_empty() {
            return;
        }
        let learned = &self.learned;
        let threads = self.threads.values_mut().map(|thread| &mut thread.known);
        let streams = self.streams.values_mut().map(|stream| &mut stream.known);
        let events = self.events.values_mut().map(|event| &mut event.known);
        let contexts = self.contexts.values_mut();
        let contexts = contexts
            .flat_map(|context| [&mut context.legacy, &mut context.blocking, &mut context.all]);
        let operations = self.operations.values_mut().flat_map(|operation| {
            let early = operation.overlaps.as_mut().map(|(_, known)| known);
            [Some(&mut operation.known), early]
        });
        let waits = self.waits.values_mut().flatten().map(|(_, known)| known);
        threads
            .chain(waits)
            .chain(streams)
            .chain(events)
            .chain(contexts)
            .chain(operations.flatten())
            .for_each(|known| known.settle(learned));
        self.learned.forget();
    }

    /// The thread joins the clocks that have become known.
    pub(super) fn settle_thread(&mut self, thread: ThreadId) {
        let thread = self.registered(thread);
        if let Some(own) = self.threads.get_mut(&thread) {
            own.known.settle(&self.learned);
        }
    }

    /// The earliest call whose operation has not ended, or the next one.
    pub(super) fn oldest_call(&self) -> u64 {
        let called = self
            .operations
            .values()
            .map(|operation| operation.site.called);
        called.min().unwrap_or(self.calls + 1)
    }

    pub(super) fn stream_waits(&self, stream: StreamId) -> Option<&VecDeque<Note>> {
        self.streams.get(&stream).map(|stream| &stream.waited)
    }

    /// How many operations have not ended.
    pub(super) fn unended(&self) -> usize {
        self.operations.len()
    }

    /// The events that were recorded in the stream lately.
    pub(super) fn recorded_in(&self, stream: StreamId) -> impl Iterator<Item = EventId> + '_ {
        let stream = self.streams.get(&stream);
        stream
            .into_iter()
            .flat_map(|stream| stream.recorded.iter().copied())
    }

    pub(super) fn thread_waits(&self, thread: ThreadId) -> Option<&VecDeque<Note>> {
        self.threads.get(&thread).map(|thread| &thread.synchronised)
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize) {
        (self.chains.len(), self.operations.len())
    }

    fn release(&mut self, thread: Thread) {
        if let Some(chain) = thread.chain {
            self.chains.release(chain);
        }
    }

    /// The thread, or the one that stands for all unregistered ones.
    fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        let thread = self.registered(thread);
        let new = || Thread::new(Predecessors::default());
        self.threads.entry(thread).or_insert_with(new)
    }

    /// The thread's name, or the one that stands for all unregistered ones.
    fn registered(&self, thread: ThreadId) -> ThreadId {
        let known = self.threads.contains_key(&thread);
        if known {
            thread
        } else {
            ThreadId::UNREGISTERED
        }
    }
}

impl Thread {
    fn new(known: Predecessors) -> Self {
        Self {
            chain: None,
            known,
            synchronised: VecDeque::new(),
        }
    }
}

impl PendingOperation {
    fn new(site: Arc<Site>, known: Predecessors) -> Self {
        Self {
            site,
            known,
            learns: false,
            overlaps: None,
            executed: None,
        }
    }

    /// Later operations of the stream include it in their clocks.
    fn knowledge(&self) -> Predecessors {
        let mut known = self.known.clone();
        if self.learns {
            known.expect(self.site.epoch);
        }
        known
    }
}
