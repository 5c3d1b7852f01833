//! Measurements and claims of the part `ways`.

mod said;

use crate::ways::TimedKernels;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::answer::answer;
use examples_host::prelude::*;
use said::{Said, try_ways, way};
use std::time::Duration;

/// What the kernels take, at the same time: the longer one is all of the work.
const SHORT: Duration = Duration::from_nanos(crate::ways::SHORT);
const LONG: Duration = Duration::from_nanos(crate::ways::LONG);
/// How much later the host reads the events in one of the ways.
const LATER: Duration = Duration::from_millis(3);

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [a, b, other] = &stream::non_blocking_named(["a", "b", "other"])?;
    let both = [a, b];
    let mut work = TimedKernels::new()?;
    part.predict(format!(
        "The kernels take {} and {} at the same time, so the work takes {}.\n\
         Events time what lies between them in their stream, the host's clock what the host does.",
        units::time(SHORT),
        units::time(LONG),
        units::time(LONG),
    ));
    let said = try_ways(
        part,
        &mut work,
        [
            way(("other-stream", "events in another stream"), |work| {
                work.other_stream([a, b, other])
            }),
            way(("no-join", "end event before the join"), |work| work.no_join(both)),
            way(("host-without-wait", "host clock, no wait"), |work| {
                work.host_calls(both, host_clock::now)
            }),
            way(("right-stream", "events in the longest stream"), |work| work.right_stream(both)),
            way(("fork-and-join", "fork and join"), |work| work.fork_and_join(both)),
            way(("read-later", "fork and join, read later"), |work| {
                work.fork_and_join(both)?;
                host_clock::spend(LATER);
                work.elapsed()
            }),
            way(("host-with-wait", "host clock and a wait"), |work| {
                work.host_waits(both, host_clock::now)
            }),
        ],
    )?;
    let recording = record(part.device(), || work.fork_and_join(both).map(drop))?;
    part.chart(("fork-and-join", "fork and join"), &recording, Rows::Streams);

    let [other, no_join, calls, right @ ..] = &said;
    for Said { label, times } in [other, calls] {
        let (id, found) = (&label.id, share(times.median().div_duration_f64(LONG)).at_most(0.05));
        expect! { part; "wrong/{id}", "{label}: misses the work" => found; }
    }
    let half = time(no_join.times.median()).near(SHORT, 0.05);
    expect! { part; "wrong/no-join", "end event before the join: times one stream only" => half; }
    for Said { label, times } in right {
        let (id, found) = (&label.id, time(times.median()).near(LONG, 0.05));
        expect! { part; "right/{id}", "{label}: right" => found; }
    }
    let early = exactly(answer(work.too_early(both)?), "CUDA_ERROR_NOT_READY");
    expect! { part; "too-early", "elapsed time is refused until the end event has happened" => early; }
    part.take_away("Record the end event behind the join, in a stream that does the work.");
    Ok(())
}
