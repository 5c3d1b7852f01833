//! Measurements and claims of the part `pipeline`.

mod claims;
mod known;
mod order_calls;

use crate::pipeline::captured;
use crate::scheduler::Scheduler;
use anyhow::Result;
use claims::{expect, expect_ordered};
use cuda_host::prelude::*;
use examples_host::alone::{each, together};
use examples_host::prelude::*;
use known::CheckedChunks;
use order_calls::{show_order_calls, source_lines};

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let streams = &stream::non_blocking_named(["copy in", "left", "right", "copy out"])?;
    let streams = streams.each_ref();
    let [copy_in, _, _, copy_out] = streams;
    let lines = part.elements_by_times::<[f32; 32]>(ByteSize::mib(128), ByteSize::mib(16))?;
    let (elements, chunks) = (32 * lines, part.chained_chunks(16, lines)?);
    let mut known = CheckedChunks::new(part.device(), elements, chunks)?;

    let besides = "The three schedules have the same orders to keep: they take the same time.";
    let both_directions =
        together(chunks, [copy_in, copy_out], [CheckedChunks::copy_in, CheckedChunks::copy_out]);
    let stages = [
        ("copies in", each(chunks, copy_in, CheckedChunks::copy_in)),
        ("kernels", piece(streams, |known: &mut CheckedChunks| known.kernels(streams))),
        ("copies out", each(chunks, copy_out, CheckedChunks::copy_out)),
        ("both directions together", both_directions),
    ];
    let mut links = part.chain(&mut known, chunks, besides, stages)?;

    let (graph, mut tasks) = (known.work.capture(streams)?, Scheduler::new(&streams));
    let plan = Plan::new().copies(4 * elements).kernels(3 * chunks, 3 * elements);
    let variants = variants! { known: CheckedChunks, differ in Order;
        "by-hand", streams => known.work.by_hand(streams);
        "graph", [copy_in] => Ok(captured(&graph, copy_in)?), also Graphs, Streams, Events, Copies;
        "derived", streams => known.work.derived(&mut tasks);
    };
    let outcomes =
        part.compare_bounded("variants", plan, &mut known, &mut links.alone, variants)?;
    let chain = links.chain();
    part.show_chain_and_thread(&outcomes, &chain);
    let lines @ [by_hand, capture, derived] = source_lines()?;
    show_order_calls(part, &outcomes, [by_hand, by_hand + capture, derived]);
    for outcome in [&outcomes[2], &outcomes[0], &outcomes[1]] {
        part.chart(&outcome.name, &outcome.recording, Rows::Streams);
    }
    expect(part, &outcomes, lines);
    part.expect_not_below(&outcomes, &chain);
    let near = chain.reached(&outcomes[0]).at_least(0.9);
    expect! { part; "near-bound/by-hand", "by hand comes near the bound" => near; }
    expect_ordered(part, &mut known.work, streams, &graph)?;
    part.take_away(
        "Who declares what each task reads and writes can have streams and events derived.",
    );
    Ok(())
}
