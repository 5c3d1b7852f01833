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

pub mod grid;

use crate::halo::grid::Grid;
use cuda_host::prelude::*;

impl Grid {
    /// The host waits for all GPUs after computing, and again after copying.
    pub fn host_sync(&mut self, streams: &[Stream]) -> CudaResult<()> {
        for step in 0..self.steps {
            for (gpu, stream) in streams.iter().enumerate() {
                self.launch(gpu, step, 1..self.rows + 1, stream)?;
            }
            streams.iter().try_for_each(Stream::synchronize)?;
            for (gpu, stream) in streams.iter().enumerate() {
                self.copy_to_neighbours(gpu, step, stream)?;
            }
            streams.iter().try_for_each(Stream::synchronize)?;
        }
        Ok(())
    }

    /// All rows, then the copies; events between the GPUs.
    pub fn in_turn(&mut self, streams: &[Stream]) -> CudaResult<()> {
        for step in 0..self.steps {
            for (gpu, stream) in streams.iter().enumerate() {
                self.neighbours(gpu).try_for_each(|neighbour| stream.wait(&neighbour.sent))?;
                self.launch(gpu, step, 1..self.rows + 1, stream)?;
            }
            for (gpu, stream) in streams.iter().enumerate() {
                self.copy_to_neighbours(gpu, step, stream)?;
            }
        }
        Ok(())
    }

    /// The outermost rows, which travel while the others are computed.
    pub fn edges_first(&mut self, edges: &[Stream], interior: &[Stream]) -> CudaResult<()> {
        for step in 0..self.steps {
            for (gpu, (edges, interior)) in edges.iter().zip(interior).enumerate() {
                self.neighbours(gpu).try_for_each(|neighbour| edges.wait(&neighbour.sent))?;
                edges.wait(&self.slabs[gpu].interior)?; // of the step before
                interior.wait(&self.slabs[gpu].edges)?;
                self.launch(gpu, step, 1..2, edges)?;
                self.launch(gpu, step, self.rows..self.rows + 1, edges)?;
                self.slabs[gpu].edges.record(edges)?;
                self.launch(gpu, step, 2..self.rows, interior)?;
                self.slabs[gpu].interior.record(interior)?;
            }
            for (gpu, edges) in edges.iter().enumerate() {
                self.copy_to_neighbours(gpu, step, edges)?;
            }
        }
        Ok(())
    }
}
