//! Timing events that are used again. The driver takes longer to create an event than to record it, and what is timed would wait.

use crate::contexts;
use cuda_host::EventExt as _;
use cust::error::{CudaError, CudaResult};
use cust::event::{Event, EventFlags};
use cust::sys::{self, CUcontext};
use libcuda::observe::StreamHandle;
use std::collections::BTreeMap;
use std::mem;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Events that nothing uses now, by their contexts.
static UNUSED: Mutex<BTreeMap<usize, Vec<Event>>> = Mutex::new(BTreeMap::new());

/// Never locked across a driver call.
fn unused() -> MutexGuard<'static, BTreeMap<usize, Vec<Event>>> {
    UNUSED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A recorded event. When it is dropped, another operation of its context may use it.
#[derive(Debug)]
pub(super) struct TimingEvent {
    context: Option<usize>,
    event: Option<Event>,
}

impl TimingEvent {
    /// Recorded in a stream of that context; of the current one where it is not known.
    ///
    /// # Errors
    /// The errors of `cuEventCreate` and `cuEventRecord`.
    pub(super) fn recorded(context: Option<CUcontext>, stream: StreamHandle) -> CudaResult<Self> {
        let address = context.map(|context| context as usize);
        let used_before = address.and_then(|address| unused().get_mut(&address)?.pop());
        if let Some(event) = used_before {
            match record(&event, stream) {
                Ok(()) => {
                    return Ok(Self {
                        context: address,
                        event: Some(event),
                    });
                }
                // Its context has ended, and the event with it: there is nothing left to destroy.
                Err(_) => mem::forget(event),
            }
        }
        let create = || Event::new(EventFlags::DEFAULT);
        let event = match context {
            Some(context) => contexts::within(context, create)?,
            None => create()?,
        };
        record(&event, stream)?;
        Ok(Self {
            context: address,
            event: Some(event),
        })
    }
}

fn record(event: &Event, stream: StreamHandle) -> CudaResult<()> {
    // SAFETY: both handles live.
    match unsafe { sys::cuEventRecord(event.raw(), stream.0 as sys::CUstream) } {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        _ => Err(CudaError::UnknownError),
    }
}

impl Deref for TimingEvent {
    type Target = Event;

    fn deref(&self) -> &Event {
        self.event.as_ref().expect("it is taken out by drop alone")
    }
}

impl Drop for TimingEvent {
    fn drop(&mut self) {
        if let (Some(context), Some(event)) = (self.context, self.event.take()) {
            unused().entry(context).or_default().push(event);
        }
    }
}
