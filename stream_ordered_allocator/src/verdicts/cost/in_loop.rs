//! The loops, with known results.

use super::JUDGED;
use crate::cost::{BATCH, Loop, STEPS, new_pool};
use cuda_host::prelude::*;
use examples_host::expect::Expected;
use examples_host::latency::{timed_by_host, times_as_long};
use examples_host::part_option::PartOption::Size;
use examples_host::prelude::*;

/// Elements that a step works on, however large its memory is: what is compared is the allocators.
const TOUCHED: usize = 1024;
const START: Seed = Seed::new(0);

/// A loop, and what its results are before it.
struct CheckedLoop<'s> {
    of: Loop<'s>,
    start: LockedBuffer<f32>,
    output: LockedBuffer<f32>,
}

impl<'s> CheckedLoop<'s> {
    fn new(streams: &'s [Stream], touched: usize) -> anyhow::Result<Self> {
        let mut start = LockedBuffer::new(&0.0, streams.len() * touched)?;
        START.fill_f32(0, &mut start);
        let output = LockedBuffer::new(&0.0, start.len())?;
        Ok(Self { of: Loop::new(streams, touched)?, start, output })
    }
}

impl Workload for CheckedLoop<'_> {
    fn poison(&mut self) -> anyhow::Result<()> {
        let stream = &self.of.streams[0];
        // SAFETY: page-locked memory that outlives the copy.
        unsafe { self.of.results.async_copy_from(&self.start[..], stream)? };
        Ok(stream.synchronize()?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let stream = &self.of.streams[0];
        check::poison(&mut self.output);
        // SAFETY: page-locked memory that is read behind the wait.
        unsafe { self.of.results.async_copy_to(&mut self.output[..], stream)? };
        stream.synchronize()?;
        let expected = |index: usize| {
            let steps = (index / self.of.touched..STEPS).step_by(self.of.streams.len());
            let number = |step| (step + 1) as f32 / 64.0;
            steps.fold(START.f32(index), |sum, step| 0.5_f32.mul_add(number(step), sum))
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
    let mut work = CheckedLoop::new(streams, touched)?;
    let plural = if streams.len() == 1 { "" } else { "s" };
    let group = Label::new(
        format!("loop/streams-{}", streams.len()),
        format!("{} stream{plural}", streams.len()),
    );
    let plan = Plan::new().launches(2 * STEPS, 2 * STEPS * touched);
    // For all streams, behind each batch. With cuMemAlloc each step waits before it frees, and cuMemFree waits itself.
    let waits = STEPS / BATCH * streams.len();
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
            timed_by_host(("malloc", "cuMemAlloc"), move |work: &mut CheckedLoop| {
                work.of.malloc(elements)
            })
            .waits(waits + 2 * STEPS),
            timed_by_host("pool-threshold-0", move |work: &mut CheckedLoop| {
                work.of.pool(elements, &returning)
            })
            .waits(waits),
            timed_by_host("pool-threshold-max", move |work: &mut CheckedLoop| {
                work.of.pool(elements, &keeping)
            })
            .waits(waits),
            timed_by_host("pool-own-stream", move |work: &mut CheckedLoop| {
                work.of.pool(elements, &own_stream)
            })
            .waits(waits),
            timed_by_host("once", move |work: &mut CheckedLoop| work.of.once(&once)).waits(waits),
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
