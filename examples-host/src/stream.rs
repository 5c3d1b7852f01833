//! Streams: the queues in which the device's work is ordered.
//!
//! cust's own stream drops the non-blocking flag and knows neither the legacy nor the per-thread
//! default stream, so this one is made of the driver's calls. A [`Stream`] is a handle: cloning it
//! gives another handle to the same stream, and buffers hold one to say which stream they belong
//! to.

use crate::device::Device;
use crate::error::{Error, Result, check, failed, on};
use crate::event::{Event, Timing};
use crate::range;
use cust::sys::{self, CUresult, CUstream, CUstream_flags_enum};
use libcuda::observe::{self, StreamHandle};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ThreadId};

/// `CU_STREAM_LEGACY` and `CU_STREAM_PER_THREAD` of cuda.h: handles that mean a stream without
/// naming one.
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;

/// How a stream relates to the legacy default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The legacy default stream itself: waits for, and is waited for by, every blocking stream.
    Legacy,
    /// Created without flags: takes part in the legacy stream's barrier.
    Blocking,
    /// Created non-blocking: ignores the legacy stream.
    NonBlocking,
    /// The calling thread's own default stream; it takes part in the legacy stream's barrier.
    PerThread,
}

/// A handle to a stream of one device. The stream is destroyed with its last handle.
#[derive(Clone)]
pub struct Stream(Arc<Shared>);

struct Shared {
    raw: CUstream,
    kind: Kind,
    name: String,
    device: Device,
    /// The thread that a per-thread handle belongs to.
    home: Option<ThreadId>,
    /// Recorded whenever something of this stream is handed to another. One is enough: a wait
    /// captures the record that is the latest when it is issued, so recording again does not
    /// disturb earlier waits.
    fence: Event,
    /// Copies that use host memory, numbered as they were enqueued.
    enqueued: AtomicU64,
    /// All copies up to this number are known to have finished.
    finished: AtomicU64,
}

// SAFETY: a stream handle may be used from any thread of the process whose current context is the
// stream's; a per-thread handle, the exception, is refused by `raw` elsewhere.
unsafe impl Send for Shared {}
// SAFETY: as above; the driver locks the stream, and the fields that change are atomic.
unsafe impl Sync for Shared {}

impl Stream {
    /// A new stream that ignores the legacy default stream (`CU_STREAM_NON_BLOCKING`). The name is
    /// for charts and messages.
    pub fn non_blocking(device: &Device, name: impl Into<String>) -> Result<Self> {
        Self::create(device, name.into(), Kind::NonBlocking, 0)
    }

    /// A new stream that synchronises implicitly with the legacy default stream
    /// (`CU_STREAM_DEFAULT`).
    pub fn blocking(device: &Device, name: impl Into<String>) -> Result<Self> {
        Self::create(device, name.into(), Kind::Blocking, 0)
    }

    /// A new non-blocking stream with a priority of [`Device::stream_priorities`]; smaller is more
    /// urgent.
    pub fn with_priority(device: &Device, name: impl Into<String>, priority: i32) -> Result<Self> {
        Self::create(device, name.into(), Kind::NonBlocking, priority)
    }

    /// The legacy default stream.
    pub fn legacy(device: &Device) -> Result<Self> {
        Self::wrap(
            device,
            "legacy".to_owned(),
            Kind::Legacy,
            LEGACY as CUstream,
        )
    }

    /// The calling host thread's own default stream. Using the handle on another thread is an
    /// error.
    pub fn per_thread(device: &Device, name: impl Into<String>) -> Result<Self> {
        Self::wrap(device, name.into(), Kind::PerThread, PER_THREAD as CUstream)
    }

