//! Streams and what orders them: events, waits for values in memory, stream attributes; and the host functions that
//! streams call.

pub(super) mod attributes;
pub(super) mod default_stream;
pub(super) mod event;
pub(super) mod host_function;
pub(super) mod memory_values;
pub(super) mod stream;
mod value_history;
pub(super) mod value_waits;
pub(super) mod watched_values;
