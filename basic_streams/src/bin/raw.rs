//! Copies in, kernels and copies out at the same time: plain cust, no helper crate, every operation in sight.
//!
//! The data is cut into chunks. Each chunk is copied in, worked on, and copied out, in that order; different chunks have
//! nothing to do with each other. With a stream for each role, all three happen at once:
//!
//! ```text
//! copy in   |HHHHhhhhHHHHhhhh        |    an event makes a kernel wait for its chunk's copy in,
//! compute   |    K   k   K   k       |    a copy out for its kernel,
//! copy out  |     DDDDddddDDDDdddd   |    and the next copy into a buffer for the last copy out of it
//! ```
//!
//! cargo run -p basic_streams --bin raw                       (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use libcuda as _; // the cu* symbols: NVIDIA's driver if there is one, else the software GPU

const CHUNKS: usize = 8;
const CHUNK: usize = 1 << 19; // elements: 2 MiB
const BUFFERS: usize = 3; // one is filled while one is worked on and one is emptied
const THREADS: u32 = 256;
const BLOCKS: u32 = CHUNK as u32 / 4 / THREADS; // each thread works on four elements

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                                   cuInit, cuDevicePrimaryCtxRetain
    let module = Module::from_ptx(gpu_kernels::SM_70, &[])?; //              cuModuleLoadDataEx
    let affine = module.get_function("affine_x4")?; //                       cuModuleGetFunction: x = a x + b

    // Page-locked memory (cuMemAllocHost): only copies from and to such memory run while the host continues.
    let mut input = LockedBuffer::new(&0f32, CHUNKS * CHUNK)?;
    let mut output = LockedBuffer::new(&0f32, CHUNKS * CHUNK)?;
    for (index, x) in input.iter_mut().enumerate() {
        *x = (index % 1000) as f32;
    }
    let mut buffers = Vec::new();
    for _ in 0..BUFFERS {
        buffers.push(DeviceBuffer::<f32>::zeroed(CHUNK)?); //                cuMemAlloc, cuMemsetD8
    }

    // Blocking streams, the only ones that cust makes: they also come behind the memsets of the legacy stream above.
    let copy_in = Stream::new(StreamFlags::DEFAULT, None)?; //               cuStreamCreateWithPriority
    let compute = Stream::new(StreamFlags::DEFAULT, None)?;
    let copy_out = Stream::new(StreamFlags::DEFAULT, None)?;

    for (name, [copy_in, compute, copy_out]) in [
        ("warm-up", [&copy_in, &compute, &copy_out]),
        ("one stream", [&copy_in, &copy_in, &copy_in]),
        ("three streams", [&copy_in, &compute, &copy_out]),
    ] {
        output.fill(f32::NAN);
        let start = Event::new(EventFlags::DEFAULT)?; //                     cuEventCreate
        let end = Event::new(EventFlags::DEFAULT)?;
        let mut emptied: [Option<Event>; BUFFERS] = [const { None }; BUFFERS];

        start.record(copy_in)?; //                                           cuEventRecord
        for chunk in 0..CHUNKS {
            let data = &mut buffers[chunk % BUFFERS];
            let elements = chunk * CHUNK..(chunk + 1) * CHUNK;

            if let Some(event) = emptied[chunk % BUFFERS].take() {
                copy_in.wait_event(event, StreamWaitEventFlags::DEFAULT)?; // cuStreamWaitEvent
            }
            // SAFETY: input and output live until `end`, and the events order all uses of each buffer.
            unsafe { data.async_copy_from(&input[elements.clone()], copy_in)? }; // cuMemcpyHtoDAsync
            hand_over(copy_in, compute)?;

            let (x, n) = (data.as_device_ptr(), data.len());
            // SAFETY: these are the kernel's parameters, and the grid has a thread for every four elements.
            unsafe { launch!(affine<<<BLOCKS, THREADS, 0, compute>>>(x, n, 2f32, 1f32))? }; // cuLaunchKernel
            hand_over(compute, copy_out)?;

            // SAFETY: as for the copy in.
            unsafe { data.async_copy_to(&mut output[elements], copy_out)? }; // cuMemcpyDtoHAsync
            let event = Event::new(EventFlags::DISABLE_TIMING)?;
            event.record(copy_out)?;
            emptied[chunk % BUFFERS] = Some(event);
        }
        end.record(copy_out)?; // the last copy out comes last of all
        end.synchronize()?; //                                               cuEventSynchronize: the host waits here only

        for (index, x) in output.iter().enumerate() {
            let expected = (index % 1000) as f32 * 2.0 + 1.0;
            ensure!(*x == expected, "{name}: element {index} is {x}, not {expected}");
        }
        println!("{name:13}  {:6.3} ms", end.elapsed_time_f32(&start)?); //  cuEventElapsedTime
    }
    Ok(())
}

/// What is enqueued in `to` from now on waits for everything enqueued in `from` so far.
fn hand_over(from: &Stream, to: &Stream) -> Result<()> {
    let event = Event::new(EventFlags::DISABLE_TIMING)?;
    event.record(from)?; //                                                  cuEventRecord
    Ok(to.wait_event(event, StreamWaitEventFlags::DEFAULT)?) //              cuStreamWaitEvent
}
