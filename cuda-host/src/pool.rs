//! Memory pools: where memory that is allocated in stream order comes from.
//!
//! cust allocates from the device's current pool: `DeviceBuffer::uninitialized_async` (`cuMemAllocAsync`) and
//! `drop_async` (`cuMemFreeAsync`). A pool *reserves* memory of the device and hands it out to streams: what is handed
//! out is *used*. Freed memory stays reserved until the host synchronises, and beyond that as far as the release threshold
//! allows; then the next allocation costs next to nothing. Three policies ([`Reuse`]) say which stream may get memory that
//! another one has freed.

use crate::result::ToResult;
use cust::device::Device;
use cust::error::{CudaError, CudaResult};
use cust::memory::{DeviceBuffer, DeviceCopy, DevicePointer};
use cust::stream::Stream;
use cust::sys::{self, CUdevice, CUmemPool_attribute, CUmemPoolProps, CUmemoryPool};
use std::fmt;

/// A pool of one device. A pool of one's own is destroyed when this is dropped; the driver keeps its memory until the last
/// allocation has been freed.
#[derive(Debug)]
pub struct MemoryPool {
    raw: CUmemoryPool,
    /// Created by [`MemoryPool::new`], and not the device's default pool.
    own: bool,
}

// SAFETY: pool handles may be used from any thread.
unsafe impl Send for MemoryPool {}
// SAFETY: as above; the driver locks the pool.
unsafe impl Sync for MemoryPool {}

/// When a stream may be given memory that another stream has freed (CUDA programming guide, "Memory Reuse Policies").
/// A new pool allows all three. The stream that freed memory gets it again at once, whatever the policies say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// The stream comes after the free, by events: it may have the memory while the free is still pending
    /// (`CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES`).
    FollowEventDependencies,
    /// The free happens to be over, although nothing orders the stream after it. Whether it is over is a matter of
    /// luck, and with it which memory a program gets (`CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC`).
    AllowOpportunistic,
    /// There is no other memory left: the stream is made to wait for a free that is still pending, without a word in
    /// the program (`CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES`).
    AllowInternalDependencies,
}

impl Reuse {
    /// All policies, in the driver's order.
    pub const ALL: [Self; 3] = [
        Self::FollowEventDependencies,
        Self::AllowOpportunistic,
        Self::AllowInternalDependencies,
    ];

    fn attribute(self) -> CUmemPool_attribute {
        use CUmemPool_attribute as A;
        match self {
            Self::FollowEventDependencies => A::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
            Self::AllowOpportunistic => A::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
            Self::AllowInternalDependencies => A::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES,
        }
    }
}

impl fmt::Display for Reuse {
    /// The end of the attribute's name in `cuda.h`, in small letters and words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::FollowEventDependencies => "follow event dependencies",
            Self::AllowOpportunistic => "allow opportunistic",
            Self::AllowInternalDependencies => "allow internal dependencies",
        })
    }
}

/// The bytes that a pool holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStatistics {
    /// Device memory that the pool has now.
    pub reserved: u64,
    /// The most that it had since the mark was reset.
    pub reserved_high: u64,
    /// The bytes allocated from it now.
    pub used: u64,
    /// The most that was allocated from it since the mark was reset.
    pub used_high: u64,
}

