//! The number of tokens for append: with few, starting kernels takes the host longer than attention takes the device;
//! with many, a host that waits does not matter.

use super::answers::Answers;
use super::decode::{Decode, Shape};
use crate::model::LAYERS;
use crate::size;
use anyhow::Context;
use examples_host::options::UsageError;
use examples_host::prelude::*;
use std::time::Duration;

/// Steps of each length; few, since it is only to be chosen.
const STEPS: usize = 4;

/// Attention must take this much of the host's time for an update, so that a device whose work is recorded, which takes
/// the host longer, does not wait for it either.
const MARGIN: f64 = 1.75;

/// Per layer and step.
struct Times {
    attention: Duration,
    host_sync: Duration,
    events: Duration,
    /// What enqueueing with events takes the host.
    enqueue: Duration,
}

/// Times both ways to keep the order at each length, prints the times, and returns the shortest length at which the
/// device is not waiting for the host to enqueue.
pub fn choose(part: &mut Part, append: &Stream, attention: &Stream) -> anyhow::Result<Shape> {
    let shapes = to_try(part)?;
    let mut checked = Ok(Checked::default());
    let mut table = Table::new([
        "tokens",
        "attention alone",
        "enqueued in",
        "host sync",
        "predicted",
        "events",
        "gain",
    ]);
    let mut chosen: Option<(Shape, bool)> = None;
    for shape in shapes {
        let mut decode = Decode::new(append, attention, shape)?;
        let waited = append_waited_for(part, &mut decode)?;
        let times = time(part, &mut decode)?;
        // Timing leaves what several runs have written, and attention once more without any order.
        decode.poison()?;
        decode.events(false)?;
        check::add(&mut checked, decode.check(&mut Answers::new(shape)))?;
        table.row([
            shape.prompt.to_string(),
            units::time(times.attention),
            units::time(times.enqueue),
            units::time(times.host_sync),
            units::time(times.attention + 2 * waited),
            units::time(times.events),
            units::ratio(times.host_sync.as_secs_f64() / times.events.as_secs_f64()),
        ]);
        let covers = times.attention >= times.enqueue.mul_f64(MARGIN);
        if chosen.is_none_or(|(_, covered)| !covered) {
            chosen = Some((shape, covers));
        }
    }
    let sentence = "every element is right at each length";
    part.claim_right("elements/lengths", sentence, "elements", &checked);
    let (shape, _) = chosen.context("no length to try")?;
    part.say(format!(
        "{table}\nPer layer and step. All variants begin with {} tokens, the first number at which attention takes {MARGIN} times\n\
         what enqueueing takes, or else the last.",
        shape.prompt
    ));
    Ok(shape)
}

fn time(part: &Part, decode: &mut Decode) -> anyhow::Result<Times> {
    let (append, attention) = (decode.append.clone(), decode.attention.clone());
    let both = [&append, &attention];
    let (watch, runs) = (Stopwatch::new(part.device())?, part.iterations(5));
    let updates = (decode.shape.steps * LAYERS) as u32;
    let host_sync = watch.median(runs, both, || decode.host_sync())?;
    decode.poison()?;
    let mut enqueue = Duration::MAX;
    let events = watch.median(runs, both, || {
        let begin = host_clock::now();
        decode.events(false)?;
        enqueue = enqueue.min(host_clock::now() - begin);
        anyhow::Ok(())
    })?;
    Ok(Times {
        attention: attention_alone(part, decode)? / updates,
        host_sync: host_sync / updates,
        events: events / updates,
        enqueue: enqueue / updates,
    })
}

/// All attentions of a decoding without its appends: no order of the two hides more.
pub fn attention_alone(part: &Part, decode: &mut Decode) -> anyhow::Result<Duration> {
    let attention = decode.attention.clone();
    Stopwatch::new(part.device())?.median(part.iterations(5), [&attention], || {
        let mut order = decode.order();
        order.try_for_each(|(step, layer)| decode.attend(step, layer))
    })
}

/// What an append takes with a host that waits for it.
fn append_waited_for(part: &Part, decode: &mut Decode) -> anyhow::Result<Duration> {
    let append = decode.append.clone();
    let watch = Stopwatch::new(part.device())?;
    let all = watch.median(part.iterations(5), [&append], || {
        decode.order().try_for_each(|(step, layer)| {
            decode.append_token(step, layer)?;
            anyhow::Ok(append.synchronize()?)
        })
    })?;
    Ok(all / decode.order().count() as u32)
}

/// The command line's length, or some. There is none at which an H200 is on the edge of the margin: it would choose now this
/// length and now that one, and two runs could not be compared.
fn to_try(part: &Part) -> Result<Vec<Shape>, UsageError> {
    let prompts = match size::tokens(part)? {
        None => vec![64, 96, 128, 192, 256, 512],
        Some(prompt) => vec![prompt],
    };
    let shape = |prompt| {
        Ok(Shape {
            prompt,
            steps: STEPS,
            page_tokens: size::page_tokens(part, prompt)?,
        })
    };
    prompts.into_iter().map(shape).collect()
}

/// The longest of the lengths.
pub fn longest(part: &Part) -> anyhow::Result<Shape> {
    let shapes = to_try(part)?;
    shapes.last().copied().context("no length to try")
}
