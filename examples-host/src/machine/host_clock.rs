//! The host's clock and the host's work, on either device.
//!
//! On NVIDIA's driver these are the real thing. On the software GPU the host is modelled as the
//! device is: the clock is virtual, CPU work is a cost in that clock, and host threads ([`crate::threads`])
//! take turns by virtual time, so that a program's timeline is the same on every machine.

use libcuda::Driver;
use std::time::{Duration, Instant};

/// The time since an arbitrary start.
pub fn now() -> Duration {
    libcuda::host::now()
}

/// CPU work: runs `body`, which takes `cost` on the modelled host and as long as it takes on a real
/// one.
pub fn work<R>(cost: Duration, body: impl FnOnce() -> R) -> R {
    libcuda::host::work(cost, body)
}

/// Keeps the CPU busy for `duration`.
pub fn spend(duration: Duration) {
    let modelled = libcuda::selected().is_some_and(|selected| selected.driver == Driver::Software);
    work(duration, || {
        let start = Instant::now();
        while !modelled && start.elapsed() < duration {
            std::hint::spin_loop();
        }
    });
}

/// CPU work that streams through `bytes` of host memory, read and written together; see [`work`].
pub fn memory_work<R>(bytes: u64, body: impl FnOnce() -> R) -> R {
    libcuda::host::memory_work(bytes, body)
}

/// CPU work that counts `bytes` bytes in a table, as a histogram does; see [`work`].
pub fn counting_work<R>(bytes: u64, body: impl FnOnce() -> R) -> R {
    libcuda::host::counting_work(bytes, body)
}
