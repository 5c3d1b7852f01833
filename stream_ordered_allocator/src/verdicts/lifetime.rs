//! Measurements and claims of the part `lifetime`.

use super::given::Given;
use crate::lifetime::{A, LifetimeTest, Places};
use cuda_host::prelude::*;
use examples_host::ordered::last_end;
use examples_host::prelude::*;
use gpu_kernels::{Signature as _, saxpy};

const BATCH: Seed = Seed::new(41);
const NEXT_BATCH: Seed = Seed::new(42);
const RESULT: Seed = Seed::new(43);
/// Batches, results and what they are checked with.
const BUFFERS: usize = 4;

impl Workload for LifetimeTest {
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

/// The memory that the next batch got.
fn given(places: anyhow::Result<Places>) -> anyhow::Result<Given> {
    let [freed, next] = places?;
    Ok(Given::at(next, freed))
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "Behind an event the memory keeps its contents until the reader's kernel has read them, and the writer's next\n\
         batch waits as long. Freed by the reader the memory keeps them too, and the writer gets other memory at once.",
    );
    let elements = part.bytes_of_each::<f32>(BUFFERS, ByteSize::mib(1))? / size_of::<f32>();
    let program = &mut LifetimeTest::new(elements)?;
    BATCH.fill_f32(0, &mut program.batch);
    NEXT_BATCH.fill_f32(0, &mut program.next);
    let event = Label::new("event", "an event");
    let by_reader = Label::new("freed-by-reader", "freed by the reader");
    let behind = part.ordered(&event, program, |program| given(program.free_behind_an_event()))?;
    let at_once =
        part.ordered(&by_reader, program, |program| given(program.free_in_the_reader()))?;

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
