//! The software GPU's own log: when each operation ran in its virtual clock.

use crate::error::{Result, check, on};
use crate::intervals::{Engine, Span};
use crate::recorder::Record;
use crate::stream::Stream;
use cust::sys::{CUresult, CUstream};
use libcuda::symbols;
use software_gpu::activity::{self, Activity};
use software_gpu::reports::{self, Report};

/// Starts the log; what was logged before is forgotten.
pub(crate) fn start() {
    activity::start();
    reports::start();
}

/// What was logged since, and what the checkers found.
pub(crate) fn stop() -> (Vec<Record>, Vec<Report>) {
    let records = activity::take().into_iter().map(of_activity);
    (records.collect(), reports::take())
}

/// The log's number for a stream: `cuStreamGetId`, which cust's bindings do not declare.
pub(crate) fn stream_id(stream: &Stream) -> Result<u64> {
    type CuStreamGetId = unsafe extern "C" fn(CUstream, *mut u64) -> CUresult;
    const NAME: &str = "cuStreamGetId";
    let address = symbols::entry(NAME).expect("libcuda exports every call of the driver API");
    // SAFETY: the type is the one that cuda.h declares for cuStreamGetId.
    let get_id: CuStreamGetId = unsafe { std::mem::transmute(address) };
    let mut id = 0;
    // SAFETY: the handle lives, and `id` outlives the call.
    let result = unsafe { get_id(stream.raw()?, &mut id) };
    check(NAME, result, on(stream))?;
    Ok(id)
}

fn of_activity(activity: Activity) -> Record {
    let (engine, name) = match activity.kind {
        activity::Kind::Kernel => (Engine::Kernel, activity.name),
        activity::Kind::HostToDevice => (Engine::HostToDevice, "copy in".to_owned()),
        activity::Kind::DeviceToHost => (Engine::DeviceToHost, "copy out".to_owned()),
        activity::Kind::DeviceToDevice
        | activity::Kind::HostToHost
        | activity::Kind::PeerToPeer => (Engine::DeviceToDevice, "copy".to_owned()),
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
        stream: activity.stream,
        enqueued: activity.correlation,
        span,
        bytes: activity.bytes,
    }
}
