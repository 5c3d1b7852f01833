//! Programs that wait for themselves: a thread in a call of the driver waits for a host function that never returns, for it waits
//! for a lock that the thread holds.
//!
//! The thread that [watches](super::idle) the modelled clock says so when nothing has happened for a while: no call, no event of
//! the model, no work of any processor for the process, and all threads blocked. A thread that sleeps, or waits for input or
//! with a time limit, may still act: then the report comes much later.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::threads::current;
use crate::activity::log::documented;
use crate::driver::c_abi::handles::Table;
use crate::driver::c_abi::types::CUstream;
use crate::driver::simulation::simulator::Simulator;
use crate::driver::streams::stream::Stream;
use crate::timeline::OpId;

/// Time without progress, on the real clock, after which the report comes when no thread can act any more.
const CERTAIN: Duration = Duration::from_secs(2);
/// The same when a thread may act by itself.
const POSSIBLE: Duration = Duration::from_secs(60);

/// The waiting threads, by their numbers.
static WAITING: Mutex<BTreeMap<u64, Waiting>> = Mutex::new(BTreeMap::new());

/// A thread that waits in a call.
struct Waiting {
    call: &'static str,
    /// The operation that the call waits for.
    operation: Option<OpId>,
    task: Option<u32>,
    name: String,
}

thread_local! {
    static CALL: Cell<&'static str> = const { Cell::new("a call") };
    static OPERATION: Cell<Option<OpId>> = const { Cell::new(None) };
    static TASK: Cell<Option<u32>> = const { Cell::new(None) };
}

/// The thread makes this call.
pub(in crate::driver) fn calls(name: &'static str) {
    CALL.set(name);
    OPERATION.set(None);
}

/// The thread's call waits for the end of this operation.
pub(super) fn awaits(operation: Option<OpId>) {
    OPERATION.set(operation);
}

/// The thread waits for another one until the value returned is dropped.
pub(super) fn waits() -> impl Drop {
    let thread = current::serial();
    let waiting = Waiting {
        call: CALL.get(),
        operation: OPERATION.get(),
        task: task(),
        name: std::thread::current().name().unwrap_or_default().to_owned(),
    };
    waiting_threads().insert(thread, waiting);
    Over(thread)
}

struct Over(u64);

impl Drop for Over {
    fn drop(&mut self) {
        waiting_threads().remove(&self.0);
    }
}

fn waiting_threads() -> MutexGuard<'static, BTreeMap<u64, Waiting>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The report about threads that wait for each other, when nothing has happened for this long.
pub(super) fn said_after(quiet: Duration, simulator: &Simulator) -> Option<String> {
    if quiet < CERTAIN || waiting_threads().is_empty() {
        return None;
    }
    let own = task();
    let threads: BTreeMap<u32, Blocked> = fs::read_dir("/proc/self/task")
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|task| Some(*task) != own)
        .map(|task| (task, Blocked::of(task)))
        .collect();
    let is_certain = threads
        .values()
        .all(|blocked| matches!(blocked, Blocked::For(_)));
    if !is_certain && quiet < POSSIBLE {
        return None;
    }
    let mut text = format!(
        "software GPU: deadlock: nothing has happened for {} s, and every thread waits",
        quiet.as_secs()
    );
    for waiting in waiting_threads().values() {
        let thread = thread(waiting.task, &waiting.name);
        let call = documented(waiting.call);
        let operation = waiting.operation.and_then(|op| operation(op, simulator));
        let what = operation.map_or_else(
            || "for its turn".to_owned(),
            |what| format!("for the {what}"),
        );
        // Text grows without failing.
        let _ = write!(text, "\n  {thread} waits in {call} {what}");
    }
    if let Some(what) = simulator
        .host_function
        .and_then(|op| operation(op, simulator))
    {
        let task = own_task_of_host_functions();
        let lock = task.and_then(|task| threads.get(&task)?.lock(&threads));
        let lock = lock.unwrap_or_else(|| "does not return".to_owned());
        let _ = write!(text, "\n  the {what} runs, and {lock}");
        text += "\n  A thread that holds a lock must not make a call of the driver that waits for a host function which needs \
            the lock. Release the lock before the call, or let the function hand its work to another thread";
    }
    Some(text)
}

