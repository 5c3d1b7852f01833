//! A small program to check, built by short calls.

use std::ops::Range;

use software_gpu::memory::Accesses;
use software_gpu::order::{
    Checker, ContextId, Description, EventId, Finding, HostAccess, OperationId, StreamId,
    StreamKind, ThreadId,
};

pub const HOST: ThreadId = ThreadId::UNREGISTERED;
pub const CONTEXT: ContextId = ContextId(1);
pub const LEGACY: StreamId = StreamId(1);
/// A stream that synchronises with the legacy one.
pub const BLOCKING: StreamId = StreamId(2);
pub const A: StreamId = StreamId(13);
pub const B: StreamId = StreamId(14);
pub const EVENT: EventId = EventId(3);
pub const BYTES: Range<u64> = 0x1000..0x1100;

/// One context with its legacy stream, a blocking stream and two non-blocking ones.
pub struct TestProgram {
    pub checker: Checker,
    last: u64,
}

pub fn reads(range: Range<u64>) -> Accesses {
    Accesses {
        reads: range.into(),
        ..Accesses::default()
    }
}

pub fn writes(range: Range<u64>) -> Accesses {
    Accesses {
        writes: range.into(),
        ..Accesses::default()
    }
}

pub fn atomics(range: Range<u64>) -> Accesses {
    Accesses {
        atomics: range.into(),
        ..Accesses::default()
    }
}

impl TestProgram {
    pub fn new() -> Self {
        let mut checker = Checker::new();
        checker.context_created(HOST, CONTEXT, LEGACY);
        checker.stream_created(HOST, BLOCKING, CONTEXT, StreamKind::Blocking);
        for stream in [A, B] {
            checker.stream_created(HOST, stream, CONTEXT, StreamKind::NonBlocking);
        }
        Self { checker, last: 0 }
    }

    /// Submits an operation and leaves it waiting.
    pub fn submit_by(
        &mut self,
        thread: ThreadId,
        stream: StreamId,
        what: &'static str,
    ) -> OperationId {
        self.last += 1;
        let operation = OperationId(self.last);
        self.checker
            .submitted(thread, stream, operation, &[], what.into());
        operation
    }

    /// Submits an operation and leaves it waiting.
    pub fn submit(&mut self, stream: StreamId, what: &'static str) -> OperationId {
        self.submit_by(HOST, stream, what)
    }

    /// Executes a waiting operation.
    pub fn execute(&mut self, operation: OperationId, accesses: &Accesses) {
        self.checker.accessed(operation, accesses);
        self.checker.ended(operation);
    }

    /// Submits an operation and executes it.
    pub fn run(
        &mut self,
        stream: StreamId,
        what: &'static str,
        accesses: &Accesses,
    ) -> OperationId {
        let operation = self.submit(stream, what);
        self.execute(operation, accesses);
        operation
    }

    /// Submits a node of a graph and executes it.
    pub fn node(
        &mut self,
        launch: OperationId,
        after: &[OperationId],
        what: &'static str,
        accesses: &Accesses,
    ) -> OperationId {
        self.last += 1;
        let operation = OperationId(self.last);
        self.checker
            .submitted_node(HOST, launch, operation, after, what.into());
        self.checker.accessed(operation, accesses);
        operation
    }

    pub fn record(&mut self, stream: StreamId, event: EventId) {
        let operation = self.submit(stream, "record");
        self.checker.recorded(event, stream, operation);
        self.checker.ended(operation);
    }

    pub fn wait(&mut self, stream: StreamId, event: EventId) {
        self.checker.waited(HOST, stream, event);
    }

    pub fn host_reads(&mut self, thread: ThreadId, range: Range<u64>) {
        let what = Description::new("read of the results");
        self.checker
            .host_accessed(thread, HostAccess::Read, range, what);
    }

    pub fn host_writes(&mut self, thread: ThreadId, range: Range<u64>) {
        let what = Description::new("write of the input");
        self.checker
            .host_accessed(thread, HostAccess::Write, range, what);
    }

    /// Allocates in stream order.
    pub fn allocate(&mut self, stream: StreamId, range: Range<u64>, what: &'static str) {
        let operation = self.submit(stream, "allocation");
        self.checker.pool_allocated(operation, range, what.into());
        self.checker.ended(operation);
    }

    /// Frees in stream order.
    pub fn free(&mut self, stream: StreamId, start: u64) {
        let operation = self.submit(stream, "free");
        self.checker.pool_freed(operation, start);
        self.checker.ended(operation);
    }

    /// What was found, of which one thing is expected.
    #[track_caller]
    pub fn only_finding(&mut self) -> Finding {
        let mut found = self.checker.take_findings();
        assert_eq!(found.len(), 1, "{found:#?}");
        found.remove(0)
    }

    #[track_caller]
    pub fn assert_silent(&mut self) {
        let found = self.checker.take_findings();
        assert!(found.is_empty(), "{found:#?}");
    }
}
