//! controller: does a controller keep up with work that changes?
//!
//! Two mebibytes of staging memory are shared by S streams, so that each has chunks of 2 MiB / S. Few streams keep the host's
//! calls cheap. Many hide long kernels, since S of them run at the same time. The kernels' grids change twice while the program
//! runs, and with them the ratio K/H of a kernel's time to a copy's:
//!
//! ```text
//! phase     0            1              2
//! K/H       small        large          middle          how many streams are best?
//! 4 streams |HHHHHHHH    |HHH   HHH     |HHHHHHHH       K/H small: 4
//! 8 streams |H H H H H   |H H H H H     |H H H H H      K/H large: 8
//! ```
//!
//! The controller has events recorded around one kernel in every second round, reads them two rounds later, when they have
//! happened anyway, and decides (`decide.rs`). A change of the number of streams hands all staging memory over: every stream
//! waits for the events of all others. Every decision is in the log, and a run that follows the log without any telemetry
//! must take the same time: what it takes less is what telemetry costs. A regret above 5 % of what the best choice of each
//! phase would have taken, or a fixed number of streams that is as fast, would prove this wrong.

use crate::decide::{CHOICES, Decision, Floor, Telemetry, decide};
use crate::rounds::{AHEAD, PHASE, PHASES, ROUNDS, Rounds};
use anyhow::Result;
use cuda_host::prelude::*;
use cust::stream::Stream;
use examples_host::prelude::*;
use std::array;
use std::cell::RefCell;
use std::time::Duration;

/// The controller looks at every so many rounds.
const SAMPLED: usize = 2;
/// Where it begins.
const FIRST: usize = 2;
/// Rounds of a calibration.
const CALIBRATION: usize = 16;
/// Rounds until it has settled after a change: one without a sample, those under way, and a second look.
const SETTLED: usize = 2 * SAMPLED + AHEAD;

/// The fixed choices, the controller, and the replay of its log.
const VARIANTS_IN_TURN: usize = CHOICES.len() + 2;

type Floors = [Floor; CHOICES.len()];

/// Rounds with one number of streams.
fn fixed(rounds: &mut Rounds, streams: usize) -> Result<()> {
    rounds.run(ROUNDS, |_, _| Ok((streams, false)))
}

