//! issue-order: does it matter in which order independent chains of work are issued?
//!
//! Eight streams each copy a chunk in, run a small, long kernel on it and, in the second half of the part, copy the
//! chunk out again. Depth-first issues one stream's whole chain, then the next stream's; breadth-first issues all copies
//! in, then all kernels, then all copies out:
//!
//! ```text
//! depth-first    H0 K0 D0  H1 K1 D1  H2 K2 D2 ..
//! breadth-first  H0 H1 H2 ..  K0 K1 K2 ..  D0 D1 D2 ..
//! ```
//!
//! Only the order within a stream is a dependency. A device that looks at the heads of all streams treats both orders
//! alike: the copies in one after the other, then the last one's kernel, then its copy out. A device that feeds several
//! streams through one queue, or both directions through one engine, cannot: then the orders differ, and the charts show
//! which stream waits for which.

use cuda_host::{kernels, launch, prelude::*};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::part_option::PartOption::Chunks;
use examples_host::prelude::{ByteSize, Checked, Engine, Label, Part, Plan, Rows, Seed, Workload};
use examples_host::prelude::{check, chunks, expect, time, units, variants};
use gpu_kernels::{FACTOR, SUMMAND};
use std::ops::Range;
use std::time::Duration;

kernels! { use gpu_kernels::affine_rounds; }

/// Threads of a kernel, and elements that it changes: one warp's. So it is small, and many rounds make it long.
const HEAD: u32 = 32;
const ROUNDS: u32 = 25_000;
const DATA: Seed = Seed::new(2);

/// Page-locked data, and for each chunk a stream and a device buffer.
struct Chains<'s> {
    streams: &'s [Stream],
    kernels: Kernels,
    input: LockedBuffer<f32>,
    output: LockedBuffer<f32>,
    chunks: Vec<Range<usize>>,
    data: Vec<DeviceBuffer<f32>>,
    /// Whether the chains copy out as well.
    both_ways: bool,
}

impl Chains<'_> {
    fn copy_in(&mut self, chain: usize, stream: &Stream) -> anyhow::Result<()> {
        let chunk = &self.input[self.chunks[chain].clone()];
        // SAFETY: the input is page-locked and outlives the run.
        unsafe { self.data[chain].async_copy_from(chunk, stream)? };
        Ok(())
    }

    fn compute(&mut self, chain: usize, stream: &Stream) -> anyhow::Result<()> {
        let (kernels, data) = (&self.kernels, &mut self.data[chain]);
        // SAFETY: the buffer outlives the run, and the kernel changes no more elements than it has threads.
        unsafe {
            launch!(kernels.affine_rounds<<<1, HEAD, 0, stream>>>(data, FACTOR, SUMMAND, ROUNDS))?
        };
        Ok(())
    }

    fn copy_out(&mut self, chain: usize, stream: &Stream) -> anyhow::Result<()> {
        let chunk = &mut self.output[self.chunks[chain].clone()];
        // SAFETY: the output is page-locked, outlives the run, and is read when the host has waited for it.
        unsafe { self.data[chain].async_copy_to(chunk, stream)? };
        Ok(())
    }

    /// One stream's whole chain, then the next stream's.
    fn depth_first(&mut self) -> anyhow::Result<()> {
        for (chain, stream) in self.streams.iter().enumerate() {
            self.copy_in(chain, stream)?;
            self.compute(chain, stream)?;
            if self.both_ways {
                self.copy_out(chain, stream)?;
            }
        }
        Ok(())
    }

    /// All copies in, then all kernels, then all copies out.
    fn breadth_first(&mut self) -> anyhow::Result<()> {
        self.all(Self::copy_in)?;
        self.all(Self::compute)?;
        if self.both_ways {
            self.all(Self::copy_out)?;
        }
        Ok(())
    }

    /// One step of all chains, each in its stream.
    fn all(&mut self, step: Step<Self>) -> anyhow::Result<()> {
        for (chain, stream) in self.streams.iter().enumerate() {
            step(self, chain, stream)?;
        }
        Ok(())
    }
}

type Step<W> = fn(&mut W, usize, &Stream) -> anyhow::Result<()>;

