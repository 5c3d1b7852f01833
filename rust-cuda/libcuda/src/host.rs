//! The host's clock, work and threads, on the same time axis as the driver's events.
//!
//! With NVIDIA's driver the host is the machine: time is measured and work takes as long as it
//! takes. With the software GPU the host is modelled: its clock is virtual, so work must say what
//! it costs there, and threads take turns in the order of their virtual time.
//!
//! While no driver is chosen the host is the machine.

use crate::selection::{Driver, selected};
use std::panic::{Location, resume_unwind};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// The calling thread's clock, since an origin that is the same for all threads.
pub fn now() -> Duration {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    if is_modelled() {
        software_gpu::host::now()
    } else {
        ORIGIN.get_or_init(Instant::now).elapsed()
    }
}

/// CPU work: runs `body`, which takes `cost` on the modelled host.
///
/// On a real host `cost` is not used: the clock advances by what `body` takes. On the modelled
/// host `body` sees memory as it is at the start of the work.
pub fn work<R>(cost: Duration, body: impl FnOnce() -> R) -> R {
    let result = body();
    if is_modelled() {
        software_gpu::host::work(cost);
    }
    result
}

/// CPU work that streams through `bytes` of host memory (read and written bytes together): as
/// [`work`], at the cost that the modelled host's memory bandwidth gives.
pub fn memory_work<R>(bytes: u64, body: impl FnOnce() -> R) -> R {
    let result = body();
    if is_modelled() {
        software_gpu::host::memory_work(bytes);
    }
    result
}

/// CPU work that counts `bytes` bytes in a table, as a histogram does: as [`work`], at the cost that
/// the modelled host's profile gives.
pub fn counting_work<R>(bytes: u64, body: impl FnOnce() -> R) -> R {
    let result = body();
    if is_modelled() {
        software_gpu::host::counting_work(bytes);
    }
    result
}

/// Runs `call`, whose calls of the driver are made at the caller's line. In WebAssembly nothing can walk the stack, so the
/// reports of the software GPU name the line that was noted last; elsewhere they find it themselves.
#[track_caller]
pub fn noted<R>(call: impl FnOnce() -> R) -> R {
    software_gpu::note_call_site(Location::caller());
    call()
}

/// The calling code reads `bytes` bytes of page-locked memory now. The software GPU's ordering checker compares that
/// with what the device writes; with NVIDIA's driver it means nothing.
#[track_caller]
pub fn reads(start: *const u8, bytes: usize) {
    if is_modelled() {
        software_gpu::host::reads(start, bytes);
    }
}

/// The calling code has just loaded a flag in these bytes of page-locked memory, and continues after whatever has written it. With
/// NVIDIA's driver it means nothing.
pub fn acquires(flag: *const u8, bytes: usize) {
    if is_modelled() {
        software_gpu::host::acquires(flag, bytes);
    }
}

/// As [`reads`]: the calling code writes.
#[track_caller]
pub fn writes(start: *const u8, bytes: usize) {
    if is_modelled() {
        software_gpu::host::writes(start, bytes);
    }
}

/// Runs `body(0)` to `body(count - 1)`, each on a thread of its own, and returns their results in
/// this order. A panic in one of them continues in the caller.
///
/// On the modelled host the threads' CUDA calls take effect in the order of their virtual time,
/// then of their index, so that the program's result does not depend on the machine.
pub fn threads<R: Send>(count: usize, body: impl Fn(usize) -> R + Sync) -> Vec<R> {
    if is_modelled() {
        software_gpu::host::threads(count, body)
    } else {
        real_threads(count, &body)
    }
}

fn real_threads<R: Send>(count: usize, body: &(impl Fn(usize) -> R + Sync)) -> Vec<R> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|index| scope.spawn(move || body(index)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

pub(crate) fn is_modelled() -> bool {
    selected().is_some_and(|selected| selected.driver == Driver::Software)
}
