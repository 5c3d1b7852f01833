//! Measurements and claims of the part `pipeline`.

mod known;

use crate::gpus;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::bubble::MicroBatchPipeline;
use examples_host::prelude::*;
use known::CheckedStages;
use std::time::Duration;

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let contexts = gpus::open_all()?;
    let gpus = contexts.len();
    let len = part.elements_by_times::<f32>(ByteSize::mib(16), ByteSize::kib(1))?;
    let (rounds, batches) = (part.by_times(2048, 80_000), part.by_times(16, 8));
    let compute = &gpus::streams(&contexts, "stage")?[..];
    let copies = &gpus::streams(&contexts, "to next")?[..];
    let streams: Vec<&Stream> = compute.iter().chain(&copies[..gpus - 1]).collect();
    let all = || streams.iter().copied();
    let mut known = CheckedStages::new(&contexts, len, batches, rounds)?;
    part.predict(format!(
        "{gpus} stages and M micro-batches: of M + {gpus} - 1 steps each stage works in M. The more micro-batches, the smaller the bubble."
    ));

    // A whole pass first: it fills the slots that the stages read alone.
    part.alone(all(), || Ok(known.stages.pipelined(compute, copies)?))?;
    let mut stage = Duration::ZERO;
    for (gpu, stream) in compute.iter().enumerate() {
        let all = part.alone([stream], || {
            let mut batches = 0..batches;
            Ok(batches.try_for_each(|batch| known.stages.compute(gpu, batch, stream))?)
        })?;
        stage = stage.max(all / batches as u32);
    }
    let pipeline = MicroBatchPipeline { stages: gpus, stage };
    let counts: Vec<usize> =
        (0..).map(|power| 1 << power).take_while(|&count| count <= batches).collect();
    let bubbles = part.bubbles(pipeline, &counts, &mut known, all(), |known, batches| {
        known.stages.batches = batches;
        Ok(known.stages.pipelined(compute, copies)?)
    })?;

    let plan = Plan::new().launches(batches * gpus, batches * gpus * len);
    let variants = variants! { known: CheckedStages, differ in Events;
        "host-sync", all() => Ok(known.stages.host_sync(compute, copies)?),
            waits batches * (2 * gpus - 1), also Waits;
        ("in-turn", "one micro-batch at a time"), all() => Ok(known.stages.in_turn(compute, copies)?);
        "pipeline", all() => Ok(known.stages.pipelined(compute, copies)?);
    };
    let outcomes = part.compare("variants", plan, &mut known, variants)?;
    part.say(measure::table(&outcomes, part.device().times()));
    let [host_sync, in_turn, pipelined] = &outcomes;
    part.chart(&pipelined.name, &pipelined.recording, Rows::Streams);
    part.chart(&in_turn.name, &in_turn.recording, Rows::Streams);
    part.keep(&host_sync.name, &host_sync.recording);

    for bubble in &bubbles {
        let (batches, idle) = (bubble.batches, share(bubble.idle()));
        expect! { part;
            "bubble/batches-{batches}", "{batches} micro-batches: no smaller bubble than the least" =>
                idle.at_least(bubble.least() - 0.02);
        }
    }
    let measured = pipeline.bubble(batches, pipelined.median());
    let alone = pipeline.bubble(batches, in_turn.median());
    expect! { part;
        "near-bound/pipeline", "the pipeline comes near its bound" => measured.reached().at_least(0.95);
        "idle/in-turn", "one micro-batch at a time: all stages but one are idle" =>
            share(alone.idle()).at_least(1.0 - 1.1 / gpus as f64);
    }
    part.take_away(
        "Micro-batches fill the pipeline: what stays idle is (P - 1) of M + P - 1 steps.",
    );
    Ok(())
}
