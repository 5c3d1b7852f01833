//! pipeline: is a derived schedule as fast as one by hand?
//!
//! The data passes through in chunks. A chunk is copied in, two kernels work on it side by side, a third one joins what they
//! made, and the result is copied out:
//!
//! ```text
//!             x ── left ───► y ─┐
//! copy in ──► x                 join ──► z ── copy out
//!             x ── right ──► z ─┘
//! ```
//!
//! Three sets of the buffers x, y and z rotate: while one is filled, another is worked on, and a third is emptied. So there are
//! two kinds of order to keep. A chunk's operations follow one another; and a buffer is not overwritten before the chunk
//! before has been read from it, which is the kind that is forgotten. The pipeline is scheduled three times: *by hand*, with a
//! record and a wait for each of these orders; as a *graph* that captures the same calls, and costs the host one launch; and
//! *derived* by `scheduler.rs` from what each operation reads and writes.
//!
//! Unequal times, a schedule that is faster than the bound, or a report of the race checker would prove this wrong.

mod work;

use crate::scheduler::{Data, Scheduler};
use anyhow::{Result, bail};
use cuda_host::capture::{self, GraphExec};
use cuda_host::prelude::*;
use cust::stream::Stream;
use examples_host::alone::{each, together};
use examples_host::order_calls::{OrderCalls, lines_of_function};
use examples_host::prelude::*;
use work::Work;

/// Sets of buffers in rotation.
const SLOTS: usize = 3;
/// Copies in, two streams for kernels, copies out.
type Streams<'s> = [&'s Stream; 4];

impl Work {
    /// Every order is a record and a wait.
    fn by_hand(&mut self, [copy_in, left, right, copy_out]: Streams) -> Result<()> {
        for chunk in 0..self.chunks.len() {
            let (slot, used) = (chunk % SLOTS, chunk >= SLOTS);
            if used {
                copy_in.wait(&self.slots[slot].left)?; // x has been read …
                copy_in.wait(&self.slots[slot].right)?; // … by both
            }
            self.copy_in(chunk, copy_in)?;
            self.slots[slot].filled.record(copy_in)?;

            left.wait(&self.slots[slot].filled)?;
            if used {
                left.wait(&self.slots[slot].joined)?; // y has been read
            }
            self.left(chunk, left)?;
            self.slots[slot].left.record(left)?;

            right.wait(&self.slots[slot].filled)?;
            if used {
                right.wait(&self.slots[slot].emptied)?; // z has been copied out
            }
            self.right(chunk, right)?;
            self.slots[slot].right.record(right)?;

            right.wait(&self.slots[slot].left)?;
            self.join(chunk, right)?;
            self.slots[slot].joined.record(right)?;

            copy_out.wait(&self.slots[slot].joined)?;
            self.copy_out(chunk, copy_out)?;
            self.slots[slot].emptied.record(copy_out)?;
        }
        Ok(())
    }

    /// The same calls as nodes and edges of a graph. What came last in all streams is behind the last copy out.
    fn capture(&mut self, streams: Streams) -> Result<GraphExec> {
        let first = streams[0];
        capture::begin(first)?;
        self.by_hand(streams)?;
        first.wait(&self.slots[(self.chunks.len() - 1) % SLOTS].emptied)?;
        Ok(capture::end(first)?.instantiate()?)
    }

    /// Each operation with what it reads and what it writes.
    fn derived(&mut self, tasks: &mut Scheduler) -> Result<()> {
        tasks.restart();
        for chunk in 0..self.chunks.len() {
            let [x, y, z] = ["x", "y", "z"].map(|name| Data::device(name, chunk % SLOTS));
            let [input, output] = ["input", "output"].map(|name| Data::host(name, chunk));
            tasks.task([input], [x], |stream| self.copy_in(chunk, stream))?;
            tasks.task([x], [y], |stream| self.left(chunk, stream))?;
            tasks.task([x], [z], |stream| self.right(chunk, stream))?;
            tasks.task([y, z], [z], |stream| self.join(chunk, stream))?;
            tasks.task([z], [output], |stream| self.copy_out(chunk, stream))?;
        }
        Ok(())
    }
}

