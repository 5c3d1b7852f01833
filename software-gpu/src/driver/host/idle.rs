//! Host threads that wait without calling the driver: for a condition variable that a host function signals, or for a flag
//! that a kernel or copy writes in page-locked memory.
//!
//! The modelled clock moves when the program calls the driver. A thread of the driver's own watches whether it does. When
//! no call is made although work is under way, the clock advances by itself,
//!
//! - soon, if all threads of the process are blocked: nothing but the device can wake them;
//! - after a while, if some run: a thread that waits in a loop looks like one that computes. Then a message says so.
//!   A program that declares what its own work costs ([`host::work`](crate::host::work)) gets much more time: its threads
//!   compute.
//!
//! It continues until something has happened that the host can notice, and gives the host a moment to do so. Programs that
//! wait inside the driver are never affected, so their times do not depend on the machine.
//!
//! The same thread says when the program [waits for itself](super::stuck), and ends the process when all threads of the program [have ended](super::ended).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::call::Call;
use super::ended::{has_ended, is_zombie, own_thread, state};
use super::stuck;
use crate::driver::simulation::simulator::{Simulator, try_lock};
use crate::timeline::Time;

/// How often, on the real clock, calls are looked for.
const MOMENT: Duration = Duration::from_millis(2);
/// How long the host may take to notice what has happened.
const REACTION: Duration = Duration::from_millis(20);
/// How long all threads have to be blocked.
const BLOCKED: Duration = Duration::from_millis(20);
/// How much the processors must have worked for the process without a call.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same in a program that declares its work.
const LONG_PATIENCE: Duration = Duration::from_secs(60);
/// The same in a program that is known to wait like this.
const EXPECTED: Duration = Duration::from_millis(4);

/// How much processors may work while all threads are blocked: looking for that takes time, too.
const TOLERATED: Duration = Duration::from_millis(500);

/// How often a thread that rests looks whether the program has ended.
const REST: Duration = Duration::from_millis(250);

/// Counts calls of the driver.
static CALLS: AtomicU64 = AtomicU64::new(0);
/// The program declares what its own work costs.
static DECLARES_WORK: AtomicBool = AtomicBool::new(false);
/// The watching thread rests until there is work.
static RESTS: AtomicBool = AtomicBool::new(false);

/// A thread enters or leaves the driver.
pub(super) fn called() {
    CALLS.fetch_add(1, Ordering::Relaxed);
}

/// The program asks for the modelled time or says what its work costs.
pub(super) fn declares_work() {
    DECLARES_WORK.store(true, Ordering::Relaxed);
}

/// A stream was given something to do, or a call waits for its turn.
pub(in crate::driver) fn wakes() {
    static WATCHER: OnceLock<Option<Thread>> = OnceLock::new();
    let watcher = WATCHER.get_or_init(start);
    if RESTS.load(Ordering::Relaxed)
        && RESTS.swap(false, Ordering::Relaxed)
        && let Some(watcher) = watcher
    {
        watcher.unpark();
    }
}

/// Without the thread, programs that wait outside of the driver hang, as they would without this file.
fn start() -> Option<Thread> {
    if cfg!(any(fuzzing, target_family = "wasm")) {
        return None;
    }
    let name = "CUDA modelled clock".to_owned();
    let started = thread::Builder::new().name(name).spawn(|| {
        own_thread();
        Watcher::new().watch();
    });
    started.ok().map(|handle| handle.thread().clone())
}

struct Watcher {
    seen: u64,
    quiet_since: Instant,
    worked: Duration,
    /// How long there must be no call when all threads are blocked, and how much they must have worked if they are not.
    blocked: Duration,
    patience: Option<Duration>,
    has_said: bool,
    /// How much processors had worked when all threads were found blocked, and when that was.
    blocked_since: Option<(Duration, Instant)>,
    has_said_stuck: bool,
}

impl Watcher {
    fn new() -> Self {
        Self {
            seen: CALLS.load(Ordering::Relaxed),
            quiet_since: Instant::now(),
            worked: processor_time(),
            blocked: BLOCKED,
            patience: None,
            has_said: false,
            blocked_since: None,
            has_said_stuck: false,
        }
    }

    fn watch(&mut self) {
        loop {
            thread::sleep(MOMENT);
            if self.has_called() {
                continue;
            }
            match try_lock().map(|simulator| !is_needed(&simulator)) {
                None => self.start_again(),
                Some(true) => self.rest(),
                Some(false) => self.look(),
            }
        }
    }

    fn has_called(&mut self) -> bool {
        let calls = CALLS.load(Ordering::Relaxed);
        let called = calls != self.seen;
        if called {
            self.seen = calls;
            self.start_again();
        }
        called
    }

    fn start_again(&mut self) {
        self.blocked_since = None;
        self.quiet_since = Instant::now();
        self.worked = processor_time();
    }

    /// Sleeps until there is work.
    fn rest(&mut self) {
        {
            let Some(simulator) = try_lock() else { return };
            if is_needed(&simulator) {
                return;
            }
            // Work is given under the lock: it cannot come before this.
            RESTS.store(true, Ordering::Relaxed);
        }
        while RESTS.load(Ordering::Relaxed) {
            thread::park_timeout(REST);
            end_with_the_program();
        }
        self.start_again();
    }

