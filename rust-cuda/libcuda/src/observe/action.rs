//! What a call of the driver does, as far as the order, the amount and the time of work are concerned.

/// A stream's handle as the program passed it, with the default streams distinguished: 1 is `CU_STREAM_LEGACY`, 2
/// `CU_STREAM_PER_THREAD`, which means another stream on each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamHandle(pub usize);

impl StreamHandle {
    /// The legacy default stream, which calls without a stream work in.
    pub const LEGACY: Self = Self(1);
    /// The calling thread's own default stream.
    pub const PER_THREAD: Self = Self(2);

    /// The stream that a call means: null is `default`.
    pub(super) fn of(handle: usize, default: Self) -> Self {
        if handle == 0 { default } else { Self(handle) }
    }
}

/// Between which memories a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// From host memory to a device.
    HostToDevice,
    /// From a device to host memory.
    DeviceToHost,
    /// Within a device, or from one to another.
    DeviceToDevice,
    /// The addresses say, and this crate does not ask.
    Unified,
}

/// The action of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// A kernel is enqueued.
    Launch {
        /// The function's handle.
        function: usize,
        /// Blocks in x, y and z.
        blocks: [u32; 3],
        /// Threads of a block in x, y and z.
        threads: [u32; 3],
        /// Dynamic shared memory of a block in bytes.
        shared_bytes: u32,
        /// Blocks of a cluster in x, y and z; zeros where the call names no clusters.
        cluster: [u32; 3],
        /// Where.
        stream: StreamHandle,
    },
    /// A copy is enqueued, and waited for where `waits`.
    Copy {
        /// Between which memories.
        way: Copied,
        /// Its size.
        bytes: u64,
        /// Where.
        stream: StreamHandle,
        /// Whether the call returns behind the copy.
        waits: bool,
    },
    /// Memory is set to a value.
    Set {
        /// Its size.
        bytes: u64,
        /// Where.
        stream: StreamHandle,
    },
    /// A host function or callback is enqueued.
    HostFunction {
        /// Where.
        stream: StreamHandle,
    },
    /// A graph is launched.
    Graph {
        /// Where.
        stream: StreamHandle,
    },
    /// Memory is allocated; in stream order where a stream is named.
    Allocate {
        /// Its size.
        bytes: u64,
        /// Where.
        stream: Option<StreamHandle>,
    },
    /// Memory is freed; in stream order where a stream is named.
    Free {
        /// Where.
        stream: Option<StreamHandle>,
    },
    /// A stream was created.
    CreateStream {
        /// The new handle.
        stream: StreamHandle,
        /// The flags (`CUstream_flags`).
        flags: u32,
        /// The priority; lower numbers come first.
        priority: i32,
    },
    /// A stream is destroyed.
    DestroyStream {
        /// The handle, which the driver may give out again.
        stream: StreamHandle,
    },
    /// An event was created.
    CreateEvent {
        /// The new handle.
        event: usize,
        /// The flags (`CUevent_flags`).
        flags: u32,
    },
    /// An event is recorded.
    RecordEvent {
        /// The event.
        event: usize,
        /// Where.
        stream: StreamHandle,
    },
    /// A stream is made to wait for an event.
    WaitEvent {
        /// Who waits.
        stream: StreamHandle,
        /// For what.
        event: usize,
    },
    /// The host waits: for a stream, an event, or the whole context.
    Synchronize {
        /// The stream, if it is one.
        stream: Option<StreamHandle>,
        /// The event, if it is one.
        event: Option<usize>,
    },
    /// A kernel of a module was found.
    GetFunction {
        /// The function's handle.
        function: usize,
        /// Its name, a terminated string that lives as long as the call.
        name: usize,
    },
    /// Another action, or a call that failed before its action was known.
    Other,
}

impl Action {
    /// The stream in which the call enqueues an operation that takes time there: a kernel, a copy, a memset, a host
    /// function or a graph.
    pub fn enqueues_in(&self) -> Option<StreamHandle> {
        match *self {
            Self::Launch { stream, .. }
            | Self::Copy { stream, .. }
            | Self::Set { stream, .. }
            | Self::HostFunction { stream }
            | Self::Graph { stream } => Some(stream),
            _ => None,
        }
    }
}
