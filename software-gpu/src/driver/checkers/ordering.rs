//! Tells the ordering checker what the program does, and turns its findings into reports.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::activity::{self, Kind};
use crate::call_site::CallSite;
use crate::driver::c_abi::handles::{Handle, Table};
use crate::driver::c_abi::types::{CUcontext, CUevent, CUgraphExec, CUstream};
use crate::driver::devices::context::Context;
use crate::driver::host::call::Call;
use crate::driver::host::threads::{Ordinal, ThreadSerial, current};
use crate::driver::launch::kernel::Launch;
use crate::driver::simulation::operation::{Effect, Operation};
use crate::driver::simulation::simulator::{Simulator, lock};
use crate::driver::streams::event::Event;
use crate::driver::streams::stream::Stream;
use crate::exec::Observed;
use crate::memory::Accesses;
use crate::order::{
    Checker, ContextId, Description, EventId, Finding, HostAccess, HostClock, Locate,
    OperationEpoch, OperationId, StreamId, StreamKind, ThreadId, ValueId, WaitId,
};
use crate::reports::{self, ReportMode, Words};
use crate::timeline::OpId;

/// The checker, if it is on.
#[derive(Debug, Default)]
pub(in crate::driver) struct Ordering {
    checker: Option<Checker>,
    /// A host thread has waited for something since [`host_clock`](Ordering::host_clock).
    has_waited: bool,
    /// The threads that wait: what they wait for, they come after when they have [`returned`](Ordering::returned).
    waiting: BTreeSet<ThreadSerial>,
}

impl Ordering {
    /// On, unless the [`ReportMode`] is off.
    pub(in crate::driver) fn new() -> Self {
        Self {
            checker: (reports::mode() != ReportMode::Off).then(Checker::new),
            has_waited: true,
            waiting: BTreeSet::new(),
        }
    }

    pub(in crate::driver) fn is_on(&self) -> bool {
        self.checker.is_some()
    }

    /// Tells the checker something, and passes its findings on.
    pub(in crate::driver) fn tell<R>(
        &mut self,
        something: impl FnOnce(&mut Checker) -> R,
    ) -> Option<R> {
        let checker = self.checker.as_mut()?;
        let result = something(checker);
        report(checker);
        Some(result)
    }

    pub(in crate::driver) fn context_created(&mut self, context: CUcontext, legacy: CUstream) {
        self.tell(|checker| checker.context_created(thread(), context.into(), legacy.into()));
    }

    pub(in crate::driver) fn context_destroyed(&mut self, context: CUcontext) {
        self.tell(|checker| checker.context_destroyed(context.into()));
    }

    pub(in crate::driver) fn stream_created(
        &mut self,
        stream: CUstream,
        context: CUcontext,
        non_blocking: bool,
    ) {
        let kind = if non_blocking {
            StreamKind::NonBlocking
        } else {
            StreamKind::Blocking
        };
        self.tell(|checker| checker.stream_created(thread(), stream.into(), context.into(), kind));
    }

    pub(in crate::driver) fn stream_named(&mut self, stream: CUstream, name: &str) {
        self.tell(|checker| checker.stream_named(stream.into(), name));
    }

    /// The stream's name in reports.
    pub(in crate::driver) fn name_of(&self, stream: CUstream) -> String {
        let stream = StreamId::from(stream);
        let name = self.checker.as_ref().map(|checker| checker.name_of(stream));
        name.unwrap_or_else(|| stream.to_string())
    }

    /// The line of the program that made the allocation at this address.
    pub(in crate::driver) fn line_of_allocation(&self, address: u64) -> Option<String> {
        self.checker.as_ref()?.line_of_allocation(address)
    }

    pub(in crate::driver) fn stream_destroyed(&mut self, stream: CUstream) {
        self.tell(|checker| checker.stream_destroyed(stream.into()));
    }

