//! Four jobs, a stream for each, and yet they run one after the other: behind each job something goes to the legacy default
//! stream, which waits for all blocking streams, and they for it. `Stream::new` of cust makes blocking streams whatever its
//! flags say. Make the jobs independent of the default stream; the marks stay where they are.
//!
//! ```text
//! blocking      job 0 |KKKKK              non-blocking  job 0  |KKKKK
//!               legacy|     K                           job 1  |KKKKK
//!               job 1 |      KKKKK                      legacy |KKKK
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::context::CurrentContext;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};

kernels! { use gpu_kernels::{affine_rounds_x4, fill}; }

const JOBS: usize = 4;
const ELEMENTS: usize = 8192; // of a job: 8 blocks, a small part of the GPU
const THREADS: u32 = 256;
const BLOCKS: u32 = ELEMENTS as u32 / 4 / THREADS;
const ROUNDS: u32 = 16384;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let mut result = vec![0f32; JOBS * ELEMENTS];
    labs::fill(&mut result, 0);
    let data = DeviceBuffer::from_slice(&result)?;
    let marks = DeviceBuffer::from_slice(&[0f32; JOBS])?;
    CurrentContext::synchronize()?;

    let mut streams = Vec::new();
    for job in 0..JOBS {
        // TODO: streams that the legacy default stream does not wait for, nor they for it: see `cuda_host::stream`.
        streams.push(Stream::new(StreamFlags::NON_BLOCKING, None)?.named(&format!("job {job}")));
    }
    let legacy = stream::legacy();
    for (job, stream) in streams.iter().enumerate() {
        let mut part = data.index(job * ELEMENTS..(job + 1) * ELEMENTS);
        let mut mark = marks.index(job..job + 1);
        // SAFETY: the buffers outlive the kernels, and each job has its own part.
        unsafe {
            launch!(kernels.affine_rounds_x4<<<BLOCKS, THREADS, 0, stream>>>(&mut part, 1.0, 0.125, ROUNDS))?;
            launch!(kernels.fill<<<1, 32, 0, legacy>>>(&mut mark, 1.0))?; // "job started"
        }
    }
    CurrentContext::synchronize()?;
    data.copy_to(&mut result)?;
    labs::hand_in(&result)
}
