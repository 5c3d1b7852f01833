//! halo: can halos travel while the interior is computed?
//!
//! A grid is cut into slabs, one for each GPU. In each step every element becomes the mean of its four neighbours, and the first and
//! last rows of a slab have a neighbour on another GPU: its outermost row, the halo. All rows of a step may be computed before the
//! outermost are sent. Or these are computed first, and travel while all others are computed:
//!
//! ```text
//! in turn     rows  |RRRRRRRR    RRRRRRRR    |        edges first   interior |RRRRRRRRRRRRRRRR  |
//!             edges |        CCCC        CCCC|                      edges    |KCCCC   KCCCC     |
//! ```
//!
//! A copy needs the edges of its step, and the edges of a step need the interior of the one before: an event for each. Elements that
//! differ from those of the uncut grid, copies that run beside no computing although the edges come first, or beside computing
//! although they come last, would prove this wrong.

use crate::gpus;
use anyhow::Result;
use cuda_host::{kernels, launch, peer, prelude::*};
use cust::context::{Context, CurrentContext};
use cust::event::Event;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::Stream;
use examples_host::communication::beside_own_kernel;
use examples_host::prelude::*;
use gpu_kernels::Signature;
use std::ops::Range;

kernels! { use gpu_kernels::jacobi; }

const ONE_THREAD: &str =
    "its slabs are so small that the one host thread, which enqueues for all GPUs, is the limit";
const DATA: Seed = Seed::new(83);
const THREADS: u32 = 128;

/// A GPU's part of the grid.
struct Slab {
    context: Context,
    kernels: Kernels,
    /// A step reads one and writes the other. Above and below the rows there is one of the neighbour's.
    grids: [DeviceBuffer<f32>; 2],
    /// Recorded behind the edges and the rest of a step, and behind the copies to the neighbours.
    edges: Event,
    interior: Event,
    sent: Event,
}

struct Work {
    slabs: Vec<Slab>,
    /// Of a slab.
    rows: usize,
    width: usize,
    rows_per_thread: u32,
    steps: usize,
    /// The grid after all steps.
    expected: Vec<f32>,
}

impl Work {
    fn new(
        contexts: &[Context],
        rows: usize,
        width: usize,
        rows_per_thread: u32,
        steps: usize,
    ) -> Result<Self> {
        let slab = |gpu: usize| {
            let event = || Event::new(cust::event::EventFlags::DISABLE_TIMING);
            let empty = vec![0.0; (rows + 2) * width];
            Ok(Slab {
                context: contexts[gpu].clone(),
                kernels: Kernels::load(gpu_kernels::SM_70)?,
                grids: [DeviceBuffer::from_slice(&empty)?, DeviceBuffer::from_slice(&empty)?],
                edges: event()?,
                interior: event()?,
                sent: event()?,
            })
        };
        let expected = steps_on_the_cpu(contexts.len() * rows, width, steps);
        Ok(Self {
            slabs: gpus::on_each(contexts, slab)?,
            rows,
            width,
            rows_per_thread,
            steps,
            expected,
        })
    }

    /// Computes `rows` of a slab, counted from 1, in a step.
    fn compute(
        &mut self,
        gpu: usize,
        step: usize,
        rows: Range<usize>,
        stream: &Stream,
    ) -> Result<()> {
        let Slab { kernels, grids: [even, odd], context, .. } = &mut self.slabs[gpu];
        let (from, to) = if step.is_multiple_of(2) { (even, odd) } else { (odd, even) };
        let kernel = &kernels.jacobi;
        let down = (rows.len() as u32).div_ceil(self.rows_per_thread);
        let blocks = ((self.width as u32).div_ceil(THREADS), down);
        let (width, first, last) = (self.width as u32, rows.start as u32, rows.end as u32);
        CurrentContext::set_current(context)?;
        // SAFETY: the rows are inside both grids, with one above and below; the variants order all steps.
        unsafe {
            launch!(kernel<<<blocks, THREADS, 0, stream>>>(&*from, to, width, first, last, self.rows_per_thread))?
        };
        Ok(())
    }

