//! Device memory and page-locked host memory: allocating, releasing, asking.

use std::ffi::{c_uint, c_void};
use std::ptr::NonNull;

use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, CUdeviceptr, Out};
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;
use crate::driver::memory::boxes::Rows;
use crate::driver::memory::small::Served;
use crate::driver::simulation::simulator::Simulator;
use crate::memory::{AllocationKind, OutOfMemory, RegisterError};

/// Rows of `cuMemAllocPitch` start at multiples of this.
const PITCH_ALIGNMENT: usize = 512;
/// `CU_MEMHOSTREGISTER_IOMEMORY`.
const IO_MEMORY: c_uint = 4;

/// The owner of an allocation, and its kind.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) struct Owned {
    pub(in crate::driver) context: CUcontext,
    pub(in crate::driver) kind: AllocationKind,
    pub(in crate::driver) origin: Origin,
}

/// The call that made an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Origin {
    /// `cuMemAlloc`, or a module's global variable.
    Device,
    /// `cuMemHostAlloc` with these flags.
    Host(c_uint),
    /// `cuMemHostRegister`.
    Registered(c_uint),
    /// `cuMemAllocManaged`, or a module's managed variable.
    Managed,
}

entry_points! {
    fn cuMemAlloc_v2(address: Out<CUdeviceptr>, bytes: usize) {
        let address = address.required()?;
        call(Cost::Free, |call| {
            let context = call.context()?;
            call.unsafe_in_captures()?;
            let (allocated, served) = call.allocate_device(context, bytes, AllocationKind::Device)?;
            call.spend(Cost::Allocation(served));
            address.set(allocated)
        })
    }

    fn cuMemAllocPitch_v2(
        address: Out<CUdeviceptr>,
        pitch: Out<usize>,
        width: usize,
        height: usize,
        element_bytes: c_uint,
    ) {
        let (address, pitch) = (address.required()?, pitch.required()?);
        if !matches!(element_bytes, 4 | 8 | 16) || width == 0 || height == 0 {
            return Err(CudaError::InvalidValue);
        }
        let row = width.checked_next_multiple_of(PITCH_ALIGNMENT).ok_or(CudaError::InvalidValue)?;
        let bytes = row.checked_mul(height).ok_or(CudaError::OutOfMemory)?;
        call(Cost::Free, |call| {
            let context = call.context()?;
            call.unsafe_in_captures()?;
            pitch.set(row)?;
            let (allocated, served) = call.allocate_device(context, bytes, AllocationKind::Device)?;
            // No operation writes the padding between rows, and a copy of the whole allocation reads it.
            let padding = Rows::rectangle(row - width, height, row);
            call.memory.mark_written(&padding.ranges(allocated + width as u64));
            call.spend(Cost::Allocation(served));
            address.set(allocated)
        })
    }

    /// Waits for all work of all contexts that can access the memory. Memory of a pool is freed without a wait.
    fn cuMemFree_v2(address: CUdeviceptr) {
        call(Cost::Other, |call| {
            let context = call.context()?;
            call.unsafe_in_captures()?;
            if address == 0 {
                return Ok(());
            }
            if call.free_of_pool(address) || call.free_of_graph_by_host(address) {
                return Ok(());
            }
            if !call.managed.starts_at(address) {
                call.freeable(address)?;
            }
            call.synchronize_users(context, address)?;
            let (_, served) = call.free(address);
            call.spend(Cost::Allocation(served));
            Ok(())
        })
    }

    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        call(Cost::Other, |call| {
            let context = call.context()?;
            let (free_bytes, total_bytes) = call.memory.device_memory(call.contexts.get(context)?.device);
            free.set(usize::try_from(free_bytes).unwrap_or(usize::MAX))?;
            total.set(usize::try_from(total_bytes).unwrap_or(usize::MAX))
        })
    }

    fn cuMemGetAddressRange_v2(base: Out<CUdeviceptr>, bytes: Out<usize>, address: CUdeviceptr) {
        call(Cost::Free, |call| {
            call.context()?;
            if let Some((start, allocation)) = call.pools.allocation_at(address) {
                base.set_if_wanted(start);
                bytes.set_if_wanted(allocation.bytes);
                return Ok(());
            }
            let allocation = call.memory.find(address).ok_or(CudaError::NotFound)?;
            base.set_if_wanted(allocation.base());
            bytes.set_if_wanted(allocation.len());
            Ok(())
        })
    }

    fn cuMemAllocHost_v2(memory: Out<*mut c_void>, bytes: usize) {
        allocate_host(memory, bytes, 0)
    }

    fn cuMemHostAlloc(memory: Out<*mut c_void>, bytes: usize, flags: c_uint) {
        /// `CU_MEMHOSTALLOC_PORTABLE`, `_DEVICEMAP` and `_WRITECOMBINED`.
        const KNOWN: c_uint = 7;
        if flags & !KNOWN != 0 {
            return Err(CudaError::InvalidValue);
        }
        allocate_host(memory, bytes, flags)
    }

    fn cuMemFreeHost(memory: *mut c_void) {
        call(Cost::Other, |call| {
            let context = call.context()?;
            call.unsafe_in_captures()?;
            let address = memory as u64;
            let owned = call.owned.get(&address).filter(|owned| matches!(owned.origin, Origin::Host(_)));
            owned.ok_or(CudaError::InvalidValue)?;
            call.synchronize_users(context, address)?;
            let (bytes, _) = call.free(address);
            call.spend(Cost::Unpin(bytes));
            Ok(())
        })
    }

    fn cuMemHostGetFlags(flags: Out<c_uint>, memory: *mut c_void) {
        call(Cost::Free, |call| {
            call.context()?;
            let base = call.memory.find(memory as u64).ok_or(CudaError::InvalidValue)?.base();
            match call.owned.get(&base).map(|owned| owned.origin) {
                Some(Origin::Host(given)) => flags.set(given),
                _ => Err(CudaError::InvalidValue),
            }
        })
    }

    /// Under unified addressing the device uses the host's own address.
    fn cuMemHostGetDevicePointer_v2(address: Out<CUdeviceptr>, memory: *mut c_void, flags: c_uint) {
        call(Cost::Free, |call| {
            call.context()?;
            let allocation = call.memory.find(memory as u64);
            let page_locked = allocation.is_some_and(|found| found.kind() == AllocationKind::PageLocked);
            if flags != 0 || !page_locked {
                return Err(CudaError::InvalidValue);
            }
            address.set(memory as u64)
        })
    }

    fn cuMemHostRegister | cuMemHostRegister_v2 (memory: *mut c_void, bytes: usize, flags: c_uint) {
        /// `CU_MEMHOSTREGISTER_PORTABLE`, `_DEVICEMAP`, `_IOMEMORY` and `_READ_ONLY`.
        const KNOWN: c_uint = 15;
        let start = NonNull::new(memory.cast::<u8>()).ok_or(CudaError::InvalidValue)?;
        if bytes == 0 || flags & !KNOWN != 0 {
            return Err(CudaError::InvalidValue);
        }
        if flags & IO_MEMORY != 0 {
            crate::say!("software GPU: cuMemHostRegister: memory of another device is not supported");
            return Err(CudaError::NotSupported);
        }
        call(Cost::Pin(bytes), |call| {
            let context = call.context()?;
            call.unsafe_in_captures()?;
            // SAFETY: the caller keeps the memory until it unregisters it: that is the contract of the call.
            unsafe { call.memory.register_host(start, bytes) }?;
            call.ordering.allocated(memory as u64, bytes, "registered host memory");
            let origin = Origin::Registered(flags);
            let kind = AllocationKind::PageLocked;
            call.owned.insert(start.as_ptr() as u64, Owned { context, kind, origin });
            Ok(())
        })
    }

    fn cuMemHostUnregister(memory: *mut c_void) {
        let start = NonNull::new(memory.cast::<u8>()).ok_or(CudaError::InvalidValue)?;
        call(Cost::Other, |call| {
            let context = call.context()?;
            call.unsafe_in_captures()?;
            call.synchronize_users(context, memory as u64)?;
            let bytes = call.memory.find(memory as u64).map_or(0, |found| found.len());
            call.memory.unregister_host(start)?;
            call.note_free("cuMemHostUnregister", memory as u64, bytes);
            call.ordering.freed(memory as u64, bytes);
            call.owned.remove(&(memory as u64));
            call.spend(Cost::Unpin(bytes));
            Ok(())
        })
    }
}

