//! Page-locked memory that kernels access as well, through the address that it has on the device.

use crate::result::ToResult;
use cust::error::CudaResult;
use cust::memory::{DeviceCopy, DevicePointer, LockedBuffer};
use cust::sys;
use std::sync::atomic::{AtomicU32, Ordering};

/// The address at which kernels find the buffer (`cuMemHostGetDevicePointer`), valid as long as the buffer. A host reference to
/// the elements may not live while a kernel stores there.
pub fn device_pointer<T: DeviceCopy>(buffer: &mut LockedBuffer<T>) -> CudaResult<DevicePointer<T>> {
    let mut address = 0;
    let start = buffer.as_mut_ptr().cast();
    // SAFETY: the memory is the driver's and page-locked.
    unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, start, 0) }.to_result()?;
    Ok(DevicePointer::from_raw(address))
}

/// A count in page-locked memory, which the host and a kernel share while the kernel runs. The kernel accesses it at the scope of
/// the system (PTX `ld.acquire.sys`, `st.release.sys`).
#[derive(Debug)]
pub struct SharedCount(LockedBuffer<u32>);

impl SharedCount {
    /// A count of 0 (`cuMemAllocHost`).
    pub fn new() -> CudaResult<Self> {
        LockedBuffer::new(&0, 1).map(Self)
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the word is aligned and lives as long as the reference; both sides access it atomically.
        unsafe { AtomicU32::from_ptr(self.0.as_ptr().cast_mut()) }
    }

    /// The count. What the kernel stored before it released this count, the host may read from now on.
    pub fn acquire(&self) -> u32 {
        let count = self.word().load(Ordering::Acquire);
        libcuda::host::acquires(self.0.as_ptr().cast(), size_of::<u32>());
        count
    }

    /// Stores the count. A kernel that acquires it may read what the host stored before.
    pub fn release(&self, count: u32) {
        self.word().store(count, Ordering::Release);
    }

    /// Where kernels find it (`cuMemHostGetDevicePointer`).
    pub fn device_pointer(&mut self) -> CudaResult<DevicePointer<u32>> {
        device_pointer(&mut self.0)
    }
}