impl Workload for Chains<'_> {
    fn poison(&mut self) -> anyhow::Result<()> {
        check::poison(&mut self.output);
        for data in &mut self.data {
            data.set_8(0xFF)?;
        }
        Ok(())
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        if !self.both_ways {
            self.all(Self::copy_out)?;
            for stream in self.streams {
                stream.synchronize()?;
            }
        }
        let mut checked = Checked::default();
        for chunk in &self.chunks {
            let rounds = |i: usize| if i < chunk.start + HEAD as usize { ROUNDS } else { 0 };
            let expected = |i| (0..rounds(i)).fold(DATA.f32(i), |x, _| x.mul_add(FACTOR, SUMMAND));
            let found = &self.output[chunk.clone()];
            checked = checked.and(check::equal("the output", chunk.start, found, expected)?);
        }
        Ok(checked)
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let elements = part.elements_by_times::<f32>(ByteSize::mib(64), ByteSize::mib(16))?;
    let streams = &stream::non_blocking_numbered(part.chunks(8, elements)?)?[..];
    let (n, first) = (streams.len(), &streams[0]);
    let ranges = chunks::ranges::<f32>(elements, n)?;
    let buffers = ranges.iter().map(|chunk| DeviceBuffer::zeroed(chunk.len()));
    let mut work = Chains {
        streams,
        kernels: Kernels::load(gpu_kernels::SM_70)?,
        input: LockedBuffer::new(&0.0, elements)?,
        output: LockedBuffer::new(&0.0, elements)?,
        data: buffers.collect::<Result<_, _>>()?,
        chunks: ranges,
        both_ways: false,
    };
    DATA.fill_f32(0, &mut work.input);

    let h = part.alone(streams, || work.all(Chains::copy_in))?;
    let k = part.alone([first], || work.compute(0, first))?;
    let copies = part.alone(streams, || {
        work.all(Chains::copy_in)?;
        work.all(Chains::copy_out)
    })?;
    let (one_way, both_ways) = (h + k, copies + k);
    let [h, k, copies, in_only, in_and_out] = [h, k, copies, one_way, both_ways].map(units::time);
    part.predict(format!(
        "Alone: all {n} copies in {h}, one kernel {k}, all copies in and out {copies}.\n\
         Either order takes the copies in and a kernel, {in_only}; if the streams also\n\
         copy out, the copies of both directions and a kernel, {in_and_out}."
    ));

    let bytes = elements * size_of::<f32>();
    let plan = Plan::new().bytes_in(bytes).launches(n, elements);
    orders(part, &mut work, ("in-kernel", plan), one_way)?;
    work.both_ways = true;
    orders(part, &mut work, ("in-kernel-out", plan.bytes_out(bytes)), both_ways)?;
    part.take_away("Order within a stream is a dependency; order of issue is up to the device.");
    Ok(())
}

/// Compares the two orders of issuing the same chains.
fn orders(
    part: &mut Part,
    work: &mut Chains,
    (group, plan): (&'static str, Plan),
    predicted: Duration,
) -> anyhow::Result<()> {
    let ways = ["one direction", "both directions"][usize::from(work.both_ways)];
    let name = |order: &'static str| (order, format!("{order}, {ways}"));
    let streams = work.streams;
    let variants = variants! { work: Chains<'_>;
        name("depth-first"), streams => work.depth_first();
        name("breadth-first"), streams => work.breadth_first();
    };
    let outcomes = part.compare(group, plan, work, variants)?;
    part.say(format!("{plan}:"));
    part.show(&outcomes);
    // The last chain's kernel has no copy in beside it.
    let least = 0.6 * (1.0 - 1.0 / work.streams.len() as f64);
    for outcome in &outcomes {
        let Label { id, text: name } = &outcome.name;
        part.chart(&outcome.name, &outcome.recording, Rows::Streams);
        let beside = outcome.overlap(Engine::Kernel, Engine::HostToDevice);
        expect! { part;
            "{group}/kernels-beside-copies/{id}", "{name}: kernels run during copies in" => beside.at_least(least).for_any(&[Chunks]);
            "{group}/as-predicted/{id}", "{name} takes as long as predicted" => time(outcome.times.min()).near(predicted, 0.25);
        }
    }
    part.say_whether_order_matters(&outcomes);
    Ok(())
}
