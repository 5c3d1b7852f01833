//! The gain of the streams around the kernel: batches on 1, 2 and 4 of them.

mod stages;

use crate::forms::{Form, Forms};
use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use examples_host::alone::{each, together};
use examples_host::part_option::PartOption::Size;
use examples_host::prelude::*;
use stages::StageBatches;

/// Compares the variants, one change at a time: `form` against the unspecialised one, and more streams.
pub fn compare(part: &mut Part, forms: &Forms, form: Form, rounds: u32) -> Result<()> {
    let all = stream::non_blocking_named(["A", "B", "C", "D"])?;
    let [a, b, ..] = &all;
    // On a GPU enough that filling and draining the pipeline does not count; on a model as much as is soon interpreted.
    let lines = part.elements_by_times::<[f32; 32]>(ByteSize::mib(512), ByteSize::mib(16))?;
    let (elements, bytes) = (32 * lines, lines * size_of::<[f32; 32]>());
    // Batches of 4 MiB, unless they are too few to fill the pipeline or needlessly many.
    let count = part.chunks((elements >> 20).clamp(32, 128), lines)?;
    let mut work = StageBatches::new(forms, elements, count, rounds)?;

    let stages = [
        each(count, a, StageBatches::copy_in),
        each(count, a, |work: &mut StageBatches, batch, stream: &Stream| {
            work.kernel(batch, form, stream)
        }),
        each(count, b, StageBatches::copy_out),
        together(count, [a, b], [StageBatches::copy_in, StageBatches::copy_out]),
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
    work.of.pass(form, &all)?;
    CurrentContext::synchronize()?;

    let plan = Plan::new().copies(bytes).launches(count, elements).threads_differ();
    let (one, two, four, plain) = (&all[..1], &all[..2], &all[..], Form::Unspecialised);
    let variants = variants! { work: StageBatches, differ in Streams;
        ("unspecialised/streams-1", "unspecialised, 1 stream"), one => work.of.pass(plain, one), also Kernels, Launches;
        ("specialised/streams-1", "specialised, 1 stream"), one => work.of.pass(form, one);
        ("specialised/streams-2", "specialised, 2 streams"), two => work.of.pass(form, two);
        ("specialised/streams-4", "specialised, 4 streams"), four => work.of.pass(form, four);
        ("unspecialised/streams-4", "unspecialised, 4 streams"), four => work.of.pass(plain, four), also Kernels, Launches;
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
