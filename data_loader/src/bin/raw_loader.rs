//! How far ahead must the CPU load batches, so that the GPU does not wait? Every operation in sight, on cust and cuda-host.
//!
//! The host fills a ring of page-locked buffers; each batch is copied in and worked on. A ring of one buffer has no batch ahead:
//! the host waits for the kernel before it loads the next. With two more, one batch loads while one is copied and one is worked on:
//!
//! ```text
//! none ahead  load   |LLLL        LLLL            2 ahead  load   |LLLLllllLLLLllllLLLL
//!             copy   |    HH          HH                   copy   |    HH  hh  HH  hh
//!             kernel |      KKKKK       K                  kernel |      KKKKKkkkkkKKKKKkk
//! ```
//!
//! cargo run -p data_loader --bin raw_loader       (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cuda_host::StreamExt; // `wait`: cust's `wait_event` takes the event by value, and these are recorded again and again
use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use gpu_kernels::{CONSUMERS as THREADS, FACTOR, SUMMAND};
use libcuda::host; // the host's clock and work; the software GPU's host is modelled, too

const BATCHES: usize = 12;
const BATCH: usize = 1 << 18; // elements: 1 MiB
const BLOCKS: u32 = 1; // a small kernel takes its time
const ROUNDS: u32 = 8; // multiply-adds of each element

/// A buffer of the ring, its batch on the device, and events for the end of the copy and of the kernel.
struct Slot {
    loaded: LockedBuffer<f32>,
    batch: DeviceBuffer<f32>,
    copied: Event,
    used: Event,
}

impl Slot {
    fn new() -> Result<Self> {
        Ok(Self {
            loaded: LockedBuffer::new(&0f32, BATCH)?, //                    cuMemAllocHost
            batch: DeviceBuffer::zeroed(BATCH)?, //                         cuMemAlloc, cuMemsetD8
            copied: Event::new(EventFlags::DISABLE_TIMING)?, //             cuEventCreate
            used: Event::new(EventFlags::DISABLE_TIMING)?,
        })
    }
}

/// What stands for reading and decoding a batch.
fn load(number: usize, buffer: &mut [f32]) {
    host::memory_work(size_of_val(buffer) as u64, || {
        for (index, x) in buffer.iter_mut().enumerate() {
            *x = (index % 1000 + number) as f32;
        }
    });
}

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                                  cuInit, cuDevicePrimaryCtxRetain
    let module = Module::from_ptx(gpu_kernels::SM_70, &[])?; //             cuModuleLoadDataEx
    let fma = module.get_function("fma_tiles_unspecialised")?; //           cuModuleGetFunction
    let copy = Stream::new(StreamFlags::DEFAULT, None)?; //                 cuStreamCreateWithPriority
    let compute = Stream::new(StreamFlags::DEFAULT, None)?;
    let results = DeviceBuffer::<f32>::zeroed(BATCHES * BATCH)?;
    let round = |x: f32, _| x.mul_add(FACTOR, SUMMAND);
    let expected: Vec<f32> =
        (0..1000 + BATCHES).map(|x| (0..ROUNDS).fold(x as f32, round)).collect();
    let start = Event::new(EventFlags::DEFAULT)?;
    let end = Event::new(EventFlags::DEFAULT)?;

    for (name, ahead) in
        [("warm-up", 2), ("none ahead", 0), ("1 ahead", 1), ("2 ahead", 2), ("4 ahead", 4)]
    {
        let mut ring = (0..=ahead).map(|_| Slot::new()).collect::<Result<Vec<_>>>()?;
        let mut loading = std::time::Duration::ZERO;
        start.record(&copy)?; //                                            cuEventRecord
        for number in 0..BATCHES {
            let Slot { loaded, batch, copied, used } = &mut ring[number % (ahead + 1)];
            used.synchronize()?; //                                         cuEventSynchronize: the slot is free again
            let begin = host::now();
            load(number, loaded);
            loading += host::now() - begin;

            // SAFETY: all memory lives until `end`, and `used` keeps the slot from the next batch.
            unsafe { batch.async_copy_from(&loaded[..], &copy)? }; //       cuMemcpyHtoDAsync
            copied.record(&copy)?;

            compute.wait(copied)?; //                                       cuStreamWaitEvent
            let (x, y) = (batch.as_device_ptr(), results.index(number * BATCH..).as_device_ptr());
            // SAFETY: these are the kernel's parameters, and any grid covers all elements.
            unsafe { launch!(fma<<<BLOCKS, THREADS, 0, compute>>>(x, BATCH, y, ROUNDS))? }; // cuLaunchKernel
            used.record(&compute)?;
        }
        end.record(&compute)?;
        end.synchronize()?;

        for (index, x) in results.as_host_vec()?.into_iter().enumerate() {
            let expected = expected[index % BATCH % 1000 + index / BATCH];
            ensure!(x == expected, "{name}: element {index} is {x}, not {expected}");
        }
        let all = end.elapsed_time_f32(&start)?; //                         cuEventElapsedTime
        println!("{name:10}  {all:6.3} ms, of them loading {:6.3} ms", loading.as_secs_f32() * 1e3);
    }
    Ok(())
}
