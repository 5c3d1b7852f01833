//! What operations, nodes of graphs, records and waits come after.

use std::sync::Arc;

use super::{HappensBefore, PendingOperation};
use crate::order::clock::Clock;
use crate::order::description::Description;
use crate::order::ids::{EventId, OperationId, StreamId, StreamKind, ThreadId};
use crate::order::known::Predecessors;
use crate::order::notes::{EventRecord, Note, remember};
use crate::order::site::{AccessSite, Site};

impl HappensBefore {
    /// A new operation of a stream. `None` for an unknown stream.
    pub(in crate::order) fn submitted(
        &mut self,
        thread: ThreadId,
        stream: StreamId,
        operation: OperationId,
        after: &[OperationId],
        description: Description,
    ) -> Option<()> {
        let called = self.call();
        self.arrive(thread, stream, |order, known| order.join_all(after, known))?;
        let own = self.streams.get_mut(&stream)?;
        own.operations += 1;
        own.kernel_before = own.kernel.take();
        let chain = match own.chain {
            Some(chain) => chain,
            None => self.chains.own(own.known.clock()),
        };
        own.chain = Some(chain);
        let epoch = self.chains.step(chain);
        own.known.step(epoch);
        let place = AccessSite::Stream {
            operation,
            stream,
            kind: own.kind,
            position: own.operations,
        };
        let known = own.known.clone();
        let thread = self.registered(thread);
        let site = Arc::new(Site::new(epoch, place, description, thread, called));
        self.operations
            .insert(operation, PendingOperation::new(site, known));
        self.depart(stream)
    }

    /// The clock of this operation, submitted just now, grows when it runs; so do the clocks of later operations.
    pub(in crate::order) fn learns(&mut self, operation: OperationId) -> Option<()> {
        let own = self.operations.get_mut(&operation)?;
        own.learns = true;
        if let AccessSite::Stream { stream, .. } = own.site.place {
            let epoch = own.site.epoch;
            let stream = self.streams.get_mut(&stream)?;
            stream.known.expect(epoch);
            let context = self.contexts.get_mut(&stream.context)?;
            context.all.expect(epoch);
            match stream.kind {
                StreamKind::Legacy => context.legacy.expect(epoch),
                StreamKind::Blocking => context.blocking.expect(epoch),
                StreamKind::NonBlocking => {}
            }
        }
        Some(())
    }

    /// The operation of a stream, submitted just now, is a kernel. A `programmatic` one may begin before the kernel before
    /// it has ended, if nothing lies between them.
    pub(in crate::order) fn launched(
        &mut self,
        thread: ThreadId,
        operation: OperationId,
        programmatic: bool,
    ) -> Option<()> {
        let own = self.operations.get(&operation)?;
        let stream = own.site.place.stream()?;
        let site = Arc::clone(&own.site);
        let state = self.streams.get_mut(&stream)?;
        state.kernel = Some(site);
        let before = state.kernel_before.take().filter(|_| programmatic)?;
        let mut known = self.thread(thread).known.clone();
        if let Some(implied) = self.implied(stream) {
            known.join(implied);
        }
        self.operations.get_mut(&operation)?.overlaps = Some((before, known));
        Some(())
    }

    /// A new node of a graph whose launch began with the operation `launch`.
    pub(in crate::order) fn submitted_node(
        &mut self,
        thread: ThreadId,
        launch: OperationId,
        operation: OperationId,
        after: &[OperationId],
        description: Description,
    ) {
        let called = self.call();
        let mut known = Predecessors::default();
        self.join_all(&[launch], &mut known);
        self.join_all(after, &mut known);
        let last = after.last().and_then(|last| self.operations.get(last));
        let last = last.map(|last| last.site.epoch);
        let chain = self.chains.share(known.clock(), last);
        let epoch = self.chains.step(chain);
        known.step(epoch);
        let stream = self.operations.get(&launch);
        let place = AccessSite::Node {
            operation,
            launch,
            stream: stream.and_then(|launch| launch.site.place.stream()),
        };
        let thread = self.registered(thread);
        let site = Arc::new(Site::new(epoch, place, description, thread, called));
        self.operations
            .insert(operation, PendingOperation::new(site, known));
    }

    /// The event's last record happens before the node.
    pub(in crate::order) fn node_waited(&mut self, node: OperationId, event: EventId) {
        let (node, event) = (self.operations.get_mut(&node), self.events.get(&event));
        if let (Some(node), Some(event)) = (node, event) {
            node.known.join(&event.known);
        }
    }

