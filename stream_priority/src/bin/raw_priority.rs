//! How long does a small kernel wait while a large one runs? Every operation in sight, on cust and cuda-host.
//!
//! A grid of many blocks fills the GPU, and small kernels arrive meanwhile. When a block ends, its place goes to a block of the
//! stream with the greatest priority; among equals, to the grid that came first. No block is interrupted.
//!
//! ```text
//! equal     grid     |bbbbbbbbbbbbbbbbbbbbb  |        greatest  grid     |bbbbbbbbbbbbbbbbbbbbbbb|
//!           requests |    ------------->rrrr |                  requests |    r  r  r  r         |
//! ```
//!
//! cargo run -p stream_priority --bin raw_priority       (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cuda_host::stream; // cust's streams wait for the legacy stream; these do not
use cust::context::CurrentContext;
use cust::device::DeviceAttribute::{MaxThreadsPerMultiprocessor, MultiprocessorCount};
use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::DeviceBuffer;
use cust::module::Module;

const WAVES: u32 = 20; // the grid has 20 times as many blocks as find room
const BLOCK_NS: u64 = 20_000; // each of them takes 20 µs, by the GPU's timer
const REQUESTS: usize = 8;

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                                      cuInit, cuDevicePrimaryCtxRetain
    let module = Module::from_ptx(gpu_kernels::SM_70, &[])?; //                 cuModuleLoadDataEx
    let hold = module.get_function("hold")?; //                                 cuModuleGetFunction: holds its place
    let iota = module.get_function("iota")?; //                                 x = first, first + 1, ..
    let device = CurrentContext::get_device()?; //                              cuCtxGetDevice
    let multiprocessors = device.get_attribute(MultiprocessorCount)? as u32; // cuDeviceGetAttribute
    let threads = device.get_attribute(MaxThreadsPerMultiprocessor)? as u32 / 2; // two blocks fill a multiprocessor
    let blocks = WAVES * 2 * multiprocessors;
    let range = CurrentContext::get_stream_priority_range()?; //                cuCtxGetStreamPriorityRange

    for (name, priority) in [
        ("warm-up", range.least),
        ("least priority", range.least),
        ("greatest priority", range.greatest),
    ] {
        let held = DeviceBuffer::from_slice(&vec![u32::MAX; blocks as usize])?; // cuMemAlloc, cuMemcpyHtoD
        let answers = DeviceBuffer::from_slice(&[u32::MAX; 32 * REQUESTS])?;
        CurrentContext::synchronize()?; //                                      cuCtxSynchronize: non-blocking streams do not wait
        let grid = stream::with_priority(range.least)?; //                      cuStreamCreateWithPriority
        let clock = stream::non_blocking()?; // no work here: its events say when a request arrives
        let (mut streams, mut arrived, mut answered) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..REQUESTS {
            streams.push(stream::with_priority(priority)?);
            arrived.push(Event::new(EventFlags::DEFAULT)?); //                  cuEventCreate
            answered.push(Event::new(EventFlags::DEFAULT)?);
        }
        let start = Event::new(EventFlags::DEFAULT)?;
        let end = Event::new(EventFlags::DEFAULT)?;

        start.record(&grid)?; //                                                cuEventRecord
        let place = held.as_device_ptr();
        // SAFETY: these are the kernel's parameters, and each block has an element.
        unsafe { launch!(hold<<<blocks, threads, 0, grid>>>(BLOCK_NS, place))? }; // cuLaunchKernel
        end.record(&grid)?;
        for (request, stream) in streams.iter().enumerate() {
            let answer = answers.index(32 * request..).as_device_ptr();
            arrived[request].record(&clock)?;
            // SAFETY: these are the kernel's parameters, and each request has 32 elements.
            unsafe { launch!(iota<<<1, 32, 0, stream>>>(answer, 32usize, request as u32))? };
            answered[request].record(stream)?;
        }
        CurrentContext::synchronize()?;

        for (block, x) in held.as_host_vec()?.into_iter().enumerate() {
            ensure!(x as usize == block, "{name}: block {block} stored {x}");
        }
        for (index, x) in answers.as_host_vec()?.into_iter().enumerate() {
            ensure!(x as usize == index / 32 + index % 32, "{name}: answer {index} is {x}");
        }
        let mut waits = Vec::new();
        for (arrived, answered) in arrived.iter().zip(&answered) {
            waits.push(answered.elapsed_time_f32(arrived)?); //                 cuEventElapsedTime
        }
        waits.sort_by(f32::total_cmp);
        let (grid, median) = (end.elapsed_time_f32(&start)?, waits[REQUESTS / 2]);
        println!("{name:17}  a request waits {median:.3} ms, the grid takes {grid:.3} ms");
    }
    Ok(())
}
