//! What does a kernel read that does not wait for its copy? Plain cust, every operation in sight.
//!
//! Each batch is copied in, worked on and copied out, in three streams. Two events make every stream wait for the one before.
//! With the argument `racy` the first of them is left out, and the kernel works on what the memory held before:
//!
//! ```text
//! racy  copy in  |HHHHHHHH            fixed  copy in  |HHHHHHHHe
//!       compute  |KKKe                       compute  |        wKKKe
//!       copy out |   wDDDDDDDD               copy out |            wDDDDDDDD
//! ```
//!
//! On a GPU the racy program may be right, today. The software GPU computes the same wrong result in every run, and its
//! checker names both operations and the missing dependency.
//!
//! cargo run -p stream_hazards --bin raw_hazard            (CUDA_DRIVER=nvidia or software chooses the device)
//! cargo run -p stream_hazards --bin raw_hazard -- racy

use anyhow::{Result, ensure};
use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, LockedBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use libcuda as _; // the cu* symbols: NVIDIA's driver if there is one, else the software GPU

const BATCH: usize = 1 << 20; // elements: 4 MiB
const THREADS: u32 = 256;
const BLOCKS: u32 = BATCH as u32 / 4 / THREADS; // each thread works on four elements

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let racy = arguments == ["racy"];
    if !racy && !arguments.is_empty() {
        eprintln!("error: the one argument that is allowed is `racy`");
        std::process::exit(2);
    }
    let _context = cust::quick_init()?; //                              cuInit, cuDevicePrimaryCtxRetain
    let module = Module::from_ptx(gpu_kernels::SM_70, &[])?; //         cuModuleLoadDataEx
    let affine = module.get_function("affine_x4")?; //                  cuModuleGetFunction: x = a x + b
    let mut input = LockedBuffer::new(&0f32, BATCH)?; //                cuMemAllocHost
    let mut output = LockedBuffer::new(&0f32, BATCH)?;
    let mut data = DeviceBuffer::<f32>::zeroed(BATCH)?; //              cuMemAlloc, cuMemsetD8
    let copy_in = Stream::new(StreamFlags::DEFAULT, None)?; //          cuStreamCreateWithPriority
    let compute = Stream::new(StreamFlags::DEFAULT, None)?;
    let copy_out = Stream::new(StreamFlags::DEFAULT, None)?;

    for (batch, name) in ["warm-up", "a batch", "another batch"].into_iter().enumerate() {
        for (index, x) in input.iter_mut().enumerate() {
            *x = (index % 1000 + batch) as f32;
        }
        output.fill(f32::NAN);
        data.copy_from(&output[..])?; //                                cuMemcpyHtoD: no number
        let start = Event::new(EventFlags::DEFAULT)?; //                cuEventCreate
        let end = Event::new(EventFlags::DEFAULT)?;

        start.record(&copy_in)?; //                                     cuEventRecord
        // SAFETY: input, data and output live until `end`. Every bit pattern that the racy kernel can read is a number.
        unsafe { data.async_copy_from(&input[..], &copy_in)? }; //      cuMemcpyHtoDAsync
        if !racy {
            let copied = Event::new(EventFlags::DISABLE_TIMING)?;
            copied.record(&copy_in)?;
            compute.wait_event(copied, StreamWaitEventFlags::DEFAULT)?; // cuStreamWaitEvent
        }
        let (x, n) = (data.as_device_ptr(), data.len());
        // SAFETY: these are the kernel's parameters, and the grid has a thread for every four elements.
        unsafe { launch!(affine<<<BLOCKS, THREADS, 0, compute>>>(x, n, 2f32, 1f32))? }; // cuLaunchKernel
        let computed = Event::new(EventFlags::DISABLE_TIMING)?;
        computed.record(&compute)?;
        copy_out.wait_event(computed, StreamWaitEventFlags::DEFAULT)?;
        // SAFETY: as above.
        unsafe { data.async_copy_to(&mut output[..], &copy_out)? }; //  cuMemcpyDtoHAsync
        end.record(&copy_out)?;
        end.synchronize()?; //                                          cuEventSynchronize
        copy_in.synchronize()?; //                                      cuStreamSynchronize: `end` is not behind the racy copy

        let right = |(index, x): (usize, &f32)| *x == (index % 1000 + batch) as f32 * 2.0 + 1.0;
        let wrong = output.iter().enumerate().filter(|element| !right(*element)).count();
        println!("{name:13}  {:6.3} ms, {wrong} elements wrong", end.elapsed_time_f32(&start)?); // cuEventElapsedTime
        ensure!(wrong == 0, "{name}: {wrong} elements are wrong: a dependency is missing");
    }
    Ok(())
}
