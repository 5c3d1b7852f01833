//! Measurements and claims of the part `controller`.
//!
//! Every decision is in the log, and a run that follows the log without any telemetry must take the same time: what it takes less is
//! what telemetry costs. Where the wrong number of streams costs less than 5 %, as on a slow link, a controller gains nothing.

mod calibrate;
mod known;
mod log;
mod phases;
mod regret;
mod worth;

use crate::choose::{AHEAD, SAMPLED, adaptive, fixed, replay};
use crate::decide::CHOICES;
use anyhow::{Context, Result};
use calibrate::{CALIBRATION, LONG, SHORT, at_stake, calibrate, lengthen, predicted};
use cuda_host::prelude::*;
use examples_host::compare::Variants;
use examples_host::identity::Differ;
use examples_host::prelude::*;
use known::CheckedRounds;
use phases::phases;
use regret::Regret;
use std::cell::RefCell;
use worth::expect_regret;

/// Rounds until it has settled after a change: up to the next sample, until that one is read, and a second look.
const SETTLED: usize = 2 * SAMPLED + AHEAD;

/// More streams have more and smaller chunks, and a controller changes their number.
const DIFFER: [Differ; 5] =
    [Differ::Kernels, Differ::Launches, Differ::Copies, Differ::Streams, Differ::Events];

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let streams = &stream::non_blocking_numbered(CHOICES[CHOICES.len() - 1])?;
    // A round of a model takes the CPU longer than the GPU that it models.
    let per_phase = part.by_times(100, 50);
    let mut known = CheckedRounds::new(streams, phases(per_phase), [SHORT, LONG[0], SHORT])?;
    let floors = calibrate(part, &mut known.rounds, streams)?;
    lengthen(part, &mut known, streams, &floors)?;
    let copies = part.alone(streams, || known.copies(CALIBRATION))? / CALIBRATION as u32;
    let copy = part.alone(streams, || known.copy_in())?;
    part.predict(predicted(&floors));

    let logs = RefCell::new(Vec::new());
    let waits = 3 * per_phase - AHEAD;
    let samples = waits.div_ceil(SAMPLED);
    let fixed = |count: usize| {
        let name = (format!("fixed-{count}"), format!("{count} streams"));
        let rounds = move |known: &mut CheckedRounds| -> Result<()> {
            fixed(&mut known.rounds, count)?;
            known.ran = true;
            Ok(())
        };
        variant(name, &streams[..count], rounds).waits(waits)
    };
    let [two, four, eight, sixteen] = CHOICES.map(fixed);
    let controller = variant("controller", streams, |known: &mut CheckedRounds| {
        logs.borrow_mut().push(adaptive(&mut known.rounds, &floors)?);
        known.ran = true;
        Ok(())
    });
    let controller =
        controller.waits(waits + samples).also(&[Differ::Waits, Differ::Calls]).chooses_streams();
    let replay = variant(("replay", "replay of the log"), streams, |known: &mut CheckedRounds| {
        replay(&mut known.rounds, logs.borrow().last().map_or(&[], Vec::as_slice))?;
        known.ran = true;
        Ok(())
    });
    let variants = [two, four, eight, sixteen, controller, replay.waits(waits).chooses_streams()];
    let variants = Variants::differing(&DIFFER, variants);
    let outcomes = part.compare("variants", known.plan(), &mut known, variants)?;
    // One entry per run; the last run is the replay.
    let logs = logs.into_inner();
    let log = logs.last().context("the controller has not run")?;
    let regret = Regret::of(&known.took);
    let bounds = known.phases.each_ref().map(|rounds| copies * rounds.len() as u32);
    expect_regret(part, &regret, &outcomes, bounds, at_stake(&floors));
    part.not_claimed_of_the_model("variants", &["fixed-4", "fixed-16", "controller", "replay"]);
    log::show(part, log, copy);
    part.chart_start("controller", &outcomes[4], 96);
    log::expect_replayed(part, log, &floors);
    log::expect_settled(part, &logs, &outcomes[4].recording, &regret, (&known.phases, SETTLED));
    log::expect_as_run(part, &logs, known.rounds.ends.len(), &outcomes[4].recording);
    part.take_away(
        "Two events around a kernel now and then are enough to choose the number of streams anew.",
    );
    Ok(())
}
