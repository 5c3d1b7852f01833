//! How does a cache of keys and values grow while attention reads it? Plain cust, every operation in sight.
//!
//! In each step one stream appends a token's keys and values, and another attends to all tokens so far. The cache consists of
//! pages, which come from a memory pool in the order of the stream that appends. One event a step is the whole dependency:
//!
//! ```text
//! host waits  append    |A      A      A            events  append    |AAA A A A ..      A: append   E: attention
//!             attention |  EEEE   EEEE   EEEE               attention | EEEEEEEEEEEE
//! ```
//!
//! cargo run -p stream_ordered_kv_cache --bin raw_kv       (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use gpu_kernels::{PAGED_ATTENTION_THREADS as THREADS, kv_page_len};
use libcuda as _; // the cu* symbols: NVIDIA's driver if there is one, else the software GPU

const HEADS: u32 = 8;
const HEAD_DIM: u32 = 128;
const WIDTH: usize = (HEADS * HEAD_DIM) as usize; // elements of a token's keys, and of its values
const PAGE: u32 = 64; // tokens
const PROMPT: usize = 481;
const STEPS: usize = 32; // each appends a token; the last one needs another page
const PAGES: usize = (PROMPT + STEPS).div_ceil(PAGE as usize);

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                                cuInit, cuDevicePrimaryCtxRetain
    let module = Module::from_ptx(gpu_kernels::SM_70, &[])?; //           cuModuleLoadDataEx
    let append_kv = module.get_function("append_kv")?; //                 cuModuleGetFunction
    let attend = module.get_function("paged_attention")?;
    let keys = DeviceBuffer::from_slice(&[1f32; WIDTH].repeat(PROMPT + STEPS))?; // cuMemAlloc, cuMemcpyHtoD
    let query = DeviceBuffer::from_slice(&[1f32; WIDTH])?;
    let results = DeviceBuffer::<f32>::zeroed(STEPS * WIDTH)?; //         cuMemAlloc, cuMemsetD8
    let table = DeviceBuffer::<u64>::zeroed(PAGES)?;
    let mut addresses = LockedBuffer::new(&0u64, PAGES)?; //              cuMemAllocHost
    let append = Stream::new(StreamFlags::DEFAULT, None)?; //             cuStreamCreateWithPriority
    let attention = Stream::new(StreamFlags::DEFAULT, None)?;

    for (name, factor, append, host_waits) in [
        ("warm-up", 1, &append, false),
        ("host waits", 2, &append, true),
        ("one stream", 3, &attention, false),
        ("two streams", 4, &append, false),
    ] {
        let value = |index| (factor * (index / WIDTH + index % WIDTH % 7)) as f32; // grows with the token's number
        let values: Vec<f32> = (0..(PROMPT + STEPS) * WIDTH).map(value).collect();
        let values = DeviceBuffer::from_slice(&values)?;
        let mut pages: Vec<DeviceBuffer<f32>> = Vec::new();
        let start = Event::new(EventFlags::DEFAULT)?; //                  cuEventCreate
        let end = Event::new(EventFlags::DEFAULT)?;

        start.record(append)?; //                                         cuEventRecord
        for step in 0..=STEPS {
            // The prompt comes first; attention begins with the first token behind it.
            let (first, count) = if step == 0 { (0, PROMPT) } else { (PROMPT + step - 1, 1) };
            while pages.len() * (PAGE as usize) < first + count {
                let (number, len) = (pages.len(), kv_page_len(HEADS, HEAD_DIM, PAGE));
                // SAFETY: what is read of a page has been appended before; the addresses live until the end.
                unsafe {
                    let page = DeviceBuffer::uninitialized_async(len, append)?; // cuMemAllocAsync
                    addresses[number] = page.as_device_ptr().as_raw();
                    pages.push(page);
                    let mut entry = table.index(number..=number);
                    entry.async_copy_from(&addresses[number..=number], append)?; // cuMemcpyHtoDAsync
                }
            }
            let (at, tokens, blocks) = (first as u32, count as u32, (count * WIDTH) as u32 / 256);
            let [k, v] = [&keys, &values].map(|all| all.index(first * WIDTH..).as_device_ptr());
            let (t, q) = (table.as_device_ptr(), query.as_device_ptr());
            // SAFETY: these are the kernel's parameters; the pages have room for the tokens.
            unsafe {
                launch!(append_kv<<<blocks, 256, 0, append>>>(t, at, tokens, k, v, HEADS, HEAD_DIM, PAGE))?; // cuLaunchKernel
            }
            let written = Event::new(EventFlags::DISABLE_TIMING)?;
            written.record(append)?;
            attention.wait_event(written, StreamWaitEventFlags::DEFAULT)?; // cuStreamWaitEvent
            if step > 0 {
                if host_waits {
                    append.synchronize()?; //                             cuStreamSynchronize
                }
                let (all, result) = (at + 1, results.index((step - 1) * WIDTH..).as_device_ptr());
                // SAFETY: as above; each step has a place for its result.
                unsafe {
                    launch!(attend<<<HEADS, THREADS, 0, attention>>>(t, all, q, result, HEADS, HEAD_DIM, PAGE, 0.125f32))?;
                }
                if host_waits {
                    attention.synchronize()?;
                }
            }
        }
        end.record(&attention)?;
        // In the stream that uses them last (cuMemFreeAsync).
        pages.into_iter().try_for_each(|page| page.drop_async(&attention))?;
        end.synchronize()?; //                                            cuEventSynchronize

        for (index, x) in results.as_host_vec()?.into_iter().enumerate() {
            // All tokens have the same keys, and so equal weights: their values' mean.
            let expected = factor as f32
                * ((PROMPT + index / WIDTH) as f32 / 2.0 + (index % WIDTH % 7) as f32);
            ensure!(x == expected, "{name}: element {index} is {x}, not {expected}");
        }
        println!("{name:11}  {:6.3} ms", end.elapsed_time_f32(&start)?); // cuEventElapsedTime
    }
    Ok(())
}
