//! warp-specialised: what does warp specialisation gain inside a kernel, and what do streams gain around it?
//!
//! A kernel that works on tiles loads a tile into shared memory and computes with it. If all warps do both, with a barrier
//! in between, a block that loads does not compute and a block that computes does not load. *Specialised* warps divide
//! the work: producers do nothing but fill the stages of a ring in shared memory, consumers do nothing but compute.
//! Barriers of single stages hand the tiles over, one for "full", one for "empty"; none that all warps wait at is in the
//! loop.
//!
//! ```text
//! unspecialised  all       |LLL CCC LLL CCC LLL CCC
//! specialised    producers |LLL lll LLL lll
//!                consumers |    CCC ccc CCC ccc
//! ```
//!
//! With M for the time that memory needs and A for that of the arithmetic, the one takes M + A, the other the longer of
//! both: most is gained where they are equal. But a block that waits for memory leaves room for another: several blocks on one
//! multiprocessor overlap each other's phases without any producer. The gain with one block is a headline; the fair question is
//! what the best specialised launch gains over the best unspecialised one, each with the number of blocks that suits it.
//! Producers that load by plain loads hold what they load in registers: they are no match for copies that need none.
//!
//! Around the kernel, streams do the same with copies and kernels, and each batch has memory from a pool, in the order of
//! its stream. The two gains are measured one at a time. A time below the bounds, a form whose results differ in a bit, or,
//! with two blocks, a gain where memory or arithmetic is all there is, would prove this wrong.

use crate::forms::{Form, Forms};
use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use std::ops::Range;

pub const BLOCKS: u32 = 2; // per multiprocessor

/// The batches on the host, and the pool.
pub struct Batches<'f> {
    pub forms: &'f Forms,
    pub rounds: u32,
    pool: MemoryPool,
    pub input: LockedBuffer<f32>,
    pub output: LockedBuffer<f32>,
    pub batches: Vec<Range<usize>>,
}

impl<'f> Batches<'f> {
    pub fn new(forms: &'f Forms, batches: Vec<Range<usize>>, rounds: u32) -> Result<Self> {
        let pool = MemoryPool::new(CurrentContext::get_device()?)?;
        // What one run has freed is there for the next, and each stream keeps to its own: looking for memory of other streams
        // costs the host time, and memory that crosses makes one stream wait for the other.
        pool.set_release_threshold(u64::MAX)?;
        pool.allow_only(&[])?;
        let input = LockedBuffer::new(&0.0, batches[batches.len() - 1].end)?;
        let output = LockedBuffer::new(&0.0, input.len())?;
        Ok(Self { forms, rounds, pool, input, output, batches })
    }

    /// Everything about a batch in one stream, the streams round-robin: its memory, too, comes and goes in the order of the stream.
    pub fn pass(&mut self, form: Form, streams: &[Stream]) -> Result<()> {
        for (batch, stream) in self.batches.iter().zip(streams.iter().cycle()) {
            // SAFETY: all uses of the memory are in this stream; input and output are page-locked and outlive the pass.
            unsafe {
                let mut data = self.pool.alloc_async(batch.len(), stream)?;
                let mut result = self.pool.alloc_async(batch.len(), stream)?;
                data.async_copy_from(&self.input[batch.clone()], stream)?;
                self.forms.launch((form, BLOCKS), (&data, &mut result), self.rounds, stream)?;
                result.async_copy_to(&mut self.output[batch.clone()], stream)?;
                data.drop_async(stream)?;
                result.drop_async(stream)?;
            }
        }
        Ok(())
    }
}
