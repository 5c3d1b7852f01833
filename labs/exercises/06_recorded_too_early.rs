//! The same three streams, and this time every event is recorded and every event is waited for.
//! The result is wrong all the same. An event stands for what its stream was told before the record: find the event that
//! stands for too little.
//!
//! ```text
//! copy in  |HHHHHHHe
//! compute  |       wKKKKe
//! copy out |            wDDDDDDD
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};

kernels! { use gpu_kernels::affine_rounds_x4; }

const ELEMENTS: usize = 1 << 18;
const THREADS: u32 = 256;
const BLOCKS: u32 = ELEMENTS as u32 / 4 / THREADS;
const ROUNDS: u32 = 512;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let [copy_in, compute, copy_out] =
        stream::non_blocking_named(["copy in", "compute", "copy out"])?;
    let copied = Event::new(EventFlags::DISABLE_TIMING)?;
    let computed = Event::new(EventFlags::DISABLE_TIMING)?;

    let mut input = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut output = LockedBuffer::new(&0f32, ELEMENTS)?;
    labs::fill(&mut input, 0);

    // SAFETY: the host waits for the last copy before any of this memory is freed.
    unsafe {
        let mut data = DeviceBuffer::<f32>::uninitialized(ELEMENTS)?;
        data.async_copy_from(&input, &copy_in)?;
        copied.record(&copy_in)?;

        compute.wait(&copied)?;
        computed.record(&compute)?;
        launch!(kernels.affine_rounds_x4<<<BLOCKS, THREADS, 0, compute>>>(&mut data, 1.0, 0.125, ROUNDS))?;

        copy_out.wait(&computed)?;
        data.async_copy_to(&mut output, &copy_out)?;
        copy_out.synchronize()?;
        labs::hand_in(&output)
    }
}
