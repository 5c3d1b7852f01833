//! An arena: device memory that is allocated once and handed out piece by piece.
//!
//! Taking a piece is an addition, giving all of them back is an assignment, and no driver is asked. In exchange the
//! program has to know the most that it will ever need, and nobody else can use it meanwhile.

use crate::device_buffer::DeviceBuffer;
use crate::error::{Error, Result};
use crate::stream::Stream;
use bytemuck::Pod;

/// Pieces start at multiples of this many bytes.
const ALIGNMENT: usize = 256;

/// Device memory of one stream, handed out from its start to its end.
pub struct Arena<T: Pod> {
    room: DeviceBuffer<T>,
    taken: usize,
}

impl<T: Pod> Arena<T> {
    /// Allocates room for `capacity` elements (`cuMemAlloc`). Pieces belong to `stream`.
    pub fn new(stream: &Stream, capacity: usize) -> Result<Self> {
        Ok(Self {
            room: DeviceBuffer::new(stream, capacity)?,
            taken: 0,
        })
    }

    /// Elements of room that pieces of these lengths take, alignment included.
    pub fn room_for(lengths: impl IntoIterator<Item = usize>) -> usize {
        lengths.into_iter().map(Self::aligned).sum()
    }

    /// The next piece: as long as asked for, its contents undefined.
    ///
    /// # Errors
    /// [`Error::ArenaFull`], and [`Error::Length`] for no elements.
    pub fn take(&mut self, len: usize) -> Result<DeviceBuffer<T>> {
        let left = self.room.capacity() - self.taken;
        if len == 0 {
            return Err(Error::Length {
                len,
                element_bytes: size_of::<T>(),
            });
        }
        if len > left {
            return Err(Error::ArenaFull { asked: len, left });
        }
        let piece = self.room.piece(self.taken..self.taken + len);
        self.taken += Self::aligned(len).min(left);
        Ok(piece)
    }

    /// Starts again from the beginning. The arena's stream waits for all that the dropped pieces' last owners have been
    /// given, other streams' work included; the host waits for nothing.
    ///
    /// # Errors
    /// [`Error::ArenaInUse`] while a piece lives.
    pub fn reset(&mut self) -> Result<()> {
        let owners = self.room.take_last_owners().ok_or(Error::ArenaInUse)?;
        for owner in &owners {
            self.room.stream().wait_for(owner)?;
        }
        self.taken = 0;
        Ok(())
    }

    /// Elements handed out since the last start, alignment included.
    pub fn taken(&self) -> usize {
        self.taken
    }

    fn aligned(len: usize) -> usize {
        len.next_multiple_of((ALIGNMENT / size_of::<T>().max(1)).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::host_buffer::HostBuffer;
    use libcuda::Choice;

    fn device() -> Device {
        Device::open(Choice::Software).unwrap()
    }

    #[test]
    fn pieces_follow_one_another_and_are_refused_when_there_is_no_room() {
        let stream = Stream::non_blocking(&device(), "s").unwrap();
        let mut arena = Arena::<f32>::new(&stream, 192).unwrap();
        let (a, b) = (arena.take(1).unwrap(), arena.take(64).unwrap());
        assert_eq!(b.address() - a.address(), ALIGNMENT as u64);
        assert_eq!((a.len(), arena.taken()), (1, 128));
        let refused = arena.take(65).unwrap_err();
        assert!(matches!(
            refused,
            Error::ArenaFull {
                asked: 65,
                left: 64
            }
        ));
        assert!(matches!(arena.take(0), Err(Error::Length { .. })));
        assert!(matches!(arena.reset(), Err(Error::ArenaInUse)));
        drop((a, b));
        arena.reset().unwrap();
        assert_eq!(arena.take(192).unwrap().len(), 192);
        assert_eq!(Arena::<f32>::room_for([1, 64, 65]), 256);
    }

    #[test]
    fn a_piece_that_went_to_another_stream_is_waited_for() {
        let device = device();
        let (here, there) = (
            Stream::non_blocking(&device, "here").unwrap(),
            Stream::non_blocking(&device, "there").unwrap(),
        );
        let elements = 1 << 18;
        let mut arena = Arena::<u32>::new(&here, elements).unwrap();
        let source = HostBuffer::page_locked(&device, elements).unwrap();
        let mut piece = arena.take(elements).unwrap();
        piece.hand_to(&there).unwrap();
        piece.copy_from(&source).unwrap();
        drop(piece);
        arena.reset().unwrap();
        assert!(!there.is_idle().unwrap());
        arena.take(elements).unwrap().poison().unwrap();
        here.synchronize().unwrap();
        assert!(there.is_idle().unwrap());
    }
}
