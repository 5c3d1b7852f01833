//! How many streams are best when the work changes while it runs? Plain cust, every operation in sight.
//!
//! Two mebibytes make a round trip through the device again and again, a chunk in each stream. Few large chunks cost the host few
//! calls; many small ones run their kernels at the same time. In the middle of the program the kernels become long:
//!
//! ```text
//! short kernels  4 streams |HHKDD      |     long kernels  4 streams |HHKKKKKKKKKKKKKKDD      |
//!                          |  HHKDD    |                             |  HHKKKKKKKKKKKKKKDD    |
//!                16 streams: a call, a call, a call ..   16 streams  |HKKKDHKKKDHKKKDHKKKD ..
//! ```
//!
//! A controller has events recorded around one copy and one kernel of each round, and decides on the next round with them.
//!
//! cargo run -p adaptive_streams --bin raw_adaptive       (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use libcuda as _; // the cu* symbols: NVIDIA's driver if there is one, else the software GPU

const ELEMENTS: usize = 1 << 19;
const ROUNDS: usize = 48;
const FEW: usize = 4;
const MANY: usize = 16;
const LONG: u32 = 32; // steps of a long kernel

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                                    cuInit, cuDevicePrimaryCtxRetain
    let module = Module::from_ptx(gpu_kernels::SM_70, &[])?; //               cuModuleLoadDataEx
    let affine = module.get_function("affine_strided_x4")?; //                cuModuleGetFunction: x = a x + b
    let mut host = LockedBuffer::new(&0f32, ELEMENTS)?; //                    cuMemAllocHost
    let device = DeviceBuffer::<f32>::zeroed(ELEMENTS)?; //                   cuMemAlloc, cuMemsetD8
    let mut streams = Vec::new();
    for _ in 0..MANY {
        streams.push(Stream::new(StreamFlags::DEFAULT, None)?); //            cuStreamCreateWithPriority
    }
    let start = Event::new(EventFlags::DEFAULT)?; //                          cuEventCreate
    let copied = Event::new(EventFlags::DEFAULT)?;
    let computed = Event::new(EventFlags::DEFAULT)?;
    let end = Event::new(EventFlags::DEFAULT)?;

    let all =
        [("warm-up", Some(MANY)), ("few", Some(FEW)), ("many", Some(MANY)), ("controller", None)];
    for (name, fixed) in all {
        for (index, x) in host.iter_mut().enumerate() {
            *x = (index % 1000) as f32;
        }
        let (mut count, mut many, mut ms) = (fixed.unwrap_or(FEW), 0, 0f32);
        for round in 0..ROUNDS {
            let is_long = round * 3 / ROUNDS == 1;
            let (blocks, threads, steps) = if is_long { (1, 32, LONG) } else { (8, 256, 1) };
            let (len, b) = (ELEMENTS / count, 1.0 / steps as f32); // a round adds 1 to each element
            start.record(&streams[0])?; //                                    cuEventRecord
            for (part, stream) in streams.iter().enumerate().take(count) {
                let chunk = part * len..(part + 1) * len;
                let mut data = device.index(chunk.clone());
                let x = data.as_device_ptr();
                // SAFETY: all memory lives until `end`, and a chunk is its stream's alone.
                unsafe { data.async_copy_from(&host[chunk.clone()], stream)? }; // cuMemcpyHtoDAsync
                if part == 0 {
                    copied.record(stream)?;
                }
                // SAFETY: these are the kernel's parameters, and any grid covers all elements.
                unsafe { launch!(affine<<<blocks, threads, 0, stream>>>(x, len, 1f32, b, steps))? }; // cuLaunchKernel
                if part == 0 {
                    computed.record(stream)?;
                }
                // SAFETY: as for the copy in.
                unsafe { data.async_copy_to(&mut host[chunk], stream)? }; //  cuMemcpyDtoHAsync
            }
            for stream in &streams[1..count] {
                let joined = Event::new(EventFlags::DISABLE_TIMING)?;
                joined.record(stream)?;
                streams[0].wait_event(joined, StreamWaitEventFlags::DEFAULT)?; // cuStreamWaitEvent
            }
            end.record(&streams[0])?;
            end.synchronize()?; //                                            cuEventSynchronize
            ms += end.elapsed_time_f32(&start)?; //                           cuEventElapsedTime
            many += usize::from(count == MANY);
            if fixed.is_none() {
                let copy = copied.elapsed_time_f32(&start)?;
                let kernel = computed.elapsed_time_f32(&copied)?;
                count = if kernel > 3.0 * copy { MANY } else { FEW }; // long kernels need others beside them
            }
        }

        for (index, x) in host.iter().enumerate() {
            let expected = (index % 1000 + ROUNDS) as f32;
            ensure!(*x == expected, "{name}: element {index} is {x}, not {expected}");
        }
        println!("{name:10}  {ms:6.3} ms, {many:2} of {ROUNDS} rounds on {MANY} streams");
    }
    Ok(())
}
