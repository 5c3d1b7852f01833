//! `cuLaunchHostFunc`, `cuStreamAddCallback`, and the driver's thread that calls them.
//!
//! While a function runs, the simulation stands still and calls of other threads wait: its modelled length is known
//! only when it returns, and is what it passes to [`host::work`](crate::host::work).

use std::ffi::{c_uint, c_void};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;

use super::stream::NullStream;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUresult, CUstream, HostFunction, StreamCallback};
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;
use crate::driver::host::ended::own_thread;
use crate::driver::host::stuck;
use crate::driver::host::threads::current;
use crate::driver::simulation::operation::{Callback, CallbackFunction, Effect};
use crate::timeline::Time;

entry_points! {
    fn cuLaunchHostFunc | cuLaunchHostFunc_ptsz as null (
        stream: CUstream, function: Option<HostFunction>, data: *mut c_void,
    ) {
        launch(null, stream, function, data)
    }

    fn cuStreamAddCallback | cuStreamAddCallback_ptsz as null (
        stream: CUstream, function: Option<StreamCallback>, data: *mut c_void, flags: c_uint,
    ) {
        add_callback(null, stream, function, data, flags)
    }
}

fn launch(
    null: NullStream,
    stream: CUstream,
    function: Option<HostFunction>,
    data: *mut c_void,
) -> Result<(), CudaError> {
    let function = function.ok_or(CudaError::InvalidValue)?;
    enqueue(null, stream, CallbackFunction::Host(function), data)
}

fn add_callback(
    null: NullStream,
    stream: CUstream,
    function: Option<StreamCallback>,
    data: *mut c_void,
    flags: c_uint,
) -> Result<(), CudaError> {
    let function = function
        .filter(|_| flags == 0)
        .ok_or(CudaError::InvalidValue)?;
    enqueue(
        null,
        stream,
        CallbackFunction::Stream(function, stream),
        data,
    )
}

fn enqueue(
    null: NullStream,
    stream: CUstream,
    function: CallbackFunction,
    data: *mut c_void,
) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        let target = call.stream(stream, null)?;
        call.spend_in(target, Cost::HostFunction);
        let clock = call.clock();
        let effect = Effect::HostFunction(Callback { function, data });
        call.submit(target, clock, effect).map(|_| ())
    })
}

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
