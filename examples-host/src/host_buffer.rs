//! Host memory that the device copies from and to.
//!
//! Three kinds differ in nothing but where the memory comes from: pageable (the program's own),
//! page-locked (allocated by the driver) and registered (the program's own, locked afterwards). One
//! type holds all three, so that variants of an example differ in one word.
//!
//! A copy enqueued on a stream goes on using the memory after the call has returned. The buffer
//! therefore remembers the last copies that use it. Reading waits for those that write; writing and
//! dropping wait for all. A copy on one stream that conflicts with a copy on another is ordered
//! behind it by an event. Nothing of this costs a driver call as long as the copies of one buffer
//! stay on one stream.

use crate::device::Device;
use crate::error::{Error, Result, check};
use crate::event::{Event, Timing};
use crate::split::pieces;
use crate::stream::Stream;
use crate::uncached;
use bytemuck::Pod;
use cust::sys;
use libcuda::host;
use rayon::prelude::*;
use std::alloc::{self, Layout};
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

/// Where host memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostMemory {
    /// The program's own; the driver copies it through a page-locked buffer of its own.
    Pageable,
    /// Allocated page-locked by the driver (`cuMemHostAlloc`); the device reaches it directly.
    PageLocked,
    /// The program's own, page-locked afterwards (`cuMemHostRegister`).
    Registered,
}

impl fmt::Display for HostMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pageable => "pageable",
            Self::PageLocked => "page-locked",
            Self::Registered => "registered",
        })
    }
}

/// `len` elements of host memory, or one of the pieces that such memory was split into.
pub struct HostBuffer<T: Pod> {
    allocation: Arc<Allocation>,
    /// First element of this piece in the allocation.
    offset: usize,
    len: usize,
    uses: RefCell<Vec<Use>>,
    elements: PhantomData<T>,
}

// SAFETY: the buffer owns its piece of the allocation alone.
unsafe impl<T: Pod + Send> Send for HostBuffer<T> {}

/// What the program's own code does to the elements.
#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
}

/// A copy or a host function that may still be using the memory.
struct Use {
    stream: Stream,
    ticket: u64,
    writes: bool,
    /// Recorded behind it, where it ended a turn.
    end: Option<Event>,
}

impl Use {
    fn has_finished(&self) -> bool {
        self.stream.has_finished(self.ticket)
    }

    /// Makes `stream` wait for it.
    fn is_awaited_by(&self, stream: &Stream) -> Result<()> {
        match &self.end {
            _ if self.stream == *stream || self.has_finished() => Ok(()),
            Some(end) => stream.wait(end),
            None => stream.wait_for(&self.stream),
        }
    }

    /// Makes the host wait for it.
    fn settle(&self) -> Result<()> {
        match &self.end {
            _ if self.has_finished() => Ok(()),
            Some(end) => end.synchronize(),
            None => self.stream.synchronize(),
        }
    }
}

impl<T: Pod> HostBuffer<T> {
    /// Memory of the given kind. Page-locked memory holds whatever the driver left in it.
    pub fn new(device: &Device, memory: HostMemory, len: usize) -> Result<Self> {
        let bytes = bytes_of::<T>(len)?;
        let allocation = Arc::new(Allocation::new(device, memory, bytes)?);
        Ok(Self {
            allocation,
            offset: 0,
            len,
            uses: RefCell::default(),
            elements: PhantomData,
        })
    }

    /// Page-locked memory: the usual kind.
    pub fn page_locked(device: &Device, len: usize) -> Result<Self> {
        Self::new(device, HostMemory::PageLocked, len)
    }

    /// Elements.
    #[expect(clippy::len_without_is_empty, reason = "a buffer is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Position of the first element in the memory that this buffer was split from.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Where the memory comes from.
    pub fn memory(&self) -> HostMemory {
        self.allocation.memory
    }

    /// The elements, once every copy into them has finished.
    #[track_caller]
    pub fn read(&self) -> Result<&[T]> {
        self.settle(|copy| copy.writes)?;
        self.touched(Access::Read);
        // SAFETY: the memory is initialised, of Pod elements, and owned by this piece. No copy
        // writes it now, and none can be enqueued while the slice lives: that takes the buffer by
        // `&mut`.
        Ok(unsafe { std::slice::from_raw_parts(self.start(), self.len) })
    }

    /// The elements for writing, once every copy that uses them has finished.
    #[track_caller]
    pub fn write(&mut self) -> Result<&mut [T]> {
        self.settle(|_| true)?;
        self.touched(Access::Write);
        // SAFETY: as in `read`; no copy reads the memory either.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start(), self.len) })
    }

