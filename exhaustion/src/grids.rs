//! grids: how many grids may be resident?
//!
//! Kernels of one small block leave room for thousands of their kind. But a device keeps track of 128 grids at most
//! (*Maximum number of resident grids per device* in the programming guide). Of more streams, some wait:
//!
//! ```text
//! 128 streams   |KKKKKKKK        |      129 streams   |KKKKKKKK        | x 128
//!                                                     |        KKKKKKKK| x 1
//! ```
//!
//! So the time makes a step from 128 to 129. A time that grew a little with each stream, or a step at another number,
//! would prove this wrong.

use cuda_host::{kernels, launch, prelude::*};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::Stream;
use examples_host::prelude::*;
use std::time::Duration;

kernels! { use gpu_kernels::hold; }

/// Grids that may be resident.
const LIMIT: usize = 128;
const STREAMS: [usize; 5] = [1, 64, LIMIT, LIMIT + 1, 2 * LIMIT];
/// How long a block holds its place: long beside 128 launches.
const HELD: Duration = Duration::from_millis(5);

/// What the kernels store, one for each stream.
struct Blocks {
    kernels: Kernels,
    stored: DeviceBuffer<u32>,
    used: usize,
}

impl Blocks {
    /// A kernel of one block in each stream.
    fn launch(&mut self, streams: &[Stream]) -> anyhow::Result<()> {
        let ns = HELD.as_nanos() as u64;
        self.used = streams.len();
        for (index, stream) in streams.iter().enumerate() {
            let mut stored = self.stored.index(index..index + 1);
            // SAFETY: the block has its element, and the buffer outlives the run.
            unsafe { launch!(self.kernels.hold<<<1, 32, 0, stream>>>(ns, &mut stored))? };
        }
        Ok(())
    }
}

impl Workload for Blocks {
    fn poison(&mut self) -> anyhow::Result<()> {
        Ok(self.stored.set_8(0xFF)?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let mut found = vec![1; self.used];
        self.stored.index(..self.used).copy_to(&mut found)?;
        Ok(check::equal("the blocks' numbers", 0, &found, |_| 0)?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let streams = stream::non_blocking_numbered(2 * LIMIT)?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let mut blocks = Blocks { kernels, stored: DeviceBuffer::zeroed(streams.len())?, used: 0 };
    part.predict(format!(
        "A kernel holds its place for {}. Up to {LIMIT} of them take as long as one; the next one\n\
         waits for the end of the first.",
        units::time(HELD)
    ));

    let watch = Stopwatch::new(part.device())?;
    let found = part.at_points(3, &STREAMS, &mut blocks, |blocks, &count| {
        let streams = &streams[..count];
        Ok(watch.time(streams, || blocks.launch(streams))?.event)
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