/// What an operation is called, with its stream and the line that submitted it.
fn operation(op: OpId, simulator: &Simulator) -> Option<String> {
    let operation = simulator.operations.get(&op)?;
    let description = operation.description();
    let stream = Table::<CUstream, Stream>::serial(operation.stream);
    let place = operation.call_site.as_ref().and_then(|site| {
        use crate::order::Locate as _;
        site.locate()
    });
    let place = place.map_or_else(String::new, |place| format!(" ({place})"));
    Some(format!("{} in stream {stream}{place}", description.what))
}

fn thread(task: Option<u32>, name: &str) -> String {
    match (task, name) {
        (Some(task), "") if task == std::process::id() => "thread `main`".to_owned(),
        (Some(task), "") => format!("thread {task}"),
        (None, "") => "a thread".to_owned(),
        (_, name) => format!("thread `{name}`"),
    }
}

static HOST_FUNCTIONS: Mutex<Option<u32>> = Mutex::new(None);

/// The calling thread runs the host functions.
#[cfg(not(target_family = "wasm"))]
pub(in crate::driver) fn runs_host_functions() {
    *HOST_FUNCTIONS
        .lock()
        .unwrap_or_else(PoisonError::into_inner) = task();
}

fn own_task_of_host_functions() -> Option<u32> {
    *HOST_FUNCTIONS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// The calling thread's number in `/proc/self/task`.
fn task() -> Option<u32> {
    if TASK.get().is_none() {
        let link = fs::read_link("/proc/thread-self").ok();
        TASK.set(link.and_then(|link| link.file_name()?.to_str()?.parse().ok()));
    }
    TASK.get()
}

/// The condition of a blocked thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blocked {
    /// Until another thread of the process wakes it, which finds it by this address.
    For(u64),
    /// It sleeps, waits for input, or for no longer than a certain time; or nothing is known.
    Otherwise,
}

impl Blocked {
    fn of(task: u32) -> Self {
        let line = fs::read_to_string(format!("/proc/self/task/{task}/syscall"));
        line.map_or(Self::Otherwise, |line| Self::from_line(&line))
    }

    /// From a line of `/proc/PID/task/TID/syscall`: the call's number and its arguments.
    fn from_line(line: &str) -> Self {
        const FUTEX: u64 = if cfg!(target_arch = "x86_64") {
            202
        } else {
            98
        };
        let mut words = line.split_whitespace();
        let number = words.next().and_then(|number| number.parse().ok());
        let mut arguments = words.map(|word| {
            let digits = word.trim_start_matches("0x");
            u64::from_str_radix(digits, 16).ok()
        });
        let (address, limit) = (arguments.next().flatten(), arguments.nth(2).flatten());
        match (number, address, limit) {
            (Some(FUTEX), Some(address), Some(0)) => Self::For(address),
            _ => Self::Otherwise,
        }
    }

    /// The lock in words, with the thread that holds it where the lock says so.
    fn lock(self, threads: &BTreeMap<u32, Self>) -> Option<String> {
        let Self::For(address) = self else {
            return None;
        };
        let owner = owner(address).filter(|owner| threads.contains_key(owner));
        let held = owner.map_or_else(String::new, |owner| {
            format!(", which {} holds", thread(Some(owner), ""))
        });
        Some(format!(
            "waits for the lock or condition at {address:#x}{held}"
        ))
    }
}

/// The owner of a `pthread_mutex_t` of the GNU C library, which stands 8 bytes behind what its threads wait at. For other locks the number has no
/// meaning.
fn owner(address: u64) -> Option<u32> {
    const PAGE: u64 = 4096;
    if !address.is_multiple_of(4) || address % PAGE > PAGE - 12 {
        return None;
    }
    let word: *const u32 = std::ptr::with_exposed_provenance(address as usize + 8);
    // SAFETY: a thread waits at an address of the same page, so it is there, and the word is aligned.
    Some(unsafe { word.read_volatile() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_without_a_limit_is_distinguished_from_a_sleep() {
        let number = if cfg!(target_arch = "x86_64") {
            202
        } else {
            98
        };
        let of =
            |arguments: &str| Blocked::from_line(&format!("{number} {arguments} 0x7ffe 0x7f62"));
        assert_eq!(of("0x7f00 0x80 0x2 0x0 0x0 0x0"), Blocked::For(0x7f00));
        assert_eq!(of("0x7f00 0x80 0x2 0x7ffd 0x0 0x0"), Blocked::Otherwise);
        for line in [
            "running",
            "",
            "230 0x0 0x0 0x7f 0x0 0x0 0x0 0x7f 0x7f",
            "-1 0x7f 0x7f",
        ] {
            assert_eq!(Blocked::from_line(line), Blocked::Otherwise, "{line}");
        }
    }
}
