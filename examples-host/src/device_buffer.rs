//! Device memory that knows the stream it belongs to.
//!
//! Every operation on a [`DeviceBuffer`] runs on the stream that owns it, and only
//! [`DeviceBuffer::hand_to`] changes the owner: it makes the new stream wait for what the old one
//! has been given so far. A use that is not ordered behind the earlier ones can therefore not be
//! written in safe code. The one exception is unsafe and says so in its name.

use crate::error::{Error, Result, check};
use crate::host_buffer::{HostBuffer, bytes_of};
use crate::memory_pool::MemoryPool;
use crate::split::pieces;
use crate::stream::{Stream, enqueue};
use bytemuck::Pod;
use cust::sys::{self, CUdeviceptr};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Room for a number of elements on the device, or one of the pieces that such room was split into.
///
/// Like a vector, it has a capacity and a length: it is as long as what was last copied into it,
/// and kernels are passed that length. A new buffer is as long as its capacity, its contents
/// undefined.
pub struct DeviceBuffer<T: Pod> {
    // The first two are what a kernel's slice parameter is made of; launches point at them.
    address: CUdeviceptr,
    len: usize,
    capacity: usize,
    stream: Stream,
    memory: Arc<Memory>,
    elements: PhantomData<T>,
}

/// An allocation of device memory, shared by its pieces.
struct Memory {
    address: CUdeviceptr,
    origin: Origin,
    /// The last owners of the pieces dropped so far: their work is waited for before the memory is
    /// freed.
    last_owners: Mutex<Vec<Stream>>,
}

/// How memory was allocated, and is to be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Device,
    Pool,
}

impl<T: Pod> DeviceBuffer<T> {
    /// Allocates room for `capacity` elements (`cuMemAlloc`) that belongs to `stream`.
    pub fn new(stream: &Stream, capacity: usize) -> Result<Self> {
        let bytes = bytes_of::<T>(capacity)?;
        let mut address = 0;
        // SAFETY: `address` outlives the call, which stores the allocation's address in it.
        let result = unsafe { sys::cuMemAlloc_v2(&mut address, bytes) };
        check("cuMemAlloc", result, || format!("{bytes} bytes"))?;
        Ok(Self::around(address, Origin::Device, stream, capacity))
    }

    /// Allocates room for `capacity` elements in stream order (`cuMemAllocAsync`, from the device's current pool): the
    /// memory is `stream`'s from its present end on. When the last piece is dropped the memory is freed in stream order
    /// (`cuMemFreeAsync`), behind everything that the owners have been given; the host waits for nothing. For another
    /// pool see [`MemoryPool::allocate`].
    pub fn from_pool(stream: &Stream, capacity: usize) -> Result<Self> {
        Self::in_stream_order(stream, capacity, None)
    }

    /// As [`DeviceBuffer::from_pool`], from this pool or else the device's current one.
    pub(crate) fn in_stream_order(
        stream: &Stream,
        capacity: usize,
        pool: Option<&MemoryPool>,
    ) -> Result<Self> {
        let (bytes, raw) = (bytes_of::<T>(capacity)?, stream.raw()?);
        let (mut address, to) = (0, || format!("{bytes} bytes, stream {}", stream.name()));
        match pool {
            None => {
                // SAFETY: `address` outlives the call, which stores the allocation's address in it.
                let result = unsafe { sys::cuMemAllocAsync(&mut address, bytes, raw) };
                check("cuMemAllocAsync", result, to)?;
            }
            Some(pool) => {
                // SAFETY: as above, and the pool lives.
                let result =
                    unsafe { sys::cuMemAllocFromPoolAsync(&mut address, bytes, pool.raw(), raw) };
                check("cuMemAllocFromPoolAsync", result, to)?;
            }
        }
        Ok(Self::around(address, Origin::Pool, stream, capacity))
    }

    fn around(address: CUdeviceptr, origin: Origin, stream: &Stream, capacity: usize) -> Self {
        let memory = Arc::new(Memory {
            address,
            origin,
            last_owners: Mutex::default(),
        });
        Self {
            address,
            len: capacity,
            capacity,
            stream: stream.clone(),
            memory,
            elements: PhantomData,
        }
    }

