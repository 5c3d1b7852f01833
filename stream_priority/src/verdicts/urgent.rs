//! Measurements and claims of the part `urgent`.

use super::latencies::{DELAYS, Latencies, load_alone, under_load};
use super::load::{LoadGrid, Passes};
use crate::urgent::{REQUESTS, Streams};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::identity::calls_of;
use examples_host::prelude::*;
use examples_host::recording::record_without_cupti;
use std::time::Duration;

const GRID: LoadGrid = LoadGrid {
    waves: 40,
    block: Duration::from_micros(20),
    requests: REQUESTS,
    pause: Duration::from_micros(3),
};
/// What times the grid, and each of the requests.
const TIMED: [&str; 3] = ["cuEventRecord", "cuLaunchKernel", "cuEventRecord"];
/// Grids, so that there are more than 200 requests.
const PASSES: usize = 4;

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let range = part.device().stream_priorities()?;
    let (greatest, least) = (*range.start(), *range.end());
    let [equal, high, inverted] = &[
        Streams::with_priorities(least, least)?,
        Streams::with_priorities(least, greatest)?,
        Streams::with_priorities(greatest, least)?,
    ];
    part.predict(format!(
        "Priorities go from {least} to {greatest}, which is the most urgent. Blocks take {}, the grid\n\
         {} waves of them. A request of high priority waits for one block at most, any\n\
         other for nearly all waves.",
        units::time(GRID.block),
        GRID.waves,
    ));

    let mut load = Passes::new(part.device(), GRID)?;
    let alone = load_alone(part, PASSES, || {
        load.prepare(GRID)?;
        load.pass(LoadGrid { requests: 0, ..GRID }, equal)
    })?;
    let variants = [
        (Label::new("equal", "equal priority"), equal),
        (Label::new("high", "requests before grid"), high),
        (Label::new("inverted", "grid before requests"), inverted),
    ];
    let [equal, high, inverted] = under_load(
        part,
        ("requests", "the grid"),
        PASSES,
        &mut load,
        &variants,
        |load, streams| {
            load.prepare(GRID)?;
            load.pass(GRID, streams)
        },
        |load, _| load.check(GRID.requests),
    )?;
    part.say(format!("Without requests, the grid takes {}.", units::time(alone)));
    let [_, (label, on), _] = variants;
    load.prepare(GRID)?;
    let mut made = Vec::new();
    let recording = record_without_cupti(part.device(), DELAYS, || {
        let (done, calls) = calls_of(|| load.pass(GRID, on));
        made = calls;
        done.map(drop)
    })?;
    let sentence = "each request arrives before it is launched, and has ended behind its launch";
    part.expect_calls("high", sentence, &made, &TIMED.repeat(1 + GRID.requests));
    part.chart(label, &recording, Rows::Streams);

    let most = share(high.requests.percentile(99).div_duration_f64(GRID.block)).at_most(2.0);
    expect! { part; "p99/high", "high priority: 99 of 100 requests wait for two blocks at most" => most; }
    let slower = |other: &Latencies, percent| {
        let [other, high] = [other, &high].map(|of| of.requests.percentile(percent));
        ratio(other.div_duration_f64(high)).at_least(10.0)
    };
    for (other, percent) in [(&equal, 50), (&equal, 99), (&inverted, 50), (&inverted, 99)] {
        let (Label { id, text }, slower) = (&other.label, slower(other, percent));
        expect! { part; "p{percent}/{id}", "{text}: p{percent} is longer than with high priority" => slower; }
    }
    let lost = share(high.load.median().div_duration_f64(alone) - 1.0).at_most(0.05);
    let [has, asked] = [[on.grid.priority()?, on.requests[0].priority()?], [least, greatest]];
    let as_asked = truth(has == asked, format!("{has:?}"), format!("{asked:?}"));
    expect! { part;
        "loss/high", "what the grid loses to requests of high priority" => lost;
        "resident", "requests of high priority have run when the grid still runs" => share(high.beside).at_least(0.9);
        "priorities", "the streams have the priorities that were asked for" => as_asked;
    }
    part.take_away("A higher priority means the next free place: urgent work waits for one block.");
    Ok(())
}
