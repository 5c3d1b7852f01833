//! Measurements and claims of the part `copies`.

use super::latencies::{DELAYS, Latencies, under_load};
use super::pass::Pass;
use crate::copies::{COPIES, Copies, LARGE, REQUESTS, Streams};
use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use examples_host::identity::calls_of;
use examples_host::prelude::*;
use examples_host::recording::record_without_cupti;
use std::time::Duration;

const DATA: Seed = Seed::new(9);
/// The time between two requests.
const PAUSE: Duration = Duration::from_micros(17);
const PASSES: usize = 5;
/// Why a GPU may show something else.
const QUEUES: &str = "which of the driver's queues a stream gets decides";

/// The copies of a pass, and the events that time all large ones and each of the requests.
fn timed_calls() -> Vec<&'static str> {
    let timed = |copies| {
        let copies = std::iter::repeat_n("cuMemcpyHtoDAsync", copies);
        ["cuEventRecord"].into_iter().chain(copies).chain(["cuEventRecord"])
    };
    timed(COPIES).chain((0..REQUESTS).flat_map(|_| timed(1))).collect()
}

/// The copies, with their data.
fn copies() -> Result<Copies> {
    let mut copies = Copies::new()?;
    DATA.fill_u32(0, &mut copies.data);
    Ok(copies)
}

/// Forgets what an earlier pass has copied.
fn prepare(copies: &mut Copies) -> Result<()> {
    copies.large.set_8(0xFF)?;
    copies.small.set_8(0xFF)?;
    Ok(CurrentContext::synchronize()?)
}

fn pass(copies: &mut Copies, on: &Streams) -> Result<Pass> {
    copies.pass(on, || host_clock::spend(PAUSE))?;
    let requests = copies.arrived.iter().zip(&copies.copied);
    Ok(Pass::between((&copies.began, &copies.ended), requests)?)
}

fn checked(copies: &Copies) -> Result<Checked> {
    let large = copies.large.as_host_vec()?;
    let large = check::equal("the large copies", 0, &large, |i| DATA.u32(i % LARGE))?;
    let small = copies.small.as_host_vec()?;
    Ok(large.and(check::equal("the small copies", 0, &small, |i| DATA.u32(i))?))
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let range = part.device().stream_priorities()?;
    let (greatest, least) = (*range.start(), *range.end());
    let equal = &Streams::with_priorities(least, least)?;
    let high = &Streams::with_priorities(least, greatest)?;
    part.predict(
        "The driver's documentation says that priorities have no effect on copies between\n\
         host and device: requests wait as long with a high priority as with an equal one.",
    );

    let mut copies = copies()?;
    let variants = [
        (Label::new("equal", "equal priority"), equal),
        (Label::new("high", "requests before bulk"), high),
    ];
    let [equal, high] = under_load(
        part,
        ("requests", "all large copies"),
        PASSES,
        &mut copies,
        &variants,
        |copies, streams| {
            prepare(copies)?;
            pass(copies, streams)
        },
        |copies, _| checked(copies),
    )?;
    for (label, on) in &variants {
        prepare(&mut copies)?;
        let mut made = Vec::new();
        let recording = record_without_cupti(part.device(), DELAYS, || {
            let (done, calls) = calls_of(|| pass(&mut copies, on));
            made = calls;
            done.map(drop)
        })?;
        let sentence = "each request arrives before it is enqueued, and has ended behind its copy";
        part.expect_calls(&label.id, sentence, &made, &timed_calls());
        part.chart(label, &recording, Rows::Streams);
    }

    for Latencies { label: Label { id, text }, under_load, .. } in [&equal, &high] {
        let arrive = share(*under_load).at_least(0.9);
        expect! { part; "arrive/{id}", "{text}: requests arrive while large copies are made" => arrive; }
    }
    let [_, (_, on)] = variants;
    let [has, asked] = [[on.bulk.priority()?, on.requests.priority()?], [least, greatest]];
    let as_asked = truth(has == asked, format!("{has:?}"), format!("{asked:?}"));
    let gain = ratio(equal.requests.median().div_duration_f64(high.requests.median()));
    expect! { part;
        "priorities", "the streams have the priorities that were asked for" => as_asked;
        "no-gain", "a high priority does not make copies come sooner" => gain.at_most(1.3).not_of_a_gpu(QUEUES);
        "no-loss", "nor later" => gain.at_least(0.75).not_of_a_gpu(QUEUES);
    }
    part.take_away("Priorities are for kernels: do not count on one for a copy.");
    Ok(())
}
