//! Calls without an effect here: marks for profilers, affinity to multiprocessors, persisting lines of L2.

use std::ffi::{c_int, c_uint, c_void};

use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUdevice, Out};
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;

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
}
