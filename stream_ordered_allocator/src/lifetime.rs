//! lifetime: where to free memory that another stream still uses?
//!
//! A free in stream order takes effect when its own stream comes to it; what other streams do does not hold it up. The
//! writer's next allocation may get the memory at once. So something has to order the free behind the reader's kernel:
//!
//! ```text
//! an event         writer |alloc HHHH                                       free alloc  HHHH FFFF
//!                  reader |          other work other work other work  KKKK
//!
//! freed by reader  writer |alloc HHHH alloc  HHHH FFFF
//!                  reader |          other work other work other work  KKKK free
//! ```
//!
//! An event makes the writer wait for the reader, its next batch included. Better is to free the memory in the stream
//! that uses it last: then nobody waits, and the pool finds other memory meanwhile. A result that is wrong, or a report of
//! the software GPU's race checker, would prove this wrong. (What happens with no order at all is shown by stream_hazards,
//! free-without-order.)

use cuda_host::pool::MemoryPool;
use cuda_host::{StreamExt, kernels, launch, stream};
use cust::context::CurrentContext;
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, DevicePointer, LockedBuffer};
use cust::stream::Stream;
use examples_host::ordered::last_end;
use examples_host::prelude::*;
use examples_host::reuse::Given;
use gpu_kernels::{Signature as _, saxpy};

kernels! { use gpu_kernels::{affine_rounds, fill, saxpy}; }

const BATCH: Seed = Seed::new(41);
const NEXT_BATCH: Seed = Seed::new(42);
const RESULT: Seed = Seed::new(43);
const A: f32 = 2.0;
/// Half a millisecond: longer than the writer needs to store its next batch.
const OTHER_WORK: u32 = 1 << 18;
/// Batches, results and what they are checked with.
const BUFFERS: usize = 4;

struct Program {
    writer: Stream,
    reader: Stream,
    written: Event,
    read: Event,
    pool: MemoryPool,
    batch: LockedBuffer<f32>,
    next_batch: LockedBuffer<f32>,
    output: LockedBuffer<f32>,
    sum: DeviceBuffer<f32>,
    other: DeviceBuffer<f32>,
    kernels: Kernels,
}

impl Program {
    /// The writer frees the memory, behind an event of the reader.
    fn free_behind_an_event(&mut self) -> anyhow::Result<Given> {
        let memory = self.write_and_read()?;
        self.read.record(&self.reader)?;
        self.writer.wait(&self.read)?;
        let freed = memory.as_device_ptr();
        memory.drop_async(&self.writer)?;
        Ok(Given::at(self.write_next()?, freed))
    }

    /// The reader frees the memory: its own order is enough.
    fn free_in_the_reader(&mut self) -> anyhow::Result<Given> {
        let memory = self.write_and_read()?;
        let freed = memory.as_device_ptr();
        memory.drop_async(&self.reader)?;
        Ok(Given::at(self.write_next()?, freed))
    }

    /// A batch that the writer stores, and the reader adds to its sum when it has done other work.
    fn write_and_read(&mut self) -> anyhow::Result<DeviceBuffer<f32>> {
        let elements = self.output.len();
        let blocks = elements.div_ceil(256) as u32;
        // SAFETY: the reader waits for the writer, and the memory is freed behind both.
        unsafe {
            let mut memory = self.pool.alloc_async::<f32>(elements, &self.writer)?;
            memory.async_copy_from(&self.batch[..], &self.writer)?;
            self.written.record(&self.writer)?;
            self.reader.wait(&self.written)?;
            launch!(self.kernels.affine_rounds<<<1, 32, 0, self.reader>>>(&mut self.other, 1.0, 0.0, OTHER_WORK))?;
            launch!(self.kernels.saxpy<<<blocks, 256, 0, self.reader>>>(A, &memory, &mut self.sum))?;
            Ok(memory)
        }
    }

