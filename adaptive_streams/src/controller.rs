//! controller: does a controller keep up with work that changes?
//!
//! Two mebibytes of staging memory are shared by S streams, so that each has chunks of 2 MiB / S. Few streams keep the host's
//! calls cheap. Many hide long kernels, since S of them run at the same time. The kernels' grids change twice while the program
//! runs, and with them the ratio K/H of a kernel's time to a copy's:
//!
//! ```text
//! phase     0            1              2
//! K/H       small        large          small           how many streams are best?
//! 4 streams |HHHHHHHH    |HHH   HHH     |HHHHHHHH       K/H small: 4
//! 8 streams |H H H H H   |H H H H H     |H H H H H      K/H large: 8
//! ```
//!
//! The controller has events recorded around one kernel in every sixth round, reads them two rounds later, when they have
//! happened anyway, and decides (`decide.rs`). A change of the number of streams hands all staging memory over: every stream
//! waits for the events of all others. Every decision is in the log, and a run that follows the log without any telemetry
//! must take the same time: what it takes less is what telemetry costs. A regret above 5 % of what the best choice of each
//! phase would have taken would prove this wrong, and so would a fixed number of streams that is as fast, where the wrong number costs
//! 5 % or more: on a slow link it costs less, and a controller gains nothing.

use crate::decide::{CHOICES, Decision, FIRST, Floor, Floors, Telemetry, decide};
use crate::log;
use crate::rounds::{AHEAD, LONG, Rounds};
use anyhow::{Context, Result};
use cuda_host::prelude::*;
use cust::stream::Stream;
use examples_host::prelude::*;
use examples_host::regret::Regret;
use std::array;
use std::cell::RefCell;

/// The controller looks at every so many rounds.
const SAMPLED: usize = 6;
/// Rounds of a calibration.
const CALIBRATION: usize = 16;
/// How much longer a chunk's way with a long kernel and four streams takes than a round with eight streams would without kernels.
const LONGER: f64 = 1.2;
/// Rounds until it has settled after a change: up to the next sample, until that one is read, and a second look.
const SETTLED: usize = 2 * SAMPLED + AHEAD;

/// Rounds with one number of streams.
fn fixed(rounds: &mut Rounds, streams: usize) -> Result<()> {
    rounds.run(rounds.all(), |_, _| Ok((streams, false)))
}

/// Rounds with the number of streams that the telemetry asks for. Returns every decision.
fn adaptive(rounds: &mut Rounds, floors: &Floors) -> Result<Vec<Decision>> {
    let (mut log, mut streams, mut used) = (Vec::new(), FIRST, Vec::new());
    rounds.run(rounds.all(), |rounds, round| {
        if let Some(before) = round.checked_sub(AHEAD).filter(|before| before % SAMPLED == 0) {
            let (kernel, then) = (rounds.sample(before)?, used[before]);
            let telemetry = Telemetry { round: before, streams: then, kernel };
            let decision = decide(floors, telemetry, (round, streams));
            streams = decision.streams;
            log.push(decision);
        }
        used.push(streams);
        Ok((streams, round % SAMPLED == 0))
    })?;
    Ok(log)
}

/// Rounds with the numbers of streams of the log, and no telemetry.
fn replay(rounds: &mut Rounds, log: &[Decision]) -> Result<()> {
    rounds.run(rounds.all(), |_, round| Ok((log::streams(log, round), false)))
}

/// What a round and a chunk's way take with each number of streams and a short kernel.
fn calibrate(part: &Part, rounds: &mut Rounds, streams: &[Stream]) -> Result<Floors> {
    let mut floors = [Floor::default(); CHOICES.len()];
    for (floor, count) in floors.iter_mut().zip(CHOICES) {
        let all = || rounds.run(CALIBRATION, |_, _| Ok((count, false)));
        floor.round = part.alone(streams, all)? / CALIBRATION as u32;
        floor.way = part.alone(streams, || rounds.chunk(0, 0..count, false))?;
    }
    Ok(floors)
}

