//! Where scratch memory comes from, and where it goes.

use examples_host::prelude::*;

/// The variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `cuMemAlloc` and `cuMemFree`.
    Malloc,
    /// A pool that gives free memory back whenever the host waits.
    Threshold0,
    /// A pool that keeps its memory, with all policies of reuse, as pools have by default.
    ThresholdMax,
    /// The same, but freed memory never crosses to another stream.
    OwnStream,
    /// Memory that was allocated before, for each stream.
    Once,
}

impl Kind {
    pub const ALL: [Self; 5] = [
        Self::Malloc,
        Self::Threshold0,
        Self::ThresholdMax,
        Self::OwnStream,
        Self::Once,
    ];

    pub fn id(self) -> &'static str {
        match self {
            Self::Malloc => "malloc",
            Self::Threshold0 => "pool-threshold-0",
            Self::ThresholdMax => "pool-threshold-max",
            Self::OwnStream => "pool-own-stream",
            Self::Once => "once",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Malloc => "cuMemAlloc",
            Self::Threshold0 => "pool, threshold 0",
            Self::ThresholdMax => "pool, threshold max",
            Self::OwnStream => "pool, own stream's",
            Self::Once => "allocated once",
        }
    }
}

/// One of the variants, with what it needs.
pub enum Source {
    Malloc,
    Pool(MemoryPool),
    /// By the index of the stream; lent out in between.
    Once(Vec<Option<DeviceBuffer<f32>>>),
}

impl Source {
    /// The variant's source of memory for these streams, `elements` for each.
    pub fn new(kind: Kind, device: &Device, streams: &[Stream], elements: usize) -> Result<Self> {
        let pool = |threshold, crossing: &[Reuse]| -> Result<_> {
            let pool = MemoryPool::new(device)?;
            pool.set_release_threshold(threshold)?;
            pool.allow_only(crossing)?;
            Ok(Self::Pool(pool))
        };
        match kind {
            Kind::Malloc => Ok(Self::Malloc),
            Kind::Threshold0 => pool(0, &Reuse::ALL),
            Kind::ThresholdMax => pool(u64::MAX, &Reuse::ALL),
            Kind::OwnStream => pool(u64::MAX, &[]),
            Kind::Once => {
                let buffers = streams
                    .iter()
                    .map(|stream| DeviceBuffer::new(stream, elements));
                let lent = buffers.map(|buffer| buffer.map(Some));
                Ok(Self::Once(lent.collect::<Result<_>>()?))
            }
        }
    }

    /// Memory for the stream with this index.
    pub fn allocate(
        &mut self,
        index: usize,
        stream: &Stream,
        elements: usize,
    ) -> Result<DeviceBuffer<f32>> {
        match self {
            Self::Malloc => DeviceBuffer::new(stream, elements),
            Self::Pool(pool) => pool.allocate(stream, elements),
            Self::Once(buffers) => match buffers[index].take() {
                Some(buffer) => Ok(buffer),
                None => DeviceBuffer::new(stream, elements),
            },
        }
    }

    /// Frees it, behind what its stream has been given.
    pub fn free(&mut self, index: usize, memory: DeviceBuffer<f32>) {
        match self {
            Self::Malloc | Self::Pool(_) => drop(memory),
            Self::Once(buffers) => buffers[index] = Some(memory),
        }
    }
}
