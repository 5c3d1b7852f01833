//! granularity: how much work should one event hand over?
//!
//! One stream produces tiles, another consumes them. An event tells the consumer how far the producer has come: once, when
//! all tiles are there; for each chunk of eight; or for each tile:
//!
//! ```text
//! one event    produce |PPPPPPPPPPPPPPPP                |
//!              consume |                CCCCCCCCCCCCCCCC|
//! per chunk    produce |PPPPPPPPPPPPPPPP   |
//!              consume |    CCCCCCCCCCCCCCCC|
//! ```
//!
//! With E events, all but 1/E of the consumer's time lies under the producer's: most is gained by the first few, while
//! each costs two calls and a hand-over. A time that does not follow 1/E, or a gain that each further event repeats, would
//! prove this wrong.

use anyhow::Result;
use cuda_host::prelude::*;

kernels! { use gpu_kernels::fma_chain; }

pub const TILES: usize = 64;
pub const TILE: usize = 32; // numbers, one for each thread of a warp
pub const ROUNDS: u32 = 5000; // multiply-adds of each number: some 12 µs on an H200, more than it takes to launch a kernel

/// The tiles as they are given, produced, and consumed, and an event for each of them.
pub struct Tiles {
    kernels: Kernels,
    pub given: DeviceBuffer<f32>,
    pub produced: DeviceBuffer<f32>,
    pub consumed: DeviceBuffer<f32>,
    ready: Vec<Event>,
}

impl Tiles {
    pub fn new(given: &[f32]) -> Result<Self> {
        let ready = (0..TILES).map(|_| Event::new(EventFlags::DISABLE_TIMING));
        Ok(Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            given: DeviceBuffer::from_slice(given)?,
            produced: DeviceBuffer::zeroed(given.len())?,
            consumed: DeviceBuffer::zeroed(given.len())?,
            ready: ready.collect::<CudaResult<_>>()?,
        })
    }

    /// The kernel reads a tile in one buffer, and writes to its place in another.
    pub fn launch(
        &self,
        [from, to]: [&DeviceBuffer<f32>; 2],
        tile: usize,
        stream: &Stream,
    ) -> CudaResult<()> {
        let [x, mut y] = [from, to].map(|tiles| tiles.index(tile * TILE..(tile + 1) * TILE));
        // SAFETY: both buffers outlive the run, and a tile's numbers are its own. What reads it has waited for it.
        unsafe { launch!(self.kernels.fma_chain<<<1, 32, 0, stream>>>(&x, &mut y, ROUNDS)) }
    }

    /// Each event hands over this many tiles.
    pub fn chunks_of(&self, tiles: usize, [produce, consume]: [&Stream; 2]) -> Result<()> {
        for first in (0..TILES).step_by(tiles) {
            for tile in first..first + tiles {
                self.launch([&self.given, &self.produced], tile, produce)?;
            }
            self.ready[first].record(produce)?;
            consume.wait(&self.ready[first])?;
            for tile in first..first + tiles {
                self.launch([&self.produced, &self.consumed], tile, consume)?;
            }
        }
        Ok(())
    }
}
