//! lifetime: memory is freed in one stream while another one still uses it.
//!
//! A free in stream order takes effect when its own stream comes to it; what other streams do does not hold it up.
//! The writer's next allocation gets the memory at once, and the reader finds what the next batch has put there:
//!
//! ```text
//! no event         writer |alloc HHHH             free alloc  HHHH FFFF
//!                  reader |          other work other work other work  KKKK
//!
//! an event         writer |alloc HHHH                                       free alloc  HHHH FFFF
//!                  reader |          other work other work other work  KKKK
//!
//! freed by reader  writer |alloc HHHH             alloc  HHHH FFFF
//!                  reader |          other work other work other work  KKKK free
//! ```
//!
//! An event orders the free behind the reader's kernel. Better is to free the memory in the stream that used it last,
//! which is what dropping a buffer does: then nobody waits, and the pool looks for other memory meanwhile. A racy program
//! that the software GPU's checker does not report, or a wrong result of an ordered one, would prove this wrong.

use crate::bytes_of_each;
use crate::kernels::Kernels;
use examples_host::check::Mismatch;
use examples_host::prelude::*;
use gpu_kernels::SM_70;

const BATCH: Seed = Seed::new(41);
const NEXT_BATCH: Seed = Seed::new(42);
const RESULT: Seed = Seed::new(43);
const A: f32 = 2.0;
/// Half a millisecond: longer than the writer needs to store its next batch.
const OTHER_WORK: u32 = 1 << 18;
/// Batches, results and what they are checked with.
const BUFFERS: usize = 4;
/// How the checker calls the two operations that nothing orders.
const BOTH_OPERATIONS: [&str; 2] = ["kernel `saxpy`", "free"];

fn expected(index: usize) -> f32 {
    A.mul_add(BATCH.f32(index), RESULT.f32(index))
}

/// Where the memory is freed, and behind what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freed {
    Unordered,
    BehindEvent,
    WhereUsed,
}

impl Freed {
    const ALL: [Self; 3] = [Self::Unordered, Self::BehindEvent, Self::WhereUsed];

    fn id(self) -> &'static str {
        match self {
            Self::Unordered => "no-event",
            Self::BehindEvent => "event",
            Self::WhereUsed => "freed-by-reader",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Unordered => "no event",
            Self::BehindEvent => "an event",
            Self::WhereUsed => "freed by the reader",
        }
    }
}

/// What one program left.
struct Found {
    result: Result<Checked, Mismatch>,
    /// The next batch lies where the first one did.
    same_memory: bool,
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "Freed by the writer without an event, the memory gets its next contents before the reader's kernel has read it.\n\
         Behind an event it does not. Freed by the reader it does not either, and the writer gets other memory at once.",
    );
    let mut table = Table::new(["variant", "next batch in", "result"]);
    let mut racy = Watched::Unchecked;
    for freed in Freed::ALL {
        let (outcome, watched) = part.watch(|| recorded(part.device(), || program(part, freed)));
        let (found, recording) = outcome?;
        part.keep((freed.id(), freed.name()), &recording);
        let memory = match found.same_memory {
            true => "the same memory",
            false => "other memory",
        };
        let result = found.result.as_ref().map_or_else(|_| "wrong", |_| "right");
        table.row([freed.name(), memory, result]);
        match freed {
            Freed::Unordered => {
                judge_racy(part, &found, &watched);
                racy = watched;
            }
            _ => judge_ordered(part, freed, &found, &watched),
        }
    }
    part.say(table);
    show(part, &racy);
    Ok(())
}