    /// Elements that the buffer holds.
    #[expect(clippy::len_without_is_empty, reason = "a buffer is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Makes the buffer `len` elements long, for a kernel that fills so many of them; what they hold is not changed.
    ///
    /// # Errors
    /// When there is no room for so many, or for none.
    #[inline]
    pub fn set_len(&mut self, len: usize) -> Result<()> {
        bytes_of::<T>(len)?;
        self.fits(len, "a device buffer")?;
        self.len = len;
        Ok(())
    }

    /// Elements that it has room for.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes that the buffer holds.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The stream that the buffer belongs to.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The device address, for calls that this crate does not wrap.
    pub fn address(&self) -> CUdeviceptr {
        self.address
    }

    /// Gives the buffer to `stream`, which waits for all that its present owner has been given so
    /// far (an event record and a wait; no host synchronisation). Nothing happens when `stream`
    /// owns it already.
    ///
    /// Hand a buffer on right behind its last operation: whatever else the owner has been given by
    /// then is waited for too. Buffers that take turns come from a [`Ring`](crate::ring::Ring).
    #[inline]
    pub fn hand_to(&mut self, stream: &Stream) -> Result<()> {
        if self.stream != *stream {
            stream.wait_for(&self.stream)?;
            self.stream = stream.clone();
        }
        Ok(())
    }

    /// Gives the buffer to `stream` without making it wait: the missing event, for the labs that
    /// need the bug.
    ///
    /// # Safety
    /// The caller vouches that the earlier operations on the buffer finish before later ones on
    /// `stream` start, by an order that this crate does not see; or that the program is right for
    /// whatever bytes the race leaves.
    pub unsafe fn assume_ordered_on(&mut self, stream: &Stream) {
        self.stream = stream.clone();
    }

    /// Copies `source` to the device, on the owning stream (`cuMemcpyHtoDAsync`). The buffer
    /// becomes as long as the source.
    pub fn copy_from(&mut self, source: &HostBuffer<T>) -> Result<()> {
        self.fits(source.len(), "a device buffer")?;
        let bytes = source.bytes();
        source.lend(&self.stream, false, |from| {
            enqueue(|| {
                // SAFETY: both ends span `bytes`; `lend` keeps the source alive and unchanged until
                // the copy has finished.
                let result = unsafe {
                    sys::cuMemcpyHtoDAsync_v2(self.address, from.cast(), bytes, self.stream.raw()?)
                };
                check("cuMemcpyHtoDAsync", result, || {
                    format!("{bytes} bytes, stream {}", self.stream.name())
                })
            })
        })?;
        self.len = source.len();
        Ok(())
    }

    /// Copies what the buffer holds to the start of `destination`, on the owning stream
    /// (`cuMemcpyDtoHAsync`).
    pub fn copy_to(&self, destination: &mut HostBuffer<T>) -> Result<()> {
        if destination.len() < self.len {
            return Err(Error::CopyTooLong {
                source_len: self.len,
                destination: "a host buffer",
                room: destination.len(),
            });
        }
        let bytes = self.bytes();
        destination.lend(&self.stream, true, |to| {
            enqueue(|| {
                // SAFETY: both ends span `bytes`; `lend` keeps the destination alive and unread
                // until the copy has finished.
                let result = unsafe {
                    sys::cuMemcpyDtoHAsync_v2(to.cast(), self.address, bytes, self.stream.raw()?)
                };
                check("cuMemcpyDtoHAsync", result, || {
                    format!("{bytes} bytes, stream {}", self.stream.name())
                })
            })
        })?;
        Ok(())
    }

    /// Copies what `source` holds into this buffer, within the device (`cuMemcpyDtoDAsync`). Both
    /// must belong to the same stream.
    pub fn copy_from_device(&mut self, source: &DeviceBuffer<T>) -> Result<()> {
        self.fits(source.len, "a device buffer")?;
        if self.stream != source.stream {
            return Err(Error::TwoStreams {
                kernel: "copy within the device",
                argument: 1,
                expected: self.stream.name().to_owned(),
                found: source.stream.name().to_owned(),
            });
        }
        let bytes = source.bytes();
        enqueue(|| {
            // SAFETY: both ends span `bytes` of device memory.
            let result = unsafe {
                sys::cuMemcpyDtoDAsync_v2(self.address, source.address, bytes, self.stream.raw()?)
            };
            check("cuMemcpyDtoDAsync", result, || {
                format!("{bytes} bytes, stream {}", self.stream.name())
            })
        })?;
        self.len = source.len;
        Ok(())
    }

