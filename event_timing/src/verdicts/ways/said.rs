//! The ways to time the work: each is a program that says how long the work took.

use super::LONG;
use crate::ways::TimedKernels;
use anyhow::{Context, Result};
use examples_host::prelude::*;
use examples_host::statistics::Durations;
use std::time::Duration;

/// A label, and what does the work and says how long it took.
pub struct Way<'w> {
    label: Label,
    body: TimedRegion<'w>,
}

type TimedRegion<'w> = Box<dyn FnMut(&mut TimedKernels) -> Result<Duration> + 'w>;

/// A way: its id with the text to print, and the program.
pub fn way<'w>(
    label: impl Into<Label>,
    body: impl FnMut(&mut TimedKernels) -> Result<Duration> + 'w,
) -> Way<'w> {
    Way { label: label.into(), body: Box::new(body) }
}

/// The times that a way gave.
pub struct Said {
    pub label: Label,
    pub times: Durations,
}

/// Tries the ways in turn and prints their times, beside how long the work really takes. The device is idle when one
/// begins.
///
/// # Errors
/// What a way returns, or the driver.
pub fn try_ways<const N: usize>(
    part: &mut Part,
    work: &mut TimedKernels,
    mut ways: [Way; N],
) -> Result<[Said; N]> {
    let mut times = [const { Vec::new() }; N];
    for round in 0..part.warm_up() + part.iterations(10) {
        for (way, times) in ways.iter_mut().zip(&mut times) {
            part.device().synchronize()?;
            let time = (way.body)(work)?;
            if round >= part.warm_up() {
                times.push(time);
            }
        }
    }
    part.device().synchronize()?;
    let median = format!("median, {}", part.device().times());
    let mut table = Table::new(["timed by", &median, "spread", "of the real time"]);
    let mut said = Vec::new();
    for (way, times) in ways.into_iter().zip(times) {
        let times = Durations::new(times).context("no run was timed")?;
        table.row([
            way.label.to_string(),
            units::time(times.median()),
            units::percent(times.spread()),
            units::percent(times.median().div_duration_f64(LONG)),
        ]);
        part.timed("ways", &way.label, Kind::Other, &times);
        said.push(Said { label: way.label, times });
    }
    part.say(table);
    <[Said; N]>::try_from(said).ok().context("a way was not tried")
}
