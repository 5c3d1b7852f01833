//! How do stages that depend on each other run at the same time? Every operation in sight, on cust and cuda-host.
//!
//! A producer kernel, a consumer kernel and a copy out take every chunk in this order; two slots of device memory are used
//! in turn. A slot has two dependencies forward, and two backward, which say that its memory may be written again:
//!
//! ```text
//! host waits  |P C D p c d P C D p c d        three streams  producer |PPPpppPPPppp
//!                                                            consumer |   CCCcccCCCccc
//!                                                            copy out |      DDDdddDDDddd
//! ```
//!
//! cargo run -p multi_stream_pipeline --bin raw_pipeline      (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cuda_host::StreamExt; // `wait`: cust's `wait_event` takes the event by value, and these are recorded again and again
use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use gpu_kernels::{CONSUMERS as THREADS, FACTOR, SUMMAND};

const CHUNKS: usize = 8;
const CHUNK: usize = 1 << 19; // elements: 2 MiB
const SLOTS: usize = 2;
const BLOCKS: u32 = 4; // few, so that kernels of two streams find room beside each other
const ROUNDS: u32 = 16; // multiply-adds of each kernel: it takes about as long as a copy

/// The buffers between the stages of a chunk, and the events that its streams wait for.
struct ChunkSlot {
    product: DeviceBuffer<f32>,
    result: DeviceBuffer<f32>,
    produced: Event,
    consumed: Event,
    copied_out: Event,
}

impl ChunkSlot {
    fn new() -> Result<Self> {
        Ok(Self {
            product: DeviceBuffer::zeroed(CHUNK)?, //                            cuMemAlloc, cuMemsetD8
            result: DeviceBuffer::zeroed(CHUNK)?,
            produced: Event::new(EventFlags::DISABLE_TIMING)?, //                cuEventCreate
            consumed: Event::new(EventFlags::DISABLE_TIMING)?,
            copied_out: Event::new(EventFlags::DISABLE_TIMING)?,
        })
    }
}

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                                       cuInit, cuDevicePrimaryCtxRetain
    let module = Module::from_ptx(gpu_kernels::SM_70, &[])?; //                  cuModuleLoadDataEx
    let fma = module.get_function("fma_tiles_unspecialised")?; //                cuModuleGetFunction
    let mut output = LockedBuffer::new(&0f32, CHUNKS * CHUNK)?; //               cuMemAllocHost
    for (index, x) in output.iter_mut().enumerate() {
        *x = (index % 1000) as f32;
    }
    let input = DeviceBuffer::from_slice(&output)?; //                           cuMemAlloc, cuMemcpyHtoD
    let mut slots = [ChunkSlot::new()?, ChunkSlot::new()?];
    let round = |x: f32| x.mul_add(FACTOR, SUMMAND);
    let results: Vec<f32> =
        (0..1000).map(|x| (0..2 * ROUNDS).fold(x as f32, |x, _| round(x))).collect();

    let producer = Stream::new(StreamFlags::DEFAULT, None)?; //                  cuStreamCreateWithPriority
    let consumer = Stream::new(StreamFlags::DEFAULT, None)?;
    let copy_out = Stream::new(StreamFlags::DEFAULT, None)?;

    for (name, [producer, consumer, copy_out], host_waits) in [
        ("warm-up", [&producer, &consumer, &copy_out], false),
        ("host waits", [&producer, &consumer, &copy_out], true),
        ("one stream", [&producer, &producer, &producer], false),
        ("three streams", [&producer, &consumer, &copy_out], false),
    ] {
        output.fill(f32::NAN);
        let start = Event::new(EventFlags::DEFAULT)?;
        let end = Event::new(EventFlags::DEFAULT)?;
        let stage_ends = |stream: &Stream| if host_waits { stream.synchronize() } else { Ok(()) };

        start.record(producer)?; //                                              cuEventRecord
        for chunk in 0..CHUNKS {
            let slot = &mut slots[chunk % SLOTS];
            let elements = chunk * CHUNK..(chunk + 1) * CHUNK;
            let x = input.index(elements.clone()).as_device_ptr();
            let (y, z) = (slot.product.as_device_ptr(), slot.result.as_device_ptr());

            producer.wait(&slot.consumed)?; // until its product has been consumed; without a record, for nothing
            // SAFETY: these are the kernel's parameters, any grid covers all tiles, and the memory lives until `end`.
            unsafe { launch!(fma<<<BLOCKS, THREADS, 0, producer>>>(x, CHUNK, y, ROUNDS))? }; // cuLaunchKernel
            slot.produced.record(producer)?;
            stage_ends(producer)?; //                                            cuStreamSynchronize, or nothing

            consumer.wait(&slot.produced)?; //                                   cuStreamWaitEvent
            consumer.wait(&slot.copied_out)?; // until its result has been copied out
            // SAFETY: as for the producer.
            unsafe { launch!(fma<<<BLOCKS, THREADS, 0, consumer>>>(y, CHUNK, z, ROUNDS))? };
            slot.consumed.record(consumer)?;
            stage_ends(consumer)?;

            copy_out.wait(&slot.consumed)?;
            // SAFETY: the output is read behind `end`, and events order all uses of the slot.
            unsafe { slot.result.async_copy_to(&mut output[elements], copy_out)? }; // cuMemcpyDtoHAsync
            slot.copied_out.record(copy_out)?;
            stage_ends(copy_out)?;
        }
        end.record(copy_out)?; // the last copy out comes last of all
        end.synchronize()?; //                                                   cuEventSynchronize

        for (index, x) in output.iter().enumerate() {
            let expected = results[index % 1000];
            ensure!(*x == expected, "{name}: element {index} is {x}, not {expected}");
        }
        println!("{name:13}  {:6.3} ms", end.elapsed_time_f32(&start)?); //      cuEventElapsedTime
    }
    Ok(())
}
