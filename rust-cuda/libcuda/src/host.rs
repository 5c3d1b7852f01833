//! The host's clock, work and threads, on the same time axis as the driver's events.
//!
//! With NVIDIA's driver the host is the machine: time is measured and work takes as long as it
//! takes. With the software GPU the host is modelled: its clock is virtual, so work must say what
//! it costs there, and threads take turns in the order of their virtual time.
//!
//! While no driver is chosen the host is the machine.

use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// The host clock, since an arbitrary origin that is the same for all threads.
pub fn now() -> Duration {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed()
}

/// CPU work: runs `body`, which takes `cost` on the modelled host.
///
/// On a real host `cost` is not used: the clock advances by what `body` takes.
pub fn work<R>(cost: Duration, body: impl FnOnce() -> R) -> R {
    let _ = cost;
    body()
}

/// CPU work that streams through `bytes` of host memory (read and written bytes together): runs
/// `body`, which on the modelled host takes as long as its memory bandwidth says.
pub fn memory_work<R>(bytes: u64, body: impl FnOnce() -> R) -> R {
    let _ = bytes;
    body()
}

/// Runs `body(0)` to `body(count - 1)`, each on a thread of its own, and returns their results in
/// this order. A panic in one of them goes on in the caller.
///
/// On the modelled host the threads' CUDA calls take effect in the order of their virtual time,
/// then of their index, so that the program's result does not depend on the machine.
pub fn threads<R: Send>(count: usize, body: impl Fn(usize) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let body = &body;
        let threads: Vec<_> = (0..count)
            .map(|index| scope.spawn(move || body(index)))
            .collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}
