//! How long the calling thread has kept a CPU busy: what a wait that spins burns, and one that sleeps does not.

use cpu_time::ThreadTime;
use libcuda::Driver;
use std::time::Duration;

/// The CPU time of the calling thread so far. `None` on the software GPU, which models no load of the host's CPU.
pub fn of_thread() -> Option<Duration> {
    let driver = libcuda::selected()?.driver;
    let started = (driver == Driver::Nvidia).then(ThreadTime::try_now)?.ok()?;
    Some(started.as_duration())
}