    /// Copies the elements out as they are at this moment, whether or not the copies into them have
    /// finished: the early read that `read` prevents.
    ///
    /// # Safety
    /// The values may be old, new, or any mixture, and the program must be right for all of them.
    #[track_caller]
    pub unsafe fn read_unordered(&self) -> Vec<T> {
        self.touched(Access::Read);
        let mut values = Vec::with_capacity(self.len);
        for index in 0..self.len {
            // SAFETY: in bounds. Volatile, because the device may be writing; any bytes make a Pod
            // value.
            values.push(unsafe { self.start().add(index).read_volatile() });
        }
        values
    }

    /// Writes the elements at this moment, whether or not the copies that use them have finished: the reuse that is
    /// too soon, which `write` prevents. `values` gives the element at each index.
    ///
    /// # Safety
    /// What such a copy reads may be old, new, or any mixture, and the program must be right for all of them.
    #[track_caller]
    pub unsafe fn write_unordered(&mut self, values: impl Fn(usize) -> T) {
        self.touched(Access::Write);
        for index in 0..self.len {
            // SAFETY: in bounds. Volatile, because the device may be reading.
            unsafe { self.start().add(index).write_volatile(values(index)) };
        }
    }

    /// Fills the memory with bytes that no computation of the examples leaves behind (0xFF: a NaN
    /// as a float), so that a result of an earlier run cannot pass for one of the next. Leaves none of
    /// it in the CPU's caches, where it would slow down the copy that overwrites it.
    #[track_caller]
    pub fn poison(&mut self) -> Result<()> {
        bytemuck::cast_slice_mut(self.write()?)
            .par_chunks_mut(1 << 20)
            .for_each(|chunk| uncached::fill(chunk, 0xFF));
        Ok(())
    }

    /// Splits the memory into separately owned pieces, in order, of equal length up to an alignment
    /// of 128 bytes.
    pub fn split(self, count: usize) -> Result<Vec<Self>> {
        self.settle(|_| true)?;
        let pieces = pieces::<T>(self.len, count).ok_or(Error::Split {
            len: self.len,
            pieces: count,
        })?;
        let piece = |range: std::ops::Range<usize>| Self {
            allocation: Arc::clone(&self.allocation),
            offset: self.offset + range.start,
            len: range.len(),
            uses: RefCell::default(),
            elements: PhantomData,
        };
        Ok(pieces.map(piece).collect())
    }

    /// Puts the pieces that [`HostBuffer::split`] made together again, once every copy that uses
    /// them has finished.
    pub fn join(pieces: Vec<Self>) -> Result<Self> {
        let mut pieces = pieces.into_iter();
        let mut whole = pieces.next().ok_or(Error::Join)?;
        whole.settle(|_| true)?;
        for piece in pieces {
            let follows = Arc::ptr_eq(&whole.allocation, &piece.allocation)
                && whole.offset + whole.len == piece.offset;
            if !follows {
                return Err(Error::Join);
            }
            piece.settle(|_| true)?;
            whole.len += piece.len;
        }
        Ok(whole)
    }

    /// Lets `enqueue` put a copy that uses this memory into `stream`, behind the copies on other
    /// streams that it conflicts with, and remembers it.
    #[inline]
    pub(crate) fn lend(
        &self,
        stream: &Stream,
        writes: bool,
        enqueue: impl FnOnce(*mut T) -> Result<()>,
    ) -> Result<()> {
        let mut uses = self.uses.borrow_mut();
        for other in uses.iter().filter(|other| writes || other.writes) {
            other.is_awaited_by(stream)?;
        }
        // Recording may fail behind a copy that was enqueued: it is noted in any case.
        let enqueued = enqueue(self.start());
        // Those waited for finish before this copy does, as do those of the same stream: this one
        // stands for them all.
        let stands_for_write = writes || uses.iter().any(|other| other.writes);
        uses.retain(|other| other.stream != *stream && !writes && !other.writes);
        uses.push(Use {
            stream: stream.clone(),
            ticket: stream.take_ticket(),
            writes: stands_for_write,
            end: None,
        });
        enqueued
    }

    /// Ends a turn of memory that is used in turns: a stream that uses it next, or a host that reads or writes it, then
    /// waits for the uses so far and not for what their streams are given in between.
    pub fn end_turn(&self) -> Result<()> {
        for last in self.uses.borrow_mut().iter_mut() {
            let end = Event::new(last.stream.device(), Timing::Off)?;
            end.record(&last.stream)?;
            last.end = Some(end);
        }
        Ok(())
    }