/// A batch written by one stream and read by another, freed, and the next batch.
fn program(part: &Part, freed: Freed) -> anyhow::Result<Found> {
    let bytes = bytes_of_each::<f32>(part, BUFFERS, ByteSize::mib(1))?;
    let (device, elements) = (part.device(), bytes / size_of::<f32>());
    let kernels = Kernels::load(device, SM_70)?;
    let writer = Stream::non_blocking(device, "writer")?;
    let reader = Stream::non_blocking(device, "reader")?;
    let batch = |seed: Seed| -> Result<_> {
        let mut batch = HostBuffer::page_locked(device, elements)?;
        seed.fill_f32(0, batch.write()?);
        Ok(batch)
    };
    let (first, second) = (batch(BATCH)?, batch(NEXT_BATCH)?);
    let mut output = batch(RESULT)?;
    let mut sum = DeviceBuffer::new(&reader, elements)?;
    let mut other = DeviceBuffer::new(&reader, 32)?;
    // The driver may load a kernel when it is first launched, which takes longer than the reader is to be busy.
    kernels.fill(&mut other, 0.0)?;
    kernels.keep_busy(&mut other, 1)?;
    kernels.fill(&mut sum, 0.0)?;
    kernels.add_scaled(A, &other, &mut sum)?;
    sum.copy_from(&output)?;
    reader.synchronize()?;
    let pool = MemoryPool::new(device)?;

    let mut memory = pool.allocate(&writer, elements)?;
    memory.copy_from(&first)?;
    memory.hand_to(&reader)?;
    kernels.keep_busy(&mut other, OTHER_WORK)?;
    kernels.add_scaled(A, &memory, &mut sum)?;
    let address = memory.address();
    match freed {
        // SAFETY: stale bytes are numbers too, and that the result is wrong is what the variant shows.
        Freed::Unordered => unsafe { memory.assume_ordered_on(&writer) },
        Freed::BehindEvent => memory.hand_to(&writer)?,
        Freed::WhereUsed => {}
    }
    // Freed in the stream that it belongs to.
    drop(memory);
    let mut next = pool.allocate(&writer, elements)?;
    next.copy_from(&second)?;
    kernels.fill(&mut next, 1.0)?;

    sum.copy_to(&mut output)?;
    let result = check::equal("the result", 0, output.read()?, expected);
    let same_memory = next.address() == address;
    drop(next);
    device.synchronize()?;
    Ok(Found {
        result,
        same_memory,
    })
}

/// On a GPU nobody sees the race, and the result may be right by luck: nothing is claimed there.
fn judge_racy(part: &mut Part, found: &Found, watched: &Watched) {
    let Watched::Checked(reports) = watched else {
        return;
    };
    let named = |text: &str| BOTH_OPERATIONS.iter().all(|name| text.contains(name));
    let reported = reports.iter().any(|report| named(&report.text));
    let made = plural(reports.len());
    let limit = format!("one that names {}", BOTH_OPERATIONS.join(" and "));
    part.claim(
        "reported/no-event",
        "no event: the checker reports it",
        reported,
        made,
        limit,
    );
    let result = match &found.result {
        Ok(_) => "it is right".to_owned(),
        Err(mismatch) => mismatch.to_string(),
    };
    let wrong = found.result.is_err();
    part.claim(
        "wrong/no-event",
        "no event: the result is wrong",
        wrong,
        result,
        "in every run",
    );
}

fn judge_ordered(part: &mut Part, freed: Freed, found: &Found, watched: &Watched) {
    let name = freed.name();
    let sentence = format!("{name}: every element is right");
    part.claim_right(
        format!("elements/{}", freed.id()),
        &sentence,
        "elements",
        &found.result,
    );
    if let Watched::Checked(reports) = watched {
        let (sentence, silent) = (format!("{name}: the checker is silent"), reports.is_empty());
        part.claim(
            format!("silent/{}", freed.id()),
            &sentence,
            silent,
            plural(reports.len()),
            "none",
        );
    }
}

fn show(part: &mut Part, racy: &Watched) {
    match racy {
        Watched::Unchecked => part.say(
            "Nobody looks for the missing order here: add --device software, and leave --races on.",
        ),
        Watched::Checked(reports) => {
            for report in reports {
                part.say(&report.text);
            }
        }
    }
}

fn plural(reports: usize) -> String {
    match reports {
        1 => "1 report".to_owned(),
        more => format!("{more} reports"),
    }
}
