//! Memory pools: where memory that is allocated in stream order comes from.
//!
//! A pool *reserves* memory of the device and hands it out to streams: what is handed out is *used*. Freed memory stays
//! reserved until the host synchronises, and beyond that as far as the release threshold allows; then the next
//! allocation costs next to nothing. Which stream may get memory that another one has freed, three policies say
//! ([`Reuse`]).
//!
//! An allocation is a [`DeviceBuffer`] like any other: it belongs to a stream, crosses to another one with an event
//! ([`DeviceBuffer::hand_to`]), and is freed in the order of its last owner, however it got there.

use crate::device::Device;
use crate::device_buffer::DeviceBuffer;
use crate::error::{Error, Result, check};
use crate::stream::Stream;
use bytemuck::Pod;
use cust::sys::{self, CUdevice, CUmemPool_attribute, CUmemPoolProps, CUmemoryPool};
use std::fmt;
use std::sync::Arc;

/// A handle to a pool of one device. An own pool is destroyed with its last handle; the driver keeps its memory until
/// the last allocation has been freed.
#[derive(Clone)]
pub struct MemoryPool(Arc<Handle>);

struct Handle {
    raw: CUmemoryPool,
    device: Device,
    /// Created by [`MemoryPool::new`], and not the device's default pool.
    own: bool,
}

// SAFETY: pool handles may be used from any thread.
unsafe impl Send for Handle {}
// SAFETY: as above; the driver locks the pool.
unsafe impl Sync for Handle {}

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

/// What a pool holds, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStatistics {
    /// Device memory that the pool has now.
    pub reserved: u64,
    /// The most that it had since the mark was reset.
    pub reserved_high: u64,
    /// What is allocated from it now.
    pub used: u64,
    /// The most that was allocated from it since the mark was reset.
    pub used_high: u64,
}