/// Rounds with the number of streams that the telemetry asks for. Returns every decision.
fn adaptive(rounds: &mut Rounds, floors: &Floors) -> Result<Vec<Decision>> {
    let (mut log, mut streams, mut used) = (Vec::new(), FIRST, Vec::new());
    rounds.run(ROUNDS, |rounds, round| {
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
    rounds.run(ROUNDS, |_, round| Ok((logged(log, round), false)))
}

/// The number of streams in a round, by the log.
fn logged(log: &[Decision], round: usize) -> usize {
    let last = log.iter().rev().find(|decision| decision.round <= round);
    last.map_or(FIRST, |decision| decision.streams)
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

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let streams = &stream::non_blocking_numbered(CHOICES[CHOICES.len() - 1])?;
    let mut rounds = Rounds::new(streams)?;
    let floors = calibrate(part, &mut rounds, streams)?;
    let copies = part.alone(streams, || rounds.copies(CALIBRATION))? / CALIBRATION as u32;
    let copy = part.alone(streams, || rounds.copy_in())?;
    part.predict(predicted(&floors));

    let log = RefCell::new(Vec::new());
    let fixed = |count: usize| {
        let name = (format!("fixed-{count}"), format!("{count} streams"));
        variant(name, streams, move |rounds: &mut Rounds| fixed(rounds, count))
    };
    let [two, four, eight, sixteen] = CHOICES.map(fixed);
    let controller = variant("controller", streams, |rounds: &mut Rounds| {
        *log.borrow_mut() = adaptive(rounds, &floors)?;
        Ok(())
    });
    let replay = variant(("replay", "replay of the log"), streams, |rounds: &mut Rounds| {
        replay(rounds, &log.borrow())
    });
    let variants = [two, four, eight, sixteen, controller, replay];
    let outcomes = part.compare("variants", Rounds::plan(), &mut rounds, variants)?;
    let log = log.into_inner();
    let times = PhaseTimes::of(&rounds.phases);
    times.show(part, &outcomes, copies * PHASE as u32);
    show_log(part, &log, copy);
    part.chart_start("controller", &outcomes[4], 96);
    let runs = [&outcomes[4], &outcomes[5]];
    expect_times(part, &times, runs, copies * ROUNDS as u32);
    expect_log(part, &times, &log, &floors);
    expect_as_logged(part, &outcomes[4].recording, &log);
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

/// What the phases took with each variant: the least of all runs, since what disturbs one run does not count.
struct PhaseTimes {
    fixed: [[Duration; PHASES.len()]; CHOICES.len()],
    controller: [Duration; PHASES.len()],
    replay: [Duration; PHASES.len()],
}

impl PhaseTimes {
    /// Of all runs, in which the variants took turns.
    fn of(runs: &[[Duration; PHASES.len()]]) -> Self {
        let least = |variant: usize, phase: usize| {
            let own = runs.iter().skip(variant).step_by(VARIANTS_IN_TURN);
            own.map(|phases| phases[phase]).min().unwrap_or_default()
        };
        let of = |variant| array::from_fn(|phase| least(variant, phase));
        let [controller, replay] = [CHOICES.len(), CHOICES.len() + 1].map(of);
        Self { fixed: array::from_fn(of), controller, replay }
    }

    /// The least time of a phase with a fixed number of streams.
    fn best(&self, phase: usize) -> Duration {
        self.fixed.iter().map(|times| times[phase]).min().unwrap_or_default()
    }

    /// What the best choice of each phase would have taken.
    fn oracle(&self) -> Duration {
        (0..PHASES.len()).map(|phase| self.best(phase)).sum()
    }

    /// How much longer than the best choice of each phase it takes, as a share.
    fn regret(&self, phases: &[Duration; PHASES.len()]) -> f64 {
        phases.iter().sum::<Duration>().div_duration_f64(self.oracle()) - 1.0
    }

    fn show(&self, part: &mut Part, outcomes: &[Outcome; VARIANTS_IN_TURN], copies: Duration) {
        let mut table = Table::new(["", "all", "phase 0", "phase 1", "phase 2", "regret"]);
        let mut row = |name: String, phases: [Duration; PHASES.len()], regret: String| {
            let times = [phases.iter().sum(), phases[0], phases[1], phases[2]].map(units::time);
            table.row([name].into_iter().chain(times).chain([regret]));
        };
        let regret = |phases: &_| units::percent(self.regret(phases));
        let runs = self.fixed.iter().chain([&self.controller, &self.replay]);
        for (outcome, phases) in outcomes.iter().zip(runs) {
            row(outcome.name.to_string(), *phases, regret(phases));
        }
        let best = array::from_fn(|phase| self.best(phase));
        row("best of each phase".to_owned(), best, regret(&best));
        row("bound: copies".to_owned(), [copies; PHASES.len()], String::new());
        part.say(table);
    }
}

/// Prints the decisions that changed something; with `--verbose` all. `copy` is the copy in of a round.
fn show_log(part: &mut Part, log: &[Decision], copy: Duration) {
    let titles = ["round", "sampled", "kernel", "K/H", "2", "4", "8", "16", "streams"];
    let [mut changes, mut all] = [Table::new(titles), Table::new(titles)];
    for decision in log {
        let Decision { round, before, telemetry, predicted, streams } = decision;
        let ratio = (telemetry.kernel * telemetry.streams as u32).div_duration_f64(copy);
        let found = [units::time(telemetry.kernel), format!("{ratio:.1}")];
        let choice = match before == streams {
            true => streams.to_string(),
            false => format!("{before} to {streams}"),
        };
        let cells = [round, &telemetry.round].map(ToString::to_string).into_iter().chain(found);
        let cells: Vec<String> = cells.chain(predicted.map(units::time)).chain([choice]).collect();
        if before != streams {
            changes.row(cells.clone());
        }
        all.row(cells);
    }
    let changed = log.iter().filter(|decision| decision.before != decision.streams).count();
    part.say(format!(
        "The log: {} decisions, of which {changed} change the number of streams. The sampled round's kernel, its ratio \
         to the copy, and what it predicts for a round with 2 to 16 streams:\n{changes}",
        log.len()
    ));
    part.detail(all);
}

/// What is expected of the times.
fn expect_times(
    part: &mut Part,
    times: &PhaseTimes,
    [controller, replay]: [&Outcome; 2],
    bound: Duration,
) {
    let regrets = times.fixed.map(|phases| times.regret(&phases));
    let [best, worst] = [f64::min, f64::max].map(|of| regrets.into_iter().fold(regrets[0], of));
    let regret = times.regret(&times.controller);
    let sentence = "controller: regret beside the best choice of each phase";
    part.expect("regret/controller", sentence, share(regret).at_most(0.05));
    let gain = |fixed: f64| ratio((1.0 + fixed) / (1.0 + regret));
    let sentence = "best fixed number of streams to controller";
    part.expect("gain/best-fixed", sentence, gain(best).at_least(1.1));
    let sentence = "worst fixed number of streams to controller";
    part.expect("gain/worst-fixed", sentence, gain(worst).at_least(1.5));
    // The shortest of the runs: what disturbs one run does not count.
    let [with, without] = [controller, replay].map(|outcome| outcome.times.min());
    let cost = share(with.div_duration_f64(without) - 1.0).at_most(0.01);
    part.expect("telemetry", "controller: telemetry takes this share of the time", cost);
    let reached = share(bound.div_duration_f64(with)).at_most(1.05);
    let sentence = "controller: not faster than the copies alone";
    part.expect("not-below-bound/controller", sentence, reached);
}

/// What is expected of the decisions.
fn expect_log(part: &mut Part, times: &PhaseTimes, log: &[Decision], floors: &Floors) {
    let again = |decision: &&Decision| {
        let Decision { round, before, telemetry, .. } = **decision;
        decide(floors, telemetry, (round, before)) == **decision
    };
    let same = log.iter().filter(again).count();
    let found = format!("{same} of {}", log.len());
    let all = truth(same == log.len() && same > 0, found, "all");
    part.expect("replayed", "the log's telemetry leads to the log's decisions", all);
    let lasted = (0..PHASES.len()).map(|phase| {
        let mut rounds = (phase * PHASE..(phase + 1) * PHASE).rev();
        let last = logged(log, (phase + 1) * PHASE - 1);
        let settled = rounds.by_ref().take_while(|&round| logged(log, round) == last).count();
        (PHASE - settled, last)
    });
    for (phase, (rounds, streams)) in lasted.enumerate() {
        let settled =
            truth(rounds <= SETTLED, format!("{rounds} rounds"), format!("at most {SETTLED}"));
        part.expect(format!("settled/phase-{phase}"), &format!("phase {phase}: settled"), settled);
        let chosen = CHOICES.iter().position(|&choice| choice == streams);
        let time = chosen.map_or(Duration::MAX, |choice| times.fixed[choice][phase]);
        let near = ratio(time.div_duration_f64(times.best(phase))).at_most(1.05);
        let sentence = format!("phase {phase}: {streams} streams, beside the best of all");
        part.expect(format!("best/phase-{phase}"), &sentence, near);
    }
}

/// The copies that ran are those of the log: no choice is missing there.
fn expect_as_logged(part: &mut Part, recording: &Recording, log: &[Decision]) {
    let of_streams =
        |streams: usize| (0..ROUNDS).filter(|&round| logged(log, round) == streams).count();
    let planned = CHOICES.map(|streams| streams * of_streams(streams));
    let copies = |streams: usize| {
        let is_chunk = |bytes: u64| bytes * streams as u64 == Rounds::BYTES;
        let copied =
            recording.intervals.iter().filter(|interval| interval.engine == Engine::HostToDevice);
        copied.filter(|interval| is_chunk(interval.bytes)).count()
    };
    let ran = CHOICES.map(copies);
    let same = truth(ran == planned, format!("{ran:?} copies"), format!("{planned:?}"));
    let sentence = "the chunks that were copied are those of the log, of each size";
    part.expect_recorded("as-logged", sentence, recording, same);
}
