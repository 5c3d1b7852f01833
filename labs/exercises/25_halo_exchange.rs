//! A grid, cut in two: each GPU has one half. In each step every element becomes the mean of its four neighbours, so the row at
//! the cut needs a row of the other GPU, which a peer copy brings. All rows are computed first, and the copy comes after them. Only
//! one row has to travel: compute it first, in a second stream of each GPU, and let it travel while the other rows are computed.
//!
//! ```text
//! edge  |KC      KC      KC      |
//! inner |KKKKKKKKKKKKKKKKKKKKKKKK|
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, peer, prelude::*};
use cust::context::{Context, CurrentContext};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use std::ops::Range;

kernels! { use gpu_kernels::jacobi; }

const WIDTH: usize = 512;
const ROWS: usize = 256; // of each half
const STEPS: usize = 8;
const THREADS: u32 = 128;
const BLOCKS: u32 = WIDTH as u32 / THREADS;

fn named(gpu: usize, name: &str) -> Result<Stream> {
    Ok(stream::non_blocking()?.named(&format!("GPU {gpu} {name}")))
}

/// A GPU's half. Its grids have a row more above and below: at the cut it is the other half's.
struct Half<'a> {
    context: &'a Context,
    kernels: Kernels,
    grids: [DeviceBuffer<f32>; 2], // a step reads one and writes the other
    inner: Stream,                 // TODO: a stream for the edge
    sent: Event,
}

impl<'a> Half<'a> {
    fn new(gpu: usize, context: &'a Context, given: &[f32]) -> Result<Self> {
        CurrentContext::set_current(context)?;
        let grid = DeviceBuffer::zeroed((ROWS + 2) * WIDTH)?;
        grid.index(0..given.len()).copy_from(given)?;
        let half = Self {
            context,
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            grids: [grid, DeviceBuffer::zeroed((ROWS + 2) * WIDTH)?],
            inner: named(gpu, "inner")?,
            sent: Event::new(EventFlags::DISABLE_TIMING)?,
        };
        CurrentContext::synchronize()?;
        Ok(half)
    }

    /// Computes `rows` in a step.
    fn compute(&self, step: usize, rows: Range<usize>, stream: &Stream) -> Result<()> {
        let (from, to) = (&self.grids[step % 2], &self.grids[(step + 1) % 2]);
        let [width, first, last] = [WIDTH, rows.start, rows.end].map(|value| value as u32);
        let mut to = to.index(..);
        CurrentContext::set_current(self.context)?;
        // SAFETY: the rows are inside both grids, and the host waits for the stream before they are freed.
        unsafe {
            launch!(self.kernels.jacobi<<<BLOCKS, THREADS, 0, stream>>>(from, &mut to, width, first, last, ROWS as u32))?
        };
        Ok(())
    }

    /// Copies a row that a step has computed into a row of the other half.
    fn send(
        &self,
        step: usize,
        row: usize,
        other: &Half,
        to: usize,
        stream: &Stream,
    ) -> Result<()> {
        let written = (step + 1) % 2;
        let from = self.grids[written].index(row * WIDTH..(row + 1) * WIDTH);
        let mut to = other.grids[written].index(to * WIDTH..(to + 1) * WIDTH);
        // SAFETY: both grids live until the host has waited for both GPUs.
        unsafe { peer::copy_async((&mut to, other.context), (&from, self.context), stream)? };
        self.sent.record(stream)?;
        Ok(())
    }
}

fn main() -> Result<()> {
    let [gpu_0, gpu_1] = &labs::two_gpus()?; // a context each
    let mut output = LockedBuffer::new(&0f32, 2 * ROWS * WIDTH)?;
    labs::fill(&mut output, 0);
    // Above the grid and below it there are zeros, and at the cut a row of the other half.
    let upper_rows = [&vec![0.0; WIDTH], &output[..(ROWS + 1) * WIDTH]].concat();
    let upper = Half::new(0, gpu_0, &upper_rows)?;
    let lower = Half::new(1, gpu_1, &output[(ROWS - 1) * WIDTH..])?;

    for step in 0..STEPS {
        for (half, other, edge, inner) in
            [(&upper, &lower, ROWS, 1..ROWS), (&lower, &upper, 1, 2..ROWS + 1)]
        {
            half.inner.wait(&other.sent)?; // the row of the other half, in the step before
            half.compute(step, edge..edge + 1, &half.inner)?; // TODO: beside the rows below
            half.compute(step, inner, &half.inner)?;
        }
        upper.send(step, ROWS, &lower, 0, &upper.inner)?;
        lower.send(step, 1, &upper, ROWS + 1, &lower.inner)?;
    }
    for (half, rows) in [&upper, &lower].into_iter().zip(output.chunks_mut(ROWS * WIDTH)) {
        CurrentContext::set_current(half.context)?;
        CurrentContext::synchronize()?;
        // SAFETY: the host waits for the stream.
        unsafe {
            half.grids[STEPS % 2]
                .index(WIDTH..(ROWS + 1) * WIDTH)
                .async_copy_to(rows, &half.inner)?
        };
        half.inner.synchronize()?;
    }
    labs::hand_in(&output)
}
