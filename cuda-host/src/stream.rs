//! Streams that cust cannot make, and what its streams cannot do.

use crate::handle;
use crate::result::ToResult;
use cust::error::{CudaError, CudaResult};
use cust::event::Event;
use cust::stream::Stream;
use cust::sys::{self, CUresult, CUstream, CUstream_flags_enum as Flags};
use libcuda::observe::{StreamHandle, name_of_stream, name_stream};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A new stream that ignores the legacy default stream: `cuStreamCreateWithPriority` with `CU_STREAM_NON_BLOCKING`, which
/// cust removes. (cust's `Stream::new` makes *blocking* streams, whatever its flags say.)
pub fn non_blocking() -> CudaResult<Stream> {
    with_priority(0)
}

/// New [`non_blocking`] streams of these names, one call of the driver each.
pub fn non_blocking_named<const N: usize>(names: [&str; N]) -> CudaResult<[Stream; N]> {
    let mut streams = Vec::with_capacity(N);
    for name in names {
        streams.push(non_blocking()?.named(name));
    }
    // As many streams as names.
    streams.try_into().map_err(|_| CudaError::UnknownError)
}

/// New [`non_blocking`] streams named "stream 0", "stream 1" and so on, one call of the driver each.
pub fn non_blocking_numbered(count: usize) -> CudaResult<Vec<Stream>> {
    let named = |index| Ok(non_blocking()?.named(&format!("stream {index}")));
    (0..count).map(named).collect()
}

/// A new non-blocking stream of this priority (`cuStreamCreateWithPriority`); smaller is more urgent.
/// `CurrentContext::get_stream_priority_range` gives the range.
pub fn with_priority(priority: i32) -> CudaResult<Stream> {
    let mut raw = std::ptr::null_mut();
    let flags = Flags::CU_STREAM_NON_BLOCKING as u32;
    // SAFETY: `raw` outlives the call, which stores a handle in it.
    unsafe { sys::cuStreamCreateWithPriority(&mut raw, flags, priority) }.to_result()?;
    // SAFETY: the stream is new, and no other code has its handle.
    Ok(unsafe { handle::into_stream(raw) })
}

/// The legacy default stream (`CU_STREAM_LEGACY`): it waits for every blocking stream, and they wait for it.
pub fn legacy() -> ManuallyDrop<Stream> {
    default_stream(StreamHandle::LEGACY)
}

/// The calling thread's own default stream (`CU_STREAM_PER_THREAD`). On another thread the same handle means another
/// stream.
pub fn per_thread() -> ManuallyDrop<Stream> {
    default_stream(StreamHandle::PER_THREAD)
}

fn default_stream(StreamHandle(raw): StreamHandle) -> ManuallyDrop<Stream> {
    // SAFETY: cuda.h defines the handle, and it is never dropped.
    ManuallyDrop::new(unsafe { handle::into_stream(raw as CUstream) })
}

/// The stream functions that cust lacks.
pub trait StreamExt {
    /// Work enqueued here from now on waits for what `event` captured when it was last recorded (`cuStreamWaitEvent`).
    /// An event that was never recorded holds nothing up. One event may be waited for by any number of streams, and
    /// recorded again later: those who wait already are not concerned.
    fn wait(&self, event: &Event) -> CudaResult<()>;

    /// The priority (`cuStreamGetPriority`): the one asked for, moved into the device's range.
    fn priority(&self) -> CudaResult<i32>;

    /// Whether everything enqueued so far has finished (`cuStreamQuery`).
    fn is_idle(&self) -> CudaResult<bool>;

    /// Calls `function` on a thread of the driver when everything enqueued so far has finished; what is enqueued later
    /// waits for its return (`cuLaunchHostFunc`).
    ///
    /// The function must not call CUDA: such calls return `CUDA_ERROR_NOT_PERMITTED`. After a failure of the device it is
    /// not called, and what it owns is not freed. A panic ends there.
    fn launch_host_function(&self, function: impl FnOnce() + Send + 'static) -> CudaResult<()>;

    /// Names the stream for charts, for reports and, with the feature `nvtx` of examples-host, for Nsight Systems. A
    /// per-thread default stream is named for the calling thread.
    #[must_use]
    fn named(self, name: &str) -> Self
    where
        Self: Sized;

    /// The stream's name; without one, its handle.
    fn name(&self) -> String;

    /// The driver's handle.
    fn raw(&self) -> CUstream;
}

impl StreamExt for Stream {
    #[inline]
    fn wait(&self, event: &Event) -> CudaResult<()> {
        // SAFETY: both handles live.
        unsafe { sys::cuStreamWaitEvent(self.raw(), handle::of_event(event), 0) }.to_result()
    }

    fn priority(&self) -> CudaResult<i32> {
        let mut priority = 0;
        // SAFETY: the handle lives, and `priority` outlives the call.
        unsafe { sys::cuStreamGetPriority(self.raw(), &mut priority) }.to_result()?;
        Ok(priority)
    }

    fn is_idle(&self) -> CudaResult<bool> {
        // SAFETY: the handle lives.
        match unsafe { sys::cuStreamQuery(self.raw()) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            result => result.to_result().map(|()| true),
        }
    }

    fn launch_host_function(&self, function: impl FnOnce() + Send + 'static) -> CudaResult<()> {
        let function: Box<HostFunction> = Box::new(Box::new(function));
        let data = Box::into_raw(function);
        // SAFETY: `call` takes the box back when it is called, which happens at most once.
        let result = unsafe { sys::cuLaunchHostFunc(self.raw(), Some(call), data.cast()) };
        result.to_result().inspect_err(|_: &CudaError| {
            // SAFETY: a function that was refused is never called: the box is still ours.
            drop(unsafe { Box::from_raw(data) });
        })
    }

    fn named(self, name: &str) -> Self {
        name_stream(handle_of(&self), name);
        self
    }

    fn name(&self) -> String {
        let StreamHandle(raw) = handle_of(self);
        name_of_stream(StreamHandle(raw)).unwrap_or_else(|| format!("stream {raw:#x}"))
    }

    fn raw(&self) -> CUstream {
        self.as_inner()
    }
}

impl StreamExt for ManuallyDrop<Stream> {
    fn wait(&self, event: &Event) -> CudaResult<()> {
        (**self).wait(event)
    }

    fn priority(&self) -> CudaResult<i32> {
        (**self).priority()
    }

    fn is_idle(&self) -> CudaResult<bool> {
        (**self).is_idle()
    }

    fn launch_host_function(&self, function: impl FnOnce() + Send + 'static) -> CudaResult<()> {
        (**self).launch_host_function(function)
    }

    fn named(self, name: &str) -> Self {
        name_stream(handle_of(&self), name);
        self
    }

    fn name(&self) -> String {
        (**self).name()
    }

    fn raw(&self) -> CUstream {
        (**self).raw()
    }
}

/// The stream's handle; null is a case of its own.
fn handle_of(stream: &Stream) -> StreamHandle {
    match stream.as_inner() as usize {
        0 => StreamHandle::LEGACY,
        raw => StreamHandle(raw),
    }
}

type HostFunction = Box<dyn FnOnce() + Send>;

unsafe extern "C" fn call(data: *mut c_void) {
    // SAFETY: the driver passes on what `launch_host_function` gave it, once.
    let function = unsafe { Box::from_raw(data.cast::<HostFunction>()) };
    // The panic's message has been printed; it must not cross the driver's frames.
    let _ = catch_unwind(AssertUnwindSafe(*function));
}
