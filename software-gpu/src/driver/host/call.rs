//! One call of the driver by a host thread: its turn, its cost, its wait.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use super::costs::Cost;
use super::idle;
use super::stuck;
use super::threads::{Ordinal, current};
use crate::activity::log;
use crate::call_site::CallSite;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, CUstream};
use crate::driver::reasons::because;
use crate::driver::simulation::engine::Progress;
use crate::driver::simulation::simulator::{Simulator, lock, progress};
use crate::driver::streams::host_function;
use crate::order::{Locate, called_from};
use crate::reports::{self, Kind};
use crate::timeline::{OpId, Time};

/// How long, on the real clock, a thread waits for a sign of life from the others before it concludes that they wait
/// for each other outside of the driver.
const STANDSTILL: Duration = Duration::from_secs(60);

/// The simulator, locked by a thread whose turn it is.
pub(in crate::driver) struct Call {
    /// Always there, except while it is exchanged.
    guard: Option<MutexGuard<'static, Simulator>>,
    clock: Time,
}

/// Makes a call that costs `cost`. The clock has advanced when `body` runs, so that what `body` submits is seen by the
/// device after the call's end.
pub(in crate::driver) fn call<R>(
    cost: Cost,
    body: impl FnOnce(&mut Call) -> Result<R, CudaError>,
) -> Result<R, CudaError> {
    let mut call = Call::of_cost(cost)?;
    let result = body(&mut call);
    call.end();
    result
}

impl Call {
    /// Waits for the thread's turn and lets the simulation come up to its clock.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_PERMITTED` in a host function, `CUDA_ERROR_LAUNCH_TIMEOUT` at a standstill.
    pub(in crate::driver) fn begin() -> Result<Self, CudaError> {
        if current::in_host_function() {
            report_nested_call();
            return Err(CudaError::NotPermitted);
        }
        idle::called();
        let mut call = Self {
            guard: Some(lock()),
            clock: current::clock(),
        };
        call.threads.set_queuing(false);
        loop {
            if call.in_host_function || call.must_yield() {
                call.pause()?;
                continue;
            }
            call.tell_host_accesses();
            call.host_may_have_written();
            call.clock = call.clock.max(call.now);
            call.publish_clock();
            if !call.step(call.clock) {
                log::began(call.clock.as_nanos());
                return Ok(call);
            }
        }
    }

    /// As [`begin`](Self::begin); the call has cost `cost`.
    ///
    /// # Errors
    /// As `begin`, and `CUDA_ERROR_NOT_INITIALIZED` before `cuInit`.
    fn of_cost(cost: Cost) -> Result<Self, CudaError> {
        let mut call = Self::begin()?;
        if !call.initialized {
            return Err(because(
                CudaError::NotInitialized,
                "the driver was not initialised",
                "call cuInit(0) first",
            ));
        }
        call.spend(cost);
        Ok(call)
    }

    /// A call that no thread of the program makes, unless a host function runs.
    pub(super) fn of_nobody(guard: MutexGuard<'static, Simulator>) -> Option<Self> {
        let clock = guard.now;
        let runs = guard.in_host_function;
        (!runs).then_some(Self {
            guard: Some(guard),
            clock,
        })
    }

    /// Passes the turn on, with the simulation at the thread's clock if no other thread can act earlier.
    pub(in crate::driver) fn end(mut self) {
        self.ordering.returned();
        self.publish_clock();
        while !self.in_host_function && !self.must_yield() && self.step(self.clock) {}
        let Simulator {
            effects, memory, ..
        } = &mut *self;
        effects.before_host(memory);
        let Simulator {
            ordering,
            host_accesses,
            ..
        } = &mut *self;
        host_accesses.before_program(ordering);
        self.wake_others();
        idle::called();
    }

    /// The thread's virtual time.
    pub(in crate::driver) fn clock(&self) -> Time {
        self.clock
    }

    /// Host time passes.
    pub(in crate::driver) fn spend(&mut self, cost: Cost) {
        let time = cost.time(self.host());
        self.spend_time(time);
    }

    /// As [`spend`](Self::spend), for work given to a stream. In capture mode every call costs `Cost::Capture`.
    pub(in crate::driver) fn spend_in(&mut self, stream: CUstream, cost: Cost) {
        match self.is_capturing(stream) {
            true => self.spend(Cost::Capture),
            false => self.spend(cost),
        }
    }

    /// As [`spend`](Self::spend).
    pub(in crate::driver) fn spend_time(&mut self, time: Time) {
        self.clock += time;
    }

