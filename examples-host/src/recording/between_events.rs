//! Recording without records: timing events around each operation, on a machine that has an NVIDIA GPU and no CUPTI.

use super::engine;
use super::notes::{self, Operation};
use super::record::name_of;
use super::records::{self, Ran};
use crate::error::{Error, Result, failed};
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

thread_local! {
    /// The event before the operation that is being enqueued.
    static BEGIN: RefCell<Option<Event>> = const { RefCell::new(None) };
}

/// Records an event before an operation.
#[cold]
pub(super) fn begin(action: &Action) {
    // What is captured does not run now, and neither would the events.
    let stream = action.enqueues_in().filter(|stream| !captures(*stream));
    let event = stream.map(recorded_event);
    BEGIN.set(event.and_then(Result::ok));
}

/// The operation was refused.
pub(super) fn abandon() {
    BEGIN.set(None);
}

/// Records an event behind an operation that was enqueued in the stream at `place`.
pub(super) fn end(action: &Action, place: usize) {
    let (Some(begin), Some(stream)) = (BEGIN.take(), action.enqueues_in()) else {
        return;
    };
    let Ok(end) = recorded_event(stream) else {
        return;
    };
    let engine = engine::of(action).unwrap_or(Engine::DeviceToDevice);
    let (name, bytes) = match *action {
        Action::Launch { function, .. } => (kernel_name(function), 0),
        Action::Copy { bytes, .. } => (name_of(engine).to_owned(), bytes),
        Action::Set { bytes, .. } => ("set".to_owned(), bytes),
        _ => (name_of(engine).to_owned(), 0),
    };
    notes::notes().operations.push(Operation {
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

fn recorded_event(stream: StreamHandle) -> CudaResult<Event> {
    let event = Event::new(EventFlags::DEFAULT)?;
    let raw = cuda_host::EventExt::raw(&event);
    // SAFETY: both handles live.
    let result = unsafe { sys::cuEventRecord(raw, stream.0 as sys::CUstream) };
    match result {
        sys::CUresult::CUDA_SUCCESS => Ok(event),
        _ => Err(CudaError::UnknownError),
    }
}

static KERNELS: Mutex<BTreeMap<usize, String>> = Mutex::new(BTreeMap::new());

/// Notes the name of a kernel that a module was asked for.
pub(super) fn kernel_found(function: usize, name: usize) {
    // SAFETY: the program has passed a terminated string, and the call has not returned to it.
    let name = unsafe { CStr::from_ptr(name as *const c_char) };
    let mut kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    kernels.insert(function, name.to_string_lossy().into_owned());
}

fn kernel_name(function: usize) -> String {
    let kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    kernels
        .get(&function)
        .map_or("kernel", String::as_str)
        .to_owned()
}

/// What the recording's clock begins with.
pub(super) struct Origin {
    event: Event,
    /// Why there are no records.
    why: String,
}

/// Begins the recording's clock.
pub(super) fn origin(why: String) -> Result<Origin> {
    let event = unobserved(|| {
        let clock = stream::non_blocking()?;
        let origin = Event::new(EventFlags::DEFAULT)?;
        origin.record(&clock)?;
        origin.synchronize()?;
        Ok(origin)
    });
    let event = event.map_err(of_clock)?;
    Ok(Origin { event, why })
}

/// What ran since, by the events around the operations. The device is idle.
pub(super) fn recording(origin: &Origin) -> Result<Recording> {
    let mut notes = notes::take();
    let operations = std::mem::take(&mut notes.operations);
    let ran = operations
        .into_iter()
        .zip(0..)
        .map(|(operation, enqueued)| {
            let since_origin = |event: &Event| {
                let time = event.elapsed(&origin.event)?;
                Ok(time.as_nanos() as u64)
            };
            let start = since_origin(&operation.begin)?;
            let end = since_origin(&operation.end)?.max(start);
            let interval = Interval {
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

fn of_clock(error: CudaError) -> Error {
    failed(
        "cuEventRecord",
        error as i32,
        "the recording's clock".to_owned(),
    )
}
