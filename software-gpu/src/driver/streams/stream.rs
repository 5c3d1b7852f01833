//! Streams: created ones, the legacy default stream and the per-thread default streams.

use std::ffi::{c_int, c_uint, c_void};

use super::default_stream;
use super::event::Event;
use crate::activity::log;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::handles::Table;
use crate::driver::c_abi::types::{CUcontext, CUdevice, CUevent, CUstream, Out};
use crate::driver::graph::EXTERNAL;
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::host::threads::{ThreadSerial, current};
use crate::driver::simulation::operation::Effect;
use crate::driver::simulation::simulator::Simulator;
use crate::timeline::{OpId, StreamId};

/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: c_uint = 1;

/// One stream.
#[derive(Debug)]
pub(in crate::driver) struct Stream {
    pub(in crate::driver) context: CUcontext,
    pub(in crate::driver) timeline: StreamId,
    /// Does not synchronise with the legacy stream.
    pub(in crate::driver) non_blocking: bool,
    pub(in crate::driver) priority: i32,
    /// The operation submitted last, ended or not.
    pub(in crate::driver) last: Option<OpId>,
}

/// What the null handle means: the entry points with `_ptsz` or `_ptds` at their end differ in this alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum NullStream {
    Legacy,
    PerThread,
}

/// Where a copy or memset goes: the `Async` calls name a stream, the others take the default stream.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) enum Mode {
    Sync(NullStream),
    Async(NullStream, CUstream),
}

entry_points! {
    fn cuStreamCreate(stream: Out<CUstream>, flags: c_uint) {
        create(stream, flags, 0)
    }

    fn cuStreamCreateWithPriority(stream: Out<CUstream>, flags: c_uint, priority: c_int) {
        create(stream, flags, priority)
    }

    /// Returns at once: what the stream was given still runs.
    fn cuStreamDestroy_v2(stream: CUstream) {
        call(Cost::Other, |call| {
            call.context()?;
            if stream <= CUstream::PER_THREAD {
                return Err(CudaError::InvalidHandle);
            }
            call.destroy_stream(stream)
        })
    }

    fn cuStreamSynchronize | cuStreamSynchronize_ptsz as null (stream: CUstream) {
        synchronize(null, stream)
    }

    fn cuStreamQuery | cuStreamQuery_ptsz as null (stream: CUstream) {
        query(null, stream)
    }

    fn cuStreamWaitEvent | cuStreamWaitEvent_ptsz as null (stream: CUstream, event: CUevent, flags: c_uint) {
        wait_event(null, stream, event, flags)
    }

    fn cuStreamGetPriority | cuStreamGetPriority_ptsz as null (stream: CUstream, priority: Out<c_int>) {
        with_stream(null, stream, |_, stream| priority.set(stream.priority))
    }

    fn cuStreamGetFlags | cuStreamGetFlags_ptsz as null (stream: CUstream, flags: Out<c_uint>) {
        with_stream(null, stream, |_, stream| flags.set(c_uint::from(stream.non_blocking)))
    }

    fn cuStreamGetCtx | cuStreamGetCtx_ptsz as null (stream: CUstream, context: Out<CUcontext>) {
        with_stream(null, stream, |_, stream| context.set(stream.context))
    }

    /// No stream belongs to a green context.
    fn cuStreamGetCtx_v2 | cuStreamGetCtx_v2_ptsz as null (
        stream: CUstream, context: Out<CUcontext>, green_context: Out<*const c_void>,
    ) {
        with_stream(null, stream, |_, stream| {
            green_context.set_if_wanted(std::ptr::null());
            context.set(stream.context)
        })
    }

    fn cuStreamGetId | cuStreamGetId_ptsz as null (stream: CUstream, id: Out<u64>) {
        with_stream(null, stream, |handle, _| id.set(Table::<CUstream, Stream>::serial(handle)))
    }

    fn cuStreamGetDevice | cuStreamGetDevice_ptsz as null (stream: CUstream, device: Out<CUdevice>) {
        device_of(null, stream, device)
    }
}

fn device_of(null: NullStream, stream: CUstream, device: Out<CUdevice>) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        let stream = call.stream(stream, null)?;
        let context = call.streams.get(stream)?.context;
        device.set(call.contexts.get(context)?.device as CUdevice)
    })
}

fn create(stream: Out<CUstream>, flags: c_uint, priority: c_int) -> Result<(), CudaError> {
    let stream = stream.required()?;
    call(Cost::StreamCreate, |call| {
        let context = call.context()?;
        if flags & !NON_BLOCKING != 0 {
            return Err(CudaError::InvalidValue);
        }
        let non_blocking = flags == NON_BLOCKING;
        let created = call.create_stream(context, non_blocking, priority)?;
        stream.set(created)
    })
}

