//! An arena: device memory that is allocated once and handed out piece by piece.
//!
//! Taking a piece is an addition, without a driver call. In exchange the program has to know the most that it will ever
//! need at once, and nothing else can use the memory meanwhile.

use crate::llm_scratch::Scratch;
use anyhow::{Result, ensure};
use cuda_host::prelude::*;
use std::mem;

/// Pieces start at multiples of this many elements: 256 bytes.
const ALIGNMENT: usize = 64;

/// Memory for the work of one stream. When all pieces have been returned, it starts again from the beginning.
pub struct Arena {
    room: DeviceBuffer<f32>,
    taken: usize,
    /// Pieces that were not returned yet.
    live: usize,
}

impl Arena {
    /// Room for this many elements (`cuMemAlloc`).
    pub fn new(elements: usize) -> Result<Self> {
        // SAFETY: the caller writes the piece before it reads it.
        let room = unsafe { DeviceBuffer::uninitialized(elements)? };
        let (taken, live) = (0, 0);
        Ok(Self { room, taken, live })
    }

    /// Elements of room that pieces of these lengths take together.
    pub fn room_for(lengths: impl IntoIterator<Item = usize>) -> usize {
        let aligned = |len: usize| len.next_multiple_of(ALIGNMENT);
        lengths.into_iter().map(aligned).sum()
    }
}

impl Scratch for Arena {
    fn alloc_async(&mut self, elements: usize, _: &Stream) -> Result<DeviceBuffer<f32>> {
        let end = self.taken + elements;
        ensure!(end <= self.room.len(), "arena full: {elements} elements requested");
        let piece = self.room.index(self.taken..end).as_device_ptr();
        self.taken = end.next_multiple_of(ALIGNMENT).min(self.room.len());
        self.live += 1;
        // SAFETY: no other piece has these elements; `free_async` forgets the buffer, which must not free a part of the room.
        Ok(unsafe { DeviceBuffer::from_raw_parts(piece, elements) })
    }

    fn free_async(&mut self, memory: DeviceBuffer<f32>, _: &Stream) -> Result<()> {
        mem::forget(memory);
        self.live -= 1;
        if self.live == 0 {
            self.taken = 0;
        }
        Ok(())
    }
}