/// Zero bytes are allowed, as on NVIDIA's driver: the pointer becomes null.
fn allocate_host(memory: Out<*mut c_void>, bytes: usize, flags: c_uint) -> Result<(), CudaError> {
    let memory = memory.required()?;
    call(Cost::Other, |call| {
        let context = call.context()?;
        call.unsafe_in_captures()?;
        if bytes == 0 {
            return memory.set(std::ptr::null_mut());
        }
        let kind = AllocationKind::PageLocked;
        let device = call.contexts.get(context)?.device;
        let address = call.memory.allocate(device, bytes, kind)?;
        call.ordering
            .allocated(address, bytes, "page-locked host memory");
        let device = call.memory.storage(address, bytes);
        call.host_accesses.allocated(address, bytes, device);
        call.spend(Cost::Pin(bytes));
        let origin = Origin::Host(flags);
        call.owned.insert(
            address,
            Owned {
                context,
                kind,
                origin,
            },
        );
        memory.set(address as *mut c_void)
    })
}

impl Simulator {
    /// Allocates device memory: its address, and where it came from.
    pub(in crate::driver) fn allocate_device(
        &mut self,
        context: CUcontext,
        bytes: usize,
        kind: AllocationKind,
    ) -> Result<(CUdeviceptr, Served), CudaError> {
        if bytes == 0 {
            return Err(CudaError::InvalidValue);
        }
        let device = self.contexts.get(context)?.device;
        let address = self.memory.allocate(device, bytes, kind);
        let address = address.map_err(|_| self.because_full(device, bytes as u64))?;
        self.ordering.allocated(address, bytes, "device memory");
        let origin = Origin::Device;
        self.owned.insert(
            address,
            Owned {
                context,
                kind,
                origin,
            },
        );
        let host = &self.devices[device].profile.host;
        let served = self.small.allocated(host, device, address, bytes);
        Ok((address, served))
    }

