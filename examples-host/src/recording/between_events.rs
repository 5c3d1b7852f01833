//! Recording without records: timing events around each operation, on a machine that has an NVIDIA GPU and no CUPTI.
//!
//! Events of two devices cannot be compared. Each device has an origin of its own, which the host waits for: what the host
//! needs to notice it, some microseconds, is how far the clocks of two devices may be apart.

use super::engine;
use super::notes::{self, NotedOperation};
use super::record::name_of;
use super::records::{self, Ran};
use super::timing_event::TimingEvent;
use crate::contexts;
use crate::device::Device;
use crate::error::{Error, Result, failed};
use crate::host_clock;
use crate::intervals::{Engine, Interval, Recording, Source, Span};
use cuda_host::stream;
use cust::error::{CudaError, CudaResult};
use cust::event::{Event, EventFlags};
use cust::sys;
use libcuda::observe::{Action, StreamHandle, unobserved};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

thread_local! {
    /// The event before the operation that is being enqueued, and the context of its stream.
    static BEGIN: RefCell<Option<(TimingEvent, Option<sys::CUcontext>)>> = const { RefCell::new(None) };
}

/// Records an event before an operation.
#[cold]
pub(super) fn begin(action: &Action) {
    // What is captured does not run now, and neither would the events.
    let stream = action.enqueues_in().filter(|stream| !captures(*stream));
    let event = stream.and_then(|stream| {
        let context = contexts::of_stream(stream.0 as sys::CUstream);
        let event = TimingEvent::recorded(context, stream).ok()?;
        Some((event, context))
    });
    BEGIN.set(event);
}

/// The operation was refused.
pub(super) fn abandon() {
    BEGIN.set(None);
}

/// Records an event behind an operation that was enqueued in the stream at `place`.
pub(super) fn end(action: &Action, place: usize) {
    let (Some((begin, context)), Some(stream)) = (BEGIN.take(), action.enqueues_in()) else {
        return;
    };
    let Ok(end) = TimingEvent::recorded(context, stream) else {
        return;
    };
    let engine = engine::of(action).unwrap_or(Engine::DeviceToDevice);
    let (name, bytes) = match *action {
        Action::Launch { function, .. } => (kernel_name(function), 0),
        Action::Copy { bytes, .. } => (name_of(engine).to_owned(), bytes),
        Action::Set { bytes, .. } => ("set".to_owned(), bytes),
        _ => (name_of(engine).to_owned(), 0),
    };
    notes::notes().operations.push(NotedOperation {
        context: context.map(|context| context as usize),
        engine,
        name,
        stream: place,
        bytes,
        begin,
        end,
    });
}

fn captures(stream: StreamHandle) -> bool {
    let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the program uses the handle, and `status` outlives the call.
    let result = unsafe { sys::cuStreamIsCapturing(stream.0 as sys::CUstream, &mut status) };
    let idle = status == sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    result == sys::CUresult::CUDA_SUCCESS && !idle
}

static KERNELS: Mutex<BTreeMap<usize, String>> = Mutex::new(BTreeMap::new());

/// Notes the name of a kernel that the program gets from a module.
pub(super) fn kernel_found(function: usize, name: usize) {
    // SAFETY: the program has passed a terminated string, and the call has not returned to it.
    let name = unsafe { CStr::from_ptr(name as *const c_char) };
    let mut kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    kernels.insert(function, name.to_string_lossy().into_owned());
}

/// The name of a kernel, by its handle.
pub(super) fn kernel_name(function: usize) -> String {
    let kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    kernels
        .get(&function)
        .map_or("kernel", String::as_str)
        .to_owned()
}

/// What the recording's clock begins with.
pub(super) struct Origin {
    of_devices: Vec<OfDevice>,
    /// Why there are no records.
    why: String,
}

/// Begins the recording's clock.
pub(super) fn origin(device: &Device, why: String) -> Result<Origin> {
    let of_devices = unobserved(|| of_devices(device)).map_err(of_clock)?;
    Ok(Origin { of_devices, why })
}

/// The recording's clock, begun anew.
pub(super) fn renewed(old: &Origin, device: &Device) -> Result<Origin> {
    origin(device, old.why.clone())
}

/// What ran since, by the events around the operations. The devices are idle.
pub(super) fn recording(origin: &Origin) -> Result<Recording> {
    let origins = &origin.of_devices;
    let mut notes = notes::take();
    let operations = std::mem::take(&mut notes.operations);
    let ran = operations
        .into_iter()
        .zip(0..)
        .map(|(operation, enqueued)| {
            let own = |origin: &&OfDevice| Some(origin.context) == operation.context;
            let origin = origins.iter().find(own).unwrap_or(&origins[0]);
            let since_origin = |event: &Event| {
                let time = event.elapsed(&origin.event)?;
                Ok::<_, CudaError>((origin.later + time).as_nanos() as u64)
            };
            let start = since_origin(&operation.begin)?;
            let end = since_origin(&operation.end)?.max(start);
            let interval = Interval {
                device: origin.device,
                engine: operation.engine,
                name: operation.name,
                stream: notes.stream_name(operation.stream).to_owned(),
                span: Span { start, end },
                bytes: operation.bytes,
            };
            Ok(Ran {
                stream: Some(operation.stream),
                enqueued,
                interval,
            })
        });
    let ran = ran.collect::<CudaResult<Vec<Ran>>>().map_err(of_clock)?;
    let (recording, _) = records::assembled(Source::Events(origin.why.clone()), &notes, ran);
    Ok(recording)
}

/// Where the clock of a device begins.
struct OfDevice {
    device: u32,
    context: usize,
    event: Event,
    /// How much later it is than the first device's clock.
    later: Duration,
}

/// The clocks of the devices in use; there is one at least.
fn of_devices(device: &Device) -> CudaResult<Vec<OfDevice>> {
    let mut first = None;
    let origin = |(device, context)| {
        let event = contexts::within(context, || {
            let clock = stream::non_blocking()?;
            let event = Event::new(EventFlags::DEFAULT)?;
            event.record(&clock)?;
            event.synchronize()?;
            Ok(event)
        })?;
        let now = host_clock::now();
        Ok(OfDevice {
            device,
            context: context as usize,
            event,
            later: now - *first.get_or_insert(now),
        })
    };
    device.in_use().into_iter().map(origin).collect()
}

fn of_clock(error: CudaError) -> Error {
    failed(
        "cuEventRecord",
        error as i32,
        "the recording's clock".to_owned(),
    )
}
