//! synchronisation: what does it cost to wait before each of many small steps?
//!
//! A chain of small kernels goes to and fro between two streams: each needs the result of the one before. Something has
//! to keep that order. The host can, in five ways: it waits for the device, for the stream or for an event, spinning or
//! asleep, or it asks again and again. Or the other stream waits for the event, and the host for nothing:
//!
//! ```text
//! host waits     host |LwwwwwwL wwwwwwL wwwwwwL  |       stream waits   host |LrsLrsLrsLrs          |
//!                a    | KKKKKK         KKKKKK    |                      a    | KKKKKK      KKKKKK   |
//!                b    |         KKKKKK         KK|                      b    |       KKKKKK      KKK|
//! ```
//!
//! The device idles for as long as the host takes to notice the end of a step and to launch the next. If the host were
//! told at once, or launches were free, all ways would take the same time.

use crate::chains::{Chains, NUMBERS};
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use cust::event::{Event, EventFlags, EventStatus};
use cust::stream::Stream;
use examples_host::prelude::*;
use gpu_kernels::{Signature as _, affine_rounds};

const STEPS: usize = 1000;
/// Multiply-adds of a step: some 12 µs on an H200, more than it takes to launch it.
const ROUNDS: u32 = 5000;

/// An event that a waiting host spins for, and one that it sleeps for.
struct Events {
    spinning: Event,
    sleeping: Event,
}

/// Steps in turn in both streams; `order` makes the second stream's step wait for the first's.
fn steps(
    chain: &mut Chains,
    [a, b]: [&Stream; 2],
    order: impl Fn(&Stream, &Stream) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for step in 0..STEPS {
        let (stream, next) = if step % 2 == 0 { (a, b) } else { (b, a) };
        chain.step(0, ROUNDS, stream)?;
        order(stream, next)?;
    }
    Ok(())
}

/// The host waits until the device has nothing left to do (`cuCtxSynchronize`).
fn device(_: &Stream) -> anyhow::Result<()> {
    Ok(CurrentContext::synchronize()?)
}

/// The host waits until the stream has nothing left to do (`cuStreamSynchronize`).
fn stream(stream: &Stream) -> anyhow::Result<()> {
    Ok(stream.synchronize()?)
}

/// The host waits for an event (`cuEventSynchronize`): it spins, or with `CU_EVENT_BLOCKING_SYNC` sleeps.
fn event(event: &Event, stream: &Stream) -> anyhow::Result<()> {
    event.record(stream)?;
    Ok(event.synchronize()?)
}

/// The host asks until the event has happened (`cuEventQuery`).
fn query(event: &Event, stream: &Stream) -> anyhow::Result<()> {
    event.record(stream)?;
    while event.query()? == EventStatus::NotReady {}
    Ok(())
}

/// The other stream waits for the event (`cuStreamWaitEvent`).
fn wait_event(event: &Event, stream: &Stream, next: &Stream) -> anyhow::Result<()> {
    event.record(stream)?;
    Ok(next.wait(event)?)
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let [a, b] = &stream::non_blocking_named(["a", "b"])?;
    let both = [a, b];
    let flags = EventFlags::DISABLE_TIMING;
    let Events { spinning, sleeping } = &Events {
        spinning: Event::new(flags)?,
        sleeping: Event::new(flags | EventFlags::BLOCKING_SYNC)?,
    };
    let mut chain = Chains::new(1, STEPS as u32 * ROUNDS)?;
    chain.poison()?;
    let in_one = part.alone([a], || (0..STEPS).try_for_each(|_| chain.step(0, ROUNDS, a)))?;
    part.predict(format!(
        "In one stream a step takes {}. Where the host keeps the order, its waking up and its next\n\
         launch come on top of each step. Where a stream waits for an event, hardly anything does.",
        units::time(in_one / STEPS as u32)
    ));

    let plan = Plan::new().launches(STEPS, STEPS * NUMBERS);
    let variants = variants! { chain: Chains;
        ("device", "cuCtxSynchronize"), both => steps(chain, both, |stream, _| device(stream));
        ("stream", "cuStreamSynchronize"), both => steps(chain, both, |on, _| stream(on));
        ("event", "cuEventSynchronize"), both => steps(chain, both, |stream, _| event(spinning, stream));
        ("blocking-event", "the same, blocking event"), both => steps(chain, both, |stream, _| event(sleeping, stream));
        ("query", "cuEventQuery in a loop"), both => steps(chain, both, |stream, _| query(spinning, stream));
        ("wait-event", "cuStreamWaitEvent"), both =>
            steps(chain, both, |stream, next| wait_event(spinning, stream, next));
    };
    let outcomes = part.compare("variants", plan, &mut chain, variants)?;
    let idle = part.step_costs("order kept by", affine_rounds::NAME, STEPS, &outcomes)?;
    let [.., wait_event] = &outcomes;
    let [.., idle_wait_event] = idle;
    part.chart_stretch("four steps", [&outcomes[1], wait_event], |_| true, 100..104);

    for (Outcome { name: Label { id, text: name }, recording, .. }, idle) in
        outcomes.iter().zip(idle).take(5)
    {
        let longer = ratio(idle.div_duration_f64(idle_wait_event)).at_least(3.0);
        expect! { part;
            "idle/{id}", "{name}: the GPU idles longer than behind cuStreamWaitEvent" => longer.in_records_of(recording);
        }
    }
    let [_, _, spins, sleeps, asks, _] = &outcomes;
    let near = share(in_one.div_duration_f64(wait_event.median())).at_least(0.85);
    let waits = count(wait_event.recording.dependencies.len());
    expect! { part;
        "slower/blocking-event", "a host that sleeps wakes up later" => spins.speedup_over(sleeps).at_least(1.2);
        "near-bound/wait-event", "cuStreamWaitEvent: as fast as one stream" => near;
        "waits/wait-event", "each step depends on one in the other stream" => waits.at_least(STEPS - 1);
        "free/wait-event", "cuStreamWaitEvent leaves the host's thread free" => share(wait_event.thread_free()).at_least(0.25);
    }
    for outcome in [spins, asks] {
        let sentence = format!("{}: the host's thread burns its CPU", outcome.name);
        let id = format!("burns/{}", outcome.name.id);
        part.expect_cpu_busy(&id, &sentence, outcome, |busy| busy.at_least(0.8));
    }
    let sentence = "the blocking event leaves the CPU to others";
    part.expect_cpu_busy("burns/blocking-event", sentence, sleeps, |busy| busy.at_most(0.8));
    part.take_away("Let streams wait for events: a host that waits costs a round trip a step.");
    Ok(())
}
