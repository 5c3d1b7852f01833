//! How do two GPUs work on one chain of stages at the same time? Every operation in sight, on cust and cuda-host.
//!
//! Each batch passes stage 0 on GPU 0, goes to GPU 1 in a peer copy, and passes stage 1 there. An event of one GPU may be waited for
//! in a stream of the other, so the host need not wait. What arrives has two slots, and stage 1 gives each of them back:
//!
//! ```text
//! GPU 0 |SSSScssssCSSSScssssC      |      S: stage 0   c: copy to GPU 1
//! GPU 1 |     SSSS ssss SSSS ssss  |      S: stage 1
//! ```
//!
//! cargo run -p distributed_streams --bin raw_gpus       (CUDA_DRIVER=nvidia or software chooses the devices)

use anyhow::{Result, ensure};
use cuda_host::{StreamExt, peer}; // cust has no peer copies, and its `wait_event` takes the event by value
use cust::context::{Context, CurrentContext};
use cust::device::Device;
use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer, LockedBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use gpu_kernels::{CONSUMERS as THREADS, FACTOR, SUMMAND};

const BATCHES: usize = 8;
const BATCH: usize = 1 << 17; // elements: 512 KiB
const SLOTS: usize = 2;
const BLOCKS: u32 = 4; // a small kernel takes its time
const ROUNDS: u32 = 128; // multiply-adds of a stage

fn main() -> Result<()> {
    libcuda::software::use_count(2); // if they are software GPUs
    cust::init(cust::CudaFlags::empty())?; //                            cuInit
    let count = Device::num_devices()?; //                               cuDeviceGetCount
    if count < 2 {
        eprintln!("error: this program needs 2 GPUs, and {count} can be used");
        std::process::exit(3);
    }
    let devices = [Device::get_device(0)?, Device::get_device(1)?]; //   cuDeviceGet
    let gpus = [Context::new(devices[0])?, Context::new(devices[1])?]; // cuDevicePrimaryCtxRetain
    for (own, other) in [(0, 1), (1, 0)] {
        CurrentContext::set_current(&gpus[own])?; //                     cuCtxSetCurrent
        if peer::can_access(devices[own], devices[other])? {
            //          cuDeviceCanAccessPeer
            peer::enable_access(&gpus[other])?; //                       cuCtxEnablePeerAccess; without, copies pass the host
        }
    }
    let mut output = LockedBuffer::new(&0f32, BATCHES * BATCH)?; //      cuMemAllocHost
    for (index, x) in output.iter_mut().enumerate() {
        *x = (index % 1000) as f32;
    }
    let round = |x: f32, _| x.mul_add(FACTOR, SUMMAND);
    let results: Vec<f32> = (0..1000).map(|x| (0..2 * ROUNDS).fold(x as f32, round)).collect();

    CurrentContext::set_current(&gpus[0])?;
    let module_0 = Module::from_ptx(gpu_kernels::SM_70, &[])?; //        cuModuleLoadDataEx
    let stage_0 = module_0.get_function("fma_tiles_unspecialised")?; //  cuModuleGetFunction
    let stream_0 = Stream::new(StreamFlags::DEFAULT, None)?; //          cuStreamCreateWithPriority
    let input = DeviceBuffer::from_slice(&output)?; //                   cuMemAlloc, cuMemcpyHtoD
    let product = DeviceBuffer::<f32>::zeroed(BATCH)?;
    let sent = [Event::new(EventFlags::DISABLE_TIMING)?, Event::new(EventFlags::DISABLE_TIMING)?]; // cuEventCreate
    let (start, end) = (Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?);

    CurrentContext::set_current(&gpus[1])?;
    let module_1 = Module::from_ptx(gpu_kernels::SM_70, &[])?;
    let stage_1 = module_1.get_function("fma_tiles_unspecialised")?;
    let stream_1 = Stream::new(StreamFlags::DEFAULT, None)?;
    let mut arrived = [DeviceBuffer::<f32>::zeroed(BATCH)?, DeviceBuffer::zeroed(BATCH)?];
    let mut result = DeviceBuffer::<f32>::zeroed(BATCHES * BATCH)?;
    let used = [Event::new(EventFlags::DISABLE_TIMING)?, Event::new(EventFlags::DISABLE_TIMING)?];

    for (name, host_waits) in [("warm-up", false), ("host waits", true), ("events", false)] {
        CurrentContext::set_current(&gpus[1])?;
        result.set_8(0xFF)?; //                                          cuMemsetD8: no number
        CurrentContext::synchronize()?; //                               cuCtxSynchronize
        CurrentContext::set_current(&gpus[0])?;
        start.record(&stream_0)?; //                                     cuEventRecord
        for batch in 0..BATCHES {
            let (slot, first) = (batch % SLOTS, batch * BATCH);
            let (given, made) = (input.index(first..).as_device_ptr(), product.as_device_ptr());
            let (come, out) =
                (arrived[slot].as_device_ptr(), result.index(first..).as_device_ptr());
            // SAFETY: these are the kernel's parameters; events order all uses of a slot, and all memory lives until `end`.
            unsafe {
                CurrentContext::set_current(&gpus[0])?;
                launch!(stage_0<<<BLOCKS, THREADS, 0, stream_0>>>(given, BATCH, made, ROUNDS))?; // cuLaunchKernel
                stream_0.wait(&used[slot])?; //                          cuStreamWaitEvent: stage 1 has used what was there
                peer::copy_async((&mut arrived[slot], &gpus[1]), (&product, &gpus[0]), &stream_0)?; // cuMemcpyPeerAsync
                sent[slot].record(&stream_0)?;
                if host_waits {
                    stream_0.synchronize()?; //                          cuStreamSynchronize
                }
                CurrentContext::set_current(&gpus[1])?;
                stream_1.wait(&sent[slot])?;
                launch!(stage_1<<<BLOCKS, THREADS, 0, stream_1>>>(come, BATCH, out, ROUNDS))?;
                used[slot].record(&stream_1)?;
                if host_waits {
                    stream_1.synchronize()?;
                }
            }
        }
        CurrentContext::set_current(&gpus[0])?;
        stream_0.wait(&used[(BATCHES - 1) % SLOTS])?; // the join: both times are of GPU 0
        end.record(&stream_0)?;
        end.synchronize()?; //                                           cuEventSynchronize
        CurrentContext::set_current(&gpus[1])?;
        result.copy_to(&mut output[..])?; //                             cuMemcpyDtoH

        for (index, x) in output.iter().enumerate() {
            let expected = results[index % 1000];
            ensure!(*x == expected, "{name}: element {index} is {x}, not {expected}");
        }
        println!("{name:10}  {:6.3} ms", end.elapsed_time_f32(&start)?); // cuEventElapsedTime
    }
    Ok(())
}
