//! The end of the program. No thread waits for the remaining work, but it is checked: the simulation runs once more without the
//! host.
//!
//! Memory of the program is left alone: registered host memory is replaced by a copy, copies from and to pageable memory move
//! nothing, and host functions are not called.

use std::thread;
use std::time::{Duration, Instant};

use super::engine::Progress;
use super::simulator::lock;
use crate::reports::{self, ReportMode};
use crate::timeline::Time;

/// How long, on the real clock, the rest may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs what has been submitted and has not ended, for the checkers. To be called when the process ends.
pub fn finish() {
    if reports::mode() == ReportMode::Off {
        return;
    }
    lock().tell_seen();
    if lock().operations.is_empty() {
        return;
    }
    if cfg!(target_family = "wasm") {
        return run();
    }
    // The calling thread may have lost its thread-local state already.
    let worker = thread::Builder::new().spawn(run);
    if let Ok(worker) = worker {
        // A panic has been printed; the process ends anyway.
        let _ = worker.join();
    }
}

fn run() {
    let mut simulator = lock();
    if simulator.in_host_function {
        return;
    }
    simulator.memory.detach_registered();
    simulator.finishing = true;
    let start = Instant::now();
    loop {
        match simulator.step(Time::MAX) {
            Progress::Nothing => break,
            Progress::Happened => {}
            Progress::Call(op, ..) => {
                simulator.ordering.host_function_began(op);
                simulator.timeline.complete_host_function(op, Time::ZERO);
            }
        }
        if start.elapsed() > PATIENCE {
            crate::say!(
                "software GPU: the program has ended; what it has left to run takes longer than {} s and is not checked",
                PATIENCE.as_secs()
            );
            break;
        }
    }
    simulator.finishing = false;
}
