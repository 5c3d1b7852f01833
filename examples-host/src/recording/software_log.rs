//! The software GPU's own log: when each operation ran in its virtual clock.

use super::record::{DeviceRecord, name_of};
use crate::intervals::{Engine, Span};
use cust::sys::{CUresult, CUstream};
use libcuda::observe::StreamHandle;
use libcuda::symbols;
use software_gpu::activity::{self, Activity};
use software_gpu::reports::{self, Report};

/// Starts the log; what was logged before is forgotten.
pub(super) fn start() {
    activity::start();
    reports::start();
}

/// The log since then, and the findings of the checkers.
pub(super) fn stop() -> (Vec<DeviceRecord>, Vec<Report>) {
    let records = activity::take().into_iter().map(of_activity);
    (records.collect(), reports::take())
}

/// The log's number for a stream: `cuStreamGetId`, which cust's bindings do not declare.
pub(super) fn stream_id(stream: StreamHandle) -> Option<u64> {
    type CuStreamGetId = unsafe extern "C" fn(CUstream, *mut u64) -> CUresult;
    let address = symbols::entry("cuStreamGetId")?;
    // SAFETY: the type is the one that cuda.h declares for cuStreamGetId.
    let get_id: CuStreamGetId = unsafe { std::mem::transmute(address) };
    let mut id = 0;
    // SAFETY: the program has just used the stream, and `id` outlives the call.
    let result = unsafe { get_id(stream.0 as CUstream, &mut id) };
    (result == CUresult::CUDA_SUCCESS).then_some(id)
}

fn of_activity(activity: Activity) -> DeviceRecord {
    let engine = match activity.kind {
        activity::Kind::Kernel => Engine::Kernel,
        activity::Kind::HostToDevice => Engine::HostToDevice,
        activity::Kind::DeviceToHost => Engine::DeviceToHost,
        activity::Kind::DeviceToDevice
        | activity::Kind::HostToHost
        | activity::Kind::PeerToPeer => Engine::DeviceToDevice,
        activity::Kind::Set => Engine::Set,
        activity::Kind::HostFunction => Engine::HostFunction,
    };
    let name = match engine {
        Engine::Kernel | Engine::HostFunction => activity.name,
        other => name_of(other).to_owned(),
    };
    let span = Span {
        start: activity.start_ns,
        end: activity.end_ns,
    };
    DeviceRecord {
        device: u32::try_from(activity.device).unwrap_or(u32::MAX),
        engine,
        name,
        stream: activity.stream,
        enqueued: activity.correlation,
        span,
        bytes: activity.bytes,
    }
}
