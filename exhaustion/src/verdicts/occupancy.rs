//! Measurements and claims of the part `occupancy`.

use crate::occupancy::{Grids, STREAMS, fit};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::compare::Variants;
use examples_host::identity::Differ;
use examples_host::prelude::*;
use std::time::Duration;

const HELD: Duration = Duration::from_nanos(crate::occupancy::HELD);

/// The resources of a block.
#[derive(Clone, Copy)]
enum BlockResources {
    /// Threads, and bytes of shared memory.
    Threads(u32, u32),
    /// Threads, each of which holds many registers.
    Registers(u32),
}

impl BlockResources {
    /// Blocks of this shape that fit on a multiprocessor.
    fn fit(self, grids: &Grids) -> CudaResult<u32> {
        match self {
            Self::Threads(threads, shared_bytes) => {
                fit(grids.kernels.hold.function(), threads, shared_bytes)
            }
            Self::Registers(threads) => fit(grids.kernels.hold_registers.function(), threads, 0),
        }
    }

    /// A kernel of such blocks in each stream.
    fn launch(self, grids: &Grids, streams: &[Stream]) -> Result<()> {
        match self {
            Self::Threads(threads, shared_bytes) => grids.launch(threads, shared_bytes, streams),
            Self::Registers(threads) => grids.launch_registers(threads, streams),
        }
    }
}

impl Workload for Grids {
    fn poison(&mut self) -> Result<()> {
        Ok(self.stored.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        let mut found = vec![0; self.stored.len()];
        self.stored.copy_to(&mut found)?;
        Ok(check::equal("the blocks' numbers", 0, &found, |i| (i % self.blocks) as u32)?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let streams = &stream::non_blocking_numbered(STREAMS)?;
    let most = part.device().shared_bytes_per_block_opt_in()?;
    let mut grids = Grids::new(part.device().multiprocessors()? as usize)?;
    grids.allow_shared(most)?;
    let shapes = [
        ("small", "64 threads", BlockResources::Threads(64, 0)),
        ("threads", "1024 threads", BlockResources::Threads(1024, 0)),
        ("half-shared", "half the shared memory", BlockResources::Threads(64, most / 2 - 1024)),
        ("all-shared", "all the shared memory", BlockResources::Threads(64, most)),
        ("registers", "512 threads, registers", BlockResources::Registers(512)),
    ];
    let mut fit = [0; 5];
    for (fit, (_, _, shape)) in fit.iter_mut().zip(shapes) {
        *fit = shape.fit(&grids)?;
    }
    let predicted = fit.map(|fit| HELD * (STREAMS as u32).div_ceil(fit.max(1)));
    let list: Vec<String> =
        shapes.iter().zip(fit).map(|((_, text, _), n)| format!("{text}: {n}")).collect();
    part.predict(format!(
        "Blocks that fit on a multiprocessor, as the driver computes them:\n{}.\nA block holds its place for {}.",
        list.join("; "),
        units::time(HELD)
    ));

    let plan = Plan::new().launches(STREAMS, STREAMS * grids.blocks).threads_differ();
    let variants = shapes.map(|(id, text, shape)| {
        let launch = move |grids: &mut Grids| shape.launch(grids, streams);
        let variant = variant((id, text), streams, launch);
        match shape {
            BlockResources::Threads(..) => variant,
            BlockResources::Registers(_) => variant.also(&[Differ::Kernels]),
        }
    });
    let variants = Variants::differing(&[Differ::Launches], variants);
    let outcomes = part.compare("variants", plan, &mut grids, variants)?;
    part.show_predicted(&outcomes, predicted);
    part.chart(&outcomes[1].name, &outcomes[1].recording, Rows::Streams);

    for ((outcome, predicted), fit) in outcomes.iter().zip(predicted).zip(fit) {
        let Label { id, text } = &outcome.name;
        let near = time(outcome.median()).near(predicted, 0.15);
        expect! { part; "predicted/{id}", "{text}: {fit} at a time" => near; }
    }
    part.take_away(
        "Streams only permit concurrency: a block must also find threads, registers and memory.",
    );
    Ok(())
}
