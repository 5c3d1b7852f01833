//! The host waits before it reads the result, and yet it reads old bytes. Waiting for a stream means waiting for what was
//! enqueued in that stream. Find out for what the host really waits, and let it wait for as little as it needs.
//!
//! ```text
//! compute  |KKKKKKe
//! copy out |      wDDDDDDD|
//! host     |wait..........| hand in
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};

kernels! { use gpu_kernels::affine_rounds_x4; }

const ELEMENTS: usize = 1 << 18;
const THREADS: u32 = 256;
const BLOCKS: u32 = ELEMENTS as u32 / 4 / THREADS;
const ROUNDS: u32 = 64;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let [compute, copy_out] = stream::non_blocking_named(["compute", "copy out"])?;
    let computed = Event::new(EventFlags::DISABLE_TIMING)?;

    let mut input = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut output = LockedBuffer::new(&0f32, ELEMENTS)?;
    labs::fill(&mut input, 0);

    // SAFETY: no memory is freed before the device is done with it.
    unsafe {
        let mut data = DeviceBuffer::<f32>::uninitialized(ELEMENTS)?;
        data.async_copy_from(&input, &compute)?;
        launch!(kernels.affine_rounds_x4<<<BLOCKS, THREADS, 0, compute>>>(&mut data, 1.0, 0.125, ROUNDS))?;
        computed.record(&compute)?;
        copy_out.wait(&computed)?;
        data.async_copy_to(&mut output, &copy_out)?;
        compute.synchronize()?;
        labs::hand_in(&output)
    }
}