    pub(in crate::order) fn recorded(
        &mut self,
        event: EventId,
        stream: StreamId,
        operation: OperationId,
    ) {
        let called = self.call();
        let recorded = self.operations.get(&operation);
        let event_knows = match (recorded, self.streams.get(&stream)) {
            (Some(operation), _) => operation.knowledge(),
            (None, Some(stream)) => stream.known.clone(),
            (None, None) => return,
        };
        // The program does not know the streams that a graph's nodes run in.
        let stream = recorded
            .and_then(|operation| operation.site.place.stream())
            .unwrap_or(stream);
        let known = self.events.entry(event).or_default();
        known.known = event_knows;
        if !event.is_of_the_driver() {
            remember(&mut known.records, EventRecord { stream, called });
            if let Some(stream) = self.streams.get_mut(&stream) {
                remember(&mut stream.recorded, event);
            }
        }
    }

    /// The event's last record, if any, happens before all later operations of `stream`.
    pub(in crate::order) fn waited(&mut self, thread: ThreadId, stream: StreamId, event: EventId) {
        let called = self.call();
        let recorded = self.events.get(&event);
        let known = recorded.map(|event| event.known.clone());
        let record = recorded.and_then(|event| event.records.back().copied());
        if let Some(waiting) = self.streams.get_mut(&stream)
            && !event.is_of_the_driver()
        {
            let note = Note {
                event,
                record,
                called,
            };
            remember(&mut waiting.waited, note);
        }
        if let Some(event) = &known {
            self.arrive(thread, stream, |_, known| known.join(event))
                .and_then(|()| self.depart(stream));
            if let Some(waiting) = self.streams.get_mut(&stream) {
                waiting.kernel = None;
            }
        }
    }

    fn join_all(&self, operations: &[OperationId], known: &mut Predecessors) {
        for operation in operations {
            if let Some(operation) = self.operations.get(operation) {
                known.join(&operation.knowledge());
            }
        }
    }

    /// What the legacy stream's rules put before the next operation of the stream.
    fn implied(&self, stream: StreamId) -> Option<&Predecessors> {
        let stream = self.streams.get(&stream)?;
        let context = self.contexts.get(&stream.context)?;
        match stream.kind {
            StreamKind::Legacy => Some(&context.blocking),
            StreamKind::Blocking => Some(&context.legacy),
            StreamKind::NonBlocking => None,
        }
    }

    /// Brings the stream's clock to where something that is submitted now begins.
    fn arrive(
        &mut self,
        thread: ThreadId,
        stream: StreamId,
        more: impl FnOnce(&Self, &mut Predecessors),
    ) -> Option<()> {
        self.settle_thread(thread);
        let thread = self.registered(thread);
        let own = self.streams.get_mut(&stream)?;
        let (mut known, mut fed) = (std::mem::take(&mut own.known), std::mem::take(&mut own.fed));
        if fed.thread.0 != Some(thread) {
            fed.thread = (Some(thread), Clock::default());
        }
        known.follow(&self.thread(thread).known, &mut fed.thread.1);
        if let Some(implied) = self.implied(stream) {
            known.follow(implied, &mut fed.implied);
        }
        more(self, &mut known);
        known.settle(&self.learned);
        let own = self.streams.get_mut(&stream)?;
        (own.known, own.fed) = (known, fed);
        Some(())
    }

    /// Reports the submission to the stream's context.
    fn depart(&mut self, stream: StreamId) -> Option<()> {
        let own = self.streams.get_mut(&stream)?;
        let context = self.contexts.entry(own.context).or_default();
        let (known, fed) = (&own.known, &mut own.fed);
        let is_blocking = own.kind == StreamKind::Blocking;
        let (thread, snapshot) = &fed.thread;
        // The growth of a stream's clock is mostly the thread's clock, and the same for all streams.
        if let Some(thread) = thread {
            let [blocking, all] = context.fed.entry(*thread).or_default();
            context.all.learn_since(snapshot, [all]);
            all.clone_from(snapshot);
            if is_blocking {
                context.blocking.learn_since(snapshot, [blocking]);
                blocking.clone_from(snapshot);
            }
        }
        let before = [snapshot, &fed.by_context];
        context.all.join_since(known, before);
        match own.kind {
            StreamKind::Legacy => context.legacy = known.clone(),
            StreamKind::Blocking => context.blocking.join_since(known, before),
            StreamKind::NonBlocking => {}
        }
        fed.by_context = known.clock().clone();
        Some(())
    }
}
