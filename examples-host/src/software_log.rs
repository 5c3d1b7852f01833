//! The software GPU's own log: when each operation ran in its virtual clock.

use crate::error::Result;
use crate::intervals::{Engine, Span};
use crate::recorder::Record;
use crate::stream::Stream;
use software_gpu::activity::{self, Activity};

/// Starts the log; what was logged before is forgotten.
pub(crate) fn start() {
    activity::start();
}

/// What was logged since.
pub(crate) fn stop() -> Vec<Record> {
    activity::take().into_iter().map(of_activity).collect()
}

/// The log's number for a stream: its handle.
pub(crate) fn stream_id(stream: &Stream) -> Result<u64> {
    Ok(of_handle(stream.raw()? as u64))
}

/// The legacy stream has two handles, null and `CU_STREAM_LEGACY`.
fn of_handle(handle: u64) -> u64 {
    if handle == 1 { 0 } else { handle }
}

fn of_activity(activity: Activity) -> Record {
    let (engine, name) = match activity.kind {
        activity::Kind::Kernel => (Engine::Kernel, activity.name),
        activity::Kind::HostToDevice => (Engine::HostToDevice, "copy in".to_owned()),
        activity::Kind::DeviceToHost => (Engine::DeviceToHost, "copy out".to_owned()),
        activity::Kind::DeviceToDevice | activity::Kind::HostToHost => {
            (Engine::DeviceToDevice, "copy".to_owned())
        }
        activity::Kind::Set => (Engine::Set, "set".to_owned()),
        activity::Kind::HostFunction => (Engine::HostFunction, activity.name),
    };
    let span = Span {
        start: activity.start_ns,
        end: activity.end_ns,
    };
    Record {
        engine,
        name,
        stream: of_handle(activity.stream),
        span,
        bytes: activity.bytes,
    }
}
