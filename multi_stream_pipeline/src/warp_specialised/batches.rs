//! The gain of the streams around the kernel: batches on 1, 2 and 4 of them, each batch in memory from a pool.

use super::forms::{Form, Forms};
use crate::verdicts::rounds;
use anyhow::Result;
use cuda_host::{MemoryPool, prelude::*};
use cust::context::CurrentContext;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::alone::{each, together};
use examples_host::few_values::{Batch, Expected};
use examples_host::part_option::PartOption::Size;
use examples_host::prelude::*;
use std::ops::Range;

const DATA: Batch = Batch::new(32);
/// Blocks per multiprocessor.
const BLOCKS: u32 = 2;

/// The batches on the host, the pool, and two buffers to time stages with.
struct Work<'f> {
    forms: &'f Forms,
    pool: MemoryPool,
    rounds: u32,
    input: LockedBuffer<f32>,
    output: LockedBuffer<f32>,
    batches: Vec<Range<usize>>,
    arriving: DeviceBuffer<f32>,
    leaving: DeviceBuffer<f32>,
    expected: Expected,
}

impl<'f> Work<'f> {
    fn new(forms: &'f Forms, elements: usize, count: usize, rounds: u32) -> Result<Self> {
        let pool = MemoryPool::new(CurrentContext::get_device()?)?;
        // What one run has freed is there for the next, and each stream keeps to its own: looking for memory of other streams
        // costs the host time, and memory that crosses makes one stream wait for the other.
        pool.set_release_threshold(u64::MAX)?;
        pool.allow_only(&[])?;
        let mut input = LockedBuffer::new(&0.0, elements)?;
        DATA.fill(&mut input);
        let batches = chunks::ranges::<f32>(elements, count)?;
        Ok(Self {
            forms,
            pool,
            rounds,
            input,
            output: LockedBuffer::new(&0.0, elements)?,
            arriving: DeviceBuffer::zeroed(batches[0].len())?,
            leaving: DeviceBuffer::zeroed(batches[0].len())?,
            batches,
            expected: rounds::after(rounds),
        })
    }

    /// Everything about one batch, in one stream: its memory, too, comes and goes in the order of the stream.
    fn batch(&mut self, batch: usize, form: Form, stream: &Stream) -> Result<()> {
        let batch = self.batches[batch].clone();
        // SAFETY: all uses of the memory are in this stream; input and output are page-locked and outlive the pass.
        unsafe {
            let mut data = self.pool.alloc_async(batch.len(), stream)?;
            let mut result = self.pool.alloc_async(batch.len(), stream)?;
            data.async_copy_from(&self.input[batch.clone()], stream)?;
            self.forms.launch(form, BLOCKS, (&data, &mut result), self.rounds, stream)?;
            result.async_copy_to(&mut self.output[batch], stream)?;
            data.drop_async(stream)?;
            result.drop_async(stream)?;
        }
        Ok(())
    }

    /// All batches, the streams round-robin.
    fn pass(&mut self, form: Form, streams: &[Stream]) -> Result<()> {
        for batch in 0..self.batches.len() {
            self.batch(batch, form, &streams[batch % streams.len()])?;
        }
        Ok(())
    }

    fn copy_in(&mut self, batch: usize, stream: &Stream) -> Result<()> {
        let batch = self.batches[batch].clone();
        let mut data = self.arriving.index(..batch.len());
        // SAFETY: the input is page-locked and outlives the pass.
        unsafe { data.async_copy_from(&self.input[batch], stream)? };
        Ok(())
    }

    fn copy_out(&mut self, batch: usize, stream: &Stream) -> Result<()> {
        let batch = self.batches[batch].clone();
        let result = self.leaving.index(..batch.len());
        // SAFETY: the output is page-locked, outlives the pass, and is read behind it.
        unsafe { result.async_copy_to(&mut self.output[batch], stream)? };
        Ok(())
    }

    fn kernel(&mut self, batch: usize, form: Form, stream: &Stream) -> Result<()> {
        let data = self.arriving.index(..self.batches[batch].len());
        let mut result = self.leaving.index(..self.batches[batch].len());
        let arrays = (&data, &mut result);
        // SAFETY: both buffers outlive the pass.
        unsafe { self.forms.launch(form, BLOCKS, arrays, self.rounds, stream) }
    }
}