    /// Releases memory that the driver allocated, and returns its size and where it went.
    pub(in crate::driver) fn free(&mut self, address: u64) -> (usize, Served) {
        let bytes = self.memory.find(address).map_or(0, |found| found.len());
        if let Some(owned) = self.owned.remove(&address) {
            self.host_accesses.freed(address);
            self.managed.remove(address);
            self.memory.free(address, owned.kind);
            let name = match owned.origin {
                Origin::Device | Origin::Managed => "cuMemFree",
                Origin::Host(_) | Origin::Registered(_) => "cuMemFreeHost",
            };
            self.note_free(name, address, bytes);
            self.ordering.freed(address, bytes);
        }
        let host = &self.devices[0].profile.host;
        let served = self.small.freed(host, address, bytes);
        (bytes, served)
    }

    /// A context ends: so does its memory.
    pub(in crate::driver) fn free_all_of(&mut self, context: CUcontext) {
        let of_context = self
            .owned
            .iter()
            .filter(|(_, owned)| owned.context == context);
        let owned: Vec<_> = of_context
            .map(|(address, owned)| (*address, owned.origin))
            .collect();
        for (address, origin) in owned {
            match (origin, NonNull::new(address as *mut u8)) {
                (Origin::Registered(_), Some(start)) => {
                    self.owned.remove(&address);
                    // It is registered, for it was in the list.
                    let _ = self.memory.unregister_host(start);
                }
                _ => {
                    self.free(address);
                }
            }
        }
    }
}

impl From<OutOfMemory> for CudaError {
    fn from(_: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

impl From<RegisterError> for CudaError {
    fn from(error: RegisterError) -> Self {
        match error {
            RegisterError::AlreadyRegistered => Self::HostMemoryAlreadyRegistered,
            RegisterError::NotRegistered => Self::HostMemoryNotRegistered,
            RegisterError::OutOfMemory(_) => Self::OutOfMemory,
        }
    }
}
