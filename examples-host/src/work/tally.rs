//! What the calling thread has enqueued: the counters that plans are checked against.
//!
//! The observer of the driver's calls adds every copy and launch to them. They are per host thread, so that counting
//! costs an addition and no lock; [`crate::threads::on_threads`] adds what its threads enqueued to
//! the thread that started them.

use crate::intervals::{Engine, Recording};
use std::cell::Cell;
use std::ops::{Add, AddAssign, Sub};

/// An amount of work on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkAmount {
    /// Bytes copied from host to device.
    pub bytes_in: u64,
    /// Bytes copied from device to host.
    pub bytes_out: u64,
    /// Kernel launches.
    pub launches: u64,
    /// Threads of all launches.
    pub threads: u64,
}

impl Add for WorkAmount {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            bytes_in: self.bytes_in + other.bytes_in,
            bytes_out: self.bytes_out + other.bytes_out,
            launches: self.launches + other.launches,
            threads: self.threads + other.threads,
        }
    }
}

impl Sub for WorkAmount {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            bytes_in: self.bytes_in - other.bytes_in,
            bytes_out: self.bytes_out - other.bytes_out,
            launches: self.launches - other.launches,
            threads: self.threads - other.threads,
        }
    }
}

impl AddAssign for WorkAmount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

thread_local! {
    static ENQUEUED: Cell<WorkAmount> = const { Cell::new(WorkAmount { bytes_in: 0, bytes_out: 0, launches: 0, threads: 0 }) };
}

/// Everything the calling thread has enqueued so far.
pub fn enqueued() -> WorkAmount {
    ENQUEUED.get()
}

/// The operations of a recording. Its threads are not known.
pub(crate) fn of_recording(recording: &Recording) -> WorkAmount {
    let bytes = |engine| {
        let of = recording.intervals.iter().filter(|i| i.engine == engine);
        of.map(|interval| interval.bytes).sum()
    };
    WorkAmount {
        bytes_in: bytes(Engine::HostToDevice),
        bytes_out: bytes(Engine::DeviceToHost),
        launches: recording.of(Engine::Kernel).len() as u64,
        threads: 0,
    }
}

/// Adds to the calling thread's count.
#[inline]
pub(crate) fn add(work: WorkAmount) {
    ENQUEUED.set(ENQUEUED.get() + work);
}
