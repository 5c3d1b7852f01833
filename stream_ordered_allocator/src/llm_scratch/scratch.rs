//! Where the layer's scratch memory comes from.

use examples_host::prelude::*;
use std::time::Duration;

/// The variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Malloc,
    Pool,
    Arena,
}

/// One of the variants, with what it needs.
pub enum Scratch {
    /// `cuMemAlloc` and `cuMemFree`.
    Malloc,
    /// A pool that keeps its memory.
    Pool(MemoryPool),
    /// Memory for the largest batch.
    Arena(Arena<f32>),
}

/// The calls of an allocator, timed together.
#[derive(Default)]
pub struct Calls(pub Duration);

impl Kind {
    pub const ALL: [Self; 3] = [Self::Malloc, Self::Pool, Self::Arena];

    pub fn id(self) -> &'static str {
        match self {
            Self::Malloc => "malloc",
            Self::Pool => "pool",
            Self::Arena => "arena",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Malloc => "cuMemAlloc",
            Self::Pool => "pool",
            Self::Arena => "arena",
        }
    }

    /// The variant's source of memory, `most` elements at a time.
    pub fn scratch(self, stream: &Stream, most: usize) -> Result<Scratch> {
        Ok(match self {
            Self::Malloc => Scratch::Malloc,
            Self::Pool => {
                let pool = MemoryPool::new(stream.device())?;
                pool.set_release_threshold(u64::MAX)?;
                Scratch::Pool(pool)
            }
            Self::Arena => Scratch::Arena(Arena::new(stream, most)?),
        })
    }
}

impl Scratch {
    /// Memory for `len` elements.
    pub fn take(
        &mut self,
        stream: &Stream,
        len: usize,
        calls: &mut Calls,
    ) -> Result<DeviceBuffer<f32>> {
        calls.timed(|| match self {
            Self::Malloc => DeviceBuffer::new(stream, len),
            Self::Pool(pool) => pool.allocate(stream, len),
            Self::Arena(arena) => arena.take(len),
        })
    }

    /// The batch is over, and all its memory given back.
    pub fn end_batch(&mut self) -> Result<()> {
        match self {
            Self::Arena(arena) => arena.reset(),
            Self::Malloc | Self::Pool(_) => Ok(()),
        }
    }

    /// Makes what earlier batches left unrecognisable, as far as it stays where it was. A pool reserves its memory by
    /// this, as a program does that knows what is to come.
    pub fn poison(&mut self, stream: &Stream, most: usize) -> Result<()> {
        if !matches!(self, Self::Malloc) {
            self.take(stream, most, &mut Calls::default())?.poison()?;
        }
        self.end_batch()
    }
}

impl Calls {
    /// Adds what `call` takes.
    pub fn timed<R>(&mut self, call: impl FnOnce() -> R) -> R {
        let begin = host_clock::now();
        let result = call();
        self.0 += host_clock::now() - begin;
        result
    }
}
