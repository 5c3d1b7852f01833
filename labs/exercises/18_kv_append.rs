//! Decoding: in each step one stream appends a token's keys and values to the cache, and another attends to all tokens so
//! far, the new one included. The host keeps that order by waiting twice a step. One event a step is enough, and appends
//! may run ahead of attention, because each writes to a place of its own.
//!
//! ```text
//! append    |K K K K K K
//! attention | KKKKK KKKKK KKKKK KKKKK
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::memory::{CopyDestination, DeviceBuffer};
use labs::kv::{self, HEAD_DIM, HEADS, PAGE_TOKENS, PROMPT, SCALE, STEPS, WIDTH};

kernels! { use gpu_kernels::{append_kv, paged_attention}; }

const THREADS: u32 = 256;
const BLOCKS: u32 = WIDTH as u32 / THREADS;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let [append, attention] = stream::non_blocking_named(["append", "attention"])?;
    let page = DeviceBuffer::from_slice(&kv::page(0, PROMPT))?; // the prompt is in the cache
    let pages = DeviceBuffer::from_slice(&[page.as_device_ptr()])?;
    let (keys, values) =
        (DeviceBuffer::from_slice(&kv::keys(0))?, DeviceBuffer::from_slice(&kv::values(0))?);
    let queries = DeviceBuffer::from_slice(&kv::queries())?;
    let outputs = DeviceBuffer::<f32>::zeroed(STEPS * WIDTH)?;
    cust::context::CurrentContext::synchronize()?;

    for step in 0..STEPS {
        let token = PROMPT + step;
        let (key, value) = (
            keys.index(token * WIDTH..(token + 1) * WIDTH),
            values.index(token * WIDTH..(token + 1) * WIDTH),
        );
        let (query, mut output) = (
            queries.index(step * WIDTH..(step + 1) * WIDTH),
            outputs.index(step * WIDTH..(step + 1) * WIDTH),
        );
        // SAFETY: the host waits for both streams before any of this memory is freed, and the page has room for all tokens.
        unsafe {
            launch!(kernels.append_kv<<<BLOCKS, THREADS, 0, append>>>(
                &pages, token as u32, 1, &key, &value, HEADS, HEAD_DIM, PAGE_TOKENS
            ))?;
            append.synchronize()?; // TODO: an event instead of this wait, and none instead of the other
            launch!(kernels.paged_attention<<<HEADS, gpu_kernels::PAGED_ATTENTION_THREADS, 0, attention>>>(
                &pages, token as u32 + 1, &query, &mut output, HEADS, HEAD_DIM, PAGE_TOKENS, SCALE
            ))?;
            attention.synchronize()?;
        }
    }
    let mut result = vec![0f32; STEPS * WIDTH];
    outputs.copy_to(&mut result)?;
    labs::hand_in(&result)
}
