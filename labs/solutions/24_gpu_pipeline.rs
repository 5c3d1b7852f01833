//! Two stages, one on each GPU. Each of eight batches passes stage 0 on GPU 0, goes to GPU 1 in a peer copy, and passes stage 1
//! there. The host waits for every step, so one GPU works at a time. Let events hand over instead: one of GPU 0 may be waited for
//! in a stream of GPU 1, and one of GPU 1 in a stream of GPU 0. What arrives has two slots, and a slot is filled again only when
//! stage 1 has used it.
//!
//! ```text
//! GPU 0 |SSSScssssCSSSScssssC      |
//! GPU 1 |     SSSS ssss SSSS ssss  |
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, peer, prelude::*};
use cust::context::CurrentContext;
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use gpu_kernels::CONSUMERS;

kernels! { use gpu_kernels::fma_tiles_unspecialised; } // output = input through `rounds` multiply-adds

const BATCHES: usize = 8;
const SLOTS: usize = 2;
const BATCH: usize = 1 << 17;
const BLOCKS: u32 = 4; // a small kernel takes its time
const ROUNDS: u32 = 128;

fn events() -> Result<[Event; SLOTS]> {
    Ok([Event::new(EventFlags::DISABLE_TIMING)?, Event::new(EventFlags::DISABLE_TIMING)?])
}

fn main() -> Result<()> {
    let [gpu_0, gpu_1] = labs::two_gpus()?; // a context each; GPU 0's is current
    let mut output = LockedBuffer::new(&0f32, BATCHES * BATCH)?;
    labs::fill(&mut output, 0);

    let kernels_0 = Kernels::load(gpu_kernels::SM_70)?;
    let stage_0 = stream::non_blocking()?.named("GPU 0");
    let input = DeviceBuffer::from_slice(&output)?;
    let mut product = DeviceBuffer::<f32>::zeroed(BATCH)?;
    let sent = events()?; // recorded in streams of GPU 0
    CurrentContext::synchronize()?;

    CurrentContext::set_current(&gpu_1)?;
    let kernels_1 = Kernels::load(gpu_kernels::SM_70)?;
    let stage_1 = stream::non_blocking()?.named("GPU 1");
    let mut arrived = [DeviceBuffer::<f32>::zeroed(BATCH)?, DeviceBuffer::zeroed(BATCH)?];
    let results = DeviceBuffer::<f32>::zeroed(BATCHES * BATCH)?;
    let used = events()?; // recorded in streams of GPU 1
    CurrentContext::synchronize()?;

    for batch in 0..BATCHES {
        let slot = batch % SLOTS;
        let elements = batch * BATCH..(batch + 1) * BATCH;
        let (given, mut result) = (input.index(elements.clone()), results.index(elements));
        // SAFETY: the host waits for both GPUs before any of this memory is freed.
        unsafe {
            CurrentContext::set_current(&gpu_0)?;
            let kernel = &kernels_0.fma_tiles_unspecialised;
            launch!(kernel<<<BLOCKS, CONSUMERS, 0, stage_0>>>(&given, &mut product, ROUNDS))?;
            stage_0.wait(&used[slot])?; // stage 1 has used what arrived before
            peer::copy_async((&mut arrived[slot], &gpu_1), (&product, &gpu_0), &stage_0)?;
            sent[slot].record(&stage_0)?;

            CurrentContext::set_current(&gpu_1)?;
            let kernel = &kernels_1.fma_tiles_unspecialised;
            stage_1.wait(&sent[slot])?;
            launch!(kernel<<<BLOCKS, CONSUMERS, 0, stage_1>>>(&arrived[slot], &mut result, ROUNDS))?;
            used[slot].record(&stage_1)?;
        }
    }
    // SAFETY: as above.
    unsafe { results.async_copy_to(&mut output, &stage_1)? };
    stage_1.synchronize()?;
    labs::hand_in(&output)
}
