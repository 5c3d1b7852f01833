//! The gain of the streams around the kernel: batches on 1, 2 and 4 of them.

use super::batches::Batches;
use super::forms::{Form, Forms};
use super::intensity::Balance;
use crate::data::{Line, elements_of};
use examples_host::prelude::*;

/// Enough for the time to fill and drain the pipeline not to count.
const MEASURED: ByteSize = ByteSize::mib(512);
/// As much as can be interpreted in little time.
const MODELLED: ByteSize = ByteSize::mib(16);

/// Compares the variants, one change at a time, and makes the claims.
pub fn compare(part: &mut Part, forms: &Forms, balance: &Balance) -> anyhow::Result<()> {
    let device = part.device();
    let stream = |name: &str| Stream::non_blocking(device, name);
    let streams = [stream("A")?, stream("B")?, stream("C")?, stream("D")?];
    let streams = streams.each_ref();
    let lines = part.elements_by_times::<Line>(MEASURED, MODELLED)?;
    let elements = elements_of(lines);
    let count = part.chunks(usual_count(elements), lines)?;
    let &Balance { rounds, fastest } = balance;
    let mut batches = Batches::new(device, forms, elements, count, rounds)?;

    let stages = batches.stages_alone(part, fastest, [streams[0], streams[1]])?;
    part.say(format!(
        "Around the kernel, {count} batches of {} with {rounds} rounds: copies in {}, kernels {}, copies out {};\n\
         both directions together {}. On one stream they take the sum, on several the longest: whatever the kernel\n\
         gained is hidden behind the copies.",
        units::bytes(elements.div_ceil(count) as u64 * 4),
        units::time(stages.copy_in),
        units::time(stages.kernel),
        units::time(stages.copy_out),
        units::time(stages.both_copies),
    ));

    // Before the comparison, so that every variant finds the pool filled.
    let reached = batches.share_of_bound(part, fastest, &streams, stages.kernel)?;

    let bytes = elements * size_of::<f32>();
    let plan = Plan::new()
        .bytes_in(bytes)
        .bytes_out(bytes)
        .launches(count, elements);
    let variants = [
        ("unspecialised", Form::Unspecialised, 1),
        ("specialised", fastest, 1),
        ("specialised", fastest, 2),
        ("specialised", fastest, 4),
        ("unspecialised", Form::Unspecialised, 4),
    ];
    let mut comparison = Comparison::new(VARIANTS, plan);
    for (name, form, count) in variants {
        let used = &streams[..count];
        let plural = if count == 1 { "" } else { "s" };
        let variant = (
            format!("{name}/streams-{count}"),
            format!("{name}, {count} stream{plural}"),
        );
        comparison = comparison.variant(variant, used, move |batches: &mut Batches| {
            batches.pass(form, used)
        });
    }
    let outcomes = comparison
        .prepare(|batches| Ok(batches.poison()?))
        .check(|batches| batches.check())
        .run(part, &mut batches)?;
    part.say(format!(
        "Specialised: {fastest}.\n{}",
        measure::table_with_bounds(&outcomes, &stages, device.times())
    ));
    judge(part, &outcomes, &stages, (reached, required_share(bytes)))
}

fn judge(
    part: &mut Part,
    outcomes: &[Outcome],
    stages: &Stages,
    (reached, required): (f64, f64),
) -> anyhow::Result<()> {
    let [_, one, two, four, _] = outcomes else {
        anyhow::bail!("{} outcomes of five variants", outcomes.len());
    };
    part.chart(&one.name, &one.recording, Rows::Engines);
    part.chart(&four.name, &four.recording, Rows::Engines);
    part.keep(&two.name, &two.recording);
    let gain = one.median().as_secs_f64() / four.median().as_secs_f64();
    part.claim_ratio_at_least("faster/streams-4", "4 streams are faster than 1", gain, 1.3);
    part.claim_share_at_least(
        "near-bound/streams-4",
        "4 streams come near the bound",
        reached,
        required,
    );
    for outcome in outcomes {
        part.claim_not_below_bound(&outcome.name, stages, outcome.median());
    }
    Ok(())
}

/// Batches of 4 MiB, unless they are too few to fill the pipeline or needlessly many.
fn usual_count(elements: usize) -> usize {
    (elements >> 20).clamp(32, 128)
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