    /// An operation was submitted to its stream. A wait is not an operation: see [`waited`](Self::waited).
    ///
    /// The stream and events define what the operation waits for. There are two exceptions: the driver makes an allocation
    /// wait for the free whose memory it gets, and the end of a graph's launch waits for its last nodes.
    pub(in crate::driver) fn submitted(&mut self, op: OpId, operation: &Operation, after: &[OpId]) {
        if matches!(operation.effect, Effect::Wait) {
            return;
        }
        let after = match operation.effect {
            Effect::Mark | Effect::Upload | Effect::Allocate(_) => after,
            _ => &[],
        };
        self.tell(|checker| {
            let after: Vec<_> = after.iter().copied().map(OperationId::from).collect();
            let (stream, description) = (operation.stream.into(), operation.description());
            checker.submitted(thread(), stream, op.into(), &after, description);
            if let Effect::Kernel(launch) = &operation.effect {
                checker.launched(thread(), op.into(), launch.programmatic);
            }
            tell_more(checker, op, operation);
        });
    }

    /// A node of a graph was submitted.
    pub(in crate::driver) fn submitted_node(
        &mut self,
        launch: OpId,
        op: OpId,
        operation: &Operation,
        after: &[OpId],
    ) {
        self.tell(|checker| {
            let after: Vec<_> = after.iter().copied().map(OperationId::from).collect();
            let description = operation.description();
            checker.submitted_node(thread(), launch.into(), op.into(), &after, description);
            tell_more(checker, op, operation);
        });
    }

    /// The node, submitted just now, waits for what the event stands for.
    pub(in crate::driver) fn node_waited(&mut self, node: OpId, event: CUevent) {
        self.tell(|checker| checker.node_waited(node.into(), event.into()));
    }

    /// A launch of an executable graph is about to be submitted: it happens after the previous launch, whichever stream that was in, even if that has
    /// completed.
    pub(in crate::driver) fn launch_begins(&mut self, exec: CUgraphExec, stream: CUstream) {
        self.tell(|checker| checker.waited(thread(), stream.into(), exec.into()));
    }

    /// A launch of an executable graph was submitted; `end` is its last operation.
    pub(in crate::driver) fn launch_submitted(
        &mut self,
        exec: CUgraphExec,
        stream: CUstream,
        end: OpId,
    ) {
        self.tell(|checker| checker.recorded(exec.into(), stream.into(), end.into()));
    }

    pub(in crate::driver) fn executable_destroyed(&mut self, exec: CUgraphExec) {
        self.tell(|checker| checker.event_destroyed(exec.into()));
    }

    /// A copy or memset touches its bytes when it starts, as does the write of a value. What a kernel touches is known once
    /// it has been executed.
    pub(in crate::driver) fn started(&mut self, op: OpId, effect: &Effect) {
        if !self.is_on() {
            return;
        }
        let accesses = match effect {
            Effect::Copy(copy) => copy.accesses(),
            Effect::Set(set) => set.accesses(),
            Effect::WriteValue(value) => Accesses {
                atomics: value.range().into(),
                ..Accesses::default()
            },
            Effect::Free(_) => {
                self.tell(|checker| checker.began(op.into()));
                return;
            }
            _ => return,
        };
        self.accessed(op, &accesses);
    }

    /// What the kernel touched when it was executed.
    pub(in crate::driver) fn executed(&mut self, op: OpId, launch: &Launch, observed: &Observed) {
        let (accesses, op) = (&observed.accesses, op.into());
        self.tell(|checker| match &observed.dependent {
            Some(dependent) => {
                checker.accessed_early(op, &dependent.early, dependent.waits);
                checker.accessed(op, accesses);
            }
            None if launch.programmatic => checker.accessed_early(op, accesses, false),
            None => checker.accessed(op, accesses),
        });
    }

    pub(in crate::driver) fn host_function_began(&mut self, op: OpId) {
        self.tell(|checker| checker.host_function_began(op.into()));
    }

    pub(in crate::driver) fn host_function_returned(&mut self, op: OpId) {
        self.has_waited = true;
        self.tell(|checker| checker.host_function_returned(op.into()));
    }

    /// Streams wait for the value in this range: what is there counts as `write`.
    pub(in crate::driver) fn value_watched(&mut self, write: ValueId, range: Range<u64>) {
        self.tell(|checker| checker.value_watched(write, range));
    }

