//! Measurements and claims of the part `granularity`.

use crate::granularity::{ROUNDS, TILE, TILES, Tiles};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SUMMAND};

const DATA: Seed = Seed::new(7);

/// The tiles, and the expected results.
struct CheckedTiles {
    tiles: Tiles,
    expected: Vec<f32>,
}

impl CheckedTiles {
    fn new() -> Result<Self> {
        let given: Vec<f32> = (0..TILES * TILE).map(|i| DATA.f32(i)).collect();
        let twice = |&x: &f32| (0..2 * ROUNDS).fold(x, |x, _| x.mul_add(FACTOR, SUMMAND));
        Ok(Self { tiles: Tiles::new(&given)?, expected: given.iter().map(twice).collect() })
    }
}

impl Workload for CheckedTiles {
    fn poison(&mut self) -> Result<()> {
        self.tiles.produced.set_8(0xFF)?;
        Ok(self.tiles.consumed.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        let mut found = vec![0.0; TILES * TILE];
        self.tiles.consumed.copy_to(&mut found)?;
        Ok(check::equal("the tiles", 0, &found, |i| self.expected[i])?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [produce, consume] = &stream::non_blocking_named(["produce", "consume"])?;
    let both = [produce, consume];
    let mut known = CheckedTiles::new()?;
    let Tiles { given, produced, consumed, .. } = &known.tiles;
    let alone = |buffers, stream| {
        let all = || (0..TILES).try_for_each(|tile| known.tiles.launch(buffers, tile, stream));
        part.alone([stream], || Ok(all()?))
    };
    let producing = alone([given, produced], produce)?;
    let consuming = alone([produced, consumed], consume)?;
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
    let variants = variants! { known: CheckedTiles, differ in Events;
        ("one-event", "one event"), both => known.tiles.chunks_of(64, both);
        ("per-chunk", "an event per chunk of 8"), both => known.tiles.chunks_of(8, both);
        ("per-tile", "an event per tile"), both => known.tiles.chunks_of(1, both);
    };
    let outcomes = part.compare("variants", plan, &mut known, variants)?;
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