    /// Sends the outermost rows that a step has computed to the neighbours (`cuMemcpyPeerAsync`).
    fn send(&mut self, gpu: usize, step: usize, stream: &Stream) -> Result<()> {
        let written = (step + 1) % 2;
        let row = |row: usize| row * self.width..(row + 1) * self.width;
        let neighbours = [
            gpu.checked_sub(1).map(|above| (above, row(1), row(self.rows + 1))),
            Some((gpu + 1, row(self.rows), row(0))),
        ];
        for (other, from, to) in neighbours.into_iter().flatten() {
            let (own, Some(other)) = (&self.slabs[gpu], self.slabs.get(other)) else { continue };
            let (from, mut to) = (own.grids[written].index(from), other.grids[written].index(to));
            // SAFETY: both grids outlive the pass; the neighbour has waited for our last step, which has read the row.
            unsafe { peer::copy_async((&mut to, &other.context), (&from, &own.context), stream)? };
        }
        self.slabs[gpu].sent.record(stream)?;
        Ok(())
    }

    /// Waits for what the neighbours have sent in the step before.
    fn receive(&self, gpu: usize, stream: &Stream) -> Result<()> {
        for other in [gpu.checked_sub(1), Some(gpu + 1)].into_iter().flatten() {
            if let Some(other) = self.slabs.get(other) {
                stream.wait(&other.sent)?;
            }
        }
        Ok(())
    }

    /// The host waits for all GPUs after computing, and again after copying.
    fn host_sync(&mut self, streams: &[Stream]) -> Result<()> {
        for step in 0..self.steps {
            for (gpu, stream) in streams.iter().enumerate() {
                self.compute(gpu, step, 1..self.rows + 1, stream)?;
            }
            wait_for_all(streams)?;
            for (gpu, stream) in streams.iter().enumerate() {
                self.send(gpu, step, stream)?;
            }
            wait_for_all(streams)?;
        }
        Ok(())
    }

    /// All rows, then the copies; events between the GPUs.
    fn in_turn(&mut self, streams: &[Stream]) -> Result<()> {
        for step in 0..self.steps {
            for (gpu, stream) in streams.iter().enumerate() {
                self.receive(gpu, stream)?;
                self.compute(gpu, step, 1..self.rows + 1, stream)?;
            }
            for (gpu, stream) in streams.iter().enumerate() {
                self.send(gpu, step, stream)?;
            }
        }
        Ok(())
    }

    /// The outermost rows, which travel while the others are computed.
    fn edges_first(&mut self, edges: &[Stream], interior: &[Stream]) -> Result<()> {
        let last = self.rows;
        for step in 0..self.steps {
            for (gpu, (edges, interior)) in edges.iter().zip(interior).enumerate() {
                self.receive(gpu, edges)?;
                edges.wait(&self.slabs[gpu].interior)?; // of the step before
                interior.wait(&self.slabs[gpu].edges)?;
                self.compute(gpu, step, 1..2, edges)?;
                self.compute(gpu, step, last..last + 1, edges)?;
                self.slabs[gpu].edges.record(edges)?;
                self.compute(gpu, step, 2..last, interior)?;
                self.slabs[gpu].interior.record(interior)?;
            }
            for (gpu, edges) in edges.iter().enumerate() {
                self.send(gpu, step, edges)?;
            }
        }
        Ok(())
    }
}

fn wait_for_all(streams: &[Stream]) -> Result<()> {
    Ok(streams.iter().try_for_each(Stream::synchronize)?)
}

/// The uncut grid after so many steps, with the kernel's operations in the kernel's order.
fn steps_on_the_cpu(rows: usize, width: usize, steps: usize) -> Vec<f32> {
    let mut grid = vec![0.0; (rows + 2) * width];
    DATA.fill_f32(0, &mut grid[width..(rows + 1) * width]);
    let mut next = grid.clone();
    for _ in 0..steps {
        for row in 1..=rows {
            for column in 0..width {
                let i = row * width + column;
                let left = if column > 0 { grid[i - 1] } else { 0.0 };
                let right = if column + 1 < width { grid[i + 1] } else { 0.0 };
                next[i] = 0.25 * ((grid[i - width] + grid[i + width]) + (left + right));
            }
        }
        std::mem::swap(&mut grid, &mut next);
    }
    grid[width..(rows + 1) * width].to_vec()
}

