//! A stream for each role: copies in, kernels, copies out. Now a chunk passes from stream to stream, and its buffer is used
//! again three chunks later. The host keeps that order by waiting, and nothing overlaps. Let events keep it.
//!
//! ```text
//! copy in  |HHHhhhHHHhhh
//! compute  |   K  k  K  k               K waits for its H, D for its K,
//! copy out |    DDDdddDDDddd            H for the D that has emptied its buffer
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};

kernels! { use gpu_kernels::affine_rounds_x4; }

const CHUNKS: usize = 16;
const CHUNK: usize = 1 << 18; // elements: 1 MiB
const BUFFERS: usize = 3;
const THREADS: u32 = 256;
const BLOCKS: u32 = CHUNK as u32 / 4 / THREADS;
const ROUNDS: u32 = 16;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let [copy_in, compute, copy_out] =
        stream::non_blocking_named(["copy in", "compute", "copy out"])?;
    let mut input = LockedBuffer::new(&0f32, CHUNKS * CHUNK)?;
    let mut output = LockedBuffer::new(&0f32, CHUNKS * CHUNK)?;
    labs::fill(&mut input, 0);
    let mut buffers = Vec::new();
    for _ in 0..BUFFERS {
        // SAFETY: each chunk is copied there before the kernel reads it.
        buffers.push(unsafe { DeviceBuffer::<f32>::uninitialized(CHUNK)? });
    }

    for chunk in 0..CHUNKS {
        let slot = chunk % BUFFERS;
        let (data, elements) = (&mut buffers[slot], chunk * CHUNK..(chunk + 1) * CHUNK);
        // SAFETY: the host waits for the last copy out before any of this memory is freed.
        unsafe {
            data.async_copy_from(&input[elements.clone()], &copy_in)?;
            copy_in.synchronize()?; // TODO: three events a buffer instead of three waits of the host
            launch!(kernels.affine_rounds_x4<<<BLOCKS, THREADS, 0, compute>>>(&mut *data, 1.0, 0.125, ROUNDS))?;
            compute.synchronize()?;
            data.async_copy_to(&mut output[elements], &copy_out)?;
            copy_out.synchronize()?;
        }
    }
    labs::hand_in(&output)
}