    /// Lets the simulation come up to the thread's clock in the middle of a call that has spent time.
    ///
    /// # Errors
    /// `CUDA_ERROR_LAUNCH_TIMEOUT` at a standstill.
    pub(in crate::driver) fn catch_up(&mut self) -> Result<(), CudaError> {
        self.publish_clock();
        loop {
            if self.in_host_function || self.must_yield() {
                self.pause()?;
            } else if !self.step(self.clock) {
                return Ok(());
            }
        }
    }

    /// Waits until `operations` have ended; `wake_up` is the time from the end of the last one to the return of the
    /// call, if it has to wait at all.
    ///
    /// # Errors
    /// `CUDA_ERROR_LAUNCH_TIMEOUT` when they cannot end.
    pub(in crate::driver) fn wait(
        &mut self,
        operations: impl IntoIterator<Item = OpId>,
        wake_up: Time,
    ) -> Result<(), CudaError> {
        let operations: Vec<OpId> = operations.into_iter().collect();
        self.notice(&operations);
        let incomplete = operations.into_iter().filter(|op| !self.is_complete(*op));
        let incomplete: BTreeSet<OpId> = incomplete.collect();
        for op in &incomplete {
            self.ordering.operation_synchronized(*op);
        }
        self.linger(incomplete, wake_up)?;
        self.ordering.returned();
        Ok(())
    }

    /// As [`wait`](Self::wait), where no program can count on the wait: it orders nothing for the checker.
    ///
    /// # Errors
    /// As `wait`.
    pub(in crate::driver) fn linger(
        &mut self,
        operations: impl IntoIterator<Item = OpId>,
        wake_up: Time,
    ) -> Result<(), CudaError> {
        let incomplete = operations.into_iter().filter(|op| !self.is_complete(*op));
        let incomplete: BTreeSet<OpId> = incomplete.collect();
        if incomplete.is_empty() {
            return Ok(());
        }
        let clock = self.clock;
        self.publish_clock();
        stuck::awaits(incomplete.first().copied());
        let wait = self.threads.begin_wait(incomplete, clock, wake_up);
        loop {
            if let Some(clock) = self.threads.end_wait(wait) {
                self.clock = clock;
                self.publish_clock();
                return self.regain_turn();
            }
            let limit = self
                .threads
                .earliest(current::ordinal())
                .map_or(Time::MAX, |(clock, _)| clock);
            if !self.in_host_function && self.step(limit) {
                continue;
            }
            if limit == Time::MAX && !self.in_host_function {
                if self.value_may_come() || self.end_value_waits() {
                    continue;
                }
                self.threads.abandon_wait(wait);
                crate::say!("software GPU: a call waits for operations that can never end");
                return Err(CudaError::LaunchTimeout);
            }
            if let Err(standstill) = self.pause() {
                self.threads.abandon_wait(wait);
                return Err(standstill);
            }
        }
    }

    /// For complete operations, the call waits until a query reports their completion.
    fn notice(&mut self, operations: &[OpId]) {
        let over = operations.iter().filter(|op| self.is_complete(**op));
        let ended = over.filter_map(|op| self.timeline.seen_to_end(*op)).max();
        if let Some(ended) = ended {
            self.clock = self.clock.max(ended + self.host().notice_us.micros());
        }
    }

    /// Whether a query can report an operation that ended at `at` as complete.
    pub(in crate::driver) fn has_noticed(&self, at: Time) -> bool {
        at + self.host().notice_us.micros() <= self.clock
    }

    /// Waits for `operations` as a synchronising call does.
    pub(in crate::driver) fn synchronize(
        &mut self,
        operations: impl IntoIterator<Item = OpId>,
    ) -> Result<(), CudaError> {
        let wake_up = self.host().wake_up_us.micros();
        self.wait(operations, wake_up)
    }

    /// The current context, if it can be used.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CONTEXT` when no context is current, `CUDA_ERROR_CONTEXT_IS_DESTROYED`, or the error that a kernel
    /// left behind.
    pub(in crate::driver) fn context(&self) -> Result<CUcontext, CudaError> {
        let current = current::with_contexts(|stack| stack.last().copied());
        let handle = current.filter(|handle| !handle.is_null()).ok_or_else(|| {
            because(
                CudaError::InvalidContext,
                "no context is current to the calling thread",
                "make one current in each thread that calls the driver (cuCtxSetCurrent)",
            )
        })?;
        self.usable(handle)
    }

    /// As [`context`](Self::context), for a context that an object belongs to.
    pub(in crate::driver) fn usable(&self, handle: CUcontext) -> Result<CUcontext, CudaError> {
        let context = self.contexts.get(handle).map_err(|_| {
            because(
                CudaError::ContextIsDestroyed,
                "the current context, or that of the object, was destroyed",
                "destroy a context after the last use of its objects, and make another one current",
            )
        })?;
        context.fault.map_or(Ok(handle), Err)
    }

