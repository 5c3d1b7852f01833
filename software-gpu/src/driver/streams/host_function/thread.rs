//! The driver's thread that calls the program's functions.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;

use crate::driver::c_abi::types::CUresult;
use crate::driver::host::ended::own_thread;
use crate::driver::host::stuck;
use crate::driver::host::threads::current;
use crate::driver::simulation::operation::Callback;
use crate::timeline::Time;

struct Job {
    callback: Callback,
    status: CUresult,
    at: Time,
    done: Sender<Time>,
}

/// Calls the function on the driver's thread at virtual time `at`, and returns how long it took there.
pub(in crate::driver) fn run(callback: Callback, status: CUresult, at: Time) -> Time {
    static THREAD: LazyLock<Mutex<Sender<Job>>> = LazyLock::new(|| Mutex::new(start_thread()));
    let (done, duration) = mpsc::channel();
    let job = Job {
        callback,
        status,
        at,
        done,
    };
    let sent = THREAD
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send(job);
    // Neither fails: the thread ends only with the process.
    sent.ok()
        .and_then(|()| duration.recv().ok())
        .unwrap_or(Time::ZERO)
}

fn start_thread() -> Sender<Job> {
    let (jobs, received) = mpsc::channel();
    let started = thread::Builder::new()
        .name("CUDA host functions".to_owned())
        .spawn(move || serve(&received));
    if let Err(error) = started {
        crate::say!("software GPU: no thread for host functions: {error}; they are not called");
    }
    jobs
}

fn serve(jobs: &Receiver<Job>) {
    current::enter_host_functions();
    own_thread();
    stuck::runs_host_functions();
    while let Ok(job) = jobs.recv() {
        current::set_clock(job.at);
        // SAFETY: the simulator hands over each callback once, at its turn in the stream.
        unsafe { job.callback.call(job.status) };
        // The simulator waits for the answer.
        let _ = job.done.send(current::clock().since(job.at));
    }
}
