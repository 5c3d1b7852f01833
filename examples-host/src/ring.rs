//! Device buffers that take turns, so that a few of them serve any number of chunks.
//!
//! Whoever takes a buffer again must wait for its last use, and for no more than that.
//! [`DeviceBuffer::hand_to`] waits for all that the previous stream has been given *so far*, which
//! by then includes the following chunks: the pipeline would run dry once per round. A ring
//! therefore records an event where each turn ends.

use crate::device_buffer::DeviceBuffer;
use crate::error::Result;
use crate::event::{Event, Timing};
use crate::stream::Stream;
use bytemuck::Pod;

/// Device buffers of equal capacity that are used in turn.
pub struct Ring<T: Pod> {
    slots: Vec<Slot<T>>,
    next: usize,
}

struct Slot<T: Pod> {
    buffer: DeviceBuffer<T>,
    /// Recorded in the buffer's stream, behind its last operation.
    done: Event,
}

impl<T: Pod> Slot<T> {
    fn end_turn(&self) -> Result<()> {
        self.done.record(self.buffer.stream())
    }
}

impl<T: Pod> Ring<T> {
    /// Allocates `count` buffers, at least one, with room for `capacity` elements each. They belong
    /// to `stream`.
    pub fn new(stream: &Stream, count: usize, capacity: usize) -> Result<Self> {
        let slot = |_| {
            Ok(Slot {
                buffer: DeviceBuffer::new(stream, capacity)?,
                done: Event::new(stream.device(), Timing::Off)?,
            })
        };
        Ok(Self {
            slots: (0..count.max(1)).map(slot).collect::<Result<_>>()?,
            next: 0,
        })
    }

    /// Gives the buffer whose last turn is the longest ago to `stream`, which waits for the end of
    /// that turn, and lets `body` use it and hand it on. The turn ends behind what `body` enqueued.
    #[inline]
    pub fn turn<R, E: From<crate::Error>>(
        &mut self,
        stream: &Stream,
        body: impl FnOnce(&mut DeviceBuffer<T>) -> Result<R, E>,
    ) -> Result<R, E> {
        let count = self.slots.len();
        let slot = &mut self.slots[self.next];
        self.next = (self.next + 1) % count;
        if slot.buffer.stream() != stream {
            stream.wait(&slot.done)?;
            // SAFETY: `stream` now waits for the event behind the buffer's last operation.
            unsafe { slot.buffer.assume_ordered_on(stream) };
        }
        let result = body(&mut slot.buffer);
        slot.end_turn()?;
        result
    }

    /// Fills all buffers with bytes that no computation leaves behind; see
    /// [`DeviceBuffer::poison`].
    pub fn poison(&mut self) -> Result<()> {
        self.slots.iter_mut().try_for_each(|slot| {
            slot.buffer.poison()?;
            slot.end_turn()
        })
    }
}
