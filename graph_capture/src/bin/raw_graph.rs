//! What does the host save when streams and events become a graph? Every operation in sight, on cust and cuda-host.
//!
//! An iteration is a kernel on all numbers, a fork into three streams with four kernels each on a third of them, a join, and
//! a kernel on all numbers again. While a stream captures, nothing runs: kernels become nodes of a graph, events its edges.
//!
//! ```text
//! a  |K e  K K K K w  K|     e: the fork: the other streams wait for this event
//! b  |  w  K K K K e   |     w: a wait; at the join, stream a waits for the events of the others
//! c  |  w  K K K K e   |
//! ```
//!
//! cargo run -p graph_capture --bin raw_graph       (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cuda_host::{StreamExt, capture}; // cust cannot capture, and its `wait_event` takes the event by value
use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};

const ITERATIONS: usize = 50;
const PER_BRANCH: usize = 4;
const BRANCH: usize = 32; // numbers of a branch: one warp
const ALL: u32 = 3 * BRANCH as u32;
const ROUNDS: u32 = 1000; // of each kernel: some µs, about as long as the host takes to enqueue it
const SUMMAND: f32 = 1.0 / 4096.0; // what a round adds

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                            cuInit, cuDevicePrimaryCtxRetain
    let module = Module::from_ptx(gpu_kernels::SM_70, &[])?; //       cuModuleLoadDataEx
    let add = module.get_function("affine_rounds")?; //               cuModuleGetFunction: ROUNDS times x = 1 x + SUMMAND
    let given: Vec<f32> = (0..ALL).map(|number| number as f32).collect();
    let numbers = DeviceBuffer::from_slice(&given)?; //               cuMemAlloc, cuMemcpyHtoD
    let a = Stream::new(StreamFlags::DEFAULT, None)?; //              cuStreamCreateWithPriority
    let b = Stream::new(StreamFlags::DEFAULT, None)?;
    let c = Stream::new(StreamFlags::DEFAULT, None)?;
    let forked = Event::new(EventFlags::DISABLE_TIMING)?; //          cuEventCreate
    let b_joined = Event::new(EventFlags::DISABLE_TIMING)?;
    let c_joined = Event::new(EventFlags::DISABLE_TIMING)?;

    // The calls of one iteration: they run at once, or are captured.
    let iteration = || -> Result<()> {
        let (x, n) = (numbers.as_device_ptr(), numbers.len());
        // SAFETY: these are the kernel's parameters; the streams and their events order all uses of a number.
        unsafe { launch!(add<<<1, ALL, 0, a>>>(x, n, 1f32, SUMMAND, ROUNDS))? }; // cuLaunchKernel
        forked.record(&a)?; //                                        cuEventRecord
        b.wait(&forked)?; //                                          cuStreamWaitEvent
        c.wait(&forked)?;
        for _ in 0..PER_BRANCH {
            for (branch, stream) in [&a, &b, &c].into_iter().enumerate() {
                let x = numbers.index(branch * BRANCH..).as_device_ptr();
                // SAFETY: as above.
                unsafe { launch!(add<<<1, 32, 0, stream>>>(x, BRANCH, 1f32, SUMMAND, ROUNDS))? };
            }
        }
        b_joined.record(&b)?;
        c_joined.record(&c)?;
        a.wait(&b_joined)?;
        a.wait(&c_joined)?;
        // SAFETY: as above.
        unsafe { launch!(add<<<1, ALL, 0, a>>>(x, n, 1f32, SUMMAND, ROUNDS))? };
        Ok(())
    };

    capture::begin(&a)?; //                                           cuStreamBeginCapture
    iteration()?; // nothing runs; b and c are captured too, because they wait for an event of a
    let graph = capture::end(&a)?; //                                 cuStreamEndCapture
    let exec = graph.instantiate()?; //                               cuGraphInstantiate

    for (name, is_graph) in
        [("warm-up", true), ("warm-up", false), ("21 calls", false), ("one graph", true)]
    {
        numbers.index(..).copy_from(&given)?; //                      cuMemcpyHtoD
        let start = Event::new(EventFlags::DEFAULT)?;
        let end = Event::new(EventFlags::DEFAULT)?;
        let begin = libcuda::host::now(); // the host's clock; the software GPU's host is modelled, too
        start.record(&a)?;
        for _ in 0..ITERATIONS {
            if is_graph {
                // SAFETY: the numbers live until `end`, and the launches of a graph follow one another.
                unsafe { exec.launch(&a)? }; //                       cuGraphLaunch
            } else {
                iteration()?;
            }
        }
        end.record(&a)?;
        let enqueued = (libcuda::host::now() - begin).as_secs_f64() * 1e6;
        end.synchronize()?; //                                        cuEventSynchronize
        let ran = end.elapsed(&start)?.as_secs_f64() * 1e6; //        cuEventElapsedTime

        let added = (ITERATIONS * (2 + PER_BRANCH)) as f32 * ROUNDS as f32 * SUMMAND;
        for (number, x) in numbers.as_host_vec()?.into_iter().enumerate() {
            ensure!(x == number as f32 + added, "{name}: number {number} is {x}");
        }
        let each = ITERATIONS as f64;
        println!(
            "{name:9}  enqueued in {:6.2} µs an iteration, run in {:6.2} µs",
            enqueued / each,
            ran / each
        );
    }
    Ok(())
}
