//! The controller's log: every decision, with what was measured and what was predicted.

use super::phases::Phases;
use super::regret::Regret;
use crate::choose::streams;
use crate::controller::{PHASES, ROUND};
use crate::decide::{CHOICES, Decision, Floors, decide};
use examples_host::prelude::*;
use std::time::Duration;

/// Prints the decisions that changed something; with `--verbose` all. `copy` is the copy in of a round.
pub fn show(part: &mut Part, log: &[Decision], copy: Duration) {
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

/// The log holds all that the decisions were made of.
pub fn expect_replayed(part: &mut Part, log: &[Decision], floors: &Floors) {
    let again = |decision: &&Decision| {
        let Decision { round, before, telemetry, .. } = **decision;
        decide(floors, telemetry, (round, before)) == **decision
    };
    let same = log.iter().filter(again).count();
    let found = format!("{same} of {}", log.len());
    let all = truth(same == log.len() && same > 0, found, "all");
    expect! { part; "replayed", "the log's telemetry leads to the log's decisions" => all; }
}

/// In each phase the number of streams is the best one, or nearly, from the first rounds on: after `most` of them, in
/// the median of the runs. Events around each operation make the kernels of a recorded run seem longer.
pub fn expect_settled(
    part: &mut Part,
    logs: &[Vec<Decision>],
    recording: &Recording,
    regret: &Regret<PHASES, { CHOICES.len() }>,
    (phases, most): (&Phases, usize),
) {
    for (phase, rounds) in phases.iter().enumerate() {
        let last = |log: &[Decision]| streams(log, rounds.end - 1);
        let searched = |log: &Vec<Decision>| {
            let lasts = |&round: &usize| streams(log, round) == last(log);
            rounds.len() - rounds.clone().rev().take_while(lasts).count()
        };
        let mut searched: Vec<usize> = logs.iter().map(searched).collect();
        searched.sort_unstable();
        let searched = searched.get(searched.len() / 2).copied().unwrap_or(rounds.len());
        let settled =
            truth(searched <= most, format!("{searched} rounds"), format!("at most {most}"));
        let chosen = logs.last().map_or(0, |log| last(log));
        let choice = CHOICES.iter().position(|&choice| choice == chosen).unwrap_or_default();
        let near = ratio(regret.beside_best(choice, phase)).at_most(1.05);
        expect! { part;
            "settled/phase-{phase}", "phase {phase}: settled after" => settled.in_records_of(recording);
            "best/phase-{phase}", "phase {phase}: {chosen} streams beside the best fixed choice" => near.in_records_of(recording);
        }
    }
}

/// The copies that ran in this many rounds are those of a log: no choice is missing there. Which of the runs was recorded is not known,
/// and each has its log.
pub fn expect_as_run(
    part: &mut Part,
    logs: &[Vec<Decision>],
    rounds: usize,
    recording: &Recording,
) {
    let planned = |log: &Vec<Decision>| {
        let of_streams = |count| (0..rounds).filter(|&round| streams(log, round) == count).count();
        CHOICES.map(|count| count * of_streams(count))
    };
    let copies = |count: usize| {
        let is_chunk = |bytes: u64| bytes * count as u64 == 4 * ROUND as u64;
        let copied =
            recording.intervals.iter().filter(|interval| interval.engine == Engine::HostToDevice);
        copied.filter(|interval| is_chunk(interval.bytes)).count()
    };
    let ran = CHOICES.map(copies);
    let last = logs.last().map(planned).unwrap_or_default();
    let logged = logs.iter().any(|log| planned(log) == ran);
    let same = truth(logged, format!("{ran:?} copies"), format!("{last:?}"));
    expect! { part;
        "as-logged", "the chunks that were copied are those of the log, of each size" => same.in_records_of(recording);
    }
}
