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

use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::Stream;
use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SUMMAND};

kernels! { use gpu_kernels::fma_chain; }

const TILES: usize = 64;
/// Numbers of a tile, one for each thread of a warp.
const TILE: usize = 32;
/// Multiply-adds of each number: some 12 µs on an H200, more than it takes to launch a kernel.
const ROUNDS: u32 = 5000;
const DATA: Seed = Seed::new(7);

/// The tiles as they are given, produced, and consumed.
struct Tiles {
    kernels: Kernels,
    given: DeviceBuffer<f32>,
    produced: DeviceBuffer<f32>,
    consumed: DeviceBuffer<f32>,
    /// One for each tile.
    ready: Vec<Event>,
    expected: Vec<f32>,
}

impl Tiles {
    fn new() -> anyhow::Result<Self> {
        let given: Vec<f32> = (0..TILES * TILE).map(|i| DATA.f32(i)).collect();
        let twice = |&x: &f32| (0..2 * ROUNDS).fold(x, |x, _| x.mul_add(FACTOR, SUMMAND));
        let events = (0..TILES).map(|_| Event::new(EventFlags::DISABLE_TIMING));
        Ok(Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            given: DeviceBuffer::from_slice(&given)?,
            produced: DeviceBuffer::zeroed(given.len())?,
            consumed: DeviceBuffer::zeroed(given.len())?,
            ready: events.collect::<Result<_, _>>()?,
            expected: given.iter().map(twice).collect(),
        })
    }

    fn produce(&mut self, tile: usize, stream: &Stream) -> anyhow::Result<()> {
        let numbers = tile * TILE..(tile + 1) * TILE;
        let (x, mut y) = (self.given.index(numbers.clone()), self.produced.index(numbers));
        // SAFETY: both buffers outlive the run, and a tile's numbers are its own.
        unsafe { launch!(self.kernels.fma_chain<<<1, 32, 0, stream>>>(&x, &mut y, ROUNDS))? };
        Ok(())
    }

    fn consume(&mut self, tile: usize, stream: &Stream) -> anyhow::Result<()> {
        let numbers = tile * TILE..(tile + 1) * TILE;
        let (x, mut y) = (self.produced.index(numbers.clone()), self.consumed.index(numbers));
        // SAFETY: as above; the stream has waited for the tile.
        unsafe { launch!(self.kernels.fma_chain<<<1, 32, 0, stream>>>(&x, &mut y, ROUNDS))? };
        Ok(())
    }

    /// Hands over so many tiles with each event.
    fn chunks_of(
        &mut self,
        tiles: usize,
        produce: &Stream,
        consume: &Stream,
    ) -> anyhow::Result<()> {
        for first in (0..TILES).step_by(tiles) {
            for tile in first..first + tiles {
                self.produce(tile, produce)?;
            }
            self.ready[first].record(produce)?;
            consume.wait(&self.ready[first])?;
            for tile in first..first + tiles {
                self.consume(tile, consume)?;
            }
        }
        Ok(())
    }
}

impl Workload for Tiles {
    fn poison(&mut self) -> anyhow::Result<()> {
        self.produced.set_8(0xFF)?;
        Ok(self.consumed.set_8(0xFF)?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let mut found = vec![0.0; TILES * TILE];
        self.consumed.copy_to(&mut found)?;
        Ok(check::equal("the tiles", 0, &found, |i| self.expected[i])?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let [produce, consume] = &stream::non_blocking_named(["produce", "consume"])?;
    let both = [produce, consume];
    let mut tiles = Tiles::new()?;
    let producing =
        part.alone([produce], || (0..TILES).try_for_each(|t| tiles.produce(t, produce)))?;
    let consuming =
        part.alone([consume], || (0..TILES).try_for_each(|t| tiles.consume(t, consume)))?;
    let predicted = |events: u32| producing + consuming / events;
    part.predict(format!(
        "Alone, producing {TILES} tiles takes {}, consuming them {}. With E events it takes the first and 1/E of\n\
         the second: {} with one event, {} with 8, {} with {TILES}.",
        units::time(producing),
        units::time(consuming),
        units::time(predicted(1)),
        units::time(predicted(8)),
        units::time(predicted(TILES as u32)),
    ));

    let plan = Plan::new().launches(2 * TILES, 2 * TILES * TILE);
    let variants = variants! { tiles: Tiles;
        ("one-event", "one event"), both => tiles.chunks_of(64, produce, consume);
        ("per-chunk", "an event per chunk of 8"), both => tiles.chunks_of(8, produce, consume);
        ("per-tile", "an event per tile"), both => tiles.chunks_of(1, produce, consume);
    };
    let outcomes = part.compare("variants", plan, &mut tiles, variants)?;
    part.show_predicted(&outcomes, [1, 8, TILES as u32].map(predicted));
    let [one, chunk, tile] = &outcomes;
    part.chart(&chunk.name, &chunk.recording, Rows::Streams);
    part.keep(&one.name, &one.recording);
    part.keep(&tile.name, &tile.recording);

    for (outcome, events) in outcomes.iter().zip([1, 8, TILES as u32]) {
        let (Label { id, text: name }, time) = (&outcome.name, time(outcome.median()));
        expect! { part; "predicted/{id}", "{name}: as predicted" => time.near(predicted(events), 0.15); }
    }
    expect! { part;
        "gain/per-chunk", "8 events gain what overlaps" => chunk.speedup_over(one).at_least(1.6);
        "gain/per-tile", "64 events gain little more" => tile.speedup_over(chunk).at_most(1.15);
    }
    part.take_away("A few events gain most of the overlap: hand over chunks, not tiles.");
    Ok(())
}