    /// The operation has written the value, or the host has.
    pub(in crate::driver) fn value_written(&mut self, write: ValueId, op: Option<OpId>) {
        self.tell(|checker| checker.value_written(write, op.map(OperationId::from)));
    }

    /// The write has gone on with what `earlier` wrote.
    pub(in crate::driver) fn value_continued(&mut self, write: ValueId, earlier: ValueId) {
        self.tell(|checker| checker.value_continued(write, earlier));
    }

    /// Whether everything to come comes after this write of a value.
    pub(in crate::driver) fn is_known_to_all(&self, write: ValueId) -> bool {
        let checker = self.checker.as_ref();
        checker.is_none_or(|checker| checker.is_known_to_all(write))
    }

    pub(in crate::driver) fn value_forgotten(&mut self, write: ValueId) {
        self.tell(|checker| checker.value_forgotten(write));
    }

    /// The wait for a value has ended, after this write of it.
    pub(in crate::driver) fn value_found(
        &mut self,
        wait: OpId,
        range: Range<u64>,
        write: Option<ValueId>,
    ) {
        self.tell(|checker| checker.value_found(wait.into(), range, write));
    }

    /// The operation's place in happens-before, if the checker is on.
    pub(in crate::driver) fn step_of(&self, op: OpId) -> Option<OperationEpoch> {
        self.checker.as_ref()?.step_of(op.into())
    }

    /// What the host comes after, if the checker is on and a host thread has waited since the last time.
    pub(in crate::driver) fn host_clock(&mut self) -> Option<HostClock> {
        if !std::mem::take(&mut self.has_waited) {
            return None;
        }
        self.checker.as_mut().map(Checker::host_clock)
    }

    /// What the code of a host function comes after, if the checker is on.
    pub(in crate::driver) fn clock_of(&self, op: OpId) -> Option<HostClock> {
        Some(self.checker.as_ref()?.clock_of(op.into()))
    }

    pub(in crate::driver) fn recorded(&mut self, event: CUevent, stream: CUstream, op: OpId) {
        self.tell(|checker| checker.recorded(event.into(), stream.into(), op.into()));
    }

    pub(in crate::driver) fn event_destroyed(&mut self, event: CUevent) {
        self.tell(|checker| checker.event_destroyed(event.into()));
    }

    /// A wait for an event that was never recorded has no effect. That alone is not reported: loops begin like this. The
    /// report of a race that follows from it mentions it.
    pub(in crate::driver) fn waited(&mut self, stream: CUstream, event: CUevent) {
        self.tell(|checker| checker.waited(thread(), stream.into(), event.into()));
    }

    pub(in crate::driver) fn stream_synchronized(&mut self, stream: CUstream) {
        self.waits(|checker| checker.stream_synchronized(thread(), stream.into()));
    }

    /// The call may still wait for this synchronisation: see [`returned`](Self::returned).
    fn waits(&mut self, something: impl FnOnce(&mut Checker)) {
        self.waiting.insert(current::serial());
        self.tell(|checker| checker.waits(WaitId(current::serial()), something));
    }

    /// The calling thread has completed its waits.
    pub(in crate::driver) fn returned(&mut self) {
        self.has_waited |= self.waiting.remove(&current::serial());
        self.tell(|checker| checker.returned(WaitId(current::serial())));
    }

    pub(in crate::driver) fn event_synchronized(&mut self, event: CUevent) {
        self.waits(|checker| checker.event_synchronized(thread(), event.into()));
    }

    pub(in crate::driver) fn context_synchronized(&mut self, context: CUcontext) {
        self.waits(|checker| checker.context_synchronized(thread(), context.into()));
    }

    pub(in crate::driver) fn operation_synchronized(&mut self, op: OpId) {
        self.waits(|checker| checker.operation_synchronized(thread(), op.into()));
    }

    pub(in crate::driver) fn accessed(&mut self, op: OpId, accesses: &Accesses) {
        self.tell(|checker| checker.accessed(op.into(), accesses));
    }

