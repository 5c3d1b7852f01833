//! What a step costs the host, and how long it leaves the device idle.

use crate::synchronisation::STEPS;
use anyhow::{Context, Result};
use examples_host::expect::{Expected, Measured};
use examples_host::idle::idle;
use examples_host::prelude::*;
use gpu_kernels::{Signature as _, affine_rounds};
use std::time::Duration;

/// Prints, for each variant, what a step takes, how long it blocks the host's thread, the share of that in which the thread
/// burned CPU time, and how long the device is idle before the next step. Returns these idle times: medians.
///
/// # Errors
/// A variant has fewer than two steps.
pub fn step_costs<const N: usize>(
    part: &mut Part,
    outcomes: &[MeasuredVariant; N],
) -> Result<[Duration; N]> {
    let titles = ["order kept by", "a step", "host's thread", "CPU busy", "GPU idle"];
    let mut table = Table::new(titles);
    let mut medians = [Duration::ZERO; N];
    for (outcome, median) in outcomes.iter().zip(&mut medians) {
        let gaps = idle(&outcome.recording, affine_rounds::NAME);
        let gaps = gaps.with_context(|| format!("{}: no two steps", outcome.name))?;
        *median = gaps.median();
        table.row([
            outcome.name.to_string(),
            units::time(outcome.median() / STEPS as u32),
            units::time(outcome.issuing.median() / STEPS as u32),
            outcome.cpu_busy.map_or_else(|| "-".to_owned(), units::percent),
            units::time(*median),
        ]);
        part.timed("idle-before-a-step", &outcome.name, Kind::Other, &gaps);
        part.keep(&outcome.name, &outcome.recording);
    }
    part.say(table);
    if outcomes.iter().all(|outcome| outcome.cpu_busy.is_none()) {
        part.say("The software GPU does not model how busy the CPU is.");
    }
    Ok(medians)
}

/// Claims something of the share of the host thread's time in which it burned CPU time, where that is measured.
pub fn expect_cpu_busy(
    part: &mut Part,
    id: &str,
    sentence: &str,
    outcome: &MeasuredVariant,
    expected: impl FnOnce(Measured) -> Expected,
) {
    if let Some(busy) = outcome.cpu_busy {
        part.expect(id, sentence, expected(share(busy)));
    }
}
