//! The calls in a loop: each step allocates scratch memory, works in the first of it, and frees it.

use super::{JUDGED, new_pool};
use cuda_host::pool::{MemoryPool, Reuse};
use cuda_host::{kernels, launch};
use cust::error::CudaResult;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::expect::Expected;
use examples_host::latency::{timed_by_host, times_as_long};
use examples_host::part_option::PartOption::Size;
use examples_host::prelude::*;

kernels! { use gpu_kernels::{fill, saxpy}; }

/// Steps of a loop, and steps between two waits of the host.
const STEPS: usize = 128;
const BATCH: usize = 8;
/// Elements that a step works on, however large its memory is: what is compared is the allocators.
const TOUCHED: usize = 1024;
const START: Seed = Seed::new(0);
const A: f32 = 0.5;

/// A loop that needs scratch memory in each step. The steps go to the streams round-robin.
struct Loop<'s> {
    streams: &'s [Stream],
    /// Elements that a step works on, and of the result of each stream.
    touched: usize,
    start: LockedBuffer<f32>,
    results: DeviceBuffer<f32>,
    output: LockedBuffer<f32>,
    kernels: Kernels,
}

impl Loop<'_> {
    fn malloc(&self, elements: usize) -> anyhow::Result<()> {
        for step in 0..STEPS {
            let stream = &self.streams[step % self.streams.len()];
            // SAFETY: the step writes what it reads.
            let scratch = unsafe { DeviceBuffer::uninitialized(elements)? };
            self.work(step, &scratch, stream)?;
            stream.synchronize()?; // otherwise cuMemFree would wait, for every stream
            drop(scratch);
            self.wait_after(step)?;
        }
        Ok(())
    }

    fn pool(&self, elements: usize, pool: &MemoryPool) -> anyhow::Result<()> {
        for step in 0..STEPS {
            let stream = &self.streams[step % self.streams.len()];
            // SAFETY: the step writes what it reads, in the stream of the allocation.
            let scratch = unsafe { pool.alloc_async(elements, stream)? };
            self.work(step, &scratch, stream)?;
            scratch.drop_async(stream)?;
            self.wait_after(step)?;
        }
        Ok(())
    }

    /// Memory that was allocated before, for each stream its own.
    fn once(&self, scratch: &[DeviceBuffer<f32>]) -> anyhow::Result<()> {
        for step in 0..STEPS {
            let index = step % self.streams.len();
            self.work(step, &scratch[index], &self.streams[index])?;
            self.wait_after(step)?;
        }
        Ok(())
    }

    /// Fills the first of the scratch memory, and adds it to the result of its stream.
    fn work(&self, step: usize, scratch: &DeviceBuffer<f32>, stream: &Stream) -> CudaResult<()> {
        let (touched, of_stream) = (self.touched, step % self.streams.len());
        let mut scratch = scratch.index(..touched);
        let mut result = self.results.index(of_stream * touched..(of_stream + 1) * touched);
        let blocks = touched.div_ceil(256) as u32;
        // SAFETY: both have as many elements, and outlive the launches in stream order.
        unsafe {
            launch!(self.kernels.fill<<<blocks, 256, 0, stream>>>(&mut scratch, value(step)))?;
            launch!(self.kernels.saxpy<<<blocks, 256, 0, stream>>>(A, &scratch, &mut result))
        }
    }

    /// Waits for all streams after each batch of steps.
    fn wait_after(&self, step: usize) -> anyhow::Result<()> {
        if (step + 1).is_multiple_of(BATCH) {
            self.streams.iter().try_for_each(Stream::synchronize)?;
        }
        Ok(())
    }

    fn new(streams: &[Stream], touched: usize) -> anyhow::Result<Loop<'_>> {
        let elements = streams.len() * touched;
        let mut start = LockedBuffer::new(&0.0, elements)?;
        START.fill_f32(0, &mut start);
        Ok(Loop {
            streams,
            touched,
            start,
            // SAFETY: each run starts with a copy into it.
            results: unsafe { DeviceBuffer::uninitialized(elements)? },
            output: LockedBuffer::new(&0.0, elements)?,
            kernels: Kernels::load(gpu_kernels::SM_70)?,
        })
    }
}

