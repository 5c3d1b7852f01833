//! What serves the batches, and its memory.

use super::batch::Batch;
use super::work;
use crate::arena::Arena;
use crate::layer::{D, Layer};
use crate::llm_scratch::{Model, Scratch};
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use examples_host::distance;
use examples_host::prelude::*;
use examples_host::requests::Requests;

/// The batches, and what serves them.
pub struct Server {
    pub model: Model,
    pub batches: Vec<Batch>,
    pub pool: MemoryPool,
    pub arena: Arena,
    /// Elements of scratch memory that the largest batch takes at once.
    pub most_scratch: usize,
}

impl Server {
    /// Batches of this many tokens each.
    pub fn new(lengths: &[usize]) -> anyhow::Result<Self> {
        let batches = Batch::all(lengths)?;
        let longest = lengths.iter().max().copied().unwrap_or(1);
        let most_scratch = Arena::room_for(work::scratch_lengths(longest));
        let layer = Layer::new(&work::WEIGHTS.map(work::elements))?;
        // SAFETY: each batch writes what it reads.
        let [x, out] = unsafe {
            [DeviceBuffer::uninitialized(longest * D)?, DeviceBuffer::uninitialized(longest * D)?]
        };
        let pool = MemoryPool::new(CurrentContext::get_device()?)?;
        pool.set_release_threshold(u64::MAX)?;
        Ok(Self {
            model: Model { layer, x, out },
            batches,
            pool,
            arena: Arena::new(most_scratch)?,
            most_scratch,
        })
    }

    /// The largest distance of an element from the reference.
    pub fn largest_error(&self) -> f64 {
        let pairs = self.batches.iter().flat_map(|batch| batch.output.iter().zip(&batch.expected));
        distance::largest(pairs)
    }
}

impl Workload for Server {
    fn poison(&mut self) -> anyhow::Result<()> {
        let Model { layer, x, out, .. } = &mut self.model;
        let stream = &layer.stream;
        poison(&mut self.pool, self.most_scratch, stream)?;
        poison(&mut self.arena, self.most_scratch, stream)?;
        // SAFETY: both outlive the wait.
        unsafe {
            x.set_8_async(0xFF, stream)?;
            out.set_8_async(0xFF, stream)?;
        }
        self.batches.iter_mut().for_each(|batch| check::poison(&mut batch.output));
        Ok(stream.synchronize()?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let mut each = self.batches.iter().map(Batch::check);
        each.try_fold(Checked::default(), |all, one| Ok(all.and(one?)))
    }
}

impl Requests for Server {
    fn requests(&self) -> Vec<String> {
        self.batches.iter().map(|batch| batch.tokens().to_string()).collect()
    }
}

/// Fills as much scratch memory as the largest batch takes. It also makes a pool reserve as much, as a program does that
/// knows what is to come.
fn poison(scratch: &mut impl Scratch, elements: usize, stream: &Stream) -> anyhow::Result<()> {
    let mut memory = scratch.alloc_async(elements, stream)?;
    // SAFETY: the memory is freed behind this, in the same stream.
    unsafe { memory.set_8_async(0xFF, stream)? };
    scratch.free_async(memory, stream)
}