impl Workload for Work {
    /// The grid as it is before the first step, with the halos that belong to it; NaN in the other.
    fn poison(&mut self) -> Result<()> {
        let (rows, width, gpus) = (self.rows, self.width, self.slabs.len());
        let mut grid = vec![0.0; (gpus * rows + 2) * width];
        DATA.fill_f32(0, &mut grid[width..(gpus * rows + 1) * width]);
        for (gpu, slab) in self.slabs.iter_mut().enumerate() {
            CurrentContext::set_current(&slab.context)?;
            let start = gpu * rows * width;
            slab.grids[0].copy_from(&grid[start..start + (rows + 2) * width])?;
            slab.grids[1].index(width..(rows + 1) * width).set_8(0xFF)?;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let mut checked = Checked::default();
        for (gpu, slab) in self.slabs.iter().enumerate() {
            CurrentContext::set_current(&slab.context)?;
            let mut found = vec![0.0; self.rows * self.width];
            let own = self.width..(self.rows + 1) * self.width;
            slab.grids[self.steps % 2].index(own).copy_to(&mut found)?;
            let first = gpu * found.len();
            let slab = check::equal("the grid", first, &found, |index| self.expected[index])?;
            checked = checked.and(slab);
        }
        Ok(checked)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let contexts = gpus::open_all()?;
    let gpus = contexts.len();
    let elements = part.elements_by_times::<f32>(ByteSize::mib(128), ByteSize::kib(512))?;
    let width = part.by_times(8192, 512).min(elements.div_ceil(8));
    let (rows, steps) = ((elements / width).max(4), part.by_times(16, 6));
    let rows_per_thread = part.by_times(8, rows as u32);
    let interior = &gpus::streams(&contexts, "interior")?[..];
    let edges = &gpus::urgent_streams(&contexts, "edges")?[..];
    let mut work = Work::new(&contexts, rows, width, rows_per_thread, steps)?;
    part.predict(format!(
        "{steps} steps on {gpus} slabs of {rows} rows. In turn, each step takes the time of its rows and that of a copy. With the edges\nfirst, the copies take no time of their own."
    ));

    let both: Vec<&Stream> = edges.iter().chain(interior).collect();
    let plan = Plan::new().launches(gpus * steps, gpus * steps * rows * width).launches_differ();
    let variants = variants! { work: Work;
        "host-sync", interior => work.host_sync(interior);
        ("in-turn", "all rows, then the copies"), interior => work.in_turn(interior);
        "edges-first", both.iter().copied() => work.edges_first(edges, interior);
    };
    let outcomes = part.compare("variants", plan, &mut work, variants)?;
    part.say(measure::table(&outcomes, part.device().times()));
    let [_, in_turn, first] = &outcomes;
    part.chart(&first.name, &first.recording, Rows::Streams);
    part.chart(&in_turn.name, &in_turn.recording, Rows::Streams);

    let hidden = |outcome: &measure::Outcome| {
        share(beside_own_kernel(&outcome.recording, gpu_kernels::jacobi::NAME))
    };
    let beside = hidden(first).at_least(0.9);
    let beside = if gpus > 4 { beside.not_of_the_model(ONE_THREAD) } else { beside };
    let faster = first.speedup_over(in_turn).at_least(1.02);
    let faster = if gpus > 2 { faster.not_of_the_model(ONE_THREAD) } else { faster };
    expect! { part;
        "hidden/in-turn", "in turn: no copy runs beside its GPU's work" => hidden(in_turn).at_most(0.05);
        "hidden/edges-first", "edges first: the copies run beside their GPU's work" => beside;
        "faster/edges-first", "edges first is faster" => faster;
    }
    part.take_away(
        "Edges first: what the neighbours need travels while everything else is computed.",
    );
    Ok(())
}
