//! Calls that ask for one thing or have nothing to do here: profiling marks, affinity, what a context or stream is on.

use std::ffi::{c_int, c_uint, c_void};

use crate::driver::c_abi::abi::{CUcontext, CUdevice, CUstream, Out};
use crate::driver::c_abi::boundary::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;
use crate::driver::streams::stream::NullStream;

entry_points! {
    /// Profilers of the driver's kind do not attach here: the software GPU keeps its own record.
    fn cuProfilerStart() {
        call(Cost::Free, |call| call.context().map(|_| ()))
    }

    /// As `cuProfilerStart`.
    fn cuProfilerStop() {
        call(Cost::Free, |call| call.context().map(|_| ()))
    }

    /// There is no multi-process service, and without it no affinity to some multiprocessors.
    fn cuDeviceGetExecAffinitySupport(supported: Out<c_int>, affinity: c_uint, device: CUdevice) {
        call(Cost::Free, |call| {
            call.device(device)?;
            if affinity != 0 {
                return Err(CudaError::InvalidValue);
            }
            supported.set(0)
        })
    }

    fn cuCtxGetExecAffinity(_affinity: *mut c_void, kind: c_uint) {
        call(Cost::Free, |call| {
            call.context()?;
            Err(if kind == 0 { CudaError::UnsupportedExecAffinity } else { CudaError::InvalidValue })
        })
    }

    /// The L2 cache is modelled without persisting lines.
    fn cuCtxResetPersistingL2Cache() {
        call(Cost::Other, |call| call.context().map(|_| ()))
    }

    fn cuCtxGetDevice_v2(device: Out<CUdevice>, context: CUcontext) {
        call(Cost::Free, |call| {
            let context = if context.is_null() { call.context()? } else { call.usable(context)? };
            device.set(call.contexts.get(context)?.device as CUdevice)
        })
    }

    fn cuCtxSynchronize_v2(context: CUcontext) {
        call(Cost::Synchronize, |call| {
            let context = if context.is_null() { call.context()? } else { call.usable(context)? };
            call.synchronize_context(context)
        })
    }

    fn cuStreamGetDevice(stream: CUstream, device: Out<CUdevice>) {
        device_of(NullStream::Legacy, stream, device)
    }

    fn cuStreamGetDevice_ptsz(stream: CUstream, device: Out<CUdevice>) {
        device_of(NullStream::PerThread, stream, device)
    }
}

fn device_of(null: NullStream, stream: CUstream, device: Out<CUdevice>) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        let stream = call.stream(stream, null)?;
        let context = call.streams.get(stream)?.context;
        device.set(call.contexts.get(context)?.device as CUdevice)
    })
}
