//! How long the calling thread has kept a CPU busy: what a wait that spins burns, and one that sleeps does not.

use std::time::Duration;

/// None: WebAssembly has the software GPU alone, which models no load of the host's CPU.
#[cfg(target_family = "wasm")]
pub fn of_thread() -> Option<Duration> {
    None
}

/// The CPU time of the calling thread so far. `None` on the software GPU, which models no load of the host's CPU.
#[cfg(not(target_family = "wasm"))]
pub fn of_thread() -> Option<Duration> {
    use cpu_time::ThreadTime;
    use libcuda::Driver;
    let driver = libcuda::selected()?.driver;
    let started = (driver == Driver::Nvidia).then(ThreadTime::try_now)?.ok()?;
    Some(started.as_duration())
}