    /// After a wait, the clock has jumped: others may be earlier now.
    fn regain_turn(&mut self) -> Result<(), CudaError> {
        while self.in_host_function || self.must_yield() {
            self.pause()?;
        }
        Ok(())
    }

    fn must_yield(&self) -> bool {
        current::ordinal().is_some_and(|ordinal| self.threads.must_yield(self.clock, ordinal))
    }

    fn publish_clock(&mut self) {
        let clock = self.clock;
        current::set_clock(clock);
        if let Some(ordinal) = current::ordinal() {
            self.threads.set_clock(ordinal, clock);
        }
    }

    /// Lets one thing happen, if it is not later than `limit`.
    pub(super) fn step(&mut self, limit: Time) -> bool {
        match (**self).step(limit) {
            Progress::Nothing => return false,
            Progress::Happened => {}
            Progress::Call(op, callback, status) => {
                let at = self.now;
                self.in_host_function = true;
                self.host_function = Some(op);
                let Simulator {
                    effects, memory, ..
                } = &mut **self;
                effects.before_host(memory);
                self.ordering.host_function_began(op);
                if let Some(clock) = self.ordering.clock_of(op) {
                    self.host_accesses.before_host_function(&clock);
                }
                self.guard = None;
                let waits = stuck::waits();
                let duration = host_function::run(callback, status, at);
                drop(waits);
                self.guard = Some(lock());
                self.tell_seen();
                self.in_host_function = false;
                self.host_function = None;
                self.ordering.host_function_returned(op);
                self.timeline.complete_host_function(op, duration);
            }
        }
        self.wake_others();
        true
    }

    /// Lets other threads act for a moment of real time. Returns whether any did.
    pub(in crate::driver) fn pause_briefly(&mut self, moment: Duration) -> bool {
        let seen = self.progress;
        self.sleepers += 1;
        let Some(guard) = self.guard.take() else {
            return false;
        };
        let result = progress().wait_timeout(guard, moment);
        let (guard, _) = result.unwrap_or_else(PoisonError::into_inner);
        self.guard = Some(guard);
        self.sleepers -= 1;
        self.progress != seen
    }

    /// Lets other threads act.
    fn pause(&mut self) -> Result<(), CudaError> {
        self.threads.set_queuing(true);
        idle::wakes();
        self.wake_others();
        let seen = self.progress;
        self.sleepers += 1;
        let Some(guard) = self.guard.take() else {
            return Ok(());
        };
        let waits = stuck::waits();
        let result = progress().wait_timeout(guard, STANDSTILL);
        drop(waits);
        let (guard, timeout) = result.unwrap_or_else(PoisonError::into_inner);
        self.guard = Some(guard);
        self.sleepers -= 1;
        self.threads.set_queuing(false);
        if timeout.timed_out() && !self.in_host_function && self.progress == seen {
            let holder = self.threads.earliest(current::ordinal());
            report_standstill(self.clock, holder);
            return Err(CudaError::LaunchTimeout);
        }
        Ok(())
    }
}

fn report_nested_call() {
    let site = CallSite::here();
    let place = site.locate().unwrap_or_else(|| "unknown place".to_owned());
    reports::add(Kind::HostFunction, place.clone(), Vec::new(), || {
        format!(
            "host function: a function that a stream calls has called the driver ({place}){}\n  \
             The call returns CUDA_ERROR_NOT_PERMITTED: it could wait for work behind the function itself, and that \
             wait would never end.\n  \
             The function needs no wait: the work before it in the stream is complete when it runs. Submit more work \
             after the function, to the stream or from another thread",
            called_from(site.callers())
        )
    });
}

fn report_standstill(clock: Time, holder: Option<(Time, Ordinal)>) {
    let holder = holder.map_or_else(
        || "no thread holds it back".to_owned(),
        |(clock, ordinal)| {
            format!(
                "host thread {ordinal}, whose clock is at {clock}, has not called the driver since"
            )
        },
    );
    crate::say!(
        "software GPU: a call at {clock} waited {} s for its turn: {holder}. A thread of host::threads must not wait \
         for another one outside of the driver.",
        STANDSTILL.as_secs()
    );
}

impl Deref for Call {
    type Target = Simulator;

    fn deref(&self) -> &Simulator {
        self.guard
            .as_deref()
            .expect("held except inside `step` and `pause`")
    }
}

impl DerefMut for Call {
    fn deref_mut(&mut self) -> &mut Simulator {
        self.guard
            .as_deref_mut()
            .expect("held except inside `step` and `pause`")
    }
}
