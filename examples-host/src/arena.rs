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

    /// Elements of room that pieces of these lengths take, alignment included; `usize::MAX` for more than can be counted.
    pub fn room_for(lengths: impl IntoIterator<Item = usize>) -> usize {
        let aligned = lengths.into_iter().map(Self::aligned);
        aligned.fold(0, usize::saturating_add)
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

    /// The elements of the next piece's start, if this one begins at a multiple of [`ALIGNMENT`]: the least number, `len`
    /// or more, whose bytes are such a multiple.
    fn aligned(len: usize) -> usize {
        // Of the powers of two only: what the size of an element and the alignment have in common.
        let common = 1
            << size_of::<T>()
                .trailing_zeros()
                .min(ALIGNMENT.trailing_zeros());
        len.checked_next_multiple_of(ALIGNMENT / common)
            .unwrap_or(usize::MAX)
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
    fn pieces_are_aligned_whatever_the_size_of_an_element() {
        fn starts<T: Pod>(stream: &Stream, lengths: [usize; 3]) -> [u64; 3] {
            let room = Arena::<T>::room_for(lengths);
            let mut arena = Arena::<T>::new(stream, room).unwrap();
            let pieces = lengths.map(|len| arena.take(len).unwrap());
            assert_eq!(arena.taken(), room);
            pieces.map(|piece| piece.address())
        }
        let stream = Stream::non_blocking(&device(), "s").unwrap();
        // 64 elements of 12 bytes are 3 times 256 bytes, 16 of 80 are 5 times.
        let [a, b, c] = starts::<[f32; 3]>(&stream, [1, 64, 65]);
        assert_eq!([b - a, c - b], [768, 768]);
        let [a, b, c] = starts::<[f32; 20]>(&stream, [1, 17, 1]);
        assert_eq!([b - a, c - b], [1280, 2560]);
        let [a, b, c] = starts::<[u8; 512]>(&stream, [1, 3, 1]);
        assert_eq!([b - a, c - b], [512, 1536]);
        let [a, b, c] = starts::<u8>(&stream, [1, 257, 1]);
        assert_eq!([b - a, c - b], [256, 512]);
    }

    #[test]
    fn more_room_than_there_is_is_counted_as_the_most() {
        assert_eq!(Arena::<[f32; 3]>::room_for([usize::MAX]), usize::MAX);
        assert_eq!(Arena::<f32>::room_for([usize::MAX / 2 + 1; 2]), usize::MAX);
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
