//! Can a kernel that is running take more work? Every operation in sight, on cust and cuda-host.
//!
//! The host writes bursts of eight requests into page-locked memory, and a kernel writes the answers there. Each side counts in a
//! word that the other one polls:
//!
//! ```text
//! launches    host |w L.......w L.......w L|    w: writes requests and counts them   L: launches, and waits
//!             GPU  |    K         K        |    K: answers requests, and counts them
//! one kernel  host |w L.....w.....w.....w..|    a single launch; then the host polls the kernel's count
//!             GPU  |    K ppp Kppp Kppp K p|    p: polls the host's count
//! ```
//!
//! The kernel gives up after `PATIENCE` polls that found nothing; then the host launches it again. On a GPU one launch serves all
//! bursts. The software GPU runs a kernel at its start, where it sees one burst.
//!
//! cargo run -p persistent_kernel --bin raw_queue       (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cuda_host::mapped::{SharedCount, device_pointer}; // cust has neither
use cuda_host::{StreamExt, kernels, launch};
use cust::event::{Event, EventFlags};
use cust::memory::LockedBuffer;
use cust::stream::{Stream, StreamFlags};

kernels! { use gpu_kernels::serve_queue; }

const BURSTS: u32 = 32;
const SLOTS: u32 = 8; // requests of a burst; a power of two
const THREADS: u32 = 256; // of the only block: elements of a request
const PATIENCE: u32 = 64; // polls of about a microsecond each
const ELEMENTS: usize = (SLOTS * THREADS) as usize;

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                            cuInit, cuDevicePrimaryCtxRetain
    let kernels = Kernels::load(gpu_kernels::SM_70)?; //              cuModuleLoadDataEx, cuModuleGetFunction
    let stream = Stream::new(StreamFlags::DEFAULT, None)?; //         cuStreamCreateWithPriority
    let mut requests = LockedBuffer::new(&0f32, ELEMENTS)?; //        cuMemAllocHost: page-locked and mapped
    let mut answers = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut published = SharedCount::new()?;
    let mut answered = SharedCount::new()?;
    let request_address = device_pointer(&mut requests)?; //          cuMemHostGetDevicePointer
    let answer_address = device_pointer(&mut answers)?;
    let (published_address, answered_address) =
        (published.device_pointer()?, answered.device_pointer()?);
    let serve = |first: u32, last: u32, patience: u32| {
        // SAFETY: the memory lives until the end of the program, and the counts order its uses.
        unsafe {
            launch!(kernels.serve_queue<<<1, THREADS, 0, stream>>>(request_address, answer_address,
                published_address, answered_address, SLOTS, first, last, patience)) // cuLaunchKernel
        }
    };

    for measured in [false, true] {
        for one_kernel in [false, true] {
            let mut launches = 0;
            published.release(0);
            answered.release(0);
            let start = Event::new(EventFlags::DEFAULT)?; //          cuEventCreate
            let end = Event::new(EventFlags::DEFAULT)?;
            start.record(&stream)?; //                                cuEventRecord
            for burst in 0..BURSTS {
                let (first, next) = (burst * SLOTS, (burst + 1) * SLOTS);
                requests.fill(burst as f32);
                published.release(next); // a kernel that sees it sees the requests
                if one_kernel {
                    while answered.acquire() != next {
                        // There is no kernel yet, or it has given up; it may have answered just before.
                        if stream.is_idle()? && answered.acquire() != next {
                            // cuStreamQuery
                            serve(first, BURSTS * SLOTS, PATIENCE)?;
                            launches += 1;
                        }
                    }
                } else {
                    serve(first, next, 1)?;
                    launches += 1;
                    stream.synchronize()?; //                         cuStreamSynchronize
                }
                let expected = 2.0 * burst as f32 + 1.0;
                ensure!(answers.iter().all(|&answer| answer == expected), "burst {burst}");
            }
            end.record(&stream)?;
            end.synchronize()?; //                                    cuEventSynchronize
            if measured {
                let us = end.elapsed_time_f32(&start)? * 1e3; //      cuEventElapsedTime
                let name = if one_kernel { "one kernel" } else { "launches" };
                println!("{name:10}  {:7.2} µs a burst, {launches} launches", us / BURSTS as f32);
            }
        }
    }
    Ok(())
}
