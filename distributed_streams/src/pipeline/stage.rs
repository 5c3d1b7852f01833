//! The stages of the pipeline, their buffers and events, and the two operations of a stage.

use super::SLOTS;
use crate::gpus;
use anyhow::Result;
use cuda_host::{peer, prelude::*};
use cust::context::{Context, CurrentContext};

kernels! { use gpu_kernels::fma_chain; }

const THREADS: u32 = 128;

/// A stage of the model, on a GPU of its own.
pub struct Stage {
    pub context: Context,
    kernels: Kernels,
    /// Where micro-batches arrive from the stage before, and where they wait for the next.
    pub arrived: Vec<DeviceBuffer<f32>>,
    pub product: Vec<DeviceBuffer<f32>>,
    /// Recorded behind the kernel, and behind the copy to the next stage.
    pub computed: Vec<Event>,
    pub sent: Vec<Event>,
}

/// The stages, and the batch before the first and behind the last of them.
pub struct Stages {
    pub stages: Vec<Stage>,
    input: DeviceBuffer<f32>,
    pub output: DeviceBuffer<f32>,
    /// Elements of a micro-batch, and multiply-adds of each in a stage.
    len: usize,
    rounds: u32,
    /// How many micro-batches a run has.
    pub batches: usize,
}

impl Stages {
    /// A stage on each GPU, for an input of this many micro-batches.
    pub fn new(contexts: &[Context], input: &[f32], batches: usize, rounds: u32) -> Result<Self> {
        let len = input.len() / batches;
        let event = || Event::new(EventFlags::DISABLE_TIMING);
        let stage = |gpu: usize| {
            // SAFETY: floats, and what is read has been written before.
            let slot = || unsafe { DeviceBuffer::uninitialized(len) };
            Ok(Stage {
                context: contexts[gpu].clone(),
                kernels: Kernels::load(gpu_kernels::SM_70)?,
                arrived: (0..SLOTS).map(|_| slot()).collect::<Result<_, _>>()?,
                product: (0..SLOTS).map(|_| slot()).collect::<Result<_, _>>()?,
                computed: (0..SLOTS).map(|_| event()).collect::<Result<_, _>>()?,
                sent: (0..SLOTS).map(|_| event()).collect::<Result<_, _>>()?,
            })
        };
        let stages = gpus::on_each(contexts, stage)?;
        CurrentContext::set_current(&contexts[contexts.len() - 1])?;
        let output = DeviceBuffer::zeroed(input.len())?;
        CurrentContext::set_current(&contexts[0])?;
        let input = DeviceBuffer::from_slice(input)?;
        Ok(Self { stages, input, output, len, rounds, batches })
    }

    /// The work of a stage on a micro-batch.
    pub fn compute(&mut self, stage: usize, batch: usize, stream: &Stream) -> CudaResult<()> {
        let (own, slot) = (&self.stages[stage], batch % SLOTS);
        let (kernel, rounds) = (&own.kernels.fma_chain, self.rounds);
        let range = batch * self.len..(batch + 1) * self.len;
        let input = if stage == 0 { self.input.index(range.clone()) } else { *own.arrived[slot] };
        let last = stage + 1 == self.stages.len();
        let mut output = if last { self.output.index(range) } else { *own.product[slot] };
        let blocks = (self.len as u32).div_ceil(THREADS);
        CurrentContext::set_current(&own.context)?;
        // SAFETY: a thread for every element; the buffers outlive the pass, and the variants order the uses of each slot.
        unsafe { launch!(kernel<<<blocks, THREADS, 0, stream>>>(&input, &mut output, rounds)) }
    }

    /// Copies a micro-batch to the next stage (`cuMemcpyPeerAsync`).
    pub fn copy_to_next(&mut self, stage: usize, batch: usize, stream: &Stream) -> CudaResult<()> {
        let slot = batch % SLOTS;
        let (own, next) = (&self.stages[stage], &self.stages[stage + 1]);
        let (from, mut to) = (*own.product[slot], *next.arrived[slot]);
        // SAFETY: as above.
        unsafe { peer::copy_async((&mut to, &next.context), (&from, &own.context), stream) }
    }
}
