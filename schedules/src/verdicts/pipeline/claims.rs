//! Claims about the schedules' times, calls and lines, and their order.

use super::order_calls::OrderCalls;
use crate::pipeline::work::ChunkBuffers;
use crate::pipeline::{Streams, captured};
use crate::scheduler::Scheduler;
use anyhow::Result;
use cuda_host::capture::GraphExec;
use examples_host::prelude::*;

/// What is expected of the times, the calls and the lines.
pub fn expect(part: &mut Part, outcomes: &[MeasuredVariant; 3], [by_hand, _, derived]: [usize; 3]) {
    let [hand, graph, scheduled] = outcomes;
    for other in [graph, scheduled] {
        // The shortest of the runs: what disturbs one run does not count.
        let (name, same) = (&other.name, time(other.times.min()).near(hand.times.min(), 0.03));
        expect! { part; other.id("same-time"), "{name} takes the time of the schedule by hand" => same; }
    }
    for MeasuredVariant { name, recording, .. } in outcomes {
        let id = &name.id;
        let both =
            count(recording.max_concurrency(Engine::Kernel)).at_least(2).in_records_of(recording);
        expect! { part; "together/{id}", "{name}: left and right run side by side" => both; }
    }
    let [by, from] = [hand, scheduled].map(|outcome| OrderCalls::of(&outcome.recording));
    let found = format!("{} waits, {} by hand", from.waits, by.waits);
    let no_more = truth(from.waits <= by.waits && from.waits > 0, found, "no more");
    let found = format!("{derived} lines, {by_hand} by hand");
    let fewer = truth(2 * derived <= by_hand, found, "at most half");
    expect! { part;
        "waits/derived", "derived: no wait more than by hand" => no_more.in_records_of(&scheduled.recording);
        "lines/derived", "derived: fewer lines" => fewer;
        "host/graph", "host's time, by hand to graph" => graph.host_speedup_over(hand).at_least(1.2);
    }
}

/// The race checker proves each schedule.
pub fn expect_ordered(
    part: &mut Part,
    work: &mut ChunkBuffers,
    streams: Streams,
    graph: &GraphExec,
) -> Result<()> {
    let [first, _, _, last] = streams;
    part.expect_unreported("ordered/by-hand", "by hand: every conflict is ordered", || {
        work.by_hand(streams)?;
        Ok(last.synchronize()?)
    })?;
    part.expect_unreported("ordered/graph", "graph: every conflict is ordered", || {
        captured(graph, first)?;
        Ok(first.synchronize()?)
    })?;
    part.expect_unreported("ordered/derived", "derived: every conflict is ordered", || {
        work.derived(&mut Scheduler::new(&streams))?;
        Ok(last.synchronize()?)
    })
}
