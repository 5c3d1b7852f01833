//! What one hand-over costs: small chunks one at a time, with a function that does nothing.

use super::calls::{Calls, fetch, next_stage};
use super::{Roles, poll};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;

/// An event between the copies, and no function.
fn events(of: &mut Calls, [copy_out, _, next]: Roles) -> Result<()> {
    for i in 0..of.pipeline.chunks.len() {
        fetch(of, i, copy_out)?;
        next.wait(&of.pipeline.ring[0].landed)?;
        next_stage(of, i, next)?;
    }
    Ok(())
}

/// Measures from the end of a copy out to the start of the copy in.
pub fn hand_overs(part: &mut Part, roles: Roles) -> Result<()> {
    let (mut work, [fetch, _, next]) = (Calls::new(1024, 200, 1)?, roles);
    work.pipeline.kernels = None;
    let ways = variants! { work: Calls;
        ("event", "an event, no function"), roles => events(work, roles);
        "callback", roles => work.pipeline.callbacks(roles);
        "polling-thread", roles => work.pipeline.program([fetch, next], poll);
        "blocking-thread", roles => work.pipeline.program([fetch, next], Event::synchronize);
    };
    let copies = (Engine::DeviceToHost, Engine::HostToDevice);
    let times = part.gaps(("hand-over", "one hand-over"), copies, &mut work, ways)?;

    let [event, callback, polling, blocking] = times.map(|times| times.median().as_secs_f64());
    let reason =
        "its host learns of an event at once, a GPU's host when the news has crossed the link";
    expect! { part;
        "hand-over/event-faster", "a callback, or a thread that sleeps, takes longer than an event" =>
            ratio(callback.min(blocking) / event).at_least(1.0);
        "hand-over/event-faster-than-polling", "a thread that polls takes longer than an event" =>
            ratio(polling / event).at_least(1.0).not_of_the_model(reason);
    }
    Ok(())
}