    /// Work is under way, and no thread has called for a while.
    fn look(&mut self) {
        let quiet = self.quiet_since.elapsed();
        let patience = self.patience.unwrap_or_else(patience);
        if quiet >= self.blocked && all_blocked() {
            end_with_the_program();
            if self.advance(true) {
                self.blocked = EXPECTED;
                self.blocked_since = None;
            } else {
                self.look_for_deadlock();
            }
        } else if quiet >= patience && processor_time().saturating_sub(self.worked) >= patience {
            if !self.has_said {
                self.has_said = true;
                crate::say!(
                    "software GPU: no call of the driver for {} s while work is under way: the modelled clock goes on, in \
                     case that the program waits for the work",
                    quiet.as_secs()
                );
            }
            if self.advance(false) {
                self.patience = Some(EXPECTED);
            }
        }
    }

    /// All threads are blocked, and nothing can happen.
    fn look_for_deadlock(&mut self) {
        let worked = processor_time();
        let (before, since) = *self.blocked_since.get_or_insert((worked, Instant::now()));
        if worked > before + TOLERATED {
            self.blocked_since = None;
        } else if !self.has_said_stuck
            && let Some(simulator) = try_lock()
            && let Some(text) = stuck::said_after(since.elapsed(), &simulator)
        {
            self.has_said_stuck = true;
            crate::say!("{text}");
        }
    }

    /// Lets things happen until the host has noticed one of them, or nothing can happen. Whether it has.
    fn advance(&mut self, blocked: bool) -> bool {
        loop {
            let Some(guard) = try_lock() else {
                return false;
            };
            let Some(mut call) = Call::of_nobody(guard) else {
                return false;
            };
            if blocked && call.threads.leave_out_absent() {
                call.wake_others();
            }
            if !call.step_until_noticeable() {
                return false;
            }
            drop(call);
            let happened = Instant::now();
            while happened.elapsed() < REACTION {
                thread::sleep(MOMENT);
                if self.has_called() {
                    return true;
                }
                if blocked && all_blocked() {
                    break;
                }
            }
            if blocked && !all_blocked() {
                return false;
            }
        }
    }
}

impl Call {
    /// Lets things happen until one of them is noticeable without a call; `false` if none is.
    fn step_until_noticeable(&mut self) -> bool {
        let before = self.noticeable;
        loop {
            let limit = self.threads.earliest(None);
            let limit = limit.map_or(Time::MAX, |(clock, _)| clock);
            if !self.step(limit) {
                return self.noticeable != before;
            }
            if self.noticeable != before {
                let Simulator {
                    effects, memory, ..
                } = &mut **self;
                effects.before_host(memory);
                self.host_accesses.program_polls();
                return true;
            }
        }
    }
}

/// Whether the clock may have to advance by itself.
fn is_needed(simulator: &Simulator) -> bool {
    !simulator.operations.is_empty() || simulator.sleepers > 0
}

/// Ends the process as its last thread would if the driver had no thread of its own.
fn end_with_the_program() {
    let calls_program = || try_lock().is_none_or(|simulator| simulator.in_host_function);
    if !has_ended() || calls_program() {
        return;
    }
    // A thread may have been missed that was started while the list was read.
    thread::sleep(MOMENT);
    if has_ended() {
        std::process::exit(0);
    }
}

fn patience() -> Duration {
    match DECLARES_WORK.load(Ordering::Relaxed) {
        true => LONG_PATIENCE,
        false => PATIENCE,
    }
}

/// How long processors have worked for the process; the real clock where that is not known.
fn processor_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let status = std::fs::read_to_string("/proc/self/stat").ok();
    let ticks = status.as_deref().and_then(ticks);
    ticks.map_or_else(
        || START.elapsed(),
        |ticks| Duration::from_millis(ticks * 10),
    )
}

/// User and system time in a line of `/proc/PID/stat`, in hundredths of a second.
fn ticks(status: &str) -> Option<u64> {
    let (_, rest) = status.rsplit_once(')')?;
    // The state is the third field of the line, the times are the 14th and 15th.
    let mut times = rest.split_whitespace().skip(11);
    let user: u64 = times.next()?.parse().ok()?;
    let system: u64 = times.next()?.parse().ok()?;
    Some(user + system)
}

/// Whether all threads of the process but this one are blocked. Not known outside of Linux.
fn all_blocked() -> bool {
    let own = std::fs::read_link("/proc/thread-self").ok();
    let own = own.as_ref().and_then(|path| path.file_name());
    let (Some(own), Ok(tasks)) = (own, std::fs::read_dir("/proc/self/task")) else {
        return false;
    };
    let others = tasks.flatten().filter(|task| task.file_name() != own);
    others.into_iter().all(|task| {
        let status = std::fs::read_to_string(task.path().join("stat"));
        // A thread that has ended in the meantime has no status, and the first one stays as a zombie.
        status.map_or(true, |status| is_sleeping(&status) || is_zombie(&status))
    })
}

/// Whether a line of `/proc/PID/task/TID/stat` is that of a thread in an interruptible sleep.
fn is_sleeping(status: &str) -> bool {
    state(status) == Some('S')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_stands_behind_the_name() {
        assert!(is_sleeping("17 (a) R (b) S 1 17 17 0"));
        assert!(!is_sleeping("17 (S) R 1 17 17 0"));
        assert!(!is_sleeping("17 (S) D 1") && !is_sleeping(""));
        let status = "17 (a b) R 1 2 3 4 5 6 7 8 9 10 30 12 0 0";
        assert_eq!((ticks(status), ticks("17 (a b) R 1")), (Some(42), None));
    }
}
