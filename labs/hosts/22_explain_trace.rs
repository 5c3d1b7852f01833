//! The run that lab 22 asks about. It has three mistakes; the questions lead to them.

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};

kernels! { use gpu_kernels::affine_rounds_x4; }

const CHUNKS: usize = 4;
const CHUNK: usize = 1 << 18;
const THREADS: u32 = 256;
const BLOCKS: u32 = CHUNK as u32 / 4 / THREADS;
const ROUNDS: u32 = 512;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let [upload, compute, download] =
        stream::non_blocking_named(["upload", "compute", "download"])?;
    let mut output = LockedBuffer::new(&0f32, CHUNKS * CHUNK)?;
    let mut pinned = LockedBuffer::new(&0f32, CHUNKS * CHUNK)?;
    labs::fill(&mut pinned, 0);
    let pageable = pinned.to_vec();

    let mut buffers = Vec::new();
    for chunk in 0..CHUNKS {
        let (filled, computed) =
            (Event::new(EventFlags::DISABLE_TIMING)?, Event::new(EventFlags::DISABLE_TIMING)?);
        let elements = chunk * CHUNK..(chunk + 1) * CHUNK;
        // SAFETY: the host waits for all streams before any of this memory is freed.
        unsafe {
            let mut data = DeviceBuffer::<f32>::uninitialized(CHUNK)?;
            match chunk {
                2 => data.async_copy_from(&pageable[elements.clone()], &upload)?,
                _ => data.async_copy_from(&pinned[elements.clone()], &upload)?,
            }
            filled.record(&upload)?;
            compute.wait(&filled)?;
            launch!(kernels.affine_rounds_x4<<<BLOCKS, THREADS, 0, compute>>>(&mut data, 1.0, 0.125, ROUNDS))?;
            computed.record(&compute)?;
            let out = if chunk == 3 { &compute } else { &download };
            out.wait(&computed)?;
            data.async_copy_to(&mut output[elements], out)?;
            buffers.push(data);
        }
        if chunk == 1 {
            download.synchronize()?;
        }
    }
    for stream in [&upload, &compute, &download] {
        stream.synchronize()?;
    }
    labs::hand_in(&output)
}