    pub(in crate::driver) fn ended(&mut self, op: OpId) {
        self.tell(|checker| checker.ended(op.into()));
    }

    /// Memory exists from now on.
    pub(in crate::driver) fn allocated(&mut self, start: u64, bytes: usize, what: &'static str) {
        let range = start..start + bytes as u64;
        self.tell(|checker| checker.allocated(range, Description::new(what).at(CallSite::here())));
    }

    /// Memory was freed, after everything that could use it.
    pub(in crate::driver) fn freed(&mut self, start: u64, bytes: usize) {
        self.tell(|checker| checker.freed(start..start + bytes as u64));
    }

    /// The host frees memory of a pool and waits for nothing.
    pub(in crate::driver) fn freed_by_host(&mut self, start: u64, bytes: usize) {
        self.tell(|checker| {
            let free = Description::new(format!("cuMemFree of {bytes} bytes"));
            let free = free.at(CallSite::here());
            checker.pool_freed_by_host(thread(), start, free);
        });
    }

    pub(in crate::driver) fn threads_started(
        &mut self,
        parent: Option<Ordinal>,
        threads: &[Ordinal],
    ) {
        for started in threads {
            self.tell(|checker| {
                checker.thread_started(parent.map(registered), registered(*started))
            });
        }
    }

    pub(in crate::driver) fn thread_joined(&mut self, parent: Option<Ordinal>, ended: Ordinal) {
        self.has_waited = true;
        self.tell(|checker| checker.thread_joined(parent.map(registered), registered(ended)));
    }
}

/// Passes on what the checker has found.
fn report(checker: &mut Checker) {
    for finding in checker.take_findings() {
        let operations = finding.operations().map(|id| activity::correlation(id.0));
        let repaired = finding.repaired.as_ref();
        let told = reports::ReportedFinding {
            kind: finding.kind,
            key: finding.key.clone(),
            operations: operations.collect(),
            repaired_by: repaired.map(|by| (by.kind, by.key.clone())),
        };
        reports::add_finding(told, &finding);
    }
}

