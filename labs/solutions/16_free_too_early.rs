//! Memory is allocated in stream order, worked on, copied out in a second stream, and freed in stream order. The free is in
//! order with one of the two streams only, and the pool gives the memory to the next step while the copy still reads it.
//! Find the order that is missing.
//!
//! ```text
//! work     |a KKK e       a KKK          a allocates, f frees
//! copy out |      wDDDDDf     wDDDDDf
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};

kernels! { use gpu_kernels::fill; }

const STEPS: usize = 6;
const ELEMENTS: usize = 1 << 18;
const THREADS: u32 = 256;
const BLOCKS: u32 = ELEMENTS as u32 / THREADS;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let [work, copy_out] = stream::non_blocking_named(["work", "copy out"])?;
    let computed = Event::new(EventFlags::DISABLE_TIMING)?;
    let mut output = LockedBuffer::new(&0f32, STEPS * ELEMENTS)?;

    for step in 0..STEPS {
        let part = step * ELEMENTS..(step + 1) * ELEMENTS;
        // SAFETY: the host waits for both streams before it reads the output.
        unsafe {
            let mut data = DeviceBuffer::<f32>::uninitialized_async(ELEMENTS, &work)?;
            launch!(kernels.fill<<<BLOCKS, THREADS, 0, work>>>(&mut data, step as f32))?;
            computed.record(&work)?;

            copy_out.wait(&computed)?;
            data.async_copy_to(&mut output[part], &copy_out)?;
            data.drop_async(&copy_out)?;
        }
    }
    work.synchronize()?;
    copy_out.synchronize()?;
    labs::hand_in(&output)
}
