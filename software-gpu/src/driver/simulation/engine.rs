//! The loop that joins the models: the timeline says what happens next, and here it does.

use super::operation::{Callback, CallbackFunction, Effect, Operation, Place};
use super::simulator::Simulator;
use crate::activity::{self, Activity, Kind};
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::handles::Table;
use crate::driver::c_abi::types::{CUresult, CUstream};
use crate::driver::checkers::ordering::Ordering;
use crate::driver::host::idle;
use crate::driver::streams::event::Event;
use crate::driver::streams::stream::Stream;
use crate::memory::is_device_address;
use crate::timeline::{CopyKind, Happening, KernelCost, Manner, OpId, OperationStage, Time};

/// What [`Simulator::step`] did.
pub(in crate::driver) enum Progress {
    /// Nothing happens until the limit.
    Nothing,
    /// One thing happened.
    Happened,
    /// A host function is to be called now, with the lock released; then
    /// [`Timeline::complete_host_function`](crate::timeline::Timeline::complete_host_function).
    Call(OpId, Callback, CUresult),
}

impl Simulator {
    /// Submits work to a stream. `host` is the time of the call. `None` if the stream is capturing: the work has become
    /// a node of a graph, and nothing runs.
    pub(in crate::driver) fn submit(
        &mut self,
        stream: CUstream,
        host: Time,
        effect: Effect,
    ) -> Result<Option<OpId>, CudaError> {
        if self.is_capturing(stream) {
            return self.capture(stream, effect).map(|()| None);
        }
        let after = self.dependencies(stream)?;
        self.submit_after(stream, host, effect, &after).map(Some)
    }

    /// As [`submit`](Self::submit), after `after` instead of what the stream's kind asks for.
    pub(in crate::driver) fn submit_after(
        &mut self,
        stream: CUstream,
        host: Time,
        effect: Effect,
        after: &[OpId],
    ) -> Result<OpId, CudaError> {
        self.submit_told(
            stream,
            host,
            effect,
            after,
            None,
            |ordering, op, operation| {
                ordering.submitted(op, operation, after);
            },
        )
    }

    /// Submits a node of a graph whose launch began with `launch`, after `after` alone.
    pub(in crate::driver) fn submit_node(
        &mut self,
        launch: OpId,
        stream: CUstream,
        host: Time,
        effect: Effect,
        after: &[OpId],
    ) -> Result<OpId, CudaError> {
        let node = Some(launch);
        self.submit_told(
            stream,
            host,
            effect,
            after,
            node,
            |ordering, op, operation| {
                ordering.submitted_node(launch, op, operation, after);
            },
        )
    }

    fn submit_told(
        &mut self,
        stream: CUstream,
        host: Time,
        effect: Effect,
        after: &[OpId],
        launch: Option<OpId>,
        tell: impl FnOnce(&mut Ordering, OpId, &Operation),
    ) -> Result<OpId, CudaError> {
        let op = self.enqueue(stream, host, effect, after, launch)?;
        if let Some(operation) = self.operations.get(&op) {
            tell(&mut self.ordering, op, operation);
            self.host_accesses
                .submitted(&self.ordering, op, &operation.effect);
        }
        Ok(op)
    }

    fn enqueue(
        &mut self,
        stream: CUstream,
        host: Time,
        effect: Effect,
        after: &[OpId],
        launch: Option<OpId>,
    ) -> Result<OpId, CudaError> {
        let at = host.max(self.now);
        let state = self.streams.get_mut(stream)?;
        let work = match effect {
            Effect::Record(event) if self.events.get(event).is_ok_and(Event::is_timed) => {
                OperationStage::Timestamp
            }
            _ => effect.work(),
        };
        let early = matches!(&effect, Effect::Kernel(launch) if launch.programmatic);
        let manner = Manner { early, launch };
        let op = self
            .timeline
            .submit_as(state.timeline, at, work, after, manner);
        state.last = Some(op);
        if let Effect::Kernel(launch) = &effect
            && let Some(priority) = launch.priority
        {
            self.timeline.set_kernel_priority(op, priority);
        }
        let operation = Operation {
            context: state.context,
            stream,
            correlation: activity::correlation(op.index()),
            started: at,
            call_site: self.call_site(),
            effect,
        };
        if operation.effect.is_recorded() {
            let stream = Table::<CUstream, Stream>::serial(stream);
            activity::log::submitted(stream, operation.correlation);
        }
        self.operations.insert(op, operation);
        idle::wakes();
        self.track_order(stream, op);
        Ok(op)
    }

    /// Lets the next thing happen, if it is not later than `limit`.
    pub(in crate::driver) fn step(&mut self, limit: Time) -> Progress {
        self.release_value_waits();
        match self.timeline.step(limit) {
            None => {
                if limit < Time::MAX {
                    self.now = self.now.max(limit);
                }
                Progress::Nothing
            }
            Some(Happening::Started { op, at }) => {
                self.now = self.now.max(at);
                self.started(op, at)
            }
            Some(Happening::Ended { op, at }) => {
                self.now = self.now.max(at);
                self.ended(op, at);
                Progress::Happened
            }
        }
    }

