//! Events: marks in a stream that the host and other streams can wait for, and that carry a time.
//!
//! Unlike cust's, an event here is waited for by reference, by any number of streams.

use crate::device::Device;
use crate::error::{Result, check, failed};
use crate::stream::Stream;
use cust::sys::{self, CUevent, CUevent_flags_enum, CUresult};
use std::time::Duration;

/// Whether an event keeps the time at which it happened. Waiting for one that does not is cheaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// The event can be an end of [`Event::elapsed_since`].
    On,
    /// The event only orders (`CU_EVENT_DISABLE_TIMING`).
    Off,
    /// The event only orders, and a host thread that waits for it sleeps instead of asking again and again
    /// (`CU_EVENT_BLOCKING_SYNC`).
    OffBlocking,
}

/// A mark that is recorded in a stream and happens when the work before it has finished.
#[derive(Debug)]
pub struct Event {
    raw: CUevent,
    _device: Device,
}

// SAFETY: event handles may be used from any thread whose current context is the event's.
unsafe impl Send for Event {}
// SAFETY: as above; the driver locks the event.
unsafe impl Sync for Event {}

impl Event {
    /// A new event that has not been recorded.
    pub fn new(device: &Device, timing: Timing) -> Result<Self> {
        use CUevent_flags_enum as Flags;
        let flags = match timing {
            Timing::On => Flags::CU_EVENT_DEFAULT as u32,
            Timing::Off => Flags::CU_EVENT_DISABLE_TIMING as u32,
            Timing::OffBlocking => {
                Flags::CU_EVENT_DISABLE_TIMING as u32 | Flags::CU_EVENT_BLOCKING_SYNC as u32
            }
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` outlives the call, which stores a handle in it.
        let result = unsafe { sys::cuEventCreate(&mut raw, flags) };
        check("cuEventCreate", result, || format!("timing {timing:?}"))?;
        Ok(Self {
            raw,
            _device: device.clone(),
        })
    }

    /// Captures what `stream` contains so far (`cuEventRecord`). Recording again replaces what was
    /// captured, but not for those who already wait.
    #[inline]
    pub fn record(&self, stream: &Stream) -> Result<()> {
        // SAFETY: both handles live.
        let result = unsafe { sys::cuEventRecord(self.raw, stream.raw()?) };
        check("cuEventRecord", result, || {
            format!("stream {}", stream.name())
        })
    }

    /// Blocks the host until the event has happened (`cuEventSynchronize`).
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the handle lives.
        let result = unsafe { sys::cuEventSynchronize(self.raw) };
        check("cuEventSynchronize", result, String::new)
    }

    /// Whether the event has happened (`cuEventQuery`).
    pub fn has_happened(&self) -> Result<bool> {
        // SAFETY: the handle lives.
        match unsafe { sys::cuEventQuery(self.raw) } {
            CUresult::CUDA_SUCCESS => Ok(true),
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            other => Err(failed("cuEventQuery", other as i32, "event".to_owned())),
        }
    }

    /// The time from `earlier` to this event (`cuEventElapsedTime`, resolution about half a
    /// microsecond). Both must have timing and must have happened. Zero when this event came first.
    pub fn elapsed_since(&self, earlier: &Event) -> Result<Duration> {
        let mut milliseconds = 0.0f32;
        // SAFETY: both handles live, and the result outlives the call.
        let result = unsafe { sys::cuEventElapsedTime(&mut milliseconds, earlier.raw, self.raw) };
        check("cuEventElapsedTime", result, || {
            "both events must have timing and have happened".to_owned()
        })?;
        Ok(Duration::from_nanos(
            (f64::from(milliseconds) * 1e6).round() as u64,
        ))
    }

    /// The driver's handle, for calls that this crate does not wrap.
    pub fn raw(&self) -> CUevent {
        self.raw
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: nobody holds the handle any more; the driver keeps what it captured for those who
        // wait.
        unsafe { sys::cuEventDestroy_v2(self.raw) };
    }
}
