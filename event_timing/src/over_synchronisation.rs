//! over-synchronisation: what do waits cost that no order needs?
//!
//! Three chains of steps have nothing to do with each other. In each round one chain's step is long and the others' are
//! short. Left alone, every chain goes on when its own step has ended. With a barrier behind each round (every stream waits
//! for all others, or the host for the device), all wait for the long one:
//!
//! ```text
//! no waits   a |LLLLLLLLssssssLLLL ..      barrier   a |LLLLLLLL|sss     |sss     |
//!            b |sssLLLLLLLLsssssss ..                b |sss     |LLLLLLLL|sss     |
//!            c |ssssssLLLLLLLLssss ..                c |sss     |sss     |LLLLLLLL|
//! ```
//!
//! The results are the same: the barrier orders steps that share no data. If both took the same time, waits would be free.

use crate::chains::{Chains, NUMBERS};
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use cust::event::{Event, EventFlags};
use cust::stream::Stream;
use examples_host::prelude::*;

const CHAINS: usize = 3;
/// A multiple of the chains, so that all have as much to do.
const ROUNDS: usize = 24;
/// Multiply-adds of a long step and of a short one: some 60 and 20 µs on an H200.
const LONG: u32 = 26_000;
const SHORT: u32 = 8_500;

/// One round: a step of each chain, in its stream.
fn round(chains: &mut Chains, round: usize, streams: [&Stream; CHAINS]) -> anyhow::Result<()> {
    for (chain, stream) in streams.into_iter().enumerate() {
        let rounds = if round % CHAINS == chain { LONG } else { SHORT };
        chains.step(chain, rounds, stream)?;
    }
    Ok(())
}

/// Each chain keeps to its stream: that is all the order there is.
fn no_waits(chains: &mut Chains, streams: [&Stream; CHAINS]) -> anyhow::Result<()> {
    (0..ROUNDS).try_for_each(|n| round(chains, n, streams))
}

/// Behind each round, every stream waits for all others.
fn barrier(
    chains: &mut Chains,
    streams: [&Stream; CHAINS],
    done: &[Event; CHAINS],
) -> anyhow::Result<()> {
    for n in 0..ROUNDS {
        round(chains, n, streams)?;
        for (stream, done) in streams.into_iter().zip(done) {
            done.record(stream)?;
        }
        for stream in streams {
            for done in done {
                stream.wait(done)?;
            }
        }
    }
    Ok(())
}

/// Behind each round, the host waits for the device.
fn host_barrier(chains: &mut Chains, streams: [&Stream; CHAINS]) -> anyhow::Result<()> {
    for n in 0..ROUNDS {
        round(chains, n, streams)?;
        CurrentContext::synchronize()?;
    }
    Ok(())
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let [a, b, c] = &stream::non_blocking_named(["a", "b", "c"])?;
    let streams = [a, b, c];
    let event = || Event::new(EventFlags::DISABLE_TIMING);
    let done = &[event()?, event()?, event()?];
    let (turns, each) = (ROUNDS / CHAINS, LONG + (CHAINS as u32 - 1) * SHORT);
    let mut chains = Chains::new(CHAINS, turns as u32 * each)?;
    chains.poison()?;
    let long = part.alone([a], || (0..ROUNDS).try_for_each(|_| chains.step(0, LONG, a)))?;
    let own = part.alone([a], || {
        (0..ROUNDS).try_for_each(|n| chains.step(0, if n % CHAINS == 0 { LONG } else { SHORT }, a))
    })?;
    part.predict(format!(
        "Without waits, all chains take as long as one alone, {}. With a barrier behind each of\n\
         {ROUNDS} rounds they take {ROUNDS} long steps, {}, and the barriers.",
        units::time(own),
        units::time(long),
    ));

    let plan = Plan::new().launches(CHAINS * ROUNDS, CHAINS * ROUNDS * NUMBERS);
    let variants = variants! { chains: Chains;
        "no-waits", streams => no_waits(chains, streams);
        ("barrier", "barrier of events"), streams => barrier(chains, streams, done);
        ("host-barrier", "host waits for device"), streams => host_barrier(chains, streams);
    };
    let outcomes = part.compare("variants", plan, &mut chains, variants)?;
    part.show_predicted(&outcomes, [own, long, long]);
    let [free, events, host] = &outcomes;
    part.chart_stretch("six rounds", [free, events], |_| true, 0..6 * CHAINS);
    part.keep(&host.name, &host.recording);

    let bound = time(free.median()).near(own, 0.1);
    let waits = |outcome: &Outcome| outcome.recording.dependencies.len();
    let each_waits = (ROUNDS - 1) * CHAINS * (CHAINS - 1);
    expect! { part;
        "bound/no-waits", "no waits: as long as one chain alone" => bound;
        "slower/barrier", "barrier of events: the waits cost time" => free.speedup_over(events).at_least(1.5);
        "slower/host-barrier", "host waits for device: the waits cost time" => free.speedup_over(host).at_least(1.5);
        "waits/no-waits", "no waits: dependencies between streams" => exactly(waits(free), 0);
        "waits/barrier", "barrier of events: dependencies between streams" => count(waits(events)).at_least(each_waits);
    }
    part.take_away("Wait for what an operation reads or writes, and for nothing else.");
    Ok(())
}