    fn started(&mut self, op: OpId, at: Time) -> Progress {
        let Some(operation) = self.operations.get_mut(&op) else {
            return Progress::Happened;
        };
        operation.started = at;
        let fault = self
            .contexts
            .get(operation.context)
            .ok()
            .and_then(|context| context.fault);
        if fault.is_none() {
            self.ordering.started(op, &operation.effect);
        }
        match &operation.effect {
            Effect::HostFunction(callback) => {
                let skipped =
                    fault.is_some() && matches!(callback.function, CallbackFunction::Host(_));
                if skipped {
                    self.timeline.complete_host_function(op, Time::ZERO);
                    return Progress::Happened;
                }
                let status = CUresult::from(fault.map_or(Ok(()), Err));
                return Progress::Call(op, *callback, status);
            }
            Effect::Copy(copy) if fault.is_none() && reads_at_start(copy.kind) => {
                if let Place::Mapped(from) = copy.from.place {
                    self.effects
                        .copy_started(op, from, copy.from.rows, &self.memory);
                }
            }
            Effect::WaitValue(wait) if fault.is_none() => {
                self.value_waits.insert(op, *wait);
            }
            Effect::WaitValue(_) => self.timeline.value_came(op, at),
            Effect::Kernel(_) if fault.is_none() => self.execute(op, at),
            Effect::Kernel(_) => self.timeline.set_kernel_cost(op, KernelCost::default()),
            _ => {}
        }
        Progress::Happened
    }

    fn ended(&mut self, op: OpId, at: Time) {
        let Some(operation) = self.operations.remove(&op) else {
            return;
        };
        self.record_activity(&operation, at);
        let failed = self
            .contexts
            .get(operation.context)
            .is_ok_and(|context| context.fault.is_some());
        let failed = failed || self.memory_is_gone(&operation);
        if !failed {
            self.check_ended(&operation);
            self.fill_cache(&operation);
        }
        let effect = operation.effect;
        let landing = self.about_to_land(op, &effect);
        match &effect {
            Effect::Record(event) => self.event_recorded(*event, op, at),
            _ if failed => self.effects.discard(op, &self.memory),
            Effect::Kernel(launch) => match launch.fault {
                Some(fault) => {
                    self.effects.discard(op, &self.memory);
                    self.poison(operation.context, fault);
                }
                None => {
                    let of_host = self.effects.kernel_ended(op, &self.memory);
                    self.noticeable += u64::from(of_host);
                }
            },
            // The program's memory may be gone.
            Effect::Copy(copy) if self.finishing && copy.pageable => {
                self.effects.discard(op, &self.memory)
            }
            Effect::Copy(copy) => self.effects.copy_ended(op, copy, &self.memory),
            Effect::Set(set) => self.effects.set_ended(set, &self.memory),
            Effect::WriteValue(value) => self.effects.value_written(*value, &self.memory),
            Effect::HostFunction(_)
            | Effect::WaitValue(_)
            | Effect::Wait
            | Effect::Mark
            | Effect::Upload
            | Effect::Prefetch(_)
            | Effect::Attach
            | Effect::Allocate(_)
            | Effect::Free(_) => {}
        }
        self.noticeable += u64::from(effect.is_noticeable());
        self.landed(op, &effect, landing);
        self.host_accesses.ended(&self.ordering, op);
        self.ordering.ended(op);
        self.threads.ended(op, at);
        self.forget_some(op);
    }

    /// What a copy or a memset writes to device memory passes through the L2 cache.
    fn fill_cache(&mut self, operation: &Operation) {
        let writes = match &operation.effect {
            Effect::Copy(copy) => copy.accesses().writes,
            Effect::Set(set) => set.accesses().writes,
            _ => return,
        };
        let Ok(context) = self.contexts.get(operation.context) else {
            return;
        };
        let cache = &mut self.devices[context.device].cache;
        for range in writes.iter().filter(|range| is_device_address(range.start)) {
            cache.fill(range.start, range.end - range.start);
        }
    }

    fn record_activity(&mut self, operation: &Operation, end: Time) {
        let (kind, name, bytes, pageable) = match &operation.effect {
            Effect::Kernel(launch) => (Kind::Kernel, launch.name(), 0, false),
            Effect::Copy(copy) => {
                let bytes = copy.bytes() as u64;
                (Kind::from(copy.kind), "", bytes, copy.pageable)
            }
            Effect::Set(set) => (Kind::Set, "", set.rows.bytes().unwrap_or(0) as u64, false),
            Effect::HostFunction(_) => (Kind::HostFunction, "", 0, false),
            Effect::Prefetch(prefetch) if prefetch.bytes > 0 => {
                let name = "prefetch of managed memory";
                (Kind::from(prefetch.kind), name, prefetch.bytes, false)
            }
            Effect::Prefetch(_)
            | Effect::Attach
            | Effect::Record(_)
            | Effect::Wait
            | Effect::WaitValue(_)
            | Effect::WriteValue(_)
            | Effect::Mark
            | Effect::Upload
            | Effect::Allocate(_)
            | Effect::Free(_) => return,
        };
        let context = self.contexts.get(operation.context);
        let device = context.map_or(0, |context| context.device);
        let activity = || Activity {
            device,
            kind,
            name: if name.is_empty() {
                kind.to_string()
            } else {
                name.to_owned()
            },
            stream: Table::<CUstream, Stream>::serial(operation.stream),
            start_ns: operation.started.as_nanos(),
            end_ns: end.as_nanos(),
            bytes,
            pageable,
            correlation: operation.correlation,
        };
        self.activities.record(activity);
        activity::log::ended(activity);
    }

    /// Keeps the timeline's memory bounded in long runs.
    fn forget_some(&mut self, op: OpId) {
        const EVERY: u64 = 256;
        if op.index().is_multiple_of(EVERY) {
            let oldest = self.operations.keys().next().copied();
            self.timeline.forget(oldest.unwrap_or(op));
        }
    }
}

fn reads_at_start(kind: CopyKind) -> bool {
    !matches!(kind, CopyKind::HostToDevice | CopyKind::HostToHost)
}
