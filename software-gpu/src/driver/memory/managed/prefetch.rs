//! Moving managed memory before it is needed: `cuMemPrefetchAsync`.

use std::ffi::c_uint;

use super::location::{CUmemLocation, Location};
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUdevice, CUdeviceptr, CUstream};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::reasons::because;
use crate::driver::simulation::operation::Effect;
use crate::driver::streams::stream::NullStream;
use crate::timeline::CopyKind;

/// A prefetch: a copy engine moves pages, and no byte changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Prefetch {
    pub(in crate::driver) kind: CopyKind,
    /// The bytes of whole pages; 0 if all are there.
    pub(in crate::driver) bytes: u64,
}

entry_points! {
    fn cuMemPrefetchAsync | cuMemPrefetchAsync_ptsz as null (
        address: CUdeviceptr, bytes: usize, device: CUdevice, stream: CUstream,
    ) {
        prefetch(null, address, bytes, stream, |devices| Location::of_device(device, devices))
    }

    fn cuMemPrefetchAsync_v2 | cuMemPrefetchAsync_v2_ptsz as null (
        address: CUdeviceptr, bytes: usize, location: CUmemLocation, flags: c_uint, stream: CUstream,
    ) {
        if flags != 0 {
            return Err(CudaError::InvalidValue);
        }
        prefetch(null, address, bytes, stream, |devices| Location::of(location, devices))
    }
}

fn prefetch(
    null: NullStream,
    address: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
    location: impl FnOnce(usize) -> Result<Location, CudaError>,
) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        let location = location(call.devices.len())?;
        let stream = call.stream(stream, null)?;
        call.spend_in(stream, Cost::Copy);
        call.managed_range(address, bytes)?;
        if call.is_capturing(stream) {
            return Err(CudaError::StreamCaptureUnsupported);
        }
        let effect = Effect::Prefetch(call.begin_prefetch(address, bytes, location));
        let clock = call.clock();
        call.submit(stream, clock, effect).map(|_| ())
    })
}

impl Call {
    /// Checks that managed memory is at `address`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an empty range and for other memory.
    pub(super) fn managed_range(
        &mut self,
        address: CUdeviceptr,
        bytes: usize,
    ) -> Result<std::ops::Range<u64>, CudaError> {
        let end = address.checked_add(bytes as u64);
        let end = end.filter(|_| bytes > 0).ok_or(CudaError::InvalidValue)?;
        let allocation = self.memory.find(address);
        let fits = allocation.is_some_and(|found| end <= found.base() + found.len() as u64);
        if !fits || self.managed.pages(&(address..end)).is_none() {
            return Err(because(
                CudaError::InvalidValue,
                format!(
                    "the {bytes} bytes at {address:#x} are not in one allocation of managed memory"
                ),
                "pass a range of memory that cuMemAllocManaged gave",
            ));
        }
        Ok(address..end)
    }

    /// The pages are at `location` from now on, for what is submitted later. A kernel that has not ended may still bring pages to its
    /// device: so a prefetch to the host moves the whole range then.
    fn begin_prefetch(&mut self, address: u64, bytes: usize, location: Location) -> Prefetch {
        let range = address..address + bytes as u64;
        let mut kernels = self.operations.values();
        let kernel_pending = kernels.any(|op| matches!(op.effect, Effect::Kernel(_)));
        let (kind, bytes) = match location {
            Location::Host if kernel_pending => (CopyKind::DeviceToHost, bytes as u64),
            Location::Host => (
                CopyKind::DeviceToHost,
                self.managed.bytes_elsewhere(&range, location),
            ),
            Location::Device(_) => (
                CopyKind::HostToDevice,
                self.managed.bytes_elsewhere(&range, location),
            ),
        };
        for page in self.managed.pages(&range).into_iter().flatten() {
            page.location = location;
            page.last_prefetch = Some(location);
        }
        Prefetch { kind, bytes }
    }
}
