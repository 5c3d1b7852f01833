//! How long requests wait that arrive while the device is under load.

use super::pass::Pass;
use anyhow::{Context, Result};
use examples_host::latency::cells;
use examples_host::prelude::*;
use examples_host::statistics::Durations;
use std::time::Duration;

/// Why the charts come from events: CUPTI holds the host up for so long that the requests come when the load has ended.
pub const DELAYS: &str = "CUPTI would delay the requests";

/// What all passes of a variant took.
pub struct Latencies {
    /// The variant.
    pub label: Label,
    /// The load.
    pub load: Durations,
    /// The requests of all passes.
    pub requests: Durations,
    /// The share of the requests that had arrived when the load had not ended.
    pub under_load: f64,
    /// The share of the requests that had ended by then.
    pub beside: f64,
}

/// The median time of the load without any request, over this many passes; one where times are modelled.
///
/// # Errors
/// What `pass` returns.
pub fn load_alone(
    part: &Part,
    passes: usize,
    mut pass: impl FnMut() -> Result<Pass>,
) -> Result<Duration> {
    for _ in 0..part.warm_up() {
        pass()?;
    }
    let times: Result<Vec<_>> = (0..part.iterations(passes)).map(|_| Ok(pass()?.load)).collect();
    Ok(Durations::new(times?).context("no pass")?.median())
}

/// `passes` times `--iterations` passes of each variant, in turn, and the distributions of what the requests waited.
/// `load` says what the load is. After the last pass of a variant, `check` compares what it has left. Claims that every
/// element is right.
///
/// # Errors
/// What `pass` or `check` returns.
pub fn under_load<S, T, const N: usize>(
    part: &mut Part,
    (requests, load): (&'static str, &str),
    passes: usize,
    work: &mut S,
    variants: &[(Label, T); N],
    mut pass: impl FnMut(&mut S, &T) -> Result<Pass>,
    check: impl Fn(&S, &T) -> Result<Checked>,
) -> Result<[Latencies; N]> {
    let mut found = [const { (Vec::new(), Vec::new(), 0, 0) }; N];
    let mut checked = Ok(Checked::default());
    let rounds = part.warm_up() + passes * part.iterations(1);
    for round in 1..=rounds {
        for ((_, variant), (loads, requests, under_load, beside)) in variants.iter().zip(&mut found)
        {
            let took = pass(work, variant)?;
            if round > part.warm_up() {
                loads.push(took.load);
                requests.extend(took.requests);
                *under_load += took.under_load;
                *beside += took.beside;
            }
            if round == rounds || part.options().validate {
                check::add(&mut checked, check(work, variant))?;
            }
        }
    }
    let mut table = Table::new([requests, "number", "p50", "p99", "max", load]);
    let mut all = Vec::new();
    for ((label, _), (loads, times, under_load, beside)) in variants.iter().zip(found) {
        let loads = Durations::new(loads).context("no pass")?;
        let times = Durations::new(times).context("no request")?;
        let name = [label.to_string(), times.sorted().len().to_string()];
        let last = [units::time(loads.median())];
        table.row(name.into_iter().chain(cells(&times)).chain(last));
        part.timed(requests, label, Kind::Other, &times);
        all.push(Latencies {
            label: label.clone(),
            load: loads,
            under_load: under_load as f64 / times.sorted().len() as f64,
            beside: beside as f64 / times.sorted().len() as f64,
            requests: times,
        });
    }
    part.say(table);
    let sentence = "every element is right";
    part.expect("elements", sentence, right(&checked, "elements"));
    let all = <[Latencies; N]>::try_from(all).ok();
    all.context("a variant was not tried")
}
