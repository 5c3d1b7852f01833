//! Measurements and claims of the part `images`.

mod known;

use crate::slot::{BATCH, PATCHES, PIXELS, ROOM};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::alone::{each, together};
use examples_host::prelude::*;
use known::{CheckedImages, prediction};

const FEW: &str = "the few images that a model is given do not make up for filling and draining";

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [copy_in, compute, copy_out] =
        &stream::non_blocking_named(["copy in", "kernels", "copy out"])?;
    let [texture, relevance, tokens] =
        &stream::non_blocking_named(["texture", "relevance", "tokens"])?;
    let images = part.by_times(64, 8);
    let mut known = CheckedImages::new(images)?;
    let batches = images / BATCH;
    let stages = [
        each(batches, copy_in, CheckedImages::copy_in),
        each(batches, compute, CheckedImages::compute),
        each(batches, copy_out, CheckedImages::copy_out),
        together(batches, [copy_in, copy_out], [CheckedImages::copy_in, CheckedImages::copy_out]),
    ];
    let mut alone = part.alone_in_turn(&mut known, stages)?;
    let stages = alone.stages();
    part.predict(prediction(&known, &stages)?);

    let bytes_in = images * PATCHES * PIXELS * size_of::<f32>();
    let bytes_out = images * (PATCHES + ROOM) * size_of::<f32>();
    let plan = Plan::new().bytes_in(bytes_in).bytes_out(bytes_out);
    let plan = plan.launches(4 * batches, images * PATCHES).launches_differ();
    let all = [copy_in, compute, copy_out];
    let five = [copy_in, texture, relevance, tokens, copy_out];
    let variants = variants! { known: CheckedImages, differ in Streams, Events;
        "serial", [copy_in] => known.images.serial(copy_in);
        ("three-streams", "three streams"), all => known.images.three_streams(1, all);
        ("batches", "three streams, batches"), all => known.images.three_streams(BATCH, all), also Kernels, Launches, Copies;
        ("five-streams", "five streams, batches"), five => known.images.five_streams(BATCH, five), also Kernels, Launches, Copies;
    };
    let outcomes = part.compare_bounded("variants", plan, &mut known, &mut alone, variants)?;
    let stages = alone.stages();
    part.show_bounded(&outcomes, &stages, alone.disturbed_link());
    let [serial, streams, batches, five] = &outcomes;
    part.chart(&streams.name, &streams.recording, Rows::Engines);
    part.chart(&five.name, &five.recording, Rows::Streams);
    let rate = |outcome: &MeasuredVariant| {
        let rate = images as f64 / outcome.median().as_secs_f64();
        format!("{}: {:.0} images a second", outcome.name, rate)
    };
    part.say(outcomes.iter().map(rate).collect::<Vec<_>>().join("\n"));

    let best = if streams.times.min() < batches.times.min() { streams } else { batches };
    expect! { part;
        "faster/three-streams", "three streams are faster than one" => streams.speedup_over(serial).at_least(1.3);
        "faster/batches", "and in batches, too" => batches.speedup_over(serial).at_least(1.3);
        "as-fast-as/five-streams", "a stream for each stage of the kernels costs nothing" =>
            five.speedup_over(batches).at_least(0.95);
        "near-bound", "the better of the two comes near the critical path" =>
            best.reached(&stages).at_least(0.9).not_of_the_model(FEW);
    }
    part.take_away(
        "Images that do not depend on each other take the longest stage, not the sum of all.",
    );
    Ok(())
}
