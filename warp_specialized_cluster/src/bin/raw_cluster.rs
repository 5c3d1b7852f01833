//! What do clusters gain that share tiles, and what do streams gain around them? Every operation in sight, on cust and cuda-host.
//!
//! The four blocks of a cluster need the same tiles of B. Each block fetches all of them from global memory, or a quarter, which
//! it sends to the shared memory of the others (DSMEM). In both kernels warps are specialised: one thread fetches, four warps
//! compute.
//!
//! ```text
//! global memory  block 0 |TTTT|    DSMEM  block 0 |T>>>|      T: a quarter of a tile, from global memory
//!                block 1 |TTTT|           block 1 |>T>>|      >: a quarter, from a neighbour's shared memory
//! one stream     |iKKKoiKKKoiKKKo|   two streams  |iKKKo  iKKKo|     i, o: A comes in, C goes out
//!                                                 |   iKKKo    |     K: the kernel
//! ```
//!
//! cargo run -p warp_specialized_cluster --bin raw_cluster       (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cuda_host::{kernels, launch_attributes::Attribute}; // cust's bindings are older than clusters
use cust::context::CurrentContext;
use cust::device::DeviceAttribute::ComputeCapabilityMajor;
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use gpu_kernels::{
    PRODUCT_COLUMNS, PRODUCT_ROWS, PRODUCT_SHARED_BYTES as SHARED, PRODUCT_THREADS as THREADS,
};

kernels! { use gpu_kernels::{product_dsmem, product_global}; } // C = A B; A and B lie in panels of rows and of columns

const BATCHES: usize = 4; // each has an A and a C of its own
const BLOCKS: usize = 64; // each computes a panel of rows
const GRID: u32 = BLOCKS as u32;
const LINES: usize = PRODUCT_ROWS as usize; // of a panel
const WIDTH: usize = PRODUCT_COLUMNS as usize; // columns of B and C: one panel
const TERMS: usize = 128;
const A_LEN: usize = BLOCKS * LINES * TERMS;
const C_LEN: usize = BLOCKS * LINES * WIDTH;
const CLUSTER: [Attribute; 1] = [Attribute::cluster([4, 1, 1])]; // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                                cuInit, cuDevicePrimaryCtxRetain
    let major = CurrentContext::get_device()?.get_attribute(ComputeCapabilityMajor)?; // cuDeviceGetAttribute
    if major < 9 {
        eprintln!("error: clusters need compute capability 9.0, and this GPU has {major}.x");
        std::process::exit(3);
    }
    let kernels = Kernels::load(gpu_kernels::SM_90)?; //                  cuModuleLoadDataEx, cuModuleGetFunction
    let (global, dsmem) = (&kernels.product_global, &kernels.product_dsmem);
    global.allow_dynamic_shared_bytes(SHARED)?; //                        cuFuncSetAttribute
    dsmem.allow_dynamic_shared_bytes(SHARED)?;
    let one = Stream::new(StreamFlags::DEFAULT, None)?; //                cuStreamCreateWithPriority
    let two = Stream::new(StreamFlags::DEFAULT, None)?;
    // Functions of the row and the term (every second term is 0), and of the column and the term.
    let a = |i: usize| ((i / (LINES * TERMS) % 3 + i % LINES) * (i / LINES % 2)) as f32;
    let a: Vec<f32> = (0..BATCHES * A_LEN).map(a).collect();
    let b: Vec<f32> = (0..TERMS * WIDTH).map(|i| (i % WIDTH % 5 + i / WIDTH % 2) as f32).collect();
    let input = LockedBuffer::from_slice(&a)?; //                         cuMemAllocHost
    let mut output = LockedBuffer::new(&0f32, BATCHES * C_LEN)?;
    let b = DeviceBuffer::from_slice(&b)?; //                             cuMemAlloc, cuMemcpyHtoD
    let mut a = [DeviceBuffer::<f32>::zeroed(A_LEN)?, DeviceBuffer::zeroed(A_LEN)?]; // cuMemsetD8
    let mut c = [DeviceBuffer::<f32>::zeroed(C_LEN)?, DeviceBuffer::zeroed(C_LEN)?];
    let mut fetched = [DeviceBuffer::<u32>::zeroed(BLOCKS)?, DeviceBuffer::zeroed(BLOCKS)?];

    // The first two runs are warm-ups.
    let runs = [(false, 2), (true, 2), (false, 1), (true, 1), (false, 2), (true, 2)];
    for (run, (is_dsmem, count)) in runs.into_iter().enumerate() {
        let name = ["global memory", "DSMEM"][usize::from(is_dsmem)];
        let streams = if count == 1 { [&one, &one] } else { [&one, &two] };
        output.fill(f32::NAN);
        let start = Event::new(EventFlags::DEFAULT)?; //                  cuEventCreate
        let end = Event::new(EventFlags::DEFAULT)?;
        start.record(&one)?; //                                           cuEventRecord
        for (i, (input, output)) in input.chunks(A_LEN).zip(output.chunks_mut(C_LEN)).enumerate() {
            let (stream, a, c) = (streams[i % 2], &mut a[i % 2], &mut c[i % 2]);
            // SAFETY: all memory lives until `end`; each stream has its own, and each block its place of `fetched`.
            unsafe {
                a.async_copy_from(input, stream)?; //                     cuMemcpyHtoDAsync
                let all = (&*a, &b, &mut *c, &mut fetched[i % 2], TERMS as u32);
                match is_dsmem {
                    true => dsmem.launch_with(&CLUSTER, GRID, THREADS, SHARED, stream, all)?, // cuLaunchKernelEx
                    false => global.launch_with(&CLUSTER, GRID, THREADS, SHARED, stream, all)?,
                }
                c.async_copy_to(output, stream)?; //                      cuMemcpyDtoHAsync
            }
        }
        let joined = Event::new(EventFlags::DISABLE_TIMING)?;
        joined.record(streams[1])?;
        one.wait_event(joined, StreamWaitEventFlags::DEFAULT)?; //        cuStreamWaitEvent
        end.record(&one)?;
        end.synchronize()?; //                                            cuEventSynchronize

        for (index, c) in output.iter().enumerate() {
            let (row, column) = (index / WIDTH, index % WIDTH);
            let expected = (TERMS / 2 * (row / LINES % 3 + row % LINES) * (column % 5 + 1)) as f32;
            ensure!(*c == expected, "{name}: element {index} is {c}, not {expected}");
        }
        let mut noted = [0; BLOCKS];
        fetched[0].copy_to(&mut noted)?; //                               cuMemcpyDtoH: what each block has fetched
        let (ms, kib) = (end.elapsed_time_f32(&start)?, noted.iter().sum::<u32>() >> 10); // cuEventElapsedTime
        let note = if run < 2 { ", warm-up" } else { "" };
        println!("{name:13}  streams: {count}  {ms:6.3} ms, {kib:5} KiB for a product{note}");
    }
    Ok(())
}