fn synchronize(null: NullStream, stream: CUstream) -> Result<(), CudaError> {
    call(Cost::Synchronize, |call| {
        let stream = call.stream(stream, null)?;
        let context = call.streams.get(stream)?.context;
        log::named_stream(Table::<CUstream, Stream>::serial(stream));
        call.awaits_stream(stream)?;
        let operations = call.awaited(stream)?;
        call.ordering.stream_synchronized(stream);
        let wake_up = call.wake_up(context)?;
        call.wait(operations, wake_up)?;
        let released = call.pools_after_stream(stream);
        call.give_back(released);
        call.usable(context).map(|_| ())
    })
}

fn query(null: NullStream, stream: CUstream) -> Result<(), CudaError> {
    call(Cost::Query, |call| {
        let stream = call.stream(stream, null)?;
        call.awaits_stream(stream)?;
        let operations = call.awaited(stream)?;
        let complete = operations.into_iter().all(|op| call.is_complete(op));
        let last = call.streams.get(stream)?.last;
        let ended = last.and_then(|op| call.timeline.seen_to_end(op));
        if complete && ended.is_none_or(|at| call.has_noticed(at)) {
            call.ordering.stream_synchronized(stream);
            Ok(())
        } else {
            Err(CudaError::NotReady)
        }
    })
}

/// The stream waits for the record that the event stands for *now*: recording it again does not change that.
fn wait_event(
    null: NullStream,
    stream: CUstream,
    event: CUevent,
    flags: c_uint,
) -> Result<(), CudaError> {
    call(Cost::Wait, |call| {
        let target = call.stream(stream, null)?;
        if flags & !EXTERNAL != 0 {
            return Err(CudaError::InvalidValue);
        }
        if call.is_captured(target, event) {
            return call.capture_wait(target, event, flags);
        }
        if flags == EXTERNAL {
            return Err(call.because_external(target));
        }
        call.no_implicit_capture(target)?;
        let recorded = call.events.get(event)?.incomplete();
        call.pools.event_waited(target, event);
        call.ordering.waited(target, event);
        log::event_waited(
            Table::<CUevent, Event>::serial(event),
            Table::<CUstream, Stream>::serial(target),
        );
        // In the legacy stream a wait is an action like any other, whether or not the event is complete: it comes after
        // the blocking streams' work, and that comes after it. With nothing left to wait for it takes no time.
        let is_recorded = call.events.get(event)?.is_recorded();
        let mut after = match is_recorded {
            true => call.dependencies(target)?,
            false => Vec::new(),
        };
        after.extend(recorded);
        if after.is_empty() {
            return Ok(());
        }
        let clock = call.clock();
        call.submit_after(target, clock, Effect::Wait, &after)
            .map(|_| ())
    })
}

fn with_stream(
    null: NullStream,
    stream: CUstream,
    body: impl FnOnce(CUstream, &Stream) -> Result<(), CudaError>,
) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        let stream = call.stream(stream, null)?;
        body(stream, call.streams.get(stream)?)
    })
}

impl Call {
    /// The stream that a handle of the program means; its context can be used.
    pub(in crate::driver) fn stream(
        &mut self,
        handle: CUstream,
        null: NullStream,
    ) -> Result<CUstream, CudaError> {
        let current = self.context()?;
        let handle = match (handle, null) {
            (CUstream::NULL, NullStream::Legacy) => CUstream::LEGACY,
            (CUstream::NULL, NullStream::PerThread) => CUstream::PER_THREAD,
            (handle, _) => handle,
        };
        match handle {
            CUstream::LEGACY => {
                default_stream::used(handle)?;
                Ok(self.contexts.get(current)?.legacy)
            }
            CUstream::PER_THREAD => {
                default_stream::used(handle)?;
                self.per_thread_stream(current)
            }
            handle => {
                let context = self.streams.get(handle)?.context;
                self.usable(context)?;
                Ok(handle)
            }
        }
    }

    /// The stream that a copy or memset goes to.
    pub(in crate::driver) fn stream_of(&mut self, mode: Mode) -> Result<CUstream, CudaError> {
        match mode {
            Mode::Sync(null) => self.stream(CUstream::NULL, null),
            Mode::Async(null, stream) => self.stream(stream, null),
        }
    }

    fn per_thread_stream(&mut self, context: CUcontext) -> Result<CUstream, CudaError> {
        let thread = current::serial();
        if let Some(stream) = self.contexts.get(context)?.per_thread.get(&thread) {
            return Ok(*stream);
        }
        let created = self.create_stream(context, false, 0)?;
        self.contexts
            .get_mut(context)?
            .per_thread
            .insert(thread, created);
        Ok(created)
    }
}

