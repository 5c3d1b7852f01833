//! The modelled host threads, and the order in which their calls take effect.
//!
//! Every thread has a virtual clock. Threads that the program starts by itself take effect in the order in which they
//! happen to call. Threads of [`host::threads`](crate::host::threads) are *registered*: a call at virtual time *t*
//! waits until no other registered thread can still make an earlier one, so that the order of effects does not depend
//! on the machine. The rule is that of conservative parallel simulation:
//!
//! - a thread that runs host code may call at its own clock or later, so it holds back all that are later;
//! - a thread that waits for the device inside a call does not hold others back; it runs again from the moment at which what
//!   it waits for has ended, and the simulation never passes that moment while an earlier thread could still act.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::driver::c_abi::types::CUcontext;
use crate::timeline::{OpId, Time};

// A program may call the driver until its very end: in exit handlers, and in destructors of global and of thread-local objects.
// So none of these may have a destructor, behind which it could not be used any more. A thread that has had a context leaves its
// stack behind, 32 bytes.
thread_local! {
    static CLOCK: Cell<Time> = const { Cell::new(Time::ZERO) };
    static ORDINAL: Cell<Option<Ordinal>> = const { Cell::new(None) };
    static SERIAL: Cell<Option<ThreadSerial>> = const { Cell::new(None) };
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
    static CONTEXTS: RefCell<ManuallyDrop<Vec<CUcontext>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// A registered thread's place among those with the same clock.
pub(in crate::driver) type Ordinal = u64;

/// Distinguishes threads; the order has no meaning.
pub(in crate::driver) type ThreadSerial = u64;

/// The calling thread.
pub(in crate::driver) mod current {
    use super::*;

    pub(in crate::driver) fn clock() -> Time {
        CLOCK.get()
    }

    pub(in crate::driver) fn set_clock(clock: Time) {
        CLOCK.set(clock);
    }

    pub(in crate::driver) fn ordinal() -> Option<Ordinal> {
        ORDINAL.get()
    }

    pub(in crate::driver) fn set_ordinal(ordinal: Option<Ordinal>) {
        ORDINAL.set(ordinal);
    }

    pub(in crate::driver) fn serial() -> ThreadSerial {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        SERIAL.get().unwrap_or_else(|| {
            let serial = NEXT.fetch_add(1, Ordering::Relaxed);
            SERIAL.set(Some(serial));
            serial
        })
    }

    /// Whether the thread runs a host function on behalf of the driver.
    pub(in crate::driver) fn in_host_function() -> bool {
        IN_HOST_FUNCTION.get()
    }

    #[cfg(not(target_family = "wasm"))]
    pub(in crate::driver) fn enter_host_functions() {
        IN_HOST_FUNCTION.set(true);
    }

    /// Runs a host function at `at` on the program's only thread, which is the program's again afterwards.
    #[cfg(target_family = "wasm")]
    pub(in crate::driver) fn during_host_function<R>(at: Time, run: impl FnOnce() -> R) -> R {
        let (clock, ordinal) = (CLOCK.replace(at), ORDINAL.take());
        IN_HOST_FUNCTION.set(true);
        let result = run();
        IN_HOST_FUNCTION.set(false);
        CLOCK.set(clock);
        ORDINAL.set(ordinal);
        result
    }

    /// Begins anew.
    #[cfg(fuzzing)]
    pub(in crate::driver) fn reset() {
        CLOCK.set(Time::ZERO);
        ORDINAL.set(None);
        CONTEXTS.with_borrow_mut(|stack| stack.clear());
    }

    /// The thread's stack of contexts; the last one is current.
    pub(in crate::driver) fn with_contexts<R>(
        use_stack: impl FnOnce(&mut Vec<CUcontext>) -> R,
    ) -> R {
        CONTEXTS.with_borrow_mut(|stack| use_stack(stack))
    }
}

/// The registered threads and all threads that wait for the device.
#[derive(Debug, Default)]
pub(in crate::driver) struct HostThreads {
    given: Ordinal,
    registered: BTreeMap<Ordinal, Registered>,
    waits: BTreeMap<WaitId, HostWait>,
    next_wait: WaitId,
}

#[derive(Debug)]
struct Registered {
    clock: Time,
    /// Inside a call, waiting for the device or for threads of its own.
    waiting: bool,
    /// Inside a call, waiting for its turn.
    queues: bool,
    /// Blocked outside of the driver: it delays no other thread until it calls.
    absent: bool,
}

/// One thread's wait for the end of operations.
pub(in crate::driver) type WaitId = u64;

#[derive(Debug)]
struct HostWait {
    remaining: BTreeSet<OpId>,
    ended: Time,
    wake_up: Time,
    thread: Option<Ordinal>,
}

impl HostThreads {
    /// Registers a thread that starts at `clock`.
    pub(in crate::driver) fn register(&mut self, clock: Time) -> Ordinal {
        let ordinal = self.given;
        self.given += 1;
        let thread = Registered {
            clock,
            waiting: false,
            queues: false,
            absent: false,
        };
        self.registered.insert(ordinal, thread);
        ordinal
    }

    pub(in crate::driver) fn unregister(&mut self, ordinal: Ordinal) {
        self.registered.remove(&ordinal);
    }

    pub(in crate::driver) fn set_clock(&mut self, ordinal: Ordinal, clock: Time) {
        if let Some(thread) = self.registered.get_mut(&ordinal) {
            thread.clock = clock;
        }
    }

    /// Marks a thread as waiting for threads of its own, which are registered too.
    pub(in crate::driver) fn set_waiting(&mut self, ordinal: Ordinal, waiting: bool) {
        if let Some(thread) = self.registered.get_mut(&ordinal) {
            thread.waiting = waiting;
        }
    }

    /// Marks the calling thread as waiting for its turn, or as having it.
    pub(in crate::driver) fn set_queuing(&mut self, queues: bool) {
        let ordinal = current::ordinal();
        if let Some(thread) = ordinal.and_then(|ordinal| self.registered.get_mut(&ordinal)) {
            thread.queues = queues;
            thread.absent = false;
        }
    }

    /// All threads are blocked: those that are outside of the driver wait for something that the others or the device do.
    /// Whether there are any that held others back until now.
    pub(in crate::driver) fn leave_out_absent(&mut self) -> bool {
        let outside = |thread: &&mut Registered| !thread.waiting && !thread.queues;
        let threads = self.registered.values_mut().filter(outside);
        let mut any = false;
        for thread in threads {
            any |= !std::mem::replace(&mut thread.absent, true);
        }
        any
    }

    /// The clock of the earliest thread that may call, other than `except`; and its ordinal.
    pub(in crate::driver) fn earliest(&self, except: Option<Ordinal>) -> Option<(Time, Ordinal)> {
        self.registered
            .iter()
            .filter(|(ordinal, thread)| {
                !thread.waiting && !thread.absent && Some(**ordinal) != except
            })
            .map(|(ordinal, thread)| (thread.clock, *ordinal))
            .min()
    }

    /// Whether a registered thread at `clock` has to let another one go first.
    pub(in crate::driver) fn must_yield(&self, clock: Time, ordinal: Ordinal) -> bool {
        self.earliest(Some(ordinal))
            .is_some_and(|other| other < (clock, ordinal))
    }

    /// The calling thread begins to wait for `operations`, and will have the clock of the last one's end plus
    /// `wake_up`.
    pub(in crate::driver) fn begin_wait(
        &mut self,
        operations: BTreeSet<OpId>,
        clock: Time,
        wake_up: Time,
    ) -> WaitId {
        let thread = current::ordinal();
        if let Some(ordinal) = thread {
            self.set_waiting(ordinal, true);
        }
        let id = self.next_wait;
        self.next_wait += 1;
        let ended = clock;
        let wait = HostWait {
            remaining: operations,
            ended,
            wake_up,
            thread,
        };
        self.waits.insert(id, wait);
        id
    }

    /// `op` ended: the threads that waited only for it run again, from this moment.
    pub(in crate::driver) fn ended(&mut self, op: OpId, at: Time) {
        for wait in self.waits.values_mut() {
            if !wait.remaining.remove(&op) {
                continue;
            }
            wait.ended = wait.ended.max(at);
            if wait.remaining.is_empty()
                && let Some(thread) = wait
                    .thread
                    .and_then(|thread| self.registered.get_mut(&thread))
            {
                thread.waiting = false;
                thread.clock = wait.ended + wait.wake_up;
            }
        }
    }

    /// The clock after the wait, if the wait has ended.
    pub(in crate::driver) fn end_wait(&mut self, id: WaitId) -> Option<Time> {
        if !self.waits.get(&id)?.remaining.is_empty() {
            return None;
        }
        self.waits.remove(&id).map(|wait| wait.ended + wait.wake_up)
    }

    /// Abandons a wait that can never end.
    pub(in crate::driver) fn abandon_wait(&mut self, id: WaitId) {
        if let Some(thread) = self.waits.remove(&id).and_then(|wait| wait.thread) {
            self.set_waiting(thread, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{OperationStage, Profile, Timeline};

    fn nanos(nanoseconds: u64) -> Time {
        Time::from_nanos(nanoseconds)
    }

    fn operations<const N: usize>() -> [OpId; N] {
        let mut timeline = Timeline::new(&[Profile::h200()], 8);
        let stream = timeline.add_stream(0, 0);
        [(); N].map(|()| timeline.submit(stream, Time::ZERO, OperationStage::Marker, &[]))
    }

    #[test]
    fn the_earliest_thread_goes_first_and_the_index_decides_between_equals() {
        let mut threads = HostThreads::default();
        let [a, b] = [nanos(5), nanos(5)].map(|clock| threads.register(clock));
        assert!(!threads.must_yield(nanos(5), a));
        assert!(threads.must_yield(nanos(5), b));
        threads.set_clock(a, nanos(6));
        assert!(!threads.must_yield(nanos(5), b));
        threads.unregister(b);
        assert!(!threads.must_yield(nanos(6), a));
    }

    #[test]
    fn a_waiting_thread_delays_no_other_until_its_operation_has_ended() {
        let mut threads = HostThreads::default();
        let [first, second] = operations();
        let [a, b] = [nanos(0), nanos(10)].map(|clock| threads.register(clock));
        current::set_ordinal(Some(a));
        let wait = threads.begin_wait(BTreeSet::from([first, second]), nanos(0), nanos(1));
        assert!(!threads.must_yield(nanos(10), b));
        threads.ended(second, nanos(7));
        assert_eq!(threads.end_wait(wait), None);
        threads.ended(first, nanos(4));
        assert!(threads.must_yield(nanos(10), b));
        assert_eq!(threads.earliest(None), Some((nanos(8), a)));
        assert_eq!(threads.end_wait(wait), Some(nanos(8)));
        current::set_ordinal(None);
    }
}