impl Words for Finding {
    fn mistake(&self) -> String {
        self.mistake()
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn also(&self) -> String {
        self.pair()
    }
}

/// Reports to the checker what depends on the kind of operation.
fn tell_more(checker: &mut Checker, op: OpId, operation: &Operation) {
    match &operation.effect {
        Effect::HostFunction(_) | Effect::WaitValue(_) => checker.learns(op.into()),
        Effect::Allocate(memory) => {
            let range = memory.address..memory.address + memory.bytes as u64;
            checker.pool_allocated(op.into(), range, operation.description());
        }
        Effect::Free(memory) => checker.pool_freed(op.into(), memory.address),
        _ => {}
    }
}

/// The program gives a stream a name.
pub(crate) fn name_stream(handle: usize, name: &str) {
    let mut simulator = lock();
    let stream = match CUstream::from_number(handle) {
        CUstream::PER_THREAD => {
            let context = current::with_contexts(|contexts| contexts.last().copied());
            let context = context.and_then(|context| simulator.contexts.get(context).ok());
            context.and_then(|context| context.per_thread.get(&current::serial()).copied())
        }
        stream => simulator.streams.get(stream).is_ok().then_some(stream),
    };
    if let Some(stream) = stream {
        simulator.ordering.stream_named(stream, name);
    }
}

/// The program says that its own code reads or writes memory.
pub(crate) fn host_accessed(access: HostAccess, start: u64, bytes: usize, caller: Arc<dyn Locate>) {
    let range = start..start.saturating_add(bytes as u64);
    let declared = range.clone();
    by_host(
        |checker, function| checker.accessed(function, &accesses(access, range.clone())),
        |checker, thread| {
            let what = match access {
                HostAccess::Read => "read",
                HostAccess::Write => "write",
            };
            let description = Description::new(what).at(caller);
            checker.host_accessed(thread, access, range.clone(), description);
        },
    );
    lock().host_accesses.declared(declared);
}

/// The program says that its own code has seen what is in memory now.
pub(crate) fn host_acquired(start: u64, bytes: usize) {
    let range = start..start.saturating_add(bytes as u64);
    by_host(
        |checker, function| checker.acquired_by(function, range.clone()),
        |checker, thread| checker.acquired(thread, range.clone()),
    );
}

/// Reports to the checker what the calling code does, which is a host function's or a thread's own.
fn by_host(
    of_function: impl FnOnce(&mut Checker, OperationId),
    of_thread: impl FnOnce(&mut Checker, ThreadId),
) {
    if current::in_host_function() {
        let mut simulator = lock();
        if let Some(function) = simulator.host_function {
            let tell = |checker: &mut Checker| of_function(checker, function.into());
            simulator.ordering.tell(tell);
        }
        return;
    }
    let is_on = lock().ordering.is_on();
    // At a standstill, which has been reported, nothing can be ordered.
    if let (true, Ok(mut call)) = (is_on, Call::begin()) {
        call.ordering.tell(|checker| of_thread(checker, thread()));
        call.ordering.has_waited = true;
        call.end();
    }
}

/// What code of the host accesses.
pub(in crate::driver) fn accesses(access: HostAccess, range: Range<u64>) -> Accesses {
    let mut accesses = Accesses::default();
    match access {
        HostAccess::Read => accesses.reads = range.into(),
        HostAccess::Write => accesses.writes = range.into(),
    }
    accesses
}

/// The calling thread.
pub(in crate::driver) fn calling_thread() -> ThreadId {
    thread()
}

/// The calling thread.
fn thread() -> ThreadId {
    current::ordinal().map_or(ThreadId::UNREGISTERED, registered)
}

fn registered(ordinal: Ordinal) -> ThreadId {
    ThreadId(ordinal + 1)
}

impl Operation {
    /// Its name in reports.
    pub(in crate::driver) fn description(&self) -> Description {
        let what = match &self.effect {
            Effect::Kernel(launch) => format!("kernel `{}`", launch.name()),
            Effect::Copy(copy) => format!(
                "copy of {} bytes from {}",
                copy.bytes(),
                Kind::from(copy.kind)
            ),
            Effect::Set(set) => format!("memset of {} bytes", set.rows.bytes().unwrap_or(0)),
            Effect::HostFunction(_) => "host function".to_owned(),
            Effect::Record(_) => "event record".to_owned(),
            Effect::Wait => "wait".to_owned(),
            Effect::WaitValue(wait) => format!("wait for a value at {:#x}", wait.value.address),
            Effect::WriteValue(value) => format!("write of a value at {:#x}", value.address),
            Effect::Mark | Effect::Upload => "launch of a graph".to_owned(),
            Effect::Prefetch(prefetch) => format!("prefetch of {} bytes", prefetch.bytes),
            Effect::Attach => "attachment of managed memory".to_owned(),
            Effect::Allocate(memory) => format!("allocation of {} bytes", memory.bytes),
            Effect::Free(memory) => format!("free of {} bytes", memory.bytes),
        };
        let description = Description::new(what);
        match self.call_site.clone() {
            Some(site) => description.at(site),
            None => description,
        }
    }
}

impl From<CUstream> for StreamId {
    fn from(stream: CUstream) -> Self {
        Self(Table::<CUstream, Stream>::serial(stream))
    }
}

impl From<CUevent> for EventId {
    fn from(event: CUevent) -> Self {
        Self(Table::<CUevent, Event>::serial(event))
    }
}

/// The event that orders the launches of one executable graph.
impl From<CUgraphExec> for EventId {
    fn from(exec: CUgraphExec) -> Self {
        Self::of_the_driver(Table::<CUgraphExec, ()>::serial(exec))
    }
}

impl From<CUcontext> for ContextId {
    fn from(context: CUcontext) -> Self {
        Self(Table::<CUcontext, Context>::serial(context))
    }
}

impl Simulator {
    /// The call site of the present call, if reports need it.
    pub(in crate::driver) fn call_site(&self) -> Option<Arc<CallSite>> {
        self.ordering.is_on().then(CallSite::here)
    }
}