    /// The next batch, in other memory or the same. Returns where.
    fn write_next(&mut self) -> anyhow::Result<DevicePointer<f32>> {
        let elements = self.output.len();
        let blocks = elements.div_ceil(256) as u32;
        // SAFETY: the memory is used in the stream of its allocation; the host reads the sum behind the wait.
        unsafe {
            let mut next = self.pool.alloc_async::<f32>(elements, &self.writer)?;
            let address = next.as_device_ptr();
            next.async_copy_from(&self.next_batch[..], &self.writer)?;
            launch!(self.kernels.fill<<<blocks, 256, 0, self.writer>>>(&mut next, 1.0))?;
            next.drop_async(&self.writer)?;
            self.sum.async_copy_to(&mut self.output[..], &self.reader)?;
            self.reader.synchronize()?;
            Ok(address)
        }
    }

    fn new(elements: usize) -> anyhow::Result<Self> {
        let [writer, reader] = stream::non_blocking_named(["writer", "reader"])?;
        let mut batch = LockedBuffer::new(&0.0, elements)?;
        BATCH.fill_f32(0, &mut batch);
        let mut next_batch = LockedBuffer::new(&0.0, elements)?;
        NEXT_BATCH.fill_f32(0, &mut next_batch);
        Ok(Self {
            writer,
            reader,
            written: Event::new(EventFlags::DISABLE_TIMING)?,
            read: Event::new(EventFlags::DISABLE_TIMING)?,
            pool: MemoryPool::new(CurrentContext::get_device()?)?,
            batch,
            next_batch,
            output: LockedBuffer::new(&0.0, elements)?,
            // SAFETY: each run starts by filling it.
            sum: unsafe { DeviceBuffer::uninitialized(elements)? },
            // SAFETY: as above.
            other: unsafe { DeviceBuffer::uninitialized(32)? },
            kernels: Kernels::load(gpu_kernels::SM_70)?,
        })
    }
}

impl Workload for Program {
    fn poison(&mut self) -> anyhow::Result<()> {
        RESULT.fill_f32(0, &mut self.output);
        // SAFETY: the buffers outlive the wait.
        unsafe {
            self.sum.async_copy_from(&self.output[..], &self.reader)?;
            self.other.set_8_async(0, &self.reader)?;
        }
        Ok(self.reader.synchronize()?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let expected = |index| A.mul_add(BATCH.f32(index), RESULT.f32(index));
        Ok(check::equal("the sum", 0, &self.output, expected)?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "Behind an event the memory keeps its contents until the reader's kernel has read them, and the writer's next\n\
         batch waits as long. Freed by the reader the memory keeps them too, and the writer gets other memory at once.",
    );
    let elements = part.bytes_of_each::<f32>(BUFFERS, ByteSize::mib(1))? / size_of::<f32>();
    let program = &mut Program::new(elements)?;
    let event = Label::new("event", "an event");
    let by_reader = Label::new("freed-by-reader", "freed by the reader");
    let behind = part.ordered(&event, program, Program::free_behind_an_event)?;
    let at_once = part.ordered(&by_reader, program, Program::free_in_the_reader)?;

    let mut table = Table::new(["variant", "the next batch gets", "and is stored by"]);
    for (label, (given, recording)) in [(&event, &behind), (&by_reader, &at_once)] {
        let stored = last_end(recording, Engine::HostToDevice);
        table.row([label.to_string(), given.to_string(), units::time(stored)]);
    }
    part.say(table);
    let reads = |recording: &Recording| recording.spans(|interval| interval.name == saxpy::NAME);
    let ends = |recording| reads(recording).last().map_or(0, |span| span.end);
    let stored = |recording| last_end(recording, Engine::HostToDevice).as_nanos() as u64;
    let [later, at_once_too] =
        [&behind.1, &at_once.1].map(|recording| stored(recording) > ends(recording));
    let (before, after) = ("before the reader has read", "after the reader has read");
    let found = |later| if later { after } else { before };
    expect! { part;
        "waits/event", "an event: the next batch is stored behind the reader's kernel" => truth(later, found(later), after);
        "at-once/freed-by-reader", "freed by the reader: the next batch does not wait for the reader" =>
            truth(!at_once_too, found(at_once_too), before);
    }
    part.chart(&by_reader, &at_once.1, Rows::Streams);
    part.chart(&event, &behind.1, Rows::Streams);
    part.take_away("Free memory in the stream that uses it last: no event, and no stream waits.");
    Ok(())
}
