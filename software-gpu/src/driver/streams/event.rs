//! Events: what they stand for, and the time between two of them.

use std::ffi::c_uint;

use super::stream::{NullStream, Stream};
use crate::activity::log;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::handles::Table;
use crate::driver::c_abi::types::{CUcontext, CUevent, CUstream, Out};
use crate::driver::graph::EXTERNAL;
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;
use crate::driver::reasons::{because_not_reached, because_unrecorded, because_untimed};
use crate::driver::simulation::operation::Effect;
use crate::driver::simulation::simulator::Simulator;
use crate::timeline::{OpId, Time};

/// `CUevent_flags`.
const BLOCKING_SYNC: c_uint = 1;
const DISABLE_TIMING: c_uint = 2;
const INTERPROCESS: c_uint = 4;

/// One event.
#[derive(Debug)]
pub(in crate::driver) struct Event {
    pub(in crate::driver) context: CUcontext,
    flags: c_uint,
    record: Option<LastRecord>,
}

/// The last `cuEventRecord`.
#[derive(Debug)]
struct LastRecord {
    op: OpId,
    reached: Option<Time>,
}

entry_points! {
    fn cuEventCreate(event: Out<CUevent>, flags: c_uint) {
        let event = event.required()?;
        call(Cost::EventCreate, |call| {
            let context = call.context()?;
            if flags & !(BLOCKING_SYNC | DISABLE_TIMING | INTERPROCESS) != 0 {
                return Err(CudaError::InvalidValue);
            }
            // Within its process such an event is one without timing; `cuIpcGetEventHandle` is refused.
            if flags & INTERPROCESS != 0 && flags & DISABLE_TIMING == 0 {
                return Err(CudaError::InvalidValue);
            }
            let record = None;
            let created = call.events.insert(Event { context, flags, record });
            event.set(created)
        })
    }

    fn cuEventDestroy_v2(event: CUevent) {
        call(Cost::Other, |call| {
            call.context()?;
            call.captures.forget_event(event);
            call.events.remove(event)?;
            call.ordering.event_destroyed(event);
            Ok(())
        })
    }

    fn cuEventRecord | cuEventRecord_ptsz as null (event: CUevent, stream: CUstream) {
        record(null, event, stream, 0)
    }

    fn cuEventRecordWithFlags | cuEventRecordWithFlags_ptsz as null (event: CUevent, stream: CUstream, flags: c_uint) {
        record(null, event, stream, flags)
    }

    /// An event that was never recorded counts as complete.
    fn cuEventQuery(event: CUevent) {
        call(Cost::Query, |call| {
            let Event { context, .. } = *call.events.get(event)?;
            call.usable(context)?;
            call.awaits_event(event)?;
            let Event { record, .. } = call.events.get(event)?;
            let noticed = |at| call.has_noticed(at);
            if record.as_ref().is_some_and(|record| !record.reached.is_some_and(noticed)) {
                return Err(CudaError::NotReady);
            }
            call.ordering.event_synchronized(event);
            Ok(())
        })
    }

    fn cuEventSynchronize(event: CUevent) {
        call(Cost::Synchronize, |call| {
            let Event { context, flags, .. } = *call.events.get(event)?;
            call.usable(context)?;
            call.awaits_event(event)?;
            let record = call.events.get(event)?.record.as_ref().map(|record| record.op);
            call.ordering.event_synchronized(event);
            let host = call.host();
            let blocking = flags & BLOCKING_SYNC != 0;
            let wake_up = if blocking { host.blocking_wake_up_us } else { host.wake_up_us }.micros();
            call.wait(record, wake_up)?;
            let released = call.pools_after_event(event);
            call.give_back(released);
            call.usable(context).map(|_| ())
        })
    }

    fn cuEventElapsedTime | cuEventElapsedTime_v2 (milliseconds: Out<f32>, start: CUevent, end: CUevent) {
        elapsed(milliseconds, start, end)
    }
}

