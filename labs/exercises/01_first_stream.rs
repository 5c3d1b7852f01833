//! Copy a batch to the device, let a kernel work on it, and copy the result back, all of it in one stream.
//! Operations in a stream run one after the other, in the order of the calls; the host only enqueues them.
//! The kernel is missing, and so is the wait without which the host reads the result too early.
//!
//! ```text
//! work |HHHHHHHKKKDDDDDDD          H copies in, K computes, D copies out
//! host |enqueue|wait....| hand in
//! ```

use anyhow::Result;
use cuda_host::prelude::*;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};

kernels! { use gpu_kernels::affine; } // data[i] = a data[i] + b

const ELEMENTS: usize = 1 << 20;
const THREADS: u32 = 256;
const BLOCKS: u32 = ELEMENTS as u32 / THREADS;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let work = stream::non_blocking()?.named("work");

    let mut input = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut output = LockedBuffer::new(&0f32, ELEMENTS)?;
    labs::fill(&mut input, 0);

    // SAFETY: the host waits for the stream before any of this memory is freed.
    unsafe {
        let mut data = DeviceBuffer::<f32>::uninitialized(ELEMENTS)?;
        data.async_copy_from(&input, &work)?;
        // TODO: launch `kernels.affine` here: data[i] = 2 data[i] + 1, with BLOCKS blocks of THREADS threads in `work`.
        // launch!(kernels.NAME<<<BLOCKS, THREADS, 0, STREAM>>>(&mut BUFFER, a, b))?;
        let _ = (&kernels, BLOCKS);
        data.async_copy_to(&mut output, &work)?;
        // TODO: make the host wait until everything in `work` has finished.
        labs::hand_in(&output)
    }
}
