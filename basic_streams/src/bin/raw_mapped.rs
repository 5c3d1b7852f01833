//! Can a kernel use host memory directly? Two ways to add one to 16 MiB that the host holds: plain cust, every operation in sight.
//!
//! Page-locked memory is mapped: it has an address on the device as well, and a kernel's loads and stores cross the link to the
//! host. A copy crosses the link too, and then kernels find the data in the device's memory, as often as they need it.
//!
//! ```text
//! copied  |HHHHHHHHKDDDDDDDD|        H: copy in, D: copy out
//! mapped  |KKKKKKKKK|                loads and stores cross the link, both directions at the same time
//! ```
//!
//! cargo run -p basic_streams --bin raw_mapped                (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, DevicePointer, LockedBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use libcuda as _; // the cu* symbols: NVIDIA's driver if there is one, else the software GPU

const ELEMENTS: usize = 1 << 22; // 16 MiB
const THREADS: u32 = 256;
const BLOCKS: u32 = ELEMENTS as u32 / 4 / THREADS; // each thread works on four elements

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                            cuInit, cuDevicePrimaryCtxRetain
    let module = Module::from_ptx(gpu_kernels::SM_70, &[])?; //       cuModuleLoadDataEx
    let affine = module.get_function("affine_x4")?; //                cuModuleGetFunction: x = a x + b
    let stream = Stream::new(StreamFlags::DEFAULT, None)?; //         cuStreamCreateWithPriority
    let mut numbers = LockedBuffer::new(&0f32, ELEMENTS)?; //         cuMemAllocHost: page-locked and mapped
    let mut data = DeviceBuffer::<f32>::zeroed(ELEMENTS)?; //         cuMemAlloc, cuMemsetD8

    // The address at which kernels find the host's memory.
    let mut address = 0;
    // SAFETY: the buffer lives until `main` ends.
    let found =
        unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, numbers.as_mut_ptr().cast(), 0) };
    ensure!(found == sys::CUresult::CUDA_SUCCESS, "cuMemHostGetDevicePointer: {found:?}");
    let mapped = DevicePointer::<f32>::from_raw(address);

    for (name, is_mapped, kernels) in [
        ("warm-up", false, 1),
        ("warm-up", true, 1),
        ("1 kernel, copied", false, 1),
        ("1 kernel, mapped", true, 1),
        ("8 kernels, copied", false, 8),
        ("8 kernels, mapped", true, 8),
    ] {
        numbers.fill(1.0);
        let start = Event::new(EventFlags::DEFAULT)?; //              cuEventCreate
        let end = Event::new(EventFlags::DEFAULT)?;
        start.record(&stream)?; //                                    cuEventRecord
        // SAFETY: the memory lives until `end`, and all uses of it are in one stream; these are the kernel's parameters.
        unsafe {
            if !is_mapped {
                data.async_copy_from(&numbers, &stream)?; //          cuMemcpyHtoDAsync
            }
            let x = if is_mapped { mapped } else { data.as_device_ptr() };
            for _ in 0..kernels {
                launch!(affine<<<BLOCKS, THREADS, 0, stream>>>(x, ELEMENTS, 1f32, 1f32))?; // cuLaunchKernel
            }
            if !is_mapped {
                data.async_copy_to(&mut numbers, &stream)?; //        cuMemcpyDtoHAsync
            }
        }
        end.record(&stream)?;
        end.synchronize()?; //                                        cuEventSynchronize: now the host may read
        let expected = 1.0 + kernels as f32;
        if let Some(wrong) = numbers.iter().position(|&x| x != expected) {
            anyhow::bail!("{name}: number {wrong} is {} instead of {expected}", numbers[wrong]);
        }
        if name != "warm-up" {
            println!("{name:18} {:6.3} ms", end.elapsed_time_f32(&start)?);
        }
    }
    Ok(())
}