fn record(
    null: NullStream,
    event: CUevent,
    stream: CUstream,
    flags: c_uint,
) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        let timed = call.events.get(event)?.is_timed();
        call.spend(if timed {
            Cost::Record
        } else {
            Cost::RecordUntimed
        });
        let target = call.stream(stream, null)?;
        let context = call.streams.get(target)?.context;
        if call.events.get(event)?.context != context {
            return Err(call.because_elsewhere(event, target));
        }
        if call.is_capturing(target) {
            return call.capture_record(target, event, flags);
        }
        match flags {
            0 => {}
            EXTERNAL => return Err(call.because_external(target)),
            _ => return Err(CudaError::InvalidValue),
        }
        let clock = call.clock();
        let op = call.submit(target, clock, Effect::Record(event))?;
        op.map_or(Ok(()), |op| call.recorded(event, op))
    })
}

fn elapsed(milliseconds: Out<f32>, start: CUevent, end: CUevent) -> Result<(), CudaError> {
    let milliseconds = milliseconds.required()?;
    call(Cost::Query, |call| {
        call.times_event(start)?;
        call.times_event(end)?;
        let handles = [start, end];
        let (start, end) = (call.events.get(start)?, call.events.get(end)?);
        call.usable(start.context)?;
        let (start, end) = match (timed(handles[0], start)?, timed(handles[1], end)?) {
            _ if start.context != end.context => return Err(call.because_apart(handles)),
            (Some(start), Some(end)) => (start, end),
            (_, None) => return Err(because_not_reached(handles[1])),
            (None, _) => return Err(because_not_reached(handles[0])),
        };
        // Success says that both are complete, as a query does.
        for event in handles {
            call.ordering.event_synchronized(event);
        }
        let forward = end.since(start).as_millis();
        let backward = start.since(end).as_millis();
        milliseconds.set((forward - backward) as f32)
    })
}

/// When the event was reached; refuses events that have no time.
fn timed(handle: CUevent, event: &Event) -> Result<Option<Time>, CudaError> {
    match (&event.record, event.is_timed()) {
        (_, false) => Err(because_untimed(handle)),
        (None, _) => Err(because_unrecorded(handle)),
        (Some(record), true) => Ok(record.reached),
    }
}

impl Event {
    /// Whether the event keeps the time.
    pub(in crate::driver) fn is_timed(&self) -> bool {
        self.flags & DISABLE_TIMING == 0
    }

    /// Whether the event stands for anything.
    pub(in crate::driver) fn is_recorded(&self) -> bool {
        self.record.is_some()
    }

    /// The last record's operation, if it has not ended.
    pub(in crate::driver) fn incomplete(&self) -> Option<OpId> {
        self.record
            .as_ref()
            .filter(|record| record.reached.is_none())
            .map(|record| record.op)
    }
}

impl Simulator {
    /// From now on the event stands for `op`, which was just submitted.
    pub(in crate::driver) fn recorded(
        &mut self,
        event: CUevent,
        op: OpId,
    ) -> Result<(), CudaError> {
        self.captures.forget_event(event);
        let reached = None;
        self.events.get_mut(event)?.record = Some(LastRecord { op, reached });
        if let Some(operation) = self.operations.get(&op) {
            self.pools.event_recorded(event, operation.stream);
            self.ordering.recorded(event, operation.stream, op);
            log::event_recorded(
                Table::<CUevent, Event>::serial(event),
                Table::<CUstream, Stream>::serial(operation.stream),
            );
        }
        Ok(())
    }

    /// Refuses events that a launch cannot record: those of other contexts and those with times.
    pub(in crate::driver) fn check_launch_event(
        &self,
        event: CUevent,
        context: CUcontext,
    ) -> Result<(), CudaError> {
        let event = self.events.get(event)?;
        if event.context != context {
            return Err(CudaError::InvalidHandle);
        }
        if event.is_timed() {
            return Err(CudaError::NotSupported);
        }
        Ok(())
    }

    /// Records an event as part of a launch.
    pub(in crate::driver) fn record_with_launch(
        &mut self,
        event: CUevent,
        stream: CUstream,
        host: Time,
    ) -> Result<(), CudaError> {
        let op = self.submit(stream, host, Effect::Record(event))?;
        op.map_or(Ok(()), |op| self.recorded(event, op))
    }

    /// The stream has reached a record. It counts if the event was neither recorded again nor destroyed since.
    pub(in crate::driver) fn event_recorded(&mut self, event: CUevent, op: OpId, at: Time) {
        if let Ok(event) = self.events.get_mut(event)
            && let Some(record) = event.record.as_mut().filter(|record| record.op == op)
        {
            record.reached = Some(at);
        }
    }
}
