//! Requests arrive while a large grid runs, which fills every multiprocessor for many waves of blocks. Between streams of one priority,
//! the blocks of a request wait until all blocks of the grid have been placed. When a block ends, its place goes to the
//! stream of the highest priority: give the requests such a stream. The grid is launched first, and stays as it is.
//!
//! ```text
//! grid     |bbbbbbbbbbbbbbbbbbbbbbbbbbbb|
//! requests |  HrD HrD HrD HrD           |
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::context::CurrentContext;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};

kernels! { use gpu_kernels::{affine, hold}; } // hold: each block stays for some nanoseconds

const REQUESTS: usize = 4;
const ELEMENTS: usize = 1 << 15;
const THREADS: u32 = 256;
const BLOCKS: u32 = ELEMENTS as u32 / THREADS;
const GRID_BLOCKS: usize = 8192;
const GRID_THREADS: u32 = 1024;
const HELD_NS: u64 = 20_000;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let grid = stream::non_blocking()?.named("grid");
    let requests = stream::with_priority(0)?.named("requests"); // TODO: which priority?
    let mut input = LockedBuffer::new(&0f32, REQUESTS * ELEMENTS)?;
    let mut output = LockedBuffer::new(&0f32, REQUESTS * ELEMENTS)?;
    let mut data = DeviceBuffer::<f32>::zeroed(ELEMENTS)?;
    let mut held = DeviceBuffer::<u32>::zeroed(GRID_BLOCKS)?;
    for number in 0..REQUESTS {
        labs::fill(&mut input[number * ELEMENTS..(number + 1) * ELEMENTS], number);
    }
    CurrentContext::synchronize()?;

    // SAFETY: an element for each block. The host waits for both streams before it reads or frees memory.
    unsafe {
        launch!(kernels.hold<<<GRID_BLOCKS as u32, GRID_THREADS, 0, grid>>>(HELD_NS, &mut held))?;
    }
    for number in 0..REQUESTS {
        let part = number * ELEMENTS..(number + 1) * ELEMENTS;
        // SAFETY: as above.
        unsafe {
            data.async_copy_from(&input[part.clone()], &requests)?;
            launch!(kernels.affine<<<BLOCKS, THREADS, 0, requests>>>(&mut data, 2.0, 1.0))?;
            data.async_copy_to(&mut output[part], &requests)?;
        }
    }
    requests.synchronize()?;
    grid.synchronize()?;
    labs::hand_in(&output)
}
