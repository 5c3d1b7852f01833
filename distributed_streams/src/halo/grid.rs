//! The grid in slabs, and the two operations of a step.

use crate::gpus;
use anyhow::Result;
use cuda_host::{peer, prelude::*};
use cust::context::{Context, CurrentContext};
use std::ops::Range;

kernels! { use gpu_kernels::jacobi; }

const THREADS: u32 = 128;

/// A GPU's part of the grid.
pub struct Slab {
    pub context: Context,
    kernels: Kernels,
    /// A step reads one and writes the other. Above and below the rows there is one of the neighbour's.
    pub grids: [DeviceBuffer<f32>; 2],
    /// Recorded behind the edges and the rest of a step, and behind the copies to the neighbours.
    pub edges: Event,
    pub interior: Event,
    pub sent: Event,
}

/// The grid, from the first slab to the last.
pub struct Grid {
    pub slabs: Vec<Slab>,
    /// Rows of a slab.
    pub rows: usize,
    pub width: usize,
    pub steps: usize,
    rows_per_thread: u32,
}

impl Grid {
    /// A slab of this many rows on each GPU, for this many steps.
    pub fn new(
        contexts: &[Context],
        [rows, width]: [usize; 2],
        rows_per_thread: u32,
        steps: usize,
    ) -> Result<Self> {
        let slab = |gpu: usize| {
            let event = || Event::new(EventFlags::DISABLE_TIMING);
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
        let slabs = gpus::on_each(contexts, slab)?;
        Ok(Self { slabs, rows, width, steps, rows_per_thread })
    }

    /// The slabs above and below that of a GPU.
    pub fn neighbours(&self, gpu: usize) -> impl Iterator<Item = &Slab> {
        let both = [gpu.checked_sub(1), Some(gpu + 1)].into_iter().flatten();
        both.filter_map(|other| self.slabs.get(other))
    }

    /// Computes `rows` of a slab, counted from 1, in a step.
    pub fn launch(
        &mut self,
        gpu: usize,
        step: usize,
        rows: Range<usize>,
        stream: &Stream,
    ) -> CudaResult<()> {
        let Slab { kernels, grids: [even, odd], context, .. } = &mut self.slabs[gpu];
        let (from, to) = if step.is_multiple_of(2) { (even, odd) } else { (odd, even) };
        let kernel = &kernels.jacobi;
        let down = (rows.len() as u32).div_ceil(self.rows_per_thread);
        let blocks = ((self.width as u32).div_ceil(THREADS), down);
        let (width, first, last) = (self.width as u32, rows.start as u32, rows.end as u32);
        CurrentContext::set_current(context)?;
        // SAFETY: the rows are inside both grids, with one above and below; the variants order all steps.
        unsafe {
            launch!(kernel<<<blocks, THREADS, 0, stream>>>(&*from, to, width, first, last, self.rows_per_thread))
        }
    }

    /// Sends the outermost rows that a step has computed to the neighbours (`cuMemcpyPeerAsync`).
    pub fn copy_to_neighbours(
        &mut self,
        gpu: usize,
        step: usize,
        stream: &Stream,
    ) -> CudaResult<()> {
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
        self.slabs[gpu].sent.record(stream)
    }
}
