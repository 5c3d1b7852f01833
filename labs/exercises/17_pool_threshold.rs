//! The host reads something after every step, so it waits. A pool whose release threshold is 0 gives all free memory back to
//! the device whenever the host waits, and the next allocation has to reserve it again: that is as slow as `cuMemAlloc`.
//! Let the device's default pool keep its memory.
//!
//! ```text
//! threshold 0    host |reserve.........|wait|reserve.........|wait|
//! threshold max  host |reserve.........|wait|a|wait|a|wait|
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::context::CurrentContext;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};

kernels! { use gpu_kernels::fill; }

const STEPS: usize = 8;
const SCRATCH: usize = 1 << 23; // elements: 32 MiB
const ELEMENTS: usize = 1 << 19; // of them in use
const THREADS: u32 = 256;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let work = stream::non_blocking()?.named("work");
    let mut output = LockedBuffer::new(&0f32, STEPS * ELEMENTS)?;
    let pool = MemoryPool::default_of(CurrentContext::get_device()?)?;
    // TODO: how much free memory the pool may keep is its release threshold, 0 bytes at first: see `MemoryPool`.
    let _ = &pool;

    for step in 0..STEPS {
        // SAFETY: the stream orders all uses of the memory, and its free.
        unsafe {
            let scratch = DeviceBuffer::<f32>::uninitialized_async(SCRATCH, &work)?;
            let mut used = scratch.index(..ELEMENTS);
            launch!(kernels.fill<<<ELEMENTS as u32 / THREADS, THREADS, 0, work>>>(&mut used, step as f32))?;
            used.async_copy_to(&mut output[step * ELEMENTS..(step + 1) * ELEMENTS], &work)?;
            scratch.drop_async(&work)?;
        }
        work.synchronize()?; // the host looks at the step's result, and decides whether to go on
    }
    labs::hand_in(&output)
}
