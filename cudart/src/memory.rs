//! Device memory: allocations, pitched ones, memory sets, managed memory, and what a pointer is.

use std::ffi::c_void;

use crate::call::{default_stream_exports, exports, set, stream_exports};
use crate::driver::{self, Address, Handle, MemLocation};
use crate::error::{Error, Result};
use crate::stream::PER_THREAD;

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct PitchedPointer {
    pub(crate) pointer: *mut c_void,
    pub(crate) pitch: usize,
    /// Bytes of a row that are used.
    pub(crate) width: usize,
    /// Rows of a slice.
    pub(crate) height: usize,
}

/// `cudaExtent`: bytes of a row, rows of a slice, slices.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

/// `cudaPointerAttributes`.
#[repr(C)]
struct PointerAttributes {
    kind: u32,
    device: i32,
    device_pointer: *mut c_void,
    host_pointer: *mut c_void,
    #[cfg(not(feature = "cuda-12"))]
    reserved: [i64; 8],
}

/// Rows start at multiples of the pitch, which suits elements of up to 16 bytes.
const LARGEST_ELEMENT: u32 = 16;

fn allocate_pitched(width: usize, height: usize) -> Result<(Address, usize)> {
    if width == 0 || height == 0 {
        return Ok((0, 0));
    }
    let (mut address, mut pitch) = (0, 0);
    // SAFETY: the driver writes two numbers.
    unsafe {
        driver::cuMemAllocPitch_v2(&mut address, &mut pitch, width, height, LARGEST_ELEMENT)
    }?;
    Ok((address, pitch))
}

exports! {
    fn cudaMalloc(pointer: *mut *mut c_void, bytes: usize) {
        let mut address = 0;
        if bytes > 0 {
            driver::cuMemAlloc_v2(&mut address, bytes)?;
        }
        set(pointer, address as *mut c_void)
    }
    fn cudaFree(pointer: *mut c_void) {
        if pointer.is_null() { Ok(()) } else { driver::cuMemFree_v2(pointer as Address) }
    }
    fn cudaMallocPitch(pointer: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) {
        let (address, bytes) = allocate_pitched(width, height)?;
        set(pitch, bytes)?;
        set(pointer, address as *mut c_void)
    }
    fn cudaMalloc3D(pointer: *mut PitchedPointer, extent: Extent) {
        let rows = extent.height.checked_mul(extent.depth).ok_or(Error::INVALID_VALUE)?;
        let (address, pitch) = allocate_pitched(extent.width, rows)?;
        let allocated = PitchedPointer {
            pointer: address as *mut c_void, pitch, width: extent.width, height: extent.height
        };
        set(pointer, allocated)
    }
    fn cudaMallocManaged(pointer: *mut *mut c_void, bytes: usize, flags: u32) {
        let mut address = 0;
        driver::cuMemAllocManaged(&mut address, bytes, flags)?;
        set(pointer, address as *mut c_void)
    }
    fn cudaMemGetInfo(free: *mut usize, total: *mut usize) { driver::cuMemGetInfo_v2(free, total) }
    fn cudaPointerGetAttributes(attributes: *mut c_void, pointer: *const c_void) {
        set(attributes.cast(), pointer_attributes(pointer)?)
    }
}

/// Numbers of `CUpointer_attribute`.
const MEMORY_TYPE: u32 = 2;
const DEVICE_POINTER: u32 = 3;
const HOST_POINTER: u32 = 4;
const IS_MANAGED: u32 = 8;
const DEVICE_ORDINAL: u32 = 9;
/// `cudaInvalidDeviceId`.
const NO_DEVICE: i32 = -2;

fn pointer_attributes(pointer: *const c_void) -> Result<PointerAttributes> {
    let (mut kind, mut device, mut managed) = (0_u32, NO_DEVICE, 0_u32);
    let (mut device_pointer, mut host_pointer) = (0_u64, 0_u64);
    let mut names = [
        MEMORY_TYPE,
        DEVICE_POINTER,
        HOST_POINTER,
        IS_MANAGED,
        DEVICE_ORDINAL,
    ];
    let mut values = [
        (&raw mut kind).cast(),
        (&raw mut device_pointer).cast(),
        (&raw mut host_pointer).cast(),
        (&raw mut managed).cast(),
        (&raw mut device).cast::<c_void>(),
    ];
    // SAFETY: each value has its attribute's size.
    unsafe {
        driver::cuPointerGetAttributes(
            names.len() as u32,
            names.as_mut_ptr(),
            values.as_mut_ptr(),
            pointer as Address,
        )
    }?;
    // `cudaMemoryTypeUnregistered` is 0, `Host` 1, `Device` 2, as in the driver, and `Managed` 3.
    if kind == 0 {
        device = NO_DEVICE;
        host_pointer = pointer as u64;
    }
    Ok(PointerAttributes {
        kind: if managed & 0xff != 0 { 3 } else { kind },
        device,
        device_pointer: device_pointer as *mut c_void,
        host_pointer: host_pointer as *mut c_void,
        #[cfg(not(feature = "cuda-12"))]
        reserved: [0; 8],
    })
}

