//! Happens-before: what each operation, stream, event and host thread comes after.

mod submission;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use super::chains::Chains;
use super::clock::Clock;
use super::description::Description;
use super::ids::{ContextId, EventId, OperationId, StreamId, StreamKind, ThreadId};
use super::names::Names;
use super::notes::{Note, Record, remember};
use super::site::{Place, Site};

/// Everything that has a clock.
#[derive(Debug)]
pub(super) struct Order {
    chains: Chains,
    threads: BTreeMap<ThreadId, Thread>,
    contexts: BTreeMap<ContextId, Context>,
    streams: BTreeMap<StreamId, Stream>,
    pub(super) names: Names,
    pub(super) events: BTreeMap<EventId, Event>,
    operations: HashMap<OperationId, Operation>,
    /// How many calls there were that have a place in the program.
    calls: u64,
    host_accesses: u64,
}

#[derive(Debug)]
struct Thread {
    /// Begins with the thread's first access.
    chain: Option<usize>,
    clock: Clock,
    synchronised: VecDeque<Note>,
}

#[derive(Debug, Default)]
struct Context {
    /// The last operation of the legacy stream.
    legacy: Arc<Clock>,
    /// All operations of blocking streams, also of destroyed ones.
    blocking: Clock,
    /// All operations of all streams.
    all: Clock,
}

#[derive(Debug)]
struct Stream {
    context: ContextId,
    kind: StreamKind,
    chain: usize,
    clock: Arc<Clock>,
    operations: u64,
    waited: VecDeque<Note>,
}

/// What the event stands for.
#[derive(Debug, Default)]
pub(super) struct Event {
    clock: Arc<Clock>,
    /// The newest last.
    pub(super) records: VecDeque<Record>,
}

/// An operation that has not ended.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) site: Arc<Site>,
    pub(super) clock: Arc<Clock>,
    /// When it first touched memory, as a number that rises.
    pub(super) executed: Option<u64>,
}

impl Default for Order {
    fn default() -> Self {
        let unregistered = Thread::new(Clock::default());
        Self {
            chains: Chains::default(),
            threads: BTreeMap::from([(ThreadId::UNREGISTERED, unregistered)]),
            contexts: BTreeMap::new(),
            streams: BTreeMap::new(),
            names: Names::default(),
            events: BTreeMap::new(),
            operations: HashMap::new(),
            calls: 0,
            host_accesses: 0,
        }
    }
}

impl Order {
    pub(super) fn thread_started(&mut self, parent: ThreadId, thread: ThreadId) {
        if thread == ThreadId::UNREGISTERED {
            return;
        }
        let clock = self.thread(parent).clock.clone();
        if let Some(earlier) = self.threads.insert(thread, Thread::new(clock)) {
            self.release(earlier);
        }
    }

    pub(super) fn thread_joined(&mut self, parent: ThreadId, thread: ThreadId) {
        if thread == ThreadId::UNREGISTERED {
            return;
        }
        if let Some(ended) = self.threads.remove(&thread) {
            self.thread(parent).clock.join(&ended.clock);
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
        let clock = Arc::new(self.thread(thread).clock.clone());
        let created = Stream {
            context,
            kind,
            chain: self.chains.own(&clock),
            clock,
            operations: 0,
            waited: VecDeque::new(),
        };
        self.streams.insert(stream, created);
    }

    pub(super) fn stream_destroyed(&mut self, stream: StreamId) {
        if let Some(gone) = self.streams.remove(&stream) {
            self.chains.release(gone.chain);
            self.names.forget(stream);
        }
    }

    pub(super) fn ended(&mut self, operation: OperationId) {
        self.operations.remove(&operation);
    }

    pub(super) fn operation(&self, operation: OperationId) -> Option<&Operation> {
        self.operations.get(&operation)
    }

    pub(super) fn operation_mut(&mut self, operation: OperationId) -> Option<&mut Operation> {
        self.operations.get_mut(&operation)
    }

    pub(super) fn stream_synchronized(&mut self, thread: ThreadId, stream: StreamId) {
        let Some(stream) = self.streams.get(&stream) else {
            return;
        };
        let mut clock = Clock::clone(&stream.clock);
        if stream.kind == StreamKind::Legacy
            && let Some(context) = self.contexts.get(&stream.context)
        {
            clock.join(&context.blocking);
        }
        self.thread(thread).clock.join(&clock);
    }

    pub(super) fn event_synchronized(&mut self, thread: ThreadId, event: EventId) {
        let called = self.call();
        let recorded = self.events.get(&event);
        let clock = recorded.map(|event| Arc::clone(&event.clock));
        let record = recorded.and_then(|event| event.records.back().copied());
        let thread = self.thread(thread);
        if let Some(clock) = clock {
            thread.clock.join(&clock);
        }
        let note = Note {
            event,
            record,
            called,
        };
        remember(&mut thread.synchronised, note);
    }

    pub(super) fn context_synchronized(&mut self, thread: ThreadId, context: ContextId) {
        if let Some(context) = self.contexts.get(&context) {
            let all = context.all.clone();
            self.thread(thread).clock.join(&all);
        }
    }

    pub(super) fn operation_synchronized(&mut self, thread: ThreadId, operation: OperationId) {
        if let Some(operation) = self.operations.get(&operation) {
            let clock = Arc::clone(&operation.clock);
            self.thread(thread).clock.join(&clock);
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
        let known = self.thread(thread).clock.clone();
        let chain = match self.thread(thread).chain {
            Some(chain) => chain,
            None => self.chains.own(&known),
        };
        let epoch = self.chains.step(chain);
        let own = self.thread(thread);
        own.chain = Some(chain);
        own.clock.learn(epoch);
        let clock = own.clock.clone();
        let thread = self.registered(thread);
        let site = Site {
            epoch,
            place: Place::Host { thread, access },
            description,
            thread,
            called,
        };
        (Arc::new(site), clock)
    }

    /// Numbers a call of the program.
    pub(super) fn call(&mut self) -> u64 {
        self.calls += 1;
        self.calls
    }

    /// What no operation and no host access to come can be unordered with.
    pub(super) fn known_to_all(&self) -> Clock {
        let threads = self.threads.values().map(|thread| &thread.clock);
        let operations = self.operations.values().map(|operation| &*operation.clock);
        let mut clocks = threads.chain(operations);
        let mut known = clocks.next().cloned().unwrap_or_default();
        clocks.for_each(|clock| known.meet(clock));
        known
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
        let new = || Thread::new(Clock::default());
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
    fn new(clock: Clock) -> Self {
        Self {
            chain: None,
            clock,
            synchronised: VecDeque::new(),
        }
    }
}

impl Operation {
    fn new(site: Site, clock: Arc<Clock>) -> Self {
        Self {
            site: Arc::new(site),
            clock,
            executed: None,
        }
    }
}
