//! Allocating managed memory: `cuMemAllocManaged`.

use std::ffi::c_uint;

use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, CUdeviceptr, CUstream, Out};
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;
use crate::driver::memory::allocation::{Origin, Owned};
use crate::driver::reasons::because;
use crate::driver::simulation::operation::Effect;
use crate::driver::simulation::simulator::Simulator;
use crate::memory::AllocationKind;

/// `CU_MEM_ATTACH_GLOBAL`, `_HOST` and `_SINGLE`.
const GLOBAL: c_uint = 1;
const HOST: c_uint = 2;
const SINGLE: c_uint = 4;

entry_points! {
    fn cuMemAllocManaged(address: Out<CUdeviceptr>, bytes: usize, flags: c_uint) {
        let address = address.required()?;
        if !matches!(flags, GLOBAL | HOST) {
            return Err(because(
                CudaError::InvalidValue,
                format!("the flags are {flags}"),
                "pass CU_MEM_ATTACH_GLOBAL (1) or CU_MEM_ATTACH_HOST (2)",
            ));
        }
        if bytes == 0 {
            return Err(CudaError::InvalidValue);
        }
        call(Cost::Other, |call| {
            let context = call.context()?;
            call.unsafe_in_captures()?;
            address.set(call.allocate_managed(context, bytes)?)
        })
    }

    /// Checks its arguments and takes its place in the stream. Devices with `CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS`, as all
    /// profiles have it, let the host access managed memory at any time, whichever stream it is attached to.
    fn cuStreamAttachMemAsync | cuStreamAttachMemAsync_ptsz as null (
        stream: CUstream, address: CUdeviceptr, bytes: usize, flags: c_uint,
    ) {
        if !matches!(flags, GLOBAL | HOST | SINGLE) {
            return Err(CudaError::InvalidValue);
        }
        call(Cost::Other, |call| {
            let is_default = matches!(stream, CUstream::NULL | CUstream::LEGACY | CUstream::PER_THREAD);
            let target = call.stream(stream, null)?;
            let len = call.memory.find(address).map_or(0, |found| found.len());
            let is_whole = bytes == 0 || bytes == len;
            if !call.managed.starts_at(address) || !is_whole || flags == SINGLE && is_default {
                return Err(CudaError::InvalidValue);
            }
            if call.is_capturing(target) {
                return Err(CudaError::StreamCaptureUnsupported);
            }
            let clock = call.clock();
            call.submit(target, clock, Effect::Attach).map(|_| ())
        })
    }
}

impl Simulator {
    /// Allocates managed memory of a context.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(in crate::driver) fn allocate_managed(
        &mut self,
        context: CUcontext,
        bytes: usize,
    ) -> Result<CUdeviceptr, CudaError> {
        let kind = AllocationKind::PageLocked;
        let device = self.contexts.get(context)?.device;
        let address = self.memory.allocate(device, bytes, kind)?;
        self.ordering.allocated(address, bytes, "managed memory");
        let storage = self.memory.storage(address, bytes);
        self.host_accesses.allocated(address, bytes, storage);
        self.managed.add(address, bytes);
        let origin = Origin::Managed;
        let owned = Owned {
            context,
            kind,
            origin,
        };
        self.owned.insert(address, owned);
        Ok(address)
    }
}