impl MemoryPool {
    /// The pool that `cuMemAllocAsync` takes memory from unless another is made current
    /// (`cuDeviceGetDefaultMemPool`). All of the process share it, and so do its settings.
    pub fn default_of(device: &Device) -> Result<Self> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` outlives the call, which stores a handle in it.
        let result = unsafe { sys::cuDeviceGetDefaultMemPool(&mut raw, device.raw()) };
        check("cuDeviceGetDefaultMemPool", result, || {
            device.name().to_owned()
        })?;
        Ok(Self::around(raw, device, false))
    }

    /// A new pool of device memory (`cuMemPoolCreate`): nothing reserved, release threshold 0, every reuse allowed.
    pub fn new(device: &Device) -> Result<Self> {
        Self::create(device, 0)
    }

    /// A new pool that never reserves more than `bytes`, rounded up by the driver to what it reserves at once. Drivers
    /// before CUDA 12.2 know no such limit.
    ///
    /// # Errors
    /// [`Error::PoolLimit`] for 0 bytes, which the driver would take for no limit.
    pub fn limited_to(device: &Device, bytes: usize) -> Result<Self> {
        if bytes == 0 {
            return Err(Error::PoolLimit);
        }
        Self::create(device, bytes)
    }

    fn create(device: &Device, max_bytes: usize) -> Result<Self> {
        let mut raw = std::ptr::null_mut();
        let properties = properties(device.raw(), max_bytes);
        // SAFETY: both outlive the call, which stores a handle in `raw`.
        let result = unsafe { sys::cuMemPoolCreate(&mut raw, &properties) };
        check("cuMemPoolCreate", result, || match max_bytes {
            0 => device.name().to_owned(),
            bytes => format!("at most {bytes} bytes"),
        })?;
        Ok(Self::around(raw, device, true))
    }

    fn around(raw: CUmemoryPool, device: &Device, own: bool) -> Self {
        Self(Arc::new(Handle {
            raw,
            device: device.clone(),
            own,
        }))
    }

    /// Allocates room for `capacity` elements from this pool in stream order (`cuMemAllocFromPoolAsync`); see
    /// [`DeviceBuffer::from_pool`] for how it is freed.
    pub fn allocate<T: Pod>(&self, stream: &Stream, capacity: usize) -> Result<DeviceBuffer<T>> {
        DeviceBuffer::in_stream_order(stream, capacity, Some(self))
    }

    /// Bytes that stay reserved when the host synchronises.
    pub fn release_threshold(&self) -> Result<u64> {
        self.get(CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    }

    /// Sets the bytes that stay reserved when the host synchronises: `u64::MAX` for all.
    pub fn set_release_threshold(&self, bytes: u64) -> Result<()> {
        self.set(
            CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
            bytes,
        )
    }

    /// Whether a policy is followed.
    pub fn allows(&self, reuse: Reuse) -> Result<bool> {
        let mut value = 0i32;
        // SAFETY: the attribute's type is an int, and `value` outlives the call.
        let result = unsafe {
            sys::cuMemPoolGetAttribute(self.0.raw, reuse.attribute(), (&raw mut value).cast())
        };
        check("cuMemPoolGetAttribute", result, || reuse.to_string())?;
        Ok(value != 0)
    }

    /// Switches a policy on or off.
    pub fn allow(&self, reuse: Reuse, allowed: bool) -> Result<()> {
        let mut value = i32::from(allowed);
        // SAFETY: the attribute's type is an int, and `value` outlives the call.
        let result = unsafe {
            sys::cuMemPoolSetAttribute(self.0.raw, reuse.attribute(), (&raw mut value).cast())
        };
        check("cuMemPoolSetAttribute", result, || reuse.to_string())
    }

    /// Switches these policies on and all others off.
    pub fn allow_only(&self, policies: &[Reuse]) -> Result<()> {
        Reuse::ALL
            .into_iter()
            .try_for_each(|reuse| self.allow(reuse, policies.contains(&reuse)))
    }

    /// What the pool holds.
    pub fn statistics(&self) -> Result<PoolStatistics> {
        use CUmemPool_attribute as A;
        Ok(PoolStatistics {
            reserved: self.get(A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?,
            reserved_high: self.get(A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)?,
            used: self.get(A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?,
            used_high: self.get(A::CU_MEMPOOL_ATTR_USED_MEM_HIGH)?,
        })
    }

    /// Starts both high-water marks again.
    pub fn reset_high_water_marks(&self) -> Result<()> {
        use CUmemPool_attribute as A;
        self.set(A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0)?;
        self.set(A::CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0)
    }

    /// Gives free memory back to the device at once, and keeps at least `bytes` reserved if there are as many
    /// (`cuMemPoolTrimTo`).
    pub fn trim_to(&self, bytes: usize) -> Result<()> {
        // SAFETY: the pool lives.
        let result = unsafe { sys::cuMemPoolTrimTo(self.0.raw, bytes) };
        check("cuMemPoolTrimTo", result, || format!("{bytes} bytes"))
    }

    /// The driver's handle, for calls that this crate does not wrap.
    pub fn raw(&self) -> CUmemoryPool {
        self.0.raw
    }

    /// The device that the memory is on.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    fn get(&self, attribute: CUmemPool_attribute) -> Result<u64> {
        let mut value = 0u64;
        // SAFETY: the attribute's type is a cuuint64_t, and `value` outlives the call.
        let result =
            unsafe { sys::cuMemPoolGetAttribute(self.0.raw, attribute, (&raw mut value).cast()) };
        check("cuMemPoolGetAttribute", result, || format!("{attribute:?}"))?;
        Ok(value)
    }

    fn set(&self, attribute: CUmemPool_attribute, mut value: u64) -> Result<()> {
        // SAFETY: the attribute's type is a cuuint64_t, and `value` outlives the call.
        let result =
            unsafe { sys::cuMemPoolSetAttribute(self.0.raw, attribute, (&raw mut value).cast()) };
        check("cuMemPoolSetAttribute", result, || {
            format!("{attribute:?} = {value}")
        })
    }
}

/// What a pool is made with. The limit is the field `maxSize` of newer headers, where the bindings' are still reserved.
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

impl Drop for Handle {
    fn drop(&mut self) {
        if self.own {
            // SAFETY: the last handle is gone; the driver waits for the allocations that are left.
            unsafe { sys::cuMemPoolDestroy(self.raw) };
        }
    }
}

impl fmt::Debug for MemoryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryPool")
            .field("own", &self.0.own)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
