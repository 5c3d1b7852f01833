//! What one hand-over costs: small chunks one at a time, with a function that does nothing.

use super::{Roles, Work, poll};
use anyhow::Result;
use cust::event::Event;
use examples_host::prelude::*;

/// Measures from the end of a copy out to the start of the copy in.
pub fn hand_overs(part: &mut Part, roles: Roles) -> Result<()> {
    let mut work = Work::new(1024, 200, 1, None)?;
    let nothing = |_, _: &mut [f32]| ();
    let ways = variants! { work: Work;
        ("event", "an event, no function"), roles => work.events(roles);
        "callback", roles => work.callbacks(roles, nothing);
        "polling-thread", roles => work.program(roles, poll, nothing);
        "blocking-thread", roles => work.program(roles, Event::synchronize, nothing);
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