impl MemoryPool {
    /// The pool that `cuMemAllocAsync` takes memory from unless another is made current
    /// (`cuDeviceGetDefaultMemPool`). The whole process shares it and its settings.
    pub fn default_of(device: Device) -> CudaResult<Self> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` outlives the call, which stores a handle in it.
        unsafe { sys::cuDeviceGetDefaultMemPool(&mut raw, device.as_raw()) }.to_result()?;
        Ok(Self { raw, own: false })
    }

    /// A new pool of device memory (`cuMemPoolCreate`): nothing reserved, release threshold 0, every reuse allowed.
    pub fn new(device: Device) -> CudaResult<Self> {
        Self::create(device, 0)
    }

    /// A new pool that never reserves more than `bytes`, rounded up by the driver to what it reserves at once. Drivers
    /// before CUDA 12.2 know no such limit.
    ///
    /// # Errors
    /// `InvalidValue` for 0 bytes, which the driver would take for no limit.
    pub fn limited_to(device: Device, bytes: usize) -> CudaResult<Self> {
        if bytes == 0 {
            return Err(CudaError::InvalidValue);
        }
        Self::create(device, bytes)
    }

    fn create(device: Device, max_bytes: usize) -> CudaResult<Self> {
        let mut raw = std::ptr::null_mut();
        let properties = properties(device.as_raw(), max_bytes);
        // SAFETY: both outlive the call, which stores a handle in `raw`.
        unsafe { sys::cuMemPoolCreate(&mut raw, &properties) }.to_result()?;
        Ok(Self { raw, own: true })
    }

    /// Allocates room for `len` elements from this pool in stream order (`cuMemAllocFromPoolAsync`). Free it with
    /// `DeviceBuffer::drop_async`; dropping it frees it out of order (`cuMemFree`).
    ///
    /// # Safety
    /// The memory is undefined, and only work that comes behind the allocation may use it.
    pub unsafe fn alloc_async<T: DeviceCopy>(
        &self,
        len: usize,
        stream: &Stream,
    ) -> CudaResult<DeviceBuffer<T>> {
        let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| *bytes > 0);
        let bytes = bytes.ok_or(CudaError::InvalidMemoryAllocation)?;
        let mut address = 0;
        let stream = stream.as_inner();
        // SAFETY: `address` outlives the call, which stores the allocation's address in it.
        unsafe { sys::cuMemAllocFromPoolAsync(&mut address, bytes, self.raw, stream) }
            .to_result()?;
        // SAFETY: the allocation spans `len` elements, and this value owns it.
        Ok(unsafe { DeviceBuffer::from_raw_parts(DevicePointer::from_raw(address), len) })
    }

    /// Makes `cuMemAllocAsync` take memory from this pool (`cuDeviceSetMemPool`).
    pub fn make_current(&self, device: Device) -> CudaResult<()> {
        // SAFETY: the pool lives.
        unsafe { sys::cuDeviceSetMemPool(device.as_raw(), self.raw) }.to_result()
    }

    /// Bytes that stay reserved when the host synchronises.
    pub fn release_threshold(&self) -> CudaResult<u64> {
        self.get(CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    }

    /// Sets the bytes that stay reserved when the host synchronises: `u64::MAX` for all.
    pub fn set_release_threshold(&self, bytes: u64) -> CudaResult<()> {
        self.set(
            CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
            bytes,
        )
    }

    /// Whether a policy is followed.
    pub fn allows(&self, reuse: Reuse) -> CudaResult<bool> {
        let mut value = 0i32;
        // SAFETY: the attribute's type is an int, and `value` outlives the call.
        let result = unsafe {
            sys::cuMemPoolGetAttribute(self.raw, reuse.attribute(), (&raw mut value).cast())
        };
        result.to_result()?;
        Ok(value != 0)
    }

    /// Switches a policy on or off.
    pub fn allow(&self, reuse: Reuse, allowed: bool) -> CudaResult<()> {
        let mut value = i32::from(allowed);
        // SAFETY: the attribute's type is an int, and `value` outlives the call.
        let result = unsafe {
            sys::cuMemPoolSetAttribute(self.raw, reuse.attribute(), (&raw mut value).cast())
        };
        result.to_result()
    }

    /// Switches these policies on and all others off.
    pub fn allow_only(&self, policies: &[Reuse]) -> CudaResult<()> {
        Reuse::ALL
            .into_iter()
            .try_for_each(|reuse| self.allow(reuse, policies.contains(&reuse)))
    }

    /// What the pool holds.
    pub fn statistics(&self) -> CudaResult<PoolStatistics> {
        use CUmemPool_attribute as A;
        Ok(PoolStatistics {
            reserved: self.get(A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?,
            reserved_high: self.get(A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)?,
            used: self.get(A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?,
            used_high: self.get(A::CU_MEMPOOL_ATTR_USED_MEM_HIGH)?,
        })
    }

    /// Starts both high-water marks again.
    pub fn reset_high_water_marks(&self) -> CudaResult<()> {
        use CUmemPool_attribute as A;
        self.set(A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0)?;
        self.set(A::CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0)
    }

    /// Gives free memory back to the device at once, and keeps at least `bytes` reserved if there are as many
    /// (`cuMemPoolTrimTo`).
    pub fn trim_to(&self, bytes: usize) -> CudaResult<()> {
        // SAFETY: the pool lives.
        let result = unsafe { sys::cuMemPoolTrimTo(self.raw, bytes) };
        result.to_result()
    }

    /// The driver's handle, for calls that this crate does not wrap.
    pub fn raw(&self) -> CUmemoryPool {
        self.raw
    }

    fn get(&self, attribute: CUmemPool_attribute) -> CudaResult<u64> {
        let mut value = 0u64;
        // SAFETY: the attribute's type is a cuuint64_t, and `value` outlives the call.
        let result =
            unsafe { sys::cuMemPoolGetAttribute(self.raw, attribute, (&raw mut value).cast()) };
        result.to_result()?;
        Ok(value)
    }

    fn set(&self, attribute: CUmemPool_attribute, mut value: u64) -> CudaResult<()> {
        // SAFETY: the attribute's type is a cuuint64_t, and `value` outlives the call.
        let result =
            unsafe { sys::cuMemPoolSetAttribute(self.raw, attribute, (&raw mut value).cast()) };
        result.to_result()
    }
}

/// The parameters of a new pool. The limit is the field `maxSize` of newer headers, where the bindings' are still reserved.
fn properties(device: CUdevice, max_bytes: usize) -> CUmemPoolProps {
    let mut reserved = [0; 64];
    let limit = max_bytes.to_ne_bytes();
    reserved[..limit.len()].copy_from_slice(&limit);
    CUmemPoolProps {
        allocType: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: sys::CUmemLocation_st {
            type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
            id: device,
        },
        win32SecurityAttributes: std::ptr::null_mut(),
        reserved,
    }
}

impl Drop for MemoryPool {
    fn drop(&mut self) {
        if self.own {
            // SAFETY: this value owns the handle; the driver waits for the allocations that are left.
            unsafe { sys::cuMemPoolDestroy(self.raw) };
        }
    }
}
