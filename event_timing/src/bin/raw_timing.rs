//! How long does the work take? Six ways to ask, three of them wrong. Every operation in sight, on cust and cuda-host.
//!
//! Two kernels run at the same time, one for 1 ms and one for 0.2 ms: the work takes 1 ms. An event marks a place in its
//! stream, so two events time what lies between them *in that stream*; the host's clock times what the host does:
//!
//! ```text
//! long   |  KKKKKKKKKKKKKKKKKKKKKKKKj   |     s, e: start and end
//! short  |s KKKKK                   w  e|     j: recorded behind the long kernel; w: a wait for it, the join
//! other  |se                            |
//! ```
//!
//! cargo run -p event_timing --bin raw_timing       (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cust::context::CurrentContext;
use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use libcuda::host; // the cu* symbols, and the host's clock; the software GPU's host is modelled, too

const LONG: u64 = 1_000_000; // ns, by the GPU's timer
const SHORT: u64 = 200_000;

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                              cuInit, cuDevicePrimaryCtxRetain
    let module = Module::from_ptx(gpu_kernels::SM_70, &[])?; //         cuModuleLoadDataEx
    let spin = module.get_function("spin")?; //                         cuModuleGetFunction: waits, then stores 0
    let done = DeviceBuffer::from_slice(&[u32::MAX; 2])?; //            cuMemAlloc, cuMemcpyHtoD
    let long = Stream::new(StreamFlags::DEFAULT, None)?; //             cuStreamCreateWithPriority
    let short = Stream::new(StreamFlags::DEFAULT, None)?;
    let other = Stream::new(StreamFlags::DEFAULT, None)?;
    let start = Event::new(EventFlags::DEFAULT)?; //                    cuEventCreate
    let end = Event::new(EventFlags::DEFAULT)?;

    let both_kernels = || -> Result<()> {
        let (of_long, of_short) = (done.as_device_ptr(), done.index(1..).as_device_ptr());
        // SAFETY: these are the kernel's parameters, and each launch has an element of its own.
        unsafe { launch!(spin<<<1, 32, 0, long>>>(LONG, of_long))? }; // cuLaunchKernel
        // SAFETY: as above.
        unsafe { launch!(spin<<<1, 32, 0, short>>>(SHORT, of_short))? };
        Ok(())
    };
    // Waits for the work, checks that it was done, and forgets it.
    let print = |name: &str, ms: f32| -> Result<()> {
        CurrentContext::synchronize()?; //                              cuCtxSynchronize
        ensure!(done.as_host_vec()? == [0, 0], "{name}: a kernel did not run");
        println!("{name:35}  {ms:6.3} ms");
        Ok(done.index(..).copy_from(&[u32::MAX; 2])?) //                cuMemcpyHtoD
    };
    let begin = host::now();
    both_kernels()?;
    print("warm-up", (host::now() - begin).as_secs_f32() * 1e3)?;

    // Wrong: nothing lies between the two events in their stream.
    start.record(&other)?; //                                           cuEventRecord
    both_kernels()?;
    end.record(&other)?;
    end.synchronize()?; //                                              cuEventSynchronize
    print("events in another stream", end.elapsed_time_f32(&start)?)?; // cuEventElapsedTime

    // Wrong: the end is recorded behind one of the kernels.
    start.record(&short)?;
    both_kernels()?;
    end.record(&short)?;
    end.synchronize()?;
    print("events, no join", end.elapsed_time_f32(&start)?)?;

    // Right: the end is recorded behind the join.
    start.record(&short)?;
    both_kernels()?;
    let joined = Event::new(EventFlags::DISABLE_TIMING)?;
    joined.record(&long)?;
    short.wait_event(joined, StreamWaitEventFlags::DEFAULT)?; //        cuStreamWaitEvent
    end.record(&short)?;
    end.synchronize()?;
    print("events, the end behind the join", end.elapsed_time_f32(&start)?)?;

    // Wrong: the calls return at once.
    let begin = host::now();
    both_kernels()?;
    print("host clock", (host::now() - begin).as_secs_f32() * 1e3)?;

    // Right: the work, and the way there and back.
    let begin = host::now();
    both_kernels()?;
    long.synchronize()?; //                                             cuStreamSynchronize
    short.synchronize()?;
    print("host clock, and a wait", (host::now() - begin).as_secs_f32() * 1e3)
}
