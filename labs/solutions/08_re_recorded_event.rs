//! Two streams make one half each, a third copies the whole out. Both halves are made by one function, which records the
//! event `made`; the third stream waits for it. Half of the result is wrong. An event keeps its last record only.
//!
//! ```text
//! left  |KKKKKKKKKKe
//! right |KKKKe
//! out   |          wwDDDDDDD
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, DeviceSlice, LockedBuffer};
use cust::stream::Stream;

kernels! { use gpu_kernels::affine_rounds_x4; }

const HALF: usize = 1 << 16;
const THREADS: u32 = 256;
const BLOCKS: u32 = HALF as u32 / 4 / THREADS;

/// Makes one half, and records that it is made.
fn make(
    kernels: &Kernels,
    half: &mut DeviceSlice<f32>,
    rounds: u32,
    made: &Event,
    stream: &Stream,
) -> Result<()> {
    // SAFETY: the caller waits for the stream before it frees the memory.
    unsafe {
        launch!(kernels.affine_rounds_x4<<<BLOCKS, THREADS, 0, stream>>>(half, 1.0, 0.125, rounds))?
    };
    Ok(made.record(stream)?)
}

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let [left, right, out] = stream::non_blocking_named(["left", "right", "out"])?;
    let made_left = Event::new(EventFlags::DISABLE_TIMING)?;
    let made_right = Event::new(EventFlags::DISABLE_TIMING)?;

    let mut output = LockedBuffer::new(&0f32, 2 * HALF)?;
    labs::fill(&mut output, 0);
    let data = DeviceBuffer::from_slice(&output)?;
    cust::context::CurrentContext::synchronize()?;

    let (mut first, mut second) = (data.index(..HALF), data.index(HALF..));
    make(&kernels, &mut first, 4096, &made_left, &left)?;
    make(&kernels, &mut second, 256, &made_right, &right)?;
    out.wait(&made_left)?;
    out.wait(&made_right)?;
    // SAFETY: the host waits for the copy before it frees the memory.
    unsafe { data.async_copy_to(&mut output, &out)? };
    out.synchronize()?;
    labs::hand_in(&output)
}
