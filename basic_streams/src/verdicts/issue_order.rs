//! Measurements and claims of the part `issue-order`.

mod chained;

use crate::issue_order::ChunkChains;
use anyhow::Result;
use chained::Chained;
use cuda_host::prelude::*;
use examples_host::part_option::PartOption::Chunks;
use examples_host::prelude::*;
use std::time::Duration;

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let elements = part.elements_by_times::<f32>(ByteSize::mib(64), ByteSize::mib(16))?;
    let streams = &stream::non_blocking_numbered(part.chunks(8, elements)?)?[..];
    let (n, first) = (streams.len(), &streams[0]);
    let mut chained = Chained::new(elements, streams)?;

    let h = part.alone(streams, || chained.all(ChunkChains::async_copy_in))?;
    let k = part.alone([first], || Ok(chained.chains.launch(0, first)?))?;
    let copies = part.alone(streams, || {
        chained.all(ChunkChains::async_copy_in)?;
        chained.all(ChunkChains::async_copy_out)
    })?;
    let (one_way, both_ways) = (h + k, copies + k);
    let [h, k, copies, in_only, in_and_out] = [h, k, copies, one_way, both_ways].map(units::time);
    part.predict(format!(
        "Alone: all {n} copies in {h}, one kernel {k}, all copies in and out {copies}.\n\
         Either order takes the copies in and a kernel, {in_only}; if the streams also\n\
         copy out, the copies of both directions and a kernel, {in_and_out}."
    ));

    let bytes = elements * size_of::<f32>();
    let plan = Plan::new().bytes_in(bytes).launches(n, elements);
    orders(part, &mut chained, ("in-kernel", plan), one_way)?;
    chained.both_ways = true;
    orders(part, &mut chained, ("in-kernel-out", plan.bytes_out(bytes)), both_ways)?;
    part.take_away("Order within a stream is a dependency; order of issue is up to the device.");
    Ok(())
}

/// Compares the two orders of issuing the same chains.
fn orders(
    part: &mut Part,
    chained: &mut Chained,
    (group, plan): (&'static str, Plan),
    predicted: Duration,
) -> Result<()> {
    let ways = ["one direction", "both directions"][usize::from(chained.both_ways)];
    let name = |order: &'static str| (order, format!("{order}, {ways}"));
    let streams = chained.streams;
    let variants = variants! { chained: Chained, differ in Order;
        name("depth-first"), streams => Ok(match chained.both_ways {
            false => chained.chains.depth_first(streams),
            true => chained.chains.depth_first_both_ways(streams),
        }?);
        name("breadth-first"), streams => Ok(match chained.both_ways {
            false => chained.chains.breadth_first(streams),
            true => chained.chains.breadth_first_both_ways(streams),
        }?);
    };
    let outcomes = part.compare(group, plan, chained, variants)?;
    part.say(format!("{plan}:"));
    part.show(&outcomes);
    // The last chain's kernel has no copy in beside it.
    let least = 0.6 * (1.0 - 1.0 / chained.streams.len() as f64);
    for outcome in &outcomes {
        let Label { id, text: name } = &outcome.name;
        part.chart(&outcome.name, &outcome.recording, Rows::Streams);
        let beside = outcome.overlap(Engine::Kernel, Engine::HostToDevice);
        expect! { part;
            "{group}/kernels-beside-copies/{id}", "{name}: kernels run during copies in" => beside.at_least(least).for_any(&[Chunks]);
            "{group}/as-predicted/{id}", "{name} takes as long as predicted" => time(outcome.times.min()).near(predicted, 0.25);
        }
    }
    part.say(whether_order_matters(&outcomes));
    Ok(())
}

/// Which of two orders of issuing the same work is faster on this device, if either is.
fn whether_order_matters([one, other]: &[MeasuredVariant; 2]) -> String {
    let ratio = one.median().div_duration_f64(other.median());
    let (fast, slow) = match ratio {
        0.97..=1.03 => return "On this device the order makes no difference.".to_owned(),
        1.0.. => (other, one),
        _ => (one, other),
    };
    let ratio = units::ratio(ratio.max(1.0 / ratio));
    let (fast, slow) = (&fast.name, &slow.name);
    format!(
        "On this device {fast} is {ratio} as fast: issued {slow}, streams wait for one another."
    )
}