/// Chooses the grid of the long kernel, the largest with which more streams pay: with four, a chunk's way takes clearly longer than a
/// round of eight streams would if kernels took nothing.
fn lengthen(part: &Part, rounds: &mut Rounds, streams: &[Stream], floors: &Floors) -> Result<()> {
    let [_, (four, _), (_, eight), _] = array::from_fn(|at| (CHOICES[at], floors[at].round));
    for grid in LONG {
        rounds.long = grid;
        let way = part.alone(streams, || rounds.chunk(rounds.per_phase, 0..four, false))?;
        if way.div_duration_f64(eight) >= LONGER {
            break;
        }
    }
    Ok(())
}

/// What eight streams lose, about, as a share of the time: they are wrong in the two phases with short kernels, of three.
fn at_stake(floors: &Floors) -> f64 {
    let [_, four, eight, _] = floors.map(|floor| floor.round);
    2.0 / 3.0 * (eight.div_duration_f64(four) - 1.0)
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let streams = &stream::non_blocking_numbered(CHOICES[CHOICES.len() - 1])?;
    // A round of a model takes the CPU longer than the GPU that it models.
    let mut rounds = Rounds::new(streams, part.by_times(100, 50))?;
    let floors = calibrate(part, &mut rounds, streams)?;
    lengthen(part, &mut rounds, streams, &floors)?;
    let copies = part.alone(streams, || rounds.copies(CALIBRATION))? / CALIBRATION as u32;
    let copy = part.alone(streams, || rounds.copy_in())?;
    part.predict(predicted(&floors));

    let logs = RefCell::new(Vec::new());
    let fixed = |count: usize| {
        let name = (format!("fixed-{count}"), format!("{count} streams"));
        variant(name, streams, move |rounds: &mut Rounds| fixed(rounds, count))
    };
    let [two, four, eight, sixteen] = CHOICES.map(fixed);
    let controller = variant("controller", streams, |rounds: &mut Rounds| {
        logs.borrow_mut().push(adaptive(rounds, &floors)?);
        Ok(())
    });
    let replay = variant(("replay", "replay of the log"), streams, |rounds: &mut Rounds| {
        replay(rounds, logs.borrow().last().map_or(&[], Vec::as_slice))
    });
    let variants = [two, four, eight, sixteen, controller, replay];
    let outcomes = part.compare("variants", rounds.plan(), &mut rounds, variants)?;
    // Of each run, the last of which was replayed.
    let logs = logs.into_inner();
    let log = logs.last().context("the controller has not run")?;
    let regret = Regret::of(&rounds.phases);
    part.expect_regret(&regret, &outcomes, copies * rounds.per_phase as u32, at_stake(&floors));
    part.not_claimed_of_the_model("variants", &["fixed-4", "fixed-16", "controller", "replay"]);
    log::show(part, log, copy);
    part.chart_start("controller", &outcomes[4], 96);
    log::expect_replayed(part, log, &floors);
    log::expect_settled(part, &logs, &outcomes[4].recording, &regret, (rounds.per_phase, SETTLED));
    log::expect_as_run(part, &logs, rounds.all(), &outcomes[4].recording);
    part.take_away(
        "Two events around a kernel now and then are enough to choose the number of streams anew.",
    );
    Ok(())
}

fn predicted(floors: &Floors) -> String {
    let of = |(count, floor): (usize, &Floor)| {
        format!("{count} streams: {}, way {}", units::time(floor.round), units::time(floor.way))
    };
    let all: Vec<String> = CHOICES.into_iter().zip(floors).map(of).collect();
    format!(
        "A round with a short kernel, and a chunk's way: {}. A round takes the longer of the two, and a long kernel is part of \
         the way. So short kernels ask for few streams, long ones for many.",
        all.join("; ")
    )
}
