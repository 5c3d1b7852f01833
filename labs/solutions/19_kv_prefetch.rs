//! The caches of four layers lie in page-locked host memory, and the device has room for two of them. Attention over a layer
//! has to wait for its copy; the copy into a slot has to wait for the attention that read it last. In one stream nothing
//! else can happen. Bring the next layer in a second stream while this one is read.
//!
//! ```text
//! copies    |HHHhhhHHH hhh  HHH
//! attention |   KKKKKkkkkkKKKKKkkkkk        K over slot 0, k over slot 1
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, LockedBuffer};
use labs::kv::{self, HEAD_DIM, HEADS, LAYERS, PAGE_LEN, PAGE_TOKENS, PROMPT, SCALE, WIDTH};

kernels! { use gpu_kernels::paged_attention; }

const SLOTS: usize = 2;
const PASSES: usize = 2; // each reads all layers
const SEQUENCES: usize = 8; // they share the cache: one launch each

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let [copies, attention] = stream::non_blocking_named(["copies", "attention"])?;
    let (mut filled, mut read) = (Vec::new(), Vec::new());
    let (mut on_host, mut slots, mut tables) = (Vec::new(), Vec::new(), Vec::new());
    for layer in 0..LAYERS {
        let mut memory = LockedBuffer::new(&0f32, PAGE_LEN)?;
        memory.copy_from_slice(&kv::page(layer, PROMPT));
        on_host.push(memory);
    }
    for slot in 0..SLOTS {
        slots.push(DeviceBuffer::<f32>::zeroed(PAGE_LEN)?);
        tables.push(DeviceBuffer::from_slice(&[slots[slot].as_device_ptr()])?);
        filled.push(Event::new(EventFlags::DISABLE_TIMING)?);
        read.push(Event::new(EventFlags::DISABLE_TIMING)?);
    }
    let queries = DeviceBuffer::from_slice(&kv::queries())?;
    let outputs = DeviceBuffer::<f32>::zeroed(LAYERS * SEQUENCES * WIDTH)?;
    cust::context::CurrentContext::synchronize()?;

    for (number, layer) in (0..PASSES).flat_map(|_| 0..LAYERS).enumerate() {
        let slot = number % SLOTS;
        // SAFETY: the host waits for both streams before any of this memory is freed.
        unsafe {
            copies.wait(&read[slot])?;
            slots[slot].async_copy_from(&on_host[layer], &copies)?;
            filled[slot].record(&copies)?;

            attention.wait(&filled[slot])?;
            for sequence in 0..SEQUENCES {
                let place = (layer * SEQUENCES + sequence) * WIDTH;
                let (query, mut output) = (
                    queries.index(sequence * WIDTH..(sequence + 1) * WIDTH),
                    outputs.index(place..place + WIDTH),
                );
                launch!(kernels.paged_attention<<<HEADS, gpu_kernels::PAGED_ATTENTION_THREADS, 0, attention>>>(
                    &tables[slot], PROMPT as u32, &query, &mut output, HEADS, HEAD_DIM, PAGE_TOKENS, SCALE
                ))?;
            }
            read[slot].record(&attention)?;
        }
    }
    attention.synchronize()?;
    let mut result = vec![0f32; LAYERS * SEQUENCES * WIDTH];
    outputs.copy_to(&mut result)?;
    labs::hand_in(&result)
}