default_stream_exports! {
    fn cudaMemset | cudaMemset_ptds(to: *mut c_void, value: i32, bytes: usize) in stream {
        if stream == PER_THREAD {
            driver::cuMemsetD8_v2_ptds(to as Address, value as u8, bytes)
        } else {
            driver::cuMemsetD8_v2(to as Address, value as u8, bytes)
        }
    }
    fn cudaMemset2D | cudaMemset2D_ptds(to: *mut c_void, pitch: usize, value: i32, width: usize, height: usize) in stream {
        if stream == PER_THREAD {
            driver::cuMemsetD2D8_v2_ptds(to as Address, pitch, value as u8, width, height)
        } else {
            driver::cuMemsetD2D8_v2(to as Address, pitch, value as u8, width, height)
        }
    }
    fn cudaMemset3D | cudaMemset3D_ptds(to: PitchedPointer, value: i32, extent: Extent) in stream {
        memset_3d(to, value, extent, stream)
    }
}

stream_exports! {
    fn cudaMemsetAsync | cudaMemsetAsync_ptsz(to: *mut c_void, value: i32, bytes: usize, stream: Handle) for stream {
        driver::cuMemsetD8Async(to as Address, value as u8, bytes, stream)
    }
    fn cudaMemset2DAsync | cudaMemset2DAsync_ptsz(
        to: *mut c_void, pitch: usize, value: i32, width: usize, height: usize, stream: Handle
    ) for stream {
        driver::cuMemsetD2D8Async(to as Address, pitch, value as u8, width, height, stream)
    }
    fn cudaMemset3DAsync | cudaMemset3DAsync_ptsz(to: PitchedPointer, value: i32, extent: Extent, stream: Handle) for stream {
        memset_3d(to, value, extent, stream)
    }
}

/// Sets one slice after the other.
fn memset_3d(to: PitchedPointer, value: i32, extent: Extent, stream: Handle) -> Result {
    let slice = to
        .pitch
        .checked_mul(to.height)
        .ok_or(Error::INVALID_VALUE)?;
    for index in 0..extent.depth {
        let start = to.pointer as usize + index.checked_mul(slice).ok_or(Error::INVALID_VALUE)?;
        // SAFETY: the driver checks the range.
        unsafe {
            driver::cuMemsetD2D8Async(
                start as Address,
                to.pitch,
                value as u8,
                extent.width,
                extent.height,
                stream,
            )
        }?;
    }
    Ok(())
}

exports! {
    #[cfg(not(feature = "cuda-12"))]
    fn cudaMemAdvise(pointer: *const c_void, bytes: usize, advice: u32, location: MemLocation) {
        driver::cuMemAdvise_v2(pointer as Address, bytes, advice, location)
    }
    #[cfg(feature = "cuda-12")]
    fn cudaMemAdvise_v2(pointer: *const c_void, bytes: usize, advice: u32, location: MemLocation) {
        driver::cuMemAdvise_v2(pointer as Address, bytes, advice, location)
    }
    #[cfg(feature = "cuda-12")]
    fn cudaMemAdvise(pointer: *const c_void, bytes: usize, advice: u32, device: i32) {
        driver::cuMemAdvise_v2(pointer as Address, bytes, advice, location_of(device))
    }
}

stream_exports! {
    #[cfg(not(feature = "cuda-12"))]
    fn cudaMemPrefetchAsync | cudaMemPrefetchAsync_ptsz(
        pointer: *const c_void, bytes: usize, location: MemLocation, flags: u32, stream: Handle
    ) for stream {
        driver::cuMemPrefetchAsync_v2(pointer as Address, bytes, location, flags, stream)
    }
    #[cfg(feature = "cuda-12")]
    fn cudaMemPrefetchAsync_v2 | cudaMemPrefetchAsync_v2_ptsz(
        pointer: *const c_void, bytes: usize, location: MemLocation, flags: u32, stream: Handle
    ) for stream {
        driver::cuMemPrefetchAsync_v2(pointer as Address, bytes, location, flags, stream)
    }
    #[cfg(feature = "cuda-12")]
    fn cudaMemPrefetchAsync | cudaMemPrefetchAsync_ptsz(
        pointer: *const c_void, bytes: usize, device: i32, stream: Handle
    ) for stream {
        driver::cuMemPrefetchAsync_v2(pointer as Address, bytes, location_of(device), 0, stream)
    }
}

/// `cudaMemLocation` of a device number, which is `cudaCpuDeviceId`, -1, for the host.
#[cfg(feature = "cuda-12")]
fn location_of(device: i32) -> MemLocation {
    match device {
        -1 => MemLocation { kind: 2, id: 0 },
        device => MemLocation {
            kind: 1,
            id: device,
        },
    }
}
