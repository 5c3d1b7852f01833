//! Two jobs in two streams: a large copy with a short kernel, and a small copy with a long kernel. A copy engine takes copies
//! in the order of the calls, whatever their streams. So the order in which a program asks decides what overlaps: let the
//! long kernel run while the large copy does.
//!
//! ```text
//! large |   HHHHHHHHHHHHHHHHK
//! small |HHKKKKKKKKKKKKKKKKK
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};

kernels! { use gpu_kernels::{affine_rounds, affine_rounds_x4}; }

const LARGE: usize = 1 << 21;
const SMALL: usize = 1 << 11;
const THREADS: u32 = 256;
const LONG: u32 = 1 << 17;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let [large, small] = stream::non_blocking_named(["large", "small"])?;
    let mut memory = LockedBuffer::new(&0f32, LARGE + SMALL)?;
    labs::fill(&mut memory, 0);
    // SAFETY: the copies fill it before the kernels read it.
    let data = unsafe { DeviceBuffer::<f32>::uninitialized(LARGE + SMALL)? };
    let (mut large_data, mut small_data) = (data.index(..LARGE), data.index(LARGE..));
    let [few, many] = [SMALL, LARGE / 4].map(|threads| threads as u32 / THREADS);

    // SAFETY: the host waits for both streams before any of this memory is freed.
    unsafe {
        // TODO: the same six operations in an order that lets the long kernel begin early.
        large_data.async_copy_from(&memory[..LARGE], &large)?;
        launch!(kernels.affine_rounds_x4<<<many, THREADS, 0, large>>>(&mut large_data, 1.0, 0.125, 1))?;

        small_data.async_copy_from(&memory[LARGE..], &small)?;
        launch!(kernels.affine_rounds<<<few, THREADS, 0, small>>>(&mut small_data, 1.0, 0.125, LONG))?;

        large_data.async_copy_to(&mut memory[..LARGE], &large)?;
        small_data.async_copy_to(&mut memory[LARGE..], &small)?;
    }
    large.synchronize()?;
    small.synchronize()?;
    labs::hand_in(&memory)
}
