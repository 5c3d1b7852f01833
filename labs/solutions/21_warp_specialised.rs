//! In this kernel all warps load a tile, wait for each other, compute, and wait again: while they load, they do not compute.
//! The same kernel is there with specialised warps: a producer warp fills a ring of stages in shared memory by asynchronous
//! copies that complete on mbarriers, and the consumer warps do nothing but compute. Launch that one, with the warp it needs.
//!
//! ```text
//! unspecialised  all       |LLL CCC LLL CCC LLL CCC
//! specialised    producer  |LLL LLL LLL
//!                consumers |    CCC CCC CCC
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use gpu_kernels::CONSUMERS; // threads that compute, in either kernel

kernels! { use gpu_kernels::fma_tiles_cp_async; }

const ELEMENTS: usize = 1 << 20;
const BLOCKS: u32 = 128;
const ROUNDS: u32 = 32;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_80)?;
    let work = stream::non_blocking()?.named("work");
    let mut memory = LockedBuffer::new(&0f32, ELEMENTS)?;
    labs::fill(&mut memory, 0);
    let input = DeviceBuffer::from_slice(&memory)?;
    let mut output = DeviceBuffer::<f32>::zeroed(ELEMENTS)?;
    cust::context::CurrentContext::synchronize()?;

    // SAFETY: the host waits for the stream before any of this memory is freed.
    unsafe {
        launch!(kernels.fma_tiles_cp_async<<<BLOCKS, CONSUMERS + 32, 0, work>>>(&input, &mut output, ROUNDS))?;
        output.async_copy_to(&mut memory, &work)?;
    }
    work.synchronize()?;
    labs::hand_in(&memory)
}
