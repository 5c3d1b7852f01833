//! What operations, nodes of graphs, records and waits come after.

use std::sync::Arc;

use super::{Operation, Order};
use crate::order::clock::Clock;
use crate::order::description::Description;
use crate::order::ids::{EventId, OperationId, StreamId, StreamKind, ThreadId};
use crate::order::notes::{Note, Record, remember};
use crate::order::site::{Place, Site};

impl Order {
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
        self.arrive(thread, stream, |order, clock| order.join_all(after, clock))?;
        let own = self.streams.get_mut(&stream)?;
        own.operations += 1;
        let epoch = self.chains.step(own.chain);
        Arc::make_mut(&mut own.clock).learn(epoch);
        let place = Place::Stream {
            operation,
            stream,
            kind: own.kind,
            position: own.operations,
        };
        let clock = Arc::clone(&own.clock);
        let site = Site {
            epoch,
            place,
            description,
            thread: self.registered(thread),
            called,
        };
        self.operations
            .insert(operation, Operation::new(site, clock));
        self.depart(stream)
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
        let mut clock = Clock::default();
        self.join_all(&[launch], &mut clock);
        self.join_all(after, &mut clock);
        let chain = self.chains.find(&clock);
        let epoch = self.chains.step(chain);
        clock.learn(epoch);
        let stream = self.operations.get(&launch);
        let place = Place::Node {
            operation,
            launch,
            stream: stream.and_then(|launch| launch.site.place.stream()),
        };
        let site = Site {
            epoch,
            place,
            description,
            thread: self.registered(thread),
            called,
        };
        self.operations
            .insert(operation, Operation::new(site, Arc::new(clock)));
    }

    /// The node comes after what the event stands for.
    pub(in crate::order) fn node_waited(&mut self, node: OperationId, event: EventId) {
        let (node, event) = (self.operations.get_mut(&node), self.events.get(&event));
        if let (Some(node), Some(event)) = (node, event) {
            Arc::make_mut(&mut node.clock).join(&event.clock);
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
        let clock = match (recorded, self.streams.get(&stream)) {
            (Some(operation), _) => Arc::clone(&operation.clock),
            (None, Some(stream)) => Arc::clone(&stream.clock),
            (None, None) => return,
        };
        // The program does not know the streams that a graph's nodes run in.
        let stream = recorded
            .and_then(|operation| operation.site.place.stream())
            .unwrap_or(stream);
        let known = self.events.entry(event).or_default();
        known.clock = clock;
        if !event.is_of_the_driver() {
            remember(&mut known.records, Record { stream, called });
        }
    }

    /// What `stream` gets from now on comes after what the event stands for: nothing, if it was never recorded.
    pub(in crate::order) fn waited(&mut self, thread: ThreadId, stream: StreamId, event: EventId) {
        let called = self.call();
        let recorded = self.events.get(&event);
        let clock = recorded.map(|event| Arc::clone(&event.clock));
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
        if let Some(event) = &clock {
            self.arrive(thread, stream, |_, clock| clock.join(event))
                .and_then(|()| self.depart(stream));
        }
    }

    fn join_all(&self, operations: &[OperationId], clock: &mut Clock) {
        for operation in operations {
            if let Some(operation) = self.operations.get(operation) {
                clock.join(&operation.clock);
            }
        }
    }

    /// Brings the stream's clock to where something that is submitted now begins.
    fn arrive(
        &mut self,
        thread: ThreadId,
        stream: StreamId,
        more: impl FnOnce(&Self, &mut Clock),
    ) -> Option<()> {
        let own = self.streams.get_mut(&stream)?;
        let (context, kind) = (own.context, own.kind);
        let mut arrived = std::mem::take(&mut own.clock);
        let clock = Arc::make_mut(&mut arrived);
        clock.join(&self.thread(thread).clock);
        if let Some(context) = self.contexts.get(&context) {
            match kind {
                StreamKind::Legacy => clock.join(&context.blocking),
                StreamKind::Blocking => clock.join(&context.legacy),
                StreamKind::NonBlocking => {}
            }
        }
        more(self, clock);
        self.streams.get_mut(&stream)?.clock = arrived;
        Some(())
    }

    /// Tells the stream's context of what was just submitted.
    fn depart(&mut self, stream: StreamId) -> Option<()> {
        let stream = self.streams.get(&stream)?;
        let context = self.contexts.entry(stream.context).or_default();
        context.all.join(&stream.clock);
        match stream.kind {
            StreamKind::Legacy => context.legacy = Arc::clone(&stream.clock),
            StreamKind::Blocking => context.blocking.join(&stream.clock),
            StreamKind::NonBlocking => {}
        }
        Some(())
    }
}
