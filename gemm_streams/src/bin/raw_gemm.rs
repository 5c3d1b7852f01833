//! What do streams gain around matrix products whose operands come and go? Every operation in sight, on cust and cuda-host.
//!
//! For each product A and B come in, a kernel multiplies them on tensor cores (bf16), and C goes out. Each product is whole in one
//! stream, so no event is needed; with several streams the copies of one run beside the kernel of another:
//!
//! ```text
//! one stream    |IIKOIIKOIIKOIIKO|    I: A or B comes in   K: the kernel   O: C goes out
//! two streams   |IIKO  IIKO      |
//!               |  IIKO  IIKO    |
//! one launch    |IIIIIIIIKOOOO   |    all products at once: the fewest operations, and no overlap
//! ```
//!
//! cargo run -p gemm_streams --bin raw_gemm       (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cuda_host::{kernels, launch}; // cust cannot allow a kernel more than 48 KiB of shared memory
use cust::context::CurrentContext;
use cust::device::DeviceAttribute::ComputeCapabilityMajor;
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use gpu_kernels::{
    GEMM_MMA_SHARED_BYTES as SHARED, GEMM_MMA_THREADS as THREADS, GEMM_MMA_TILE as TILE,
};

kernels! { use gpu_kernels::gemm_mma_sync; } // C = A B: A by rows, B by columns, C by rows

const PRODUCTS: usize = 8;
const N: usize = 512; // rows and columns
const K: usize = 128; // terms
const TILES: u32 = (N as u32 / TILE[0]) * (N as u32 / TILE[1]); // a block for each

/// A small whole number in bf16, the upper half of an f32: sums of products of such numbers are exact.
fn bf16(x: usize) -> u16 {
    ((x as f32).to_bits() >> 16) as u16
}

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                              cuInit, cuDevicePrimaryCtxRetain
    let major = CurrentContext::get_device()?.get_attribute(ComputeCapabilityMajor)?; // cuDeviceGetAttribute
    if major < 8 {
        eprintln!(
            "error: tensor cores for bf16 need compute capability 8.0, and this GPU has {major}.x"
        );
        std::process::exit(3);
    }
    let kernels = Kernels::load(gpu_kernels::SM_80)?; //                cuModuleLoadDataEx, cuModuleGetFunction
    kernels.gemm_mma_sync.allow_dynamic_shared_bytes(SHARED)?; //       cuFuncSetAttribute
    let mut host_a = LockedBuffer::new(&0u16, PRODUCTS * N * K)?; //    cuMemAllocHost
    let mut host_b = LockedBuffer::new(&0u16, PRODUCTS * N * K)?;
    let mut host_c = LockedBuffer::new(&0u16, PRODUCTS * N * N)?;
    for (index, x) in host_a.iter_mut().enumerate() {
        *x = bf16(index / K % 3 * (index % K % 2)); // of the row and the term; every second term is 0
    }
    for (index, x) in host_b.iter_mut().enumerate() {
        *x = bf16(index / K % 2 + index % K % 2); // of the column and the term
    }
    let device_a = DeviceBuffer::<u16>::zeroed(PRODUCTS * N * K)?; //   cuMemAlloc, cuMemsetD8
    let device_b = DeviceBuffer::<u16>::zeroed(PRODUCTS * N * K)?;
    let device_c = DeviceBuffer::<u16>::zeroed(PRODUCTS * N * N)?;
    let stream = || Stream::new(StreamFlags::DEFAULT, None); //         cuStreamCreateWithPriority
    let streams = [stream()?, stream()?, stream()?, stream()?];

    for (name, count, at_once) in [
        ("warm-up", 4, 1),
        ("one stream", 1, 1),
        ("two streams", 2, 1),
        ("four streams", 4, 1),
        ("one launch", 1, PRODUCTS),
    ] {
        host_c.fill(u16::MAX);
        let start = Event::new(EventFlags::DEFAULT)?; //                cuEventCreate
        let end = Event::new(EventFlags::DEFAULT)?;
        start.record(&streams[0])?; //                                  cuEventRecord
        for (turn, first) in (0..PRODUCTS).step_by(at_once).enumerate() {
            let (stream, blocks) = (&streams[turn % count], TILES * at_once as u32);
            let of = |len| first * len..(first + at_once) * len;
            let (mut a, mut b) = (device_a.index(of(N * K)), device_b.index(of(N * K)));
            let mut c = device_c.index(of(N * N));
            // SAFETY: all memory lives until `end`, and each product has its own part of it.
            unsafe {
                a.async_copy_from(&host_a[of(N * K)], stream)?; //      cuMemcpyHtoDAsync
                b.async_copy_from(&host_b[of(N * K)], stream)?;
                launch!(kernels.gemm_mma_sync<<<blocks, THREADS, SHARED, stream>>>(&a, &b, &mut c, N as u32, N as u32, K as u32))?;
                c.async_copy_to(&mut host_c[of(N * N)], stream)?; //    cuMemcpyDtoHAsync
            }
        }
        for stream in &streams[1..count] {
            let joined = Event::new(EventFlags::DISABLE_TIMING)?;
            joined.record(stream)?;
            streams[0].wait_event(joined, StreamWaitEventFlags::DEFAULT)?; // cuStreamWaitEvent
        }
        end.record(&streams[0])?;
        end.synchronize()?; //                                          cuEventSynchronize

        for (index, c) in host_c.iter().enumerate() {
            let expected = bf16(K / 2 * (index / N % 3) * (index % N % 2 + 1));
            ensure!(*c == expected, "{name}: element {index} is {c:#x}, not {expected:#x}");
        }
        println!("{name:12}  {:6.3} ms", end.elapsed_time_f32(&start)?); // cuEventElapsedTime
    }
    Ok(())
}
