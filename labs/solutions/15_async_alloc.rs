//! Each step needs scratch memory. `cuMemAlloc` may and `cuMemFree` does wait for the whole device, so that the GPU runs dry
//! in every step. Allocate and free in the order of the stream instead: `uninitialized_async` and `drop_async`.
//!
//! ```text
//! cuMemAlloc, cuMemFree            host |alloc|enqueue|free waits.|alloc|enqueue|free waits.|
//!                                  work |           CKK                       CKK
//! cuMemAllocAsync, cuMemFreeAsync  work |CKKCKKCKK                  C copies within the device
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer};

kernels! { use gpu_kernels::{affine, saxpy}; }

const STEPS: usize = 12;
const ELEMENTS: usize = 1 << 18;
const THREADS: u32 = 256;
const BLOCKS: u32 = ELEMENTS as u32 / THREADS;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let work = stream::non_blocking()?.named("work");
    let mut result = vec![0f32; ELEMENTS];
    labs::fill(&mut result, 0);
    let data = DeviceBuffer::from_slice(&result)?;
    let mut sum = DeviceBuffer::<f32>::zeroed(ELEMENTS)?;
    cust::context::CurrentContext::synchronize()?;

    for _ in 0..STEPS {
        // SAFETY: the stream orders all uses of the memory, and its free.
        unsafe {
            let mut scratch = DeviceBuffer::<f32>::uninitialized_async(ELEMENTS, &work)?;
            scratch.async_copy_from(&data, &work)?;
            launch!(kernels.affine<<<BLOCKS, THREADS, 0, work>>>(&mut scratch, 2.0, 1.0))?;
            launch!(kernels.saxpy<<<BLOCKS, THREADS, 0, work>>>(1.0, &scratch, &mut sum))?;
            scratch.drop_async(&work)?;
        }
    }
    work.synchronize()?;
    sum.copy_to(&mut result)?;
    labs::hand_in(&result)
}