/// What was captured, with one call.
fn captured(graph: &GraphExec, stream: &Stream) -> Result<()> {
    // SAFETY: all buffers outlive the run, and nothing else uses them meanwhile.
    unsafe { graph.launch(stream)? };
    Ok(())
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let streams = &stream::non_blocking_named(["copy in", "left", "right", "copy out"])?;
    let streams = streams.each_ref();
    let [copy_in, _, _, copy_out] = streams;
    let lines = part.elements_by_times::<[f32; 32]>(ByteSize::mib(128), ByteSize::mib(16))?;
    let (elements, chunks) = (32 * lines, part.chained_chunks(16, lines)?);
    let mut work = Work::new(part.device(), elements, chunks)?;

    let besides = "The three schedules have the same orders to keep: they take the same time.";
    let both_directions = together(chunks, [copy_in, copy_out], [Work::copy_in, Work::copy_out]);
    let stages = [
        ("copies in", each(chunks, copy_in, Work::copy_in)),
        ("kernels", piece(streams, |work: &mut Work| work.kernels(streams))),
        ("copies out", each(chunks, copy_out, Work::copy_out)),
        ("both directions together", both_directions),
    ];
    let mut links = part.chain(&mut work, chunks, besides, stages)?;

    let (graph, mut tasks) = (work.capture(streams)?, Scheduler::new(&streams));
    let plan = Plan::new().copies(4 * elements).kernels(3 * chunks, 3 * elements);
    let variants = variants! { work: Work;
        "by-hand", streams => work.by_hand(streams);
        "graph", [copy_in] => captured(&graph, copy_in);
        "derived", streams => work.derived(&mut tasks);
    };
    let outcomes = part.compare_bounded("variants", plan, &mut work, &mut links.alone, variants)?;
    let chain = links.chain();
    part.show_chain_and_thread(&outcomes, &chain);
    let lines @ [by_hand, capture, derived] = source_lines()?;
    part.show_order_calls(&outcomes, [by_hand, by_hand + capture, derived]);
    for outcome in [&outcomes[2], &outcomes[0], &outcomes[1]] {
        part.chart(&outcome.name, &outcome.recording, Rows::Streams);
    }
    expect(part, &outcomes, lines);
    part.expect_not_below(&outcomes, &chain);
    let near = chain.reached(&outcomes[0]).at_least(0.9);
    expect! { part; "near-bound/by-hand", "by hand comes near the bound" => near; }
    expect_ordered(part, &mut work, streams, &graph)?;
    part.take_away(
        "Who declares what each task reads and writes can have streams and events derived.",
    );
    Ok(())
}

/// Lines of code of each schedule.
fn source_lines() -> Result<[usize; 3]> {
    let of = |name| lines_of_function(include_str!("pipeline.rs"), name);
    let lines = [of("by_hand"), of("capture"), of("derived")];
    let [Some(by_hand), Some(capture), Some(derived)] = lines else {
        bail!("a schedule has no lines: {lines:?}");
    };
    Ok([by_hand, capture, derived])
}

/// What is expected of the times, the calls and the lines.
fn expect(part: &mut Part, outcomes: &[Outcome; 3], [by_hand, _, derived]: [usize; 3]) {
    let [hand, graph, scheduled] = outcomes;
    for other in [graph, scheduled] {
        // The shortest of the runs: what disturbs one run does not count.
        let (name, same) = (&other.name, time(other.times.min()).near(hand.times.min(), 0.03));
        expect! { part; other.id("same-time"), "{name} takes the time of the schedule by hand" => same; }
    }
    for Outcome { name, recording, .. } in outcomes {
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
fn expect_ordered(
    part: &mut Part,
    work: &mut Work,
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