    fn settle(&self, which: impl Fn(&Use) -> bool) -> Result<()> {
        let mut uses = self.uses.borrow_mut();
        for copy in uses.iter().filter(|copy| which(copy)) {
            copy.settle()?;
        }
        uses.retain(|copy| !which(copy));
        Ok(())
    }

    /// Tells the ordering checker that this code reads or writes the elements.
    #[track_caller]
    fn touched(&self, access: Access) {
        if self.memory() == HostMemory::Pageable {
            return;
        }
        let (start, bytes) = (self.start().cast_const().cast(), self.bytes());
        match access {
            Access::Read => host::reads(start, bytes),
            Access::Write => host::writes(start, bytes),
        }
    }

    fn start(&self) -> *mut T {
        // SAFETY: `offset` lies within the allocation.
        unsafe { self.allocation.base.as_ptr().cast::<T>().add(self.offset) }
    }
}

impl<T: Pod> Drop for HostBuffer<T> {
    fn drop(&mut self) {
        if self.settle(|_| true).is_err() {
            // A stream that cannot be waited for, such as another thread's: wait for the whole
            // device instead.
            let _ = self.allocation.device.synchronize();
        }
    }
}

impl<T: Pod> fmt::Debug for HostBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuffer")
            .field("memory", &self.memory())
            .field("offset", &self.offset)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

/// Bytes of `len` elements, which must be some and fit into the address space.
pub(crate) fn bytes_of<T>(len: usize) -> Result<usize> {
    len.checked_mul(size_of::<T>())
        .filter(|&bytes| bytes > 0 && isize::try_from(bytes).is_ok())
        .ok_or(Error::Length {
            len,
            element_bytes: size_of::<T>(),
        })
}

struct Allocation {
    base: NonNull<u8>,
    layout: Layout,
    memory: HostMemory,
    device: Device,
}

// SAFETY: the allocation is memory without an owner of its own; its pieces are disjoint.
unsafe impl Send for Allocation {}
// SAFETY: as above; nothing here is changed before the last piece is gone.
unsafe impl Sync for Allocation {}

/// Registered memory is locked by pages.
const PAGE: usize = 4096;

impl Allocation {
    fn new(device: &Device, memory: HostMemory, bytes: usize) -> Result<Self> {
        let layout =
            Layout::from_size_align(bytes, PAGE).map_err(|_| Error::HostMemory { bytes })?;
        let base = match memory {
            HostMemory::PageLocked => page_locked(bytes)?,
            HostMemory::Pageable => pageable(layout)?,
            HostMemory::Registered => {
                let base = pageable(layout)?;
                if let Err(error) = register(base, bytes) {
                    // SAFETY: just allocated with this layout, and not registered.
                    unsafe { alloc::dealloc(base.as_ptr(), layout) };
                    return Err(error);
                }
                base
            }
        };
        Ok(Self {
            base,
            layout,
            memory,
            device: device.clone(),
        })
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let base = self.base.as_ptr();
        // SAFETY: the last piece is gone, and each waited for the copies that used it. Every kind
        // is given back the way it was taken.
        unsafe {
            match self.memory {
                HostMemory::PageLocked => {
                    sys::cuMemFreeHost(base.cast());
                }
                HostMemory::Pageable => alloc::dealloc(base, self.layout),
                HostMemory::Registered => {
                    sys::cuMemHostUnregister(base.cast());
                    alloc::dealloc(base, self.layout);
                }
            }
        }
    }
}

fn page_locked(bytes: usize) -> Result<NonNull<u8>> {
    let mut base = std::ptr::null_mut();
    // SAFETY: `base` outlives the call, which stores a pointer in it.
    let result = unsafe { sys::cuMemHostAlloc(&mut base, bytes, sys::CU_MEMHOSTALLOC_PORTABLE) };
    check("cuMemHostAlloc", result, || {
        format!("{bytes} bytes of page-locked memory")
    })?;
    NonNull::new(base.cast()).ok_or(Error::HostMemory { bytes })
}

fn pageable(layout: Layout) -> Result<NonNull<u8>> {
    // SAFETY: the layout is not of zero size: `bytes_of` refuses that.
    let base = unsafe { alloc::alloc_zeroed(layout) };
    NonNull::new(base).ok_or(Error::HostMemory {
        bytes: layout.size(),
    })
}

fn register(base: NonNull<u8>, bytes: usize) -> Result<()> {
    // SAFETY: the memory is the program's own, of this size, and not registered yet.
    let result = unsafe {
        sys::cuMemHostRegister_v2(
            base.as_ptr().cast(),
            bytes,
            sys::CU_MEMHOSTREGISTER_PORTABLE,
        )
    };
    check("cuMemHostRegister", result, || format!("{bytes} bytes"))
}
