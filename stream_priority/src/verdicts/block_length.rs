//! block-length: does a kernel of high priority stop one that runs?
//!
//! It does not: a block that has begun keeps its place until it ends. So what a request of high priority waits for is the
//! rest of a block. Grids that hold the device for the same time, in many short waves, in few longer ones, or in one:
//!
//! ```text
//! 20 waves  grid     |bbbbbbbbbbbbbbbbbbbb|       1 wave  grid     |bbbbbbbbbbbbbbbbbbbb|
//!           requests |  r   r   r   r     |               requests |  ->                |rrrr
//! ```
//!
//! If priority stopped kernels that run, all grids would let a request through as quickly.

use super::latencies::{DELAYS, under_load};
use super::load::{LoadGrid, Passes};
use crate::urgent::Streams;
use anyhow::Result;
use examples_host::prelude::*;
use examples_host::recording::record_without_cupti;
use std::time::Duration;

/// All of about 800 µs. The requests come further apart than a block is long, so that none waits behind another.
const GRIDS: [LoadGrid; 3] = [grid(20, 40, 12), grid(4, 200, 3), grid(1, 800, 1)];
const PASSES: usize = 4;

const fn grid(waves: u32, block_us: u64, requests: usize) -> LoadGrid {
    let pause = if waves == 1 { 200 } else { block_us + block_us / 7 };
    let (block, pause) = (Duration::from_micros(block_us), Duration::from_micros(pause));
    LoadGrid { waves, block, requests, pause }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let range = part.device().stream_priorities()?;
    let streams = &Streams::with_priorities(*range.end(), *range.start())?;
    part.predict(
        "The requests have the higher priority throughout. They wait for the rest of a block:\n\
         half a block on average if they come at any time, and no longer than a block.",
    );

    let mut load = Passes::new(part.device(), GRIDS[0])?;
    let variants = GRIDS.map(|grid| {
        let (waves, block) = (grid.waves, units::time(grid.block));
        let text = format!("{waves} {} of {block}", if waves == 1 { "wave" } else { "waves" });
        (Label::new(format!("waves-{waves}"), text), grid)
    });
    let found = under_load(
        part,
        ("requests", "the grid"),
        PASSES,
        &mut load,
        &variants,
        |load, grid| {
            load.prepare(*grid)?;
            load.pass(*grid, streams)
        },
        |load, grid| load.check(grid.requests),
    )?;
    for (label, grid) in &variants {
        load.prepare(*grid)?;
        let recording =
            record_without_cupti(part.device(), DELAYS, || load.pass(*grid, streams).map(drop))?;
        part.chart(label, &recording, Rows::Streams);
    }

    for (of, grid) in found.iter().zip(GRIDS) {
        let Label { id, text } = &of.label;
        let most = share(of.requests.percentile(99).div_duration_f64(grid.block)).at_most(2.0);
        expect! { part; "p99/{id}", "{text}: requests wait for two blocks at most" => most; }
    }
    let [short, _, long] = &found;
    let [short, long] = [short, long].map(|of| of.requests.median());
    expect! { part;
        "waits/waves-1", "1 wave: requests wait for the rest of the blocks" =>
            share(long.div_duration_f64(GRIDS[2].block)).at_least(0.25);
        "longer/waves-1", "1 wave: requests wait longer than behind short blocks" =>
            ratio(long.div_duration_f64(short)).at_least(8.0);
    }
    part.take_away("Priority is not pre-emption: what must yield quickly needs short blocks.");
    Ok(())
}
