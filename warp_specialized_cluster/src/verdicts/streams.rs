//! Measurements and claims of the part `streams`.

mod known;

use super::matrices::{shape, threads};
use crate::streams::Batches;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::alone::each;
use examples_host::prelude::*;
use known::{CheckedBatches, kernels};

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [a, b] = &stream::non_blocking_named(["A", "B"])?;
    let shape = shape(part, (1, 64))?;
    let batches = part.by_times(16, 4);
    let mut known = CheckedBatches::new(shape, batches)?;
    let kernels = |multiply| kernels(multiply, batches, [a, b]);
    let stages = [
        each(batches, a, |known: &mut CheckedBatches, batch, stream: &Stream| {
            known.copy_in(batch, stream)
        }),
        // What `tiles` finds: on an H200 multicast gains nothing, on a model it does.
        kernels(Batches::global).or_faster(kernels(Batches::multicast)),
        each(batches, b, |known: &mut CheckedBatches, batch, stream: &Stream| {
            known.copy_out(batch, stream)
        }),
        // Both directions at once and nothing else: no schedule is faster.
        piece([a, b], |known: &mut CheckedBatches| {
            (0..batches).try_for_each(|batch| {
                known.copy_in(batch, a)?;
                known.copy_out(batch, b)
            })
        }),
    ];
    let mut alone = part.alone_in_turn(&mut known, stages)?;
    let stages = alone.stages();
    part.predict(format!(
        "{batches} batches: copies in take {}, kernels {}, copies out {}, both directions together {}.\n\
         One stream takes their sum, {}; two the longest of them, {}, and what the first and the last batch add.",
        units::time(stages.copy_in),
        units::time(stages.kernel),
        units::time(stages.copy_out),
        units::time(stages.both_copies),
        units::time(stages.bound(Overlap::None)),
        units::time(stages.bound(Overlap::Duplex)),
    ));

    let [of_a, of_c] = [shape.terms as usize, shape.columns()]
        .map(|columns| batches * shape.rows() * columns * size_of::<f32>());
    let plan = Plan::new().bytes_in(of_a).bytes_out(of_c);
    let plan = plan.launches(batches, batches * threads(&shape));
    let variants = variants! { known: CheckedBatches, differ in Kernels, Launches, Streams;
        ("global/streams-1", "global memory, 1 stream"), [a] => Ok(known.batches.pass(Batches::global, &[a])?);
        ("dsmem/streams-1", "DSMEM, 1 stream"), [a] => Ok(known.batches.pass(Batches::dsmem, &[a])?);
        ("multicast/streams-1", "multicast, 1 stream"), [a] => Ok(known.batches.pass(Batches::multicast, &[a])?);
        ("global/streams-2", "global memory, 2 streams"), [a, b] => Ok(known.batches.pass(Batches::global, &[a, b])?);
        ("dsmem/streams-2", "DSMEM, 2 streams"), [a, b] => Ok(known.batches.pass(Batches::dsmem, &[a, b])?);
        ("multicast/streams-2", "multicast, 2 streams"), [a, b] => Ok(known.batches.pass(Batches::multicast, &[a, b])?);
    };
    let outcomes = part.compare_bounded("variants", plan, &mut known, &mut alone, variants)?;
    let stages = alone.stages();
    part.show_bounded(&outcomes, &stages, alone.disturbed_link());
    let [global, dsmem, multicast, global_two, dsmem_two, multicast_two] = &outcomes;
    part.chart(&multicast_two.name, &multicast_two.recording, Rows::Engines);

    expect! { part;
        "streams/global", "global memory: two streams are faster" => global_two.speedup_over(global).at_least(1.2);
        "streams/dsmem", "DSMEM: two streams are faster" => dsmem_two.speedup_over(dsmem).at_least(1.1);
        "streams/multicast", "multicast: two streams are faster" => multicast_two.speedup_over(multicast).at_least(1.2);
    }
    part.take_away("Sharing concerns the kernel, streams hide the copies: measure one at a time.");
    Ok(())
}
