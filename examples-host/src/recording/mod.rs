//! Recording when each operation of a run was executing.
//!
//! [`record`] runs a body under observation, apart from the timed runs, and gives the intervals of what it enqueued,
//! independent of the thread and the library that enqueued it: the calls are seen where they pass into the driver
//! ([`libcuda::observe`]). Where the intervals come from depends on the device and on what is installed; see [`Source`](crate::intervals::Source).
//!
//! ```text
//! program ── cu* ──> observer ── notes: streams, waits, calls ─────────┐
//!                        │                                             ├──> Recording
//!                        └──> driver ── records: software GPU's log ───┘
//!                                       or CUPTI's, or timing events that the observer puts around operations
//! ```

mod between_events;
mod cupti;
mod cupti_buffers;
mod dependencies;
mod engine;
mod mode;
mod notes;
mod observer;
mod record;
mod records;
mod software_log;
pub mod start_gate;
mod timing_event;
mod trace;
mod whole;

pub use cupti::profiling_library;
pub(crate) use mode::time_calls;
pub(crate) use observer::install;
pub(crate) use trace::{Trace, TracedCall, What, traced};
pub use whole::Whole;
#[cfg(test)]
pub(crate) use {notes::NotedStream, trace::StreamKind};

use crate::device::Device;
use crate::error::Error;
use crate::host_clock;
use crate::intervals::{Range, Recording, Span};
use libcuda::Driver;
use mode::ObserverMode;

/// Counts the work of every call of the driver from now on, which is selected. Opening a
/// [`Device`] does it; programs that open none may ask for it.
pub fn count_calls() {
    install();
}

/// Whether recording changes nothing on this device, so that a timed run can be recorded: true of a model.
pub fn is_free(device: &Device) -> bool {
    device.driver() == Driver::Software
}

/// Runs `body` and records when its operations were executing. Returns when all of them have
/// finished. One recording at a time: another thread's would mix with this one.
pub fn record<E: From<Error>>(
    device: &Device,
    body: impl FnOnce() -> Result<(), E>,
) -> Result<Recording, E> {
    recorded(device, body).map(|((), recording)| recording)
}

/// As [`record`], of work that CUPTI would change, for the reason `why`: on a GPU by timing events around the operations. An
/// interval then begins when its operation has come to the head of its stream.
pub fn record_without_cupti<E: From<Error>>(
    device: &Device,
    why: &str,
    body: impl FnOnce() -> Result<(), E>,
) -> Result<Recording, E> {
    during(Whole::begin_without_cupti(device, why)?, body).map(|((), recording)| recording)
}

/// As [`record`], and returns what `body` does.
pub fn recorded<R, E: From<Error>>(
    device: &Device,
    body: impl FnOnce() -> Result<R, E>,
) -> Result<(R, Recording), E> {
    during(Whole::begin(device)?, body)
}

/// What `body` does, and the recording, which ends when it has.
fn during<R, E: From<Error>>(
    whole: Whole,
    body: impl FnOnce() -> Result<R, E>,
) -> Result<(R, Recording), E> {
    let done = body();
    // Ended on every way out, so that the device stops recording.
    let recording = whole.end();
    Ok((done?, recording?))
}

/// The present on the clock of the device's records, in nanoseconds, while something is recorded with them.
#[inline]
pub(crate) fn now() -> Option<u64> {
    (mode::mode() == ObserverMode::Records).then(now_of_records)?
}

#[cold]
fn now_of_records() -> Option<u64> {
    match libcuda::selected()?.driver {
        Driver::Software => u64::try_from(host_clock::now().as_nanos()).ok(),
        Driver::Nvidia => cupti::cupti().ok()?.now(),
    }
}

/// Notes a phase of a thread that began at `start` and ends now, while something is recorded.
#[cold]
pub(crate) fn phase(name: String, thread: String, start: u64) {
    if let Some(end) = now() {
        let end = end.max(start);
        let span = Span { start, end };
        notes::notes().phases.push(Range { name, thread, span });
    }
}
