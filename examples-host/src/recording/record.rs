//! The device's own record of an operation, wherever it comes from.

use crate::intervals::{Engine, Span};

/// What the device's own records say of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeviceRecord {
    pub(super) device: u32,
    pub(super) engine: Engine,
    pub(super) name: String,
    pub(super) stream: u64,
    /// Rises within a stream in the order of enqueueing. On the software GPU it is the operation's number in reports.
    pub(super) enqueued: u64,
    pub(super) span: Span,
    pub(super) bytes: u64,
}

/// What operations other than kernels are called.
pub(super) fn name_of(engine: Engine) -> &'static str {
    match engine {
        Engine::Kernel => "kernel",
        Engine::HostToDevice => "copy in",
        Engine::DeviceToHost => "copy out",
        Engine::DeviceToDevice => "copy",
        Engine::Set => "set",
        Engine::HostFunction => "host function",
    }
}
