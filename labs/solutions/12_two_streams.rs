//! Sixteen chunks go in, through a kernel, and out again. In one stream they take turns; a GPU with two copy engines can copy
//! in while it copies out. Chunks are independent: let two streams take them in turn, each with a buffer of its own.
//! No event is needed, because all operations on a chunk are in one stream.
//!
//! ```text
//! stream 0 |HHHKDDDHHHKDDDHHHKDDD
//! stream 1 |   HHHKDDDHHHKDDDHHHKDDD
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};

kernels! { use gpu_kernels::affine_rounds_x4; }

const CHUNKS: usize = 16;
const CHUNK: usize = 1 << 18; // elements: 1 MiB
const THREADS: u32 = 256;
const BLOCKS: u32 = CHUNK as u32 / 4 / THREADS;
const ROUNDS: u32 = 16;
const STREAMS: usize = 2;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let streams = stream::non_blocking_numbered(STREAMS)?;
    let mut input = LockedBuffer::new(&0f32, CHUNKS * CHUNK)?;
    let mut output = LockedBuffer::new(&0f32, CHUNKS * CHUNK)?;
    labs::fill(&mut input, 0);
    let mut buffers = Vec::new();
    for _ in 0..STREAMS {
        // SAFETY: each chunk is copied there before the kernel reads it.
        buffers.push(unsafe { DeviceBuffer::<f32>::uninitialized(CHUNK)? });
    }

    for chunk in 0..CHUNKS {
        let (stream, data) = (&streams[chunk % STREAMS], &mut buffers[chunk % STREAMS]);
        let elements = chunk * CHUNK..(chunk + 1) * CHUNK;
        // SAFETY: the host waits for all streams before any of this memory is freed.
        unsafe {
            data.async_copy_from(&input[elements.clone()], stream)?;
            launch!(kernels.affine_rounds_x4<<<BLOCKS, THREADS, 0, stream>>>(&mut *data, 1.0, 0.125, ROUNDS))?;
            data.async_copy_to(&mut output[elements], stream)?;
        }
    }
    for stream in &streams {
        stream.synchronize()?;
    }
    labs::hand_in(&output)
}