    /// Sets every byte of the whole capacity, on the owning stream (`cuMemsetD8Async`), and makes
    /// the buffer that long.
    pub fn fill_bytes(&mut self, byte: u8) -> Result<()> {
        self.len = self.capacity;
        let bytes = self.bytes();
        enqueue(|| {
            // SAFETY: the buffer spans `bytes`.
            let result =
                unsafe { sys::cuMemsetD8Async(self.address, byte, bytes, self.stream.raw()?) };
            check("cuMemsetD8Async", result, || {
                format!("{bytes} bytes, stream {}", self.stream.name())
            })
        })
    }

    /// Fills the whole capacity with 0xFF bytes (NaNs, as floats), so that an earlier run's data
    /// cannot pass for the next's.
    pub fn poison(&mut self) -> Result<()> {
        self.fill_bytes(0xFF)
    }

    /// Splits the room into separately owned pieces, in order, of equal length up to an alignment
    /// of 128 bytes. All belong to this buffer's stream until they are handed on.
    pub fn split(self, count: usize) -> Result<Vec<Self>> {
        let pieces = pieces::<T>(self.capacity, count).ok_or(Error::Split {
            len: self.capacity,
            pieces: count,
        })?;
        Ok(pieces.map(|range| self.piece(range)).collect())
    }

    /// The part of the room from `range.start` to `range.end`, as a buffer that belongs to the same stream. Whoever asks
    /// sees to it that no element has two owners.
    pub(crate) fn piece(&self, range: Range<usize>) -> Self {
        Self {
            address: self.address + (range.start * size_of::<T>()) as CUdeviceptr,
            len: range.len(),
            capacity: range.len(),
            stream: self.stream.clone(),
            memory: Arc::clone(&self.memory),
            elements: PhantomData,
        }
    }

    /// The last owners of the pieces that have been dropped, if no piece is left besides this one; they are forgotten.
    pub(crate) fn take_last_owners(&mut self) -> Option<Vec<Stream>> {
        let memory = Arc::get_mut(&mut self.memory)?;
        let owners = memory.last_owners.get_mut();
        Some(std::mem::take(
            owners.unwrap_or_else(PoisonError::into_inner),
        ))
    }

    /// Where the address is kept, for a launch to point at.
    #[inline]
    pub(crate) fn address_slot(&self) -> &CUdeviceptr {
        &self.address
    }

    /// Where the length is kept, for a launch to point at.
    #[inline]
    pub(crate) fn len_slot(&self) -> &usize {
        &self.len
    }

    fn fits(&self, source_len: usize, destination: &'static str) -> Result<()> {
        if source_len <= self.capacity {
            return Ok(());
        }
        Err(Error::CopyTooLong {
            source_len,
            destination,
            room: self.capacity,
        })
    }
}

impl<T: Pod> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        let mut owners = self
            .memory
            .last_owners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !owners.contains(&self.stream) {
            owners.push(self.stream.clone());
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let owners = self.last_owners.get_mut();
        let owners = std::mem::take(owners.unwrap_or_else(PoisonError::into_inner));
        if self.origin == Origin::Pool && free_in_order(self.address, &owners).is_ok() {
            return;
        }
        for stream in owners {
            if stream.synchronize().is_err() {
                // Another thread's default stream: wait for the whole device instead.
                let _ = stream.device().synchronize();
            }
        }
        // SAFETY: no piece is left, and the work of all who owned one has finished.
        unsafe { sys::cuMemFree_v2(self.address) };
    }
}

/// Frees a pool's memory on the last owner, behind the work of all owners.
fn free_in_order(address: CUdeviceptr, owners: &[Stream]) -> Result<()> {
    let Some((last, others)) = owners.split_last() else {
        return Ok(());
    };
    for other in others {
        last.wait_for(other)?;
    }
    // SAFETY: no piece is left, and the stream now comes after the work of all who owned one.
    let result = unsafe { sys::cuMemFreeAsync(address, last.raw()?) };
    check("cuMemFreeAsync", result, || {
        format!("stream {}", last.name())
    })
}

impl<T: Pod> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceBuffer")
            .field("len", &self.len)
            .field("capacity", &self.capacity)
            .field("stream", &self.stream.name())
            .finish_non_exhaustive()
    }
}
