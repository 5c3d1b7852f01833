//! pipeline: is a derived schedule as fast as one by hand?
//!
//! The data passes through in chunks. A chunk is copied in, two kernels work on it side by side, a third one joins what they
//! made, and the result is copied out:
//!
//! ```text
//!             x ── left ───► y ─┐
//! copy in ──► x                 join ──► z ── copy out
//!             x ── right ──► z ─┘
//! ```
//!
//! Three sets of the buffers x, y and z rotate: while one is filled, another is worked on, and a third is emptied. So there are
//! two kinds of order to keep. A chunk's operations follow one another; and a buffer is not overwritten before the chunk
//! before has been read from it, which is the kind that is forgotten. The pipeline is scheduled three times: *by hand*, with a
//! record and a wait for each of these orders; as a *graph* that captures the same calls, and costs the host one launch; and
//! *derived* by `scheduler.rs` from what each operation reads and writes.
//!
//! Unequal times, a schedule that is faster than the bound, or a report of the race checker would prove this wrong.

pub mod work;

use crate::pipeline::work::ChunkBuffers;
use crate::scheduler::{Data, Scheduler};
use anyhow::Result;
use cuda_host::capture::{self, GraphExec};
use cuda_host::prelude::*;

/// Sets of buffers in rotation.
pub const SLOTS: usize = 3;
/// Copies in, two streams for kernels, copies out.
pub type Streams<'s> = [&'s Stream; 4];

impl ChunkBuffers {
    /// Every order is a record and a wait.
    pub fn by_hand(&mut self, [copy_in, left, right, copy_out]: Streams) -> Result<()> {
        for chunk in 0..self.chunks.len() {
            let (slot, used) = (chunk % SLOTS, chunk >= SLOTS);
            if used {
                copy_in.wait(&self.slots[slot].left)?; // x has been read …
                copy_in.wait(&self.slots[slot].right)?; // … by both
            }
            self.copy_in(chunk, copy_in)?;
            self.slots[slot].filled.record(copy_in)?;

            left.wait(&self.slots[slot].filled)?;
            if used {
                left.wait(&self.slots[slot].joined)?; // y has been read
            }
            self.left(chunk, left)?;
            self.slots[slot].left.record(left)?;

            right.wait(&self.slots[slot].filled)?;
            if used {
                right.wait(&self.slots[slot].emptied)?; // z has been copied out
            }
            self.right(chunk, right)?;
            self.slots[slot].right.record(right)?;

            right.wait(&self.slots[slot].left)?;
            self.join(chunk, right)?;
            self.slots[slot].joined.record(right)?;

            copy_out.wait(&self.slots[slot].joined)?;
            self.copy_out(chunk, copy_out)?;
            self.slots[slot].emptied.record(copy_out)?;
        }
        Ok(())
    }

    /// The same calls as nodes and edges of a graph. What came last in all streams is behind the last copy out.
    pub fn capture(&mut self, streams: Streams) -> Result<GraphExec> {
        let first = streams[0];
        capture::begin(first)?;
        self.by_hand(streams)?;
        first.wait(&self.slots[(self.chunks.len() - 1) % SLOTS].emptied)?;
        Ok(capture::end(first)?.instantiate()?)
    }

    /// Each operation with what it reads and what it writes.
    pub fn derived(&mut self, tasks: &mut Scheduler) -> Result<()> {
        tasks.restart();
        for chunk in 0..self.chunks.len() {
            let [x, y, z] = ["x", "y", "z"].map(|name| Data::device(name, chunk % SLOTS));
            let [input, output] = ["input", "output"].map(|name| Data::host(name, chunk));
            tasks.task([input], [x], |stream| self.copy_in(chunk, stream))?;
            tasks.task([x], [y], |stream| self.left(chunk, stream))?;
            tasks.task([x], [z], |stream| self.right(chunk, stream))?;
            tasks.task([y, z], [z], |stream| self.join(chunk, stream))?;
            tasks.task([z], [output], |stream| self.copy_out(chunk, stream))?;
        }
        Ok(())
    }
}

/// The captured work, with one call.
pub fn captured(graph: &GraphExec, stream: &Stream) -> CudaResult<()> {
    // SAFETY: all buffers outlive the run, and nothing else uses them meanwhile.
    unsafe { graph.launch(stream) }
}
