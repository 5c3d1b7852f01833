//! What does it cost to allocate memory in each step of a loop? Every operation in sight, on cust and cuda-host.
//!
//! `cuMemAlloc` may ask the operating system for memory, and `cuMemFree` waits until no kernel uses it: the stream is idle
//! meanwhile. `cuMemAllocAsync` and `cuMemFreeAsync` are operations of the stream, and a pool serves them:
//!
//! ```text
//! cuMemAlloc       host   |alloc launch free.... alloc launch free.... |
//!                  stream |             KKKK                  KKKK     |
//! cuMemAllocAsync  host   |a launch f a launch f a launch f            |
//!                  stream |         KKKK KKKK KKKK                     |
//! ```
//!
//! cargo run -p stream_ordered_allocator --bin raw_pool       (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cuda_host::MemoryPool; // cust has no pools
use cust::context::CurrentContext;
use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};

const STEPS: usize = 50;
const SCRATCH: usize = 4 << 20; // elements of a step's memory: 16 MiB
const USED: usize = 1 << 16; // of them are used: this program is about allocating
const THREADS: u32 = 256;
const BLOCKS: u32 = USED as u32 / THREADS;

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                                          cuInit, cuDevicePrimaryCtxRetain
    let module = Module::from_ptx(gpu_kernels::SM_70, &[])?; //                     cuModuleLoadDataEx
    let fill = module.get_function("fill")?; //                                     cuModuleGetFunction: x = value
    let saxpy = module.get_function("saxpy")?; //                                   y = a x + y
    let default_pool = MemoryPool::default_of(CurrentContext::get_device()?)?; //   cuDeviceGetDefaultMemPool
    let stream = Stream::new(StreamFlags::DEFAULT, None)?; //                       cuStreamCreateWithPriority
    let sum = DeviceBuffer::<f32>::zeroed(USED)?; //                                cuMemAlloc, cuMemsetD8
    let kept = DeviceBuffer::<f32>::zeroed(SCRATCH)?;

    // What all steps do: each adds its number to every element of the sum.
    let work = |scratch: &DeviceBuffer<f32>, step: usize| -> Result<()> {
        let (x, y) = (scratch.as_device_ptr(), sum.as_device_ptr());
        // SAFETY: these are the kernels' parameters, and both buffers have USED elements or more.
        unsafe {
            launch!(fill<<<BLOCKS, THREADS, 0, stream>>>(x, USED, step as f32))?; // cuLaunchKernel
            launch!(saxpy<<<BLOCKS, THREADS, 0, stream>>>(1f32, x, USED, y))?;
        }
        Ok(())
    };
    let allocated_once = |step| work(&kept, step);
    let malloc = |step| -> Result<()> {
        // SAFETY: `fill` writes what is read.
        let scratch = unsafe { DeviceBuffer::uninitialized(SCRATCH)? }; //          cuMemAlloc
        work(&scratch, step)?;
        drop(scratch); //                                                           cuMemFree
        Ok(())
    };
    let pool = |step| -> Result<()> {
        // SAFETY: `fill` writes what is read; the stream orders the allocation, both kernels and the free.
        let scratch = unsafe { DeviceBuffer::uninitialized_async(SCRATCH, &stream)? }; // cuMemAllocAsync
        work(&scratch, step)?;
        Ok(scratch.drop_async(&stream)?) //                                         cuMemFreeAsync
    };
    let pool_and_wait = |step| -> Result<()> {
        pool(step)?;
        Ok(stream.synchronize()?) // now the pool returns what exceeds its release threshold
    };

    for (name, step, threshold) in [
        ("allocated once", &allocated_once as &dyn Fn(usize) -> Result<()>, 0),
        ("cuMemAlloc, cuMemFree", &malloc, 0),
        ("pool", &pool, u64::MAX),
        ("pool, threshold 0, and the host waits", &pool_and_wait, 0),
        ("pool, threshold max, and the host waits", &pool_and_wait, u64::MAX),
    ] {
        default_pool.set_release_threshold(threshold)?; //                          cuMemPoolSetAttribute
        for measured in [false, true] {
            let mut result = vec![0f32; USED];
            sum.index(..).copy_from(&result)?; //                                   cuMemcpyHtoD
            let start = Event::new(EventFlags::DEFAULT)?; //                        cuEventCreate
            let end = Event::new(EventFlags::DEFAULT)?;
            start.record(&stream)?; //                                              cuEventRecord
            (0..STEPS).try_for_each(step)?;
            end.record(&stream)?;
            end.synchronize()?; //                                                  cuEventSynchronize
            sum.copy_to(&mut result)?; //                                           cuMemcpyDtoH
            let expected = (STEPS * (STEPS - 1) / 2) as f32;
            for (index, x) in result.into_iter().enumerate() {
                ensure!(x == expected, "{name}: element {index} is {x}, not {expected}");
            }
            if measured {
                let us = end.elapsed_time_f32(&start)? * 1e3; //                    cuEventElapsedTime
                println!("{name:39}  {:6.2} µs a step", us / STEPS as f32);
            }
        }
    }
    Ok(())
}
