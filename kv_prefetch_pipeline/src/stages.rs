//! stages: what does prefetching pages gain?
//!
//! A block attends with one head over one sequence's pages, 16 KiB of keys and values each, and computes a fraction of the time that
//! memory needs for them. There is one block on each multiprocessor, so that nobody else uses its pauses:
//!
//! ```text
//! staged      memory  |LLL   LLL   LLL   |      prefetched,  memory  |LLLlllLLLlll|
//!             compute |   CC    CC    CC |      2 stages     compute |   CC cc CC |
//! ```
//!
//! Plain loads hold what they load in registers or wait for it; a bulk copy needs one instruction of one thread, and its bytes find
//! their way into shared memory themselves. With one stage it gains nothing: the stage is free only when the page has been used. What
//! must be on its way to keep memory busy is its bandwidth times its latency, about 4.8 TB/s times 0.8 µs = 3.8 MB on an H200, or
//! 29 KiB for each multiprocessor: 2 stages nearly do, 4 do.
//!
//! Stages beyond the 48 KiB of shared memory that every block may have must be asked for. One stage that is as fast as four, outputs
//! that differ in a bit, or a time below that of a plain copy of as many bytes, would prove this wrong.

use crate::cache::{Cache, Way};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::answer::answer;
use examples_host::prelude::*;

const FEW: &str = "the few pages that a model is given do not make up for the start of the kernel";
/// One stage takes a page's way, about 1,100 cycles, and the computing, about 400. An H200's memory gives each multiprocessor a page in
/// 920 cycles, an H100's in 1,400: that is all that is left to gain there.
const LEAST: f64 = 1.05;
/// What a launch with too much shared memory is told.
const REFUSED: &str = "CUDA_ERROR_INVALID_VALUE";

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [stream] = &stream::non_blocking_named(["attention"])?;
    let mut cache = Cache::new(part)?;
    let not_asked = answer(cache.attend(Way::Prefetched(4), stream));
    cache.allow_stages()?;
    let copy = piece([stream], |cache: &mut Cache| cache.copy_half(stream));
    let mut alone = part.alone_in_turn(&mut cache, [copy])?;
    let bytes = cache.bytes() as u64;
    part.predict(format!(
        "{} sequences of {} pages and 4 heads: {} of keys and values are read once. A plain copy moves as much in {}.\n\
         One stage takes about what plain loads take; with 2 the next page comes while one is used; 4 are enough.",
        cache.sequences,
        cache.pages,
        units::bytes(bytes),
        units::time(alone.least()[0]),
    ));

    let plan = Plan::new().launches(1, cache.threads()).threads_differ();
    let variants = variants! { cache: Cache;
        ("direct", "plain loads, registers"), [stream] => Ok(cache.attend(Way::Direct, stream)?);
        ("staged", "plain loads, shared memory"), [stream] => Ok(cache.attend(Way::Staged, stream)?);
        ("stages-1", "bulk copies, 1 stage"), [stream] => Ok(cache.attend(Way::Prefetched(1), stream)?);
        ("stages-2", "bulk copies, 2 stages"), [stream] => Ok(cache.attend(Way::Prefetched(2), stream)?);
        ("stages-4", "bulk copies, 4 stages"), [stream] => Ok(cache.attend(Way::Prefetched(4), stream)?);
    };
    let outcomes = part.compare_bounded("variants", plan, &mut cache, &mut alone, variants)?;
    let [bound] = alone.least();
    let reached = |outcome: &Outcome| bound.div_duration_f64(outcome.times.min());
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
