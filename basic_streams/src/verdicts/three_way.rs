//! Measurements and claims of the part `three-way`.
//!
//! The pipeline runs twice: with a kernel that takes next to nothing beside the copies, and with one that is about as long
//! as a copy. More chunks make filling and draining shorter, until starting a copy costs more than that. On a device with
//! one copy engine the directions take turns, and the bound is their sum: what is left to gain is the kernel beside the
//! copies.

mod bounds;
mod chunks;
mod stages;

use crate::three_way::Pipeline;
use anyhow::Result;
use bounds::{duplex, half_of_the_gain, name_the_stages, near_bound, or_whole, predict};
use chunks::{best_chunks, cut};
use cuda_host::prelude::*;
use examples_host::host_waits;
use examples_host::part_option::PartOption::{Chunks, Size};
use examples_host::prelude::*;
use stages::stages;

/// The streams of copies in, kernels and copies out.
type Roles<'s> = [&'s Stream; 3];
/// Blocks of a kernel, and multiply-adds of each element: on an H200 as fast as memory, and as long as a copy.
const SHORT: (u32, u32) = (1024, 1);
const LONG: (u32, u32) = (8, 16);

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let roles = &stream::non_blocking_named(["copy in", "compute", "copy out"])?;
    let roles = roles.each_ref();
    let elements = part.elements_by_times::<f32>(ByteSize::mib(64), ByteSize::mib(16))?;
    let mut pipeline = stages::pipeline(elements, SHORT)?;
    let short = part.alone_in_turn(&mut pipeline, stages(roles, 1))?.stages();
    (pipeline.blocks, pipeline.rounds) = LONG;
    let long = part.alone_in_turn(&mut pipeline, stages(roles, 1))?.stages();
    predict(part, &short, &long);
    (pipeline.blocks, pipeline.rounds) = SHORT;
    let best = best_chunks(part, &mut pipeline, roles, &short)?;

    let (outcomes, stages) = compare(part, &mut pipeline, roles, (VARIANTS, ""), short)?;
    let near = near_bound(&outcomes[3], &stages, size_of_val(&pipeline.input[..]));
    expect! { part; "near-bound/three-streams", "three streams come near the bound" => near; }

    cut(&mut pipeline, part.chunks(best.max(2), elements)?)?;
    (pipeline.blocks, pipeline.rounds) = LONG;
    let balanced = ("balanced", ", long kernel");
    let (outcomes, stages) = compare(part, &mut pipeline, roles, balanced, long)?;
    let [_, one_stream, _, three] = &outcomes;
    part.chart(&three.name, &three.recording, Rows::Engines);
    expect! { part;
        "balanced/faster/three-streams", "long kernel: three streams are faster than one" =>
            half_of_the_gain(three, one_stream, &stages);
        "balanced/as-predicted/three-streams", "long kernel: three streams take the bound, and a chunk to fill and drain" =>
            time(three.times.min()).near(stages.pipelined(pipeline.chunks.len()), 0.1);
    }
    part.take_away("A stream per role and an event per hand-over keep both directions busy.");
    Ok(())
}

/// Compares the variants with the kernel of the pipeline; `whole` is what the stages take in one chunk.
fn compare(
    part: &mut Part,
    pipeline: &mut Pipeline,
    roles: Roles,
    (group, kernel): (&'static str, &str),
    whole: Stages,
) -> Result<([MeasuredVariant; 4], Stages)> {
    let (one, four) = (roles[0], &stream::non_blocking_named(["A", "B", "C", "D"])?);
    let (bytes, chunks) = (size_of_val(&pipeline.input[..]), pipeline.chunks.len());
    let mut alone = part.alone_in_turn(pipeline, stages(roles, chunks))?;
    let plan = Plan::new().copies(bytes).launches(chunks, bytes / size_of::<f32>());
    let name = |id: &'static str| (id, id.replace('-', " ") + kernel);
    let variants = variants! { pipeline: Pipeline, differ in Streams, Events, Waits;
        name("host-sync"), [one] => pipeline.host_sync(one), waits chunks;
        name("one-stream"), [one] => pipeline.one_stream(one);
        name("round-robin"), four => pipeline.round_robin(four);
        name("three-streams"), roles => pipeline.three_streams(roles);
    };
    let outcomes = part.compare_bounded(group, plan, pipeline, &mut alone, variants)?;
    let stages = or_whole(alone.stages(), whole);
    part.show_bounded(&outcomes, &stages, alone.disturbed_link());
    name_the_stages(part, &stages, chunks);

    // Filling and draining takes the time of a chunk. Less data takes the host longer to enqueue than the device to copy.
    let least = 0.5 * (1.0 - 1.0 / chunks as f64);
    let judged: &[_] = if bytes < 4 << 20 || chunks == 1 { &[] } else { &[Size] };
    let [copy_in, kernel, copy_out] = [Engine::HostToDevice, Engine::Kernel, Engine::DeviceToHost];
    for (outcome, in_order) in outcomes.iter().zip([true, true, false, false]) {
        let name = &outcome.name;
        let beside = |of, with| match in_order {
            true => outcome.overlap(of, with).at_most(0.01).for_any(&[Size, Chunks]),
            false => outcome.overlap(of, with).at_least(least).for_any(judged),
        };
        let both_ways = match in_order {
            true => beside(copy_out, copy_in),
            false => duplex(part.device(), outcome, least)?.for_any(judged),
        };
        expect! { part;
            outcome.id("duplex"), "{name}: copies in run during copies out" => both_ways;
            outcome.id("kernel-in"), "{name}: kernels run during copies in" => beside(kernel, copy_in);
        }
        // A short kernel begins about when the copy out before its own ends.
        if group == "balanced" {
            expect! { part;
                outcome.id("kernel-out"), "{name}: kernels run during copies out" => beside(kernel, copy_out);
            }
        }
    }
    let MeasuredVariant { recording, .. } = &outcomes[0];
    let waits = host_waits::count(recording);
    let each_chunk =
        truth(waits == chunks, format!("{waits} waits"), chunks).in_records_of(recording);
    expect! { part; outcomes[0].id("waits"), "host sync: the host waits for each chunk" => each_chunk; }
    Ok((outcomes, stages))
}
