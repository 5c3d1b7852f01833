//! What does a step cost when each needs the one before? Every operation in sight, on cust and cuda-host.
//!
//! Elements lie on a ring. In a step each becomes `0.5 x + 0.25 (left + right)`, so a block needs what its neighbours have
//! computed in the step before. The stream can keep that order, or a graph, or one kernel whose blocks wait for each other:
//!
//! ```text
//! launches           host |LLLLLLLLLLLL|      L: launches   K: a step   b: a barrier of the grid
//!                    GPU  | K  K  K  K |
//! graph              GPU  | K K K K K K|      a node for each step, one launch
//! persistent kernel  GPU  | KbKbKbKbKbK|      one launch; all blocks must be resident, which a cooperative launch ensures
//! ```
//!
//! cargo run -p persistent_kernel --bin raw_steps       (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cuda_host::{capture, kernels, launch}; // cust has neither graphs nor cooperative launches
use cust::event::{Event, EventFlags};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};

kernels! { use gpu_kernels::{relax, relax_persistent}; }

const STEPS: usize = 200; // even: the result is in the first buffer again
const BLOCKS: u32 = 32;
const THREADS: u32 = 256;
const ELEMENTS: usize = (BLOCKS * THREADS) as usize;

/// The step, on the CPU.
fn relaxed(x: &[f32]) -> Vec<f32> {
    let at = |i: usize| x[i % ELEMENTS];
    let step = |i| (at(i + ELEMENTS - 1) + at(i + 1)).mul_add(0.25, 0.5 * at(i));
    (0..ELEMENTS).map(step).collect()
}

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                            cuInit, cuDevicePrimaryCtxRetain
    let kernels = Kernels::load(gpu_kernels::SM_70)?; //              cuModuleLoadDataEx, cuModuleGetFunction
    let given: Vec<f32> = (0..ELEMENTS).map(|i| (i * i % 1000) as f32).collect();
    let expected = (0..STEPS).fold(given.clone(), |x, _| relaxed(&x));
    let mut x = DeviceBuffer::from_slice(&given)?; //                 cuMemAlloc, cuMemcpyHtoD
    let mut y = DeviceBuffer::<f32>::zeroed(ELEMENTS)?; //            cuMemAlloc, cuMemsetD8
    let mut arrivals = DeviceBuffer::<u32>::zeroed(1)?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?; //         cuStreamCreateWithPriority

    let launches = |x: &mut DeviceBuffer<f32>, y: &mut DeviceBuffer<f32>| -> Result<()> {
        for _ in 0..STEPS / 2 {
            // SAFETY: the buffers live until the end of the program, and have an element for each thread.
            unsafe {
                launch!(kernels.relax<<<BLOCKS, THREADS, 0, stream>>>(&*x, &mut *y))?; // cuLaunchKernel
                launch!(kernels.relax<<<BLOCKS, THREADS, 0, stream>>>(&*y, &mut *x))?;
            }
        }
        Ok(())
    };
    capture::begin(&stream)?; //                                      cuStreamBeginCapture
    launches(&mut x, &mut y)?; // nothing runs
    let graph = capture::end(&stream)?; //                            cuStreamEndCapture
    let exec = graph.instantiate()?; //                               cuGraphInstantiate

    for measured in [false, true] {
        for name in ["launches", "graph", "persistent kernel"] {
            x.copy_from(&given)?; //                                  cuMemcpyHtoD
            arrivals.copy_from(&[0])?;
            let start = Event::new(EventFlags::DEFAULT)?; //          cuEventCreate
            let end = Event::new(EventFlags::DEFAULT)?;
            start.record(&stream)?; //                                cuEventRecord
            match name {
                "launches" => launches(&mut x, &mut y)?,
                // SAFETY: as above.
                "graph" => unsafe { exec.launch(&stream)? }, //       cuGraphLaunch
                _ => {
                    let arguments = (&mut x, &mut y, ELEMENTS, &mut arrivals, STEPS as u32);
                    let kernel = &kernels.relax_persistent;
                    // SAFETY: as above; no block has arrived yet.
                    unsafe { kernel.launch_cooperative(BLOCKS, THREADS, 0, &stream, arguments)? }; // cuLaunchCooperativeKernel
                }
            }
            end.record(&stream)?;
            end.synchronize()?; //                                    cuEventSynchronize

            for (index, (x, expected)) in x.as_host_vec()?.into_iter().zip(&expected).enumerate() {
                ensure!(x == *expected, "{name}: element {index} is {x}, not {expected}");
            }
            if measured {
                let us = end.elapsed_time_f32(&start)? * 1e3; //      cuEventElapsedTime
                println!("{name:17}  {:5.2} µs a step", us / STEPS as f32);
            }
        }
    }
    Ok(())
}
