//! Memory of the host and of the device.

use super::in_words;
use crate::syntax::MemoryKind;
use cuda_host::{StreamExt, stream};
use cust::memory::{DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use cust::sys;
use std::ffi::{CStr, c_void};
use std::mem::ManuallyDrop;

/// The largest allocation: 2^28 elements are 1 GiB.
const MOST_ELEMENTS: u64 = 1 << 28;

/// An allocation of 32-bit numbers.
pub(super) enum ProgramMemory {
    Device(DeviceBuffer<f32>),
    Pinned(LockedBuffer<f32>),
    Pageable(Vec<f32>),
}

/// A part of an allocation.
#[derive(Clone, Copy)]
pub(super) struct Span {
    /// Memory of the host or of the device.
    address: u64,
    is_device: bool,
    /// In elements.
    pub length: u64,
}

impl ProgramMemory {
    pub(super) fn allocate(
        kind: MemoryKind,
        length: u64,
        stream: Option<&Stream>,
    ) -> Result<Self, String> {
        if !(1..=MOST_ELEMENTS).contains(&length) {
            return Err(format!(
                "memory has 1 to {MOST_ELEMENTS} elements, not {length}"
            ));
        }
        let length = length as usize;
        match (kind, stream) {
            (MemoryKind::Device, None) => {
                // SAFETY: every pattern of bits is a number; the software GPU reports reads of what was never written.
                unsafe { DeviceBuffer::uninitialized(length) }.map(Self::Device)
            }
            (MemoryKind::Device, Some(stream)) => {
                // SAFETY: as above.
                unsafe { DeviceBuffer::uninitialized_async(length, stream) }.map(Self::Device)
            }
            (MemoryKind::Pinned, _) => LockedBuffer::new(&0.0, length).map(Self::Pinned),
            (MemoryKind::Pageable, _) => return Ok(Self::Pageable(vec![0.0; length])),
        }
        .map_err(in_words)
    }

    /// Frees it: in stream order, if there is a stream.
    pub(super) fn free(self, stream: Option<&Stream>) -> Result<(), String> {
        match (self, stream) {
            (Self::Device(buffer), Some(stream)) => buffer.drop_async(stream).map_err(in_words),
            _ => Ok(()),
        }
    }

    pub(super) fn span(&self) -> Span {
        let (address, is_device, length) = match self {
            Self::Device(buffer) => (buffer.as_device_ptr().as_raw(), true, buffer.len()),
            Self::Pinned(buffer) => (buffer.as_ptr() as u64, false, buffer.len()),
            Self::Pageable(buffer) => (buffer.as_ptr() as u64, false, buffer.len()),
        };
        Span {
            address,
            is_device,
            length: length as u64,
        }
    }
}

impl Span {
    /// The elements from `from` to before `to`.
    pub(super) fn part(self, from: u64, to: u64) -> Option<Self> {
        (from < to && to <= self.length).then(|| Self {
            address: self.address + from * size_of::<f32>() as u64,
            length: to - from,
            ..self
        })
    }

    fn bytes(self) -> usize {
        self.length as usize * size_of::<f32>()
    }

    /// The address on the device.
    pub(super) fn device(self) -> Result<u64, String> {
        match self.is_device {
            true => Ok(self.address),
            false => Err("memory of the device belongs here".to_owned()),
        }
    }

    /// The host's elements. Nothing else refers to them while the caller does.
    pub(super) fn host_mut<'a>(self) -> Result<&'a mut [f32], String> {
        match self.is_device {
            true => Err("memory of the host belongs here".to_owned()),
            // SAFETY: the span lies in an allocation that lives, and the interpreter makes one reference at a time.
            false => Ok(unsafe {
                std::slice::from_raw_parts_mut(
                    self.address as usize as *mut f32,
                    self.length as usize,
                )
            }),
        }
    }

    fn host(self) -> *mut c_void {
        self.address as usize as *mut c_void
    }
}

/// The driver's name of an error is what documentation and search engines know.
fn checked(result: sys::cudaError_enum) -> Result<(), String> {
    if result == sys::cudaError_enum::CUDA_SUCCESS {
        return Ok(());
    }
    let mut name = std::ptr::null();
    // SAFETY: the driver writes a pointer to a text that it keeps, or null.
    let name = unsafe {
        sys::cuGetErrorName(result, &raw mut name);
        (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
    };
    Err(name.unwrap_or_else(|| format!("error {}", result as u32)))
}

/// Copies, in a stream or blocking, as the two sides say.
pub(super) fn copy(to: Span, from: Span, stream: Option<&Stream>) -> Result<(), String> {
    if to.length != from.length {
        return Err(format!(
            "a copy has two sides of one length: {} elements from {}",
            to.length, from.length
        ));
    }
    let bytes = to.bytes();
    // SAFETY: both sides are that long. They live, or the software GPU reports it.
    checked(unsafe {
        match (to.is_device, from.is_device, stream.map(StreamExt::raw)) {
            (true, true, Some(stream)) => {
                sys::cuMemcpyDtoDAsync_v2(to.address, from.address, bytes, stream)
            }
            (true, true, None) => sys::cuMemcpyDtoD_v2(to.address, from.address, bytes),
            (true, false, Some(stream)) => {
                sys::cuMemcpyHtoDAsync_v2(to.address, from.host(), bytes, stream)
            }
            (true, false, None) => sys::cuMemcpyHtoD_v2(to.address, from.host(), bytes),
            (false, _, Some(stream)) => {
                sys::cuMemcpyDtoHAsync_v2(to.host(), from.address, bytes, stream)
            }
            (false, _, None) => sys::cuMemcpyDtoH_v2(to.host(), from.address, bytes),
        }
    })
}

/// Writes zeros (`cuMemsetD32`).
pub(super) fn zero(span: Span) -> Result<(), String> {
    // SAFETY: the span lies in an allocation of the device.
    checked(unsafe { sys::cuMemsetD32_v2(span.device()?, 0, span.length as usize) })
}

/// The legacy default stream, which nothing destroys.
pub(super) fn legacy() -> &'static Stream {
    thread_local! {
        static LEGACY: &'static ManuallyDrop<Stream> = Box::leak(Box::new(stream::legacy()));
    }
    LEGACY.with(|stream| &***stream)
}
