//! The host's side of lab 23: it launches the student's kernel, whose PTX is in the file that `LAB_PTX` names.

use anyhow::{Context, Result};
use cuda_host::prelude::*;
use cust::launch;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};

const ELEMENTS: usize = 1_000_003; // no multiple of anything
const THREADS: u32 = 256;

fn main() -> Result<()> {
    let ptx = std::env::var("LAB_PTX")
        .context("LAB_PTX names no file: run this lab with `cargo lab run`")?;
    let ptx = std::fs::read_to_string(&ptx).context(ptx)?;
    let _context = cust::quick_init()?;
    let module = cuda_host::kernel::load_module(&ptx)?;
    let smooth = module.get_function("smooth")?;
    let work = stream::non_blocking()?.named("work");

    let mut memory = LockedBuffer::new(&0f32, ELEMENTS)?;
    labs::fill(&mut memory, 0);
    // SAFETY: the host waits for the stream before any of this memory is freed.
    unsafe {
        let mut x = DeviceBuffer::<f32>::uninitialized(ELEMENTS)?;
        let out = DeviceBuffer::<f32>::uninitialized(ELEMENTS)?;
        x.async_copy_from(&memory, &work)?;
        let blocks = (ELEMENTS as u32).div_ceil(THREADS);
        launch!(smooth<<<blocks, THREADS, 0, work>>>(x.as_device_ptr(), x.len(), out.as_device_ptr()))?;
        out.async_copy_to(&mut memory, &work)?;
        work.synchronize()?;
    }
    labs::hand_in(&memory)
}
