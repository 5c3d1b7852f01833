//! Measurements and claims of the part `grids`.

use crate::grids::Blocks;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;
use std::time::Duration;

/// Grids that may be resident.
const LIMIT: usize = 128;
const STREAMS: [usize; 5] = [1, 64, LIMIT, LIMIT + 1, 2 * LIMIT];
/// How long a block holds its place: long beside 128 launches.
const HELD: Duration = Duration::from_millis(5);

/// The blocks, and the number of streams that had one in the latest run.
struct Used {
    blocks: Blocks,
    streams: usize,
}

impl Workload for Used {
    fn poison(&mut self) -> Result<()> {
        Ok(self.blocks.stored.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        let mut found = vec![1; self.streams];
        self.blocks.stored.index(..self.streams).copy_to(&mut found)?;
        Ok(check::equal("the blocks' numbers", 0, &found, |_| 0)?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let streams = stream::non_blocking_numbered(2 * LIMIT)?;
    let mut used = Used { blocks: Blocks::new(streams.len())?, streams: 0 };
    part.predict(format!(
        "A kernel holds its place for {}. Up to {LIMIT} of them take as long as one; the next one\n\
         waits for the end of the first.",
        units::time(HELD)
    ));

    let watch = Stopwatch::new(part.device())?;
    let found = part.at_points(3, &STREAMS, &mut used, |used, &count| {
        used.streams = count;
        let (streams, ns) = (&streams[..count], HELD.as_nanos() as u64);
        Ok(watch.time(streams, || used.blocks.launch(ns, streams))?.event)
    })?;
    let predicted = STREAMS.map(|count| HELD * count.div_ceil(LIMIT) as u32);
    part.show_steps("streams", &STREAMS, &predicted, &found.times);

    expect! { part; "numbers", "every number is right" => right(&found.checked, "numbers"); }
    for ((count, predicted), times) in STREAMS.into_iter().zip(predicted).zip(&found.times) {
        let near = time(times.median()).near(predicted, 0.25);
        expect! { part; "predicted/streams-{count}", "{count} streams: as predicted" => near; }
    }
    let [_, _, most, one_more, _] = &found.times[..] else {
        anyhow::bail!("a number of streams was not tried");
    };
    let step = ratio(one_more.median().div_duration_f64(most.median())).at_least(1.5);
    expect! { part; "step", "one grid more than may be resident takes another round" => step; }
    part.take_away("A device holds 128 grids: more streams than that do not run at the same time.");
    Ok(())
}
