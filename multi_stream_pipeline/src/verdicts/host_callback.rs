//! Measurements and claims of the part `host-callback`.

mod calls;
mod failure;
mod function;
mod latency;

use anyhow::Result;
use calls::{Calls, fetch, next_stage};
use cuda_host::prelude::*;
use cust::event::EventStatus;
use examples_host::alone::{by_host, each};
use examples_host::gaps::ahead;
use examples_host::prelude::*;

/// Page-locked buffers in rotation: one for each stage, and one to spare.
const BUFFERS: usize = 4;
/// The streams of the copies out, of the host functions, and of the next stage.
type Roles<'s> = [&'s Stream; 3];

/// Queries the event until it has happened.
fn poll(event: &Event) -> CudaResult<()> {
    while event.query()? == EventStatus::NotReady {}
    Ok(())
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [copy_out, functions, next] = stream::non_blocking_named(["copy out", "function", "next"])?;
    let roles = [&copy_out, &functions, &next];
    // On a GPU the function must take longer than the call; the modelled host's memory is slow enough for that.
    let lines = part.elements_by_times::<[f32; 32]>(ByteSize::mib(64), ByteSize::mib(16))?;
    let chunks = part.chunks(32, lines)?;
    let mut work = Calls::new(32 * (lines / chunks), chunks, BUFFERS.min(chunks))?;

    let land = |work: &mut Calls, chunk| {
        fetch(work, chunk, &copy_out)?;
        Ok(copy_out.synchronize()?)
    };
    let besides = "The program's thread is free meanwhile only if a stream calls the functions.";
    let stages = [
        ("copies out", each(chunks, &copy_out, fetch)),
        ("functions", by_host(chunks, land, Calls::call)),
        ("next stage", each(chunks, &next, next_stage)),
    ];
    let mut links = part.chain(&mut work, chunks, besides, stages)?;

    let elements = work.pipeline.input.len();
    let plan = Plan::new().copies(4 * elements).launches(chunks, elements);
    let (variants, thread) =
        (["callback", "polling-thread", "blocking-thread"], [&copy_out, &next]);
    let [callback, polling, blocking] = variants;
    let variants = variants! { work: Calls, differ in Calls, HostWork;
        callback, roles => work.called_by(callback).callbacks(roles), also Streams, Events;
        polling, thread => work.called_by(polling).program(thread, poll);
        blocking, thread => work.called_by(blocking).program(thread, Event::synchronize),
            waits chunks, also Waits;
    };
    let outcomes = part.compare_bounded("variants", plan, &mut work, &mut links.alone, variants)?;
    let chain = links.chain();
    part.show_chain_and_thread(&outcomes, &chain);
    let [callback, ..] = &outcomes;
    part.chart(&callback.name, &callback.recording, Rows::Streams);

    let (of, right) = (work.in_order.len(), work.in_order.iter().filter(|&&right| right).count());
    let in_order = truth(right == of, format!("{right} of {of} runs"), "all");
    let copies = (Engine::DeviceToHost, Engine::HostToDevice);
    expect! { part;
        "call-order", "functions are called in the order of the chunks" => in_order;
        "thread-free/callback", "callback: the program's thread is free" => share(callback.thread_free()).at_least(0.6);
        "ahead/callback", "callback: copies out run ahead of the functions" =>
            share(ahead(&callback.recording, copies)).at_least(0.5);
        "busy/callback", "callback: the function hardly pauses" => share(work.busy("callback")).at_least(0.7);
        // A thread that polls is interrupted now and then.
        "busy/polling-thread", "polling thread: the function hardly pauses" =>
            share(work.busy("polling-thread")).at_least(0.65);
    }
    part.take_away("A callback frees the program's thread; a thread that polls hands over sooner, and keeps a core busy.");

    latency::hand_overs(part, roles)?;
    failure::call_inside(part)?;
    failure::propagate(part, &mut work, roles)
}
