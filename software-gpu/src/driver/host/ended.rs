//! Whether the program has ended although its process has not.
//!
//! A program whose `main` leaves by `pthread_exit` ends with the last of its threads; the C library waits for all threads of
//! the process, and the driver's own never end. The first thread stays in the list of the process as a zombie then.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The threads that the driver has started, by their names in `/proc/self/task`.
static OWN: Mutex<BTreeSet<OsString>> = Mutex::new(BTreeSet::new());

/// The calling thread is the driver's own: a program has ended when only such threads are left.
pub(crate) fn own_thread() {
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    own.extend(calling_thread());
}

/// Whether all threads of the program have ended. Not known outside of Linux.
pub(super) fn has_ended() -> bool {
    first_thread_has_ended() && threads().is_some_and(|threads| threads.iter().all(is_own))
}

fn first_thread_has_ended() -> bool {
    let status = fs::read_to_string(format!("/proc/self/task/{}/stat", std::process::id()));
    status.is_ok_and(|status| is_zombie(&status))
}

/// The threads of the process that have not ended.
fn threads() -> Option<Vec<OsString>> {
    let tasks = fs::read_dir("/proc/self/task").ok()?.flatten();
    let live = tasks.filter(|task| {
        let status = fs::read_to_string(task.path().join("stat"));
        status.is_ok_and(|status| !is_zombie(&status))
    });
    Some(live.map(|task| task.file_name()).collect())
}

/// Threads that execute kernels count as the driver's if they have nothing to do.
fn is_own(thread: &OsString) -> bool {
    static EXECUTORS: LazyLock<BTreeSet<OsString>> = LazyLock::new(|| {
        let names = rayon::broadcast(|_| calling_thread());
        names.into_iter().flatten().collect()
    });
    let own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    own.contains(thread) || EXECUTORS.contains(thread)
}

/// The calling thread's name in `/proc/self/task`.
fn calling_thread() -> Option<OsString> {
    let link = fs::read_link("/proc/thread-self").ok()?;
    link.file_name().map(OsString::from)
}

/// Whether a line of `/proc/PID/task/TID/stat` is that of a thread that has ended.
pub(super) fn is_zombie(status: &str) -> bool {
    matches!(state(status), Some('Z' | 'X'))
}

/// Parses the state from a `/proc/…/stat` line. The name in parentheses may itself contain some: search from the right.
pub(super) fn state(status: &str) -> Option<char> {
    let (_, rest) = status.rsplit_once(')')?;
    rest.trim_start().chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zombie_is_known_by_its_state() {
        assert!(is_zombie("17 (a) R (b) Z 1 17"));
        assert!(!is_zombie("17 (Z) S 1 17") && !is_zombie(""));
    }

    #[test]
    fn a_program_with_threads_has_not_ended() {
        assert!(!has_ended());
        own_thread();
        assert!(calling_thread().is_none_or(|thread| is_own(&thread)));
    }
}