impl Workload for Work<'_> {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.output);
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let expected = |index| self.expected.of(DATA, index);
        Ok(check::equal("the output", 0, &self.output, expected)?)
    }
}

/// Compares the variants, one change at a time: `form` against the unspecialised one, and more streams.
pub fn compare(part: &mut Part, forms: &Forms, form: Form, rounds: u32) -> Result<()> {
    let all = stream::non_blocking_named(["A", "B", "C", "D"])?;
    let [a, b, ..] = &all;
    // On a GPU enough that filling and draining the pipeline does not count; on a model as much as is soon interpreted.
    let lines = part.elements_by_times::<[f32; 32]>(ByteSize::mib(512), ByteSize::mib(16))?;
    let (elements, bytes) = (32 * lines, lines * size_of::<[f32; 32]>());
    // Batches of 4 MiB, unless they are too few to fill the pipeline or needlessly many.
    let count = part.chunks((elements >> 20).clamp(32, 128), lines)?;
    let mut work = Work::new(forms, elements, count, rounds)?;

    let stages = [
        each(count, a, Work::copy_in),
        each(count, a, |work: &mut Work, batch, stream: &Stream| work.kernel(batch, form, stream)),
        each(count, b, Work::copy_out),
        together(count, [a, b], [Work::copy_in, Work::copy_out]),
    ];
    let mut alone = part.alone_in_turn(&mut work, stages)?;
    let stages = alone.stages();
    part.say(format!(
        "Around the kernel, {count} batches of {} with {rounds} rounds: copies in {}, kernels {}, copies out {};\n\
         both directions together {}. On one stream they take the sum, on several the longest: whatever the kernel\n\
         gained is hidden behind the copies.",
        units::bytes(bytes.div_ceil(count) as u64),
        units::time(stages.copy_in),
        units::time(stages.kernel),
        units::time(stages.copy_out),
        units::time(stages.both_copies),
    ));
    // Before the comparison, so that every variant finds the pool filled.
    work.pass(form, &all)?;
    CurrentContext::synchronize()?;

    let plan = Plan::new().copies(bytes).launches(count, elements).threads_differ();
    let (one, two, four, plain) = (&all[..1], &all[..2], &all[..], Form::Unspecialised);
    let variants = variants! { work: Work;
        ("unspecialised/streams-1", "unspecialised, 1 stream"), one => work.pass(plain, one);
        ("specialised/streams-1", "specialised, 1 stream"), one => work.pass(form, one);
        ("specialised/streams-2", "specialised, 2 streams"), two => work.pass(form, two);
        ("specialised/streams-4", "specialised, 4 streams"), four => work.pass(form, four);
        ("unspecialised/streams-4", "unspecialised, 4 streams"), four => work.pass(plain, four);
    };
    let outcomes = part.compare_bounded("variants", plan, &mut work, &mut alone, variants)?;
    let stages = alone.stages();
    part.say(format!("Specialised here: {form}."));
    let disturbed = alone.disturbed_link();
    part.show_bounded(&outcomes, &stages, disturbed);
    let [_, one, _, four, _] = &outcomes;
    part.chart(&four.name, &four.recording, Rows::Engines);
    part.chart(&one.name, &one.recording, Rows::Engines);

    let near = four.reached(&stages).at_least(required_share(bytes));
    expect! { part;
        "faster/streams-4", "4 streams are faster than 1" => four.speedup_over(one).at_least(1.3);
        "near-bound/streams-4", "4 streams come near the bound" =>
            near.for_any(&[Size]).unless_disturbed(disturbed);
    }
    Ok(())
}

/// Starting copies, filling and draining cost the less, the more data there is. How fast the host enqueues counts too: one H200
/// reached 96 % with 512 MiB, another, with a slower host, 92 to 95 %.
fn required_share(bytes: usize) -> f64 {
    match bytes >> 20 {
        512.. => 0.9,
        256.. => 0.88,
        64.. => 0.8,
        16.. => 0.6,
        _ => 0.3,
    }
}
