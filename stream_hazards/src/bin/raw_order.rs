//! Which call makes which operation wait? Plain cust, and every record, wait and synchronisation can be left out.
//!
//! Two batches pass through one buffer of the device, in three streams. Three events and one synchronisation order them:
//!
//! ```text
//! copy in   |HHHH            HHHH        |  loaded:   a kernel waits for its batch's copy in
//! compute   |     KKK            KKK     |  computed: a copy out waits for its kernel
//! copy out  |         DDDD           DDDD|  emptied:  the next copy in waits for the copy out
//! host      |                            R  the host waits for the last copy out
//! ```
//!
//! The arguments name the calls to leave out. An event that is not recorded orders nothing, and neither does one that no stream
//! waits for. On the software GPU the result is then wrong in every run, and the checker names the missing dependency.
//!
//! cargo run -p stream_hazards --bin raw_order                            (CUDA_DRIVER=nvidia or software chooses the device)
//! cargo run -p stream_hazards --bin raw_order -- wait-loaded synchronize

use anyhow::{Result, ensure};
use cuda_host::{StreamExt, stream::non_blocking_named};
use cust::context::CurrentContext;
use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::module::Module;
use cust::stream::Stream;
use libcuda::host::{noted, reads};

const BATCHES: usize = 2;
const BATCH: usize = 1 << 18; // elements: 1 MiB
const THREADS: u32 = 256;
const BLOCKS: u32 = BATCH as u32 / 4 / THREADS; // each thread works on four elements
const CALLS: [&str; 7] = [
    "record-loaded",
    "wait-loaded",
    "record-computed",
    "wait-computed",
    "record-emptied",
    "wait-emptied",
    "synchronize",
];

fn main() -> Result<()> {
    let left_out: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = left_out.iter().find(|name| !CALLS.contains(&name.as_str())) {
        eprintln!(
            "error: {unknown:?} is not a call of this program: leave out any of {}",
            CALLS.join(", ")
        );
        std::process::exit(2);
    }
    let makes = |call: &str| !left_out.iter().any(|name| name == call);

    let _context = cust::quick_init()?; //                                       cuInit, cuDevicePrimaryCtxRetain
    let module = Module::from_ptx(gpu_kernels::SM_70, &[])?; //                  cuModuleLoadDataEx
    let affine = module.get_function("affine_x4")?; //                           cuModuleGetFunction: x = a x + b
    let mut input = LockedBuffer::new(&0f32, BATCHES * BATCH)?; //               cuMemAllocHost
    let mut output = LockedBuffer::new(&0f32, BATCHES * BATCH)?;
    for (index, x) in input.iter_mut().enumerate() {
        *x = (index % 1000) as f32;
    }
    let mut data = DeviceBuffer::<f32>::zeroed(BATCH)?; //                       cuMemAlloc, cuMemsetD8
    CurrentContext::synchronize()?; //                                           cuCtxSynchronize
    let [copy_in, compute, copy_out] = non_blocking_named(["copy in", "compute", "copy out"])?; // cuStreamCreateWithPriority
    let [loaded, computed, emptied] = [(); 3].map(|()| Event::new(EventFlags::DISABLE_TIMING)); // cuEventCreate
    let (loaded, computed, emptied) = (loaded?, computed?, emptied?);

    // The name of a call stands beside it: an argument leaves it out.
    let record = |name: &str, event: &Event, stream: &Stream| match makes(name) {
        true => event.record(stream), //                                         cuEventRecord
        false => Ok(()),
    };
    let wait = |name: &str, stream: &Stream, event: &Event| match makes(name) {
        true => stream.wait(event), //                                           cuStreamWaitEvent
        false => Ok(()),
    };
    for batch in 0..BATCHES {
        let elements = batch * BATCH..(batch + 1) * BATCH;
        wait("wait-emptied", &copy_in, &emptied)?; // of the first batch: not recorded yet, so nothing to wait for
        // SAFETY: the memory lives until the context is synchronised below, and every bit pattern is a number.
        noted(|| unsafe { data.async_copy_from(&input[elements.clone()], &copy_in) })?; // cuMemcpyHtoDAsync
        record("record-loaded", &loaded, &copy_in)?;

        wait("wait-loaded", &compute, &loaded)?;
        let (x, n) = (data.as_device_ptr(), data.len() as u64);
        // SAFETY: these are the kernel's parameters, and the grid has a thread for every four elements.
        noted(|| unsafe { launch!(affine<<<BLOCKS, THREADS, 0, compute>>>(x, n, 2f32, 1f32)) })?; // cuLaunchKernel
        record("record-computed", &computed, &compute)?;

        wait("wait-computed", &copy_out, &computed)?;
        // SAFETY: as for the copy in.
        noted(|| unsafe { data.async_copy_to(&mut output[elements.clone()], &copy_out) })?; // cuMemcpyDtoHAsync
        record("record-emptied", &emptied, &copy_out)?;
    }
    if makes("synchronize") {
        copy_out.synchronize()?; //                                              cuStreamSynchronize
    }
    reads(output.as_ptr().cast(), size_of_val(&output[..])); // for the checker: the host's own accesses are unknown to it
    let right = |(index, x): (usize, &f32)| *x == (index % 1000) as f32 * 2.0 + 1.0;
    let wrong = output.iter().enumerate().filter(|element| !right(*element)).count();
    CurrentContext::synchronize()?; // whatever was left out: the memory is released below
    println!("{wrong} of {} elements are wrong", output.len());
    ensure!(wrong == 0, "a dependency is missing");
    Ok(())
}