/// What a step stores in its memory.
fn value(step: usize) -> f32 {
    (step + 1) as f32 / 64.0
}

impl Workload for Loop<'_> {
    fn poison(&mut self) -> anyhow::Result<()> {
        let stream = &self.streams[0];
        // SAFETY: page-locked memory that outlives the copy.
        unsafe { self.results.async_copy_from(&self.start[..], stream)? };
        Ok(stream.synchronize()?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let stream = &self.streams[0];
        check::poison(&mut self.output);
        // SAFETY: page-locked memory that is read behind the wait.
        unsafe { self.results.async_copy_to(&mut self.output[..], stream)? };
        stream.synchronize()?;
        let expected = |index: usize| {
            let steps = (index / self.touched..STEPS).step_by(self.streams.len());
            steps.fold(START.f32(index), |sum, step| A.mul_add(value(step), sum))
        };
        Ok(check::equal("the results", 0, &self.output, expected)?)
    }
}

/// Elements that a step works on when the memory has these sizes in bytes, from the smallest on.
pub fn touched(sizes: &[usize]) -> usize {
    TOUCHED.min(sizes[0] / size_of::<f32>())
}

/// The loops at each size.
pub fn run(part: &mut Part, sizes: &[usize], streams: &[Stream]) -> anyhow::Result<()> {
    let touched = touched(sizes);
    let mut work = Loop::new(streams, touched)?;
    let plural = if streams.len() == 1 { "" } else { "s" };
    let group = Label::new(
        format!("loop/streams-{}", streams.len()),
        format!("{} stream{plural}", streams.len()),
    );
    let plan = Plan::new().launches(2 * STEPS, 2 * STEPS * touched);
    let found = part.loops(&group, (plan, STEPS), sizes, &mut work, |bytes| {
        let elements = bytes / size_of::<f32>();
        let [returning, keeping] = [new_pool(0, &Reuse::ALL)?, new_pool(u64::MAX, &Reuse::ALL)?];
        let own_stream = new_pool(u64::MAX, &[])?;
        let mut once = Vec::new();
        for _ in streams {
            // SAFETY: each step writes what it reads.
            once.push(unsafe { DeviceBuffer::uninitialized(elements)? });
        }
        Ok([
            timed_by_host(("malloc", "cuMemAlloc"), move |work: &mut Loop| work.malloc(elements)),
            timed_by_host("pool-threshold-0", move |work: &mut Loop| {
                work.pool(elements, &returning)
            }),
            timed_by_host("pool-threshold-max", move |work: &mut Loop| {
                work.pool(elements, &keeping)
            }),
            timed_by_host("pool-own-stream", move |work: &mut Loop| {
                work.pool(elements, &own_stream)
            }),
            timed_by_host("once", move |work: &mut Loop| work.once(&once)),
        ])
    })?;
    part.say(format!(
        "{group}: with a pool (threshold max) the loop is slower than with cuMemAlloc at {}.",
        found.sizes_where(|[malloc, _, keeping, ..]| keeping.runs.median() > malloc.runs.median())
    ));
    let Some(all @ [malloc, returning, keeping, own_stream, _]) = found.at(JUDGED) else {
        return Ok(());
    };
    let mut expect = |id: &str, sentence: &str, expected: Expected| {
        let (id, sentence) = (format!("{}/{id}", group.id), format!("{group}, 16 MiB: {sentence}"));
        part.expect(id, &sentence, expected.for_any(&[Size]));
    };
    let gain = times_as_long(malloc.runs.median(), keeping.runs.median());
    expect("faster/pool", "a pool makes the loop faster than cuMemAlloc", gain.at_least(2.5));
    let gain = times_as_long(returning.runs.median(), keeping.runs.median());
    expect("faster/keeping", "keeping memory makes it faster than threshold 0", gain.at_least(1.3));
    let sentence = "the allocator's share of the loop, each stream with its own memory of the pool";
    expect("allocator-share", sentence, share(own_stream.beyond_quickest(all)).at_most(0.4));
    Ok(())
}