impl Simulator {
    pub(in crate::driver) fn create_stream(
        &mut self,
        context: CUcontext,
        non_blocking: bool,
        priority: i32,
    ) -> Result<CUstream, CudaError> {
        let ordinal = self.contexts.get(context)?.device;
        let device = &self.profile_of(context)?.device;
        let priority = priority.clamp(
            device.greatest_stream_priority,
            device.least_stream_priority,
        );
        let timeline = self.timeline.add_stream(ordinal, priority);
        let created = self.streams.insert(Stream {
            context,
            timeline,
            non_blocking,
            priority,
            last: None,
        });
        self.ordering.stream_created(created, context, non_blocking);
        Ok(created)
    }

    fn destroy_stream(&mut self, handle: CUstream) -> Result<(), CudaError> {
        let stream = self.streams.remove(handle)?;
        self.ordering.stream_destroyed(handle);
        self.capture_stream_destroyed(handle);
        self.timeline.remove_stream(stream.timeline);
        self.pool_stream_destroyed(handle, stream.context, !stream.non_blocking);
        self.prune_orphans(stream.context)?;
        if let Some(last) = stream.last.filter(|op| !self.is_complete(*op)) {
            let orphans = &mut self.contexts.get_mut(stream.context)?.orphans;
            orphans.push((last, !stream.non_blocking));
        }
        Ok(())
    }

    pub(in crate::driver) fn destroy_streams_of(&mut self, context: CUcontext) {
        let of_context = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.context == context);
        let handles: Vec<_> = of_context.map(|(handle, _)| handle).collect();
        for handle in handles {
            if let Ok(stream) = self.streams.remove(handle) {
                self.timeline.remove_stream(stream.timeline);
            }
        }
    }

    /// A host thread has ended: so do its per-thread default streams.
    pub(in crate::driver) fn remove_per_thread_streams(&mut self, thread: ThreadSerial) {
        let streams: Vec<_> = self
            .contexts
            .iter_mut()
            .filter_map(|context| context.per_thread.remove(&thread))
            .collect();
        for stream in streams {
            // The stream was in the context's list, so it exists.
            let _ = self.destroy_stream(stream);
        }
    }

    pub(in crate::driver) fn prune_orphans(&mut self, context: CUcontext) -> Result<(), CudaError> {
        let operations = &self.operations;
        let context = self.contexts.get_mut(context)?;
        context
            .orphans
            .retain(|(op, _)| operations.contains_key(op));
        Ok(())
    }

    /// What the next operation of `stream` has to wait for besides the stream's own order.
    ///
    /// The legacy stream waits for all blocking streams of its context, and these wait for it.
    pub(in crate::driver) fn dependencies(
        &mut self,
        stream: CUstream,
    ) -> Result<Vec<OpId>, CudaError> {
        let Stream {
            context,
            non_blocking,
            ..
        } = *self.streams.get(stream)?;
        let legacy = self.contexts.get(context)?.legacy;
        if stream == legacy {
            return self.blocking_work(context, legacy);
        }
        let last = if non_blocking {
            None
        } else {
            self.streams.get(legacy)?.last
        };
        Ok(last
            .into_iter()
            .filter(|op| !self.is_complete(*op))
            .collect())
    }

    /// The operations whose end makes `stream` idle.
    pub(in crate::driver) fn awaited(&mut self, stream: CUstream) -> Result<Vec<OpId>, CudaError> {
        let Stream { context, last, .. } = *self.streams.get(stream)?;
        let legacy = self.contexts.get(context)?.legacy;
        let mut operations = if stream == legacy {
            self.blocking_work(context, legacy)?
        } else {
            Vec::new()
        };
        operations.extend(last);
        Ok(operations)
    }

    fn blocking_work(
        &mut self,
        context: CUcontext,
        legacy: CUstream,
    ) -> Result<Vec<OpId>, CudaError> {
        self.no_implicit_capture(legacy)?;
        self.prune_orphans(context)?;
        let blocking = |(handle, stream): &(CUstream, &Stream)| {
            stream.context == context && !stream.non_blocking && *handle != legacy
        };
        let last = self
            .streams
            .iter()
            .filter(blocking)
            .filter_map(|(_, stream)| stream.last);
        let orphans = self.contexts.get(context)?.orphans.iter();
        let orphans = orphans.filter(|(_, blocking)| *blocking).map(|(op, _)| *op);
        Ok(last
            .chain(orphans)
            .filter(|op| !self.is_complete(*op))
            .collect())
    }
}