    fn create(device: &Device, name: String, kind: Kind, priority: i32) -> Result<Self> {
        let flags = match kind {
            Kind::NonBlocking => CUstream_flags_enum::CU_STREAM_NON_BLOCKING,
            _ => CUstream_flags_enum::CU_STREAM_DEFAULT,
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` outlives the call, which stores a handle in it.
        let result = unsafe { sys::cuStreamCreateWithPriority(&mut raw, flags as u32, priority) };
        check("cuStreamCreateWithPriority", result, || {
            format!("stream {name}, priority {priority}")
        })?;
        range::name_stream(raw, &name);
        Self::wrap(device, name, kind, raw)
    }

    fn wrap(device: &Device, name: String, kind: Kind, raw: CUstream) -> Result<Self> {
        observe::name_stream(StreamHandle(raw as usize), &name);
        Ok(Self(Arc::new(Shared {
            raw,
            kind,
            name,
            device: device.clone(),
            home: (kind == Kind::PerThread).then(|| thread::current().id()),
            fence: Event::new(device, Timing::Off)?,
            enqueued: AtomicU64::new(0),
            finished: AtomicU64::new(0),
        })))
    }

    /// The name given at creation.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// How the stream relates to the legacy default stream.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The device that the stream belongs to.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The priority that the driver gave the stream (`cuStreamGetPriority`).
    pub fn priority(&self) -> Result<i32> {
        let mut priority = 0;
        // SAFETY: the handle lives, and `priority` outlives the call.
        let result = unsafe { sys::cuStreamGetPriority(self.raw()?, &mut priority) };
        check("cuStreamGetPriority", result, on(self))?;
        Ok(priority)
    }

    /// The driver's handle, for calls that this crate does not wrap.
    #[inline]
    pub fn raw(&self) -> Result<CUstream> {
        if self.0.home.is_some() {
            self.raw_at_home()
        } else {
            Ok(self.0.raw)
        }
    }

    #[cold]
    fn raw_at_home(&self) -> Result<CUstream> {
        if self.0.home == Some(thread::current().id()) {
            Ok(self.0.raw)
        } else {
            Err(Error::ForeignThread(self.name().to_owned()))
        }
    }

    /// Everything enqueued here from now on runs after what `event` captured at its latest record
    /// (`cuStreamWaitEvent`). An event that was never recorded holds nobody up.
    pub fn wait(&self, event: &Event) -> Result<()> {
        // SAFETY: both handles live.
        let result = unsafe { sys::cuStreamWaitEvent(self.raw()?, event.raw(), 0) };
        check("cuStreamWaitEvent", result, on(self))
    }

    /// Everything enqueued here from now on runs after everything enqueued in `other` so far: an
    /// event recorded there and waited for here. Nothing happens when both are the same stream.
    pub fn wait_for(&self, other: &Stream) -> Result<()> {
        if self == other {
            return Ok(());
        }
        other.0.fence.record(other)?;
        self.wait(&other.0.fence)
    }

    /// Blocks the host until everything enqueued so far has finished (`cuStreamSynchronize`).
    pub fn synchronize(&self) -> Result<()> {
        let enqueued = self.0.enqueued.load(Ordering::Acquire);
        // SAFETY: the handle lives.
        let result = unsafe { sys::cuStreamSynchronize(self.raw()?) };
        check("cuStreamSynchronize", result, on(self))?;
        self.0.finished.fetch_max(enqueued, Ordering::AcqRel);
        Ok(())
    }

    /// Whether everything enqueued so far has finished (`cuStreamQuery`).
    pub fn is_idle(&self) -> Result<bool> {
        let enqueued = self.0.enqueued.load(Ordering::Acquire);
        // SAFETY: the handle lives.
        match unsafe { sys::cuStreamQuery(self.raw()?) } {
            CUresult::CUDA_SUCCESS => {
                self.0.finished.fetch_max(enqueued, Ordering::AcqRel);
                Ok(true)
            }
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            other => Err(failed("cuStreamQuery", other as i32, on(self)())),
        }
    }

    /// Numbers the copy that was just enqueued, so that the host memory it uses can tell later
    /// whether it has finished.
    #[inline]
    pub(crate) fn take_ticket(&self) -> u64 {
        self.0.enqueued.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Whether the numbered copy is known to have finished, without asking the driver.
    #[inline]
    pub(crate) fn has_finished(&self, ticket: u64) -> bool {
        self.0.finished.load(Ordering::Acquire) >= ticket
    }
}

impl PartialEq for Stream {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Stream {}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("name", &self.0.name)
            .field("kind", &self.0.kind)
            .finish_non_exhaustive()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if matches!(self.kind, Kind::Blocking | Kind::NonBlocking) {
            // SAFETY: the last handle is gone, so nobody uses the stream again; the driver lets
            // enqueued work finish.
            unsafe { sys::cuStreamDestroy_v2(self.raw) };
        }
    }
}

/// One call that enqueues something.
#[inline]
pub(crate) fn enqueue(call: impl FnOnce() -> Result<()>) -> Result<()> {
    call()
}
