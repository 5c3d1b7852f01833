//! occupancy: how many kernels run at once when each wants much of a multiprocessor?
//!
//! Eight streams, a kernel in each, of one block for each multiprocessor. A block holds its place for a while and does
//! nothing else. Whether a second block fits beside it depends on what both take of the multiprocessor's threads, registers
//! and shared memory:
//!
//! ```text
//! small blocks          1 |KKKK|                two fit   1 |KKKK            |
//!                       2 |KKKK|                          2 |KKKK            |
//!                       3 |KKKK|                          3 |    KKKK        |
//! ```
//!
//! If n blocks fit (`cuOccupancyMaxActiveBlocksPerMultiprocessor`), the eight kernels take the time of ceil(8 / n) of them. The
//! streams are the same in all cases: times that did not follow n would prove this wrong.

use cuda_host::{kernels, launch, prelude::*};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::Stream;
use examples_host::prelude::*;
use gpu_kernels::HELD_REGISTERS;
use std::time::Duration;

kernels! { use gpu_kernels::{hold, hold_registers}; }

const STREAMS: usize = 8;
/// How long a block holds its place: long beside the launches.
const HELD: Duration = Duration::from_micros(500);

/// What a block takes.
#[derive(Clone, Copy)]
struct Shape {
    threads: u32,
    shared_bytes: u32,
    /// Whether each thread holds many registers.
    registers: bool,
}

/// A kernel for each stream, and what its blocks store.
struct Grids {
    kernels: Kernels,
    blocks: u32,
    values: DeviceBuffer<u32>,
    stored: DeviceBuffer<u32>,
}

impl Grids {
    fn new(blocks: u32) -> anyhow::Result<Self> {
        Ok(Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            blocks,
            values: DeviceBuffer::zeroed(HELD_REGISTERS)?,
            stored: DeviceBuffer::zeroed(STREAMS * blocks as usize)?,
        })
    }

    /// Allows more shared memory than the 48 KiB that every launch may have (`cuFuncSetAttribute`).
    fn allow_shared(&self, bytes: u32) -> anyhow::Result<()> {
        Ok(self.kernels.hold.allow_dynamic_shared_bytes(bytes)?)
    }

    /// Blocks of this shape that fit on a multiprocessor.
    fn fit(&self, shape: Shape) -> anyhow::Result<u32> {
        let function = match shape.registers {
            true => self.kernels.hold_registers.function(),
            false => self.kernels.hold.function(),
        };
        let shared = shape.shared_bytes as usize;
        Ok(function.max_active_blocks_per_multiprocessor(shape.threads.into(), shared)?)
    }

    /// A kernel of such blocks in each stream.
    fn launch(&mut self, shape: Shape, streams: &[Stream]) -> anyhow::Result<()> {
        let Shape { threads, shared_bytes, registers } = shape;
        let (Self { kernels, values, .. }, blocks) = (&*self, self.blocks);
        let ns = HELD.as_nanos() as u64;
        for (grid, stream) in streams.iter().enumerate() {
            let first = grid * blocks as usize;
            let mut stored = self.stored.index(first..first + blocks as usize);
            // SAFETY: each block has an element, and the buffers outlive the run.
            unsafe {
                if registers {
                    launch!(kernels.hold_registers<<<blocks, threads, 0, stream>>>(ns, &mut stored, values))?;
                } else {
                    launch!(kernels.hold<<<blocks, threads, shared_bytes, stream>>>(ns, &mut stored))?;
                }
            }
        }
        Ok(())
    }
}

impl Workload for Grids {
    fn poison(&mut self) -> anyhow::Result<()> {
        Ok(self.stored.set_8(0xFF)?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let mut found = vec![0; self.stored.len()];
        self.stored.copy_to(&mut found)?;
        let blocks = self.blocks as usize;
        Ok(check::equal("the blocks' numbers", 0, &found, |i| (i % blocks) as u32)?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let streams = &stream::non_blocking_numbered(STREAMS)?;
    let most = part.device().shared_bytes_per_block_opt_in()?;
    let mut grids = Grids::new(part.device().multiprocessors()?)?;
    grids.allow_shared(most)?;
    let shape = |threads, shared_bytes| Shape { threads, shared_bytes, registers: false };
    let shapes = [
        ("small", "64 threads", shape(64, 0)),
        ("threads", "1024 threads", shape(1024, 0)),
        ("half-shared", "half the shared memory", shape(64, most / 2 - 1024)),
        ("all-shared", "all the shared memory", shape(64, most)),
        ("registers", "512 threads, registers", Shape { registers: true, ..shape(512, 0) }),
    ];
    let mut fit = [0; 5];
    for (fit, (_, _, shape)) in fit.iter_mut().zip(shapes) {
        *fit = grids.fit(shape)?;
    }
    let predicted = fit.map(|fit| HELD * (STREAMS as u32).div_ceil(fit.max(1)));
    let list: Vec<String> =
        shapes.iter().zip(fit).map(|((_, text, _), n)| format!("{text}: {n}")).collect();
    part.predict(format!(
        "Blocks that fit on a multiprocessor, as the driver computes them:\n{}.\nA block holds its place for {}.",
        list.join("; "),
        units::time(HELD)
    ));

    let blocks = grids.blocks as usize;
    let plan = Plan::new().launches(STREAMS, STREAMS * blocks).threads_differ();
    let variants = shapes.map(|(id, text, shape)| {
        variant((id, text), streams, move |grids: &mut Grids| grids.launch(shape, streams))
    });
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
