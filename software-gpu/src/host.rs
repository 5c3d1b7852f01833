//! The modelled host: its clock, its work and its threads.
//!
//! The host thread of the model takes no time between calls of the driver, whatever the real CPU needs for the code
//! there: work that is to take time says so. Every call of the driver advances the clock by what it costs.

use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use crate::call_site::CallSite;
use crate::driver;
use crate::order::{HostAccess, SourceLine};

/// The calling thread's virtual clock, since the start of the simulation.
pub fn now() -> Duration {
    driver::host_now()
}

/// CPU work of `cost`: advances the calling thread's clock, and the device runs on meanwhile.
pub fn work(cost: Duration) {
    driver::host_work(cost.into());
}

/// CPU work that streams through `bytes` of host memory, at the profile's bandwidth.
pub fn memory_work(bytes: u64) {
    driver::host_memory_work(bytes);
}

/// CPU work that counts `bytes` bytes in a table, as a histogram does: each count waits for the one before.
pub fn counting_work(bytes: u64) {
    driver::host_counting_work(bytes);
}

/// The calling code reads `bytes` bytes of page-locked memory now: the ordering checker compares that with what the
/// device writes. Elsewhere it means nothing.
#[track_caller]
pub fn reads(start: *const u8, bytes: usize) {
    let caller = SourceLine::from(Location::caller());
    driver::host_accessed(HostAccess::Read, start as u64, bytes, Arc::new(caller));
}

/// As [`reads`]: the calling code writes.
#[track_caller]
pub fn writes(start: *const u8, bytes: usize) {
    let caller = SourceLine::from(Location::caller());
    driver::host_accessed(HostAccess::Write, start as u64, bytes, Arc::new(caller));
}

/// The calling code has just read in these bytes, a flag, what it waited for: it continues after the operations, or the accesses
/// of other threads, that have written them. To be said directly after the read that found the value.
pub fn acquires(start: *const u8, bytes: usize) {
    driver::host_acquired(start as u64, bytes);
}

/// As [`reads`], for code in another language, at this line of its file.
pub fn reads_at(start: *const u8, bytes: usize, file: &str, line: u32) {
    let caller = SourceLine::new(file, line);
    driver::host_accessed(HostAccess::Read, start as u64, bytes, Arc::new(caller));
}

/// As [`writes`], for code in another language, at this line of its file.
pub fn writes_at(start: *const u8, bytes: usize, file: &str, line: u32) {
    let caller = SourceLine::new(file, line);
    driver::host_accessed(HostAccess::Write, start as u64, bytes, Arc::new(caller));
}

/// Whether an access of these bytes of host memory may race with an operation of the device. `false` is certain, and costs two loads.
pub fn may_race(start: *const u8, bytes: usize) -> bool {
    let start = start as u64;
    driver::may_race(&(start..start.saturating_add(bytes as u64)))
}

/// The calling code reads these bytes, as for [`reads`]. A report finds the line in the program's symbols.
pub fn reads_here(start: *const u8, bytes: usize) {
    driver::host_accessed(HostAccess::Read, start as u64, bytes, CallSite::here());
}

/// As [`reads_here`]: the calling code writes.
pub fn writes_here(start: *const u8, bytes: usize) {
    driver::host_accessed(HostAccess::Write, start as u64, bytes, CallSite::here());
}

/// A system call that the calling code is about to make reads `bytes` bytes from `start` on, as `write` does. On Linux on x86-64
/// it would fail with `EFAULT` where the race checker protects page-locked memory; after this call it does not, and the checker
/// knows of the access. Elsewhere it means nothing.
pub fn system_call_reads(start: *const u8, bytes: usize) {
    let start = start as u64;
    driver::system_call_accesses(HostAccess::Read, start..start.saturating_add(bytes as u64));
}

/// As [`system_call_reads`], of a system call that writes to the memory, as `read` does.
pub fn system_call_writes(start: *const u8, bytes: usize) {
    let start = start as u64;
    driver::system_call_accesses(HostAccess::Write, start..start.saturating_add(bytes as u64));
}

/// Runs `body(0)` to `body(count - 1)`, each on a host thread of its own, and returns their results in this order.
///
/// The threads start at the caller's time and take effect in the order of virtual time, then of their index: the
/// outcome does not depend on the machine. The caller continues at the time of the last one.
///
/// A thread must not wait for another one by other means than the driver's (a lock, a channel): the other one may be
/// waiting for its turn. Such a standstill is noticed after a while and ends with `CUDA_ERROR_LAUNCH_TIMEOUT` in the
/// calls that wait. A panic in one of the threads continues in the caller.
pub fn threads<R: Send>(count: usize, body: impl Fn(usize) -> R + Sync) -> Vec<R> {
    driver::host_threads(count, body)
}

/// The calling thread does not belong to the program: a program has ended when only such threads are left.
pub fn is_own_thread() {
    driver::own_thread();
}
