//! `cuLaunchHostFunc`, `cuStreamAddCallback`, and the driver's thread that calls them.
//!
//! While a function runs, the simulation stands still and calls of other threads wait: its modelled length is known
//! only when it returns, and is what it passes to [`host::work`](crate::host::work).

#[cfg(not(target_family = "wasm"))]
mod thread;

use std::ffi::{c_uint, c_void};

use super::stream::NullStream;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
#[cfg(target_family = "wasm")]
use crate::driver::c_abi::types::CUresult;
use crate::driver::c_abi::types::{CUstream, HostFunction, StreamCallback};
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;
#[cfg(target_family = "wasm")]
use crate::driver::host::threads::current;
use crate::driver::simulation::operation::{Callback, CallbackFunction, Effect};
#[cfg(target_family = "wasm")]
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

#[cfg(not(target_family = "wasm"))]
pub(in crate::driver) use thread::run;

/// Calls the function at virtual time `at`, and returns how long it took. WebAssembly has only one thread, which runs the driver
/// here.
#[cfg(target_family = "wasm")]
pub(in crate::driver) fn run(callback: Callback, status: CUresult, at: Time) -> Time {
    current::during_host_function(at, || {
        // SAFETY: the simulator hands over each callback once, at its turn in the stream.
        unsafe { callback.call(status) };
        current::clock().since(at)
    })
}
