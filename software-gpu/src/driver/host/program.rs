//! The driver's side of [`host`](crate::host).

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::time::Duration;

use super::call::Call;
use super::costs;
use super::idle;
use super::threads::{Ordinal, ThreadSerial, current};
use crate::driver::simulation::simulator::lock;
use crate::timeline::Time;

/// The calling thread's clock. A thread that is not ordered by virtual time is never behind the simulation.
pub(crate) fn host_now() -> Duration {
    idle::declares_work();
    let own = current::clock();
    if current::in_host_function() || current::ordinal().is_some() {
        return own.into();
    }
    own.max(lock().now).into()
}

/// The calling thread computes for `cost`.
pub(crate) fn host_work(cost: Time) {
    idle::declares_work();
    if current::in_host_function() {
        // The simulation stands still; what a host function costs is counted when it returns.
        current::set_clock(current::clock() + cost);
        return;
    }
    // At a standstill, which has been reported, work takes no time.
    if let Ok(mut call) = Call::begin() {
        call.spend_time(cost);
        call.end();
    }
}

/// The calling thread streams through `bytes` of memory.
pub(crate) fn host_memory_work(bytes: u64) {
    let cost = costs::memory_work(lock().host(), bytes);
    host_work(cost);
}

/// The calling thread counts `bytes` bytes in a table.
pub(crate) fn host_counting_work(bytes: u64) {
    let cost = costs::counting_work(lock().host(), bytes);
    host_work(cost);
}

/// Runs `body` on registered threads.
pub(crate) fn host_threads<R: Send>(count: usize, body: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let start = current::clock();
    let parent = current::ordinal();
    let (ordinals, start) = register(count, start, parent);
    let results: Vec<_> = thread::scope(|scope| {
        let body = &body;
        let start_thread = |(index, ordinal)| {
            scope.spawn(move || {
                current::set_clock(start);
                current::set_ordinal(Some(ordinal));
                let result = catch_unwind(AssertUnwindSafe(|| body(index)));
                unregister(ordinal, parent);
                (result, current::clock(), current::serial())
            })
        };
        let threads: Vec<_> = ordinals.into_iter().enumerate().map(start_thread).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    let end = results
        .iter()
        .map(|(_, clock, _)| *clock)
        .max()
        .unwrap_or(start);
    resume_parent(parent, end, results.iter().map(|(_, _, serial)| *serial));
    results
        .into_iter()
        .map(|(result, _, _)| result.unwrap_or_else(|panic| resume_unwind(panic)))
        .collect()
}

/// Registers threads that are started at `start`, and says when they run.
fn register(count: usize, start: Time, parent: Option<Ordinal>) -> (Vec<Ordinal>, Time) {
    let mut simulator = lock();
    let start = start + simulator.host().thread_start_us.micros();
    let ordinals: Vec<_> = (0..count)
        .map(|_| simulator.threads.register(start))
        .collect();
    simulator.ordering.threads_started(parent, &ordinals);
    if let Some(parent) = parent {
        simulator.threads.set_waiting(parent, true);
    }
    (ordinals, start)
}

fn unregister(ordinal: Ordinal, parent: Option<Ordinal>) {
    let mut simulator = lock();
    simulator.ordering.thread_joined(parent, ordinal);
    simulator.threads.unregister(ordinal);
    simulator.wake_others();
}

fn resume_parent(parent: Option<Ordinal>, end: Time, ended: impl Iterator<Item = ThreadSerial>) {
    current::set_clock(end);
    let mut simulator = lock();
    for serial in ended {
        simulator.remove_per_thread_streams(serial);
    }
    if let Some(parent) = parent {
        simulator.threads.set_clock(parent, end);
        simulator.threads.set_waiting(parent, false);
    }
}
