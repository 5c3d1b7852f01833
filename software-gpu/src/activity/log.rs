//! The log of a whole program: what ran, what the host called, and what waited for what.
//!
//! It has a lock of its own, which is held for moments only: a program that crashes inside a call of the driver can still be
//! described. What a call does is noted in its thread until it returns.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::edges::Edges;
use super::{Activity, Log, TimedCall};
use crate::driver;

static IS_KEPT: AtomicBool = AtomicBool::new(false);
static LOG: Mutex<Kept> = Mutex::new(Kept::new());

/// The log, and what is needed to continue with it.
struct Kept {
    log: Log,
    edges: Edges,
    threads: BTreeMap<u64, String>,
    /// The calls that have not returned, by thread.
    under_way: BTreeMap<u64, UnderWay>,
}

impl Kept {
    const fn new() -> Self {
        Self {
            log: Log::new(),
            edges: Edges::new(),
            threads: BTreeMap::new(),
            under_way: BTreeMap::new(),
        }
    }

    fn call(&mut self, thread: u64, call: UnderWay, end_ns: u64) -> TimedCall {
        let start_ns = call.start_ns.unwrap_or(end_ns);
        let named = self.threads.entry(thread);
        TimedCall {
            name: documented(call.name),
            thread: named.or_insert_with(|| thread_name(thread)).clone(),
            start_ns,
            end_ns: end_ns.max(start_ns),
            stream: call.stream,
            operation: call.operation,
        }
    }
}

/// The call that the thread is in.
#[derive(Clone, Copy)]
struct UnderWay {
    name: &'static str,
    /// When it began; not known before its turn has come.
    start_ns: Option<u64>,
    stream: Option<u64>,
    operation: Option<u64>,
}

thread_local! {
    static UNDER_WAY: Cell<Option<UnderWay>> = const { Cell::new(None) };
}

/// Keeps a log from now on.
pub(super) fn keep() {
    IS_KEPT.store(true, Ordering::Relaxed);
}

/// The contents of the log.
pub(super) fn so_far() -> Log {
    let mut kept = kept();
    let mut log = kept.log.clone();
    let last = log.activities.iter().map(|activity| activity.end_ns).max();
    let under_way: Vec<_> = kept.under_way.iter().map(|(&t, &call)| (t, call)).collect();
    log.under_way = under_way
        .into_iter()
        .map(|(thread, call)| kept.call(thread, call, last.unwrap_or(0)))
        .collect();
    log
}

fn kept() -> MutexGuard<'static, Kept> {
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_kept() -> bool {
    IS_KEPT.load(Ordering::Relaxed)
}

fn change(change: impl FnOnce(&mut UnderWay)) {
    if let Some(mut call) = UNDER_WAY.get() {
        change(&mut call);
        UNDER_WAY.set(Some(call));
    }
}

/// The thread makes a call. Whether it is to be [`returned`] from: calls within calls are not noted.
pub(crate) fn called(name: &'static str) -> bool {
    if !is_kept() || UNDER_WAY.get().is_some() {
        return false;
    }
    UNDER_WAY.set(Some(UnderWay {
        name,
        start_ns: None,
        stream: None,
        operation: None,
    }));
    true
}

/// The turn of the thread's call has come, at this time.
pub(crate) fn began(at_ns: u64) {
    let Some(mut call) = UNDER_WAY.get().filter(|_| is_kept()) else {
        return;
    };
    if call.start_ns.is_none() {
        call.start_ns = Some(at_ns);
        UNDER_WAY.set(Some(call));
        let thread = driver::thread_serial();
        let mut kept = kept();
        kept.under_way.insert(thread, call);
        kept.threads
            .entry(thread)
            .or_insert_with(|| thread_name(thread));
    }
}

/// The thread's call returns at this time. What took no turn took no time.
pub(crate) fn returned(at_ns: u64) {
    let call = UNDER_WAY.take().filter(|call| call.start_ns.is_some());
    if let Some(call) = call {
        let thread = driver::thread_serial();
        let mut kept = kept();
        kept.under_way.remove(&thread);
        let call = kept.call(thread, call, at_ns);
        kept.log.calls.push(call);
    }
}

/// A kernel has failed.
pub(crate) fn failed(fault: &str) {
    if is_kept() {
        kept().log.faults.push(fault.to_owned());
    }
}

/// The thread's call names this stream.
pub(crate) fn named_stream(stream: u64) {
    if is_kept() {
        change(|call| {
            call.stream.get_or_insert(stream);
        });
    }
}

/// The thread's call has submitted an operation that will be recorded.
pub(crate) fn submitted(stream: u64, operation: u64) {
    if !is_kept() {
        return;
    }
    change(|call| {
        call.stream.get_or_insert(stream);
        call.operation.get_or_insert(operation);
    });
    let Kept { log, edges, .. } = &mut *kept();
    edges.submitted(stream, operation, &mut log.dependencies);
}

/// A stream is the legacy default stream of a context.
pub(crate) fn legacy_stream(stream: u64, context: u64) {
    if is_kept() {
        kept().log.legacy_streams.insert(stream, context);
    }
}

/// An event was recorded in a stream.
pub(crate) fn event_recorded(event: u64, stream: u64) {
    if is_kept() {
        kept().edges.recorded(event, stream);
    }
}

/// A stream waits for an event.
pub(crate) fn event_waited(event: u64, stream: u64) {
    if is_kept() {
        kept().edges.waited(event, stream);
    }
}

/// An operation has ended.
pub(crate) fn ended(activity: impl FnOnce() -> Activity) {
    if is_kept() {
        kept().log.activities.push(activity());
    }
}

/// A function's name in the driver's documentation, which is without its version.
pub(crate) fn documented(name: &'static str) -> &'static str {
    let variant = name
        .strip_suffix("_ptsz")
        .or_else(|| name.strip_suffix("_ptds"));
    let name = variant.unwrap_or(name);
    match name.rsplit_once("_v") {
        Some((plain, version)) if version.bytes().all(|byte| byte.is_ascii_digit()) => plain,
        _ => name,
    }
}

/// The name that the program gave the thread, else `main` for the process's first one, else a number.
fn thread_name(serial: u64) -> String {
    let own = std::thread::current();
    let first = std::fs::read_link("/proc/thread-self")
        .ok()
        .and_then(|task| {
            Some(task.file_name()?.to_str()?.parse::<u32>().ok()? == std::process::id())
        });
    match own.name() {
        Some(name) => name.to_owned(),
        None if first == Some(true) => "main".to_owned(),
        None => format!("thread {serial}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_documentation() {
        let names = [
            "cuMemcpyHtoDAsync_v2_ptsz",
            "cuLaunchKernel",
            "cuMemAlloc_v2",
        ]
        .map(documented);
        assert_eq!(names, ["cuMemcpyHtoDAsync", "cuLaunchKernel", "cuMemAlloc"]);
    }
}
