//! Measurements and claims of the part `stages`.

use super::known::CheckedAttention;
use crate::stages::HEADS;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::answer::answer;
use examples_host::prelude::*;
use gpu_kernels::KV_CONSUMERS;

const FEW: &str = "the few pages that a model is given do not make up for the start of the kernel";
/// One stage takes a page's way, about 1,100 cycles, and the computing, about 400. An H200's memory gives each multiprocessor a page in
/// 920 cycles, an H100's in 1,400: that is all that is left to gain there.
const LEAST: f64 = 1.05;
/// The code of a launch with too much shared memory.
const REFUSED: &str = "CUDA_ERROR_INVALID_VALUE";

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [stream] = &stream::non_blocking_named(["attention"])?;
    let mut known = CheckedAttention::new(part)?;
    let not_asked = answer(known.attention.prefetched(4, stream));
    known.attention.allow_stages()?;
    let copy =
        piece([stream], |known: &mut CheckedAttention| Ok(known.attention.copy_half(stream)?));
    let mut alone = part.alone_in_turn(&mut known, [copy])?;
    let bytes = known.bytes() as u64;
    part.predict(format!(
        "{} sequences of {} pages and {HEADS} heads: {} of keys and values are read once. A plain copy moves as much in {}.\n\
         One stage takes about what plain loads take; with 2 the next page comes while one is used; 4 are enough.",
        known.sequences,
        known.pages,
        units::bytes(bytes),
        units::time(alone.least()[0]),
    ));

    let threads = known.sequences * HEADS * KV_CONSUMERS as usize;
    let plan = Plan::new().launches(1, threads).threads_differ();
    let variants = variants! { known: CheckedAttention, differ in Launches;
        ("direct", "plain loads, registers"), [stream] => Ok(known.attention.direct(stream)?), also Kernels;
        ("staged", "plain loads, shared memory"), [stream] => Ok(known.attention.staged(stream)?), also Kernels;
        ("stages-1", "bulk copies, 1 stage"), [stream] => Ok(known.attention.prefetched(1, stream)?);
        ("stages-2", "bulk copies, 2 stages"), [stream] => Ok(known.attention.prefetched(2, stream)?);
        ("stages-4", "bulk copies, 4 stages"), [stream] => Ok(known.attention.prefetched(4, stream)?);
    };
    let outcomes = part.compare_bounded("variants", plan, &mut known, &mut alone, variants)?;
    let [bound] = alone.least();
    let reached = |outcome: &MeasuredVariant| bound.div_duration_f64(outcome.times.min());
    let mut table = Table::new(["pages come by", "time", "speed-up", "bandwidth", "of a copy's"]);
    for outcome in &outcomes {
        let time = outcome.median();
        table.row([
            outcome.name.to_string(),
            units::time(time),
            units::ratio(outcomes[0].median().div_duration_f64(time)),
            units::bandwidth(bytes, time),
            units::percent(reached(outcome)),
        ]);
        part.keep(&outcome.name, &outcome.recording);
    }
    part.say(table);
    part.not_claimed_of_the_model("variants", &["staged"]);

    let [direct, staged, one, two, four] = &outcomes;
    let most = outcomes.iter().map(reached).fold(0.0, f64::max);
    expect! { part;
        "faster/stages-2", "2 stages are faster than 1" => two.speedup_over(one).at_least(LEAST);
        "faster/staged", "and than plain loads into shared memory" => two.speedup_over(staged).at_least(LEAST);
        "not-slower/stages-4", "4 are not slower than 2" => four.speedup_over(two).at_least(0.97);
        "faster/direct", "4 stages are faster than plain loads into registers" => four.speedup_over(direct).at_least(1.05);
        "one-stage/least", "1 stage is about as slow as they are" => one.speedup_over(direct).at_least(0.6);
        "one-stage/most", "and hardly faster" => one.speedup_over(direct).at_most(1.4);
        "near-bound/stages-4", "4 stages read as fast as a copy moves" =>
            share(reached(four)).at_least(0.9).not_of_the_model(FEW);
        "not-below-bound", "no kernel reads much faster than a copy moves" => share(most).at_most(1.15);
        "refused", "4 stages of shared memory are refused until they are asked for" => exactly(not_asked, REFUSED);
    }
    part.take_away(
        "Prefetch by bulk copies: 2 stages or more keep memory busy while warps compute.",
    );
    Ok(())
}
