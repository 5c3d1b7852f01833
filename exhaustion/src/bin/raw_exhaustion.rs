//! What happens when a GPU runs out of something? Plain cust, every operation in sight.
//!
//! Eight streams, a kernel in each, of one block for each multiprocessor. Streams allow the kernels to run at the same time; they do
//! if their blocks find room beside each other. If n blocks fit on a multiprocessor, eight kernels take the time of 8 / n:
//!
//! ```text
//! all fit  1 |KKKK            |      two fit  1 |KKKK            |
//!          2 |KKKK            |               2 |KKKK            |
//!          3 |KKKK            |               3 |    KKKK        |
//! ```
//!
//! A request that cannot be met is another matter: the call refuses it, and the context works on.
//!
//! cargo run -p exhaustion --bin raw_exhaustion       (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cust::context::CurrentContext;
use cust::device::DeviceAttribute::MultiprocessorCount;
use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::{DeviceBuffer, DevicePointer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use libcuda as _; // the cu* symbols: NVIDIA's driver if there is one, else the software GPU

const STREAMS: usize = 8;
const HELD_NS: u64 = 200_000; // a block holds its place for 0.2 ms, by the GPU's timer

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                                      cuInit, cuDevicePrimaryCtxRetain
    let module = Module::from_ptx(gpu_kernels::SM_70, &[])?; //                 cuModuleLoadDataEx
    let hold = module.get_function("hold")?; //                                 cuModuleGetFunction
    let device = CurrentContext::get_device()?;
    let blocks = device.get_attribute(MultiprocessorCount)? as u32; //          cuDeviceGetAttribute
    let len = STREAMS * blocks as usize;
    let too_much = device.total_memory()? / 4 + 1; //                           cuDeviceTotalMem
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        streams.push(Stream::new(StreamFlags::DEFAULT, None)?); //              cuStreamCreateWithPriority
    }

    for (name, threads, shared_bytes) in [
        ("warm-up", 64, 0),
        ("64 threads", 64, 0),
        ("1024 threads", 1024, 0),
        ("48 KiB of shared memory", 64, 48 << 10),
    ] {
        // Two requests that cannot be met: the calls refuse them, and what follows works.
        let (stream, none) = (&streams[0], DevicePointer::<u32>::null());
        // SAFETY: nothing is allocated.
        let memory = unsafe { DeviceBuffer::<u32>::uninitialized(too_much) }; // cuMemAlloc
        // SAFETY: nothing is launched.
        let launched = unsafe { launch!(hold<<<1, 2048, 0, stream>>>(HELD_NS, none)) };
        ensure!(memory.is_err() && launched.is_err(), "a request that cannot be met was met");

        let stored = DeviceBuffer::from_slice(&vec![u32::MAX; len])?; //        cuMemAlloc, cuMemcpyHtoD
        let start = Event::new(EventFlags::DEFAULT)?; //                        cuEventCreate
        let end = Event::new(EventFlags::DEFAULT)?;
        start.record(&streams[0])?; //                                          cuEventRecord
        for (number, stream) in streams.iter().enumerate() {
            let place = stored.index(number * blocks as usize..).as_device_ptr();
            // SAFETY: these are the kernel's parameters, and each block has an element.
            unsafe { launch!(hold<<<blocks, threads, shared_bytes, stream>>>(HELD_NS, place))? }; // cuLaunchKernel
        }
        for stream in &streams[1..] {
            let ended = Event::new(EventFlags::DISABLE_TIMING)?;
            ended.record(stream)?;
            streams[0].wait_event(ended, StreamWaitEventFlags::DEFAULT)?; //    cuStreamWaitEvent: the join
        }
        end.record(&streams[0])?;
        end.synchronize()?; //                                                  cuEventSynchronize

        for (index, x) in stored.as_host_vec()?.into_iter().enumerate() {
            ensure!(x as usize == index % blocks as usize, "{name}: element {index} is {x}");
        }
        let fit =
            hold.max_active_blocks_per_multiprocessor(threads.into(), shared_bytes as usize)?;
        let ms = end.elapsed_time_f32(&start)?; //                              cuEventElapsedTime
        println!("{name:23}  {fit:2} blocks fit, {STREAMS} kernels take {ms:6.3} ms");
    }
    Ok(())
}
