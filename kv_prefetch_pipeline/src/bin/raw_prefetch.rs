//! What does attention gain when the next pages come while it computes? Every operation in sight, on cust and cuda-host.
//!
//! Each block attends with one head over the pages of one sequence, which lie anywhere in a pool: a table has their addresses. Plain
//! loads make the block wait for every page. Bulk copies bring the next pages into a ring of stages in shared memory meanwhile:
//!
//! ```text
//! plain loads   memory  |LLL   LLL   LLL   |      2 stages   memory  |LLLlllLLLlll|
//!               compute |   CC    CC    CC |                 compute |   CC cc CC |
//! ```
//!
//! cargo run -p kv_prefetch_pipeline --bin raw_prefetch       (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cuda_host::{kernels, launch}; // cust cannot allow a kernel more than 48 KiB of shared memory
use cust::context::CurrentContext;
use cust::device::DeviceAttribute::ComputeCapabilityMajor;
use cust::event::{Event, EventFlags};
use cust::memory::{CopyDestination, DeviceBuffer, DevicePointer};
use cust::stream::{Stream, StreamFlags};
use gpu_kernels::{KV_CONSUMERS, KV_HEAD_DIM, KV_PAGE_TOKENS, KV_STAGE_BYTES, KV_THREADS};

kernels! { use gpu_kernels::{attention_prefetched, attention_staged}; }

const SEQUENCES: usize = 8;
const HEADS: usize = 4;
const PAGES: usize = 32; // of each sequence
const DIM: usize = KV_HEAD_DIM as usize;
const TILE: usize = KV_PAGE_TOKENS as usize * DIM; // keys of a head in a page, or its values
const PAGE: usize = 2 * HEADS * TILE; // the keys of all heads, and behind them their values
const GRID: (u32, u32) = (HEADS as u32, SEQUENCES as u32);

/// Where in the pool a page lies: neighbours in a sequence are not neighbours in memory.
fn place(page: usize) -> usize {
    page * 7919 % (SEQUENCES * PAGES)
}

/// The output of a row, a head of a sequence. All scores are 0, so every token has the same weight: it is the mean of the values.
fn mean(pool: &[f32], row: usize, dim: usize) -> f32 {
    let (sequence, head) = (row / HEADS, row % HEADS);
    let values = (0..PAGES).flat_map(|page| {
        let first = place(sequence * PAGES + page) * PAGE + (HEADS + head) * TILE;
        pool[first..first + TILE].iter().skip(dim).step_by(DIM)
    });
    values.sum::<f32>() / (PAGES * KV_PAGE_TOKENS as usize) as f32
}

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                                 cuInit, cuDevicePrimaryCtxRetain
    let major = CurrentContext::get_device()?.get_attribute(ComputeCapabilityMajor)?; // cuDeviceGetAttribute
    if major < 9 {
        eprintln!("error: bulk copies need compute capability 9.0, and this GPU has {major}.x");
        std::process::exit(3);
    }
    let kernels = Kernels::load(gpu_kernels::SM_90)?; //                   cuModuleLoadDataEx, cuModuleGetFunction
    kernels.attention_prefetched.allow_dynamic_shared_bytes(4 * KV_STAGE_BYTES)?; // cuFuncSetAttribute
    let host: Vec<f32> = (0..SEQUENCES * PAGES * PAGE).map(|i| (i / 3 % 97) as f32).collect();
    let pool = DeviceBuffer::from_slice(&host)?; //                        cuMemAlloc, cuMemcpyHtoD
    let address = |page| pool.index(place(page) * PAGE..(place(page) + 1) * PAGE).as_device_ptr();
    let addresses: Vec<DevicePointer<f32>> = (0..SEQUENCES * PAGES).map(address).collect();
    let table = DeviceBuffer::from_slice(&addresses)?;
    let queries = DeviceBuffer::<f32>::zeroed(SEQUENCES * HEADS * DIM)?; // cuMemAlloc, cuMemsetD8
    let mut output = DeviceBuffer::<f32>::zeroed(SEQUENCES * HEADS * DIM)?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?; //              cuStreamCreateWithPriority

    for (name, stages) in
        [("warm-up", 4), ("plain loads", 0), ("1 stage", 1), ("2 stages", 2), ("4 stages", 4)]
    {
        output.copy_from(&[f32::NAN; SEQUENCES * HEADS * DIM])?; //        cuMemcpyHtoD
        let start = Event::new(EventFlags::DEFAULT)?; //                   cuEventCreate
        let end = Event::new(EventFlags::DEFAULT)?;
        start.record(&stream)?; //                                         cuEventRecord
        let (Kernels { attention_prefetched, attention_staged }, pages) = (&kernels, PAGES as u32);
        let (shared, no_stamps) = (stages * KV_STAGE_BYTES, DevicePointer::<u64>::null());
        // SAFETY: all memory lives until the end of the program; the table has the pages of the grid, the output its rows.
        unsafe {
            match stages {
                0 => {
                    launch!(attention_staged<<<GRID, KV_CONSUMERS, 0, stream>>>(&table, pages, &queries, &mut output, 1.0))?
                } // cuLaunchKernel
                _ => {
                    launch!(attention_prefetched<<<GRID, KV_THREADS, shared, stream>>>(&table, pages, &queries, &mut output, 1.0, stages, no_stamps))?
                }
            }
        }
        end.record(&stream)?;
        end.synchronize()?; //                                             cuEventSynchronize

        for (index, found) in output.as_host_vec()?.into_iter().enumerate() {
            let expected = mean(&host, index / DIM, index % DIM);
            let close = (found - expected).abs() < 1e-3;
            ensure!(close, "{name}: element {index} is {found}, not {expected}");
        }
        println!("{name:11}  {:5.1} µs", end.elapsed_time_f32(&start)? * 1e3); // cuEventElapsedTime
    }
    Ok(())
}
