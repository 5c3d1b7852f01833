//! When does a program learn that something went wrong? Plain cust, and the code of every call in sight.
//!
//! A call that the driver refuses says so itself, and the program continues. A kernel that faults runs after its launch has
//! returned: a later call reports it, here the wait. From then on the context is lost, and every call returns that error.
//!
//! ```text
//! host   |launch  wait........ allocate  wait
//! stream |     KKKKKKKKfault
//! code   |0            700     700       700
//! ```
//!
//! cargo run -p stream_hazards --bin raw_errors            (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cust::function::Function;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::sys::{self, CUresult, cudaError_enum as code};
use libcuda as _; // the cu* symbols: NVIDIA's driver if there is one, else the software GPU
use std::ffi::c_void;
use std::ptr::null_mut;

const ELEMENTS: usize = 1 << 20;
const BYTES: usize = ELEMENTS * size_of::<f32>();

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                              cuInit, cuDevicePrimaryCtxRetain
    let module = Module::from_ptx(gpu_kernels::SM_70, &[])?; //         cuModuleLoadDataEx
    let affine = module.get_function("affine_x4")?; //                  cuModuleGetFunction: x = a x + b
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?; //      cuStreamCreateWithPriority
    let other = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let mut data = 0;
    // SAFETY: the call writes the address, and the memory lives as long as the process.
    show("memory of 4 MiB", "cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&mut data, BYTES) });
    // SAFETY: the memory has that many bytes.
    show("its first contents", "cuMemsetD8", unsafe { sys::cuMemsetD8_v2(data, 0, BYTES) });

    println!("\nA call that cannot be carried out reports it at once:");
    let refused = launch(&affine, 2048, data, &stream);
    show("2,048 threads in a block", "cuLaunchKernel", refused);
    show("256 threads in a block", "cuLaunchKernel", launch(&affine, 256, data, &stream));
    show("the host waits", "cuStreamSynchronize", wait(&stream));
    ensure!(refused == code::CUDA_ERROR_INVALID_VALUE, "the driver accepted 2,048 threads");

    println!("\nA kernel that faults reports nothing: a later call does.");
    show("a kernel, given address 0", "cuLaunchKernel", launch(&affine, 256, 0, &stream));
    let late = wait(&stream);
    show("the host waits", "cuStreamSynchronize", late);
    ensure!(late == code::CUDA_ERROR_ILLEGAL_ADDRESS, "the wait did not report the fault");

    println!("\nFrom then on every call in this context returns the same code:");
    // SAFETY: the call writes the address.
    let sticky = unsafe { sys::cuMemAlloc_v2(&mut data, BYTES) };
    show("more memory", "cuMemAlloc", sticky);
    show("another stream", "cuStreamSynchronize", wait(&other));
    ensure!(sticky == late && wait(&other) == late, "the error did not stay");
    Ok(())
}

/// `cuLaunchKernel`: one thread for every four elements, in blocks of `threads` threads.
fn launch(kernel: &Function<'_>, threads: u32, mut data: u64, stream: &Stream) -> CUresult {
    let (mut elements, mut a, mut b) = (ELEMENTS, 2f32, 1f32);
    let mut arguments: [*mut c_void; 4] = [
        (&raw mut data).cast(),
        (&raw mut elements).cast(),
        (&raw mut a).cast(),
        (&raw mut b).cast(),
    ];
    let (blocks, stream) = ((ELEMENTS / 4) as u32 / threads, stream.as_inner());
    // SAFETY: these are the kernel's parameters. That `data` may be no memory of this program is what is shown.
    unsafe {
        sys::cuLaunchKernel(
            kernel.to_raw(),
            blocks,
            1,
            1,
            threads,
            1,
            1,
            0,
            stream,
            arguments.as_mut_ptr(),
            null_mut(),
        )
    }
}

fn wait(stream: &Stream) -> CUresult {
    // SAFETY: the stream lives.
    unsafe { sys::cuStreamSynchronize(stream.as_inner()) }
}

fn show(what: &str, call: &str, result: CUresult) {
    println!("  {what:26} {call:20} {:3} {result:?}", result as u32);
}
