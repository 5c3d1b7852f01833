//! The number of chunks that serves the pipeline best: few leave the engines idle while it fills and drains, many cost the
//! start of as many copies.

use super::Roles;
use crate::three_way::Pipeline;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;

/// Cuts the data into this many chunks, with buffers and events of their own.
pub fn cut(pipeline: &mut Pipeline, chunks: usize) -> Result<()> {
    let Pipeline { buffers, full, computed, empty, .. } = pipeline;
    pipeline.chunks = chunks::ranges::<f32>(pipeline.input.len(), chunks)?;
    let count = buffers.len();
    buffers.clear();
    for events in [&mut *full, computed, empty] {
        events.clear();
    }
    for _ in 0..count {
        buffers.push(DeviceBuffer::zeroed(pipeline.chunks[0].len())?);
        for events in [&mut *full, computed, empty] {
            events.push(Event::new(EventFlags::DISABLE_TIMING)?);
        }
    }
    Ok(())
}

/// Times three streams with each number of chunks (the powers of two up to 128, or the command line's number), prints the times
/// beside what filling and draining the pipeline predicts, claims that every element is right, and leaves the pipeline cut
/// into the best number, which it returns.
pub fn best_chunks(
    part: &mut Part,
    pipeline: &mut Pipeline,
    roles: Roles,
    stages: &Stages,
) -> Result<usize> {
    let counts = chunk_counts(part, pipeline.input.len())?;
    let watch = Stopwatch::new(part.device())?;
    let mut checked = Ok(Checked::default());
    let times = sweep(part, 3, &counts, |&chunks, check| {
        cut(pipeline, chunks)?;
        pipeline.poison()?;
        let sample = watch.time(roles, || pipeline.three_streams(roles))?;
        if check {
            check::add(&mut checked, pipeline.check())?;
        }
        anyhow::Ok([sample.event])
    })?;
    let sentence = "every element is right with each number of chunks";
    part.expect("elements/chunks", sentence, right(&checked, "elements"));

    let mut table = Table::new(["chunks", "three streams", "predicted", "of the bound"]);
    for (&chunks, [times]) in counts.iter().zip(&times) {
        table.row([
            chunks.to_string(),
            units::time(times.median()),
            units::time(stages.pipelined(chunks)),
            units::percent(stages.reached(Overlap::Duplex, times.median())),
        ]);
        let plural = if chunks == 1 { "chunk" } else { "chunks" };
        let text = format!("three streams, {chunks} {plural}");
        part.timed("chunks", Label::new(format!("chunks-{chunks}"), text), Kind::Makespan, times);
    }
    part.say(table);
    let best = counts.iter().zip(&times).min_by_key(|(_, [times])| times.median());
    let chunks = best.map_or(1, |(&chunks, _)| chunks);
    if counts.len() > 1 {
        part.say(format!("The best number of chunks is {chunks}: all variants use it."));
    }
    cut(pipeline, chunks)?;
    Ok(chunks)
}

/// The command line's number, or powers of two.
fn chunk_counts(part: &Part, elements: usize) -> Result<Vec<usize>> {
    if part.options().chunks.is_some() {
        return Ok(vec![part.chunks(1, elements)?]);
    }
    let powers = (0..=7).map(|power| 1 << power);
    Ok(powers.take_while(|&count| count <= elements).collect())
}
